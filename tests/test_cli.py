"""The command line: every command, its output, its errors and exit codes."""

import re
import subprocess
import sys
import textwrap

import pytest
from typer.testing import CliRunner

import dalembert as da
from dalembert import problems
from dalembert.cli import app

PNG = b"\x89PNG"


def run(*arguments: object):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fails(*arguments: object, code: int = 1) -> str:
    """The message of a command that must fail."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture
def user_file(tmp_path):
    """Write a user's Python file."""

    def write(text: str):
        path = tmp_path / "mine.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write


MINE = """
    import dalembert as da
    from dalembert.problems import Problem

    model = da.EquationsOfMotion(name="mine", p=["x", "y"], parameters={"L": 1.0}, mass=[1, 1], force=[0, -9.81],
                                 holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2])

    def problem():
        return Problem(name="mine", title="My pendulum", model=model, p0=[1, 0], v0=[0, 0], t_end=1.0)

    number = 42

    def broken():
        return 1 / 0
"""


# -- demo, problems, info ------------------------------------------------------------------------------------------


def test_demo_prints_a_table_and_writes_a_picture(tmp_path):
    picture = tmp_path / "demo.png"
    result = run("demo", "--output", picture)
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(PNG)
    assert str(picture) in result.stdout.replace("\n", "")
    for name in ("pendulum", "andrews", "truck", "heavy_top", "slider_crank", "car_axis"):
        assert name in result.stdout


def test_demo_writes_to_the_current_directory_by_default(tmp_path, monkeypatch):
    from dalembert import demo

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "MECHANISMS", {"pendulum": "ggl"})
    monkeypatch.setattr(demo.simulate_all, "__defaults__", (["pendulum"], lambda title: None))
    assert run("demo").exit_code == 0
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


def test_simulate_a_file(user_file):
    path = user_file(MINE)
    result = run("simulate", f"{path}:problem")
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
        (":problm", "did you mean 'problem'"),
        (":number", "is a int"),
        (":model", "dalembert.problems.Problem is needed"),
        (":broken", "ZeroDivisionError"),
        ("", "no single"),
    ],
)
def test_files_that_do_not_hold_what_is_asked_for(user_file, name, expected):
    assert expected in fails("simulate", f"{user_file(MINE)}{name}")


def test_files_that_cannot_be_run(user_file):
    path = user_file("x = 1\ny = = 2\n")
    assert "line 2" in fails("simulate", f"{path}:problem")
    path = user_file("x = undefined_name\n")
    assert "NameError" in fails("check", f"{path}:model")


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
    assert result.exit_code == 1
    assert "error: " in result.stderr
    assert 0.9 < da.Solution.load(file).t[-1] < 1.01


# -- check ---------------------------------------------------------------------------------------------------------


def test_check_a_model(user_file):
    result = run("check", f"{user_file(MINE)}:model")
    assert result.exit_code == 0
    for words in ("2 positions", "x_dot", "hidden constraints", "All functions are traced"):
        assert words in result.stdout
    assert "start values" not in result.stdout


def test_check_a_problem_finds_start_values(user_file):
    for target in (f"{user_file(MINE)}:problem", "motor_pendulum"):
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
    assert "model without start values" in fails("simulate", f"{user_file(MINE)}:model")


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
