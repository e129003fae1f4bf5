"""Equations so steep that a predicted point far away has a Jacobian with which everything looks solved."""

import numpy as np
import pytest

import dalembert as da

THERMAL, STEEPEST = 0.026, 40.0


def breakdown(v):
    """Current of a diode that breaks down at 5.1 V; beyond exp(40) it goes on in a straight line."""
    forward, reverse = v / THERMAL, -(v + 5.1) / (0.74 * THERMAL)

    def limited(x):
        return np.where(x > STEEPEST, np.exp(STEEPEST) * (1 + x - STEEPEST), np.exp(np.minimum(x, STEEPEST)))

    return 1e-6 * (limited(forward) - 1) - 0.7 * limited(reverse) + v / 1e8


def clipper():
    """A sine of 10 V behind 20 Ω, clipped by two such diodes, one the other way round, beside 2 kΩ and 0.1 µF."""

    def equations(s):
        source, diodes = 10 * np.sin(2 * np.pi * 5 * s.t), breakdown(s.first)
        return [(source - s.out) / 20 - s.out / 2000 - diodes, diodes + breakdown(s.first - s.out)]

    return da.QuasiLinearDAE(x=["out", "first"], leading=[1e-7, 0], rhs=equations)


@pytest.mark.parametrize("rtol", [1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("method", [da.Radau5(), da.Qualidaes()], ids=lambda m: type(m).__name__)
def test_clipped_sine(method, rtol):
    t = np.linspace(0, 0.4, 201)
    reference = da.simulate(clipper(), (0, 0.4), x0=[0, 0], method=da.Dassl(), rtol=1e-9, t_eval=t)
    sol = da.simulate(clipper(), (0, 0.4), x0=[0, 0], method=method, rtol=rtol, t_eval=t)
    assert np.abs(reference["out"]).max() > 5  # the diodes conduct
    assert np.abs(sol["out"] - reference["out"]).max() < 30 * rtol + 2e-4
