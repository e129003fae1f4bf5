"""Kept pivots, new pivots, and the bound on the fill."""

import numpy as np
import pytest
from systems import direct, insulator_chain, random_fathers, tree, with_loops

import dalembert as da
from dalembert.linalg.saddle import saddle
from dalembert.linalg.saddle.saddle import SaddlePattern
from dalembert.linalg.saddle.sparse import fill_bound


def built(M, G):
    memory = da.Sparse().build(SaddlePattern(len(M), len(G), np.nonzero(M), np.nonzero(G)))
    memory.M[:], memory.G[:] = M[np.nonzero(M)], G[np.nonzero(G)]
    return memory


def solution_error(memory, M, G, rng):
    b = rng.normal(size=len(M) + len(G))
    w, lam, condition = direct(M, G, b[: len(M)], b[len(M) :])
    x = np.concatenate([w, lam])
    return np.abs(saddle.solve(memory, b) - x).max() / np.abs(x).max() / condition


def test_pivots_are_kept_while_they_are_good():
    rng = np.random.default_rng(0)
    for k in range(20):
        M, G = insulator_chain(12, 0.02 * k * np.ones(14) + 0.1)
        if k == 0:
            memory = built(M, G)
        memory.G[:] = G[np.nonzero(G)]
        assert saddle.factor(memory) == 0
        assert solution_error(memory, M, G, rng) < 1e-14
    assert memory.lu.analyses == 1


def test_new_pivots_when_the_old_ones_fail():
    rng = np.random.default_rng(1)
    M, G = tree(rng, random_fathers(rng, 12))
    memory = built(M, G)
    assert saddle.factor(memory) == 0
    pattern = G != 0
    for _ in range(30):  # values of any size at any place
        G = np.where(pattern, rng.normal(size=G.shape) * 10.0 ** rng.integers(-2, 2, size=G.shape), 0)
        memory.G[:] = G[pattern]
        assert saddle.factor(memory) == 0
        assert solution_error(memory, M, G, rng) < 1e-13
    assert memory.lu.analyses > 3
    G[0] = np.where(pattern[0], 1e-300, 0)
    G[1] = 2 * G[0]
    memory.G[:] = G[pattern]
    assert saddle.factor(memory) != 0  # singular: nothing helps


def test_a_singular_matrix_does_no_harm_to_the_next():
    rng = np.random.default_rng(2)
    M, G = tree(rng, [-1, 0, 1, 2])
    memory = built(M, G)
    good = memory.G.copy()
    for values, code in ((good, 0), (0 * good, None), (good, 0), (np.nan * good, None), (good, 0)):
        memory.G[:] = values
        result = saddle.factor(memory)
        assert (result == 0) == (code == 0)
    assert solution_error(memory, M, G, rng) < 1e-14


@pytest.mark.parametrize("seed", range(6))
def test_fill_stays_within_the_bound(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    pairs = [tuple(int(v) for v in rng.integers(0, n, 2)) for _ in range(seed)]
    M, G = with_loops(rng, *tree(rng, random_fathers(rng, n)), pairs)
    memory = built(M, G)
    for _ in range(10):
        memory.G[:] = rng.normal(size=len(memory.G)) * 10.0 ** rng.integers(-4, 4, size=len(memory.G))
        if saddle.factor(memory) == 0:
            assert memory.lu.lower_start[-1] <= memory.lu.n_L
            assert memory.lu.upper_start[-1] <= memory.lu.n_U
    assert memory.lu.analyses > 1


def test_bound_of_a_full_matrix():
    n = 7
    start, rows = np.arange(n + 1) * n, np.tile(np.arange(n), n)
    assert fill_bound(start, rows, np.arange(n)) == (n * (n + 1) // 2, n * (n + 1) // 2)


def test_options():
    assert repr(da.Sparse(threshold=0.01)) == "Sparse(threshold=0.01)"
    with pytest.raises(da.OptionError, match="threshold=2"):
        da.Sparse(threshold=2)
    with pytest.raises(da.OptionError, match="did you mean 'threshold'"):
        da.Sparse(treshold=0.1)
