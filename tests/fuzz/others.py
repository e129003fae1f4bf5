"""Pendulums on a cart in joint coordinates, sleighs with a knife edge, implicit and quasi-linear DAEs of index 1."""

from __future__ import annotations

import numpy as np

import dalembert as da

from .cases import Case, null_part, saddle

GRAVITY = 9.81


def random_cart(rng: np.random.Generator) -> Case:
    """A cart with a chain of pendulums: the mass matrix is full and depends on the angles."""
    n = int(rng.integers(1, 4))
    length, mass, cart = rng.uniform(0.3, 1.0, n), rng.uniform(0.2, 2.0, n), rng.uniform(0.5, 3.0)
    stiffness, damping, t_end = 10 ** rng.uniform(0, 2), rng.uniform(0, 0.5), float(rng.uniform(0.5, 1.5))

    def matrices(q, v):
        """M and f − c as lists: sums of m_i J_iᵀ J_i and of forces."""
        M = [[cart if i == j == 0 else 0.0 for j in range(n + 1)] for i in range(n + 1)]
        f = [-stiffness * q[0] - damping * v[0]] + [-damping * v[k + 1] for k in range(n)]
        for i in range(n):
            Jx = [1.0] + [length[k] * np.cos(q[k + 1]) if k <= i else 0.0 for k in range(n)]
            Jy = [0.0] + [length[k] * np.sin(q[k + 1]) if k <= i else 0.0 for k in range(n)]
            ax = sum(-length[k] * np.sin(q[k + 1]) * v[k + 1] ** 2 for k in range(i + 1))
            ay = sum(length[k] * np.cos(q[k + 1]) * v[k + 1] ** 2 for k in range(i + 1))
            for a in range(n + 1):
                f[a] = f[a] - mass[i] * (Jx[a] * ax + Jy[a] * (ay + GRAVITY))
                for b in range(n + 1):
                    M[a][b] = M[a][b] + mass[i] * (Jx[a] * Jx[b] + Jy[a] * Jy[b])
        return M, f

    def rates(t, y, modes):
        q, v = y[: n + 1], y[n + 1 :]
        M, f = matrices(q, v)
        return np.concatenate([v, np.linalg.solve(np.array(M, float), np.array(f, float))])

    model = da.EquationsOfMotion(
        p=["x", *(f"angle{i}" for i in range(n))], mass=lambda s: matrices(s.p, [0.0] * (n + 1))[0],
        force=lambda s: matrices(s.p, s.v)[1],
    )  # fmt: skip
    start = dict(p0=rng.uniform(-1.5, 1.5, n + 1), v0=rng.normal(size=n + 1))
    return Case(name="cart", model=model, start=start, t_end=t_end, rates=rates)


def random_sleigh(rng: np.random.Generator) -> Case:
    """A body on a knife edge at a distance from its centre, on springs, maybe on a circle too."""
    m, inertia, a = rng.uniform(0.5, 2), rng.uniform(0.05, 0.5), rng.uniform(-0.5, 0.5)
    k, c, torque, t_end = 10 ** rng.uniform(0, 2), rng.uniform(0, 0.5), rng.normal(), float(rng.uniform(0.5, 1.5))
    circle = rng.random() < 0.3
    M = np.diag([m, m, inertia])

    def force(p, v):
        return [-k * p[0] - c * v[0], -k * p[1] - c * v[1], torque - c * v[2]]

    def rates(t, y, modes):
        p, v = y[:3], y[3:]
        G, gamma = derivatives(p, v)
        return np.concatenate([v, saddle(M, G, np.array(force(p, v), float), gamma)])

    def derivatives(p, v):
        sin, cos = np.sin(p[2]), np.cos(p[2])
        G, gamma = [[-sin, cos, -a]], [(-cos * v[0] - sin * v[1]) * v[2]]
        if circle:
            G.append([2 * p[0], 2 * p[1], 0.0])
            gamma.append(2 * (v[0] ** 2 + v[1] ** 2))
        return np.array(G), np.array(gamma)

    def tangent(t, y, d):
        G = derivatives(y[:3], y[3:])[0]
        return np.concatenate([null_part(G[1:], d[:3]), null_part(G, d[3:])])

    model = da.EquationsOfMotion(
        p=["x", "y", "phi"], mass=[m, m, inertia], force=lambda s: force(s.p, s.v),
        nonholonomic=lambda s: [-np.sin(s.phi) * s.x_dot + np.cos(s.phi) * s.y_dot - a * s.phi_dot],
        **(dict(holonomic=lambda s: [s.x**2 + s.y**2 - 1.0]) if circle else {}),
    )  # fmt: skip
    direction = rng.uniform(-np.pi, np.pi)
    p = np.array([np.cos(direction), np.sin(direction), rng.uniform(-3, 3)])
    v = null_part(derivatives(p, np.zeros(3))[0], rng.normal(size=3))
    return Case(name="sleigh", model=model, start=dict(p0=p, v0=v), t_end=t_end, rates=rates, tangent=tangent)


def random_dae(rng: np.random.Generator) -> Case:
    """x' and z' from f, g with an algebraic y; residuals may be nonlinear in x'."""
    a, b, c, d = rng.uniform(0.05, 0.5), rng.uniform(-0.5, 0.5), rng.uniform(-2, 2, 6), rng.random()
    shape, implicit, fast = int(rng.integers(3)), rng.random() < 0.5, 10 ** rng.uniform(0, 3)
    t_end = float(rng.uniform(0.5, 1.5))

    def extra(x_dot):
        return (x_dot**3, np.sin(x_dot), np.tanh(x_dot))[shape]

    def f(x, y, t):
        return 1.5 * np.tanh(c[0] + c[1] * x + c[2] * np.sin(y)) - b * x + 0.3 * np.sin(c[3] * t)

    def g(x, y, z):
        return np.cos(z + c[4]) - fast * (z - np.sin(x))

    def constraint(x, y):
        return (2 + d) * y + 0.1 * np.tanh(y) - 0.1 * c[5] - x

    def y_of(x):
        return root(lambda y: constraint(x, y))

    def rates(t, state, modes):
        x, y, z = state
        right = f(x, y, t)
        x_dot = root(lambda value: value + a * extra(value) - right) if implicit else right / (1 + a * x**2)
        y_dot = x_dot / (2 + d + 0.1 / np.cosh(y) ** 2)
        return np.array([x_dot, y_dot, g(x, y, z)])

    def tangent(t, state, change):
        x, _, z = change
        return np.array([x, x / (2 + d + 0.1 / np.cosh(state[1]) ** 2), z])

    if implicit:
        model = da.ImplicitDAE(
            x=["x", "y", "z"],
            residual=lambda s: [
                s.x_dot + a * extra(s.x_dot) - f(s.x, s.y, s.t), constraint(s.x, s.y), s.z_dot - g(s.x, s.y, s.z)
            ],
        )  # fmt: skip
    else:
        model = da.QuasiLinearDAE(
            x=["x", "y", "z"], rhs=lambda s: [f(s.x, s.y, s.t), constraint(s.x, s.y), g(s.x, s.y, s.z)],
            leading=lambda s: [[1 + a * s.x**2, 0, 0], [0, 0, 0], [0, 0, 1]],
        )  # fmt: skip
    x, z = rng.uniform(-1, 1, 2)
    start = dict(x0=[x, y_of(x), z])
    features = {"stiff"} if fast > 100 else set()
    return Case(
        name="implicit" if implicit else "quasi-linear", model=model, start=start, t_end=t_end, rates=rates,
        kinds=("x",), tangent=tangent, features=features,
    )  # fmt: skip


def root(function, value=0.0):
    """Newton's method with central differences."""
    for _ in range(50):
        step = 2e-6 * function(value) / (function(value + 1e-6) - function(value - 1e-6))
        value -= step
        if abs(step) < 1e-15 * (1 + abs(value)):
            break
    return value
