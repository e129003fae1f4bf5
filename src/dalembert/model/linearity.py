"""Whether an expression is linear in some of its symbols: an answer that holds for all values.

Derivatives do not tell it: that of sign(x) is zero wherever there is one.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

#: what an expression may be in the symbols
FREE, LINEAR, OTHER = 0, 1, 2

#: operations that leave linear what was linear
SUMS = frozenset({ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN})


def linear_in(expression: ca.SX, symbols: ca.SX) -> bool:
    """Whether the expression is c + F · symbols, c and F being free of them. Also x − x² + x² is not, as it stands.

    >>> x, k = ca.SX.sym("x"), ca.SX.sym("k")
    >>> [linear_in(e, x) for e in (k * x + k**2, ca.if_else(k > 0, x, 0) / k, x * x, ca.fabs(x), x + ca.sign(x), k / x)]
    [True, True, False, False, False, False]
    """
    return bool(linear_entries(expression, symbols).all())


def linear_entries(expression: ca.SX, symbols: ca.SX) -> np.ndarray:
    """`linear_in` of each nonzero of an expression, in one go: a mask."""
    every = ca.symvar(expression)
    own = ca.jacobian_sparsity(ca.vertcat(*every), ca.vec(symbols)).T.colind() if every else [0]
    others = [every[i] for i in np.flatnonzero(np.diff(own) == 0)]
    tape = ca.Function("f", [ca.vec(symbols), ca.vertcat(*others)], [expression])
    kind = [FREE] * tape.sz_w()
    linear = np.ones(expression.nnz(), bool)
    for k in range(tape.n_instructions()):
        operation, places = tape.instruction_id(k), tape.instruction_input(k)
        if operation == ca.OP_OUTPUT:
            linear[tape.instruction_output(k)[1]] = kind[places[0]] != OTHER
        elif operation == ca.OP_INPUT:
            kind[tape.instruction_output(k)[0]] = LINEAR if places[0] == 0 else FREE
        else:
            kind[tape.instruction_output(k)[0]] = _kind(operation, [kind[i] for i in places])
    return linear


def _kind(operation: int, arguments: list[int]) -> int:
    """What an operation makes of its arguments."""
    worst = max(arguments, default=FREE)
    if worst == FREE or operation in SUMS:
        return worst
    if operation == ca.OP_MUL:
        return min(sum(arguments), OTHER)
    if operation == ca.OP_DIV:
        return arguments[0] if arguments[1] == FREE else OTHER
    if operation == ca.OP_IF_ELSE_ZERO:
        return arguments[1] if arguments[0] == FREE else OTHER
    return OTHER
