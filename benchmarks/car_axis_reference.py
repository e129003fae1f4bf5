"""Reference values of the car axis at late times, in 80-bit arithmetic.

The accelerations are eliminated by hand and integrated by Gragg's method with extrapolation of order 18 and constant
steps. Rounding of doubles alone spoils eight digits until t = 500. Run it with

    python benchmarks/car_axis_reference.py 500 100000          # t, steps: some minutes

and once more with twice as many steps.
"""

from __future__ import annotations

import sys

import numpy as np

LD = np.longdouble
HALF, ONE, TWO, MASS = LD(1) / 2, LD(1), LD(2), LD(5) / 10000
SEQUENCE = tuple(range(2, 20, 2))  # order 18


def multipliers_and_rates(t: LD, y: np.ndarray) -> tuple[tuple[LD, LD], list]:
    xl, yl, xr, yr, v1, v2, v3, v4 = y
    ten, r = LD(10), LD(1) / 10
    sine, cosine = np.sin(ten * t), np.cos(ten * t)
    yb, yb1, yb2 = r * sine, cosine, -ten * sine
    xb = np.sqrt(ONE - yb * yb)
    xb1 = -yb * yb1 / xb
    xb2 = -(yb1 * yb1 + yb * yb2 + xb1 * xb1) / xb
    left, right = np.sqrt(xl * xl + yl * yl), np.sqrt((xr - xb) ** 2 + (yr - yb) ** 2)
    pull, push = (HALF - left) / left, (HALF - right) / right
    f1, f2, f3, f4 = pull * xl, pull * yl - MASS, push * (xr - xb), push * (yr - yb) - MASS
    dx, dy, wx, wy = xl - xr, yl - yr, v1 - v3, v2 - v4
    # G = [[xb, yb, 0, 0], [2dx, 2dy, -2dx, -2dy]];  G a + gamma = 0
    gamma1 = xb2 * xl + TWO * xb1 * v1 + yb2 * yl + TWO * yb1 * v2
    gamma2 = TWO * (wx * wx + wy * wy)
    a11, a12, a22 = xb * xb + yb * yb, TWO * (xb * dx + yb * dy), LD(8) * (dx * dx + dy * dy)
    b1 = xb * f1 + yb * f2 + MASS * gamma1
    b2 = TWO * (dx * (f1 - f3) + dy * (f2 - f4)) + MASS * gamma2
    det = a11 * a22 - a12 * a12
    m1, m2 = (a22 * b1 - a12 * b2) / det, (a11 * b2 - a12 * b1) / det
    return (m1, m2), [
        v1, v2, v3, v4,
        (f1 - xb * m1 - TWO * dx * m2) / MASS, (f2 - yb * m1 - TWO * dy * m2) / MASS,
        (f3 + TWO * dx * m2) / MASS, (f4 + TWO * dy * m2) / MASS,
    ]  # fmt: skip


def rates(t: LD, y: np.ndarray) -> np.ndarray:
    return np.array(multipliers_and_rates(t, y)[1], LD)


def step(t: LD, y: np.ndarray, H: LD) -> np.ndarray:
    """One step of Gragg's method, extrapolated."""
    start, table = rates(t, y), []
    for row, n in enumerate(SEQUENCE):
        h = H / n
        before, now = y, y + h * start
        for k in range(1, n):
            before, now = now, before + (TWO * h) * rates(t + k * h, now)
        new = [now]
        for k in range(1, row + 1):
            ratio = LD(n * n) / LD(SEQUENCE[row - k] ** 2) - ONE
            new.append(new[k - 1] + (new[k - 1] - table[k - 1]) / ratio)
        table = new
    return table[-1]


def integrate(t_end: int, steps: int) -> tuple[np.ndarray, tuple[LD, LD]]:
    y = np.array([0, 0.5, 1, 0.5, -0.5, 0, -0.5, 0], LD)
    H = LD(t_end) / steps
    for k in range(steps):
        y = step(H * k, y, H)
    return y, multipliers_and_rates(LD(t_end), y)[0]


if __name__ == "__main__":
    end, lam = integrate(int(sys.argv[1]), int(sys.argv[2]))
    print(*(f"{value:.18g}" for value in (*end, *lam)))
