"""Which solver a problem gets."""

from __future__ import annotations

from typing import Any

from dalembert.errors import ComplementarityFailed
from dalembert.linalg.complementarity.gauss_seidel import GaussSeidel
from dalembert.linalg.complementarity.pivoting import PIVOTED, Lemke
from dalembert.linalg.complementarity.problem import SOLVED, ContactProblem, ContactSolution
from dalembert.linalg.complementarity.semismooth_newton import SemismoothNewton


def solve(problem: ContactProblem, guess: Any = None) -> ContactSolution:
    """Forces that satisfy the conditions of contact, by the solver that suits the problem.

    Lemke's algorithm where contacts have no friction or a planar one and are not too many, otherwise the semismooth
    Newton method; where these fail Newton and Gauss-Seidel. The exception of the first one tells why nobody succeeded.
    """
    solvers: list[Any] = [SemismoothNewton(), GaussSeidel(tolerance=SOLVED, iterations=20_000)]
    planar = Lemke()
    if not planar.obstacle(problem) and planar.size(problem) <= PIVOTED:
        solvers.insert(0, planar)
    first = None
    for solver in solvers:
        try:
            return solver.solve(problem, guess)
        except ComplementarityFailed as error:
            first = first or error
    raise first
