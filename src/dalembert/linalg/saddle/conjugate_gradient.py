"""Conjugate gradients, preconditioned by the factors of an earlier matrix, (3.18) to (3.20) of MEXX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.linalg.saddle.auto import AUTO
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern
from dalembert.linalg.saddle.storage import check_storage
from dalembert.linalg.saddle.symmetric import require_symmetric
from dalembert.options import require

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


@dataclass(frozen=True, kw_only=True, repr=False)
class ConjugateGradient(LinearSolver):
    """Conjugate gradients preconditioned by the factors of the matrix at the beginning of the step: for U = G.

    With positive definite M the iteration is for λ, with G M⁻¹ Gᵀ; otherwise (massless coordinates) for w and λ
    together. Where it does not converge quickly the matrix is factored after all. Worthwhile where factors are
    expensive: along a tree `Recursive` costs less than two iterations.
    """

    inner: LinearSolver = AUTO  # factors the matrix at the beginning of the step
    tolerance: float = 1e-14  # of the last correction, relative to the solution
    iterations: int = 12  # before the matrix is factored anew
    mass: str = "auto"  # M is "full", "block" diagonal or "diagonal"
    constraint: str = "auto"  # G is "full" or "sparse"

    def __post_init__(self) -> None:
        self.coerce_numbers()
        require(isinstance(self.inner, LinearSolver), f"inner={self.inner!r} must be a linear solver such as Sparse()")
        require(not isinstance(self.inner, ConjugateGradient), "inner must be a direct solver")
        require(1e-16 <= self.tolerance <= 1e-8, f"tolerance={self.tolerance} must lie between 1e-16 and 1e-8")
        require(self.iterations >= 1, f"iterations={self.iterations} must be at least 1")
        check_storage(self.mass, self.constraint)

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load
        from dalembert.linalg.saddle.storage import mass_blocks

        require_symmetric("ConjugateGradient", pattern)
        blocks = mass_blocks(pattern, self.mass)
        inner = self.inner.build(pattern)
        load("dalembert.linalg.saddle.conjugate_gradient_kernels")
        from dalembert.linalg.saddle.conjugate_gradient_kernels import conjugate_gradient_memory

        return conjugate_gradient_memory(self, pattern, blocks, inner)

    def weakness(self, memory: Memory, code: int) -> str:
        return memory.inner.solver.weakness(memory.inner, code)
