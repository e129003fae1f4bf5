"""Several events at one time are answered together; functions are traced anew for every run."""

import numpy as np
import pytest

import dalembert as da

G = 9.81
METHODS = [da.Radau5(), da.Geoms(), da.Hem5(), da.Mexx(), da.Rkf45(), da.Dassl()]


def balls(n):
    return da.EquationsOfMotion(p=[f"y{i}" for i in range(n)], mass=np.ones(n), force=-G * np.ones(n))


def bounce(i, e=0.8):
    return da.Event(lambda s: s.p[i], direction=-1, action=lambda s: {f"y{i}_dot": -e * s.v[i]}, name=f"floor {i}")


def height(t, start, e=0.8):
    """Of a ball that was let go at `start`."""
    fall = np.sqrt(2 * start / G)
    t0, v = 0.0, 0.0
    y0 = start
    hit = fall
    while t > hit:
        v = e * (G * (hit - t0) - v)
        t0, y0 = hit, 0.0
        hit = t0 + 2 * v / G
    return y0 + v * (t - t0) - 0.5 * G * (t - t0) ** 2


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_equal_balls_bounce_together(method):
    n = 3
    sol = da.simulate(
        balls(n),
        (0, 1.5),
        p0=np.full(n, 1.0),
        method=method,
        events=[bounce(i) for i in range(n)],
        rtol=1e-8,
        atol=1e-8,
    )
    assert [len(sol.events.named(f"floor {i}")) for i in range(n)] == [2, 2, 2]
    np.testing.assert_allclose(sol.p[-1], height(1.5, 1.0), atol=1e-6)
    assert sol.p.min() > -1e-6


@pytest.mark.parametrize("seed", range(4))
def test_balls_of_nearly_equal_heights(seed):
    """Differences from zero to a few rounding errors and beyond: nobody falls through the floor."""
    rng = np.random.default_rng(seed)
    heights = 1.0 + rng.choice([0.0, 1e-16, 1e-15, 1e-13, 1e-10, 1e-6], 6) * rng.normal(size=6)
    for method in METHODS:
        sol = da.simulate(balls(6), (0, 1.0), p0=heights, method=method, events=[bounce(i) for i in range(6)])
        np.testing.assert_allclose(sol.p[-1], [height(1.0, h) for h in heights], atol=1e-3)


@pytest.mark.parametrize("order", [1, -1])
def test_an_action_and_an_end_at_one_root(order):
    """Both are recorded, the action is carried out, and the simulation ends."""
    events = [
        da.Event(lambda s: s.y0 - 0.5, action=lambda s: {"y0_dot": 7.0}, name="act"),
        da.Event(lambda s: s.y0 - 0.5, terminal=True, name="end"),
    ][::order]
    sol = da.simulate(balls(1), (0, 2), p0=[1.0], events=events)
    assert sol.status == "terminated by event 'end'"
    assert sorted(event.name for event in sol.events) == ["act", "end"]
    assert sol.v[-1, 0] == 7.0


def test_later_actions_see_what_earlier_ones_changed():
    events = [
        da.Event(lambda s: s.t - 0.1, action=lambda s: {"y0_dot": 1.0}, name="first"),
        da.Event(lambda s: 2 * s.t - 0.2, action=lambda s: {"y0_dot": s.y0_dot + 1.0}, name="second"),
    ]
    sol = da.simulate(balls(1), (0, 0.2), p0=[1.0], events=events)
    assert sol["y0_dot"][-1] == pytest.approx(2.0 - 0.1 * G, abs=1e-9)
    assert [event.name for event in sol.events] == ["first", "second"]


def test_hundreds_of_roots_in_one_step_are_found():
    model = da.QuasiLinearDAE(x=["x"], leading=[[1.0]], rhs=lambda s: [1.0])
    wave = da.Event(lambda s: np.sin(200 * np.pi * s.x), check_points=2000, name="wave")
    stop = da.Event(lambda s: s.x - 0.97, terminal=True, name="stop")
    sol = da.simulate(model, (0, 1), x0=[0.0025], events=[wave, stop], first_step=1.0, method=da.Radau5())
    assert sol.status == "terminated by event 'stop'"
    assert len(sol.events.named("wave")) == 194  # the last one comes together with the stop
    assert sol.events[-1].t == pytest.approx(0.9675, abs=1e-9)


def test_functions_are_read_as_they_are_now():
    level = 0.5
    event = da.Event(lambda s: s.y0 - level, terminal=True, name="level")
    model = balls(1)
    for level in (0.5, 0.2, 0.8):
        sol = da.simulate(model, (0, 1), p0=[1.0], events=event)
        assert sol.p[-1, 0] == pytest.approx(level, abs=1e-6)


def test_ports_of_events_are_bounded_and_shared():
    from dalembert.compile.events import EVENTS

    model = balls(1)
    form = da.Radau5().formulate(model)
    for _ in range(30):
        da.simulate(model, (0, 1), p0=[1.0], events=lambda s: s.y0 - 0.5, method="radau5")
    assert len(form.kept.keys(EVENTS)) == 1
    for k in range(30):
        da.simulate(model, (0, 1), p0=[1.0], events=lambda s, k=k: s.y0 - 0.01 * k, method="radau5")
    assert len(form.kept.keys(EVENTS)) == EVENTS.most


def test_one_event_with_every_form_of_a_method():
    """Forms of one name with different unknowns have different ports."""
    problem = da.problems.pendulum()
    event = da.Event(lambda s: s.x, name="below")
    times = []
    for accelerations in ("eliminated", "unknown", "eliminated"):
        sol = problem.simulate(method=da.Geoms(accelerations=accelerations), events=event, rtol=1e-8, atol=1e-8)
        times.append(sol.events.t)
    np.testing.assert_allclose(times[0], times[1], atol=1e-6)
    np.testing.assert_array_equal(times[0], times[2])


def test_untraceable_events_leave_the_model_as_it_is():
    model = balls(1)
    functions = dict(model.graph.functions)
    assert model.time_acts_through_inputs
    for _ in range(3):
        with pytest.warns(da.UntraceableWarning):
            sol = da.simulate(model, (0, 1), p0=[1.0], events=lambda s: float(s.y0) - 0.5)
        assert sol.events.t == pytest.approx([np.sqrt(1 / G)], abs=1e-7)
    assert model.graph.functions == functions
    assert not model.graph.externals
    assert model.time_acts_through_inputs


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("off", [0, 1, -1, 3, -5, 20])
def test_actions_at_the_very_end(method, off):
    """Up to some rounding errors before or after it: carried out or not, but nothing fails."""
    end = 1.0
    at = end + off * np.spacing(end)
    event = da.Event(lambda s: s.t - at, action=lambda s: {"y0_dot": 7.0}, name="late")
    sol = da.simulate(balls(1), (0, end), p0=[1.0], method=method, events=event, t_eval=[0.5, end])
    assert sol.t.tolist() == [0.5, end]
    assert sol.v[-1, 0] == pytest.approx(7.0 if len(sol.events) else -G, abs=1e-6)
    assert len(sol.events) == (off <= 0)


@pytest.mark.parametrize("direction", [0, 1, -1])
@pytest.mark.parametrize("method", ["hem5", "rkf45", "radau5", "mexx"])
def test_later_roots_of_a_step_that_ends_early_are_none(method, direction):
    """A step with many roots of one event, and in their midst the end: what comes behind it has not happened."""
    model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [0.0 * s.x])
    events = [
        da.Event(lambda s: np.sin(40 * s.t), name="many", direction=direction),
        da.Event(lambda s: s.t - 1.782, name="end", terminal=True),
    ]
    sol = da.simulate(
        model, (0, 3), p0=[0.0], v0=[1.0], events=events, first_step=0.4, max_step=0.4, method=method
    )  # fmt: skip
    every = np.arange(1, 23) * np.pi / 40
    times = {0: every, 1: every[1::2], -1: every[::2]}[direction]
    np.testing.assert_allclose(sol.events.named("many").t, times, rtol=0, atol=1e-9)
    assert sol.t[-1] == pytest.approx(1.782, abs=1e-12)
