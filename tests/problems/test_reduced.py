"""Problems of our own against their reduced equations of motion, integrated here."""

import numpy as np
from index1 import Index1, mixed_error
from scipy.integrate import solve_ivp

from dalembert import problems


def integrate(rhs, y0, t_end):
    return solve_ivp(rhs, (0, t_end), y0, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


def offset_curve(sigma, A=2.0, B=1.0, radius=0.25):
    """Path of the ball's centre: γ + radius·n with the inner unit normal n; its first derivative by σ."""
    tangent = np.array([-A * np.sin(sigma), B * np.cos(sigma)])
    length = np.hypot(*tangent)
    normal = np.array([-tangent[1], tangent[0]]) / length
    curvature = A * B / length**3
    centre = np.array([A * np.cos(sigma), B * np.sin(sigma)]) + radius * normal
    return centre, tangent * (1 - radius * curvature)


def test_ball_in_ellipse():
    """Energy alone determines the speed, so the reduced equation is the first-order σ' = speed(σ) / |P'(σ)|."""
    problem, g = problems.ball_in_ellipse(), 9.81

    def rate(t, y):
        point, tangent = offset_curve(y[0])
        return [np.sqrt(49.0 - 2 * g * (point[1] + 0.75)) / np.hypot(*tangent)]

    (sigma,) = integrate(rate, problem.s0, 3.0)
    point, tangent = offset_curve(sigma)
    reference = problem.reference
    assert mixed_error(sigma, reference.s) < 1e-10
    assert mixed_error(point, reference.p) < 1e-10
    assert mixed_error(tangent * rate(0, [sigma])[0], reference.v) < 1e-10


def test_ball_in_ellipse_contact_point_stays_regular_and_goes_round():
    problem = problems.ball_in_ellipse()
    assert problem.reference.s[0] > problem.s0[0] + 4 * np.pi
    for sigma in np.linspace(0, 2 * np.pi, 201):
        _, tangent = offset_curve(sigma)
        assert tangent @ tangent > 0.2  # |γ'|² (1 - radius·curvature)², c_σ in other words


def test_ball_in_ellipse_multiplier_is_the_contact_force():
    problem = problems.ball_in_ellipse()
    oracle = Index1(problem)
    a, lam = oracle.accelerations(0.0, oracle.y0)
    # at the bottom the centre's path has the ring's radius of curvature A²/B = 4 less the ball's radius
    assert np.abs(lam - (9.81 + 49 / 3.75)) < 1e-12
    assert np.abs(a - [0, 49 / 3.75]).max() < 1e-12


def test_motor_pendulum():
    m, L, g, k, resistance, leakage, inductance, knee = 1.0, 0.5, 9.81, 1.2, 2.0, 0.05, 0.6, 0.8

    def reduced(t, y):
        angle, rate, current = y
        flux_dot = 12 * np.sin(3 * t) - resistance * current - k * rate
        torque = k * current - m * g * L * np.sin(angle)
        return [rate, torque / (m * L**2), flux_dot / (leakage + inductance / np.cosh(current / knee) ** 2)]

    problem = problems.motor_pendulum()
    angle, rate, current = integrate(reduced, np.zeros(3), 5.0)
    reference = problem.reference
    assert mixed_error(L * np.array([np.sin(angle), -np.cos(angle)]), reference.p) < 1e-10
    assert mixed_error(L * rate * np.array([np.cos(angle), np.sin(angle)]), reference.v) < 1e-10
    assert mixed_error(current, reference.w) < 1e-10
    assert mixed_error(leakage * current + inductance * knee * np.tanh(current / knee), reference.r) < 1e-10


def test_motor_pendulum_saturates():
    """The voltage must drive the core beyond its knee, otherwise the auxiliary equation would be as good as linear."""
    oracle = Index1(problems.motor_pendulum())
    run = solve_ivp(oracle.rhs, (0, 5), oracle.y0, method="DOP853", rtol=1e-8, atol=1e-8)
    current = run.y[5]
    assert np.abs(current).max() > 3 * 0.8


def test_sleigh_turns_round_and_keeps_its_energy():
    problem = problems.sleigh()
    oracle = Index1(problem)
    run = solve_ivp(oracle.rhs, (0, 12), oracle.y0, method="DOP853", rtol=1e-10, atol=1e-10)
    theta, v = run.y[2], run.y[3:]
    forward = v[0] * np.cos(theta) + v[1] * np.sin(theta)
    assert forward[0] < -1.4
    assert forward[-1] > 1.49  # all of the energy, speed 1.5, is in the straight motion at last
    energy = 0.5 * (v[0] ** 2 + v[1] ** 2 + 3 * 0.25 * v[2] ** 2)
    assert np.ptp(energy) < 1e-8
