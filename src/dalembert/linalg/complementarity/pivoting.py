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
    residual,
)


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

    def solve(self, problem: ContactProblem, guess: Any = None) -> ContactSolution:
        """Forces that satisfy the conditions. A `guess` is returned if it is a solution already."""
        obstacle = self.obstacle(problem)
        if obstacle:
            raise OptionError(f"Lemke() cannot solve this problem: {obstacle}")
        if guess is not None:
            lam = forces("guess", guess, problem.n)
            if residual(problem, lam) <= 1e-14:
                return accepted(problem, lam, 0, "Lemke")
        form = _Planar(problem)
        try:
            z, pivots = _pivoted(form.M, form.q)
        except ComplementarityFailed as error:
            contact = int(form.contact[error.contact]) if error.contact is not None else None
            if error.reason != "ray":
                raise ComplementarityFailed(str(error), contact, error.reason) from None
            raise ComplementarityFailed(
                f"no forces satisfy the conditions of contact, as far as Lemke's algorithm can tell: those of contact "
                f"{contact} go to infinity (Painlevé's paradox, if it slides; else contacts contradict each other)",
                contact,
                "ray",
            ) from None
        solution = accepted(problem, form.forces(z), pivots, "Lemke")
        if solution.residual > SOLVED:
            raise failed(problem, solution.lam, "Lemke", pivots)
        return solution


class _Planar:
    """The linear problem of planar contacts: normal forces; with friction, forces to both sides and a slack each.

    The slack σ is the speed of sliding: 0 ≤ σ + y_T ⊥ λ₊, 0 ≤ σ − y_T ⊥ λ₋ and 0 ≤ r − λ₊ − λ₋ ⊥ σ.
    """

    def __init__(self, problem: ContactProblem):
        rough = (problem.dims == 2) & (problem.friction > 0)
        normal = problem.starts
        tangential = problem.starts[rough] + 1
        m, k = len(normal), len(tangential)
        A, b, mu = problem.dense, problem.b, problem.friction[rough]
        own = np.zeros((k, m))  # which normal force is whose
        own[np.arange(k), np.flatnonzero(rough)] = mu
        NN, NT = A[np.ix_(normal, normal)], A[np.ix_(normal, tangential)]
        TN, TT = A[np.ix_(tangential, normal)], A[np.ix_(tangential, tangential)]
        one, none = np.eye(k), np.zeros((m, k))
        self.M = np.ascontiguousarray(
            np.block([[NN, NT, -NT, none], [TN, TT, -TT, one], [-TN, -TT, TT, one], [own, -one, -one, 0 * one]])
        )
        self.q = np.concatenate([b[normal], b[tangential], -b[tangential], mu * problem.preload[rough]])
        self.contact = np.concatenate([np.arange(m), *[np.flatnonzero(rough)] * 3])
        self._n, self._normal, self._tangential = problem.n, normal, tangential

    def forces(self, z: np.ndarray) -> np.ndarray:
        """λ of the variables of the linear problem."""
        m, k = len(self._normal), len(self._tangential)
        lam = np.zeros(self._n)
        lam[self._normal] = z[:m]
        lam[self._tangential] = z[m : m + k] - z[m + k : m + 2 * k]
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
    return _pivoted(*_checked(M, q))[0]


def _checked(M: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    problem = ContactProblem(M, q, np.ones(q.size, int))  # names what is wrong
    return problem.dense, problem.b


def _pivoted(M: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, int]:
    """Solution and number of pivots."""
    from dalembert.compile.kernel import load

    load("dalembert.linalg.complementarity.pivoting_kernels")
    from dalembert.linalg.complementarity import pivoting_kernels as kernels

    n = len(q)
    z = np.zeros(n)
    if not n:
        return z, 0
    work, whole = np.empty(n * (2 * n + 2) + n * n + 6 * n), np.zeros(4 * n + 2, np.int64)
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
