"""Outputs of a model in results: at accepted steps, between them, at jumps, in tables and pictures, in files."""

import pickle

import numpy as np
import pytest

import dalembert as da


def python_speed(s):
    return float(np.hypot(float(s.x_dot), float(s.y_dot)))


OUTPUTS = {
    "energy": lambda s: s.m * (s.x_dot**2 + s.y_dot**2) / 2 + s.m * 9.81 * s.y,
    "tip": lambda s: [s.x, s.y],
    "frame": lambda s: [[s.x, -s.y, 0], [s.y, s.x, s.t]],
    "reaction": lambda s: -2 * s.rod * s.p,
    "pull": lambda s: s.m * s.a + [0, s.m * 9.81],  # the same by d'Alembert's principle
    "nothing": lambda s: [],
    "seven": 7.0,
}


def pendulum(outputs=OUTPUTS):
    return da.EquationsOfMotion(
        p=["x", "y"], mass=lambda s: [s.m, s.m], force=lambda s: [0, -9.81 * s.m], parameters={"m": 2.0}, lam=["rod"],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1], outputs=outputs, start={"x": 1.0, "y": 0.0},
    )  # fmt: skip


@pytest.fixture(scope="module")
def sol():
    return da.simulate(pendulum(), (0, 2), rtol=1e-8, atol=1e-8)


def test_shapes_and_values(sol):
    n = len(sol.t)
    shapes = {"energy": (n,), "tip": (n, 2), "frame": (n, 2, 3), "reaction": (n, 2), "nothing": (n, 0), "seven": (n,)}
    for name, shape in shapes.items():
        assert sol[name].shape == shape
        assert sol[name].dtype == float
    np.testing.assert_array_equal(sol["tip"], sol.p)
    frame = np.array([[[x, -y, 0], [y, x, t]] for t, (x, y) in zip(sol.t, sol.p, strict=True)])
    np.testing.assert_array_equal(sol["frame"], frame)
    np.testing.assert_allclose(sol["energy"], 0, atol=1e-6)
    assert (sol["seven"] == 7).all()


def test_multipliers_and_accelerations(sol):
    """Settled multipliers: the reaction and the accelerations balance at every point, also between steps."""
    between = sol.at(np.linspace(0, 2, 333))
    for view, tolerance in ((sol, 1e-12), (between, 1e-9), (sol.at(0.321), 1e-9)):
        np.testing.assert_allclose(view["pull"], view["reaction"], atol=tolerance)
    np.testing.assert_allclose(sol["pull"] - [0, 2 * 9.81], 2 * sol.accelerations(), rtol=1e-14, atol=1e-14)
    first = sol.at(0.0)
    np.testing.assert_allclose(first["reaction"], [0, 0], atol=1e-12)  # at rest, horizontal
    # m (v² − g y) / L inwards
    wanted = 2 * ((between.v**2).sum(1) - 9.81 * between["y"])
    np.testing.assert_allclose(np.linalg.norm(between["reaction"], axis=1), np.abs(wanted), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", [da.Radau5(formulation="index3"), da.Hem5(), da.Geoms(), da.Dassl(), da.Mexx()])
def test_with_every_family(method):
    other = da.simulate(pendulum(), (0, 2), rtol=1e-8, atol=1e-8, method=method)
    np.testing.assert_allclose(other["pull"], other["reaction"], atol=1e-9)
    np.testing.assert_allclose(other["energy"], 0, atol=1e-4)


def test_at_one_time_and_at_many(sol):
    one = sol.at(0.5)
    assert isinstance(one["energy"], float)
    assert one["tip"].shape == (2,)
    assert one["frame"].shape == (2, 3)
    np.testing.assert_array_equal(one["tip"], one.p)
    many = sol.at([[0.1, 0.2, 0.3], [0.5, 0.6, 1.0]])
    assert many["frame"].shape == (2, 3, 2, 3)
    assert many["energy"].shape == (2, 3)
    np.testing.assert_allclose(many["frame"][1, 0], one["frame"], rtol=1e-12, atol=1e-15)
    assert one.output_names == sol.output_names == tuple(OUTPUTS)
    assert "tip" in sol
    assert "tip" in one
    assert "tipp" not in sol
    assert "tip" not in sol.names
    assert sol.to_dict().keys() == {"t", *sol.names}


def test_unknown_names_suggest_outputs(sol):
    for view in (sol, sol.at(0.1)):
        with pytest.raises(da.ModelError, match="there is no 'enrgy'; did you mean 'energy'"):
            view["enrgy"]
    with pytest.raises(da.ModelError, match="did you mean 'energy'"):
        sol.plot("enrgy")


def test_python_code():
    with pytest.warns(da.UntraceableWarning) as said:
        model = pendulum({"speed": python_speed, "vector": lambda s: [float(s.rod), s.a[0]]})
    assert [str(warning.message).partition(" (")[0] for warning in said] == ["output 'speed'", "output 'vector'"]
    sol = da.simulate(model, (0, 1))
    np.testing.assert_allclose(sol["speed"], np.linalg.norm(sol.v, axis=1))
    np.testing.assert_array_equal(sol["vector"], np.stack([sol["rod"], sol.accelerations()[:, 0]], 1))
    assert isinstance(sol.at(0.5)["speed"], float)


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_python_code_that_fails():
    def refuses(s):
        if float(s.x) < 0.5:
            raise da.StepRefused("not here")
        return s.x

    def fails(s):
        return 1 / (float(s.x) > 0.5)

    def changes(s):
        return [1.0] * (1 if float(s.x) > 0.5 else 2)

    sol = da.simulate(pendulum({"refuses": refuses, "fails": fails, "changes": changes}), (0, 1))
    np.testing.assert_array_equal(np.isnan(sol["refuses"]), sol["x"] < 0.5)
    with pytest.raises(da.FunctionFailed, match=r"output 'fails' .* raised ZeroDivisionError.* at t = "):
        sol["fails"]
    with pytest.raises(da.FunctionFailed, match=r"output 'changes' .* returned an array of shape \(.\,\)"):
        sol["changes"]


def test_other_models():
    tank = da.QuasiLinearDAE(
        x=["h", "q"], leading=[1, 0], rhs=lambda s: [-s.q, s.q - s.k * s.h], parameters={"k": 2.0},
        outputs={"both": lambda s: [s.h + s.q, s.k]}, start={"h": 1.0},
    )  # fmt: skip
    sol = da.simulate(tank, (0, 1))
    np.testing.assert_allclose(sol["both"], np.stack([sol["h"] + sol["q"], 2 + 0 * sol.t], 1))
    decay = da.ImplicitDAE(
        x=["z"], residual=lambda s: [s.z_dot + s.z], outputs={"double": lambda s: 2 * s.z}, start={"x0": [1]}
    )
    sol = da.simulate(decay, (0, 1), method="dassl")
    np.testing.assert_array_equal(sol["double"], 2 * sol["z"])


# -- jumps ---------------------------------------------------------------------------------------------------------


def test_inputs_at_breakpoints():
    """Before and after a jump of an input, both at the time of the jump."""
    push = da.Input(lambda t: np.where(t < 0.5, 1.0, 3.0), breakpoints=[0.5, 1.0])
    cart = da.EquationsOfMotion(
        p=["z"], inputs={"F": push, "G": lambda t: t**2}, mass=[2.0], force=lambda s: [s.F], start={"z": 0},
        outputs={"F and rate": lambda s: [s.F, s.G_dot], "z''": lambda s: s.a[0]},
    )  # fmt: skip
    sol = da.simulate(cart, (0, 1))
    (before, after) = np.flatnonzero(sol.t == 0.5)
    assert sol["F and rate"][before, 0] == 1
    assert sol["F and rate"][after, 0] == 3
    assert sol["z''"][before] == pytest.approx(0.5)
    assert sol["z''"][after] == pytest.approx(1.5)
    np.testing.assert_allclose(sol["F and rate"][:, 1], 2 * sol.t, atol=1e-12)
    np.testing.assert_array_equal(sol.at([0.25, 0.5, 0.5, 0.75, 1.0])["F and rate"][:, 0], [1, 3, 3, 3, 3])
    assert sol.at(0.5)["z''"] == pytest.approx(1.5)
    at = da.simulate(cart, (0, 1), t_eval=[0, 0.5, 1])
    np.testing.assert_array_equal(at["F and rate"][:, 0], [1, 3, 3])


def test_discrete_variables():
    ball = da.EquationsOfMotion(
        p=["y"], mass=[1.0], force=[-9.81], discrete={"hits": 0, "E": 9.81}, start={"y": 1.0},
        outputs={"loss": lambda s: s.y_dot**2 / 2 + 9.81 * s.y - s.E, "count": lambda s: [s.hits]},
    )  # fmt: skip
    floor = da.Event(
        lambda s: s.y, direction=-1,
        action=lambda s: {"y_dot": -0.8 * s.y_dot, "hits": s.hits + 1, "E": (0.8 * s.y_dot) ** 2 / 2},
    )  # fmt: skip
    sol = da.simulate(ball, (0, 2), events=floor)
    assert sol["count"][-1, 0] == 3
    np.testing.assert_allclose(sol["loss"], 0, atol=1e-7)
    np.testing.assert_allclose(sol.at(np.linspace(0, 2, 200))["loss"], 0, atol=1e-7)
    np.testing.assert_allclose(sol._curve()["loss"], 0, atol=1e-7)
    assert [sol.at(t)["count"][0] for t in sol.events.t] == [1, 2, 3]


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
@pytest.mark.parametrize("method", [da.Radau5(), da.Hem5(), da.Geoms()])
def test_released_constraints(method):
    """A thread that breaks: no pull, and free fall from then on; also for what runs as Python code."""
    model = pendulum({**OUTPUTS, "python": lambda s: float(s.rod), "height": lambda s: s.y + 0 * s.rod})
    breaks = da.Event(lambda s: s.rod - 12, action=lambda s: da.Transition(active=[]), name="breaks")
    low = da.Event(lambda s: s.height + 3, name="low")
    low_python = da.Event(lambda s: float(s.height) + float(s.python) + 3, name="low too")
    sol = da.simulate(model, (0, 1.2), method=method, events=[breaks, low, low_python])
    at, late = sol.events.named("breaks").t[0], sol.t > sol.events.named("breaks").t[0]
    assert late.any()
    assert (sol["python"] == sol["rod"]).all()
    np.testing.assert_array_equal(sol["reaction"][late], 0 * sol.p[late])
    np.testing.assert_allclose(sol["pull"][late], 0, atol=1e-9)
    np.testing.assert_allclose(sol["pull"], sol["reaction"], atol=1e-6)
    assert sol.at(at - 1e-9)["python"] == pytest.approx(12, abs=1e-5)
    assert sol.at(at)["python"] == 0
    np.testing.assert_allclose(sol.events.named("low too").t, sol.events.named("low").t, atol=1e-9)


# -- parts of results, files, tables, pictures ---------------------------------------------------------------------


def test_components_that_were_kept():
    model = pendulum()
    sol = da.simulate(model, (0, 1), t_eval=da.Output(points=9, components=["x", "y", "y_dot"]))
    np.testing.assert_array_equal(sol["tip"], sol.p)
    with pytest.raises(da.OptionError, match=r"no values of v \(x_dot\), which output 'energy' needs: Output\("):
        sol["energy"]
    with pytest.raises(da.OptionError, match=r"no values of v \(x_dot\), which output 'pull' needs"):
        sol["pull"]
    only = da.simulate(pendulum({"height": lambda s: s.y + 1}), (0, 1), t_eval=da.Output(components=["y"]))
    np.testing.assert_array_equal(only["height"], only["y"] + 1)
    with pytest.raises(da.OptionError, match="'tip' is an output of the model: keep the variables"):
        da.simulate(model, (0, 1), t_eval=da.Output(components=["tip"]))


def test_files(sol, tmp_path):
    path = sol.save(tmp_path / "run.h5")
    bare = da.Solution.load(path)
    assert bare.output_names == ()
    assert "tip" not in bare
    for view in (bare, bare.at(0.5)):
        with pytest.raises(da.ModelError, match=r"no 'tip'.*outputs of a model need the model.*model=\.\.\."):
            view["tip"]
    whole = da.Solution.load(path, model=pendulum())
    for name in OUTPUTS:
        np.testing.assert_array_equal(whole[name], sol[name])
    lighter = da.simulate(pendulum(), (0, 1), parameters={"m": 1.0})
    loaded = da.Solution.load(lighter.save(tmp_path / "lighter.h5"), model=pendulum())
    np.testing.assert_array_equal(loaded["pull"], lighter["pull"])


def test_pickles(sol):
    other = pickle.loads(pickle.dumps(sol))
    for name in OUTPUTS:
        np.testing.assert_array_equal(other[name], sol[name])
    view = pickle.loads(pickle.dumps(sol.at(0.5)))  # a state alone does not take the model along
    assert view["x"] == sol.at(0.5)["x"]
    with pytest.raises(da.ModelError, match="outputs of a model need the model"):
        view["tip"]


def test_tables(sol):
    table = sol.to_pandas(outputs=["energy", "tip", "frame"])
    new = ["energy", "tip[0]", "tip[1]", *(f"frame[{i},{j}]" for i in range(2) for j in range(3))]
    assert list(table.columns) == [*sol.names, *new]
    np.testing.assert_array_equal(table["tip[1]"], sol["y"])
    np.testing.assert_array_equal(table["frame[1,2]"], sol.t)
    assert list(sol.to_pandas().columns) == list(sol.names)
    assert "energy" in sol.to_pandas(outputs="energy")
    with pytest.raises(da.ModelError, match="did you mean 'tip'"):
        sol.to_pandas(outputs=["tipp"])


def test_pictures(sol):
    ax = sol.plot("tip", "energy")
    labels = [line.get_label() for line in ax.lines]
    assert labels == ["tip[0]", "tip[1]", "energy"]
    t, y = ax.lines[1].get_data()
    assert len(t) >= 500
    np.testing.assert_allclose(y, sol.at(t)["y"], atol=1e-12)
    x, _ = sol.plot("y", against="energy").lines[0].get_data()
    np.testing.assert_allclose(x, sol.at(t)["energy"], atol=1e-12)
    with pytest.raises(da.OptionError, match=r"against='tip' is an output of shape \(2,\)"):
        sol.plot("y", against="tip")
    with pytest.raises(da.OptionError, match="two axes"):
        sol.plot("tip", "position residual")


def test_pictures_of_discrete_variables():
    switch = da.Event(lambda s: s.z - 0.5, action=lambda s: {"on": 1})
    cart = da.EquationsOfMotion(
        p=["z"], mass=[1.0], force=[0.0], discrete={"on": 0}, start={"v0": [1], "p0": [0]},
        outputs={"twice": lambda s: 2 * s.on},
    )  # fmt: skip
    sol = da.simulate(cart, (0, 1), events=switch)
    for name, size in (("on", 1), ("twice", 2)):
        t, values = sol.plot(name).lines[0].get_data()
        np.testing.assert_array_equal(values[t < 0.5 - 1e-9], 0)
        np.testing.assert_array_equal(values[t > 0.5 + 1e-9], size)
