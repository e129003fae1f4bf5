"""connect: sets of connected scalars, and the equations that they mean.

A scalar of a connector has two faces: outside, seen from the component that it belongs to, and inside, seen from the
one around it. Sets hold pairs of name and face; the signs of flow variables follow from the face.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.modelica import tree
from dalembert.modelica.components import Absent, Instance, InstanceArray, Variable
from dalembert.modelica.expandable import EXPANDABLE, Missing, Waiting, expand
from dalembert.modelica.flat import FlatEquation, Origin
from dalembert.modelica.operators import negated, total
from dalembert.modelica.overconstrained import CONSTRAINT, Edge, Graph
from dalembert.modelica.scopes import Entry, Scope
from dalembert.modelica.values import AT, Arr

if TYPE_CHECKING:
    from dalembert.modelica.evaluate import Evaluator

INSIDE, OUTSIDE = 1, -1  # the sign of a flow variable in the sum


class _Element(NamedTuple):
    """One scalar of a variable."""

    variable: Variable
    name: str


class Connections:
    """All connections of a model."""

    def __init__(self, evaluator: Evaluator):
        self.evaluator = evaluator
        self.parent: dict[tuple[str, int], tuple[str, int]] = {}
        self.is_flow: dict[str, bool] = {}
        self.origin: dict[tuple[str, int], Origin] = {}
        self.sources: dict[tuple[str, int], Origin] = {}  # what gives signals: outputs seen from outside, own inputs
        self.flows: dict[str, Origin] = {}  # all flow variables of connectors
        self.graph = Graph(self)
        evaluator.graph = self.graph
        self.buses: list[Instance] = []  # all expandable connectors
        self.dropped: set[tuple[str, int]] = set()  # what is in them and does not exist
        self.waiting: list[Waiting] = []  # connections that touch one of these
        self._touched = False  # whether the last name led through one

    # -- sets ----------------------------------------------------------------------------------------------------

    def root(self, key: tuple[str, int]) -> tuple[str, int]:
        self.parent.setdefault(key, key)
        while self.parent[key] != key:
            self.parent[key] = self.parent[self.parent[key]]
            key = self.parent[key]
        return key

    def join(self, a: tuple[str, int], b: tuple[str, int], origin: Origin) -> None:
        self.origin.setdefault(a, origin)
        self.origin.setdefault(b, origin)
        first, second = self.root(a), self.root(b)
        if first != second:
            self.parent[second] = first

    # -- connect -------------------------------------------------------------------------------------------------

    def connect(self, node: tree.Connect, scope: Scope, origin: Origin) -> None:
        self._touched = False
        left, left_face = self.locate(node.left, scope)
        right, right_face = self.locate(node.right, scope)
        if self._touched:
            self.waiting.append(Waiting(node, scope, origin))
            return
        if left is None or right is None:  # conditional and absent
            return
        self.graph.note(left)
        self.graph.note(right)
        self.pair(left, left_face, right, right_face, node, scope, origin)

    def locate(self, ref: tree.Ref, scope: Scope) -> tuple[Any, int]:
        """What a name in connect means: an instance, a scalar, or an array of them; None if it is absent."""
        evaluator = self.evaluator
        entry = scope.part.lookup(ref.names[0])
        if not isinstance(entry, Entry) or entry.is_class:
            evaluator.fail(f"there is no component `{ref.names[0]}` to connect", ref, scope)
        component = entry.part.instance.component(ref.names[0])
        face = OUTSIDE if is_connector(entry, component) else INSIDE
        return self.follow(component, ref, 0, scope), face

    def follow(self, component: Any, ref: tree.Ref, i: int, scope: Scope) -> Any:
        evaluator = self.evaluator
        subs = None if ref.subs is None else ref.subs[i]
        if isinstance(component, Absent):
            return None
        if isinstance(component, Variable):
            if i + 1 < len(ref.names):
                evaluator.fail(f"`{component.name}` has no element `{ref.names[i + 1]}`", ref, scope)
            elements = [_Element(component, name) for name in component.element_names()]
            found: Any = Arr(component.dims, elements) if component.dims else elements[0]
            return evaluator.subscripted(found, subs, scope.constant(), ref) if subs is not None else found
        if isinstance(component, Instance) and component.kind == EXPANDABLE:
            self._touched = True
        if isinstance(component, InstanceArray):
            found = Arr(component.dims, component.items)
            self._touched |= any(item.kind == EXPANDABLE for item in component.items)
            found = evaluator.subscripted(found, subs, scope.constant(), ref) if subs is not None else found
        else:
            found = component
        if i + 1 == len(ref.names):
            return found
        if not isinstance(found, Arr):
            return self.inner(found, ref, i, scope)
        parts = [self.inner(item, ref, i, scope) for item in found.items]
        if parts and isinstance(parts[0], Arr):
            return Arr(found.shape + parts[0].shape, [item for part in parts for item in part.items])
        return Arr(found.shape, parts)

    def inner(self, instance: Instance, ref: tree.Ref, i: int, scope: Scope) -> Any:
        name = ref.names[i + 1]
        member = instance.member(name)
        if member is None and instance.kind == EXPANDABLE:
            if ref.subs is not None and ref.subs[i + 1] is not None:
                self.evaluator.fail(
                    f"the size of `{name}` in the expandable connector `{instance.name}` is not known", ref, scope,
                    f"Declare it in {instance.klass.name}",
                )  # fmt: skip
            return Missing(instance, name, i + 2 == len(ref.names))
        if member is None or member.is_class:
            self.evaluator.fail(f"`{instance.name}` ({instance.klass.name}) has no component `{name}`", ref, scope)
        if "protected" in member.node.prefixes:
            self.evaluator.fail(f"`{name}` is protected in {instance.klass.name}", ref, scope)
        return self.follow(instance.component(name), ref, i + 1, scope)

    def pair(self, a: Any, a_face: int, b: Any, b_face: int, node: Any, scope: Scope, origin: Origin) -> None:
        fail = self.evaluator.fail
        if isinstance(a, Arr) or isinstance(b, Arr):
            sizes = [list(x.shape) if isinstance(x, Arr) else "a scalar" for x in (a, b)]
            if sizes[0] != sizes[1]:
                fail(f"connected arrays have different sizes: {sizes[0]} and {sizes[1]}", node, scope)
            for x, y in zip(a.items, b.items, strict=True):
                self.pair(x, a_face, y, b_face, node, scope, origin)
            return
        if isinstance(a, _Element) and isinstance(b, _Element):
            self.leaves(a, a_face, b, b_face, node, scope, origin)
            return
        if isinstance(a, _Element) or isinstance(b, _Element):
            fail("a connector and a variable cannot be connected", node, scope)
        for one in (a, b):
            if one.kind not in ("connector", EXPANDABLE, "record", "operator record"):
                fail(f"`{one.name}` is a {one.kind}; only connectors can be connected", node, scope)
        if CONSTRAINT in a.entries and CONSTRAINT in b.entries:
            self.graph.edges.append(Edge(a, a_face, b, b_face, node, scope, origin))
            return
        self.fields(a, a_face, b, b_face, node, scope, origin)

    def fields(
        self, a: Instance, a_face: int, b: Instance, b_face: int, node: Any, scope: Scope, origin: Origin
    ) -> None:
        """Connect what is in two connectors or records."""
        fail = self.evaluator.fail
        names, others = a.component_names(), b.component_names()
        if EXPANDABLE in (a.kind, b.kind):
            names = others = [name for name in names if b.member(name) is not None]
        if set(names) != set(others):
            odd = sorted(set(names) ^ set(others))
            fail(f"the connectors `{a.name}` and `{b.name}` differ: {', '.join(odd)}", node, scope)
        for name in names:
            x = self.follow(a.component(name), tree.Ref(node.at, (name,)), 0, scope)
            y = self.follow(b.component(name), tree.Ref(node.at, (name,)), 0, scope)
            if x is not None and y is not None:
                self.pair(x, a_face, y, b_face, node, scope, origin)

    def leaves(
        self, a: _Element, a_face: int, b: _Element, b_face: int, node: Any, scope: Scope, origin: Origin
    ) -> None:
        words, others = a.variable.prefixes, b.variable.prefixes
        if "stream" in words or "stream" in others:
            self.evaluator.fail(f"stream connectors (`{a.name}`) are not supported", node, scope)
        if ("flow" in words) != ("flow" in others):
            self.evaluator.fail(f"`{a.name}` and `{b.name}` are connected, and only one is a flow", node, scope)
        if {"parameter", "constant"} & (words | others):
            return  # they have to be equal, and give no equations
        if a.variable.type != b.variable.type and not hasattr(a.variable.type, "name"):
            self.evaluator.fail(f"`{a.name}` and `{b.name}` are connected and of different types", node, scope)
        for one, face in ((a, a_face), (b, b_face)):
            self.is_flow[one.name] = "flow" in words
            gives = ("output" if face == INSIDE else "input") in one.variable.prefixes and "flow" not in words
            if gives and not (face == OUTSIDE and is_protected(one.variable)):
                self.sources[one.name, face] = origin
        self.join((a.name, a_face), (b.name, b_face), origin)

    # -- expandable connectors -----------------------------------------------------------------------------------

    def expand(self) -> None:
        """Find out what is in expandable connectors, and carry out the connections that touch one."""
        expand(self)

    def present(self, used: set[str]) -> set[str]:
        """Scalars that exist: used ones, and those that are connected with something beside expandable connectors.

        Sets of which none exists are dropped.
        """
        within = tuple(f"{bus.name}." for bus in self.buses)
        sets: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for key in self.parent:
            sets.setdefault(self.root(key), []).append(key)
        found = used | {name for name, _ in self.parent if not name.startswith(within)}
        waiting = list(sets.values())
        while settled := [keys for keys in waiting if any(name in found for name, _ in keys)]:
            waiting = [keys for keys in waiting if keys not in settled]
            found.update(name for keys in settled for name, _ in keys)
        self.dropped.update(key for keys in waiting for key in keys)
        return found

    # -- equations -----------------------------------------------------------------------------------------------

    def equations(self) -> list[FlatEquation]:
        """Equal potentials, and sums of flows; what is not connected does not flow."""
        sets: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for key in self.parent:
            if key not in self.dropped:
                sets.setdefault(self.root(key), []).append(key)
        found = []
        for members in sets.values():
            origin = self.origin[members[0]]
            if len(sources := [key for key in members if key in self.sources]) > 1:
                place = self.sources[sources[-1]]
                names = " and ".join(f"`{name}`" for name, _ in sources)
                place.source.fail(f"{names} are connected, and both give a signal", place.at)
            if self.is_flow[members[0][0]]:
                found.append(FlatEquation(_sum(members), tree.Literal(AT, 0.0), origin))
            else:
                names = list(dict.fromkeys(name for name, _ in members))
                first = tree.Ref(AT, (names[0],))
                found += [FlatEquation(first, tree.Ref(AT, (name,)), origin) for name in names[1:]]
        for name, origin in self.flows.items():
            if (name, INSIDE) not in self.parent:
                found.append(FlatEquation(tree.Ref(AT, (name,)), tree.Literal(AT, 0.0), origin))
        return found


def _sum(members: list[tuple[str, int]]) -> tree.Expression:
    return total(
        [tree.Ref(AT, (name,)) if face == INSIDE else negated(tree.Ref(AT, (name,))) for name, face in members]
    )


def is_connector(entry: Entry, component: Any) -> bool:
    """Whether a component is a connector; arrays of them count."""
    if isinstance(component, Instance):
        return component.kind.endswith("connector")
    if isinstance(component, InstanceArray) and component.items:
        return component.items[0].kind.endswith("connector")
    node, part = entry.node, entry.part
    if entry.mod is not None and isinstance(entry.mod.redeclared, tree.Component):
        node, part = entry.mod.redeclared, entry.mod.part
    return part.find_class(node.type).kind.endswith("connector")


def is_protected(variable: Variable) -> bool:
    """Whether a variable, or the connector that it is in, is hidden from outside."""
    entry, owner = variable.entry, variable.owner
    while True:
        if "protected" in entry.node.prefixes:
            return True
        if not owner.kind.endswith("connector") or owner.enclosing is None:
            return False
        entry = owner.enclosing.entries.get(owner.name.rsplit(".", 1)[-1].split("[")[0], entry)
        owner = owner.enclosing
