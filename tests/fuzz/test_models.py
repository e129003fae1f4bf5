"""Random models against independent integration: a few in the fast part, thousands in the slow one.

$DALEMBERT_FUZZ_SEED and $DALEMBERT_FUZZ_COUNT choose others; `python -m tests.fuzz.models` prints a table.
"""

import os

import numpy as np
import pytest

from fuzz.cases import integrate
from fuzz.models import GOOD, in_children, perform, random_run
from fuzz.others import random_cart

SEED, COUNT = int(os.environ.get("DALEMBERT_FUZZ_SEED", "0")), int(os.environ.get("DALEMBERT_FUZZ_COUNT", "2000"))


@pytest.mark.parametrize("block", range(4))
def test_random_models(block):
    results = {seed: perform(seed) for seed in range(10 * block, 10 * block + 10)}
    assert {seed: result for seed, result in results.items() if result.fault not in GOOD} == {}
    assert sum(result.fault == "fine" for result in results.values()) > 2  # most are judged, not refused


@pytest.mark.slow
def test_many_random_models():
    faults = {seed: (fault, words) for seed, fault, words in in_children(SEED, COUNT) if fault not in GOOD}
    assert faults == {}


def test_a_run_is_known_by_its_number():
    assert str(random_run(5)) == str(random_run(5))


def test_wrong_results_are_found(monkeypatch):
    """A fault in the equations that are simulated is seen."""
    seed = next(seed for seed in range(100) if random_run(seed).tolerance < 1e-8 and perform(seed).fault == "fine")
    run = random_run(seed)
    rates = run.case.rates
    run.case.rates = lambda t, y, modes: rates(t, y, modes) * 1.05
    monkeypatch.setattr("fuzz.models.random_run", lambda number: run)
    assert perform(seed).fault == "inaccurate"


def test_reference_keeps_the_energy():
    """Of a cart without damping: what SciPy integrates is a mechanical system."""
    case = random_cart(np.random.default_rng(3))
    y = np.concatenate([case.start["p0"], case.start["v0"]])
    there = integrate(case, y, [0.5])[-1]
    back = integrate(case, y, [0.25, 0.5])[-1]
    assert np.abs(there - back).max() < 1e-9
