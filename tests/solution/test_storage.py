"""Result files: exact round trip, atomic writing, and files that are something else."""

import errno
import json

import h5py
import numpy as np
import pytest

from dalembert.errors import DalembertError, FileError, FileMissing, ModelError, OptionError
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
    with pytest.raises(FileMissing, match=r"there is no file '.*missing\.h5'") as raised:
        Solution.load(tmp_path / "missing.h5")
    assert isinstance(raised.value, FileNotFoundError)
    assert raised.value.errno == errno.ENOENT
    for content in (b"", b"hello", bytes(5000), b"\n" * 600):
        (tmp_path / "notes.txt").write_bytes(content)
        with pytest.raises(FileError, match=r"notes\.txt' is not a result file"):
            Solution.load(tmp_path / "notes.txt")
    with pytest.raises(FileError, match="is a folder"):
        Solution.load(tmp_path)


def test_files_without_a_checksum_are_refused(tmp_path):
    """Those of other programs, and those of the format before."""
    with h5py.File(tmp_path / "old.h5", "w") as file:
        file.attrs["format"], file.attrs["format_version"] = "dalembert solution", 1
        file["data"] = np.arange(3)
    with pytest.raises(FileError, match=r"old\.h5' is not a result file.*without a checksum.*Simulate again"):
        Solution.load(tmp_path / "old.h5")


def test_newer_format(solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    path.write_bytes(path.read_bytes().replace(b"\nformat 2\n", b"\nformat 99\n", 1))
    with pytest.raises(FileError, match=r"format version 99.*pip install --upgrade dalembert"):
        Solution.load(path)


def test_a_file_is_never_changed_unnoticed(solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    with h5py.File(path, "a") as file:
        file["trajectory/t"][0] = 17.0
    with pytest.raises(FileError, match=r"run\.h5' is damaged: its checksum differs.*simulate again"):
        Solution.load(path)


def test_other_programs_read_it_as_hdf5(make_solution, tmp_path):
    """Every array and name is where the documentation says; a dataset holds the rest as JSON."""
    sol = make_solution(parameters={"a/b": np.arange(6.0).reshape(2, 3), "n": 3, "flags": np.array([True, False])})
    path = sol.save(tmp_path / "run.h5")
    with h5py.File(path, "r") as file:
        assert file.userblock_size == 512
        assert file.attrs["format"] == "dalembert result"
        assert file.attrs["dalembert_version"]
        assert file["names/p"].asstr()[()].tolist() == ["x", "y"]
        for name in ("start_x", "t", "h", "coefficients", "restarts", "restart_x"):
            assert np.array_equal(file["trajectory"][name][()], getattr(sol.trajectory, name)), name
        assert np.array_equal(file["parameters/000000"][()], sol.parameters["a/b"])
        assert file["parameters/000002"][()].tolist() == [True, False]
        description = json.loads(file["description"][()])
        assert description["method"] == sol.method
        assert description["parameters"]["n"] == 3
        visited = []
        file.visit(visited.append)
        assert {"events/t", "segments/t", "initial/000000"} <= set(visited)
    assert path.read_bytes()[:17] == b"dalembert result\n"


def test_the_same_result_gives_the_same_bytes(solution, tmp_path):
    one, two = (solution.save(tmp_path / name).read_bytes() for name in ("one.h5", "two.h5"))
    assert one == two


def test_arrays_of_any_layout(make_solution, tmp_path):
    numbers = np.arange(24.0).reshape(2, 3, 4)
    arrays = {
        "transposed": numbers.T,
        "strided": numbers[:, ::2, 1:],
        "big-endian": numbers.astype(">f8"),
        "small": np.array(2, np.int8),
        "complex": np.array([1j, 2]),
        "single": np.float32(0.1),
        "empty": np.zeros((0, 3)),
    }
    loaded = Solution.load(make_solution(parameters=arrays).save(tmp_path / "run.h5"))
    for name, array in arrays.items():
        assert np.array_equal(loaded.parameters[name], array), name
        assert np.shape(loaded.parameters[name]) == np.shape(array), name


@pytest.mark.parametrize("name", ["x\0y", "\ud800", "$\\frac{1}$", "\n", "é\u200b", "/", ".."])
def test_names_that_hdf5_cannot_have(make_solution, tmp_path, name):
    sol = make_solution(
        names={"p": (name, "y"), "v": ("x_dot", "y_dot")}, slices={"p": slice(0, 2), "v": slice(2, 4)},
        parameters={name: 1.0}, events=EventLog([], names=(name,)), message=name,
    )  # fmt: skip
    loaded = Solution.load(sol.save(tmp_path / "run.h5"))
    assert loaded.names == sol.names
    assert (loaded.parameters, loaded.events.names, loaded.message) == ({name: 1.0}, (name,), name)
    with h5py.File(tmp_path / "run.h5") as file:
        assert len(file["names/p"].asstr()[()]) == 2


def test_arguments_of_the_wrong_kind(solution, tmp_path):
    for path in (5, None, 1.5, [], object()):
        with pytest.raises(OptionError, match="must be a path"):
            solution.save(path)
        with pytest.raises(OptionError, match="must be a path"):
            Solution.load(path)
    for path, why in (("a\0b", "NUL"), ("", "empty"), ("\ud800", "characters")):
        with pytest.raises(OptionError, match=why):
            solution.save(path)
        with pytest.raises(OptionError, match=why):
            Solution.load(path)
    path = solution.save(tmp_path / "run.h5")
    for model in (5, "pendulum", object()):
        with pytest.raises(OptionError, match="model= must be a model"):
            Solution.load(path, model=model)


def test_failed_write_leaves_the_old_file_alone(solution, make_solution, tmp_path):
    path = solution.save(tmp_path / "run.h5")
    before = path.read_bytes()
    with pytest.raises(DalembertError, match=r"'odd' = .* cannot be saved"):
        make_solution(parameters={"odd": object()}).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.h5"]
    make_solution(message="new").save(path)
    assert Solution.load(path).message == "new"
