"""The largest rate of a motion: the largest modulus of an eigenvalue of its linearization."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.solvers.method import RunSpec, Tolerances
from dalembert.solvers.start import start_values
from mechanisms import random_mechanism

METHODS = [da.Hedop5(), da.Hem5(), da.Mexx()]


def stepper_at(model, method, t=0.0, tolerance=1e-6, **start):
    """A stepper, and its unknowns at start values."""
    form = method.formulate(model)
    limits = Tolerances(np.full(form.n, tolerance), np.full(form.n, tolerance))
    stepper = method.stepper(form, RunSpec(model=model, tolerances=limits))
    return stepper, *form.start(start_values(model, t, start))


def rate(model, method, t=0.0, tolerance=1e-6, **start):
    stepper, x, _ = stepper_at(model, method, t, tolerance, **start)
    return stepper.largest_rate(t, x)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("stiffness", "damping", "wanted"),
    [
        (1e6, 0.0, 1e3),  # an oscillation
        (0.0, 1e5, 1e5),  # a damper
        (1e4, 1e3, 500 + np.sqrt(500**2 - 1e4)),  # overdamped
        (1e6, 1e2, 1e3),  # a damped oscillation
        (0.0, 0.0, 0.0),
    ],
)
def test_one_mass(method, stiffness, damping, wanted):
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [-stiffness * s.z - damping * s.z_dot])
    for tolerance in (1e-4, 1e-8):
        assert rate(model, method, tolerance=tolerance, p0=[0.3], v0=[0.1]) == pytest.approx(wanted, rel=0.1, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_count(method):
    """A pendulum that hangs swings with √(g/L); springs along its rod do not matter."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[2.0, 2.0], force=lambda s: [0, -2 * 9.81 - 1e6 * (s.y + 0.5)],
        holonomic=lambda s: [s.x**2 + s.y**2 - 0.25],
    )  # fmt: skip
    assert rate(model, method, p0=[0.0, -0.5]) == pytest.approx(np.sqrt(9.81 / 0.5), rel=0.05)


def test_the_largest_of_many():
    rng = np.random.default_rng(3)
    for n in (2, 7, 30):
        stiffness, damping = 10.0 ** rng.uniform(0, 8, n), 10.0 ** rng.uniform(0, 3, n)
        model = da.EquationsOfMotion(
            p=[f"z{i}" for i in range(n)], mass=np.ones(n), force=lambda s, k=stiffness, d=damping: -k * s.p - d * s.v
        )
        pairs = [np.abs(np.roots([1, d, k])).max() for k, d in zip(stiffness, damping, strict=True)]
        assert rate(model, METHODS[0], p0=rng.uniform(-1, 1, n)) == pytest.approx(max(pairs), rel=0.3)


def eigenvalues(form, x):
    """Of (p, v, r) ↦ (p', v', r') with the accelerations of the constraints' second derivative, at t = 0."""
    n_m = len(form.constraint_names)
    zeros = ca.SX(n_m, n_m)
    saddle = ca.vertcat(ca.horzcat(form.mass, form.constraint.T), ca.horzcat(form.constraint, zeros))
    solved = ca.solve(saddle, ca.vertcat(form.force, -form.acceleration))
    rates = ca.vertcat(form.p_dot, solved[: form.mass.shape[0]], form.r_dot)
    moving = form.x[: rates.numel()]
    others = [symbol for symbol in ca.symvar(rates) if symbol.name() not in {s.name() for s in ca.symvar(moving)}]
    jacobian = ca.Function("J", [moving, *others], [ca.jacobian(rates, moving)])
    return np.linalg.eigvals(np.array(jacobian(x[: rates.numel()], *[0.0] * len(others))))


@pytest.mark.parametrize("seed", range(12))
def test_against_eigenvalues(seed):
    model, start = random_mechanism(seed, hardness=[1.0, 1e3, 1e6][seed % 3])
    stepper, x, _ = stepper_at(model, da.Hedop5(), **start)
    wanted = np.abs(eigenvalues(stepper.form, x)).max()
    assert stepper.largest_rate(0.0, x) == pytest.approx(wanted, rel=0.4)


def test_what_cannot_be_evaluated():
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [np.sqrt(s.z)])
    assert rate(model, METHODS[0], p0=[0.0]) == -1.0
    stepper, x, _ = stepper_at(da.problems.pendulum().model, da.Rkf45(), p0=[1.0, 0.0])
    assert stepper.largest_rate(0.0, x) == -1.0  # which has no kernel for it


@pytest.mark.parametrize("method", METHODS)
def test_steps_are_what_they_would_be(method):
    """Looking leaves nothing behind: the same bits come after it."""
    ends = []
    for looks in (False, True):
        stepper, x, x_dot = stepper_at(da.problems.andrews().model, method, **da.problems.andrews().start())
        stepper.start(0.0, x, x_dot, 0.03, None)
        for _ in range(3):
            stepper.advance(5)
            if looks:
                assert stepper.largest_rate() > 0
        ends.append((stepper.t, stepper.x.copy()))
    assert ends[0][0] == ends[1][0]
    np.testing.assert_array_equal(ends[0][1], ends[1][1])
