"""ODASSL: backward differentiation formulas on overdetermined equations of motion.

Constraints on several levels stand beside each other, without additional unknowns: each increment satisfies all of them
exactly and relaxes the differential equations as little as that needs [1]_.

References
----------
.. [1] C. Führer, B.J. Leimkuhler, "Numerical solution of differential-algebraic equations for constrained mechanical
   motion", Numer. Math. 59, 1991.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.errors import ModelError
from dalembert.linalg.protocol import LinearSolver
from dalembert.linalg.saddle.sparse import Sparse
from dalembert.model import Model
from dalembert.regularize import formulate
from dalembert.solvers.bdf.options import BdfOptions
from dalembert.solvers.method import one_of

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.compile.system import CompiledSystem
    from dalembert.regularize import System
    from dalembert.solvers.bdf.stepper import BdfStepper

#: names of `regularize.formulate` by level
LEVELS = {"velocity": "overdetermined2", "acceleration": "overdetermined"}


@dataclass(frozen=True, kw_only=True, repr=False)
class Odassl(BdfOptions):
    """Options of ODASSL. Main: `level`. Other: order, Newton's method, error test (see `BdfOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Odassl(), rtol=1e-8, atol=1e-8)
    >>> sol.max_residual("position") < 1e-7, sol.max_residual("velocity") < 1e-6
    (True, True)
    """

    level: str = "velocity"  # constraints on position and velocity level, or on "acceleration" level too

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("level", self.level, tuple(LEVELS))

    def formulate(self, model: Model) -> System:
        """The formulation this method integrates."""
        from dalembert.regularize.structure.system import is_regularized, overdetermined

        if is_regularized(model):
            return overdetermined(model).stacked()
        if not model.linear_in_rates:
            raise ModelError(f"model '{model.name}' is an ImplicitDAE, which Odassl cannot treat: take method=Dassl()")
        system = formulate(model, LEVELS[self.level])
        if system.residual.numel() != system.n:
            raise ModelError(
                f"model '{model.name}' has {system.residual.numel()} equations besides its constraints, for {system.n} "
                "unknowns. Odassl needs as many, and constraints= that follow from them."
            )
        if not system.constraints.numel():
            what = "position constraints" if model.mechanical else "constraints= beyond them"
            raise ModelError(f"model '{model.name}' has no {what}, so nothing is overdetermined. Take Dassl.")
        return system.stacked()

    @property
    def modules(self) -> tuple[str, str]:
        return "overdetermined", "bordered"

    def algebra(self, compiled: CompiledSystem, solver: LinearSolver) -> Memory:
        if isinstance(solver, Sparse):
            from dalembert.solvers.bdf.bordered import bordered_algebra

            return bordered_algebra(compiled, solver.threshold)
        from dalembert.solvers.bdf.overdetermined import overdetermined_algebra

        return overdetermined_algebra(compiled)

    def driver(self) -> type[BdfStepper]:
        from dalembert.solvers.bdf.stepper import OverdeterminedStepper

        return OverdeterminedStepper
