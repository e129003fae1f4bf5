"""NumPy's elementary functions, written as scalar CasADi graphs.

Each takes and returns 1x1 `casadi.SX`; those `OF_COLUMNS` take columns as well. Values and first derivatives agree with
NumPy wherever both are defined; the step-like functions (floor, sign, comparisons) have derivative zero, also at their
jumps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import UntraceableError

SX = ca.SX
_LOGICAL_OPS = {ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR}


def where(condition: SX, a: SX, b: SX) -> SX:
    """`a` where the condition holds, else `b`; a NaN in the branch not taken does not reach the result."""
    if condition.is_constant():
        return a if float(condition) != 0 else b
    return ca.if_else(condition, a, b)


def logical(x: SX) -> SX:
    """Truth value of x; comparisons stay as they are."""
    return x if is_logical(x) else x != 0


def is_logical(x: SX) -> bool:
    """Whether x can only be 0 or 1 by construction."""
    return float(x) in (0.0, 1.0) if x.is_constant() else (not x.is_symbolic() and x.op() in _LOGICAL_OPS)


def _bits(function, name):
    def checked(*arguments: SX) -> SX:
        if not all(is_logical(x) for x in arguments):
            raise UntraceableError(
                f"{name} of a symbol that is no comparison: the operators &, |, ^, ~ combine conditions such as (x > 0)"
            )
        return function(*arguments)

    return checked


def logical_and(x: SX, y: SX) -> SX:
    return ca.logic_and(logical(x), logical(y))


def logical_or(x: SX, y: SX) -> SX:
    return ca.logic_or(logical(x), logical(y))


def logical_xor(x: SX, y: SX) -> SX:
    return logical(x) != logical(y)


def logical_not(x: SX) -> SX:
    return ca.logic_not(logical(x))


def mod(x: SX, y: SX) -> SX:
    """Remainder with the sign of the divisor, from fmod so that it is exact."""
    r = ca.fmod(x, y)
    return r + where(ca.logic_and(r != 0, (r < 0) != (y < 0)), y, SX(0))


def floor_divide(x: SX, y: SX) -> SX:
    # x - mod(x, y) is a multiple of y up to rounding; floor(x/y) alone gives 10 for 1 // 0.1 where Python has 9.
    return ca.floor((x - mod(x, y)) / y + 0.5)


def trunc(x: SX) -> SX:
    return ca.sign(x) * ca.floor(ca.fabs(x))


def rint(x: SX) -> SX:
    """Nearest integer, ties to even: the IEEE remainder by 1 rounds that way."""
    return x - ca.remainder(x, 1)


def cbrt(x: SX) -> SX:
    return ca.sign(x) * ca.fabs(x) ** (1 / 3)


def heaviside(x: SX, at_zero: SX) -> SX:
    return where(x == 0, at_zero, x > 0)


def sinc(x: SX) -> SX:
    """sin(x)/x; the series near zero keeps the derivatives right there too."""
    z = x**2
    series = 1 - z / 6 * (1 - z / 20 * (1 - z / 42 * (1 - z / 72)))
    return where(z < 2.5e-3, series, ca.sin(x) / x)


def logaddexp(x: SX, y: SX) -> SX:
    return ca.fmax(x, y) + ca.log1p(ca.exp(-ca.fabs(x - y)))


UNARY = {
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "absolute": ca.fabs,
    "fabs": ca.fabs,
    "sign": ca.sign,
    "sin": ca.sin,
    "cos": ca.cos,
    "tan": ca.tan,
    "arcsin": ca.asin,
    "arccos": ca.acos,
    "arctan": ca.atan,
    "sinh": ca.sinh,
    "cosh": ca.cosh,
    "tanh": ca.tanh,
    "arcsinh": ca.asinh,
    "arccosh": ca.acosh,
    "arctanh": ca.atanh,
    "exp": ca.exp,
    "exp2": lambda x: SX(2) ** x,
    "expm1": ca.expm1,
    "log": ca.log,
    "log2": lambda x: ca.log(x) / math.log(2),
    "log10": lambda x: ca.log(x) / math.log(10),
    "log1p": ca.log1p,
    "sqrt": ca.sqrt,
    "cbrt": cbrt,
    "square": lambda x: x**2,
    "reciprocal": lambda x: 1 / x,
    "floor": ca.floor,
    "ceil": ca.ceil,
    "trunc": trunc,
    "rint": rint,
    "deg2rad": lambda x: x * (math.pi / 180),
    "radians": lambda x: x * (math.pi / 180),
    "rad2deg": lambda x: x * (180 / math.pi),
    "degrees": lambda x: x * (180 / math.pi),
    "logical_not": logical_not,
    "invert": _bits(logical_not, "~"),
}

BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "floor_divide": floor_divide,
    "remainder": mod,
    "fmod": ca.fmod,
    "power": lambda x, y: x**y,
    "float_power": lambda x, y: x**y,
    "arctan2": ca.atan2,
    "hypot": ca.hypot,
    "copysign": ca.copysign,
    "heaviside": heaviside,
    "minimum": ca.fmin,
    "maximum": ca.fmax,
    "fmin": ca.fmin,
    "fmax": ca.fmax,
    "logaddexp": logaddexp,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "logical_and": logical_and,
    "logical_or": logical_or,
    "logical_xor": logical_xor,
    "bitwise_and": _bits(logical_and, "&"),
    "bitwise_or": _bits(logical_or, "|"),
    "bitwise_xor": _bits(logical_xor, "^"),
}

# More than one result: NumPy returns a tuple of arrays.
SEVERAL = {
    "divmod": lambda x, y: (floor_divide(x, y), mod(x, y)),
    "modf": lambda x: (ca.fmod(x, 1), trunc(x)),
}

SPECIAL = {"erf": ca.erf, "erfinv": ca.erfinv}  # of scipy.special

BY_UFUNC: dict[Any, Callable[..., Any]] = {
    getattr(np, name): function for name, function in (UNARY | BINARY | SEVERAL).items()
}

# Functions that ask nothing of their arguments, so that a column gives what its elements give.
OF_COLUMNS = {
    *(UNARY[name] for name in (
        "negative", "absolute", "sign", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
        "arcsinh", "arccosh", "arctanh", "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square",
        "reciprocal", "floor", "ceil", "deg2rad", "radians", "rad2deg", "degrees",
    )),
    *(BINARY[name] for name in (
        "add", "subtract", "multiply", "divide", "power", "float_power", "fmod", "arctan2", "hypot", "copysign", "fmin",
        "fmax", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    )),
    *SPECIAL.values(),
}  # fmt: skip

# Value of a reduction over nothing; maximum and minimum have none.
IDENTITIES = {np.add: 0.0, np.multiply: 1.0, np.logical_and: 1.0, np.logical_or: 0.0}
REDUCIBLE = {*IDENTITIES, np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.logaddexp}
