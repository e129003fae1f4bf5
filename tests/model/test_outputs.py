"""Outputs of models: tracing, names, laziness, pickling; in events and actions."""

import pickle
import warnings

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.model.outputs import LazyOutputs


def rod(**changes):
    given = dict(
        p=["x", "y"],
        parameters={"L": 1.0, "g": 9.81},
        mass=[1, 1],
        force=lambda s: [0, -s.g],
        holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2],
        outputs={
            "energy": lambda s: (s.x_dot**2 + s.y_dot**2) / 2 + s.g * s.y,
            "rod.tip": lambda s: [s.x, s.y],
            "orientation": lambda s: np.array([[s.x, -s.y], [s.y, s.x]]) / s.L,
            "pull": lambda s: 2 * s.lam1 * s.L,
        },
        start={"p0": [1, 0]},
    )
    return da.EquationsOfMotion(**{**given, **changes})


def python_height(s):
    """Height above the lowest point.

    In a way that cannot be traced.
    """
    return float(s.y) + float(s.L)


def power(name):
    """At the top level, so that it can be pickled."""
    return lambda s: s.x ** int(name.split()[1])


def test_names_shapes_and_descriptions():
    with pytest.warns(da.UntraceableWarning, match="output 'height'"):
        model = rod(outputs={"height": python_height, "two": [1.0, 2.0], "row": lambda s: [[s.x, s.y]]})
    outputs = model.outputs
    assert outputs.names == ("height", "two", "row")
    assert len(outputs) == 3
    assert [outputs.shape(name) for name in outputs] == [(), (2,), (1, 2)]
    assert outputs.description("height") == "Height above the lowest point."
    assert outputs.description("row") == ""
    assert list(model.untraceable) == ["output 'height'"]
    with pytest.raises(da.ModelError, match="output 'height' runs as Python code"):
        outputs.expression("height")
    assert rod(outputs=None).outputs.names == ()
    assert not rod(outputs={}).outputs


def test_they_leave_the_equations_alone():
    """Same tapes, so that nothing is compiled anew and results are the same bit for bit."""
    with_outputs, without = rod(), rod(outputs=None)
    assert set(with_outputs.graph.functions) == set(without.graph.functions)
    ours, theirs = da.simulate(with_outputs, (0, 1)), da.simulate(without, (0, 1))
    np.testing.assert_array_equal(ours.x, theirs.x)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([1], "give a mapping of names"),
        ({"x": lambda s: s.x}, "'x': it is a position already"),
        ({"y_dot": 1}, "'y_dot': it is a velocity already"),
        ({"lam1": 1}, "'lam1': it is a multiplier already"),
        ({"L": 1}, "'L': it is a parameter already"),
        ({"lam": 1}, "'lam': it is part of the namespace already"),
        ({"t": 1}, "'t': it is part of the namespace"),
        ({"push_dot": 1}, "'push_dot': it is the rate of an input"),
        ({"gear": 1}, "'gear': it is a discrete variable"),
        ({"": 1}, "names are non-empty strings"),
        ({3: 1}, "output 3: names are non-empty strings"),
        ({"tip": lambda s: s.xx}, "output 'tip' .*there is no 'xx'; did you mean 'x'"),
        ({"tip": lambda s: s.energy, "energy": 1}, "output 'tip' .*there is no 'energy'"),
        ({"tip": lambda s: None}, "output 'tip'"),
        ({"tip": lambda s: np.zeros((2, 2, 2))}, "output 'tip' .*3 dimensions"),
        ({"tip": "text"}, "output 'tip'"),
    ],
)
def test_faults(outputs, message):
    with pytest.raises(da.ModelError, match=message):
        rod(outputs=outputs, inputs={"push": lambda t: t}, discrete={"gear": 1})


def test_all_faults_at_once():
    with pytest.raises(da.ModelError) as error:
        rod(outputs={"a1": lambda s: s.xx, "x": 1}, start={"z": 3}, force=lambda s: [s.gg, 0])
    for part in ("'xx'", "output 'x'", "start: there is no 'z'", "'gg'"):
        assert part in str(error.value)


def test_derivatives_of_an_implicit_model_are_no_outputs():
    with pytest.raises(da.ModelError, match="'z_dot' cannot be used here: it is a derivative"):
        da.ImplicitDAE(x=["z"], residual=lambda s: [s.z_dot + s.z], outputs={"rate": lambda s: s.z_dot})
    with pytest.raises(da.ModelError, match="output 'z_dot': it is a derivative already"):
        da.ImplicitDAE(x=["z"], residual=lambda s: [s.z_dot + s.z], outputs={"z_dot": 1})


# -- lazy ones -----------------------------------------------------------------------------------------------------


def test_lazy_outputs_are_built_one_by_one():
    built = []

    def build(name):
        built.append(name)
        return power(name)

    model = rod(outputs=LazyOutputs({f"power {k}": f"number {k}" for k in range(5000)}, build))
    assert not built
    assert len(model.outputs) == 5000
    assert model.outputs.description("power 7") == "number 7"
    sol = da.simulate(model, (0, 1))
    np.testing.assert_allclose(sol["power 3"], sol["x"] ** 3)
    np.testing.assert_allclose(sol.at(0.5)["power 3"], sol.at(0.5)["x"] ** 3)
    assert built == ["power 3"]
    with pytest.raises(da.ModelError, match="there is no 'power 5001'; did you mean"):
        sol["power 5001"]
    assert built == ["power 3"]


def test_faults_of_lazy_outputs_come_when_they_are_asked_for():
    model = rod(
        outputs=LazyOutputs({"bad": "", "good": ""}, lambda name: lambda s: s.nothing if name == "bad" else s.x)
    )
    sol = da.simulate(model, (0, 0.1))
    with pytest.raises(da.ModelError, match=r"output 'bad'.*there is no 'nothing'"):
        sol["bad"]
    assert sol["good"].shape == sol.t.shape
    with pytest.raises(da.ModelError, match="output 'x': it is a position already"):
        rod(outputs=LazyOutputs({"x": ""}, power))


def test_lazy_outputs_travel():
    model = rod(outputs=LazyOutputs({"power 2": "square"}, power))
    sol, other = (da.simulate(m, (0, 1)) for m in (model, pickle.loads(pickle.dumps(model))))
    assert other.model.outputs.description("power 2") == "square"
    np.testing.assert_array_equal(other["power 2"], sol["power 2"])


# -- variants and copies -------------------------------------------------------------------------------------------


def test_variants_keep_outputs():
    longer = rod().replace(parameters={"L": 2.0, "g": 1.0})
    sol = da.simulate(longer, (0, 1), p0=[2, 0])
    np.testing.assert_allclose(sol["orientation"][:, 1, 0], sol["y"] / 2)
    np.testing.assert_allclose(sol["energy"], 0, atol=1e-5)
    assert longer.outputs is longer.with_discrete(np.zeros(0)).outputs


def test_pickled_models_keep_outputs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.UntraceableWarning)
        model = rod(outputs={"all": lambda s: [s.x * 2, s.lam1, s.t], "python": python_height, "constant": 7.0})
    sol = da.simulate(model, (0, 1))
    for _ in range(2):  # the second one is a variant of what is here already
        there = pickle.loads(pickle.dumps(model))
        again = pickle.loads(pickle.dumps(there.replace(parameters={"g": 1.0}))).replace(parameters={"g": 9.81})
        for m in (there, again):
            other = da.simulate(m, (0, 1))
            assert other.output_names == sol.output_names
            assert m.outputs.description("python") == "Height above the lowest point."
            for name in sol.output_names:
                np.testing.assert_array_equal(other[name], sol[name])


def test_models_with_one_graph_have_their_own_outputs():
    """What arrives from elsewhere shares what was derived from equal graphs, but not these."""
    first, second = (pickle.loads(pickle.dumps(rod(outputs={"q": f}))) for f in (lambda s: s.x, lambda s: s.y))
    for model, name in ((first, "x"), (second, "y")):
        sol = da.simulate(model, (0, 1), events=da.Event(lambda s: s.q + 0.5, name="q"))
        np.testing.assert_array_equal(sol["q"], sol[name])
        np.testing.assert_allclose(sol.at(sol.events.t)[name], -0.5, atol=1e-6)


def test_expressions_are_those_of_the_graph():
    model = rod()
    f = ca.Function("f", [model.graph.symbol["p"], model.graph.theta], [model.outputs.expression("orientation")])
    np.testing.assert_allclose(f([0.6, 0.8], model.theta()), [[0.6, -0.8], [0.8, 0.6]])


# -- events --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [da.Radau5(), da.Hem5(), da.Geoms()])
def test_events_read_outputs(method):
    model = rod()
    direct = da.simulate(model, (0, 2), method=method, events=[lambda s: s.y + 0.5, lambda s: s.lam1 - 3])
    by_name = da.simulate(
        model, (0, 2), method=method, events=[lambda s: s["rod.tip"][1] + 0.5, lambda s: s.pull / 2 - 3]
    )
    assert len(direct.events) > 3
    np.testing.assert_array_equal(by_name.events.t, direct.events.t)


@pytest.mark.filterwarnings("ignore::dalembert.errors.UntraceableWarning")
def test_python_code_on_either_side():
    """Outputs that cannot be traced in events that can, and the other way round."""
    model = rod(outputs={"height": python_height, "tip": lambda s: [s.x, s.y], "fall": lambda s: s.a[1]})
    traced = da.simulate(model, (0, 2), events=[lambda s: s.y + 0.5, lambda s: s.a[1] + 2])
    python = da.simulate(model, (0, 2), events=[lambda s: s.height - 0.5, lambda s: float(s.fall) + 2])
    both = da.simulate(model, (0, 2), events=[lambda s: float(s.height) - 0.5, lambda s: float(s.a[1]) + 2])
    plain = da.simulate(model, (0, 2), events=[lambda s: float(s.tip[1]) + 0.5, lambda s: s.fall + 2])
    assert len(traced.events) > 3
    for other in (python, both, plain):
        np.testing.assert_allclose(other.events.t, traced.events.t, atol=1e-9)


def test_unknown_names_in_events():
    with pytest.raises(da.ModelError, match="there is no 'energi'; did you mean 'energy'"):
        da.simulate(rod(), (0, 1), events=lambda s: s.energi)


def test_actions_read_outputs():
    seen = []
    ball = da.EquationsOfMotion(
        p=["y"], mass=[1.0], force=[-9.81], discrete={"hits": 0}, start={"y": 1.0},
        outputs={"up": lambda s: [s.y_dot, s.hits], "fall": lambda s: s.a[0]},
    )  # fmt: skip

    def bounce(s):
        seen.append(s.up)
        return {"y_dot": -0.5 * s.up[0], "hits": s.up[1] + 1}

    sol = da.simulate(ball, (0, 1), events=da.Event(lambda s: s.y, direction=-1, action=bounce))
    assert [up[1] for up in seen] == [0, 1]
    np.testing.assert_allclose(sol["up"][:, 0], sol["y_dot"])
    np.testing.assert_array_equal(sol["up"][:, 1], sol["hits"])
    with pytest.raises(da.SimulationError, match="'fall' cannot be used here: it contains accelerations"):
        da.simulate(ball, (0, 1), events=da.Event(lambda s: s.y, action=lambda s: {"y_dot": s.fall}))


def test_initial_conditions_read_outputs():
    model = rod(outputs={"angle": lambda s: np.arctan2(s.x, -s.y), "speed": lambda s: s.x_dot})
    sol = da.simulate(model, (0, 0.1), p0=[0.6, -0.8], initial_conditions=lambda s: [s.angle - 0.3, s.speed - 1])
    np.testing.assert_allclose(sol.p[0], [np.sin(0.3), -np.cos(0.3)], atol=1e-9)
    assert sol["speed"][0] == pytest.approx(1)
