"""The command line: every command, its output, its errors and exit codes."""

import re
import subprocess
import sys

import pytest
from running import fails, run

import dalembert as da
from dalembert import problems

PNG = b"\x89PNG"


# -- demo, problems, info ------------------------------------------------------------------------------------------


def test_demo_writes_to_the_current_directory_by_default(tmp_path, monkeypatch):
    from dalembert import demo

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "MECHANISMS", {"pendulum": "ggl"})
    monkeypatch.setattr(demo.simulate_all, "__defaults__", (["pendulum"], lambda title: None))
    result = run("demo")
    assert result.exit_code == 0
    assert re.search(r"pendulum +│ ggl +│ +\d+ │", result.stdout)
    assert "The picture is in dalembert_demo.png" in result.stdout
    assert (tmp_path / "dalembert_demo.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("output", "expected"), [("picture.doc", "must end with"), ("missing/picture.png", "does not exist")]
)
def test_demo_refuses_impossible_places_at_once(tmp_path, output, expected):
    assert expected in fails("demo", "-o", tmp_path / output)


def test_problems_lists_the_catalogue():
    result = run("problems")
    assert result.exit_code == 0
    for name in (*problems.catalogue(), *problems.catalogue_large(), *problems.catalogue_quasi_linear()):
        assert name in result.stdout


def test_simulate_and_check_a_dae_of_the_catalogue():
    result = run("simulate", "transistor_amplifier")
    assert result.exit_code == 0
    assert "error against reference" in result.stdout
    assert re.search(r"U8\W+1\.23699", result.stdout)
    assert "residual" not in result.stdout
    assert "U8" in run("check", "transistor_amplifier").stdout


def test_info():
    result = run("info")
    assert result.exit_code == 0
    for word in (da.__version__, "Python", "numpy", "casadi", "numba", "llvmlite", "cache directory", "kernels"):
        assert word in result.stdout


def test_version_and_help():
    assert run("--version").stdout.strip() == f"dalembert {da.__version__}"
    assert "simulate" in run("--help").stdout


def test_start_up_imports_nothing_heavy():
    code = (
        "import sys, dalembert.cli; print([m for m in ('numpy', 'casadi', 'numba', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- simulate ------------------------------------------------------------------------------------------------------


def test_simulate_a_problem_of_the_catalogue(tmp_path):
    picture, file = tmp_path / "pendulum.png", tmp_path / "pendulum.h5"
    result = run(
        "simulate", "pendulum", "--method", "radau5", "--formulation", "index2", "--rtol", "1e-8", "--atol", "1e-8",
        "--plot", picture, "--save", file,
    )  # fmt: skip
    assert result.exit_code == 0
    assert "index2" in result.stdout
    assert "error against reference" in result.stdout
    assert picture.read_bytes().startswith(PNG)
    problem = problems.pendulum()
    assert problem.error(da.Solution.load(file, model=problem.model)) < 1e-5


def test_simulate_a_problem_of_many_bodies():
    result = run("simulate", "moving_chain")
    assert result.exit_code == 0
    assert "error against reference" in result.stdout


def test_simulate_to_another_time_has_no_error_against_the_reference():
    result = run("simulate", "pendulum", "--t-end", "0.5")
    assert result.exit_code == 0
    assert "reached t = 0.5" in result.stdout
    assert "reference" not in result.stdout


def test_simulate_a_file(folder):
    result = run("simulate", "mine.py:swing")
    assert result.exit_code == 0
    assert "My pendulum" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["andrew"], "did you mean 'andrews'"),
        (["pendulum", "--method", "rado5"], "did you mean 'radau5'"),
        (["pendulum", "--formulation", "gg"], "did you mean 'ggl'"),
        (["pendulum", "--rtol", "-1"], "rtol"),
        (["pendulum", "--t-end", "nan"], "finite"),
        (["nowhere.py:problem"], "there is no file"),
    ],
)
def test_simulate_explains_what_is_wrong(arguments, expected):
    assert expected in fails("simulate", *arguments)


def test_usage_errors_have_exit_code_2():
    assert run("simulate").exit_code == 2
    assert run("simulate", "pendulum", "--rtol", "small").exit_code == 2
    assert run("simulated").exit_code == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (":swinge", "did you mean 'swing'"),
        (":number", "is a int; a dalembert.problems.Problem, Model or Multibody is needed"),
        (":rod", "dalembert.problems.Problem"),
        (":rod", "give them with --initial NAME=VALUE"),
        (":broken", "broken() in 'mine.py' raised ZeroDivisionError: division by zero (line 15 of "),
        (":longer(fctor=2)", "longer(fctor=2)"),
        (":longer(2)", "write longer(NAME=VALUE, ...)"),
        (":longer(factor=__import__('os'))", "write longer(NAME=VALUE, ...)"),
    ],
)
def test_files_that_do_not_hold_what_is_asked_for(folder, name, expected):
    assert expected in fails("simulate", f"mine.py{name}")


def test_a_file_with_several_models_has_to_be_told_which(user_file):
    text = "import dalembert as da\n"
    text += "".join(f"{name} = da.EquationsOfMotion(p=['x'], mass=[1], force=[0])\n" for name in "ab")
    assert "more than one: a, b" in fails("simulate", user_file(text))
    assert "(none)" in fails("simulate", user_file("x = 1\n"))


def test_files_that_cannot_be_run(user_file):
    path = user_file("x = 1\ny = = 2\n")
    assert "line 2" in fails("simulate", f"{path}:problem")
    path = user_file("x = undefined_name\n")
    assert "NameError" in fails("check", f"{path}:model")
    path = user_file("import sys\nsys.exit(3)\n")
    assert "raised SystemExit: 3 (line 2 of" in fails("check", path)


def test_a_failure_keeps_what_was_computed(user_file, tmp_path):
    path = user_file(
        """
        import numpy as np
        import dalembert as da
        from dalembert.problems import Problem

        # z' = z² goes to infinity at t = 1
        model = da.EquationsOfMotion(name="blow-up", p=["z"], v=["q"], kinematics=lambda s: [[s.z**2]], mass=[1.0],
                                     force=[0.0])
        problem = Problem(name="blow-up", title="Blow-up", model=model, p0=[1.0], v0=[1.0], t_end=2.0)
        """
    )
    file = tmp_path / "partial.h5"
    result = run("simulate", f"{path}:problem", "--save", file)
    assert result.exit_code == 3
    assert "error: " in result.stderr
    assert "The solution is in" in result.stdout
    assert 0.9 < da.Solution.load(file).t[-1] < 1.01


# -- check ---------------------------------------------------------------------------------------------------------


def test_check_a_model(folder):
    result = run("check", "mine.py:rod")
    assert result.exit_code == 0
    for words in ("2 positions", "x_dot", "hidden constraints", "All functions are traced"):
        assert words in result.stdout
    assert "start values" not in result.stdout


def test_check_a_problem_finds_start_values(folder):
    for target in ("mine.py:swing", "motor_pendulum"):
        result = run("check", target)
        assert result.exit_code == 0
        assert "consistent" in result.stdout


WITH_START = """
    import dalembert as da

    rod = da.EquationsOfMotion(name="rod", p=["x", "y"], mass=[1, 1], force=[0, -9.81],
                               start={"p0": {"x": 0.6, "y": -0.8}}, outputs={"tip": lambda s: s.p},
                               holonomic=lambda s: [s.x**2 + s.y**2 - 1])
"""


def test_models_with_start_values_can_be_simulated(user_file):
    path = user_file(WITH_START)
    for target in (path, f"{path}:rod"):
        result = run("simulate", target, "--t-end", "0.5")
        assert result.exit_code == 0
        assert "reached t = 0.5" in result.stdout
    assert "add --t-end" in fails("simulate", path)


def test_check_shows_outputs_and_start_values_of_a_model(user_file):
    result = run("check", user_file(WITH_START))
    assert result.exit_code == 0
    for words in ("outputs", "tip", "consistent", "-0.8"):
        assert words in result.stdout


def test_check_names_functions_that_cannot_be_traced(user_file):
    path = user_file(
        """
        import dalembert as da

        only = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-1.0] if s.x > 0 else [1.0])
        """
    )
    result = run("check", path)
    assert result.exit_code == 0
    assert "force: UntraceableError" in result.stdout
    assert result.stderr == ""


def test_check_a_dae(user_file):
    result = run("check", user_file("import dalembert as da\nd = da.QuasiLinearDAE(x=['x'], rhs=lambda s: [-s.x])\n"))
    assert result.exit_code == 0
    assert "unknowns x" in result.stdout


PENDULUM = """
import dalembert as da
pendulum = da.ImplicitDAE(
    x=["x", "y", "vx", "vy", "lam"],
    residual=lambda s: [s.x_dot - s.vx, s.y_dot - s.vy, s.vx_dot + s.lam * s.x, s.vy_dot + s.lam * s.y + 9.81,
                        s.x**2 + s.y**2 - 1])
"""


def test_check_shows_the_structure_of_a_dae(user_file):
    shown = run("check", user_file(PENDULUM)).stdout
    rows = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in shown.splitlines()]
    assert ["index", "3", ""] in rows
    assert ["degrees of freedom", "2", ""] in rows
    assert ["differentiated once", "2", "equation 1, equation 2"] in rows
    assert ["differentiated twice", "1", "equation 5"] in rows
    assert ["blocks", "1", "the largest one has 5: x, y, vx, vy, lam"] in rows


def test_check_shows_what_is_eliminated(user_file):
    text = ("import dalembert as da\nd = da.ImplicitDAE(x=['a', 'b', 'c'], parameters={'k': 2.0}, "
            "residual=lambda s: [s.a_dot + s.b, s.a + s.b, s.c - 2 * s.k])\n")  # fmt: skip
    shown = run("check", user_file(text)).stdout
    assert "b = -a, c = 2*k" in shown
    assert "eliminated" in shown


def test_check_names_what_is_structurally_singular(user_file):
    path = user_file(
        "import dalembert as da\nd = da.QuasiLinearDAE(x=['a', 'b'], leading=[1, 0], rhs=lambda s: [-s.a, s.a - 1])\n"
    )
    message = " ".join(fails("check", path).split())
    assert "equation 1, equation 2 contain only 'a'" in message
    assert "'b' occurs in no equation" in message


def test_check_prints_all_faults_of_a_model(user_file):
    path = user_file(
        "import dalembert as da\nmodel = da.EquationsOfMotion(p=['x'], mass=[1, 1], force=lambda s: [s.y])\n"
    )
    message = fails("check", f"{path}:model")
    assert "mass: returned 2 values" in message
    assert "there is no 'y'" in message


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "dalembert", "--version"], capture_output=True, text=True, check=True)
    assert da.__version__ in done.stdout
