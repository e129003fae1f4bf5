"""LU factorization of the scaled full matrix: own loops for small sizes, LAPACK for larger ones."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg import lapack, lu
from dalembert.linalg.saddle import SADDLE, TINY, new_saddle, not_finite, saddle_at, scale

i8, u8 = nb.int64, nb.uint64

RECORD = layout(arrays=[*SADDLE, "A", "pivots", "lapack_pivots", "lapack", "r", "c", "work"], wholes=["n"])
_at = member(RECORD)


def dense_memory(solver, pattern) -> Memory:
    n = pattern.n
    return new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), A=np.zeros((n, n)),
        pivots=np.zeros(n, np.int64), lapack_pivots=np.zeros(n, np.int32), lapack=lapack.lapack_arguments(n),
        r=np.ones(n), c=np.ones(n), work=np.zeros(n), n=n,
    )  # fmt: skip


@device
def assemble(la, A, r, c):
    """A = the whole matrix with rows scaled by r and columns by c."""
    sizes = ivec(la.sizes, 7)
    n_v, n_m, n_g, n_u = sizes[0], sizes[2], sizes[3], sizes[4]
    n = n_v + sizes[1]
    M, mi, mj = vec(la.M, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    G, gi, gj = vec(la.G, n_g), ivec(la.G_rows, n_g), ivec(la.G_columns, n_g)
    U, ui, uj = vec(la.U, n_u), ivec(la.U_rows, n_u), ivec(la.U_columns, n_u)
    for i in range(n):
        for j in range(n):
            A[i, j] = 0.0
    for k in range(n_m):
        A[mi[k], mj[k]] += M[k] * r[mi[k]] * c[mj[k]]
    symmetric = sizes[5] == 1
    for k in range(n_g):
        row, column = n_v + gi[k], gj[k]
        value = G[k] * r[row] * c[column]
        A[row, column] += value
        if symmetric:
            A[column, row] += value
    for k in range(n_u):
        row, column = uj[k], n_v + ui[k]
        A[row, column] += U[k] * r[row] * c[column]


@device
def rank_deficient(A, n, transposed):
    """1 + number of the first pivot that is nothing but rounding of its column of U, or 0."""
    for k in range(n):
        largest = 0.0
        for i in range(k):
            largest = max(largest, abs(A[k, i] if transposed else A[i, k]))
        if not abs(A[k, k]) > TINY * largest:
            return k + 1
    return 0


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    n = la.n
    A, r, c = mat(la.A, n, n), vec(la.r, n), vec(la.c, n)
    bad = not_finite(saddle_at(own))
    if bad != 0:
        return bad
    scale(saddle_at(own), r, c)
    assemble(saddle_at(own), A, r, c)
    if n >= lapack.WORTHWHILE:
        failed = lapack.factor_real(lapack.arguments_at(la.lapack), la.A, la.lapack_pivots)
        return failed if failed != 0 else rank_deficient(A, n, True)
    failed = lu.factor(A, ivec(la.pivots, n), n)
    return failed if failed != 0 else rank_deficient(A, n, False)


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n = la.n
    A, r, c, work = mat(la.A, n, n), vec(la.r, n), vec(la.c, n), vec(la.work, n)
    given, out = vec(b, n), vec(x, n)
    for i in range(n):
        work[i] = r[i] * given[i]
    if n >= lapack.WORTHWHILE:
        lapack.substitute_real(lapack.arguments_at(la.lapack), la.A, la.lapack_pivots, la.work)
    else:
        lu.substitute(A, ivec(la.pivots, n), work, n)
    for i in range(n):
        out[i] = c[i] * work[i]
    return 0
