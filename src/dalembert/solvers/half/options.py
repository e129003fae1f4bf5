"""Options that all methods on the descriptor form share: start values, linear solver, projection, step limits."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dalembert.errors import ModelError
from dalembert.linalg.protocol import SADDLE, LinearSolver, check_solver
from dalembert.linalg.saddle.auto import AUTO
from dalembert.linalg.saddle.solver import SaddlePattern
from dalembert.model import Model
from dalembert.regularize import DescriptorForm, descriptor_form
from dalembert.solvers.half.tableau import HalfExplicitTableau
from dalembert.solvers.method import MethodOptions, one_of, require

if TYPE_CHECKING:
    from dalembert.compile.half_explicit import CompiledDescriptor
    from dalembert.compile.memory import Memory
    from dalembert.solvers.half.stepper import HalfStepper

PROJECTIONS = ("both", "velocities", "none")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a method brings along for one model.

    `prepare` makes the record of the method (`core.new_state`) and is called once per model and kind, `pattern` that of
    the systems that the kernel solves, once per linear solver, too.
    """

    kernel: Callable[..., int]  # kernel(record, ports, buffer, scan) -> status
    prepare: Callable[[], Memory]
    pattern: Callable[[], SaddlePattern]
    kind: Hashable = ""  # tells apart records and patterns of one method
    fixed: tuple[str, ...] = ()  # scalars that stay as `prepare` has set them; `start` clears the others
    stepper: type[HalfStepper] | None = None  # None: the one of all methods
    quickest: Callable[..., float] | None = None  # quickest(record, ports, work) -> the largest rate of the motion


@dataclass(frozen=True, kw_only=True, repr=False)
class HalfExplicitOptions(MethodOptions):
    """What `half.core` can be told."""

    initial_values: str = "correct"  # "correct", "check" or "trust" the start values
    linear_solver: LinearSolver = AUTO  # of the saddle-point systems
    projection: str = "both"  # of accepted points: positions and velocities, "velocities" alone, or "none"
    projection_every: int = 1  # steps
    projection_limit: float = 1e-2  # Newton's increment of the last iteration, in units of the tolerance
    drift_limit: float | None = None  # reject steps that end with a larger residual of the constraints
    min_step: float = 0.0  # steps of this size are accepted whatever their error; a warning says how many were

    def __post_init__(self) -> None:
        self.coerce_numbers()
        one_of("initial_values", self.initial_values, ("correct", "check", "trust"))
        one_of("projection", self.projection, PROJECTIONS)
        check_solver(type(self).__name__, self.linear_solver, SADDLE)
        require(self.projection_every >= 1, f"projection_every={self.projection_every} must be at least 1")
        limit = self.projection_limit
        require(limit > 0, f"projection_limit={limit} must be positive")
        require(limit <= 1, f"projection_limit={limit} must not exceed 1: what is left counts as an error")
        limit = self.drift_limit
        require(limit is None or limit > 0, f"drift_limit={limit} must be positive")
        require(self.min_step >= 0, f"min_step={self.min_step} must not be negative")

    def formulate(self, model: Model) -> DescriptorForm:
        """The form this method integrates."""
        return descriptor_form(model, type(self).__name__, inequalities=self.complementary)

    def _with_linear_friction(self, form: DescriptorForm) -> DescriptorForm:
        """Refuse forces that depend on the multipliers, for methods that evaluate forces before they know them; those
        that do so linearly are part of the saddle-point systems."""
        if form.has_friction and not form.linear_friction:
            force = form.model.graph.functions["force"]
            how = "in another way than linearly" if force.traced else "in a way that cannot be traced"
            raise ModelError(
                f"model '{form.model.name}': the forces depend on the multipliers (friction) {how}. "
                f"{type(self).__name__} evaluates forces before multipliers are known; take Mexx, Geoms or Radau5"
            )
        return form

    def parts(self, model: Model, compiled: CompiledDescriptor) -> Parts:
        """Kernel and records of the method; imports the kernel."""
        raise NotImplementedError

    def new_stepper(self, form: DescriptorForm, model: Model) -> HalfStepper:
        from dalembert.compile.half_explicit import compile_descriptor
        from dalembert.compile.kernel import announce, load

        compiled = compile_descriptor(form)
        with announce(*self.linear_solver.kernels):
            load("dalembert.solvers.half.stepper")
            parts = self.parts(model, compiled)
        return self.assembled(model, compiled, parts)

    def assembled(self, model: Model, compiled: CompiledDescriptor, parts: Parts) -> HalfStepper:
        """The stepper that the parts belong to."""
        from dalembert.solvers.half.stepper import HalfStepper

        return (parts.stepper or HalfStepper)(self, compiled, parts)

    def own_settings(self) -> dict[str, float]:
        """The method's own scalars of the record of a run, which `start` clears."""
        return {}

    def solver(self, pattern: SaddlePattern) -> LinearSolver:
        """The linear solver for a pattern."""
        return self.linear_solver

    def settings(self) -> dict[str, float]:
        """The fields of the record of a run that the options determine."""
        return dict(
            project_positions=int(self.projection == "both"),
            project_velocities=int(self.projection != "none"),
            project_every=self.projection_every,
            projection_limit=self.projection_limit,
            drift_limit=self.drift_limit or 0.0,
            min_step=self.min_step,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class RungeKuttaOptions(HalfExplicitOptions):
    """And the step controller of `half.runge_kutta`."""

    safety: float = 0.85  # factor on the optimal step
    max_growth: float = 10.0  # largest ratio of successive steps
    max_shrink: float = 0.2  # smallest ratio

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.safety < 1, f"safety={self.safety} must lie between 0 and 1")
        require(self.max_growth > 1, f"max_growth={self.max_growth} must exceed 1")
        require(0 < self.max_shrink < 1, f"max_shrink={self.max_shrink} must lie between 0 and 1")

    def settings(self) -> dict[str, float]:
        """The fields of the record of a run that the options determine."""
        own = dict(safety=self.safety, max_growth=self.max_growth, max_shrink=self.max_shrink)
        return {**super().settings(), **own}


@dataclass(frozen=True, kw_only=True, repr=False)
class HalfExplicitRungeKutta(RungeKuttaOptions):
    """Options of the methods that are a tableau: a subclass sets `tableau`, and is complete."""

    tableau: ClassVar[HalfExplicitTableau]

    error: str = "all"  # estimated in "all" of p, v, r, or in "positions" only

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("error", self.error, ("all", "positions"))

    def settings(self) -> dict[str, float]:
        return {**super().settings(), "error_in": int(self.error == "all")}

    def formulate(self, model: Model) -> DescriptorForm:
        """The form this method integrates."""
        form = self._with_linear_friction(super().formulate(model))
        if form.dynamics_read_multipliers:
            # the multipliers of the stages are averages of low order
            raise ModelError(
                f"model '{model.name}': dynamics= depends on multipliers, which the stages of {type(self).__name__} do "
                "not give accurately; take Rkf45, Geoms or Radau5"
            )
        return form

    def parts(self, model: Model, compiled: CompiledDescriptor) -> Parts:
        from dalembert.compile.kernel import load

        load("dalembert.solvers.half.half_explicit_kernel")
        from dalembert.solvers.half.half_explicit_kernel import FIXED, half_explicit, new_half_explicit_state, quickest
        from dalembert.solvers.half.stepper import saddle_pattern

        return Parts(
            kernel=half_explicit,
            prepare=lambda: new_half_explicit_state(compiled, self.tableau),
            pattern=lambda: saddle_pattern(compiled, symmetric=False, friction=True),
            fixed=FIXED,
            quickest=quickest,
        )
