"""How much work an integration was."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.errors import OptionError
from dalembert.model.namespace import explain_unknown


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Counters of one integration; their sum is that of several.

    Examples
    --------
    >>> work = Statistics(accepted=120, error_rejections=3, convergence_rejections=1, rhs_evaluations=840)
    >>> work.rejected
    4
    >>> print(work)
    accepted                 120
    error rejections           3
    convergence rejections     1
    rhs evaluations          840
    """

    accepted: int = 0  # steps
    error_rejections: int = 0  # steps whose error estimate was too large
    convergence_rejections: int = 0  # steps in which Newton's method did not converge
    rhs_evaluations: int = 0
    jacobian_evaluations: int = 0
    difference_evaluations: int = 0  # right-hand sides for Jacobians by differences, besides rhs_evaluations
    jacobian_updates: int = 0  # new iteration matrices with the old Jacobian
    mass_evaluations: int = 0
    selectors: int = 0  # choices of the equations to be integrated
    constraint_decompositions: int = 0
    decompositions: int = 0  # of the iteration matrix
    back_substitutions: int = 0
    linear_solves: int = 0
    event_evaluations: int = 0
    linear_algebra_operations: int = 0  # floating-point operations, counted by formula
    contacts: int = 0  # closed ones, summed over all steps of a time-stepping method
    closed_contacts: int = 0  # those of its last step
    contact_iterations: int = 0  # for their impulses
    seconds: float = 0.0  # wall time of the integration

    @property
    def rejected(self) -> int:
        """All rejected steps."""
        return self.error_rejections + self.convergence_rejections

    def to_dict(self) -> dict[str, int | float]:
        """Values by name."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Statistics:
        """The inverse of `to_dict`; counters that are missing are 0."""
        kinds = {f.name: float if f.name == "seconds" else int for f in dataclasses.fields(cls)}
        for name in values:
            if name not in kinds:
                raise OptionError(f"statistics: {explain_unknown(name, kinds)}")
        given: dict[str, Any] = {name: kinds[name](value) for name, value in values.items()}
        return cls(**given)

    def __add__(self, other: Statistics) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        mine, theirs = self.to_dict(), other.to_dict()
        total: dict[str, Any] = {name: mine[name] + theirs[name] for name in mine}
        return Statistics(**total | {"closed_contacts": other.closed_contacts})

    def __str__(self) -> str:
        rows = [
            (name.replace("_", " "), f"{value:.3g}" if name == "seconds" else str(value))
            for name, value in self.to_dict().items()
            if value or name == "accepted"
        ]
        left, right = (max(len(row[k]) for row in rows) for k in (0, 1))
        return "\n".join(f"{label:<{left}}  {value:>{right}}" for label, value in rows)
