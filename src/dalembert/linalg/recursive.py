"""Recursive elimination along the kinematic tree, body by body; the cost grows linearly with the number of bodies [1]_.

References
----------
.. [1] C. Lubich, U. Nowak, U. Pöhle, C. Engstler, "MEXX – Numerical software for the integration of constrained
   mechanical multibody systems", Preprint SC 92-12, Konrad-Zuse-Zentrum Berlin, 1992, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.errors import OptionError
from dalembert.linalg.solver import LinearSolver, SaddlePattern

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.linalg.tree import Tree

LARGEST_LOOP = 2000  # constraints that may be cut: their Schur complement is a full matrix


@dataclass(frozen=True, kw_only=True, repr=False)
class Recursive(LinearSolver):
    """Elimination along the kinematic tree: for long chains and large trees, with few closed loops."""

    def tree(self, pattern: SaddlePattern) -> Tree:
        """The bodies, joints and cuts that are found in a pattern."""
        from dalembert.linalg.tree import find_tree

        return find_tree(pattern)

    def build(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import announce

        tree = self.tree(pattern)
        if len(tree.cut) > LARGEST_LOOP:
            raise OptionError(
                f"Recursive cannot treat {len(tree.cut)} loop constraints (at most {LARGEST_LOOP}); use Sparse()"
            )
        with announce():
            from dalembert.linalg.recursive_kernels import recursive_memory

            return recursive_memory(self, pattern, tree)  # compiles what the tree needs

    def weakness(self, memory: Memory, code: int) -> str:
        pattern, tree = memory.pattern, memory.tree
        cut = ", ".join(f"'{pattern.constraint_names[c]}'" for c in tree.cut[:4]) + ("…" if len(tree.cut) > 4 else "")
        without = f" without the loop constraints {cut}" if cut else ""
        return f"the tree{without} cannot be eliminated at {pattern.name(code - 1)}; use Sparse() or Dense()"
