"""The solver that suits a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dalembert.linalg.bodies.recursive import Recursive
from dalembert.linalg.bodies.tree import find_tree
from dalembert.linalg.protocol import ITERATION, PROJECTED, SADDLE, IterationPattern, Pattern
from dalembert.linalg.saddle.compiled import Compiled
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.diagonal import Diagonal
from dalembert.linalg.saddle.solver import LinearSolver
from dalembert.linalg.saddle.sparse import Sparse

LONGEST = 2000  # operations that are compiled in a moment
SMALL = 20  # unknowns: nothing but compiled code beats Dense by much
LARGE_BLOCK = 24  # unknowns of one body that make elimination along the tree unattractive
SPARSE_SHARE = 0.25  # of nonzeros


@dataclass(frozen=True, kw_only=True, repr=False)
class Auto(LinearSolver):
    """Compiled or Dense for small systems, Recursive for large trees, Sparse for the rest; `choose` tells.

    Large diagonal masses without constraints are divided by (`Diagonal`).
    """

    kinds: ClassVar[tuple[str, ...]] = (SADDLE, ITERATION, PROJECTED)

    @property
    def kernels(self) -> tuple[str, ...]:
        return Compiled().kernels  # for most models

    def choose(self, pattern: Pattern) -> LinearSolver:
        """The solver for a pattern: of iteration matrices Compiled, Dense or Sparse, by size."""
        if isinstance(pattern, IterationPattern):
            quick, sparse = Compiled(longest=LONGEST), Sparse()
            if pattern.prefers_compiled and not quick.obstacle(pattern):
                return quick
            return sparse if pattern.prefers_sparse and not sparse.obstacle(pattern) else Dense()
        quick = Compiled(longest=LONGEST)
        if not quick.obstacle(pattern):
            return quick
        if pattern.n <= SMALL:
            return Dense()
        divisions = Diagonal()
        if not divisions.obstacle(pattern):
            return divisions
        saddle: Any = pattern  # the only kind that is left
        tree = find_tree(saddle)
        if not tree.cut and tree.largest <= LARGE_BLOCK:
            return Recursive()
        return Sparse() if len(saddle.entries()[0]) <= SPARSE_SHARE * pattern.n**2 else Dense()


AUTO = Auto()
