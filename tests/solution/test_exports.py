"""Results for other programs hold the same numbers, to the last bit, under the same names."""

import builtins
import csv

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
    with open(path, newline="") as file:
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
    """Names and values as a Modelica tool finds them."""
    content = loadmat(path, chars_as_strings=False, matlab_compatible=True)
    kind = ["".join(row).rstrip() for row in content["Aclass"]]
    assert kind == ["Atrajectory", "1.1", "", "binTrans"]
    names = ["".join(column).rstrip() for column in content["name"].T]
    found = {}
    for name, (block, row, _, _) in zip(names, content["dataInfo"].T, strict=True):
        found[name] = content["data_2" if block in (0, 2) else "data_1"][abs(row) - 1]
    return found


def test_modelica_files(sol, tmp_path):
    found = read_trajectory(sol.to_mat(tmp_path / "a.mat", outputs="tip"))
    np.testing.assert_array_equal(found["time"], sol.t)
    for name in sol.names:
        np.testing.assert_array_equal(found[name], sol[name])
    np.testing.assert_array_equal(found["tip[1]"], sol["tip"][:, 1])
    np.testing.assert_array_equal(found["m"], [2.0, 2.0])
    assert "table" not in found
    model = da.modelica.load("model Decay Real x(start = 1, fixed = true); equation der(x) = -x; end Decay;")
    decay = da.simulate(model, (0, 1))
    np.testing.assert_array_equal(read_trajectory(decay.to_mat(tmp_path / "b.mat"))["x"], decay["x"])


def test_xarray(sol):
    pytest.importorskip("xarray")
    data = sol.to_xarray(outputs=["tip"])
    np.testing.assert_array_equal(data["x"].values, sol["x"])
    np.testing.assert_array_equal(data.t.values, sol.t)
    assert data["tip"].dims == ("t", "tip_0")
    assert data.attrs["status"] == "finished"


def test_what_is_not_installed_is_named(sol, monkeypatch):
    original = builtins.__import__

    def missing(name, *rest, **options):
        if name.partition(".")[0] in ("xarray", "pandas"):
            raise ImportError(name)
        return original(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    for call, what in ((sol.to_xarray, "xarray"), (sol.to_pandas, "pandas")):
        with pytest.raises(da.DalembertError, match=f"pip install {what}"):
            call()
