"""Elimination that is written down: against LAPACK on random patterns and hostile values, never wrong unnoticed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.compile.writer import Writer
from dalembert.linalg.factors.written import GROWTH, Complex, factor, find_order, flat

UNIT = np.finfo(float).eps


class Matrix:
    """Matrices of one pattern, real or complex, with code for their factors."""

    def __init__(self, rng, n, dtype, density=0.2, count=3):
        pattern = rng.random((n, n)) < density
        pattern[rng.permutation(n), np.arange(n)] = True
        self.n, self.dtype, (self.rows, self.columns) = n, dtype, np.nonzero(pattern)
        nnz, parts = len(self.rows), 1 if dtype is float else 2
        samples = [rng.normal(size=nnz) for _ in range(count)]
        self.order = find_order(self.rows, self.columns, n, samples, 10**6)
        writer = Writer(nnz * parts, 0)
        (entries,) = writer.arguments()[:1]
        if dtype is complex:
            entries = [Complex(a, b) for a, b in zip(entries[0::2], entries[1::2], strict=True)]
        rows = [{} for _ in range(n)]
        for i, j, value in zip(self.rows.tolist(), self.columns.tolist(), entries, strict=True):
            rows[i][j] = value
        factors, margins = factor(self.order, rows)
        numbers = factors.numbers()
        self.factors_port, self.n_margins = writer.port([*numbers, *margins]), len(margins)
        writer = Writer(len(numbers), n * parts)
        known, b = writer.arguments()
        if dtype is complex:
            b = [Complex(x, y) for x, y in zip(b[0::2], b[1::2], strict=True)]
        self.solution_port = writer.port(flat(factors.read(known).solve(b)))

    def set(self, values):
        """Factor. Returns whether the factors are to be trusted."""
        self.dense = np.zeros((self.n, self.n), self.dtype)
        self.dense[self.rows, self.columns] = values
        values = np.ascontiguousarray(values, self.dtype).view(float)
        self.factors = np.zeros(self.factors_port.n_out)
        if self.factors_port.call_status(0.0, values, np.zeros(0), self.factors):
            return False
        return bool((self.factors[-self.n_margins :] > 0).all())

    def solve(self, b):
        out = np.zeros(self.solution_port.n_out)
        known = self.factors[: -self.n_margins]
        self.solution_port.call_status(0.0, known, np.ascontiguousarray(b, self.dtype).view(float), out)
        return out.view(self.dtype)


def values_of(rng, size, dtype, spread=0.0):
    values = rng.normal(size=size) * 10.0 ** rng.uniform(-spread, spread, size)
    return values + 1j * rng.normal(size=size) if dtype is complex else values


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("seed", range(6))
def test_random_matrices(seed, dtype):
    rng = np.random.default_rng(seed)
    matrix = Matrix(rng, int(rng.integers(1, 25)), dtype)
    trusted = 0
    for _ in range(12):
        good = matrix.set(values_of(rng, len(matrix.rows), dtype))
        if good:
            b = values_of(rng, matrix.n, dtype)
            x, exact = matrix.solve(b), np.linalg.solve(matrix.dense, b)
            assert np.abs(x - exact).max() < 1e-10 * np.linalg.cond(matrix.dense) * np.abs(exact).max()
            trusted += 1
    assert trusted >= 10


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([float, complex]), st.sampled_from([0.0, 3.0, 9.0, 30.0]))
def test_what_is_trusted_is_right(seed, dtype, spread):
    """Whatever the values, zeros and dependent rows among them: margins are positive only if errors are small."""
    rng = np.random.default_rng(seed)
    matrix = Matrix(rng, int(rng.integers(2, 14)), dtype, density=0.4, count=2)
    for _ in range(8):
        values = values_of(rng, len(matrix.rows), dtype, spread)
        values[rng.random(len(values)) < rng.choice([0.0, 0.2])] = 0.0
        if rng.random() < 0.3:  # a row that nearly depends on another, as far as their patterns allow
            one, other = rng.choice(matrix.n, 2, replace=False)
            for k in np.flatnonzero(matrix.rows == one):
                twin = np.flatnonzero((matrix.rows == other) & (matrix.columns == matrix.columns[k]))
                values[k] = values[twin[0]] * (1 + 1e-13 * rng.normal()) if len(twin) else 0.0
        if not matrix.set(values):
            continue
        b = values_of(rng, matrix.n, dtype)
        x = matrix.solve(b)
        if not np.isfinite(x).all():  # numbers beyond 10³⁰⁸
            continue
        weight = np.abs(matrix.dense).sum(axis=1) * np.abs(x).max() + np.abs(b)
        assert (np.abs(matrix.dense @ x - b) <= 20 * matrix.n * UNIT * GROWTH * weight).all()


def test_pivots_that_vanish_are_not_trusted():
    rng = np.random.default_rng(0)
    matrix = Matrix.__new__(Matrix)
    Matrix.__init__(matrix, rng, 2, float, density=1.0)
    assert matrix.set([4.0, 1.0, 1.0, 3.0])
    np.testing.assert_allclose(matrix.solve(np.array([1.0, 2.0])), np.linalg.solve(matrix.dense, [1, 2]), rtol=1e-14)
    (i, j), _ = matrix.order.pairs
    for pivot in (0.0, 1e-20, np.nan, np.inf):
        values = np.ones((2, 2))
        values[i, j] = pivot
        assert not matrix.set(values.ravel())
    assert not matrix.set([1.0, 2.0, 2.0, 4.0])  # singular
    assert not matrix.set([1.0, 2.0, 2.0, 4.0 + 1e-12])  # nearly


def test_trust_does_not_depend_on_the_units_of_equations():
    rng = np.random.default_rng(5)
    matrix = Matrix(rng, 12, float)
    for _ in range(10):
        values = values_of(rng, len(matrix.rows), float, 2.0)
        scale = 2.0 ** rng.integers(-60, 60, matrix.n)
        assert matrix.set(values) == matrix.set(values * scale[matrix.rows])


def test_orders_that_do_not_exist():
    rows, columns = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    assert find_order(rows, columns, 2, [np.array([1.0, 1.0, 1.0, 1.0])], 100) is None  # singular everywhere
    assert find_order(rows, columns, 2, [np.array([1.0, 2.0, 3.0, 1.0])], 1) is None  # more than one multiplication
    assert find_order(rows[:2], columns[:2], 2, [np.array([1.0, 2.0])], 100) is None  # an empty column
    assert find_order(rows, columns, 2, [np.array([1.0, 2.0, 3.0, 1.0])], 100).operations == 2
