"""The saddle-point system as a sparse matrix, with the factors of `sparse_lu`."""

import numba as nb

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.linalg.factors.sparse_lu import factor_scaled, lu_at, new_sparse_lu, substitute_sparse
from dalembert.linalg.saddle.saddle import SADDLE, check_and_scale, new_saddle, saddle_at

i8, u8 = nb.int64, nb.uint64

RECORD = layout(
    arrays=[
        *SADDLE,
        "lu",
        "to",  # nonzero k of M, then G, then Uᵀ, goes to[k] of the matrix
    ]
)  # fmt: skip
_at = member(RECORD)


def sparse_memory(solver, pattern) -> Memory:
    lu, to = new_sparse_lu(*pattern.entries(), pattern.n, threshold=solver.threshold)
    return new_saddle(solver, pattern, RECORD, address_of(factor), address_of(solve), lu=lu, to=to)


@device
def load(la, lu):
    """The scaled matrix from the values of M, G and U."""
    sizes = ivec(la.sizes, 7)
    n_v, n_m, n_g, n_u = sizes[0], sizes[2], sizes[3], sizes[4]
    M, mi, mj = vec(la.M, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    G, gi, gj = vec(la.G, n_g), ivec(la.G_rows, n_g), ivec(la.G_columns, n_g)
    A, r, c = vec(lu.A, lu.nnz), vec(lu.r, lu.n), vec(lu.s, lu.n)
    symmetric = sizes[5] == 1
    n_force = n_g if symmetric else n_u
    to = ivec(la.to, n_m + n_g + n_force)
    for k in range(lu.nnz):
        A[k] = 0.0
    for k in range(n_m):
        A[to[k]] += M[k] * r[mi[k]] * c[mj[k]]
    first = n_m
    for k in range(n_g):
        value = G[k] * r[n_v + gi[k]] * c[gj[k]]
        A[to[first + k]] += value
        if symmetric:
            A[to[first + n_g + k]] += value
    first += n_g
    U, ui, uj = vec(la.U, n_u), ivec(la.U_rows, n_u), ivec(la.U_columns, n_u)
    for k in range(n_u):
        A[to[first + k]] += U[k] * r[uj[k]] * c[n_v + ui[k]]


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    lu = lu_at(la.lu)
    bad = check_and_scale(saddle_at(own), vec(lu.r, lu.n), vec(lu.s, lu.n))
    if bad != 0:
        return bad
    load(la, lu)
    return factor_scaled(lu)


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    lu = lu_at(_at(own).lu)
    substitute_sparse(lu, vec(b, lu.n), vec(x, lu.n))
    return 0
