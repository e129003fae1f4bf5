"""σ E − J as a sparse matrix, for one real σ (BDF) or a real and a complex one (Radau)."""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, vec

#: fields of a record that `load` reads, besides `nonzeros`; nonzero k of ∂F/∂x, then of E, goes to[k] of the matrix
ARRAYS, WHOLES = ("to",), ("n_j", "n_nonzeros")


def entries(compiled) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the nonzeros of ∂F/∂x, then of E."""
    (j_row, j_column), (e_row, e_column) = compiled.jacobian_pattern, compiled.leading_pattern
    return np.concatenate([j_row, e_row]), np.concatenate([j_column, e_column])


@device
def load(la, A, sigma):
    """Fill A, real or complex as σ is."""
    nz, to = vec(la.nonzeros, la.n_nonzeros), ivec(la.to, la.n_nonzeros)
    for p in range(A.size):
        A[p] = 0.0
    for k in range(la.n_j):
        A[to[k]] -= nz[k]
    for k in range(la.n_j, la.n_nonzeros):
        A[to[k]] += sigma * nz[k]
