"""Dense decompositions of constraint blocks, and of what they leave: the solver of Geoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dalembert.linalg.protocol import PROJECTED, LinearSolver
from dalembert.options import one_of

CONSTRAINTS, DIFFERENTIAL = ("lu", "qr", "svd"), ("lu", "qr")


@dataclass(frozen=True, kw_only=True, repr=False)
class NullSpace(LinearSolver):
    """Constraint blocks are decomposed once per Jacobian; what remains has the size of the degrees of freedom."""

    kinds: ClassVar[tuple[str, ...]] = (PROJECTED,)

    constraints: str = "lu"  # with full pivoting, pivoted "qr", or "svd" (redundant constraints)
    differential: str = "lu"  # the rest by "lu" or "qr"

    def __post_init__(self) -> None:
        self.coerce_numbers()
        one_of("constraints", self.constraints, CONSTRAINTS)
        one_of("differential", self.differential, DIFFERENTIAL)
