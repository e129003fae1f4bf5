"""Elimination of one body of a kinematic tree: what its ways have in common.

A body has n velocities, m constraints that are eliminated with it, and a father with f velocities (f = 0: none):

    M w + Uᵀ λ = f,     G w + C w_father = g,     and  + V λ  in the father's equations (V = Cᵀ in the symmetric case)

The body's block of memory is `d`, its father's matrix `up`. In every way of elimination M stands first in the block, so
that sons can add to it; in the symmetric case they do so in its lower triangle only. Pivot rows are kept in the block,
as real numbers. `body_kernels` makes kernels of this, also with fixed sizes.
"""

from __future__ import annotations

from numba import njit

from dalembert.compile.kernel import DEVICE

#: limits beyond which the tree is left to a solver that can pivot freely: pivots of constraints as a fraction of their
#: row or column, and what a son adds to its father's mass (a joint that hardly restrains the son makes this large)
WEAK = 1e-5
HEAVY = 1e6

inlined = njit(**DEVICE, forceinline=True)


# ways of elimination, and the lengths of their blocks
DEFINITE, GENERAL, JOINT, NEARLY = 0, 1, 2, 3


def block_length(way: int, n: int, m: int, f: int) -> int:
    if way == DEFINITE:
        return n * n + m * n + m * m + m * f
    if way == JOINT:
        free = n - m
        return n * n + m * n + m * f + free * (n + free + f) + 3 * m + f
    if way == NEARLY:
        return n * n + 2 * m * n + 2 * m * f + m * m
    s = n + m
    return n * n + 2 * m * n + 2 * m * f + s * s + s * f + 2 * s
