"""Step sizes where Newton's method, not the error, sets the limit: stiff springs that turn."""

import numpy as np
import pytest

import dalembert as da


def turning_spring(seed: int) -> tuple[da.EquationsOfMotion, dict]:
    """A stiff, damped spring as the first link of a pendulum of random masses and lengths."""
    rng = np.random.default_rng(seed)
    k, ratio, rod, angle = (
        10.0 ** rng.uniform(6, 9),
        10.0 ** rng.uniform(-5, -3),
        rng.uniform(0.5, 2),
        rng.uniform(0.3, 1),
    )
    m1, m2 = rng.uniform(0.5, 2, 2)

    def force(s):
        length = np.sqrt(s.x1**2 + s.y1**2)
        pull = k * (length - 1) / length + ratio * k * (s.x1 * s.x1_dot + s.y1 * s.y1_dot) / length**2
        return [-pull * s.x1, -9.81 * m1 - pull * s.y1, 0, -9.81 * m2]

    model = da.EquationsOfMotion(
        p=["x1", "y1", "x2", "y2"], mass=[m1, m1, m2, m2], force=force,
        holonomic=lambda s: [(s.x1 - s.x2) ** 2 + (s.y1 - s.y2) ** 2 - rod**2],
    )  # fmt: skip
    r = 1 + (m1 + m2) * 9.81 * np.cos(angle) / k
    at = np.array([np.sin(angle), -np.cos(angle)])
    return model, dict(p0=[*(r * at), *((r + rod) * at)])


METHODS = [da.Radau5(), da.Radau5(formulation="index2"), da.Geoms(), da.Geoms(formulation="index1")]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_convergence_failures_are_rare(method, seed):
    model, start = turning_spring(seed)
    for tol in (1e-4, 1e-6, 1e-8):
        stats = da.simulate(model, (0, 3), method=method, rtol=tol, atol=tol, **start).stats
        assert stats.convergence_rejections < 0.25 * stats.accepted + 5


def test_an_isolated_failure_sets_no_ceiling():
    """A start that is guessed too long is nothing to remember: the steps grow as the error allows."""
    problem = da.problems.pendulum()
    free = problem.simulate(method=da.Radau5(), rtol=1e-6, atol=1e-6)
    guessed = problem.simulate(method=da.Radau5(), rtol=1e-6, atol=1e-6, first_step=1.0)
    assert guessed.stats.convergence_rejections > free.stats.convergence_rejections
    assert guessed.stats.accepted < free.stats.accepted + 10
