"""Start values by the kernel: the same as Python's, and Python's own wherever anything is irregular."""

import itertools
import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.solvers import start
from dalembert.solvers.start import start_values
from mechanisms import random_mechanism

ALL = sorted(da.problems.catalogue())
MODES = ("correct", "check", "trust")


def by_kernel(model, t, values, mode="correct", rtol=1e-6, atol=1e-8):
    """What the kernel finds, or None if it leaves the case to Python."""
    prepared = start.prepared_start(model)
    return None if prepared is None else prepared.solve(model, t, values, mode, rtol, atol)


def assert_same(found, expected, tolerance=1e-11):
    assert list(found.values) == list(expected.values)
    assert found.t == expected.t
    assert found.unique == expected.unique
    assert found.correction == pytest.approx(expected.correction, abs=1e-12)
    for kind, value in expected.values.items():
        scale = 1 + np.abs(value).max(initial=0)
        np.testing.assert_allclose(found.values[kind], value, rtol=0, atol=tolerance * scale, err_msg=kind)


def outcome(function, *args, **kwargs):
    """Values, or the words of the exception; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
        except da.errors.DalembertError as error:
            result = (type(error), str(error))
    return result, [str(warning.message) for warning in caught]


def assert_same_outcome(model, t, values, **options):
    found, told = outcome(start_values, model, t, values, **options)
    expected, words = outcome(da.consistent_initial_values, model, t, **options, **values)
    assert told == words
    if isinstance(expected, tuple):
        assert found == expected
    else:
        assert_same(found, expected)
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ALL)
def test_kernel_agrees_on_the_catalogue(name, mode):
    """Given positions and velocities come back bit for bit, as they do from Python."""
    problem = da.problems.catalogue()[name]()
    values = {k: v for k, v in problem.start().items() if v is not None}
    found = by_kernel(problem.model, 0.0, values, mode)
    expected = da.consistent_initial_values(problem.model, 0.0, mode=mode, **values)
    assert found is not None
    assert_same(found, expected)
    for kind in ("p", "v", "r"):
        assert np.array_equal(found.values[kind], expected.values[kind])


@given(
    seed=st.integers(0, 10_000),
    mode=st.sampled_from(MODES),
    kick=st.sampled_from([0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.3]),
    t=st.floats(-5, 5),
)
@settings(max_examples=60, deadline=None)
def test_kernel_agrees_on_random_mechanisms(seed, mode, kick, t):
    """Consistent and inconsistent starts, motors, inputs, closed loops: values, warnings and errors are Python's."""
    model, values = random_mechanism(seed)
    rng = np.random.default_rng(seed)
    values["p0"] = values["p0"] + kick * rng.standard_normal(len(values["p0"]))
    values["v0"] = kick * rng.standard_normal(len(values["p0"]))
    assert_same_outcome(model, t, values, mode=mode)


@pytest.mark.parametrize("name", ["andrews", "pendulum", "car_axis", "heavy_top"])
def test_large_corrections_need_no_python(name):
    """They are told as Python tells them, positions before velocities."""
    problem = da.problems.catalogue()[name]()
    rng = np.random.default_rng(5)
    start_of = problem.start()
    values = {k: np.asarray(start_of[k]) + 0.05 * rng.standard_normal(len(start_of[k])) for k in ("p0", "v0")}
    assert by_kernel(problem.model, 0.0, values).correction > 1e-3
    with pytest.warns(da.errors.InitialValuesCorrected) as told:
        assert_same(start_values(problem.model, 0.0, values), start_values(problem.model, 0.0, values))
    assert [level in str(told[k].message) for k, level in enumerate(("position", "velocity"))] == [True, True]
    assert_same_outcome(problem.model, 0.0, values)
    assert by_kernel(problem.model, 0.0, values, "check") is None


def rheonomic():
    """A pendulum on a support that is moved by an input; the rod is heated by a second one."""
    return da.EquationsOfMotion(
        p=["x", "y"], mass=[1.0, 2.0], force=[0, -9.81], parameters={"L": 1.0},
        inputs={"support": lambda t: 0.3 * np.sin(2 * t), "heat": lambda t: 1 + 0.1 * t},
        holonomic=lambda s: [(s.x - s.support) ** 2 + s.y**2 - (s.L * s.heat) ** 2],
    )  # fmt: skip


@pytest.mark.parametrize("t", [0.0, 0.4])
@pytest.mark.parametrize("mode", MODES)
def test_rheonomic_constraint_with_inputs(t, mode):
    model = rheonomic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = da.consistent_initial_values(model, t, p0=[0.5, -0.9], v0=[0.1, 0.0])
    values = {"p0": exact.p, "v0": exact.v}
    assert by_kernel(model, t, values, mode) is not None
    assert_same_outcome(model, t, values, mode=mode)
    values = {"p0": exact.p + 1e-5, "v0": exact.v - 1e-5}
    assert_same_outcome(model, t, values, mode=mode)


def test_other_parameters_and_inputs_need_no_compilation():
    model = rheonomic()
    variant = model.replace({"L": 2.0}, {"support": lambda t: t**2})
    assert start.prepared_start(variant) is start.prepared_start(model)
    for each in (model, variant, model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exact = da.consistent_initial_values(each, 0.4, p0=[0.5, -0.9])
        found = by_kernel(each, 0.4, {"p0": exact.p, "v0": exact.v})
        assert found is not None
        assert_same(found, da.consistent_initial_values(each, 0.4, p0=exact.p, v0=exact.v))


def test_inputs_that_cannot_be_traced():
    with pytest.warns(da.UntraceableWarning):
        model = da.EquationsOfMotion(
            p=["x", "y"], mass=[1.0, 2.0], force=[0, -9.81], holonomic=lambda s: [s.x + s.y - s.push],
            inputs={"push": lambda t: float(t)},
        )  # fmt: skip
    assert by_kernel(model, 0.5, {"p0": [0.25, 0.25], "v0": [0.5, 0.5]}) is not None
    assert_same_outcome(model, 0.5, {"p0": [0.25, 0.25], "v0": [0.5, 0.5]})


def test_contact_points_auxiliary_variables_and_dynamics():
    """All kinds of variables, nonlinear in w, r' dependent on what is computed last; given ones are kept if trusted."""
    model = da.EquationsOfMotion(
        p=["x", "y"], w=["w1"], s=["s1"], r=["r1"], mass=[1.0, 0.5],
        force=lambda s: [s.w1 + s.s1, s.r1 - 9.81], auxiliary=lambda s: [s.w1**3 + s.w1 - s.x - 0.1 * s.lam1],
        contact_points=lambda s: [np.exp(s.s1) - s.x], holonomic=lambda s: [s.x**2 + s.y**2 - 5.0 + 0.1 * s.s1],
        dynamics=lambda s: [s.w1 - s.r1 + s.lam1],
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = da.consistent_initial_values(model, 0.0, p0=[2.0, 1.0], r0=[0.3])
    values = {"p0": exact.p, "v0": exact.v, "r0": [0.3]}
    for mode in MODES:
        assert by_kernel(model, 0.0, values, mode) is not None
        found = assert_same_outcome(model, 0.0, values, mode=mode)
        assert found.w[0] ** 3 + found.w[0] - found.p[0] - 0.1 * found.lam[0] == pytest.approx(0, abs=1e-13)
    for kinds in itertools.combinations([("w0", [0.7]), ("s0", [0.6]), ("lam0", [0.2])], 2):
        assert_same_outcome(model, 0.0, values | dict(kinds), mode="trust")
        assert_same_outcome(model, 0.0, values | dict(kinds), mode="correct")
    kept = start_values(model, 0.0, values | {"s0": [0.6], "w0": [0.7], "lam0": [0.2]}, mode="trust")
    assert (kept.s[0], kept.w[0], kept.lam[0]) == (0.6, 0.7, 0.2)
    assert kept.values["r_dot"][0] == pytest.approx(0.7 - 0.3 + 0.2, abs=1e-15)


def test_semidefinite_mass():
    model = da.EquationsOfMotion(p=["x", "y"], mass=[2.0, 0.0], force=[0, -3.0], holonomic=lambda s: [s.x - s.y])
    found = by_kernel(model, 0.0, {"p0": [0.0, 0.0]})
    np.testing.assert_allclose(found.a, [-1.5, -1.5], atol=1e-14)


def test_redundant_constraints_are_left_to_python():
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -2.0], holonomic=lambda s: [s.y, 2 * s.y], lam=["once", "twice"]
    )
    assert by_kernel(model, 0.0, {"p0": [0, 0]}) is None
    found = assert_same_outcome(model, 0.0, {"p0": [0, 0]})
    assert not found.unique


@pytest.mark.parametrize("closeness", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize("offset", [0.0, 1e-7])
def test_nearly_redundant_constraints(closeness, offset):
    """However near, the kernel agrees with Python or leaves the case to it."""
    model = da.EquationsOfMotion(
        p=["x", "y", "z"], mass=[1, 2, 3], force=[1.0, -2.0, 0.5],
        holonomic=lambda s: [s.x + s.y**2, s.x + s.y**2 + closeness * s.z],
    )  # fmt: skip
    found, _ = outcome(start_values, model, 0.0, {"p0": [offset, 0.0, 0.0]})
    expected, _ = outcome(da.consistent_initial_values, model, 0.0, p0=[offset, 0.0, 0.0])
    if isinstance(expected, tuple):
        assert found == expected
    else:
        assert_same(found, expected, tolerance=max(1e-11, 1e-14 / closeness))


FAULTY = [
    {"p0": [1.2, 0.0], "v0": [0.5, 1.0]},  # a large correction: warning, or error in mode "check"
    {"p0": [1.0]},
    {"p0": [1.0, 0.0, 0.0]},
    {"p0": [[1.0], [0.0]]},
    {"p0": [[1.0, 0.0]]},
    {"p0": {"x": 1.0}},
    {"p0": {"z": 1.0}},
    {"p0": [1.0, np.nan]},
    {"p0": [1.0, "y"]},
    {"p0": ["1.0", "0.0"]},
    {"p0": (1, 0), "v0": None},
    {"p0": np.array([1, 0]), "lam0": [3]},
    {"p0": np.array([[1.0], [0.0]])},
    {"p0": np.array(1.0)},
    {"p0": 1.0},
    {"p0": np.array([np.inf, 0.0])},
    {"v0": [0.0, 0.0]},
    {"p0": [1.0, 0.0], "q0": [1.0]},
    {"p0": [1.0, 0.0], "r0": [1.0]},
    {"p0": [0.0, 0.0]},  # the constraint has no gradient here
]


@pytest.mark.parametrize("mode", [*MODES, "repair"])
@pytest.mark.parametrize("values", FAULTY, ids=str)
def test_arguments_are_taken_and_refused_as_by_python(values, mode):
    model = da.problems.pendulum(g=9.81).model
    assert_same_outcome(model, 0.0, values, mode=mode)


def test_start_time_must_be_finite():
    model = da.problems.pendulum(g=9.81).model
    for t in (np.nan, np.inf):
        assert_same_outcome(model, t, {"p0": [1.0, 0.0]})


def test_functions_that_fail():
    """Not finite at the start, or not traceable: Python's words."""
    wild = da.EquationsOfMotion(p=["x"], mass=[1.0], force=lambda s: [1 / s.x])
    assert_same_outcome(wild, 0.0, {"p0": [0.0]})
    assert_same_outcome(wild, 0.0, {"p0": [0.5]})
    with pytest.warns(da.UntraceableWarning):
        opaque = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=lambda s: [1.0 if s.x > 0 else 0.0, -1.0])
    assert start.prepared_start(opaque) is None
    assert_same_outcome(opaque, 0.0, {"p0": [0.5, 1.0]})


def test_initial_conditions_are_pythons():
    model = da.problems.pendulum(g=9.81).model
    conditions = {"initial_conditions": lambda s: [s.x - 0.6, s.x_dot - 0.8]}
    assert_same_outcome(model, 0.0, {"p0": [0.5, -0.8]}, **conditions)


def test_other_models_and_large_ones():
    dae = da.QuasiLinearDAE(x=["a", "b"], leading=[1, 0], rhs=lambda s: [-s.a + s.b, s.a**2 + s.b - 3])
    assert_same(start_values(dae, 0.0, {"x0": [1.0, 2.0]}), da.consistent_initial_values(dae, x0=[1.0, 2.0]))
    chain = da.problems.pendulum_chain(60)
    assert start.prepared_start(chain.model) is None
    assert_same_outcome(chain.model, 0.0, chain.start())


def test_tolerances_of_mode_check():
    model = da.problems.pendulum(g=9.81).model
    values = {"p0": [1.0 + 1e-7, 0.0]}
    assert_same_outcome(model, 0.0, values, mode="check", rtol=1e-6, atol=1e-8)
    found, _ = outcome(start_values, model, 0.0, values, mode="check", rtol=1e-9, atol=1e-9)
    assert found[0] is da.InconsistentInitialValues
    assert_same_outcome(model, 0.0, values, mode="check", rtol=1e-9, atol=1e-9)


def test_results_do_not_share_memory_and_arguments_stay():
    model, p0 = da.problems.pendulum(g=9.81).model, np.array([0.6, -0.8])
    first = start_values(model, 0.0, {"p0": p0, "v0": [0.4, 0.3]})
    second = start_values(model, 0.0, {"p0": [1.0, 0.0]})
    first.p[:] = 7.0
    assert p0.tolist() == [0.6, -0.8]
    assert second.p.tolist() == [1.0, 0.0]
    assert first.lam[0] == pytest.approx(4.049)


def test_threads_do_not_disturb_each_other():
    model = da.problems.pendulum(g=9.81).model
    wrong = []

    def ask(angle):
        p = [np.sin(angle), -np.cos(angle)]
        for _ in range(300):
            lam = start_values(model, 0.0, {"p0": p}, mode="trust").lam[0]
            if abs(lam - 9.81 * np.cos(angle) / 2) > 1e-12:
                wrong.append((angle, lam))

    threads = [threading.Thread(target=ask, args=(0.1 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
