"""Complementarity problems of contact, which know no model: forces that act where gaps are closed, and friction cones.

    problem = ContactProblem(A, b, dims, friction)      rates of the contacts y = A λ + b
    solution = solve(problem)                           or Lemke(), GaussSeidel(), SemismoothNewton() .solve(problem)

Kernels are loaded when the first problem is solved.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "ContactProblem": "problem",
    "ContactSolution": "problem",
    "residual": "problem",
    "Lemke": "pivoting",
    "lemke": "pivoting",
    "GaussSeidel": "gauss_seidel",
    "SemismoothNewton": "semismooth_newton",
    "solve": "choice",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
