"""The heavy top against the equations of rotation about its fixed point, integrated here."""

import numpy as np
import pytest
from index1 import mixed_error
from scipy.integrate import solve_ivp

from dalembert import problems

M, G, X0 = 15.0, 9.81, np.array([0.0, 1.0, 0.0])
J = np.diag([0.234375, 0.46875, 0.234375])
J_FIXED = J + M * (X0 @ X0 * np.eye(3) - np.outer(X0, X0))  # about the tip (Steiner)


def reduced(t, y):
    """y = (rotation matrix by rows, body angular velocity): R' = R ω^, J ω' = -ω × J ω + X0 × Rᵀ (0, 0, -m g)."""
    R, omega = y[:9].reshape(3, 3), y[9:]
    hat = np.array([[0, -omega[2], omega[1]], [omega[2], 0, -omega[0]], [-omega[1], omega[0], 0]])
    torque = np.cross(X0, R.T @ [0, 0, -M * G]) - np.cross(omega, J_FIXED @ omega)
    return np.concatenate([(R @ hat).ravel(), np.linalg.solve(J_FIXED, torque)])


def rotation(e):
    """Rotation matrix of a unit quaternion by Rodrigues' formula, not by the problem's own expression."""
    axis = e[1:]
    hat = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + 2 * e[0] * hat + 2 * hat @ hat


def test_reduced_equations_reach_the_references():
    omega = np.array([0.0, 150.0, -4.61538])
    references = problems.heavy_top().references
    y, t = np.concatenate([np.eye(3).ravel(), omega]), 0.0
    assert [reference.t for reference in references] == [1.0, 2.0]
    for reference in references:
        y = solve_ivp(reduced, (t, reference.t), y, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
        t = reference.t
        R, omega = y[:9].reshape(3, 3), y[9:]
        assert np.abs(rotation(reference.p[3:]) - R).max() < 1e-8
        assert mixed_error(R @ X0, reference.p[:3]) < 1e-8
        assert mixed_error(np.concatenate([R @ np.cross(omega, X0), omega]), reference.v) < 1e-8


def test_references_keep_energy_spin_and_vertical_angular_momentum():
    """The three integrals of the symmetric top, to the accuracy claimed."""
    problem = problems.heavy_top()

    def integrals(p, v):
        R, omega = rotation(p[3:]), v[3:]
        energy = 0.5 * omega @ J_FIXED @ omega + M * G * p[2]
        return np.array([energy, omega[1], (R @ J_FIXED @ omega)[2]])

    start = integrals(problem.p0, problem.v0)
    for reference in problem.references:
        assert integrals(reference.p, reference.v) == pytest.approx(start, rel=1e-13, abs=1e-11)
        assert np.linalg.norm(reference.p[3:]) == pytest.approx(1, abs=1e-14)
