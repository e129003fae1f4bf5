"""Lemke's algorithm: linear complementarity problems by pivoting, exact but for rounding.

References
----------
.. [1] R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity Problem", 1992, section 4.4.
.. [2] D. E. Stewart, J. C. Trinkle, "An implicit time-stepping scheme for rigid body dynamics with inelastic
   collisions and Coulomb friction", 1996: friction as a linear complementarity problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ComplementarityFailed, OptionError
from dalembert.linalg.complementarity.problem import (
    SOLVED,
    ComplementaritySolver,
    ContactProblem,
    ContactSolution,
    accepted,
    failed,
    forces,
    no_solution,
    residual,
)

#: variables up to which Lemke's algorithm is not too expensive
PIVOTED = 400
#: additions to the diagonal of A (in units in which it is 1) where rounding errors mislead pivots, and steps with them
SOFT, PROXIMAL = (1e-10, 1e-8, 1e-6), 12


@dataclass(frozen=True, kw_only=True, repr=False)
class Lemke(ComplementaritySolver):
    """Lemke's algorithm with lexicographic pivoting: for contacts without friction, or with planar friction.

    It ends after finitely many pivots, with a solution or on a ray to infinity (ComplementarityFailed with reason
    "ray"). With positive semidefinite A a ray means that there is no solution. The work is that of some dense
    factorizations: for a few hundred contacts at most.

    Examples
    --------
    >>> from dalembert.linalg.complementarity import ContactProblem, Lemke
    >>> Lemke().solve(ContactProblem([[2, 1], [1, 2]], [-1, 1], dims=[1, 1])).lam
    array([0.5, 0. ])
    """

    def obstacle(self, problem: ContactProblem) -> str:
        spatial = np.flatnonzero((problem.dims == 3) & (problem.friction > 0))
        if len(spatial):
            return f"contact {spatial[0]} has friction in space, whose cone is round: use SemismoothNewton()"
        return ""

    @staticmethod
    def size(problem: ContactProblem) -> int:
        """Variables of the linear complementarity problem."""
        return len(problem.dims) + 3 * int(((problem.dims > 1) & (problem.friction > 0)).sum())

    def solve(self, problem: ContactProblem, guess: Any = None) -> ContactSolution:
        """Forces that satisfy the conditions. A `guess` is returned if it is a solution already."""
        obstacle = self.obstacle(problem)
        if obstacle:
            raise OptionError(f"Lemke() cannot solve this problem: {obstacle}")
        if guess is not None:
            lam = forces("guess", guess, problem.n)
            if residual(problem, lam) <= 1e-14:
                return accepted(problem, lam, 0, "Lemke")
        try:
            return self._pivot(problem)
        except ComplementarityFailed as error:
            softened = self._soften(problem)
            if softened is None:
                ray = error.reason == "ray"
                raise (no_solution(problem, np.zeros(problem.n), error.contact) if ray else error) from None
            return softened

    def _pivot(self, problem: ContactProblem) -> ContactSolution:
        """By the algorithm alone."""
        form = LinearForm(problem)
        try:
            z, pivots = pivoted(form.M, form.q)
        except ComplementarityFailed as error:
            error.contact = int(form.contact[error.contact])
            raise
        solution = accepted(problem, form.forces(z), pivots, "Lemke")
        if solution.residual > SOLVED:
            raise failed(problem, solution.lam, "Lemke", pivots)
        return solution

    @staticmethod
    def polygonal(problem: ContactProblem, angles: np.ndarray) -> np.ndarray | None:
        """Forces with polygons (see `LinearForm`) in place of friction discs in space, a start for others."""
        for soft in (0.0, *SOFT):
            form = LinearForm(_softer(problem, soft), angles)
            try:
                return form.forces(pivoted(form.M, form.q)[0])
            except ComplementarityFailed:
                continue
        return None

    def _soften(self, problem: ContactProblem) -> ContactSolution | None:
        """The limit of solutions with A + ε, b − ε λ: with redundant contacts and very different masses rounding errors
        of A make rays where there are none. None if there is no limit."""
        for soft in SOFT:
            lam, pivots, error = np.zeros(problem.n), 0, np.inf
            for _ in range(PROXIMAL):
                try:
                    near = self._pivot(_softer(problem, soft, lam))
                except ComplementarityFailed:
                    break
                lam, pivots, last = near.lam, pivots + near.iterations, error
                error = residual(problem, lam)
                if error <= 1e-12:
                    return accepted(problem, lam, pivots, "Lemke")
                if not error < 0.5 * last:  # forces only grow
                    break
        return None


def _softer(problem: ContactProblem, soft: float, lam: np.ndarray | float = 0.0) -> ContactProblem:
    """With `soft` on the diagonal of A, in units in which it is 1; with the same solution if that is `lam`."""
    if soft == 0.0:
        return problem
    more = soft * problem.scale**2
    return ContactProblem(
        problem.dense + np.diag(more), problem.b - more * lam, problem.dims, problem.friction, problem.preload
    )


class LinearForm:
    """The linear problem of contacts: normal forces; with friction, forces β ≥ 0 along some directions u, and a slack.

    The slack σ is the speed of sliding: 0 ≤ σ + u·y_T ⊥ β for every direction and 0 ≤ r − Σβ ⊥ σ. Two directions are
    exact in the plane. In space the disc becomes a polygon: row i of `angles` has the directions of its corners for
    contact i.
    """

    def __init__(self, problem: ContactProblem, angles: np.ndarray | None = None):
        rough = np.flatnonzero((problem.dims > 1) & (problem.friction > 0))
        normal, m, k = problem.starts, len(problem.dims), len(rough)
        A, b, mu = problem.dense, problem.b, problem.friction[rough]
        self._normal, self._U, self.contact = normal, np.zeros((problem.n, 0)), np.arange(m)
        if not k:
            self.M, self.q = (A, b) if m == problem.n else (A[np.ix_(normal, normal)], b[normal])
            return
        # columns: unit forces of the directions
        count = np.where(problem.dims[rough] == 2, 2, 0 if angles is None else angles.shape[1])
        owner = np.repeat(np.arange(k), count)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        spatial = problem.dims[rough][owner] == 3
        U = np.zeros((problem.n, len(owner)))
        at, columns = normal[rough][owner] + 1, np.arange(len(owner))
        U[at, columns] = 1.0 - 2 * place
        if spatial.any():
            angle = angles[rough[owner[spatial]], place[spatial]]
            U[at[spatial], columns[spatial]] = np.cos(angle)
            U[at[spatial] + 1, columns[spatial]] = np.sin(angle)
        same = (owner[:, None] == np.arange(k)).astype(float)
        own = np.zeros((k, m))
        own[np.arange(k), rough] = mu
        AU, none = A @ U, np.zeros((m, k))
        self.M = np.ascontiguousarray(
            np.block(
                [
                    [A[np.ix_(normal, normal)], AU[normal], none],
                    [U.T @ A[:, normal], U.T @ AU, same],
                    [own, -same.T, np.zeros((k, k))],
                ]
            )
        )
        self.q = np.concatenate([b[normal], U.T @ b, mu * problem.preload[rough]])
        self.contact = np.concatenate([np.arange(m), rough[owner], rough])
        self._U = U

    def forces(self, z: np.ndarray) -> np.ndarray:
        """λ of the variables of the linear problem."""
        m, directions = len(self._normal), self._U.shape[1]
        lam = self._U @ z[m : m + directions]
        lam[self._normal] = z[:m]
        return lam


def lemke(M: Any, q: Any) -> np.ndarray:
    """The solution z of a linear complementarity problem, 0 ≤ z ⊥ M z + q ≥ 0; M need not be symmetric.

    Raises
    ------
    ComplementarityFailed
        With reason "ray" if the path ends at infinity (no solution, if M is copositive); `contact` is the variable.

    Examples
    --------
    >>> lemke([[1, 2], [0, 1]], [-4, -1])
    array([2., 1.])
    """
    q = np.asarray(q)
    return pivoted(*_checked(M, q))[0]


def _checked(M: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    problem = ContactProblem(M, q, np.ones(q.size, int))  # names what is wrong
    return problem.dense, problem.b


def pivoted(M: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, int]:
    """Solution and number of pivots."""
    from dalembert.compile.kernel import load

    load("dalembert.linalg.complementarity.pivoting_kernels")
    from dalembert.linalg.complementarity import pivoting_kernels as kernels

    n = len(q)
    z = np.zeros(n)
    if not n:
        return z, 0
    work = np.empty(kernels.lemke_reals.py_func(n))
    whole = np.zeros(kernels.lemke_wholes.py_func(n), np.int64)
    status = kernels.lemke_kernel(M, q, z, work, whole)
    if status == kernels.SOLVED:
        return z, int(whole[0])
    if status == kernels.RAY:
        raise ComplementarityFailed(
            f"Lemke's algorithm ends on a ray: variable {whole[1]} goes to infinity. The problem has no solution, or "
            "none that can be reached",
            int(whole[1]),
            "ray",
        )
    size = "has entries too large to compute with" if status == kernels.NOT_FINITE else "is too ill-conditioned"
    raise ComplementarityFailed(
        f"Lemke's algorithm found no solution in {whole[0]} pivots: the matrix {size}", int(whole[1]), "iterations"
    )
