"""The command line with Modelica: flatten, check, simulate, translate."""

import csv
import re
import shutil
import subprocess
import textwrap

import numpy as np
import pytest
from running import fails, run

PENDULUM = """
    package Mechanics
      model Pendulum "nothing differentiated"
        parameter Real L = 1 "length";
        parameter Real g = 9.81;
        Real x(start = L), y(start = 0), vx, vy, F, height;
      equation
        der(x) = vx;
        der(y) = vy;
        der(vx) = -F*x;
        der(vy) = -F*y - g;
        x^2 + y^2 = L^2;
        height = y + L;
        annotation(experiment(StopTime = 1.5));
      end Pendulum;
      model Decay
        Real 'a,b'(start = 1, fixed = true);
        Real c[2];
      equation
        der('a,b') = -'a,b';
        c = {2*'a,b', time};
      end Decay;
      model Bouncing
        Real h(start = 1, fixed = true), v(start = 0, fixed = true);
      equation
        der(h) = v;
        der(v) = -9.81;
        when h < 0 then
          reinit(v, -0.5*pre(v));
        end when;
      end Bouncing;
    end Mechanics;
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "Mechanics.mo"
    path.write_text(textwrap.dedent(PENDULUM))
    return path


def table(path) -> dict[str, np.ndarray]:
    with path.open(newline="") as opened:
        rows = list(csv.reader(opened))
    return dict(zip(rows[0], np.array(rows[1:], float).T, strict=True))


def test_flatten_to_the_screen_and_to_a_file(file, tmp_path):
    shown = run("flatten", file, "--class", "Mechanics.Decay").stdout
    assert "class 'Mechanics.Decay'" in shown
    assert "der('a,b') = -'a,b';" in shown
    flat = tmp_path / "flat.mo"
    result = run("flatten", file, "--class", "Mechanics.Pendulum", "--output", flat)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert run("check", flat).exit_code == 0  # what is written can be read


def test_check_counts_and_finds_hidden_constraints(file):
    result = run("check", file, "--class", "Mechanics.Pendulum")
    assert result.exit_code == 0
    rows = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in result.stdout.splitlines()]
    assert ["unknowns", "6"] in rows
    assert ["equations", "6"] in rows
    assert ["index", "3", ""] in rows
    assert ["degrees of freedom", "2", ""] in rows
    assert any(row[:2] == ["hidden constraints", "2"] for row in rows)


def test_check_lists_events(file):
    result = run("check", file, "--class", "Mechanics.Bouncing")
    assert result.exit_code == 0
    assert re.search(r"events by relations\W+1\W+h < 0", result.stdout)
    assert "restarts (reinit)" in result.stdout


def test_simulate_writes_all_variables_by_name(file, tmp_path):
    path = tmp_path / "out.csv"
    result = run("simulate", file, "--class", "Mechanics.Pendulum", "--set", "L=2", "--rtol", "1e-8", "--csv", path)
    assert result.exit_code == 0
    found = table(path)
    assert list(found) == ["time", "x", "y", "vx", "vy", "F", "height"]
    assert found["time"][[0, -1]].tolist() == [0.0, 1.5]  # the end is the experiment's
    np.testing.assert_allclose(found["x"] ** 2 + found["y"] ** 2, 4.0, atol=1e-8)
    np.testing.assert_allclose(found["height"], found["y"] + 2.0, atol=1e-12)


def test_a_table_on_the_screen_is_all_that_is_there(file):
    shown = run("simulate", file, "--class", "Mechanics.Pendulum", "--variables", "height", "--csv", "-").stdout
    lines = shown.splitlines()
    assert lines[0] == "time,height"
    assert [float(value) for value in lines[1].split(",")] == [0.0, 1.0]
    assert all(len(line.split(",")) == 2 for line in lines)


def test_simulate_chooses_variables_and_times(file, tmp_path):
    path, picture = tmp_path / "out.csv", tmp_path / "out.png"
    result = run(
        "simulate", file, "--class", "Mechanics.Decay", "--start-time", 1, "--stop-time", 2, "--variables",
        "c[*],'a,b'", "--csv", path, "--plot", picture, "--method", "radau5", "--option", "newton_iterations=9",
    )  # fmt: skip
    assert result.exit_code == 0
    found = table(path)
    assert list(found) == ["time", "c[1]", "c[2]", "'a,b'"]
    assert found["time"][[0, -1]].tolist() == [1.0, 2.0]
    np.testing.assert_allclose(found["c[1]"][-1], 2 * np.exp(-1.0), rtol=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_both_sides_of_events_are_in_the_table(file, tmp_path):
    path = tmp_path / "out.csv"
    assert run("simulate", file, "--class", "Mechanics.Bouncing", "--stop-time", 0.8, "--csv", path).exit_code == 0
    found = table(path)
    jump = np.flatnonzero(np.diff(found["time"]) == 0)
    at = np.sqrt(2 / 9.81)
    before = jump[np.argmin(abs(found["time"][jump] - at))]
    assert found["v"][before] == pytest.approx(-9.81 * at, rel=1e-6)
    assert found["v"][before + 1] == pytest.approx(0.5 * 9.81 * at, rel=1e-6)


def test_translate_and_run(file, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    source, binary = tmp_path / "pendulum.c", tmp_path / "pendulum"
    assert run("translate", file, "--class", "Mechanics.Pendulum", "-o", source).exit_code == 0
    subprocess.run(["gcc", "-O1", str(source), "-lm", "-o", str(binary)], check=True)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
    rows = list(csv.reader(done.stdout.splitlines()))
    assert rows[0] == ["time", "x", "y", "vx", "vy", "F", "height"]
    path = tmp_path / "out.csv"
    run("simulate", file, "--class", "Mechanics.Pendulum", "--rtol", "1e-10", "--atol", "1e-10", "--csv", path)
    found = table(path)
    np.testing.assert_allclose(np.array(rows[-1], float), [values[-1] for values in found.values()], atol=1e-4)
    assert "double L = 1.0;" in source.read_text()


def test_problems_of_the_catalogue_are_translated_as_daes():
    result = run("translate", "pendulum", "--to", "fortran")
    assert result.exit_code == 0
    assert "end program" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["flatten", "missing.mo"], "there is no file 'missing.mo'"),
        (["simulate", "FILE", "--class", "Mechanics.Pendulm"], "Did you mean `Pendulum`"),
        (["simulate", "FILE", "--class", "Mechanics.Decay"], "add --t-end"),
        (["simulate", "FILE", "--class", "Mechanics.Pendulum", "--set", "L"], "write NAME=VALUE"),
        (["simulate", "FILE", "--class", "Mechanics.Pendulum", "--set", "length=2"], "length"),
        (["simulate", "FILE", "--class", "Mechanics.Pendulum", "--variables", "nothing"], "nothing"),
        (["simulate", "FILE", "--class", "Mechanics.Pendulum", "--option", "nothing=1"], "nothing"),
        (["simulate", "FILE", "--class", "Mechanics.Pendulum", "--csv", "nowhere/a.csv"], "does not exist"),
        (["translate", "FILE", "--class", "Mechanics.Pendulum"], "--to is needed: python, c, fortran"),
        (["translate", "FILE", "--class", "Mechanics.Pendulum", "--to", "ada"], "languages are python, c, fortran"),
        (["simulate", "Nowhere.Model"], "Nowhere"),
    ],
)
def test_errors_are_one_message(file, arguments, expected):
    assert expected in fails(*(str(file) if argument == "FILE" else argument for argument in arguments))


@pytest.mark.parametrize("command", ["flatten", "check", "simulate", "translate"])
def test_errors_in_texts_have_a_place_and_a_caret(tmp_path, command):
    path = tmp_path / "Broken.mo"
    path.write_text("model Broken\n  Real x;\nequation\n  der(x) = = 1;\nend Broken;\n")
    message = fails(command, path, *(["--to", "c"] if command == "translate" else []))
    assert f"{path}:4:12:" in message
    lines = message.splitlines()
    place = next(i for i, line in enumerate(lines) if line.lstrip().startswith("^"))
    assert lines[place].index("^") == lines[place - 1].index("= 1")


def test_unbalanced_models_are_refused_by_name(tmp_path):
    path = tmp_path / "Unbalanced.mo"
    path.write_text("model Unbalanced\n  Real x, forgotten;\nequation\n  der(x) = 1;\nend Unbalanced;\n")
    assert "forgotten" in fails("check", path)
