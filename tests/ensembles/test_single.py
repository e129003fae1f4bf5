"""Steps that are code around one model: runs of Hem5 with it are those without, whatever happens on the way."""

from __future__ import annotations

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from test_random import mechanism, random_model

import dalembert as da
from dalembert.solvers.half.generated import single

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.InitialValuesCorrected")

GENERATED = da.Hem5(steps="generated")
COUNTERS = (
    "accepted", "error_rejections", "convergence_rejections", "rhs_evaluations", "mass_evaluations", "decompositions",
    "linear_solves",
)  # fmt: skip
#: rounding grows on it: start positions changed by 1e-16 make steps another half as long
SENSITIVE = {"railway_carriage"}


def assert_alike(plain: da.Solution, other: da.Solution, far: float = 1e-9) -> None:
    """Everything that is not rounding is the same."""
    assert {name: getattr(plain.stats, name) for name in COUNTERS} == {
        name: getattr(other.stats, name) for name in COUNTERS
    }
    assert len(plain.t) == len(other.t)
    assert plain.status == other.status
    for name in ("p", "v", "r"):
        np.testing.assert_allclose(getattr(other, name)[-1], getattr(plain, name)[-1], rtol=far, atol=far)
    size = np.abs(plain.lam[-1]).max(initial=1)
    np.testing.assert_allclose(other.lam[-1], plain.lam[-1], rtol=0, atol=1e3 * far * size)


def both(model: da.EquationsOfMotion, given: dict[str, Any], **options: Any) -> tuple[da.Solution, da.Solution]:
    plain = da.simulate(model, **given, method=da.Hem5(**options))
    return plain, da.simulate(model, **given, method=da.Hem5(steps="generated", **options))


def first_member(model: da.EquationsOfMotion, given: dict[str, Any]) -> dict[str, Any]:
    own = {key: value[0] if key in ("p0", "v0", "r0") else value for key, value in given.items()}
    return own | {"parameters": {key: value[0] for key, value in given["parameters"].items()}}


def catalogues() -> dict[str, Any]:
    return {**da.problems.catalogue(), **da.problems.catalogue_large(), **da.problems.catalogue_multibody()}


REFUSED = {
    "ball_in_ellipse": "cannot treat contact-point coordinates",
    "motor_pendulum": "cannot treat auxiliary variables",
    "cable_drum": "its forces depend on multipliers",
    "stewart_platform": "its functions are native code",
}


@pytest.mark.parametrize("name", sorted(catalogues().keys() - REFUSED.keys()))
def test_all_of_the_catalogue(name):
    """A short way of it: alone with and without generated steps, and as an ensemble."""
    problem = catalogues()[name]()
    given = problem.start() | {"t_span": (0.0, 0.03 * problem.t_end), "rtol": 1e-6, "atol": 1e-6}
    plain, other = both(problem.model, given)
    if name in SENSITIVE:
        np.testing.assert_allclose(other.p[-1], plain.p[-1], rtol=0, atol=1e-8)
        return
    assert_alike(plain, other, 2e-9)
    found = da.ensemble(problem.model, **given, n=2, device="cpu")
    assert found.success.all()
    counters = plain.stats.accepted, plain.stats.error_rejections, plain.stats.convergence_rejections
    assert counters == (found.accepted[1], found.rejected[1], found.failed[1])
    for kind in ("p", "v", "r"):
        np.testing.assert_allclose(getattr(found.end, kind)[1], getattr(plain, kind)[-1], rtol=2e-9, atol=2e-9)


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_of_the_catalogue(name):
    problem = catalogues()[name]()
    with pytest.raises(da.ModelError, match=REFUSED[name]):
        problem.simulate(method=GENERATED)
    with pytest.raises(da.ModelError, match=REFUSED[name]):
        da.ensemble(problem.model, (0, 1), n=2, device="cpu")


OPTIONS = (
    {}, {"projection": "velocities"}, {"projection": "none"}, {"error": "positions"},
    {"safety": 0.7, "max_growth": 1.5},
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_models_of_random_terms(seed):
    """With inputs of all kinds, jumps, events, output times, backwards in time, and every option."""
    model, given = random_model(seed)
    plain, other = both(model, first_member(model, given) | {"trace": True}, **OPTIONS[seed % len(OPTIONS)])
    assert_alike(plain, other)
    assert list(plain.trace.outcome) == list(other.trace.outcome)
    np.testing.assert_allclose(other.trace.h, plain.trace.h, rtol=1e-3)
    for event in given.get("events", ()):
        times = [sol.events.named(event.name).t for sol in (plain, other)]
        np.testing.assert_allclose(*times, rtol=0, atol=1e-8)
    for t in np.linspace(*plain.trajectory.interval, 9)[1:-1]:
        np.testing.assert_allclose(other.at(t).p, plain.at(t).p, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 19, 24, 110])
def test_mechanisms_of_bodies_on_joints(seed):
    model, given = mechanism(seed)
    assert_alike(*both(model, first_member(model, given)))


THREAD = da.EquationsOfMotion(
    p=["x", "y"], mass=[1, 1], discrete={"k": 1.0}, parameters={"c": 2.0}, lam=["thread"],
    force=lambda s: [-s.k * s.c * s.x, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1],
)  # fmt: skip
CHANGES = [
    da.Event(lambda s: s.x, name="crossing", action=lambda s: {"k": s.k + 1}),
    da.Event(lambda s: s.y + 0.7, direction=1, name="kick", action=lambda s: {"v": [1.1 * v for v in s.v]}),
    da.Event(lambda s: s.t - 1.77, name="breaks", action=lambda s: da.Transition(active=[])),
]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_events_change_discrete_variables_velocities_and_constraints(n):
    given: dict[str, Any] = dict(t_span=(0.0, 2.5), p0=[1.0, 0.0], events=CHANGES[:n])
    plain, other = both(THREAD, given)
    assert len(plain.events) == len(other.events) > n
    assert_alike(plain, other)
    assert_alike(*both(THREAD, given | {"discrete": {"k": 3.0}}))


def test_other_parameters_and_other_tables_need_no_other_code(monkeypatch):
    made: list[single.Text] = []
    original = single.written
    monkeypatch.setattr(single, "written", lambda *given: made.append(original(*given)) or made[-1])
    times = np.linspace(0, 1, 9)
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=lambda s: [s.m, s.m], parameters={"m": 1.0}, force=lambda s: [s.u, -9.81 * s.m],
        inputs={"u": da.Input.table(times, np.sin(times))}, holonomic=lambda s: [s.x**2 + s.y**2 - 1],
    )  # fmt: skip
    given: dict[str, Any] = dict(t_span=(0.0, 1.5), p0=[1.0, 0.0])
    longer = np.linspace(-1, 3, 40)
    inputs = [None, {"u": da.Input.table(longer, np.cos(3 * longer))}, {"u": da.Input.table(times, -2 * np.cos(times))}]
    ends = []
    for m in (1.0, 0.3):
        for other in inputs:
            plain, generated = both(model, given | {"parameters": {"m": m}, "inputs": other})
            assert_alike(plain, generated)
            ends.append(plain.x[-1])
    assert len(made) == 1
    assert len(np.unique(ends, axis=0)) == 6
    assert_alike(*both(model, given | {"inputs": {"u": lambda t: np.sin(5 * t)}}))  # which is part of the code
    assert_alike(*both(model, given | {"inputs": {"u": lambda t: np.sin(6 * t)}}))
    assert len(made) == 3


FAILING = {
    "leaves the domain of a function": (
        da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [1e-20 * np.sqrt(1.0 - s.x)]),
        dict(t_span=(0, 1), p0=[0.0], v0=[2.0]),
    ),
    "too many steps": (da.problems.pendulum().model, dict(t_span=(0, 10), p0=[1.0, 0.0], max_steps=17)),
    "constraints that touch each other": (
        da.EquationsOfMotion(
            p=["x", "y", "z"], mass=[1.0, 1.0, 1.0], force=[0.0, -1.0, 0.0],
            holonomic=lambda s: [s.x**2 + s.y**2 - 1, (s.x - 1.0) + s.y**2],
        ),
        dict(t_span=(0, 0.1), p0=[1.0, 0.0, 0.0]),
    ),
    "a mass that vanishes": (
        da.EquationsOfMotion(p=["x"], mass=lambda s: [0.5 - s.t], force=[1.0]), dict(t_span=(0, 1), p0=[0.0]),
    ),
    "a position that becomes singular": (
        da.EquationsOfMotion(
            p=["x", "y"], mass=[1.0, 2.0], force=[0.0, 1.0], holonomic=lambda s: [s.x**2 + s.y**2 - 1, s.y - s.t]
        ),
        dict(t_span=(0, 1.5), p0=[1.0, 0.0], v0=[0.0, 1.0]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILING)
def test_failures_have_the_same_words(case):
    model, given = FAILING[case]
    errors = []
    for method in (da.Hem5(), GENERATED):
        with pytest.raises(da.DalembertError) as caught:
            da.simulate(model, **given, method=method)
        errors.append(caught.value)
    plain, other = errors
    assert type(plain) is type(other)
    words = [re.split(r" (?:to \d\S*|at t = )", str(error))[0] for error in errors]
    assert words[0] == words[1]
    if getattr(plain, "solution", None) is not None:
        assert other.solution.t[-1] == pytest.approx(plain.solution.t[-1], abs=1e-6)


def test_what_goes_wrong_in_a_step_is_done_once_more_by_ports(monkeypatch):
    """Pivots that elimination on the diagonal does not have: M is singular, and the constraint holds what it leaves."""
    model = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=lambda s: [[1.0, s.x, 0.0], [s.x, s.x**2, 0.0], [0.0, 0.0, 1.0]],
        force=lambda s: [0.0, -1.0 - s.y, s.x], holonomic=lambda s: [s.x - s.y - 0.1 * np.sin(s.z)],
    )  # fmt: skip
    given: dict[str, Any] = dict(t_span=(0.0, 1.0), p0=[1.0, 1.0, 0.0])
    plain, other = both(model, given)
    np.testing.assert_allclose(other.p[-1], plain.p[-1], rtol=0, atol=1e-9)
    assert len(plain.t) == len(other.t)


def test_the_same_run_has_the_same_bits():
    problem = da.problems.andrews()
    first, second = (problem.simulate(method=GENERATED, rtol=1e-6, atol=1e-6) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: problem.simulate(method=GENERATED, rtol=1e-6, atol=1e-6).x, range(12)))
    for x in runs:
        np.testing.assert_array_equal(first.x, x)


def test_profiles_and_traces():
    sol = da.problems.pendulum().simulate(method=GENERATED, profile=True, trace=True)
    assert sol.profile is not None
    assert len(sol.trace) == sol.stats.accepted + sol.stats.rejected


# -- in the background -------------------------------------------------------------------------------------------------


def oscillator(k: float) -> da.EquationsOfMotion:
    return da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [-k * s.x - np.sin(s.x)])


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == single.WORKER]


def test_runs_begin_at_once_and_take_the_code_when_it_is_there(monkeypatch):
    model, given = oscillator(3.0), dict(t_span=(0.0, 5.0), p0=[1.0])
    go, original = threading.Event(), single.written
    monkeypatch.setattr(single, "written", lambda *given: go.wait(60) and original(*given))
    plain = da.simulate(model, **given, method="hem5")
    method = da.Hem5(steps="background")
    early = da.simulate(model, **given, method=method)
    np.testing.assert_array_equal(early.x, plain.x)
    assert len(workers()) == 1
    da.simulate(model, **given, method=method)
    assert len(workers()) == 1
    go.set()
    for thread in workers():
        thread.join()
    late = da.simulate(model, **given, method=method)
    generated = da.simulate(model, **given, method=GENERATED)
    np.testing.assert_array_equal(late.x, generated.x)
    assert_alike(plain, late)


def test_in_the_background_models_without_code_just_run():
    problem = da.problems.catalogue()["cable_drum"]()
    given = problem.start() | {"t_span": (0.0, 0.02 * problem.t_end)}
    plain = da.simulate(problem.model, **given, method="hem5")
    other = da.simulate(problem.model, **given, method=da.Hem5(steps="background"))
    np.testing.assert_array_equal(plain.x, other.x)
    assert not workers()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forks_while_code_is_made():
    given: dict[str, Any] = dict(t_span=(0.0, 2.0), p0=[1.0], method=da.Hem5(steps="background"))
    for k in (4.0, 5.0, 6.0):
        model = oscillator(k)
        x = da.simulate(model, **given).x
        child = os.fork()
        if child == 0:
            try:
                good = np.allclose(da.simulate(model, **given).x[-1], x[-1], rtol=0, atol=1e-12)
                for thread in workers():
                    thread.join(60)
                good &= np.allclose(da.simulate(model, **given).x[-1], x[-1], rtol=0, atol=1e-12)
                os._exit(0 if good else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": "fast"}, "steps='fast' is unknown"),
        ({"steps": "generated", "linear_solver": da.Dense()}, "goes without linear_solver="),
        ({"steps": "generated", "projection_every": 2}, "goes without projection_every="),
        ({"steps": "background", "min_step": 1e-3}, "goes without min_step="),
        ({"steps": "generated", "stages": "complementarity"}, "goes without stages="),
    ],
)
def test_options_that_do_not_go_together(options, words):
    with pytest.raises(da.OptionError, match=words):
        da.Hem5(**options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: (da.problems.bouncing_ball().model, {"p0": [1.0]}), "it has contacts"),
        (
            lambda: (
                da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [s.u], inputs={"u": lambda t: float(t) ** 2}),
                {"p0": [1.0]},
            ),
            "its input 'u' runs as Python code, and is no Input.table",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:input 'u'")
def test_models_without_code_are_refused_with_the_reason(make, words):
    model, start = make()
    with pytest.raises(da.ModelError, match=words):
        da.simulate(model, (0, 1), **start, method=GENERATED)


def test_checkpoints_want_runs_that_repeat(tmp_path):
    with pytest.raises(da.OptionError, match="goes on bit for bit"):
        da.problems.pendulum().simulate(method=da.Hem5(steps="background"), checkpoint=tmp_path / "run.h5")
