"""Vectors of three numbers, matrices and symmetric matrices in space, as tuples: they live in registers.

A matrix is (xx, xy, xz, yx, …, zz), a symmetric one (xx, xy, xz, yy, yz, zz).
"""

from __future__ import annotations

from dalembert.recursions.words import formula, put, real


@formula
def load3(address, k):
    return real(address, k), real(address, k + 1), real(address, k + 2)


@formula
def store3(address, k, a):
    put(address, k, a[0])
    put(address, k + 1, a[1])
    put(address, k + 2, a[2])


@formula
def load6(address, k):
    return (
        real(address, k), real(address, k + 1), real(address, k + 2),
        real(address, k + 3), real(address, k + 4), real(address, k + 5),
    )  # fmt: skip


@formula
def store6(address, k, a):
    put(address, k, a[0])
    put(address, k + 1, a[1])
    put(address, k + 2, a[2])
    put(address, k + 3, a[3])
    put(address, k + 4, a[4])
    put(address, k + 5, a[5])


@formula
def load9(address, k):
    return (
        real(address, k), real(address, k + 1), real(address, k + 2),
        real(address, k + 3), real(address, k + 4), real(address, k + 5),
        real(address, k + 6), real(address, k + 7), real(address, k + 8),
    )  # fmt: skip


@formula
def store9(address, k, a):
    put(address, k, a[0])
    put(address, k + 1, a[1])
    put(address, k + 2, a[2])
    put(address, k + 3, a[3])
    put(address, k + 4, a[4])
    put(address, k + 5, a[5])
    put(address, k + 6, a[6])
    put(address, k + 7, a[7])
    put(address, k + 8, a[8])


@formula
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@formula
def sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@formula
def scale(s, a):
    return s * a[0], s * a[1], s * a[2]


@formula
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@formula
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@formula
def turn(E, a):
    """E a"""
    return (
        E[0] * a[0] + E[1] * a[1] + E[2] * a[2],
        E[3] * a[0] + E[4] * a[1] + E[5] * a[2],
        E[6] * a[0] + E[7] * a[1] + E[8] * a[2],
    )


@formula
def back(E, a):
    """Eᵀ a"""
    return (
        E[0] * a[0] + E[3] * a[1] + E[6] * a[2],
        E[1] * a[0] + E[4] * a[1] + E[7] * a[2],
        E[2] * a[0] + E[5] * a[1] + E[8] * a[2],
    )


@formula
def times(A, B):
    """A B"""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@formula
def column(A, k):
    """Column k of a matrix; k must be a constant."""
    return A[k], A[k + 3], A[k + 6]


@formula
def sym(S, a):
    """S a with a symmetric S."""
    return (
        S[0] * a[0] + S[1] * a[1] + S[2] * a[2],
        S[1] * a[0] + S[3] * a[1] + S[4] * a[2],
        S[2] * a[0] + S[4] * a[1] + S[5] * a[2],
    )


@formula
def full(S):
    """A symmetric matrix as a matrix."""
    return S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5]


@formula
def turned_sym(E, S):
    """E S Eᵀ with a symmetric S."""
    P = times(E, full(S))
    return (
        P[0] * E[0] + P[1] * E[1] + P[2] * E[2],
        P[0] * E[3] + P[1] * E[4] + P[2] * E[5],
        P[0] * E[6] + P[1] * E[7] + P[2] * E[8],
        P[3] * E[3] + P[4] * E[4] + P[5] * E[5],
        P[3] * E[6] + P[4] * E[7] + P[5] * E[8],
        P[6] * E[6] + P[7] * E[7] + P[8] * E[8],
    )


@formula
def add6(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@formula
def add9(a, b):
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5],
        a[6] + b[6], a[7] + b[7], a[8] + b[8],
    )  # fmt: skip


@formula
def momentum(mass, lever, inertia, w, u):
    """Angular and linear momentum about the origin, of a body with m, m·c and inertia about the origin."""
    return add(sym(inertia, w), cross(lever, u)), add(scale(mass, u), cross(w, lever))


@formula
def rotation_of(e0, e1, e2, e3):
    """R(e) of Euler parameters of any length: from the child's axes to the joint's."""
    s = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    return (
        1.0 - s * (e2 * e2 + e3 * e3), s * (e1 * e2 - e0 * e3), s * (e1 * e3 + e0 * e2),
        s * (e1 * e2 + e0 * e3), 1.0 - s * (e1 * e1 + e3 * e3), s * (e2 * e3 - e0 * e1),
        s * (e1 * e3 - e0 * e2), s * (e2 * e3 + e0 * e1), 1.0 - s * (e1 * e1 + e2 * e2),
    )  # fmt: skip
