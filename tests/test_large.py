"""Systems of many bodies: chains in absolute coordinates."""

import time

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize import start_problems


def energy(p: np.ndarray, v: np.ndarray, g: float = 9.81) -> np.ndarray:
    """Of rods of mass and length 1."""
    return (0.5 * (v[..., 0::3] ** 2 + v[..., 1::3] ** 2 + v[..., 2::3] ** 2 / 12) + g * p[..., 1::3]).sum(axis=-1)


def angles(N: int, tolerance: float, t_end: float) -> np.ndarray:
    """The same chain in angles, with another method."""
    joint = da.problems.pendulum_chain(N, "joint")
    return da.simulate(joint.model, (0, t_end), **joint.start(), method="rkf45", rtol=tolerance, atol=tolerance).p[-1]


@pytest.mark.parametrize(("N", "tolerance"), [(10, 1e-9), (100, 1e-7)])
@pytest.mark.parametrize("method", ["hem5", "rkf45"])
def test_chains_in_absolute_coordinates_and_in_angles_agree(N, tolerance, method):
    chain = da.problems.pendulum_chain(N)
    sol = chain.simulate(method=method, rtol=tolerance, atol=tolerance, t_eval=[0, 1], dense_output=False)
    assert np.abs(sol.p[-1, 2::3] - angles(N, tolerance / 10, 1.0)).max() < 10 * tolerance
    assert sol.max_residual("position") < 1e-12
    assert sol.max_residual("velocity") < 1e-12
    before, after = energy(sol.p, sol.v)
    assert abs(after - before) < 100 * tolerance


def test_a_thousand_rods():
    """Four thousand constraint forces and positions at a time; nothing dense may be left, or this takes a minute."""
    begin = time.perf_counter()
    chain = da.problems.pendulum_chain(1000, t_end=0.1)
    sol = chain.simulate(method=da.Rkf45(linear_solver=da.Recursive()), t_eval=[0, 0.1], dense_output=False)
    assert sol.max_residual("position") < 1e-12
    assert sol.max_residual("velocity") < 1e-12
    before, after = energy(sol.p, sol.v)
    assert abs(after - before) < 1e-5
    # far from the suspension the rods fall freely
    assert sol.p[-1, -2] == pytest.approx(-9.81 / 2 * 0.1**2, abs=1e-6)
    assert np.allclose(sol.accelerations()[-1, 1::3][-5:], -9.81, atol=1e-4)
    assert sol.max_residual("acceleration") < 1e-6
    assert time.perf_counter() - begin < 60


def test_start_values_of_large_models_are_corrected_as_those_of_small_ones(monkeypatch):
    found = []
    for large in (start_problems.is_large, lambda matrix: False):
        monkeypatch.setattr(start_problems, "is_large", large)
        chain = da.problems.pendulum_chain(100)
        rng = np.random.default_rng(3)
        p0, v0 = chain.p0 + 1e-5 * rng.standard_normal(300), 1e-3 * rng.standard_normal(300)
        with pytest.warns(da.InitialValuesCorrected):
            found.append(da.consistent_initial_values(chain.model, p0=p0, v0=v0))
    sparse, dense = found
    for kind in ("p", "v", "a", "lam"):
        np.testing.assert_allclose(sparse.values[kind], dense.values[kind], rtol=1e-8, atol=1e-9)


def line(N: int, last) -> da.EquationsOfMotion:
    """Points on a line, each tied to the next up to the last but ten, and constraints on the first."""
    n = N - 10
    return da.EquationsOfMotion(
        p=[f"x{i}" for i in range(N)],
        mass=np.ones(N),
        force=lambda s: np.array([1.0, *[0.0] * (N - 1)]),
        holonomic=lambda s: [*(s.p[1:n] - s.p[: n - 1]), *last(s)],
        lam=[*(f"link{i}" for i in range(n - 1)), "wall", "hook"],
    )


def test_redundant_constraints_of_large_models_give_the_smallest_multipliers():
    start = da.consistent_initial_values(line(300, lambda s: [s.x0, 2 * s.x0]), p0=np.zeros(300))
    assert not start.unique
    np.testing.assert_allclose(start.a, 0, atol=1e-9)
    np.testing.assert_allclose(start.lam[-2:], [0.2, 0.4], atol=1e-6)  # λ1 + 2 λ2 = 1


def test_contradicting_constraints_of_large_models_are_named():
    with pytest.raises(da.InconsistentInitialValues, match=r"'wall'|'hook'"):
        da.consistent_initial_values(line(300, lambda s: [s.x0, s.x0 - 1]), p0=np.zeros(300))


def test_undetermined_motion_of_large_models_is_named():
    N = 500
    model = da.EquationsOfMotion(
        p=[f"x{i}" for i in range(N)],
        mass=[*np.ones(N - 1), 0.0],
        force=lambda s: np.array([*[0.0] * (N - 1), 3.0]),
    )
    with pytest.raises(da.InconsistentInitialValues, match=f"'x{N - 1}_dot'"):
        da.consistent_initial_values(model, p0=np.zeros(N))


def test_hidden_constraints_of_large_models_in_numbers():
    chain = da.problems.pendulum_chain(150)
    hidden = da.hidden_constraints(chain.model)
    start = da.consistent_initial_values(chain.model, **chain.start())
    found = hidden.acceleration(start.p, start.v, lam=start.lam)
    assert found.shape == (300,)
    assert np.abs(found).max() < 1e-9
    # the force of gravity alone lets all rods fall at the same rate: only the suspension minds
    free = hidden.acceleration(start.p, start.v, lam=np.zeros(300)).reshape(-1, 2)
    np.testing.assert_allclose(free, [[0, -9.81], *[[0, 0]] * 149], atol=1e-12)


@pytest.mark.parametrize("method", [da.Radau5(), da.Dassl(), da.Odassl()])
def test_implicit_methods_on_a_long_chain(method):
    """2400 unknowns: full matrices would take minutes."""
    problem = da.problems.pendulum_chain(300, t_end=0.2)
    options = dict(t_eval=[0.0, 0.2], dense_output=False, rtol=1e-7, atol=1e-7)
    sol, reference = (problem.simulate(method=m, **options) for m in (method, da.Hem5()))
    np.testing.assert_allclose(sol.p[-1], reference.p[-1], atol=1e-4)
    assert sol.max_residual("position") < 1e-6
