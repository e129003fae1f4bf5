"""Functions of two variables through points on a grid.

References
----------
.. [1] H. Akima, "A method of bivariate interpolation and smooth surface fitting based on local procedures", 1974.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.modelica.symbolic.tables.curve import (
    Curve,
    Extrapolation,
    Memory,
    Place,
    Smoothness,
    hermite,
    polynomial,
)
from dalembert.modelica.symbolic.tables.slopes import akima_weights, extended


class Surface:
    """A function through values on a grid: constant, bilinear or bicubic on its cells.

    Parameters
    ----------
    table : array
        The second coordinate in the first row, the first one in the first column, values in between.

    Examples
    --------
    >>> surface = Surface([[0, 0, 1], [0, 1, 2], [2, 3, 4]], Smoothness.LINEAR, Extrapolation.HOLD)
    >>> surface.value(1.0, 0.5), surface.value(9.0, 9.0)
    (2.5, 4.0)
    """

    def __init__(self, table: Any, smoothness: int, extrapolation: int):
        table = np.asarray(table, float)
        if table.ndim != 2 or min(table.shape) < 2:
            raise ValueError("a table of two variables needs two rows and two columns at least")
        self.smoothness, self.extrapolation = Smoothness(smoothness), Extrapolation(extrapolation)
        self.memory = Memory()
        if self.smoothness in (Smoothness.FRITSCH_BUTLAND, Smoothness.STEFFEN):
            raise ValueError("tables of two variables have no monotone smoothness")
        x, y, z = table[1:, 0], table[0, 1:], table[1:, 1:]
        self.x, self.y = Curve(x, x, Smoothness.LINEAR, extrapolation), Curve(y, y, Smoothness.LINEAR, extrapolation)
        for one in (x, y):
            if np.any(np.diff(one) <= 0):
                raise ValueError("the first row and the first column of a table have to increase strictly")
        self.smooth = self.smoothness in (Smoothness.AKIMA, Smoothness.MODIFIED_AKIMA) and min(z.shape) > 1
        kind = Smoothness.AKIMA if self.smooth else self.smoothness
        if self.smooth:
            zx, zy, zxy = bivariate_slopes(x, y, z, self.smoothness == Smoothness.MODIFIED_AKIMA)
            self.rising = [
                Curve(x, column, kind, extrapolation, slope) for column, slope in zip(zy.T, zxy.T, strict=True)
            ]
        else:
            zx = np.zeros_like(z)
            if kind in (Smoothness.AKIMA, Smoothness.MODIFIED_AKIMA):
                kind = Smoothness.LINEAR
        self.columns = [
            Curve(x, column, kind, extrapolation, slope if self.smooth else None)
            for column, slope in zip(z.T, zx.T, strict=True)
        ]

    def value(self, u: Any, v: Any) -> Any:
        """The value at numbers or graphs."""
        return self.memory(self._value, u, v)

    def _value(self, u: Any, v: Any) -> Any:
        if isinstance(u, ca.SX) or isinstance(v, ca.SX):
            u, v = ca.SX(u), ca.SX(v)
        place = _located(self.x, u)
        values = [curve.at(place) for curve in self.columns]
        if len(values) == 1:
            return values[0]
        slopes = [curve.at(place) for curve in self.rising] if self.smooth else []
        rows = self._rows(values, slopes)
        along = _located(self.y, v)
        if along.number is not None:
            return polynomial(rows[along.number], along.offset[along.number])
        leaves = [polynomial(row, along.offset[k]) for k, row in enumerate(rows)]
        return along.choice(ca.vertcat(*leaves))

    def _rows(self, values: list[Any], slopes: list[Any]) -> list[tuple[Any, ...]]:
        """Coefficients along the second coordinate, of all pieces."""
        h = np.diff(self.y.x)
        if self.smooth:
            rows = [hermite(values[j], values[j + 1], slopes[j], slopes[j + 1], h[j]) for j in range(len(h))]
            ends = slopes[0], slopes[-1]
        else:
            secants = [(values[j + 1] - values[j]) / h[j] for j in range(len(h))]
            constant = self.smoothness == Smoothness.CONSTANT
            rows = [(values[j],) if constant else (values[j], secants[j]) for j in range(len(h))]
            ends = secants[0], secants[-1]
        before, after = (values[0],), (values[-1],)
        if self.extrapolation in (Extrapolation.LAST_TWO_POINTS, Extrapolation.NONE):
            before, after = (*before, ends[0]), (*after, ends[1])
        return [before, *rows, after]


def _located(axis: Curve, u: Any) -> Place:
    u = axis.folded(u)
    return Place(axis.starts, u, u >= ca.DM(axis.starts) if isinstance(u, ca.SX) else axis.starts <= u)


def bivariate_slopes(x: np.ndarray, y: np.ndarray, z: np.ndarray, modified: bool) -> tuple[np.ndarray, ...]:
    """Slopes along x and y, and the mixed derivative, at the points of a grid [1]_.

    The slopes are Akima's along rows and columns; the mixed derivative is the mean of the mixed differences of the four
    cells around a point, with the weights of both.
    """
    n, m = z.shape
    along_x = np.stack([extended(np.diff(z[:, j]) / np.diff(x)) for j in range(m)], axis=1)
    along_y = np.stack([extended(np.diff(z[i]) / np.diff(y)) for i in range(n)], axis=0)
    wx = [akima_weights(along_x[:, j], modified) for j in range(m)]
    wy = [akima_weights(along_y[i], modified) for i in range(n)]
    after_x, before_x = (np.stack([w[1 - k] for w in wx], axis=1) for k in (0, 1))
    after_y, before_y = (np.stack([w[1 - k] for w in wy], axis=0) for k in (0, 1))
    zx = after_x * along_x[1:-2] + before_x * along_x[2:-1]
    zy = after_y * along_y[:, 1:-2] + before_y * along_y[:, 2:-1]
    mixed = np.diff(np.diff(z, axis=0), axis=1) / np.outer(np.diff(x), np.diff(y))
    mixed = np.stack([extended(mixed[:, j]) for j in range(m - 1)], axis=1)
    mixed = np.stack([extended(row) for row in mixed], axis=0)[1:-1, 1:-1]
    zxy = after_x * (after_y * mixed[:-1, :-1] + before_y * mixed[:-1, 1:]) + before_x * (
        after_y * mixed[1:, :-1] + before_y * mixed[1:, 1:]
    )
    return zx, zy, zxy
