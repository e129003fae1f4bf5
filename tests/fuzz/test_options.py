"""Random sets of options: see `fuzz.options`, which also runs by itself."""

import os

import pytest

from fuzz import options

SEED = int(os.environ.get("DALEMBERT_FUZZ_SEED", "0"))


def assert_faultless(first, count):
    faults, outcomes = options.run(first, count)
    assert not faults, "\n".join(f"seed {seed}: {'; '.join(found)}" for seed, found in faults.items())
    assert sum(outcomes.values()) == count
    return outcomes


def test_a_few_option_sets():
    outcomes = assert_faultless(SEED, 120)
    assert outcomes["finished"] > 20  # most sets are legal, and most methods can treat most models
    assert outcomes["OptionError"] > 5  # and some values are not


@pytest.mark.slow
def test_many_option_sets():
    assert_faultless(SEED, int(os.environ.get("DALEMBERT_FUZZ_COUNT", "3000")))
