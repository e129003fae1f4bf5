"""A model with functions that cannot be traced loses nothing but speed: same results, same hidden constraints."""

import importlib
import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import UntraceableWarning

#: One model that has everything: a bead on a moving curve, a wheel, a force element with memory.
FUNCTIONS = {
    "mass": lambda s: [[s.m + 0.1 * s.x**2, 0.05 * s.y, 0], [0.05 * s.y, s.m, 0], [0, 0, s.J]],
    "force": lambda s: [-s.k * s.x - s.q + s.drive, -9.81 * s.m - 0.3 * s.z, -0.1 * s.om],
    "kinematics": lambda s: [[1, 0, 0], [0, 1, 0], [0, 0, 1 + 0.1 * np.sin(s.phi)]],
    "holonomic": lambda s: [s.y - 0.2 * s.c**2 - 0.1 * np.sin(s.drive)],
    "nonholonomic": lambda s: [s.om - 2 * s.vx * np.cos(s.phi)],
    "contact_points": lambda s: [s.c - s.x - 0.1 * np.sin(s.x)],
    "dynamics": lambda s: [-5 * s.q + s.vx],
    "auxiliary": lambda s: [s.z + 0.1 * s.z**3 - s.vy],
    "invariant": lambda s: [s.om - 2 * s.vx * np.cos(s.phi)],
}
FORMULATIONS = ("ggl", "index2", "index1", "index3")
START = {"p0": [0.5, 0.06, 0.3], "v0": [0.2, 0, 0]}
TABLE = np.linspace(-20, 20, 4001)


def with_float(function):
    return lambda s: (float(s.p[0]), function(s))[1]


def with_branch(function):
    return lambda s: function(s) if s.x > -100 else None


def with_table(function):
    """Looks something up in a table of numbers, as code of other people does."""
    return lambda s: (TABLE[int(np.searchsorted(TABLE, s.x))], function(s))[1]


def build(role=None, opaque=with_float):
    functions = {k: opaque(f) if k == role else f for k, f in FUNCTIONS.items()}
    drive = (lambda t: np.sin(2 * float(t))) if role == "inputs" else (lambda t: np.sin(2 * t))
    return da.EquationsOfMotion(
        p=["x", "y", "phi"],
        v=["vx", "vy", "om"],
        r=["q"],
        w=["z"],
        s=["c"],
        parameters={"m": 1.0, "J": 0.5, "k": 4.0},
        inputs={"drive": drive},
        **functions,
    )


def simulate(model, formulation, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the start values are corrected a little
        return da.simulate(
            model, (0, 0.4), **START, method=da.Radau5(formulation=formulation), rtol=1e-7, atol=1e-8, **options
        )


@pytest.fixture(scope="module")
def traced():
    model = build()
    return {formulation: simulate(model, formulation) for formulation in FORMULATIONS}


@pytest.mark.parametrize("role", [*FUNCTIONS, "inputs"])
def test_same_results_for_every_role(role, traced):
    with pytest.warns(UntraceableWarning, match="cannot be traced") as caught:
        model = build(role)
    told = [w for w in caught if w.category is UntraceableWarning]
    assert len(told) == 1
    assert str(told[0].message).startswith("input 'drive'" if role == "inputs" else role)
    assert "Reason: UntraceableError: a symbol was used as a number" in str(told[0].message)
    assert list(model.untraceable) == ["input drive" if role == "inputs" else role]

    for formulation in FORMULATIONS:
        sol, reference = simulate(model, formulation), traced[formulation]
        for kind in ("p", "v", "r", "w", "s"):
            np.testing.assert_allclose(getattr(sol, kind)[-1], getattr(reference, kind)[-1], atol=1e-6)
        loose = 1e-3 if formulation == "index3" else 1e-4
        np.testing.assert_allclose(sol.lam[-1], reference.lam[-1], atol=loose)
        np.testing.assert_allclose(sol.mu[-1], reference.mu[-1], atol=loose)
        for level in ("position", "velocity", "invariant"):
            assert sol.max_residual(level) < max(1e-6, 2 * reference.max_residual(level))


@pytest.mark.parametrize("role", [*FUNCTIONS, "inputs"])
def test_same_hidden_constraints_for_every_role(role):
    with pytest.warns(UntraceableWarning):
        model = build(role)
    opaque, exact = da.hidden_constraints(model), da.hidden_constraints(build())
    for seed in range(5):
        rng = np.random.default_rng(seed)
        at = {"t": rng.uniform(0, 3), **{k: rng.uniform(-1, 1, model.graph.size(k)) for k in ("p", "v", "s")}}
        full = at | {k: rng.uniform(-1, 1, model.graph.size(k)) for k in ("r", "w", "lam", "mu")}
        np.testing.assert_allclose(opaque.velocity(**at), exact.velocity(**at), atol=1e-10)
        np.testing.assert_allclose(opaque.acceleration(**full), exact.acceleration(**full), atol=1e-8)
        np.testing.assert_allclose(
            opaque.nonholonomic_acceleration(**full), exact.nonholonomic_acceleration(**full), atol=1e-8
        )


def test_residuals_of_the_same_states_agree(traced):
    from dalembert.solution.residuals import constraint_residual

    sol = traced["ggl"]
    values = {kind: getattr(sol, kind).T for kind in ("p", "v", "r", "w", "s", "lam", "mu")}
    for role in ("holonomic", "contact_points", "nonholonomic", "kinematics", "mass", "force"):
        with pytest.warns(UntraceableWarning):
            model = build(role)
        for level, accuracy in {"position": 1e-14, "velocity": 1e-10, "acceleration": 1e-5}.items():
            found = constraint_residual(model, level, sol.t, values, model.thetas(sol.t))
            np.testing.assert_allclose(found, sol.residual(level), atol=accuracy, err_msg=role)


def test_second_derivatives_where_a_constraint_is_satisfied():
    """There its terms cancel, and the rounding errors are those of the terms, not of their sum."""

    def constraint(s):
        return [s.y - 0.2 * s.x**2 - 0.1 * np.sin(s.q)]

    common = {"p": ["x", "y"], "mass": [1, 1], "force": [0, 0], "inputs": {"q": lambda t: np.sin(2 * t)}}
    exact = da.hidden_constraints(da.EquationsOfMotion(**common, holonomic=constraint))
    with pytest.warns(UntraceableWarning):
        opaque = da.hidden_constraints(da.EquationsOfMotion(**common, holonomic=with_float(constraint)))
    rng = np.random.default_rng(1)
    for _ in range(30):
        p = np.array([0.054684619096059, 0.079505316243259]) + 1e-9 * rng.normal(size=2)
        v = np.array([-0.737435009371034, -0.067258364854867]) + 1e-9 * rng.normal(size=2)
        at = {"p": p, "v": v, "t": 1.0, "lam": [0.0]}
        np.testing.assert_allclose(opaque.acceleration(**at), exact.acceleration(**at), atol=1e-10)


def test_the_warning_points_at_the_users_line():
    with pytest.warns(UntraceableWarning) as caught:
        build("force")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("opaque", "reason"), [(with_branch, "a branch on the value"), (with_table, "UntraceableError|a symbol")]
)
def test_branches_and_tables(opaque, reason, traced):
    with pytest.warns(UntraceableWarning, match=f"force .*Reason: .*({reason})"):
        model = build("force", opaque)
    sol = simulate(model, "ggl")
    np.testing.assert_allclose(sol.p[-1], traced["ggl"].p[-1], atol=1e-6)


def test_everything_untraceable_at_once(traced):
    with pytest.warns(UntraceableWarning) as caught:
        model = da.EquationsOfMotion(
            p=["x", "y", "phi"], v=["vx", "vy", "om"], r=["q"], w=["z"], s=["c"],
            parameters={"m": 1.0, "J": 0.5, "k": 4.0}, inputs={"drive": lambda t: np.sin(2 * float(t))},
            **{k: with_float(f) for k, f in FUNCTIONS.items()},
        )  # fmt: skip
    assert len([w for w in caught if w.category is UntraceableWarning]) == len(FUNCTIONS) + 1
    assert len(model.untraceable) == len(FUNCTIONS) + 1
    sol = simulate(model, "ggl")
    np.testing.assert_allclose(sol.p[-1], traced["ggl"].p[-1], atol=1e-6)
    np.testing.assert_allclose(sol.v[-1], traced["ggl"].v[-1], atol=1e-6)


def test_parameters_change_without_recompiling():
    with pytest.warns(UntraceableWarning):
        model = da.EquationsOfMotion(p=["x"], mass=[1], force=lambda s: [-s.k * float(s.x)], parameters={"k": 1.0})
    for k in (1.0, 4.0, 9.0):
        sol = da.simulate(model, (0, 1), p0=[1], parameters={"k": k}, rtol=1e-8, atol=1e-9)
        assert sol.p[-1, 0] == pytest.approx(np.cos(np.sqrt(k)), abs=1e-6)


def test_events():
    pendulum = da.problems.pendulum()
    reference = pendulum.simulate(events=da.Event(lambda s: s.x - 0.3, name="gate"), rtol=1e-8)
    event = da.Event(lambda s: float(s.x) - 0.3, name="gate")
    with pytest.warns(UntraceableWarning, match=r"event 'gate' \(line \d+ of .*cannot be traced"):
        sol = pendulum.simulate(events=event, rtol=1e-8)
    assert len(sol.events.t) == len(reference.events.t) > 1
    np.testing.assert_allclose(sol.events.t, reference.events.t, atol=1e-7)
    assert sol.model.untraceable == {}


def test_terminal_event_with_action_in_an_untraceable_model():
    with pytest.warns(UntraceableWarning, match="force"):
        ball = da.EquationsOfMotion(p=["y"], mass=[1], force=lambda s: [-9.81 if s.y > -1e9 else 0])
    floor = da.Event(
        lambda s: s.y if s.y > -1e9 else 0, direction=-1, terminal=2, action=lambda s: {"y_dot": -0.5 * s.y_dot}
    )
    with pytest.warns(UntraceableWarning, match="event 'event 1'"):
        sol = da.simulate(ball, (0, 5), p0=[1.0], events=floor, rtol=1e-9)
    first = np.sqrt(2 / 9.81)
    np.testing.assert_allclose(sol.events.t, [first, 2 * first], atol=1e-8)
    assert "terminated by event" in sol.status


def test_car_axis_against_its_reference():
    problem = da.problems.car_axis()
    module = importlib.import_module("dalembert.problems.car_axis")
    with pytest.warns(UntraceableWarning) as caught:
        model = da.EquationsOfMotion(
            p=problem.model.names("p"),
            parameters=problem.model.parameters,
            mass=lambda s: [0.5 * s.m * s.epsilon**2] * 4,
            force=lambda s: np.array(module._force(s)) if s.xl > -9 else None,
            holonomic=module._constraints,
        )
    assert len(caught) == 1
    sol = da.simulate(model, (0, 3), p0=problem.p0, v0=problem.v0, rtol=1e-6, atol=1e-7)
    assert problem.error(sol) < 1e-4
