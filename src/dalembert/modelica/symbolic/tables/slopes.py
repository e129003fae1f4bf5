"""Slopes of smooth curves through points: cubic Hermite polynomials with these slopes lie between them.

References
----------
.. [1] H. Akima, "A new method of interpolation and smooth curve fitting based on local procedures", 1970.
.. [2] F. Fritsch, J. Butland, "A method for constructing local monotone piecewise cubic interpolants", 1984.
.. [3] M. Steffen, "A simple method for monotonic interpolation in one dimension", 1990.
"""

from __future__ import annotations

import numpy as np


def secants(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.diff(y) / np.diff(x)


def akima(x: np.ndarray, y: np.ndarray, modified: bool = False, period: bool = False) -> np.ndarray:
    """Akima's slopes [1]_: a mean of the secants on both sides, the one that changes less having more weight.

    `modified` adds half of the secants' mean to the weights, which avoids overshoot at plateaus. Beyond the ends the
    secants go on linearly, or are those of the other end (`period`).
    """
    d = extended(secants(x, y), period)
    before, after = akima_weights(d, modified)
    return after * d[1:-2] + before * d[2:-1]


def extended(d: np.ndarray, period: bool = False) -> np.ndarray:
    """Secants with two more on both sides: they go on linearly, or are those of the other end."""
    if len(d) == 1:
        return np.repeat(d, 5, axis=0)
    if period:
        return np.concatenate([d[-2:], d, d[:2]])
    left, right = 2 * d[0] - d[1], 2 * d[-1] - d[-2]
    return np.concatenate([[2 * left - d[0], left], d, [right, 2 * right - d[-1]]])


def akima_weights(d: np.ndarray, modified: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the secants after and before each point, from secants with two more on both sides."""
    change = np.abs(np.diff(d))
    if modified:
        change = change + 0.5 * np.abs(d[1:] + d[:-1])
    before, after = change[:-2], change[2:]  # of the secants d0 to d3 around a point: |d1 - d0| and |d3 - d2|
    total = before + after
    small = total <= 1e-9 * total.max()  # the curve is straight on both sides
    total = np.where(small, 1.0, total)
    return np.where(small, 0.5, before / total), np.where(small, 0.5, after / total)


def fritsch_butland(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A weighted harmonic mean of the secants, 0 where they have different signs [2]_; at the ends, the secants."""
    h, d = np.diff(x), secants(x, y)
    before, after = d[:-1], d[1:]
    same = before * after > 0
    a, b = np.where(same, before, 1.0), np.where(same, after, 1.0)
    inner = 3 * (h[:-1] + h[1:]) / ((h[:-1] + 2 * h[1:]) / a + (2 * h[:-1] + h[1:]) / b)
    return np.concatenate([d[:1], np.where(same, inner, 0.0), d[-1:]])


def steffen(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The slope of a parabola through three points, limited so that the curve is monotone [3]_; at the ends, the
    secants."""
    h, d = np.diff(x), secants(x, y)
    before, after = d[:-1], d[1:]
    parabola = (before * h[1:] + after * h[:-1]) / (h[:-1] + h[1:])
    least = np.minimum(np.minimum(np.abs(before), np.abs(after)), 0.5 * np.abs(parabola))
    inner = (np.sign(before) + np.sign(after)) * least
    return np.concatenate([d[:1], inner, d[-1:]])
