"""Result files: exact round trip, atomic writing, and files that are something else."""

import h5py
import numpy as np
import pytest

from dalembert.errors import DalembertError, ModelError
from dalembert.model import EquationsOfMotion, QuasiLinearDAE
from dalembert.solution import EventLog, Solution, Trajectory


def assert_same(a, b):
    for name in ("t", "x", "p", "v", "lam"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("names", "method", "formulation", "status", "message", "stats", "_slices", "_names"):
        assert getattr(a, name) == getattr(b, name), name
    assert type(a.stats.accepted) is type(b.stats.accepted)
    for name in ("parameters", "initial"):
        mine, theirs = getattr(a, name), getattr(b, name)
        assert list(mine) == list(theirs)
        assert all(np.array_equal(mine[key], theirs[key]) and type(mine[key]) is type(theirs[key]) for key in mine)
    assert a.events.names == b.events.names
    assert len(a.events) == len(b.events)
    for mine, theirs in zip(a.events, b.events, strict=True):
        assert (mine.t, mine.name, mine.number, mine.direction) == (
            theirs.t,
            theirs.name,
            theirs.number,
            theirs.direction,
        )
        assert set(mine.state) == set(theirs.state)
        assert all(np.array_equal(mine.state[kind], theirs.state[kind]) for kind in mine.state)


def test_round_trip(solution, tmp_path, pendulum):
    path = solution.save(tmp_path / "run.h5")
    assert path == tmp_path / "run.h5"
    loaded = Solution.load(path)
    assert_same(solution, loaded)
    assert loaded.model is None
    assert loaded.t_eval is None
    t = np.linspace(*solution.trajectory.interval, 50)
    assert np.array_equal(solution.at(t).x, loaded.at(t).x)
    assert np.array_equal(solution.trajectory.restarts, loaded.trajectory.restarts)
    again = Solution.load(str(path), model=pendulum)
    assert np.array_equal(again.residual("acceleration"), solution.residual("acceleration"))
    with pytest.raises(DalembertError, match="model="):
        loaded.residual("position")


@pytest.mark.parametrize(
    "changes",
    [
        {"events": EventLog(), "parameters": {}, "initial": {}, "t_eval": np.array([0.1, 0.2])},
        {"trajectory": Trajectory.from_points([0.0, 0.1], np.ones((2, 6)), interval=(0.0, 3.0)), "t_eval": [0.0, 0.1]},
        {"trajectory": Trajectory(1.0, np.arange(6.0), [], [], []), "status": "failed", "message": "Δt → 0\nline 2"},
        {"parameters": {"a/b": 0.1, ".": np.arange(6.0).reshape(2, 3), "körper 1.x": 5e-324, "n": 3, "name": "text"}},
        {"model": None, "method": "m" * 100_000},
    ],
)
def test_round_trip_of_special_cases(make_solution, tmp_path, changes):
    sol = make_solution(**changes)
    loaded = Solution.load(sol.save(tmp_path / "run.h5"))
    assert_same(sol, loaded)
    assert loaded.trajectory.interval == sol.trajectory.interval
    assert loaded.trajectory.dense == sol.trajectory.dense
    if sol.t_eval is not None:
        assert np.array_equal(sol.t_eval, loaded.t_eval)


def test_saved_parameters_go_into_the_model(make_solution, pendulum, tmp_path):
    sol = make_solution(model=pendulum.replace(parameters={"L": 3.0}), parameters={"L": 3.0})
    loaded = Solution.load(sol.save(tmp_path / "run.h5"), model=pendulum)
    assert loaded.model.parameters["L"] == 3.0
    assert np.array_equal(loaded.residual("position"), sol.residual("position"))


def test_model_must_match(solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    other = EquationsOfMotion(p=["x", "z"], mass=[1, 1], force=lambda s: [0, -1], r=["f"], dynamics=lambda s: [-s.f])
    with pytest.raises(ModelError, match=r"run\.h5' does not belong to model 'model'") as raised:
        Solution.load(path, model=other)
    assert len(raised.value.faults) == 4  # p, v, r, lam
    assert "x, y in the file, x, z in the model" in raised.value.faults[0]
    with pytest.raises(ModelError, match="does not belong"):
        Solution.load(path, model=QuasiLinearDAE(x=["x"], rhs=lambda s: [-s.x]))


def test_other_files(solution, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.h5"):
        Solution.load(tmp_path / "missing.h5")
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(DalembertError, match=r"notes\.txt' is not a result file"):
        Solution.load(text)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = np.arange(3)
    with pytest.raises(DalembertError, match=r"other\.h5' is not a result file.*another kind"):
        Solution.load(tmp_path / "other.h5")
    path = solution.save(tmp_path / "run.h5")
    with h5py.File(path, "a") as file:
        del file["trajectory/coefficients"]
        file["trajectory/coefficients"] = np.zeros((2, 2, 2))
    with pytest.raises(DalembertError, match=r"run\.h5' is damaged"):
        Solution.load(path)
    with h5py.File(path, "a") as file:
        del file["trajectory"]
    with pytest.raises(DalembertError, match=r"run\.h5' is damaged"):
        Solution.load(path)


def test_newer_format(solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    with h5py.File(path, "a") as file:
        assert file.attrs["dalembert_version"]
        file.attrs["format_version"] = 99
    with pytest.raises(DalembertError, match=r"format version 99.*pip install --upgrade dalembert"):
        Solution.load(path)


def test_failed_write_leaves_the_old_file_alone(solution, make_solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    before = path.read_bytes()
    with pytest.raises(DalembertError, match=r"'odd' = .* cannot be saved"):
        make_solution(parameters={"odd": object()}).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.h5"]
    make_solution(message="new").save(path)
    assert Solution.load(path).message == "new"


def test_places_that_cannot_be_written(solution, tmp_path):
    with pytest.raises(DalembertError, match="does not exist"):
        solution.save(tmp_path / "nowhere" / "run.h5")
    with pytest.raises(DalembertError, match="is a folder"):
        solution.save(tmp_path)
