"""What occurs in trees of the flat model: unknowns and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dalembert.modelica import tree
from dalembert.modelica.values import AT

#: an unknown ("x", name), or its derivative ("d", name)
Atom = tuple[str, str]

VALUE, RATE = "x", "d"


class Result(NamedTuple):
    """A node of our own: what algorithm number `algorithm` makes of `target`. `names` are those that it reads."""

    at: int
    algorithm: int
    target: str
    names: tuple[str, ...]


def call_name(node: Any) -> str | None:
    """The name of what a node calls; None if it is no call."""
    return ".".join(node.function.names) if isinstance(node, tree.Call) else None


def atoms(node: Any, is_unknown: Callable[[str], bool]) -> set[Atom]:
    """Unknowns and derivatives that occur in an expression; what stands in `pre` counts as known."""
    found: set[Atom] = set()
    waiting: list[tuple[Any, bool]] = [(node, False)]
    while waiting:
        one, rated = waiting.pop()
        if isinstance(one, tree.Ref):
            if len(one.names) == 1 and is_unknown(one.names[0]):
                found.add((RATE if rated else VALUE, one.names[0]))
            waiting += [(sub, rated) for subs in one.subs or () for sub in subs or ()]
        elif isinstance(one, Result):
            found |= {(VALUE, name) for name in one.names if is_unknown(name)}
        elif isinstance(one, tree.Call):
            name = call_name(one)
            if name == "pre" and not (isinstance(one.args[0], tree.Ref) and is_unknown(one.args[0].names[0])):
                continue
            inner = [*one.args, *(named.value for named in one.named)]
            if name == "der":
                waiting += [(child, True) for child in inner]
                if not all(isinstance(child, tree.Ref) for child in inner):
                    waiting += [(child, False) for child in inner]  # der(x*y) = …
            else:
                waiting += [(child, rated) for child in inner]
            waiting += [(iterator.range, rated) for iterator in one.iterators]
        elif isinstance(one, tuple):
            waiting += [(child, rated) for child in one if isinstance(child, tuple)]
    return found


def all_names(node: Any) -> Iterator[str]:
    """All names of scalars, also those that algorithms read."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tree.Ref):
            if len(one.names) == 1:
                yield one.names[0]
        elif isinstance(one, Result):
            yield from one.names
        elif isinstance(one, tree.Call):
            waiting += [*one.args, *(named.value for named in one.named)]
        elif isinstance(one, tuple):
            waiting += [child for child in one if isinstance(child, tuple)]


def has_call(node: Any, names: frozenset[str]) -> bool:
    """Whether something with one of these names is called in an expression."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tree.Call) and call_name(one) in names:
            return True
        if isinstance(one, tuple):
            waiting += [child for child in one if isinstance(child, tuple)]
    return False


def derivative(node: tree.Expression) -> tree.Call:
    """der(node)"""
    return tree.Call(AT, tree.Ref(AT, ("der",)), (node,))


def compared(node: Any) -> set[str]:
    """Names on either side of relations that make events."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tree.Binary) and one.op in ("<", "<=", ">", ">="):
            found.update(all_names((one.left, one.right)))
        if call_name(one) == "noEvent":
            continue
        if isinstance(one, tuple | list):
            waiting += [child for child in one if isinstance(child, tuple | list)]
    return found
