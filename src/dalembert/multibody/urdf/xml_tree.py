"""XML that may come from anywhere, as a tree of elements that know their lines.

Nothing but the text itself is ever looked at: document types, and with them entities of any kind, are refused, no other
file is opened, and depth and number of elements are bounded. Prefixes (``gazebo:``, ``drake:``) stay part of the names;
files in use often do not declare them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from dalembert.checks import said

#: bounds on what is read: the largest robots known have some 1000 elements, twelve levels deep
MOST_BYTES = 100_000_000
MOST_ELEMENTS = 4_000_000
DEEPEST = 200
LONGEST_NAME = 200
MOST_TEXT = 10_000  # characters kept of the text of an element: ours have a few numbers

_BLANKS = b" \t\r\n"


class XmlFault(ValueError):
    """The text is not XML that we read; `line` is where this was noticed."""

    def __init__(self, line: int, why: str):
        super().__init__(why)
        self.line = line


@dataclass(slots=True)
class Element:
    """An XML element: its name as written, attributes, children in their order, text, and line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """Children of this name."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child of this name."""
        return next((child for child in self.children if child.tag == tag), None)


def parse(data: bytes, encoding: str | None = None) -> Element:
    """The root element of a document; `encoding` overrules what the document says of itself.

    Raises
    ------
    XmlFault
        Whatever is wrong with it, and in which line.

    Examples
    --------
    >>> root = parse(b"<robot>\\n<link name='arm'/>\\n</robot>")
    >>> root.children[0].tag, root.children[0].attributes, root.children[0].line
    ('link', {'name': 'arm'}, 2)
    """
    stripped = data.lstrip(_BLANKS)  # texts in programs begin with an empty line, which XML forbids before <?xml …?>
    above = data[: len(data) - len(stripped)].count(b"\n")
    if not stripped:
        raise XmlFault(1, "there is nothing in it")
    if len(data) > MOST_BYTES:
        raise XmlFault(1, f"it has more than {MOST_BYTES // 1_000_000} million bytes")
    try:
        parser = expat.ParserCreate(encoding)
        builder = _Builder(parser, above)
        parser.Parse(stripped, True)
    except expat.ExpatError as error:
        raise XmlFault(error.lineno + above, _reason(error, stripped)) from None
    except XmlFault:
        raise
    except (ValueError, LookupError, TypeError) as reason:  # encodings that Python does not know, or cannot use here
        raise XmlFault(above + 1, f"its encoding cannot be read ({said(reason)}); save it as UTF-8") from None
    if builder.root is None:
        raise XmlFault(above + 1, "it has no element")
    return builder.root


class _Builder:
    """Makes the tree from what the parser reports."""

    def __init__(self, parser: expat.XMLParserType, above: int):
        self.parser, self.above = parser, above
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.doctype

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber + self.above

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.line)
        self.count += 1
        if self.count > MOST_ELEMENTS:
            raise XmlFault(self.line, f"it has more than {MOST_ELEMENTS} elements")
        if len(tag) > LONGEST_NAME:
            raise XmlFault(self.line, f"the name of an element has more than {LONGEST_NAME} characters")
        if len(self.open) == DEEPEST:
            raise XmlFault(self.line, f"elements are nested more than {DEEPEST} levels deep")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        element = self.open.pop()
        element.text = element.text.strip()

    def characters(self, text: str) -> None:
        element = self.open[-1]
        if len(element.text) < MOST_TEXT and not text.isspace():
            element.text += text

    def doctype(self, *declaration: object) -> None:
        raise XmlFault(
            self.line,
            "it has a document type (<!DOCTYPE …>), which could define entities or name other files and is not read; "
            "remove it",
        )


def _reason(error: expat.ExpatError, data: bytes) -> str:
    """What is wrong, in words."""
    text = expat.ErrorString(error.code) or "not well-formed"
    column = f"column {error.offset + 1}: {text}"
    if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]:
        return f"{column}; only &lt; &gt; &amp; &quot; &apos; are known"
    if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]:
        return f"{column}; save it as UTF-8"
    if b"\0" in data[:1000] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{column}; this looks like a binary file"
    return column
