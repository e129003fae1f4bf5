"""Sparse LU factorization with a pivot sequence that is kept as long as it is stable.

The order of the columns (COLAMD) comes from the pattern alone. The first factorization chooses the rows by threshold
pivoting; later ones reuse pattern and pivots, and choose anew by themselves when a pivot has become too small. The
memory holds whatever rows may be chosen: the factors L and U of every pivot sequence lie within the factors V and R
of A = Q R (George and Ng, 1987).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dalembert.linalg.protocol import ITERATION, PROJECTED, SADDLE, Pattern, ProjectedPattern
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern
from dalembert.options import require

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


@dataclass(frozen=True, kw_only=True, repr=False)
class Sparse(LinearSolver):
    """Sparse LU factorization: for large systems of any topology."""

    kinds: ClassVar[tuple[str, ...]] = (SADDLE, ITERATION, PROJECTED)

    threshold: float = 1e-3  # pivots may fall to this fraction of their column before rows are chosen anew

    def __post_init__(self) -> None:
        self.coerce_numbers()
        require(0 < self.threshold <= 0.1, f"threshold={self.threshold} must lie between 0 and 0.1")

    def obstacle(self, pattern: Pattern) -> str:
        """Why this solver is not for the pattern; empty if it is."""
        return pattern.dense_only if isinstance(pattern, ProjectedPattern) else super().obstacle(pattern)

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load

        load("dalembert.linalg.saddle.sparse_kernels")
        from dalembert.linalg.saddle.sparse_kernels import sparse_memory

        return sparse_memory(self, pattern)


def column_order(start: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """A fill-reducing order of the columns of a pattern in compressed columns."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import reverse_cuthill_mckee, structural_rank
    from scipy.sparse.linalg import splu

    if n == 0:
        return np.zeros(0, np.int64)
    values = np.random.default_rng(0).uniform(1.0, 2.0, len(rows))
    A = sp.csc_matrix((values, rows, start), shape=(n, n))
    if structural_rank(A) == n:
        with contextlib.suppress(RuntimeError):  # these values are singular
            return np.argsort(splu(A, permc_spec="COLAMD").perm_c)
    return reverse_cuthill_mckee(sp.csr_matrix(A + A.T), symmetric_mode=True)  # no solution: `factor` will say why


def fill_bound(start: np.ndarray, rows: np.ndarray, order: np.ndarray) -> tuple[int, int]:
    """Largest numbers of nonzeros of L and U, whatever rows become pivots.

    Row k of R has the columns of all rows of A whose first column is k, and of the rows of R below whose second
    column is k; each column keeps one row of V and passes the others on.
    """
    n = len(order)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    columns = np.repeat(place, np.diff(start))  # of the nonzeros, in the new order
    by_row = np.lexsort((columns, rows))
    columns, sizes = columns[by_row], np.bincount(rows, minlength=n)
    ends = np.cumsum(sizes)[sizes > 0]
    first = columns[ends - sizes[sizes > 0]]
    columns, queue = columns.tolist(), np.bincount(first, minlength=n).tolist()
    waiting: list[set[int]] = [set() for _ in range(n)]
    begin = 0
    for k, end in zip(first.tolist(), ends.tolist(), strict=True):
        waiting[k].update(columns[begin:end])
        begin = end
    lower = upper = 0
    for k in range(n):
        row = waiting[k]
        upper += len(row)
        lower += queue[k]
        row.discard(k)
        if row:
            parent = min(row)
            queue[parent] += max(queue[k] - 1, 0)
            if len(row) > len(waiting[parent]):
                row, waiting[parent] = waiting[parent], row
            waiting[parent].update(row)
        waiting[k] = set()
    return min(lower, n * (n + 1) // 2), min(upper, n * (n + 1) // 2)
