"""Constant steps, for tests of the order; and steppers on their own."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.solvers.method import RunSpec, Tolerances


def fixed_steps(model, t_end, steps, method, **start):
    """Constant steps: tolerances so loose that the controller always wants more."""
    h = t_end / steps
    sol = da.simulate(
        model, (0, t_end), method=method, rtol=1.0, atol=1.0, first_step=h, max_step=h * (1 + 1e-12), **start
    )
    assert sol.stats.accepted == steps
    return sol


def orders(errors):
    """From rows of errors, each with half the step of the one before."""
    return np.log2(errors[:-1] / errors[1:])


def stepper_of(method, model, tolerance=1.0, max_steps=1):
    """A stepper for a run without events, with one tolerance for everything."""
    form = method.formulate(model)
    tolerances = Tolerances(np.full(form.n, tolerance), np.full(form.n, tolerance))
    return method.stepper(form, RunSpec(model=model, tolerances=tolerances, max_steps=max_steps))
