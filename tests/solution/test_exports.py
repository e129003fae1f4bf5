"""Results for other programs hold the same numbers, to the last bit, under the same names."""

import csv
import json
import sys

import h5py
import numpy as np
import pytest
from scipy.io import loadmat

import dalembert as da


@pytest.fixture(scope="module")
def sol():
    model = da.EquationsOfMotion(
        p=["x", "y"], parameters={"m": 2.0, "g": 9.81, "table": [1.0, 2.0]}, mass=lambda s: [s.m, s.m],
        force=lambda s: [0, -s.m * s.g], holonomic=lambda s: [s.x**2 + s.y**2 - 1],
        outputs={"tip": lambda s: [2 * s.x, 2 * s.y], "speed, squared": lambda s: s.x_dot**2 + s.y_dot**2},
    )  # fmt: skip
    events = da.Event(lambda s: s.x, action=lambda s: {"x_dot": -s.x_dot}, name="back")
    return da.simulate(model, (0, 1), p0=[1, 0], events=events)


def test_csv(sol, tmp_path):
    path = sol.to_csv(tmp_path / "a.csv", outputs=["tip", "speed, squared"])
    with open(path, encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["t", "x", "y", "x_dot", "y_dot", "lam1", "tip[0]", "tip[1]", "speed, squared"]
    values = np.array(rows, float)
    np.testing.assert_array_equal(values[:, 0], sol.t)
    np.testing.assert_array_equal(values[:, 1], sol["x"])
    np.testing.assert_array_equal(values[:, 7], sol["tip"][:, 1])
    np.testing.assert_array_equal(values[:, 8], sol["speed, squared"])
    assert sol.to_csv(tmp_path / "b.csv").read_text().count("\n") == len(sol.t) + 1
    with pytest.raises(da.FileError, match="does not exist"):
        sol.to_csv(tmp_path / "no" / "a.csv")


def read_trajectory(path):
    """Names, values and descriptions as a Modelica tool finds them."""
    content = loadmat(path, chars_as_strings=False, matlab_compatible=True)
    assert [name for name in content if not name.startswith("__")] == [
        "Aclass", "name", "description", "dataInfo", "data_1", "data_2",
    ]  # fmt: skip
    kind = ["".join(row).rstrip() for row in content["Aclass"]]
    assert kind == ["Atrajectory", "1.1", "", "binTrans"]
    texts = {
        part: ["".join(column).rstrip().encode("latin-1").decode() for column in content[part].T]
        for part in ("name", "description")
    }
    found = {}
    assert content["dataInfo"].T[0].tolist() == [0, 1, 0, -1]  # time stands first, and in both
    for name, (block, row, between, beyond) in zip(texts["name"], content["dataInfo"].T, strict=True):
        values = content["data_1" if block == 1 else "data_2"][abs(row) - 1]
        found[name] = values if row > 0 else -values
        assert between == 0
        assert beyond == (0 if block == 1 else -1)
    return found, dict(zip(texts["name"], texts["description"], strict=True)), content


def test_modelica_files(sol, tmp_path):
    found, _, content = read_trajectory(sol.to_mat(tmp_path / "a.mat", outputs="tip"))
    np.testing.assert_array_equal(found["time"], sol.t)
    for name in sol.names:
        np.testing.assert_array_equal(found[name], sol[name])
    np.testing.assert_array_equal(found["tip[1]"], sol["tip"][:, 1])
    np.testing.assert_array_equal(found["m"], [2.0, 2.0])
    np.testing.assert_array_equal(found["table[1]"], [2.0, 2.0])
    np.testing.assert_array_equal(content["data_1"][0], [0.0, 1.0])
    with pytest.raises(da.FileError, match="folder"):
        sol.to_mat(tmp_path)
    with pytest.raises(da.DalembertError, match="there is no 'tips'"):
        sol.to_mat(tmp_path / "b.mat", outputs="tips")
    assert not (tmp_path / "b.mat").exists()


MODEL = """
model M
  type Length = Real(unit = "m");
  parameter Integer n = 2 "how many";
  parameter Length L = 2 "length of it";
  parameter Real half = L/2;
  constant Real c0 = 3;
  Length x(start = 1, fixed = true) "position";
  Real y, z = -x, w[n], 'a b.c' = 2*x, still = if time < 0 then 1 else 5;
  Boolean b = x > 0.5;
  Integer i(start = 0, fixed = true);
equation
  der(x) = -x/L;
  y = x;
  w = {x, 2};
  when x < 0.7 then
    i = pre(i) + 1;
  end when;
end M;
"""


@pytest.fixture(scope="module")
def modelica():
    return da.simulate(da.modelica.load(MODEL), (0, 2))


def test_modelica_files_have_everything_that_the_model_has(modelica, tmp_path):
    """Parameters and constants at two times; aliases share a row; both sides of events; units and descriptions."""
    found, about, content = read_trajectory(modelica.to_mat(tmp_path / "a.mat"))
    names = ["x", "y", "z", "w[1]", "w[2]", "'a b.c'", "still", "b", "i", "n", "L", "half", "c0"]
    assert sorted(found) == sorted(["time", *names])
    for name in names:
        values = modelica[name]
        np.testing.assert_array_equal(found[name], values if len(found[name]) > 2 else values[[0, -1]])
    assert {name for name in names if len(found[name]) == 2} == {"n", "L", "half", "c0", "w[2]", "still"}
    assert about["x"] == "position [m]"
    assert about["L"] == "length of it [m]"
    assert about["n"] == "how many"
    rows = dict(zip(found, content["dataInfo"][1], strict=True))
    assert rows["y"] == rows["w[1]"] == rows["x"] == -rows["z"]
    assert len(content["data_2"]) == 5  # time, x, 'a b.c', b, i
    twice = np.flatnonzero(np.diff(found["time"]) == 0)
    assert len(twice) == 2
    assert found["i"][twice[0]] + 1 == found["i"][twice[0] + 1]


def test_files_of_other_programs_after_a_failure(tmp_path):
    with pytest.raises(da.TooManySteps) as caught:
        da.problems.andrews().simulate(max_steps=20)
    part = caught.value.solution
    found, _, _ = read_trajectory(part.to_mat(tmp_path / "a.mat"))
    np.testing.assert_array_equal(found["beta"], part["beta"])
    assert part.to_csv(tmp_path / "a.csv").read_text().count("\n") == len(part.t) + 1
    assert part.to_pandas().attrs["status"] == "failed"


STRANGE = ["a.b", "c[1,2]", "two words", 'quo"te', "semi;colon", "α β", "x,y", "new\tab"]


def test_strange_names(tmp_path):
    model = da.QuasiLinearDAE(x=STRANGE, rhs=lambda s: -s.x, start={"x0": np.arange(1.0, 9.0)})
    sol = da.simulate(model, (0, 0.1))
    with open(sol.to_csv(tmp_path / "a.csv"), newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["t", *STRANGE]
    np.testing.assert_array_equal(np.array(rows, float)[:, 1:], sol.x)
    found, _, _ = read_trajectory(sol.to_mat(tmp_path / "a.mat"))
    assert list(found) == ["time", *STRANGE]
    for name in STRANGE:
        np.testing.assert_array_equal(found[name], sol[name])
    again = da.Solution.load(sol.save(tmp_path / "a.h5"))
    assert again.names == tuple(STRANGE)
    np.testing.assert_array_equal(again.x, sol.x)


def test_outputs_of_bodies_and_results_of_changing_systems(tmp_path):
    """All of them, entry by entry; contacts open and close on the way."""
    robot = da.problems.six_axis_robot().simulate()
    frame = robot.to_pandas("all")
    assert len(frame.columns) > 200
    vector = next(name for name in robot.output_names if robot[name].ndim == 2)
    np.testing.assert_array_equal(frame[f"{vector}[1]"], robot[vector][:, 1])
    ball = da.problems.bouncing_ball(t_end=1.5).simulate()
    assert len(ball.segments) > 2
    with open(ball.to_csv(tmp_path / "a.csv", outputs="all"), encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    values = dict(zip(head, np.array(rows, float).T, strict=True))
    for name in ("z", "z_dot", "floor", "energy", "floor.gap"):
        np.testing.assert_array_equal(values[name], ball[name])
    jumps = np.flatnonzero(np.diff(values["t"]) == 0)
    assert (np.sign(values["z_dot"][jumps]) == -np.sign(values["z_dot"][jumps + 1])).all()


def test_plain_hdf5(sol, modelica, tmp_path):
    with h5py.File(sol.to_hdf5(tmp_path / "a.h5", outputs="all")) as file:
        np.testing.assert_array_equal(file["t"][:], sol.t)
        for name in (*sol.names, *sol.output_names):
            np.testing.assert_array_equal(file["variables"][name][:], sol[name])
        assert file["events/name"].asstr()[:].tolist() == ["back"] * len(sol.events)
        assert file.attrs["status"] == "finished"
    with h5py.File(modelica.to_hdf5(tmp_path / "b.h5", outputs="all")) as file:
        assert dict(file["variables/x"].attrs) == {"name": "x", "units": "m", "long_name": "position"}
    model = da.QuasiLinearDAE(x=["a/b", ".", "a|b"], rhs=lambda s: -s.x, start={"x0": [1, 2, 3]})
    slashed = da.simulate(model, (0, 0.1))
    with h5py.File(slashed.to_hdf5(tmp_path / "c.h5")) as file:
        assert {own.attrs["name"]: own[0] for own in file["variables"].values()} == {"a/b": 1, ".": 2, "a|b": 3}
    with pytest.raises(da.FileError, match=r"a\.h5"):
        da.Solution.load(tmp_path / "a.h5")


def test_tables_of_pandas_say_what_they_are_about(modelica):
    frame = modelica.to_pandas(outputs="all")
    assert frame.attrs["units"] == {"x": "m"}
    assert frame.attrs["model"] == "M"
    assert json.loads(frame.attrs["parameters"]) == {"L": 2.0}
    assert (frame.attrs["t_start"], frame.attrs["t_end"]) == (0.0, 2.0)
    np.testing.assert_array_equal(frame["'a b.c'"], modelica["'a b.c'"])
    assert frame.index.name == "t"
    with pytest.raises(da.OptionError, match="outputs="):
        modelica.to_pandas(outputs=5)


def test_xarray(sol, modelica, tmp_path):
    xarray = pytest.importorskip("xarray")
    data = sol.to_xarray(outputs=["tip"])
    np.testing.assert_array_equal(data["x"].values, sol["x"])
    np.testing.assert_array_equal(data["tip"].values, sol["tip"])
    np.testing.assert_array_equal(data.t.values, sol.t)
    assert data["tip"].dims == ("t", "tip_0")
    assert data.attrs["status"] == "finished"
    assert data["event"].values.tolist() == ["back"] * len(sol.events)
    np.testing.assert_array_equal(data["event_t"].values, sol.events.t)
    once = data.drop_duplicates("t", keep="last")
    assert float(once["x"].interp(t=0.2)) == pytest.approx(sol.at(0.2)["x"], abs=1e-2)
    data = modelica.to_xarray(outputs="all")
    assert data["x"].attrs == {"units": "m", "long_name": "position"}
    path = tmp_path / "a.nc"
    data.to_netcdf(path, engine="scipy")
    with xarray.open_dataset(path, engine="scipy") as again:
        np.testing.assert_array_equal(again["'a b.c'"].values, modelica["'a b.c'"])
        assert again.attrs["method"] == modelica.method


def test_what_is_not_installed_is_named(sol, monkeypatch):
    for package in ("xarray", "pandas"):
        monkeypatch.setitem(sys.modules, package, None)  # whoever imports it gets an ImportError
    for call, what in ((sol.to_xarray, "xarray"), (sol.to_pandas, "pandas")):
        with pytest.raises(da.DalembertError, match=f"pip install {what}"):
            call()
