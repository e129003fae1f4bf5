"""Forces that jump or have a kink which no breakpoint and no event declares: the error estimate has to see them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as da

METHODS = (
    da.Mexx(), da.Mexx(sequence="paper"), da.Hem5(), da.Phem56(), da.Hedop5(), da.Rkf45(), da.Radau5(), da.Geoms(),
    da.Dassl(), da.Odassl(),
)  # fmt: skip
TOLERANCES = (1e-4, 1e-7, 1e-10)
GRAVITY = 9.81
#: of the tolerance, at most
ALLOWED = 1e4
#: Mexx looks where its rows do not
ALLOWED_OF_MEXX = 1e3


def integrate(rates, y, times):
    """With a new start at each of the times; `rates(t, y, middle)` is told the middle of the stretch."""
    for t0, t1 in itertools.pairwise(times):
        run = solve_ivp(rates, (t0, t1), y, method="DOP853", rtol=1e-12, atol=1e-13, args=(0.5 * (t0 + t1),))
        y = run.y[:, -1]
    return y


class Steps:
    """A force 1 that changes at random times."""

    def __init__(self, rng, t_end, height=3.0):
        count = rng.integers(1, 5)
        self.times, self.heights = np.sort(rng.uniform(0.05, t_end - 0.05, count)), height * rng.normal(size=count)
        self.stretches = [0.0, *self.times, t_end]

    def __call__(self, t):
        return 1.0 + sum(np.where(t < t1, 0.0, height) for t1, height in zip(self.times, self.heights, strict=True))


def steps_free(rng):
    force = Steps(rng, 4.0)
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [force(s.t)])
    return model, [0.0], 4.0, integrate(lambda t, y, m: [y[1], force(m)], [0.0, 0.0], force.stretches)[:1]


def steps_on_oscillator(rng):
    force, k = Steps(rng, 4.0), rng.uniform(1, 30)
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [force(s.t) - k * s.z])
    return model, [1.0], 4.0, integrate(lambda t, y, m: [y[1], force(m) - k * y[0]], [1.0, 0.0], force.stretches)[:1]


def steps_on_pendulum(rng):
    """A torque, in Cartesian coordinates; too small to reach the top, from where motions part."""
    force, angle = Steps(rng, 3.0, height=0.5), rng.uniform(-1, 1)
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=lambda s: [-s.y * force(s.t), s.x * force(s.t) - GRAVITY],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )  # fmt: skip
    y = integrate(lambda t, y, m: [y[1], force(m) - GRAVITY * np.sin(y[0])], [angle, 0.0], force.stretches)
    return model, [np.sin(angle), -np.cos(angle)], 3.0, np.array([np.sin(y[0]), -np.cos(y[0])])


def steps_of_an_actuator(rng):
    """r' jumps."""
    force = Steps(rng, 3.0)
    model = da.EquationsOfMotion(
        p=["z"], r=["y"], mass=[1], force=lambda s: [s.y - s.z], dynamics=lambda s: [force(s.t)]
    )
    y = integrate(lambda t, y, m: [y[1], y[2] - y[0], force(m)], [0.0, 0.0, 0.0], force.stretches)
    return model, [0.0], 3.0, y[:1]


def relay(rng):
    """The force changes where the mass passes a place."""
    t1 = rng.uniform(0.7, 1.7)
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [np.where(s.z < t1**2, 2.0, -2.0)])
    return model, [0.0], 2.0, np.array([t1**2 + 2 * t1 * (2 - t1) - (2 - t1) ** 2])


def one_sided_spring(rng):
    """Free fall, of which all methods but Dassl are exact and take long steps, then a short contact."""
    k, height = 10 ** rng.uniform(2, 4), rng.uniform(0.3, 1)
    omega, speed = np.sqrt(k), np.sqrt(2 * height)
    depth = lambda t: (np.cos(omega * t) - 1) / k - speed / omega * np.sin(omega * t)  # noqa: E731
    contact = brentq(depth, 0.5 * np.pi / omega, 1.9 * np.pi / omega, xtol=1e-16)
    t_end = 1.7 * speed
    d = t_end - speed - contact
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [-1 - k * np.minimum(s.z, 0)])
    return model, [height], t_end, np.array([speed * d - d * d / 2])


def dry_damper(rng):
    """A pendulum in Cartesian coordinates whose damper has a force of constant size; it does not come to rest."""
    torque, y, t, t_end, direction = rng.uniform(0.1, 1), np.array([rng.uniform(1, 2), 0.0]), 0.0, 3.0, -1.0
    start = np.array([np.sin(y[0]), -np.cos(y[0])])

    def turns(t, y, direction):
        return y[1] - 1e-14 * direction

    turns.terminal = True
    while t < t_end:
        rates = lambda t, y, direction: [y[1], -GRAVITY * np.sin(y[0]) - torque * direction]  # noqa: E731
        turns.direction = -direction
        run = solve_ivp(rates, (t, t_end), y, "DOP853", rtol=1e-12, atol=1e-13, events=turns, args=(direction,))
        y, t, direction = run.y[:, -1], run.t[-1], -direction

    def force(s):
        around = torque * np.sign(s.x * s.y_dot - s.y * s.x_dot)
        return [s.y * around, -s.x * around - GRAVITY]

    model = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=force, holonomic=lambda s: [s.x**2 + s.y**2 - 1])
    return model, start, t_end, np.array([np.sin(y[0]), -np.cos(y[0])])


CASES = (
    steps_free, steps_on_oscillator, steps_on_pendulum, steps_of_an_actuator, relay, one_sided_spring, dry_damper,
)  # fmt: skip


def check(make, seed, tolerances):
    model, p0, t_end, exact = make(np.random.default_rng(seed))
    for tolerance, method in itertools.product(tolerances, METHODS):
        if isinstance(method, da.Odassl) and not model.names("lam"):
            continue
        sol = da.simulate(model, (0, t_end), p0=p0, method=method, rtol=tolerance, atol=tolerance)
        error = np.max(np.abs(sol.p[-1] - exact) / (1 + np.abs(exact))) / tolerance
        allowed = ALLOWED_OF_MEXX if isinstance(method, da.Mexx) else ALLOWED
        assert error < allowed, (make.__name__, seed, tolerance, method, error)


@pytest.mark.parametrize("make", CASES)
def test_jumps_and_kinks_are_seen(make):
    for seed in range(2):
        check(make, seed, TOLERANCES)


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES)
def test_many_jumps_and_kinks_are_seen(make):
    for seed in range(100, 140):
        check(make, seed, (*TOLERANCES, 1e-8))


def test_jump_right_behind_the_start_and_right_before_the_end_of_a_step():
    """Where all rows of Mexx, and all stages of Hem5 that count, have the same forces."""
    for method, place in itertools.product((da.Mexx(), da.Hem5()), (1e-3, 0.01, 0.05, 0.08, 0.95, 0.99, 0.999)):
        model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [np.where(s.t < place, 0.0, 1.0)])  # noqa: B023
        sol = da.simulate(model, (0, 1), p0=[0], v0=[1], method=method, rtol=1e-9, atol=1e-9, first_step=1.0)
        assert abs(sol.v[-1, 0] - 1 - (1 - place)) < 3e3 * 1e-9, (method, place)


def test_without_the_limit_mexx_is_the_published_method():
    """It steps over the jump."""
    model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=lambda s: [np.where(s.t < 0.99, 0.0, 1.0)])
    arguments = dict(p0=[0], v0=[1], rtol=1e-9, atol=1e-9, first_step=1.0)
    errors = [
        abs(da.simulate(model, (0, 1), method=method, **arguments).v[-1, 0] - 1.01)
        for method in (da.Mexx(jump_limit=None), da.Mexx())
    ]
    assert errors[0] > 1e-3
    assert errors[1] < 1e-7
