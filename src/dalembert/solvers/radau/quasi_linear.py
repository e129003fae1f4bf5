"""The projected core on a quasi-linear DAE that states all its hidden constraints: an entry for other methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.model import Model
from dalembert.regularize.projected_quasi_linear import projected_quasi_linear
from dalembert.solvers.geoms import Geoms

if TYPE_CHECKING:
    from dalembert.regularize import ProjectedSystem


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjectedQuasiLinear(Geoms):
    """Radau IIA of order 5 on E x' = k, 0 = h, every constraint in h. Internal: users have no name for it yet."""

    def formulate(self, model: Model) -> ProjectedSystem:
        """The formulation this method integrates."""
        return projected_quasi_linear(model)
