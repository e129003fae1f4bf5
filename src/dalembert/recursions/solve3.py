"""Symmetric positive definite systems of three equations: L D Lᵀ in registers."""

from __future__ import annotations

from dalembert.recursions.words import formula


@formula
def factor3(S, weak):
    """Whether S has pivots above `weak` times its trace, and its factors (l, l, l, 1/d, 1/d, 1/d)."""
    least = weak * (S[0] + S[3] + S[5])
    d0 = S[0]
    i0 = 1.0 / d0
    l1, l2 = S[1] * i0, S[2] * i0
    d1 = S[3] - l1 * S[1]
    i1 = 1.0 / d1
    m = S[4] - l1 * S[2]
    l3 = m * i1
    d2 = S[5] - l2 * S[2] - l3 * m
    return d0 > least and d1 > least and d2 > least, (l1, l2, l3, i0, i1, 1.0 / d2)


@formula
def solve3(L, b):
    y1 = b[1] - L[0] * b[0]
    y2 = b[2] - L[1] * b[0] - L[2] * y1
    x2 = y2 * L[5]
    x1 = y1 * L[4] - L[2] * x2
    return b[0] * L[3] - L[0] * x1 - L[1] * x2, x1, x2
