"""The driver's side of GEOMS: what the stepper of the Radau family does, and explanations of lost ranks."""

from __future__ import annotations

import numpy as np

from dalembert.errors import RedundantConstraints, SingularConfiguration
from dalembert.solvers import status as codes
from dalembert.solvers.radau import projected
from dalembert.solvers.radau.stepper import RadauStepper


class ProjectedStepper(RadauStepper):
    """A run of GEOMS."""

    def explain(self, status: int) -> Exception:
        if status != codes.RANK_DEFICIENT:
            return super().explain(status)
        la, t = self.algebra, self.t
        trouble = int(la.trouble)
        names = self._dependent_rows()
        if trouble == projected.CHANGED:
            return SingularConfiguration(
                f"the rank of the constraints changes at t = {t:.9g}: {names} become dependent, a singular position. "
                "Geoms(algebraic='svd', singular='step over') passes isolated ones on the branch of the motion."
            )
        if trouble == projected.NOT_UNIFORM:
            missing = [int(block.rows) - int(block.rank) for block in (la.b1, la.b2, la.b3)]
            return RedundantConstraints(
                f"the constraints are not uniformly redundant at t = {t:.9g}: on acceleration, velocity and position "
                f"level {missing[0]}, {missing[1]} and {missing[2]} of them depend on the others ({names})."
            )
        level = {
            projected.DEFICIENT_1: "acceleration level, or the auxiliary equations do not determine w",
            projected.DEFICIENT_2: "velocity level, or invariants follow from them",
            projected.DEFICIENT_3: "position level, or the contact-point equations do not determine s",
        }[trouble]
        return RedundantConstraints(
            f"constraints are redundant at t = {t:.9g} on {level}; dependent: {names}. Remove one, or use "
            "Geoms(algebraic='svd')."
        )

    def _dependent_rows(self) -> str:
        """The rows that dominate the left null space of the first block that lost rank, by name."""
        la, state, blocks = self.algebra, self.state, self.system.blocks
        rows, columns = self.compiled.jacobian_pattern
        nonzeros = np.zeros(len(la.nonzeros))
        both = np.concatenate([state.x, state.x_dot])
        if self.compiled.jacobian.call_status(self.t, both, self.ports.theta, nonzeros):
            return "some constraints"
        J = np.zeros((len(self.system.equations), self.system.n))
        J[rows, columns] = nonzeros[: len(rows)]
        for members, unknowns in ((blocks.F3, blocks.Z), (blocks.F2, blocks.V), (blocks.F1, blocks.Y)):
            block = J[np.ix_(members, unknowns)]
            if not block.size:
                continue
            scale = np.abs(block).max(axis=1)
            scale[scale == 0] = 1
            U, S, _ = np.linalg.svd(block / scale[:, None])
            small = np.concatenate([S, np.zeros(len(members) - len(S))]) <= max(la.threshold, 1e-9) * max(S[0], 1e-300)
            if not small.any():
                continue
            weight = np.abs(U[:, small]).max(axis=1)
            guilty = [i for i in np.argsort(-weight, kind="stable")[:4] if weight[i] > 0.1 * weight.max()]
            return ", ".join(self.system.equations[members[i]] for i in sorted(guilty))
        return "some constraints"
