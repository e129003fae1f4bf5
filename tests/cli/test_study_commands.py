"""`dalembert compare` and `dalembert sweep`: their output, their files, their errors and exit codes."""

import csv

import numpy as np
import pytest
from running import document, fails, run

import dalembert as da


def test_compare_prints_a_table_and_a_recommendation(tmp_path):
    picture, table = tmp_path / "a.png", tmp_path / "a.csv"
    result = run("compare", "pendulum", "--method", "hem5", "--method", "radau5", "--tolerance", "1e-5", "--repeat", 1,
                 "--plot", picture, "--csv", table)  # fmt: skip
    assert result.exit_code == 0
    assert "errors against the problem's reference values" in result.stdout
    assert "ms for an error of" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["hem5", "radau5"]
    assert float(rows[0]["error"]) < 1e-2


def test_compare_as_json():
    found = document("compare", "pendulum", "--method", "hem5", "--tolerance", "1e-5", "--repeat", 1, "--t-end", 1)
    found = found["result"]
    assert found["problem"] == "pendulum"
    assert found["reference"].startswith("hem5 at 1e-08")
    assert found["trials"][0]["error"] < 1e-2


def test_sweep_of_a_grid(tmp_path):
    table = tmp_path / "a.csv"
    result = run("sweep", "pendulum", "--vary", "g=9:10:3", "--vary", "m=1,2", "--keep", "x", "--csv", table)
    assert result.exit_code == 0
    assert "Sweep(6 of 6 members: x)" in result.stdout
    study = da.sweep(da.problems.pendulum(), da.Grid({"g": np.linspace(9, 10, 3), "m": [1.0, 2.0]}), keep=["x"])
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_array_equal([float(row["x"]) for row in rows], study["x"])
    assert rows[5]["g"] == "10.0"


def test_sweep_of_draws_into_a_store(tmp_path):
    arguments = ["sweep", "pendulum", "--sample", "g=9..10", "--sample", "m=1~0.1", "--count", 5, "--store",
                 tmp_path / "s.h5"]  # fmt: skip
    found = document(*arguments)
    assert found["result"]["finished"] == found["result"]["members"] == 5
    again = document(*arguments)
    found["result"]["engine"] = again["result"]["engine"]  # nothing was left to do
    assert again == found
    assert "another study: samples is not the same" in fails(*arguments, "--seed", 1)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--vary NAME=VALUES"), (["--vary", "g"], "--vary g"), (["--vary", "g=1:2"], "NAME=1:2:11"),
        (["--sample", "g=1"], "--sample g=1"), (["--vary", "gg=1"], "there is no 'gg'"),
        (["--vary", "g=1", "--sample", "g=1..2"], "one of them"), (["--vary", "g=1", "--keep", "z"], "keep"),
        (["--vary", "g=1", "--engine", "gpu"], "gpu"), (["--sample", "g=1..2", "--design", "magic"], "magic"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(arguments, why):
    assert why in " ".join(fails("sweep", "pendulum", *arguments).split())
    assert "no argument" not in fails("compare", "pendulum", "--method", "hem6")


def test_a_sweep_without_any_result_fails():
    result = run("sweep", "pendulum", "--vary", "m=0")
    assert result.exit_code == 1
    assert "member 0 failed" in result.stdout
