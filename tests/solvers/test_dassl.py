"""DASSL: every order, constants of the step control, dense output, events, restarts, explanations of failure."""

import dataclasses
import itertools

import numpy as np
import pytest
from steps import stepper_of

import dalembert as da
from dalembert.errors import FunctionFailed
from dalembert.solvers.status import Status

FORMULATIONS = ("index1", "index2", "ggl", "baumgarte")


def orders_of(sol):
    """The order of each step: the degree of its polynomial, which multipliers of mechanisms do not have."""
    n = sol.p.shape[1] if sol.model.mechanical else sol.x.shape[1]
    c = np.abs(sol.trajectory.coefficients[:, :, :n]).max(axis=2)
    return np.array([np.flatnonzero(row)[-1] for row in c])


def fixed_order(model, exact, t_end, h, order):
    """Steps of one size and one order from exact values at the start and before it."""
    method = da.Dassl(max_order=order, newton_limit=1e-13, newton_iterations=20)
    n = len(exact(0.0))
    stepper = stepper_of(method, model)
    stepper.start(0.0, exact(0.0), np.zeros(n), t_end, h)
    state = stepper.state
    past = np.array([exact(-j * h) for j in range(order + 1)])
    for j in range(order + 1):
        state.phi[j] = past[0]  # backward differences
        past = past[:-1] - past[1:]
    state.psi[: order + 1] = h * np.arange(1, order + 2)
    state.set(h_old=h, order_old=order, starting=0)
    for step in range(round(t_end / h)):
        state.set(h=h, order=order, max_steps=step + 1)
        assert stepper.advance() in (Status.TOO_MANY_STEPS, Status.DONE)
        assert state.order_old == order
    return np.abs(stepper.x - exact(t_end))


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_order_with_fixed_steps(order):
    """A DAE of index 1 with an exact solution: x = sin t, y = e^(−t), z = cos t."""
    model = da.QuasiLinearDAE(
        x=["x", "y", "z"],
        leading=[1, 1, 0],
        rhs=lambda s: [s.z, -s.y + s.x**2 + s.z**2 - 1, s.x**2 + s.z**2 + np.cos(s.t) * s.z - 1 - np.cos(s.t) ** 2],
    )
    errors = [
        fixed_order(model, lambda t: np.array([np.sin(t), np.exp(-t), np.cos(t)]), 1.0, 1 / n, order)
        for n in (20, 40, 80)
    ]
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(rates[-1] - order).max() < 0.2, rates


@pytest.mark.parametrize("formulation", ["index1", "index2", "ggl"])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_error_falls_with_the_steps_as_the_order_says(order, formulation):
    """Largest error over the interval against the number of steps, over many tolerances. Fewer steps are of order 5
    where tolerances are loose, so that its curve is steeper."""
    tolerances = np.geomspace(1e-4, 1e-7, 7) if order < 3 else np.geomspace(1e-5, 1e-10, 11)
    times = np.linspace(0, 3, 40)[1:]
    problem = da.problems.pendulum(start="hanging", v0=1.0, t_end=3.0)
    method = da.Dassl(formulation=formulation, max_order=order, newton_limit=1e-3, newton_iterations=10)
    reference = problem.simulate(rtol=1e-13, atol=1e-13, t_eval=times).x[:, :4]
    steps, errors = [], []
    for tol in tolerances:
        sol = problem.simulate(rtol=tol, atol=tol, method=method, t_eval=times)
        steps.append(sol.stats.accepted)
        errors.append(np.abs(sol.x[:, :4] - reference).max())
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order - 0.4 < slope < (order + 0.75 if order < 5 else 8), slope


def test_all_orders_are_used_and_max_order_is_kept():
    problem = da.problems.andrews()
    used = set(orders_of(problem.simulate(method=da.Dassl(), rtol=1e-8, atol=1e-8)).tolist())
    assert used == {1, 2, 3, 4, 5}
    steps = []
    for order in (1, 2, 3, 4, 5):
        sol = problem.simulate(method=da.Dassl(max_order=order), rtol=1e-5, atol=1e-5)
        assert orders_of(sol).max() == order
        steps.append(sol.stats.accepted)
    assert steps[0] > 3 * steps[1] > 3 * steps[2] > 3 * steps[3]


def test_work_grows_with_the_tolerance_as_the_order_says():
    """Steps ~ tolerance^(−1/(k + 1)) where the order is bounded by k."""
    model = da.QuasiLinearDAE(x=["x", "y"], rhs=lambda s: [s.y, -s.x])
    for order in (1, 2, 3):
        counts = [
            da.simulate(model, (0, 20), x0=[1, 0], method=da.Dassl(max_order=order), rtol=tol, atol=tol).stats.accepted
            for tol in (1e-4, 1e-4 / 4 ** (order + 1))
        ]
        assert 3.4 < counts[1] / counts[0] < 4.6


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_error_falls_with_the_tolerance(formulation):
    for name, last in (("andrews", 2e-6), ("car_axis", 5e-7), ("truck", 1e-8)):
        problem = da.problems.catalogue()[name]()
        errors = [
            problem.error(problem.simulate(method=da.Dassl(formulation=formulation), rtol=tol, atol=tol))
            for tol in (1e-4, 1e-6, 1e-8, 1e-10)
        ]
        assert all(later < earlier for earlier, later in itertools.pairwise(errors)), errors
        assert errors[-1] < last


def test_an_index_1_dae_with_a_singular_leading_matrix():
    """Robertson's reaction over many decades; conservation is the algebraic equation, met to the tolerance."""
    robertson = da.QuasiLinearDAE(
        x=["A", "B", "C"], leading=[1, 1, 0],
        rhs=lambda s: [-0.04 * s.A + 1e4 * s.B * s.C, 0.04 * s.A - 1e4 * s.B * s.C - 3e7 * s.B**2, s.A + s.B + s.C - 1],
    )  # fmt: skip
    sol = da.simulate(robertson, (0, 4e5), x0=[1, 0, 0], method="dassl", rtol=1e-7, atol=[1e-10, 1e-13, 1e-10])
    # two tight runs of Radau 5 agree on these to nine digits
    np.testing.assert_allclose(sol.x[-1], [4.938274e-03, 1.984994e-08, 9.950617e-01], rtol=2e-5)
    assert np.abs(sol.x.sum(axis=1) - 1).max() < 1e-8
    assert sol.stats.accepted < 1200


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_dense_output_is_as_accurate_as_the_steps(formulation):
    problem = da.problems.pendulum()
    sol = problem.simulate(method=da.Dassl(formulation=formulation), rtol=1e-8, atol=1e-8)
    middle = sol.at(0.5 * (sol.t[1:] + sol.t[:-1]))
    finer = problem.simulate(method=da.Radau5(), rtol=1e-12, atol=1e-12, t_eval=middle.t)
    at_points = problem.simulate(method=da.Radau5(), rtol=1e-12, atol=1e-12, t_eval=sol.t)
    between, at = np.abs(middle.p - finer.p).max(), np.abs(sol.p - at_points.p).max()
    assert between < 2 * at + 1e-7
    for k in (0, 3, -1):
        np.testing.assert_allclose(sol.at(sol.t[k]).p, sol.p[k], rtol=0, atol=1e-14)


def test_dense_output_is_continuous():
    sol = da.problems.andrews().simulate(method=da.Dassl(), rtol=1e-7, atol=1e-7)
    c = sol.trajectory.coefficients
    starts = sum((-1.0) ** k * c[:, k] for k in range(c.shape[1]))
    np.testing.assert_allclose(starts[1:, :14], c[:-1, 0, :14], rtol=1e-10, atol=1e-10)


def test_t_eval_gives_what_at_gives():
    problem = da.problems.car_axis()
    times = np.linspace(0, 3, 31)
    whole = problem.simulate(method="dassl", rtol=1e-7, atol=1e-7)
    for dense in (True, False):
        sol = problem.simulate(method="dassl", rtol=1e-7, atol=1e-7, t_eval=times, dense_output=dense)
        np.testing.assert_array_equal(sol.t, times)
        np.testing.assert_allclose(sol.p, whole.at(times).p, rtol=0, atol=1e-13)


# -- events and restarts -----------------------------------------------------------------------------------------------


def test_events_between_the_steps():
    problem = da.problems.pendulum(t_end=6.0)
    sol = problem.simulate(method=da.Dassl(), rtol=1e-10, atol=1e-10, events=lambda s: s.x)
    np.testing.assert_allclose(sol.events.t, np.arange(0.5, 6, 1), atol=2e-7)
    plain = problem.simulate(method=da.Dassl(), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(sol.t, plain.t)  # looking at events changes nothing


def test_terminal_event():
    problem = da.problems.pendulum(t_end=6.0)
    event = da.Event(lambda s: s.x, terminal=True, name="bottom")
    for tolerance, error in ((1e-6, 1e-4), (1e-9, 1e-6)):
        sol = problem.simulate(method=da.Dassl(), rtol=tolerance, atol=tolerance, events=event)
        assert sol.status == "terminated by event 'bottom'"
        assert sol.t[-1] == sol.events[0].t
        assert abs(sol.t[-1] - 0.5) < error
        assert abs(sol["x"][-1]) < 1e-13
        assert sol.max_residual("position") < 10 * tolerance


def test_restarts_after_impacts():
    """Impacts of a ball: the state jumps, order and step begin anew."""
    e, height = 0.8, 5.0
    model = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-10.0])
    event = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -e * s.y_dot}, name="floor")
    sol = da.simulate(model, (0, 6), p0=[height], events=event, method=da.Dassl(), rtol=1e-8, atol=1e-8)
    first = np.sqrt(2 * height / 10)
    impacts = first * (1 + 2 * np.cumsum([0, *(e ** np.arange(1, 5))]))
    np.testing.assert_allclose(sol.events.t, impacts[impacts < 6], atol=2e-6)
    restarted = np.searchsorted(sol.trajectory.t, sol.events.t, side="right")
    assert set(orders_of(sol)[restarted].tolist()) == {1}


def test_breakpoints_of_inputs():
    push = da.Input(lambda t: np.where(t < 1, 1.0, 0.0), breakpoints=[1.0])
    cart = da.EquationsOfMotion(p=["z"], inputs={"F": push}, mass=[1.0], force=lambda s: [s.F])
    sol = da.simulate(cart, (0, 2), p0=[0], method=da.Dassl(), rtol=1e-9, atol=1e-9)
    assert sol.p[-1, 0] == pytest.approx(1.5, abs=1e-7)
    assert 1.0 in np.round(sol.t, 12)


def test_backwards_in_time_returns_to_the_start():
    problem = da.problems.pendulum()
    there = problem.simulate(method="dassl", rtol=1e-10, atol=1e-10, t_eval=[1.3])
    back = da.simulate(problem.model, (1.3, 0), p0=there.p[-1], v0=there.v[-1], method="dassl", rtol=1e-10, atol=1e-10)
    assert (np.diff(back.t) < 0).all()
    np.testing.assert_allclose(back.p[-1], problem.p0, atol=1e-6)


def test_limits_of_the_steps():
    problem = da.problems.pendulum()
    sol = problem.simulate(method="dassl", first_step=1e-5, max_step=0.01)
    assert sol.t[1] == pytest.approx(1e-5)
    assert np.diff(sol.t).max() < 0.01 * (1 + 1e-9)
    with pytest.raises(da.TooManySteps, match="50 steps did not reach the end"):
        problem.simulate(method="dassl", max_steps=50)


def test_many_calls_of_the_kernel_give_one_result():
    """Long runs fill the buffer many times; the state survives between the calls."""
    problem = da.problems.heavy_top()
    sol = problem.simulate(method="dassl", rtol=1e-6, atol=1e-6)
    assert sol.stats.accepted > 5 * 512
    assert problem.error(sol) < 2e-3
    assert len(np.unique(sol.t)) == sol.stats.accepted + 1


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        dict(algebraic_errors="excluded"),
        dict(max_order=3),
        dict(newton_iterations=8),
        dict(newton_limit=1e-3),
        dict(matrix_range=0.1),
        dict(matrix_range=0.25),
        dict(initial_values="trust"),
        dict(initial_values="check"),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["andrews", "car_axis", "motor_pendulum"])
def test_every_option_solves(name, options):
    problem = da.problems.catalogue()[name]()
    sol = problem.simulate(method=da.Dassl(**options), rtol=1e-8, atol=1e-8)
    assert problem.error(sol) < (5e-4 if options.get("max_order") else 1e-4)


def test_options_have_the_effect_they_promise():
    problem = da.problems.car_axis()

    def stats(**options):
        return problem.simulate(method=da.Dassl(**options), rtol=1e-7, atol=1e-7).stats

    default = stats()
    assert stats(matrix_range=0.25).jacobian_evaluations < 0.8 * default.jacobian_evaluations
    assert stats(matrix_range=0.25).rhs_evaluations > default.rhs_evaluations
    assert stats(newton_limit=1e-5).rhs_evaluations > 1.2 * default.rhs_evaluations
    assert stats(algebraic_errors="excluded").accepted != default.accepted
    assert default.rhs_evaluations == default.back_substitutions
    assert default.jacobian_evaluations == default.decompositions < 0.1 * default.accepted
    assert default.linear_algebra_operations > 0


def test_full_errors_of_multipliers_are_possible_in_index_1_only():
    problem = da.problems.andrews()
    full = da.Dassl(formulation="index1", algebraic_errors="full")
    assert problem.error(problem.simulate(method=full, rtol=1e-8, atol=1e-8)) < 1e-3
    with pytest.raises(da.StepSizeTooSmall, match="'eta of lam"):
        problem.simulate(method=da.Dassl(formulation="ggl", algebraic_errors="full"), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(formulation="gll"), "did you mean 'ggl'"),
        (dict(formulation="index3"), "do not converge"),
        (dict(formulation="overdetermined"), "one of 'index1'"),
        (dict(max_order=6), "between 1 and 5"),
        (dict(max_order=0), "between 1 and 5"),
        (dict(algebraic_errors="scale"), "did you mean 'scaled'"),
        (dict(newton_iterations=1), "at least 2"),
        (dict(newton_limit=0.0), "must be positive"),
        (dict(matrix_range=0.99), "between 0 and 0.9"),
        (dict(initial_values="fix"), "correct"),
        (dict(order=3), "no option 'order'"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(da.OptionError, match=message):
        da.Dassl(**options)


def test_options_are_frozen_and_shown():
    with pytest.raises(dataclasses.FrozenInstanceError):
        da.Dassl().max_order = 3
    assert repr(da.Dassl(formulation="index1", max_order=3)) == "Dassl(formulation='index1', max_order=3)"


# -- failures ----------------------------------------------------------------------------------------------------------


def test_redundant_constraint_is_named():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1, 2 * (s.x**2 + s.y**2 - 1)], lam=["rod", "same rod"],
    )  # fmt: skip
    for formulation in FORMULATIONS:
        with pytest.raises(da.SingularMatrix, match=r"(same )?rod") as error:
            da.simulate(model, (0, 1), p0=[1, 0], method=da.Dassl(formulation=formulation))
        assert error.value.solution is not None


def test_functions_that_cannot_be_evaluated():
    model = da.QuasiLinearDAE(x=["height"], rhs=lambda s: [-np.sqrt(s.height) - 0.1])
    with pytest.raises(FunctionFailed, match=r"equation 1 cannot be evaluated.*beyond t = ") as error:
        da.simulate(model, (0, 10), x0=[1.0], method="dassl")
    assert 1 < error.value.solution.t[-1] < 2

    def broken(s):
        if float(s.t) > 0.5:
            raise RuntimeError("sensor lost")
        return [1.0]

    with pytest.warns(da.UntraceableWarning):
        model = da.QuasiLinearDAE(x=["z"], rhs=broken)
    with pytest.raises(FunctionFailed, match="RuntimeError: sensor lost"):
        da.simulate(model, (0, 1), x0=[0.0], method="dassl")


def test_a_solution_that_explodes():
    model = da.QuasiLinearDAE(x=["z"], rhs=lambda s: [s.z**2])
    with pytest.raises(da.SimulationError, match="'z'") as error:
        da.simulate(model, (0, 2), x0=[1.0], method="dassl")
    assert error.value.solution.t[-1] == pytest.approx(1.0, abs=1e-3)


def test_overdetermined_models_are_refused():
    circle = dict(rhs=lambda s: [s.b, -s.a], constraints=lambda s: [s.a**2 + s.b**2 - 1])
    model = da.QuasiLinearDAE(x=["a", "b"], **circle, hidden="given")
    with pytest.raises(da.ModelError, match="Odassl"):
        da.simulate(model, (0, 1), x0=[1, 0], method="dassl")


def test_large_dense_systems_use_lapack():
    problem = da.problems.pendulum_chain(N=10)
    reference = problem.simulate(method=da.Radau5(linear_solver=da.Dense()), rtol=1e-10, atol=1e-10)
    for formulation in ("index1", "ggl"):
        method = da.Dassl(formulation=formulation, linear_solver=da.Dense())
        sol = problem.simulate(method=method, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(sol.p[-1], reference.p[-1], atol=1e-4)


# -- explicit equations of motion --------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["ggl", "index2", "index1"])
@pytest.mark.parametrize("name", ["andrews", "car_axis", "heavy_top", "motor_pendulum"])
def test_explicit_form(name, formulation):
    problem = da.problems.catalogue()[name]()
    method = da.Dassl(formulation=formulation, form="explicit")
    system = method.formulate(problem.model)
    part = system.slices["v"]
    assert system.leading[part, part].is_constant()  # a mass matrix of one
    assert problem.error(problem.simulate(method=method, rtol=1e-9, atol=1e-9)) < 5e-5


def test_explicit_form_needs_a_mass_matrix():
    with pytest.raises(da.ModelError, match="no mass matrix"):
        da.simulate(
            da.QuasiLinearDAE(x=["z"], rhs=lambda s: [-s.z]), (0, 1), x0=[1.0], method=da.Dassl(form="explicit")
        )
    massless = da.EquationsOfMotion(p=["x", "y"], mass=[1, 0], force=[0, 1], holonomic=lambda s: [s.x - s.y])
    with pytest.raises(da.ModelError, match="is singular"):
        da.simulate(massless, (0, 1), p0=[0, 0], method=da.Dassl(form="explicit"))
    with pytest.raises(da.OptionError, match="did you mean 'explicit'"):
        da.Dassl(form="explict")


@pytest.mark.parametrize("limits", [dict(first_step=1e10), dict(first_step=1e-2, max_step=1e-5), dict(max_step=1e-7)])
@pytest.mark.parametrize("direction", [1, -1])
def test_the_first_error_is_that_of_the_first_step(limits, direction):
    """The differences have to be those of the step that is taken, not of a longer one that was asked for."""
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-s.x])
    span = direction * (1.0 if "max_step" not in limits else 1e-4)
    sol = da.simulate(model, (0, span), p0=[1.0], v0=[0.5], method="dassl", rtol=1e-7, atol=1e-7, **limits)
    exact = np.cos(span) + 0.5 * np.sin(span)
    assert abs(sol["x"][-1] - exact) < 1e-4
    first = sol.at(sol.trajectory.t[0])
    assert abs(first["x"] - np.cos(first.t) - 0.5 * np.sin(first.t)) < 1e-6


@pytest.mark.parametrize("implicit", [False, True])
def test_errors_of_unknowns_without_derivatives_can_be_excluded(implicit):
    """A pendulum of index 2: the error test of the multiplier would ask for ever smaller steps."""

    def rhs(s):
        return [s.vx, s.vy, -2 * s.x * s.L, -9.81 - 2 * s.y * s.L, s.x * s.vx + s.y * s.vy]

    names = ["x", "y", "vx", "vy", "L"]
    if implicit:
        model = da.ImplicitDAE(
            x=names, residual=lambda s: [f - d * rate for f, d, rate in zip(rhs(s), (1, 1, 1, 1, 0), s.dx, strict=True)]
        )
    else:
        model = da.QuasiLinearDAE(x=names, leading=[1, 1, 1, 1, 0], rhs=rhs)
    sol = da.simulate(
        model, (0, 2), x0=[1, 0, 0, 0, 0], method=da.Dassl(algebraic_errors="excluded"), rtol=1e-7, atol=1e-7
    )
    pendulum = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1]
    )
    exact = da.simulate(pendulum, (0, 2), p0=[1, 0], method=da.Geoms(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(sol.x[-1, :2], exact.p[-1], atol=1e-4)
    assert sol.stats.accepted < 1500


def test_a_residual_that_cannot_be_traced_does_not_tell_what_to_exclude():
    with pytest.warns(da.UntraceableWarning):
        model = da.ImplicitDAE(x=["a", "b"], residual=lambda s: [s.dx[0] + float(s.a), s.b - 1])
    with pytest.raises(da.ModelError, match="algebraic_errors='excluded' needs that"):
        da.simulate(model, (0, 1), x0=[1, 1], method=da.Dassl(algebraic_errors="excluded"))
