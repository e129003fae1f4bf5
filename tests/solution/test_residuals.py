"""Residuals and accelerations against expressions derived by hand."""

import numpy as np
import pytest

from dalembert.errors import DalembertError, OptionError, UntraceableWarning
from dalembert.model import EquationsOfMotion, QuasiLinearDAE
from dalembert.problems import pendulum as pendulum_problem
from dalembert.regularize import consistent_initial_values
from dalembert.solution import Solution, Statistics, Trajectory, residuals


@pytest.fixture(autouse=True, params=["dense", "sparse"])
def matrices(request, monkeypatch):
    """Small models as they are, and as if they were large."""
    if request.param == "sparse":
        monkeypatch.setattr(residuals, "is_large", lambda matrix: True)


def result(model, t, **vectors):
    """A result that holds the given values of p, v, … at the times t."""
    slices, start = {}, 0
    for kind, values in vectors.items():
        vectors[kind] = np.array(values, float).reshape(len(t), -1)
        slices[kind] = slice(start, start + vectors[kind].shape[1])
        start = slices[kind].stop
    return Solution(
        model=model, slices=slices, names={kind: model.names(kind) for kind in slices}, stats=Statistics(),
        trajectory=Trajectory.from_points(t, np.hstack(list(vectors.values()))),
    )  # fmt: skip


def test_pendulum(solution):
    M, L, gravity = (solution.parameters[name] for name in ("m", "L", "g"))
    (x, y), (vx, vy), lam = solution.p.T, solution.v.T, solution["lam1"]
    a = np.column_stack([-2 * x * lam / M, -gravity - 2 * y * lam / M])
    expected = {
        "position": x**2 + y**2 - L**2,
        "velocity": 2 * (x * vx + y * vy),
        "acceleration": 2 * (vx**2 + vy**2) + 2 * (x * a[:, 0] + y * a[:, 1]),
        "invariant": M * (vx**2 + vy**2) / 2 + M * gravity * y,
    }
    for level, values in expected.items():
        np.testing.assert_allclose(solution.residual(level), values[:, None], rtol=1e-12, atol=1e-12)
        assert solution.max_residual(level) == pytest.approx(np.abs(values).max(), rel=1e-12)
    np.testing.assert_allclose(solution.accelerations(), a, rtol=1e-13)


def test_chunks_do_not_change_the_result(solution, monkeypatch):
    whole = solution.accelerations()
    monkeypatch.setattr(residuals, "CHUNK", 12)
    assert np.array_equal(solution.accelerations(), whole)


def test_consistent_values_have_no_residual():
    model = pendulum_problem().model
    start = consistent_initial_values(model, p0=[0.6, -0.8], v0=[0.4, 0.3])
    sol = result(model, [0.0], p=start.p, v=start.v, lam=start.lam)
    for level in ("position", "velocity", "acceleration"):
        assert sol.max_residual(level) < 1e-13
    np.testing.assert_allclose(sol.accelerations()[0], start.a, atol=1e-12)


def test_parameters_of_the_variant_count(pendulum, make_solution):
    longer = make_solution(model=pendulum.replace(parameters={"L": 3.0}))
    x, y = longer.p.T
    np.testing.assert_allclose(longer.residual("position")[:, 0], x**2 + y**2 - 9.0)


def test_nonholonomic_contact_points_and_inputs():
    model = EquationsOfMotion(
        p=["x", "y"], s=["c"], inputs={"u": lambda t: t**3},
        mass=[2.0, 2.0], force=lambda s: [1.0, 0.0],
        contact_points=lambda s: [s.c - 2 * s.x],
        holonomic=lambda s: [s.c - s.u],
        nonholonomic=lambda s: [s.y_dot - s.t * s.x_dot],
    )  # fmt: skip
    rng = np.random.default_rng(0)
    t = np.array([0.5, 1.0, 2.0])
    p, v, s, lam, mu = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), *rng.normal(size=(3, 3))
    sol = result(model, t, p=p, v=v, s=s, lam=lam, mu=mu)
    # the reduced constraint is 2 x − t³, with G = (2, 0); H = (−t, 1)
    a = np.column_stack([(1 - 2 * lam + t * mu) / 2, -mu / 2])
    np.testing.assert_allclose(sol.accelerations(), a, rtol=1e-13)
    np.testing.assert_allclose(sol.residual("position"), np.column_stack([s - 2 * p[:, 0], s - t**3]), atol=1e-13)
    velocity = [2 * v[:, 0] - 3 * t**2, v[:, 1] - t * v[:, 0]]
    np.testing.assert_allclose(sol.residual("velocity"), np.column_stack(velocity), atol=1e-13)
    acceleration = [2 * a[:, 0] - 6 * t, a[:, 1] - t * a[:, 0] - v[:, 0]]
    np.testing.assert_allclose(sol.residual("acceleration"), np.column_stack(acceleration), atol=1e-12)
    assert sol.residual("invariant").shape == (3, 0)
    assert sol.max_residual("invariant") == 0.0


@pytest.mark.parametrize("mass", [[3.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]])
def test_singular_mass(mass):
    """The constraint x = y² determines what the mass matrix leaves open."""
    model = EquationsOfMotion(
        p=["x", "y"], mass=lambda s: mass, force=lambda s: [6.0, -s.y], holonomic=lambda s: [s.x - s.y**2]
    )
    y, vy = np.array([0.5, 1.0, -2.0]), np.array([1.0, -1.0, 0.5])
    M = np.array(mass) if np.ndim(mass) == 2 else np.diag(mass)
    # λ such that M a = f − Gᵀ λ is solvable: f − Gᵀ λ = (6 − λ, −y + 2 y λ) must be in the range of M
    lam = np.full(3, 0.5) if M[1, 1] == 0 else (6 + y) / (1 + 2 * y)
    sol = result(model, [0.0, 1.0, 2.0], p=np.column_stack([y**2, y]), v=np.column_stack([2 * y * vy, vy]), lam=lam)
    a = sol.accelerations()
    rest = np.column_stack([6 - lam, -y + 2 * y * lam])
    np.testing.assert_allclose(a @ M, rest, atol=1e-12)
    np.testing.assert_allclose(a[:, 0] - 2 * y * a[:, 1], 2 * vy**2, atol=1e-12)
    assert sol.max_residual("acceleration") < 1e-12


def test_very_different_masses_are_not_taken_for_singular():
    model = EquationsOfMotion(p=["x", "y"], mass=[1e12, 1e-12], force=lambda s: [1.0, 1.0])
    sol = result(model, [0.0, 1.0], p=np.zeros((2, 2)), v=np.zeros((2, 2)))
    np.testing.assert_allclose(sol.accelerations(), [[1e-12, 1e12]] * 2, rtol=1e-14)


def test_values_that_are_not_finite_stay_visible(solution):
    solution.x[1, 0] = np.nan
    residual = solution.residual("acceleration")
    assert np.isnan(residual[1])
    assert np.isfinite(np.delete(residual, 1)).all()


def test_python_functions():
    """A function that cannot be traced goes through the same residuals."""
    with pytest.warns(UntraceableWarning, match="force"):
        model = EquationsOfMotion(p=["x"], mass=[2.0], force=lambda s: [1.0 if float(s.x) > 0 else -1.0])
    sol = result(model, [0.0, 1.0], p=[[1.0], [-1.0]], v=np.zeros((2, 1)))
    np.testing.assert_allclose(sol.accelerations().ravel(), [0.5, -0.5])


def test_quasi_linear_constraints():
    model = QuasiLinearDAE(x=["A", "B"], rhs=lambda s: [-s.A, s.A], constraints=lambda s: [s.A + s.B - 1])
    sol = result(model, [0.0, 1.0], x=[[1.0, 0.0], [0.5, 0.75]])
    assert sol.residual("constraints").tolist() == [[0.0], [0.25]]
    with pytest.raises(OptionError, match="one of constraints"):
        sol.residual("position")
    with pytest.raises(OptionError, match="QuasiLinearDAE"):
        sol.accelerations()


def test_errors(solution, make_solution):
    with pytest.raises(OptionError, match=r"did you mean 'position'.*position, velocity, acceleration, invariant"):
        solution.residual("positon")
    orphan = make_solution(model=None)
    for ask in (lambda: orphan.residual("position"), orphan.accelerations):
        with pytest.raises(DalembertError, match=r"load\(path, model="):
            ask()
    model = solution.model
    without = result(model, [0.0], p=[[1.5, 0.0]], v=[[0.0, 0.0]])
    assert without.max_residual("velocity") == 0.0
    with pytest.raises(OptionError, match="lam1"):
        without.accelerations()
