"""A Sphinx extension: formulas become MathML while the site is built, which browsers typeset without any script."""

from __future__ import annotations

from html import escape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)


NAMESPACE = "http://www.w3.org/1998/Math/MathML"
#: pairs of brackets around a table, and the class by which they are drawn: fonts that can stretch them are rare
BRACKETS = {("[", "]"): "square", ("(", ")"): "round"}


def mathml(tex: str, display: bool) -> str:
    r"""A formula in LaTeX as an element <math> of what browsers understand (MathML Core).

    >>> mathml("a^2", display=False)
    '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline"><mrow><msup><mi>a</mi>...'
    >>> "text-align:right" in mathml(r"\begin{aligned} a &= b \\ c &= d \end{aligned}", display=True)
    True
    >>> mathml(r"\nonsense{a}", display=False)
    Traceback (most recent call last):
        ...
    ValueError: the formula '\\nonsense{a}' contains '\\nonsense', which cannot be typeset
    """
    known = tex.strip().replace("{aligned}", "{align*}")
    try:
        found = ElementTree.fromstring(convert(known, display="block" if display else "inline"))
    except Exception as reason:
        raise ValueError(f"the formula {tex!r} cannot be typeset: {type(reason).__name__} {reason}") from reason
    for node in found.iter():
        if node.text and ("\\" in node.text or "&" in node.text):  # what the converter does not know it leaves
            raise ValueError(f"the formula {tex!r} contains {node.text!r}, which cannot be typeset")
        if node.get("mathvariant") not in (None, "normal"):
            raise ValueError(f"the formula {tex!r} has letters in {node.get('mathvariant')!r}, which no browser draws")
    for table in found.iter(f"{{{NAMESPACE}}}mtable"):
        _style(table)
    for node in list(found.iter()):
        _draw_brackets(node)
    ElementTree.register_namespace("", NAMESPACE)
    return ElementTree.tostring(found, encoding="unicode", short_empty_elements=False)


def _style(table: ElementTree.Element) -> None:
    """Alignment and lines of a table are attributes in MathML, and style in browsers."""
    lines = table.attrib.pop("columnlines", "").split()
    for row in table:
        for k, cell in enumerate(row):
            side = cell.attrib.pop("columnalign", "")
            style = f"text-align:{side};text-align:-webkit-{side}" if side else ""  # the second one is Chromium's
            if 0 < k <= len(lines) and lines[k - 1] == "solid":
                style += ";border-left:1px solid"
            if style:
                cell.set("style", style.lstrip(";"))


def _draw_brackets(node: ElementTree.Element) -> None:
    """Brackets around a table become borders of it."""
    children = list(node)
    for before, table, after in zip(children, children[1:], children[2:], strict=False):
        kind = BRACKETS.get((before.text, after.text))
        if kind and table.tag.endswith("mtable"):
            table.set("class", kind)
            node.remove(before)
            node.remove(after)


def _typeset(node: nodes.Element, display: bool) -> str:
    """The element, or a warning (which fails the build) and the formula as it is written."""
    try:
        return mathml(node.astext(), display)
    except ValueError as reason:
        logger.warning(str(reason), location=node, type="formula")
        return f"<code>{escape(node.astext())}</code>"


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_typeset(node, display=False))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_typeset(node, display=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
