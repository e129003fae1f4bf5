"""The shell of a step: weights, norm, limits of the step size, the failure handler, and its caps in every family."""

import warnings

import numba as nb
import numpy as np
import pytest
from steps import stepper_of

import dalembert as da
from dalembert.compile.kernel import kernel
from dalembert.compile.memory import reference
from dalembert.solvers import shell, status
from dalembert.solvers.bdf import core as bdf
from dalembert.solvers.half import core as half
from dalembert.solvers.half.mexx_kernel import STATE as MEXX
from dalembert.solvers.radau.state import STATE as RADAU
from dalembert.solvers.status import GO_ON, Count, Outcome, Status

STATE = reference(bdf.STATE)
FAMILIES = {"radau": RADAU, "bdf": bdf.STATE, "half": half.half_layout(), "mexx": MEXX}


@kernel(nb.int64(STATE))
def weigh(states):
    shell.set_weights(states[0])
    return 0


@kernel(nb.float64(nb.float64[::1], nb.float64[::1], nb.int64, nb.int64))
def norm(values, scale, n, members):
    return shell.scaled_norm(values, scale, n, members)


@kernel(nb.int64(STATE, nb.float64))
def limit(states, h):
    shell.limit_step(states[0], h)
    return states[0].last


@kernel(nb.boolean(STATE, nb.float64, nb.float64))
def too_small(states, part, unit):
    return shell.step_too_small(states[0], part, unit)


@kernel(nb.int64(STATE, nb.int64))
def fail(states, outcome):
    return shell.fail(states[0], outcome)


def record(n=3, **scalars):
    state = bdf.new_state(n, n, np.ones(n, int), 1, 5)
    state.set(max_step=np.inf, **scalars)
    return state


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_fields_of_the_shell(family):
    fields = {*shell.ARRAYS, *shell.REALS, *shell.WHOLES, *shell.FLAGS}
    assert fields <= set(FAMILIES[family].names)


@pytest.mark.parametrize("flags", [bdf.FLAGS, half.FLAGS])
def test_a_start_clears_what_counts_failures(flags):
    assert set(shell.FLAGS) <= set(flags)


def test_codes_are_in_order_and_apart():
    for codes in (Status, Outcome, Count):
        assert [int(code) for code in codes] == list(range(len(codes)))
    assert GO_ON not in list(Status)
    assert [Outcome.FINE, Outcome.CANNOT_EVALUATE, Outcome.STOPPED] == [0, 1, 2]  # answers of ports


def test_a_weight_is_what_an_error_may_be():
    state = record()
    state.x[:], state.atol[:], state.rtol[:] = [1, -20, 0], [1e-3, 1e-6, 1e-9], [1e-2, 1e-1, 1]
    weigh(state.record)
    np.testing.assert_allclose(state.weight, [1.1e-2, 2.000001, 1e-9], rtol=1e-15)


def test_the_weight_means_the_same_in_every_family():
    problem, tolerance = da.problems.pendulum(), 1e-5
    for method in (da.Hem5(), da.Mexx(), da.Dassl(), da.Odassl()):
        x, weight = weights_after(problem, method, tolerance)
        np.testing.assert_allclose(weight, tolerance + tolerance * np.abs(x), rtol=1e-14)
    for method in (da.Radau5(), da.Geoms()):  # with internal tolerances
        x, weight = weights_after(problem, method, tolerance)
        inner = 0.1 * tolerance ** (2 / 3)
        np.testing.assert_allclose(weight, inner + inner * np.abs(x), rtol=1e-14)


def weights_after(problem, method, tolerance):
    """At the end of a run in one piece: state, and weights in the record."""
    stepper = stepper_of(method, problem.model, tolerance, max_steps=100_000)
    initial = da.consistent_initial_values(problem.model, **problem.start())
    stepper.start(0.0, *method.formulate(problem.model).start(initial), 0.05, None)
    assert stepper.advance() == Status.DONE
    return stepper.x, stepper.state.weight


def test_norm_is_the_root_mean_square_of_what_is_looked_at():
    values, scale = np.array([3.0, -4.0, 1e9]), np.array([2.0, 1.0, 0.0])
    assert norm(values, scale, 3, 2) == pytest.approx(np.sqrt((36 + 16) / 2), rel=1e-15)
    assert norm(values, scale, 2, 2) == norm(values, scale, 3, 2)
    assert np.isnan(norm(np.array([np.nan]), np.ones(1), 1, 1))


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize(
    ("h", "limits", "expected", "last"),
    [
        (0.5, {}, 0.5, 0),
        (0.5, {"max_step": 0.2}, 0.2, 0),
        (0.5, {"min_step": 0.7}, 0.7, 0),
        (-0.5, {}, 0.5, 0),  # the direction is that of the interval
        (3.0, {}, 2.0, 1),
        (2.0, {}, 2.0, 1),
        (2.0 / 1.00005, {}, 2.0, 1),  # nothing worth a step would be left
        (2.0 / 1.0002, {}, 2.0 / 1.0002, 0),
        (5.0, {"max_step": 1.0, "min_step": 0.1}, 1.0, 0),
    ],
)
def test_limits_of_the_step_size(h, limits, expected, last, direction):
    state = record(t=1.0, t_end=1.0 + 2.0 * direction, last=1 - last)
    state.set(**limits)
    assert limit(state.record, h) == last
    assert state.h == expected * direction


def test_steps_that_are_too_small():
    unit = np.finfo(float).eps
    assert not too_small(record(t=1.0, h=10.1 * unit).record, 0.1, unit)
    assert too_small(record(t=1.0, h=9.9 * unit).record, 0.1, unit)
    assert not too_small(record(t=0.0, h=1e-130).record, 0.1, unit)
    assert too_small(record(t=0.0, h=1e-150).record, 0.1, unit)


# -- the failure handler -----------------------------------------------------------------------------------------------

CAPS = {
    Outcome.INACCURATE: (shell.MOST_ERROR_FAILURES, Status.ERROR_FAILURES),
    Outcome.DRIFTED: (shell.MOST_ERROR_FAILURES, Status.ERROR_FAILURES),
    Outcome.FAR_FROM_CONSTRAINTS: (shell.MOST_ERROR_FAILURES, Status.ERROR_FAILURES),
    Outcome.DIVERGED: (shell.MOST_CONVERGENCE_FAILURES, Status.CONVERGENCE_FAILURES),
    Outcome.SLOW: (shell.MOST_CONVERGENCE_FAILURES, Status.CONVERGENCE_FAILURES),
    Outcome.NOT_PROJECTED: (shell.MOST_CONVERGENCE_FAILURES, Status.CONVERGENCE_FAILURES),
    Outcome.CANNOT_EVALUATE: (shell.MOST_EVALUATION_FAILURES, Status.EVALUATION_FAILURES),
    Outcome.SINGULAR: (shell.MOST_SINGULAR_FAILURES, Status.SINGULAR),
    Outcome.STOPPED: (1, Status.PORT_FAILED),
    Outcome.CANNOT_START: (1, Status.NOT_FINITE),
    Outcome.RANK_LOST: (1, Status.RANK_DEFICIENT),
}


def test_every_outcome_but_success_has_a_cap():
    assert set(CAPS) == set(Outcome) - {Outcome.FINE}


@pytest.mark.parametrize("outcome", CAPS, ids=[outcome.name for outcome in CAPS])
def test_a_cap_ends_the_run_with_a_status_that_names_the_cause(outcome):
    most, code = CAPS[outcome]
    state = record(last=1)
    assert [fail(state.record, outcome) for _ in range(most)] == [GO_ON] * (most - 1) + [code]
    assert state.why == outcome
    assert state.last == 0
    counted = state.count[Count.ERROR_REJECTIONS], state.count[Count.CONVERGENCE_REJECTIONS]
    by_error = outcome in status.BY_ERROR
    assert counted == ((0, 0) if most == 1 else (most, 0) if by_error else (0, most))


def test_failures_are_counted_by_reason():
    state = record()
    for outcome in (Outcome.INACCURATE, Outcome.DIVERGED, Outcome.CANNOT_EVALUATE) * 50:
        assert fail(state.record, outcome) == GO_ON
    assert (state.error_failures, state.convergence_failures, state.evaluation_failures) == (50, 50, 50)


# -- models that always fail -------------------------------------------------------------------------------------------

# errors and increments of variables of index 1 do not become smaller with the step
METHODS = {
    "radau5": da.Radau5(formulation="index1"), "geoms": da.Geoms(), "dassl": da.Dassl(formulation="index1"),
    "hem5": da.Hem5(), "rkf45": da.Rkf45(), "mexx": da.Mexx(),
}  # fmt: skip
IMPLICIT = ("radau5", "dassl")
MISSED = f"{shell.MOST_ERROR_FAILURES} attempts in a row missed the tolerance"


def failing(model, method, error, message, **start):
    """A run from t = 0, where every step size can be resolved; returns what was computed."""
    with pytest.raises(error, match=message) as caught:
        da.simulate(model, (0, 1), method=METHODS[method], trace=True, **start)
    return caught.value.solution


def quietly(**parts):
    """A mass point whose functions cannot all be traced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.UntraceableWarning)
        return da.EquationsOfMotion(p=["z"], mass=[1.0], **parts)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "dassl"])
def test_errors_that_no_step_size_makes_smaller(method):
    """z'' = 1/t from t = 0: the velocity grows by the same amount over each step, however short it is."""
    model = quietly(force=lambda s: [1 / float(s.t) if float(s.t) > 0 else 0.0])
    sol = failing(model, method, da.StepSizeTooSmall, rf"{MISSED} at t = 0,.*'z_dot'", p0=[0])
    assert sol.stats.accepted == 0
    assert sol.stats.error_rejections == shell.MOST_ERROR_FAILURES == sol.trace.counts["error"]
    assert len(sol.trace) < shell.MOST_ERROR_FAILURES + 20


def test_jumps_of_an_algebraic_variable():
    """Its error does not become smaller; DASSL's error constant does, in proportion to the step."""
    model = quietly(w=["F"], force=[0], auxiliary=lambda s: [s.F - 1e80 * np.tanh(1e200 * s.t)])
    sol = failing(model, "dassl", da.StepSizeTooSmall, rf"{MISSED} at t = 0,.*'F'", p0=[0])
    assert sol.trace.counts == {"error": shell.MOST_ERROR_FAILURES}


@pytest.mark.parametrize("method", METHODS)
def test_functions_that_cannot_be_evaluated_beyond_the_start(method):
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [np.sqrt(-s.t)])
    sol = failing(model, method, da.FunctionFailed, "equation of motion of 'z_dot' .*beyond t = 0 .*no step", p0=[0])
    assert sol.trace.counts == {"not evaluable": shell.MOST_EVALUATION_FAILURES}


@pytest.mark.parametrize("method", IMPLICIT)
def test_iterations_that_never_converge(method):
    """The root of an arcus tangens jumps away, so that Newton's method overshoots or creeps."""
    model = quietly(
        w=["F"], force=[0], auxiliary=lambda s: [np.arctan(float(s.F) - (100.0 if float(s.t) > 0 else 0.0))]
    )
    most = shell.MOST_CONVERGENCE_FAILURES
    sol = failing(model, method, da.StepSizeTooSmall, rf"{most} attempts in a row failed.*Newton's method", p0=[0])
    assert sol.stats.convergence_rejections == most
    assert sol.stats.accepted == sol.stats.error_rejections == 0


@pytest.mark.parametrize("method", IMPLICIT)
def test_matrices_that_are_always_singular(method):
    model = da.QuasiLinearDAE(x=["a", "b"], leading=[1, 0], rhs=lambda s: [-s.a, s.a - 1], hidden="given")
    trusting = type(METHODS[method])(initial_values="trust")
    with pytest.raises(da.SingularMatrix, match="'b'") as caught:
        da.simulate(model, (0, 1), method=trusting, trace=True, x0=[1, 0])
    assert caught.value.solution.trace.counts == {"singular": shell.MOST_SINGULAR_FAILURES}
