"""Reduction to minimal coordinates, (3.3) and (3.4) of MEXX: the null-space method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


@dataclass(frozen=True, kw_only=True, repr=False)
class Block(LinearSolver):
    """Block elimination down to the degrees of freedom: for few degrees of freedom.

    Coordinates without mass are taken as joint coordinates q, the others as absolute ones, if there are as many of
    these as constraints: K v' + J q'' = h, and A q'' = b with A = Jᵀ K⁻ᵀ M K⁻¹ J. Otherwise, or where K is singular,
    pivoting chooses which coordinates depend on the others.
    """

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load

        load("dalembert.linalg.saddle.block_kernels")
        from dalembert.linalg.saddle.block_kernels import block_memory

        return block_memory(self, pattern)
