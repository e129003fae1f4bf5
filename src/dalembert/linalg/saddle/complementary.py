"""Saddle-point systems in which some of the constraints are unilateral: complementarity problems.

    M w + Uᵀ λ = f,      G w = g for ordinary constraints,      0 ≤ g − G w  ⊥  λ ≥ 0 for unilateral ones.

For `U` at one point and `G` at another, as in the stages of half-explicit methods, this problem is solved by Lemke's
algorithm after ordinary constraints have been eliminated; constraints may depend on each other, or contradict each
other as equations. For both at the same point, as in projections, those of the last problem with λ > 0 are equations,
and the others do not act.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


@dataclass(frozen=True, eq=False)
class ComplementarityPattern(SaddlePattern):
    """A pattern with unilateral constraints, by number."""

    redundant: ClassVar[bool] = True

    unilateral: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Complementary(LinearSolver):
    """Lemke's algorithm on dense matrices: for a few contacts."""

    def obstacle(self, pattern: SaddlePattern) -> str:
        if not isinstance(pattern, ComplementarityPattern) or pattern.symmetric:
            return "it is made for stages with unilateral constraints"
        return super().obstacle(pattern)

    def saddle_memory(self, pattern: ComplementarityPattern) -> Memory:
        from dalembert.compile.kernel import load

        load("dalembert.linalg.saddle.complementary_kernels")
        from dalembert.linalg.saddle.complementary_kernels import complementary_memory

        return complementary_memory(self, pattern)

    def explain(self, memory: Memory, code: int) -> str:
        """Why a problem was not solved, in words."""
        pattern: ComplementarityPattern = memory.pattern
        first = pattern.n + 1
        if code >= first:
            name = pattern.constraint_names[pattern.unilateral[code - first]]
            return f"no forces satisfy the conditions of contact: that of '{name}' goes to infinity"
        return super().explain(memory, code)
