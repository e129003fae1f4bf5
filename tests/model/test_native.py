"""Native functions in models: what they may be, what is told of faults, and numbers point by point."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.model.native import Code, NativeFunction
from dalembert.model.native_blocks import derivative, derivative_of, row_pattern
from dalembert.model.native_values import Groups, difference
from native_recipes import diagonal, names, native_force, native_kinematics, native_mass, native_rods, pair, tridiagonal

N = 6
P0 = np.array([1.0, 1.0, 0.8, np.sqrt(2 - 0.64), 1.2, np.sqrt(2 - 1.44)])
V0 = np.array([0.3, -0.3, 0.2, -0.2 * 0.8 / P0[3], 0.0, 0.0])


def test_quantities_are_named_by_what_they_are_derivatives_of():
    assert derivative("value", "p") == "by p"
    assert derivative("with a", "v") == "with a by v"
    for what in ("value", "with a", "by p", "first"):
        assert derivative_of(derivative(what, "v")) == (what, "v")
    assert derivative_of("second") is None


def test_derivatives_of_a_row_have_its_pattern():
    """∂²g_i/∂p_j∂p_k vanishes unless g_i depends on p_k."""
    pattern = (np.array([0, 0, 1, 2, 2]), np.array([0, 3, 1, 0, 2]))
    rows, columns = row_pattern(np.array([0, 2, 1]), pattern)
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [(0, 0), (0, 3), (1, 0), (1, 2), (2, 1)]


def test_differences_in_groups_are_derivatives():
    rng = np.random.default_rng(3)
    n = 12
    pattern = tridiagonal(n)
    groups = Groups(pattern, n)
    assert groups.count == 3

    def function(z):
        left, right = np.r_[0, z[:-1]], np.r_[z[1:], 0]
        return np.sin(z) * left + z * right**2

    z = rng.uniform(0.5, 1, n)
    found = np.zeros((n, n))
    point = np.concatenate([[7.0], z])
    found[pattern] = difference(lambda w: function(w[1:]), point, slice(1, n + 1), groups, len(pattern[0]))
    expected = np.array([(function(z + e) - function(z - e)) / 2e-6 for e in 1e-6 * np.eye(n)]).T
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"varying_mass": True}, {"rods": True}, {"varying_mass": True, "rods": True}])
def test_start_values_are_those_of_the_traced_model(options):
    native, traced = pair(N, **options)
    moved = P0 + 1e-3
    for mode in ("correct", "trust"):
        p0 = moved if mode == "correct" else P0
        found, expected = (da.consistent_initial_values(model, p0=p0, v0=V0, mode=mode) for model in (native, traced))
        for kind, value in expected.values.items():
            np.testing.assert_allclose(found.values[kind], value, rtol=1e-11, atol=1e-11, err_msg=kind)


def test_hidden_constraints_are_those_of_the_traced_model():
    native, traced = pair(N, rods=True, varying_mass=True)
    rng = np.random.default_rng(5)
    p, v = rng.uniform(-1, 1, (2, N))
    lam = rng.uniform(-1, 1, N // 2)
    found, expected = da.hidden_constraints(native), da.hidden_constraints(traced)
    np.testing.assert_allclose(found.velocity(p, v), expected.velocity(p, v), rtol=1e-13)
    np.testing.assert_allclose(found.acceleration(p, v, lam=lam), expected.acceleration(p, v, lam=lam), rtol=1e-12)


@pytest.mark.parametrize("gives", [("by p",), ("by p", "first")])
def test_what_is_not_given_of_a_constraint_follows_from_the_rest(gives):
    _, traced = pair(N, rods=True)
    native = da.EquationsOfMotion(
        p=names(N), parameters={"k": 3.0, "c": 0.1}, mass=np.ones(N), force=native_force(N),
        holonomic=native_rods(N, gives),
    )  # fmt: skip
    found, expected = (da.consistent_initial_values(model, p0=P0, v0=V0) for model in (native, traced))
    np.testing.assert_allclose(found.lam, expected.lam, rtol=1e-6)
    np.testing.assert_allclose(found.a, expected.a, atol=1e-6)


def test_structure_and_promises():
    native, traced = pair(N)
    assert native.structure == traced.structure
    assert native.untraceable == {}
    assert native.time_acts_through_inputs
    driven, _ = pair(N, inputs={"drive": np.sin})
    assert not driven.structure.autonomous
    with pytest.raises(da.ModelError, match="moves with time"):
        da.EquationsOfMotion(p=names(N), mass=np.ones(N), force=native_force(N, moves=True), autonomous=True)


def test_models_are_copied_and_pickled():
    native, _ = pair(N, rods=True, varying_mass=True, with_accelerations=True)
    expected = da.simulate(native, (0, 1), p0=P0, v0=V0).p[-1]
    for model in (copy.copy(native), copy.deepcopy(native), pickle.loads(pickle.dumps(native))):
        np.testing.assert_array_equal(da.simulate(model, (0, 1), p0=P0, v0=V0).p[-1], expected)


def test_a_model_that_arrives_again_is_known():
    """What was derived for the first serves the second; other data of a native function is another model."""
    native, _ = pair(N, varying_mass=True)
    packed = pickle.dumps(native)
    first, again = pickle.loads(packed), pickle.loads(packed)
    other = pickle.loads(pickle.dumps(pair(N, varying_mass=True, together=False)[0]))
    assert again.kept is first.kept
    assert other.kept is not first.kept


def test_other_parameters_reach_the_code():
    native, traced = (model.replace(parameters={"k": 11.0, "c": 0.5}) for model in pair(N))
    found, expected = (da.simulate(model, (0, 1), p0=P0, v0=V0).p[-1] for model in (native, traced))
    np.testing.assert_array_equal(found, expected)
    assert abs(found - da.simulate(pair(N)[0], (0, 1), p0=P0, v0=V0).p[-1]).max() > 0.1


# -- faults --------------------------------------------------------------------------------------------------------


def build(**given):
    return da.EquationsOfMotion(**{"p": names(N), "mass": np.ones(N), "force": native_force(N)} | given)


@pytest.mark.parametrize(
    ("recipe", "gives", "words"),
    [
        ("springs", {"value": None}, "package.module:name"),
        (3, {"value": None}, "package.module:name"),
        ("a:b", {}, "at least 'value'"),
        ("a:b", None, "at least 'value'"),
        ("a:b", {"value": None, "by p": 3}, "rows and columns"),
        ("a:b", {"value": None, "by p": ([0, 1], [0])}, "rows and columns"),
    ],
)
def test_faulty_functions_are_refused(recipe, gives, words):
    with pytest.raises(da.ModelError, match=words):
        NativeFunction(recipe, {}, gives)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"force": NativeFunction("a:b", {}, {"value": None}, rows=3)}, "force=.*needs 6 rows, not 3"),
        ({"force": NativeFunction("a:b", {}, {"value": None, "by p": ([7], [0])})}, "outside of 6×6"),
        ({"force": NativeFunction("a:b", {}, {"value": None, "by p": ([1, 1], [0, 0])})}, "an entry twice"),
        ({"force": NativeFunction("a:b", {}, {"value": None, "by p": None})}, "needs rows and columns"),
        ({"force": NativeFunction("a:b", {}, {"value": diagonal(N)})}, "'value' is a vector"),
        ({"force": NativeFunction("a:b", {}, {"value": None, "third": None})}, "'third', which is no quantity"),
        ({"force": NativeFunction("a:b", {}, {"value": None, "with a by p": diagonal(N)})}, "not given"),
        ({"force": NativeFunction("a:b", {}, {"value": None}, reads=("q",))}, "reads 'q'"),
        ({"mass": NativeFunction("a:b", {}, {"value": None}, reads=("p",))}, "mass=.*needs rows and columns"),
        ({"mass": NativeFunction("a:b", {}, {"value": diagonal(N)}, reads=("v",))}, "mass=.*reads 'v'"),
        ({"holonomic": NativeFunction("a:b", {}, {"value": None}, reads=("p",))}, "holonomic=.*needs rows="),
        ({"holonomic": NativeFunction("a:b", {}, {"value": None}, reads=("p",), rows=1)}, "must give 'by p'"),
        (
            {"holonomic": NativeFunction("a:b", {}, {"value": None}, reads=("p",), rows=1, moves=True)},
            "must give 'first' and 'second'",
        ),
        ({"w": ["z"], "auxiliary": NativeFunction("a:b", {}, {"value": None})}, "auxiliary=: a native function cannot"),
    ],
)
def test_functions_that_do_not_fit_are_named(given, words):
    with pytest.raises(da.ModelError, match=words):
        build(**given)


@pytest.mark.parametrize("recipe", ["no_such_package.anywhere:springs", "native_recipes:no_such_recipe"])
def test_code_that_is_missing_is_named(recipe):
    model = build(force=NativeFunction(recipe, {}, {"value": None}))
    with pytest.raises(da.ModelError, match=recipe):
        da.simulate(model, (0, 1), p0=P0)


def test_where_code_cannot_be_evaluated_the_run_says_so():
    native, _ = pair(N)
    with pytest.raises(da.FunctionFailed, match="force"):
        da.consistent_initial_values(native, p0=np.full(N, 2e3))
    with pytest.raises(da.SimulationError, match="t ="):
        da.simulate(native, (0, 10), p0=np.zeros(N), v0=np.full(N, 1e6), method="rkf45")


def test_derivatives_that_would_be_too_many_are_refused():
    """Nobody knows their pattern, and full ones take memory for millions of entries."""
    n = 3000
    model = da.EquationsOfMotion(p=names(n), mass=np.ones(n), force=native_force(n, derivatives=False))
    with pytest.raises(da.ModelError, match=r"does not give its derivative .by p.*Hem5"):
        da.formulate(model, "index2")


def test_kinematics_follow_from_the_matrix_or_the_rate():
    traced = da.EquationsOfMotion(
        p=names(N), v=[f"w{i}" for i in range(N)], mass=np.ones(N), force=lambda s: -s.p,
        kinematics=lambda s: np.diag(1 + 0.2 * np.cos(s.p)),
    )  # fmt: skip
    for rate in (True, False):
        native = da.EquationsOfMotion(
            p=names(N), v=[f"w{i}" for i in range(N)], mass=np.ones(N), force=lambda s: -s.p,
            kinematics=native_kinematics(N, rate),
        )  # fmt: skip
        for method in (da.Hem5(), da.Radau5(), da.Dassl()):
            found, expected = (
                da.simulate(model, (0, 2), p0=P0, v0=V0, method=method).p[-1] for model in (native, traced)
            )
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_mass_is_asked_for_both_triangles():
    assert native_mass(N).gives["value"][0].size == 3 * N - 2
    assert isinstance(native_mass(N).code(build().graph), Code)
