"""Radau 5: three-stage Radau IIA of order 5 on any formulation of a model.

Stiffly accurate and L-stable: stiff force elements cost nothing extra. The formulation decides which constraints
hold: "ggl" keeps positions and velocities, "index2" velocities, "index3" positions, "index1" none exactly.

References
----------
.. [1] E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II: Stiff and Differential-Algebraic Problems",
   2nd ed., Springer, 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.regularize import formulate
from dalembert.solvers.method import MethodOptions, Tolerances, one_of, require

if TYPE_CHECKING:
    from dalembert.compile.ports import Port
    from dalembert.regularize import System
    from dalembert.solvers.radau.stepper import RadauStepper


@dataclass(frozen=True, kw_only=True, repr=False)
class Radau5(MethodOptions):
    """Options of Radau 5. Main: `formulation`. Other: Newton's method and the step controller.

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Radau5(formulation="ggl"), rtol=1e-9, atol=1e-9)
    >>> pendulum.error(sol) < 1e-7
    True
    """

    formulation: str = "ggl"  # "index1", "index2", "index3", "ggl" or "baumgarte"
    initial_values: str = "correct"  # "correct", "check" or "trust" the start values
    controller: str = "predictive"  # or "classical"
    start: str = "extrapolated"  # stages start from the last polynomial, or "constant": from the current point
    newton_iterations: int = 7  # at most
    newton_limit: float | None = None  # convergence test; default from the tolerance
    safety: float = 0.9  # factor on the optimal step
    max_growth: float = 8.0  # largest ratio of successive steps
    max_shrink: float = 0.2  # smallest ratio
    keep_step: tuple[float, float] = (1.0, 1.2)  # ratios within which step and factorization are kept
    jacobian_rate: float = 1e-3  # keep the Jacobian while Newton contracts faster than this
    alpha: float = 5.0  # Baumgarte's coefficients
    beta: float = 5.0

    def __post_init__(self) -> None:
        one_of("formulation", self.formulation, ("index1", "index2", "index3", "ggl", "baumgarte"))
        one_of("initial_values", self.initial_values, ("correct", "check", "trust"))
        one_of("controller", self.controller, ("predictive", "classical"))
        one_of("start", self.start, ("extrapolated", "constant"))
        require(self.newton_iterations >= 2, f"newton_iterations={self.newton_iterations}: at least 2 are needed")
        require(
            self.newton_limit is None or self.newton_limit > 0, f"newton_limit={self.newton_limit} must be positive"
        )
        require(0 < self.safety < 1, f"safety={self.safety} must lie between 0 and 1")
        require(self.max_growth > 1, f"max_growth={self.max_growth} must exceed 1")
        require(0 < self.max_shrink < 1, f"max_shrink={self.max_shrink} must lie between 0 and 1")
        low, high = self.keep_step
        require(0 < low <= 1 <= high, f"keep_step={self.keep_step} must enclose 1")

    def system(self, model: Model) -> System:
        """The formulation this method integrates."""
        system = formulate(model, self.formulation, alpha=self.alpha, beta=self.beta)
        if system.constraints.numel() or system.residual.numel() != system.n:
            raise ModelError(
                f"model '{model.name}' is overdetermined: {system.residual.numel() + system.constraints.numel()} "
                f"equations for {system.n} unknowns. Radau5 needs as many equations as unknowns: leave out constraints= "
                "that follow from the others."
            )
        return system

    def stepper(
        self, model: Model, tolerances: Tolerances, max_step: float, max_steps: int, events: Port | None, samples: int
    ) -> RadauStepper:
        """Set up a run."""
        from dalembert.compile.kernel import announce
        from dalembert.compile.system import compile_system

        with announce():
            from dalembert.solvers.radau import core
            from dalembert.solvers.radau.dense import dense_algebra, workspace_copy
            from dalembert.solvers.radau.dense_kernel import radau_dense
            from dalembert.solvers.radau.stepper import RadauStepper

        compiled = compile_system(self.system(model))
        key = ("dense algebra", id(compiled))
        with model.lock:
            if key not in model.cache:
                model.cache[key] = dense_algebra(compiled)
        internal = 0.1 * float(np.min(tolerances.rtol)) ** (2 / 3)
        control = core.Control(
            newton_limit=self.newton_limit or max(10 * core.UNIT / internal, min(0.03, internal**0.5)),
            max_iterations=self.newton_iterations,
            safety=self.safety,
            max_growth=self.max_growth,
            max_shrink=self.max_shrink,
            keep_low=self.keep_step[0],
            keep_high=self.keep_step[1],
            jacobian_rate=self.jacobian_rate,
            predictive=int(self.controller == "predictive"),
            extrapolate=int(self.start == "extrapolated"),
            max_step=max_step,
            max_steps=max_steps,
        )
        return RadauStepper(
            radau_dense, workspace_copy(model.cache[key]), compiled, model, tolerances, control, events, samples
        )
