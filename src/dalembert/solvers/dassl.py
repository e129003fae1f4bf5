"""DASSL: backward differentiation formulas of order 1 to 5 on any formulation of a model.

One small linear system an iteration, and a matrix that is kept over many steps: cheap steps, of which loose and medium
tolerances need few. The formulation decides which constraints hold, as with `Radau5`.

References
----------
.. [1] K.E. Brenan, S.L. Campbell, L.R. Petzold, "Numerical Solution of Initial-Value Problems in Differential-Algebraic
   Equations", 2nd ed., SIAM, 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from dalembert.errors import ModelError
from dalembert.linalg.protocol import LinearSolver
from dalembert.linalg.saddle.compiled import Compiled
from dalembert.linalg.saddle.sparse import Sparse
from dalembert.model import Model
from dalembert.regularize import formulate
from dalembert.solvers.bdf.options import LARGE, BdfOptions
from dalembert.solvers.linear_algebra import with_pivots
from dalembert.solvers.method import one_of, require
from dalembert.solvers.written import pivot_order

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.compile.system import CompiledSystem
    from dalembert.regularize import System
    from dalembert.solvers.bdf.stepper import BdfStepper

FORMULATIONS = ("index1", "index2", "ggl", "baumgarte")


@dataclass(frozen=True, kw_only=True, repr=False)
class Dassl(BdfOptions):
    """Options of DASSL. Main: `formulation`. Other: order, Newton's method, error test (see `BdfOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Dassl(formulation="ggl"), rtol=1e-9, atol=1e-9)
    >>> pendulum.error(sol) < 1e-5
    True
    """

    formulation: str = "ggl"  # "index1", "index2", "ggl" or "baumgarte"
    alpha: float = 5.0  # Baumgarte's coefficients
    beta: float = 5.0
    form: str = "residual"  # of the equations of motion, M v' = …, or "explicit", v' = M⁻¹ (…)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            not isinstance(self.formulation, str) or self.formulation != "index3",
            "formulation='index3': with changing steps the multipliers and velocities of index 3 do not converge. Take "
            "'ggl' or 'index2', or Radau5",
        )
        one_of("formulation", self.formulation, FORMULATIONS)
        one_of("form", self.form, ("residual", "explicit"))

    def formulate(self, model: Model) -> System:
        """The formulation this method integrates."""
        from dalembert.regularize.structure.system import is_regularized, stabilized

        if is_regularized(model):
            return stabilized(model)
        system = formulate(model, self.formulation, alpha=self.alpha, beta=self.beta)
        implicit = system.model.own_formulation == "implicit"
        if self.algebraic_errors == "excluded" and implicit and not model.graph.functions["residual"].traced:
            raise ModelError(
                f"the residual of model '{model.name}' cannot be traced, so that nobody knows which unknowns have no "
                "derivatives: algebraic_errors='excluded' needs that. Take 'full', or NumPy functions in residual="
            )
        if system.constraints.numel() or system.residual.numel() != system.n:
            rows = system.residual.numel() + system.constraints.numel()
            raise ModelError(
                f"model '{model.name}' is overdetermined: {rows} equations for {system.n} unknowns. Dassl needs as "
                "many equations as unknowns: leave out constraints= that follow from the others, or take Odassl."
            )
        return system if self.form == "residual" else self._explicit(model, system)

    def _explicit(self, model: Model, system: System) -> System:
        if not model.mechanical:
            raise ModelError(f"model '{model.name}' has no mass matrix: form='explicit' is for EquationsOfMotion")
        M = ca.sparsify(model.graph.value("mass"))
        if ca.sprank(M) < M.shape[0]:
            raise ModelError(f"the mass matrix of model '{model.name}' is singular: form='explicit' needs its inverse")
        return system.explicit()

    def algebra(self, compiled: CompiledSystem, solver: LinearSolver) -> Memory:
        if isinstance(solver, Compiled):
            from dalembert.solvers.bdf.written import written_algebra

            other = self.algebra(compiled, with_pivots(compiled, LARGE))
            return written_algebra(compiled, pivot_order(compiled, solver.longest), other)
        if isinstance(solver, Sparse):
            from dalembert.solvers.bdf.sparse import sparse_algebra

            return sparse_algebra(compiled, solver.threshold)
        from dalembert.solvers.bdf.dense import dense_algebra

        return dense_algebra(compiled)

    def driver(self) -> type[BdfStepper]:
        from dalembert.solvers.bdf.stepper import BdfStepper

        return BdfStepper
