"""The index of DAEs, and what becomes of those that have a high one."""

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.index import index_at
from dalembert.regularize.pencil import pencil_index


def regular_matrix(rng, n):
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    return U * np.exp(rng.uniform(-2, 2, n)) @ V


class Linear:
    """E x' = A x + f(t) in Weierstraß's form, nilpotent blocks of given sizes, seen in other coordinates."""

    def __init__(self, rng, n_d, blocks, mixed=True):
        n = n_d + sum(blocks)
        E, A = np.zeros((n, n)), np.eye(n)
        E[:n_d, :n_d], A[:n_d, :n_d] = np.eye(n_d), -np.eye(n_d) + 0.5 * rng.normal(size=(n_d, n_d))
        at = n_d
        for size in blocks:
            E[at : at + size, at : at + size] = np.eye(size, k=1)
            at += size
        P, self.Q = (regular_matrix(rng, n), regular_matrix(rng, n)) if mixed else (np.eye(n), np.eye(n))
        self.E, self.A, self.n, self.n_d, self.blocks = P @ E @ self.Q, P @ A @ self.Q, n, n_d, blocks
        self.b, self.omega, self.P = rng.normal(size=n), rng.uniform(0.5, 2, n), P
        self.b[:n_d] = 0

    def model(self, kind=da.QuasiLinearDAE, **more):
        def rhs(s):
            return self.A @ s.x + self.P @ (self.b * np.sin(self.omega * s.t))

        names = [f"x{i}" for i in range(self.n)]
        if kind is da.ImplicitDAE:
            return da.ImplicitDAE(x=names, residual=lambda s: self.E @ s.dx - rhs(s), **more)
        return da.QuasiLinearDAE(x=names, leading=self.E, rhs=rhs, **more)

    def nilpotent(self, t):
        """Their exact solution y = −Σ Nᵏ g⁽ᵏ⁾."""
        y, at = [], self.n_d
        for size in self.blocks:
            for i in range(size):
                j = np.arange(at + i, at + size)
                k = j - at - i
                y.append(-(self.b[j] * self.omega[j] ** k * np.sin(self.omega[j] * t + k * np.pi / 2)).sum())
            at += size
        return np.array(y)


@pytest.mark.parametrize("seed", range(40))
def test_index_of_random_pencils(seed):
    """Known from Weierstraß's form, seen through regular matrices and other units."""
    rng = np.random.default_rng(seed)
    blocks, n_d = rng.integers(1, 5, rng.integers(0, 4)).tolist(), int(rng.integers(1, 6))
    dae = Linear(rng, n_d, blocks)
    units = np.exp(rng.uniform(-6, 6, (2, dae.n)))
    for r, c in ((np.ones(dae.n), np.ones(dae.n)), units):
        found = pencil_index(dae.E * r[:, None] * c, dae.A * r[:, None] * c)
        assert found.value == max(blocks, default=0)


def test_singular_pencils_have_no_index():
    assert pencil_index(np.diag([1.0, 0.0]), np.array([[1.0, 0.0], [1.0, 0.0]])) is None
    assert pencil_index(np.zeros((2, 3)), np.zeros((2, 3))) is None
    assert pencil_index(np.full((1, 1), np.nan), np.eye(1)) is None


@pytest.mark.parametrize("mixed", [False, True], ids=["plain", "mixed"])
@pytest.mark.parametrize("seed", range(3))
def test_index_2_starts_consistently_and_runs(seed, mixed):
    """Derivatives of the algebraic equations determine a part of x: any guess of it leads to the right motion."""
    rng = np.random.default_rng(seed)
    dae = Linear(rng, 2, [2, 1][: 1 + seed % 2], mixed)
    x0 = np.linalg.solve(dae.Q, np.concatenate([rng.normal(size=2), np.zeros(dae.n - 2)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.InitialValuesCorrected)
        sol = da.simulate(dae.model(), (0, 2), x0=x0, rtol=1e-8, atol=1e-8)
    for t, x in ((0, sol.x[0]), (2, sol.x[-1])):
        np.testing.assert_allclose((dae.Q @ x)[2:], dae.nilpotent(t), atol=1e-5)
    assert sol.stats.accepted < 500


@pytest.mark.parametrize("kind", [da.QuasiLinearDAE, da.ImplicitDAE])
@pytest.mark.parametrize("blocks", [[3], [1, 3], [4]])
def test_index_3_and_above_as_it_stands_is_refused(kind, blocks):
    """Unless derivatives of the equations may be added, which gives the exact solution."""
    dae = Linear(np.random.default_rng(1), 2, blocks, mixed=False)
    with pytest.raises(
        da.IndexTooHigh, match=rf"index {max(blocks)} at t = 0: 'x\d' is determined only by derivatives"
    ):
        da.simulate(dae.model(kind, hidden="given"), (0, 1), x0=np.zeros(dae.n), method=da.Dassl())
    for method in (da.Qualidaes(), da.Radau5(), da.Dassl(), da.Odassl()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", da.InitialValuesCorrected)
            sol = da.simulate(dae.model(kind), (0, 1), x0=np.zeros(dae.n), method=method, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(sol.x[-1][2:], dae.nilpotent(1.0), atol=1e-9)


LEVELS = {
    3: lambda s: s.x**2 + s.y**2 - 1,
    2: lambda s: s.x * s.vx + s.y * s.vy,
    1: lambda s: s.vx**2 + s.vy**2 - 9.81 * s.y - 2 * s.L,
}


def pendulum(index, traced=True, hidden="given"):
    def rhs(s):
        if not traced:
            float(s.x)
        return [s.vx, s.vy, -2 * s.x * s.L, -9.81 - 2 * s.y * s.L, LEVELS[index](s)]

    return da.QuasiLinearDAE(x=["x", "y", "vx", "vy", "L"], leading=[1, 1, 1, 1, 0], rhs=rhs, hidden=hidden)


@pytest.mark.parametrize("traced", [True, False], ids=["traced", "python"])
@pytest.mark.parametrize("method", [da.Radau5(), da.Dassl()], ids=str)
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_pendulum_of_index_3(method, traced):
    with pytest.raises(da.IndexTooHigh, match="index 3 at t = 0: 'L' is determined only by derivatives of equation 5"):
        da.simulate(pendulum(3, traced), (0, 1), x0=[1, 0, 0, 0, 0], method=method)


def test_pendulum_of_index_2_and_1():
    """Radau5 takes index 2; Dassl warns, and when it fails the message names the index."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for index in (1, 2):
            assert da.simulate(pendulum(index), (0, 1), x0=[1, 0, 0, 0, 0], rtol=1e-6, atol=1e-6).success
        da.simulate(pendulum(1), (0, 1), x0=[1, 0, 0, 0, 0], method=da.Dassl())
    with (
        pytest.warns(da.HighIndex, match="Dassl is made for index 1"),
        pytest.raises(da.SimulationError, match=r"have index 2 at t = 0: 'L'.*take Radau5"),
    ):
        da.simulate(pendulum(2), (0, 2), x0=[1, 0, 0, 0, 0], method=da.Dassl(), max_steps=3000)


@pytest.mark.parametrize("method", ["auto", "qualidaes", "radau5", "dassl", "odassl"])
def test_pendulum_of_index_3_with_its_hidden_constraints(method):
    reference = da.problems.pendulum(g=9.81, start=np.pi / 2, t_end=2.0).reference
    options = dict(x0=[1, 0, 0, 0, 0], method=method, rtol=1e-8, atol=1e-8)
    sol = da.simulate(pendulum(3, hidden="auto"), (0, 2), **options)
    np.testing.assert_allclose(sol.x[-1][:2], reference.p, atol=1e-5)


def test_a_singular_point_is_no_high_index():
    """0 = z² − q loses its derivative at z = 0 only: that is not for the index to say."""
    model = da.QuasiLinearDAE(x=["q", "z"], leading=[1, 0], rhs=lambda s: [s.z, s.z**2 - s.q])
    assert pencil_index(np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [-1.0, 0.0]])).value == 2  # the linearization there
    assert index_at(model, 0.0, np.zeros(2), np.zeros(2)).value == 1


def test_state_dependent_leading_matrix():
    """Which combination of equations is algebraic depends on x: E x' has derivatives by x, too."""
    model = da.QuasiLinearDAE(
        x=["a", "b"], leading=lambda s: [[1, 0], [s.b, 0]], rhs=lambda s: [-s.a, 0 * s.a - s.a]
    )  # row 2 − b row 1: 0 = −a + a b, so b = 1
    sol = da.simulate(model, (0, 1), x0=[1.0, 0.5], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sol.x[-1], [np.exp(-1), 1.0], atol=1e-6)
