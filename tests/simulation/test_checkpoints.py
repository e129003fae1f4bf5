"""Checkpoints: places that cannot be written are named before the run; later failures cost a warning, not a result."""

import errno
import os
import random
import shutil
import stat
import subprocess
import sys
import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.simulation import checkpoint as checkpoint_room
from dalembert.simulation import continuation
from dalembert.solution import files


@pytest.fixture(scope="module")
def problem():
    return da.problems.pendulum()


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every call of the kernel."""
    monkeypatch.setattr(checkpoint_room, "EVERY", 0.0)
    monkeypatch.setattr(checkpoint_room, "SHARE", 0.0)


def test_what_cannot_be_a_checkpoint_is_said_at_once(problem, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    calls = []
    events = [da.Event(lambda s: calls.append(1) or s.x)]
    places = {
        "": "empty", "a\0b": "NUL", "\ud800": "characters", tmp_path: "is a folder", tmp_path / ("n" * 300): "shorter",
        tmp_path / "nowhere" / "run.h5": "does not exist", tmp_path / "pipe": "it is a pipe", 5: "must be a path",
    }  # fmt: skip
    for place, why in places.items():
        with pytest.raises(da.DalembertError, match=why):
            problem.simulate(checkpoint=place, events=events)
    assert not calls
    assert os.listdir(tmp_path) == ["pipe"]
    assert stat.S_ISFIFO(os.lstat(tmp_path / "pipe").st_mode)


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="a folder in which nobody can create files")
def test_places_that_look_fine_are_tried_out(problem):
    with pytest.raises(da.FileError, match="cannot save to '/sys/run"):
        problem.simulate(checkpoint="/sys/run.h5")


def test_a_link_is_followed(problem, tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.h5"
    link.symlink_to(tmp_path / "real" / "run.h5")
    sol = problem.simulate(checkpoint=link)
    assert link.is_symlink()
    np.testing.assert_array_equal(da.Solution.load(tmp_path / "real" / "run.h5").x, sol.x)


def test_another_folder_during_the_run(problem, tmp_path, monkeypatch):
    """A relative name means the folder in which the simulation began."""
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    event = da.Event(lambda s: s.x, action=lambda s: os.chdir(elsewhere) or {})
    problem.simulate(checkpoint="run.h5", events=event)
    assert (tmp_path / "run.h5").exists()
    assert not os.listdir(elsewhere)


@pytest.mark.usefixtures("often")
def test_failures_on_the_way_are_told_once_and_the_run_goes_on(problem, tmp_path, monkeypatch):
    path, saved = tmp_path / "run.h5", []
    original = continuation.write

    def write(place, sol, *rest):
        saved.append(sol.status)
        if sol.status == "running" and len(saved) > 1:
            raise da.FileError("cannot save: no room", place, errno.ENOSPC)
        original(place, sol, *rest)

    monkeypatch.setattr(continuation, "write", write)
    events = da.Event(lambda s: s.x * (s.x - 0.5))  # each root ends a call of the kernel
    with pytest.warns(da.CheckpointFailed, match="no checkpoint: .*no room; the simulation goes on") as told:
        sol = problem.simulate(checkpoint=path, events=events, t_eval=[0.5, 2.0])
    assert saved.count("running") > 2
    assert len(told) == 1
    assert told[0].filename == __file__
    assert da.Solution.load(path).status == sol.status == "finished"


def result_of(problem, **options):
    """What was computed, also by a run that fails."""
    try:
        return problem.simulate(**options)
    except da.SimulationError as error:
        return error.solution


@pytest.mark.parametrize("ending", ["finished", "failed", "terminated"])
def test_a_full_disk_at_the_end_loses_nothing(problem, tmp_path, monkeypatch, ending):
    path, plain = tmp_path / "run.h5", problem.simulate()
    how = {
        "finished": {},
        "failed": {"max_steps": 20},
        "terminated": {"events": da.Event(lambda s: s.x, terminal=True)},
    }
    result_of(problem, checkpoint=path, **(how[ending] | {"max_steps": 5}))  # fails: the next call begins anew
    before = path.read_bytes()

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "write", full)
    with pytest.warns(da.CheckpointFailed, match=r"run\.h5.*No space.*make room.*kept; nothing is lost") as told:
        sol = result_of(problem, checkpoint=path, **how[ending])
    assert sol.status.startswith(ending)
    assert told[0].message.solution is sol
    np.testing.assert_array_equal(sol.x[:15], plain.x[:15])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run.h5"]
    monkeypatch.undo()
    np.testing.assert_array_equal(da.Solution.load(sol.save(path)).x, sol.x)


def test_warnings_that_are_errors_carry_the_result(problem, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "write", full)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(da.CheckpointFailed) as raised:
            problem.simulate(checkpoint=tmp_path / "run.h5")
    assert raised.value.solution.status == "finished"
    assert raised.value.solution.t[-1] == 2.0


def test_a_folder_that_vanishes(problem, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    event = da.Event(lambda s: s.x, action=lambda s: shutil.rmtree(folder, ignore_errors=True) or {})
    with pytest.warns(da.CheckpointFailed, match="the folder '.*' does not exist"):
        sol = problem.simulate(checkpoint=folder / "run.h5", events=event)
    assert sol.success


RUNNING = """
import sys
import dalembert as da
from dalembert.simulation import checkpoint
checkpoint.EVERY = checkpoint.SHARE = 0.0
problem = da.problems.pendulum()
events = da.Event(lambda s: s.x)  # each root ends a call of the kernel, after which a checkpoint is written
problem.simulate(events=events)
print("ready", flush=True)
da.simulate(problem.model, (0, 1e4), **problem.start(), checkpoint=sys.argv[1], events=events, max_steps=10**7)
"""


def kill_while_running(problem, path, kills):
    """Each checkpoint is the beginning of the same simulation, whenever its process is killed."""
    rng = random.Random(kills)
    events = da.Event(lambda s: s.x)
    whole = da.simulate(problem.model, (0, 60.0), **problem.start(), events=events)
    several = 0
    for _ in range(kills):  # each goes on from where the one before was killed
        child = subprocess.Popen([sys.executable, "-c", RUNNING, path], stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(rng.uniform(0.0, 0.7))
        child.kill()
        child.wait()
        child.stdout.close()
        if path.exists():
            sol = da.Solution.load(path, problem.model)
            assert sol.status == "running"
            common = min(len(sol.t), int(np.sum(whole.t < 50.0)))
            np.testing.assert_array_equal(sol.x[:common], whole.x[:common])
            several += 1
    assert several


def test_killed_while_running(problem, tmp_path):
    kill_while_running(problem, tmp_path / "run.h5", 1)


@pytest.mark.slow
def test_killed_while_running_twenty_times(problem, tmp_path):
    kill_while_running(problem, tmp_path / "run.h5", 20)
