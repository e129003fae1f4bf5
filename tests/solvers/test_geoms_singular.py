"""Singular positions in GEOMS: what is only ill-conditioned the method passes by itself, the rest is stepped over."""

import numpy as np
import pytest

import dalembert as da


def four_bar(crank: float, base: float, longer: float, speed: float) -> tuple[da.EquationsOfMotion, dict]:
    """A parallelogram whose coupler is longer than its base by `longer`; flat, it is nearly singular, for 0 it is."""
    model = da.EquationsOfMotion(
        p=["x1", "y1", "x2", "y2"], mass=[1, 1, 1, 1], force=[0, 0, 0, 0],
        holonomic=lambda s: [
            s.x1**2 + s.y1**2 - crank**2,
            (s.x2 - s.x1) ** 2 + (s.y2 - s.y1) ** 2 - (base + longer) ** 2,
            (s.x2 - base) ** 2 + s.y2**2 - crank**2,
        ],
    )  # fmt: skip
    x1 = -longer / 2
    height = np.sqrt(crank**2 - x1**2)
    velocity = speed * np.array([height, -x1]) / crank
    return model, dict(p0=[x1, height, base - x1, height], v0=[velocity[0], velocity[1], velocity[0], -velocity[1]])


CASES = [(1.0, 2.0, 1e-3, -2.0), (1.0, 2.0, 1e-4, -2.0), (0.8, 1.5, -1e-4, 1.7), (1.2, 3.0, 1e-5, 3.0)]


@pytest.mark.parametrize("case", CASES)
def test_regular_positions_are_not_stepped_over(case):
    model, start = four_bar(*case)
    expected = da.simulate(model, (0, 2), method=da.Hem5(), rtol=1e-11, atol=1e-11, **start).p[-1]
    for tol in (1e-4, 1e-6, 1e-8):
        for algebraic in ("lu", "svd"):
            errors = []
            for singular in ("stop", "step over"):
                method = da.Geoms(singular=singular, algebraic=algebraic)
                sol = da.simulate(model, (0, 2), method=method, rtol=tol, atol=tol, **start)
                errors.append(np.abs(sol.p[-1] - expected).max())
            assert errors[1] < 5 * errors[0] + 10 * tol


def test_a_trial_leaves_no_trace():
    """Of the steps that are tried to see whether a position is regular only the work is counted."""
    model, start = four_bar(1.0, 2.0, 1e-4, -2.0)
    common = dict(t_span=(0, 2), rtol=1e-7, atol=1e-7, trace=True, **start)
    plain, tried = (da.simulate(model, method=da.Geoms(singular=s), **common) for s in ("stop", "step over"))
    assert abs(tried.stats.accepted - plain.stats.accepted) < 5
    assert tried.stats.rhs_evaluations > 1.1 * plain.stats.rhs_evaluations
    assert (np.diff(tried.t) > 0).all()
    accepted = [attempt for attempt in tried.trace if attempt.outcome == "accepted"]
    assert len(accepted) == tried.stats.accepted
    np.testing.assert_allclose(np.diff([attempt.t for attempt in accepted]) > 0, True)


@pytest.mark.parametrize("crank", [0.7, 1.0, 1.3])
@pytest.mark.parametrize("base", [1.0, 2.5])
def test_singular_positions_are_stepped_over(crank, base):
    """Without forces the parallelogram turns evenly, through flat positions with other branches."""
    speed = 2.2
    model, start = four_bar(crank, base, 0.0, speed)
    angle = np.pi / 2 - 2 * speed / crank
    end = crank * np.array([np.cos(angle), np.sin(angle)])
    for tol, allowed in ((1e-6, 1e-3), (1e-8, 1e-4), (1e-10, 1e-6)):
        sol = da.simulate(model, (0, 2), method=da.Geoms(singular="step over"), rtol=tol, atol=tol, **start)
        np.testing.assert_allclose(sol.p[-1], [*end, end[0] + base, end[1]], atol=allowed)
        assert np.ptp(np.sum(sol.v**2, axis=1)) < allowed * speed**2
