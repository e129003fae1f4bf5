"""Expandable connectors: what is in them follows from the connections.

Connections that touch one wait until all others are known. Then names that are connected are added to the connectors
they are connected with, until nothing new turns up; after that they are connectors like others. What is declared in
one and neither connected nor used does not exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.modelica import tree
from dalembert.modelica.components import Absent, Instance, InstanceArray, Variable
from dalembert.modelica.flat import Origin
from dalembert.modelica.scopes import Entry, Scope
from dalembert.modelica.values import Arr

if TYPE_CHECKING:
    from dalembert.modelica.connections import Connections

EXPANDABLE = "expandable connector"


class Waiting(NamedTuple):
    """A connection that touches an expandable connector."""

    node: tree.Connect
    scope: Scope
    origin: Origin


class Missing(NamedTuple):
    """A name that an expandable connector does not have yet."""

    bus: Instance
    name: str
    whole: bool  # False if a part of it was asked for


def expand(connections: Connections) -> None:
    """Add members to expandable connectors until every connection has two sides, then connect them."""
    waiting = connections.waiting
    changed = True
    while changed:
        changed = False
        for one in waiting:
            left, _ = connections.locate(one.node.left, one.scope)
            right, _ = connections.locate(one.node.right, one.scope)
            changed |= _level(left, right, one, connections) | _level(right, left, one, connections)
    for one in waiting:
        left, left_face = connections.locate(one.node.left, one.scope)
        right, right_face = connections.locate(one.node.right, one.scope)
        for side in (left, right):
            if isinstance(side, Missing):
                connections.evaluator.fail(
                    f"nothing says what `{side.name}` in `{side.bus.name}` is", one.node, one.scope,
                    "Expandable connectors get their names from connections with other connectors",
                )  # fmt: skip
        if left is not None and right is not None:
            connections.pair(left, left_face, right, right_face, one.node, one.scope, one.origin)


def _level(target: Any, source: Any, one: Waiting, connections: Connections) -> bool:
    """Give `target` what `source` has; whether something was added."""
    if isinstance(source, Missing) or source is None:
        return False
    if isinstance(target, Missing):
        if not target.whole:
            return False
        _add(target.bus, target.name, source, one, connections)
        return True
    if not (isinstance(target, Instance) and isinstance(source, Instance)) or target.kind != EXPANDABLE:
        return False
    changed = False
    for name in source.component_names():
        inner = source.component(name)
        if isinstance(inner, Absent):
            continue
        member = target.member(name)
        if member is None:
            _add(target, name, _whole(inner), one, connections)
            changed = True
        elif isinstance(inner, Instance) and isinstance(target.component(name), Instance):
            changed |= _level(target.component(name), inner, one, connections)
    return changed


def _whole(component: Any) -> Any:
    return Arr(component.dims, component.items) if isinstance(component, InstanceArray) else component


def _add(bus: Instance, name: str, like: Any, one: Waiting, connections: Connections) -> None:
    """A new member of a bus that is like another component."""
    path = bus.path_of(name)
    if isinstance(like, Arr):
        first = like.items[0] if like.items else None
        if first is None or isinstance(first, Instance):
            connections.evaluator.fail(
                f"`{path}` would be an array of connectors; declare it in {bus.klass.name}", one.node, one.scope
            )
        made, dims = first.variable, like.shape
    elif isinstance(like, Instance):
        entry = like.enclosing.entries[like.name.rsplit(".", 1)[-1].split("[")[0]]
        component: Any = Instance(like.klass, path, bus, bus.world, like.prefixes, True).build()
        component.prefixes = like.prefixes
        _put(bus, name, entry, component)
        if component.kind == EXPANDABLE:
            connections.buses.append(component)
        return
    else:
        made = like if isinstance(like, Variable) else like.variable
        dims = like.dims if isinstance(like, Variable) else ()
    prefixes = made.prefixes - {"input", "output", "parameter", "constant"}  # whoever drives it
    variable = Variable(path, made.type, made.entry, bus, prefixes)
    variable.attributes = {key: mod for key, mod in made.attributes.items() if key not in ("start", "fixed")}
    variable._dims = dims
    _put(bus, name, made.entry, variable)


def _put(bus: Instance, name: str, like: Entry, component: Any) -> None:
    entry = Entry(name, like.node._replace(name=name), like.part, None)
    bus.entries[name] = bus.part.own[name] = entry
    bus._components[name] = component
