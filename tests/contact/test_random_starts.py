"""Start states that nobody chose: nothing penetrates, no energy is created, and what fails is named."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starts import Dice, Drawn, draw

import dalembert as da
from dalembert import problems
from dalembert.errors import PainleveParadox, TooManySteps

METHODS = [da.Mexx(), da.Hem5(), da.Geoms(), da.Radau5(), da.Rkf45(), da.Dassl()]
RTOL, ATOL = 1e-8, 1e-10
#: What counts as no penetration: open gaps are watched to a hundredth of atol, held ones drift with the method's error.
DEEPEST = RTOL
#: Of the largest energy on the way, what methods may err in some hundred steps; impacts alone create nothing.
GROWTH = 100 * RTOL
#: What leaves an elastic floor at 1e-5 m/s comes back half a million times a second, and never rests: such runs may be
#: cut short, if impacts are what their steps were for. What they have until then is looked at like all others.
ELASTIC_STEPS = 10_000


def check(case, method):
    """Simulate a case and look at all points of its solution."""
    elastic = bool((np.asarray(case.model.contact_values()[0]) == 1).any())
    steps = ELASTIC_STEPS if elastic else 100_000
    options = {"p0": case.p0, "v0": case.v0, "method": method, "rtol": RTOL, "atol": ATOL, "max_steps": steps}
    try:
        sol = da.simulate(case.model, (0, case.t_end), **options)
        assert sol.success
    except PainleveParadox as paradox:  # rigid bodies with friction may have no motion; then the contact is named
        if paradox.contact not in {contact.name for contact in case.model.contacts if contact.stick}:
            raise
        return None
    except TooManySteps as limit:
        sol = limit.solution
        if not elastic or len(sol.impacts) < steps / 50:
            raise
    gaps = np.array([sol[f"{contact.name}.gap"] for contact in case.model.contacts])
    assert gaps.min() > -DEEPEST, "penetration"
    energy = sol["energy"]
    grown = (energy - np.minimum.accumulate(energy)).max()
    assert grown <= GROWTH * (1e-3 + np.abs(energy).max()), "energy is created"
    for hit in sol.impacts:
        assert hit.impulse[0] >= 0
        friction = case.model.contact_values()[1][[c.name for c in case.model.contacts].index(hit.contact)]
        assert np.linalg.norm(hit.impulse[1:]) <= friction * hit.impulse[0] * (1 + 1e-6)
    return sol


@pytest.mark.parametrize("name", problems.catalogue_contact())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_starts_that_hypothesis_draws(name, data):
    dice = Drawn(data)
    case = draw(name, dice)
    check(case, dice.pick(METHODS))


@pytest.mark.parametrize("name", problems.catalogue_contact())
def test_random_starts(name):
    for seed in range(15):
        check(draw(name, Dice(np.random.default_rng(seed))), METHODS[seed % len(METHODS)])


#: Balls of a cradle that touch, move alike and do not press on each other: gaps stay where events are seen.
TOUCHING = [(48, da.Mexx()), (23, da.Dassl()), (35, da.Dassl()), (107, da.Dassl())]


@pytest.mark.parametrize(("seed", "method"), TOUCHING)
def test_contacts_that_open_without_speed(seed, method):
    case = draw("newtons_cradle", Dice(np.random.default_rng(seed)))
    sol = check(case, method)
    assert len(sol.impacts) < 20


def test_rounding_of_gaps_that_open_is_no_event():
    """A ball leaves another so slowly that no short step changes the gap between them, at the edge of its slack."""
    sol = check(draw("ball_stack", Dice(np.random.default_rng(131))), da.Dassl())
    assert sol["energy"][-1] < sol["energy"][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", problems.catalogue_contact())
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_thousand_starts(name, data):
    dice = Drawn(data)
    case = draw(name, dice)
    check(case, dice.pick(METHODS))
