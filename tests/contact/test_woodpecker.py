"""The woodpecker toy: event by event against a run that finds modes by trial, and its limit cycle."""

import numpy as np
import pytest
from trial import Trial

import dalembert as da
from dalembert import problems
from dalembert.problems import WOODPECKER_CYCLE

METHODS = [da.Mexx(), da.Geoms(), da.Radau5(), da.Hem5(), da.Rkf45()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_two_cycles(method):
    toy = problems.woodpecker()
    sol = toy.simulate(method=method, rtol=1e-9, atol=1e-11)
    assert toy.error(sol) < 1e-6
    known = ["upper", "beak", "upper", "lower", "lower"] * 2
    assert [hit.contact for hit in sol.impacts] == known


def test_same_impacts_as_by_trial():
    toy = problems.woodpecker(t_end=0.1)
    sol = toy.simulate(method=da.Mexx(), rtol=1e-11, atol=1e-13)
    course = Trial(toy).run()
    assert [hit.contact for hit in sol.impacts] == [hit.contacts[0] for hit in course.hits]
    number = {name: i for i, name in enumerate(("beak", "lower", "upper"))}
    for ours, hit in zip(sol.impacts, course.hits, strict=True):
        i = number[ours.contact]
        assert abs(ours.t - hit.t) < 1e-9
        assert ours.before == pytest.approx([hit.before[i], hit.before[3 + i]], abs=1e-7)
        assert ours.after == pytest.approx([hit.after[i], hit.after[3 + i]], abs=1e-7)
        assert ours.impulse == pytest.approx(hit.impulse[i], rel=1e-6, abs=1e-12)
    assert toy.error(sol) < 1e-8


def returned(state, method):
    """(phiM, v) before the next impact of the beak, the time it takes, and how far the toy has gone down."""
    toy = problems.woodpecker()
    options = {"p0": [0.0, state[0], 0.12], "v0": state[1:], "method": method, "rtol": 1e-10, "atol": 1e-12}
    sol = da.simulate(toy.model, (0, 0.2), **options)
    hit = next(hit for hit in sol.impacts.named("beak") if hit.t > 0.01)
    end = sol.at(hit.t)
    return np.array([end["phiM"], *hit.v_before]), hit.t, end["y"]


def test_limit_cycle_is_found():
    """Newton's method on the return map, from the state that the toy has after a few periods."""
    toy = problems.woodpecker(t_end=0.6)
    sol = toy.simulate(method=da.Mexx(), rtol=1e-10, atol=1e-12)
    hit = sol.impacts.named("beak")[-1]
    x = np.array([sol.at(hit.t)["phiM"], *hit.v_before])
    for _ in range(4):
        y, period, drop = returned(x, da.Mexx())
        J = np.zeros((4, 4))
        for j in range(4):
            nearby = x.copy()
            nearby[j] += 1e-5 * max(abs(x[j]), 0.1)
            J[:, j] = (returned(nearby, da.Mexx())[0] - y) / (nearby[j] - x[j])
        x = x + np.linalg.solve(np.eye(4) - J, y - x)
    assert x == pytest.approx([WOODPECKER_CYCLE.p[1], *WOODPECKER_CYCLE.v], rel=1e-7)
    assert (period, drop) == (
        pytest.approx(WOODPECKER_CYCLE.t, rel=1e-8),
        pytest.approx(WOODPECKER_CYCLE.p[0], rel=1e-7),
    )
    assert np.sort(np.linalg.eigvals(J).real)[0] == pytest.approx(-0.8392, abs=1e-3)  # it is stable


@pytest.mark.parametrize("method", [da.Geoms(), da.Radau5()], ids=lambda method: type(method).__name__)
def test_cycle_closes_with_other_methods(method):
    state = np.array([WOODPECKER_CYCLE.p[1], *WOODPECKER_CYCLE.v])
    end, period, drop = returned(state, method)
    assert end == pytest.approx(state, rel=1e-6)
    assert period == pytest.approx(WOODPECKER_CYCLE.t, rel=1e-7)
    assert drop == pytest.approx(WOODPECKER_CYCLE.p[0], rel=1e-7)


@pytest.mark.slow
def test_motion_settles_on_the_cycle():
    toy = problems.woodpecker(t_end=15.0)
    sol = toy.simulate(method=da.Mexx(), rtol=1e-9, atol=1e-11)
    beak = sol.impacts.named("beak").t
    assert beak[-1] - beak[-2] == pytest.approx(WOODPECKER_CYCLE.t, abs=1e-8)
