"""Operations that switch: where their arguments pass certain values, an expression has a jump or a kink.

Derivatives do not show it: that of sign(x) is zero wherever there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

#: what operations are called in messages
NAMES = {
    ca.OP_FABS: "abs",
    ca.OP_SIGN: "sign",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_FMIN: "minimum",
    ca.OP_FMAX: "maximum",
    ca.OP_FMOD: "fmod",
    ca.OP_REMAINDER: "remainder",
    ca.OP_COPYSIGN: "copysign",
    ca.OP_LT: "a comparison",
    ca.OP_LE: "a comparison",
    ca.OP_EQ: "a comparison",
    ca.OP_NE: "a comparison",
    ca.OP_IF_ELSE_ZERO: "where",
    ca.OP_NOT: "a condition",
    ca.OP_AND: "a condition",
    ca.OP_OR: "a condition",
}
_DIFFERENCES = (ca.OP_FMIN, ca.OP_FMAX, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE)
#: what they switch by is a comparison, nearly always, which is found itself
_OF_CONDITIONS = (ca.OP_IF_ELSE_ZERO, ca.OP_NOT, ca.OP_AND, ca.OP_OR)


@dataclass(frozen=True)
class Switch:
    """An operation that switches where `boundary` is zero, and the rows that contain it."""

    name: str
    boundary: ca.SX
    rows: tuple[int, ...]


def switches(column: ca.SX) -> list[Switch]:
    """The switching operations in a column.

    >>> x = ca.SX.sym("x", 2)
    >>> for switch in switches(ca.vertcat(x[0] ** 2, abs(x[0]) + x[1], ca.fmax(x[0], 1) * abs(x[1]))):
    ...     print(switch.name, switch.boundary, switch.rows)
    abs x_0 (1,)
    maximum (x_0-1) (2,)
    abs x_1 (2,)
    """
    column, symbols = ca.densify(ca.vec(column)), ca.symvar(column)
    tape = ca.Function("f", [ca.vertcat(*symbols)], [column])
    kinds = np.fromiter(map(tape.instruction_id, range(tape.n_instructions())), int, tape.n_instructions())
    if not np.isin(kinds, list(NAMES)).any():
        return []
    value: list[ca.SX] = [ca.SX(0)] * tape.sz_w()  # the tape is run with symbols
    behind: list[frozenset[int]] = [frozenset()] * tape.sz_w()  # numbers of the switches in each value
    found: list[tuple[str, ca.SX, list[int]]] = []
    for k, kind in enumerate(kinds.tolist()):
        places, target = tape.instruction_input(k), tape.instruction_output(k)
        if kind == ca.OP_OUTPUT:
            for number in behind[places[0]]:
                found[number][2].append(target[1])
            continue
        inherited = frozenset()
        if kind == ca.OP_INPUT:
            result = symbols[places[1]]
        elif kind == ca.OP_CONST:
            result = ca.SX(tape.instruction_constant(k))
        else:
            operands = [value[i] for i in places]
            inherited = frozenset().union(*(behind[i] for i in places))
            result = ca.SX.unary(kind, *operands) if len(operands) == 1 else ca.SX.binary(kind, *operands)
            if kind in NAMES and not (kind in _OF_CONDITIONS and behind[places[0]]):
                inherited |= {len(found)}
                found.append((NAMES[kind], _boundary(kind, operands), []))
        value[target[0]], behind[target[0]] = result, inherited
    return [Switch(name, boundary, tuple(rows)) for name, boundary, rows in found if rows]


def rows_that_switch(column: ca.SX, symbols: ca.SX) -> np.ndarray:
    """Mask of the rows with a switching operation whose argument depends on the symbols.

    >>> x = ca.SX.sym("x", 2)
    >>> rows_that_switch(ca.vertcat(x[0] ** 2, abs(x[0]) + x[1], ca.sign(x[1])), x[0]).tolist()
    [False, True, False]
    """
    mask = np.zeros(column.numel(), bool)
    for switch in switches(column):
        if ca.depends_on(switch.boundary, symbols):
            mask[list(switch.rows)] = True
    return mask


def _boundary(kind: int, operands: list[ca.SX]) -> ca.SX:
    """What is zero where the operation switches."""
    if kind in _DIFFERENCES:
        return operands[0] - operands[1]
    if kind in (ca.OP_FLOOR, ca.OP_CEIL):
        return ca.sin(np.pi * operands[0])
    if kind in (ca.OP_FMOD, ca.OP_REMAINDER):
        return ca.sin(np.pi * operands[0] / operands[1])
    return operands[1] if kind == ca.OP_COPYSIGN else operands[0]
