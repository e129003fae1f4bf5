"""Consistent initial values: completed, corrected, checked or trusted."""

import warnings

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


def sled(**more):
    """Its friction saturates: 0/0 without a normal force."""
    return da.EquationsOfMotion(
        p=["x", "y"], lam=["N"], mass=[2, 2], holonomic=lambda s: [s.y],
        force=lambda s: [-0.3 * np.abs(s.N) * np.tanh(s.x_dot * 10 / np.abs(s.N)), -2 * 9.81], **more,
    )  # fmt: skip


def test_forces_that_divide_by_a_multiplier():
    """λ = 0 is where they cannot be evaluated; other guesses lead to the same as a good one."""
    start = da.consistent_initial_values(sled(), p0=[0, 0], v0=[1, 0])
    guided = da.consistent_initial_values(sled(), p0=[0, 0], v0=[1, 0], lam0=[-19.0])
    np.testing.assert_allclose(start.lam, [-2 * 9.81], rtol=1e-14)
    np.testing.assert_allclose(start.a, guided.a, rtol=1e-12)
    sol = da.simulate(sled(), (0, 1), p0=[0, 0], v0=[1, 0])
    assert sol.success


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_python_forces_that_divide_by_a_multiplier():
    model = da.EquationsOfMotion(
        p=["x", "y"], lam=["N"], mass=[1, 1], holonomic=lambda s: [s.y],
        force=lambda s: [-0.3 * abs(float(s.N)) * np.tanh(s.x_dot * 10 / abs(float(s.N))), -9.81],
    )  # fmt: skip
    start = da.consistent_initial_values(model, p0=[0, 0], v0=[1, 0])
    np.testing.assert_allclose(start.lam, [-9.81], rtol=1e-9)


def test_what_no_guess_helps_names_the_zeros():
    model = da.EquationsOfMotion(
        p=["x", "y"], lam=["N"], mass=[1, 1], holonomic=lambda s: [s.y],
        force=lambda s: [np.sqrt(-1e7 - s.N), -9.81],
    )  # fmt: skip
    with pytest.raises(da.InconsistentInitialValues, match=r"'x_dot' is not finite .*with lam = 0.*give lam0="):
        da.consistent_initial_values(model, p0=[0, 0])
    model = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [np.log(s.x)])
    with pytest.raises(da.InconsistentInitialValues, match=r"check the model there$"):
        da.consistent_initial_values(model, p0=[-1])


@pytest.mark.parametrize("seed", range(4))
def test_more_constraints_than_velocities(seed):
    """Random combinations of constraints, also such that nothing moves, and start values that violate them."""
    rng = np.random.default_rng(seed)
    n, rank = 3, int(rng.integers(1, 4))
    B = rng.normal(size=(n + 2, rank))

    def holonomic(s):
        base = [s.x**2 + s.y**2 + s.z**2 - 1, s.x - 0.5 * s.y, s.z - s.x * s.y][:rank]
        return [sum(b * g for b, g in zip(row, base, strict=True)) for row in B]

    model = da.EquationsOfMotion(p=["x", "y", "z"], mass=[1, 2, 3], force=[0, 0, -9.81], holonomic=holonomic)
    reduced = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1, 2, 3], force=[0, 0, -9.81], holonomic=lambda s: np.linalg.pinv(B) @ holonomic(s)
    )
    p0, v0 = [0.4001, 0.8, 0.4], [0.1, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.InitialValuesCorrected)
        start = da.consistent_initial_values(model, p0=p0, v0=v0)
        expected = da.consistent_initial_values(reduced, p0=p0, v0=v0)
    assert not start.unique
    np.testing.assert_allclose(holonomic_residual(reduced, start.p), 0, atol=1e-12)
    np.testing.assert_allclose(da.hidden_constraints(reduced).velocity(start.p, start.v), 0, atol=1e-12)
    if rank < n:
        np.testing.assert_allclose(start.a, expected.a, atol=1e-8)
        np.testing.assert_allclose(B.T @ start.lam, expected.lam, atol=1e-8)  # the same forces
        assert np.abs(B @ np.linalg.lstsq(B, start.lam, rcond=None)[0] - start.lam).max() < 1e-8  # the smallest


def holonomic_residual(model, p):
    return da.hidden_constraints(model)._numbers([model.graph.value("holonomic")], 0.0, {"p": p})[0].ravel()
