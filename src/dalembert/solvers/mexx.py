"""MEXX: extrapolation of a half-explicit Euler method, with variable order [1]_.

Only constraints on position and velocity level are evaluated. Accelerations and multipliers are extrapolated like all
other variables. For forces that depend on the multipliers (dry friction) there is a discretization of its own.

References
----------
.. [1] Ch. Lubich, U. Nowak, U. Pöhle, Ch. Engstler, "MEXX - Numerical software for the integration of constrained
   mechanical multibody systems", Konrad-Zuse-Zentrum Berlin, 1992.
.. [2] E. Hairer, S.P. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", 2nd ed., section II.9 (control
   of order and step size in ODEX).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.checks import shown, whole
from dalembert.errors import OptionError
from dalembert.model import Model
from dalembert.solvers.half.extrapolation import MOST_ROWS, SEQUENCES
from dalembert.solvers.half.options import HalfExplicitOptions, Parts
from dalembert.solvers.method import one_of, require

if TYPE_CHECKING:
    from dalembert.compile.half_explicit import CompiledDescriptor
    from dalembert.regularize import DescriptorForm

#: "modified" is (2.2) as the published runs had it: F λ of the first small steps with the λ that the step before began
#: with. It loses order unless F is constant; "paper" is (2.2) itself
DISCRETIZATIONS = ("auto", "standard", "paper", "modified")
#: ∂f/∂λ below this fraction of the constraint's own row is small: the standard discretization converges as quickly
SMALL = 1e-2


@dataclass(frozen=True, kw_only=True, repr=False)
class Mexx(HalfExplicitOptions):
    """Options of MEXX. Main: none is needed. Other: projection, drift and step limits (see `HalfExplicitOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> drum = da.problems.cable_drum(friction=1.0)
    >>> sol = drum.simulate(method=da.Mexx(), rtol=1e-9, atol=1e-9)
    >>> drum.error(sol) < 1e-9
    True
    """

    max_order: int = 12  # of extrapolation: 3 … 13, rows of the tableau
    sequence: str | tuple[int, ...] = "released"  # small steps in a basic step, row by row; "paper", or given numbers
    discretization: str = "auto"  # "paper" (2.2) for forces that depend on multipliers, "modified", or "standard"
    dense_order: int | None = None  # largest degree of the polynomials between the steps, at least 3; default: all
    dense_limit: float | None = 2e4  # reject steps that may miss more tolerances between their ends; None: no limit
    jump_limit: float | None = 10.0  # reject steps if forces that jump where no row looks may move v by more tolerances

    def __post_init__(self) -> None:
        super().__post_init__()
        require(3 <= self.max_order <= MOST_ROWS, f"max_order={self.max_order} must lie between 3 and {MOST_ROWS}")
        one_of("discretization", self.discretization, DISCRETIZATIONS)
        order = self.dense_order
        require(order is None or order >= 3, f"dense_order={order} must be at least 3")
        for option in ("dense_limit", "jump_limit"):
            limit = getattr(self, option)
            require(limit is None or limit > 0, f"{option}={limit} must be positive")
        if isinstance(self.sequence, str):
            one_of("sequence", self.sequence, tuple(SEQUENCES))
            return
        try:
            numbers = tuple(whole(n) for n in itertools.islice(self.sequence, MOST_ROWS + 1))
        except Exception:  # no sequence, no numbers, or a generator that fails
            raise OptionError(f"sequence={shown(self.sequence)} must be a name or whole numbers") from None
        rising = all(n > before for before, n in zip((1, *numbers), numbers, strict=False))
        if not rising or not 3 <= len(numbers) <= MOST_ROWS or numbers[-1] > 1000:
            raise OptionError(
                f"sequence={shown(self.sequence)} must be 3 to {MOST_ROWS} increasing whole numbers from 2 to 1000"
            )
        object.__setattr__(self, "sequence", numbers)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The step numbers, as many as `max_order` allows."""
        return (SEQUENCES[self.sequence] if isinstance(self.sequence, str) else self.sequence)[: self.max_order]

    def own_settings(self) -> dict[str, float]:
        return dict(dense_limit=self.dense_limit or 0.0, jump_limit=self.jump_limit or 0.0)

    def parts(self, model: Model, compiled: CompiledDescriptor) -> Parts:
        from dalembert.compile.kernel import load

        load("dalembert.solvers.half.mexx_kernel")
        from dalembert.solvers.half.mexx_kernel import FIXED, mexx, new_mexx_state, quickest
        from dalembert.solvers.half.stepper import saddle_pattern

        modified, delayed = self._is_modified(model, compiled), self.discretization == "modified"
        dense_order = self.dense_order or 2 * MOST_ROWS
        return Parts(
            kernel=mexx,
            prepare=lambda: new_mexx_state(compiled, self.numbers, dense_order, modified, delayed),
            pattern=lambda: saddle_pattern(compiled, symmetric=True, friction=modified),
            kind=f"{self.numbers} {dense_order} {modified} {delayed}",
            fixed=FIXED,
            quickest=quickest,
        )

    def variety(self, form: DescriptorForm, model: Model) -> bool:
        """Whether the modified discretization is used: parameters decide whether there is friction worth that."""
        from dalembert.compile.half_explicit import compile_descriptor

        return form.has_friction and self._is_modified(model, compile_descriptor(form))

    def _is_modified(self, model: Model, compiled: CompiledDescriptor) -> bool:
        """Whether (2.2) is used: if asked for, or if forces depend on multipliers noticeably."""
        if compiled.friction is None:
            return False
        if self.discretization != "auto":
            return self.discretization != "standard"
        return not _small_friction(model, compiled)


def _small_friction(model: Model, compiled: CompiledDescriptor) -> bool:
    """Whether ∂f/∂(λ, μ) is constant and small."""
    form = compiled.form
    graph = form.model.graph
    moving = ca.vertcat(form.x, graph.changing)
    if ca.depends_on(form.friction, moving) or graph.externals_in(form.friction):
        return False
    at_zero, n_M = np.zeros(form.n), len(compiled.mass_pattern[0])
    F, values = np.zeros(compiled.friction.n_out), np.zeros(compiled.matrices.n_out)
    for port, out in ((compiled.friction, F), (compiled.matrices, values)):
        if port.call_status(0.0, at_zero, model.theta(0.0), out):
            return False
    own, others = np.zeros(len(form.constraint_names)), np.zeros(len(form.constraint_names))
    rows = compiled.constraint_pattern[0]
    np.maximum.at(own, rows, np.abs(values[n_M : n_M + len(rows)]))
    np.maximum.at(others, compiled.friction_pattern[1], np.abs(F))
    return bool((others <= SMALL * own).all())
