"""Decompositions of constraint blocks A (r × c; r ≤ c unless rows are redundant, which only the SVD takes) for kernels:
full-pivoting LU, pivoted QR, SVD.

Each gives, for A x = b, a particular solution and a basis K of the null space of A:

    LU, QR   split the variables into dependent and independent ones; the particular solution has zero independent
             part, and K is the identity on the independent rows
    SVD      minimum-norm solution and orthonormal K; the rank may be smaller than r (redundant rows)

Rows are usually equilibrated first, so that ranks do not depend on the units of the constraints. Where rows may be
redundant, one that vanishes in passing must not be made as large as the others: what is left of it is rounding, which
no other row implies, and it would turn the singular vectors round. So the SVD scales rows by the largest entry that
they have had so far, and takes those that have always been small for `LEAST` of the largest.
"""

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec

LU, QR, SVD = 0, 1, 2
#: rows that have always been smaller than this fraction of the largest are scaled as if they were that large
LEAST = 1e-2

llvm.add_symbol("dalembert_dgesvd", get_cython_function_address("scipy.linalg.cython_lapack", "dgesvd"))
_dgesvd = types.ExternalFunction("dalembert_dgesvd", types.void(*[types.uint64] * 14))

BLOCK = layout(
    arrays=[
        "A",  # the matrix, then L and U or R
        "scale",  # of the rows
        "seen",  # SVD: the largest entry of each row in all matrices so far
        "row",  # LU: row k of the factors is row row[k] of A
        "column",  # column k of the factors is column column[k] of A: dependent ones first
        "Q",  # QR: orthogonal factor; SVD: left singular vectors
        "V",  # SVD: right singular vectors as rows
        "values",  # pivots or singular values, by size
        "K",  # basis of the null space in its first columns
        "work",
        "work3",
        "svd_work",
        "sizes",  # SVD: r, c, length of the work space, info, as 32-bit integers
        "job",
    ],
    wholes=["rows", "columns", "rank"],
)
block_at = member(BLOCK)


def new_block(rows: int, columns: int) -> Memory:
    """Work space for a block."""
    length = 8 * max(rows, columns, 1) + 64
    return Memory(
        BLOCK,
        dict(
            A=np.zeros((rows, columns)), scale=np.ones(rows), seen=np.zeros(rows), row=np.arange(rows),
            column=np.arange(columns),
            Q=np.zeros((rows, rows)), V=np.zeros((columns, columns)), values=np.zeros(max(rows, 1)),
            K=np.zeros((columns, columns)), work=np.zeros(max(rows, columns, 1)), work3=np.zeros((max(rows, 1), 3)),
            svd_work=np.zeros(length),
            sizes=np.array([rows, columns, length, 0], np.int32), job=np.array([ord("A")], np.uint8),
            rows=rows, columns=columns, rank=0,
        ),
    )  # fmt: skip


@device
def clear(block):
    """A = 0."""
    A = mat(block.A, block.rows, block.columns)
    for i in range(block.rows):
        for j in range(block.columns):
            A[i, j] = 0.0


@device
def decompose_block(block, kind, threshold, by_rows, factor):
    """Factor A in place and form K. Returns the rank: pivots or singular values above threshold × the largest.

    Every row is scaled to maximum 1 first, with the SVD as in all that came before, or all of them by one factor.
    """
    factor_block(block, kind, threshold, by_rows, factor)
    if kind != SVD:
        null_space_of_factors(block)
    return block.rank


@device
def factor_block(block, kind, threshold, by_rows, factor):
    """`decompose_block`, but K is formed for the SVD only. Returns the rank."""
    if by_rows and kind == SVD:
        equilibrate_lastingly(block)
    elif by_rows:
        equilibrate(block)
    else:
        scale_all(block, factor)
    if kind == LU:
        factor_full_pivoting(block, threshold)
    elif kind == QR:
        factor_householder(block, threshold)
    else:
        factor_singular_values(block, threshold)
    return block.rank


@device
def equilibrate(block):
    """Scale every row to maximum 1; an empty row keeps its zeros."""
    A, scale = mat(block.A, block.rows, block.columns), vec(block.scale, block.rows)
    for i in range(block.rows):
        largest = 0.0
        for j in range(block.columns):
            largest = max(largest, abs(A[i, j]))
        scale[i] = 1.0 / largest if largest > 0.0 else 1.0
        for j in range(block.columns):
            A[i, j] *= scale[i]


@device
def equilibrate_lastingly(block):
    """Scale every row by the largest entry that it has had so far, but none by much more than the others."""
    A, scale, seen = mat(block.A, block.rows, block.columns), vec(block.scale, block.rows), vec(block.seen, block.rows)
    most = 0.0
    for i in range(block.rows):
        for j in range(block.columns):
            seen[i] = max(seen[i], abs(A[i, j]))
        most = max(most, seen[i])
    for i in range(block.rows):
        scale[i] = 1.0 / max(seen[i], LEAST * most) if most > 0.0 else 1.0
        for j in range(block.columns):
            A[i, j] *= scale[i]


@device
def scale_all(block, factor):
    """Scale all rows by one factor."""
    A, scale = mat(block.A, block.rows, block.columns), vec(block.scale, block.rows)
    for i in range(block.rows):
        scale[i] = factor
        for j in range(block.columns):
            A[i, j] *= factor


@device
def factor_full_pivoting(block, threshold):
    rows, columns = block.rows, block.columns
    A, values = mat(block.A, rows, columns), vec(block.values, rows)
    row, column = ivec(block.row, rows), ivec(block.column, columns)
    for i in range(rows):
        row[i] = i
    for j in range(columns):
        column[j] = j
    block.rank = rows
    for k in range(rows):
        best, bi, bj = -1.0, k, k
        for i in range(k, rows):
            for j in range(k, columns):
                size = abs(A[i, j])
                if size > best:
                    best, bi, bj = size, i, j
        values[k] = best
        if not best > threshold * values[0]:
            block.rank = k
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
    rows, columns = block.rows, block.columns
    A, Q, values = mat(block.A, rows, columns), mat(block.Q, rows, rows), vec(block.values, rows)
    column, u = ivec(block.column, columns), vec(block.work, rows)
    for i in range(rows):
        for j in range(rows):
            Q[i, j] = 1.0 if i == j else 0.0
    for j in range(columns):
        column[j] = j
    block.rank = rows
    for k in range(rows):
        best, bj = -1.0, k
        for j in range(k, columns):
            norm2 = 0.0
            for i in range(k, rows):
                norm2 += A[i, j] * A[i, j]
            if norm2 > best:
                best, bj = norm2, j
        values[k] = np.sqrt(best)
        if not values[k] > threshold * values[0]:
            block.rank = k
            return
        if bj != k:
            column[k], column[bj] = column[bj], column[k]
            for i in range(rows):
                A[i, k], A[i, bj] = A[i, bj], A[i, k]
        alpha = -values[k] if A[k, k] > 0.0 else values[k]
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
    columns, rank = block.columns, block.rank
    A, K, column = mat(block.A, block.rows, columns), mat(block.K, columns, columns), ivec(block.column, columns)
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
    """A = Q Σ V. LAPACK sees the transpose of our C-ordered matrix, so its U is our V."""
    rows, columns = block.rows, block.columns
    K, V, values = mat(block.K, columns, columns), mat(block.V, columns, columns), vec(block.values, rows)
    rank = 0
    if rows > 0:
        to, job = block.sizes, block.job
        four, eight, twelve = np.uint64(4), np.uint64(8), np.uint64(12)
        _dgesvd(
            job, job, to + four, to, block.A, to + four, block.values, block.V, to + four, block.Q, to,
            block.svd_work, to + eight, to + twelve,
        )  # fmt: skip
        while rank < min(rows, columns) and values[rank] > threshold * values[0]:
            rank += 1
    block.rank = rank
    for j in range(rank, columns):
        for i in range(columns):
            K[i, j - rank] = V[j, i] if rows > 0 else (1.0 if i == j else 0.0)


@device
def solve_block(block, kind, b, out):
    """A particular solution of A x = b; `b` is kept. With rank deficiency the parts that cannot be met are dropped."""
    rows, columns, rank = block.rows, block.columns, block.rank
    A, work, scale = mat(block.A, rows, columns), vec(block.work, rows), vec(block.scale, rows)
    if kind == SVD:
        Q, V, values = mat(block.Q, rows, rows), mat(block.V, columns, columns), vec(block.values, rows)
        for k in range(rank):
            total = 0.0
            for i in range(rows):
                total += Q[i, k] * scale[i] * b[i]
            work[k] = total / values[k]
        for j in range(columns):
            total = 0.0
            for k in range(rank):
                total += V[k, j] * work[k]
            out[j] = total
        return
    column = ivec(block.column, columns)
    if kind == LU:
        row = ivec(block.row, rows)
        for i in range(rank):
            r = row[i]
            total = scale[r] * b[r]
            for k in range(i):
                total -= A[i, k] * work[k]
            work[i] = total
    else:
        Q = mat(block.Q, rows, rows)
        for k in range(rank):
            total = 0.0
            for i in range(rows):
                total += Q[i, k] * scale[i] * b[i]
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


@device
def solve_block3(block, kind, b, out):
    """`solve_block` for three right-hand sides at once, as columns of b and out."""
    rows, columns, rank = block.rows, block.columns, block.rank
    A, work, scale = mat(block.A, rows, columns), mat(block.work3, rows, 3), vec(block.scale, rows)
    column, row = ivec(block.column, columns), ivec(block.row, rows)
    Q, V, values = mat(block.Q, rows, rows), mat(block.V, columns, columns), vec(block.values, rows)
    for i in range(rank):
        t0, t1, t2 = 0.0, 0.0, 0.0
        if kind == LU:
            r = row[i]
            s = scale[r]
            t0, t1, t2 = s * b[r, 0], s * b[r, 1], s * b[r, 2]
            for k in range(i):
                a = A[i, k]
                t0 -= a * work[k, 0]
                t1 -= a * work[k, 1]
                t2 -= a * work[k, 2]
        else:
            for k in range(rows):
                q = Q[k, i] * scale[k]
                t0 += q * b[k, 0]
                t1 += q * b[k, 1]
                t2 += q * b[k, 2]
        work[i, 0], work[i, 1], work[i, 2] = t0, t1, t2
    if kind == SVD:
        for j in range(columns):
            t0, t1, t2 = 0.0, 0.0, 0.0
            for k in range(rank):
                v = V[k, j] / values[k]
                t0 += v * work[k, 0]
                t1 += v * work[k, 1]
                t2 += v * work[k, 2]
            out[j, 0], out[j, 1], out[j, 2] = t0, t1, t2
        return
    for i in range(rank - 1, -1, -1):
        t0, t1, t2 = work[i, 0], work[i, 1], work[i, 2]
        for k in range(i + 1, rank):
            a = A[i, k]
            t0 -= a * work[k, 0]
            t1 -= a * work[k, 1]
            t2 -= a * work[k, 2]
        inverse = 1.0 / A[i, i]
        work[i, 0], work[i, 1], work[i, 2] = t0 * inverse, t1 * inverse, t2 * inverse
    for j in range(rank):
        c = column[j]
        out[c, 0], out[c, 1], out[c, 2] = work[j, 0], work[j, 1], work[j, 2]
    for j in range(rank, columns):
        c = column[j]
        out[c, 0], out[c, 1], out[c, 2] = 0.0, 0.0, 0.0


@device
def solve_block_many(block, kind, b, out, width):
    """`solve_block` for `width` right-hand sides, as columns of b and out."""
    rows, columns, rank = block.rows, block.columns, block.rank
    A, scale = mat(block.A, rows, columns), vec(block.scale, rows)
    Q, V, values = mat(block.Q, rows, rows), mat(block.V, columns, columns), vec(block.values, rows)
    column, row = ivec(block.column, columns), ivec(block.row, rows)
    for j in range(columns):
        for c in range(width):
            out[j, c] = 0.0
    # work on rows of `out` in the order of the factors: the solution takes the place of the transformed right-hand side
    if kind == SVD:
        for k in range(rank):
            for c in range(width):
                total = 0.0
                for i in range(rows):
                    total += Q[i, k] * scale[i] * b[i, c]
                total /= values[k]
                for j in range(columns):
                    out[j, c] += V[k, j] * total
        return
    for i in range(rank):
        to = column[i]
        if kind == LU:
            r = row[i]
            for c in range(width):
                out[to, c] = scale[r] * b[r, c]
            for k in range(i):
                a, at = A[i, k], column[k]
                if a != 0.0:
                    for c in range(width):
                        out[to, c] -= a * out[at, c]
        else:
            for k in range(rows):
                q = Q[k, i] * scale[k]
                for c in range(width):
                    out[to, c] += q * b[k, c]
    for i in range(rank - 1, -1, -1):
        to, inverse = column[i], 1.0 / A[i, i]
        for k in range(i + 1, rank):
            a, at = A[i, k], column[k]
            if a != 0.0:
                for c in range(width):
                    out[to, c] -= a * out[at, c]
        for c in range(width):
            out[to, c] *= inverse
