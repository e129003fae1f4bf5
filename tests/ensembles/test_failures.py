"""Members that fail do not disturb others, and say why; arguments that are wrong are refused by name."""

from __future__ import annotations

import copy
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from families import family

import dalembert as da
from dalembert.ensembles import cores

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")


def test_a_member_that_leaves_the_domain_of_a_function():
    """√(1 − x) with x = v t: members with v > 1 cannot be followed to the end."""
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [1e-20 * np.sqrt(1.0 - s.x)])
    speeds = np.array([0.5, 2.0, 0.25, 3.0, 0.75, 0.9, 0.1, 4.0, 0.3])
    found = da.ensemble(model, (0, 1), p0=[0.0], v0=speeds[:, None], device="cpu")
    fast = speeds > 1
    assert (found.success == ~fast).all()
    assert set(found.status[fast]) == {"not finite"}
    np.testing.assert_allclose(found.end.p[~fast, 0], speeds[~fast], rtol=1e-12)
    assert sorted(found.errors) == np.flatnonzero(fast).tolist()
    assert "cannot be evaluated" in found.errors[1]
    np.testing.assert_allclose(found.end.t[fast], 1 / speeds[fast], rtol=1e-4)  # as far as it went


def test_too_many_steps_in_some_members():
    given = family("pendulum", 8) | {"parameters": {"g": np.geomspace(1, 1e6, 8)}, "p0": np.array([1.0, 0.0])}
    found = da.ensemble(**given, device="cpu", max_steps=400)
    assert found.success[0]
    assert not found.success[-1]
    assert (found.status == "too many steps")[-1]
    assert found.accepted[-1] + found.rejected[-1] + found.failed[-1] == 400
    alone = da.ensemble(**{**given, "n": 1, "parameters": {"g": [1.0]}}, device="cpu")
    np.testing.assert_array_equal(found.end.p[0], alone.end.p[0])
    assert repr(found) == f"Ensemble({int(found.success.sum())} of 8 members, cpu)"


def test_start_values_that_cannot_be_found():
    """No position on the constraint: x² + y² = L² with L² < 0 after a parameter of one member."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], parameters={"square": 1.0},
        holonomic=lambda s: [s.x**2 + s.y**2 - s.square],
    )  # fmt: skip
    found = da.ensemble(model, (0, 1), p0=[1.0, 0.0], parameters={"square": [1.0, -1.0, 0.81]}, device="cpu")
    assert found.success.tolist() == [True, False, True]
    assert "InconsistentInitialValues" in found.errors[1]
    assert np.isnan(found.end.p[1]).all()
    np.testing.assert_allclose(found.end.p[2] @ found.end.p[2], 0.81, rtol=1e-12)


def test_too_many_irregular_members_for_simulate_have_no_result_either(monkeypatch):
    """What generated code makes of start values that it could not correct is nothing, whoever looks at it."""
    monkeypatch.setattr("dalembert.ensembles.carry.MOST_ALONE", 2)
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], parameters={"square": 1.0},
        holonomic=lambda s: [s.x**2 + s.y**2 - s.square],
    )  # fmt: skip
    squares = np.array([1.0, -1.0, 0.81, -1.0, -2.0, -3.0, 0.9])
    given = dict(p0=[1.0, 0.0], parameters={"square": squares}, events=da.Event(lambda s: s.x, name="lowest"))
    found = da.ensemble(model, (0, 1), **given, t_eval=[0.0, 1.0], device="cpu")
    words = found.status.tolist()
    assert words == ["finished", "failed", "finished", "failed", "irregular start", "irregular start", "finished"]
    assert found.success.tolist() == (squares > 0).tolist()
    assert np.isnan(found.p[~found.success]).all()
    assert np.isnan(found.end.t[~found.success]).all()
    assert not found.accepted[~found.success].any()
    assert not found.events["lowest"].count[~found.success].any()
    assert "solution(member) simulates this one" in found.errors[5]
    with pytest.raises(da.InconsistentInitialValues):
        found.solution(5)


def test_irregular_members_have_no_result_before_simulate_has_looked_at_them(monkeypatch):
    model = da.EquationsOfMotion(
        p=["x"], mass=[1], force=[0], parameters={"square": 1.0}, holonomic=lambda s: [s.x**2 - s.square]
    )

    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("dalembert.ensembles.carry.simulate", stop)
    with pytest.raises(da.Interrupted) as caught:
        da.ensemble(model, (0, 1), p0=[1.0], parameters={"square": [1.0, -1.0]}, device="cpu")
    partial = caught.value.solution
    assert partial.success.tolist() == [True, False]
    assert np.isnan(partial.end.p[1]).all()


def test_a_singular_position_is_left_to_simulate():
    """Two constraints that touch each other: generated code has no other pivots, but `simulate` has words."""
    model = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1.0, 1.0, 1.0], force=[0.0, -1.0, 0.0],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1, (s.x - 1.0) + s.y**2],
    )  # fmt: skip
    found = da.ensemble(model, (0, 0.1), p0=[1.0, 0.0, 0.0], n=3, device="cpu")
    assert not found.success.any()
    assert all("Singular" in text or "Ill" in text or "Inconsistent" in text for text in found.errors.values())


def test_a_jump_that_no_stage_sees_is_not_stepped_over():
    """The estimate of Hem5 leaves out the first stage; integrals of the step's polynomials do not."""
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], parameters={"F": 1.0}, force=lambda s: [s.F * (s.t > 0.3)])
    found = da.ensemble(model, (0, 1), p0=[0.0], parameters={"F": [1.0, 1e3]}, device="cpu", rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.end.p[:, 0], np.array([1.0, 1e3]) * 0.5 * 0.7**2, rtol=1e-5)
    sol = da.simulate(model, (0, 1), p0=[0.0], method="hem5", rtol=1e-8, atol=1e-8)
    assert (sol.stats.accepted, sol.stats.rejected) == (found.accepted[0], found.rejected[0])


PENDULUM = da.problems.pendulum().model


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(), "how many members are there"),
        (dict(n=0), "n=0 must be the number of members"),
        (dict(n=2.5), "n=2.5 must be the number"),
        (dict(parameters={"g": []}), "parameter .g. is empty"),
        (dict(p0=np.empty((0, 2))), "p0 is empty"),
        (dict(p0=[1.0, 0.0, 3.0], n=2), r"p0 has shape \(3,\)"),
        (dict(p0=np.ones((3, 2)), n=2), "p0 has values for 3 members, and n = 2"),
        (dict(parameters={"g": [1.0, 2.0]}, v0=np.zeros((3, 2))), "v0 has values for 3 members.*'g' has 2"),
        (dict(parameters={"gg": 1.0}, n=2), "there is no 'gg'; did you mean 'g'"),
        (dict(parameters={"g": [1.0, np.nan]}), "parameter 'g' of member 1 is nan"),
        (dict(parameters={"g": [1.0, 2.0]}, v0=np.array([[0, 0], [0, np.inf]])), "v0 of member 1 is inf"),
        (dict(parameters={"gg": 1.0, "g": [1.0, np.nan]}), "(?s)there is no 'gg'.*'g' of member 1 is nan"),
        (dict(parameters={"g": np.array([1, np.finfo(np.longdouble).max])}), "'g' of member 1 is inf"),
        (dict(p0=np.broadcast_to(1.0, (10**12, 2))), "p0 has 2000000000000 numbers: there are .* of memory"),
        (dict(parameters={"g": "heavy"}, n=2), "parameter 'g' is 'heavy'"),
        (dict(p0={"x": [1.0, 2.0], "z": 1.0}), "there is no 'z'"),
        (dict(p0={"x": [1.0, 2.0]}), "p0= is missing: start values for 'y'"),
        (dict(n=2, device="tpu"), "device='tpu' is unknown; did you mean 'gpu'"),
        (dict(n=2, method="radau5"), "integrates by Hem5, not by Radau5.*da.sweep"),
        (dict(n=2, method=da.Hem5(drift_limit=1e-9)), "no option drift_limit= of Hem5.*da.sweep"),
        (dict(n=2, events=da.Event(lambda s: s.x, action=lambda s: {})), "has an action.*da.sweep"),
        (dict(n=2, events=da.Event(lambda s: s.lam1)), "cannot read multipliers"),
        (dict(n=2, events=da.Event(lambda s: s.x, threshold=0.1)), "has a threshold"),
        (dict(n=2, t_eval=[0.0, 3.0]), "outside of the interval"),
        (dict(n=2, roots=0), "roots=0 must be a positive"),
        (dict(n=2, workers=0), "workers=0 must be a positive"),
        (dict(n=10**9), "would take .* of memory"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments, words):
    given = {"p0": [1.0, 0.0], "device": "cpu", **arguments}
    with pytest.raises(da.OptionError, match=words):
        da.ensemble(PENDULUM, (0, 1), **given)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: da.problems.cable_drum().model, "forces depend on multipliers"),
        (lambda: da.problems.motor_pendulum().model, "auxiliary variables w"),
        (
            lambda: da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-9.81], unilateral=lambda s: [s.y]),
            "it has contacts",
        ),
        (
            lambda: da.EquationsOfMotion(p=["y"], mass=[1.0], force=lambda s: [float(s.y) if s.y > 0 else 0.0]),
            "function force cannot be traced",
        ),
        (lambda: da.EquationsOfMotion(p=["y", "z"], mass=[1.0, 0.0], force=[0.0, 0.0]), "holds velocity 'z_dot'"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_models_without_generated_integrators_are_refused_with_the_reason(make, words):
    model = make()
    with pytest.raises(da.ModelError, match=words):
        da.ensemble(model, (0, 1), p0=np.ones(len(model.names("p"))), n=2, device="cpu")


def test_something_that_is_no_model():
    with pytest.raises(da.OptionError, match="needs a model"):
        da.ensemble("pendulum", (0, 1), n=2)


@pytest.mark.parametrize("t", [0.0, -2.5])
def test_an_interval_of_no_length(t, monkeypatch):
    monkeypatch.setattr("dalembert.ensembles.carry.simulate", None)  # it takes no help
    events = [da.Event(lambda s: s.y, name="horizontal"), da.Event(lambda s: s.t - t, name="now")]
    lengths = np.linspace(0.9, 1.1, 20)
    given = dict(p0=[1.0, 0.0], v0=[0.0, 0.3], parameters={"L": lengths}, t_eval=[t], events=events)
    found = da.ensemble(PENDULUM, (t, t), **given, multipliers=True, device="cpu")
    monkeypatch.undo()
    assert found.success.all()
    assert not found.accepted.any()
    assert (found.end.t == t).all()
    for i in (0, 7, 19):
        sol = da.simulate(PENDULUM, (t, t), **{**given, "parameters": {"L": lengths[i]}}, method="hem5")
        for name in ("p", "v", "lam"):
            np.testing.assert_allclose(getattr(found, name)[i, 0], getattr(sol, name)[0], rtol=1e-12)
            np.testing.assert_allclose(getattr(found.end, name)[i], getattr(sol, name)[0], rtol=1e-12)
        for event in events:
            assert found.events[event.name].count[i] == len(sol.events.named(event.name))


def test_interrupted_ensembles_keep_what_there_is(monkeypatch):
    monkeypatch.setattr(cores, "HOST_BLOCK", 8)
    given = family("pendulum", 400)
    da.ensemble(**given, device="cpu")

    def stop(done, of):
        if done > 40:
            raise KeyboardInterrupt

    with pytest.raises(da.Interrupted, match="of 400 members") as caught:
        da.ensemble(**given, device="cpu", workers=2, progress=stop)
    partial = caught.value.solution
    done = partial.success
    assert 40 < done.sum() < 400
    assert np.isfinite(partial.end.p[done]).all()
    assert np.isnan(partial.end.p[~done]).all()
    assert set(partial.status[~done]) == {"missing"}


def test_progress_is_told():
    told = []
    da.ensemble(**family("pendulum", 100), device="cpu", progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (100, 100)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_ensembles_in_threads_have_the_same_results():
    given = family("andrews", 24)
    first, others = da.ensemble(**given, device="cpu"), []
    threads = [threading.Thread(target=lambda: others.append(da.ensemble(**given, device="cpu"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(others) == 4
    for other in others:
        np.testing.assert_array_equal(other.end.v, first.end.v)


def test_other_values_need_no_other_code(monkeypatch):
    given = family("pendulum", 4)
    da.ensemble(**given, device="cpu")
    monkeypatch.setattr("dalembert.solvers.half.generated.program.Program._write", None)
    begun = time.perf_counter()
    da.ensemble(**{**given, "parameters": {k: 1.1 * v for k, v in given["parameters"].items()}}, device="cpu")
    assert time.perf_counter() - begun < 30  # it has been done at all


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals cannot be sent to threads")
def test_ctrl_c_does_not_wait_for_a_block():
    """Members that take minutes, all in one block."""
    given = family("andrews", 64)
    begun = 0.0

    def interrupt():
        nonlocal begun
        begun = time.perf_counter()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(1.0, interrupt)
    timer.start()
    with pytest.raises(da.Interrupted, match="after 0 of 64 members"):
        da.ensemble(**given, device="cpu", max_step=1e-9, max_steps=10**9)
    assert time.perf_counter() - begun < 5  # and not an hour
    assert da.ensemble(**given, device="cpu").success.all()


def test_errors_are_a_mapping():
    found = da.ensemble(PENDULUM, (0, 1), p0=[1.0, 0.0], n=3, device="cpu", max_steps=2)
    assert 2 in found.errors
    assert list(found.errors) == [0, 1, 2]
    for key in (3, -1, "a", None, 1.5):
        assert key not in found.errors
        assert found.errors.get(key) is None
    for ask in (found.ended_by, found.solution):
        with pytest.raises(da.OptionError, match="member=7 must be a number below 3"):
            ask(7)
    assert found.ended_by(-1) is None


def test_words_for_members():
    found = da.ensemble(PENDULUM, (0, 1), p0=[1.0, 0.0], parameters={"g": [1.0, 1e9]}, device="cpu", max_steps=200)
    assert found.status[0] == "finished"
    assert [word for word in found.status if word != "finished"] == ["too many steps"]
    assert (found.status == ["finished", "too many steps"]).all()
    assert np.isin(found.status, ["finished"]).tolist() == found.success.tolist() == [True, False]


def test_which_event_has_ended_a_member():
    """With more roots than there is room for, and with another event at the same time."""
    spring = da.EquationsOfMotion(p=["x"], mass=[1.0], parameters={"k": 1.0}, force=lambda s: [-s.k * s.x])
    given = dict(p0=[0.1], parameters={"k": [1.0, 2.0, 4.0]}, device="cpu")
    rare = da.Event(lambda s: s.x_dot, name="rare", direction=1)
    often = da.Event(lambda s: s.x, name="often", terminal=20)
    found = da.ensemble(spring, (0, 200), **given, events=[rare, often])
    assert [found.ended_by(i) for i in range(3)] == ["often"] * 3
    recorded, ends = da.Event(lambda s: s.x, name="recorded"), da.Event(lambda s: s.x, name="ends", terminal=True)
    never = da.Event(lambda s: s.x - 1.0, name="never", terminal=True)
    found = da.ensemble(spring, (0, 3), **given, events=[recorded, never, ends])
    assert [found.ended_by(i) for i in range(3)] == ["ends"] * 3
    assert found.events["recorded"].count.tolist() == [1] * 3


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_results_travel(again):
    event = da.Event(lambda s: s.x, name="lowest")
    given = family("pendulum", 5) | {"max_steps": 1000, "events": event, "t_eval": [0.5, 1.0]}
    found = da.ensemble(**given, device="cpu")
    other = again(found)
    np.testing.assert_array_equal(other.p, found.p)
    np.testing.assert_array_equal(other.status, found.status)
    np.testing.assert_array_equal(other.events["lowest"].t, found.events["lowest"].t)
    assert dict(other.errors) == dict(found.errors)
    np.testing.assert_array_equal(other.solution(3).x, found.solution(3).x)


def test_memory_for_blocks_is_counted(monkeypatch):
    """A member has the company of others in vectors, and each thread has a block."""
    given = dict(p0=[1.0, 0.0], device="cpu", t_eval=np.linspace(0, 1, 1001))
    alone = da.ensemble(PENDULUM, (0, 1), n=1, **given)
    each = 8 * 1001 * 4  # at least
    monkeypatch.setattr(cores, "memory", lambda: 5.0 * each)
    with pytest.raises(da.OptionError, match=r"at a time, which takes .* ask for fewer output times"):
        da.ensemble(PENDULUM, (0, 1), n=1, **given)
    for members in (20, 40, 400):  # fewer threads, and smaller blocks
        monkeypatch.setattr(cores, "memory", lambda members=members: 1.2 * each * members)
        found = da.ensemble(PENDULUM, (0, 1), n=members // 2, workers=3, **given)
        np.testing.assert_array_equal(found.p[-1], alone.p[0])


def test_values_of_numbers_as_inputs_need_no_other_code(monkeypatch):
    from dalembert.compile import jit

    model = da.EquationsOfMotion(
        p=["x"], mass=[1.0], inputs={"u": 0.0, "push": lambda t: np.sin(t)}, force=lambda s: [-s.x + s.u + s.push]
    )
    builds, build = [], jit.build  # ports of functions have code of their own
    monkeypatch.setattr(jit, "build", lambda *given, **how: builds.append(how.get("exports")) or build(*given, **how))
    for value in (1.0, 2.5, -3.0):
        found = da.ensemble(model, (0, 1), p0=[1.0], inputs={"u": value}, n=2, device="cpu")
        for method in ("hem5", da.Hem5(steps="generated")):
            sol = da.simulate(model, (0, 1), p0=[1.0], inputs={"u": value}, method=method)
            np.testing.assert_allclose(found.p[1], sol.p[-1], rtol=0, atol=1e-12)
        if value == 1.0:
            builds.clear()
    assert not {("start", "integrate"), ("step", "ready")} & set(builds)
