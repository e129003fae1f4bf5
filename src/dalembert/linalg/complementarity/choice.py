"""Which solver a problem gets."""

from __future__ import annotations

import contextlib
from typing import Any

from dalembert.errors import ComplementarityFailed
from dalembert.linalg.complementarity.gauss_seidel import GaussSeidel
from dalembert.linalg.complementarity.pivoting import PIVOTED, Lemke
from dalembert.linalg.complementarity.problem import SOLVED, ContactProblem, ContactSolution
from dalembert.linalg.complementarity.semismooth_newton import SemismoothNewton

#: Newton steps of somebody who can do without a solution
QUICK = 60


def solve(problem: ContactProblem, guess: Any = None, *, quick: bool = False) -> ContactSolution:
    """Forces that satisfy the conditions of contact, by the solver that suits the problem.

    Lemke's algorithm where contacts have no friction or a planar one and are not too many, otherwise the semismooth
    Newton method; Gauss-Seidel where that fails. With `quick` failures come soon: for those who can do without an
    answer.

    Raises
    ------
    ComplementarityFailed
        Of the first solver, if none succeeded, or if it is sure that there is no solution.
    """
    planar, newton = Lemke(), SemismoothNewton(iterations=QUICK) if quick else SemismoothNewton()
    fits = not planar.obstacle(problem) and planar.size(problem) <= PIVOTED
    first, others = (planar, [newton]) if fits else (newton, [])
    try:
        return first.solve(problem, guess)
    except ComplementarityFailed as error:
        if error.reason == "ray" or quick:
            raise
        reason = error
    for solver in (*others, GaussSeidel(tolerance=SOLVED, iterations=20_000)):
        with contextlib.suppress(ComplementarityFailed):
            return solver.solve(problem, guess)
    raise reason
