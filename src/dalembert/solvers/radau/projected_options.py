"""Options of the Radau methods that project differential equations: what `Geoms` and `Qualidaes` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.kept import Slot
from dalembert.linalg.null_space import CONSTRAINTS, DIFFERENTIAL, NullSpace
from dalembert.linalg.protocol import PROJECTED, LinearSolver, ProjectedPattern, check_solver
from dalembert.linalg.saddle.auto import AUTO
from dalembert.linalg.saddle.compiled import Compiled
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.sparse import Sparse
from dalembert.model import Model
from dalembert.solvers.method import RunSpec, between, one_of, require
from dalembert.solvers.radau.options import KERNELS_OF, MOST_ITERATIONS, RadauOptions

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.compile.system import CompiledSystem
    from dalembert.regularize import ProjectedSystem
    from dalembert.solvers.radau.control import Control
    from dalembert.solvers.radau.stepper import RadauStepper

#: residuals of constraints need not be corrected below this fraction of the absolute tolerance
CORRECTED = 1e-3
#: unknowns from which sparse factors are quicker
LARGE = 128
#: modules with the kernels of a solver
WAYS = {Sparse: "bordered", Compiled: "reduced"}
ALGEBRAS: Slot[Memory] = Slot("linear algebras of GEOMS", most=8)


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjectedOptions(RadauOptions):
    """What can be told about constraints, and about what they leave of the differential equations."""

    invariants: str = "project"  # accepted points onto the model's invariants; "impose" them on the stages; "ignore"
    linear_solver: LinearSolver = AUTO  # `NullSpace(...)` or `Dense()`, `Sparse()`, or what the size asks for
    algebraic: str = "lu"  # short for NullSpace(constraints=...): "lu", "qr", or "svd" (redundant constraints)
    differential: str = "lu"  # short for NullSpace(differential=...): "lu" or "qr"
    selector: str = "every"  # selectors with every Jacobian, or "adaptive": kept while the pivots stay
    corrections: int = 3  # of the constraints at accepted points at most, where Newton's method left enough of them
    scaling: str = "rows"  # constraints: each row to maximum 1, by 1/h ("step"), or "none"
    jacobian_rate: float = 1e-2  # as in `RadauOptions`; new blocks cost more here than factors for a new step size
    rank_threshold: float = 1e-11  # pivots and singular values below this fraction of the largest count as zero

    #: at singular positions
    singular = "stop"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.invariants, bool | np.bool_):
            object.__setattr__(self, "invariants", "project" if self.invariants else "ignore")
        one_of("invariants", self.invariants, ("project", "impose", "ignore"))
        one_of("algebraic", self.algebraic, CONSTRAINTS)
        one_of("differential", self.differential, DIFFERENTIAL)
        check_solver(type(self).__name__, self.linear_solver, PROJECTED)
        self._take_null_space()
        one_of("selector", self.selector, ("every", "adaptive"))
        one_of("scaling", self.scaling, ("rows", "step", "none"))
        require(self.corrections >= 0, f"corrections={self.corrections} must not be negative")
        between("corrections", self.corrections, 0, MOST_ITERATIONS)
        require(
            1e-15 <= self.rank_threshold < 1,
            f"rank_threshold={self.rank_threshold} must lie between 1e-15, below which is rounding, and 1",
        )

    def _take_null_space(self) -> None:
        """`algebraic` and `differential` are what a `NullSpace` says; both may be given only if they agree."""
        solver = self.linear_solver
        if not isinstance(solver, NullSpace):
            return
        for short, name in (("algebraic", "constraints"), ("differential", "differential")):
            told, asked = getattr(self, short), getattr(solver, name)
            require(
                told in (type(self).__dataclass_fields__[short].default, asked),
                f"{short}={told!r} contradicts linear_solver={solver!r}: give one of them",
            )
            object.__setattr__(self, short, asked)

    def new_stepper(self, form: ProjectedSystem, model: Model) -> RadauStepper:
        from dalembert.compile.kernel import announce, load
        from dalembert.compile.system import compile_system

        compiled = compile_system(form)
        pattern = self._pattern(compiled)
        way = "partitioned" if form.blocks.partitioned else "projected"  # most often
        way = WAYS.get(type(self.linear_solver.choose(pattern)), way)
        with announce(f"{KERNELS_OF}.{way}"):
            load("dalembert.solvers.radau.projected_stepper")
            from dalembert.solvers.radau.projected_stepper import ProjectedStepper
        algebra = form.kept.get(ALGEBRAS, self, lambda: self.linear_solver.build(pattern))
        return ProjectedStepper(self, compiled, algebra)

    def control(self, spec: RunSpec) -> Control:
        # before it is corrected a point may hide that constraints are redundant: with the SVD the old blocks always
        # correct it
        redundant = self.algebraic == "svd"
        corrected = 0.0 if redundant else CORRECTED * float(np.min(spec.tolerances.atol))
        return super().control(spec, self.corrections, corrected, self.corrections > 0 and not redundant)

    def _pattern(self, compiled: CompiledSystem) -> ProjectedPattern:
        """What the linear solver is asked for."""

        def make(solver: LinearSolver) -> Memory:
            from dalembert.compile.kernel import announce, load

            modules = ("kernels", "bordered", "partitioned", "projected", "reduced")
            load(*(f"dalembert.solvers.radau.{module}" for module in modules))
            with announce():
                from dalembert.solvers.radau import bordered, partitioned, projected, reduced
                from dalembert.solvers.radau.kernels import addresses

                if isinstance(solver, Compiled):
                    from dalembert.solvers.radau.reduction import written_for

                    written = written_for(compiled, solver.longest)
                    return reduced.algebra(compiled, addresses(reduced), written, make(Dense()), self.rank_threshold)
                if isinstance(solver, Sparse):
                    return bordered.algebra(compiled, addresses(bordered), solver.threshold, self.rank_threshold)
                way = partitioned if partitioned.applies_to(compiled.system, self) else projected
                return way.algebra(compiled, self, addresses(way))

        def unwritten(most: int) -> str:
            from dalembert.solvers.radau.reduction import written_for

            written = self._dense_only(compiled.system) or written_for(compiled, most)
            return written if isinstance(written, str) else ""

        n = compiled.system.n
        nonzeros = len(compiled.jacobian_pattern[0]) + len(compiled.leading_pattern[0])
        return ProjectedPattern(
            n=n,
            nonzeros=nonzeros,
            condensed=n,
            large=LARGE,
            make=make,
            dense_only=self._dense_only(compiled.system),
            unwritten=unwritten,
        )

    def _dense_only(self, system: ProjectedSystem) -> str:
        """What asks for dense blocks, in words; empty if nothing does."""
        blocks = system.blocks
        for name, only in (("algebraic", "lu"), ("differential", "lu"), ("selector", "every"), ("scaling", "rows")):
            if getattr(self, name) != only:
                return f"{name}={getattr(self, name)!r} asks for dense blocks"
        if not blocks.bordered:
            return "its selectors need a basis of the null space, which is dense"
        if self.singular != "stop":
            return f"singular={self.singular!r} needs the singular values of dense blocks"
        if len(blocks.F4):
            return "accepted points are projected onto invariants along a basis of the null space, which is dense"
        if np.isin(blocks.free, blocks.multipliers).any() and len(blocks.F2) > len(blocks.multipliers):
            return "formulation='index1' with imposed invariants needs selectors of its own"
        return ""
