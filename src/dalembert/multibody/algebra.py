"""Vectors, rotations and inertias whose entries are numbers or CasADi scalars.

A vector is a tuple, a matrix a tuple of rows. Numbers stay numbers, and products with 0 and 1 are taken at once: what
does not depend on the state, or vanishes because an axis is z, leaves no trace in the graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

Scalar = Any  # float or casadi.SX (1×1)
Vector = tuple
Matrix = tuple

ZERO: Vector = (0.0, 0.0, 0.0)
ONE: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
UNIT = ONE  # its rows are the unit vectors


def times(a: Scalar, b: Scalar) -> Scalar:
    """a b."""
    if type(a) is not ca.SX:
        if type(b) is not ca.SX:
            return a * b
        a, b = b, a
    if type(b) is not ca.SX:
        if b == 0.0:
            return 0.0
        if b == 1.0:
            return a
        if b == -1.0:
            return -a
    return a * b


def plus(a: Scalar, b: Scalar) -> Scalar:
    """a + b."""
    if type(a) is not ca.SX and a == 0.0:
        return b
    if type(b) is not ca.SX and b == 0.0:
        return a
    return a + b


def minus(a: Scalar, b: Scalar) -> Scalar:
    """a − b."""
    if type(a) is not ca.SX and a == 0.0:
        return -b
    if type(b) is not ca.SX and b == 0.0:
        return a
    return a - b


def total(terms: Sequence[Scalar]) -> Scalar:
    """The sum; those that subtract come as negative terms."""
    value: Scalar = 0.0
    for term in terms:
        value = plus(value, term)
    return value


def cosine(x: Scalar) -> Scalar:
    return ca.cos(x) if type(x) is ca.SX else math.cos(x)


def sine(x: Scalar) -> Scalar:
    return ca.sin(x) if type(x) is ca.SX else math.sin(x)


def root(x: Scalar) -> Scalar:
    return ca.sqrt(x) if type(x) is ca.SX else math.sqrt(x)


# -- vectors -------------------------------------------------------------------------------------------------------


def add(*vectors: Vector) -> Vector:
    return tuple(total(parts) for parts in zip(*vectors, strict=True))


def subtract(a: Vector, b: Vector) -> Vector:
    return tuple(minus(x, y) for x, y in zip(a, b, strict=True))


def scale(factor: Scalar, a: Vector) -> Vector:
    return tuple(times(factor, x) for x in a)


def negative(a: Vector) -> Vector:
    return tuple(-x for x in a)


def dot(a: Vector, b: Vector) -> Scalar:
    return total([times(x, y) for x, y in zip(a, b, strict=True)])


def cross(a: Vector, b: Vector) -> Vector:
    return (
        minus(times(a[1], b[2]), times(a[2], b[1])),
        minus(times(a[2], b[0]), times(a[0], b[2])),
        minus(times(a[0], b[1]), times(a[1], b[0])),
    )


def norm(a: Vector) -> Scalar:
    return root(dot(a, a))


# -- matrices ------------------------------------------------------------------------------------------------------


def turn(R: Matrix, a: Vector) -> Vector:
    """R a."""
    return a if R is ONE else tuple(dot(row, a) for row in R)


def turn_back(R: Matrix, a: Vector) -> Vector:
    """Rᵀ a."""
    return a if R is ONE else tuple(dot(column, a) for column in zip(*R, strict=True))


def transpose(R: Matrix) -> Matrix:
    return ONE if R is ONE else tuple(zip(*R, strict=True))


def product(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    if A is ONE:
        return B
    if B is ONE:
        return A
    columns = tuple(zip(*B, strict=True))
    return tuple(tuple(dot(row, column) for column in columns) for row in A)


def sum_of(A: Matrix, B: Matrix) -> Matrix:
    return tuple(add(a, b) for a, b in zip(A, B, strict=True))


def column(R: Matrix, k: int) -> Vector:
    return tuple(row[k] for row in R)


def turned_inertia(R: Matrix, J: Matrix) -> Matrix:
    """R J Rᵀ."""
    return J if R is ONE else product(product(R, J), transpose(R))


def steiner(m: Scalar, c: Vector) -> Matrix:
    """m (cᵀc 1 − c cᵀ): what the centre of mass at c adds to an inertia about the origin."""
    square = dot(c, c)
    return tuple(
        tuple(times(m, minus(square if i == k else 0.0, times(c[i], c[k]))) for k in range(3)) for i in range(3)
    )


def rotation_about(axis: Vector, angle: Scalar) -> Matrix:
    """By Rodrigues' formula; in its short form about x, y or z."""
    c, s = cosine(angle), sine(angle)
    for k in range(3):
        if type(axis[k]) is not ca.SX and abs(axis[k]) == 1.0:
            i, j = (k + 1) % 3, (k + 2) % 3
            rows = [[0.0] * 3 for _ in range(3)]
            rows[k][k], rows[i][i], rows[j][j] = 1.0, c, c
            rows[i][j], rows[j][i] = times(-axis[k], s), times(axis[k], s)
            return tuple(map(tuple, rows))
    rest = minus(1.0, c)
    cross_matrix = ((0.0, -axis[2], axis[1]), (axis[2], 0.0, -axis[0]), (-axis[1], axis[0], 0.0))
    return tuple(
        tuple(
            total([times(rest, times(axis[i], axis[k])), times(s, cross_matrix[i][k]), c if i == k else 0.0])
            for k in range(3)
        )
        for i in range(3)
    )


def rotation_of(e: Vector) -> Matrix:
    """Of Euler parameters (scalar first) of any length: R is homogeneous of degree zero in them."""
    e0, e1, e2, e3 = e
    two = 2.0 / total([times(x, x) for x in e])
    xx, yy, zz = (times(two, times(x, x)) for x in (e1, e2, e3))
    xy, xz, yz = times(two, times(e1, e2)), times(two, times(e1, e3)), times(two, times(e2, e3))
    wx, wy, wz = (times(two, times(e0, x)) for x in (e1, e2, e3))
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def euler_parameter_rates(e: Vector) -> Matrix:
    """The 4×3 matrix B in e' = B ω with ω in axes of the turning body."""
    h0, h1, h2, h3 = (times(0.5, x) for x in e)
    return ((-h1, -h2, -h3), (h0, -h3, h2), (h3, h0, -h1), (-h2, h1, h0))


def euler_parameters(R: np.ndarray) -> np.ndarray:
    """Of a rotation matrix of numbers, scalar first and not negative."""
    R = np.asarray(R, float)
    squares = np.array(
        [1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2], 1 - R[0, 0] + R[1, 1] - R[2, 2],
         1 - R[0, 0] - R[1, 1] + R[2, 2]]
    )  # fmt: skip
    largest = int(np.argmax(squares))
    products = np.array(
        [
            [squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], squares[1], R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[1, 0] + R[0, 1], squares[2], R[2, 1] + R[1, 2]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], squares[3]],
        ]
    )
    e = products[largest] / (2 * math.sqrt(squares[largest]))
    e /= np.linalg.norm(e)
    return -e if e[0] < 0 else e


def rotation_vector(w: Sequence[float]) -> np.ndarray:
    """The rotation matrix of a rotation vector: its direction is the axis, its length the angle."""
    w = np.asarray(w, float)
    angle = float(np.linalg.norm(w))
    if angle == 0.0:
        return np.eye(3)
    return np.array(rotation_about(tuple((w / angle).tolist()), angle), float)


def perpendicular(axis: Sequence[float]) -> tuple[Vector, Vector]:
    """Two unit vectors that form a right-handed frame with the axis."""
    n = np.array(axis, float)
    k = int(np.argmin(np.abs(n)))
    one = np.cross(np.eye(3)[k], n)
    if np.count_nonzero(n) == 1:  # x, y or z: the other axes in their order
        one = np.eye(3)[(int(np.argmax(np.abs(n))) + 1) % 3]
    one = one / np.linalg.norm(one)
    return tuple(one.tolist()), tuple(np.cross(n, one).tolist())


def sx_matrix(rows: Sequence[Sequence[Scalar]]) -> ca.SX:
    """A CasADi matrix whose zeros are structural."""
    M = ca.SX(len(rows), len(rows[0]) if len(rows) else 0)
    for i, row in enumerate(rows):
        for k, entry in enumerate(row):
            if type(entry) is ca.SX or entry != 0.0:
                M[i, k] = entry
    return M
