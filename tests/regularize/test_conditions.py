"""Initial conditions beside the constraints: enough, too few, too many, contradictory."""

import numpy as np
import pytest

import dalembert as da


def pendulum():
    return da.problems.pendulum(g=9.81).model


def test_conditions_determine_the_state():
    """A deviation of 45° and an angular velocity: GEOMS' Example 3.1."""
    omega = 1.5
    start = da.consistent_initial_values(
        pendulum(), p0=[0.5, -1.0], v0=[1.0, 0.5],
        initial_conditions=lambda s: [s.x + s.y, np.sqrt(s.x_dot**2 + s.y_dot**2) - omega],
    )  # fmt: skip
    half = np.sqrt(0.5)
    np.testing.assert_allclose(start.p, [half, -half], atol=1e-13)
    np.testing.assert_allclose(start.v, omega * np.array([half, half]), atol=1e-12)
    assert start.lam[0] == pytest.approx((omega**2 + 9.81 * half) / 2, rel=1e-12)


def test_conditions_dominate_consistent_values():
    start = da.consistent_initial_values(
        pendulum(), p0=[0.0, -1.0], v0=[0.0, 0.0], initial_conditions=lambda s: [s.x - 0.6, s.x_dot - 0.8]
    )
    np.testing.assert_allclose(start.p, [0.6, -0.8], atol=1e-13)
    np.testing.assert_allclose(start.v, [0.8, 0.6], atol=1e-12)


def test_conditions_on_multipliers():
    """The speed at which the rod carries a given force at the bottom: λ = (v² + g)/2."""
    start = da.consistent_initial_values(
        pendulum(), p0=[0.0, -1.0], v0=[1.0, 0.0], initial_conditions=lambda s: [s.x, s.lam1 - 10.0]
    )
    assert start.v[0] == pytest.approx(np.sqrt(20 - 9.81), rel=1e-10)


def test_too_few_conditions_check_only():
    consistent = da.consistent_initial_values(
        pendulum(), p0=[0.6, -0.8], v0=[0.8, 0.6], initial_conditions=lambda s: [s.x - 0.6]
    )
    np.testing.assert_allclose(consistent.v, [0.8, 0.6], atol=1e-12)
    with pytest.raises(da.InconsistentInitialValues, match=r"holonomic constraint 'lam1'.*Give 1 more conditions"):
        da.consistent_initial_values(
            pendulum(), p0=[0.6, -0.9], v0=[0.8, 0.6], initial_conditions=lambda s: [s.x - 0.6]
        )


def test_more_conditions_than_necessary():
    start = da.consistent_initial_values(
        pendulum(), p0=[0.5, -0.9], v0=[0.5, 0.5],
        initial_conditions=lambda s: [s.x - 0.6, s.y + 0.8, s.x_dot - 0.8, s.y_dot - 0.6],
    )  # fmt: skip
    np.testing.assert_allclose(start.p, [0.6, -0.8], atol=1e-13)


def test_contradictory_conditions():
    with pytest.raises(da.InconsistentInitialValues, match="contradict"):
        da.consistent_initial_values(
            pendulum(), p0=[0.6, -0.8], initial_conditions=lambda s: [s.x - 0.6, s.y + 0.5, s.x_dot]
        )


def test_contact_points_and_force_variables():
    problem = da.problems.ball_in_ellipse()
    start = da.consistent_initial_values(
        problem.model, **problem.start(), initial_conditions=lambda s: [s.sigma + np.pi / 2 - 0.3, s.x_dot - 5.0]
    )
    assert start.s[0] == pytest.approx(-np.pi / 2 + 0.3, abs=1e-12)
    hidden = da.hidden_constraints(problem.model)
    assert abs(hidden.velocity(start.p, start.v, s=start.s)[0]) < 1e-12
    motor = da.problems.motor_pendulum()
    kept = da.consistent_initial_values(
        motor.model, **motor.start(), initial_conditions=lambda s: [s.p[0] - motor.p0[0]]
    )
    np.testing.assert_allclose(kept.r, da.consistent_initial_values(motor.model, **motor.start()).r)


def test_simulate_takes_conditions():
    sol = da.simulate(
        pendulum(),
        (0, 1),
        p0=[0.1, -1.0],
        v0=[1, 0],
        initial_conditions=lambda s: [s.x, s.x_dot - 2.0],
        method=da.Geoms(),
    )
    np.testing.assert_allclose(sol.p[0], [0, -1], atol=1e-13)
    np.testing.assert_allclose(sol.v[0], [2, 0], atol=1e-12)


def test_untraceable_conditions():
    with pytest.warns(da.UntraceableWarning):
        start = da.consistent_initial_values(
            pendulum(),
            p0=[0.5, -0.9],
            v0=[1.0, 0.0],
            initial_conditions=lambda s: [float(s.x) - 0.6, float(s.x_dot) - 0.8],
        )
    np.testing.assert_allclose(start.p, [0.6, -0.8], atol=1e-9)


def test_faulty_conditions():
    with pytest.raises(da.ModelError, match="must be a function"):
        da.consistent_initial_values(pendulum(), p0=[1, 0], initial_conditions=[1.0])
    with pytest.raises(da.ModelError, match="no 'z'"):
        da.consistent_initial_values(pendulum(), p0=[1, 0], initial_conditions=lambda s: [s.z])
    with pytest.raises(da.ModelError, match="list of residuals"):
        da.consistent_initial_values(pendulum(), p0=[1, 0], initial_conditions=lambda s: s.x)


def test_a_condition_that_cannot_be_traced():
    """It branches on numbers; the model's own graph does not learn of it."""
    model = pendulum()
    with pytest.warns(da.UntraceableWarning):
        start = da.consistent_initial_values(
            model,
            p0=[0.1, -1.0],
            v0=[0.0, 0.0],
            initial_conditions=lambda s: [s.x - 0.6 if s.y < 0 else s.x + 0.6, s.x_dot - 0.8],
        )
    np.testing.assert_allclose([*start.p, *start.v], [0.6, -0.8, 0.8, 0.6], atol=1e-9)
    assert not model.graph.externals
    assert set(model.graph.functions) == {"kinematics", "mass", "force", "holonomic"}
