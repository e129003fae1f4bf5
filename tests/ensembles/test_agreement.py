"""Generated integrators take the steps of Hem5: end states, multipliers, counters, and every step on the way."""

from __future__ import annotations

import numpy as np
import pytest
from families import VARIED, alone, family

import dalembert as da
from dalembert.compile.generated.code import Target
from dalembert.compile.generated.host import compile_host
from dalembert.ensembles.cores import HostWork
from dalembert.solvers.half.generated.program import Host, Program

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")


def counters(sol: da.Solution) -> tuple[int, int, int]:
    return sol.stats.accepted, sol.stats.error_rejections, sol.stats.convergence_rejections


def differences(given, found, members) -> float:
    worst = 0.0
    for i in members:
        sol = alone(given, i)
        worst = max(
            worst,
            *(np.abs(getattr(sol, kind)[-1] - getattr(found.end, kind)[i]).max(initial=0) for kind in ("p", "v", "r")),
        )
        assert counters(sol) == (found.accepted[i], found.rejected[i], found.failed[i])
        scale = 1 + np.abs(sol.lam[-1]).max(initial=0)
        assert np.abs(sol.lam[-1] - found.end.lam[i]).max(initial=0) < 1e-7 * scale
    return worst


@pytest.mark.parametrize("name", VARIED)
def test_ends_and_counters_are_those_of_hem5(name):
    given = family(name, 16)
    found = da.ensemble(**given, device="cpu")
    assert (found.status == "finished").all()
    assert differences(given, found, range(0, 16, 3)) < 1e-9


@pytest.mark.slow
def test_four_thousand_random_members():
    given = family("andrews", 4096, seed=5)
    found = da.ensemble(**given, device="cpu")
    assert found.success.all()
    assert differences(given, found, range(4096)) < 1e-9


@pytest.mark.parametrize("name", ["andrews", "heavy_top"])
def test_every_step_is_that_of_hem5(name):
    given = family(name, 3)
    trace = alone(given, 1, trace=True).trace
    ends = trace.t + np.where(np.asarray(trace.outcome) == "accepted", trace.h, 0.0)
    for steps in (1, 2, 3, 7, 20, min(50, len(ends) - 1)):
        found = da.ensemble(**given, device="cpu", max_steps=steps)
        # errors of the first steps are little more than rounding, and so are the digits of the next step size
        assert found.end.t[1] == pytest.approx(ends[steps - 1], rel=1e-6, abs=1e-15)
        assert found.accepted[1] + found.rejected[1] + found.failed[1] == steps
        assert (found.status == "too many steps").all()


def on(monkeypatch, target: Target, given):
    """By code for another target, on this processor."""

    class Other(HostWork):
        def __init__(self, job, copiers, workers=None):
            program: Program = job.program
            host = Host(compile_host(program.written(target).module, ("start", "integrate")), target)
            monkeypatch.setitem(program.__dict__, "host", host)
            super().__init__(job, copiers, workers)

    monkeypatch.setattr("dalembert.ensembles.carry.HostWork", Other)
    return da.ensemble(**given, device="cpu")


@pytest.mark.parametrize("width", [1, 2])
def test_members_do_not_depend_on_their_neighbours(monkeypatch, width):
    given = family("andrews", 9, seed=2)
    whole, other = da.ensemble(**given, device="cpu"), on(monkeypatch, Target(width=width), given)
    np.testing.assert_array_equal(whole.end.p, other.end.p)
    np.testing.assert_array_equal(whole.accepted, other.accepted)
    few = {**given, "n": 2, "p0": given["p0"][4:6], "parameters": {k: v[4:6] for k, v in given["parameters"].items()}}
    np.testing.assert_array_equal(whole.end.v[4:6], da.ensemble(**few, device="cpu").end.v)


def test_options_of_the_method():
    given = family("andrews", 4)
    for method in (
        da.Hem5(projection="none"), da.Hem5(projection="velocities"), da.Hem5(error="positions", safety=0.7),
        da.Hem5(initial_values="trust", max_growth=3.0, max_shrink=0.5),
    ):  # fmt: skip
        consistent = {**given, "p0": da.ensemble(**{**given, "t_span": (0, 1e-12)}, device="cpu").end.p}
        found = da.ensemble(**consistent, device="cpu", method=method)
        sol = alone(consistent, 2, method=method)
        assert counters(sol) == (found.accepted[2], found.rejected[2], found.failed[2])
        np.testing.assert_allclose(found.end.p[2], sol.p[-1], rtol=0, atol=1e-9)


def test_tolerances_of_single_unknowns():
    given = family("pendulum", 4) | {"rtol": 1e-7, "atol": {"x": 1e-9, "y_dot": 1e-5}}
    found = da.ensemble(**given, device="cpu")
    assert differences(given, found, [0, 3]) < 1e-9


def test_backwards_in_time_and_limits_of_steps():
    given = family("andrews", 4)
    there = da.ensemble(**given, device="cpu", max_step=2e-4, first_step=1e-6)
    sol = alone(given, 1, max_step=2e-4, first_step=1e-6)
    assert counters(sol) == (there.accepted[1], there.rejected[1], there.failed[1])
    back = da.ensemble(**{**given, "t_span": given["t_span"][::-1], "p0": there.end.p, "v0": there.end.v}, device="cpu")
    assert np.abs(back.end.p - there.solution(0).p[0]).max() < 2e-2  # β has turned twice
    start = da.ensemble(**{**given, "t_span": (0, 1e-12)}, device="cpu")
    np.testing.assert_allclose(back.end.p, start.end.p, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "far",
    [dict(first_step=10, rtol=1e-7, atol=1e-7), dict(first_step=1.0, rtol=1e-2, atol=1e-2), dict(rtol=1, atol=1)],
)
def test_steps_that_are_much_too_long(far):
    """Their systems have pivots of any sign: the constraints of two positions far from each other."""
    given = family("pendulum", 6) | {"p0": np.array([1.0, 0.0])} | far
    found = da.ensemble(**given, device="cpu")
    assert found.rejected.any()
    assert differences(given, found, range(6)) < 1e-9
