"""Edges of contacts' geometry: where gaps pass from one smooth piece to another.

Pieces come from functions such as np.maximum, abs, np.where or np.floor in the gaps. Each of them has a *switching
function*, whose sign (for np.floor: whose whole part) says which piece it is. Discrete variables hold the answer:

    np.maximum(a, b)    a where a − b is on the positive side, b on the other; as written where no side is held

While a side is held, gaps are smooth also beyond the edge, so that methods keep their order up to it; where none is,
nothing is different from what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

#: gaps with more edges are taken as they are
MOST = 200
#: to which expressions are compared
DEPTH = 20


@dataclass(frozen=True)
class Edge:
    """An edge of the gaps of some contacts: where its function is zero or, for one with levels, a whole number.

    The functions are those of the model's role "edges", in this order.

    `side` is the discrete variable that holds −1 or 1; 0: no side is held, and the gap is as it was written. For
    functions with levels it holds 0 or 1, and `level` the level.
    """

    number: int
    contacts: tuple[int, ...]  # those whose gaps or sliding velocities have it
    side: str
    slack: str  # by how much the function may be beyond the edge before that is noticed
    level: str = ""  # of functions without levels: none
    given: bool = False  # by the user: gaps are not known to have pieces there

    @property
    def names(self) -> tuple[str, ...]:
        return (self.side, self.slack, self.level) if self.level else (self.side, self.slack)

    def inside(self, function: ca.SX, discrete: Mapping[str, ca.SX]) -> ca.SX:
        """Positive on the side, or the level, that is held."""
        if self.level:
            above = function - discrete[self.level]
            return ca.fmin(above, 1 - above)
        return discrete[self.side] * function


class EdgeFinder:
    """Finds edges in expressions, and puts pieces in the places of functions that have them.

    The discrete variables are symbols of its own, by name in `symbols`, which a model replaces by its own.
    """

    def __init__(self, moving: ca.SX):
        self._moving = moving  # what changes during a motion: conditions on anything else are no edges
        self._found: list[tuple[ca.SX, bool, set[int]]] = []  # function, whether it has levels, contacts
        self._given: set[int] = set()
        self._frozen = False
        self.symbols: dict[str, ca.SX] = {}

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(
            Edge(k, tuple(sorted(contacts)), *_names(k)[:2], _names(k)[2] if levels else "", k in self._given)
            for k, (_, levels, contacts) in enumerate(self._found)
        )

    @property
    def functions(self) -> ca.SX:
        """Switching functions of the edges."""
        return ca.vertcat(*(function for function, _, _ in self._found))

    def pieces(self, column: ca.SX, contact: int, *, known: bool = False) -> ca.SX:
        """The column with pieces; its edges are those of `contact`. `known`: only such as have been found already."""
        self._frozen = known
        symbols = ca.symvar(column)
        tape = ca.Function("gaps", symbols, [ca.densify(column)])
        register: dict[int, ca.SX] = {}
        out = ca.SX.zeros(column.numel())
        for k in range(tape.n_instructions()):
            operation, inputs, outputs = tape.instruction_id(k), tape.instruction_input(k), tape.instruction_output(k)
            if operation == ca.OP_INPUT:
                register[outputs[0]] = symbols[inputs[0]]
            elif operation == ca.OP_CONST:
                register[outputs[0]] = ca.SX(tape.instruction_constant(k))
            elif operation == ca.OP_OUTPUT:
                out[outputs[1]] = register[inputs[0]]
            else:
                register[outputs[0]] = self._piece(operation, [register[i] for i in inputs], contact)
        return ca.reshape(out, column.shape)

    def user(self, function: ca.SX, contacts: Sequence[int]) -> None:
        """An edge that stands in no gap: pieces are not told apart, but the method stops there."""
        known = len(self._found)
        for contact in contacts:
            k = self._add(function, False, contact)
            if k >= known:
                self._given.add(k)

    def _piece(self, operation: int, x: Sequence[ca.SX], contact: int) -> ca.SX:
        piece = PIECES.get(operation)
        if piece is not None:
            return piece(lambda function, levels=False: self._side(function, levels, contact), *x)
        return ca.SX.unary(operation, x[0]) if len(x) == 1 else ca.SX.binary(operation, *x)

    def _side(self, function: ca.SX, levels: bool, contact: int) -> Side | None:
        """Who holds the side of a switching function; None if it does not change with the motion."""
        if not ca.depends_on(function, self._moving) or (self._frozen and self._place(function, levels) is None):
            return None
        side, _, level = _names(self._add(function, levels, contact))
        return Side(self.symbols[side], self.symbols[level] if levels else None)

    def _place(self, function: ca.SX, levels: bool) -> int | None:
        """The number of an edge that is known."""
        for k, (known, has_levels, _) in enumerate(self._found):
            if levels == has_levels and ca.is_equal(known, function, DEPTH):
                return k
        return None

    def _add(self, function: ca.SX, levels: bool, contact: int) -> int:
        place = self._place(function, levels)
        if place is not None:
            self._found[place][2].add(contact)
            return place
        k = len(self._found)
        self._found.append((function, levels, {contact}))
        for name in _names(k)[: 3 if levels else 2]:
            self.symbols[name] = ca.SX.sym(name)
        return k


@dataclass(frozen=True)
class Side:
    """Symbols of the side (and level) that is held."""

    side: ca.SX
    level: ca.SX | None = None

    def choose(self, written: ca.SX, plus: ca.SX, minus: ca.SX) -> ca.SX:
        """One of two pieces, or what was written."""
        return ca.if_else(self.side == 0, written, ca.if_else(self.side > 0, plus, minus))


def _names(k: int) -> tuple[str, str, str]:
    name = f"contact_edge{k + 1}"
    return name, f"{name}_slack", f"{name}_level"


Ask = Callable[..., Side | None]


def _maximum(ask: Ask, a: ca.SX, b: ca.SX) -> ca.SX:
    side, written = ask(a - b), ca.fmax(a, b)
    return written if side is None else side.choose(written, a, b)


def _minimum(ask: Ask, a: ca.SX, b: ca.SX) -> ca.SX:
    side, written = ask(a - b), ca.fmin(a, b)
    return written if side is None else side.choose(written, b, a)


def _modulus(ask: Ask, a: ca.SX) -> ca.SX:
    side, written = ask(a), ca.fabs(a)
    return written if side is None else side.choose(written, a, -a)


def _sign(ask: Ask, a: ca.SX) -> ca.SX:
    side, written = ask(a), ca.sign(a)
    return written if side is None else side.choose(written, ca.SX(1), ca.SX(-1))


def _copysign(ask: Ask, a: ca.SX, b: ca.SX) -> ca.SX:
    side, size = ask(b), _modulus(ask, a)
    return ca.copysign(a, b) if side is None else side.choose(ca.copysign(a, b), size, -size)


def _less(ask: Ask, a: ca.SX, b: ca.SX) -> ca.SX:
    side, written = ask(b - a), a < b
    return written if side is None else side.choose(written, ca.SX(1), ca.SX(0))


def _less_equal(ask: Ask, a: ca.SX, b: ca.SX) -> ca.SX:
    side, written = ask(b - a), a <= b
    return written if side is None else side.choose(written, ca.SX(1), ca.SX(0))


def _floor(ask: Ask, a: ca.SX) -> ca.SX:
    side, written = ask(a, True), ca.floor(a)
    return written if side is None else ca.if_else(side.side == 0, written, side.level)


def _ceil(ask: Ask, a: ca.SX) -> ca.SX:
    return -_floor(ask, -a)


def _fmod(ask: Ask, a: ca.SX, b: ca.SX) -> ca.SX:
    ratio = a / b
    sign = _sign(ask, ratio)
    return a - b * sign * _floor(ask, _modulus(ask, ratio))


def _remainder(ask: Ask, a: ca.SX, b: ca.SX) -> ca.SX:
    return a - b * _floor(ask, a / b + 0.5)


#: what stands in the place of operations that have edges
PIECES: dict[int, Callable[..., ca.SX]] = {
    ca.OP_FMAX: _maximum,
    ca.OP_FMIN: _minimum,
    ca.OP_FABS: _modulus,
    ca.OP_SIGN: _sign,
    ca.OP_COPYSIGN: _copysign,
    ca.OP_LT: _less,
    ca.OP_LE: _less_equal,
    ca.OP_FLOOR: _floor,
    ca.OP_CEIL: _ceil,
    ca.OP_FMOD: _fmod,
    ca.OP_REMAINDER: _remainder,
}
