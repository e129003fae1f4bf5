"""Null-space method on the scaled system: w = w₀ + N z with G w₀ = g, G N = 0, and N_Uᵀ M N z = N_Uᵀ (f − M w₀).

Columns are ordered so that the dependent ones come first: G = (K, J) and N = (−K⁻¹ J, 1). With U ≠ G there is a second
basis N_U, with columns of its own.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.factors import lu
from dalembert.linalg.saddle.dense_kernels import rank_deficient
from dalembert.linalg.saddle.saddle import SADDLE, TINY, check_and_scale, new_saddle, saddle_at

i8, u8 = nb.int64, nb.uint64

RECORD = layout(
    arrays=[
        *SADDLE,
        "structure",  # columns in the order of (3.3), if this structure is there
        "K", "K_rows", "K_columns",  # LU factors of K and K⁻¹ J; row k of them is row K_rows[k], columns likewise
        "K_U", "KU_rows", "KU_columns",  # the same for U
        "kept",  # the scaled nonzeros of M
        "N", "N_U", "MN", "A", "pivots", "r", "c", "w", "y", "h", "z",
    ],
    wholes=["n_v", "n_lam", "structured"],
)  # fmt: skip
_at = member(RECORD)

WEAK = 1e-4  # a smaller pivot of K in (3.3): other columns are chosen


def block_memory(solver, pattern) -> Memory:
    n, m = pattern.n_v, pattern.n_lam
    massive = np.zeros(n, bool)
    massive[pattern.mass[0]] = True
    structure = np.concatenate([np.flatnonzero(massive), np.flatnonzero(~massive)])
    square, basis = np.zeros((m, n)), np.zeros((n, n - m))
    return new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), structure=structure.astype(np.int64),
        K=square, K_rows=np.arange(m), K_columns=np.arange(n), K_U=square, KU_rows=np.arange(m),
        KU_columns=np.arange(n), N=basis, N_U=basis, MN=basis, A=np.zeros((n - m, n - m)),
        pivots=np.zeros(n - m, np.int64), r=np.ones(n + m), c=np.ones(n + m), kept=np.zeros(len(pattern.mass[0])),
        w=np.zeros(n), y=np.zeros(n), h=np.zeros(m), z=np.zeros(n - m), n_v=n, n_lam=m,
        structured=int(massive.sum() == m and m < n),
    )  # fmt: skip


@device
def choose(K, rows, columns, n_lam, n_v, free_columns):
    """LU factorization of the first columns, with pivots from all columns if `free_columns`. Returns 0 or 1 + row."""
    for k in range(n_lam):
        best, row, column = 0.0, k, k
        for i in range(k, n_lam):
            for j in range(k, n_v if free_columns else k + 1):
                if abs(K[i, j]) > best:
                    best, row, column = abs(K[i, j]), i, j
        largest = 1.0  # rows are scaled to that
        for i in range(k):
            largest = max(largest, abs(K[i, column]))
        if not best > (TINY if free_columns else WEAK) * largest:
            return rows[row] + 1
        if row != k:
            rows[k], rows[row] = rows[row], rows[k]
            for j in range(n_v):
                K[k, j], K[row, j] = K[row, j], K[k, j]
        if column != k:
            columns[k], columns[column] = columns[column], columns[k]
            for i in range(n_lam):
                K[i, k], K[i, column] = K[i, column], K[i, k]
        inverse = 1.0 / K[k, k]
        for i in range(k + 1, n_lam):
            f = K[i, k] * inverse
            K[i, k] = f
            if f != 0.0:
                for j in range(k + 1, n_v):
                    K[i, j] -= f * K[k, j]
    return 0


@device
def span(K, columns, N, n_lam, n_v):
    """N from the factors; K⁻¹ J in place of J."""
    free = n_v - n_lam
    for i in range(n_lam - 1, -1, -1):
        for k in range(i + 1, n_lam):
            f = K[i, k]
            if f != 0.0:
                for j in range(n_lam, n_v):
                    K[i, j] -= f * K[k, j]
        inverse = 1.0 / K[i, i]
        for j in range(n_lam, n_v):
            K[i, j] *= inverse
    for i in range(n_lam):
        for z in range(free):
            N[columns[i], z] = -K[i, n_lam + z]
    for i in range(free):
        for z in range(free):
            N[columns[n_lam + i], z] = 1.0 if i == z else 0.0


@device
def load(K, rows, columns, order, gi, gj, G, count, n_lam, n_v, scales, r, place):
    """The scaled matrix with columns in the given order; `place` is work space."""
    for i in range(n_lam):
        rows[i] = i
        for j in range(n_v):
            K[i, j] = 0.0
    for j in range(n_v):
        columns[j] = order[j]
        place[order[j]] = j
    for k in range(count):
        K[gi[k], int(place[gj[k]])] += G[k] * scales[n_v + gi[k]] * r[gj[k]]


@device
def decompose(la, K, rows, columns, N, gi, gj, G, count, scales):
    """A basis of the null space. Returns 0, or 1 + the row that depends on others."""
    n_v, n_lam = la.n_v, la.n_lam
    order, r, place = ivec(la.structure, n_v), vec(la.r, n_v + n_lam), vec(la.w, n_v)
    failed = 1
    if la.structured == 1:
        load(K, rows, columns, order, gi, gj, G, count, n_lam, n_v, scales, r, place)
        failed = choose(K, rows, columns, n_lam, n_v, False)
    if failed != 0:
        load(K, rows, columns, order, gi, gj, G, count, n_lam, n_v, scales, r, place)
        failed = choose(K, rows, columns, n_lam, n_v, True)
    if failed == 0:
        span(K, columns, N, n_lam, n_v)
    return failed


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    sizes = ivec(la.sizes, 7)
    n_v, n_lam = la.n_v, la.n_lam
    free = n_v - n_lam
    r, c = vec(la.r, n_v + n_lam), vec(la.c, n_v + n_lam)
    bad = check_and_scale(saddle_at(own), r, c)
    if bad != 0:
        return bad
    N, N_U, MN, A = mat(la.N, n_v, free), mat(la.N_U, n_v, free), mat(la.MN, n_v, free), mat(la.A, free, free)
    columns = ivec(la.K_columns, n_v)
    G, gi, gj = vec(la.G, sizes[3]), ivec(la.G_rows, sizes[3]), ivec(la.G_columns, sizes[3])
    failed = decompose(la, mat(la.K, n_lam, n_v), ivec(la.K_rows, n_lam), columns, N, gi, gj, G, sizes[3], r)
    if failed != 0:
        return n_v + failed
    left = N
    if sizes[5] == 0:
        U, ui, uj = vec(la.U, sizes[4]), ivec(la.U_rows, sizes[4]), ivec(la.U_columns, sizes[4])
        failed = decompose(
            la, mat(la.K_U, n_lam, n_v), ivec(la.KU_rows, n_lam), ivec(la.KU_columns, n_v), N_U, ui, uj, U, sizes[4], c
        )
        if failed != 0:
            return n_v + failed
        left = N_U
    M, mi, mj = vec(la.M, sizes[2]), ivec(la.M_rows, sizes[2]), ivec(la.M_columns, sizes[2])
    for i in range(n_v):
        for z in range(free):
            MN[i, z] = 0.0
    kept = vec(la.kept, sizes[2])
    for k in range(sizes[2]):
        value = M[k] * r[mi[k]] * r[mj[k]]
        kept[k] = value
        for z in range(free):
            MN[mi[k], z] += value * N[mj[k], z]
    for i in range(free):
        for j in range(free):
            A[i, j] = 0.0
    for k in range(n_v):
        for i in range(free):
            value = left[k, i]
            if value != 0.0:
                for j in range(free):
                    A[i, j] += value * MN[k, j]
    largest = 0.0
    for i in range(free):
        largest = max(largest, abs(A[i, i]))
    failed = lu.factor(A, ivec(la.pivots, free), free)
    if failed == 0:
        failed = rank_deficient(A, free, False)
        for i in range(free):
            if not abs(A[i, i]) > TINY * largest:
                failed = i + 1
                break
    return failed if failed == 0 else columns[n_lam + failed - 1] + 1


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n_v, n_lam = la.n_v, la.n_lam
    free, n_m = n_v - n_lam, ivec(la.sizes, 7)[2]
    symmetric = ivec(la.sizes, 7)[5] == 1
    r, c, w, y = vec(la.r, n_v + n_lam), vec(la.c, n_v + n_lam), vec(la.w, n_v), vec(la.y, n_v)
    h, z = vec(la.h, n_lam), vec(la.z, free)
    K, rows, columns = mat(la.K, n_lam, n_v), ivec(la.K_rows, n_lam), ivec(la.K_columns, n_v)
    N, MN, given, out = mat(la.N, n_v, free), mat(la.MN, n_v, free), vec(b, n_v + n_lam), vec(x, n_v + n_lam)
    left = N if symmetric else mat(la.N_U, n_v, free)
    for i in range(n_v):
        y[i] = r[i] * given[i]
        w[i] = 0.0
    for i in range(n_lam):  # w₀ = K⁻¹ g
        s = r[n_v + rows[i]] * given[n_v + rows[i]]
        for k in range(i):
            s -= K[i, k] * h[k]
        h[i] = s
    for i in range(n_lam - 1, -1, -1):
        s = h[i]
        for k in range(i + 1, n_lam):
            s -= K[i, k] * h[k]
        h[i] = s / K[i, i]
        w[columns[i]] = h[i]
    M, mi, mj = vec(la.kept, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    for k in range(n_m):
        y[mi[k]] -= M[k] * w[mj[k]]
    for i in range(free):
        z[i] = 0.0
    for k in range(n_v):
        for i in range(free):
            z[i] += left[k, i] * y[k]
    lu.substitute(mat(la.A, free, free), ivec(la.pivots, free), z, free)
    for k in range(n_v):
        for i in range(free):
            w[k] += N[k, i] * z[i]
            y[k] -= MN[k, i] * z[i]
        out[k] = c[k] * w[k]
    if not symmetric:
        K, rows, columns = mat(la.K_U, n_lam, n_v), ivec(la.KU_rows, n_lam), ivec(la.KU_columns, n_v)
    for i in range(n_lam):  # λ = K⁻ᵀ of what is left of the forces
        s = y[columns[i]]
        for k in range(i):
            s -= K[k, i] * h[k]
        h[i] = s / K[i, i]
    for i in range(n_lam - 1, -1, -1):
        s = h[i]
        for k in range(i + 1, n_lam):
            s -= K[k, i] * h[k]
        h[i] = s
        out[n_v + rows[i]] = c[n_v + rows[i]] * s
    return 0
