"""The whole matrix by LU factorization with partial pivoting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dalembert.linalg.protocol import ITERATION, PROJECTED, SADDLE
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


@dataclass(frozen=True, kw_only=True, repr=False)
class Dense(LinearSolver):
    """LU factorization of the full matrix: for every system, best for small ones (some 30 unknowns)."""

    kinds: ClassVar[tuple[str, ...]] = (SADDLE, ITERATION, PROJECTED)

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load

        load("dalembert.linalg.saddle.dense_kernels")
        from dalembert.linalg.saddle.dense_kernels import dense_memory

        return dense_memory(self, pattern)
