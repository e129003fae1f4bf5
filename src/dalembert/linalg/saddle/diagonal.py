"""A diagonal mass matrix without constraints: divisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


@dataclass(frozen=True, kw_only=True, repr=False)
class Diagonal(LinearSolver):
    """Division by the masses: for large systems in coordinates that no constraint restricts. `Auto` finds it."""

    def obstacle(self, pattern: SaddlePattern) -> str:
        reason = super().obstacle(pattern)
        if reason:
            return reason
        rows, columns = pattern.mass
        if pattern.n_lam or not np.array_equal(rows, columns) or len(rows) != pattern.n_v:
            return "the mass matrix is not diagonal, or there are constraints"
        return ""

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load

        load("dalembert.linalg.saddle.diagonal_kernels")
        from dalembert.linalg.saddle.diagonal_kernels import diagonal_memory

        return diagonal_memory(self, pattern)
