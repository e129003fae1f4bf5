"""Kernels for one body, compiled when a tree needs them: for any size, or with unrolled loops for usual sizes.

They take the address of the body's block, in the sweeps that of its part of x, and that of its row in the table of
bodies.
"""

from __future__ import annotations

import functools
from typing import Any

import numba as nb

from dalembert.compile.kernel import address_of, kernel
from dalembert.compile.memory import ivec, vec
from dalembert.linalg.bodies import body_definite, body_general, body_joint
from dalembert.linalg.bodies.common import DEFINITE, GENERAL, JOINT, NEARLY

i8, u8 = nb.int64, nb.uint64

#: columns of the table of bodies; UP and ABOVE lead from the body to the block and the unknowns of its father
WAY, N, M, F, UP, START, FIRST, ELIMINATE, FORWARD, BACKWARD, ABOVE, SYMMETRIC, COLUMNS = range(13)

#: (n, m, f) of bodies with fixed code: points, planar bodies, spatial ones with ball joints and hinges; with joint
#: coordinates: planar and spatial hinges
SIZES = {
    DEFINITE: {(2, 1, 2), (3, 1, 3), (3, 2, 3), (6, 3, 6), (6, 5, 6)},
    NEARLY: {(2, 1, 2), (3, 1, 3), (3, 2, 3), (6, 3, 6), (6, 5, 6)},
    JOINT: {(4, 3, 4), (7, 6, 7)},
    GENERAL: {(2, 1, 2), (3, 1, 3), (3, 2, 3), (6, 3, 6), (6, 5, 6)},
}


@functools.cache
def addresses(way: int, n: int, m: int, f: int) -> tuple[int, int, int]:
    """Of the kernels that eliminate a body, and carry right-hand sides down and solutions up the tree."""
    size = (n, m, f) if (n, m, f) in SIZES[way] else (0, 0, 0)
    return tuple(address_of(k) for k in _kernels(way, size))


@functools.cache
def _kernels(way: int, size: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    if way == GENERAL:
        return _general(*size)
    functions = {
        DEFINITE: (body_definite.eliminate_definite, body_definite.forward_definite, body_definite.backward_definite),
        NEARLY: (body_definite.eliminate_nearly, body_definite.forward_nearly, body_definite.backward_nearly),
        JOINT: (body_joint.eliminate_joint, body_joint.forward_joint, body_joint.backward_joint),
    }[way]
    return _of_functions(*functions, f"{way} {size}", *size)


def _of_functions(down: Any, carry: Any, rise: Any, name: str, n0: int, m0: int, f0: int) -> tuple[Any, Any, Any]:
    """For any size if n0 = 0."""

    @kernel(i8(u8, u8), name=name)
    def eliminate(own, row):
        of = ivec(row, COLUMNS)
        n, m, f = (n0, m0, f0) if n0 > 0 else (of[N], of[M], of[F])
        return down(vec(own, n * n), vec(own + 8 * of[UP], f * f), n, m, f)

    @kernel(i8(u8, u8, u8), name=name)
    def forward(own, x, row):
        of = ivec(row, COLUMNS)
        n, m, f = (n0, m0, f0) if n0 > 0 else (of[N], of[M], of[F])
        carry(vec(own, n * n), vec(x, n + m), vec(x + 8 * of[ABOVE], f), n, m, f)
        return 0

    @kernel(i8(u8, u8, u8), name=name)
    def backward(own, x, row):
        of = ivec(row, COLUMNS)
        n, m, f = (n0, m0, f0) if n0 > 0 else (of[N], of[M], of[F])
        rise(vec(own, n * n), vec(x, n + m), vec(x + 8 * of[ABOVE], f), n, m, f)
        return 0

    return eliminate, forward, backward


def _general(n0: int, m0: int, f0: int) -> tuple[Any, Any, Any]:
    """For any size if n0 = 0."""

    @kernel(i8(u8, u8))
    def eliminate(own, row):
        of = ivec(row, COLUMNS)
        n, m, f = (n0, m0, f0) if n0 > 0 else (of[N], of[M], of[F])
        return body_general.eliminate_general(
            vec(own, n * n), vec(own + 8 * of[UP], f * f), n, m, f, of[SYMMETRIC] == 1
        )

    @kernel(i8(u8, u8, u8))
    def forward(own, x, row):
        of = ivec(row, COLUMNS)
        n, m, f = (n0, m0, f0) if n0 > 0 else (of[N], of[M], of[F])
        above = vec(x + 8 * of[ABOVE], f)
        body_general.forward_general(vec(own, n * n), vec(x, n + m), above, n, m, f, of[SYMMETRIC] == 1)
        return 0

    @kernel(i8(u8, u8, u8))
    def backward(own, x, row):
        of = ivec(row, COLUMNS)
        n, m, f = (n0, m0, f0) if n0 > 0 else (of[N], of[M], of[F])
        body_general.backward_general(vec(own, n * n), vec(x, n + m), vec(x + 8 * of[ABOVE], f), n, m, f)
        return 0

    return eliminate, forward, backward
