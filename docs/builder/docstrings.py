"""A Sphinx extension: docstrings are written for readers of the source; what Sphinx would misread is put right here.

Numbered references, `.. [1]`, are targets that must be unique on a page of many docstrings: they become plain lists.
Bars, as in |x|, are absolute values here and never substitutions; a name that ends with an underscore is no link, and a
single asterisk is a product.
"""

from __future__ import annotations

import re
from typing import Any

ENTRY = re.compile(r"^(\s*)\.\. \[(\w+)\] ")
CITED = re.compile(r"(?<=\[)(\w+)\]_")
CODE = re.compile(r"(``.*?``|`[^`]*`)")
LINK = re.compile(r"(?<=\w)_(?!\w)")


def plain(line: str) -> str:
    r"""A line of prose, with what Sphinx would take for markup escaped; code in backticks stays.

    >>> plain("|x| of u_, a * b and `f(a_, *b)`")
    '\\|x\\| of u\\_, a \\* b and `f(a_, *b)`'
    """
    parts = CODE.split(CITED.sub(r"\1]", line))
    for k in range(0, len(parts), 2):
        text = LINK.sub(r"\_", re.sub(r"(?<!\\)\|", r"\|", parts[k]))
        single = text.count("*") == 1 and not text.lstrip().startswith("* ")  # that would be an entry of a list
        parts[k] = text.replace("*", r"\*") if single else text
    return "".join(parts)


def readable(lines: list[str]) -> list[str]:
    r"""The lines of a docstring, for Sphinx.

    >>> readable(["As in [1]_, |x| is small.", "", ">>> a | b", "", ".. [1] A. Author, 1993,", "   a page."])
    ['As in [1], \\|x\\| is small.', '', '>>> a | b', '', '* [1] A. Author, 1993,', '  a page.']
    """
    found, entry, literal = [], False, None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        code = literal is not None or line.lstrip().startswith((">>>", "..."))
        if line.rstrip().endswith("::") and literal is None:
            literal = indent
        if ENTRY.match(line):
            entry, line = True, ENTRY.sub(r"\1* [\2] ", line)
        elif entry and line.startswith("   "):
            line = line[1:]  # what continues an entry begins where its text does
        else:
            entry = False
        found.append(line if code else plain(line))
    return found


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)


def setup(app: Any) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process, priority=400)  # before napoleon, which has 500
    return {"version": "1", "parallel_read_safe": True}
