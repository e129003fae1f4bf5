"""Modelica text and its tokens.

The lexer is one regular expression, and a token is its text. A place in the text is the *number of a token*: trees
are lean, and lines and columns are only worked out for messages.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from pathlib import Path
from typing import NoReturn

from dalembert.errors import ModelicaError

LARGEST = 16_000_000  # characters of one file

KEYWORDS = frozenset(
    [
        "algorithm",
        "and",
        "annotation",
        "block",
        "break",
        "class",
        "connect",
        "connector",
        "constant",
        "constrainedby",
        "der",
        "discrete",
        "each",
        "else",
        "elseif",
        "elsewhen",
        "encapsulated",
        "end",
        "enumeration",
        "equation",
        "expandable",
        "extends",
        "external",
        "false",
        "final",
        "flow",
        "for",
        "function",
        "if",
        "import",
        "impure",
        "in",
        "initial",
        "inner",
        "input",
        "loop",
        "model",
        "not",
        "operator",
        "or",
        "outer",
        "output",
        "package",
        "parameter",
        "partial",
        "protected",
        "public",
        "pure",
        "record",
        "redeclare",
        "replaceable",
        "return",
        "stream",
        "then",
        "true",
        "type",
        "when",
        "while",
        "within",
    ]
)

# Quantifiers are possessive (++, *+), so that no text is looked at twice. The last alternatives are what cannot be a
# token: the parser refuses them. \Z is the end of the text, an empty token.
_TOKEN = re.compile(
    r"""
    (?>\s++|//[^\n]*+|/\*[\s\S]*?\*/)*+
    ( [A-Za-z_][A-Za-z_0-9]*+
    | [0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?
    | \.[0-9]++(?:[eE][+-]?[0-9]++)?
    | [;,()\[\]{}]
    | :=|==|<=|>=|<>|\.[-+*/^]
    | "[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"
    | '[^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*+'
    | /\*[\s\S]*+
    | "[\s\S]*+
    | [\s\S]
    | \Z )
    """,
    re.VERBOSE,
)
_LEGAL = frozenset(";,()[]{}=<>+-*/^.:") | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")
_STRING = re.compile(r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"')


class Source:
    """A piece of Modelica text, with the path of its file if it has one.

    Examples
    --------
    >>> source = Source("model A end A;", "A.mo")
    >>> source.tokens()[:3], source.place(1)
    (['model', 'A', 'end'], (1, 7))
    """

    __slots__ = ("_lines", "_starts", "_tokens", "path", "text")

    def __init__(self, text: str, path: str | Path | None = None):
        self.text, self.path = text, None if path is None else str(path)
        self._tokens: list[str] | None = None
        self._starts: list[int] | None = None
        self._lines: list[int] | None = None
        if len(text) > LARGEST:
            raise ModelicaError(
                f"the text has {len(text)} characters; at most {LARGEST} are read", self.path, 1, 1,
                suggestion="Divide the package into several files",
            )  # fmt: skip

    def tokens(self) -> list[str]:
        """All tokens; the last ones are empty, so that parsers may look ahead."""
        if self._tokens is None:
            self._tokens = [*_TOKEN.findall(self.text), "", ""]
        return self._tokens

    def forget(self) -> None:
        """Let go of the tokens; they are made anew when somebody asks."""
        self._tokens = self._starts = None

    def offset(self, at: int) -> int:
        """Where a token begins in the text."""
        if self._starts is None:
            self._starts = [match.start(1) for match in _TOKEN.finditer(self.text)]
        return self._starts[min(at, len(self._starts) - 1)]

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of a token, counted from 1."""
        return self._line_and_column(self.offset(at))

    def _line_and_column(self, offset: int) -> tuple[int, int]:
        if self._lines is None:
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def span(self, at: int, stop: int) -> str:
        """The text from token `at` to before token `stop`, without what follows the last of them."""
        if stop <= at:
            return ""
        last = self.offset(stop - 1)
        return self.text[self.offset(at) : last + len(self.tokens()[stop - 1])]

    def check(self) -> None:
        """Refuse what cannot be a token anywhere. What has no end goes on to the end of the text."""
        tokens = self.tokens()
        for token in {*tokens}:
            if len(token) < 3 and token and token[0] not in _LEGAL and token != '""':
                self._refuse(token)
        last = next((token for token in reversed(tokens[-5:]) if token), "")
        if last.startswith("/*") or (last.startswith('"') and not _STRING.fullmatch(last)):
            self._refuse(last)

    def _refuse(self, token: str) -> NoReturn:
        at = self.tokens().index(token)
        if token[0] == '"':
            self.fail("a string that begins here does not end", at, 'Close it with "')
        if token.startswith("/*"):
            self.fail("a comment that begins here does not end", at, "Close it with */")
        if token[0] == "'":
            self.fail("a quoted name has no end on this line, or is empty", at, "Names in single quotes end with '")
        code = f"{token!r} (U+{ord(token):04X})"
        self.fail(f"the character {code} has no meaning here", at, "It may stand in strings and comments only")

    def fail(self, message: str, at: int, suggestion: str | None = None) -> NoReturn:
        """Raise the error at a token."""
        raise self.error(message, at, suggestion)

    def error(self, message: str, at: int, suggestion: str | None = None, behind: bool = False) -> ModelicaError:
        """The error at a token, or right behind it."""
        offset = self.offset(at) + (len(self.tokens()[min(at, len(self.tokens()) - 1)]) if behind else 0)
        line, column = self._line_and_column(offset)
        start = self._lines[line - 1]
        end = self.text.find("\n", start)
        text = (self.text[start:] if end < 0 else self.text[start:end]).rstrip("\r")
        return ModelicaError(message, self.path, line, column, excerpt(text, column), suggestion)


def excerpt(text: str, column: int) -> str:
    """A line of text with a caret under a column; of a long line, the surroundings.

    Examples
    --------
    >>> print(excerpt("x = y +;", 8))
        x = y +;
               ^
    """
    first = max(0, column - 81)
    before, more = ("…", "…") if first else ("", "")
    more = "…" if len(text) > first + 160 else ""
    text = "".join(c if c.isprintable() else " " for c in text[first : first + 160])
    return f"    {before}{text}{more}\n    {' ' * (column - 1 - first + len(before))}^"


def nearest(name: str, known: object) -> str | None:
    """A sentence that suggests the most similar of the known names, or None.

    Examples
    --------
    >>> nearest("eqation", KEYWORDS)
    'Did you mean `equation`?'
    """
    found = difflib.get_close_matches(name, [other for other in known if isinstance(other, str)], 1, 0.7)
    return f"Did you mean `{found[0]}`?" if found else None


def read(path: str | Path) -> Source:
    """The text of a file in UTF-8."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > 4 * LARGEST:
            raise ModelicaError(
                f"the file has {size} bytes; texts of at most {LARGEST} characters are read", path, 1, 1
            )
        data = path.read_bytes()
    except (OSError, ValueError) as reason:
        raise ModelicaError(f"{path} cannot be read: {reason}", str(path)) from None
    return Source(decode(data, path), path)


def decode(data: bytes, path: str | Path | None = None) -> str:
    """Text from bytes in UTF-8, with or without a mark at its beginning."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        before = data[: reason.start].decode("utf-8", errors="replace")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        raise ModelicaError(
            f"the byte 0x{data[reason.start]:02x} is not UTF-8", None if path is None else str(path), line, column,
            suggestion="Save the file in UTF-8",
        ) from None  # fmt: skip
