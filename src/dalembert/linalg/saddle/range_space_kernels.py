"""Range-space method on the scaled system: M = L Lᵀ by blocks, W = G L⁻ᵀ, Wᵀ = Q R."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.factors import cholesky, lu
from dalembert.linalg.saddle.dense_kernels import rank_deficient
from dalembert.linalg.saddle.saddle import SADDLE, TINY, check_and_scale, new_saddle, saddle_at
from dalembert.linalg.saddle.storage import block_tables, constraint_kind

i8, u8 = nb.int64, nb.uint64

TABLES = ("order", "place", "begin", "at", "block")
RECORD = layout(
    arrays=[
        *SADDLE,
        "L", *TABLES,
        "row", "touched",  # blocks that row row[k] of G touches
        "added",  # 1 for rows of G whose squares are added to M
        # the same with all rows added, in one full block
        *(f"full_{name}" for name in TABLES), "full_row", "full_touched", "full_added",
        "W", "V",  # L⁻¹ Gᵀ and L⁻¹ Uᵀ, transposed; V is also the work space of the QR decomposition
        "R",  # or the factors of G M⁻¹ Uᵀ
        "pivots", "r", "c", "y",
    ],
    wholes=["n_v", "n_lam", "n_L", "n_blocks", "n_touched", "augmented"],
)  # fmt: skip
_at = member(RECORD)


def range_space_memory(solver, pattern, blocks, joined) -> Memory:
    n, m = pattern.n_v, pattern.n_lam
    tables, full = block_tables(blocks, n), block_tables([np.arange(n)] if n else [], n)
    added = np.zeros(m, np.int64)
    added[joined] = 1
    if constraint_kind(pattern, solver.constraint) == "full":
        row, touched = np.repeat(np.arange(m), len(blocks)), np.tile(np.arange(len(blocks)), m)
    else:
        pairs = {(i, int(tables["block"][tables["place"][j]])) for i, j in zip(*_both(pattern), strict=True)}
        row, touched = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    whole = lambda a: np.ascontiguousarray(a, dtype=np.int64)  # noqa: E731
    return new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve),
        L=np.zeros(n * n), **tables, row=whole(row), touched=whole(touched), added=added,
        **{f"full_{name}": table for name, table in full.items()}, full_row=np.arange(m),
        full_touched=np.zeros(m, np.int64), full_added=np.ones(m, np.int64),
        W=np.zeros((m, n)), V=np.zeros((m, n)), R=np.zeros((m, m)), pivots=np.zeros(m, np.int64), r=np.ones(n + m),
        c=np.ones(n + m), y=np.zeros(n + m), n_v=n, n_lam=m, n_L=n * n, n_blocks=len(blocks), n_touched=len(row),
        augmented=0,
    )  # fmt: skip


def _both(pattern) -> tuple[list[int], list[int]]:
    """Entries of G and U."""
    parts = [pattern.constraint] if pattern.symmetric else [pattern.constraint, pattern.force]
    return tuple(np.concatenate([p[k] for p in parts]).tolist() for k in range(2))


@device
def load_mass(la, L, place, begin, at, block, r, added):
    """The scaled M, plus the squares of rows of W (which is G here)."""
    sizes = ivec(la.sizes, 7)
    M, mi, mj = vec(la.M, sizes[2]), ivec(la.M_rows, sizes[2]), ivec(la.M_columns, sizes[2])
    for i in range(la.n_L):
        L[i] = 0.0
    for k in range(sizes[2]):
        i, j = place[mi[k]], place[mj[k]]
        b = block[i]
        n = begin[b + 1] - begin[b]
        L[at[b] + (i - begin[b]) * n + j - begin[b]] += M[k] * r[mi[k]] * r[mj[k]]
    W = mat(la.W, la.n_lam, la.n_v)
    for k in range(la.n_lam):
        if added[k] == 1:
            for i in range(la.n_v):
                value = W[k, i]
                if value != 0.0:  # all nonzeros of the row are in one block
                    b = block[i]
                    n = begin[b + 1] - begin[b]
                    for j in range(begin[b], i + 1):
                        L[at[b] + (i - begin[b]) * n + j - begin[b]] += value * W[k, j]


@device
def load_rows(W, rows, columns, values, count, place, n_lam, n_v, scales, r):
    """W = scaled rows of G or U, in the order of the blocks."""
    for i in range(n_lam):
        for j in range(n_v):
            W[i, j] = 0.0
    for k in range(count):
        W[rows[k], place[columns[k]]] += values[k] * scales[n_v + rows[k]] * r[columns[k]]


@device
def orthogonalize(W, Q, R, n_lam, n_v):
    """R of Wᵀ = Q R. Returns 0, or 1 + the row that depends on those before."""
    for k in range(n_lam):
        whole = 0.0
        for j in range(n_v):
            Q[k, j] = W[k, j]
            whole += W[k, j] * W[k, j]
        for q in range(k):
            s = 0.0
            for j in range(n_v):
                s += Q[q, j] * Q[k, j]
            R[q, k] = s
            for j in range(n_v):
                Q[k, j] -= s * Q[q, j]
        s = 0.0
        for j in range(n_v):
            s += Q[k, j] * Q[k, j]
        if not s > TINY * TINY * whole:
            return k + 1
        R[k, k] = np.sqrt(s)
        for j in range(n_v):
            Q[k, j] /= R[k, k]
    return 0


@device
def attempt(la, order, place, begin, at, block, n_blocks, row, touched, n_touched, added):
    """Factor; returns 0 or 1 + unknown."""
    sizes = ivec(la.sizes, 7)
    n_v, n_lam = la.n_v, la.n_lam
    L, W, V, R = vec(la.L, la.n_L), mat(la.W, n_lam, n_v), mat(la.V, n_lam, n_v), mat(la.R, n_lam, n_lam)
    r, c = vec(la.r, n_v + n_lam), vec(la.c, n_v + n_lam)
    G, gi, gj = vec(la.G, sizes[3]), ivec(la.G_rows, sizes[3]), ivec(la.G_columns, sizes[3])
    load_rows(W, gi, gj, G, sizes[3], place, n_lam, n_v, r, r)
    load_mass(la, L, place, begin, at, block, r, added)
    limit = TINY if la.augmented == 1 else cholesky.SMALL
    failed = cholesky.decompose(L, begin, at, n_blocks, limit)
    if failed != 0:
        return order[failed - 1] + 1
    for k in range(n_touched):
        cholesky.forward(L, begin, at, touched[k], W[row[k]])
    if sizes[5] == 1:
        failed = orthogonalize(W, V, R, n_lam, n_v)
        return failed if failed == 0 else n_v + failed
    U, ui, uj = vec(la.U, sizes[4]), ivec(la.U_rows, sizes[4]), ivec(la.U_columns, sizes[4])
    load_rows(V, ui, uj, U, sizes[4], place, n_lam, n_v, c, r)
    for k in range(n_touched):
        cholesky.forward(L, begin, at, touched[k], V[row[k]])
    for i in range(n_lam):
        for j in range(n_lam):
            s = 0.0
            for k in range(n_v):
                s += W[i, k] * V[j, k]
            R[i, j] = s
    failed = lu.factor(R, ivec(la.pivots, n_lam), n_lam)
    if failed == 0:
        failed = rank_deficient(R, n_lam, False)
    return failed if failed == 0 else n_v + failed


@device
def attempt_blocks(la):
    n, k = la.n_v, la.n_blocks
    return attempt(
        la, ivec(la.order, n), ivec(la.place, n), ivec(la.begin, k + 1), ivec(la.at, k + 1), ivec(la.block, n), k,
        ivec(la.row, la.n_touched), ivec(la.touched, la.n_touched), la.n_touched, ivec(la.added, la.n_lam),
    )  # fmt: skip


@device
def attempt_full(la):
    n = la.n_v
    k = min(n, 1)
    return attempt(
        la, ivec(la.full_order, n), ivec(la.full_place, n), ivec(la.full_begin, k + 1), ivec(la.full_at, k + 1),
        ivec(la.full_block, n), k, ivec(la.full_row, la.n_lam), ivec(la.full_touched, la.n_lam), la.n_lam,
        ivec(la.full_added, la.n_lam),
    )  # fmt: skip


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    bad = check_and_scale(saddle_at(own), vec(la.r, la.n_v + la.n_lam), vec(la.c, la.n_v + la.n_lam))
    if bad != 0:
        return bad
    if la.augmented == 0:
        failed = attempt_blocks(la)
        if failed == 0 or failed > la.n_v:
            return failed
        la.augmented = 1  # M is only semi-definite
    failed = attempt_full(la)
    return failed


@device
def substitute(la, begin, at, n_blocks, place, added, given, out):
    sizes = ivec(la.sizes, 7)
    n_v, n_lam = la.n_v, la.n_lam
    L, W, V, R = vec(la.L, la.n_L), mat(la.W, n_lam, n_v), mat(la.V, n_lam, n_v), mat(la.R, n_lam, n_lam)
    r, c, y = vec(la.r, n_v + n_lam), vec(la.c, n_v + n_lam), vec(la.y, n_v + n_lam)
    for i in range(n_v):
        y[place[i]] = r[i] * given[i]
    for i in range(n_lam):
        y[n_v + i] = r[n_v + i] * given[n_v + i]
    for b in range(n_blocks):
        cholesky.forward(L, begin, at, b, y)
    for k in range(n_lam):
        if added[k] == 1:  # L⁻¹ (f + Gᵀ g)
            for j in range(n_v):
                y[j] += W[k, j] * y[n_v + k]
    for k in range(n_lam):
        s = -y[n_v + k]
        for j in range(n_v):
            s += W[k, j] * y[j]
        y[n_v + k] = s
    if sizes[5] == 1:
        for k in range(n_lam):
            s = y[n_v + k]
            for q in range(k):
                s -= R[q, k] * y[n_v + q]
            y[n_v + k] = s / R[k, k]
        for k in range(n_lam - 1, -1, -1):
            s = y[n_v + k]
            for q in range(k + 1, n_lam):
                s -= R[k, q] * y[n_v + q]
            y[n_v + k] = s / R[k, k]
        for k in range(n_lam):
            for j in range(n_v):
                y[j] -= W[k, j] * y[n_v + k]
    else:
        lu.substitute(R, ivec(la.pivots, n_lam), y[n_v:], n_lam)
        for k in range(n_lam):
            for j in range(n_v):
                y[j] -= V[k, j] * y[n_v + k]
    for b in range(n_blocks):
        cholesky.backward(L, begin, at, b, y)
    for i in range(n_v):
        out[i] = c[i] * y[place[i]]
    for i in range(n_v, n_v + n_lam):
        out[i] = c[i] * y[i]


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n, k = la.n_v + la.n_lam, la.n_blocks
    if la.augmented == 1:
        k = min(la.n_v, 1)
        begin, at, place = ivec(la.full_begin, k + 1), ivec(la.full_at, k + 1), ivec(la.full_place, la.n_v)
        added = ivec(la.full_added, la.n_lam)
    else:
        begin, at, place = ivec(la.begin, k + 1), ivec(la.at, k + 1), ivec(la.place, la.n_v)
        added = ivec(la.added, la.n_lam)
    substitute(la, begin, at, k, place, added, vec(b, n), vec(x, n))
    return 0
