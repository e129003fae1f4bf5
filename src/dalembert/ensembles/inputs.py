"""Inputs that run as Python code, as piecewise polynomials, which generated code can evaluate.

Splines are what they are. Other functions are approximated between their breakpoints by polynomials on pieces that are
halved until value and derivatives agree with the function at points in between; where that does not succeed, because
the function jumps or is noise, it is refused by name.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.model.inputs import TracedInput
from dalembert.solvers.half.generated.tables import Table, spline

#: coefficients of a piece of an approximation
APPROXIMATION = 6
#: what an approximation may miss, as a part of the largest value: of the function, and of its two derivatives; besides
#: so many roundings of the function, which derivatives enlarge
MISSED, ROUNDINGS = (1e-13, 1e-9, 1e-5), 4e3 * 2.0**-52
#: points that tell how large an input is
SAMPLES = 33
#: of an input; halves of the interval, at most
MOST_PIECES, MOST_HALVES = 100_000, 40


def tabulated(model: Model, t0: float, t1: float) -> dict[int, Table]:
    """Tables of the inputs that could not be traced, by number."""
    return {
        number: spline(traced) or _approximation(traced, min(t0, t1), max(t0, t1))
        for number, traced in enumerate(model.inputs.values())
        if traced.sx is None
    }


def _approximation(traced: TracedInput, low: float, high: float) -> Table:
    """By polynomials of (t − beginning)/width at Chebyshev's points."""
    inner = [b for b in traced.breakpoints if low < b < high]
    todo = [(a, b, 0) for a, b in zip([low, *inner], [*inner, high], strict=True)][::-1]
    tau = 0.5 - 0.5 * np.cos(np.pi * (np.arange(APPROXIMATION) + 0.5) / APPROXIMATION)
    powers = np.linalg.inv(np.vander(tau, increasing=True))
    between = (np.arange(7) + 0.5) / 7
    begins: list[float] = []
    pieces: list[np.ndarray] = []
    scale = np.abs([traced.python(t) for t in np.linspace(low, high, SAMPLES)]).max(axis=0)
    while todo:
        a, b, depth = todo.pop()
        width = b - a
        samples = np.array([traced.python(a + width * s)[0] for s in tau])
        found = np.array([traced.python(a + width * s) for s in between]).T
        c = powers @ samples
        local = np.array([_derivative(c, order, between) / width**order for order in range(3)])
        scale = np.maximum(scale, np.abs(found).max(axis=1))
        allowed = np.array(MISSED) * scale + ROUNDINGS * scale[0] / width ** np.arange(3)
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


def _derivative(c: np.ndarray, order: int, at: np.ndarray) -> np.ndarray:
    return np.polynomial.polynomial.polyval(at, np.polynomial.polynomial.polyder(c, order) if order else c)
