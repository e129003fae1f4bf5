"""Decompositions of wide constraint blocks A (r × c, r ≤ c) for kernels: full-pivoting LU, pivoted QR, SVD.

Each gives, for A x = b, a particular solution and a basis K of the null space of A:

    LU, QR   split the variables into dependent and independent ones; the particular solution has zero independent
             part, and K is the identity on the independent rows
    SVD      minimum-norm solution and orthonormal K; the rank may be smaller than r (redundant rows)

Rows are equilibrated first, so that ranks do not depend on the units of the constraints.
"""

from typing import NamedTuple

import llvmlite.binding as llvm
import numba as nb
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from dalembert.compile.kernel import device, record

LU, QR, SVD = 0, 1, 2

llvm.add_symbol("dalembert_dgesvd", get_cython_function_address("scipy.linalg.cython_lapack", "dgesvd"))
_dgesvd = types.ExternalFunction("dalembert_dgesvd", types.void(*[types.uintp] * 14))

f8, i8, i4 = nb.float64, nb.int64, nb.int32


class Block(NamedTuple):
    """A constraint block, its factors and work space."""

    A: f8[:, ::1]  # the matrix, then L and U or R
    scale: f8[::1]  # of the rows
    row: i8[::1]  # LU: row k of the factors is row row[k] of A
    column: i8[::1]  # column k of the factors is column column[k] of A: dependent ones first
    Q: f8[:, ::1]  # QR: orthogonal factor; SVD: U
    V: f8[:, ::1]  # SVD: right singular vectors as rows (Vᵀ)
    values: f8[::1]  # pivots or singular values, by size
    K: f8[:, ::1]  # basis of the null space in its first columns
    rank: i8[::1]
    work: f8[::1]
    svd_work: f8[::1]
    sizes: i4[::1]  # SVD: r, c, length of the work space, info
    job: nb.uint8[::1]


block_type = record(Block)


def new_block(rows: int, columns: int) -> Block:
    """Work space for a block."""
    length = 8 * max(rows, columns, 1) + 64
    return Block(
        A=np.zeros((rows, columns)),
        scale=np.ones(rows),
        row=np.arange(rows),
        column=np.arange(columns),
        Q=np.zeros((rows, rows)),
        V=np.zeros((columns, columns)),
        values=np.zeros(min(rows, columns)),
        K=np.zeros((columns, columns)),
        rank=np.zeros(1, np.int64),
        work=np.zeros(max(rows, columns, 1)),
        svd_work=np.zeros(length),
        sizes=np.array([rows, columns, length, 0], np.int32),
        job=np.array([ord("A")], np.uint8),
    )


@device
def equilibrate(block):
    """Scale every row to maximum 1; an empty row keeps its zeros."""
    rows, columns = block.A.shape
    for i in range(rows):
        largest = 0.0
        for j in range(columns):
            largest = max(largest, abs(block.A[i, j]))
        block.scale[i] = 1.0 / largest if largest > 0.0 else 1.0
        for j in range(columns):
            block.A[i, j] *= block.scale[i]


@device
def decompose_block(block, kind, threshold):
    """Factor A in place and form K. Returns the rank: pivots or singular values above threshold × the largest."""
    equilibrate(block)
    if kind == LU:
        factor_full_pivoting(block, threshold)
    elif kind == QR:
        factor_householder(block, threshold)
    else:
        factor_singular_values(block, threshold)
    if kind != SVD:
        null_space_of_factors(block)
    return block.rank[0]


@device
def factor_full_pivoting(block, threshold):
    A, row, column = block.A, block.row, block.column
    rows, columns = A.shape
    for i in range(rows):
        row[i] = i
    for j in range(columns):
        column[j] = j
    block.rank[0] = rows
    for k in range(rows):
        best, bi, bj = -1.0, k, k
        for i in range(k, rows):
            for j in range(k, columns):
                size = abs(A[i, j])
                if size > best:
                    best, bi, bj = size, i, j
        block.values[k] = best
        if not best > threshold * block.values[0]:
            block.rank[0] = k
            return
        if bi != k:
            row[k], row[bi] = row[bi], row[k]
            for j in range(columns):
                A[k, j], A[bi, j] = A[bi, j], A[k, j]
        if bj != k:
            column[k], column[bj] = column[bj], column[k]
            for i in range(rows):
                A[i, k], A[i, bj] = A[i, bj], A[i, k]
        inverse = 1.0 / A[k, k]
        for i in range(k + 1, rows):
            factor = A[i, k] * inverse
            A[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, columns):
                    A[i, j] -= factor * A[k, j]


@device
def factor_householder(block, threshold):
    """A P = Q R with columns ordered by what is left of their norm; Q is formed explicitly."""
    A, Q, column, u = block.A, block.Q, block.column, block.work
    rows, columns = A.shape
    for i in range(rows):
        for j in range(rows):
            Q[i, j] = 1.0 if i == j else 0.0
    for j in range(columns):
        column[j] = j
    block.rank[0] = rows
    for k in range(rows):
        best, bj = -1.0, k
        for j in range(k, columns):
            norm2 = 0.0
            for i in range(k, rows):
                norm2 += A[i, j] * A[i, j]
            if norm2 > best:
                best, bj = norm2, j
        block.values[k] = np.sqrt(best)
        if not block.values[k] > threshold * block.values[0]:
            block.rank[0] = k
            return
        if bj != k:
            column[k], column[bj] = column[bj], column[k]
            for i in range(rows):
                A[i, k], A[i, bj] = A[i, bj], A[i, k]
        alpha = -block.values[k] if A[k, k] > 0.0 else block.values[k]
        for i in range(k, rows):
            u[i] = A[i, k]
        u[k] -= alpha
        size = 0.0
        for i in range(k, rows):
            size += u[i] * u[i]
        if size == 0.0:
            continue
        for j in range(k, columns):
            dot = 0.0
            for i in range(k, rows):
                dot += u[i] * A[i, j]
            dot *= 2.0 / size
            for i in range(k, rows):
                A[i, j] -= dot * u[i]
        for i in range(rows):
            dot = 0.0
            for j in range(k, rows):
                dot += Q[i, j] * u[j]
            dot *= 2.0 / size
            for j in range(k, rows):
                Q[i, j] -= dot * u[j]


@device
def null_space_of_factors(block):
    """K from U (or R): −U₁⁻¹ U₂ on the dependent variables, identity on the independent ones."""
    A, K, column = block.A, block.K, block.column
    columns, rank = A.shape[1], block.rank[0]
    for j in range(rank, columns):
        c = j - rank
        for i in range(columns):
            K[i, c] = 0.0
        K[column[j], c] = 1.0
        for i in range(rank - 1, -1, -1):
            total = -A[i, j]
            for k in range(i + 1, rank):
                total -= A[i, k] * K[column[k], c]
            K[column[i], c] = total / A[i, i]


@device
def factor_singular_values(block, threshold):
    """A = Q Σ Vᵀ. LAPACK sees the transpose of our C-ordered matrix, so its U is our V."""
    rows, columns = block.A.shape
    if rows == 0:
        block.rank[0] = 0
        for j in range(columns):
            for i in range(columns):
                block.K[i, j] = 1.0 if i == j else 0.0
        return
    to = block.sizes.ctypes.data
    _dgesvd(
        block.job.ctypes.data, block.job.ctypes.data, to + 4, to, block.A.ctypes.data, to + 4,
        block.values.ctypes.data, block.V.ctypes.data, to + 4, block.Q.ctypes.data, to,
        block.svd_work.ctypes.data, to + 8, to + 12,
    )  # fmt: skip
    rank = 0
    for k in range(min(rows, columns)):
        if block.values[k] > threshold * block.values[0] and block.values[0] > 0.0:
            rank += 1
    block.rank[0] = rank
    for j in range(rank, columns):
        for i in range(columns):
            block.K[i, j - rank] = block.V[j, i]


@device
def solve_block(block, kind, b, out):
    """A particular solution of A x = b; `b` is kept. With rank deficiency the parts that cannot be met are dropped."""
    A, work, column, rank = block.A, block.work, block.column, block.rank[0]
    rows, columns = A.shape
    if kind == SVD:
        for k in range(rank):
            total = 0.0
            for i in range(rows):
                total += block.Q[i, k] * block.scale[i] * b[i]
            work[k] = total / block.values[k]
        for j in range(columns):
            total = 0.0
            for k in range(rank):
                total += block.V[k, j] * work[k]
            out[j] = total
        return
    if kind == LU:
        for i in range(rank):
            r = block.row[i]
            total = block.scale[r] * b[r]
            for k in range(i):
                total -= A[i, k] * work[k]
            work[i] = total
    else:
        for k in range(rank):
            total = 0.0
            for i in range(rows):
                total += block.Q[i, k] * block.scale[i] * b[i]
            work[k] = total
    for i in range(rank - 1, -1, -1):
        total = work[i]
        for k in range(i + 1, rank):
            total -= A[i, k] * work[k]
        work[i] = total / A[i, i]
    for j in range(rank):
        out[column[j]] = work[j]
    for j in range(rank, columns):
        out[column[j]] = 0.0
