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
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.linalg.bodies.tree import Tree

LARGEST_LOOPS = 20_000_000  # cut constraints × unknowns: so many numbers have to be stored


@dataclass(frozen=True, kw_only=True, repr=False)
class Recursive(LinearSolver):
    """Elimination along the kinematic tree: for long chains and large trees, with few closed loops.

    The tree is found from the pattern. Loops are cut and closed by a Schur complement. Where a body cannot be
    eliminated although the matrix is regular (its joint restrains only the father, say), `Sparse` takes over.
    """

    def tree(self, pattern: SaddlePattern) -> Tree:
        """The bodies, joints and cuts that are found in a pattern."""
        from dalembert.linalg.bodies.tree import find_tree

        return find_tree(pattern)

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import announce, load

        tree = self.tree(pattern)
        if len(tree.cut) * pattern.n > LARGEST_LOOPS:
            raise OptionError(
                f"Recursive needs too much memory for {len(tree.cut)} loop constraints and {pattern.n} unknowns; "
                "use Sparse()"
            )
        load("dalembert.linalg.bodies.recursive_kernels")
        with announce():
            from dalembert.linalg.bodies.recursive_kernels import recursive_memory

            return recursive_memory(self, pattern, tree)  # compiles what the tree needs
