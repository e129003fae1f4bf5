"""What happens between start and end: output times, events, breakpoints, inputs that are tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from families import alone, family

import dalembert as da

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")


@pytest.mark.parametrize("name", ["andrews", "heavy_top"])
def test_values_at_output_times_are_those_of_simulate(name):
    given = family(name, 5)
    end = given["t_span"][1]
    times = np.array([0.0, 0.1, 0.35, 0.350001, 0.9, 1.0]) * end
    found = da.ensemble(**given, device="cpu", t_eval=times, multipliers=True)
    assert found.p.shape == (5, 6, len(given["model"].names("p")))
    for i in (0, 4):
        sol = alone(given, i, t_eval=times)
        np.testing.assert_allclose(found.p[i], sol.p, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.v[i], sol.v, rtol=0, atol=1e-7)
        scale = np.abs(sol.lam).max(initial=1.0)
        np.testing.assert_allclose(found.lam[i], sol.lam, rtol=0, atol=1e-4 * scale)  # as accurate as the motion
    np.testing.assert_allclose(found.p[:, -1], found.end.p, rtol=0, atol=1e-12)
    assert found["lam1" if found.lam.shape[2] else given["model"].names("p")[0]].shape == (5, 6)


def test_without_multipliers_those_at_the_end_are_given():
    found = da.ensemble(**family("pendulum", 3), device="cpu", t_eval=[0.5, 1.0])
    assert found.lam.shape == (3, 1)


def test_events_are_those_of_simulate():
    given = family("andrews", 6)
    events = [
        da.Event(lambda s: s.gamma_dot, name="turn"),
        da.Event(lambda s: s.phi - 0.3, direction=1, name="rising"),
        da.Event(lambda s: s.t - 0.0123456, name="clock"),
        da.Event(lambda s: s.beta_ddot, direction=-1, name="acceleration"),
    ]
    found = da.ensemble(**given, device="cpu", events=events)
    for i in (0, 3, 5):
        sol = alone(given, i, events=events)
        for event in events:
            times, roots = sol.events.named(event.name).t, found.events[event.name]
            assert len(times) == roots.count[i]
            np.testing.assert_allclose(roots.t[i, : len(times)], times, rtol=0, atol=1e-9)
            assert np.isnan(roots.t[i, len(times) :]).all()


def test_an_event_ends_its_member_and_no_other():
    n = 12
    given = family("pendulum", n) | {"parameters": {"g": np.linspace(2.0, 20.0, n)}, "p0": np.array([1.0, 0.0])}
    lowest = da.Event(lambda s: s.x, direction=-1, terminal=True, name="lowest")
    found = da.ensemble(**given, device="cpu", events=lowest, t_eval=np.linspace(0, given["t_span"][1], 9))
    ended = found.status == "ended by event"
    assert ended.any()
    for i in (0, n // 2, n - 1):
        sol = alone(given, i, events=lowest)
        assert ended[i] == sol.status.startswith("terminated")
        assert found.end.t[i] == pytest.approx(sol.t[-1], abs=1e-10)
        np.testing.assert_allclose(found.end.p[i], sol.p[-1], rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.end.lam[i], sol.lam[-1], rtol=1e-5)
        late = found.t > found.end.t[i]
        assert np.isnan(found.p[i, late]).all()
        assert np.isfinite(found.p[i, ~late]).all()
    assert found.ended_by(int(np.argmax(ended))) == "lowest"
    assert np.abs(found.end.p[ended, 0]).max() < 1e-9
    length = np.hypot(*found.end.p.T)
    np.testing.assert_allclose(length, 1.0, rtol=0, atol=1e-12)  # projected, as all points are


def test_the_second_root_and_room_for_few():
    oscillator = da.EquationsOfMotion(p=["z"], mass=[1.0], parameters={"k": 1.0}, force=lambda s: [-s.k * s.z])
    events = [da.Event(lambda s: s.z, name="zero"), da.Event(lambda s: s.z_dot, name="turn", terminal=4)]
    found = da.ensemble(
        oscillator, (0, 100), p0=[1.0], parameters={"k": [1.0, 4.0]}, events=events, roots=2, device="cpu", rtol=1e-9
    )
    quarters = np.array([[2, 6], [1, 3]])
    np.testing.assert_allclose(found.events["zero"].t, quarters * np.pi / 4, rtol=1e-7)
    assert found.events["turn"].count.tolist() == [4, 4]
    np.testing.assert_allclose(found.end.t, [4 * np.pi, 2 * np.pi], rtol=1e-7)


def test_a_dip_within_a_step_has_two_roots():
    """A ball that nearly comes to rest at the height of the event: both roots lie within one step."""
    ball = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-10.0])
    height = da.Event(lambda s: s.y - 4.99999, name="height")
    found = da.ensemble(ball, (0, 1.7), p0=[0.0], v0=[10.0], n=3, events=height, device="cpu")
    np.testing.assert_allclose(found.events["height"].t[:, :2], [[1 - np.sqrt(2e-6), 1 + np.sqrt(2e-6)]] * 3, atol=1e-9)


def crank(torque) -> da.EquationsOfMotion:
    return da.EquationsOfMotion(
        p=["phi", "x"], parameters=dict(R=0.1, L=0.3, J=0.02, m=1.0), inputs={"torque": torque},
        mass=lambda s: [s.J, s.m], force=lambda s: [s.torque - 0.05 * s.phi_dot, 0],
        holonomic=lambda s: [(s.x - s.R * np.cos(s.phi)) ** 2 + (s.R * np.sin(s.phi)) ** 2 - s.L**2],
    )  # fmt: skip


@pytest.mark.parametrize(
    "torque",
    [
        da.Input(lambda t: np.where(t < 0.5, 4.0, np.cos(t)), breakpoints=[0.5]),
        da.Input.table(np.linspace(0, 0.8, 9), np.sin(np.arange(9.0))),
    ],
    ids=["breakpoint", "table"],
)
def test_inputs(torque):
    model = crank(torque)
    events = da.Event(lambda s: s.x_dot, name="reversal")
    given = dict(p0=[0.0, 0.4], rtol=1e-7, atol=1e-7, events=events)
    found = da.ensemble(model, (0, 1), parameters={"m": [0.5, 1.0, 2.0]}, device="cpu", **given)
    for i, m in enumerate((0.5, 1.0, 2.0)):
        sol = da.simulate(model, (0, 1), parameters={"m": m}, method="hem5", **given)
        np.testing.assert_allclose(found.end.p[i], sol.p[-1], rtol=0, atol=1e-9)
        assert sol.stats.accepted == found.accepted[i]
        times, roots = sol.events.named("reversal").t, found.events["reversal"]
        assert roots.count[i] == len(times)
        late = times > 0.01  # at the start, the slider rests
        np.testing.assert_allclose(roots.t[i, : len(times)][late], times[late], rtol=0, atol=1e-8)


def test_inputs_take_the_place_of_those_of_the_model():
    """Whether traced, a number, or a table: none is mistaken for another, however often they change."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 2.0], force=lambda s: [s.push, s.pull - 9.81],
        inputs={"push": lambda t: np.sin(2 * t), "pull": da.Input.table([0, 1, 2], [0, 1, 0])},
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )  # fmt: skip
    others = (
        None, {"push": lambda t: np.cos(5 * t)}, {"push": 2.0}, {"push": 3.0}, {"pull": lambda t: 3 * np.sin(t)},
        {"push": da.Input.table([0, 1, 2], [1, 0, 1]), "pull": lambda t: t}, {"push": lambda t: np.cos(5 * t)}, None,
    )  # fmt: skip
    ends = []
    for inputs in others:
        given = dict(p0=[1.0, 0.0], inputs=inputs, rtol=1e-8, atol=1e-8)
        found = da.ensemble(model, (0, 2), n=2, device="cpu", **given)
        sol = da.simulate(model, (0, 2), method="hem5", **given)
        np.testing.assert_allclose(found.p[1], sol.p[-1], rtol=0, atol=1e-10)
        assert found.accepted[0] == sol.stats.accepted
        ends.append(tuple(found.p[0].round(6)))
    assert len(set(ends)) == len(others) - 2


def test_an_input_in_python_becomes_a_table():
    def torque(t):
        return float(np.interp(t, [0, 10], [0, 10])) ** 2 if t > -1 else 0.0

    model = crank(da.Input(torque, derivatives=(lambda t: 2 * t, lambda t: 2.0)))
    assert model.inputs["torque"].sx is None
    found = da.ensemble(model, (0, 1), p0=[0.0, 0.4], n=2, device="cpu", rtol=1e-8, atol=1e-8)
    sol = da.simulate(model, (0, 1), p0=[0.0, 0.4], method="hem5", rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.end.p[1], sol.p[-1], rtol=0, atol=1e-9)


def test_an_input_that_jumps_where_nobody_says_so_is_refused():
    def torque(t):
        return 1.0 if float(t) < 0.3 else 2.0

    model = crank(da.Input(torque, derivatives=(lambda t: 0.0, lambda t: 0.0)))
    with pytest.raises(da.ModelError, match=r"'torque' cannot be approximated.*near t = 0\.[23].*breakpoints="):
        da.ensemble(model, (0, 1), p0=[0.0, 0.4], n=2, device="cpu")


def test_a_prescribed_motion_with_a_kink_changes_velocities():
    """A mass on a moving support: at the kink of the prescribed motion an impulse acts."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 2.0], force=[0, -1.0],
        inputs={"u": da.Input(lambda t: np.where(t < 0.5, t, 1.0 - t), breakpoints=[0.5])},
        holonomic=lambda s: [s.x - s.y - s.u],
    )  # fmt: skip
    given = dict(p0=[0.0, 0.0], v0=[1.0, 0.0], rtol=1e-8, atol=1e-8)
    found = da.ensemble(model, (0, 1), n=2, device="cpu", **given)
    sol = da.simulate(model, (0, 1), method="hem5", **given)
    np.testing.assert_allclose(found.end.v[0], sol.v[-1], rtol=0, atol=1e-9)
    assert sol.v[-1][0] - sol.v[-1][1] == pytest.approx(-1.0)


JUMP = da.EquationsOfMotion(
    p=["x", "y"], mass=[1.0, 2.0], force=lambda s: [s.u, -1.0], holonomic=lambda s: [s.x - s.y],
    inputs={"u": da.Input(lambda t: np.where(t < 0.5, -1.0, np.where(t > 0.5, 3.0, 100.0)), breakpoints=[0.5])},
)  # fmt: skip
KINK = da.EquationsOfMotion(
    p=["x", "y"], mass=[1.0, 2.0], force=[0, -1.0], holonomic=lambda s: [s.x - s.y - s.u],
    inputs={"u": da.Input(lambda t: np.where(t < 0.5, t, 1.0 - t), breakpoints=[0.5])},
)  # fmt: skip
AROUND = [0.0, 0.25, np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1), 0.75, 1.0]


@pytest.mark.parametrize("span", [(0, 1), (1, 0), (0, 0.5), (0.5, 1), (0.5, 0), (1, 0.5)])
@pytest.mark.parametrize("model", [JUMP, KINK], ids=["jump", "kink"])
@pytest.mark.parametrize("terminal", [False, True])
def test_outputs_and_events_at_breakpoints_are_those_of_simulate(model, span, terminal):
    """What comes behind a breakpoint is shown there, except at the end; nothing is evaluated at it."""
    forward = span[1] > span[0]
    times = [t for t in AROUND if min(span) <= t <= max(span)][:: 1 if forward else -1]
    kink = model is KINK
    speed = 0.0 if not kink else 1.0 if (forward and span[0] == 0) or span == (0.5, 0) else -1.0
    given = dict(p0=[model.inputs["u"].python(span[0])[0] if kink else 0.0, 0.0], v0=[speed, 0.0], t_eval=times)
    for name, function in (("input", lambda s: s.u), ("time", lambda s: s.t - 0.5), ("speed", lambda s: s.x_dot)):
        event = da.Event(function, name=name, terminal=terminal)
        sol = da.simulate(model, span, **given, method="hem5", events=event)
        found = da.ensemble(model, span, **given, n=2, multipliers=True, device="cpu", events=event)
        shown = np.isfinite(found.p[1]).all(axis=1)
        assert shown.sum() == len(sol.t)
        for kind in ("p", "v", "lam"):
            np.testing.assert_allclose(getattr(found, kind)[1, shown], getattr(sol, kind), rtol=0, atol=1e-8)
        roots = sol.events.named(name).t
        assert found.events[name].count[1] == len(roots)
        np.testing.assert_allclose(found.events[name].t[1, : len(roots)], roots, rtol=0, atol=1e-9)
        assert (found.status[1] == "finished") == (sol.status == "finished")
        if sol.status == "finished":
            assert found.end.t[1] == span[1]


def test_multipliers_of_models_without_constraints():
    spring = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-s.x])
    found = da.ensemble(spring, (0, 1), p0=[1.0], n=2, t_eval=[0.0, 0.5, 1.0], multipliers=True, device="cpu")
    assert found.lam.shape == found.mu.shape == (2, 3, 0)
    assert found.p.shape == (2, 3, 1)


ROOTS = {
    "of third order": (lambda s: (s.t - 0.512) ** 3, [0.512]),
    "of ninth order": (lambda s: (s.t - 0.512) ** 9, [0.512]),
    "nearly touching": (lambda s: s.y_dot**2 - 1e-12, [1 - 1e-7, 1 + 1e-7]),
    "on a steep function": (lambda s: np.exp(200 * (s.t - 0.512)) - 1, [0.512]),
    "where it is vertical": (lambda s: np.sign(s.t - 0.512) * np.sqrt(abs(s.t - 0.512)), [0.512]),
    "that is a jump": (lambda s: np.where(s.y > 3.75, 1.0, -1.0), [0.5, 1.5]),
}


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("kind", ROOTS)
def test_roots_of_all_kinds_are_found_where_they_are(kind, terminal):
    ball = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-10.0])
    function, times = ROOTS[kind]
    given = dict(
        p0=[0.0], v0=[10.0], rtol=1e-7, atol=1e-7, events=da.Event(function, name="root", terminal=terminal)
    )
    times = times[:1] if terminal else times
    sol = da.simulate(ball, (0, 2), method="hem5", **given)
    found = da.ensemble(ball, (0, 2), n=1, device="cpu", **given)
    np.testing.assert_allclose(sol.events.t, times, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.events["root"].t[0, : len(times)], times, rtol=0, atol=1e-10)
    assert found.end.t[0] == pytest.approx(times[0] if terminal else 2.0, abs=1e-10)


def jumping(*breakpoints: float) -> da.EquationsOfMotion:
    def u(t):
        value = 1.0
        for k, b in enumerate(breakpoints, 2):
            value = np.where(t < b, value, float(k))
        return value

    inputs = {"u": da.Input(u, breakpoints=breakpoints)}
    return da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [s.u - s.x], inputs=inputs)


SHORT = {
    "an end right behind a breakpoint": (jumping(0.3), (0, 3 * 0.1)),
    "one farther behind": (jumping(0.3), (0, 0.3 + 4e-16)),
    "an end right before one": (jumping(0.3), (0, np.nextafter(0.3, 0))),
    "a start right before one": (jumping(5e-324), (0, 1)),
    "two breakpoints": (jumping(0.3, 3 * 0.1), (0, 1)),
    "two farther ones": (jumping(0.3, 0.3 + 2e-15), (0, 1)),
    "two that are steps": (jumping(0.3, 0.3 + 1e-13), (0, 1)),
    "two backwards": (jumping(0.3, 0.3 + 2e-15), (1, 0)),
    "everything": (jumping(), (1, 1 + 1e-15)),
    "everything, late": (jumping(), (1e6, 1e6 + 1e-9)),
}


@pytest.mark.parametrize("case", SHORT)
def test_stretches_that_are_too_short_for_steps(case):
    model, span = SHORT[case]
    low, high = sorted(span)
    times = np.unique(np.clip([low, 0.2, 0.3, 3 * 0.1, 0.3 + 2e-15, 0.5, high], low, high))
    times = times if span[0] < span[1] else times[::-1]
    given = dict(p0=[0.2], v0=[1.0], t_eval=times)
    sol = da.simulate(model, span, **given, method="hem5")
    found = da.ensemble(model, span, **given, n=2, device="cpu")
    assert found.success.all()
    assert (found.accepted == sol.stats.accepted).all()
    assert found.end.t[1] == span[1]
    np.testing.assert_allclose(found.p[1], sol.p, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.end.v[1], sol.v[-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("projection", ["both", "velocities", "none"])
def test_a_kink_changes_velocities_whatever_is_projected(projection):
    given = dict(p0=[0.0, 0.0], v0=[1.0, 0.0], method=da.Hem5(projection=projection))
    sol = da.simulate(KINK, (0, 1), **given)
    found = da.ensemble(KINK, (0, 1), **given, n=2, device="cpu")
    np.testing.assert_allclose(found.end.p[1], sol.p[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.end.v[1], sol.v[-1], rtol=0, atol=1e-12)
    assert found.accepted[1] == sol.stats.accepted


@pytest.mark.parametrize("projection", ["both", "none"])
@pytest.mark.parametrize("jump", [0.4, 1e-5, 1e-14])
def test_positions_do_not_jump_at_breakpoints(projection, jump):
    """Far jumps are refused, as `simulate` does, with its words; it follows those that tables of numbers may have."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 2.0], parameters={"c": 1.0}, force=lambda s: [-s.c * s.x, -1.0],
        inputs={"F": da.Input(lambda t: np.where(t < 0.5, 1.0, 1.0 + jump), breakpoints=[0.5])},
        holonomic=lambda s: [0.3 * s.x + s.y - 0.1 * s.F],
    )  # fmt: skip
    given = dict(p0=[0.3, 0.01], method=da.Hem5(projection=projection), rtol=1e-7, atol=1e-7)
    found = da.ensemble(model, (0, 1), **given, n=2, device="cpu")
    if jump > 0.1:
        with pytest.raises(da.SimulationError, match="at infinite speed"):
            da.simulate(model, (0, 1), **given)
        assert found.status.tolist() == ["failed"] * 2
        assert "at infinite speed" in found.errors[1]
        assert found.end.t[0] == pytest.approx(0.5)
        return
    sol = da.simulate(model, (0, 1), **given)
    np.testing.assert_allclose(found.end.p[0], sol.p[-1], rtol=0, atol=1e-11)
    assert found.accepted[0] == sol.stats.accepted


def driven(u) -> da.EquationsOfMotion:
    """An oscillator."""
    return da.EquationsOfMotion(p=["x"], mass=[1.0], inputs={"u": u}, force=lambda s: [-100.0 * s.x + s.u])


class Bump:
    """Infinitely smooth, and zero but for a short while; of functions of the math library, which nobody can trace."""

    def __init__(self, centre: float, width: float):
        self.centre, self.width = centre, width

    def __call__(self, t):
        x = (float(t) - self.centre) / self.width
        return 50 * math.exp(-1 / (1 - x * x)) if abs(x) < 1 else 0.0


@pytest.mark.filterwarnings("ignore:input 'u'")
@pytest.mark.parametrize(("centre", "width"), [(4.2, 0.3), (0.77, 0.1), (9.91, 0.05)])
def test_short_pulses_are_not_overlooked(centre, width):
    given = dict(p0=[0.1], rtol=1e-8, atol=1e-8)
    bump = Bump(centre, width)
    found = da.ensemble(driven(bump), (0, 10), **given, n=2, device="cpu")
    times = np.union1d(np.linspace(0, 10, 101), np.linspace(centre - width, min(centre + width, 10.0), 2001))
    table = da.Input.table(times, [bump(t) for t in times])
    sol = da.simulate(driven(table), (0, 10), **given, method="hem5")
    assert abs(sol.p[-1, 0] - 0.1 * np.cos(100)) > 1e-3  # what it would be without
    np.testing.assert_allclose(found.end.p[1], sol.p[-1], rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:input 'u'")
def test_waves_become_tables_at_once():
    """Each piece serves a good part of a period: the function is asked some thousand times, derivatives never."""
    times = []

    def wave(t):
        times.append(float(t))
        return math.sin(50 * float(t))

    model = driven(wave)
    times.clear()
    found = da.ensemble(model, (0, 10), p0=[0.1], n=2, device="cpu", rtol=1e-9, atol=1e-9)
    assert len(times) < 20_000
    # x'' + 100 x = sin 50 t
    c = 1 / (100 - 2500)
    exact = 0.1 * np.cos(100) - 5 * c * np.sin(100) + c * np.sin(500)
    np.testing.assert_allclose(found.end.p[:, 0], exact, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore:input 'u'")
def test_an_input_that_fails_somewhere_is_refused():
    def sensor(t):
        if 5 < float(t) < 6:
            raise RuntimeError("no signal")
        return 1.0

    with pytest.raises(da.ModelError, match=r"'u' cannot be approximated.*no signal.*Input\.table"):
        da.ensemble(driven(sensor), (0, 10), p0=[0.1], n=2, device="cpu")
