"""Saddle-point systems for the tests of the solvers: random mechanisms as matrices (M, G), well conditioned."""

from __future__ import annotations

import numpy as np
import scipy.linalg


def positive(rng, n):
    """A positive definite matrix with condition number of a few."""
    A = rng.normal(size=(n, n))
    return A @ A.T / n + np.eye(n)


def tree(rng, fathers, size=3, joint=2):
    """Bodies with full mass matrices; body k hangs on body fathers[k] (−1: ground) by `joint` constraints."""
    n = len(fathers)
    M = scipy.linalg.block_diag(*[positive(rng, size) for _ in fathers]) if n else np.zeros((0, 0))
    G = np.zeros((joint * n, size * n))
    for k, father in enumerate(fathers):
        rows = slice(joint * k, joint * (k + 1))
        G[rows, size * k : size * (k + 1)] = np.eye(joint, size) * 2 + 0.5 * rng.normal(size=(joint, size))
        if father >= 0:
            G[rows, size * father : size * (father + 1)] = rng.normal(size=(joint, size))
    return M, G


def random_fathers(rng, n, trees=1):
    """A random forest."""
    return [-1 if k < trees else int(rng.integers(0, k)) for k in range(n)]


def with_loops(rng, M, G, pairs, size=3):
    """Add one constraint between each pair of bodies."""
    extra = np.zeros((len(pairs), M.shape[0]))
    for row, pair in enumerate(pairs):
        for body in pair:
            if body >= 0:
                extra[row, size * body : size * (body + 1)] = rng.normal(size=size)
    return M, np.vstack([G, extra])


def joint_coordinates(rng, fathers, size=3, joint=1):
    """The form (3.11): each body has massless joint coordinates, and all its coordinates are constrained."""
    n, width = len(fathers), size + joint
    M, G = np.zeros((width * n, width * n)), np.zeros((size * n, width * n))
    for k, father in enumerate(fathers):
        at, rows = width * k, slice(size * k, size * (k + 1))
        M[at : at + size, at : at + size] = positive(rng, size)
        G[rows, at : at + size] = np.eye(size) * 2 + 0.3 * rng.normal(size=(size, size))
        G[rows, at + size : at + width] = rng.normal(size=(size, joint))
        if father >= 0:
            G[rows, width * father : width * father + size] = rng.normal(size=(size, size))
    return M, G


def insulator_chain(N, angles=None):
    """M and G of the chain of cap insulators of [MEXX, 5.4]; p = (x0, y0, x1, y1, phi1, …)."""
    n_v, n_lam = 3 * (N + 1) + 2, 2 * (N + 1) + 2
    phi = np.zeros(N + 2) if angles is None else angles
    m = np.full(N + 2, 15.0)
    inertia, d, c = np.full(N + 2, 0.35), np.full(N + 2, 0.12), np.full(N + 2, 0.08)
    m[1], inertia[1], d[1] = 34.0, 3.1, 0.37
    m[N + 1], inertia[N + 1], d[N + 1] = 9.8, 0.05, 0.16
    masses = np.zeros(n_v)
    for i in range(1, N + 2):
        masses[3 * i - 1 : 3 * i + 2] = m[i], m[i], inertia[i]
    G = np.zeros((n_lam, n_v))
    x = lambda i: 3 * i - 1 if i else 0  # noqa: E731
    sin, cos = np.sin(phi), np.cos(phi)
    G[0, 0], G[0, x(1)], G[0, x(1) + 2] = 1, -1, -d[1] * cos[1]
    G[1, 1], G[1, x(1) + 1], G[1, x(1) + 2] = 1, -1, -d[1] * sin[1]
    for i in range(1, N + 2):
        row = 2 * i
        if i == 1:
            a, b = d[1] / 2 * np.sqrt(3), d[1] / 2
            lever = (-a * sin[1] - b * cos[1], a * cos[1] - b * sin[1])
        else:
            lever = (-d[i] * cos[i], -d[i] * sin[i])
        for q in range(2):
            G[row + q, x(i) + q], G[row + q, x(i) + 2] = 1, lever[q]
            if i <= N:
                G[row + q, x(i + 1) + q] = -1
                G[row + q, x(i + 1) + 2] = c[i + 1] * (-cos[i + 1], -sin[i + 1])[q]
    return np.diag(masses), G


def anything(rng):
    """M, G and U (or None) without the structure of a mechanism: random blocks, some without mass or rank."""
    n = int(rng.integers(1, 25))
    m = int(rng.integers(0, n + 1))
    M, G, i = np.zeros((n, n)), np.zeros((m, n)), 0
    while i < n:
        size = min(int(rng.integers(1, 5)), n - i)
        at, kind = slice(i, i + size), rng.random()
        if kind > 0.5:
            M[at, at] = positive(rng, size)
        elif kind > 0.3:
            M[at, at] = np.diag(rng.uniform(0.5, 2, size))
        elif kind > 0.2:
            v = rng.uniform(0.5, 2, size=(size, 1))
            M[at, at] = v @ v.T
        i += size
    if rng.random() < 0.5:
        order = rng.permutation(n)
        M = M[np.ix_(order, order)]
    for row in G:
        width = int(rng.integers(1, min(n, 6) + 1))
        columns = rng.permutation(n)[:width] if rng.random() < 0.5 else (rng.integers(0, n) + np.arange(width)) % n
        row[columns] = rng.normal(size=width)
    U = G + 0.1 * rng.normal(size=G.shape) * ((G != 0) | (rng.random(G.shape) < 0.05))
    return M, G, U if rng.random() < 0.4 else None


def direct(M, G, f, g, U=None):
    """NumPy's answer."""
    U = G if U is None else U
    A = np.block([[M, U.T], [G, np.zeros((len(G), len(G)))]])
    x = np.linalg.solve(A, np.concatenate([f, g]))
    return x[: len(M)], x[len(M) :], np.linalg.cond(A)
