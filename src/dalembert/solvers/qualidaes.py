"""QUALIDAES: Radau IIA of order 5 on quasi-linear DAEs with the constraints of all levels [1]_.

E(x, t) x' = k(x, t) and 0 = h(x, t), with everything in h that restricts the solution, have more equations than
unknowns. All constraints hold at every step; of the differential equations those combinations are integrated that
constraints leave. What those are follows from the decomposition of the constraints, as in GEOMS, whose stage solver,
step control and dense output these are.

References
----------
.. [1] R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with
   Modelica", Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.model import Model
from dalembert.solvers.radau.projected_options import ProjectedOptions

if TYPE_CHECKING:
    from dalembert.regularize import ProjectedSystem


@dataclass(frozen=True, kw_only=True, repr=False)
class Qualidaes(ProjectedOptions):
    """Options of QUALIDAES. Main: `algebraic="svd"` for redundant constraints. Other: see `ProjectedOptions`.

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> pendulum = da.QuasiLinearDAE(
    ...     x=["x", "y", "vx", "vy", "pull"], leading=np.eye(5)[:4],
    ...     rhs=lambda s: [s.vx, s.vy, -s.pull * s.x, -s.pull * s.y - 9.81],
    ...     constraints=lambda s: [s.x**2 + s.y**2 - 1, s.x * s.vx + s.y * s.vy,
    ...                            s.vx**2 + s.vy**2 - s.pull - 9.81 * s.y])
    >>> sol = da.simulate(pendulum, (0, 100), x0=[1, 0, 0, 0, 0], method=da.Qualidaes(), rtol=1e-8, atol=1e-8)
    >>> sol.max_residual("constraints") < 1e-9
    True
    """

    def formulate(self, model: Model) -> ProjectedSystem:
        """The formulation this method integrates."""
        from dalembert.regularize.structure.system import projected_form

        return projected_form(model, invariants=self.invariants)
