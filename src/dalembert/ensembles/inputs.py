"""Inputs that run as Python code, as piecewise polynomials, which generated code can evaluate.

Splines are what they are. Other functions are approximated between their breakpoints by polynomials on pieces that are
halved until these agree with the function at points in between, and with its derivatives where they are given, too;
where that does not succeed, because the function jumps or is noise, it is refused by name.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from dalembert.errors import FunctionFailed, ModelError, StepRefused
from dalembert.model import Model
from dalembert.model.inputs import TracedInput
from dalembert.solvers.half.generated.tables import Table, given
from dalembert.solvers.limits import NO_WAY

#: coefficients of a piece of an approximation, and at how many points it is compared with the function
APPROXIMATION, BETWEEN = 12, 13
#: what an approximation may miss, as a part of the largest value: of the function, and of its two derivatives; besides
#: so many roundings of the function, which derivatives enlarge
MISSED, ROUNDINGS = (1e-13, 1e-9, 1e-5), 4e3 * 2.0**-52
#: pieces to begin with: what happens within less than a small part of one of them may be overlooked
PIECES = 128
#: of an input; halves of the interval, at most
MOST_PIECES, MOST_HALVES = 20_000, 40


def tabulated(model: Model, t0: float, t1: float) -> dict[int, Table]:
    """Tables of the inputs that have no formula, by number."""
    return {
        number: given(traced) or _approximation(traced, min(t0, t1), max(t0, t1))
        for number, traced in enumerate(model.inputs.values())
        if traced.formula is None
    }


def _approximation(traced: TracedInput, low: float, high: float) -> Table:
    """By polynomials of (t − beginning)/width through Chebyshev's points."""
    inner = sorted({b for b in traced.breakpoints if low < b < high})
    todo = [piece for a, b in itertools.pairwise([low, *inner, high]) for piece in _divided(a, b, high - low)][::-1]
    if not todo:
        begins = np.array([low])
        return begins, np.append(_levels(traced, begins, range(1)), np.zeros((1, APPROXIMATION - 1)), 1)
    tau, chebyshev, powers = _chebyshev(APPROXIMATION)
    between = (np.arange(BETWEEN) + 0.5) / BETWEEN
    orders = range(1 if traced.given.derivatives is None else 3)
    begins: list[float] = []
    pieces: list[np.ndarray] = []
    middles = np.array([0.5 * (a + b) for a, b, _ in todo])
    scale = np.abs(_levels(traced, middles, orders)).max(axis=1)
    while todo:
        a, b, depth = todo.pop()
        width = b - a
        c = powers @ (chebyshev @ _levels(traced, a + width * tau, range(1))[0])
        found = _levels(traced, a + width * between, orders)
        local = np.array([_derivative(c, order, between) / width**order for order in orders])
        scale = np.maximum(scale, np.abs(found).max(axis=1))
        allowed = np.array([MISSED[order] * scale[order] + ROUNDINGS * scale[0] / width**order for order in orders])
        if (np.abs(local - found).max(axis=1) <= allowed).all():
            begins.append(a)
            pieces.append(c / width ** np.arange(APPROXIMATION))
            continue
        if depth == MOST_HALVES or len(begins) + len(todo) >= MOST_PIECES:
            raise ModelError(
                f"input '{traced.name}' cannot be approximated by polynomials near t = {a:.9g}: it jumps or bends "
                "there. Give it breakpoints=, or make it a table, Input.table(t, values)"
            )
        todo += [(a + 0.5 * width, b, depth + 1), (a, a + 0.5 * width, depth + 1)]
    return np.array(begins), np.array(pieces)


def _divided(a: float, b: float, whole: float) -> list[tuple[float, float, int]]:
    """Pieces from a to b of which some make up the whole; none if times there cannot be told apart."""
    if b - a <= NO_WAY * math.ulp(max(abs(a), abs(b))):
        return []
    ends = np.linspace(a, b, math.ceil(PIECES * (b - a) / whole) + 1).tolist()
    return [(a, b, 0) for a, b in itertools.pairwise(ends)]


def _levels(traced: TracedInput, times: np.ndarray, orders: range) -> np.ndarray:
    """The function and its derivatives of some orders, which are given, at some times."""
    try:
        found = np.array([[traced.level(t, order) for t in times.tolist()] for order in orders])
    except (FunctionFailed, StepRefused) as error:
        raise _not_approximated(traced, str(error)) from error
    wrong = np.argwhere(~np.isfinite(found))
    if len(wrong):
        order, place = wrong[0].tolist()
        raise _not_approximated(traced, f"it is {found[order, place]} at t = {times[place]:.9g}")
    return found


def _not_approximated(traced: TracedInput, why: str) -> ModelError:
    return ModelError(
        f"input '{traced.name}' cannot be approximated by polynomials: {why}. Make it a table, Input.table(t, values)"
    )


def _chebyshev(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points in (0, 1), what makes coefficients of Chebyshev's polynomials of values there, and what makes coefficients
    of powers of these. Both at once would lose digits: the second ones are large numbers of either sign, but whole."""
    k = np.arange(count)
    angle = np.pi * (k + 0.5) / count
    chebyshev = 2.0 / count * np.cos(np.outer(k, angle))
    chebyshev[0] *= 0.5
    whole = np.zeros((count, count))  # T_k(1 − 2 τ)
    whole[0, 0], whole[1, :2] = 1.0, (1.0, -2.0)
    for n in range(2, count):
        whole[n] = 2.0 * whole[n - 1] - whole[n - 2]
        whole[n, 1:] -= 4.0 * whole[n - 1, :-1]
    return 0.5 - 0.5 * np.cos(angle), chebyshev, whole.T


def _derivative(c: np.ndarray, order: int, at: np.ndarray) -> np.ndarray:
    return np.polynomial.polynomial.polyval(at, np.polynomial.polynomial.polyder(c, order) if order else c)
