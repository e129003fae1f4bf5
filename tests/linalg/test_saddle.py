"""The frame of the saddle-point solvers: pattern, record, products, errors; and Dense, the solver for everything."""

import numba as nb
import numpy as np
import pytest
import scipy.sparse
from systems import direct, insulator_chain, random_fathers, tree

from dalembert.compile.kernel import call1, call3, kernel
from dalembert.compile.memory import ivec, vec
from dalembert.errors import ModelError, OptionError, SingularMatrix
from dalembert.linalg.saddle import saddle
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.saddle import SaddlePattern, fresh_saddle, solve_saddle

i8, u8 = nb.int64, nb.uint64


@kernel(i8(u8, u8, u8))
def solve_twice(own, b, x):
    """As a method does it: factor, solve, and check the residual with the products."""
    la = saddle.saddle_at(own)
    code = call1(la.factor, la.own)
    return code if code != 0 else call3(la.solve, la.own, b, x)


@kernel(i8(u8, u8, u8))
def products(own, x, out):
    """out = (M w − Uᵀ λ, G w)."""
    la = saddle.saddle_at(own)
    sizes = ivec(la.sizes, 7)
    n, m = sizes[0], sizes[1]
    w, lam, force, rest = vec(x, n), vec(x + 8 * n, m), vec(out, n), vec(out + 8 * n, m)
    n_M, n_G, n_U = sizes[2], sizes[3], sizes[4]
    saddle.add_product(1.0, vec(la.M, n_M), ivec(la.M_rows, n_M), ivec(la.M_columns, n_M), n_M, w, force)
    saddle.add_product(-1.0, vec(la.U, n_U), ivec(la.U_columns, n_U), ivec(la.U_rows, n_U), n_U, lam, force)
    saddle.add_product(1.0, vec(la.G, n_G), ivec(la.G_rows, n_G), ivec(la.G_columns, n_G), n_G, w, rest)
    return 0


def entries(A):
    rows, columns = np.nonzero(A)
    return rows, columns


def test_kernels_call_the_solver_by_address():
    rng = np.random.default_rng(1)
    M, G = tree(rng, random_fathers(rng, 4))
    U = G + 0.1 * (G != 0)
    memory = Dense().build(SaddlePattern(12, 8, entries(M), entries(G), entries(U)))
    twin = fresh_saddle(memory)
    assert memory.sizes.tolist() == [12, 8, 36, np.count_nonzero(G), np.count_nonzero(G), 0, 1]
    for record in (memory, twin):
        record.M[:], record.G[:], record.U[:] = M[entries(M)], G[entries(G)], U[entries(U)]
    memory.M[:] = 0  # the copy is independent
    b = rng.normal(size=20)
    x = b.copy()
    assert solve_twice(twin.address, x.ctypes.data, x.ctypes.data) == 0
    w, lam, _ = direct(M, G, b[:12], b[12:], U)
    np.testing.assert_allclose(x, np.concatenate([w, lam]), rtol=1e-10)
    out = np.zeros(20)
    products(twin.address, x.ctypes.data, out.ctypes.data)
    np.testing.assert_allclose(out, np.concatenate([M @ w - U.T @ lam, G @ w]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_dense_and_sparse_arguments(n):
    rng = np.random.default_rng(n)
    M, G = tree(rng, random_fathers(rng, n))
    f, g = rng.normal(size=3 * n), rng.normal(size=2 * n)
    w, lam, _ = direct(M, G, f, g)
    for wrap in (np.asarray, scipy.sparse.csc_array, scipy.sparse.coo_matrix):
        mine = solve_saddle(Dense(), wrap(M), wrap(G), f, g)
        np.testing.assert_allclose(mine[0], w, rtol=1e-10)
        np.testing.assert_allclose(mine[1], lam, rtol=1e-10)


def test_units_do_not_make_a_matrix_singular():
    M, G = insulator_chain(3)
    f, g = np.ones(len(M)), np.zeros(len(G))
    w, lam = solve_saddle(Dense(), M, G, f, g)
    small, large = solve_saddle(Dense(), 1e12 * M, 1e-9 * G, 1e12 * f, g)
    np.testing.assert_allclose(small, w, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(large * 1e-21, lam, rtol=1e-9, atol=1e-9)


def test_singular_systems_name_what_is_behind():
    names = dict(velocity_names=["x", "y", "phi"], constraint_names=["rod", "slider"])
    one = np.ones(3)
    with pytest.raises(SingularMatrix, match="constraint 'slider' restrains no velocity"):
        solve_saddle(Dense(), np.eye(3), [[1, 1, 0], [0, 0, 0]], one, one[:2], **names)
    with pytest.raises(SingularMatrix, match="constraints 'rod', 'slider' are redundant"):
        solve_saddle(Dense(), np.eye(3), [[1, 1, 0.1], [3, 3, 0.3]], one, one[:2], **names)
    with pytest.raises(SingularMatrix, match="velocity 'phi' has no mass and stands in no constraint"):
        solve_saddle(Dense(), np.diag([1, 1, 0]), [[1, 1, 0], [1, -1, 0]], one, one[:2], **names)
    with pytest.raises(SingularMatrix, match="velocities 'y', 'phi' can change without any mass"):
        solve_saddle(Dense(), np.diag([1, 0, 0]), [[1, 1, 1], [1, 0, 0]], one, one[:2], **names)
    with pytest.raises(SingularMatrix, match=r"M is not finite at \(y, y\): nan"):
        solve_saddle(Dense(), np.diag([1, np.nan, 1]), [[1, 1, 0], [1, -1, 0]], one, one[:2], **names)
    with pytest.raises(SingularMatrix, match=r"G is not finite at \(slider, x\): inf"):
        solve_saddle(Dense(), np.eye(3), [[1, 1, 0], [np.inf, -1, 0]], one, one[:2], **names)


def test_faulty_patterns_and_options():
    none = np.zeros(0, int)
    with pytest.raises(ModelError, match="outside of its shape 2 × 2"):
        SaddlePattern(2, 0, (np.array([2]), np.array([0])), (none, none))
    with pytest.raises(ModelError, match=r"entry at \(v\[0\], v\[1\]\) but none"):
        SaddlePattern(2, 0, (np.array([0]), np.array([1])), (none, none))
    with pytest.raises(ModelError, match="2 constraints on 1 velocities"):
        SaddlePattern(1, 2, (none, none), (none, none))
    with pytest.raises(ModelError, match="1 names are given for n_v = 2"):
        SaddlePattern(2, 0, (none, none), (none, none), velocity_names=("x",))
    with pytest.raises(OptionError, match="Dense has no option 'pivot'"):
        Dense(pivot=True)
    with pytest.raises(ModelError, match="right-hand side"):
        saddle.solve(Dense().build(SaddlePattern(1, 0, (np.array([0]), np.array([0])), (none, none))), np.ones(3))
