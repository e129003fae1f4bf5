"""Chains of many bodies: one mechanism in two descriptions, energy, published counts, and the time to build them."""

import time

import casadi as ca
import numpy as np
import pytest
from index1 import Index1

import dalembert as da
from dalembert import problems


def energy_of_rods(p, v, m=1.0, L=1.0, g=9.81):
    """From centres and angles, along the last axis."""
    bodies, rates = p.reshape(*p.shape[:-1], -1, 3), v.reshape(*v.shape[:-1], -1, 3)
    kinetic = 0.5 * m * (rates[..., 0] ** 2 + rates[..., 1] ** 2 + L**2 / 12 * rates[..., 2] ** 2)
    return (kinetic + m * g * bodies[..., 1]).sum(axis=-1)


@pytest.mark.parametrize("N", [1, 2, 5])
def test_absolute_and_joint_coordinates_describe_one_mechanism(N):
    times = np.linspace(0, 1, 7)
    options = {"m": 0.7, "L": 0.4, "g": 9.0, "angle": 1.2}
    absolute, joint = (
        problems.pendulum_chain(N, c, **options).simulate(method=da.Radau5(), rtol=1e-11, atol=1e-11, t_eval=times)
        for c in ("absolute", "joint")
    )
    assert np.abs(absolute.p[:, 2::3] - joint.p).max() < 1e-7
    assert np.abs(absolute.v[:, 2::3] - joint.v).max() < 1e-6
    assert np.abs(joint.p[-1] - joint.p[0]).max() > 0.5  # it did move


def test_accelerations_agree_at_any_state():
    """Also where no motion from rest comes by: the mass matrix and the centrifugal forces of the angles."""
    rng = np.random.default_rng(4)
    absolute, joint = (Index1(problems.pendulum_chain(6, c, m=2.0, L=0.6)) for c in ("absolute", "joint"))
    phi, rate = rng.uniform(-3, 3, 6), rng.uniform(-5, 5, 6)
    along = 0.6 * np.array([np.sin(phi), -np.cos(phi)])
    across = 0.6 * rate * np.array([np.cos(phi), np.sin(phi)])
    p = np.stack([*(np.cumsum(along, axis=1) - along / 2), phi], axis=1).ravel()
    v = np.stack([*(np.cumsum(across, axis=1) - across / 2), rate], axis=1).ravel()
    a, _ = absolute.accelerations(0.0, np.concatenate([p, v]))
    b, _ = joint.accelerations(0.0, np.concatenate([phi, rate]))
    assert a[2::3] == pytest.approx(b, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("method", [da.Radau5(), da.Geoms()])
def test_energy_of_the_chain_is_conserved(method):
    sol = problems.pendulum_chain(6, t_end=2.0).simulate(method=method, rtol=1e-10, atol=1e-10)
    energy = energy_of_rods(sol.p, sol.v)
    assert np.abs(energy - energy[0]).max() < 1e-5
    kinetic = 0.5 * (sol.v[:, 0::3] ** 2 + sol.v[:, 1::3] ** 2).sum(axis=1)
    assert kinetic.max() > 50  # joules go to and fro


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_pendulum_chain_reaches_its_reference(coordinates):
    problem = problems.pendulum_chain(coordinates=coordinates)
    assert problem.error(problem.simulate(method=da.Radau5(), rtol=1e-12, atol=1e-12)) < 1e-9


def test_one_rod_is_a_physical_pendulum():
    """θ'' = -(3g/2L) sin θ, by elliptic functions."""
    from dalembert.problems.pendulum import exact_angle

    sol = problems.pendulum_chain(1, angle=1.0, t_end=3.0).simulate(rtol=1e-11, atol=1e-11)
    assert (sol.p[-1, 2], sol.v[-1, 2]) == pytest.approx(exact_angle(1.0, 0.0, 1.5 * 9.81, 3.0), abs=1e-8)


def test_many_bodies_are_built_in_seconds():
    """Growing with N, not with N²: the full mass matrix would take 300 MB, its eigenvalues minutes."""
    start = time.perf_counter()
    problem = problems.pendulum_chain(2000)
    hidden = da.hidden_constraints(problem.model)
    assert time.perf_counter() - start < 15
    assert hidden.g_II.numel() == 4000
    assert problem.model.graph.value("mass").nnz() == 6000
    assert hidden.G.nnz() < 7 * 4000


def test_moving_chain_start_has_the_velocity_of_the_suspension():
    problem = problems.moving_chain(3, omega=0.7, coordinates="absolute")
    residuals = Index1(problem).residuals(0.0, np.concatenate([problem.p0, problem.v0]))
    assert max(residuals.values()) < 1e-15
    assert problem.v0 == pytest.approx(np.tile([0.21, 0.14], 3))


@pytest.mark.parametrize("omega", [0.05, 2 * np.pi * 0.05])
@pytest.mark.parametrize("N", [12, 14, 16])
def test_moving_chain_reaches_its_reference(N, omega):
    """In units of the largest angle and rate on the way, which are 1e-4 and less."""
    problem = problems.moving_chain(N, omega=omega)
    sol = problem.simulate(method=da.Radau5(), rtol=1e-10, atol=1e-14)
    assert np.abs(sol.p[-1] - problem.reference.p).max() < 5e-7 * np.abs(sol.p).max()
    assert np.abs(sol.v[-1] - problem.reference.v).max() < 3e-5 * np.abs(sol.v).max()


def test_moving_chain_in_absolute_coordinates_is_the_same():
    problem = problems.moving_chain(12, omega=2 * np.pi * 0.05, coordinates="absolute")
    sol = problem.simulate(method=da.Radau5(), rtol=1e-11, atol=1e-12)
    assert np.abs(sol.p[-1] - problem.reference.p).max() < 1e-6
    assert np.abs(sol.v[-1] - problem.reference.v).max() < 1e-6


def test_moving_chain_shape_of_the_references():
    first, last = (problems.moving_chain(N).reference.p for N in (12, 16))
    assert first[[0, 11]] == pytest.approx([-4.024636268468e-5, -3.894056953331e-5], abs=1e-16)
    assert last[[0, 15]] == pytest.approx([-4.115581191940e-5, -4.245648273172e-5], abs=1e-16)
    assert problems.moving_chain(13).reference is None
    assert problems.moving_chain(12, omega=0.06).reference is None


@pytest.mark.parametrize(
    ("N", "n_p", "n_lam", "nonzeros"), [(16, 53, 36, 327), (32, 101, 68, 631), (64, 197, 132, 1239)]
)
def test_insulator_chain_has_the_published_dimensions(N, n_p, n_lam, nonzeros):
    problem = problems.insulator_chain(N)
    graph, G = problem.model.graph, da.hidden_constraints(problem.model).G
    M = ca.sparsify(graph.value("mass"))
    assert (graph.size("p"), graph.size("v"), graph.size("lam")) == (n_p, n_p, n_lam)
    assert M.nnz() + 2 * G.nnz() == nonzeros


@pytest.mark.parametrize("N", [2, 3, 16, 32, 64])
def test_insulator_chain_start_and_reference_are_consistent(N):
    problem = problems.insulator_chain(N)
    oracle = Index1(problem)
    assert max(oracle.residuals(0.0, oracle.y0).values()) < 1e-14
    assert np.count_nonzero(np.diag(np.array(oracle._first(0.0, oracle.y0, problem.model.theta(0.0))[0])) == 0) == 2
    assert (problem.reference is None) == (N in (2, 3))
    if problem.reference is not None:
        y = np.concatenate([problem.reference.p, problem.reference.v])
        assert max(oracle.residuals(0.1, y).values()) < 1e-14
        _, lam = oracle.accelerations(0.1, y)
        assert np.abs(lam - problem.reference.lam).max() < 1e-11 * np.abs(lam).max()


@pytest.mark.parametrize(
    ("N", "method", "tolerance", "allowed"),
    [(16, da.Geoms(), 1e-10, 2e-8), (16, da.Radau5(formulation="index2"), 1e-9, 2e-6), (32, da.Geoms(), 1e-8, 1e-6)],
)
def test_insulator_chain_reaches_its_reference(N, method, tolerance, allowed):
    problem = problems.insulator_chain(N)
    sol = problem.simulate(method=method, rtol=tolerance, atol=tolerance)
    assert problem.error(sol) < allowed
    assert np.abs(sol.lam[-1] - problem.reference.lam).max() < 100 * allowed * np.abs(problem.reference.lam).max()


def test_insulator_chain_turns_back():
    """The event of the source, 0.1283: the upper end stops; before 0.1 nothing but rounding errors moves it."""
    problem = problems.insulator_chain(32, t_end=0.15)
    assert problem.reference is None
    turn = da.Event(lambda s: s.phi33_dot + np.where(s.t < 0.1, -1.0, 0.0), name="turn", terminal=True)
    sol = problem.simulate(method=da.Geoms(), rtol=1e-8, atol=1e-8, events=[turn])
    assert sol.t[-1] == pytest.approx(problems.INSULATOR_CHAIN_TURN, abs=2e-8)
