"""Options that all Radau methods share: start values, Newton's method, step control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import OptionError
from dalembert.solvers.jacobians import EXACT, Jacobian
from dalembert.solvers.method import MethodOptions, RunSpec, between, one_of, require

if TYPE_CHECKING:
    from dalembert.solvers.radau.control import Control

MATRIX_AT = ("start", "stage1", "stage2", "stage3")
#: followed by the name of a module with linear algebra: its kernels, for `announce`
KERNELS_OF = "dalembert.solvers.radau.kernels:compile_for:dalembert.solvers.radau"
#: of Newton's method, and the like: what has not converged by then never does
MOST_ITERATIONS = 1000
UNIT = float(np.finfo(float).eps)


@dataclass(frozen=True, kw_only=True, repr=False)
class RadauOptions(MethodOptions):
    """What the stage solver and the step controller can be told."""

    initial_values: str = "correct"  # "correct", "check" or "trust" the start values
    controller: str = "predictive"  # Gustafsson's, or "classical"
    start: str = "extrapolated"  # stages start from the last polynomial, or "constant": from the current point
    newton_iterations: int = 7  # at most
    newton_limit: float | None = None  # convergence test; default from the tolerance
    newton_matrix: str = "start"  # where the Jacobian is taken: "start" of the step, or predicted "stage1" … "stage3"
    newton_updates: int = 0  # new Jacobians allowed within one step if the iteration is slow; 1 where it fails often
    safety: float = 0.9  # factor on the optimal step
    max_growth: float = 8.0  # largest ratio of successive steps
    max_shrink: float = 0.2  # smallest ratio
    keep_step: tuple[float, float] = (1.0, 1.2)  # ratios within which step and factorization are kept
    jacobian_rate: float = 1e-3  # keep the Jacobian while Newton contracts faster than this
    rounding_unit: float = UNIT  # of the arithmetic
    jacobian: Jacobian = EXACT  # or `Differences()`, `GroupedDifferences()`

    def __post_init__(self) -> None:
        self.coerce_numbers()
        one_of("initial_values", self.initial_values, ("correct", "check", "trust"))
        one_of("controller", self.controller, ("predictive", "classical"))
        one_of("start", self.start, ("extrapolated", "constant"))
        one_of("newton_matrix", self.newton_matrix, MATRIX_AT)
        require(
            self.newton_matrix == "start" or self.start == "extrapolated",
            f"newton_matrix={self.newton_matrix!r} needs start='extrapolated': without it there is no predicted stage",
        )
        require(self.newton_iterations >= 2, f"newton_iterations={self.newton_iterations}: at least 2 are needed")
        between("newton_iterations", self.newton_iterations, 2, MOST_ITERATIONS)
        limit = self.newton_limit
        require(limit is None or limit > 0, f"newton_limit={limit} must be positive")
        require(limit is None or limit <= 1, f"newton_limit={limit} must not exceed 1: Newton's errors count, too")
        require(self.newton_updates >= 0, f"newton_updates={self.newton_updates} must not be negative")
        between("newton_updates", self.newton_updates, 0, MOST_ITERATIONS)
        require(0 < self.safety < 1, f"safety={self.safety} must lie between 0 and 1")
        require(self.max_growth > 1, f"max_growth={self.max_growth} must exceed 1")
        require(0 < self.max_shrink < 1, f"max_shrink={self.max_shrink} must lie between 0 and 1")
        try:
            low, high = (real(ratio) for ratio in reals(self.keep_step))
        except (NoNumber, TypeError, ValueError):
            raise OptionError(f"keep_step={shown(self.keep_step)} must be two numbers") from None
        object.__setattr__(self, "keep_step", (low, high))
        require(0 < low <= 1 <= high < np.inf, f"keep_step={self.keep_step} must enclose 1")
        require(
            isinstance(self.jacobian, Jacobian) and not self.jacobian.partitioned,
            f"jacobian={self.jacobian!r} must be Exact(), Differences() or GroupedDifferences(); {type(self).__name__} "
            "keeps ∂F/∂x and ∂F/∂x' apart in any case, so that partitioned= has no place",
        )
        require(0 < self.rounding_unit < 1e-4, f"rounding_unit={self.rounding_unit} is not one of this world")

    def control(
        self, spec: RunSpec, corrections: int = 0, corrected: float = 0.0, correct_anew: bool = False
    ) -> Control:
        """The record that kernels take."""
        from dalembert.solvers.radau.control import Control

        internal = 0.1 * float(np.min(spec.tolerances.rtol)) ** (2 / 3)
        return Control(
            newton_limit=self.newton_limit
            or max(min(10 * self.rounding_unit / internal, 1.0), min(0.03, internal**0.5)),
            max_iterations=self.newton_iterations,
            safety=self.safety,
            max_growth=self.max_growth,
            max_shrink=self.max_shrink,
            keep_low=self.keep_step[0],
            keep_high=self.keep_step[1],
            jacobian_rate=self.jacobian_rate,
            unit=self.rounding_unit,
            predictive=int(self.controller == "predictive"),
            extrapolate=int(self.start == "extrapolated"),
            matrix_at=MATRIX_AT.index(self.newton_matrix),
            updates=self.newton_updates,
            corrections=corrections,
            corrected=corrected,
            correct_anew=int(correct_anew),
        )
