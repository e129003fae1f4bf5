"""Problems with contacts against their exact solutions: impacts, rest, velocities; with every smooth method."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems

SMOOTH = [da.Hem5(), da.Mexx(), da.Rkf45(), da.Geoms(), da.Radau5(), da.Dassl()]


def name(value):
    return type(value).__name__ if not isinstance(value, str) else value


def rest_tolerance(method):
    """Dassl begins with order 1 after every impact: it does not resolve flights that last a few of its first steps."""
    return 1e-4 if isinstance(method, da.Dassl) else 1e-8


def named_times(sol, contact):
    return sol.impacts.named(contact).t


def check_impacts(problem, sol, tolerance):
    """All known impacts are there, with their rates, and until the last of them there are no others."""
    impacts = [hit for hit in problem.impacts if max(abs(hit.before), abs(hit.after)) > 1e-6]
    last = impacts[-1].t
    for contact in {known.contact for known in impacts}:
        known = [hit for hit in impacts if hit.contact == contact]
        found = [hit for hit in sol.impacts.named(contact) if hit.t <= last + tolerance]
        assert len(found) >= len(known)
        for hit, ours in zip(known, found, strict=False):
            assert abs(ours.t - hit.t) < tolerance
            assert ours.before[0] == pytest.approx(hit.before, abs=1e3 * tolerance)
            assert ours.after[0] == pytest.approx(hit.after, abs=1e3 * tolerance)
        assert [hit for hit in found if abs(hit.before[0]) > 1e-6][len(known) :] == []


# -- bouncing ball ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SMOOTH, ids=name)
def test_ball_bounces_to_rest_in_time_and_stays(method):
    ball = problems.bouncing_ball()
    sol = ball.simulate(method=method, rtol=1e-10, atol=1e-12)
    times = named_times(sol, "floor")[:20]
    assert np.abs(times - [hit.t for hit in ball.impacts[:20]]).max() < 1e-9
    assert abs(sol.impacts.rests[0].t - ball.rest) < 1e-9
    after = sol.t > ball.rest + 1e-6
    assert after.sum() > 1
    assert np.abs(sol["floor.gap"][after]).max() < 1e-12  # it stays, without drift
    assert (sol["z_dot"][after] == 0).all()
    assert sol["floor"][after] == pytest.approx(9.81, abs=1e-12)
    assert (sol["floor"][sol.t < ball.rest - 1e-3] == 0).all()  # multipliers of open contacts are zero


@pytest.mark.parametrize("e", [0.0, 0.2, 0.5, 0.99, 1.0])
def test_ball_with_other_restitutions(e):
    ball = problems.bouncing_ball(e=e, t_end=3.0)
    sol = ball.simulate(method=da.Hem5(), rtol=1e-10, atol=1e-12)
    assert ball.error(sol) < 1e-9
    check_impacts(ball, sol, 1e-9)


def test_rest_holds_over_a_long_time():
    ball = problems.bouncing_ball(e=0.5, t_end=1000.0)
    sol = ball.simulate(method=da.Hem5(), rtol=1e-8, atol=1e-10)
    assert ball.error(sol) < 1e-12


# -- many balls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.0, 0.05, 1e-7])
def test_ten_balls_dropped_at_once(spread):
    balls = problems.bouncing_balls(10, spread=spread)
    sol = balls.simulate(method=da.Hem5(), rtol=1e-10, atol=1e-12)
    assert balls.error(sol) < 1e-9
    assert len(sol.impacts) == len(balls.impacts)
    check_impacts(balls, sol, 1e-9)


@pytest.mark.parametrize("method", SMOOTH, ids=name)
@pytest.mark.parametrize("e", [0.0, 0.5])
def test_stack_falls_and_carries_its_weight(method, e):
    stack = problems.ball_stack(5, e=e, t_end=2.0)
    sol = stack.simulate(method=method, rtol=1e-9, atol=1e-11)
    assert stack.error(sol) < 1e-10
    assert sol.lam[-1] == pytest.approx(stack.reference.lam, rel=1e-9)


def test_tall_stack_at_rest():
    stack = problems.ball_stack(30, drop=0.0)
    sol = stack.simulate(method=da.Hem5())
    assert np.abs(sol.p[-1] - stack.p0).max() < 1e-12
    assert sol.lam[-1] == pytest.approx(stack.reference.lam, rel=1e-9)


# -- Newton's cradle -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("impact", ["sequential", "newton", "poisson"])
@pytest.mark.parametrize("N", [2, 3, 5, 10])
def test_chain_passes_the_push_on(N, impact):
    chain = problems.ball_chain(N, impact=impact)
    sol = chain.simulate(method=da.Hem5(), rtol=1e-10, atol=1e-12)
    assert chain.error(sol) < 1e-11
    check_impacts(chain, sol, 1e-11)
    assert sol["energy"][-1] == pytest.approx(0.5, rel=1e-12)
    assert sol.v[-1].sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("e", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("impact", ["newton", "poisson"])
def test_chain_with_losses(impact, e):
    chain = problems.ball_chain(4, impact=impact, e=e)
    sol = chain.simulate(method=da.Hem5(), rtol=1e-10, atol=1e-12)
    assert chain.error(sol) < 1e-11


@pytest.mark.parametrize("method", SMOOTH, ids=name)
@pytest.mark.parametrize("lifted", [1, 2])
def test_cradle_swings(method, lifted):
    cradle = problems.newtons_cradle(5, lifted=lifted, t_end=1.5)
    sol = cradle.simulate(method=method, rtol=1e-9, atol=1e-11)
    assert cradle.error(sol) < 1e-6
    check_impacts(cradle, sol, 1e-7)


# -- block, linkage, box, rod, wheel ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SMOOTH, ids=name)
def test_block_rocks_until_it_lies(method):
    block = problems.falling_block()
    sol = block.simulate(method=method, rtol=1e-10, atol=1e-12)
    assert block.error(sol) < 1e-9
    check_impacts(block, sol, 1e-8)
    assert abs(sol.impacts.rests[-1].t - block.rest) < rest_tolerance(method)
    assert sol.lam[-1] == pytest.approx(block.reference.lam, rel=1e-9)


def test_block_without_rebound_lies_at_once():
    block = problems.falling_block(e=0.0)
    sol = block.simulate(method=da.Hem5(), rtol=1e-10, atol=1e-12)
    assert block.error(sol) < 1e-10
    assert abs(sol.impacts.t[0] - problems.ROCKING_BLOCK_FLAT) < 1e-9


@pytest.mark.parametrize("method", SMOOTH, ids=name)
@pytest.mark.parametrize("t_end", [1.5, 3.0])
def test_linkage_comes_to_rest_at_its_stop(method, t_end):
    linkage = problems.four_bar_stop(t_end=t_end)
    sol = linkage.simulate(method=method, rtol=1e-10, atol=1e-12)
    assert linkage.error(sol) < 1e-8
    if t_end == 3.0:
        check_impacts(linkage, sol, 1e-8)
        assert abs(sol.impacts.rests[0].t - linkage.rest) < rest_tolerance(method)
        assert sol["crank_stop"][-1] == pytest.approx(6.0, rel=1e-9)  # all of the torque


@pytest.mark.parametrize("method", SMOOTH, ids=name)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"incline": 0.2},
        {"incline": 0.2, "direction": np.pi},
        {"incline": 0.5, "direction": np.pi},  # slides back
        {"space": True},
        {"space": True, "direction": 1.0},
        {"space": True, "incline": 0.2, "direction": 2.0},
        {"space": True, "incline": -0.2, "direction": -0.5},
    ],
    ids=str,
)
def test_box_slides_to_rest_and_stays(method, options):
    box = problems.sliding_box(**options, t_end=3.0)
    sol = box.simulate(method=method, rtol=1e-9, atol=1e-11)
    assert box.error(sol) < 1e-7
    if box.rest is not None:
        still = sol.t > box.rest + 1e-3
        assert np.abs(sol.v[still]).max() < 1e-12
        assert np.abs(np.diff(sol.p[still], axis=0)).max(initial=0) < 1e-12
        weight = 9.81 * np.sin(options.get("incline", 0.0))
        assert sol["floor.friction"][-1][0] == pytest.approx(-weight, abs=1e-9)


@pytest.mark.parametrize("method", SMOOTH, ids=name)
def test_rod_slides(method):
    rod = problems.painleve_rod()
    sol = rod.simulate(method=method, rtol=1e-10, atol=1e-12)
    assert rod.error(sol) < 1e-8
    assert len(sol.impacts) == 0


def test_rod_in_an_inconsistent_state_is_named():
    from dalembert.errors import PainleveParadox

    rod = problems.painleve_rod(friction=2.0, angle=1.1)
    with pytest.raises(PainleveParadox, match="tip") as caught:
        rod.simulate(method=da.Mexx())
    assert caught.value.contact == "tip"


@pytest.mark.parametrize("method", SMOOTH, ids=name)
def test_wheel_walks_on_its_limit_cycle(method):
    wheel = problems.rimless_wheel(steps=5)
    sol = wheel.simulate(method=method, rtol=1e-10, atol=1e-12)
    assert wheel.error(sol) < 1e-7
    check_impacts(wheel, sol, 1e-7)


def test_wheel_finds_its_limit_cycle_and_its_period():
    wheel = problems.rimless_wheel(steps=30)
    sol = wheel.simulate(method=da.Mexx(), rtol=1e-10, atol=1e-12, v0=1.1 * wheel.v0)
    times = sol.impacts.t
    period = wheel.t_end / 30
    assert abs(times[1] - times[0] - period) > 1e-2
    assert times[-1] - times[-2] == pytest.approx(period, abs=1e-6)


# -- billiard --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SMOOTH, ids=name)
def test_billiard_in_rows(method):
    billiard = problems.billiard(t_end=10.0)
    sol = billiard.simulate(method=method, rtol=1e-9, atol=1e-11)
    assert billiard.error(sol) < 1e-9
    assert len(sol.impacts) == len(billiard.impacts) > 50
    check_impacts(billiard, sol, 1e-9)


def test_billiard_keeps_energy_and_momentum():
    billiard = problems.billiard(2, 2)
    v0 = np.random.default_rng(3).normal(0, 1, 8)
    sol = da.simulate(billiard.model, (0, 20), p0=billiard.p0, v0=v0, method=da.Hem5(), rtol=1e-10, atol=1e-12)
    assert len(sol.impacts) > 100
    assert sol["energy"] == pytest.approx(sol["energy"][0], rel=1e-12)
    for hit in sol.impacts:  # walls exert what they get, pairs get nothing from outside
        together = [other for other in sol.impacts if other.t == hit.t]
        change = (hit.v_after - hit.v_before).reshape(-1, 2).sum(axis=0)
        walls = sum((wall_impulse(other) for other in together), np.zeros(2))
        assert np.abs(change - walls).max() < 1e-12


def wall_impulse(hit):
    directions = {"left": (1, 0), "right": (-1, 0), "bottom": (0, 1), "top": (0, -1)}
    wall = hit.contact.rstrip("0123456789_")
    return hit.impulse[0] * np.array(directions.get(wall, (0, 0)), float)
