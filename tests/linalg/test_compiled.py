"""Elimination as machine code: right, also where it has to fall back on Dense."""

import ctypes

import numpy as np
import pytest
from systems import direct, joint_coordinates, random_fathers, tree, with_loops

from dalembert.errors import ModelError, OptionError, SingularMatrix
from dalembert.linalg.saddle import saddle
from dalembert.linalg.saddle.compiled import Compiled, Elimination
from dalembert.linalg.saddle.saddle import SaddlePattern, fresh_saddle, solve_saddle


def entries(A):
    return np.nonzero(A)


def build(M, G, U=None):
    force = None if U is None else entries(U)
    memory = Compiled().build(SaddlePattern(M.shape[0], G.shape[0], entries(M), entries(G), force))
    memory.M[:], memory.G[:] = M[entries(M)], G[entries(G)]
    if U is not None:
        memory.U[:] = U[entries(U)]
    return memory


def mechanism(seed):
    rng = np.random.default_rng(seed)
    M, G = tree(rng, random_fathers(rng, 5, trees=2))
    if seed % 2:
        M, G = with_loops(rng, M, G, [(0, 4), (2, -1)])
    return rng, M, G


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("symmetric", [True, False])
def test_solutions(seed, symmetric):
    rng, M, G = mechanism(seed)
    U = None if symmetric else G + 0.05 * rng.normal(size=G.shape) * (G != 0)
    f, g = rng.normal(size=M.shape[0]), rng.normal(size=G.shape[0])
    w, lam = solve_saddle(Compiled(), M, G, f, g, U)
    expected_w, expected_lam, _ = direct(M, G, f, g, U)
    np.testing.assert_allclose(w, expected_w, rtol=0, atol=1e-11 * np.abs(expected_w).max())
    np.testing.assert_allclose(lam, expected_lam, rtol=0, atol=1e-10 * np.abs(expected_lam).max())


def test_fast_path_is_taken_and_chains_cost_what_trees_should():
    rng = np.random.default_rng(0)
    memory = build(*tree(rng, [-1, 0, 1, 2]))
    assert saddle.factor(memory) == 0
    assert memory.fell_back == 0
    work = []
    for n in (10, 20, 40):
        M, G = tree(rng, list(range(-1, n - 1)))
        work.append(Elimination(SaddlePattern(3 * n, 2 * n, entries(M), entries(G)), 10**6).operations)
    assert work[2] - work[1] == pytest.approx(2 * (work[1] - work[0]), rel=0.1)  # linear in the number of bodies


@pytest.mark.parametrize("symmetric", [True, False])
def test_massless_coordinates(symmetric):
    rng = np.random.default_rng(1)
    M, G = joint_coordinates(rng, [-1, 0, 1, 1])
    U = None if symmetric else G + 0.05 * rng.normal(size=G.shape) * (G != 0)
    memory = build(M, G, U)
    assert saddle.factor(memory) == 0
    assert memory.fell_back == 0
    b = rng.normal(size=memory.pattern.n)
    w, lam, _ = direct(M, G, b[: M.shape[0]], b[M.shape[0] :], U)
    np.testing.assert_allclose(saddle.solve(memory, b), np.concatenate([w, lam]), rtol=1e-8, atol=1e-10)


def test_what_nothing_holds():
    with pytest.raises(OptionError, match=r"no mass and no constraint holds velocity 'v\[1\]'; use Dense"):
        build(np.diag([1.0, 0.0]), np.array([[1.0, 0.0]]))


def test_semidefinite_mass_is_left_to_dense():
    M = np.diag([1.0, 1.0, 1.0])
    G = np.array([[1.0, 0.0, 2.0]])
    memory = build(M, G)
    for third in (1.0, 0.0, 1.0):  # a semi-definite matrix in between
        memory.M[2] = third
        assert saddle.factor(memory) == 0
        assert memory.fell_back == (third == 0.0)
        x = saddle.solve(memory, np.array([1.0, 2.0, 3.0, 4.0]))
        K = np.zeros((4, 4))
        K[:3, :3], K[3, :3], K[:3, 3] = np.diag([1.0, 1.0, third]), G, G
        np.testing.assert_allclose(K @ x, [1, 2, 3, 4], atol=1e-13)


def test_singular_matrices_are_named():
    M, G = np.eye(3), np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]])
    with pytest.raises(SingularMatrix, match="'a', 'b' are redundant"):
        solve_saddle(Compiled(), M, G, np.ones(3), np.ones(2), constraint_names=("a", "b"))
    memory = build(M, G[:1])
    memory.M[1] = np.nan
    assert saddle.factor(memory) != 0


def test_nearly_dependent_constraints_lose_no_digits():
    G = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 1e-5, 0.0]])
    M = np.diag([1.0, 2.0, 3.0])
    memory = build(M, G)
    assert saddle.factor(memory) == 0
    assert memory.fell_back == 1
    x = saddle.solve(memory, np.ones(5))
    np.testing.assert_allclose(G @ x[:3], [1, 1], atol=1e-10)


def test_copies_are_independent():
    _, M, G = mechanism(2)
    memory = build(M, G)
    twin = fresh_saddle(memory)
    memory.M[:] = 0
    assert saddle.factor(twin) == 0
    assert saddle.factor(memory) != 0
    b = np.ones(M.shape[0] + G.shape[0])
    w, _, _ = direct(M, G, b[: M.shape[0]], b[M.shape[0] :])
    np.testing.assert_allclose(saddle.solve(twin, b)[: M.shape[0]], w, rtol=1e-9, atol=1e-11)


def test_too_long():
    M, G = tree(np.random.default_rng(0), list(range(-1, 19)))
    pattern = SaddlePattern(M.shape[0], G.shape[0], entries(M), entries(G))
    with pytest.raises(OptionError, match="more than 100 operations"):
        Compiled(longest=100).build(pattern)
    with pytest.raises(OptionError, match="longest"):
        Compiled(longest=0)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_step_without_factors(symmetric):
    """M w + C_hereᵀ λ = f, C_there (v + s w) + c = 0, by the code of its own and by factors where the values stand."""
    rng, M, G = mechanism(1)
    U = G if symmetric else G + 0.05 * rng.normal(size=G.shape) * (G != 0)
    n, m = G.shape[1], G.shape[0]
    memory = build(M, G, None if symmetric else U)
    f, v, c, step = rng.normal(size=n), rng.normal(size=n), rng.normal(size=m), 0.3
    here = np.concatenate([M[entries(M)], U[entries(G)]])
    there = np.concatenate([M[entries(M)], G[entries(G)], c])
    out = np.zeros(n + m + 1)
    assert call_once(memory, -step, here, there, f, v, out) == 0
    w, lam, _ = direct(M, G, f, -(G @ v + c) / step, U)
    np.testing.assert_allclose(out[:n], w, rtol=0, atol=1e-11 * np.abs(w).max())
    np.testing.assert_allclose(out[n:-1], lam, rtol=0, atol=1e-10 * np.abs(lam).max())
    assert out[-1] > 0
    assert call_factor_at(memory, here, there) == 0
    assert memory.fell_back == 0
    np.testing.assert_allclose(
        saddle.solve(memory, np.concatenate([f, -(G @ v + c) / step])), out[:-1], rtol=1e-9, atol=1e-11
    )


def test_a_step_whose_pivots_are_bad_says_so():
    M, G = np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0 + 1e-4]])
    memory = build(M, G)
    here, out = np.concatenate([[1.0, 1.0], G.ravel()]), np.zeros(5)
    there = np.concatenate([here, [0.0, 0.0]])
    answer = call_once(memory, -1.0, here, there, np.ones(2), np.zeros(2), out)
    assert answer != 0 or not out[-1] > 0
    assert call_factor_at(memory, here, there) == 0
    assert memory.fell_back == 1
    np.testing.assert_array_equal(memory.G, G.ravel())  # for explanations


def test_no_short_cuts_where_forces_have_another_pattern():
    _, M, G = mechanism(0)
    U = G.copy()
    U[0, np.flatnonzero(U[0] == 0)[0]] = 0.1
    assert build(M, G, U).once == 0
    assert build(M, G, U).factor_at == 0
    assert build(M, G, 1.1 * G).once != 0


def call_once(memory, step, here, there, f, v, out):
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double, *[ctypes.c_uint64] * 5)(int(memory.once))
    return function(step, *(a.ctypes.data for a in (here, there, f, v, out)))


def call_factor_at(memory, here, there):
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(int(memory.factor_at))
    return function(int(memory.own), here.ctypes.data, there.ctypes.data)


# -- constants: constraints that are solved for a velocity at once -----------------------------------------------------


def planar_bodies(rng, n, loops=()):
    """Bodies in absolute coordinates x, y, φ, each hinged to one before it or to the ground; or a chain with loops.

    Returns M, G, and G with NaN where it varies.
    """
    fathers = [k - 1 if loops else int(rng.integers(-1, max(k, 1))) if k else -1 for k in range(n)]
    pairs = [(k, father) for k, father in enumerate(fathers)] + list(loops)
    M = np.diag(rng.uniform(0.5, 2.0, 3 * n))
    G, known = np.zeros((2 * len(pairs), 3 * n)), np.full((2 * len(pairs), 3 * n), np.nan)
    for row, pair in enumerate(pairs):
        for body, sign in zip(pair, (1.0, -1.0), strict=True):
            if body >= 0:
                for axis in range(2):
                    G[2 * row + axis, 3 * body + axis] = known[2 * row + axis, 3 * body + axis] = sign
                    G[2 * row + axis, 3 * body + 2] = sign * rng.normal()
    return M, G, known


def build_known(M, G, known, U=None):
    at = entries(G)
    pattern = SaddlePattern(
        M.shape[0], G.shape[0], entries(M), at, None if U is None else at,
        mass_values=M[entries(M)], constraint_values=known[at],
    )  # fmt: skip
    memory = Compiled().build(pattern)
    memory.M[:], memory.G[:] = M[entries(M)], G[at]
    if U is not None:
        memory.U[:] = U[at]
    return memory


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("symmetric", [True, False])
def test_constants_are_used_and_nothing_else_changes(seed, symmetric):
    rng = np.random.default_rng(40 + seed)
    M, G, known = planar_bodies(rng, 6, [(5, -1), (3, 0)] if seed % 2 else ())
    U = None if symmetric else np.where(np.isnan(known), G + 0.05 * rng.normal(size=G.shape) * (G != 0), G)
    memory = build_known(M, G, known, U)
    plain = Elimination(SaddlePattern(M.shape[0], G.shape[0], entries(M), entries(G)), 10**6)
    quick = Elimination(memory.pattern, 10**6)
    assert quick.operations < plain.operations
    assert any(row != column for row, column in quick.order)
    assert saddle.factor(memory) == 0
    assert memory.fell_back == 0
    b = rng.normal(size=memory.pattern.n)
    w, lam, _ = direct(M, G, b[: M.shape[0]], b[M.shape[0] :], U)
    expected = np.concatenate([w, lam])
    np.testing.assert_allclose(saddle.solve(memory, b), expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    f, v, c = rng.normal(size=M.shape[0]), rng.normal(size=M.shape[0]), rng.normal(size=G.shape[0])
    here = np.concatenate([M[entries(M)], (G if symmetric else U)[entries(G)]])
    there, out = np.concatenate([M[entries(M)], G[entries(G)], c]), np.zeros(memory.pattern.n + 1)
    assert call_once(memory, -0.3, here, there, f, v, out) == 0
    w, lam, _ = direct(M, G, f, -(G @ v + c) / 0.3, U)
    np.testing.assert_allclose(out[: len(w)], w, rtol=0, atol=1e-11 * np.abs(w).max())
    assert out[-1] > 0


@pytest.mark.parametrize("distance", [0.0, 1e-4])
def test_loops_that_add_nothing_are_seen_behind_constants(distance):
    """Two hinges at one place: their rows cancel when both are solved for the same body."""
    rng = np.random.default_rng(3)
    M, G, known = planar_bodies(rng, 3)
    G, known = np.vstack([G, G[2:4]]), np.vstack([known, known[2:4]])
    G[-2:, 2::3] *= 1 + distance
    memory = build_known(M, G, known)
    answer = saddle.factor(memory)
    assert memory.fell_back == 1
    assert (answer != 0) == (distance == 0.0)
    if distance:
        b = rng.normal(size=memory.pattern.n)
        w = saddle.solve(memory, b)[: M.shape[0]]
        np.testing.assert_allclose(G @ w, b[M.shape[0] :], rtol=0, atol=1e-10 * np.abs(w).max())


def test_values_must_fit_the_pattern():
    M, G, _ = planar_bodies(np.random.default_rng(0), 2)
    with pytest.raises(ModelError, match="3 values are given for the"):
        SaddlePattern(6, 4, entries(M), entries(G), constraint_values=np.zeros(3))
