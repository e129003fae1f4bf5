"""Bodies on surfaces with edges, and independent solutions: SciPy's integrator on each smooth piece."""

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da

G = 9.81


def point(gaps, **options):
    """A mass point in a vertical plane above surfaces."""
    return da.EquationsOfMotion(p=["x", "z"], mass=[1, 1], force=[0, -G], unilateral=gaps, **options)


def along(height, slope, curvature, t, x, v):
    """State (x, z, x', z') of a point that has been sliding along z = height(x) for a time t, and its normal force."""

    def rates(_, y):
        return [y[1], -slope(y[0]) * (curvature(y[0]) * y[1] ** 2 + G) / (1 + slope(y[0]) ** 2)]

    x, v = solve_ivp(rates, (0, t), [x, v], rtol=1e-13, atol=1e-14, method="DOP853").y[:, -1] if t else (x, v)
    return np.array([x, height(x), v, slope(x) * v])


def flying(state, t):
    x, z, u, w = state
    return np.array([x + u * t, z + w * t - G * t**2 / 2, u, w - G * t])


def around_corner(r, v, t):
    """A ball of radius r whose centre comes along z = r at x = 0 with speed v, and turns round the corner (0, 0) until
    it leaves it."""

    def leaves(_, y):
        return G * np.cos(y[0]) - r * y[1] ** 2

    leaves.terminal = True
    if leaves(0, [0, v / r]) <= 0:
        return flying([0, r, v, 0], t)
    found = solve_ivp(
        lambda _, y: [y[1], G / r * np.sin(y[0])], (0, t), [0, v / r], events=leaves, rtol=1e-13, atol=1e-14,
        method="DOP853",
    )  # fmt: skip
    angle, omega = found.y[:, -1]
    s, c = np.sin(angle), np.cos(angle)
    return flying([r * s, r * c, r * omega * c, -r * omega * s], t - found.t[-1])


def error(sol, exact):
    return np.abs(np.concatenate([sol.p[-1], sol.v[-1]]) - exact).max()
