"""Saddle-point systems eliminated on the graph, for patterns that nobody has chosen: solutions are those of LAPACK."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compile.generated.graph import Binding, Graph
from dalembert.linalg.saddle.compiled import Elimination
from dalembert.linalg.saddle.solver import SaddlePattern
from dalembert.solvers.half.generated.elimination import LONGEST, eliminated


class System:
    """M, G and U with their patterns; entries that are NaN in `constant` may change, others do not."""

    def __init__(self, M, G, constant, U=None):
        self.M, self.G, self.U = M, G, U
        (n_m, n_v), fixed = G.shape, ~np.isnan(constant)
        of_M, of_G = np.nonzero(M), np.nonzero(G)
        self.pattern = SaddlePattern(
            n_v, n_m, of_M, of_G, None if U is None else of_G, constraint_values=np.where(fixed, G, np.nan)[of_G]
        )
        self.graph, self.leaves = Graph(), {}
        masses = self._nodes(M[of_M], np.full(len(of_M[0]), np.nan))
        constraints = self._nodes(G[of_G], self.pattern.constraint_values)
        forces = None if U is None else self._nodes(U[of_G], np.full(len(of_G[0]), np.nan))
        self.found = eliminated(self.graph, self.pattern, masses, forces, constraints)

    def _nodes(self, values, fixed):
        nodes = []
        for value, known in zip(values.tolist(), fixed.tolist(), strict=True):
            if not np.isnan(known):
                nodes.append(self.graph.constant(known))
                continue
            key = ("number", len(self.leaves))
            self.leaves[key] = value
            nodes.append(self.graph.leaf(*key, Binding.POSITION))
        return nodes

    @property
    def pairs(self) -> int:
        """Pivots beside the diagonal."""
        return sum(at != pivot for at, pivot in Elimination(self.pattern, LONGEST).order)

    def check(self, rng):
        U = self.G if self.U is None else self.U
        n_m = len(self.G)
        A = np.block([[self.M, U.T], [self.G, np.zeros((n_m, n_m))]])
        b = rng.normal(size=len(A))
        exact = np.linalg.solve(A, b)
        leaves = self.leaves | {("b", k): value for k, value in enumerate(b)}
        factors = self.graph.evaluate(self.found.kept, leaves)
        leaves |= {("factor", k): value for k, value in enumerate(factors)}
        margins = self.graph.evaluate(self.found.margins, leaves)
        assert (margins > 0).all()
        far = 1e-12 * np.linalg.cond(A) * np.abs(exact).max()
        right = [self.graph.leaf("b", k, Binding.POSITION) for k in range(len(b))]
        for nodes in (self.found.solved(right), self.found.solved_at_once(right)[0]):
            np.testing.assert_allclose(self.graph.evaluate(nodes, leaves), exact, rtol=0, atol=far)


def tree(rng) -> System:
    """Planar bodies on pin joints: two constraints each, in which two velocities of each body have constant factors."""
    n = int(rng.integers(2, 8))
    order = rng.permutation(n)  # fathers may come behind their children
    M = np.diag(rng.uniform(0.5, 2.0, 3 * n))
    G, constant = np.zeros((2 * n, 3 * n)), np.full((2 * n, 3 * n), np.nan)
    for k, body in enumerate(order.tolist()):
        own = 3 * body
        for row in range(2):
            G[2 * body + row, own + row] = constant[2 * body + row, own + row] = 1.0
            G[2 * body + row, own + 2] = rng.normal()
            if k:
                father = 3 * int(order[rng.integers(k)])
                G[2 * body + row, father + row] = constant[2 * body + row, father + row] = -1.0
                G[2 * body + row, father + 2] = rng.normal()
    return System(M, G, constant)


def anything(rng, *, symmetric: bool) -> System:
    """Any positive M, and a sparse G of which some entries are constant."""
    n = int(rng.integers(2, 10))
    m = int(rng.integers(1, n + 1))
    coupled = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.15)
    M = coupled @ coupled.T + np.diag(rng.uniform(0.5, 2.0, n))
    G = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.4)
    G[np.arange(m), rng.permutation(n)[:m]] = rng.choice([-1.0, 1.0], m)
    constant = np.where((np.round(G) == G) | (rng.random((m, n)) < 0.3), G, np.nan)
    U = None if symmetric else G + 0.01 * rng.normal(size=(m, n)) * (G != 0)
    return System(M, G, constant, U)


@pytest.mark.parametrize("seed", range(40))
def test_trees_of_bodies(seed):
    rng = np.random.default_rng(seed)
    tree(rng).check(rng)


def test_trees_are_reduced_to_their_joints():
    """Otherwise these tests would not see what they are for."""
    assert sum(tree(np.random.default_rng(seed)).pairs > 0 for seed in range(40)) > 20


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_any_systems(seed, symmetric):
    rng = np.random.default_rng(seed)
    system = anything(rng, symmetric=symmetric)
    U = system.G if system.U is None else system.U
    n_m = len(system.G)
    A = np.block([[system.M, U.T], [system.G, np.zeros((n_m, n_m))]])
    if np.linalg.cond(A) < 1e5:
        system.check(rng)
