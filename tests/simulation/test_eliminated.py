"""Simulations of DAEs from which unknowns are eliminated: users see nothing of it."""

import pickle

import numpy as np
import pytest

import dalembert as da


def quasi_linear(**options):
    """A capacitor that is loaded through a resistor, with a node and a source more than needed."""
    return da.QuasiLinearDAE(
        x=["node", "v_C", "i", "source", "charge"],
        leading=[[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]],
        rhs=lambda s: [s.i, s.i + s.node + s.v_C],
        constraints=lambda s: [s.node + s.v_C, s.source + s.node - s.R * s.i, s.source - 2 * s.V],
        parameters={"R": 2.0, "V": 2.5},
        outputs={"power": lambda s: s.source * s.i, "both": lambda s: [s.node, s.v_C]},
        **options,
    )


def implicit(**options):
    return da.ImplicitDAE(
        x=["node", "v_C", "i", "source", "charge"],
        residual=lambda s: [
            s.node + s.v_C, s.v_C_dot - s.i, s.source + s.node - s.R * s.i, s.source - 2 * s.V,
            s.charge_dot - s.i - s.node - s.v_C,
        ],
        parameters={"R": 2.0, "V": 2.5},
        outputs={"power": lambda s: s.source * s.i, "both": lambda s: [s.node, s.v_C]},
        **options,
    )  # fmt: skip


KINDS = pytest.mark.parametrize(("build", "method"), [(quasi_linear, "radau5"), (implicit, "dassl")])
START = {"v_C": 1.0, "charge": 0.0}


def exact(t, V=2.5, R=2.0):
    v = 2 * V + (1 - 2 * V) * np.exp(-t / R)
    return np.stack([-v, v, (2 * V - v) / R, np.full_like(t, 2 * V), v - 1], axis=-1)


@KINDS
@pytest.mark.parametrize("dense", [True, False])
def test_all_unknowns_are_in_the_solution(build, method, dense):
    times = np.linspace(0, 2, 9)
    sol = da.simulate(build(), (0, 2), x0=START, method=method, rtol=1e-9, atol=1e-11, t_eval=times, dense_output=dense)
    assert np.abs(sol.x - exact(sol.t)).max() < 1e-7
    assert np.array_equal(sol["node"], -sol["v_C"])
    assert (sol["source"] == 5.0).all()
    assert np.array_equal(sol["power"], 5.0 * sol["i"])
    assert np.array_equal(sol["both"], sol.x[:, :2])
    assert sol.max_residual("constraints") < 1e-9
    if dense:
        t = np.linspace(0.05, 1.95, 21)
        assert np.abs(sol.at(t).x - exact(t)).max() < 1e-6
        assert (sol.at(t)["source"] == 5.0).all()


@KINDS
def test_parameters_of_a_run_change_the_constants(build, method):
    model = build()
    for V in (1.0, -3.0):
        sol = da.simulate(model, (0, 1), x0=START, method=method, parameters={"V": V}, rtol=1e-8, atol=1e-10)
        assert (sol["source"] == 2 * V).all()
        assert np.abs(sol.x - exact(sol.t, V)).max() < 1e-6


@KINDS
def test_start_values_of_those_that_are_eliminated(build, method):
    found = da.consistent_initial_values(build(), x0=START)
    assert np.allclose(found.x, exact(np.array(0.0)))
    assert np.allclose(found.x_dot, [-2, 2, -1, 0, 2])


def test_a_guess_for_an_eliminated_unknown_is_one_for_that_which_is_kept():
    """z² = q has two solutions; which one is meant a guess for y = −z tells."""
    model = da.ImplicitDAE(x=["q", "z", "y"], residual=lambda s: [s.q_dot + s.z, s.z**2 - s.q, s.y + s.z])
    for guess in (1.5, -1.5):
        with pytest.warns(da.InitialValuesCorrected):
            found = da.consistent_initial_values(model, x0={"q": 4.0, "y": guess})
        assert np.allclose(found.x, [4.0, -2 * np.sign(guess), 2 * np.sign(guess)])


@KINDS
def test_start_values_that_contradict_each_other(build, method):
    model = build()
    with pytest.warns(da.InitialValuesCorrected, match="'node' changed from 7 to -1"):
        found = da.consistent_initial_values(model, x0=[7.0, 1.0, 2.0, 5.0, 0.0])
    assert np.allclose(found.x, exact(np.array(0.0)))
    with pytest.warns(da.InitialValuesCorrected, match="'source' changed from 4 to 5"):
        da.consistent_initial_values(model, x0=[-1.0, 1.0, 2.0, 4.0, 0.0])
    with pytest.raises(da.InconsistentInitialValues, match="'source' would have to change"):
        da.consistent_initial_values(model, x0=[-1.0, 1.0, 2.0, 4.0, 0.0], mode="check")
    with pytest.raises(da.ModelError, match="did you mean 'node'"):
        da.consistent_initial_values(model, x0={"nod": 1.0})
    with pytest.raises(da.ModelError, match="'v_C' must be given"):
        da.consistent_initial_values(model, x0={"charge": 1.0, "node": -1.0})  # as without elimination
    with pytest.raises(da.ModelError, match="4 values; the model has 5"):
        da.consistent_initial_values(model, x0=[1.0, 2.0, 3.0, 4.0])


@KINDS
def test_zero_for_what_has_no_derivative_is_no_value(build, method):
    found = da.consistent_initial_values(build(), x0=[0.0, 1.0, 0.0, 0.0, 0.0])
    assert np.allclose(found.x, exact(np.array(0.0)))


@KINDS
def test_events_and_actions_see_and_set_all_unknowns(build, method):
    seen = []

    def discharge(s):
        seen.append((s.node, s.source, s.both.tolist()))
        return {"node": -1.0}

    event = da.Event(lambda s: s.node + s.both[0] + 4.0, action=discharge, name="full")
    sol = da.simulate(build(), (0, 3), x0=START, method=method, events=event, rtol=1e-9, atol=1e-11)
    period = 2 * np.log(4 / 3)  # from 1 to 2
    assert np.allclose(sol.events.named("full").t, period * np.arange(1, 6), atol=1e-6)
    assert len(seen) == 5
    for node, source, both in seen:
        assert abs(node + 2) < 1e-6
        assert source == 5.0
        assert both == [node, -node]
    assert np.array_equal(sol["node"], -sol["v_C"])
    assert sol.events[0].state["x"].shape == (5,)
    assert sol.events[0].state["x"][3] == 5.0


def test_actions_in_python_events():
    with pytest.warns(da.UntraceableWarning):
        sol = da.simulate(
            quasi_linear(), (0, 1), x0=START, events=da.Event(lambda s: float(s.node) + s.both[1] * 0 + 2.0, name="two")
        )
    assert np.allclose(sol.events.named("two").t, 2 * np.log(4 / 3), atol=1e-4)


@KINDS
def test_actions_that_cannot_be(build, method):
    event = da.Event(lambda s: s.v_C - 2.0, action=lambda s: {"source": 3.0})
    with pytest.warns(da.InitialValuesCorrected, match="'source' changed from 3 to 5"):
        da.simulate(build(), (0, 1), x0=START, method=method, events=event)


@KINDS
def test_kept_components_and_tolerances_by_name(build, method):
    sol = da.simulate(
        build(), (0, 1), x0=START, method=method, rtol=1e-6, atol={"node": 1e-12, "source": 1e-3},
        t_eval=da.Output(components=["node", "source"]),
    )  # fmt: skip
    assert (sol["source"] == 5.0).all()
    assert np.abs(sol["node"] - exact(sol.t)[:, 0]).max() < 1e-4
    with pytest.raises(da.NotKept):
        _ = sol.x


@KINDS
def test_trace_names_all_unknowns(build, method):
    sol = da.simulate(build(), (0, 1), x0=START, method=method, trace=True)
    worst = {name for name in sol.trace.worst if name}
    assert worst <= {"v_C", "i", "charge"}


def test_breakpoints_of_inputs():
    model = da.QuasiLinearDAE(
        x=["a", "b", "c"],
        leading=[[1, 0, 0]],
        rhs=lambda s: [-s.b + s.push],
        constraints=lambda s: [s.a - s.b, s.c - 3.0],
        inputs={"push": da.Input(lambda t: np.where(t < 0.5, 0.0, 1.0), breakpoints=[0.5])},
    )
    sol = da.simulate(model, (0, 1), x0=[1.0, 1.0, 3.0], rtol=1e-9, atol=1e-11)
    end = np.exp(-1) + 1 - np.exp(-0.5)
    assert np.allclose(sol.x[-1], [end, end, 3.0], atol=1e-7)


@KINDS
def test_models_travel_and_results_are_saved(build, method, tmp_path):
    model = build(start={"x0": START})
    twin = pickle.loads(pickle.dumps(model))
    first, second = (da.simulate(own, (0, 1), method=method) for own in (model, twin))
    assert np.array_equal(first.x, second.x)
    assert np.array_equal(first["power"], second["power"])
    first.save(tmp_path / "result.h5")
    again = da.Solution.load(tmp_path / "result.h5")
    assert np.array_equal(again["source"], first["source"])
    onward = da.simulate(model, (1, 2), x0=first.x[-1], method=method)
    assert np.abs(onward.x[-1] - exact(np.array(2.0))).max() < 1e-4


def pendulum(**options):
    """A mass on a rod, cut into two bodies that are held together by equations: x2 = x1, and so on."""
    return da.ImplicitDAE(
        x=["x1", "y1", "x2", "y2", "vx", "vy", "lam", "pull", "g", "h"],
        residual=lambda s: [
            s.x2_dot - s.vx, s.y1_dot - s.vy, s.vx_dot - s.pull * s.x1, s.vy_dot - s.pull * s.y2 + s.g,
            s.x1**2 + s.y2**2 - 1, s.x1 - s.x2, s.y2 - s.y1, s.lam + s.pull, s.g - s.gravity, s.h + s.y1,
        ],
        parameters={"gravity": 9.81},
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "dassl", "odassl", "radau5"])
def test_aliases_beside_hidden_constraints(method):
    sol = da.simulate(
        pendulum(), (0, 2), x0={"x1": 1.0, "y1": 0.0, "vx": 0.0, "vy": 0.0}, method=method, rtol=1e-9, atol=1e-10
    )
    problem = da.problems.pendulum(g=9.81)
    reference = da.simulate(problem.model, (0, 2), p0=[1, 0], v0=[0, 0], rtol=1e-11, atol=1e-12)
    assert np.abs(sol.at(2.0).x[:2] - reference.at(2.0).p).max() < 1e-5
    assert np.array_equal(sol["x1"], sol["x2"])
    assert np.array_equal(sol["h"], -sol["y1"])
    assert (sol["g"] == 9.81).all()
    assert sol.max_residual("hidden") < 1e-6


def test_index_is_that_of_the_equations_as_they_stand():
    model = pendulum()
    assert model.index == 3
    assert [str(alias) for alias in model.structure.eliminated] == [
        "x1 = x2",
        "y2 = y1",
        "pull = -lam",
        "g = gravity",
        "h = -y1",
    ]
    assert model.hidden_constraints().levels[0].names


def test_fixed_values_of_eliminated_unknowns():
    model = pendulum()
    found = da.consistent_initial_values(
        model, x0={"x1": 0.6, "y1": 0.7, "h": 0.8, "vx": 0.8, "vy": 0.6, "g": 9.81}, fixed=["h", "x1", "g"]
    )
    assert np.allclose(found.x[:4], [0.6, -0.8, 0.6, -0.8], atol=1e-12)
    assert found.x[8] == 9.81
    with pytest.raises(da.InconsistentInitialValues, match="'g' is fixed at 5, but the equations say g = gravity"):
        da.consistent_initial_values(model, x0={"x1": 0.6, "y1": -0.8, "vx": 0, "vy": 0, "g": 5.0}, fixed="g")
    with pytest.raises(da.InconsistentInitialValues, match=r"'h' is fixed at 0\.8, but the equations say h = -y1"):
        da.consistent_initial_values(model, x0={"x1": 0.8, "y1": -0.6, "h": 0.8, "vx": 0, "vy": 0}, fixed=["h", "y1"])


def test_conditions_read_eliminated_unknowns():
    found = da.consistent_initial_values(
        pendulum(),
        x0={"x1": 0.5, "y1": -0.8, "vx": 0.0, "vy": 0.0},
        initial_conditions=lambda s: [s.h - 0.8, s.g - s.gravity + s.vx - 0.4],
    )
    assert np.allclose(found.x[:6], [0.6, -0.8, 0.6, -0.8, 0.4, 0.3], atol=1e-9)


def test_constants_that_are_not_finite():
    model = da.ImplicitDAE(
        x=["a", "b"], residual=lambda s: [s.a_dot + s.b, s.b - 1 / s.k], parameters={"k": 2.0}, name="division"
    )
    assert da.simulate(model, (0, 1), x0={"a": 0.0}, method="dassl")["b"][-1] == 0.5
    with pytest.raises(da.ModelError, match=r"'division': b = .*k.* is not finite; check the parameters"):
        da.simulate(model, (0, 1), x0={"a": 0.0}, parameters={"k": 0.0}, method="dassl")


@pytest.mark.parametrize("method", ["auto", "dassl"])
def test_actions_beside_hidden_constraints(method):
    """The pendulum is stopped where it hangs down, by a value for an alias of its position or by velocities."""
    event = da.Event(lambda s: s.x1, action=lambda s: {"vx": 0.5 * s.vx, "g": s.gravity}, name="down")
    sol = da.simulate(
        pendulum(), (0, 1), x0={"x1": 0.6, "y1": -0.8, "vx": 0.0, "vy": 0.0}, method=method, events=event, rtol=1e-8
    )
    (t,) = sol.events.named("down").t
    before, after = sol.events[0].state["x"], sol.at(t)
    assert abs(before[4] - after["vx"] / 0.5) < 1e-6
    assert abs(after["y2"] + 1) < 1e-7
    assert sol.max_residual("hidden") < 1e-5
