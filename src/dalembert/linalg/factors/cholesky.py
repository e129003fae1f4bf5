"""Cholesky decomposition of block-diagonal matrices, for kernels.

Block b has the rows begin[b] : begin[b + 1] of the ordered unknowns; its matrix stands in A from at[b] on. Diagonals of
factors are kept as their inverses.
"""

from __future__ import annotations

import numpy as np

from dalembert.compile.kernel import device

#: pivots below this fraction of the diagonal: the matrix had better be treated as semi-definite
SMALL = 1e-8


@device
def decompose(A, begin, at, blocks, limit):
    """A = L Lᵀ in place. Returns 0, or 1 + the row whose pivot is below `limit` × its diagonal entry."""
    for b in range(blocks):
        n, o = begin[b + 1] - begin[b], at[b]
        for i in range(n):
            for j in range(i + 1):
                s = A[o + i * n + j]
                whole = s
                for p in range(j):
                    s -= A[o + i * n + p] * A[o + j * n + p]
                if j < i:
                    A[o + i * n + j] = s * A[o + j * n + j]
                else:
                    if not s > limit * whole:
                        return begin[b] + i + 1
                    A[o + i * n + i] = 1.0 / np.sqrt(s)
    return 0


@device
def forward(A, begin, at, b, y):
    """y := L⁻¹ y for the rows of block b."""
    first, n, o = begin[b], begin[b + 1] - begin[b], at[b]
    for i in range(n):
        s = y[first + i]
        for p in range(i):
            s -= A[o + i * n + p] * y[first + p]
        y[first + i] = s * A[o + i * n + i]


@device
def backward(A, begin, at, b, y):
    """y := L⁻ᵀ y for the rows of block b."""
    first, n, o = begin[b], begin[b + 1] - begin[b], at[b]
    for i in range(n - 1, -1, -1):
        s = y[first + i] * A[o + i * n + i]
        y[first + i] = s
        for p in range(i):
            y[first + p] -= A[o + i * n + p] * s
