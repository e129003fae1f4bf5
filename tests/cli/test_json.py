"""--json: one document on the standard output whatever happens, with the same names."""

import json

import pytest
from running import document, first_section, run

import dalembert as da

#: names of `result` by command, as docs/command_line.md lists them
NAMES = {
    "simulate": "title model method options formulation choice status message success interval points statistics "
    "residuals reference_error events impacts end series files",
    "compare": "problem reference trials recommendation files",
    "sweep": "members finished engine t samples values status errors files",
    "check": "model title kind text flat variables parameters inputs outputs events hidden structure untraceable start",
    "flatten": "class unknowns equations notes text files",
    "translate": "model language text files",
    "problems": "problems",
    "info": "dalembert python system machine packages extras cache kernels",
    "completion": "shell text files",
    "demo": "problems files",
    "reproduce": "paper sections",
}
RUNS = [
    ["simulate", "pendulum", "--t-end", "0.1"],
    ["compare", "pendulum", "--method", "hem5", "--tolerance", "1e-4", "--repeat", "1", "--t-end", "0.1"],
    ["sweep", "pendulum", "--vary", "g=1,2", "--t-end", "0.1"],
    ["check", "pendulum"],
    ["check", "Pendulum.mo"],
    ["check", "arm.urdf"],
    ["flatten", "Pendulum.mo"],
    ["translate", "Pendulum.mo", "--to", "python"],
    ["problems", "*pendulum*"],
    ["info"],
    ["completion", "fish"],
]


@pytest.mark.parametrize("arguments", RUNS, ids=lambda words: " ".join(words[:2]))
def test_every_command_prints_one_document(folder, arguments):
    found = document(*arguments)
    assert found["command"] == arguments[0]
    assert found["dalembert"] == da.__version__
    assert found["error"] is None
    assert list(found["result"]) == NAMES[arguments[0]].split()


def test_demo_and_reproduce(folder, monkeypatch):
    from dalembert import demo

    monkeypatch.setattr(demo, "MECHANISMS", {"pendulum": "ggl"})
    monkeypatch.setattr(demo.simulate_all, "__defaults__", (["pendulum"], lambda title: None))
    found = document("demo")["result"]
    assert list(found) == NAMES["demo"].split()
    assert found["problems"][0]["problem"] == "pendulum"
    assert found["problems"][0]["error"] < 1e-5
    first_section(monkeypatch)
    found = document("reproduce", "geoms", "--quick")["result"]
    assert list(found) == NAMES["reproduce"].split()
    assert found["sections"][0]["title"].startswith("Tables 3 and 4")


def test_results_are_those_of_python(folder):
    found = document("simulate", "andrews", "--method", "hem5", "--rtol", "1e-7", "--variables", "beta,th*",
                     "--t-eval", "0,0.01,0.03", "--save", "run.h5")["result"]  # fmt: skip
    problem = da.problems.andrews()
    sol = problem.simulate(method="hem5", rtol=1e-7, t_eval=[0, 0.01, 0.03])
    assert found["series"]["beta"] == sol["beta"].tolist()
    assert found["series"]["time"] == [0, 0.01, 0.03]
    assert found["end"] == {name: sol[name][-1] for name in sol.names}
    assert found["reference_error"] == problem.error(sol)
    assert found["statistics"]["accepted"] == sol.stats.accepted
    assert found["residuals"]["position"] == sol.max_residual("position")
    assert found["files"] == {"save": "run.h5"}


def test_what_models_print_is_no_result(user_file):
    path = user_file(
        """
        import dalembert as da
        print("hello from the file")
        def force(s):
            print("hello from the force")
            return [-s.x]
        model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=force, start={"p0": [1.0]})
        """
    )
    result = run("simulate", path, "--t-end", "0.1", "--json")
    assert json.loads(result.stdout)["result"]["status"] == "finished"
    assert "hello from the file" in result.stderr
    assert "hello from the force" in result.stderr
    table = run("simulate", path, "--t-end", "0.1", "--csv", "-", "--variables", "x").stdout
    assert table.splitlines()[0] == "time,x"
    assert "hello" not in table


# -- errors ------------------------------------------------------------------------------------------------------------


def test_errors_have_type_message_and_place(folder):
    (folder / "Broken.mo").write_text("model Broken\n  Real x;\nequation\n  der(x) = = 1;\nend Broken;\n")
    error = document("simulate", "Broken.mo", code=1)["error"]
    assert error["type"] == "ModelicaError"
    assert error["place"] == {"file": "Broken.mo", "line": 4, "column": 12}
    (folder / "broken.urdf").write_text('<robot name="a">\n  <link name="b"/>\n  <joint name="j"/>\n</robot>\n')
    error = document("check", "broken.urdf", code=1)["error"]
    assert error["type"] == "UrdfError"
    assert error["place"]["line"] == 3
    assert error["faults"]
    (folder / "broken.py").write_text("import dalembert\nx = 1 / 0\n")
    error = document("check", "broken.py", code=1)["error"]
    assert error["place"] == {"file": "broken.py", "line": 2, "column": None}
    (folder / "syntax.py").write_text("x = 1\ny = = 2\n")
    assert document("check", "syntax.py", code=1)["error"]["place"]["line"] == 2
    (folder / "faulty.py").write_text(
        "import dalembert as da\nm = da.EquationsOfMotion(p=['x'], mass=[1, 1], force=lambda s: [s.y])\n"
    )
    error = document("check", "faulty.py", code=1)["error"]
    assert error["type"] == "ModelError"
    assert len(error["faults"]) == 2
    assert document("simulate", "andrew", code=1)["error"]["place"] is None


def test_usage_errors_are_documents(folder):
    for arguments in (["simulate"], ["simulate", "pendulum", "--rtol", "small"], ["simulated"], ["info", "--nothing"]):
        error = document(*arguments, code=2)["error"]
        assert error["type"] == "UsageError"
        assert error["message"]


BLOW_UP = """
    import dalembert as da
    model = da.EquationsOfMotion(name="blow-up", p=["z"], v=["q"], kinematics=lambda s: [[s.z**2]], mass=[1.0],
                                 force=[0.0], start={"p0": [1.0], "v0": [1.0]})
"""


def test_partial_results_have_an_error_besides(user_file):
    found = document("simulate", user_file(BLOW_UP), "--t-end", 2, code=3)
    assert found["result"]["status"] == "failed"
    assert 0.9 < found["error"]["time"] < 1.01
    assert found["error"]["time"] == found["result"]["interval"][1]
    assert found["error"]["type"] in ("StepSizeTooSmall", "TooManySteps", "FunctionFailed")


def test_warnings_are_in_the_document_and_on_the_standard_error(user_file):
    path = user_file(
        "import dalembert as da\n"
        "m = da.EquationsOfMotion(p=['x'], mass=[1.], force=lambda s: [-float(s.x)], start={'p0': [1.]})\n"
    )
    result = run("simulate", path, "--t-end", "0.1", "--json")
    found = json.loads(result.stdout)
    assert [warning["type"] for warning in found["warnings"]] == ["UntraceableWarning"]
    assert "warning: " in result.stderr


def test_numbers_that_json_has_not_are_null(user_file):
    path = user_file(
        "import dalembert as da, numpy as np\n"
        "m = da.EquationsOfMotion(p=['x'], mass=[1.], force=[0.], start={'p0': [1.]},\n"
        "                         outputs={'bad': lambda s: np.log(s.x - 2), 'far': lambda s: 1 / (s.x - 1)})\n"
    )
    text = run("simulate", path, "--t-end", "0.1", "--variables", "bad,far", "--points", "2", "--json").stdout
    assert "NaN" not in text
    assert "Infinity" not in text
    assert json.loads(text)["result"]["series"] == {"time": [0, 0.1], "bad": [None, None], "far": [None, None]}


def test_faults_of_ours_are_told_as_such(folder, monkeypatch):
    from dalembert.cli import check

    monkeypatch.setattr(check, "_variables", lambda model: 1 / 0)
    result = run("check", "pendulum", "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["error"]["type"] == "ZeroDivisionError"
    assert "Traceback" in result.stderr
    assert "fault of dalembert" in result.stderr
