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
from functools import partial
from typing import TYPE_CHECKING

from dalembert.errors import ModelError
from dalembert.kept import Slot
from dalembert.linalg.protocol import ITERATION, LinearSolver, check_solver
from dalembert.linalg.saddle.auto import AUTO
from dalembert.linalg.saddle.compiled import Compiled
from dalembert.linalg.saddle.sparse import Sparse
from dalembert.model import Model
from dalembert.regularize import formulate
from dalembert.solvers.linear_algebra import iteration_pattern, with_pivots
from dalembert.solvers.method import one_of
from dalembert.solvers.radau.options import KERNELS_OF, RadauOptions
from dalembert.solvers.written import pivot_order

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.compile.system import CompiledSystem
    from dalembert.regularize import System
    from dalembert.solvers.radau.stepper import RadauStepper

FORMULATIONS = ("index1", "index2", "index3", "ggl", "baumgarte")
#: rows of the matrix from which sparse factors are quicker
LARGE = 24
#: modules with the kernels of a solver
WAYS = {Sparse: "sparse", Compiled: "written"}
ALGEBRAS: Slot[Memory] = Slot("linear algebras of Radau 5", most=2)


@dataclass(frozen=True, kw_only=True, repr=False)
class Radau5(RadauOptions):
    """Options of Radau 5. Main: `formulation`. Other: Newton's method and the step controller (see `RadauOptions`).

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Radau5(formulation="ggl"), rtol=1e-9, atol=1e-9)
    >>> pendulum.error(sol) < 1e-7
    True
    """

    formulation: str = "ggl"  # "index1", "index2", "index3", "ggl" or "baumgarte"
    alpha: float = 5.0  # Baumgarte's coefficients
    beta: float = 5.0
    linear_solver: LinearSolver = (
        AUTO  # of the iteration matrices: `Dense()`, `Sparse()`, `Compiled()`, or what suits it
    )

    trusted_index = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("formulation", self.formulation, FORMULATIONS)
        check_solver("Radau5", self.linear_solver, ITERATION)

    def formulate(self, model: Model) -> System:
        """The formulation this method integrates."""
        from dalembert.regularize.structure.system import is_regularized, stabilized

        if is_regularized(model):
            return stabilized(model)
        if not model.linear_in_rates:
            raise ModelError(f"model '{model.name}' is an ImplicitDAE, which Radau5 cannot treat: take method=Dassl()")
        system = formulate(model, self.formulation, alpha=self.alpha, beta=self.beta)
        if system.constraints.numel() or system.residual.numel() != system.n:
            rows = system.residual.numel() + system.constraints.numel()
            raise ModelError(
                f"model '{model.name}' is overdetermined: {rows} equations for {system.n} unknowns. Radau5 needs as "
                "many equations as unknowns: leave out constraints= that follow from the others."
            )
        return system

    def new_stepper(self, form: System, model: Model) -> RadauStepper:
        from dalembert.compile.kernel import announce, load
        from dalembert.compile.system import compile_system

        compiled = compile_system(form)
        pattern = iteration_pattern(compiled, LARGE, partial(_algebra, compiled))
        way = WAYS.get(type(self.linear_solver.choose(pattern)), "dense")
        with announce(f"{KERNELS_OF}.{way}"):
            load("dalembert.solvers.radau.stepper")
            from dalembert.solvers.radau.stepper import RadauStepper
        algebra = form.kept.get(ALGEBRAS, self.linear_solver, lambda: self.linear_solver.build(pattern))
        return RadauStepper(self, compiled, algebra)


def _algebra(compiled: CompiledSystem, solver: LinearSolver) -> Memory:
    """The record of the linear algebra that the solver stands for."""
    from dalembert.compile.kernel import announce, load

    load(*(f"dalembert.solvers.radau.{module}" for module in ("kernels", "dense", "sparse", "written")))
    with announce():
        from dalembert.solvers.radau import dense, sparse, written
        from dalembert.solvers.radau.kernels import addresses

        if isinstance(solver, Compiled):
            other = _algebra(compiled, with_pivots(compiled, LARGE))
            return written.algebra(compiled, addresses(written), pivot_order(compiled, solver.longest), other)
        if isinstance(solver, Sparse):
            return sparse.algebra(compiled, addresses(sparse), solver.threshold)
        return dense.algebra(compiled, addresses(dense))
