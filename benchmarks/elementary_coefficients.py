"""Coefficients of the polynomials in `compile/generated/elementary.py`: interpolation at Chebyshev's points.

Needs mpmath, which SymPy brings along. Prints them as they stand in the file, and how far they are off.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60


def interpolated(f: Callable, low: mp.mpf, high: mp.mpf, count: int) -> tuple[list[float], float]:
    """Coefficients of powers of x, and the largest error between the points."""
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    matrix = mp.matrix(count, count)
    values = mp.matrix(count, 1)
    for i, x in enumerate(points):
        values[i] = f(x)
        for j in range(count):
            matrix[i, j] = x**j
    c = mp.lu_solve(matrix, values)
    between = [low + (high - low) * mp.mpf(k) / 997 for k in range(1, 997)]
    error = max(abs(mp.polyval([c[j] for j in range(count - 1, -1, -1)], x) - f(x)) for x in between)
    return [float(value) for value in c], float(error)


def of_root(f: Callable) -> Callable:
    """A function of z by one of its root."""
    return lambda z: f(mp.sqrt(z), z)


QUARTER = (mp.pi / 4) ** 2 * mp.mpf("1.05")
HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.02")
RATIO = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.01")
EIGHTH = mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.01")

POLYNOMIALS = {
    "SIN": (of_root(lambda r, z: (mp.sin(r) / r - 1) / z), mp.mpf(0), QUARTER, 6),
    "COS": (of_root(lambda r, z: (mp.cos(r) - 1 + z / 2) / z**2), mp.mpf(0), QUARTER, 6),
    "EXP": (lambda r: (mp.exp(r) - 1 - r) / r**2, -HALF_LN2, HALF_LN2, 10),
    "LOG": (of_root(lambda r, z: (2 * mp.atanh(r) / r - 2) / z), mp.mpf(0), RATIO, 8),
    "ATAN": (of_root(lambda r, z: (mp.atan(r) / r - 1) / z), mp.mpf(0), EIGHTH, 11),
}


def main() -> None:
    for name, arguments in POLYNOMIALS.items():
        coefficients, error = interpolated(*arguments)
        print(f"{name} = ({', '.join(map(repr, coefficients))})  # off by {error:.1e}")


if __name__ == "__main__":
    main()
