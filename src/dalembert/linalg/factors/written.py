"""LU factors of sparse matrices written down operation by operation, for machine code without zeros, loops or indices.

The order of the pivots is found once: by the fewest multiplications (Markowitz), among entries that are not small in
their column in any of some sample matrices. It stays, whatever the values are. So factors come with *margins*, which
must be positive: that rows have not grown by more than `GROWTH`, and that no pivot has lost more digits than `LOST`
allows. Where one is not, somebody else has to factor the matrix, with pivots of its own.

Numbers are those of a `compile.writer` or expressions of CasADi, and pairs of them: `Complex`. What is known beforehand
is a float, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: pivots are not smaller than this fraction of their column in any sample, if there are such
THRESHOLD = 1e-3
#: sum of |L| |U| in a row, at most, by that of the matrix: errors of the factors are this many rounding units
GROWTH = 1e6
#: pivots below this fraction of what they were computed from have lost too many digits
LOST = 1e-9


@dataclass(slots=True)
class Complex:
    """A complex number of two expressions."""

    re: Any
    im: Any

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __mul__(self, other: Any) -> Complex:
        if not isinstance(other, Complex):
            return Complex(self.re * other, self.im * other)
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)


def reciprocal(number: Any, one: Any = 1.0) -> Any:
    """1 / number. Of CasADi's expressions `one` is a symbol for 1: it would turn x · (1/d) into x/d, and divisions are
    what takes longest."""
    if isinstance(number, Complex):
        if is_zero(number.im):
            return Complex(one / number.re, 0.0)
        over = one / (number.re * number.re + number.im * number.im)
        return Complex(number.re * over, -number.im * over)
    return one / number


def size(number: Any) -> Any:
    """|x|, or |re| + |im|."""
    return abs(number.re) + abs(number.im) if isinstance(number, Complex) else abs(number)


def flat(numbers: Iterable[Any]) -> list[Any]:
    """Real numbers: complex ones are two each."""
    out: list[Any] = []
    for number in numbers:
        out += [number.re, number.im] if isinstance(number, Complex) else [number]
    return out


def replaced(number: Any, symbols: Iterator[Any]) -> Any:
    """The next symbol, or two, in place of what is not known beforehand."""
    if isinstance(number, Complex):
        return Complex(replaced(number.re, symbols), replaced(number.im, symbols))
    return number if isinstance(number, float) else next(symbols)


def is_zero(number: Any) -> bool:
    """Whether it is known to be zero."""
    if isinstance(number, Complex):
        return is_zero(number.re) and is_zero(number.im)
    return isinstance(number, float) and number == 0.0


@dataclass(frozen=True)
class PivotOrder:
    """Rows and columns of the pivots, and how many multiplications they cost."""

    pairs: tuple[tuple[int, int], ...]
    operations: int  # of the factorization
    kept: int  # entries of L and U


def find_order(
    rows: np.ndarray, columns: np.ndarray, n: int, samples: Sequence[np.ndarray], most: int
) -> PivotOrder | None:
    """An order for matrices of size n with nonzeros in these places, of which `samples` hold values.

    None if the samples have no pivots, or elimination takes more than `most` multiplications.

    Examples
    --------
    >>> arrow = np.array([0, 0, 0, 1, 2, 1, 2]), np.array([0, 1, 2, 0, 0, 1, 2])
    >>> find_order(*arrow, 3, [np.array([4.0, 1, 1, 1, 1, 4, 4])], 100).operations      # 8 with the full row first
    4
    """
    pattern = np.zeros((n, n), bool)
    pattern[rows, columns] = True
    A = np.zeros((len(samples), n, n))
    for k, values in enumerate(samples):
        np.add.at(A[k], (rows, columns), values)
    for axis in (2, 1):
        largest = np.abs(A).max(axis=axis, keepdims=True, initial=0.0)
        A /= np.where(largest > 0, largest, 1.0)
    share = np.zeros((n, n))  # of entries in the largest one of their column, where it is smallest

    def look_at(columns: np.ndarray) -> None:
        values = np.abs(A[:, :, columns])
        largest = values.max(axis=1, keepdims=True)
        values /= np.where(largest > 0, largest, 1.0)
        share[:, columns] = np.where(pattern[:, columns], values.min(axis=0), 0.0)

    look_at(np.arange(n))
    pairs: list[tuple[int, int]] = []
    operations = kept = 0
    for _ in range(n):
        best = float(share.max(initial=0.0))
        if not best > 0.0:
            return None
        in_row, in_column = pattern.sum(axis=1), pattern.sum(axis=0)
        cost = (in_row - 1)[:, None] * (in_column - 1)[None, :] - 0.5 * share  # the larger of equally cheap ones
        i, j = np.unravel_index(np.argmin(np.where(share >= min(THRESHOLD, best), cost, np.inf)), cost.shape)
        pattern[i, j] = False
        below, right = np.flatnonzero(pattern[:, j]), np.flatnonzero(pattern[i])
        operations += len(below) * (len(right) + 1)
        kept += len(below) + len(right) + 1
        if operations > most:
            return None
        factors = A[:, below, j] / A[:, i, j][:, None]
        A[np.ix_(np.arange(len(samples)), below, right)] -= factors[:, :, None] * A[:, i, right][:, None, :]
        pattern[np.ix_(below, right)] = True
        pattern[i], pattern[:, j] = False, False
        A[:, i], A[:, :, j] = 0.0, 0.0
        share[i], share[:, j] = 0.0, 0.0
        look_at(right)
        pairs.append((int(i), int(j)))
    return PivotOrder(tuple(pairs), operations, kept)


@dataclass(frozen=True)
class Factors:
    """L and U in the order of elimination, without their diagonals, and reciprocals of the pivots by row."""

    order: PivotOrder
    lower: tuple[tuple[int, int, Any], ...]  # row, row of the pivot, value
    upper: tuple[tuple[int, int, Any], ...]  # row of the pivot, column, value
    inverse: tuple[Any, ...]  # in the order of the pivots

    def numbers(self) -> list[Any]:
        """What has to be computed, as real numbers in one list."""
        every = (*(v for *_, v in self.lower), *(v for *_, v in self.upper), *self.inverse)
        return [number for number in flat(every) if not isinstance(number, float)]

    def read(self, symbols: Iterable[Any]) -> Factors:
        """The same with these in place of `numbers`; of an iterator the next ones."""
        known = iter(symbols)
        return Factors(
            self.order,
            tuple((i, at, replaced(value, known)) for i, at, value in self.lower),
            tuple((at, j, replaced(value, known)) for at, j, value in self.upper),
            tuple(replaced(value, known) for value in self.inverse),
        )

    def solve(self, b: Sequence[Any]) -> list[Any]:
        """The solution, by columns, for a right-hand side by rows. Zeros in it may be None, and are so in it."""
        left, x = list(b), [None] * len(b)
        for i, at, value in self.lower:
            if left[at] is not None:
                change = left[at] * value
                left[i] = -change if left[i] is None else left[i] - change
        of_row: dict[int, list[tuple[int, Any]]] = {}
        for at, j, value in self.upper:
            of_row.setdefault(at, []).append((j, value))
        for (at, pivot), over in zip(reversed(self.order.pairs), reversed(self.inverse), strict=True):
            total = left[at]
            for j, value in of_row.get(at, ()):
                if x[j] is not None:
                    change = x[j] * value
                    total = -change if total is None else total - change
            x[pivot] = None if total is None else total * over
        return x


def factor(order: PivotOrder, rows: Sequence[dict[int, Any]], one: Any = 1.0) -> tuple[Factors, list[Any]]:
    """Factors of the matrix with these rows, column → value, and their margins. See `reciprocal` for `one`."""
    n, rows = len(rows), [dict(row) for row in rows]
    given: list[Any] = [0.0] * n  # sums of rows
    for i, row in enumerate(rows):
        for value in row.values():
            given[i] = given[i] + size(value)
    lower: list[tuple[int, int, Any]] = []
    upper: list[tuple[int, int, Any]] = []
    inverse: list[Any] = []
    margins: list[Any] = []
    grown: list[Any] = [0.0] * n
    pivot_of = dict(order.pairs)
    terms: dict[int, Any] = {}  # what the pivot of a row is computed from, once it has changed
    left_rows, left_columns = set(range(n)), set(range(n))
    for at, pivot in order.pairs:
        row = rows[at]
        d, over = row[pivot], reciprocal(row[pivot], one)
        inverse.append(over)
        left_rows.discard(at)
        left_columns.discard(pivot)
        right = [j for j in row if j in left_columns]
        upper += [(at, j, row[j]) for j in right if not is_zero(row[j])]
        of_upper = size(d)
        for j in right:
            of_upper = of_upper + size(row[j])
        grown[at] = grown[at] + of_upper
        margins.append(GROWTH * given[at] - grown[at])
        if at in terms:
            margins.append(size(d) - LOST * terms[at])
        for i in sorted(i for i in left_rows if pivot in rows[i]):
            value = rows[i][pivot] * over
            if is_zero(value):
                continue
            lower.append((i, at, value))
            grown[i] = grown[i] + size(value) * of_upper
            for j in right:
                change = row[j] * value
                if is_zero(change):
                    continue
                if j == pivot_of[i]:
                    before = size(rows[i][j]) if j in rows[i] else 0.0
                    terms[i] = terms.get(i, before) + size(change)
                rows[i][j] = rows[i][j] - change if j in rows[i] else -change
    uncertain = [margin for margin in margins if not isinstance(margin, float) or margin <= 0.0]
    return Factors(order, tuple(lower), tuple(upper), tuple(inverse)), uncertain
