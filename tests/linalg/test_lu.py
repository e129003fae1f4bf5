"""The two LU factorizations of kernels, real and complex, against NumPy."""

import numba as nb
import numpy as np
import pytest

from dalembert.compile.kernel import kernel
from dalembert.compile.memory import reference
from dalembert.linalg.factors import lapack, lu

f8, c16, i8, i4 = nb.float64, nb.complex128, nb.int64, nb.int32


@kernel(i8(f8[:, ::1], i8[::1], f8[::1]))
def solve_real(A, pivots, b):
    failed = lu.factor(A, pivots, b.size)
    if failed == 0:
        lu.substitute(A, pivots, b, b.size)
    return failed


@kernel(i8(f8[:, ::1], f8[:, ::1], i8[::1], f8[::1], f8[::1]))
def solve_complex(Ar, Ai, pivots, br, bi):
    failed = lu.factor_complex(Ar, Ai, pivots, br.size)
    if failed == 0:
        lu.substitute_complex(Ar, Ai, pivots, br, bi, br.size)
    return failed


@kernel(i8(reference(lapack.ARGUMENTS), f8[:, ::1], i4[::1], f8[::1]))
def lapack_real(to, A, pivots, b):
    failed = lapack.factor_real(to[0], A.ctypes.data, pivots.ctypes.data)
    if failed == 0:
        lapack.substitute_real(to[0], A.ctypes.data, pivots.ctypes.data, b.ctypes.data)
    return failed


@kernel(i8(reference(lapack.ARGUMENTS), c16[:, ::1], i4[::1], c16[::1]))
def lapack_complex(to, A, pivots, b):
    failed = lapack.factor_complex(to[0], A.ctypes.data, pivots.ctypes.data)
    if failed == 0:
        lapack.substitute_complex(to[0], A.ctypes.data, pivots.ctypes.data, b.ctypes.data)
    return failed


@pytest.mark.parametrize("n", [1, 2, 3, 7, 23, 24, 60])
def test_solutions(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    A[0, 0] = 0 if n > 1 else 1  # needs pivoting
    b = rng.normal(size=n) + 1j * rng.normal(size=n)
    x, x_real = np.linalg.solve(A, b), np.linalg.solve(A.real, b.real)
    to = lapack.lapack_arguments(n)

    mine = b.real.copy()
    assert solve_real(A.real.copy(), np.zeros(n, np.int64), mine) == 0
    np.testing.assert_allclose(mine, x_real, rtol=1e-10)
    mine = b.real.copy()
    assert lapack_real(to.record, A.real.copy(), np.zeros(n, np.int32), mine) == 0
    np.testing.assert_allclose(mine, x_real, rtol=1e-10)
    re, im = b.real.copy(), b.imag.copy()
    assert solve_complex(A.real.copy(), A.imag.copy(), np.zeros(n, np.int64), re, im) == 0
    np.testing.assert_allclose(re + 1j * im, x, rtol=1e-10)
    mine = b.copy()
    assert lapack_complex(to.record, A.copy(), np.zeros(n, np.int32), mine) == 0
    np.testing.assert_allclose(mine, x, rtol=1e-10)


def test_singular_matrices_name_the_column():
    A = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    A[:, 2] = A[:, 0] + A[:, 1]
    A = np.round(A)
    assert solve_real(A.copy(), np.zeros(3, np.int64), np.zeros(3)) == 3
    assert solve_complex(A.copy(), np.zeros((3, 3)), np.zeros(3, np.int64), np.zeros(3), np.zeros(3)) == 3
    assert solve_real(np.array([[np.nan]]), np.zeros(1, np.int64), np.zeros(1)) == 1


def test_null_vector_points_at_the_culprit():
    A = np.diag([1e6, 1.0, 1e-6])
    A[1, 1] = 0
    left, right, reciprocal = lu.null_vector(A)
    assert abs(left[1]) == pytest.approx(1)
    assert abs(right[1]) == pytest.approx(1)
    assert reciprocal == 0
    assert lu.null_vector(np.diag([1e6, 1.0, 1e-6]))[2] == pytest.approx(1)
