"""Consistent initial values: completed, corrected, checked or trusted."""

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize import start_problems

ALL = sorted(da.problems.catalogue())


@pytest.fixture(autouse=True, params=["dense", "sparse"])
def matrices(request, monkeypatch):
    """Small models as they are, and as if they were large."""
    if request.param == "sparse":
        monkeypatch.setattr(start_problems, "is_large", lambda matrix: True)


@pytest.mark.parametrize("name", ALL)
def test_every_problem_starts_consistently(name):
    """Positions and velocities given, everything else computed; all residuals vanish."""
    problem = da.problems.catalogue()[name]()
    start = da.consistent_initial_values(problem.model, **problem.start())
    assert start.unique
    assert start.correction < 1e-8
    hidden = da.hidden_constraints(problem.model)
    values = {k: start.values[k] for k in ("r", "w", "s", "lam", "mu")}
    scale = 1 + np.abs(start.a).max()
    if problem.model.names("lam"):
        assert np.abs(hidden.velocity(start.p, start.v, s=start.s)).max() < 1e-9
        assert np.abs(hidden.acceleration(start.p, start.v, **values)).max() < 1e-10 * scale
    if problem.model.names("mu"):
        assert np.abs(hidden.nonholonomic_acceleration(start.p, start.v, **values)).max() < 1e-10 * scale


def test_multipliers_of_the_pendulum():
    """λ = m (v² − g y) / (2 L²) by hand."""
    m, L, g = 1.3, 0.7, 9.81
    model = da.problems.pendulum(m=m, L=L, g=g).model
    angle, speed = 0.4, 1.1
    p = L * np.array([np.sin(angle), -np.cos(angle)])
    v = speed * np.array([np.cos(angle), np.sin(angle)])
    start = da.consistent_initial_values(model, p0=p, v0=v)
    assert start.lam[0] == pytest.approx(m * (speed**2 - g * p[1]) / (2 * L**2), rel=1e-13)


def test_correction_is_the_nearest_point():
    model = da.problems.pendulum(g=9.81).model
    with pytest.warns(da.InitialValuesCorrected, match="'x(_dot)?' changed from"):
        start = da.consistent_initial_values(model, p0=[1.2, 0.0], v0=[0.5, 1.0])
    np.testing.assert_allclose(start.p, [1, 0], atol=1e-14)  # radially back to the circle
    np.testing.assert_allclose(start.v, [0, 1], atol=1e-14)  # the radial part is gone
    assert start.correction == pytest.approx(0.5 / 1.5)


def test_check_raises_and_names_the_constraint():
    model = da.problems.pendulum(g=9.81).model
    with pytest.raises(
        da.InconsistentInitialValues, match=r"holonomic constraint 'lam1' at t = 0: its residual is 4.4"
    ):
        da.consistent_initial_values(model, mode="check", p0=[1.2, 0.0])
    with pytest.raises(da.InconsistentInitialValues, match="'lam1' on velocity level"):
        da.consistent_initial_values(model, mode="check", p0=[1.0, 0.0], v0=[0.5, 0.0])
    assert da.consistent_initial_values(model, mode="check", p0=[1.0, 1e-12]).correction < 1e-11


def test_trust_takes_positions_and_velocities_as_they_are():
    model = da.problems.pendulum(g=9.81).model
    start = da.consistent_initial_values(model, mode="trust", p0=[1.2, 0.0], v0=[0.5, 1.0])
    assert start.p.tolist() == [1.2, 0.0]
    assert start.v.tolist() == [0.5, 1.0]
    assert start.lam[0] == pytest.approx((0.5**2 + 1.0) / (2 * 1.2**2), rel=1e-12)


def test_contradicting_constraints():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, 0], holonomic=lambda s: [s.x - s.y, s.x - s.y - 1], lam=["left", "right"]
    )
    with pytest.raises(da.InconsistentInitialValues, match="no consistent values of the positions"):
        da.consistent_initial_values(model, p0=[0, 0])


def test_constraint_that_cannot_be_satisfied():
    model = da.EquationsOfMotion(p=["x"], mass=[1], force=[0], holonomic=lambda s: [s.x**2 + 1])
    with pytest.raises(da.InconsistentInitialValues, match="holonomic constraint 'lam1' keeps a residual"):
        da.consistent_initial_values(model, p0=[0.5])


def test_redundant_constraints_give_the_smallest_multipliers():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -2.0], holonomic=lambda s: [s.y, 2 * s.y], lam=["once", "twice"]
    )
    start = da.consistent_initial_values(model, p0=[0, 0])
    assert not start.unique
    np.testing.assert_allclose(start.lam, np.array([1, 2]) * -2.0 / 5, atol=1e-13)


def test_nonlinear_auxiliary_and_contact_point():
    model = da.EquationsOfMotion(
        p=["x"], w=["w1"], s=["s1"], mass=[1.0],
        force=lambda s: [s.w1 + s.s1], auxiliary=lambda s: [s.w1**3 + s.w1 - s.x],
        contact_points=lambda s: [np.exp(s.s1) - s.x],
    )  # fmt: skip
    start = da.consistent_initial_values(model, p0=[2.0])
    assert start.w[0] == pytest.approx(1.0, abs=1e-13)
    assert start.s[0] == pytest.approx(np.log(2), abs=1e-14)
    assert start.a[0] == pytest.approx(1 + np.log(2), abs=1e-13)


def test_semidefinite_mass_is_carried_by_the_constraint():
    """The massless coordinate follows the constraint; its force is passed on to the other one."""
    model = da.EquationsOfMotion(p=["x", "y"], mass=[2.0, 0.0], force=[0, -3.0], holonomic=lambda s: [s.x - s.y])
    start = da.consistent_initial_values(model, p0=[0, 0])
    np.testing.assert_allclose(start.a, [-1.5, -1.5], atol=1e-14)
    sol = da.simulate(model, (0, 2), p0=[0, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.p[-1], [-3.0, -3.0], atol=1e-8)


def test_undetermined_motion_is_named():
    model = da.EquationsOfMotion(p=["x", "y"], mass=[1.0, 0.0], force=[0, -3.0])
    with pytest.raises(da.InconsistentInitialValues, match="equation of motion of 'y_dot'"):
        da.consistent_initial_values(model, p0=[0, 0])


def test_algebraic_variables_of_a_quasi_linear_dae():
    model = da.QuasiLinearDAE(x=["a", "b"], leading=[1, 0], rhs=lambda s: [-s.a + s.b, s.a**2 + s.b - 3], parameters={})
    start = da.consistent_initial_values(model, x0=[1.0, 0.0])
    np.testing.assert_allclose(start.x, [1.0, 2.0], atol=1e-14)  # the state stays, the algebraic variable follows
    np.testing.assert_allclose(start.x_dot, [1.0, -2.0], atol=1e-12)
    with pytest.raises(da.InconsistentInitialValues, match="'b' would have to change"):
        da.consistent_initial_values(model, mode="check", x0=[1.0, 0.0])


def test_bad_arguments_are_collected():
    model = da.problems.pendulum().model
    with pytest.raises(da.ModelError) as error:
        da.consistent_initial_values(model, v0=[0, np.nan], q0=[1], r0={"z": 1}, lam0=["a"])
    text = str(error.value)
    for part in ("p0= is missing", "'y_dot' is nan", "no 'q0'", "r0: there is no 'z'", "lam0"):
        assert part in text
    with pytest.raises(da.OptionError, match="correct, check, trust"):
        da.consistent_initial_values(model, p0=[1, 0], mode="repair")
