"""Overconstrained connectors: connected components have redundant coordinates, so loops of connections are cut open.

Nodes are instances of records with a function `equalityConstraint`. `Connections.branch` joins two of them for good,
connecting them joins them unless that closes a loop. From the root of every tree one can tell which end of a branch is
nearer (`rooted`). Where a loop is cut, the equations of equality are replaced by those of `equalityConstraint`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.modelica import tree
from dalembert.modelica.components import Absent, Instance
from dalembert.modelica.flat import FlatEquation, Origin
from dalembert.modelica.scopes import Scope
from dalembert.modelica.values import AT, Arr, as_tree

if TYPE_CHECKING:
    from dalembert.modelica.connections import Connections

CONSTRAINT = "equalityConstraint"
_QUESTIONS = {("Connections", "isRoot"), ("Connections", "rooted"), ("rooted",), ("cardinality",)}
_STATEMENTS = {"branch": 2, "root": 1, "potentialRoot": 1}


class Edge(NamedTuple):
    """A connection of two nodes."""

    left: Instance
    left_face: int
    right: Instance
    right_face: int
    node: Any
    scope: Scope
    origin: Origin


class Graph:
    """Nodes, branches, roots, and how they hang together."""

    def __init__(self, connections: Connections):
        self.connections = connections
        self.branches: list[tuple[str, str]] = []
        self.roots: dict[str, Origin] = {}
        self.potential: dict[str, int] = {}
        self.edges: list[Edge] = []
        self.count: dict[str, int] = {}  # connections of each connector, for `cardinality`
        self.depth: dict[str, int] | None = None  # once the trees are known

    def note(self, side: Any) -> None:
        """Count a connection of a connector."""
        for one in side.items if isinstance(side, Arr) else [side]:
            name = getattr(one, "name", "")
            self.count[name] = self.count.get(name, 0) + 1

    # -- what the text says --------------------------------------------------------------------------------------

    def state(self, call: tree.Call, scope: Scope) -> None:
        """`Connections.branch(a.R, b.R)` and its kin, as an equation."""
        evaluator = self.connections.evaluator
        name = call.function.names[-1]
        if len(call.function.names) != 2 or name not in _STATEMENTS:
            evaluator.fail(f"`{'.'.join(call.function.names)}` cannot stand as an equation", call, scope)
        if len(call.args) < _STATEMENTS[name]:
            evaluator.fail(f"`Connections.{name}` needs {_STATEMENTS[name]} arguments", call, scope)
        nodes = [self.node(arg, scope) for arg in call.args[: _STATEMENTS[name]]]
        if None in nodes:
            return
        origin = Origin(scope.part.source, call.at, nodes[0])
        if name == "branch":
            self.branches.append((nodes[0], nodes[1]))
        elif name == "root":
            self.roots[nodes[0]] = origin
        else:
            rest = [*call.args[1:], *(one.value for one in call.named)]
            self.potential[nodes[0]] = evaluator.known_value(rest[0], scope, "a priority") if rest else 0

    def node(self, arg: tree.Expression, scope: Scope) -> str | None:
        """The name of the record that is meant; None if it is absent."""
        fail = self.connections.evaluator.fail
        if not isinstance(arg, tree.Ref):
            fail("the name of an overconstrained record is needed", arg, scope)
        found, _ = self.connections.locate(arg, scope)
        if found is None or isinstance(found, Absent):
            return None
        if not isinstance(found, Instance):
            fail(f"`{'.'.join(arg.names)}` is no overconstrained record", arg, scope)
        return found.name

    # -- trees ---------------------------------------------------------------------------------------------------

    def solve(self) -> list[FlatEquation]:
        """Choose which connections are cut, connect the others, and return the equations of those that are cut."""
        if self.depth is not None:
            return []
        parent: dict[str, str] = {}

        def top(name: str) -> str:
            parent.setdefault(name, name)
            while parent[name] != name:
                parent[name] = parent[parent[name]]
                name = parent[name]
            return name

        neighbours: dict[str, list[str]] = {}

        def join(a: str, b: str) -> None:
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)
            first, second = top(a), top(b)
            if first != second:
                parent[second] = first
                rooted[first] = rooted.get(first) or rooted.get(second)

        rooted: dict[str, str | None] = dict.fromkeys(self.roots)
        for name in self.roots:
            rooted[name] = name
        for a, b in self.branches:
            first, second = rooted.get(top(a)), rooted.get(top(b))
            if first and second and first != second:
                origin = self.roots[second]
                origin.source.fail(f"`{first}` and `{second}` are joined by branches, and both are roots", origin.at)
            join(a, b)
        found: list[FlatEquation] = []
        for edge in self.edges:
            a, b = top(edge.left.name), top(edge.right.name)
            if a == b or (rooted.get(a) and rooted.get(b)):
                found += self.cut(edge)
            else:
                join(edge.left.name, edge.right.name)
                self.connections.fields(edge.left, edge.left_face, edge.right, edge.right_face, *edge[4:])
        starts = set(self.roots)
        groups: dict[str, list[str]] = {}
        for name in [*parent, *self.potential]:
            groups.setdefault(top(name), []).append(name)
        for key, names in groups.items():
            if not rooted.get(key):
                open_ = [name for name in names if name in self.potential]
                starts.add(min(open_, key=lambda name: (self.potential[name], name)) if open_ else names[0])
        self.depth = dict.fromkeys(starts, 0)
        queue = deque(starts)
        while queue:
            name = queue.popleft()
            for other in neighbours.get(name, ()):
                if other not in self.depth:
                    self.depth[other] = self.depth[name] + 1
                    queue.append(other)
        return found

    def cut(self, edge: Edge) -> list[FlatEquation]:
        evaluator = self.connections.evaluator
        klass = edge.left.member(CONSTRAINT).klass()
        values = [evaluator.record_of(one, edge.node, edge.scope) for one in (edge.left, edge.right)]
        call = tree.Call(edge.node.at, tree.Ref(edge.node.at, (CONSTRAINT,)), ())
        residual = evaluator.function(klass).call(values, {}, call, edge.scope)
        items = residual.items if isinstance(residual, Arr) else [residual]
        return [FlatEquation(tree.Literal(AT, 0.0), as_tree(item), edge.origin) for item in items]

    # -- questions -----------------------------------------------------------------------------------------------

    def answer(self, call: tree.Call, scope: Scope) -> bool | int:
        """`Connections.isRoot`, `Connections.rooted`, `cardinality`."""
        evaluator = self.connections.evaluator
        if len(call.args) != 1:
            evaluator.fail(f"`{'.'.join(call.function.names)}` needs one argument", call, scope)
        name = self.node(call.args[0], scope)
        if self.depth is None:
            evaluator.fail(
                f"`{'.'.join(call.function.names)}` cannot be used here: connections may depend on it", call, scope
            )
        if call.function.names == ("cardinality",):
            return self.count.get(name or "", 0)
        if call.function.names[-1] == "isRoot":
            return self.depth.get(name or "") == 0
        ends = [b if a == name else a for a, b in self.branches if name in (a, b)]
        if not ends:
            evaluator.fail(f"no branch ends at `{name}`", call, scope)
        return self.depth.get(name, 0) < self.depth.get(ends[0], 0)


def asks(node: Any) -> bool:
    """Whether what is said depends on connections that may stand elsewhere."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tree.Call) and one.function.names in _QUESTIONS:
            return True
        if isinstance(one, tuple):
            waiting += [child for child in one if isinstance(child, tuple)]
    return False
