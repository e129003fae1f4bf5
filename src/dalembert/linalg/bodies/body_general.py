"""Any body: LU factorization with pivoting of its own scaled matrix. See `bodies` for the notation."""

from __future__ import annotations

import numpy as np

from dalembert.linalg.bodies.common import HEAVY, WEAK, inlined


@inlined
def eliminate_general(d, up, n, m, f, symmetric):
    """LU factors K of the body's own scaled matrix, D = K⁻¹ (0, C), M_father −= V D_λ.

    Block: M, G, C, U, V, K, D, scale, pivots. Returns 0, or 1 + the unknown that has no pivot.
    """
    g = n * n
    c = g + m * n
    u = c + m * f
    v = u + m * n
    k0 = v + m * f
    s = n + m
    d0 = k0 + s * s
    scale = d0 + s * f
    pivots = scale + s
    if symmetric:
        u, v = g, c
        for i in range(n):
            for j in range(i):
                d[j * n + i] = d[i * n + j]
    for i in range(n):
        size = abs(d[i * n + i])
        if size > 0.0:
            d[scale + i] = 1.0 / np.sqrt(size)
        else:
            for k in range(m):
                size = max(size, abs(d[g + k * n + i]))
            d[scale + i] = 1.0 / size if size > 0.0 else 1.0
    for k in range(m):
        size = 0.0
        for j in range(n):
            size = max(size, abs(d[g + k * n + j]) * d[scale + j])
        d[scale + n + k] = 1.0 / size if size > 0.0 else 1.0
    for i in range(n):
        for j in range(n):
            d[k0 + i * s + j] = d[i * n + j] * d[scale + i] * d[scale + j]
        for k in range(m):
            both = d[scale + i] * d[scale + n + k]
            d[k0 + i * s + n + k] = d[u + k * n + i] * both
            d[k0 + (n + k) * s + i] = d[g + k * n + i] * both
    for i in range(m):
        for j in range(m):
            d[k0 + (n + i) * s + n + j] = 0.0
    for i in range(n):
        for a in range(f):
            d[d0 + i * f + a] = 0.0
    for k in range(m):
        for a in range(f):
            d[d0 + (n + k) * f + a] = d[c + k * f + a] * d[scale + n + k]
    for k in range(s):
        best, row = abs(d[k0 + k * s + k]), k
        for i in range(k + 1, s):
            if abs(d[k0 + i * s + k]) > best:
                best, row = abs(d[k0 + i * s + k]), i
        largest = 0.0
        for i in range(k):
            largest = max(largest, abs(d[k0 + i * s + k]))
        if not best > WEAK * largest:
            return k + 1
        d[pivots + k] = row
        if row != k:
            for j in range(s):
                d[k0 + k * s + j], d[k0 + row * s + j] = d[k0 + row * s + j], d[k0 + k * s + j]
            for a in range(f):
                d[d0 + k * f + a], d[d0 + row * f + a] = d[d0 + row * f + a], d[d0 + k * f + a]
        inverse = 1.0 / d[k0 + k * s + k]
        for i in range(k + 1, s):
            factor = d[k0 + i * s + k] * inverse
            d[k0 + i * s + k] = factor
            if factor != 0.0:
                for j in range(k + 1, s):
                    d[k0 + i * s + j] -= factor * d[k0 + k * s + j]
                for a in range(f):
                    d[d0 + i * f + a] -= factor * d[d0 + k * f + a]
    for i in range(s - 1, -1, -1):
        inverse = 1.0 / d[k0 + i * s + i]
        for a in range(f):
            total = d[d0 + i * f + a]
            for j in range(i + 1, s):
                total -= d[k0 + i * s + j] * d[d0 + j * f + a]
            d[d0 + i * f + a] = total * inverse
    for i in range(s):
        for a in range(f):
            d[d0 + i * f + a] *= d[scale + i]
    for a in range(f):
        for b in range(f):
            total = 0.0
            for k in range(m):
                total += d[v + k * f + a] * d[d0 + (n + k) * f + b]
            if a == b and abs(total) > HEAVY * abs(up[a * f + a]) and up[a * f + a] != 0.0:
                return n + 1
            up[a * f + b] -= total
    return 0


@inlined
def forward_general(d, x, above, n, m, f, symmetric):
    """x := K⁻¹ (f, g); the father's right-hand side −= V λ."""
    c = n * n + m * n
    u = c + m * f
    v = u + m * n
    k0 = v + m * f
    s = n + m
    scale = k0 + s * s + s * f
    pivots = scale + s
    if symmetric:
        v = c
    for i in range(s):
        x[i] *= d[scale + i]
    for k in range(s):
        row = int(d[pivots + k])
        if row != k:
            x[k], x[row] = x[row], x[k]
    for i in range(s):
        total = x[i]
        for j in range(i):
            total -= d[k0 + i * s + j] * x[j]
        x[i] = total
    for i in range(s - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, s):
            total -= d[k0 + i * s + j] * x[j]
        x[i] = total / d[k0 + i * s + i]
    for i in range(s):
        x[i] *= d[scale + i]
    for k in range(m):
        for a in range(f):
            above[a] -= d[v + k * f + a] * x[n + k]


@inlined
def backward_general(d, x, above, n, m, f):
    """x −= D w_father."""
    s = n + m
    d0 = n * n + 2 * m * n + 2 * m * f + s * s
    for i in range(s):
        total = x[i]
        for a in range(f):
            total -= d[d0 + i * f + a] * above[a]
        x[i] = total
