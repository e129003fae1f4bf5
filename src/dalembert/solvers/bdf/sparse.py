"""Sparse linear algebra of the BDF methods: c E − J by the sparse LU factorization of `linalg.sparse_kernels`.

Order of columns and pattern are found once; later matrices are factored on the pattern and the pivots of the first.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.linalg.sparse import column_order, fill_bound
from dalembert.linalg.sparse_kernels import analyse, refactor
from dalembert.solvers.bdf.core import LINEAR_ALGEBRA

i8, u8, f8 = nb.int64, nb.uint64, nb.float64
#: pivots may fall to this fraction of their column before rows are chosen anew
THRESHOLD = 1e-3

ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        "to",  # nonzero k of ∂F/∂x, then of E, goes to[k] of A
        # as in `linalg.sparse_kernels`
        "A", "A_start", "A_row", "A_at", "order", "place", "lower", "lower_row", "lower_start", "upper", "upper_row",
        "upper_start", "pivot", "x", "stack", "next", "seen", "found",
        "r", "s",  # scales of rows and columns
    ],
    reals=["threshold"],
    wholes=["n", "nnz", "n_L", "n_U", "known", "analyses", "n_j", "n_nonzeros", "singular"],
)  # fmt: skip
_at = member(ALGEBRA)


def sparse_algebra(compiled) -> Memory:
    """Set up for a compiled system."""
    n = compiled.system.n
    (j_row, j_column), (e_row, e_column) = compiled.jacobian_pattern, compiled.leading_pattern
    rows, columns = np.concatenate([j_row, e_row]), np.concatenate([j_column, e_column])
    keys, to = np.unique(columns * n + rows, return_inverse=True)
    A_row, A_start = keys % n, np.searchsorted(keys, np.arange(n + 1) * n)
    order = column_order(A_start, A_row, n)
    n_L, n_U = fill_bound(A_start, A_row, order)
    whole = lambda size: np.zeros(size, np.int64)  # noqa: E731
    return Memory(
        ALGEBRA,
        dict(
            decompose=address_of(decompose), prepare=address_of(prepare), solve=address_of(solve), own=0, state=0,
            nonzeros=np.zeros(len(rows)), cost=np.array([0, 4 * n_L + 2 * len(keys), 2 * (n_L + n_U)]),
            to=to.ravel().astype(np.int64), A=np.zeros(len(keys)), A_start=A_start.astype(np.int64),
            A_row=A_row.astype(np.int64), A_at=whole(len(keys)), order=order.astype(np.int64), place=whole(n),
            lower=np.zeros(n_L), lower_row=whole(n_L), lower_start=whole(n + 1), upper=np.zeros(n_U),
            upper_row=whole(n_U), upper_start=whole(n + 1), pivot=np.zeros(n), x=np.zeros(n), stack=whole(n),
            next=whole(n), seen=whole(n), found=whole(n), r=np.ones(n), s=np.ones(n), threshold=THRESHOLD, n=n,
            nnz=len(keys), n_L=n_L, n_U=n_U, known=0, analyses=0, n_j=len(j_row), n_nonzeros=len(rows), singular=-1,
        ),
    )  # fmt: skip


@kernel(i8(u8, u8))
def decompose(own, state):
    """See `bdf.core`; so for the others. Everything depends on c."""
    return 1


@device
def scale(la):
    """Rows, then columns, to largest entries of 1."""
    n = la.n
    A, A_start, A_row, r, s = (
        vec(la.A, la.nnz),
        ivec(la.A_start, n + 1),
        ivec(la.A_row, la.nnz),
        vec(la.r, n),
        vec(la.s, n),
    )
    for i in range(n):
        r[i] = 0.0
    for p in range(la.nnz):
        r[A_row[p]] = max(r[A_row[p]], abs(A[p]))
    for i in range(n):
        r[i] = 1.0 / r[i] if r[i] > 0.0 else 1.0
    for j in range(n):
        largest = 0.0
        for p in range(A_start[j], A_start[j + 1]):
            A[p] *= r[A_row[p]]
            largest = max(largest, abs(A[p]))
        s[j] = 1.0 / largest if largest > 0.0 else 1.0
        for p in range(A_start[j], A_start[j + 1]):
            A[p] *= s[j]


@kernel(i8(u8, f8, f8, f8))
def prepare(own, c, unused_1, unused_2):
    la = _at(own)
    A, nz, to = vec(la.A, la.nnz), vec(la.nonzeros, la.n_nonzeros), ivec(la.to, la.n_nonzeros)
    for p in range(la.nnz):
        A[p] = 0.0
    for k in range(la.n_j):
        A[to[k]] -= nz[k]
    for k in range(la.n_j, la.n_nonzeros):
        A[to[k]] += c * nz[k]
    for p in range(la.nnz):
        if not np.isfinite(A[p]):
            return 0
    scale(la)
    if la.known == 1 and refactor(la):
        return 1
    failed = analyse(la)
    if failed != 0:
        la.singular = failed - 1
        return 0
    return 1


@kernel(i8(u8, u8, u8))
def solve(own, R, out):
    la = _at(own)
    n = la.n
    L, L_row, L_start = vec(la.lower, la.n_L), ivec(la.lower_row, la.n_L), ivec(la.lower_start, n + 1)
    U, U_row, U_start = vec(la.upper, la.n_U), ivec(la.upper_row, la.n_U), ivec(la.upper_start, n + 1)
    order, place, pivot = ivec(la.order, n), ivec(la.place, n), vec(la.pivot, n)
    r, s, y, given, d = vec(la.r, n), vec(la.s, n), vec(la.x, n), vec(R, n), vec(out, n)
    for i in range(n):
        y[place[i]] = r[i] * given[i]
    for j in range(n):
        value = y[j]
        for p in range(L_start[j], L_start[j + 1]):
            y[L_row[p]] -= L[p] * value
    for j in range(n - 1, -1, -1):
        value = y[j] * pivot[j]
        y[j] = 0.0
        for q in range(U_start[j], U_start[j + 1]):
            y[U_row[q]] -= U[q] * value
        d[order[j]] = s[order[j]] * value
    return 0
