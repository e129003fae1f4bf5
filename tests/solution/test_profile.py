"""Where the time of a simulation went."""

import time

import numpy as np
import pytest

import dalembert as da
from dalembert.solution.profile import Profile, Spent


@pytest.mark.parametrize("method", [da.Hem5(), da.Rkf45()], ids=repr)
def test_calls_of_half_explicit_methods_are_those_of_the_statistics(method):
    problem = da.problems.andrews()
    sol = problem.simulate(method=method, profile=True)
    profile, stats = sol.profile, sol.stats
    assert profile["rates"].calls == stats.rhs_evaluations
    assert profile["matrices"].calls == stats.mass_evaluations
    assert profile["factorization"].calls == stats.decompositions
    assert profile["substitution"].calls == stats.linear_solves
    assert profile["dense output"].calls == stats.accepted
    assert profile["projection"].calls == 2 * stats.accepted
    assert profile.phases["projection"].seconds > profile["projection"].seconds
    # watching changes no number
    np.testing.assert_array_equal(sol.x, problem.simulate(method=method).x)


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms()], ids=repr)
def test_calls_of_the_radau_family_are_those_of_the_statistics(method):
    problem = da.problems.andrews()
    sol = problem.simulate(method=method, profile=True)
    profile, stats = sol.profile, sol.stats
    assert profile["residual"].calls == stats.rhs_evaluations
    assert profile["jacobian"].calls == profile["decomposition"].calls == stats.jacobian_evaluations
    assert profile["factorization"].calls == stats.decompositions
    assert profile["dense output"].calls == stats.accepted
    assert (profile["correction"].calls > 0) == ("projection" in profile) == isinstance(method, da.Geoms)
    np.testing.assert_array_equal(sol.x, problem.simulate(method=method).x)


@pytest.mark.parametrize("method", [da.Hem5(), da.Radau5()], ids=repr)
def test_seconds_are_those_of_the_clock(method):
    """A force that takes a hundred microseconds, in a model with input and event."""

    def force(s):
        end = time.perf_counter() + 1e-4
        while time.perf_counter() < end:
            pass
        return [float(s.push) - float(s.z)]

    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(p=["z"], mass=[1.0], force=force, inputs={"push": np.sin})
    event = da.Event(lambda s: s.z - 0.02, name="out")
    for _ in range(2):  # the first run may compile
        sol = da.simulate(model, (0, 0.5), p0=[0.0], method=method, events=event, profile=True)
    profile, called = sol.profile, "rates" if isinstance(method, da.Hem5) else "residual"
    assert profile[called].seconds >= 1e-4 * profile[called].calls
    assert profile.share(called) > 0.3
    assert profile["inputs"].calls > profile[called].calls / 3
    assert profile["events"].calls >= sol.stats.event_evaluations > 0
    assert "event search" in profile.phases
    assert profile.seconds == pytest.approx(sol.stats.seconds, rel=0.2)
    assert len(sol.events) == 1


def test_phases_and_entries_share_the_same_time():
    profile = da.problems.andrews().simulate(method=da.Hem5(), profile=True).profile
    inside = sum(spent.seconds for spent in profile.phases.values())
    assert profile.seconds == pytest.approx(inside + profile["Python driver"].seconds, rel=1e-9)
    assert sum(profile.share(name) for name in profile) == pytest.approx(1)


def test_the_table_and_the_file(tmp_path):
    sol = da.problems.pendulum().simulate(method=da.Hem5(), profile=True)
    text = str(sol.profile)
    for words in ("rates", "factorization", "projection", "Python driver", "total", "initial values", "share"):
        assert words in text
    again = da.Solution.load(sol.save(tmp_path / "run.h5")).profile
    assert again == sol.profile
    assert str(again) == text
    assert again.phases == sol.profile.phases


def test_without_asking_there_is_none(tmp_path):
    sol = da.problems.pendulum().simulate()
    assert sol.profile is None
    assert da.Solution.load(sol.save(tmp_path / "run.h5")).profile is None


def test_threads_have_profiles_of_their_own():
    from concurrent.futures import ThreadPoolExecutor

    problem = da.problems.andrews()
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda tol: problem.simulate(method=da.Hem5(), rtol=tol, profile=True), (1e-4, 1e-8)))
    for sol in runs:
        assert sol.profile["rates"].calls == sol.stats.rhs_evaluations


def test_a_failed_run_has_a_profile():
    model = da.EquationsOfMotion(p=["z"], v=["q"], kinematics=lambda s: [[s.z**2]], mass=[1.0], force=[0.0])
    with pytest.raises(da.SimulationError) as failure:
        da.simulate(model, (0, 2), p0=[1.0], v0=[1.0], method=da.Hem5(), profile=True)
    assert failure.value.solution.profile["rates"].calls > 0


def test_what_was_never_called_is_not_printed():
    profile = Profile({"rates": (2, 0.5), "friction": (0, 0.0)})
    assert profile["friction"] == Spent(0, 0.0)
    assert "friction" not in str(profile)
    assert repr(profile).startswith("Profile(0.5 s: rates 100 %")
