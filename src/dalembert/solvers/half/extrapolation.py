"""Numbers of extrapolation methods: sequences of step numbers, weights of derivatives, Hermite interpolation.

A row of the extrapolation tableau takes n_j steps of size h_j = H/n_j and leaves the rates D_0 … D_{n_j − 1} of its
steps behind. Differences of them, divided by h_j^k and extrapolated to h = 0, approximate derivatives at both ends of
the basic step [1]_. As all is linear, weights of the D do it, which depend on the number of rows only.

References
----------
.. [1] E. Hairer, A. Ostermann, "Dense output for extrapolation methods", Numer. Math. 58, 1990.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from math import comb, factorial, perm, prod

import numpy as np

#: step numbers by name: of the article, and of the released code
SEQUENCES = {
    "paper": (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20),
    "released": (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 36),
}
#: rows of the tableau at most
MOST_ROWS = 13
#: derivatives at one end at most, beside those that are known
MOST_DERIVATIVES = 7
#: coefficients of a polynomial at most
MOST_COEFFICIENTS = MOST_ROWS + 3


def derivatives(rows: int, perturbed: bool) -> tuple[int, int]:
    """How many derivatives at the left and at the right end `rows` rows give, beside those that are known.

    Where the expansion of the error is perturbed at the beginning, (2.5), there are none at the left end.
    """
    return (0 if perturbed else (rows - 1) // 2), rows // 2


def to_zero(numbers: tuple[int, ...]) -> list[Fraction]:
    """Weights of extrapolation in h = 1/n to h = 0."""
    return [prod((Fraction(n, n - m) for m in numbers if m != n), start=Fraction(1)) for n in numbers]


@functools.cache
def rows_to_zero(sequence: tuple[int, ...]) -> np.ndarray:
    """Weights of the rows in T_jj for j = 0, 1, …, padded with zeros; then in T_{j,j−1}, without the first row."""
    weights = np.zeros((2, len(sequence) + 1, len(sequence)))
    for rows in range(1, len(sequence) + 1):
        for left_out in (0, 1):
            weights[left_out, rows, left_out:rows] = [float(c) for c in to_zero(sequence[left_out:rows])]
    return weights


@functools.cache
def derivative_weights(sequence: tuple[int, ...], perturbed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each number of rows, end (0: right, 1: left) and order k of the derivative: which D, with which weights.

    The entries for (rows, end, k) are start[i] … start[i + 1] − 1 with i = (2 rows + end) MOST_DERIVATIVES + k − 1 of
    the other two arrays; D are counted through all rows. They give H^k times the derivative (2.14), (2.15).
    """
    first = np.concatenate([[0], np.cumsum(sequence)])
    start, place, weight = [0], [], []
    for rows in range(len(sequence) + 1):
        left, right = derivatives(rows, perturbed)
        for end, count in ((0, right), (1, left)):
            for k in range(1, MOST_DERIVATIVES + 1):
                if k <= count:
                    top = k if perturbed else k - 1  # differences of row k − 1 reach back to the first small step
                    for j, c in zip(range(top, rows), to_zero(sequence[top:rows]), strict=True):
                        n = sequence[j]
                        for i in range(k + 1):
                            place.append(int(first[j]) + (i if end else n - 1 - i))
                            sign = (-1) ** (k - i if end else i)
                            weight.append(float(c * sign * comb(k, i) * n**k))
                start.append(len(place))
    return np.array(start, np.int64), np.array(place, np.int64), np.array(weight)


@functools.cache
def hermite(right: int, left: int) -> np.ndarray:
    """The coefficients of the polynomial in s from its derivatives 0, 1, … at s = 0 and then at s = −1, as a matrix."""
    n = right + left
    rows = [[Fraction(0)] * n for _ in range(n)]
    for m in range(right):
        rows[m][m] = Fraction(1, factorial(m))
    # conditions at −1 for the coefficients that are left, with what the others contribute on the right-hand side
    system = []
    for q in range(left):
        sides = [Fraction(0)] * n
        for m in range(right):
            sides[m] = -Fraction((-1) ** (m - q) * perm(m, q), factorial(m)) if m >= q else Fraction(0)
        sides[right + q] = Fraction(1)
        system.append(
            [Fraction((-1) ** (m - q) * perm(m, q)) if m >= q else Fraction(0) for m in range(right, n)] + sides
        )
    for i in range(left):
        pivot = next(r for r in range(i, left) if system[r][i] != 0)
        system[i], system[pivot] = system[pivot], system[i]
        scale = system[i][i]
        system[i] = [value / scale for value in system[i]]
        for r in range(left):
            if r != i and system[r][i] != 0:
                factor = system[r][i]
                system[r] = [a - factor * b for a, b in zip(system[r], system[i], strict=True)]
    for i in range(left):
        rows[right + i] = system[i][left:]
    return np.array(rows, float)


@functools.cache
def polynomial_tables(most_rows: int, perturbed: bool) -> np.ndarray:
    """Matrices of `hermite` for differential variables (rates are known) and multipliers, by number of rows, padded."""
    tables = np.zeros((2, most_rows + 1, MOST_COEFFICIENTS, MOST_COEFFICIENTS))
    for known in (2, 1):
        for rows in range(1, most_rows + 1):
            left, right = derivatives(rows, perturbed)
            matrix = hermite(known + right, known + left)
            tables[2 - known, rows, : len(matrix), : len(matrix)] = matrix
    return tables
