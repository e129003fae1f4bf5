"""Steps that go to the disk as they come: the same bits, whatever happens on the way, and little memory."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import dalembert as da
from dalembert.solution import files
from dalembert.solution.spool import Spool, checked, folder_of
from killing import assert_same, kill_again_and_again, timed

PENDULUM, ANDREWS = da.problems.pendulum(), da.problems.andrews()


def spooled(path, **options):
    return da.Checkpoint(path, spool=True, **options)


def swinging(t_end=12, **options):
    crossing = [da.Event(lambda s: s.x, name="below")]
    return da.simulate(PENDULUM.model, (0, t_end), **PENDULUM.start(), events=crossing, **options)


def jumping(**options):
    """Velocities jump, discrete variables change, the constraint is released, an input has a breakpoint."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], lam=["thread"], discrete={"swings": 0.0}, holonomic=lambda s: [s.x**2 + s.y**2 - 1],
        inputs={"wind": da.Input(lambda t: np.where(t < 4.0, 0.0, 0.3), breakpoints=[4.0])},
        force=lambda s: [s.wind, -9.81],
    )  # fmt: skip
    events = [
        da.Event(lambda s: s.x, action=lambda s: {"swings": s.swings + 1, "v": [-0.9 * s.x_dot, -0.9 * s.y_dot]}),
        da.Event(lambda s: s.t - 7.77, action=lambda s: da.Transition(active=[])),
    ]
    return da.simulate(model, (0, 8), p0=[1, 0], events=events, **options)


def andrews(method, **options):
    return da.simulate(ANDREWS.model, (0, 0.12), **ANDREWS.start(), method=method, rtol=1e-7, atol=1e-7, **options)


CASES = {
    "events": swinging,
    "jumps": jumping,
    "impacts": lambda **o: da.problems.bouncing_ball(e=0.6, t_end=3.0).simulate(**o),
    "some components": lambda **o: swinging(t_eval=da.Output(per_step=2, components=["y", "lam"]), trace=True, **o),
    "backwards": lambda **o: da.simulate(PENDULUM.model, (20, 0), **PENDULUM.start(), method="hem5", **o),
    "multipliers that wait": lambda **o: andrews("geoms", **o),
    "many orders": lambda **o: andrews("dassl", **o),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits(until, tmp_path, case):
    call, path = CASES[case], tmp_path / "run.h5"
    plain = call()
    whole = until(call, path, spool=True)
    count = until.count()
    assert_same(whole, plain)
    times = np.linspace(*plain.trajectory.interval, 200)
    np.testing.assert_array_equal(whole.at(times).x, plain.at(times).x)
    loaded = da.Solution.load(path)
    assert_same(loaded, plain)
    np.testing.assert_array_equal(loaded.at(times).x, plain.at(times).x)
    assert_same(call(checkpoint=spooled(path)), plain)  # from the file
    for most in {1, count // 2 + 1}:
        path = tmp_path / f"{most}.h5"
        assert until(call, path, most, spool=True) is None
        partial = da.Solution.load(path)
        assert partial.status == "running"
        np.testing.assert_array_equal(partial.t, plain.t[: len(partial.t)])
        until(call, path, 1, spool=True)
        assert_same(call(checkpoint=spooled(path)), plain)
        assert_same(da.Solution.load(path), plain)


def test_steps_stay_where_they_are(tmp_path):
    """Arrays of a result look into the files, and the file beside them is small."""
    path = tmp_path / "run.h5"
    sol = da.simulate(PENDULUM.model, (0, 100), **PENDULUM.start(), checkpoint=spooled(path))
    for one in (sol, da.Solution.load(path, PENDULUM.model)):
        assert np.shares_memory(one.x, one.trajectory.coefficients)
        assert np.shares_memory(one["y"], one.x)
        assert not one.x.flags.writeable
        assert one.max_residual("position") < 1e-5
    folder = folder_of(path)
    steps = len(sol.t) * 8 * (2 + sol.trajectory.coefficients[0].size)
    assert path.stat().st_size < 60_000 < steps <= sum(entry.stat().st_size for entry in folder.iterdir())
    np.testing.assert_array_equal(np.fromfile(folder / "t"), sol.t)  # anybody can read them
    copy = sol.save(tmp_path / "copy.h5")
    shutil.rmtree(folder)
    assert_same(da.Solution.load(copy), sol)


def test_memory_is_that_of_a_block(tmp_path):
    def call(t_end, **options):
        return da.simulate(
            PENDULUM.model, (0, t_end), **PENDULUM.start(), method="hem5", max_step=0.002, max_steps=10**6, **options
        )

    call(1.0)

    def peak(**options):
        tracemalloc.start()
        try:
            sol = call(160.0, **options)
            return tracemalloc.get_traced_memory()[1], sol
        finally:
            tracemalloc.stop()

    most, sol = peak(checkpoint=spooled(tmp_path / "run.h5"))
    data = sol.trajectory.coefficients.nbytes
    usual, _ = peak()
    assert data > 17e6
    assert usual > data
    assert most < 0.9 * data  # blocks of 4 MB, in two copies, and what a simulation needs anyway


# -- the folder --------------------------------------------------------------------------------------------------------


def rows_of(count, rows, n=3, seed=0):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.uniform(0.1, 1, count)), rng.uniform(0.1, 1, count), rng.normal(size=(count, rows, n))


def test_a_method_with_more_rows_takes_over(tmp_path, monkeypatch):
    monkeypatch.setattr("dalembert.solution.spool.BLOCK", 1000)
    path = tmp_path / "run.h5"
    t, h, c = rows_of(90, 5)
    c[:50, 3:] = 0.0
    spool = Spool(path, 3)
    spool.begin(0.0, np.ones(3))
    for first in range(0, 50, 7):
        part = slice(first, min(first + 7, 50))
        spool.append(t[part], h[part], c[part, :3])
    before = spool.content()
    spool.append(t[50:], h[50:], c[50:])
    content = spool.content()
    np.testing.assert_array_equal(before.c[1:], c[:50, :3])  # those who look at it still can
    assert sorted(os.listdir(folder_of(path))) == ["c3", "c5", "h", "lock", "sums3", "sums5", "t"]
    for found in (content, checked(path, content.extent)):
        np.testing.assert_array_equal(found.t, [0.0, *t])
        np.testing.assert_array_equal(found.h, [0.0, *h])
        np.testing.assert_array_equal(found.c[1:], c)
        np.testing.assert_array_equal(found.c[0], [[1, 1, 1], *np.zeros((4, 3))])
    checked(path, before.extent)  # what the last checkpoint speaks of is there
    spool.saved()
    assert sorted(os.listdir(folder_of(path))) == ["c5", "h", "lock", "sums5", "t"]
    spool.close()
    for steps in (90, 89, 50, 1, 0):  # going on from anywhere gives the same
        spool = Spool(path, 3, content.extent, steps)
        assert spool.steps == steps
        spool.append(t[steps:], h[steps:], c[steps:])
        content = spool.content()
        spool.close()
        np.testing.assert_array_equal(checked(path, content.extent).c[1:], c)


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run.h5"
    swinging(2, checkpoint=spooled(path))
    return path


@pytest.mark.parametrize("name", ["t", "h", "c6", "sums6"])
def test_damage_is_seen(run, name):
    file = folder_of(run) / name
    content = file.read_bytes()
    other = bytearray(content)
    other[len(content) // 2] ^= 4
    for damaged in (content[:-1], b"", bytes(other)):
        file.write_bytes(damaged)
        for read in (lambda: da.Solution.load(run), lambda: swinging(2, checkpoint=spooled(run))):
            with pytest.raises(da.FileError, match=r"are damaged: .* Take a copy, or simulate again"):
                read()
    file.write_bytes(content + b"what a killed process has appended")
    assert da.Solution.load(run).success
    file.unlink()
    with pytest.raises(da.FileError, match=rf"its steps, '.*{name}', are missing"):
        da.Solution.load(run)


def test_a_folder_that_is_missing_or_of_another_run(run, tmp_path):
    other = tmp_path / "other.h5"
    swinging(3, checkpoint=spooled(other))
    shutil.rmtree(folder_of(run))
    with pytest.raises(da.FileError, match=r"its steps, '.*run.h5.steps', are missing"):
        da.Solution.load(run)
    shutil.copytree(folder_of(other), folder_of(run))
    with pytest.raises(da.FileError, match="are damaged"):
        da.Solution.load(run)
    run.unlink()
    assert_same(swinging(2, checkpoint=spooled(run)), swinging(2))  # anew, in spite of what lies there


@pytest.mark.parametrize("forged", [{"steps": -1}, {"steps": 2**60}, {"rows": "6"}, {"n": 10**9}, {"sums": 3}])
def test_forged_extents(run, forged, monkeypatch):
    from dalembert.solution import storage

    extent, write = da.Solution.load(run).trajectory.extent, storage.Writer._trajectory
    monkeypatch.setattr(storage.Writer, "_trajectory", lambda *args: write(*args) | {"spooled": vars(extent) | forged})
    da.Solution.load(run).save(run)
    with pytest.raises(da.FileError):
        da.Solution.load(run)


@pytest.mark.parametrize(("t", "h"), [([1, 3, 2], [1, 2, 1]), ([1, 2, 3], [1, -1, 1]), ([1, 1, 2], [1, 1, 1])])
def test_forged_times(tmp_path, t, h):
    spool = Spool(tmp_path / "run.h5", 1)
    spool.begin(0.0, np.zeros(1))
    spool.append(np.array(t, float), np.array(h, float), np.zeros((3, 2, 1)))
    extent = spool.content().extent
    spool.close()
    with pytest.raises(da.FileError, match="times are not in order"):
        checked(tmp_path / "run.h5", extent)


def test_only_one_at_a_time(run):
    """A second process, or a second thread, would write over what the first one has."""
    run.unlink()
    spool = Spool(run, 5)
    with pytest.raises(da.FileError, match="is in use: another process is at work on this simulation"):
        swinging(2, checkpoint=spooled(run))
    spool.close()
    assert swinging(2, checkpoint=spooled(run)).success


def test_a_full_disk_stops_it_and_the_same_call_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("dalembert.solution.spool.BLOCK", 20_000)
    path, write, left = tmp_path / "run.h5", files.write_all, [12]

    def full(descriptor, data, seen):
        left[0] -= 1
        if left[0] < 0 and len(data) > 2000:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(descriptor, data, seen)

    whole = swinging()
    monkeypatch.setattr(files, "write_all", full)
    with (
        pytest.warns(da.CheckpointFailed),
        pytest.raises(da.SimulationError, match=r"cannot write steps to '.*steps': No space left.*make room") as e,
    ):
        swinging(checkpoint=spooled(path))
    partial = e.value.solution
    assert 1 < len(partial.t) < len(whole.t)
    np.testing.assert_array_equal(partial.x, whole.x[: len(partial.t)])
    monkeypatch.setattr(files, "write_all", write)
    assert_same(swinging(checkpoint=spooled(path)), whole)
    np.testing.assert_array_equal(partial.x, whole.x[: len(partial.t)])  # though its files were written again


def test_what_does_not_go_together(run):
    with pytest.raises(da.OptionError, match=r"spool='yes' of a checkpoint must be True or False"):
        da.Checkpoint("run.h5", spool="yes")
    with pytest.raises(da.OptionError, match="keeps all steps, and dense_output=False none"):
        swinging(2, checkpoint=spooled(run), t_eval=[1.0], dense_output=False)
    with pytest.raises(da.FileError, match=r"spool \(True there, False here\) is not the same"):
        swinging(2, checkpoint=run)


# -- long runs ---------------------------------------------------------------------------------------------------------

RUNNING = """
import sys
import dalembert as da
from dalembert.simulation import checkpoint
checkpoint.SHARE = 0.0
problem = da.problems.pendulum()
problem.simulate()
print("ready", flush=True)
sol = da.simulate(problem.model, (0, float(sys.argv[3])), **problem.start(), max_steps=10**7, rtol=1e-9,
                  checkpoint=da.Checkpoint(sys.argv[1], every=0.02, spool=True))
sol.save(sys.argv[2])
"""


def kill_at_random(tmp_path, kills, seed, t_end):
    path, result = tmp_path / "run.h5", tmp_path / "result.h5"
    whole, seconds = timed(
        lambda: da.simulate(PENDULUM.model, (0, t_end), **PENDULUM.start(), max_steps=10**7, rtol=1e-9)
    )
    reached = kill_again_and_again(
        RUNNING, (path, result, t_end), seconds, kills, seed,
        lambda: da.Solution.load(path).t[-1] if path.exists() else 0.0,
    )  # fmt: skip
    assert (np.diff(reached) >= 0).all()
    assert_same(da.Solution.load(result), whole)
    return reached


def test_killed_at_a_random_moment(tmp_path):
    kill_at_random(tmp_path, 1, 1, 6000)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path):
    assert len(set(kill_at_random(tmp_path, 20, 7, 60_000))) > 3


LONG = """
import json, resource, sys, time
import numpy as np
import dalembert as da

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

spring = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [-s.z])
def call(steps, path):
    return da.simulate(spring, (0, steps * 0.01), p0=[1.0], method="hem5", max_step=0.01, first_step=0.01, rtol=1e-4,
                       max_steps=10**9, checkpoint=da.Checkpoint(path, spool=True))
call(1000, sys.argv[1] + "/short.h5")
before = peak()
sol = call(int(sys.argv[2]), sys.argv[1] + "/long.h5")
after = peak()
t = np.linspace(0, sol.t[-1], 1000)
error = float(np.abs(sol.at(t)["z"] - np.cos(t)).max())
print(json.dumps({"steps": sol.stats.accepted, "MB": after - before, "error": error, "last": float(sol["z"][-1])}))
"""


@pytest.mark.slow
def test_ten_million_steps(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LONG, str(tmp_path), str(10**7)], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["steps"] >= 10**7
    assert found["MB"] < 60
