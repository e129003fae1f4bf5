"""RKF45: the Runge-Kutta-Fehlberg pair of orders 4 and 5 on the equations of motion of index 1 [1]_.

Accelerations come from the constraints on acceleration level, by one linear saddle-point system a stage, and are
integrated as an ordinary differential equation. Without projection positions and velocities drift away from their
constraints; with it, which is the default, accepted points satisfy them.

References
----------
.. [1] E. Fehlberg, "Low-order classical Runge-Kutta formulas with stepsize control", NASA Technical Report R-315, 1969.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.model import Model
from dalembert.solvers.half.options import Parts, RungeKuttaOptions

if TYPE_CHECKING:
    from dalembert.compile.half_explicit import CompiledDescriptor
    from dalembert.regularize import DescriptorForm


@dataclass(frozen=True, kw_only=True, repr=False)
class Rkf45(RungeKuttaOptions):
    """Options of RKF45. Main: `projection`. Other: drift and step limits (see `RungeKuttaOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> [pendulum.simulate(method=da.Rkf45(projection=which), rtol=1e-8, atol=1e-8).max_residual("position") < 1e-12
    ...  for which in ("both", "none")]
    [True, False]
    """

    extrapolate: bool = True  # go on with the solution of order 5; False: of order 4, whose error is estimated

    def formulate(self, model: Model) -> DescriptorForm:
        """The form this method integrates."""
        return self._with_linear_friction(super().formulate(model))

    def own_settings(self) -> dict[str, int]:
        """Scalars of the kernel's record."""
        from dalembert.compile.kernel import load

        load("dalembert.solvers.half.rkf45_kernel")
        from dalembert.solvers.half.rkf45_kernel import FIFTH, FOURTH

        return {"advance": FIFTH if self.extrapolate else FOURTH}

    def parts(self, model: Model, compiled: CompiledDescriptor) -> Parts:
        from dalembert.compile.kernel import load

        load("dalembert.solvers.half.rkf45_kernel")
        from dalembert.solvers.half.rkf45_kernel import FIXED, new_rkf45_state, rkf45
        from dalembert.solvers.half.stepper import saddle_pattern

        return Parts(
            kernel=rkf45,
            prepare=lambda: new_rkf45_state(compiled),
            pattern=lambda: saddle_pattern(compiled, symmetric=True, friction=True),
            fixed=FIXED,
        )
