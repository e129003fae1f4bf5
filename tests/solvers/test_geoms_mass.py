"""Semi-definite mass matrices in GEOMS: recognized by their values, and named where they become so on the way."""

import numpy as np
import pytest

import dalembert as da


def shell(q):
    """L with ω = 2 L q' for Euler parameters q."""
    return np.array([[-q[1], q[0], q[3], -q[2]], [-q[2], -q[3], q[0], q[1]], [-q[3], q[2], -q[1], q[0]]])


def free_body(seed: int) -> tuple[da.EquationsOfMotion, dict]:
    """Euler parameters as coordinates: 4 Lᵀ J L has rank 3, and is positive definite along the sphere."""
    rng = np.random.default_rng(seed)
    J = np.diag(rng.uniform(0.5, 3, 3))
    model = da.EquationsOfMotion(
        p=["e0", "e1", "e2", "e3"], mass=lambda s: 4 * shell(s.p).T @ J @ shell(s.p),
        force=lambda s: -8 * shell(s.v).T @ (J @ (shell(s.p) @ s.v)), holonomic=lambda s: [s.p @ s.p - 1],
    )  # fmt: skip
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    return model, dict(p0=q, v0=shell(q).T @ rng.normal(size=3) / 2)


def turning_mass(seed: int) -> tuple[da.EquationsOfMotion, dict]:
    """A mass matrix of rank n − 1 that turns with the last coordinate; the constraint holds the direction without."""
    rng = np.random.default_rng(seed)
    m = rng.uniform(0.5, 2)
    model = da.EquationsOfMotion(
        p=["x", "y", "q", "th"], force=list(rng.normal(size=4)),
        mass=lambda s: m * np.array([
            [np.cos(s.th) ** 2, np.cos(s.th) * np.sin(s.th), 0, 0],
            [np.cos(s.th) * np.sin(s.th), np.sin(s.th) ** 2, 0, 0], [0, 0, 1.5, 0.2], [0, 0, 0.2, 1],
        ]),
        holonomic=lambda s: [s.x * np.sin(s.th) - s.y * np.cos(s.th)],
    )  # fmt: skip
    angle = rng.uniform(-1, 1)
    return model, dict(p0=[np.cos(angle), np.sin(angle), 0, angle])


@pytest.mark.parametrize("make", [free_body, turning_mass])
@pytest.mark.parametrize("seed", range(4))
def test_changing_semidefinite_mass_is_recognized(make, seed):
    model, start = make(seed)
    expected = da.simulate(model, (0, 1), method=da.Radau5(), rtol=1e-10, atol=1e-10, **start)
    for options in (dict(), dict(algebraic="svd"), dict(algebraic="qr"), dict(linear_solver=da.Sparse())):
        sol = da.simulate(model, (0, 1), method=da.Geoms(**options), rtol=1e-8, atol=1e-8, **start)
        np.testing.assert_allclose(sol.p[-1], expected.p[-1], atol=1e-6)


def test_regular_mass_that_changes_is_eliminated():
    for problem in (da.problems.andrews(), da.problems.truck()):
        form = da.Geoms().formulate(problem.model)
        assert "a" not in form.slices


def test_mass_that_vanishes_on_the_way_is_named():
    """M = diag(x², 1): at x = 0 the constraint, not the mass, determines the acceleration of x."""
    model = da.EquationsOfMotion(
        p=["x", "y"], mass=lambda s: [s.x**2, 1], force=[0, 0], holonomic=lambda s: [s.x + s.y - 1],
    )  # fmt: skip
    start = dict(p0=[1, 0], v0=[-1, 1])
    with pytest.raises(da.SingularMatrix, match="accelerations='unknown'"):
        da.simulate(model, (0, 2), method=da.Geoms(singular="stop"), p0=[0.0, 1.0], v0=[0, 0])
    sol = da.simulate(model, (0, 0.9), method=da.Geoms(accelerations="unknown"), rtol=1e-8, atol=1e-8, **start)
    plain = da.simulate(model, (0, 0.9), method=da.Radau5(), rtol=1e-8, atol=1e-8, **start)
    np.testing.assert_allclose(sol.p[-1], plain.p[-1], atol=1e-6)


def test_no_advice_on_redundancy_where_the_mass_is_to_blame():
    model, start = free_body(1)
    with pytest.raises(da.SingularMatrix, match="accelerations='unknown'") as error:
        da.simulate(model, (0, 1), method=da.Geoms(accelerations="eliminated"), **start)
    assert "redundant" not in str(error.value)
