"""HEM5: half-explicit Runge-Kutta method of order 5 with 8 stages for the equations of motion of index 2 [1]_.

Differential equations are treated explicitly; constraints on velocity level hold at every stage, by one linear
saddle-point system a stage. For nonstiff problems it is the quickest method here.

References
----------
.. [1] V. Brasey, E. Hairer, "Half-explicit Runge-Kutta methods for differential-algebraic systems of index 2", SIAM J.
   Numer. Anal. 30, 1993.
.. [2] V. Brasey, "A half-explicit Runge-Kutta method of order 5 for solving constrained mechanical systems",
   Computing 48, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.errors import ModelError
from dalembert.model import Model
from dalembert.solvers.half.options import Parts, RungeKuttaOptions
from dalembert.solvers.method import one_of

if TYPE_CHECKING:
    from dalembert.compile.half_explicit import CompiledDescriptor
    from dalembert.regularize import DescriptorForm


@dataclass(frozen=True, kw_only=True, repr=False)
class Hem5(RungeKuttaOptions):
    """Options of HEM5. Main: none is needed. Other: projection, drift and step limits (see `RungeKuttaOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Hem5(), rtol=1e-9, atol=1e-9)
    >>> pendulum.error(sol) < 1e-7, sol.max_residual("velocity") < 1e-13
    (True, True)
    """

    error: str = "all"  # estimated in "all" of p, v, r, or in "positions" only

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("error", self.error, ("all", "positions"))

    def settings(self) -> dict[str, float]:
        return {**super().settings(), "error_in": int(self.error == "all")}

    def formulate(self, model: Model) -> DescriptorForm:
        """The form this method integrates."""
        form = self._without_friction(super().formulate(model))
        if form.dynamics_read_multipliers:
            # the multipliers of the stages are averages of low order
            raise ModelError(
                f"model '{model.name}': dynamics= depends on multipliers, which the stages of Hem5 do not give "
                "accurately; take Rkf45, Geoms or Radau5"
            )
        return form

    def parts(self, model: Model, compiled: CompiledDescriptor) -> Parts:
        from dalembert.solvers.half.hem5_kernel import hem5, new_hem5_state
        from dalembert.solvers.half.stepper import saddle_pattern

        return Parts(
            kernel=hem5,
            prepare=lambda: new_hem5_state(compiled),
            pattern=lambda: saddle_pattern(compiled, symmetric=False),
        )
