"""The solver that suits a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.linalg.dense import Dense
from dalembert.linalg.recursive import Recursive
from dalembert.linalg.solver import LinearSolver, SaddlePattern
from dalembert.linalg.sparse import Sparse
from dalembert.linalg.tree import find_tree

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory

SMALL = 20  # unknowns: nothing beats Dense by much
LARGE_BLOCK = 24  # unknowns of one body that make elimination along the tree unattractive
SPARSE_SHARE = 0.25  # of nonzeros


@dataclass(frozen=True, kw_only=True, repr=False)
class Auto(LinearSolver):
    """Dense for small systems, Recursive for large trees, Sparse for the rest; `choose` tells."""

    def choose(self, pattern: SaddlePattern) -> LinearSolver:
        """The solver for a pattern."""
        if pattern.n <= SMALL:
            return Dense()
        tree = find_tree(pattern)
        if not tree.cut and tree.largest <= LARGE_BLOCK:
            return Recursive()
        return Sparse() if len(pattern.entries()[0]) <= SPARSE_SHARE * pattern.n**2 else Dense()

    def build(self, pattern: SaddlePattern) -> Memory:
        return self.choose(pattern).build(pattern)


AUTO = Auto()
