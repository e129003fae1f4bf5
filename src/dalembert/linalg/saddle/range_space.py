"""Cholesky decomposition of M and QR decomposition of L⁻¹ Gᵀ, (3.2) of MEXX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern
from dalembert.linalg.saddle.storage import check_storage

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory


@dataclass(frozen=True, kw_only=True, repr=False)
class RangeSpace(LinearSolver):
    """Cholesky decomposition of M, then QR: for few constraints on many velocities.

    A semi-definite M is replaced by M + Gᵀ G and f by f + Gᵀ g, which has the same solution; for massless velocities
    the rows of G in which they stand are enough. With U ≠ G the second step is the LU factorization of G M⁻¹ Uᵀ.
    """

    mass: str = "auto"  # M is "full", "block" diagonal or "diagonal"
    constraint: str = "auto"  # G is "full" or "sparse"

    def __post_init__(self) -> None:
        check_storage(self.mass, self.constraint)

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load
        from dalembert.linalg.saddle.storage import mass_blocks

        rows, columns = pattern.constraint
        joined = np.unique(rows[~np.isin(columns, pattern.mass[0])])  # constraints with massless velocities
        blocks = mass_blocks(pattern, self.mass, joined)
        load("dalembert.linalg.saddle.range_space_kernels")
        from dalembert.linalg.saddle.range_space_kernels import range_space_memory

        return range_space_memory(self, pattern, blocks, joined)
