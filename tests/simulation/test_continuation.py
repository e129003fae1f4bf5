"""A simulation that was killed goes on from its checkpoint, and nobody can tell its result from one that was not."""

import json
import random

import numpy as np
import pytest

import dalembert as da
from dalembert.simulation import continuation
from dalembert.solution import container
from killing import assert_same, kill_again_and_again, timed

PENDULUM, ANDREWS = da.problems.pendulum(), da.problems.andrews()


def pendulum(**options):
    crossing = [da.Event(lambda s: s.x, name="below")]
    return da.simulate(PENDULUM.model, (0, 12), **PENDULUM.start(), events=crossing, **options)


def andrews(method):
    def call(**options):
        return da.simulate(ANDREWS.model, (0, 0.12), **ANDREWS.start(), method=method, rtol=1e-7, atol=1e-7, **options)

    return call


def breaking(**options):
    """Discrete variables, constraints that are released, an input with breakpoints."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], lam=["thread"], discrete={"swings": 0.0}, holonomic=lambda s: [s.x**2 + s.y**2 - 1],
        inputs={"wind": da.Input(lambda t: np.where(t < 4.0, 0.0, 0.3), breakpoints=[4.0])},
        force=lambda s: [s.wind, -9.81],
    )  # fmt: skip
    events = [
        da.Event(lambda s: s.x, action=lambda s: {"swings": s.swings + 1}, name="below"),
        da.Event(lambda s: s.t - 7.77, action=lambda s: da.Transition(active=[]), name="breaks"),
    ]
    return da.simulate(model, (0, 8), p0=[1, 0], events=events, **options)


def rebounds(**options):
    """Up to where they accumulate, and a little farther."""
    return da.problems.bouncing_ball(e=0.6, t_end=3.0).simulate(**options)


def clock(**options):
    """A hybrid DAE: a clock, relations, reinitialization."""
    model = da.modelica.load("""
        model Bounce
          Real h(start = 1, fixed = true); Real v(start = 0, fixed = true); discrete Real held(start = 0, fixed = true);
          Integer n(start = 0, fixed = true);
        equation
          der(h) = v; der(v) = -9.81;
          when sample(0.1, 0.13) then held = h + pre(held); end when;
          when h < 0 then n = pre(n) + 1; reinit(v, -0.8*pre(v)); end when;
        end Bounce;""")
    return da.simulate(model, (0, 2.5), rtol=1e-8, **options)


CASES = {
    "hybrid": clock,
    "events": pendulum,
    "few points": lambda **o: pendulum(t_eval=np.linspace(0, 12, 31), dense_output=False, **o),
    "some components": lambda **o: pendulum(t_eval=da.Output(per_step=2, components=["y", "lam"]), trace=True, **o),
    "Radau5": andrews("radau5"),
    "Geoms": andrews("geoms"),
    "Hem5": andrews("hem5"),
    "generated steps": andrews(da.Hem5(steps="generated")),
    "Dassl": andrews("dassl"),
    "rebounds": rebounds,
    "friction": lambda **o: da.problems.woodpecker().simulate(**o),
    "changes": breaking,
}


@pytest.mark.parametrize("case", CASES)
def test_going_on_gives_the_same_bits(until, tmp_path, case):
    call = CASES[case]
    plain = call()
    whole = until(call, tmp_path / "whole.h5")
    assert_same(plain, whole)
    count = until.count()
    assert count
    for most in {1, count // 3 + 1, count}:
        path = tmp_path / f"{most}.h5"
        assert until(call, path, most) is None
        assert da.Solution.load(path).status == "running"
        # killed again on the way, where there is one
        until(call, path, 1)
        assert_same(call(checkpoint=path), whole)
        loaded = da.Solution.load(path)
        assert_same(loaded, whole)
        assert_same(call(checkpoint=path), whole)  # from the file, as there is nothing left to do


class Trouble:
    """From outside: what a class has is no part of what a simulation was asked to do."""

    error, times = None, []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_interrupted_and_failed_runs_go_on(until, tmp_path, error):
    def fails(s):
        Trouble.times.append(float(s.t))
        if len(Trouble.times) == 4 and Trouble.error is not None:
            raise Trouble.error("enough")

    def call(**options):
        events = [da.Event(lambda s: s.x, name="below", action=fails)]
        return da.simulate(PENDULUM.model, (0, 12), **PENDULUM.start(), events=events, **options)

    path, Trouble.times = tmp_path / "run.h5", []
    whole = call()
    Trouble.error, Trouble.times = error, []
    with pytest.raises((da.Interrupted, da.SimulationError)):
        until(call, path)
    stopped = da.Solution.load(path)
    assert stopped.status in ("interrupted", "failed")
    assert stopped.events.t[-1] == Trouble.times[-1]  # what came after the last checkpoint is in the file, too
    Trouble.error, before = None, len(Trouble.times)
    assert_same(call(checkpoint=path), whole)
    assert Trouble.times[before] > Trouble.times[0]  # it did not begin anew


def test_more_steps_may_be_allowed(until, tmp_path):
    path, whole = tmp_path / "run.h5", pendulum()
    with pytest.raises(da.TooManySteps):
        until(lambda **o: pendulum(max_steps=300, **o), path)
    with pytest.raises(da.TooManySteps):
        pendulum(max_steps=310, checkpoint=path)
    assert_same(pendulum(checkpoint=path), whole)


OTHERS = {
    r"rtol \(1e-06 there, 1e-07 here\)": dict(rtol=1e-7),
    r"method \(Radau5\(\) there, Hem5\(\) here\)": dict(method="hem5"),
    "parameters is": dict(parameters={"m": 2.0}),
    "start values is": dict(p0=[0.0, -1.0]),
    "events is": dict(events=da.Event(lambda s: s.y)),
    "t_eval, dense_output": dict(t_eval=[1.0], dense_output=False),
    r"t_span \(\(0.0, 2.0\) there": dict(t_span=(0, 3)),
}


@pytest.mark.parametrize("what", OTHERS)
def test_checkpoints_of_other_simulations_are_refused_by_name(tmp_path, what):
    path = tmp_path / "run.h5"
    arguments = dict(model=PENDULUM.model, t_span=(0, 2), method="radau5", **PENDULUM.start())
    da.simulate(**arguments, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(da.FileError, match=f"another simulation: {what}.*delete the file"):
        da.simulate(**(arguments | OTHERS[what]), checkpoint=path)
    assert path.read_bytes() == before


def test_another_model_is_refused(tmp_path):
    def simulate(g):
        model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [-g * s.z])
        return da.simulate(model, (0, 1), p0=[1.0], checkpoint=tmp_path / "run.h5")

    one = simulate(1.0)
    assert_same(simulate(1.0), one)
    with pytest.raises(da.FileError, match="another simulation: model is not the same"):
        simulate(2.0)


def test_files_that_are_no_checkpoints_are_left_alone(tmp_path):
    sol, foreign, plain = PENDULUM.simulate(), tmp_path / "notes.h5", tmp_path / "result.h5"
    foreign.write_text("my notes")
    sol.save(plain)
    for path, why in ((foreign, "is not a result file"), (plain, "not of a simulation with checkpoint=")):
        before = path.read_bytes()
        with pytest.raises(da.FileError, match=why):
            PENDULUM.simulate(checkpoint=path)
        assert path.read_bytes() == before


def test_damaged_checkpoints_are_refused(until, tmp_path):
    path, rng = tmp_path / "run.h5", random.Random(5)
    until(pendulum, path, 3)
    whole = path.read_bytes()
    for _ in range(30):
        data = bytearray(whole)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        else:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        with pytest.raises(da.FileError):
            pendulum(checkpoint=path)


def test_what_nobody_has_signed_does_not_reach_a_kernel(until, tmp_path):
    path = tmp_path / "run.h5"
    until(pendulum, path, 3)
    content = container.Content(path)
    names = [name for name in content.description["arrays"] if name.startswith("continuation/")]
    arrays = {name: content.array({"dataset": name}).copy() for name in content.description["arrays"]}
    arrays[names[-1]].reshape(-1).view(np.uint8)[...] ^= 1
    description = {key: value for key, value in content.description.items() if key != "arrays"}
    container.write(path, json.loads(json.dumps(description)), arrays, {})
    assert da.Solution.load(path).status == "running"
    with pytest.raises(da.FileError, match="was not written by you on this machine"):
        pendulum(checkpoint=path)


def test_who_has_no_key_begins_anew(until, tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    monkeypatch.setattr(continuation.store, "sign", lambda *arguments: None)
    until(pendulum, path, 3)
    assert da.Solution.load(path).status == "running"
    assert_same(pendulum(checkpoint=path), pendulum())


def test_the_version_is_part_of_it(until, tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    until(pendulum, path, 1)
    monkeypatch.setattr(da, "__version__", "99.0")
    with pytest.raises(da.FileError, match=r"dalembert \(0.1.0 there, 99.0 here"):
        pendulum(checkpoint=path)
    monkeypatch.undo()
    monkeypatch.setattr(continuation, "VERSION", 99)
    with pytest.raises(da.FileError, match="goes on in another way"):
        pendulum(checkpoint=path)


def test_wrong_intervals():
    for every in (-1, "often", np.nan, np.inf, None):
        with pytest.raises(da.OptionError, match="number of seconds"):
            da.Checkpoint("run.h5", every=every)


RUNNING = """
import sys
import dalembert as da
from dalembert.simulation import checkpoint
checkpoint.SHARE = 0.0
problem = da.problems.pendulum()
events = [da.Event(lambda s: s.x, action=lambda s: None)]
problem.simulate(events=events)
print("ready", flush=True)
sol = da.simulate(problem.model, (0, float(sys.argv[3])), **problem.start(), events=events, max_steps=10**7,
                  checkpoint=da.Checkpoint(sys.argv[1], every=0.02))
sol.save(sys.argv[2])
"""


def kill_at_random(tmp_path, kills, seed, t_end):
    """Start a simulation again and again, and kill it, until it has survived."""
    path, result = tmp_path / "run.h5", tmp_path / "result.h5"
    events = [da.Event(lambda s: s.x, action=lambda s: None)]
    whole, seconds = timed(
        lambda: da.simulate(PENDULUM.model, (0, t_end), **PENDULUM.start(), events=events, max_steps=10**7)
    )
    reached = kill_again_and_again(
        RUNNING, (path, result, t_end), seconds, kills, seed,
        lambda: da.Solution.load(path).t[-1] if path.exists() else 0.0,
    )  # fmt: skip
    assert (np.diff(reached) >= 0).all()  # nothing is lost
    assert_same(da.Solution.load(result), whole)
    assert [entry.name for entry in tmp_path.glob(".*.tmp")] == []
    return reached


def test_killed_at_a_random_moment(tmp_path):
    kill_at_random(tmp_path, 1, 1, 600)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path):
    assert len(set(kill_at_random(tmp_path, 20, 7, 8000))) > 3
