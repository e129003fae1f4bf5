"""The trace of attempted steps: agrees with the statistics of every method, survives failures and files, reads well."""

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.solution import Solution, Trace
from dalembert.solution.trace import ENDING, FIRST, LAST, WORDS, Attempt
from dalembert.solvers.attempts import CAPACITY
from dalembert.solvers.status import ATTEMPT, BY_ERROR, Outcome

METHODS = {
    "radau5": da.Radau5(), "radau5 index3": da.Radau5(formulation="index3"),
    "radau5 updates": da.Radau5(newton_updates=2), "geoms": da.Geoms(), "geoms svd": da.Geoms(algebraic="svd"),
    "dassl": da.Dassl(), "dassl differences": da.Dassl(jacobian=da.GroupedDifferences()), "odassl": da.Odassl(),
    "hem5": da.Hem5(), "hem5 drift": da.Hem5(drift_limit=1e-7, projection="none"), "rkf45": da.Rkf45(),
    "mexx": da.Mexx(),
}  # fmt: skip
PROBLEMS = ("pendulum", "andrews", "car_axis")
NEWTON = ("radau5", "geoms", "dassl", "odassl")


def agrees(sol):
    """A row for each attempt that the statistics count."""
    trace, stats = sol.trace, sol.stats
    assert trace.counts.get("accepted", 0) == stats.accepted
    assert trace.error_rejections == stats.error_rejections
    assert trace.convergence_rejections == stats.convergence_rejections
    return True


def traced(name, method, **options):
    problem = da.problems.catalogue()[name]()
    options = {"rtol": 1e-5, "atol": 1e-5, "max_steps": 20_000} | options
    return da.simulate(problem.model, (0, min(problem.t_end, 0.5)), **problem.start(), method=method, **options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_trace_agrees_with_statistics(name, method):
    try:
        sol = traced(name, METHODS[method], trace=True)
    except da.SimulationError as error:  # drift that is not removed ends some runs
        sol = error.solution
        assert "drift" in method
    assert agrees(sol)
    trace, accepted = sol.trace, sol.trace.outcome == "accepted"
    np.testing.assert_array_equal(trace.t[accepted][1:], sol.trajectory.points()[0][1:-1][: accepted.sum() - 1])
    assert np.all(trace.error[accepted] <= 1)
    assert np.all(trace.error[trace.outcome == "error"] > 0)
    assert set(trace.worst[accepted]) <= set(sol.names)
    assert "" not in trace.worst[accepted] or name == "pendulum"  # where an error vanishes nothing is the largest
    if method.split()[0] in NEWTON:
        assert trace.iterations.sum() == sol.stats.back_substitutions
        assert trace.new_jacobian.sum() <= sol.stats.jacobian_evaluations
        assert trace.new_jacobian[0]
        assert trace.new_factors[0]
        many = trace.iterations[accepted] > 2
        assert np.all(trace.contraction[accepted][many] < 1)
    varies = {"dassl": 5, "odassl": 5, "mexx": 20}.get(method.split()[0])
    assert trace.order.max() == 0 if varies is None else 1 < trace.order.max() <= varies


@pytest.mark.parametrize("method", METHODS)
def test_tracing_changes_nothing(method):
    results = []
    for trace in (False, True):
        try:
            results.append(traced("andrews", METHODS[method], trace=trace, t_eval=[0.01, 0.02]))
        except da.SimulationError as error:
            results.append(error.solution)
    plain, watched = results
    assert plain.trace is None
    assert watched.trace is not None
    np.testing.assert_array_equal(plain.x, watched.x)
    assert plain.stats.accepted == watched.stats.accepted


@pytest.mark.parametrize("method", ["dassl", "radau5", "hem5"])
def test_more_attempts_than_a_kernel_keeps(method):
    """The rows are handed over before they are full, without an attempt being lost."""
    sol = da.problems.pendulum().simulate(
        method=METHODS[method], rtol=1e-6, atol=1e-6, max_step=0.5e-3, t_eval=[0, 1, 2], dense_output=False, trace=True
    )
    assert len(sol.trace) > CAPACITY
    assert agrees(sol)
    assert np.all(np.diff(sol.trace.t) >= 0)


@pytest.mark.parametrize("method", ["radau5", "dassl", "hem5", "mexx"])
def test_detours_to_events_are_not_attempts(method):
    """To repeat a step up to a root is not part of the statistics, nor of the trace."""
    down = da.Event(lambda s: s.y, name="down", action=lambda s: {"x_dot": 0.5 * s.x_dot, "y_dot": 0.5 * s.y_dot})
    pendulum = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1]
    )
    sol = da.simulate(pendulum, (0, 4), p0=[1, 0], v0=[0, 3], method=METHODS[method], events=down, trace=True)
    assert len(sol.events) > 1
    assert agrees(sol)


@pytest.mark.parametrize("method", ["radau5", "dassl", "hem5"])
def test_runs_that_share_records_have_traces_of_their_own(method):
    problem = da.problems.pendulum()
    runs = [problem.simulate(method=METHODS[method], trace=trace) for trace in (False, True, True, False, True)]
    assert [sol.trace is not None for sol in runs] == [False, True, True, False, True]
    for sol in runs:
        assert sol.trace is None or agrees(sol)
    np.testing.assert_array_equal(runs[1].trace.rows, runs[2].trace.rows)


@pytest.mark.parametrize("method", ["radau5", "geoms", "dassl", "hem5", "mexx"])
def test_a_trace_goes_on_when_the_system_changes(method):
    """A thread that goes slack: attempts without its force name the same variables as those with it."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], lam=["thread"], holonomic=lambda s: [(s.x**2 + s.y**2 - 1) / 2]
    )
    slack = da.Event(lambda s: s.thread, direction=-1, name="slack", action=lambda s: da.Transition(active=[]))
    sol = da.simulate(model, (0, 0.8), p0=[0, -1], v0=[6, 0], method=METHODS[method], events=slack, trace=True)
    assert len(sol.segments) == 2
    assert agrees(sol)
    assert set(sol.trace.worst) <= {*sol.names, "eta of thread", ""}
    later = sol.trace[sol.trace.t > sol.events[0].t]
    assert len(later) > 0
    assert "thread" not in set(later.worst)


def test_nothing_to_try():
    sol = da.simulate(da.problems.pendulum().model, (0, 0), **da.problems.pendulum().start(), trace=True)
    assert len(sol.trace) == 0


def test_a_failed_run_keeps_its_trace():
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [-9.81 * np.sqrt(s.z)])
    with pytest.raises(da.FunctionFailed) as caught:
        da.simulate(model, (0, 3), p0=[1], trace=True, method="radau5")
    trace = caught.value.solution.trace
    assert agrees(caught.value.solution)
    assert trace[-1].outcome == "not evaluable"
    assert np.isnan(trace[-1].error)


def test_an_exception_is_the_last_attempt():
    def force(s):
        if float(s.t) > 0.5:
            raise ValueError("no data")
        return [-float(s.z)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.UntraceableWarning)
        model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=force)
    with pytest.raises(da.FunctionFailed) as caught:
        da.simulate(model, (0, 1), p0=[1], trace=True)
    assert caught.value.solution.trace[-1].outcome == "stopped"
    assert agrees(caught.value.solution)


def test_trace_in_files(tmp_path):
    sol = traced("pendulum", da.Dassl(), trace=True)
    sol.save(tmp_path / "run.h5")
    loaded = Solution.load(tmp_path / "run.h5").trace
    np.testing.assert_array_equal(loaded.rows, sol.trace.rows)
    assert loaded.variables == sol.trace.variables
    traced("pendulum", da.Dassl()).save(tmp_path / "plain.h5")
    assert Solution.load(tmp_path / "plain.h5").trace is None


# -- by hand -----------------------------------------------------------------------------------------------------------


def row(t, outcome, **values):
    blank = {"order": 0, "error": np.nan, "worst": -1, "iterations": 0, "contraction": np.nan, "fresh": 0}
    given = blank | {"t": t, "h": 0.5, "outcome": outcome} | values
    return [float(given[name]) for name in ATTEMPT]


@pytest.fixture
def by_hand():
    return Trace(
        [
            row(0.0, Outcome.FINE, error=0.3, worst=1, iterations=2, contraction=0.01, fresh=3),
            row(0.5, Outcome.INACCURATE, error=7.0, worst=0, iterations=3, contraction=0.1, fresh=2),
            row(0.5, Outcome.DIVERGED, iterations=2, contraction=1.5, fresh=1),
        ],
        ["z", "z_dot"],
    )


def test_columns(by_hand):
    assert len(by_hand) == 3
    assert by_hand.outcome.tolist() == ["accepted", "error", "convergence"]
    assert by_hand.worst.tolist() == ["z_dot", "z", ""]
    assert by_hand.new_jacobian.tolist() == [True, False, True]
    assert by_hand.new_factors.tolist() == [True, True, False]
    assert by_hand.iterations.tolist() == [2, 3, 2]
    assert by_hand.counts == {"accepted": 1, "convergence": 1, "error": 1}


def test_sequence(by_hand):
    first, *rest = by_hand
    assert first == by_hand[0] == Attempt(0.0, 0.5, 0, "accepted", 0.3, "z_dot", 2, 0.01, True, True)
    assert len(rest) == 2
    assert by_hand[-1].t == 0.5
    assert len(by_hand[by_hand.outcome != "accepted"]) == len(by_hand[1:]) == 2
    with pytest.raises(IndexError):
        by_hand[3]


def test_text(by_hand):
    assert repr(by_hand) == "Trace(3 attempts: 1 accepted, 1 convergence, 1 error)"
    assert str(by_hand).splitlines()[1:] == [
        "     t          h  outcome      error  mostly in  iterations  contraction  new",
        "0    0  5.000e-01  accepted       0.3  z_dot               2         0.01  J LU",
        "1  0.5  5.000e-01  error            7  z                   3          0.1  LU",
        "2  0.5  5.000e-01  convergence                             2          1.5  J",
    ]
    assert repr(Trace([], ["z"])) == "Trace(0 attempts)"
    assert len(str(Trace([], ["z"])).splitlines()) == 2


def test_long_tables_are_cut_in_the_middle():
    rows = [row(k, Outcome.SINGULAR if k == 50 else Outcome.FINE, order=k) for k in range(100)]
    lines = str(Trace(rows, [])).splitlines()
    assert len(lines) == 2 + FIRST + 1 + LAST
    assert lines[2 + FIRST] == "… 40 attempts: 39 accepted, 1 singular …"
    assert lines[-1].split()[:4] == ["99", "99", "5.000e-01", "99"]


def test_every_outcome_has_a_word_and_a_counter():
    assert set(WORDS) == set(Outcome)
    assert len(set(WORDS.values())) == len(Outcome)
    assert not set(BY_ERROR) & set(ENDING)


def test_to_pandas(by_hand):
    pytest.importorskip("pandas")
    table = by_hand.to_pandas()
    assert list(table.columns) == list(Attempt._fields)
    assert table["outcome"].tolist() == by_hand.outcome.tolist()
    assert table["error"].isna().tolist() == [False, False, True]
