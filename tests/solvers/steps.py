"""Constant steps, for tests of the order."""

from __future__ import annotations

import numpy as np

import dalembert as da


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
