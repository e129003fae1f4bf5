"""Dry friction with a given bound, as in joints: sticking and sliding by the same mechanism as contacts."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

METHODS = ("radau5", "geoms", "dassl", "mexx", "hem5", "rkf45")
G = 9.81


def pendulum(bound=1.0, **more):
    return da.EquationsOfMotion(
        p=["phi"], mass=[1.0], force=lambda s: [-G * np.sin(s.phi)],
        dry_friction={"hinge": (lambda s: s.phi_dot, bound)}, **more,
    )  # fmt: skip


def swings(bound, phi0):
    """Turning points until it stays, each by the equations for one direction."""
    t, phi, times = 0.0, phi0, []
    while G * abs(np.sin(phi)) > bound:
        sign = -np.sign(phi)

        def right(_, y, sign=sign):
            return [y[1], -G * np.sin(y[0]) - sign * bound]

        def turns(_, y):
            return y[1]

        turns.terminal, turns.direction = True, -sign
        run = solve_ivp(right, (0, 10), [phi, 0], events=turns, rtol=1e-12, atol=1e-13, method="DOP853")
        t, phi = t + run.t[-1], run.y[0, -1]
        times.append(t)
    return times, phi


@pytest.mark.parametrize("method", METHODS)
def test_pendulum_with_a_rough_hinge(method):
    sol = da.simulate(pendulum(), (0, 8), p0=[1.0], method=method, rtol=1e-9, atol=1e-11)
    times, phi = swings(1.0, 1.0)
    np.testing.assert_allclose([segment.t for segment in sol.segments[1:]], times, atol=1e-7)
    assert sol.p[-1, 0] == pytest.approx(phi, abs=1e-7)
    assert sol.v[-1, 0] == 0
    assert sol["hinge.friction"][-1, 0] == pytest.approx(G * np.sin(phi), abs=1e-6)


def test_bound_by_parameter_and_by_function():
    named = pendulum("F", parameters={"F": 1.0})
    growing = pendulum(lambda s: 0.2 + 0.1 * s.t)
    sol = da.simulate(named, (0, 8), p0=[1.0], parameters={"F": 2.0})
    assert sol.p[-1, 0] == pytest.approx(swings(2.0, 1.0)[1], abs=1e-5)
    sol = da.simulate(growing, (0, 60), p0=[1.0])
    assert sol.v[-1, 0] == 0
    assert np.abs(sol["hinge.friction"]).max() <= 0.2 + 6.0


def test_several_brakes_hold_together():
    """A torque that grows: two brakes on one axis slip where the sum of their bounds is reached."""
    model = da.EquationsOfMotion(
        p=["phi"], mass=[1.0], inputs={"T": lambda t: 0.5 * t}, force=lambda s: [s.T],
        dry_friction={"first": (lambda s: s.phi_dot, 1.0), "second": (lambda s: s.phi_dot, 2.0)},
    )  # fmt: skip
    sol = da.simulate(model, (0, 8), p0=[0.0])
    assert np.abs(sol.at(np.linspace(0, 5.99, 30)).v).max() < 1e-12
    assert sol.v[-1, 0] == pytest.approx(0.25 * (64 - 36) - 3 * 2, rel=1e-7)


def test_it_does_not_take_part_in_impacts():
    """Its forces are bounded, so that they have no impulse: a sliding table is hit by a ball."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 2.0], force=[0, 0], unilateral=lambda s: [s.y - s.x], contacts=["hit"],
        restitution=0.5, dry_friction={"table": (lambda s: s.y_dot, 1.0)},
    )  # fmt: skip
    sol = da.simulate(model, (0, 3), p0=[-1.0, 0.0], v0=[2.0, 0.0])
    hit = sol.impacts[0]
    assert hit.t == pytest.approx(0.5)
    np.testing.assert_allclose(hit.v_after, [0, 1], atol=1e-12)
    assert sol.v[-1, 1] == 0
    assert sol["y"][-1] == pytest.approx(1.0)  # v²/(2 F/m)


def test_in_space_the_direction_follows():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, 0], dry_friction={"felt": (lambda s: [s.x_dot, s.y_dot], 2.0)}
    )
    sol = da.simulate(model, (0, 4), p0=[0, 0], v0=[3, 4])
    np.testing.assert_allclose(sol.p[-1], [3.75, 5.0], rtol=1e-6)  # 25/(2·2) along (3, 4)/5
    assert np.abs(sol.v[-1]).max() < 1e-12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hinge": (lambda s: s.phi_dot, -1.0)}, "largest force -1.0 must be a number ≥ 0"),
        ({"hinge": (lambda s: s.phi_dot, "F")}, "'F' is not the name of a parameter"),
        ({"hinge": lambda s: s.phi_dot}, "pair of a velocity and the largest force"),
        ({"hinge": (lambda s: s.phi_dot**2, 1.0)}, "not linear in v"),
        ({"hinge": (lambda s: s.phi, 1.0)}, "depends on no velocity"),
        ({"hinge": (lambda s: s.phi_dot, lambda s: s.lam)}, "cannot be used here"),
        ([1.0], "mapping of names"),
        ({"": (lambda s: s.phi_dot, 1.0)}, "non-empty"),
    ],
)
def test_faults_are_named(given, message):
    with pytest.raises(da.ModelError, match=message):
        da.EquationsOfMotion(p=["phi"], mass=[1.0], force=[0.0], dry_friction=given)
