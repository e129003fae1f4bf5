"""The whole matrix by LDLᵀ factorization with Bunch–Kaufman pivoting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.errors import OptionError
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


def require_symmetric(name: str, pattern: SaddlePattern) -> None:
    """Raise OptionError if U differs from G."""
    if not pattern.symmetric:
        raise OptionError(f"{name} needs a symmetric matrix, and here U differs from G; use Dense, Sparse or Recursive")


@dataclass(frozen=True, kw_only=True, repr=False)
class Symmetric(LinearSolver):
    """LDLᵀ factorization of the full matrix (LAPACK): for U = G."""

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load

        require_symmetric("Symmetric", pattern)
        load("dalembert.linalg.saddle.symmetric_kernels")
        from dalembert.linalg.saddle.symmetric_kernels import symmetric_memory

        return symmetric_memory(self, pattern)
