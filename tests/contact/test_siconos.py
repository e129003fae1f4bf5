"""The same impacts, velocities and places of rest as Siconos, within the order of its time stepping."""

import numpy as np
import pytest
from peer import siconos, siconos_is_there

import dalembert as da
from dalembert import problems

pytestmark = pytest.mark.skipif(not siconos_is_there(), reason="the system's Python has no Siconos")


def falling(problem, step):
    """What the script needs of balls with one coordinate each, whose gaps are linear and whose forces are constant."""
    from index1 import Index1

    oracle, model = Index1(problem), problem.model
    y = np.concatenate([problem.p0, problem.v0])
    M, K, f, _ = (np.array(x) for x in oracle._first(0.0, y, model.theta(0.0)))
    gaps = -np.array(oracle._residuals(0.0, y, model.theta(0.0))[0]).ravel()
    return {
        "step": step,
        "t_end": problem.t_end,
        "q": problem.p0.tolist(),
        "v": problem.v0.tolist(),
        "mass": np.diag(M).tolist(),
        "force": f.ravel().tolist(),
        "rows": (-K).tolist(),
        "offsets": (gaps + K @ problem.p0).tolist(),
        "restitution": model.contact_values()[0].tolist(),
    }


def test_bouncing_ball():
    h, ball = 2e-4, problems.bouncing_ball()
    rows = siconos("balls", data=falling(ball, h))
    t, z, v, impulse = rows.T
    hits = np.flatnonzero(impulse > 100 * 9.81 * h)  # more than the weight
    sol = ball.simulate(method=da.Hem5(), rtol=1e-9, atol=1e-11)
    for k in range(10):  # every impact is late by up to two steps
        assert abs(t[hits[k]] - sol.impacts[k].t) < (k + 2) * h
        assert abs(v[hits[k]] - sol.impacts[k].after[0]) < (k + 2) * 9.81 * h
    assert abs(z[-1] - sol["z"][-1]) < h
    assert abs(v[-1]) < 1e-12
    stepping = ball.simulate(method=da.MoreauJean(h=h))
    assert abs(z[-1] - stepping["z"][-1]) < h
    # while the ball flies both are the same method; impacts come in the same step or the next
    where = np.linspace(0.1, 3.0, 100)
    assert np.abs(np.interp(where, t, z) - stepping.at(where)["z"]).max() < 50 * h


@pytest.mark.parametrize("N", [3, 5, 8])
@pytest.mark.parametrize("e", [1.0, 0.5])
def test_chain_of_balls(N, e):
    """All contacts at once, by Newton's law. Radii are powers of two, so that gaps are exactly closed."""
    h, chain = 1e-3, problems.ball_chain(N, impact="newton", e=e, R=0.125)
    rows = siconos("balls", data=falling(chain, h))
    p, v = rows[-1, 1 : N + 1], rows[-1, N + 1 : 2 * N + 1]
    for method, most in ((da.Hem5(), 1e-10), (da.MoreauJean(h=h), 1e-7)):
        sol = chain.simulate(method=method)
        assert np.abs(sol.v[-1] - v).max() < most
        assert np.abs(sol.p[-1] - p).max() < 2 * h
    hit = rows[np.flatnonzero(rows[:, 2 * N + 1] > 0)[0], 0]
    assert abs(hit - chain.impacts[0].t) <= 1.5 * h


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_stack_comes_to_rest(e):
    h, stack = 1e-3, problems.ball_stack(4, e=e, R=0.125, t_end=2.0)
    rows = siconos("balls", data=falling(stack, h))
    for method in (da.Hem5(), da.MoreauJean(h=h, projection=False)):
        sol = stack.simulate(method=method)
        assert np.abs(sol.p[-1] - rows[-1, 1:5]).max() < 4 * 3.2 * h  # each contact penetrates by a step at its speed
        assert np.abs(sol.v[-1] - rows[-1, 5:9]).max() < 1e-9
        assert sol.lam[-1] == pytest.approx(rows[-1, 9:] / h, rel=1e-6)  # the weight that each contact carries


def first_steps(t, impulse, gap=5):
    """Times at which a contact gets impulses after `gap` steps without."""
    closed = np.flatnonzero(impulse > 0)
    return t[closed[np.r_[True, np.diff(closed) > gap]]]


def test_woodpecker():
    h, toy = 5e-6, problems.woodpecker()
    rows = siconos("woodpecker", h, toy.t_end)
    t, state, impulses = rows[:, 0], rows[-1, 1:7], rows[:, 7:]
    sol = toy.simulate(method=da.Mexx(), rtol=1e-10, atol=1e-12)
    for number, contact in enumerate(("beak", "lower", "upper")):
        ours = sol.impacts.named(contact).t
        theirs = first_steps(t, impulses[:, number])
        theirs = theirs[theirs > 0.01]  # the sleeve is closed at the start
        assert len(theirs) == len(ours)
        assert np.abs(theirs - ours).max() < 30 * h
    ends = np.concatenate([sol.p[-1], sol.v[-1]])
    assert np.abs(state - ends).max() < 2000 * h  # rates up to 17, and errors of time grow from cycle to cycle
    stepping = toy.simulate(method=da.MoreauJean(h=h))
    assert np.abs(np.concatenate([stepping.p[-1], stepping.v[-1]]) - state).max() < 2000 * h


@pytest.mark.slow
def test_limit_cycle_of_the_woodpecker():
    """Periods of the time stepping come near the one that is found event by event, with the order of the step."""
    known, errors = problems.WOODPECKER_CYCLE.t, []
    for h in (4e-5, 1e-5):
        rows = siconos("woodpecker", h, 3.0)
        beak = first_steps(rows[:, 0], rows[:, 7])
        errors.append(abs((beak[-1] - beak[5]) / (len(beak) - 6) - known))
        assert errors[-1] < 20 * h
    assert errors[1] < 0.5 * errors[0]
