"""Derivatives of functions that can only be evaluated, as accurate as function values allow.

Central differences with steps halved from about the function's length scale, and Richardson extrapolation of them.
Every entry of the tableau has an error estimate (the change against its two parents, plus a bound of the rounding
error), and each component takes the entry with the least. Where the length scale is known within a factor of ten, about
13 digits of first and 11 of second derivatives are right, for some 15 evaluations.

References
----------
.. [1] C. J. F. Ridders, "Accurate computation of F'(x) and F'(x) F''(x)", Advances in Engineering Software 4 (1982).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import OptionError, StepRefused

_FIRST_STEP = {1: 0.43, 2: 0.87}  # in length scales; no power of two, which oscillating functions could alias with
_ROWS = 20  # halvings of the step at most
_COLUMNS = 8  # extrapolations of one difference at most: rows across a kink are forgotten after as many
_REFUSALS = 14  # times that the step is divided by 8 because the function cannot be evaluated there
_CHECK = 2.0**-10  # the step of the final check, in first steps
_EPS = np.finfo(float).eps


def directional_derivative(
    f: Callable[[np.ndarray], np.ndarray],
    point: ArrayLike,
    direction: ArrayLike,
    order: int = 1,
    scale: ArrayLike = 1.0,
) -> np.ndarray:
    """The first or second derivative of `f(point + s * direction)` with respect to s at s = 0.

    Parameters
    ----------
    f : callable
        Takes a one-dimensional array, returns an array of any shape. It may refuse a point by raising `StepRefused`,
        ValueError or ArithmeticError, or by returning NaN; then smaller steps are tried.
    order : 1 or 2
    scale : float or array_like
        Length, for all components or each, over which f changes noticeably. A guess too large by a factor of
        thousands costs evaluations, one too small costs digits.

    Returns
    -------
    ndarray
        Of the shape of f's result. NaN where a component could not be evaluated on both sides of the point.

    Raises
    ------
    Exception
        The last exception of f, if f raised one at every step tried.

    Examples
    --------
    >>> directional_derivative(np.sin, [0.0, 1.0], [1.0, 2.0])
    array([1.        , 1.08060461])
    """
    if order not in _FIRST_STEP:
        raise OptionError(f"order={order!r}: only derivatives of order 1 and 2 are available")
    point, direction = np.asarray(point, dtype=float), np.asarray(direction, dtype=float)
    scale = np.broadcast_to(np.asarray(scale, dtype=float), point.shape)
    if not np.all(scale > 0):
        raise OptionError("scale must be positive")
    length = np.max(np.abs(direction) / scale, initial=0.0)
    if length == 0:
        return np.zeros_like(np.asarray(f(point), dtype=float))
    unit = direction / length
    # Steps far below the spacing of the numbers near the point would be lost.
    far = np.max(np.abs(point / scale)[unit != 0])
    first = max(_FIRST_STEP[order], 1e-4 * far)
    with np.errstate(all="ignore"):
        return _extrapolate(_Difference(f, point, unit, order, far), first) * length**order


def jacobian(f: Callable[[np.ndarray], np.ndarray], point: ArrayLike, scale: ArrayLike = 1.0) -> np.ndarray:
    """The matrix of first derivatives of `f` at `point`, one row per component of f.

    Examples
    --------
    >>> jacobian(lambda x: np.array([x[0] * x[1], x[1] ** 2]), [2.0, 3.0]).round(9)
    array([[3., 2.],
           [0., 6.]])
    """
    point = np.asarray(point, dtype=float)
    if not point.size:
        return np.zeros((np.size(f(point)), 0))
    columns = [directional_derivative(f, point, e, scale=scale).reshape(-1) for e in np.eye(point.size)]
    return np.stack(columns, axis=1)


class _Difference:
    """The central difference quotient of f along a direction, as a function of the step."""

    def __init__(self, f: Callable, point: np.ndarray, unit: np.ndarray, order: int, far: float):
        self.f, self.point, self.unit, self.order = f, point, unit, order
        self.far = far  # size of the point's coordinates, in steps
        self.size = np.zeros(())  # largest values of f so far: near a root the last ones say nothing of its rounding
        self.noise = np.zeros(())  # rounding of the values of f and of their arguments
        self.middle = np.asarray(f(point), dtype=float) if order == 2 else None

    def __call__(self, h: float) -> np.ndarray:
        ahead = np.array(self.f(self.point + h * self.unit), dtype=float)
        behind = np.array(self.f(self.point - h * self.unit), dtype=float)
        self.size = np.fmax(self.size, np.fmax(np.abs(ahead), np.abs(behind)))  # NaN tells nothing
        self.noise = _EPS * (self.size + 0.1 * self.far * np.abs(ahead - behind) / (2 * h))
        if self.order == 1:
            return (ahead - behind) / (2 * h)
        return ((ahead - self.middle) + (behind - self.middle)) / h**2

    def rounding(self, h: float) -> np.ndarray:
        """Bound of the rounding error of the last quotient, if f itself is right to the last digit."""
        return self.noise * (1.0 / h if self.order == 1 else 4.0 / h**2)


def _extrapolate(difference: _Difference, first: float) -> np.ndarray:
    """Fill the Richardson tableau row by row until every component has met the rounding error."""
    h, refusals, rows = first, 0, 0
    previous: list[np.ndarray] = []
    best = error = None
    checked = False
    while rows < _ROWS:
        try:
            quotient = difference(h)
        except (StepRefused, ValueError, ArithmeticError):
            refusals += 1
            if refusals > _REFUSALS:
                if best is None:
                    raise
                break
            h, previous = h / 8, []
            continue
        rounding = difference.rounding(h)
        if best is None:
            best, error = np.full(quotient.shape, np.nan), np.full(quotient.shape, np.inf)
        row = [quotient]
        for k, parent in enumerate(previous[: _COLUMNS - 1]):
            row.append(row[k] + (row[k] - parent) / (4.0 ** (k + 1) - 1))
            estimate = np.maximum(abs(row[-1] - row[-2]), abs(row[-1] - parent)) + rounding
            better = estimate < error
            best, error = np.where(better, row[-1], best), np.where(better, estimate, error)
        previous, rows = row, rows + 1
        if np.all(error <= 10 * rounding):
            if checked or _agrees(difference, best, quotient, h, first * _CHECK):
                break
            # The steps so far leaped over something narrow: forget them, and start below its width.
            checked, previous, h = True, [], 16 * first * _CHECK
            best, error = np.full_like(best, np.nan), np.full_like(error, np.inf)
            continue
        h /= 2
    return best


def _agrees(difference: _Difference, best: np.ndarray, quotient: np.ndarray, h: float, small: float) -> bool:
    """Whether a quotient with a much smaller step confirms the result within its own error."""
    if h <= small:
        return True
    try:
        at_small = difference(small)
    except (StepRefused, ValueError, ArithmeticError):
        return True
    truncation = abs(quotient - best) * (small / h) ** 2
    return bool(np.all(~(abs(at_small - best) > 10 * truncation + 100 * difference.rounding(small) + 1e-9 * abs(best))))
