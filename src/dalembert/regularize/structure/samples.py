"""Matrices of a system at generic points: what holds there holds nearly everywhere."""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy import sparse

from dalembert.regularize.structure.elimination import random_truth
from dalembert.regularize.system import System

#: sizes of the points: functions may not be defined at all of them
SIZES = (1.0, 0.1, -0.7, 10.0)
#: points that are looked at
ENOUGH = 2
#: rounding errors of what is compared, in units of the largest entry
SAME = 1e-9


class Samples:
    """∂F/∂x and E at points in which nothing vanishes by chance, as sparse matrices by rows."""

    def __init__(self, system: System):
        graph, n, m = system.model.graph, system.n, system.residual.numel()
        function = ca.Function(
            "at", [system.x, system.x_dot, graph.t, graph.theta], [system.jacobian, ca.sparsify(system.leading)]
        )
        patterns = [
            tuple(np.array(part, np.int64) for part in matrix.sparsity().get_triplet())
            for matrix in (system.jacobian, ca.sparsify(system.leading))
        ]
        random = np.random.default_rng(1)
        self.J: list[sparse.csr_array] = []
        self.E: list[sparse.csr_array] = []
        for size in SIZES:
            if len(self.J) == (ENOUGH if system.model.hybrid is None else len(SIZES)):
                break
            x, x_dot = size * random.uniform(0.2, 1.0, n), size * random.uniform(0.2, 1.0, n)
            theta = system.model.theta(0.3 * abs(size))
            if system.model.hybrid is not None and self.J:  # what holds for some truth values may not for others
                theta[system.model.theta_layout.discrete] = random_truth(system.model, random)
            found = function(x, x_dot, 0.3 * abs(size), theta)
            values = [np.array(each.nonzeros()) for each in found]
            if all(np.isfinite(each).all() for each in values):
                J, E = (sparse.csr_array((v, (i, j)), shape=(m, n)) for v, (i, j) in zip(values, patterns, strict=True))
                self.J.append(J)
                self.E.append(E)

    def __bool__(self) -> bool:
        return bool(self.J)

    def jacobians(self, rows: np.ndarray, columns: np.ndarray) -> list[sparse.csr_array]:
        """Blocks of ∂F/∂x."""
        return [matrix[rows][:, columns] for matrix in self.J]

    def leading(self, rows: np.ndarray, columns: np.ndarray) -> list[sparse.csr_array]:
        """Blocks of E."""
        return [matrix[rows][:, columns] for matrix in self.E]


def equal(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    """Up to rounding errors."""
    if a.shape != b.shape:
        return False
    size = max(abs(a).max() if a.nnz else 0.0, abs(b).max() if b.nnz else 0.0)
    difference = abs(a - b)
    return not difference.nnz or float(difference.max()) <= SAME * size


def positive_definite(matrix: sparse.csr_array) -> bool:
    """Whether a matrix is symmetric and positive definite; by blocks, as it may be large."""
    from dalembert.regularize.projected import mass_is_singular

    if not equal(matrix, matrix.T.tocsr()) or (matrix.diagonal() <= 0).any():
        return False
    return not mass_is_singular(ca.DM(matrix.tocsc()))


def full_rank(matrix: sparse.csr_array, largest: int = 400) -> bool:
    """Whether rows are independent: by numbers, or by the pattern if there are many."""
    rows, columns = matrix.shape
    if rows > columns:
        return False
    if not rows:
        return True
    if max(rows, columns) > largest:
        return sparse.csgraph.structural_rank(matrix) == rows
    dense = matrix.toarray()
    scale = np.abs(dense).max(axis=1)
    if (scale == 0).any():
        return False
    values = np.linalg.svd(dense / scale[:, None], compute_uv=False)
    return bool(values[-1] > 1e-10 * values[0])
