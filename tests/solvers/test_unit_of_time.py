"""Results must not depend on the unit of time, nor on constraints that are not there."""

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize import formulate
from mechanisms import random_mechanism

METHODS = {
    **{f"Radau5 {name}": da.Radau5(formulation=name) for name in ("ggl", "index2", "index1", "index3")},
    "Dassl": da.Dassl(),
    "Dassl index1": da.Dassl(formulation="index1"),
    "Odassl": da.Odassl(),
    "Odassl acceleration": da.Odassl(level="acceleration"),
    "Odassl sparse": da.Odassl(level="acceleration", linear_solver=da.Sparse()),
    "Radau5 sparse": da.Radau5(linear_solver=da.Sparse()),
}


def arm(unit):
    """A double pendulum with a spring and a damper, its time told in units of 1/unit seconds."""
    return da.EquationsOfMotion(
        p=["x", "y", "a1", "b1"],
        mass=[1, 1, 0.5, 0.5],
        force=lambda s: [
            -3 * s.x / unit**2,
            -9.81 / unit**2 - 0.2 * s.y_dot / unit,
            0.1 * (s.x - s.a1) / unit**2,
            -5 / unit**2,
        ],
        holonomic=lambda s: [s.x**2 + s.y**2 - 1, (s.x - s.a1) ** 2 + (s.y - s.b1) ** 2 - 0.25],
    )


def run(method, unit, tolerance):
    model = arm(unit)
    levels = {"p": 1.0, "v": 1 / unit, "lam": 1 / unit**2}
    atol = {name: tolerance * level for kind, level in levels.items() for name in model.names(kind)}
    v0 = np.array([0, 1, 0, 1]) / unit
    return da.simulate(model, (0, 2 * unit), p0=[1, 0, 1, 0.5], v0=v0, method=method, rtol=tolerance, atol=atol)


@pytest.mark.parametrize("name", METHODS)
def test_steps_do_not_depend_on_the_unit_of_time(name):
    reference = run(METHODS[name], 1.0, 1e-6)
    for unit in (1e-6, 1e3, 1e12):
        sol = run(METHODS[name], unit, 1e-6)
        assert abs(sol.stats.accepted - reference.stats.accepted) <= 0.1 * reference.stats.accepted
        np.testing.assert_allclose(sol.p[-1], reference.p[-1], atol=1e-4)
        np.testing.assert_allclose(sol.lam[-1] * unit**2, reference.lam[-1], atol=1e-2)


def steps_of(seed, method, unit, tolerance=1e-6):
    model, start = random_mechanism(seed, time=unit)
    levels = {"p": 1.0, "v": 1 / unit, "lam": 1 / unit**2, "r": 1 / unit**2}
    atol = {name: tolerance * level for kind, level in levels.items() for name in model.names(kind)}
    sol = da.simulate(model, (0, 0.5 * unit), **start, method=method, rtol=tolerance, atol=atol, max_steps=20_000)
    return sol.stats.accepted


@pytest.mark.parametrize("seed", [0, 7])  # with sparse matrices, and with full ones
@pytest.mark.parametrize("name", [name for name in METHODS if "sparse" not in name])
def test_random_mechanisms_in_other_units_of_time(name, seed):
    reference = steps_of(seed, METHODS[name], 1.0)
    for unit in (1e-6, 1e6 if "index3" in name else 1e12):
        assert abs(steps_of(seed, METHODS[name], unit) - reference) <= 0.1 * reference


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 40))
@pytest.mark.parametrize("name", METHODS)
def test_many_random_mechanisms_in_other_units_of_time(name, seed):
    reference = steps_of(seed, METHODS[name], 1.0)
    for unit in (1e-6, 1e3, 1e6):
        assert abs(steps_of(seed, METHODS[name], unit) - reference) <= 0.1 * reference + 1


def test_one_number_for_all_tolerances_keeps_the_weights_of_the_literature():
    problem = da.problems.pendulum()
    tolerances = dict.fromkeys(("x", "y", "x_dot", "y_dot", "lam1"), 1e-07)
    one, each = (problem.simulate(method=da.Radau5(), rtol=1e-7, atol=atol) for atol in (1e-7, tolerances))
    np.testing.assert_array_equal(one.x, each.x)


# -- velocities that no multiplier acts on -----------------------------------------------------------------------------


def test_index_3_without_constraints_is_as_the_other_formulations():
    ball = da.EquationsOfMotion(
        p=["z", "angle"],
        mass=lambda s: [[1 + s.angle**2, 0.1], [0.1, 1]],
        force=lambda s: [-1 - 1e6 * np.minimum(s.z, 0), -s.angle],
    )
    runs = [
        da.simulate(ball, (0, 3), p0=[0.5, 1], method=da.Radau5(formulation=name), rtol=1e-8, atol=1e-8)
        for name in ("ggl", "index1", "index2", "index3")
    ]
    for sol in runs[1:]:
        np.testing.assert_array_equal(sol.x, runs[0].x)


@pytest.mark.parametrize(
    ("mass", "force", "expected"),
    [
        (np.eye(3), lambda s: [0, 0, -s.z], [2, 2, 1]),
        (np.eye(3), lambda s: [0, 0, -s.x_dot], [2, 2, 1]),  # a force that follows a constrained velocity
        ([[1, 0, 0], [0, 1, 0.1], [0, 0.1, 1]], lambda s: [0, 0, -s.z], [2, 2, 2]),  # inertia connects z with y
        (np.eye(3), lambda s: [0, 0, -0.1 * s.lam[0] * s.z_dot], [2, 2, 2]),  # friction of the constraint acts on z
    ],
)
def test_velocities_are_weighted_where_multipliers_act(mass, force, expected):
    model = da.EquationsOfMotion(p=["x", "y", "z"], mass=mass, force=force, holonomic=lambda s: [s.x**2 + s.y**2 - 1])
    system = formulate(model, "index3")
    assert system.index[system.slices["v"]].tolist() == expected


# -- redundancy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [*METHODS.values(), da.Radau5(formulation="baumgarte"), da.Hem5(), da.Mexx(), da.Rkf45()], ids=repr
)
def test_redundancy_is_answered_with_the_method_that_treats_it(method):
    twice = da.EquationsOfMotion(
        p=["x", "y"], mass=[1, 1], force=[0, -9.81], holonomic=lambda s: [s.x**2 + s.y**2 - 1, s.x**2 + s.y**2 - 1]
    )
    with pytest.raises(da.SimulationError, match=r"Geoms\(algebraic='svd'\)"):
        da.simulate(twice, (0, 1), p0=[1, 0], method=method)
    assert da.simulate(twice, (0, 1), p0=[1, 0], method=da.Geoms(algebraic="svd")).success


def test_models_without_multipliers_are_not_sent_to_geoms():
    model = da.QuasiLinearDAE(x=["a", "b"], leading=[1, 0], rhs=lambda s: [-s.a, s.a - 1], hidden="given")
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(model, (0, 1), x0=[1, 0], method=da.Radau5(initial_values="trust"))
    assert "Geoms" not in str(caught.value)
