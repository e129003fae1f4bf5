"""Start values of random DAEs of index 2 and 3: perturbed points come back, fixed values stay, units do not matter."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da

SEEDS = st.integers(0, 2**32 - 1)


class Random:
    """x' = f(x, z), 0 = g(x) of index 2, or p' = v, v' = f(p, v) + B z, 0 = g(p) of index 3, all functions quadratic.

    `exact` is a consistent point. With units, unknown j is `units[j]` times that without, and equation i is multiplied
    by `factors[i]`. Residuals of all levels come from an independent differentiation along the flow.
    """

    def __init__(self, seed, index, units=None, factors=None):
        rng = np.random.default_rng(seed)
        self.index, self.n, self.m = index, int(rng.integers(3, 6)), int(rng.integers(1, 3))
        n, m = self.n, self.m
        states = n if index == 2 else 2 * n
        self.size = states + m
        self.units = np.ones(self.size) if units is None else units(self.size)
        self.factors = np.ones(self.size) if factors is None else factors(self.size)
        self.A, self.Q = rng.standard_normal((n, states)), 0.3 * rng.standard_normal((n, states, states))
        self.B = rng.standard_normal((n, m))
        self.C, self.D = rng.standard_normal((m, n)), 0.3 * rng.standard_normal((m, n, n))
        position = rng.standard_normal(n)
        self.level = self.C @ position + np.einsum("kij,i,j", self.D, position, position)
        G = self.C + np.einsum("kij,i->kj", self.D, position) + np.einsum("kij,j->ki", self.D, position)
        self.regular = np.linalg.cond(G @ self.B) < 30
        state = position
        if index == 3:
            v = rng.standard_normal(n)
            state = np.concatenate([position, v - np.linalg.pinv(G) @ (G @ v)])
        x = np.concatenate([state, np.zeros(m)])
        levels, by_x, x_sym = self.levels()
        numbers = ca.Function("levels", [x_sym], [levels, by_x])
        residual, J = (np.array(part) for part in numbers(x))
        x[states:] -= np.linalg.solve(J[-m:, states:], residual[-m:, 0])
        self.exact, self.differential = x * self.units, states
        self._numbers = numbers
        self.names = [f"q{i}" for i in range(self.size)]

    def right(self, x):
        """The right-hand side and the constraint, for arrays of anything."""
        n, m = self.n, self.m
        states = x[: self.size - m]
        z = x[self.size - m :]
        accelerations = [
            sum(self.A[k, i] * states[i] for i in range(len(states)))
            + sum(self.Q[k, i, j] * states[i] * states[j] for i in range(len(states)) for j in range(len(states)))
            + sum(self.B[k, i] * z[i] for i in range(m))
            for k in range(n)
        ]
        g = [
            sum(self.C[k, i] * x[i] for i in range(n))
            + sum(self.D[k, i, j] * x[i] * x[j] for i in range(n) for j in range(n))
            - self.level[k]
            for k in range(m)
        ]
        return (accelerations if self.index == 2 else [*(x[n + i] for i in range(n)), *accelerations]), g

    def levels(self):
        """Constraints of all levels one below the other, their derivatives, and the symbol x."""
        x = ca.SX.sym("x", self.size)
        rates, g = self.right([x[i] for i in range(self.size)])
        levels = [ca.vertcat(*g)]
        for _ in range(self.index - 1):
            levels.append(ca.jtimes(levels[-1], x[: len(rates)], ca.vertcat(*rates)))
        rows = ca.vertcat(*levels)
        return rows, ca.jacobian(rows, x), x

    def model(self):
        def rhs(s):
            x = [s.x[i] / self.units[i] for i in range(self.size)]
            rates, g = self.right(x)
            return [row * factor for row, factor in zip([*rates, *g], self.factors, strict=True)]

        states = self.differential
        leading = np.zeros((self.size, self.size))
        leading[np.arange(states), np.arange(states)] = self.factors[:states] / self.units[:states]
        return da.QuasiLinearDAE(x=self.names, leading=leading, rhs=rhs)

    def check(self, x):
        """All levels hold up to rounding of their terms."""
        x = x / self.units
        residual, J = (np.array(part) for part in self._numbers(x))
        size = np.abs(J) @ np.abs(x) + 1e3 * np.abs(J).max(axis=1) * np.finfo(float).eps
        assert (np.abs(residual[:, 0]) <= 300 * np.finfo(float).eps * (1 + size)).all()

    def freedom(self):
        """Unknowns that determine all others near the exact point."""
        x = self.exact / self.units
        J = np.array(self._numbers(x)[1])[:, : self.differential]
        J = J[: -self.m]  # the last level gives z
        from scipy.linalg import qr

        null = np.linalg.svd(J)[2][len(J) :]
        _, R, order = qr(null, pivoting=True)
        return np.sort(order[: len(null)]), np.abs(np.diag(R)).min()


def powers_of_ten(seed):
    return lambda n: 10.0 ** np.random.default_rng(seed).integers(-5, 6, n)


@pytest.mark.filterwarnings("ignore::dalembert.InitialValuesCorrected")
@settings(derandomize=True, max_examples=30, deadline=None)
@given(seed=SEEDS, index=st.sampled_from([2, 3]), size=st.sampled_from([0.0, 1e-12, 1e-6, 1e-3]))
def test_perturbed_points_come_back(seed, index, size):
    dae = Random(seed, index)
    if not dae.regular:
        return
    rng = np.random.default_rng(seed)
    given = dae.exact + size * rng.standard_normal(dae.size) * (np.arange(dae.size) < dae.differential)
    given[dae.differential :] = 0.0
    found = da.consistent_initial_values(dae.model(), x0=given)
    dae.check(found.x)
    states = slice(dae.differential)
    assert np.abs(found.x - given)[states].max() <= 100 * size + 1e-13
    rates, _ = dae.right(found.x)
    np.testing.assert_allclose(found.x_dot[states], np.array(rates, float), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::dalembert.InitialValuesCorrected")
@settings(derandomize=True, max_examples=30, deadline=None)
@given(seed=SEEDS, index=st.sampled_from([2, 3]))
def test_fixed_values_determine_the_others(seed, index):
    """As many as there are degrees of freedom: the exact point is found, and they stay bit for bit."""
    dae = Random(seed, index)
    chosen, quality = dae.freedom()
    if not dae.regular or quality < 0.2:
        return
    rng, fixed = np.random.default_rng(seed), [dae.names[i] for i in chosen]
    given = dae.exact + 1e-4 * rng.standard_normal(dae.size)
    given[chosen] = dae.exact[chosen]
    model = dae.model()
    assert model.structure.degrees_of_freedom == len(chosen)
    found = da.consistent_initial_values(model, x0=given, fixed=fixed)
    dae.check(found.x)
    assert found.x[chosen].tolist() == given[chosen].tolist()
    np.testing.assert_allclose(found.x[: dae.differential], dae.exact[: dae.differential], atol=1e-10)
    # the same by conditions, without other start values than guesses
    values = dae.exact[chosen]
    again = da.consistent_initial_values(
        model, x0=given + 1e-5, initial_conditions=lambda s: [s.x[i] - v for i, v in zip(chosen, values, strict=True)]
    )
    np.testing.assert_allclose(again.x, found.x, rtol=1e-9, atol=1e-9)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(seed=SEEDS, index=st.sampled_from([2, 3]))
def test_contradictory_values_are_named(seed, index):
    dae = Random(seed, index)
    if not dae.regular:
        return
    given = dae.exact.copy()
    given[0] += 0.01
    with pytest.raises(da.InconsistentInitialValues) as caught:
        da.consistent_initial_values(dae.model(), x0=given, fixed=dae.names[: dae.differential])
    text = str(caught.value)
    assert "equation " in text
    assert "'q" in text
    assert "fixed=" in text


@pytest.mark.filterwarnings("ignore::dalembert.InitialValuesCorrected")
@settings(derandomize=True, max_examples=30, deadline=None)
@given(seed=SEEDS, index=st.sampled_from([2, 3]))
def test_units_do_not_matter(seed, index):
    """Neither those of unknowns nor those of equations, over ten orders of magnitude."""
    plain, dae = Random(seed, index), Random(seed, index, powers_of_ten(seed), powers_of_ten(seed + 1))
    chosen, quality = plain.freedom()
    if not plain.regular or quality < 0.2:
        return
    given = plain.exact + 1e-4 * np.random.default_rng(seed).standard_normal(plain.size)
    given[chosen] = plain.exact[chosen]
    fixed = [plain.names[i] for i in chosen]
    found = da.consistent_initial_values(dae.model(), x0=given * dae.units, fixed=fixed)
    dae.check(found.x)
    there = da.consistent_initial_values(plain.model(), x0=given, fixed=fixed)
    np.testing.assert_allclose(found.x / dae.units, there.x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.x_dot / dae.units, there.x_dot, rtol=1e-7, atol=1e-7)


@settings(derandomize=True, max_examples=20, deadline=None)
@given(seed=SEEDS, index=st.sampled_from([2, 3]), data=st.data())
def test_missing_values_are_found_or_missed(seed, index, data):
    """What is left out is found if the rest determines it, and named if not."""
    dae = Random(seed, index)
    chosen, quality = dae.freedom()
    if not dae.regular or quality < 0.2:
        return
    model = dae.model()
    given = {dae.names[i]: dae.exact[i] for i in chosen}
    left_out = data.draw(st.sampled_from(sorted(given)))
    near = {dae.names[i]: dae.exact[i] for i in range(dae.differential)}
    found = da.consistent_initial_values(model, x0=near)
    np.testing.assert_allclose(found.x, dae.exact, rtol=1e-9, atol=1e-9)
    del given[left_out]
    with pytest.raises(da.InconsistentInitialValues) as caught:
        da.consistent_initial_values(model, x0=given)
    assert "nothing determines" in str(caught.value) or "equation" in str(caught.value)


@pytest.mark.filterwarnings("ignore::dalembert.InitialValuesCorrected")
def test_large_systems():
    """Two hundred pendulums in a row with springs between them: matrices are sparse, answers the same as of a few."""

    def chain(n):
        def rhs(s):
            x, y, vx, vy, lam = (s.x[k * n : (k + 1) * n] for k in range(5))
            pull = np.concatenate([x[1:] - x[:-1], [0 * x[0]]])
            force = pull - np.concatenate([[0 * x[0]], pull[:-1]])
            return np.concatenate([vx, vy, force - lam * x, -lam * y - 9.81, x**2 + y**2 - 1])

        names = [f"{kind}{i}" for kind in ("x", "y", "vx", "vy", "lam") for i in range(n)]
        return da.QuasiLinearDAE(x=names, leading=[1.0] * (4 * n) + [0.0] * n, rhs=rhs)

    def check(found, n):
        x, y, vx, vy, _ = found.x.reshape(5, n)
        np.testing.assert_allclose(x**2 + y**2, 1, atol=1e-14)
        np.testing.assert_allclose(x * vx + y * vy, 0, atol=1e-14)

    n, rng = 200, np.random.default_rng(5)
    angle, speed = rng.uniform(0, 2 * np.pi, (2, n))
    exact = np.concatenate([np.cos(angle), np.sin(angle), -speed * np.sin(angle), speed * np.cos(angle), np.zeros(n)])
    given = exact + 1e-4 * rng.standard_normal(5 * n) * (np.arange(5 * n) < 4 * n)
    model = chain(n)
    found = da.consistent_initial_values(model, x0=given)
    check(found, n)
    assert np.abs(found.x - given)[: 4 * n].max() < 2e-3
    few = chain(5)  # the first of them, dense: positions and velocities know nothing of the springs
    there = da.consistent_initial_values(few, x0=given.reshape(5, n)[:, :5].ravel())
    np.testing.assert_allclose(found.x.reshape(5, n)[:4, :5].ravel(), there.x[:20], atol=1e-13)

    given[:n] = exact[:n]
    names = [f"x{i}" for i in range(n)]
    fixed = da.consistent_initial_values(model, x0=given, fixed=names)
    check(fixed, n)
    assert fixed.x[:n].tolist() == given[:n].tolist()
    conditions = da.consistent_initial_values(model, x0=given, initial_conditions=lambda s: s.x[:n] - np.cos(angle))
    check(conditions, n)
    np.testing.assert_allclose(conditions.x[:n], np.cos(angle), atol=1e-14)

    some = dict(zip(model.names("x"), found.x, strict=True))
    incomplete = {name: value for name, value in some.items() if not name.startswith(("vy", "lam"))}
    np.testing.assert_allclose(da.consistent_initial_values(model, x0=incomplete).x, found.x, rtol=1e-9, atol=1e-9)
    del incomplete["vx7"]
    with pytest.raises(da.InconsistentInitialValues, match="'vx7' and 'vy7'"):
        da.consistent_initial_values(model, x0=incomplete)
    with pytest.raises(da.InconsistentInitialValues, match="equation 988 does not hold while 'x187' and 'y187' stay"):
        da.consistent_initial_values(model, x0=some | {"y187": 3.0}, fixed=["x187", "y187", "x3"])
