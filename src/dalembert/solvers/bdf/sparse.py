"""Sparse linear algebra of the BDF methods: c E − J with the factors of `linalg.factors.sparse_lu`.

Order of columns and pattern are found once; later matrices are factored on the pattern and the pivots of the first.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, kernel
from dalembert.compile.memory import Memory, layout, member, vec
from dalembert.linalg.factors.sparse_lu import factor_sparse, lu_at, new_sparse_lu, sparse_lu_cost, substitute_sparse
from dalembert.solvers import sparse
from dalembert.solvers.bdf.core import LINEAR_ALGEBRA

i8, u8, f8 = nb.int64, nb.uint64, nb.float64

ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        *sparse.ARRAYS,
        "lu",
    ],
    wholes=[*sparse.WHOLES, "singular"],
)  # fmt: skip
_at = member(ALGEBRA)


def sparse_algebra(compiled, threshold: float) -> Memory:
    """Set up for a compiled system; `threshold` is that of `Sparse`."""
    rows, columns = sparse.entries(compiled)
    lu, to = new_sparse_lu(rows, columns, compiled.system.n, threshold=threshold)
    return Memory(
        ALGEBRA,
        dict(
            decompose=address_of(decompose), prepare=address_of(prepare), solve=address_of(solve), own=0, state=0,
            nonzeros=np.zeros(len(rows)), cost=np.array([0, *sparse_lu_cost(lu)]), lu=lu, to=to,
            n_j=len(compiled.jacobian_pattern[0]), n_nonzeros=len(rows), singular=-1,
        ),
    )  # fmt: skip


@kernel(i8(u8, u8))
def decompose(own, state):
    """See `bdf.core`; so for the others. Everything depends on c."""
    return 1


@kernel(i8(u8, f8, f8, f8))
def prepare(own, c, unused_1, unused_2):
    la = _at(own)
    lu = lu_at(la.lu)
    sparse.load(la, vec(lu.A, lu.nnz), c)
    failed = factor_sparse(lu)
    if failed != 0:
        la.singular = failed - 1
    return 1 if failed == 0 else 0


@kernel(i8(u8, u8, u8))
def solve(own, R, out):
    lu = lu_at(_at(own).lu)
    substitute_sparse(lu, vec(R, lu.n), vec(out, lu.n))
    return 0
