"""Elimination of one body of a kinematic tree. Its block of memory is `d`, its father's matrix `up`.

A body has n velocities, m constraints that are eliminated with it, and a father with f velocities (f = 0: none):

    M w + Uᵀ λ = f,     G w + C w_father = g,     and  + V λ  in the father's equations (V = Cᵀ in the symmetric case)

In every way of elimination M stands first in the block, so that sons can add to it; in the symmetric case they do so in
its lower triangle only. Pivot rows are kept in the block, as real numbers. `body_kernels` makes kernels of this, also
with fixed sizes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dalembert.compile.kernel import OPTIONS
from dalembert.linalg.saddle import TINY

#: limits beyond which the tree is left to a solver that can pivot freely: pivots of constraints as a fraction of their
#: row or column, and what a son adds to its father's mass (a joint that hardly restrains the son makes this large)
WEAK = 1e-5
HEAVY = 1e6

inlined = njit(**OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


# ways of elimination, and the lengths of their blocks
DEFINITE, GENERAL, JOINT = 0, 1, 2


def block_length(way: int, n: int, m: int, f: int) -> int:
    if way == DEFINITE:
        return n * n + m * n + m * m + m * f
    if way == JOINT:
        free = n - m
        return n * n + m * n + m * f + free * (n + free + f) + 3 * m + f
    s = n + m
    return n * n + 2 * m * n + 2 * m * f + s * s + s * f + 2 * s


@inlined
def eliminate_definite(d, up, n, m, f):
    """(3.10a): Cholesky decomposition of M, Gᵀ := L⁻¹ Gᵀ = Q R, C := R⁻ᵀ C, M_father += Cᵀ C.

    Block: L (inverse diagonal), Qᵀ, R (inverse diagonal), C. Returns 0, or 1 + the unknown that has no pivot.
    """
    g = n * n
    r = g + m * n
    c = r + m * m
    for j in range(n):
        s = d[j * n + j]
        whole = s
        for p in range(j):
            s -= d[j * n + p] * d[j * n + p]
        if not s > TINY * whole:
            return j + 1
        inverse = 1.0 / np.sqrt(s)
        d[j * n + j] = inverse
        for i in range(j + 1, n):
            s = d[i * n + j]
            for p in range(j):
                s -= d[i * n + p] * d[j * n + p]
            d[i * n + j] = s * inverse
    for k in range(m):
        whole = 0.0
        for j in range(n):
            s = d[g + k * n + j]
            for p in range(j):
                s -= d[g + k * n + p] * d[j * n + p]
            s *= d[j * n + j]
            d[g + k * n + j] = s
            whole += s * s
        for q in range(k):
            s = 0.0
            for j in range(n):
                s += d[g + q * n + j] * d[g + k * n + j]
            d[r + q * m + k] = s
            for j in range(n):
                d[g + k * n + j] -= s * d[g + q * n + j]
        s = 0.0
        for j in range(n):
            s += d[g + k * n + j] * d[g + k * n + j]
        if not s > WEAK * WEAK * whole:
            return n + k + 1
        inverse = 1.0 / np.sqrt(s)
        d[r + k * m + k] = inverse
        for j in range(n):
            d[g + k * n + j] *= inverse
    for k in range(m):
        for a in range(f):
            s = d[c + k * f + a]
            for q in range(k):
                s -= d[r + q * m + k] * d[c + q * f + a]
            d[c + k * f + a] = s * d[r + k * m + k]
    for a in range(f):
        for b in range(a + 1):
            s = 0.0
            for k in range(m):
                s += d[c + k * f + a] * d[c + k * f + b]
            if a == b and s > HEAVY * up[a * f + a] and up[a * f + a] > 0.0:
                return n + 1
            up[a * f + b] += s
    return 0


@inlined
def forward_definite(d, x, above, n, m, f):
    """(3.10b): x = (f, g) of the body, `above` = f of its father."""
    g = n * n
    r = g + m * n
    c = r + m * m
    for j in range(n):
        s = x[j]
        for p in range(j):
            s -= d[j * n + p] * x[p]
        x[j] = s * d[j * n + j]
    for k in range(m):  # R⁻ᵀ g
        s = x[n + k]
        for q in range(k):
            s -= d[r + q * m + k] * x[n + q]
        x[n + k] = s * d[r + k * m + k]
    for k in range(m):
        s = -x[n + k]
        for j in range(n):
            s += d[g + k * n + j] * x[j]
        x[n + k] = s
        for a in range(f):
            above[a] -= d[c + k * f + a] * s


@inlined
def backward_definite(d, x, above, n, m, f):
    """(3.10c): `above` = w of the father."""
    g = n * n
    r = g + m * n
    c = r + m * m
    for k in range(m):
        s = x[n + k]
        for a in range(f):
            s += d[c + k * f + a] * above[a]
        x[n + k] = s
        for j in range(n):
            x[j] -= d[g + k * n + j] * s
    for k in range(m - 1, -1, -1):
        s = x[n + k]
        for q in range(k + 1, m):
            s -= d[r + k * m + q] * x[n + q]
        x[n + k] = s * d[r + k * m + k]
    for j in range(n - 1, -1, -1):
        s = x[j]
        for p in range(j + 1, n):
            s -= d[p * n + j] * x[p]
        x[j] = s * d[j * n + j]


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
