"""The projected core on quasi-linear DAEs with all hidden constraints: no drift, order 5, the same motion as Geoms."""

import numpy as np
import pytest

import dalembert as da


def pendulum(**extra):
    """The planar pendulum, m = L = 1, with the constraint on position, velocity and acceleration level."""
    levels = [
        lambda s: s.x**2 + s.y**2 - 1,
        lambda s: s.x * s.x_dot + s.y * s.y_dot,
        lambda s: s.x_dot**2 + s.y_dot**2 - s.pull - s.g * s.y,
    ]
    own = dict(
        rhs=lambda s: [s.x_dot, s.y_dot, -s.pull * s.x, -s.pull * s.y - s.g],
        leading=np.eye(5)[:4],
        constraints=lambda s: [level(s) for level in levels],
    )
    return da.QuasiLinearDAE(x=["x", "y", "x_dot", "y_dot", "pull"], parameters={"g": 9.81}, **{**own, **extra})


START = dict(x0=[1.0, 0.0, 0.0, 0.0, 0.0])


def exact(t_end):
    return da.problems.pendulum(g=9.81, start=np.pi / 2, t_end=t_end).reference


@pytest.mark.parametrize("solver", [da.NullSpace(), da.NullSpace(constraints="qr"), da.NullSpace(constraints="svd")])
def test_no_drift_and_the_exact_motion(solver):
    method = da.Qualidaes(linear_solver=solver)
    sol = da.simulate(pendulum(), (0, 50), **START, method=method, rtol=1e-9, atol=1e-9)
    assert sol.max_residual("constraints") < 1e-12
    reference = exact(50.0)
    np.testing.assert_allclose(sol.x[-1][:4], [*reference.p, *reference.v], atol=1e-5)
    energy = 0.5 * (sol["x_dot"] ** 2 + sol["y_dot"] ** 2) + 9.81 * sol["y"]
    assert np.abs(energy).max() < 1e-5


def test_steps_are_about_those_of_geoms():
    """The same stages and corrections; the selectors mix kinematic equations and equations of motion."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [0.5 * (s.x**2 + s.y**2 - 1)]
    )
    one = da.simulate(pendulum(), (0, 5), **START, method=da.Qualidaes(), rtol=1e-7, atol=1e-7)
    other = da.simulate(model, (0, 5), p0=[1, 0], v0=[0, 0], method=da.Geoms(), rtol=1e-7, atol=1e-7)
    assert abs(one.stats.accepted - other.stats.accepted) < 0.2 * other.stats.accepted
    np.testing.assert_allclose(one.x[-1], [*other.p[-1], *other.v[-1], *other.lam[-1]], atol=2e-5)


def test_errors_follow_the_tolerance():
    errors, reference = [], exact(5.0)
    for tolerance in (1e-5, 1e-7, 1e-9):
        sol = da.simulate(pendulum(), (0, 5), **START, method=da.Qualidaes(), rtol=tolerance, atol=tolerance)
        errors.append(np.abs(sol.x[-1][:2] - reference.p).max())
    assert errors[0] < 1e-3
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 0.1 * errors[1]


def test_rows_without_derivatives_are_constraints():
    """A row of zeros in E, a leading matrix that moves with the state, and one equation more than unknowns."""
    model = da.QuasiLinearDAE(
        x=["a", "b", "c"], leading=lambda s: [[1, 0, 0], [s.b, 1 + s.a**2, 0], [0, 0, 0]],
        rhs=lambda s: [s.b, s.b**2 - s.a * (1 + s.a**2), s.c - s.a * s.b],
        constraints=lambda s: [s.a**2 + s.b**2 - 1],
    )  # fmt: skip
    sol = da.simulate(model, (0, 3), x0=[0, 1, 0], method=da.Qualidaes(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.x[-1], [np.sin(3), np.cos(3), np.sin(3) * np.cos(3)], atol=1e-7)
    assert sol.max_residual("constraints") < 1e-11  # corrections stop at a thousandth of the tolerance


def test_differences_of_the_differential_part():
    sol = da.simulate(pendulum(), (0, 5), **START, method=da.Qualidaes(jacobian=da.Differences()), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sol.x[-1][:2], exact(5.0).p, atol=1e-5)
    assert sol.max_residual("constraints") < 1e-12


def test_redundant_constraints():
    """One constraint twice: named by name with LU, solved with the SVD."""
    twice = pendulum(
        constraints=lambda s: [
            s.x**2 + s.y**2 - 1, 2 * (s.x**2 + s.y**2 - 1), s.x * s.x_dot + s.y * s.y_dot,
            s.x_dot**2 + s.y_dot**2 - s.pull - s.g * s.y,
        ],
        hidden="given",
    )  # fmt: skip
    common = dict(**START, rtol=1e-8, atol=1e-8, first_step=1e-3)
    with pytest.raises(da.RedundantConstraints, match=r"redundant at t = 0; dependent: .*algebraic='svd'"):
        da.simulate(twice, (0, 5), method=da.Qualidaes(initial_values="trust"), **common)
    sol = da.simulate(twice, (0, 5), method=da.Qualidaes(algebraic="svd"), **common)
    np.testing.assert_allclose(sol.x[-1][:2], exact(5.0).p, atol=1e-5)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            dict(constraints=lambda s: [s.x, s.y, s.x_dot, s.y_dot, s.pull, s.x + s.y], hidden="given"),
            "6 constraints for 5 unknowns",
        ),
        (
            dict(
                linear_solver=da.Sparse(),
                hidden="given",
                leading=lambda s: [*np.eye(5)[:4], np.eye(5)[0]],
                rhs=lambda s: [s.x_dot, s.y_dot, -s.pull * s.x, -s.pull * s.y - s.g, s.x_dot],
            ),
            "needs? a basis of the null space",
        ),
    ],
)
def test_what_cannot_be_projected_is_named(extra, message):
    solver = extra.pop("linear_solver", da.Auto())
    method = da.Qualidaes(linear_solver=solver, initial_values="trust")
    with pytest.raises((da.ModelError, da.OptionError), match=message):
        da.simulate(pendulum(**extra), (0, 1), **START, method=method)


def test_equations_of_motion_are_integrated_as_geoms_does():
    problem = da.problems.pendulum()
    one, two = (problem.simulate(method=method, rtol=1e-7, atol=1e-7) for method in (da.Qualidaes(), da.Geoms()))
    np.testing.assert_array_equal(one.x, two.x)
    assert problem.error(one) < 1e-5
