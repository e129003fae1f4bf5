"""RKF45: order, both orders of the pair, drift and its control."""

import numpy as np
import pytest
from steps import fixed_steps

import dalembert as da


@pytest.mark.parametrize(("extrapolate", "low", "high"), [(True, 4.7, 6.0), (False, 3.7, 4.6)])
def test_order(extrapolate, low, high):
    """A nonlinear spring, far from symmetries that would raise the order."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=lambda s: [-s.x + s.y * s.t, -s.y**3 + np.cos(s.x)],
        holonomic=lambda s: [s.x**2 + 2 * s.y**2 + 0.1 * s.x * s.y - 1],
    )  # fmt: skip
    start = da.consistent_initial_values(model, p0=[0.1, 0.7010473], v0=[1.0, -0.0958])
    ends = []
    for steps in (60, 120, 240):
        sol = fixed_steps(model, 2.0, steps, da.Rkf45(extrapolate=extrapolate), p0=start.p, v0=start.v)
        ends.append(np.concatenate([sol.p[-1], sol.v[-1]]))
    order = np.log2(np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2]))
    assert low < order < high


def test_drift_without_projection():
    problem = da.problems.pendulum(t_end=10.0)
    free, held, velocities = (
        problem.simulate(method=da.Rkf45(projection=p), rtol=1e-7, atol=1e-7) for p in ("none", "both", "velocities")
    )
    assert free.max_residual("position") > 1e-7
    assert free.max_residual("velocity") > 1e-7
    assert free.max_residual("acceleration") < 1e-12
    assert held.max_residual("position") < 1e-14
    assert held.max_residual("velocity") < 1e-14
    assert velocities.max_residual("velocity") < 1e-14
    assert 1e-14 < velocities.max_residual("position") < 0.1 * free.max_residual("position")


def test_drift_limit_holds_and_costs_steps():
    """As in the event-driven paper, section 3.1: HEM5 stays below the limit by itself."""
    problem = da.problems.pendulum(t_end=1.0)
    limit = 1e-7
    free = problem.simulate(method=da.Rkf45(projection="none"), rtol=1e-6, atol=1e-6)
    assert free.max_residual("position") > limit
    limited = problem.simulate(method=da.Rkf45(drift_limit=limit), rtol=1e-6, atol=1e-6)
    assert limited.stats.accepted > free.stats.accepted
    half = problem.simulate(method=da.Hem5(drift_limit=limit, projection="none"), rtol=1e-8, atol=1e-8)
    assert half.max_residual("position") <= limit
    assert half.stats.accepted < 1000


def test_accumulated_drift_is_an_error_that_says_so():
    problem = da.problems.pendulum(t_end=10.0)
    method = da.Rkf45(drift_limit=1e-10, projection="none")
    with pytest.raises((da.StepSizeTooSmall, da.TooManySteps), match="drift_limit") as caught:
        problem.simulate(method=method, rtol=1e-6, atol=1e-6, max_steps=20_000)
    assert caught.value.solution.max_residual("position") <= 1e-10


def test_smallest_step_is_taken_with_a_warning():
    problem = da.problems.pendulum(t_end=1.0)
    with pytest.warns(da.StepMissedTolerance, match="min_step = 0.01"):
        sol = problem.simulate(method=da.Rkf45(min_step=0.01, projection="none"), rtol=1e-12, atol=1e-12)
    assert (np.diff(sol.t)[:-1] > 0.00999).all()
    assert sol.stats.accepted <= 101


@pytest.mark.parametrize("reads", ["lam1", "nothing"])
def test_force_elements_may_depend_on_multipliers(reads):
    model = da.EquationsOfMotion(
        p=["x", "y"], r=["impulse"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1],
        dynamics=lambda s: [s.lam1 - s.impulse if reads == "lam1" else -s.impulse + s.y],
    )  # fmt: skip
    start = dict(p0=[1, 0], r0=[0.5], t_eval=[0.777, 2.0])
    ours = da.simulate(model, (0, 2), method=da.Rkf45(), rtol=1e-10, atol=1e-10, **start)
    other = da.simulate(model, (0, 2), method=da.Radau5(), rtol=1e-11, atol=1e-11, **start)
    np.testing.assert_allclose(ours.r, other.r, rtol=0, atol=1e-6)
    if reads == "lam1":
        with pytest.raises(da.ModelError, match=r"depends on multipliers.*Rkf45"):
            da.simulate(model, (0, 2), method=da.Hem5(), **start)


def test_steps_do_not_depend_on_extrapolation():
    """The estimate is that of order 4 whichever solution goes on."""
    problem = da.problems.andrews()
    steps = [
        problem.simulate(method=da.Rkf45(extrapolate=e), rtol=1e-8, atol=1e-8).stats.accepted for e in (True, False)
    ]
    assert abs(steps[0] - steps[1]) < 0.2 * steps[0]
