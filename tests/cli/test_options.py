"""Options of commands reach what they are about, and what is wrong with them is said by name."""

import csv
import dataclasses

import numpy as np
import pytest
from running import document, fails, run
from scipy.io import loadmat

import dalembert as da
from dalembert.cli.groups import expanded
from dalembert.cli.methods import with_options
from dalembert.cli.values import condition, numbers, option_value, settings_of, value_of
from dalembert.errors import OptionError
from dalembert.solvers import METHODS


def simulated(*arguments, variables="x,y", code=0) -> dict:
    return document("simulate", *arguments, "--variables", variables, code=code)["result"]


def table(path) -> dict[str, np.ndarray]:
    with open(path, encoding="utf-8", newline="") as opened:
        rows = list(csv.reader(opened))
    return dict(zip(rows[0], np.array(rows[1:], float).T, strict=True))


# -- texts -------------------------------------------------------------------------------------------------------------


def test_values():
    assert value_of("1") == 1
    assert value_of("1e3") == 1000.0
    assert value_of("TRUE") is True
    assert value_of("word") == "word"
    assert value_of("'quoted'") == "quoted"
    assert value_of("[1, 2]") == [1, 2]
    assert value_of("[1, 2") == "[1, 2"
    assert value_of("(") == "("
    assert value_of("__import__('os')") == "__import__('os')"
    assert settings_of(["'a=b'=1", "c= 2 "]) == {"'a=b'": 1, "c": 2}
    for wrong in ("x", "=1", "x=", " = 1"):
        with pytest.raises(OptionError, match="write NAME=VALUE"):
            settings_of([wrong])


def test_numbers():
    assert numbers("0:1:3", "--t-eval") == [0.0, 0.5, 1.0]
    assert numbers("-1, +2.5e-1,.5", "--t-eval") == [-1.0, 0.25, 0.5]
    for wrong in ("", "a", "1:2", "1:2:0", "1:2:999999999", "1,,2", "1;2", "nan", "inf", "1:2:3:4"):
        with pytest.raises(OptionError, match="--t-eval"):
            numbers(wrong, "--t-eval")


def test_conditions():
    assert condition("a[1].b >= -1e-3", "--event") == ("a[1].b", 1, -1e-3)
    for wrong in ("", "x", "x<", "<1", "x<y", "x<1<2", "x<nan", "x<1e999"):
        with pytest.raises(OptionError, match="--event"):
            condition(wrong, "--event")


def test_options_of_methods():
    pendulum = da.problems.pendulum().model
    assert option_value("none") is None
    assert option_value("Sparse") == da.Sparse()
    assert option_value("Exact()") == da.Exact()
    assert option_value("ConjugateGradient(tolerance=1e-9)") == da.ConjugateGradient(tolerance=1e-9)
    assert option_value("Simulate") == "Simulate"  # no class of options
    found = with_options("radau5:formulation=index2,keep_step=(1.0,1.3),linear_solver=Dense", {}, pendulum)
    assert found == da.Radau5(formulation="index2", keep_step=(1.0, 1.3), linear_solver=da.Dense())
    assert with_options("hem5", {}, pendulum) == "hem5"
    for wrong, why in (("hem55", "did you mean 'hem5'"), ("hem5:stagess=1", "stages"), ("hem5:stages", "NAME=VALUE"),
                       ("radau5:linear_solver=Sparse(1)", "Sparse"), ("radau5:safety=x", "safety")):  # fmt: skip
        with pytest.raises(OptionError, match=why):
            with_options(wrong, {}, pendulum)


@pytest.mark.parametrize("name", METHODS)
def test_every_option_of_every_method_can_be_written(name):
    """As its default is shown: the same options come out."""
    model, needed = da.problems.pendulum().model, {"h": 0.01} if name == "moreaujean" else {}
    for field in dataclasses.fields(METHODS[name]):
        value = needed.get(field.name, field.default)
        text = f"{name}:{field.name}={value}"
        assert with_options(text, needed, model) == METHODS[name](**needed), text


# -- groups ------------------------------------------------------------------------------------------------------------


def test_every_option_is_written_down_once():
    """One set of options serves all commands: the same name has the same type and the same help everywhere."""
    import typer

    from dalembert.cli import app

    known = {}
    # which mean something else to a study, or write something else
    own = {("--method",), ("--plot",), ("--csv",), ("--save",), ("--output",)}
    for command in typer.main.get_command(app).commands.values():
        for parameter in command.params:
            if parameter.param_type_name == "argument" or tuple(parameter.opts[:1]) in own:
                continue
            for name in parameter.opts:
                assert known.setdefault(name, parameter.help) == parameter.help, (command.name, name)
    assert len(known) > 40


def test_groups_keep_names_apart():
    @dataclasses.dataclass(frozen=True)
    class One:
        a: int
        b: str = "b"

    seen = []

    def command(one: One, c: float = 2.0) -> None:
        seen.append((one, c))

    expanded(command)(a=1)
    expanded(command)(a=1, b="x", c=3.0)
    assert seen == [(One(1), 2.0), (One(1, "x"), 3.0)]


# -- what they do ------------------------------------------------------------------------------------------------------


def test_output_times(folder):
    assert simulated("pendulum", "--points", 5)["series"]["time"] == [0, 0.5, 1, 1.5, 2]
    assert simulated("pendulum", "--every", 0.75)["series"]["time"] == [0, 0.75, 1.5, 2]
    assert simulated("pendulum", "--every", 0.5)["series"]["time"] == [0, 0.5, 1, 1.5, 2]
    assert simulated("pendulum", "--t-eval", "0.1,0.2")["series"]["time"] == [0.1, 0.2]
    (folder / "times.txt").write_text("0.1\n0.2\n\n0.3\n")
    assert simulated("pendulum", "--t-eval", "@times.txt")["series"]["time"] == [0.1, 0.2, 0.3]
    backwards = simulated("pendulum", "--start-time", 1, "--t-end", 0, "--every", 0.4)["series"]["time"]
    np.testing.assert_allclose(backwards, [1, 0.6, 0.2, 0])
    for wrong in (["--points", "1"], ["--every", "0"], ["--every", "1e-9"], ["--t-eval", "3"], ["--t-eval", "x"],
                  ["--points", "3", "--every", "1"]):  # fmt: skip
        fails("simulate", "pendulum", *wrong)


def test_steps_and_tolerances():
    loose = simulated("pendulum", "--rtol", "1e-3", "--atol", "1e-3")["statistics"]["accepted"]
    small = simulated("pendulum", "--rtol", "1e-3", "--atol", "1e-3", "--max-step", "0.01")["statistics"]["accepted"]
    assert small >= 200 > 2 * loose
    found = simulated("pendulum", "--max-steps", "10", code=3)
    assert found["status"] == "failed"
    assert found["statistics"]["accepted"] <= 10
    assert "first_step" in fails("simulate", "pendulum", "--first-step", "-1")


def test_parameters_start_values_and_inputs(folder):
    start = ("--initial", "x=2", "--initial", "y_dot=-1")
    found = simulated("mine.py:swing", "--set", "L=2", *start, variables="x,y_dot,L")
    assert found["series"]["L"][0] == 2.0
    assert found["series"]["x"][0] == 2.0
    assert found["series"]["y_dot"][0] == -1.0
    assert found["reference_error"] is None
    found = simulated("mine.py:rod", "--initial", "x=1", "--initial", "y=0", "--t-end", "1")
    assert found["end"] == simulated("mine.py:swing")["end"]  # a model without start values gets them here
    assert "'z'; known names: x, x_dot, y, y_dot" in fails("simulate", "mine.py:swing", "--initial", "z=1")
    assert "a number is needed" in fails("simulate", "mine.py:swing", "--initial", "x=one")
    driven = ("Circuits.mo", "--class", "Circuits.Filter", "--t-end", "3", "--rtol", "1e-9")
    constant = simulated(*driven, "--input", "u=2", variables="v")["end"]["v"]
    assert constant == pytest.approx(2 * (1 - np.exp(-3)), abs=1e-7)
    found = simulated(*driven, "--input", "u=wind.csv", "--points", 4, variables="v,u")
    np.testing.assert_allclose(found["series"]["u"], [0, 0.5, 1, 0], atol=1e-12)
    wind = da.Input.table([0, 1, 2, 3], [0, 0.5, 1, 0])
    model = da.modelica.load(folder / "Circuits.mo", "Circuits.Filter")
    sol = da.simulate(model, (0, 3), inputs={"u": wind}, rtol=1e-9)
    assert found["end"]["v"] == sol["v"][-1]


def test_problems_take_arguments():
    found = simulated("pendulum_chain(N=3)", "--t-end", "0.1", variables="*")
    names = da.problems.pendulum_chain(N=3).model.names("p")
    assert set(names) <= set(found["series"])
    assert "write pendulum_chain(NAME=VALUE, ...)" in fails("simulate", "pendulum_chain(3)")
    assert "pendulum_chain(M=3)" in fails("simulate", "pendulum_chain(M=3)")
    assert "did you mean 'pendulum_chain'" in fails("simulate", "pendulum_chains(N=3)")


def test_events(folder):
    found = simulated("mine.py:swing", "--event", "low", "--event", "height<0.2", "--stop-when", "x < -0.5")
    assert found["status"] == "terminated by event 'x < -0.5'"
    assert [event["name"] for event in found["events"]] == ["low", "height<0.2", "x < -0.5"]
    assert found["end"]["x"] == pytest.approx(-0.5, abs=1e-9)
    assert simulated("mine.py:swing", "--stop-when", "low")["status"] == "terminated by event 'low'"
    assert "there is no 'lo'" in fails("simulate", "mine.py:swing", "--event", "lo<1")
    stopped = document("sweep", "mine.py:swing", "--vary", "x_dot=0,1", "--stop-when", "y<-0.5")["result"]
    assert stopped["status"] == ["terminated by event 'y<-0.5'"] * 2


def test_robots(folder):
    """The same as from Python, in other coordinates too."""
    options = ("arm.urdf", "--t-end", "0.5", "--initial", "shoulder.angle=0.5", "--rtol", "1e-8")
    found = simulated(*options, variables="lower.com,energy.total")
    robot = da.Multibody.from_urdf("arm.urdf").equations()
    sol = da.simulate(robot, (0, 0.5), p0={"shoulder.angle": 0.5}, rtol=1e-8)
    assert found["end"] == {name: sol[name][-1] for name in sol.names}
    assert found["series"]["lower.com[2]"] == sol["lower.com"][:, 2].tolist()
    assert list(found["series"]) == ["time", "lower.com[0]", "lower.com[1]", "lower.com[2]", "energy.total"]
    assert "no mass" in fails("check", "arm.urdf", "--urdf", "fixed_base=false")
    assert len(document("check", "arm.urdf", "--coordinates", "absolute")["result"]["variables"]["lam"]) > 5
    assert "add --t-end" in fails("simulate", "arm.urdf")
    (folder / "bodies.py").write_text("import dalembert as da\narm = da.Multibody.from_urdf('arm.urdf')\n")
    again = simulated("bodies.py", *options[1:], variables="energy.total")
    assert again["series"]["energy.total"] == found["series"]["energy.total"]


def test_all_files_of_one_run(folder):
    result = run("simulate", "mine.py:swing", "--csv", "a.csv", "--save", "a.h5", "--mat", "a.mat", "--plot", "a.png",
                 "--hdf5", "c.h5", "--animate", "a.html", "--report", "b.html", "--variables", "x,height")  # fmt: skip
    assert result.exit_code == 0
    for name in ("a.csv", "a.h5", "c.h5", "a.mat", "a.png", "a.html", "b.html"):
        assert f"is in {name}" in result.stdout
        assert (folder / name).stat().st_size > 500
    sol = da.Solution.load("a.h5")
    found = table("a.csv")
    assert list(found) == ["time", "x", "height"]
    np.testing.assert_array_equal(found["x"], sol["x"])
    content = loadmat("a.mat", chars_as_strings=False)
    assert ["".join(column).strip() for column in content["name"].T] == ["time", "L", "x", "height"]
    assert run("export", "a.h5", "--csv", "b.csv", "--variables", "x").exit_code == 0
    np.testing.assert_array_equal(table("b.csv")["x"], sol["x"])


def test_a_checkpoint_is_gone_on_with(folder):
    options = ("pendulum", "--checkpoint", "long.h5")
    first, again = simulated(*options), simulated(*options)
    assert first["end"] == again["end"]
    assert "another simulation" in fails("simulate", *options, "--rtol", "1e-3")
