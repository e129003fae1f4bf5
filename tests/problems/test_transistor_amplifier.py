"""The transistor amplifier: a problem that is not mechanical."""

import numpy as np
import pytest

import dalembert as da
from dalembert import problems


def test_start_is_consistent_and_part_of_the_problem():
    problem = problems.transistor_amplifier()
    assert set(problem.start()) == {"x0"}
    with pytest.raises(ValueError, match="read-only"):
        problem.x0[0] = 1.0
    start = da.consistent_initial_values(problem.model, 0.0, **problem.start())
    assert start.values["x"] == pytest.approx(problem.x0, abs=1e-12)


@pytest.mark.parametrize(("tolerance", "allowed"), [(1e-6, 1e-5), (1e-8, 1e-6), (1e-11, 5e-10)])
def test_reaches_the_published_values(tolerance, allowed):
    problem = problems.transistor_amplifier()
    assert problem.error(problem.simulate(rtol=tolerance, atol=tolerance)) < allowed


def test_another_input_voltage_needs_no_other_model():
    """A louder signal is clipped; no signal leaves the output at rest in the end."""
    problem = problems.transistor_amplifier()
    loud = problem.simulate(inputs={"U_e": lambda t: 0.2 * np.sin(200 * np.pi * t)})
    assert problem.error(loud) > 1e-3
    quiet = problem.simulate(inputs={"U_e": 0.0}, t_eval=[0.0, 0.1, 0.2])
    assert abs(quiet["U1"][-1]) < 1e-4
