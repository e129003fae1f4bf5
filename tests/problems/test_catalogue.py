"""All problems: the catalogue, consistent start values, reference values, and what `Problem` does with a solution."""

from types import SimpleNamespace

import numpy as np
import pytest
from index1 import Index1, mixed_error

from dalembert import problems
from dalembert.errors import OptionError

# name, options, tolerance of position and velocity residuals at the start (in the units of the problem)
VARIANTS = [
    ("pendulum", {}, 1e-15),
    ("pendulum", {"energy": True, "start": "hanging", "v0": 2.8}, 1e-15),
    ("pendulum", {"energy": True, "start": 1.1, "v0": -0.4, "L": 0.7, "m": 3.0}, 1e-14),
    ("andrews", {}, 1e-16),
    ("car_axis", {}, 1e-16),
    ("truck", {}, 1e-15),
    ("truck", {"version": "unconstrained"}, 1e-15),
    ("truck", {"springs": "linear"}, 1e-15),
    ("truck", {"version": "unconstrained", "springs": "linear"}, 1e-15),
    ("truck11", {}, 1e-15),
    ("truck11", {"road": "fourier"}, 1e-15),
    ("slider_crank", {}, 1e-14),
    ("slider_crank", {"start": "rigid"}, 1e-14),
    ("slider_crank", {"damping": True}, 1e-14),
    ("slider_crank", {"nonlinear": True}, 1e-14),
    ("heavy_top", {}, 1e-15),
    ("rolling_disc", {}, 1e-15),
    ("sleigh", {}, 1e-15),
    ("ball_in_ellipse", {}, 1e-15),
    ("motor_pendulum", {}, 1e-15),
    ("iftomm_pendulum", {}, 1e-15),
    ("cable_drum", {}, 1e-15),
    ("cable_drum", {"friction": 1.5, "m2": 2.0, "I2": 0.7, "r1": 0.8, "r2": 1.2, "y1": 0.3, "y1_dot": 0.4}, 1e-15),
    ("four_bar_linkage", {}, 1e-15),
    ("four_bar_linkage", {"g": 9.81, "t_end": 2.0}, 1e-15),
    ("four_bar_linkage", {"l2": 2.0, "t_end": 0.5}, 1e-15),
    ("rocking_block", {}, 1e-15),
    ("rocking_block", {"L": 0.2, "H": 0.1, "th0": 0.3, "th_dot0": -0.1}, 1e-15),
    ("pendulum_chain", {}, 1e-15),
    ("pendulum_chain", {"coordinates": "joint"}, 0.0),
    ("pendulum_chain", {"N": 7, "L": 0.3, "angle": 0.4}, 1e-15),
    ("passenger_car", {}, 1e-15),
    ("passenger_car", {"speed": 30.0, "amplitude": -0.2, "frequency": 0.7, "t_end": 2.0}, 1e-15),
]


def make(name, options):
    return problems.catalogue()[name](**options)


def test_catalogue_holds_every_function_by_its_name():
    catalogue = problems.catalogue()
    assert {name for name, _, _ in VARIANTS} == set(catalogue)
    for name, function in catalogue.items():
        assert getattr(problems, name) is function
        assert function().name == name


@pytest.mark.parametrize(("name", "options", "tolerance"), VARIANTS)
def test_start_values_are_consistent(name, options, tolerance):
    problem = make(name, options)
    oracle = Index1(problem)
    residuals = oracle.residuals(0.0, oracle.y0)
    assert max(residuals.values()) <= tolerance, residuals
    assert problem.model.untraceable == {}


@pytest.mark.parametrize(("name", "options", "tolerance"), VARIANTS)
def test_reference_values_satisfy_constraints_and_multipliers(name, options, tolerance):
    """Every reference lies on the constraints, and its multipliers follow from its positions and velocities."""
    problem = make(name, options)
    oracle = Index1(problem)
    assert problem.reference is None or problem.reference.t == problem.t_end
    for reference in problem.references:
        parts = [getattr(reference, kind) for kind in "pvrws"]
        y = np.concatenate([x for x in parts if x is not None])
        residuals = oracle.residuals(reference.t, y)
        scale = 1 + np.max(np.abs(reference.p)) + np.max(np.abs(reference.v))
        assert max(residuals.values()) <= 20 * reference.accuracy * scale, (reference.source, residuals)
        _, multipliers = oracle.accelerations(reference.t, y)
        known = np.concatenate([x for x in (reference.lam, reference.mu) if x is not None] or [np.zeros(0)])
        assert len(known) == len(multipliers)
        if len(known):
            size = np.max(np.abs(known)) + (1e-3 if name == "pendulum" else 0)
            digits = 1e-6 if reference.source.startswith("published") else 1e-8
            assert np.max(np.abs(multipliers - known)) <= digits * size, reference.source


# t at which to stop (None: t_end) and the tolerance of the mixed error; bounded so that the whole takes seconds
INTEGRATED = [
    ("pendulum", {}, None, 1e-10),
    ("pendulum", {"start": "hanging", "v0": 2.8}, None, 1e-10),
    ("pendulum", {"start": "hanging", "v0": -9.0}, None, 1e-9),
    ("pendulum", {"start": 1.1, "v0": -0.4, "L": 0.7, "m": 3.0}, None, 1e-10),
    ("andrews", {}, None, 1e-9),
    ("car_axis", {}, None, 1e-9),
    ("truck", {}, 3.0, 1e-11),
    ("truck", {"version": "unconstrained"}, 3.0, 1e-11),
    ("truck", {"springs": "linear"}, 3.0, 1e-11),
    ("truck", {"version": "unconstrained", "springs": "linear"}, 3.0, 1e-11),
    ("rolling_disc", {}, None, 1e-10),
    ("rolling_disc", {"steer": -1.3, "spin": 2.0, "R": 0.8}, None, 1e-10),
    ("sleigh", {}, None, 1e-10),
    ("sleigh", {"m": 2.0, "offset": 0.3, "speed": 1.0}, None, 1e-10),
    ("heavy_top", {}, None, 1e-8),
    ("ball_in_ellipse", {}, None, 1e-9),
    ("motor_pendulum", {}, None, 1e-9),
    ("iftomm_pendulum", {}, None, 1e-9),
    ("cable_drum", {}, None, 1e-11),
    ("cable_drum", {"friction": 1.0}, None, 1e-11),
    (
        "cable_drum",
        {"friction": 1.5, "m2": 2.0, "I2": 0.7, "r1": 0.8, "r2": 1.2, "y1": 0.3, "y1_dot": 0.4},
        None,
        1e-11,
    ),
    ("four_bar_linkage", {}, 0.5, 1e-10),
    ("four_bar_linkage", {}, 2.0, 1e-9),
    ("four_bar_linkage", {"g": 9.81}, 0.5, 1e-10),
    ("four_bar_linkage", {"g": 9.81}, 2.0, 1e-9),
    ("four_bar_linkage", {"l2": 2.0}, 2.0, 1e-9),
    ("rocking_block", {}, 0.1, 1e-11),
    ("rocking_block", {}, 0.5, 1e-11),
    ("pendulum_chain", {}, None, 1e-9),
    ("pendulum_chain", {"coordinates": "joint"}, None, 1e-9),
]


@pytest.mark.parametrize(("name", "options", "t", "tolerance"), INTEGRATED)
def test_index_1_form_reaches_the_reference(name, options, t, tolerance):
    problem = make(name, options)
    oracle = Index1(problem)
    reference = problem.reference if t is None else next(ref for ref in problem.references if ref.t == t)
    end = oracle.split(oracle.integrate(reference.t, rtol=1e-12, atol=1e-13))
    for kind in "pvrws":
        if getattr(reference, kind) is not None:
            assert mixed_error(end[kind], getattr(reference, kind)) < tolerance, kind


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "t", "tolerance"),
    [
        ("truck", {"version": version, "springs": springs}, t, 1e-11)
        for version in ("constrained", "unconstrained")
        for springs in ("pneumatic", "linear")
        for t in (10.0, 20.0)
    ]
    + [("truck11", {"road": road}, 20.0, 1e-10) for road in ("sine", "fourier")]
    + [
        ("slider_crank", {}, 0.1, 1e-9),
        ("slider_crank", {"start": "rigid", "damping": True}, 0.1, 1e-9),
        ("slider_crank", {"damping": True, "nonlinear": True}, 0.1, 1e-9),
    ]
    + [("heavy_top", {"t_end": 2.0}, 2.0, 1e-8), ("passenger_car", {}, 5.0, 1e-11)],
)
def test_index_1_form_reaches_the_reference_over_long_times(name, options, t, tolerance):
    test_index_1_form_reaches_the_reference(name, options, t, tolerance)


def solution(reference, shift=0.0, t=None):
    t = reference.t if t is None else t
    p, v = np.array([reference.p * 0, reference.p]), np.array([reference.v * 0, reference.v])
    v[-1, -1] += shift
    return SimpleNamespace(t=np.array([0.0, t]), p=p, v=v)


def test_error_is_mixed_and_takes_the_last_point():
    problem = problems.andrews()
    reference = problem.reference
    assert problem.error(solution(reference)) == 0.0
    expected = 1e-3 / (1 + abs(reference.v[-1]))
    assert problem.error(solution(reference, shift=1e-3)) == pytest.approx(expected, rel=1e-9)


def test_error_needs_a_reference_at_the_end_of_the_solution():
    problem = problems.andrews()
    with pytest.raises(OptionError, match=r"ends at t = 0\.02.*t_end"):
        problem.error(solution(problem.reference, t=0.02))
    with pytest.raises(OptionError, match="no reference"):
        problems.truck(t_end=7.0).error(solution(problems.truck().reference))


def test_start_gives_fresh_keyword_arguments():
    problem = problems.motor_pendulum()
    start = problem.start()
    assert set(start) == {"p0", "v0", "r0", "w0"}
    start["p0"][0] = 99.0
    assert problem.p0[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        problem.p0[0] = 1.0


def test_simulate_passes_span_start_and_options(monkeypatch):
    calls = []
    monkeypatch.setattr("dalembert.simulate", lambda *given, **options: calls.append((given, options)), raising=False)
    problem = problems.ball_in_ellipse()
    problem.simulate(method="geoms", v0=[6.0, 0.0])
    (((model, span), options),) = calls
    assert model is problem.model
    assert span == (0.0, 3.0)
    assert options["method"] == "geoms"
    assert options["v0"] == [6.0, 0.0]
    assert np.array_equal(options["s0"], problem.s0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pendulum", {"start": "upright"}),
        ("truck", {"version": "half"}),
        ("truck", {"springs": "steel"}),
        ("truck11", {"road": "gravel"}),
        ("slider_crank", {"start": "soft"}),
        ("heavy_top", {"t_end": -1.0}),
        ("cable_drum", {"friction": 1.1}),
        ("cable_drum", {"friction": float("nan")}),
        ("cable_drum", {"m1": 0.0}),
        ("four_bar_linkage", {"l2": -4.0}),
        ("rocking_block", {"H": "high"}),
        ("pendulum_chain", {"N": 0}),
        ("pendulum_chain", {"N": 2.0}),
        ("pendulum_chain", {"coordinates": "polar"}),
        ("insulator_chain", {"N": 1}),
        ("insulator_chain", {"t_end": 0.0}),
        ("moving_chain", {"coordinates": "relative"}),
        ("moving_chain", {"omega": float("inf")}),
    ],
)
def test_unknown_options_are_refused(name, options):
    with pytest.raises(OptionError, match=name):
        getattr(problems, name)(**options)
