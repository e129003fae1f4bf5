"""Curves through points: polynomials between them, and what goes on outside.

On a graph, all pieces are evaluated and one is taken, so the cost grows with the number of points: about seven
operations for a straight piece. A graph has no array of numbers in which one could look up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import casadi as ca
import numpy as np

from dalembert.modelica.symbolic.tables import slopes


class Smoothness(IntEnum):
    """Modelica.Blocks.Types.Smoothness."""

    LINEAR, AKIMA, CONSTANT, FRITSCH_BUTLAND, STEFFEN, MODIFIED_AKIMA = range(1, 7)


class Extrapolation(IntEnum):
    """Modelica.Blocks.Types.Extrapolation."""

    HOLD, LAST_TWO_POINTS, PERIODIC, NONE = range(1, 5)


class Curve:
    """A piecewise polynomial through points.

    Parameters
    ----------
    x, y : array
        Points; x increases. Where it does not increase strictly, the curve jumps (straight and constant pieces only).
    slopes_given : array, optional
        Slopes of a smooth curve, if they are not to follow from its points.

    Attributes
    ----------
    starts : list of float
        Where pieces begin; piece 0 lies before the first of them.
    coefficients : list of tuples
        Of each piece, from the constant on, around its start (of piece 0, around the first point).

    Raises
    ------
    ValueError
        If the points make no curve.

    Examples
    --------
    >>> curve = Curve([0, 1, 2], [0, 1, 4], Smoothness.LINEAR, Extrapolation.LAST_TWO_POINTS)
    >>> curve.value(1.5), curve.value(3)
    (2.5, 7.0)
    """

    def __init__(self, x: Any, y: Any, smoothness: int, extrapolation: int, slopes_given: Any = None):
        self.x, self.y = np.asarray(x, float), np.asarray(y, float)
        self.smoothness, self.extrapolation = Smoothness(smoothness), Extrapolation(extrapolation)
        if len(self.x) == 0:
            raise ValueError("the table has no rows")
        if not (np.all(np.isfinite(self.x)) and np.all(np.isfinite(self.y))):
            raise ValueError("the table contains numbers that are not finite")
        steps = np.diff(self.x)
        stepped = self.smoothness in (Smoothness.LINEAR, Smoothness.CONSTANT)
        if np.any(steps < 0) or (not stepped and np.any(steps == 0)):
            row = int(np.argmax(steps < 0 if stepped else steps <= 0)) + 1
            how = "increase" if stepped else "increase strictly for smooth curves"
            raise ValueError(
                f"the first column of a table has to {how}: {self.x[row - 1]:g} and {self.x[row]:g} in rows {row} "
                f"and {row + 1}"
            )
        self.starts, self.coefficients = self._pieces(slopes_given)

    @property
    def period(self) -> float:
        return float(self.x[-1] - self.x[0])

    def _pieces(self, slopes_given: Any) -> tuple[list[float], list[tuple[float, ...]]]:
        x, y = self.x, self.y
        if len(x) == 1 or x[0] == x[-1]:
            return [float(x[0])], [(float(y[0]),), (float(y[-1]),)]
        h = np.diff(x)
        full = h > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            d = np.diff(y) / h
        first, last = int(np.argmax(full)), len(h) - 1 - int(np.argmax(full[::-1]))
        ends = d[first], d[last]
        if self.smoothness == Smoothness.CONSTANT:
            inside = np.stack([y[:-1]], axis=1)
        elif self.smoothness == Smoothness.LINEAR or (len(x) == 2 and slopes_given is None):
            inside = np.stack([y[:-1], d], axis=1)
        else:
            s = self._slopes() if slopes_given is None else np.asarray(slopes_given, float)
            ends = s[0], s[-1]
            inside = np.stack(hermite(y[:-1], y[1:], s[:-1], s[1:], h), axis=1)
        before, after = (float(y[0]),), (float(y[-1]),)
        if self.extrapolation in (Extrapolation.LAST_TWO_POINTS, Extrapolation.NONE):
            before, after = (*before, float(ends[0])), (*after, float(ends[1]))
        starts = [*map(float, x[:-1][full]), float(x[-1])]
        return starts, [before, *(tuple(map(float, row)) for row in inside[full]), after]

    def _slopes(self) -> np.ndarray:
        if self.smoothness == Smoothness.FRITSCH_BUTLAND:
            return slopes.fritsch_butland(self.x, self.y)
        if self.smoothness == Smoothness.STEFFEN:
            return slopes.steffen(self.x, self.y)
        modified = self.smoothness == Smoothness.MODIFIED_AKIMA
        return slopes.akima(self.x, self.y, modified, self.extrapolation == Extrapolation.PERIODIC)

    def folded(self, u: Any) -> Any:
        """The place within the first period of a periodic curve, else the place itself."""
        if self.extrapolation != Extrapolation.PERIODIC or not self.period:
            return u
        floor = ca.floor if isinstance(u, ca.SX) else np.floor
        return u - self.period * floor((u - self.x[0]) / self.period)

    def value(self, u: Any) -> Any:
        """The value at a number or graph."""
        u = self.folded(u)
        return self.at(Place(self.starts, u, lambda i: u >= self.starts[i]))

    def at(self, place: Place) -> Any:
        """The value at a place that was found already."""
        return place.choice(lambda k: polynomial(self.coefficients[k], place.offset(k)))


class Place:
    """The piece in which an argument lies: several curves with the same starts share it.

    `reached(i)` says whether start number `i` is: it is for all before the piece, and for none behind.
    """

    def __init__(self, starts: list[float], u: Any, reached: Callable[[int], Any]):
        self.starts, self.u = starts, u
        n = len(starts)
        flags = [reached(i) for i in range(n)] if isinstance(u, ca.SX) else []
        self.is_open = any(isinstance(flag, ca.SX) for flag in flags)
        if not self.is_open:
            flagged = flags.__getitem__ if flags else reached
            self.number = bisect_right(range(n), 0, key=lambda i: 0 if flagged(i) else 1)
            return
        flags = [ca.SX(1), *map(ca.SX, flags), ca.SX(0)]
        self.here = [flags[k] > flags[k + 1] for k in range(n + 1)]
        self._offsets: dict[int, Any] = {}

    def offset(self, k: int) -> Any:
        """The argument from the start of piece `k` on."""
        if not self.is_open:
            return self.u - self.starts[max(k - 1, 0)]
        if k not in self._offsets:
            self._offsets[k] = self.u - self.starts[max(k - 1, 0)]
        return self._offsets[k]

    def choice(self, leaf: Callable[[int], Any]) -> Any:
        """The value of the piece; `leaf(k)` is that of piece `k`, wherever the argument lies."""
        if not self.is_open:
            return leaf(self.number)
        total = ca.SX(0)
        for k, here in enumerate(self.here):
            value = leaf(k)
            if isinstance(value, ca.SX) or value != 0:
                total += ca.if_else(here, value, 0)
        return total


def polynomial(coefficients: tuple[Any, ...], offset: Any) -> Any:
    """A polynomial; its coefficients are numbers or graphs."""
    while len(coefficients) > 1 and not isinstance(coefficients[-1], ca.SX) and coefficients[-1] == 0:
        coefficients = coefficients[:-1]
    found = coefficients[-1]
    for one in reversed(coefficients[:-1]):
        found = one + offset * found
    return found


def hermite(y: Any, following: Any, slope: Any, last: Any, length: float) -> tuple[Any, ...]:
    """The coefficients of a cubic piece from the values and slopes at its ends."""
    d = (following - y) / length
    return y, slope, (3 * d - 2 * slope - last) / length, (slope + last - 2 * d) / length**2
