"""Values as they are written on a command line: NAME=VALUE, lists, ranges, conditions, and files of them."""

from __future__ import annotations

import ast
import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.errors import OptionError

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
#: characters of a file of values, or of a model in Python
LARGEST = 50_000_000
#: values of a range from:to:count
MOST = 10_000_000


def settings_of(given: Iterable[str] | None, option: str = "--set") -> dict[str, Any]:
    """Values by name from texts NAME=VALUE: numbers, true, false, lists of numbers, or text; @FILE has many of them.

    >>> settings_of(["spring.c=1e4", "n = 3", "on=true", "axis=[0, 0, 1]"])
    {'spring.c': 10000.0, 'n': 3, 'on': True, 'axis': [0, 0, 1]}
    """
    found: dict[str, Any] = {}
    for text in given or ():
        if text.startswith("@"):
            found |= _settings_in(Path(text[1:]), option)
            continue
        name, value = named(text, option)
        found[name] = value_of(value)
    return found


def named(text: str, option: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    """What stands before and behind the sign =; names with that sign in them are quoted, 'a=b'=1."""
    name, sign, value = text.partition("=")
    if text.startswith("'") and (quoted := re.fullmatch(r"('[^']*'[^=]*)=(.*)", text, re.DOTALL)):
        name, sign, value = quoted[1], "=", quoted[2]
    if not sign or not name.strip() or not value.strip():
        raise OptionError(f"{option} {text}: write {form}")
    return name.strip(), value.strip()


def _settings_in(path: Path, option: str) -> dict[str, Any]:
    """Of a JSON object, or of lines NAME=VALUE; those that begin with # are comments."""
    text = read_text(path, f"{option} @{path}")
    if path.suffix.lower() == ".json":
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise OptionError(f"{option} @{path}: this is no JSON: {error}") from None
        if not isinstance(values, dict) or any(value is None or isinstance(value, dict) for value in values.values()):
            raise OptionError(f'{option} @{path}: an object with values by name is needed, {{"L": 1.5, ...}}')
        return values
    lines = (line.strip() for line in text.splitlines())
    return settings_of([line for line in lines if line and line[0] not in "#@"], f"{option} @{path}:")


def value_of(text: str) -> Any:
    """A number, a flag, a list, or text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    if text[:1] in ("[", "(") or (len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    return text


def option_value(text: str) -> Any:
    """A value of an option of a method: also none, and objects of options such as Sparse() or Exact().

    >>> option_value("none"), option_value("(1.0, 1.2)"), option_value("Sparse")
    (None, (1.0, 1.2), Sparse())
    """
    if text.lower() == "none":
        return None
    call = re.fullmatch(r"([A-Z]\w*)(?:\((.*)\))?", text, re.DOTALL)
    kind = None if call is None else _options_class(call[1])
    if call is None or kind is None:
        return value_of(text)
    try:
        parsed = ast.parse(text, mode="eval").body
        words = parsed.keywords if isinstance(parsed, ast.Call) else []
        if getattr(parsed, "args", ()) or any(word.arg is None for word in words):
            raise ValueError("options have names")
        values = {str(word.arg): ast.literal_eval(word.value) for word in words}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise OptionError(f"'{text}': write {call[1]} or {call[1]}(NAME=VALUE, ...)") from None
    return kind(**values)


def _options_class(name: str) -> Any:
    import dalembert
    from dalembert.options import Options

    kind = getattr(dalembert, name, None) if name in dalembert.__all__ else None
    return kind if isinstance(kind, type) and issubclass(kind, Options) else None


def numbers(text: str, option: str, example: str = "0,0.5,1 or 0:1:11 (from:to:count)") -> list[float]:
    """A list 1,2,5, a range from:to:count, or the numbers in @FILE.

    >>> numbers("1:2:3", "--t-eval"), numbers("1, 2e1", "--t-eval")
    ([1.0, 1.5, 2.0], [1.0, 20.0])
    """
    text = text.strip()
    if text.startswith("@"):
        text = ",".join(re.split(r"[\s,;]+", read_text(Path(text[1:]), f"{option} {text}").strip()))
    ends = re.fullmatch(rf"({NUMBER})\s*:\s*({NUMBER})\s*:\s*(\d{{1,9}})", text)
    if ends:
        count = int(ends[3])
        if not 1 <= count <= MOST:
            raise OptionError(f"{option} {text}: the count must lie between 1 and {MOST}")
        import numpy as np

        return np.linspace(float(ends[1]), float(ends[2]), count).tolist()
    if re.fullmatch(rf"{NUMBER}(\s*,\s*{NUMBER})*", text):
        return [float(value) for value in text.split(",")]
    raise OptionError(f"{option} {text[:80]}: write {example}")


@dataclass(frozen=True)
class Difference:
    """A variable or output minus a number, as the function of an event."""

    name: str
    value: float

    def __call__(self, s: Any) -> Any:
        return s[self.name] - self.value


def condition(text: str, option: str) -> tuple[str, int, float]:
    """A variable, the direction in which it crosses a number, and that number.

    >>> condition("body.y < 0.5", "--stop-when"), condition("x=1", "--event")
    (('body.y', -1, 0.5), ('x', 0, 1.0))
    """
    found = re.fullmatch(rf"\s*([^<>=]+?)\s*(<=|>=|==|<|>|=)\s*({NUMBER})\s*", text)
    if not found or not math.isfinite(float(found[3])):
        raise OptionError(f"{option} {text}: write NAME<NUMBER, NAME>NUMBER or NAME=NUMBER (whichever way it passes)")
    return found[1], {"<": -1, ">": 1}.get(found[2][0], 0), float(found[3])


def called(function: Callable[..., Any], text: str | None, name: str) -> Any:
    """The value of a function for arguments that are written as text, NAME=VALUE, .... Nothing is evaluated."""
    if text is None or not text.strip():
        return function()
    try:
        words: Any = ast.parse(f"f({text})", mode="eval").body
        values = {word.arg: _literal(word.value) for word in words.keywords}
        if words.args or None in values:
            raise ValueError("arguments have names")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise OptionError(f"{name}({text}): write {name}(NAME=VALUE, ...) with numbers and words") from None
    try:
        return function(**values)
    except TypeError as error:
        raise OptionError(f"{name}({text}): {error}") from None


def _literal(node: ast.expr) -> Any:
    """A value; words need no quotes."""
    return value_of(node.id) if isinstance(node, ast.Name) else ast.literal_eval(node)


# -- files -------------------------------------------------------------------------------------------------------------


def exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # names that the system does not take
        return False


def read_text(path: Path, what: str = "") -> str:
    """A text in UTF-8. What cannot be one is said in a line that begins with `what`."""
    label = what or f"'{path}'"

    def refuse(why: str) -> OptionError:
        return OptionError(f"{label}: {why}")

    try:
        if path.is_dir():
            raise refuse("this is a directory; give the name of a file")
        if not path.exists():
            raise refuse(f"there is no file '{path}'")
        if not path.is_file():
            raise refuse("this is no plain file")
        size = path.stat().st_size
        if size > LARGEST:
            raise refuse(f"the file has {size} bytes, and at most {LARGEST} are read")
        content = path.read_bytes()
    except OptionError:
        raise
    except (OSError, ValueError) as error:
        raise refuse(f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if b"\0" in content:
        raise refuse("the file is no text: it has bytes that are zero")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise refuse(
            f"line {line}: the byte 0x{content[error.start]:02x} is not UTF-8; save the file as such"
        ) from None


def read_table(path: Path, what: str) -> dict[str, list[float]]:
    """Columns of numbers by the names in the first line of a CSV file."""
    lines = read_text(path, what).splitlines()
    if not lines:
        raise OptionError(f"{what}: the file is empty")
    rows = list(csv.reader(lines, delimiter=_delimiter(lines[0])))
    names = [name.strip() for name in rows[0]]
    if len(set(names)) != len(names) or not all(names):
        raise OptionError(f"{what}: line 1 must have different names of columns, not {', '.join(map(repr, names))}")
    columns: list[list[float]] = [[] for _ in names]
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != len(names):
            raise OptionError(f"{what}: line {number} has {len(row)} values, and there are {len(names)} columns")
        for column, text in zip(columns, row, strict=True):
            column.append(_number(text, f"{what}: line {number}"))
    return dict(zip(names, columns, strict=True))


def _delimiter(head: str) -> str:
    return max(",;\t", key=head.count)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{where}: '{text.strip()[:40]}' is not a number") from None


def parts(text: str) -> list[str]:
    """Names between commas; those inside of brackets or quoted names separate nothing.

    >>> parts("inertia*.w,c[1,2],'a,b'")
    ['inertia*.w', 'c[1,2]', "'a,b'"]
    """
    found = re.findall(r"(?:'[^']*'|\[[^\]]*\]|[^,'\[]|['\[])+", text)
    return [part.strip() for part in found if part.strip()]


def chosen(given: Sequence[str] | None) -> list[str]:
    """All names of an option that may be repeated and may have several in each."""
    return [name for text in given or () for name in parts(text)]
