"""Curves through points: polynomials between them, and what goes on outside.

On a graph, all pieces are evaluated and one is taken, so the cost grows with the number of points: about seven
operations for a straight piece. A graph has no array of numbers in which one could look up.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cached_property
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
    starts : array
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
        self.memory = Memory()

    @property
    def period(self) -> float:
        return float(self.x[-1] - self.x[0])

    def _pieces(self, slopes_given: Any) -> tuple[np.ndarray, list[tuple[float, ...]]]:
        x, y = self.x, self.y
        if len(x) == 1 or x[0] == x[-1]:
            return x[:1], [(float(y[0]),), (float(y[-1]),)]
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
        starts = np.concatenate([x[:-1][full], x[-1:]])
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
        return self.memory(lambda u: self._value(u), u)

    def _value(self, u: Any) -> Any:
        u = self.folded(u)
        reached = u >= ca.DM(self.starts) if isinstance(u, ca.SX) else self.starts <= u
        return self.at(Place(self.starts, u, reached))

    def at(self, place: Place) -> Any:
        """The value at a place that was found already."""
        if place.number is not None:
            return polynomial(self.coefficients[place.number], place.offset[place.number])
        return place.choice(polynomial(self.columns, place.offset))

    @cached_property
    def columns(self) -> tuple[ca.DM, ...]:
        """The coefficients of all pieces by powers."""
        most = max(map(len, self.coefficients))
        return tuple(
            ca.DM([row[power] if power < len(row) else 0.0 for row in self.coefficients]) for power in range(most)
        )


class Memory:
    """What was made of graphs before: the same table may be looked up in at the same place by several functions."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, ...], tuple[Any, Any]] = {}

    def __call__(self, make: Callable[..., Any], *args: Any) -> Any:
        if not any(isinstance(arg, ca.SX) for arg in args):
            return float(make(*args))
        key = tuple(arg.element_hash() if isinstance(arg, ca.SX) else hash(arg) for arg in args)
        if key not in self._made:
            self._made[key] = (args, make(*args))  # the arguments live on, so that the key stays theirs
        return self._made[key][1]


class Place:
    """The piece in which an argument lies: several curves with the same starts share it.

    Parameters
    ----------
    starts : array
        Where pieces begin; the first piece lies before.
    u : float or SX
        The argument.
    reached : array or SX
        Whether each of the starts is reached: all before the piece are, and none behind.

    Attributes
    ----------
    number : int or None
        The piece, if it is known.
    offset : array or SX
        The argument, counted from the start of each piece.
    """

    def __init__(self, starts: np.ndarray, u: Any, reached: Any):
        origins = np.concatenate([starts[:1], starts])
        if isinstance(reached, ca.SX):
            self.number = None
            self.offset = u - ca.DM(origins)
            flags = ca.vertcat(1, reached, 0)
            self.here = flags[:-1] > flags[1:]
        else:
            self.number = int(np.count_nonzero(reached))
            self.offset = [u - start for start in origins]

    def choice(self, leaves: ca.SX) -> ca.SX:
        """The value of the piece out of a column with those of all pieces."""
        return ca.sum1(ca.if_else(self.here, ca.densify(leaves), 0))


def polynomial(coefficients: tuple[Any, ...], offset: Any) -> Any:
    """A polynomial; its coefficients are numbers, graphs, or columns of them."""
    found = coefficients[-1]
    for one in reversed(coefficients[:-1]):
        found = one + offset * found
    return found


def hermite(y: Any, following: Any, slope: Any, last: Any, length: float) -> tuple[Any, ...]:
    """The coefficients of a cubic piece from the values and slopes at its ends."""
    d = (following - y) / length
    return y, slope, (3 * d - 2 * slope - last) / length, (slope + last - 2 * d) / length**2
