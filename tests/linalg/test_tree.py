"""Bodies, joints and loops found from nonzeros, and elimination along the tree."""

import numpy as np
import pytest
from systems import direct, insulator_chain, joint_coordinates, random_fathers, tree, with_loops

import dalembert as da
from dalembert.linalg.bodies.tree import find_tree
from dalembert.linalg.saddle import saddle
from dalembert.linalg.saddle.saddle import SaddlePattern, solve_saddle


def found(M, G, U=None):
    force = None if U is None else np.nonzero(U)
    return find_tree(SaddlePattern(len(M), len(G), np.nonzero(M), np.nonzero(G), force))


def edges(tree_, size):
    """Pairs of bodies (as they were numbered when they were made) and fathers."""
    label = [min(body) // size for body in tree_.bodies]
    return {(label[k], label[f] if f >= 0 else -1) for k, f in enumerate(tree_.father)}


@pytest.mark.parametrize("size", [3, 6])
def test_chain_star_and_forest(size):
    rng = np.random.default_rng(0)
    forest = random_fathers(rng, 12, trees=3)
    for fathers in ([-1, 0, 1, 2, 3], [-1, 0, 0, 0, 0, 0], forest):
        t = found(*tree(rng, fathers, size, size - 1))
        assert t.cut == ()
        assert all(len(body) == size for body in t.bodies)
        assert edges(t, size) == set(enumerate(fathers))
        assert all(f < k for k, f in enumerate(t.father))  # monotone labelling
        assert sorted(c for joint in t.joints for c in joint) == list(range(len(fathers) * (size - 1)))


def test_bodies_with_diagonal_mass_matrix():
    """x, y and phi of one body belong together although M does not couple them."""
    N = 5
    M, G = insulator_chain(N, np.linspace(0.1, 0.9, N + 2))
    t = found(M, G)
    assert t.bodies[0] == tuple(range(3 * N + 2, 3 * N + 5))  # the top insulator hangs on the ground
    assert t.bodies[-1] == (0, 1)  # the massless point is a leaf
    assert t.father == tuple(range(-1, N + 1))
    assert t.joints[-1] == (0, 1)
    assert t.cut == ()
    # the same mechanism with coordinates sorted by kind
    order = np.concatenate([[0, 1], *(np.arange(2 + c, len(M), 3) for c in range(3))])
    t = found(M[np.ix_(order, order)], G[:, order])
    assert {tuple(sorted(order[list(body)])) for body in t.bodies} == set(found(M, G).bodies)
    # a star of such bodies: the hub may not swallow the others
    arms = 30
    M, G = np.eye(3 * (arms + 1)), np.zeros((2 * arms, 3 * (arms + 1)))
    for k in range(arms):
        for q in range(2):
            for body in (0, k + 1):
                G[2 * k + q, 3 * body + q] = G[2 * k + q, 3 * body + 2] = 1
    t = found(M, G)
    assert sorted(t.bodies) == [tuple(range(3 * k, 3 * k + 3)) for k in range(arms + 1)]
    assert t.largest == 5


def test_joint_coordinates_belong_to_the_outer_body():
    fathers = [-1, 0, 1, 1, 0]
    t = found(*joint_coordinates(np.random.default_rng(1), fathers, 3, 1))
    assert all(len(body) == 4 for body in t.bodies)
    assert t.joint_coordinates == (1,) * 5
    assert edges(t, 4) == set(enumerate(fathers))
    assert t.cut == ()


def test_loops_are_cut_where_fewest_constraints_are_lost():
    rng = np.random.default_rng(2)
    M, G = with_loops(rng, *tree(rng, [-1, 0, 1, 2, 3]), [(0, 4)])
    t = found(M, G)
    assert t.cut == (10,)
    # a chain hung at both ends: the second connection with the ground is cut
    M, G = tree(rng, [-1, 0, 1, 2])
    ends = np.zeros((2, 12))
    ends[:, 9:] = rng.normal(size=(2, 3))
    assert found(M, np.vstack([G, ends])).cut == (8, 9)
    # a constraint between three bodies is cut too
    gear = np.zeros((1, 12))
    gear[0, [2, 5, 11]] = 1, 1, -1
    assert found(M, np.vstack([G, gear])).cut == (8,)


@pytest.mark.parametrize("loops", [1, 3, 8])
def test_many_loops(loops):
    rng = np.random.default_rng(loops)
    n = 40
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, n, size=(loops, 2)) if a != b]
    M, G = with_loops(rng, *tree(rng, random_fathers(rng, n)), pairs)
    f, g = rng.normal(size=len(M)), rng.normal(size=len(G))
    for U in (None, G + 0.1 * rng.normal(size=G.shape) * (G != 0)):
        w, lam, condition = direct(M, G, f, g, U)
        mine = solve_saddle(da.Recursive(), M, G, f, g, U)
        assert np.abs(mine[0] - w).max() < 1e-14 * condition * np.abs(w).max()
        assert np.abs(mine[1] - lam).max() < 1e-14 * condition * np.abs(lam).max()


def test_a_tree_that_cannot_be_eliminated_is_left_to_sparse():
    """A joint that restrains its father only, for a while, or nearly so: regular, but not for the recursion."""
    rng = np.random.default_rng(6)
    M, G = np.kron(np.eye(2), np.eye(3) + 0.1), np.zeros((3, 6))
    G[0, :3], G[1, 3:], G[1, :3], G[2, :3] = [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]
    entries = np.nonzero(M), np.nonzero(G)
    memory = saddle.fresh_saddle(da.Recursive().build(SaddlePattern(6, 3, *entries)))
    for coefficient, rescued in ((1.0, 0), (0.0, 1), (1e-9, 1), (0.5, 0)):
        G[1, 5] = coefficient
        memory.M[:], memory.G[:] = M[entries[0]], G[entries[1]]
        assert saddle.factor(memory) == 0
        assert memory.rescued == rescued
        b = rng.normal(size=9)
        w, lam, _ = direct(M, G, b[:6], b[6:])
        np.testing.assert_allclose(saddle.solve(memory, b), np.concatenate([w, lam]), rtol=1e-12, atol=1e-12)


def test_masses_that_vanish_for_a_while():
    """A pattern with mass, values without: the definite way is left, and the answer is right."""
    rng = np.random.default_rng(9)
    M, G = tree(rng, [-1, 0, 1, 0], 3, 3)
    pattern = SaddlePattern(len(M), len(G), np.nonzero(M), np.nonzero(G))
    memory = da.Recursive().build(pattern)
    for factor in (1.0, 0.0, 2.0):
        values = M.copy()
        values[3:6, 3:6] *= factor
        memory.M[:], memory.G[:] = values[np.nonzero(M)], G[np.nonzero(G)]
        assert saddle.factor(memory) == 0
        b = rng.normal(size=pattern.n)
        w, lam, _ = direct(values, G, b[: len(M)], b[len(M) :])
        np.testing.assert_allclose(saddle.solve(memory, b), np.concatenate([w, lam]), rtol=1e-9, atol=1e-11)


def test_insulator_chain_of_the_paper():
    """Sizes of table 5.4, and a long chain against SciPy."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import splu

    for N, n, nonzeros in ((16, 89, 327), (32, 169, 631), (64, 329, 1239)):
        M, G = insulator_chain(N, np.linspace(0.2, 0.3, N + 2))
        assert len(M) + len(G) == n
        assert np.count_nonzero(M) + 2 * np.count_nonzero(G) == nonzeros
    M, G = insulator_chain(300, 0.3 * np.sin(np.arange(302)))
    f, g = np.zeros(len(M)), np.zeros(len(G))
    f[:2] = 1000.0, -230000.0
    A = sp.bmat([[sp.csc_matrix(M), G.T], [G, None]], format="csc")
    x = splu(A).solve(np.concatenate([f, g]))
    for solver in (da.Recursive(), da.Sparse(), da.Auto()):
        mine = np.concatenate(solve_saddle(solver, sp.csc_matrix(M), sp.csc_matrix(G), f, g))
        assert np.abs(mine - x).max() < 1e-10 * np.abs(x).max()
        backward = np.abs(A @ mine - np.concatenate([f, g])) / (abs(A) @ np.abs(mine) + 1e-300)
        assert backward.max() < 1e-12


def test_very_different_masses_keep_their_accuracy():
    rng = np.random.default_rng(12)
    for ratio in (1e4, 1e8, 1e12):
        M, G = tree(rng, [-1, 0, 1, 2, 1])
        M[9:12, 9:12] *= ratio
        f, g = rng.normal(size=15), rng.normal(size=10)
        w, lam = solve_saddle(da.Recursive(), M, G, f, g)
        A = np.block([[M, G.T], [G, np.zeros((10, 10))]])
        x = np.concatenate([w, lam])
        rest = np.abs(A @ x - np.concatenate([f, g]))
        assert np.max(rest / (np.abs(A) @ np.abs(x))) < 1e-11
