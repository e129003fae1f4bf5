"""Sparse LU factors, real and complex: against NumPy, with kept pivots, with pivots that vanish."""

import numba as nb
import numpy as np
import pytest

from dalembert.compile.kernel import kernel
from dalembert.compile.memory import mat, vec
from dalembert.linalg.factors.sparse_lu import (
    factor_sparse,
    factor_sparse_complex,
    lu_at,
    new_sparse_lu,
    substitute_sparse,
    substitute_sparse_complex,
)

i8, u8 = nb.int64, nb.uint64


@kernel(i8(u8))
def factor_real(lu):
    return factor_sparse(lu_at(lu))


@kernel(i8(u8))
def factor_complex(lu):
    return factor_sparse_complex(lu_at(lu))


@kernel(i8(u8, u8, u8))
def solve_real(lu, b, x):
    n = lu_at(lu).n
    substitute_sparse(lu_at(lu), vec(b, n), vec(x, n))
    return 0


@kernel(i8(u8, u8, u8))
def solve_complex(lu, b, x):
    n = lu_at(lu).n
    substitute_sparse_complex(lu_at(lu), mat(b, n, 3), mat(x, n, 3))
    return 0


class Matrix:
    """A sparse matrix with a pattern that has a transversal, and its factors."""

    def __init__(self, rng, n, dtype):
        pattern = rng.random((n, n)) < 0.2
        pattern[rng.permutation(n), np.arange(n)] = True
        self.rows, self.columns = np.nonzero(pattern)
        self.n, self.dtype = n, dtype
        self.lu, self.to = new_sparse_lu(self.rows, self.columns, n, dtype=dtype)

    def set(self, values):
        self.dense = np.zeros((self.n, self.n), self.dtype)
        self.dense[self.rows, self.columns] = values
        self.lu.A[:] = 0
        np.add.at(self.lu.A, self.to, values)

    def factor(self):
        return (factor_complex if self.dtype is complex else factor_real)(self.lu.address)

    def solve(self, b):
        if self.dtype is float:
            x = np.zeros(self.n)
            solve_real(self.lu.address, b.ctypes.data, x.ctypes.data)
            return x
        given, x = np.zeros((self.n, 3)), np.zeros((self.n, 3))
        given[:, 1], given[:, 2] = b.real, b.imag
        solve_complex(self.lu.address, given.ctypes.data, x.ctypes.data)
        assert (x[:, 0] == 0).all()
        return x[:, 1] + 1j * x[:, 2]


def values_of(rng, size, dtype):
    values = rng.normal(size=size) * 10.0 ** rng.uniform(-3, 3, size)
    return values + 1j * rng.normal(size=size) if dtype is complex else values


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("seed", range(8))
def test_random_matrices(seed, dtype):
    rng = np.random.default_rng(seed)
    matrix = Matrix(rng, int(rng.integers(1, 30)), dtype)
    solved = 0
    for _ in range(12):
        matrix.set(values_of(rng, len(matrix.rows), dtype))
        b = values_of(rng, matrix.n, dtype)
        condition = np.linalg.cond(matrix.dense)
        if matrix.factor() == 0:
            x, exact = matrix.solve(b), np.linalg.solve(matrix.dense, b)
            assert np.abs(x - exact).max() < 1e-13 * condition * np.abs(exact).max()
            solved += 1
        else:
            assert condition > 1e12
    assert solved >= 10


@pytest.mark.parametrize("dtype", [float, complex])
def test_pivots_that_vanish_are_chosen_anew(dtype):
    matrix = Matrix.__new__(Matrix)
    matrix.rows, matrix.columns = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    matrix.n, matrix.dtype = 2, dtype
    matrix.lu, matrix.to = new_sparse_lu(matrix.rows, matrix.columns, 2, dtype=dtype)
    b = np.array([1.0, 2.0], dtype)
    for values in ([2, 1, 1, 3], [0, 1, 1, 0], [3, 0, 0, 1], [0, 2, 5, 0]):
        matrix.set(np.array(values, dtype))
        assert matrix.factor() == 0
        np.testing.assert_allclose(matrix.solve(b), np.linalg.solve(matrix.dense, b), rtol=1e-14)
    assert matrix.lu.analyses >= 3
    for values, column in (([0, 0, 1, 1], 0), ([1, 2, 2, 4], None), ([1, 1, np.nan, 1], 1), ([np.inf, 1, 1, 1], 0)):
        matrix.set(np.array(values, dtype))
        failed = matrix.factor()
        assert failed > 0
        assert column is None or failed == column + 1
    matrix.set(np.array([2, 1, 1, 3], dtype))
    assert matrix.factor() == 0
    np.testing.assert_allclose(matrix.solve(b), np.linalg.solve(matrix.dense, b), rtol=1e-14)
