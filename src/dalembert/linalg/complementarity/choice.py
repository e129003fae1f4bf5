"""Which solver a problem gets."""

from __future__ import annotations

from typing import Any

from dalembert.linalg.complementarity.pivoting import Lemke
from dalembert.linalg.complementarity.problem import ContactProblem, ContactSolution


def solve(problem: ContactProblem, guess: Any = None) -> ContactSolution:
    """Forces that satisfy the conditions of contact, by the solver that suits the problem.

    Lemke's algorithm where contacts have no friction or a planar one.
    """
    return Lemke().solve(problem, guess)
