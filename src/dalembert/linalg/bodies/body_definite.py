"""Bodies with positive definite mass: Cholesky and QR decompositions (3.10); for U close to G, LU of the same blocks.

See `bodies` for the notation.
"""

from __future__ import annotations

import numpy as np

from dalembert.linalg.bodies.common import HEAVY, WEAK, inlined
from dalembert.linalg.saddle.saddle import TINY


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
def eliminate_nearly(d, up, n, m, f):
    """The same for U close to G: M = L R, G := G R⁻¹, U := (L⁻¹ Uᵀ)ᵀ, S = G Uᵀ = L R again, C := L⁻¹ C, Vᵀ := R⁻ᵀ Vᵀ.

    Then M_father += V C. M and S are nearly symmetric and positive definite, and need no pivoting. Block: M, G, C, U,
    Vᵀ, S; diagonals of the factors R are inverted. Returns 0, or 1 + the unknown that has no pivot.
    """
    g = n * n
    c = g + m * n
    u = c + m * f
    v = u + m * n
    s0 = v + m * f
    for k in range(n):
        pivot, whole = d[k * n + k], d[k * n + k]
        for p in range(k):
            pivot -= d[k * n + p] * d[p * n + k]
        if not pivot > TINY * whole:
            return k + 1
        inverse = 1.0 / pivot
        d[k * n + k] = inverse
        for j in range(k + 1, n):
            row, column = d[k * n + j], d[j * n + k]
            for p in range(k):
                row -= d[k * n + p] * d[p * n + j]
                column -= d[j * n + p] * d[p * n + k]
            d[k * n + j], d[j * n + k] = row, column * inverse
    for k in range(m):
        for j in range(n):
            left, right = d[g + k * n + j], d[u + k * n + j]
            for p in range(j):
                left -= d[g + k * n + p] * d[p * n + j]
                right -= d[u + k * n + p] * d[j * n + p]
            d[g + k * n + j], d[u + k * n + j] = left * d[j * n + j], right
    for i in range(m):
        for k in range(m):
            total = 0.0
            for j in range(n):
                total += d[g + i * n + j] * d[u + k * n + j]
            d[s0 + i * m + k] = total
    for k in range(m):
        pivot, whole = d[s0 + k * m + k], d[s0 + k * m + k]
        for p in range(k):
            pivot -= d[s0 + k * m + p] * d[s0 + p * m + k]
        if not pivot > WEAK * whole:
            return n + k + 1
        inverse = 1.0 / pivot
        d[s0 + k * m + k] = inverse
        for j in range(k + 1, m):
            row, column = d[s0 + k * m + j], d[s0 + j * m + k]
            for p in range(k):
                row -= d[s0 + k * m + p] * d[s0 + p * m + j]
                column -= d[s0 + j * m + p] * d[s0 + p * m + k]
            d[s0 + k * m + j], d[s0 + j * m + k] = row, column * inverse
    for k in range(m):
        for a in range(f):
            left, right = d[c + k * f + a], d[v + k * f + a]
            for p in range(k):
                left -= d[s0 + k * m + p] * d[c + p * f + a]
                right -= d[s0 + p * m + k] * d[v + p * f + a]
            d[c + k * f + a], d[v + k * f + a] = left, right * d[s0 + k * m + k]
    for a in range(f):
        for b in range(f):
            total = 0.0
            for k in range(m):
                total += d[v + k * f + a] * d[c + k * f + b]
            if a == b and abs(total) > HEAVY * abs(up[a * f + a]) and up[a * f + a] != 0.0:
                return n + 1
            up[a * f + b] += total
    return 0


@inlined
def forward_nearly(d, x, above, n, m, f):
    """As `forward_definite`."""
    g = n * n
    v = g + 2 * m * n + m * f
    s0 = v + m * f
    for j in range(n):
        total = x[j]
        for p in range(j):
            total -= d[j * n + p] * x[p]
        x[j] = total
    for k in range(m):
        total = -x[n + k]
        for j in range(n):
            total += d[g + k * n + j] * x[j]
        for p in range(k):
            total -= d[s0 + k * m + p] * x[n + p]
        x[n + k] = total
        for a in range(f):
            above[a] -= d[v + k * f + a] * total


@inlined
def backward_nearly(d, x, above, n, m, f):
    """As `backward_definite`."""
    c = n * n + m * n
    u = c + m * f
    s0 = u + m * n + m * f
    for k in range(m):
        total = x[n + k]
        for a in range(f):
            total += d[c + k * f + a] * above[a]
        x[n + k] = total
    for k in range(m - 1, -1, -1):
        total = x[n + k]
        for p in range(k + 1, m):
            total -= d[s0 + k * m + p] * x[n + p]
        total *= d[s0 + k * m + k]
        x[n + k] = total
        for j in range(n):
            x[j] -= d[u + k * n + j] * total
    for j in range(n - 1, -1, -1):
        total = x[j]
        for p in range(j + 1, n):
            total -= d[j * n + p] * x[p]
        x[j] = total * d[j * n + j]
