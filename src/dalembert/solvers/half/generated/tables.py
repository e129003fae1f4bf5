"""Inputs that are tables: piecewise polynomials of time, whose numbers are data and not part of the code.

In memory stand, for every input, where its pieces begin and how many there are; then for each input the beginnings of
its pieces and the coefficients of their polynomials in t − beginning. The first piece also serves all times before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.compile.generated.code import Code, Module
from dalembert.compile.generated.values import Real, Whole
from dalembert.model.inputs import Interpolated, TracedInput
from dalembert.solvers.half.generated.member import gathered

#: before all times
BEFORE = -1e300
#: coefficients of a piece of a spline
CUBIC = 4

Table = tuple[np.ndarray, np.ndarray]  # beginnings, coefficients


def given(traced: TracedInput) -> Table | None:
    """What `Input.table` has made: a cubic spline, constant beyond its ends; or a number. None for other inputs."""
    if traced.constant is not None:
        return np.array([BEFORE]), np.array([[traced.constant, 0.0, 0.0, 0.0]])
    function = traced.given.function
    if not isinstance(function, Interpolated) or function.order:
        return None
    found = function.spline
    ends = np.zeros((2, CUBIC))
    ends[:, 0] = found(found.x[0]), found(found.x[-1])
    begins = np.concatenate([[BEFORE], found.x])
    return begins, np.vstack([ends[:1], found.c[::-1].T, ends[1:]])


def packed(tables: Sequence[Table]) -> np.ndarray:
    """Beginnings (pieces,) and coefficients (pieces, order), lowest power first, of each input as one array."""
    parts, at = [], 2 * len(tables)
    head = np.zeros(at)
    for k, (begins, coefficients) in enumerate(tables):
        head[2 * k : 2 * k + 2] = at, len(begins)
        parts += [np.asarray(begins, float), np.ravel(coefficients)]
        at += len(begins) + coefficients.size
    return np.concatenate([head, *parts])


def write_inputs(module: Module, orders: Sequence[int]) -> None:
    """The function `inputs`: u, u', u'' of every input at a time; `orders` are numbers of coefficients."""
    code = module.function("inputs", [("ptr", "tables"), (module.target.real, "t"), ("ptr", "u")])
    t, u = Real(code, "%t"), code.parameter("u")
    for k, order in enumerate(orders):
        first, count = (_whole(code, code.shared("%tables", 2 * k + i)) for i in range(2))
        low, high = code.variable(code.whole(0)), code.variable(count)
        with code.repeat(lambda low=low, high=high: low.get() + 1 < high.get()):
            middle = (low.get() + high.get()).half()
            begin = gathered(code, "%tables", first + middle)
            behind = t >= begin
            low.set(code.select(behind, middle, low.get()))
            high.set(code.select(behind, high.get(), middle))
        piece = low.get()
        s = t - gathered(code, "%tables", first + piece)
        place = first + count + _times(code, piece, order)
        value, rate, bend = (code.real(0.0) for _ in range(3))
        for power in range(order - 1, -1, -1):  # Horner's scheme, and its derivatives
            bend = bend * s + 2.0 * rate
            rate = rate * s + value
            value = value * s + gathered(code, "%tables", place + power)
        for order_, number in enumerate((value, rate, bend)):
            u.put(3 * k + order_, number)
    code.finish()


def _whole(code: Code, value: Real) -> Whole:
    return Whole(code, code.write(f"fptosi {code.target.real} {value.text} to {code.target.of('i32')}"))


def _times(code: Code, value: Whole, factor: int) -> Whole:
    return value._with("mul", factor)
