"""Models as programs in three languages: they give the results of `simulate`, and keep all constraints."""

import casadi as ca
import numpy as np
import pytest
from compilers import LANGUAGES, failing, program, ran

import dalembert as da
from dalembert import problems


def pendulum(**more):
    return da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "pull"], parameters={"L": 1.0, "g": 9.81}, leading=[1, 1, 1, 1, 0],
        rhs=lambda s: [s.vx, s.vy, -s.pull * s.x, -s.pull * s.y - s.g, s.x**2 + s.y**2 - s.L**2],
        name="pendulum", **more,
    )  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_constraints_of_all_levels_hold_at_every_step(language, tmp_path):
    text = da.translate(pendulum(), language, (0, 5), rtol=1e-6, atol=1e-6, x0=[1, 0, 0, 0, 0])
    table = ran(program(text, language, tmp_path))
    x, y, vx, vy, pull = (table[name] for name in ("x", "y", "vx", "vy", "pull"))
    assert np.abs(x**2 + y**2 - 1).max() < 1e-11
    assert np.abs(x * vx + y * vy).max() < 1e-10
    assert np.abs(vx**2 + vy**2 - pull - 9.81 * y).max() < 1e-9


def test_the_order_is_five(tmp_path):
    """A line through errors over numbers of steps, for tolerances from 1e-4 to 1e-9."""
    command = program(da.translate(pendulum(), "c", (0, 5), x0=[1, 0, 0, 0, 0]), "c", tmp_path)
    exact = da.simulate(pendulum(), (0, 5), x0=[1, 0, 0, 0, 0], rtol=1e-13, atol=1e-13).x[-1, :4]
    runs = [ran(command, 5, 10.0**-k) for k in range(4, 10)]
    errors = [np.linalg.norm(run.values[-1, 1:5] - exact) for run in runs]
    slope, _ = np.polyfit(np.log([len(run["time"]) for run in runs]), np.log(errors), 1)
    assert slope < -4.5


def test_the_three_languages_take_the_same_steps(tmp_path):
    text = {language: da.translate(pendulum(), language, (0, 1), x0=[1, 0, 0, 0, 0]) for language in LANGUAGES}
    tables = {}
    for language in LANGUAGES:
        (tmp_path / language).mkdir()
        tables[language] = ran(program(text[language], language, tmp_path / language))
    for other in ("c", "fortran"):
        assert tables[other].values.shape == tables["python"].values.shape
        np.testing.assert_allclose(tables[other].values, tables["python"].values, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("language", LANGUAGES)
def test_arguments_of_programs_and_changed_parameters(language, tmp_path):
    text = da.translate(pendulum(), language, (0, 1), x0=[1, 0, 0, 0, 0])
    changed = {"python": "L = 2.0", "c": "L = 2.0;", "fortran": ":: L = 2.0d0"}[language]
    before = {"python": "L = 1.0", "c": "L = 1.0;", "fortran": ":: L = 1.0d0"}[language]
    assert text.count(before) == 1
    table = ran(program(text.replace(before, changed), language, tmp_path), 0.5, 1e-8, 10)
    np.testing.assert_allclose(table["time"], np.linspace(0, 0.5, 11), atol=1e-14)
    np.testing.assert_allclose(table["x"] ** 2 + table["y"] ** 2, 4.0, atol=1e-5)  # between steps it is a polynomial
    reference = da.simulate(pendulum(), (0, 0.5), x0=[2, 0, 0, 0, 0], parameters={"L": 2.0}, rtol=1e-10, atol=1e-10)
    assert abs(table["y"][-1] - reference["y"][-1]) < 1e-6


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_operation_of_expressions(language, tmp_path):
    """An ordinary equation for each operation, whose right-hand side is compared with CasADi's value."""
    t = 0.7
    operations = {
        "add": lambda s: s.a + s.b, "sub": lambda s: s.a - (s.b - 2), "mul": lambda s: -(s.a * s.b) * 3,
        "div": lambda s: s.a / (s.b / 7), "power": lambda s: s.a**s.b, "cube": lambda s: (-s.a) ** 3,
        "odd": lambda s: s.a**2.3, "sqrt": lambda s: np.sqrt(s.a), "square": lambda s: (s.a + s.b) ** 2,
        "inverse": lambda s: 1 / (s.a + s.b), "exp": lambda s: np.exp(-s.a), "log": lambda s: np.log(s.b),
        "sin": lambda s: np.sin(s.a), "cos": lambda s: np.cos(s.a), "tan": lambda s: np.tan(s.a),
        "asin": lambda s: np.arcsin(s.a / 9), "acos": lambda s: np.arccos(s.a / 9), "atan": lambda s: np.arctan(s.a),
        "sinh": lambda s: np.sinh(s.a), "cosh": lambda s: np.cosh(s.a), "tanh": lambda s: np.tanh(s.a),
        "asinh": lambda s: np.arcsinh(s.a), "acosh": lambda s: np.arccosh(s.b), "atanh": lambda s: np.arctanh(s.a / 9),
        "atan2": lambda s: np.arctan2(s.a, -s.b), "floor": lambda s: np.floor(-s.a), "ceil": lambda s: np.ceil(-s.a),
        "absolute": lambda s: np.abs(-s.a), "sign": lambda s: np.sign(-s.a), "least": lambda s: np.minimum(s.a, s.b),
        "most": lambda s: np.maximum(s.a, s.b), "hypot": lambda s: np.hypot(s.a, s.b),
        "mod": lambda s: np.fmod(s.b, s.a),
        "choice": lambda s: np.where(s.a < s.b, s.a, 5 * s.b), "other": lambda s: np.where(s.a >= s.b, s.a, 5 * s.b),
        "guarded": lambda s: np.where(s.a < 0, np.sqrt(-s.a), 2.0), "expm1": lambda s: np.expm1(s.a),
        "log1p": lambda s: np.log1p(s.a), "moving": lambda s: s.t * s.a, "both": lambda s: np.where(
            np.logical_and(s.a > 0, np.logical_not(s.b < 0)), 1.5, 2.5), "huge": lambda s: 1.5e300 * s.a,
    }  # fmt: skip
    names = list(operations)
    model = da.QuasiLinearDAE(
        x=["clock"], rhs=lambda s: [1.0], parameters={"a": 1.25, "b": 2.75}, outputs=operations, name="operations"
    )
    table = ran(program(da.translate(model, language, (0, t), x0=[0.0]), language, tmp_path))
    expressions = ca.vertcat(*(model.outputs.expression(name) for name in names))
    graph = model.graph
    wanted = ca.Function("f", [graph.t, graph.parameter_symbols], [expressions])(t, [1.25, 2.75])
    for name, value in zip(names, np.array(wanted).ravel(), strict=True):
        assert table[name][-1] == pytest.approx(value, rel=1e-13), name


def test_names_become_identifiers_and_csv(tmp_path):
    """Words of languages, names that differ in case, commas and quotes."""
    from dalembert.model.hybrid import Beginning, SymbolicDAE, Symbols
    from dalembert.model.symbolic import build

    names = ("for", "For", "double", "real(dp)", 'q[1,"x"]', "Ünïcode", "1st", "v1", "t", "y0", "I")
    t, x, dx, p = (ca.SX.sym(name, n) for name, n in (("t", 1), ("x", len(names)), ("dx", len(names)), ("p", 2)))
    symbols = Symbols(
        t=t, x=x, dx=dx, parameters=p, discrete=ca.SX(0, 1), u=ca.SX(0, 1), x_names=names,
        parameter_values={"z": 1.0, "N": 2.0}, discrete_values={}, inputs={},
    )  # fmt: skip
    model = build(
        SymbolicDAE(
            name='odd "names" */', symbols=symbols, residual=dx + p[0] * p[1] * x,
            equation_names=("*/ \\",) * len(names), t_span=(0.0, 1.0),
            beginning=Beginning(guesses=ca.SX(range(len(names))), given=frozenset(range(len(names)))),
        )
    )  # fmt: skip
    for language in LANGUAGES:
        (tmp_path / language).mkdir()
        table = ran(program(da.translate(model, language), language, tmp_path / language))
        assert table.names == ["time", *names]
        np.testing.assert_allclose(table.values[-1, 1:], np.exp(-2.0) * np.arange(len(names)), rtol=1e-5)


def test_aliases_inputs_and_outputs_are_written(tmp_path):
    circuit = da.ImplicitDAE(
        x=["v", "v_C", "i", "v_0"], parameters={"R": 2.0, "V": 5.0}, inputs={"u": lambda t: np.sin(t)},
        residual=lambda s: [s.v - s.v_C, s.v_C_dot - s.i, s.v_0 - s.v - s.R * s.i, s.v_0 - s.V - s.u],
        outputs={"power": lambda s: s.v * s.i, "both": lambda s: [s.v, s.i]},
    )  # fmt: skip
    table = ran(program(da.translate(circuit, "c", (0, 2), x0={"v_C": 1.0}), "c", tmp_path))
    assert table.names == ["time", "v", "v_C", "i", "v_0", "power", "both[1]", "both[2]"]
    solution = da.simulate(circuit, (0, 2), x0={"v_C": 1.0}, method="dassl", rtol=1e-9, atol=1e-9)
    for name in ("v", "v_C", "i", "v_0", "power"):
        assert abs(table[name][-1] - solution[name][-1]) < 1e-5


@pytest.mark.parametrize("language", LANGUAGES)
def test_programs_say_why_they_fail(language, tmp_path):
    blow_up = da.QuasiLinearDAE(x=["z"], rhs=lambda s: [s.z**2])
    command = program(da.translate(blow_up, language, (0, 2), x0=[1.0]), language, tmp_path)
    assert "step size" in failing(command)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(to="pascal"), "languages are python, c, fortran"),
        (dict(t_span=None), "t_span= is needed"),
        (dict(t_span=(1, 0)), "the end must come after the start"),
        (dict(t_span="ab"), "two times"),
        (dict(rtol=-1), "rtol"),
        (dict(model=3), "needs a model"),
        (dict(model=problems.pendulum().model), "naive"),
        (dict(parameters={"l": 3}), "there is no 'l'"),
    ],
)
def test_what_cannot_be_translated_is_said(change, words):
    arguments = dict(model=pendulum(), to="c", t_span=(0, 1), x0=[1, 0, 0, 0, 0]) | change
    with pytest.raises(da.DalembertError, match=words):
        da.translate(**arguments)


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_functions_in_python_cannot_be_translated():
    model = da.QuasiLinearDAE(x=["a"], rhs=lambda s: [1.0 if s.a > 0 else 2.0])
    with pytest.raises(da.ModelError, match="run as Python code"):
        da.translate(model, "c", (0, 1), x0=[1.0])


def test_files_that_are_no_modules_are_installed():
    """Templates and the like: what pyproject.toml lists as data of the package is all that there is."""
    import tomllib
    from pathlib import Path

    package = Path(da.__file__).parent
    project = package.parents[1] / "pyproject.toml"
    if not project.is_file():
        pytest.skip("the package is installed: there is no pyproject.toml")
    patterns = tomllib.loads(project.read_text())["tool"]["setuptools"]["package-data"]["dalembert"]
    listed = {path for pattern in patterns for path in package.glob(pattern)}
    there = {path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert not there - listed
