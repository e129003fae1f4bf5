"""The driver's side of GEOMS: what the stepper of the Radau family does, what may be differences in a Jacobian, and
explanations of lost ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.compile.memory import Memory
from dalembert.compile.ports import Port
from dalembert.compile.system import CompiledSystem, leading_port, part_of_jacobian
from dalembert.errors import RedundantConstraints, SingularConfiguration, SingularMatrix
from dalembert.kept import Slot
from dalembert.regularize.projected import ProjectedSystem, mass_is_singular
from dalembert.solvers.implicit import LARGEST_LOOKED_AT, differences_of
from dalembert.solvers.jacobians import Exact, Jacobian
from dalembert.solvers.radau import constraints
from dalembert.solvers.radau.passing import gets_through
from dalembert.solvers.radau.stepper import RadauStepper
from dalembert.solvers.status import NO_STEP, Status

if TYPE_CHECKING:
    from dalembert.solvers.radau.projected_options import ProjectedOptions

EXACT_PART: Slot[Port] = Slot("exact part of the Jacobian", most=1)
#: singular values of a constraint block below this fraction of the largest explain why steps got lost
NEARLY_DEPENDENT = 0.02
#: pivots of a mass matrix with unit diagonal below this explain why constraints on acceleration level fail
NEARLY_SINGULAR = 1e-9


def exact_nonzeros(compiled: CompiledSystem) -> np.ndarray:
    """The nonzeros of ∂F/∂x that ranks, or the directions of constraint forces, depend on.

    The others are the derivatives by positions, velocities, r and s of the equations of motion, of r', and of F1, which
    contains the forces as well: they only matter for the speed of Newton's method.
    """
    blocks, (rows, columns) = compiled.system.blocks, compiled.jacobian_pattern
    states = np.concatenate([blocks.Z, blocks.V, np.setdiff1d(blocks.free, blocks.multipliers)])
    with_forces = np.concatenate([blocks.dynamic, blocks.elements, blocks.F1])
    return np.flatnonzero(~(np.isin(rows, with_forces) & np.isin(columns, states)))


class ProjectedStepper(RadauStepper):
    """A run of GEOMS."""

    steps_over = True
    form: ProjectedSystem
    options: ProjectedOptions

    def jacobian_by(self, compiled: CompiledSystem, strategy: Jacobian) -> tuple[Memory, Port | None]:
        if isinstance(strategy, Exact):
            return super().jacobian_by(compiled, strategy)
        exact = exact_nonzeros(compiled)
        port = compiled.system.kept.get(EXACT_PART, None, lambda: part_of_jacobian(compiled, exact))
        return differences_of(compiled, strategy, exact=exact), port

    def wants_to_step_over(self, status: int) -> bool:
        """Whether the kernel stopped because a singular position is near, and the options say to pass it."""
        if not float(self.algebra.near):
            return False
        if status in (*NO_STEP, Status.SINGULAR):  # tight tolerances fail before the position is announced
            return bool(self._dependent_rows(NEARLY_DEPENDENT))
        return status == Status.RANK_DEFICIENT and int(self.algebra.trouble) == constraints.NEAR

    def passes(self, status: int) -> bool:
        """Whether the method gets by itself through the position that it announced; if so, it goes on from here."""
        if status != Status.RANK_DEFICIENT or int(self.algebra.trouble) != constraints.NEAR:
            return False
        # the decomposition that announced it was left unfinished
        self.algebra.set(suspended=1)
        self.state.set(need_jacobian=1, need_factors=1)
        beyond = constraints.BEHIND * constraints.ANNOUNCED * float(self.algebra.reference)
        if gets_through(self, beyond):
            return True
        self.algebra.set(suspended=0)
        return False

    def regularity(self, x: np.ndarray) -> float:
        """Smallest singular value of the constraints on position level at x, redundancy left out."""
        blocks = self.form.blocks
        rows, columns = self.compiled.jacobian_pattern
        nonzeros = np.zeros(int(self.algebra.n_nonzeros))
        both = np.concatenate([x, np.zeros_like(x)])
        if self.compiled.jacobian.call_status(self.t, both, self.ports.theta, nonzeros):
            return 0.0
        J = np.zeros((len(self.form.equations), self.form.n))
        J[rows, columns] = nonzeros[: len(rows)]
        first = blocks.constraints[0]
        block = J[np.ix_(first.rows, first.unknowns)]
        scale = np.abs(block).max(axis=1, initial=0)
        scale[scale == 0] = 1
        S = np.linalg.svd(block / scale[:, None], compute_uv=False)
        rank3 = int(self._with_pivots().rank3)
        rank = rank3 if rank3 > 0 else len(S)
        return float(S[rank - 1]) if len(S) else 1.0

    def explain(self, status: int) -> Exception:
        t = self.t
        if status != Status.TOO_MANY_STEPS and self._mass_vanishes():
            return SingularMatrix(
                f"the mass matrix is singular at t = {t:.9g}, or close to it, so that constraints on acceleration "
                "level cannot be evaluated with M⁻¹. If it is positive definite for the velocities that constraints "
                "allow, Geoms(accelerations='unknown') does without; so do Radau5 and the half-explicit methods."
            )
        near = status == Status.RANK_DEFICIENT and int(self._with_pivots().trouble) == constraints.NEAR
        if near or status in (*NO_STEP, Status.SINGULAR):
            names = self._dependent_rows(NEARLY_DEPENDENT) or ("some constraints" if near else "")
            if names:
                return SingularConfiguration(
                    f"{self._who} comes close to a singular position at t = {t:.9g}: {names} become dependent there, "
                    f"and multipliers may grow without bound. {self._way_over()}"
                )
        if status != Status.RANK_DEFICIENT:
            return super().explain(status)
        la = self._with_pivots()
        trouble = int(la.trouble)
        names = self._dependent_rows(max(float(la.threshold), 1e-9)) or "some constraints"
        if trouble == constraints.CHANGED:
            return SingularConfiguration(
                f"the rank of the constraints changes at t = {t:.9g}: {names} become dependent or independent, a "
                f"singular position. {self._way_over()}"
            )
        if trouble == constraints.NOT_UNIFORM:
            third, second = la.chain, la.chain.next
            missing = [int(each.block.rows) - int(each.block.rank) for each in (second.next, second, third)]
            return RedundantConstraints(
                f"the constraints are not uniformly redundant at t = {t:.9g}: on acceleration, velocity and position "
                f"level {missing[0]}, {missing[1]} and {missing[2]} of them depend on the others ({names})."
            )
        if trouble == constraints.UNDETERMINED:
            return RedundantConstraints(
                f"constraints are redundant at t = {t:.9g}; dependent: {names}. formulation='index1' leaves their "
                "multipliers undetermined: remove one, or use Geoms(algebraic='svd') with "
                "formulation='strangeness-free'."
            )
        level = self.form.blocks.constraints[-trouble].level
        where = f" on {level}" if level else ""
        return RedundantConstraints(
            f"constraints are redundant at t = {t:.9g}{where}; dependent: {names}. Remove one, or use "
            f"{type(self.options).__name__}(algebraic='svd')."
        )

    def _mass_vanishes(self) -> bool:
        """Whether M⁻¹, which the form contains, fails where the run ended."""
        form, state = self.form, self.state
        if form.form != "strangeness-free" or "a" in form.slices or form.leading_is_constant:
            return False
        if not len(form.blocks.multipliers) or form.n > LARGEST_LOOKED_AT:
            return False
        rows, columns = self.compiled.leading_pattern
        n_v, first_v = len(form.blocks.V), form.blocks.V[0]
        here = np.isin(rows, form.blocks.dynamic)
        port = leading_port(form)
        values = np.zeros(port.n_out)
        for t, both in ((self.t, np.concatenate([state.x, state.x_dot])), (float(state.failed_t), state.failed)):
            if not np.any(both) or port.call_status(t, both, self.ports.theta, values):
                continue
            M = np.zeros((n_v, n_v))
            M[rows[here] - form.blocks.dynamic[0], columns[here] - first_v] = values[here]
            if mass_is_singular(ca.DM(M), NEARLY_SINGULAR):
                return True
        return False

    @property
    def _who(self) -> str:
        return "the mechanism" if self.model.mechanical else f"model '{self.model.name}'"

    def _way_over(self) -> str:
        if not self.model.mechanical:
            return "Positions of EquationsOfMotion can be passed, by Geoms(singular='step over')."
        if self.options.singular == "stop":
            return "Geoms(singular='step over') passes isolated ones on the branch of the motion."
        return (
            "No way over it was found on which the motion goes on: tighter tolerances tell more of its direction; "
            "where several branches are as good as each other, nothing does."
        )

    def _dependent_rows(self, threshold: float) -> str:
        """The rows that dominate the left null space of the first block that is deficient, by name; "" if none is, or
        if the blocks are too large to look at."""
        state, blocks = self.state, self.form.blocks
        if self.form.n > LARGEST_LOOKED_AT:
            return ""
        rows, columns = self.compiled.jacobian_pattern
        nonzeros = np.zeros(int(self.algebra.n_nonzeros))
        both = np.concatenate([state.x, state.x_dot])
        if self.compiled.jacobian.call_status(self.t, both, self.ports.theta, nonzeros):
            return ""
        J = np.zeros((len(self.form.equations), self.form.n))
        J[rows, columns] = nonzeros[: len(rows)]
        for each in blocks.constraints:
            members = each.rows
            block = J[np.ix_(members, each.unknowns)]
            if not block.size:
                continue
            scale = np.abs(block).max(axis=1)
            scale[scale == 0] = 1
            U, S, _ = np.linalg.svd(block / scale[:, None])
            small = np.concatenate([S, np.zeros(len(members) - len(S))]) <= threshold * max(S[0], 1e-300)
            if not small.any():
                continue
            weight = np.abs(U[:, small]).max(axis=1)
            guilty = [i for i in np.argsort(-weight, kind="stable")[:4] if weight[i] > 0.1 * weight.max()]
            return ", ".join(self.form.equations[members[i]] for i in sorted(guilty))
        return ""
