"""Options that all BDF methods share: start values, order, Newton's method, errors of algebraic variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dalembert.kept import Slot
from dalembert.linalg.protocol import ITERATION, LinearSolver, check_solver
from dalembert.linalg.saddle.auto import AUTO
from dalembert.linalg.saddle.compiled import Compiled
from dalembert.linalg.saddle.sparse import Sparse
from dalembert.model import Model
from dalembert.solvers.jacobians import EXACT, Exact, Jacobian
from dalembert.solvers.linear_algebra import iteration_pattern
from dalembert.solvers.method import MethodOptions, between, one_of, require

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.compile.system import CompiledSystem
    from dalembert.regularize import System
    from dalembert.solvers.bdf.stepper import BdfStepper

#: in the order of the kernel's numbers
ALGEBRAIC_ERRORS = ("full", "scaled", "excluded")
#: rows of the matrix from which sparse factors are quicker
LARGE = 24
#: of Newton's method: what has not converged by then never does
MOST_ITERATIONS = 1000
ALGEBRAS: Slot[Memory] = Slot("linear algebras of BDF methods", most=4)


@dataclass(frozen=True, kw_only=True, repr=False)
class BdfOptions(MethodOptions):
    """What the integrator of `bdf.core` can be told."""

    initial_values: str = "correct"  # "correct", "check" or "trust" the start values
    max_order: int = 5  # 1 … 5
    algebraic_errors: str = (
        "scaled"  # of multipliers and the like: "scaled" by h and h², "excluded" from the test, "full"; of other models
        # than EquationsOfMotion "excluded" means all unknowns without derivatives, "scaled" is as "full"
    )
    newton_iterations: int = 4  # at most
    newton_limit: float = 0.33  # convergence test, as a fraction of the tolerance
    jacobian: Jacobian = EXACT  # or `Differences()`, `GroupedDifferences()`
    linear_solver: LinearSolver = (
        AUTO  # of the iteration matrices: `Dense()`, `Sparse()`, `Compiled()`, or what suits it
    )
    matrix_range: float | None = None  # keep the matrix while c changes by less than (1 + range)/(1 − range); default:
    # 0 where a new one costs no differences, otherwise 0.25 as in DASSL

    def __post_init__(self) -> None:
        self.coerce_numbers()
        one_of("initial_values", self.initial_values, ("correct", "check", "trust"))
        one_of("algebraic_errors", self.algebraic_errors, ALGEBRAIC_ERRORS)
        check_solver(type(self).__name__, self.linear_solver, ITERATION)
        require(1 <= self.max_order <= 5, f"max_order={self.max_order} must be between 1 and 5")
        require(self.newton_iterations >= 2, f"newton_iterations={self.newton_iterations}: at least 2 are needed")
        between("newton_iterations", self.newton_iterations, 2, MOST_ITERATIONS)
        limit = self.newton_limit
        require(limit > 0, f"newton_limit={limit} must be positive")
        require(limit <= 1, f"newton_limit={limit} must not exceed 1: Newton's errors count, too")
        require(
            isinstance(self.jacobian, Jacobian),
            f"jacobian={self.jacobian!r} must be Exact(), Differences() or GroupedDifferences()",
        )
        require(
            self.matrix_range is None or 0 <= self.matrix_range <= 0.9,
            f"matrix_range={self.matrix_range} must lie between 0 and 0.9: a matrix that is much too large makes "
            "corrections so small that they seem to have converged",
        )

    @property
    def range(self) -> float:
        """`matrix_range` or its default."""
        if self.matrix_range is not None:
            return self.matrix_range
        return 0.0 if isinstance(self.jacobian, Exact) or self.jacobian.partitioned else 0.25

    def formulate(self, model: Model) -> System:
        """The formulation this method integrates."""
        raise NotImplementedError

    @property
    def modules(self) -> tuple[str, str]:
        """Modules with the kernels of dense and of sparse linear algebra."""
        return "dense", "sparse"

    def module_for(self, solver: LinearSolver) -> str:
        """The module with the kernels of the linear algebra that a solver stands for."""
        return "written" if isinstance(solver, Compiled) else self.modules[isinstance(solver, Sparse)]

    def algebra(self, compiled: CompiledSystem, solver: LinearSolver) -> Memory:
        """The record of the linear algebra that the solver stands for."""
        raise NotImplementedError

    def driver(self) -> type[BdfStepper]:
        """What drives the kernel."""
        raise NotImplementedError

    def new_stepper(self, form: System, model: Model) -> BdfStepper:
        from dalembert.compile.kernel import announce, load
        from dalembert.compile.system import compile_system

        compiled = compile_system(form)
        pattern = iteration_pattern(compiled, LARGE, partial(self.algebra, compiled))
        module = f"dalembert.solvers.bdf.{self.module_for(self.linear_solver.choose(pattern))}"
        with announce(module):
            load("dalembert.solvers.bdf.stepper", module)
            run = self.driver()
            key = type(self), self.linear_solver
            algebra = form.kept.get(ALGEBRAS, key, lambda: self.linear_solver.build(pattern))
        return run(self, compiled, algebra)
