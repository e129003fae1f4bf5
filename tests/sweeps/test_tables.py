"""Studies for other programs: CSV, pandas, xarray; the same numbers, and no name that hides another."""

import csv

import numpy as np
import pytest

import dalembert as da


def rows_of(path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def pendulum():
    return da.EquationsOfMotion(
        p=["phi"], mass=[1.0], parameters={"L": 1.0, "steps": 3.0}, force=lambda s: [-9.81 / s.L * np.sin(s.phi)],
        outputs={"tip": lambda s: [np.sin(s.phi), -np.cos(s.phi)]},
    )  # fmt: skip


@pytest.fixture(scope="module")
def at_the_end(pendulum):
    samples = {"L": [1.0, 2.0, 1e-12], "phi": [0.1, 0.2, 0.3], "steps": [1.0, 2.0, 3.0]}
    return da.sweep(pendulum, samples, (0, 1), keep=["phi", "tip"], max_steps=500)


@pytest.fixture(scope="module")
def at_times(pendulum):
    return da.sweep(pendulum, {"L": [1.0, 2.0]}, (0, 1), p0=[0.1], t_eval=[0.0, 0.5, 1.0], keep=["phi", "tip"])


def test_a_line_for_each_member(at_the_end, tmp_path):
    """A start value and the result are both called phi, and a parameter like a column: all of them are there."""
    rows = rows_of(at_the_end.to_csv(tmp_path / "a.csv"))
    assert list(rows[0]) == [
        "member", "L", "phi (sample)", "steps (sample)", "phi", "tip[0]", "tip[1]", "status", "t_end", "steps",
        "seconds", "error",
    ]  # fmt: skip
    assert [float(row["phi (sample)"]) for row in rows] == [0.1, 0.2, 0.3]
    np.testing.assert_array_equal([float(row["phi"]) for row in rows], at_the_end["phi"])
    np.testing.assert_array_equal([float(row["tip[1]"]) for row in rows], at_the_end["tip"][:, 1])
    assert [row["status"] for row in rows] == ["finished", "finished", "failed"]
    assert rows[2]["error"].startswith("TooManySteps")
    assert [int(row["steps"]) for row in rows] == at_the_end.steps.tolist()
    frame = at_the_end.to_pandas()
    assert frame.index.name == "member"
    assert frame["phi (sample)"].tolist() == [0.1, 0.2, 0.3]


def test_a_line_for_each_member_and_time(at_times, tmp_path):
    rows = rows_of(at_times.to_csv(tmp_path / "a.csv", at_times=True))
    assert [(int(row["member"]), float(row["t"])) for row in rows] == [(i, t) for i in (0, 1) for t in (0.0, 0.5, 1.0)]
    np.testing.assert_array_equal([float(row["phi"]) for row in rows], at_times["phi"].ravel())
    np.testing.assert_array_equal([float(row["tip[0]"]) for row in rows], at_times["tip"][:, :, 0].ravel())
    frame = at_times.to_pandas(at_times=True)
    assert frame.index.names == ["member", "t"]
    assert frame.loc[(1, 0.5), "phi"] == at_times["phi"][1, 1]
    last = rows_of(at_times.to_csv(tmp_path / "b.csv"))
    np.testing.assert_array_equal([float(row["phi"]) for row in last], at_times["phi"][:, -1])


def test_datasets(at_the_end, at_times):
    pytest.importorskip("xarray")
    data = at_times.to_xarray()
    assert data["phi"].dims == ("member", "t")
    assert data["tip"].dims == ("member", "t", "tip_0")
    np.testing.assert_array_equal(data["tip"].values, at_times["tip"])
    assert data["L"].values.tolist() == [1.0, 2.0]
    assert "L" in data.coords
    data = at_the_end.to_xarray()
    assert data["phi"].dims == ("member",)
    assert data["phi (sample)"].values.tolist() == [0.1, 0.2, 0.3]
    assert data["status"].values.tolist() == at_the_end.status


def test_what_cannot_be_is_said(at_the_end, tmp_path):
    with pytest.raises(da.OptionError, match="t_eval"):
        at_the_end.to_csv(tmp_path / "a.csv", at_times=True)
    with pytest.raises(da.FileError, match="does not exist"):
        at_the_end.to_csv(tmp_path / "missing" / "a.csv")
