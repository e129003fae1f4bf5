"""Sparse linear algebra of the Radau stage solver: (σ E − J) Δ = R for one real and one complex σ.

Order of columns and pattern are found once; later matrices are factored on the pattern and the pivots of the first.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, cvec, layout, vec
from dalembert.linalg.factors.sparse_lu import (
    factor_sparse,
    factor_sparse_complex,
    lu_at,
    new_sparse_lu,
    sparse_lu_cost,
    substitute_sparse,
    substitute_sparse_complex,
)
from dalembert.solvers import sparse
from dalembert.solvers.radau.state import LINEAR_ALGEBRA

ALGEBRA = layout(
    arrays=[*LINEAR_ALGEBRA, *sparse.ARRAYS, "real", "complex"],
    wholes=[*sparse.WHOLES, "n", "n_rows", "singular"],
)


def algebra(compiled, addresses: dict[str, int], threshold: float) -> Memory:
    """Set up for a compiled system; `addresses` are those of the kernels, `threshold` that of `Sparse`."""
    n, (rows, columns) = compiled.system.n, sparse.entries(compiled)
    real, to = new_sparse_lu(rows, columns, n, threshold=threshold)
    factors, substitution = sparse_lu_cost(real)
    return Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0, nonzeros=np.zeros(len(rows)), to=to, real=real,
            complex=new_sparse_lu(rows, columns, n, threshold=threshold, dtype=complex, like=real)[0],
            n_j=len(compiled.jacobian_pattern[0]), n_nonzeros=len(rows), n=n, n_rows=n, singular=-1,
            cost=np.array([0, 5 * factors, 5 * substitution, substitution]),
        ),
    )  # fmt: skip


@device
def decompose(la, state):
    """Everything depends on σ."""
    return True


@device
def prepare(la, gamma, alpha, beta):
    """Factor for σ = γ and σ = α + iβ. Returns False if a matrix is singular."""
    real, both = lu_at(la.real), lu_at(la.complex)
    sparse.load(la, vec(real.A, real.nnz), gamma)
    failed = factor_sparse(real)
    if failed == 0:
        sparse.load(la, cvec(both.A, both.nnz), complex(alpha, beta))
        failed = factor_sparse_complex(both)
    if failed != 0:
        la.singular = failed - 1
    return failed == 0


@device
def solve_real(la, R, out):
    """Δ = (γ E − J)⁻¹ R."""
    substitute_sparse(lu_at(la.real), R, out)


@device
def solve_stages(la, R, D):
    """Column 0: (γ E − J)⁻¹ R₀; columns 1 and 2: real and imaginary part of ((α + iβ) E − J)⁻¹ (R₁ + i R₂)."""
    substitute_sparse(lu_at(la.real), R[:, 0], D[:, 0])
    substitute_sparse_complex(lu_at(la.complex), R, D)


@device
def correct(la, F, out):
    """The constraints are part of the system: there is nothing to correct."""
    return False
