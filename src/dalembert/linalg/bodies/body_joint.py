"""Bodies with joint coordinates: reduction to them (3.17). See `bodies` for the notation."""

from __future__ import annotations

import numpy as np

from dalembert.linalg.bodies.common import HEAVY, WEAK, inlined
from dalembert.linalg.saddle.saddle import TINY


@inlined
def eliminate_joint(d, up, n, m, f):
    """(3.17a): G = (K, J), and the last n − m velocities are joint coordinates z.

    Block: M, G := (LU factors of K, K⁻¹ J), C := H = K⁻¹ C, B = M P with P = (−K⁻¹ J, 1), L L^T = A = Pᵀ M P, and
    Y = L⁻¹ Bᵀ H; then M_father += Hᵀ M H − Yᵀ Y. Returns 0, or 1 + the unknown that has no pivot.
    """
    free = n - m
    g = n * n
    c = g + m * n
    b = c + m * f
    l = b + n * free
    y = l + free * free
    pivots = y + free * f + 2 * m
    old = pivots + m
    for a in range(f):
        d[old + a] = up[a * f + a]
    for i in range(n):
        for j in range(i):
            d[j * n + i] = d[i * n + j]
    for k in range(m):
        best, row, largest = abs(d[g + k * n + k]), k, 0.0
        for i in range(k + 1, m):
            if abs(d[g + i * n + k]) > best:
                best, row = abs(d[g + i * n + k]), i
        for i in range(k):
            largest = max(largest, abs(d[g + i * n + k]))
        if not best > WEAK * largest:
            return n + k + 1
        d[pivots + k] = row
        if row != k:
            for j in range(n):
                d[g + k * n + j], d[g + row * n + j] = d[g + row * n + j], d[g + k * n + j]
            for a in range(f):
                d[c + k * f + a], d[c + row * f + a] = d[c + row * f + a], d[c + k * f + a]
        inverse = 1.0 / d[g + k * n + k]
        for i in range(k + 1, m):
            factor = d[g + i * n + k] * inverse
            d[g + i * n + k] = factor
            for j in range(k + 1, n):
                d[g + i * n + j] -= factor * d[g + k * n + j]
            for a in range(f):
                d[c + i * f + a] -= factor * d[c + k * f + a]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            factor = d[g + i * n + j]
            for a in range(m, n):
                d[g + i * n + a] -= factor * d[g + j * n + a]
            for a in range(f):
                d[c + i * f + a] -= factor * d[c + j * f + a]
        inverse = 1.0 / d[g + i * n + i]
        for a in range(m, n):
            d[g + i * n + a] *= inverse
        for a in range(f):
            d[c + i * f + a] *= inverse
    for i in range(n):
        for z in range(free):
            total = d[i * n + m + z]
            for j in range(m):
                total -= d[i * n + j] * d[g + j * n + m + z]
            d[b + i * free + z] = total
    for z in range(free):
        for q in range(z + 1):
            total = d[b + (m + z) * free + q]
            for j in range(m):
                total -= d[g + j * n + m + z] * d[b + j * free + q]
            whole = total
            for p in range(q):
                total -= d[l + z * free + p] * d[l + q * free + p]
            if q < z:
                d[l + z * free + q] = total * d[l + q * free + q]
            else:
                if not total > TINY * whole:
                    return m + z + 1
                d[l + z * free + z] = 1.0 / np.sqrt(total)
    for z in range(free):
        for a in range(f):
            d[y + z * f + a] = 0.0
        for j in range(m):
            value = d[b + j * free + z]
            for a in range(f):
                d[y + z * f + a] += value * d[c + j * f + a]
        for q in range(z):
            value = d[l + z * free + q]
            for a in range(f):
                d[y + z * f + a] -= value * d[y + q * f + a]
        for a in range(f):
            d[y + z * f + a] *= d[l + z * free + z]
        for a in range(f):
            value = d[y + z * f + a]
            for e in range(a + 1):
                up[a * f + e] -= value * d[y + z * f + e]
    for i in range(m):
        for a in range(f):
            value = 0.0  # (M H) at (i, a)
            for j in range(m):
                value += d[i * n + j] * d[c + j * f + a]
            for e in range(a, f):
                up[e * f + a] += d[c + i * f + e] * value
    for a in range(f):
        if up[a * f + a] > HEAVY * d[old + a] and d[old + a] > 0.0:
            return n + 1
    return 0


@inlined
def forward_joint(d, x, above, n, m, f):
    """(3.17b): x := (f − M h, with L⁻¹ Pᵀ of it in place of z; h = K⁻¹ g)."""
    free = n - m
    g = n * n
    c = g + m * n
    l = c + m * f + n * free
    y = l + free * free
    pivots = y + free * f + 2 * m
    for k in range(m):
        row = n + int(d[pivots + k])
        if row != n + k:
            x[n + k], x[row] = x[row], x[n + k]
    for i in range(m):
        total = x[n + i]
        for j in range(i):
            total -= d[g + i * n + j] * x[n + j]
        x[n + i] = total
    for i in range(m - 1, -1, -1):
        total = x[n + i]
        for j in range(i + 1, m):
            total -= d[g + i * n + j] * x[n + j]
        x[n + i] = total / d[g + i * n + i]
    for i in range(n):
        total = x[i]
        for j in range(m):
            total -= d[i * n + j] * x[n + j]
        x[i] = total
    for z in range(free):
        total = x[m + z]
        for j in range(m):
            total -= d[g + j * n + m + z] * x[j]
        for q in range(z):
            total -= d[l + z * free + q] * x[m + q]
        x[m + z] = total * d[l + z * free + z]
    for a in range(f):
        total = 0.0
        for j in range(m):
            total += d[c + j * f + a] * x[j]
        for z in range(free):
            total -= d[y + z * f + a] * x[m + z]
        above[a] -= total


@inlined
def backward_joint(d, x, above, n, m, f):
    """(3.17c): z, then the body's own velocities, then λ."""
    free = n - m
    g = n * n
    c = g + m * n
    b = c + m * f
    l = b + n * free
    y = l + free * free
    t = y + free * f
    pivots = t + 2 * m
    for i in range(m):
        total = 0.0
        for a in range(f):
            total += d[c + i * f + a] * above[a]
        d[t + i] = total
    for z in range(free):
        total = x[m + z]
        for a in range(f):
            total += d[y + z * f + a] * above[a]
        x[m + z] = total
    for z in range(free - 1, -1, -1):
        total = x[m + z]
        for q in range(z + 1, free):
            total -= d[l + q * free + z] * x[m + q]
        x[m + z] = total * d[l + z * free + z]
    for i in range(m):
        total = x[i]
        for j in range(m):
            total += d[i * n + j] * d[t + j]
        for z in range(free):
            total -= d[b + i * free + z] * x[m + z]
        d[t + m + i] = total
    for i in range(m):
        total = x[n + i] - d[t + i]
        for z in range(free):
            total -= d[g + i * n + m + z] * x[m + z]
        x[i] = total
    for i in range(m):  # K^T λ = the rest of the forces
        total = d[t + m + i]
        for j in range(i):
            total -= d[g + j * n + i] * x[n + j]
        x[n + i] = total / d[g + i * n + i]
    for i in range(m - 1, -1, -1):
        total = x[n + i]
        for j in range(i + 1, m):
            total -= d[g + j * n + i] * x[n + j]
        x[n + i] = total
    for k in range(m - 1, -1, -1):
        row = n + int(d[pivots + k])
        if row != n + k:
            x[n + k], x[row] = x[row], x[n + k]
