"""One contact with friction, against its conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from dalembert.solvers.moreau.cone import solve_planar, solve_spatial


@njit
def planar(A, q, mu):
    return solve_planar(A[0, 0], A[0, 1], A[1, 0], A[1, 1], q[0], q[1], mu)


@njit
def spatial(A, q, mu):
    return solve_spatial(
        A[0, 0], A[0, 1], A[0, 2], A[1, 0], A[1, 1], A[1, 2], A[2, 0], A[2, 1], A[2, 2], q[0], q[1], q[2], mu
    )


def missed(A, q, mu, p):
    """By how much the conditions of contact are missed, relative to the velocities."""
    y = A @ p + q
    scale = np.abs(q).max()
    inverse = 1 / np.trace(A)  # impulses in units of velocity
    along, slip = np.linalg.norm(p[1:]), np.linalg.norm(y[1:])
    found = [abs(min(p[0] / inverse, y[0])), max(0.0, along - mu * p[0]) / inverse]
    if along < mu * p[0] * (1 - 1e-6):
        found.append(slip)  # it sticks
    elif p[0] > 0 and along > 0:
        found.append(np.linalg.norm(y[1:] + slip * p[1:] / along))  # it slides against friction
    return max(found) / scale


@pytest.mark.parametrize("solver", [planar, spatial])
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), mu=st.just(0.0) | st.floats(1e-3, 1.5), stiffness=st.floats(-2, 2))
def test_conditions_hold(solver, seed, mu, stiffness):
    n = 2 if solver is planar else 3
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n))
    A = 10.0**stiffness * (B @ B.T + 0.05 * np.eye(n))
    q = rng.normal(size=n)
    p = np.array(solver(A, q, mu))
    jams = n == 2 and A[0, 0] - mu * abs(A[0, 1]) <= 0
    assert p[0] >= 0
    assert jams or missed(A, q, mu, p) < 1e-9
