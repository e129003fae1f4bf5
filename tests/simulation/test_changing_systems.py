"""The system changes in mid-run: constraints are released at events and taken up again."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as da

G, SPEED = 9.81, 6.0
METHODS = [
    da.Radau5(), da.Radau5(formulation="index2"), da.Geoms(), da.Geoms(algebraic="svd"), da.Hem5(), da.Mexx(),
    da.Rkf45(), da.Dassl(),
]  # fmt: skip


def thread(**options):
    """A point on a thread of length 1; `s.thread` is the force in it, which a thread cannot press with."""
    return da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 1.0], force=[0.0, -G], lam=["thread"],
        holonomic=lambda s: [(s.x**2 + s.y**2 - 1) / 2], **options,
    )  # fmt: skip


SLACK = da.Event(lambda s: s.thread, direction=-1, name="slack", action=lambda s: da.Transition(active=[]))
#: the radius stays near 1 while the thread holds: only a way from well inside to outside counts
TAUT = da.Event(
    lambda s: s.x**2 + s.y**2 - 1, direction=1, threshold=1e-3, name="taut",
    action=lambda s: da.Transition(active=["thread"]),
)  # fmt: skip


def by_hand(t_end):
    """Times of the two events, and the end: circle, parabola from where the force vanishes, circle without the radial
    velocity."""

    def angles(t, z):  # from the vertical
        return [z[1], -G * np.sin(z[0])]

    def point(z):
        c, s = np.cos(z[0]), np.sin(z[0])
        return np.array([s, -c]), z[1] * np.array([c, s])

    tight = {"rtol": 1e-12, "atol": 1e-12}
    goes_slack = lambda t, z: z[1] ** 2 + G * np.cos(z[0])  # noqa: E731
    goes_slack.terminal = True
    swing = solve_ivp(angles, (0, 5), [0.0, SPEED], events=goes_slack, **tight)
    t1, (p1, v1) = swing.t[-1], point(swing.y[:, -1])
    fly = lambda t: p1 + v1 * t + 0.5 * np.array([0.0, -G]) * t * t  # noqa: E731
    t2 = t1 + brentq(lambda t: fly(t) @ fly(t) - 1, 1e-2, 5, xtol=1e-15)
    p2, v2 = fly(t2 - t1), v1 + np.array([0.0, -G]) * (t2 - t1)
    angle = np.arctan2(p2[0], -p2[1])
    rate = v2 @ np.array([np.cos(angle), np.sin(angle)])
    again = solve_ivp(angles, (t2, t_end), [angle, rate], **tight)
    return t1, t2, *point(again.y[:, -1])


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_thread_goes_slack_and_taut(method):
    t_end = 1.3
    sol = da.simulate(
        thread(), (0, t_end), p0=[0, -1], v0=[SPEED, 0], method=method, events=[SLACK, TAUT], rtol=1e-9, atol=1e-9
    )
    t1, t2, p, v = by_hand(t_end)
    assert [event.name for event in sol.events][:2] == ["slack", "taut"]
    assert sol.events.t[:2] == pytest.approx([t1, t2], abs=1e-6)
    np.testing.assert_allclose(sol.p[-1], p, atol=2e-6)
    np.testing.assert_allclose(sol.v[-1], v, atol=2e-5)
    flying = sol.at(np.linspace(t1, t2, 50)[1:-1])
    assert (flying.lam == 0).all()
    radius = np.linalg.norm(flying.p, axis=1)
    assert (radius < 1).all()
    held = sol.at(np.concatenate([np.linspace(0, t1 - 1e-6, 50), np.linspace(t2 + 1e-6, t_end, 50)]))
    np.testing.assert_allclose(np.linalg.norm(held.p, axis=1), 1, atol=1e-5)


def test_counters_and_limits_go_on_over_changes():
    model, method = thread(), da.Radau5()
    run = dict(p0=[0, -1], v0=[SPEED, 0], method=method, events=[SLACK, TAUT])
    sol = da.simulate(model, (0, 1.3), **run)
    # the accepted steps are those of the trajectory, but for the ones that were repeated to end at an event
    assert abs(sol.stats.accepted - len(sol.trajectory.t)) <= 4
    limit = sol.stats.accepted - 2
    with pytest.raises(da.TooManySteps) as caught:
        da.simulate(model, (0, 1.3), max_steps=limit, **run)
    assert caught.value.solution.events.t.size == 2


def test_functions_in_python_see_multipliers_of_released_constraints_as_zero():
    seen = []

    def force(s):
        seen.append(float(s.lam[0]))
        return [0.0, -G if float(s.y) < 1e9 else 0.0]

    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(
            p=["x", "y"], mass=[1.0, 1.0], force=force, lam=["thread"],
            holonomic=lambda s: [(float(s.x) ** 2 + float(s.y) ** 2 - 1) / 2],
        )  # fmt: skip
    sol = da.simulate(model, (0, 1.3), p0=[0, -1], v0=[SPEED, 0], events=[SLACK, TAUT], rtol=1e-7, atol=1e-7)
    t1, t2, p, _ = by_hand(1.3)
    assert sol.events.t[:2] == pytest.approx([t1, t2], abs=1e-4)
    np.testing.assert_allclose(sol.p[-1], p, atol=1e-3)
    assert 0.0 in seen


def test_one_of_two_constraints_is_released():
    """A bead on two crossing rails is held; without the second one it slides along the first, which still holds it."""
    model = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1.0, 1.0, 1.0], force=[0.0, -G, 1.0], lam=["floor", "wall"],
        holonomic=lambda s: [s.y, s.x - s.z],
    )  # fmt: skip
    go = da.Event(lambda s: s.t - 0.5, action=lambda s: da.Transition(active=["floor"]), name="go")
    for method in (da.Radau5(), da.Geoms(), da.Hem5(), da.Dassl()):
        sol = da.simulate(model, (0, 1), p0=[0, 0, 0], method=method, events=go, rtol=1e-8, atol=1e-8)
        last = sol.at(1.0)
        # x and z share the force until t = 0.5; then z alone feels it
        assert last["x"] == pytest.approx(0.5 * 0.5 * 0.25 + 0.25 * 0.5, abs=1e-6)
        assert last["z"] == pytest.approx(0.5 * 0.5 * 0.25 + 0.25 * 0.5 + 0.125, abs=1e-6)
        assert last["floor"] == pytest.approx(-G, abs=1e-5)
        assert last["wall"] == 0.0
        assert abs(sol["y"]).max() < 1e-9


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (da.Transition(active=["thraed"]), "did you mean 'thread'"),
        (da.Transition(active="thread"), "must be a list of names"),
        (da.Transition(values=[1.0]), "mapping of names to values"),
        (da.Transition(values={"z": 1.0}), "there is no 'z'"),
    ],
)
def test_faulty_transitions_are_named(answer, words):
    event = da.Event(lambda s: s.t - 0.1, action=lambda s: answer, name="faulty")
    with pytest.raises(da.SimulationError, match=words) as caught:
        da.simulate(thread(), (0, 1), p0=[0, -1], events=event)
    assert "'faulty'" in str(caught.value)
    assert caught.value.solution.t[-1] == pytest.approx(0.1, abs=1e-6)


def test_results_of_changing_systems_are_saved(tmp_path):
    sol = da.simulate(thread(), (0, 1.3), p0=[0, -1], v0=[SPEED, 0], events=[SLACK, TAUT])
    sol.save(tmp_path / "thread.h5")
    again = da.Solution.load(tmp_path / "thread.h5", model=thread())
    np.testing.assert_array_equal(again.x, sol.x)
    np.testing.assert_array_equal(again.at(1.0).lam, sol.at(1.0).lam)


def test_models_stay_as_they_are():
    model = thread()
    functions, vectors = dict(model.graph.functions), dict(model.graph.vectors)
    da.simulate(model, (0, 1.3), p0=[0, -1], v0=[SPEED, 0], events=[SLACK, TAUT])
    assert model.graph.functions == functions
    assert model.graph.vectors == vectors
    assert model.names("lam") == ("thread",)


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms(), da.Hem5(), da.Dassl()], ids=repr)
@pytest.mark.parametrize("after", [[], None])
def test_changes_just_before_a_breakpoint_are_not_lost(method, after):
    """An event a few rounding errors before a breakpoint, where there is no room for another step."""
    wind = da.Input(lambda t: np.where(t < 0.5, 0.0, 1.0), breakpoints=[0.5])
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 1.0], inputs={"wind": wind}, force=lambda s: [s.wind, -G], lam=["table"],
        holonomic=lambda s: [s.y],
    )  # fmt: skip
    late = 0.5 - 20 * np.spacing(0.5)
    push = da.Event(
        lambda s: s.t - late, name="push", action=lambda s: da.Transition(values={"x_dot": 2.0}, active=after)
    )
    sol = da.simulate(model, (0, 1), p0=[0, 0], method=method, events=push, rtol=1e-8, atol=1e-8)
    assert len(sol.events) == 1
    assert sol.p[-1, 0] == pytest.approx(2.0 * 0.5 + 0.125, abs=1e-6)
    assert sol.p[-1, 1] == pytest.approx(0.0 if after is None else -G / 8, abs=1e-6)
    assert sol.lam[-1, 0] == pytest.approx(-G if after is None else 0.0, abs=1e-4)
