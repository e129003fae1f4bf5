"""Sparse linear algebra of ODASSL: the relaxed system of `overdetermined`, with d and μ as unknowns of one matrix.

[ A₁  −B ] [ d ]   [ r₁ ]
[ A₂   0 ] [ μ ] = [ r₂ ],      B = E W A₂ᵀ
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, kernel
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.linalg.factors.sparse_lu import factor_sparse, lu_at, new_sparse_lu, sparse_lu_cost, substitute_sparse
from dalembert.solvers import sparse
from dalembert.solvers.bdf.core import LINEAR_ALGEBRA
from dalembert.solvers.bdf.sparse import decompose

i8, u8, f8 = nb.int64, nb.uint64, nb.float64

ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        *sparse.ARRAYS,
        "lu",
        "e", "h",  # products of nonzeros of E and of ∂h/∂x that make up −B
        "b",  # and where they go
        "column",  # of E, for each product
        "metric",  # W
        "both",  # d and μ
    ],
    wholes=[*sparse.WHOLES, "n", "n_b", "singular"],
)  # fmt: skip
_at = member(ALGEBRA)


def bordered_algebra(compiled, threshold: float) -> Memory:
    """Set up for a compiled stacked system; `threshold` is that of `Sparse`."""
    n, rows_all = compiled.system.n, len(compiled.system.equations)
    rows, columns = sparse.entries(compiled)
    n_j = len(compiled.jacobian_pattern[0])
    h_in: dict[int, list[int]] = {}  # nonzeros of ∂h/∂x by columns
    for k in np.flatnonzero(rows[:n_j] >= n):
        h_in.setdefault(int(columns[k]), []).append(k)
    products = [(k, q) for k in range(n_j, len(rows)) for q in h_in.get(int(columns[k]), ())]
    e, h = (np.array([pair[i] for pair in products], np.int64) for i in range(2))
    all_rows, all_columns = np.concatenate([rows, rows[e]]), np.concatenate([columns, rows[h]])
    lu, to = new_sparse_lu(all_rows, all_columns, rows_all, threshold=threshold)
    return Memory(
        ALGEBRA,
        dict(
            decompose=address_of(decompose), prepare=address_of(prepare), solve=address_of(solve), own=0, state=0,
            nonzeros=np.zeros(len(rows)), cost=np.array([0, *sparse_lu_cost(lu)]), lu=lu, to=to[: len(rows)].copy(),
            e=e, h=h, b=to[len(rows) :].copy(), column=columns[e].copy(), metric=np.ones(n), both=np.zeros(rows_all),
            n_j=n_j, n_nonzeros=len(rows), n=n,
            n_b=len(products), singular=-1,
        ),
    )  # fmt: skip


@kernel(i8(u8, f8, f8, f8))
def prepare(own, c, unused_1, unused_2):
    """See `bdf.core`."""
    la = _at(own)
    lu, nz = lu_at(la.lu), vec(la.nonzeros, la.n_nonzeros)
    A, e, h, b = vec(lu.A, lu.nnz), ivec(la.e, la.n_b), ivec(la.h, la.n_b), ivec(la.b, la.n_b)
    column, metric = ivec(la.column, la.n_b), vec(la.metric, la.n)
    sparse.load(la, A, c)
    for k in range(la.n_b):
        A[b[k]] += nz[e[k]] * metric[column[k]] * nz[h[k]]  # A₂ = −∂h/∂x
    failed = factor_sparse(lu)
    if failed != 0:
        la.singular = failed - 1 if failed <= la.n else la.n - failed
    return 1 if failed == 0 else 0


@kernel(i8(u8, u8, u8))
def solve(own, R, out):
    la = _at(own)
    lu, d = lu_at(la.lu), vec(out, la.n)
    both = vec(la.both, lu.n)
    substitute_sparse(lu, vec(R, lu.n), both)
    for i in range(la.n):
        d[i] = both[i]
    return 0
