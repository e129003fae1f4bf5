"""What kinds of classes may hold, and which words may stand before what: faults that would otherwise go unnoticed.

Everything raises ModelicaError with the place of the declaration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.modelica import tree
from dalembert.modelica.source import Source

if TYPE_CHECKING:
    from dalembert.modelica.components import Instance
    from dalembert.modelica.scopes import Entry

_TYPES = ("Real", "Integer", "Boolean", "String")
_DIRECTIONS = ("input", "output")

#: words that components of a kind of class may not have
_FORBIDDEN = {
    "record": ("flow", "stream", "input", "output", "inner", "outer", "protected"),
    "connector": ("protected", "inner", "outer"),
    "expandable connector": ("protected", "inner", "outer", "flow", "stream"),
}


def check_class(node: tree.ClassDef, source: Source) -> None:
    """Names and prefixes of what is declared in a class."""
    for one in node.elements:
        if not isinstance(one, tree.Component | tree.ClassDef):
            continue
        if one.name in _TYPES:
            source.fail(f"`{one.name}` is the name of a builtin type and cannot be declared", one.at)
        if not isinstance(one, tree.Component):
            continue
        for word in _FORBIDDEN.get(node.kind, ()):
            if word in one.prefixes:
                source.fail(f"`{one.name}` is {word}, and components of a {node.kind} may not be", one.at)
        if node.kind == "package" and "constant" not in one.prefixes:
            source.fail(f"`{one.name}` stands in package {node.name}, and only constants may", one.at)
        if "outer" in one.prefixes and "inner" not in one.prefixes and one.modification is not None:
            source.fail(
                f"`outer {one.name}` cannot be modified, as it stands for the inner one", one.at, "Modify that one"
            )


def check_loops(items: tuple[Any, ...], source: Source, looping: bool = False, when: bool = False) -> None:
    """`break` stands in loops, and when-clauses neither in each other nor in loops."""
    for one in items:
        match one:
            case tree.Break() if not looping:
                source.fail("`break` is for loops", one.at)
            case tree.For() | tree.While():
                check_loops(one.body, source, True, when)
            case tree.If():
                for body in (*(body for _, body in one.branches), one.otherwise or ()):
                    check_loops(body, source, looping, when)
            case tree.When():
                if when:
                    source.fail("when-clauses cannot stand within each other", one.at)
                for _, body in one.branches:
                    check_loops(body, source, looping, True)


def check_prefixes(entry: Entry, component: Instance, given: frozenset[str], inner: set[str]) -> None:
    """Prefixes that are given to a component against those of its type: input and output, flow."""
    source, at = entry.part.source, entry.node.at
    words = [word for word in (*_DIRECTIONS, "flow", "stream") if word in given]
    for word in words:
        pairs = _DIRECTIONS if word in _DIRECTIONS else ("flow", "stream")
        for other in pairs:
            if other in inner:
                source.fail(f"`{entry.name}` is {word}, and its type says {other} already", at)
    if "flow" in given and component.builtin not in (None, "Real", "Integer"):
        source.fail(f"`{entry.name}` is a flow and has to be a number", at)
    kind = component.kind
    if kind in ("model", "block"):
        for word in ("constant", "parameter", "discrete", "flow", "input", "output"):
            if word in entry.node.prefixes:
                source.fail(f"`{entry.name}` is {word}, and a component of a {kind} cannot be", at)
