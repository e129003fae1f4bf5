"""The driver's side of stages that are complementarity problems: the form has the rows of all contacts, of which those
that are open do not act."""

from __future__ import annotations

import numpy as np

from dalembert.compile.half_explicit import CompiledDescriptor
from dalembert.compile.kernel import load
from dalembert.errors import SingularMatrix, StepSizeTooSmall
from dalembert.linalg.saddle.complementary import ComplementarityPattern
from dalembert.model import Model
from dalembert.model.contacts import OPEN
from dalembert.solvers.half.options import Parts
from dalembert.solvers.half.stepper import HalfStepper
from dalembert.solvers.half.tableau import HalfExplicitTableau
from dalembert.solvers.method import RunSpec
from dalembert.solvers.status import Status


def complementary_parts(compiled: CompiledDescriptor, tableau: HalfExplicitTableau) -> Parts:
    """Kernel and records of a method whose stages are complementarity problems."""
    load("dalembert.solvers.half.complementary_kernel")
    from dalembert.solvers.half.complementary_kernel import complementary
    from dalembert.solvers.half.half_explicit_kernel import FIXED, new_half_explicit_state

    def pattern() -> ComplementarityPattern:
        form = compiled.form
        return ComplementarityPattern(
            n_v=form.mass.shape[0],
            n_lam=len(form.constraint_names),
            mass=compiled.mass_pattern,
            constraint=compiled.constraint_pattern,
            force=compiled.constraint_pattern,
            velocity_names=form.model.names("v"),
            constraint_names=form.constraint_names,
            unilateral=tuple(contact.normal for contact in form.model.contacts),
        )

    return Parts(
        kernel=complementary,
        prepare=lambda: new_half_explicit_state(compiled, tableau),
        pattern=pattern,
        kind="complementarity",
        fixed=FIXED,
        stepper=ComplementaryStepper,
    )


class ComplementaryStepper(HalfStepper):
    """A run of such a method; discrete variables say which contacts are closed."""

    def link(self, spec: RunSpec) -> None:
        super().link(spec)
        self._set_roles(spec.model)

    def set_discrete(self, model: Model) -> None:
        super().set_discrete(model)
        self._set_roles(model)

    def _set_roles(self, model: Model) -> None:
        from dalembert.linalg.saddle import complementary_kernels as kernels

        discrete = dict(zip(model.discrete_names, model.graph.discrete_values, strict=True))
        for contact in model.contacts:
            closed = discrete[contact.mode] != OPEN
            self.saddle.role[contact.normal] = kernels.CANDIDATE if closed else kernels.OPEN

    def explain(self, status: int) -> Exception:
        if status == Status.SINGULAR:
            why = self.saddle.solver.explain(self.saddle, int(self.state.singular))
            return SingularMatrix(f"the system of a stage cannot be solved at t = {self.t:.9g}: {why}. {self._hint()}")
        error = super().explain(status)
        return StepSizeTooSmall(f"{error} {self._hint()}") if isinstance(error, StepSizeTooSmall) else error

    def _hint(self) -> str:
        discrete = dict(zip(self.model.discrete_names, self.model.graph.discrete_values, strict=True))
        closed = ", ".join(f"'{c.name}'" for c in self.model.contacts if discrete[c.mode] != OPEN) or "none"
        return (
            f"Contacts that are closed: {closed}. Where the normal of one jumps (a kink of its surface) there is an "
            "impact, which stages='complementarity' does not find; take Hem5(), which stops at edges."
        )

    def _velocities_must_be_possible(self, t: float, x: np.ndarray) -> None:
        """Inequalities cannot contradict each other as equations do."""
