"""Jacobians by differences of residuals that are not linear in x', and next to jumps: wrong matrices, right answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from fuzz.others import root

STRATEGIES = (
    da.Exact(partitioned=True), da.Differences(), da.Differences(partitioned=True),
    da.GroupedDifferences(partitioned=True), da.GroupedDifferences(pattern="estimated", partitioned=True),
)  # fmt: skip


class Random:
    """x' + a φ(x') = f(x, y), z' (1 + …) = g(x, x', z), and an equation for y."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.a, self.b, self.c, self.d = (
            rng.uniform(0.05, 0.5),
            rng.uniform(-0.5, 0.5),
            rng.uniform(-2, 2, 5),
            rng.random(),
        )
        self.kind, self.start = rng.integers(4), rng.uniform(-1, 1, 2)

    def first(self, x, y, x_dot):
        extra = (x_dot**3, np.sin(x_dot), np.tanh(x_dot) + 0.2 * x_dot**3, 0.5 * x_dot * np.cos(x_dot))[self.kind]
        return x_dot + self.a * extra - 1.5 * np.tanh(self.c[0] + self.c[1] * x + self.c[2] * np.sin(y)) + self.b * x

    def second(self, x, x_dot, z, z_dot):
        return z_dot * (1 + 0.2 * z_dot**2 + 0.1 * x**2) - np.cos(z + self.c[4]) + 0.2 * x_dot

    def algebraic(self, x, y):
        return (2 + self.d) * y + 0.1 * np.tanh(y) - 0.1 * self.c[3] - x

    def model(self):
        return da.ImplicitDAE(
            x=["x", "y", "z"],
            residual=lambda s: [
                self.first(s.x, s.y, s.x_dot), self.second(s.x, s.x_dot, s.z, s.z_dot), self.algebraic(s.x, s.y)
            ],
        )  # fmt: skip

    def y(self, x):
        return root(lambda y: self.algebraic(x, y))

    def rates(self, t, state):
        x, z = state
        y = self.y(x)
        x_dot = root(lambda value: self.first(x, y, value))
        return x_dot, root(lambda value: self.second(x, x_dot, z, value))

    def exact(self, t_end):
        run = solve_ivp(self.rates, (0, t_end), self.start, method="DOP853", rtol=1e-12, atol=1e-13)
        x, z = run.y[:, -1]
        return np.array([x, self.y(x), z])


def check(seed, tolerances):
    problem = Random(seed)
    model, exact, (x0, z0) = problem.model(), problem.exact(1.0), problem.start
    for tolerance, strategy in itertools.product(tolerances, STRATEGIES):
        method = da.Dassl(jacobian=strategy)
        sol = da.simulate(model, (0, 1), x0=[x0, problem.y(x0), z0], method=method, rtol=tolerance, atol=tolerance)
        error = np.abs(sol.x[-1] - exact).max() / tolerance
        assert error < 100, (seed, tolerance, strategy, error)


def test_residuals_that_are_not_linear_in_rates():
    for seed in range(6):
        check(seed, (1e-7, 1e-9))


@pytest.mark.slow
def test_many_residuals_that_are_not_linear_in_rates():
    for seed in range(100, 390):
        check(seed, (1e-7, 1e-8, 1e-9, 1e-10))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_differences_across_a_jump(strategy):
    """They are as large as 1/√ε, and the increments of such a matrix too small to move anything."""
    for distance, tolerance in itertools.product((1e-9, 1e-8, 1e-6, 0.1), (1e-6, 1e-9)):
        model = da.ImplicitDAE(x=["x", "y"], residual=lambda s: [s.x_dot - np.where(s.x < 1, 1.0, 0.5), s.y_dot - s.x])
        arguments = dict(x0=[1 - distance, 0.0], method=da.Dassl(jacobian=strategy), rtol=tolerance, atol=tolerance)
        sol = da.simulate(model, (0, 1), **arguments)
        x = 1 + 0.5 * (1 - distance)
        assert abs(sol.x[-1, 0] - x) < 100 * tolerance, (distance, tolerance)


def test_state_at_rest_by_differences():
    """Residuals of rounding size are no reason to distrust a matrix."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0.0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1]
    )
    for strategy in STRATEGIES:
        sol = da.simulate(model, (0, 5), p0=[0, -1], method=da.Dassl(jacobian=strategy), rtol=1e-9, atol=1e-9)
        assert np.abs(sol.p[-1] - [0, -1]).max() < 1e-12
        assert sol.stats.accepted < 60
