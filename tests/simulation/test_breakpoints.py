"""Breakpoints: events that fall on them, impulses at kinks of prescribed motions, intervals that end at them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.regularize.impulse import across_kink, after_impact

METHODS = [
    da.Radau5(), da.Radau5(formulation="index1"), da.Radau5(formulation="index2"), da.Radau5(formulation="baumgarte"),
    da.Geoms(), da.Dassl(), da.Dassl(formulation="index1"), da.Odassl(), da.Odassl(level="acceleration"),
    da.Mexx(), da.Hem5(), da.Rkf45(),
]  # fmt: skip
FREE = [method for method in METHODS if not isinstance(method, da.Odassl)]  # Odassl wants constraints
QUICK = [da.Radau5(), da.Hem5(), da.Mexx(), da.Dassl()]


def cart(*breakpoints: float) -> da.EquationsOfMotion:
    """Pushed forwards before the first breakpoint, backwards after it."""
    first = breakpoints[0]
    force = da.Input(lambda t: np.where(t < first, 2.0, -2.0), breakpoints=breakpoints)
    return da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [s.F], inputs={"F": force})


# -- events ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FREE, ids=str)
def test_a_clock_at_a_breakpoint_is_seen_once(method):
    events = [da.Event(lambda s, at=at: s.t - at, name=f"{at}") for at in (0.5, 1.0, 1.5)]
    sol = da.simulate(cart(1.0), (0, 2), p0=[0], method=method, events=events)
    assert [(e.name, e.direction) for e in sol.events] == [("0.5", 1), ("1.0", 1), ("1.5", 1)]
    np.testing.assert_allclose(sol.events.t, [0.5, 1.0, 1.5], rtol=1e-14)
    assert sol.events.named("1.0").t[0] == 1.0
    assert (sol.t == 1.0).sum() == 2


@settings(max_examples=25, deadline=None)
@given(
    at=st.floats(0.01, 1.99),
    offset=st.sampled_from([0, 0, 1, -1, 2, -2, 5, -40]),
    method=st.sampled_from(QUICK),
    direction=st.sampled_from([-1, 0, 1]),
    backwards=st.booleans(),
)
def test_a_clock_near_a_breakpoint_is_seen_once(at, offset, method, direction, backwards):
    when = at + offset * np.spacing(at)
    event = da.Event(lambda s: s.t - when, name="clock", direction=direction)
    span = (2.0, 0.0) if backwards else (0.0, 2.0)
    sol = da.simulate(cart(at), span, p0=[0], method=method, events=event)
    crossed = -1 if backwards else 1
    assert len(sol.events) == (direction in (0, crossed))
    assert all(abs(e.t - when) <= 1e-12 and e.direction == crossed for e in sol.events)


@pytest.mark.parametrize("method", QUICK, ids=str)
def test_an_event_on_an_input_that_jumps(method):
    sol = da.simulate(cart(1.0), (0, 2), p0=[0], method=method, events=da.Event(lambda s: s.F, name="turned"))
    assert [(e.t, e.direction) for e in sol.events] == [(1.0, -1)]


@pytest.mark.parametrize("method", FREE, ids=str)
def test_an_action_at_a_breakpoint(method):
    """It stops the cart the moment that the force turns."""
    stop = da.Event(lambda s: s.t - 1.0, action=lambda s: {"z_dot": 0.0}, name="stop")
    sol = da.simulate(cart(1.0), (0, 2), p0=[0], method=method, events=stop, rtol=1e-9, atol=1e-9)
    assert len(sol.events) == 1
    np.testing.assert_allclose(sol.p[-1, 0], 1.0 - 1.0, atol=1e-7)
    np.testing.assert_allclose(sol.v[-1, 0], -2.0, atol=1e-7)


@pytest.mark.parametrize("method", QUICK, ids=str)
def test_a_terminal_event_at_a_breakpoint(method):
    events = [da.Event(lambda s: s.t - 1.0, terminal=True, name="bell"), da.Event(lambda s: s.t - 1.5, name="later")]
    sol = da.simulate(cart(1.0), (0, 2), p0=[0], method=method, events=events)
    assert sol.status == "terminated by event 'bell'"
    assert sol.t[-1] == 1.0
    assert len(sol.events) == 1


def test_a_second_terminal_count_at_a_breakpoint():
    ticks = da.Event(lambda s: (s.t - 0.5) * (s.t - 1.0), terminal=2, name="tick")
    sol = da.simulate(cart(1.0), (0, 2), p0=[0], events=ticks)
    assert sol.status == "terminated by event 'tick'"
    assert sol.t[-1] == 1.0


def test_an_event_with_a_threshold_comes_out_of_its_band_at_a_breakpoint():
    event = da.Event(lambda s: s.F, threshold=0.5, name="turned")
    sol = da.simulate(cart(1.0), (0, 2), p0=[0], events=event)
    assert [e.t for e in sol.events] == [1.0]
    wide = da.Event(lambda s: s.F, threshold=3.0, name="turned")
    assert len(da.simulate(cart(1.0), (0, 2), p0=[0], events=wide).events) == 0


def test_an_action_a_rounding_error_before_a_breakpoint_happens_once():
    before = float(np.nextafter(1.0, 0.0))
    kick = da.Event(lambda s: s.t - before, action=lambda s: {"z_dot": s.z_dot + 1.0}, name="kick")
    for method in QUICK:
        sol = da.simulate(cart(1.0), (0, 2), p0=[0], method=method, events=kick, rtol=1e-9, atol=1e-9)
        assert len(sol.events) == 1
        np.testing.assert_allclose(sol.v[-1, 0], 1.0, atol=1e-7)


@pytest.mark.parametrize("apart", [1, 2, 3, 1000])
def test_breakpoints_that_touch(apart):
    second = 1.0
    for _ in range(apart):
        second = float(np.nextafter(second, 2.0))
    clock = da.Event(lambda s: s.t - 1.0, name="clock")
    sol = da.simulate(cart(1.0, second), (0, 2), p0=[0], events=clock, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sol.p[-1, 0], 2.0, atol=1e-7)
    assert len(sol.events) == 1
    assert (np.diff(sol.t) >= 0).all()


@pytest.mark.parametrize("method", FREE, ids=str)
def test_the_interval_may_begin_and_end_at_breakpoints_whose_value_is_of_the_other_side(method):
    force = da.Input(
        lambda t: np.where((t > 0) & (t < 1), 2.0, 1e6), breakpoints=[0.0, 1.0]
    )  # at 0 and at 1 it has another value
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [s.F], inputs={"F": force})
    for span, sign in (((0, 1), 1), ((1, 0), -1)):
        events = [da.Event(lambda s: s.t - 1.0, name="one"), da.Event(lambda s: s.t, name="zero")]
        sol = da.simulate(model, span, p0=[0], method=method, rtol=1e-9, atol=1e-9, events=events)
        np.testing.assert_allclose([sol.p[-1, 0], sol.v[-1, 0]], [1.0, sign * 2.0], atol=1e-7)
        assert (sol.t[0], sol.t[-1]) == span
        assert [e.name for e in sol.events] == ["one" if sign > 0 else "zero"]


# -- kinks -------------------------------------------------------------------------------------------------------------


def reference(angle, speed, pieces):
    """A pendulum of length 1 whose pivot moves along x with piecewise constant speeds: its angle and angular speed."""
    y, before = np.array([angle, speed]), pieces[0][2]
    for begin, end, u in pieces:
        # the impulse acts along the rod: across it, the velocity of the mass stays
        y[1] += (before - u) * np.cos(y[0])
        before = u
        y = solve_ivp(
            lambda t, y: [y[1], -9.81 * np.sin(y[0])], (begin, end), y, method="DOP853", rtol=1e-12, atol=1e-13
        ).y[:, -1]
    return y


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_pendulum_on_a_pivot_that_changes_its_speed(method):
    times, speeds = [0.0, 0.4, 0.9, 1.5], [0.5, -0.8, 0.3]
    places = np.concatenate([[0.0], np.cumsum(np.diff(times) * speeds)])

    def pivot(t):
        return np.where(
            t < times[1],
            speeds[0] * t,
            np.where(t < times[2], places[1] + speeds[1] * (t - times[1]), places[2] + speeds[2] * (t - times[2])),
        )

    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [(s.x - s.q) ** 2 + s.y**2 - 1],
        inputs={"q": da.Input(pivot, breakpoints=times[1:3])},
    )  # fmt: skip
    angle, speed = 0.4, 0.3
    start = dict(p0=[np.sin(angle), -np.cos(angle)], v0=[speeds[0] + speed * np.cos(angle), speed * np.sin(angle)])
    sol = da.simulate(model, (0, times[-1]), method=method, rtol=1e-8, atol=1e-8, **start)
    angle, speed = reference(angle, speed, list(zip(times[:-1], times[1:], speeds, strict=True)))
    expected = [places[-1] + np.sin(angle), -np.cos(angle), speeds[-1] + speed * np.cos(angle), speed * np.sin(angle)]
    np.testing.assert_allclose(np.concatenate([sol.p[-1], sol.v[-1]]), expected, atol=2e-6)
    assert sol.max_residual("velocity") < 1e-4
    assert np.abs(sol.lam).max() < 100


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), redundant=st.booleans())
def test_the_impulse_is_the_smallest_in_the_mass_norm(seed, redundant):
    """On random constraints, prescribed velocities and mass matrices, against the KKT system by NumPy."""
    rng = np.random.default_rng(seed)
    n, m, k = 5, 2, 1
    B, W, H = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=(k, n))
    if redundant:
        W = np.vstack([W, W.sum(axis=0)])
    speed = rng.normal(size=2)
    weights = np.ones(len(W)) if not redundant else np.append(np.ones(m), m)
    M = B @ B.T + 0.1 * np.eye(n)
    drive = da.Input(lambda t: np.where(t < 1, speed[0] * t, speed[0] + speed[1] * (t - 1)), breakpoints=[1.0])
    model = da.EquationsOfMotion(
        p=[f"q{i}" for i in range(n)], mass=M, force=[0] * n, inputs={"u1": drive},
        holonomic=lambda s: list(W @ s.p - weights * s.u1), nonholonomic=lambda s: list(H @ s.v),
    )  # fmt: skip
    full = np.vstack([W, H])
    v = np.linalg.lstsq(full, np.concatenate([weights * speed[0], [0.0]]), rcond=None)[0]
    p = np.linalg.lstsq(W, weights * speed[0], rcond=None)[0]
    moved = across_kink(model, np.nextafter(1.0, 0), np.nextafter(1.0, 2), {"p": p, "v": v})
    rows = np.vstack([W[:m], H])
    S = np.linalg.solve(M, rows.T)
    change = np.concatenate([np.full(m, speed[1] - speed[0]), [0.0]])
    np.testing.assert_allclose(moved["v"], v + S @ np.linalg.solve(rows @ S, change), atol=1e-9 * (1 + np.abs(v).max()))
    np.testing.assert_array_equal(moved["p"], p)
    # an impact: the whole residual goes
    wild = rng.normal(size=n)
    after = after_impact(model, 2.0, {"p": p, "v": wild})
    wrong = np.concatenate([np.full(m, speed[1]), [0.0]]) - rows @ wild
    np.testing.assert_allclose(after, wild + S @ np.linalg.solve(rows @ S, wrong), atol=1e-9 * (1 + np.abs(wild).max()))


def test_the_impulse_does_not_heal_what_the_method_has_drifted():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 9], force=[0, 0], holonomic=lambda s: [s.x + s.y - s.q],
        inputs={"q": da.Input(lambda t: np.where(t < 1, 0.0, t - 1), breakpoints=[1.0])},
    )  # fmt: skip
    drifted = {"p": np.array([1e-5, 0.0]), "v": np.array([0.0, 2e-5])}
    moved = across_kink(model, np.nextafter(1.0, 0), np.nextafter(1.0, 2), drifted)
    np.testing.assert_allclose(moved["v"], [0.9, 0.1 + 2e-5], rtol=1e-12)
    np.testing.assert_allclose(moved["p"], drifted["p"], atol=1e-15)


def test_a_large_model_takes_the_sparse_way():
    n = 200
    model = da.EquationsOfMotion(
        p=[f"q{i}" for i in range(n)], mass=np.arange(1.0, n + 1), force=[0] * n,
        holonomic=lambda s: [s.p[i] + s.p[i + 1] - s.q for i in range(0, n, 2)],
        inputs={"q": da.Input(lambda t: np.where(t < 1, 0.0, t - 1), breakpoints=[1.0])},
    )  # fmt: skip
    moved = across_kink(model, np.nextafter(1.0, 0), np.nextafter(1.0, 2), {"p": np.zeros(n), "v": np.zeros(n)})
    pairs = moved["v"].reshape(-1, 2)
    masses = np.arange(1.0, n + 1).reshape(-1, 2)
    np.testing.assert_allclose(pairs, masses[:, ::-1] / masses.sum(axis=1, keepdims=True), rtol=1e-9)


def test_a_jump_of_a_prescribed_position_is_named():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 9], force=[0, 0], lam=["drive"], holonomic=lambda s: [s.x + s.y - s.q],
        inputs={"q": da.Input(lambda t: np.where(t < 1, 0.0, 0.5), breakpoints=[1.0])},
    )  # fmt: skip
    for method in QUICK:
        with pytest.raises(da.SimulationError, match=r"'drive'.* jumps by 0\.5 at the breakpoint t = 1: .* ramp") as e:
            da.simulate(model, (0, 2), p0=[0, 0], method=method)
        assert e.value.solution.t[-1] == 1.0


def test_a_small_jump_of_a_prescribed_position_is_followed():
    """Tables are rounded."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, 0], holonomic=lambda s: [s.x + s.y - s.q],
        inputs={"q": da.Input(lambda t: np.where(t < 1, 0.0, 1e-5), breakpoints=[1.0])},
    )  # fmt: skip
    for method in METHODS:
        sol = da.simulate(model, (0, 2), p0=[0, 0], method=method)
        np.testing.assert_allclose(sol.p[-1], [5e-6, 5e-6], atol=1e-9)


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms(), da.Hem5(), da.Mexx()], ids=str)
def test_a_constraint_that_is_taken_up_acts_as_an_impulse(method):
    """A light mass catches a heavy one: momentum stays, and the heavy one hardly changes its speed."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 9], force=[0, 0], lam=["hook"], holonomic=lambda s: [s.x - s.y],
    )  # fmt: skip
    events = [
        da.Event(lambda s: s.t - 0.1, action=lambda s: da.Transition(values={"y_dot": 1.0, "x_dot": 1.0}, active=[])),
        da.Event(lambda s: s.t - 0.5, action=lambda s: da.Transition(values={"x_dot": 0.0}, active=["hook"])),
    ]
    sol = da.simulate(model, (0, 1), p0=[0, 0], v0=[1, 1], method=method, events=events)
    np.testing.assert_allclose(sol.v[-1], [0.9, 0.9], rtol=1e-6)


def test_an_action_that_constraints_do_not_allow_is_told_and_completed_by_an_impulse():
    model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 9], force=[0, 0], holonomic=lambda s: [s.x - s.y])
    kick = da.Event(lambda s: s.t - 0.5, action=lambda s: {"x_dot": 10.0})
    with pytest.warns(da.InitialValuesCorrected, match="after the action of an event, 'y_dot' changed from 0 to 1"):
        sol = da.simulate(model, (0, 1), p0=[0, 0], v0=[0, 0], events=kick)
    np.testing.assert_allclose(sol.v[-1], [1.0, 1.0], rtol=1e-6)
