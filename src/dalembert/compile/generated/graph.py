"""Scalar expressions of a model as one graph in which equal ones are the same node.

Each node has a *binding time*, the latest of those of its arguments: what depends on numbers that all members of an
ensemble share is computed once for all of them, what depends on a member's own parameters once for each, what depends
on time and positions once for each stage, and only what depends on velocities where these are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import IntEnum

import casadi as ca
import numpy as np

Key = tuple  # ("const", value), ("in", vector, position) or (operation, node) or (operation, node, node)


class Binding(IntEnum):
    """When the value of a node is known."""

    CONSTANT = 0
    SHARED = 1  # parameters that all members have in common
    MEMBER = 2  # parameters of a member
    POSITION = 3  # time, positions, and inputs
    STATE = 4  # velocities, dynamic variables, multipliers, accelerations


#: CasADi's operations by name
OPERATIONS = {getattr(ca, name): name[3:] for name in dir(ca) if name.startswith("OP_")}
_COMMUTE = frozenset(("ADD", "MUL", "FMIN", "FMAX", "EQ", "NE", "AND", "OR"))
_SAME = frozenset(("ASSIGN", "LIFT", "PRINTME"))
#: functions of one number that are computed for constants here; all others stay operations
_FOLDED: dict[str, Callable[[float], float]] = {"NEG": lambda a: -a, "FABS": abs}

#: operations on numbers of CasADi, which all have its meaning
_NUMBERS: dict[str, Callable[..., ca.DM]] = {
    "NEG": lambda a: -a,
    "INV": lambda a: 1 / a,
    "NOT": ca.logic_not,
    "IF_ELSE_ZERO": lambda a, b: ca.if_else(a, b, 0),
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "DIV": lambda a, b: a / b,
    "POW": lambda a, b: a**b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "AND": ca.logic_and,
    "OR": ca.logic_or,
    **{
        name.upper(): getattr(ca, name)
        for name in (
            "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "expm1", "log", "log1p", "sinh", "cosh", "tanh",
            "asinh", "acosh", "atanh", "floor", "ceil", "fabs", "sign", "erf", "erfinv", "fmin", "fmax", "fmod",
            "remainder", "atan2", "hypot", "copysign",
        )
        if hasattr(ca, name)
    },
}  # fmt: skip


class Graph:
    """Nodes by number. What adds zero or multiplies by one leaves no node.

    Examples
    --------
    >>> graph = Graph()
    >>> m, x = graph.leaf("theta", 0, Binding.MEMBER), graph.leaf("p", 0, Binding.POSITION)
    >>> twice = graph.operation("ADD", x, x)
    >>> graph.operation("MUL", m, twice) == graph.operation("MUL", graph.operation("TWICE", x), m)
    True
    >>> graph.binding[twice].name
    'POSITION'
    """

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.binding: list[Binding] = []
        self._known: dict[Key, int] = {}
        #: angles whose sines and cosines are those of the two that they are the sum or difference of
        self.sums: dict[int, tuple[str, int, int]] = {}
        self.zero, self.one = self.constant(0.0), self.constant(1.0)

    def _node(self, key: Key, binding: Binding) -> int:
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = len(self.keys)
            self.keys.append(key)
            self.binding.append(binding)
        return node

    def constant(self, value: float) -> int:
        # -0.0 and 0.0 are equal keys, and NaN never equals itself: bits would tell, but nobody asks for either
        return self._node(("const", float(value) + 0.0), Binding.CONSTANT)

    def leaf(self, vector: str, position: int, binding: Binding) -> int:
        """A number that comes from outside."""
        return self._node(("in", vector, position), binding)

    def leaves(self, vector: str, count: int, binding: Binding) -> list[int]:
        return [self.leaf(vector, k, binding) for k in range(count)]

    def value(self, node: int) -> float | None:
        """Of a constant; None for others."""
        key = self.keys[node]
        return key[1] if key[0] == "const" else None

    def find(self, name: str, *arguments: int) -> int | None:
        """The node of an operation if there is one."""
        return self._known.get((name, *arguments))

    def _negated(self, node: int) -> int | None:
        """What a node is the negative of, or None."""
        key = self.keys[node]
        return key[1] if key[0] == "NEG" else None

    def arguments(self, node: int) -> tuple[int, ...]:
        key = self.keys[node]
        return () if key[0] in ("const", "in") else key[1:]

    def operation(self, name: str, a: int, b: int | None = None) -> int:
        """The node of an operation, simplified."""
        if name in _SAME:
            return a
        if name == "SQ":
            return self.operation("MUL", a, a)
        if name == "TWICE":
            return self.operation("ADD", a, a)
        if name == "CONSTPOW":
            name = "POW"
        if name in ("SIN", "COS") and a in self.sums:
            return self._of_sum(name, *self.sums[a])
        simple = self._simple(name, a, b)
        if simple is not None:
            return simple
        if b is None:
            return self._node((name, a), self.binding[a])
        if name in _COMMUTE and b < a:
            a, b = b, a
        return self._node((name, a, b), max(self.binding[a], self.binding[b]))

    def _simple(self, name: str, a: int, b: int | None) -> int | None:
        """A simpler node of the same value, or None."""
        u, w = self.value(a), None if b is None else self.value(b)
        if u is not None and name in _FOLDED:
            return self.constant(_FOLDED[name](u))
        if name == "NEG":
            key = self.keys[a]
            if key[0] == "SUB":
                return self.operation("SUB", key[2], key[1])
            return self._negated(a)
        if name == "INV":
            return self.constant(1.0 / u) if u else None
        if b is None:
            return None
        if u is not None and w is not None and name in ("ADD", "SUB", "MUL"):
            return self.constant({"ADD": u + w, "SUB": u - w, "MUL": u * w}[name])
        return {"ADD": self._sum, "SUB": self._difference, "MUL": self._product, "DIV": self._quotient}.get(
            name, lambda *_: None
        )(a, b, u, w)

    def _sum(self, a: int, b: int, u: float | None, w: float | None) -> int | None:
        if u == 0.0 or w == 0.0:
            return b if u == 0.0 else a
        for of, other in ((b, a), (a, b)):
            minus = self._negated(of)
            if minus is not None:
                return self.operation("SUB", other, minus)
        return None

    def _difference(self, a: int, b: int, u: float | None, w: float | None) -> int | None:
        if a == b:
            return self.zero
        if w == 0.0:
            return a
        if u == 0.0:
            return self.operation("NEG", b)
        minus = self._negated(b)
        return None if minus is None else self.operation("ADD", a, minus)

    def _product(self, a: int, b: int, u: float | None, w: float | None) -> int | None:
        for known, other in ((u, b), (w, a)):
            if known == 0.0:
                return self.zero
            if known == 1.0:
                return other
            if known == -1.0:
                return self.operation("NEG", other)
        for of, other in ((a, b), (b, a)):
            minus = self._negated(of)
            if minus is not None:
                return self.operation("NEG", self.operation("MUL", minus, other))
        return None

    def _quotient(self, a: int, b: int, u: float | None, w: float | None) -> int | None:
        if u == 0.0 and w != 0.0:
            return self.zero
        if u == 1.0:
            return self.operation("INV", b)
        if w == 1.0:
            return a
        if w and math.frexp(w)[0] in (0.5, -0.5):  # its reciprocal is exact
            return self.operation("MUL", a, self.constant(1.0 / w))
        return None

    def _of_sum(self, name: str, how: str, a: int, b: int) -> int:
        """The sine or cosine of a + b or a − b."""
        sines, cosines = ([self.operation(of, x) for x in (a, b)] for of in ("SIN", "COS"))
        if name == "SIN":
            first, second = (self.operation("MUL", x, y) for x, y in ((sines[0], cosines[1]), (cosines[0], sines[1])))
            return self.operation(how, first, second)
        first, second = (self.operation("MUL", x, y) for x, y in ((cosines[0], cosines[1]), (sines[0], sines[1])))
        return self.operation("SUB" if how == "ADD" else "ADD", first, second)

    def find_sums(self, roots: Iterable[int]) -> bool:
        """Note which angles are sums of others whose sines and cosines are wanted anyway, where that leaves fewer; from
        then on theirs are made of those. Returns whether there are any."""
        angles = {self.keys[n][1] for n in self.needed(roots, frozenset()) if self.keys[n][0] in ("SIN", "COS")}
        parts = {n: self.keys[n] for n in angles if self.keys[n][0] in ("ADD", "SUB")}
        parts = {n: key for n, key in parts.items() if all(self.value(x) is None for x in key[1:])}
        others = angles - parts.keys()
        while parts:
            wanted = {x for _, *two in parts.values() for x in two} - others - parts.keys()
            if len(wanted) < len(parts):
                self.sums |= parts
                return True
            # without those that need most angles that nobody else wants
            alone = {n: sum(x in wanted for x in key[1:]) for n, key in parts.items()}
            worst = max(alone.values())
            others |= {n for n, count in alone.items() if count == worst}
            parts = {n: key for n, key in parts.items() if alone[n] < worst}
        return False

    def add(self, nodes: Iterable[int]) -> int:
        """The sum of nodes."""
        total = self.zero
        for node in nodes:
            total = self.operation("ADD", total, node)
        return total

    def read(self, function: ca.Function, inputs: Sequence[Sequence[int]]) -> list[list[int]]:
        """Nodes of the outputs of an SX function, dense, whose inputs are the given nodes."""
        registers: dict[int, int] = {}
        out = [[self.zero] * function.numel_out(k) for k in range(function.n_out())]
        for k in range(function.n_instructions()):
            name = OPERATIONS[function.instruction_id(k)]
            i, o = function.instruction_input(k), function.instruction_output(k)
            if name == "INPUT":
                registers[o[0]] = inputs[i[0]][i[1]]
            elif name == "CONST":
                registers[o[0]] = self.constant(function.instruction_constant(k))
            elif name == "OUTPUT":
                out[o[0]][o[1]] = registers[i[0]]
            else:
                registers[o[0]] = self.operation(name, *(registers[j] for j in i))
        return out

    def evaluate(self, roots: Sequence[int], leaves: Mapping[tuple[str, int], float]) -> np.ndarray:
        """Numbers of the roots; those of the leaves are given by vector and position."""
        values: dict[int, ca.SX | ca.DM] = {}

        def value(node: int) -> ca.SX | ca.DM:
            key = self.keys[node]
            if key[0] == "const":
                return ca.DM(key[1])
            return ca.DM(leaves[key[1:]]) if key[0] == "in" else values[node]

        for node in self.needed(roots, frozenset()):
            name, *arguments = self.keys[node]
            values[node] = _NUMBERS[name](*map(value, arguments))
        return np.array([float(value(root)) for root in roots])

    # -- walks -----------------------------------------------------------------------------------------------------

    def needed(self, roots: Iterable[int], known: Container[int]) -> list[int]:
        """Nodes that must be computed for the roots, arguments first and depth first, without those that are known."""
        order: list[int] = []
        seen: set[int] = set()
        for root in roots:
            stack = [(root, False)]
            while stack:
                node, ready = stack.pop()
                if ready:
                    order.append(node)
                    continue
                if node in seen or node in known or self.keys[node][0] in ("const", "in"):
                    continue
                seen.add(node)
                stack.append((node, True))
                stack.extend((argument, False) for argument in reversed(self.arguments(node)))
        return order

    def frontier(self, roots: Iterable[int], level: Binding) -> list[int]:
        """Nodes bound at `level` or before, and not constant, that something bound later among the needed ones reads,
        or that are roots; in the order in which they are met."""
        found: dict[int, None] = {}
        seen: set[int] = set()
        stack = list(roots)[::-1]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if self.binding[node] <= level:
                if self.binding[node] != Binding.CONSTANT:
                    found[node] = None
            else:
                stack.extend(reversed(self.arguments(node)))
        return list(found)
