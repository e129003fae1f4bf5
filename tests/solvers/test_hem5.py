"""HEM5: order, constraints at every step, error estimate, projection, dense output."""

import itertools

import numpy as np
import pytest
from steps import fixed_steps, orders

import dalembert as da


def motor():
    """A pendulum with a dynamic force element and a moving constraint."""
    return da.EquationsOfMotion(
        p=["x", "y"], r=["i"], mass=[1, 2], force=lambda s: [s.i * s.y, -9.81 - s.i * s.x],
        holonomic=lambda s: [(s.x - 0.1 * np.sin(2 * s.t)) ** 2 + s.y**2 - 1],
        dynamics=lambda s: [-3 * s.i + np.sin(3 * s.t) + s.x * s.y_dot],
    )  # fmt: skip


MOTOR = dict(p0=[0.6, -0.8], v0=[1.0, 0.6], r0=[0.3])


@pytest.mark.parametrize("projection", ["both", "none"])
def test_order_five_on_the_pendulum(projection):
    problem = da.problems.pendulum()
    errors = []
    for steps in (40, 80, 160):
        sol = fixed_steps(problem.model, problem.t_end, steps, da.Hem5(projection=projection), **problem.start())
        errors.append([np.abs(getattr(sol, k)[-1] - getattr(problem.reference, k)).max() for k in ("p", "v")])
    order = orders(np.array(errors))
    assert (order > 4.8).all(), order
    assert (order < 6.5).all(), order


@pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")
def test_order_five_with_time_mass_and_force_elements():
    ends = []
    for steps in (40, 80, 160, 320):
        sol = fixed_steps(motor(), 1.0, steps, da.Hem5(), **MOTOR)
        ends.append(np.concatenate([sol.p[-1], sol.v[-1], sol.r[-1]]))
    differences = np.array([[np.linalg.norm(a - b)] for a, b in itertools.pairwise(ends)])
    order = orders(differences)
    assert (order > 4.7).all(), order


def test_order_five_with_nonholonomic_constraints():
    problem = da.problems.sleigh()
    errors = []
    for steps in (20, 40, 80):
        sol = fixed_steps(problem.model, problem.t_end, steps, da.Hem5(), **problem.start())
        errors.append([np.abs(getattr(sol, k)[-1] - getattr(problem.reference, k)).max() for k in ("p", "v")])
    order = orders(np.array(errors))
    assert (order[-1] > 4.6).all(), order


def test_drift_without_projection_is_of_order_five_and_velocities_do_not_drift():
    problem = da.problems.pendulum()
    drift = []
    for steps in (40, 80):
        sol = fixed_steps(problem.model, problem.t_end, steps, da.Hem5(projection="none"), **problem.start())
        drift.append(sol.max_residual("position"))
        assert sol.max_residual("velocity") < 1e-14
        assert sol.max_residual("acceleration") < 1e-12  # a and λ come from the acceleration level
    assert drift[0] > 1e-8  # there is some
    assert 4.5 < np.log2(drift[0] / drift[1]) < 6.5


def test_projection_every_few_steps():
    problem = da.problems.andrews()
    residual = {}
    for every in (1, 5):
        sol = problem.simulate(method=da.Hem5(projection_every=every), rtol=1e-7, atol=1e-7)
        residual[every] = np.abs(sol.residual("position")).max(axis=1)
        assert sol.max_residual("velocity") < 1e-11
    assert residual[1].max() < 1e-15
    assert (residual[5][5::5] < 1e-15).all()
    assert residual[5].max() > 1e-12


@pytest.mark.parametrize("error", ["all", "positions"])
def test_error_follows_the_tolerance(error):
    problem = da.problems.andrews()
    errors = [problem.error(problem.simulate(method=da.Hem5(error=error), rtol=t, atol=t)) for t in (1e-5, 1e-7, 1e-9)]
    for (early, late), tolerance in zip(itertools.pairwise(errors), (1e-7, 1e-9), strict=True):
        assert late < 0.1 * early
        assert late < 1e3 * tolerance


def test_positions_alone_need_fewer_steps():
    problem = da.problems.car_axis()
    steps = {
        e: problem.simulate(method=da.Hem5(error=e), rtol=1e-7, atol=1e-7).stats.accepted for e in ("all", "positions")
    }
    assert steps["positions"] < steps["all"]


def inner_errors(model, t_end, steps, method, reference, start):
    """Largest errors of dense output inside of the steps, without the first five (multipliers need history)."""
    h = t_end / steps
    sol = fixed_steps(model, t_end, steps, method, **start)
    t = ((np.arange(5, steps)[:, None] + [0.13, 0.37, 0.5, 0.71, 0.9]) * h).ravel()
    true, got = reference.at(t), sol.at(t)
    return [np.abs(getattr(got, k) - getattr(true, k)).max() for k in ("p", "v", "r", "lam") if getattr(got, k).size]


@pytest.mark.parametrize("method", [da.Hem5(), da.Rkf45()])
@pytest.mark.parametrize("which", ["pendulum", "heavy_top", "motor"])
def test_dense_output_has_the_order_of_the_method(which, method):
    """Also if p' is not v, and for r and the multipliers."""
    if which == "motor":
        model, start, t_end, steps = motor(), dict(MOTOR, v0=[0.95, 0.5625]), 1.0, (40, 80)
    else:
        problem = da.problems.catalogue()[which]()
        model, start = problem.model, problem.start()
        t_end, steps = {"pendulum": (2.0, (80, 160)), "heavy_top": (0.1, (100, 200))}[which]
    reference = da.simulate(model, (0, t_end), method=da.Hem5(), rtol=1e-12, atol=1e-12, max_step=t_end / 3000, **start)
    order = orders(np.array([inner_errors(model, t_end, n, method, reference, start) for n in steps]))[0]
    assert (order > 4.7).all(), order


def test_dense_output_of_multipliers_in_the_first_steps():
    """Without history there is still one inner point: order 3."""
    problem = da.problems.pendulum()
    errors = []
    for steps in (80, 160):
        sol = fixed_steps(problem.model, 2.0, steps, da.Hem5(), **problem.start())
        t = np.array([0.3, 0.6]) * 2.0 / steps
        fine = problem.simulate(method=da.Hem5(), rtol=1e-12, atol=1e-12, max_step=1e-4, t_eval=t)
        errors.append([np.abs(sol.at(t).lam - fine.lam).max()])
    assert orders(np.array(errors))[0] > 2.5


def test_counters():
    problem = da.problems.pendulum()
    sol = problem.simulate(method=da.Hem5(projection="none"), rtol=1e-6, atol=1e-6)
    stats = sol.stats
    attempts = stats.accepted + stats.rejected
    # eight stages, of which the first is the end of the step before; two inner points at the beginning
    assert stats.rhs_evaluations == 7 * attempts + stats.accepted + 1 + 2
    assert stats.mass_evaluations == 8 * attempts + 1 + 2
    assert stats.decompositions == 8 * attempts + stats.accepted + 1 + 2
    assert stats.jacobian_evaluations == 0
