"""Conjugate gradients between two factorizations."""

import numpy as np
import pytest
from systems import direct, insulator_chain, joint_coordinates, tree, with_loops

import dalembert as da
from dalembert.linalg.saddle import saddle
from dalembert.linalg.saddle.saddle import SaddlePattern


def built(solver, M, G):
    memory = solver.build(SaddlePattern(len(M), len(G), np.nonzero(M), np.nonzero(G)))
    memory.M[:], memory.G[:] = M[np.nonzero(M)], G[np.nonzero(G)]
    return memory


def error(memory, M, G, rng):
    b = rng.normal(size=len(M) + len(G))
    w, lam, _ = direct(M, G, b[: len(M)], b[len(M) :])
    x = saddle.solve(memory, b)
    of = lambda mine, other: np.abs(mine - other).max() / np.abs(other).max()  # noqa: E731
    return max(of(x[: len(M)], w), of(x[len(M) :], lam))


def mechanisms(rng):
    yield with_loops(rng, *tree(rng, [-1, 0, 1, 2, 2, 1, 0]), [(3, 6)])  # positive definite M
    yield joint_coordinates(rng, [-1, 0, 1, 0])
    yield insulator_chain(8, rng.normal(size=10))


@pytest.mark.parametrize("inner", [da.Auto(), da.Dense(), da.Symmetric(), da.RangeSpace(), da.Sparse(), da.Recursive()])
def test_neighbouring_matrices_need_no_factorization(inner):
    rng = np.random.default_rng(0)
    for M, G in mechanisms(rng):
        memory = saddle.fresh_saddle(built(da.ConjugateGradient(inner=inner), M, G))
        assert saddle.factor(memory) == 0
        assert memory.factorizations == 1
        assert memory.sizes[6] == 0
        assert error(memory, M, G, rng) < 1e-12
        assert memory.iterations == 0
        for _ in range(4):
            near = G * (1 + 1e-4 * rng.normal(size=G.shape))
            memory.G[:] = near[np.nonzero(G)]
            assert saddle.factor(memory) == 0
            assert error(memory, M, near, rng) < 1e-12
        assert memory.factorizations == 1
        assert 4 <= memory.iterations <= 4 * 8
        memory.sizes[6] = 1
        assert saddle.factor(memory) == 0
        assert memory.factorizations == 2


@pytest.mark.parametrize("constraint", ["full", "sparse"])
def test_storage_of_constraints(constraint):
    """Iterations multiply by G as it is stored; the pattern has entries that become zero."""
    rng = np.random.default_rng(7)
    for M, G in mechanisms(rng):
        memory = built(da.ConjugateGradient(constraint=constraint), M, G)
        assert saddle.factor(memory) == 0
        near = G * (1 + 1e-4 * rng.normal(size=G.shape))
        memory.G[:] = near[np.nonzero(G)]
        assert saddle.factor(memory) == 0
        assert error(memory, M, near, rng) < 1e-12
        assert memory.iterations > 0
        assert memory.factorizations == 1
        assert memory.full == (constraint == "full")


def test_distant_matrices_are_factored():
    rng = np.random.default_rng(1)
    for M, G in mechanisms(rng):
        memory = built(da.ConjugateGradient(iterations=3), M, G)
        assert saddle.factor(memory) == 0
        far = G * (1 + 0.5 * rng.uniform(-1, 1, size=G.shape))
        memory.G[:] = far[np.nonzero(G)]
        assert saddle.factor(memory) == 0
        assert memory.factorizations == 1  # not before it is needed
        assert error(memory, M, far, rng) < 1e-11
        assert memory.factorizations == 2
        before = memory.iterations
        assert error(memory, M, far, rng) < 1e-11
        assert memory.iterations == before


def test_changing_masses():
    rng = np.random.default_rng(2)
    M, G = with_loops(rng, *tree(rng, [-1, 0, 1, 2, 2]), [(0, 4)])
    memory = built(da.ConjugateGradient(), M, G)
    assert saddle.factor(memory) == 0
    for factor in (1.001, 1.002, 1.0):
        memory.M[:] = factor * M[np.nonzero(M)]
        assert saddle.factor(memory) == 0
        assert error(memory, factor * M, G, rng) < 1e-12
    assert memory.factorizations == 1


def test_a_matrix_that_becomes_singular_is_found_late():
    M, G = tree(np.random.default_rng(3), [-1, 0])
    memory = built(da.ConjugateGradient(), M, G)
    assert saddle.factor(memory) == 0
    memory.G[:] = 0
    assert saddle.factor(memory) == 0
    with pytest.raises(da.SingularMatrix, match=r"constraint 'constraint\[0\]' restrains no velocity"):
        saddle.solve(memory, np.ones(10))
    memory.G[:] = G[np.nonzero(G)]
    assert saddle.factor(memory) == 0
    assert error(memory, M, G, np.random.default_rng(4)) < 1e-12
    assert np.all(saddle.solve(memory, np.zeros(10)) == 0)


def test_zero_right_hand_side_by_iteration():
    rng = np.random.default_rng(5)
    for M, G in mechanisms(rng):
        memory = built(da.ConjugateGradient(), M, G)
        assert saddle.factor(memory) == 0
        assert saddle.factor(memory) == 0
        assert np.all(saddle.solve(memory, np.zeros(len(M) + len(G))) == 0)
        assert memory.factorizations == 1


def test_options():
    assert repr(da.ConjugateGradient()) == "ConjugateGradient()"
    with pytest.raises(da.OptionError, match="must be a linear solver"):
        da.ConjugateGradient(inner="dense")
    with pytest.raises(da.OptionError, match="direct solver"):
        da.ConjugateGradient(inner=da.ConjugateGradient())
    with pytest.raises(da.OptionError, match="tolerance=1"):
        da.ConjugateGradient(tolerance=1)
    with pytest.raises(da.OptionError, match="iterations=0"):
        da.ConjugateGradient(iterations=0)
