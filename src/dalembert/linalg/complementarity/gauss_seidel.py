"""Gauss-Seidel: contact after contact, each with its exact friction cone, until nothing changes.

References
----------
.. [1] M. Jean, "The non-smooth contact dynamics method", 1999.
.. [2] V. Acary, B. Brogliato, "Numerical Methods for Nonsmooth Dynamical Systems", 2008, chapter 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.linalg.complementarity.problem import (
    ComplementaritySolver,
    ContactProblem,
    ContactSolution,
    accepted,
    failed,
    forces,
    residual,
)
from dalembert.options import require


@dataclass(frozen=True, kw_only=True, repr=False)
class GaussSeidel(ComplementaritySolver):
    """Sweeps over contacts, each solved exactly while the others wait: for every kind of friction and many contacts.

    A sweep costs as much as a product with A. How many are needed grows with how strongly contacts act on each other:
    a pile of bodies takes more than bodies on a floor.

    Examples
    --------
    >>> from dalembert.linalg.complementarity import ContactProblem, GaussSeidel
    >>> problem = ContactProblem([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [-2, 3, 4], dims=[3], friction=0.5)
    >>> GaussSeidel().solve(problem).lam
    array([ 2. , -0.6, -0.8])
    """

    tolerance: float = 1e-11  # of `residual`
    iterations: int = 100_000  # sweeps at most

    def __post_init__(self) -> None:
        self.coerce_numbers()
        require(1e-15 <= self.tolerance < 1, f"tolerance={self.tolerance} must lie between 1e-15 and 1")
        require(self.iterations >= 1, f"iterations={self.iterations} must be at least 1")

    def solve(self, problem: ContactProblem, guess: Any = None) -> ContactSolution:
        """Forces that satisfy the conditions, from the `guess` or from zero."""
        lam = np.zeros(problem.n) if guess is None else forces("guess", guess, problem.n)
        sweeps, sweep = 0, sweeper(problem)
        # forces that change little need not be near the answer: go on with less until they are
        change = 0.1 * self.tolerance
        while problem.n and sweeps < self.iterations:
            sweeps += sweep(lam, self.iterations - sweeps, change)
            if residual(problem, lam) <= self.tolerance or change == 0.0:
                break
            change = 0.1 * change if change > 1e-17 else 0.0
        solution = accepted(problem, lam, sweeps, "GaussSeidel")
        if not solution.residual <= self.tolerance:
            raise failed(problem, lam, "GaussSeidel", sweeps)
        return solution


def sweeper(problem: ContactProblem) -> Any:
    """A function (lam, most, tolerance) that sweeps, changes lam, and returns how often."""
    from dalembert.compile.kernel import load

    load("dalembert.linalg.complementarity.gauss_seidel_kernels")
    from dalembert.linalg.complementarity import gauss_seidel_kernels as kernels

    common = (
        problem.b, problem.starts, problem.dims, problem.friction, problem.preload, diagonal_blocks(problem),
        problem.scale,
    )  # fmt: skip
    local = np.zeros(6)
    if problem.sparse:
        A = problem.csr
        first, columns = A.indptr.astype(np.int64), A.indices.astype(np.int64)
        return lambda lam, most, tolerance: kernels.sparse_sweeps(
            first, columns, A.data, *common, lam, local, most, tolerance
        )
    return lambda lam, most, tolerance: kernels.dense_sweeps(problem.A, *common, lam, local, most, tolerance)


def diagonal_blocks(problem: ContactProblem) -> np.ndarray:
    """Of every contact its block of A, 3 × 3 in rows, zeros where it has fewer."""
    blocks = np.zeros((len(problem.dims), 3, 3))
    for k in range(3):
        for j in range(3):
            which = np.flatnonzero(problem.dims > max(k, j))
            rows = problem.starts[which]
            if len(which):
                blocks[which, k, j] = np.asarray(problem.A[rows + k, rows + j]).ravel()
    return blocks.reshape(-1, 9)
