"""Multipliers of results are as accurate as positions and velocities, at the steps and between them."""

import copy
import math
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize import consistent_initial_values, formulate
from dalembert.solvers.multipliers import NODES, Multipliers, multipliers_of, times_within
from mechanisms import random_mechanism

METHODS = {
    **{f"Radau5 {name}": da.Radau5(formulation=name) for name in ("ggl", "index2", "index1", "index3", "baumgarte")},
    "Dassl": da.Dassl(),
    "Dassl index1": da.Dassl(formulation="index1"),
    "Odassl": da.Odassl(),
    "Odassl acceleration": da.Odassl(level="acceleration"),
}
GRAVITY = 9.81

every = pytest.mark.parametrize("name", METHODS)


def pendulum(**more):
    return da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -GRAVITY], holonomic=lambda s: [s.x**2 + s.y**2 - 1], **more
    )


def between(sol):
    """Times within the steps."""
    t, h = sol.trajectory.t, sol.trajectory.h
    return np.sort(np.concatenate([t - 0.03 * h, t - 0.31 * h, t - 0.77 * h]))


def multiplier_error(sol, times):
    """Differences to the multipliers that Python finds for the same positions and velocities, beside the largest."""
    model, state = sol.model, sol.at(times)
    worst = 0.0
    for k, t in enumerate(times):
        given = {f"{kind}0": getattr(state, kind)[k] for kind in ("p", "v", "r", "w", "s") if model.names(kind)}
        exact = consistent_initial_values(model, t, mode="trust", **given)
        for kind in ("lam", "mu"):
            error = np.abs(getattr(state, kind)[k] - getattr(exact, kind)).max(initial=0.0)
            worst = max(worst, error / (1 + np.abs(getattr(exact, kind)).max(initial=0.0)))
    return worst


@every
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
def test_pendulum(name, tolerance):
    sol = da.simulate(pendulum(), (0, 3), p0=[1, 0], method=METHODS[name], rtol=tolerance, atol=tolerance)
    for state in (sol, sol.at(between(sol))):
        # from the computed p and v, whose errors do not count
        exact = (np.sum(state.v**2, axis=1) - GRAVITY * state.p[:, 1]) / (2 * np.sum(state.p**2, axis=1))
        assert np.abs(state.lam[:, 0] - exact).max() <= 20 * tolerance * (1 + np.abs(exact).max())


@pytest.mark.parametrize("name", ["Radau5 ggl", "Radau5 index2", "Dassl", "Odassl"])
@pytest.mark.parametrize("seed", range(6))
def test_random_mechanisms(name, seed):
    check_random_mechanism(METHODS[name], seed, 1e-7, 8)


@pytest.mark.slow
@every
@pytest.mark.parametrize("seed", range(6, 60))
def test_many_random_mechanisms(name, seed):
    for tolerance in (1e-4, 1e-7, 1e-9):
        check_random_mechanism(METHODS[name], seed, tolerance)


def check_random_mechanism(method, seed, tolerance, points=40):
    model, start = random_mechanism(seed)[:2]
    sol = da.simulate(model, (0, 0.5), **start, method=method, rtol=tolerance, atol=tolerance)
    some = np.random.default_rng(seed).choice
    assert multiplier_error(sol, some(sol.t[1:], points)) <= 1e-8
    assert multiplier_error(sol, some(between(sol), points)) <= 100 * tolerance


# -- what else stands in the equations ---------------------------------------------------------------------------------


def carousel():
    """A rod in the plane by angle and quasi-velocity (p' = Z v), on a turning support, with an auxiliary force w that
    depends on λ, a nonholonomic constraint, a dynamic force element and friction that is not linear in λ."""
    return da.EquationsOfMotion(
        p=["x", "y", "phi"],
        v=["along", "across", "turn"],
        kinematics=lambda s: [
            [np.cos(s.phi), -np.sin(s.phi), 0],
            [np.sin(s.phi), np.cos(s.phi), 0],
            [0, 0, 1],
        ],
        r=["force"],
        w=["brake"],
        mass=lambda s: [[2 + 0.1 * np.cos(s.phi), 0, 0], [0, 2, 0.1], [0, 0.1, 0.5]],
        force=lambda s: [s.force - s.brake * s.along, -0.3 * s.across, -0.2 * s.turn + 0.5 * np.sin(s.phi)],
        dynamics=lambda s: [-s.force + 1.0 + np.sin(2 * s.t)],
        auxiliary=lambda s: [s.brake - 0.1 * np.sqrt(1 + s.lam[0] ** 2)],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1 - 0.1 * np.sin(s.t)],
        nonholonomic=lambda s: [s.across - 0.2 * s.turn],
    )


@pytest.mark.parametrize("name", ["Radau5 ggl", "Radau5 index2", "Radau5 index1", "Dassl"])
def test_every_kind_of_vector(name):
    tolerance, model = 1e-8, carousel()
    with pytest.warns(da.InitialValuesCorrected):
        v0 = consistent_initial_values(model, p0=[0, -1, 0.1], v0=[0.5, -0.1, -0.5]).v
    sol = da.simulate(model, (0, 2), p0=[0, -1, 0.1], v0=v0, method=METHODS[name], rtol=tolerance, atol=tolerance)
    assert multiplier_error(sol, sol.t[1::9]) < 1e-9
    assert multiplier_error(sol, between(sol)[::29]) < 100 * tolerance
    lam, brake = sol.lam[:, 0], sol["brake"]
    np.testing.assert_allclose(brake, 0.1 * np.sqrt(1 + lam**2), rtol=1e-9)


@pytest.mark.parametrize("name", ["Radau5 ggl", "Dassl"])
def test_functions_that_cannot_be_traced(name):
    def force(s):
        return [0.0, -GRAVITY * math.exp(-0.1 * float(s.y))]

    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=force, holonomic=lambda s: [s.x**2 + s.y**2 - 1])
    sol = da.simulate(model, (0, 0.3), p0=[1, 0], method=METHODS[name], rtol=1e-7, atol=1e-7)
    for state in (sol, sol.at(between(sol))):
        y = state.p[:, 1]
        exact = (np.sum(state.v**2, axis=1) - GRAVITY * np.exp(-0.1 * y) * y) / (2 * np.sum(state.p**2, axis=1))
        np.testing.assert_allclose(state.lam[:, 0], exact, atol=1e-6)


def test_where_functions_fail_the_methods_values_stay():
    calls = {"refuse": False}

    def force(s):
        if calls["refuse"]:
            raise RuntimeError("not any more")
        return [0.0 * float(s.x), -GRAVITY]

    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=force, holonomic=lambda s: [s.x**2 + s.y**2 - 1])
    sol = da.simulate(model, (0, 0.5), p0=[1, 0])
    calls["refuse"] = True
    np.testing.assert_allclose(sol.lam[:, 0], (np.sum(sol.v**2, axis=1) - GRAVITY * sol.p[:, 1]) / 2, atol=1e-2)


def test_singular_points_keep_the_methods_values():
    system = formulate(pendulum(), "index2")
    x = np.array([[0.0, 0.0, 1.0, 0.0, 42.0], [1.0, 0.0, 0.0, 1.0, 42.0]])
    multipliers_of(system).settle_for(system.model, np.zeros(2), x)
    np.testing.assert_allclose(x[:, 4], [42.0, 0.5])


def test_methods_that_need_none_are_left_alone():
    for method in (da.Geoms(), da.Hem5()):
        assert not method.formulate(pendulum()).settles_multipliers
    free = da.EquationsOfMotion(p=["z"], mass=[1], force=[-1])
    assert multipliers_of(formulate(free, "ggl")) is None


# -- inputs, breakpoints, events ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Radau5 ggl", "Dassl"])
@pytest.mark.parametrize("dense", [True, False])
def test_inputs_are_taken_on_the_side_of_the_step(name, dense):
    push = da.Input(lambda t: np.where(t < 0.7, 0.0, 5.0), breakpoints=[0.7])
    model = da.EquationsOfMotion(
        p=["x", "y"],
        inputs={"push": push},
        mass=[1, 1],
        force=lambda s: [s.push, -GRAVITY],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )
    times = np.sort(np.concatenate([np.linspace(0.1, 1.4, 53), 0.7 + np.array([-1e-9, 1e-9])]))
    sol = da.simulate(
        model, (0, 1.5), p0=[1, 0], method=METHODS[name], rtol=1e-8, atol=1e-8, t_eval=times, dense_output=dense
    )
    pushed = np.where(times < 0.7, 0.0, 5.0)
    exact = (np.sum(sol.v**2, axis=1) - GRAVITY * sol.p[:, 1] + pushed * sol.p[:, 0]) / 2
    np.testing.assert_allclose(sol.lam[:, 0], exact, atol=1e-5)


@pytest.mark.parametrize("name", ["Radau5 ggl", "Radau5 index2", "Dassl", "Odassl"])
@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("backwards", [True, False])
def test_both_sides_of_a_jump_of_an_input(name, inclusive, backwards):
    def push(t):
        return np.where(t <= 0.7 if inclusive else t < 0.7, 0.0, 5.0)

    model = da.EquationsOfMotion(
        p=["x", "y"],
        inputs={"push": da.Input(push, breakpoints=[0.7])},
        mass=[1, 1],
        force=lambda s: [s.push, -GRAVITY],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )
    span = (1.5, 0) if backwards else (0, 1.5)
    sol = da.simulate(model, span, p0=[1, 0], method=METHODS[name], rtol=1e-8, atol=1e-8)
    before, after = np.flatnonzero(np.abs(sol.t - 0.7) < 1e-12)[[0, -1]]
    for k, force in ((before, 5.0 if backwards else 0.0), (after, 0.0 if backwards else 5.0)):
        exact = (np.sum(sol.v[k] ** 2) - GRAVITY * sol.p[k, 1] + force * sol.p[k, 0]) / (2 * np.sum(sol.p[k] ** 2))
        assert abs(sol.lam[k, 0] - exact) < 1e-11


def test_a_smooth_breakpoint_has_settled_multipliers_too():
    model = da.EquationsOfMotion(
        p=["x", "y"],
        inputs={"push": da.Input(lambda t: np.sin(t), breakpoints=[0.3, 0.7])},
        mass=[1, 1],
        force=lambda s: [s.push, -GRAVITY],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )
    for method in (da.Radau5(), da.Dassl()):
        for wanted in (None, da.Output(per_step=1, components=["x", "y", "v", "lam"])):
            sol = da.simulate(model, (0, 1), p0=[1, 0], method=method, rtol=1e-5, atol=1e-5, t_eval=wanted)
            x, y = sol["x"], sol["y"]
            exact = (np.sum(sol.v**2, axis=1) - GRAVITY * y + np.sin(sol.t) * x) / (2 * (x**2 + y**2))
            np.testing.assert_allclose(sol["lam1"], exact, atol=1e-5)


@every
def test_events_read_the_multipliers_of_the_result(name):
    speed = 6.0
    slack = da.Event(lambda s: s.lam[0], terminal=True, name="slack")
    sol = da.simulate(
        pendulum(), (0, 3), p0=[0, -1], v0=[speed, 0], method=METHODS[name], rtol=1e-9, atol=1e-9, events=[slack]
    )
    height = (speed**2 - 2 * GRAVITY) / (3 * GRAVITY)
    (occurrence,) = sol.events
    loose = 1e-4 if "index3" in name else 2e-6
    assert abs(occurrence.state["p"][1] - height) < loose
    assert abs(occurrence.state["lam"][0]) < 1e-7
    np.testing.assert_allclose(sol.lam[-1], occurrence.state["lam"], atol=1e-7)


def test_events_that_cannot_be_traced_read_them_too():
    values = []
    slack = da.Event(lambda s: values.append(float(s.lam[0])) or values[-1], terminal=True, name="slack")
    with pytest.warns(da.UntraceableWarning):
        sol = da.simulate(pendulum(), (0, 3), p0=[0, -1], v0=[6, 0], rtol=1e-9, atol=1e-9, events=[slack])
    assert abs(sol.events[0].state["p"][1] - (36 - 2 * GRAVITY) / (3 * GRAVITY)) < 2e-6


def test_actions_see_them():
    seen = []

    def note(s):
        seen.append((s.lam[0], (s.x_dot**2 + s.y_dot**2 - GRAVITY * s.y) / 2))

    half = da.Event(lambda s: s.y + 0.5, action=note)
    da.simulate(pendulum(), (0, 2), p0=[1, 0], rtol=1e-8, atol=1e-8, events=[half])
    assert seen
    for lam, exact in seen:
        assert abs(float(lam) - float(exact)) < 1e-5


# -- results -----------------------------------------------------------------------------------------------------------


def test_copies_and_files_have_the_same_values(tmp_path):
    def run():
        return da.simulate(pendulum(), (0, 2), p0=[1, 0], rtol=1e-7, atol=1e-7)

    sol, times = run(), np.linspace(0, 2, 77)
    expected, at_steps = sol.at(times).x, sol.x
    for other in (
        run(),  # steps are looked at after what lies between
        pickle.loads(pickle.dumps(run())),
        copy.deepcopy(run()),
        da.Solution.load(run().save(tmp_path / "run.h5")),
        run().trajectory,
    ):
        found = other(times) if isinstance(other, type(sol.trajectory)) else other.at(times).x
        np.testing.assert_array_equal(found, expected)
        if hasattr(other, "x"):
            np.testing.assert_array_equal(other.x, at_steps)


def test_ends_of_steps_are_points_of_the_polynomials():
    sol = da.problems.andrews().simulate(rtol=1e-6, atol=1e-6)
    at_steps = sol.lam.copy()
    np.testing.assert_array_equal(sol.at(sol.t).lam[1:], at_steps[1:])
    inside = sol.trajectory.t[:-1]
    left, right = (sol.at(inside * (1 + side * 1e-13)).lam for side in (-1, 1))
    np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6)


def test_nodes_lie_within_the_step():
    assert NODES[0] == 0.0
    assert NODES[-1] == -1.0
    assert (np.diff(NODES) < 0).all()
    t, h = np.array([3.0, -3.0]), np.array([1.0, -1.0])
    late = times_within(t, h, np.array([-1.0, -1.0]))
    assert 2.0 < late[0] < 2.0 + 1e-14
    assert -2.0 - 1e-14 < late[1] < -2.0


def test_positions_do_not_wait_for_multipliers(monkeypatch):
    """Those of large models take their time; they are computed when somebody looks at them, and then in all views."""
    problem = da.problems.pendulum()
    sol, same = (problem.simulate(method="radau5") for _ in range(2))
    asked = []
    settle = Multipliers.settle_for
    monkeypatch.setattr(Multipliers, "settle_for", lambda *args: asked.append(1) or settle(*args))
    view = sol.at(0.5)
    assert sol.p.shape == sol.v.shape
    assert view.p.shape == (2,)
    assert sol["x"][0] == 1.0
    assert not asked
    np.testing.assert_array_equal(sol.lam, same.x[:, same._slices["lam"]])
    np.testing.assert_array_equal(view.lam, same.trajectory(0.5)[same._slices["lam"]])
    np.testing.assert_array_equal(sol.p, same.x[:, :2])
    assert asked
