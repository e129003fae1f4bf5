"""Every method on models with native functions gives what it gives on the same models traced."""

import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import dalembert as da
import native_recipes
from native_recipes import names, native_force, native_loaded, native_rods, pair, traced_force, traced_mass, traced_rods

N = 6
P0 = np.array([1.0, 1.0, 0.8, np.sqrt(2 - 0.64), 1.2, np.sqrt(2 - 1.44)])
V0 = np.zeros(N)
TIGHT = dict(rtol=1e-9, atol=1e-9)

EXPLICIT = [da.Hem5(), da.Rkf45(), da.Mexx(), da.Phem56()]
IMPLICIT = [
    *(da.Radau5(formulation=name) for name in ("index1", "index2", "index3", "ggl", "baumgarte")),
    da.Geoms(), da.Geoms(formulation="index1"), da.Geoms(algebraic="svd"), da.Dassl(), da.Dassl(formulation="index2"),
    da.Radau5(jacobian=da.GroupedDifferences()), da.Dassl(jacobian=da.Exact(partitioned=True)),
]  # fmt: skip


def ends(models, method, **options):
    given = dict(p0=P0, v0=V0, method=method) | options
    return [da.simulate(model, (0, 2), **given) for model in models]


@pytest.mark.parametrize("options", [{}, {"varying_mass": True}, {"rods": True}, {"varying_mass": True, "rods": True}])
@pytest.mark.parametrize("method", EXPLICIT, ids=repr)
def test_explicit_methods(method, options):
    found, expected = ends(pair(N, **options), method)
    assert len(found.t) == len(expected.t)  # their sizes follow rounding of error estimates
    np.testing.assert_allclose(found.x[-1], expected.x[-1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("with_accelerations", [False, True])
@pytest.mark.parametrize("rods", [False, True])
@pytest.mark.parametrize("method", IMPLICIT, ids=repr)
def test_implicit_methods(method, rods, with_accelerations):
    models = pair(N, varying_mass=True, rods=rods, with_accelerations=with_accelerations)
    found, expected = ends(models, method, **TIGHT)
    np.testing.assert_allclose(found.p[-1], expected.p[-1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.v[-1], expected.v[-1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.lam[-1], expected.lam[-1], rtol=1e-5, atol=1e-5)


def test_overdetermined_equations():
    found, expected = ends(pair(N, rods=True, varying_mass=True, with_accelerations=True), da.Odassl(), **TIGHT)
    np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-6)
    assert found.max_residual("position") < 1e-8


@pytest.mark.parametrize("method", [da.Hem5(), da.Radau5(), da.Geoms(), da.Dassl(formulation="index1")], ids=repr)
def test_results_can_be_asked_for_everything(method):
    found, expected = ends(pair(N, varying_mass=True, rods=True, with_accelerations=True), method, **TIGHT)
    assert found.max_residual("position") < 1e-7
    assert found.max_residual("acceleration") == pytest.approx(expected.max_residual("acceleration"), abs=1e-5)
    np.testing.assert_allclose(found.accelerations()[-1], expected.accelerations()[-1], atol=1e-4)
    np.testing.assert_allclose(found.at(1.0).p, expected.at(1.0).p, atol=1e-6)
    np.testing.assert_array_equal(found["x3"], found.p[:, 3])


@pytest.mark.parametrize("method", [da.Rkf45(), da.Mexx(), da.Radau5(), da.Dassl()], ids=repr)
def test_inputs_with_breakpoints(method):
    """A force that sets in at t = 0.7 stands in θ, where the code finds it."""
    drive = da.Input(lambda t: 2.0 * (t > 0.7), breakpoints=[0.7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.UntraceableWarning)
        models = pair(N, inputs={"drive": drive})
        found, expected = ends(models, method, **TIGHT)
    np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-7)
    still, _ = ends(pair(N), method, **TIGHT)
    assert abs(found.p[-1] - still.p[-1]).max() > 0.1


@pytest.mark.parametrize("method", [da.Hem5(), da.Radau5(), da.Geoms()], ids=repr)
def test_events(method):
    """One that is only looked for, one that changes velocities."""
    events = [
        da.Event(lambda s: s.x0 - 0.6, name="passes"),
        da.Event(lambda s: s.x0 - 0.2, direction=-1, action=lambda s: {"x0_dot": -s.x0_dot}, name="bounces"),
    ]
    found, expected = ends(pair(N, varying_mass=True, with_accelerations=True), method, events=events, **TIGHT)
    assert len(expected.events.t) >= 2
    np.testing.assert_allclose(found.events.t, expected.events.t, atol=1e-7)
    np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-6)


@pytest.mark.parametrize("method", [da.Hem5(), da.Radau5(), da.Geoms(), da.Dassl()], ids=repr)
def test_constraints_are_released(method):
    release = da.Event(lambda s: s.t - 0.5, action=lambda s: da.Transition(active=["lam2"]), name="go")
    found, expected = ends(pair(N, rods=True), method, events=release, **TIGHT)
    np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-6)
    held, broken = (np.abs(found.p[-1][k] ** 2 + found.p[-1][k + 1] ** 2 - 2) for k in (2, 0))
    assert held < 1e-6 < broken


def test_parts_that_are_traced_and_native_ones_mix():
    """Constraints of the graph with native forces, and the other way round."""
    common = dict(p=names(N), parameters={"k": 3.0, "c": 0.1}, mass=np.ones(N))
    both = (
        da.EquationsOfMotion(force=native_force(N), holonomic=traced_rods, **common),
        da.EquationsOfMotion(force=traced_force, holonomic=native_rods(N), **common),
        da.EquationsOfMotion(force=traced_force, holonomic=traced_rods, **common),
    )
    for method in (da.Hem5(), da.Radau5(), da.Geoms()):
        *mixed, expected = ends(both, method, **TIGHT)
        for found in mixed:
            np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-7)


@pytest.mark.parametrize("method", [da.Mexx(), da.Radau5(), da.Geoms(), da.Dassl(formulation="index1")], ids=repr)
def test_applied_forces_may_read_multipliers(method):
    """Friction: derivatives by λ go through the code."""
    common = dict(p=names(N), parameters={"k": 3.0, "c": 0.1}, mass=np.ones(N))

    def friction(s):
        return [-0.05 * s.lam[i // 2] * s.v[i] for i in range(N)]

    def force(s):
        return [f + 2 * g for f, g in zip(traced_force(s), friction(s), strict=True)]

    models = (
        da.EquationsOfMotion(force=native_loaded(N, friction), holonomic=native_rods(N), **common),
        da.EquationsOfMotion(force=force, holonomic=traced_rods, **common),
    )
    found, expected = ends(models, method, **TIGHT)
    np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-6)
    without, _ = ends(pair(N, rods=True), method, **TIGHT)
    assert abs(found.p[-1] - without.p[-1]).max() > 1e-4


def test_explicit_equations_need_a_traced_mass():
    native, _ = pair(N, varying_mass=True)
    with pytest.raises(da.ModelError, match="its mass is a native function"):
        da.simulate(native, (0, 1), p0=P0, method=da.Dassl(form="explicit"))
    common = dict(p=names(N), parameters={"k": 3.0, "c": 0.1}, mass=traced_mass)
    models = [
        da.EquationsOfMotion(force=native_force(N, with_accelerations=True), **common),
        da.EquationsOfMotion(force=traced_force, **common),
    ]
    found, expected = ends(models, da.Dassl(form="explicit"), **TIGHT)
    np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-7)


def test_with_functions_in_python():
    """Nothing is exact then, but all of it runs."""
    common = dict(p=names(N), parameters={"k": 3.0, "c": 0.1}, mass=np.ones(N))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.UntraceableWarning)
        model = da.EquationsOfMotion(force=lambda s: [-float(q) for q in s.p], holonomic=native_rods(N), **common)
    traced = da.EquationsOfMotion(force=lambda s: -s.p, holonomic=traced_rods, **common)
    for method in (da.Hem5(), da.Radau5(formulation="index2")):
        found, expected = ends((model, traced), method, **TIGHT)
        np.testing.assert_allclose(found.p[-1], expected.p[-1], atol=1e-6)


def test_another_process_makes_its_own_code():
    model, _ = pair(N, varying_mass=True, rods=True)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = pool.submit(native_recipes.run, model, P0, V0).result()
    np.testing.assert_array_equal(elsewhere, native_recipes.run(model, P0, V0))


def test_other_parameters_need_no_new_code():
    native, traced = (model.replace(parameters={"k": 9.0}) for model in pair(N))
    found, expected = ends((native, traced), da.Radau5())
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9, atol=1e-10)


def test_a_chain_of_many_masses_runs():
    """As many as nobody would trace; the wave that the first one sends has not come far."""
    n = 20_000
    model = da.EquationsOfMotion(p=names(n), parameters={"k": 3.0, "c": 0.1}, mass=np.ones(n), force=native_force(n))
    p0 = np.zeros(n)
    p0[0] = 0.5
    start = dict(p0=p0, t_eval=[0.0, 0.5], rtol=1e-7, atol=1e-9)
    short, _ = pair(30)
    expected = da.simulate(short, (0, 0.5), **(start | {"p0": p0[:30]}), method="rkf45").p[-1]
    for method in (da.Rkf45(), da.Hem5(), da.Mexx(), da.Radau5()):
        sol = da.simulate(model, (0, 0.5), method=method, **start)
        np.testing.assert_allclose(sol.p[-1][:10], expected[:10], atol=1e-6)
        assert np.abs(sol.p[-1][100:]).max() < 1e-12
        assert sol["x7"].shape == (2,)
