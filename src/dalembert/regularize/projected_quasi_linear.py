"""The projected form of E(x, t) x' = k(x, t), 0 = h(x, t) with the constraints of all levels in h.

One block of constraints for all unknowns, and no differential equation that belongs to an unknown in particular: the
selector is a basis of the range of E on the null space of ∂h/∂x, as in QUALIDAES [1]_. Rows of E without entries are
constraints as well.

References
----------
.. [1] R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with
   Modelica", Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Slot
from dalembert.model import QuasiLinearDAE
from dalembert.regularize.formulations import formulate
from dalembert.regularize.projected import Blocks, ConstraintBlock, ProjectedSystem


@dataclasses.dataclass(frozen=True)
class OneBlock(Blocks):
    """All constraints restrict all unknowns."""

    @property
    def constraints(self) -> tuple[ConstraintBlock, ...]:
        return (ConstraintBlock(self.F3, self.Z, np.full(len(self.Z), -1), splits=True),)


FORM: Slot[ProjectedSystem] = Slot("projected form of a quasi-linear DAE", most=1)


def projected_quasi_linear(model: QuasiLinearDAE) -> ProjectedSystem:
    """Build (once) the projected form of a DAE whose `constraints=` are all that it has, hidden ones included."""
    if model.own_formulation != "quasi-linear":
        raise ModelError(f"model '{model.name}' is not a QuasiLinearDAE")
    return model.kept.get(FORM, None, lambda: _build(model))


def _build(model: QuasiLinearDAE) -> ProjectedSystem:
    system = formulate(model).stacked()
    rows, n, nothing = np.arange(len(system.equations)), system.n, np.zeros(0, int)
    differential, algebraic = rows[system.differential_equations], rows[~system.differential_equations]
    if len(algebraic) > n:
        raise ModelError(
            f"model '{model.name}' has {len(algebraic)} constraints for {n} unknowns: leave out those that follow from "
            "the others"
        )
    if len(rows) < n:
        raise ModelError(
            f"model '{model.name}' has {len(rows)} equations for {n} unknowns: hidden constraints are missing in "
            "constraints="
        )
    empty = dict.fromkeys(("kinematic", "elements", "F1", "F2", "F4", "Y", "free", "V", "P", "multipliers"), nothing)
    blocks = OneBlock(**empty, dynamic=differential, F3=algebraic, Z=np.arange(n), partitioned=False, selector="image")
    fields = {field.name: getattr(system, field.name) for field in dataclasses.fields(system) if field.init}
    # with all hidden constraints every unknown is one of index 1
    fields.update(formulation="projected quasi-linear", index=np.ones(n, int))
    return ProjectedSystem(**fields, blocks=blocks, form="quasi-linear")
