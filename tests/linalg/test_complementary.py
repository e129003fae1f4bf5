"""Saddle-point systems with unilateral constraints, against Lemke's algorithm on matrices made with NumPy."""

import ctypes

import numpy as np
import pytest

from dalembert.linalg.complementarity import lemke
from dalembert.linalg.saddle.complementary import ComplementarityPattern, Complementary
from dalembert.linalg.saddle.complementary_kernels import CANDIDATE, OPEN
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.saddle import factor, solve


def full(rows, columns):
    return tuple(x.ravel() for x in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))


class System:
    """A record, and the same system as matrices."""

    def __init__(self, rng, n_v, n_lam, unilateral):
        B = rng.normal(size=(n_v, n_v))
        self.M = B @ B.T + np.eye(n_v)
        self.G = rng.normal(size=(n_lam, n_v))
        self.U = self.G + 0.05 * rng.normal(size=(n_lam, n_v))
        self.n_v, self.n_lam, self.unilateral = n_v, n_lam, list(unilateral)
        pattern = ComplementarityPattern(
            n_v, n_lam, full(n_v, n_v), full(n_lam, n_v), full(n_lam, n_v), unilateral=tuple(unilateral)
        )
        self.memory = Complementary().build(pattern)

    def at_two_points(self, b):
        """The solution for U at one point and G at another."""
        here = np.concatenate([self.M.ravel(), self.U.ravel()])
        there = np.concatenate([self.M.ravel(), self.G.ravel()])
        call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)
        assert call(int(self.memory.factor_at))(int(self.memory.own), here.ctypes.data, there.ctypes.data) == 0
        return solve(self.memory, b)

    def expected(self, b, candidates):
        n, others = self.n_v, [i for i in range(self.n_lam) if i not in self.unilateral]
        K = np.zeros((n + len(others),) * 2)
        K[:n, :n], K[:n, n:], K[n:, :n] = self.M, self.U[others].T, self.G[others]
        free = np.linalg.solve(K, np.concatenate([b[:n], b[n:][others]]))
        right = np.vstack([-self.U[candidates].T, np.zeros((len(others), len(candidates)))])
        answers = np.linalg.solve(K, right)
        lam = lemke(-self.G[candidates] @ answers[:n], b[n:][candidates] - self.G[candidates] @ free[:n])
        found = free + answers @ lam
        x = np.zeros(n + self.n_lam)
        x[:n], x[n + np.array(others, int)], x[n + np.array(candidates, int)] = found[:n], found[n:], lam
        return x


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    n_v, n_lam = int(rng.integers(4, 9)), int(rng.integers(2, 5))
    unilateral = sorted(rng.choice(n_lam, int(rng.integers(1, n_lam + 1)), replace=False).tolist())
    system = System(rng, n_v, n_lam, unilateral)
    b = rng.normal(size=n_v + n_lam)
    x = system.at_two_points(b)
    assert x == pytest.approx(system.expected(b, unilateral), abs=1e-10)
    w, lam = x[:n_v], x[n_v:]
    y = (b[n_v:] - system.G @ w)[unilateral]
    assert (lam[unilateral] >= 0).all()
    assert (y >= -1e-10).all()
    assert np.abs(y * lam[unilateral]).max() < 1e-10
    assert system.M @ w + system.U.T @ lam == pytest.approx(b[:n_v], abs=1e-10)


def test_contacts_that_are_open_do_not_act():
    system = System(np.random.default_rng(0), 5, 3, [0, 1, 2])
    system.memory.role[:] = [OPEN, CANDIDATE, OPEN]
    b = -np.ones(8)
    assert system.at_two_points(b) == pytest.approx(system.expected(b, [1]), abs=1e-12)


def test_constraints_that_contradict_each_other_as_equations():
    """The example of the edge: z ≥ 0 and z ≥ x² at x = 3.3e-5. The second one carries all."""
    system = System(np.random.default_rng(0), 2, 2, [0, 1])
    x, v, h = 3.3e-5, 1.0, 1e-2
    system.M = np.eye(2)
    system.G = system.U = np.array([[0, -1], [2 * x, -1]])  # rows are those of −gap
    rates = system.G @ [v, 0]
    w_x, w_z, flat, curve = system.at_two_points(np.array([0, -9.81, *(-rates / h)]))
    assert flat == 0
    assert curve == pytest.approx(9.81 + 2 * x * v / h, rel=1e-6)
    assert v + h * w_x == pytest.approx(v, rel=1e-4)
    assert h * w_z == pytest.approx(2 * x * v, rel=1e-4)


def test_at_one_point_those_that_act_are_equations():
    rng = np.random.default_rng(3)
    system = System(rng, 4, 3, [1, 2])
    lam = system.at_two_points(np.array([0, 0, 0, 0, 0.1, -5.0, 50.0]))[4:]
    assert lam[1] > 0
    assert lam[2] == 0
    memory = system.memory
    memory.M[:], memory.G[:], memory.U[:] = system.M.ravel(), system.G.ravel(), system.G.ravel()
    assert factor(memory) == 0
    b = rng.normal(size=7)
    x = solve(memory, b)
    K = np.block([[system.M, system.G[:2].T], [system.G[:2], np.zeros((2, 2))]])
    assert x[:6] == pytest.approx(np.linalg.solve(K, b[:6]), abs=1e-12)
    assert x[6] == 0


def test_other_solvers_refuse_redundant_constraints_and_this_one_ordinary_patterns():
    from dalembert.errors import ModelError, OptionError
    from dalembert.linalg.saddle.solver import SaddlePattern

    with pytest.raises(ModelError, match="cannot be independent"):
        SaddlePattern(1, 2, full(1, 1), full(2, 1))
    with pytest.raises(OptionError, match="unilateral"):
        Complementary().build(SaddlePattern(2, 1, full(2, 2), full(1, 2)))
    assert Dense().obstacle(SaddlePattern(2, 1, full(2, 2), full(1, 2))) == ""
