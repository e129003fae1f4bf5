"""Models built from symbols: names, equations, start values, experiments, travelling."""

import pickle

import casadi as ca
import numpy as np
import pytest
from tests.symbolic import Sketch

import dalembert as da


def pendulum(*, written=False, names=("x", "t", "u", "dx", "a.b[2].c")):
    """Of index 3, with names that mean something else elsewhere; `written`: with a hidden constraint."""
    s = Sketch("pendulum", x=dict.fromkeys(names, 0.0), parameters={"L": 1.0, "g": 9.81})
    x, y, vx, vy, lam = s.x.values()
    dx, dy, dvx, dvy, _ = s.der.values()
    s.start[names[0]] = s.p["L"]
    s.equations = [dx - vx, dy - vy, dvx - x * lam, dvy - y * lam + s.p["g"], x**2 + y**2 - s.p["L"] ** 2]
    if written:
        s.equations.append(x * vx + y * vy)
    s.outputs = {"energy": (vx**2 + vy**2) / 2 + s.p["g"] * y, "2 L": 2 * s.p["L"]}
    return s


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("method", ["radau5", "qualidaes", "odassl", "dassl"])
def test_pendulum_with_strange_names(method, written):
    model = pendulum(written=written).build(given=["x", "t"], fixed=["x"], t_span=(0.0, 2.0))
    assert isinstance(model, da.QuasiLinearDAE)
    assert model.index == 3
    assert (model.n_differential, model.n_constraints) == ((4, 2) if written else (5, 0))
    sol = da.simulate(model, method=method, rtol=1e-9, atol=1e-10)
    plain = da.EquationsOfMotion(
        p=["X", "Y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [(s.X**2 + s.Y**2 - 1) / 2]
    )
    other = da.simulate(plain, (0, 2), p0=[1, 0], rtol=1e-10, atol=1e-11)
    assert sol.x[-1, :2] == pytest.approx(other.p[-1], abs=1e-5)
    assert sol["x"][-1] == sol.x[-1, 0]
    assert sol["t"][-1] == sol.x[-1, 1]
    assert sol["a.b[2].c"][-1] == sol.x[-1, 4]
    assert np.abs(sol["energy"]).max() < 1e-5
    assert set(sol["2 L"]) == {2.0}
    assert set(sol["g"]) == {9.81}


def test_variables_hide_other_names_in_functions_of_users():
    model = pendulum().build(given=["x", "t"], fixed=["x"])
    lowest = da.Event(lambda s: s.t + 0.5, name="y")  # of the variable, and not of the time
    early = da.Event(lambda s: s.time - 0.25, name="time")
    sol = da.simulate(model, (0, 0.5), events=[lowest, early])
    assert sol.events.named("time").t == pytest.approx([0.25])
    assert sol.at(float(sol.events.named("y").t[0]))["t"] == pytest.approx(-0.5, abs=1e-6)


def test_start_values_follow_the_parameters():
    model = pendulum().build(given=["x", "t"], fixed=["x"])
    assert da.simulate(model, (0, 0.1), parameters={"L": 2.0}).x[0, 0] == 2.0
    assert model.replace({"L": 3.0}).start == {"x0": {"x": 3.0, "t": 0.0}}
    assert da.simulate(model, (0, 0.1), x0={"x": 0.6, "t": -0.8}).x[0, :2].tolist() == [0.6, -0.8]


def test_start_values_that_are_not_finite_are_named():
    s = Sketch("bad", x={"a": 0.0}, parameters={"p": 1.0})
    s.start["a"] = 1 / s.p["p"]
    s.equations = [s.der["a"] - 1]
    model = s.build()
    with pytest.raises(da.ModelError, match="the start value of 'a' is inf; check the parameters in it"):
        model.replace({"p": 0.0})


def test_conditions_belong_to_the_model():
    """Steady state, and one that is no guess: 0 = der(T) gives T, whatever start values say."""
    s = Sketch("heated", x={"T": 20.0, "loss": 0.0}, parameters={"power": 100.0})
    s.equations = [10 * s.der["T"] - (s.p["power"] - s.x["loss"]), s.x["loss"] - 2 * (s.x["T"] - 20)]
    s.conditions = [s.der["T"]]
    model = s.build()
    assert da.consistent_initial_values(model).x == pytest.approx([70.0, 100.0])
    assert da.simulate(model, (0, 1), parameters={"power": 200.0})["T"] == pytest.approx(120.0)
    more = da.consistent_initial_values
    with pytest.raises(da.InconsistentInitialValues, match="initial equation 1"):
        more(model, initial_conditions=lambda s: [s["T"] - 30])


def test_guesses_need_not_be_given_and_do_not_warn(recwarn):
    s = Sketch("loose", x={"a": 5.0, "b": 0.0, "c": 1.0})
    s.equations = [s.der["a"] + s.x["a"], s.x["b"] - 2 * s.x["a"], s.x["c"] ** 3 - s.x["b"]]
    assert da.simulate(s.build(given=[]), (0, 1)).x[0] == pytest.approx([5.0, 10.0, 10 ** (1 / 3)])
    assert not recwarn.list


def test_experiments_of_models():
    s = Sketch("experiment", x={"a": 1.0})
    s.equations = [s.der["a"] + s.x["a"]]
    model = s.build(t_span=(1.0, 3.0), tolerance=1e-10)
    sol = da.simulate(model)
    assert (sol.t[0], sol.t[-1]) == (1.0, 3.0)
    assert sol["a"][-1] == pytest.approx(np.exp(-2.0), rel=1e-9)
    assert da.simulate(model, (0, 1), rtol=1e-3).stats.accepted < sol.stats.accepted
    with pytest.raises(da.OptionError, match="t_span must be two numbers"):
        da.simulate(s.build())


def test_derivatives_that_do_not_enter_linearly():
    s = Sketch("tank", x={"height": 1.0})
    s.equations = [s.der["height"] * ca.fabs(s.der["height"]) + 0.04 * s.x["height"]]
    model = s.build()
    assert isinstance(model, da.ImplicitDAE)
    assert da.simulate(model, (0, 5), dx0=[-0.2], method="dassl")["height"][-1] == pytest.approx(0.25, abs=1e-4)


def test_models_travel_with_all_that_belongs_to_them():
    model = pendulum().build(given=["x", "t"], fixed=["x"], t_span=(0.0, 1.0), tolerance=1e-7)
    arrived = pickle.loads(pickle.dumps(model.replace({"L": 2.0})))
    assert (arrived.t_span, arrived.tolerance, arrived.fixed_at_start) == ((0.0, 1.0), 1e-7, ("x",))
    assert arrived.start == {"x0": {"x": 2.0, "t": 0.0}}
    one, two = da.simulate(arrived), da.simulate(model, parameters={"L": 2.0})
    assert np.array_equal(one.x, two.x)
    assert np.array_equal(one["energy"], two["energy"])
    again = pickle.loads(pickle.dumps(model))
    assert again._own is arrived._own
    assert again.kept is arrived.kept


def test_faults_are_listed_by_name():
    s = Sketch("faulty", x={"a": 0.0, "b": 0.0}, parameters={"p": 1.0})
    s.equations = [s.der["a"] - s.p["p"], s.p["p"] - 2]
    with pytest.raises(da.ModelError, match="equation 2: contains neither a derivative nor an unknown") as caught:
        s.build()
    assert "'b' occurs in no equation" in str(caught.value)
    s.equations = [s.der["a"] - ca.inf]
    with pytest.raises(da.ModelError, match="equation 1: contains a constant that is NaN or infinite") as caught:
        s.build()
    assert "1 equations for 2 unknowns: 1 more" in str(caught.value)
    s.equations = [s.der["a"], s.der["b"]]
    s.outputs = {"p": s.x["a"]}
    with pytest.raises(da.ModelError, match="the name 'p' is given twice"):
        s.build()
    with pytest.raises(da.ModelError, match="a DAE needs at least one unknown"):
        Sketch("empty", x={}).build()


def test_messages_name_the_equations():
    s = Sketch("singular", x={"a": 1.0, "b": 0.0, "c": 0.0})
    s.equations = [s.der["a"] - s.x["b"], s.x["a"] - s.x["c"], 2 * s.x["a"] - 2 * s.x["c"]]
    with pytest.raises(da.ModelError, match="derivative 1 of equation 2, derivative 1 of equation 3 do not determine"):
        da.simulate(s.build(), (0, 1))
