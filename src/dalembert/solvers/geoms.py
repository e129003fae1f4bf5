"""GEOMS: Radau IIA of order 5 on the projected strangeness-free form of the equations of motion [1]_.

Constraints on position, velocity and acceleration level, and invariants if there are any, hold at every step; the
differential equations are projected by selectors so that nothing is overdetermined. The constraint blocks are
decomposed once per Jacobian; a new step size costs factorizations of the size of the degrees of freedom only.

References
----------
.. [1] A. Steinbrecher, "GEOMS: A software package for the numerical integration of general model equations of
   multibody systems", WIAS Preprint 1259, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.model import Model
from dalembert.regularize import projected
from dalembert.solvers.method import one_of
from dalembert.solvers.radau.projected_options import ProjectedOptions

if TYPE_CHECKING:
    from dalembert.regularize import ProjectedSystem

FORMULATIONS = ("strangeness-free", "index1")


@dataclass(frozen=True, kw_only=True, repr=False)
class Geoms(ProjectedOptions):
    """Options of GEOMS. Main: `algebraic="svd"` for redundant constraints. Other: see `ProjectedOptions`.

    Examples
    --------
    >>> import dalembert as da
    >>> sol = da.problems.pendulum().simulate(method=da.Geoms(), rtol=1e-8, atol=1e-8)
    >>> [sol.max_residual(level) < 1e-9 for level in ("position", "velocity", "acceleration")]
    [True, True, True]
    """

    formulation: str = "strangeness-free"  # or "index1": without the constraints on acceleration level
    singular: str = "stop"  # at singular positions, or "step over" isolated ones on the branch of the motion
    accelerations: str = "auto"  # v' in the constraints: "eliminated" by M⁻¹ or an "unknown" (semi-definite M)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("formulation", self.formulation, FORMULATIONS)
        one_of("singular", self.singular, ("stop", "step over"))
        one_of("accelerations", self.accelerations, ("auto", "eliminated", "unknown"))

    def formulate(self, model: Model) -> ProjectedSystem:
        """The formulation this method integrates."""
        return projected(model, self.formulation, invariants=self.invariants, accelerations=self.accelerations)
