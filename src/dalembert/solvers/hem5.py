"""HEM5: half-explicit Runge-Kutta method of order 5 with 8 stages for the equations of motion of index 2 [1]_.

Differential equations are treated explicitly; constraints on velocity level hold at every stage, by one linear
saddle-point system a stage.

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

from dalembert.errors import OptionError
from dalembert.linalg.saddle.auto import AUTO
from dalembert.linalg.saddle.complementary import Complementary
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern
from dalembert.model import Model
from dalembert.regularize import DescriptorForm
from dalembert.solvers.half.options import HalfExplicitRungeKutta, Parts
from dalembert.solvers.half.tableau import HalfExplicitTableau
from dalembert.solvers.method import one_of, require

if TYPE_CHECKING:
    from dalembert.compile.half_explicit import CompiledDescriptor
    from dalembert.solvers.half.generated_stepper import Steps
    from dalembert.solvers.half.stepper import HalfStepper

_WEIGHTS = [0.0, 0.0, 0.0, 0.2467760667636791, 0.2106594087489728, 0.1769218149125021, 0.3064446444147922,
            0.05919806516005373]  # fmt: skip
_EIGHTH = [0.0, 0.0, 0.0, 3.624477248753816, -0.4617724189181256, -3.198024628164272, 1.035319798328740, 0.0]

TABLEAU = HalfExplicitTableau.classical(
    "HEM5",
    order=5,
    c=[0.0, 0.1, 0.15, 0.3614787346573635, 0.08535584335486351, 0.5, 0.8, 1.0, 1.0],
    rows=[
        [],
        [0.1],
        [0.0375, 0.1125],
        [0.3222169236216038, -1.188883322987607, 1.228145134023366],
        [-0.03501123898129943, 0.3725420601086163, -0.2721053535582034, 0.01993037578575077],
        [-0.5576547055042005, 1.367307289645883, -1.732236360460725, 0.4587772007467548, 0.9638065755722880],
        [0.08654517193566155, -0.08810082847945416, 0.1981275547329404, -0.4645422679331083, 0.1615170091109488,
         0.9064533606330119],
        _EIGHTH,
        _WEIGHTS,
    ],
    # (9): the new point against the eighth stage, and against a quadrature of low order
    estimates=[
        [b - a for b, a in zip(_WEIGHTS, _EIGHTH, strict=True)],
        [b - a for b, a in zip(_WEIGHTS, [0.0] * 6 + [2.5, -1.5], strict=True)],
    ],
    estimate_power=5,
)  # fmt: skip


#: options that generated code does not have
WITHOUT_CODE = ("projection_every", "drift_limit", "min_step", "stages", "linear_solver")


@dataclass(frozen=True, kw_only=True, repr=False)
class Hem5(HalfExplicitRungeKutta):
    """Options of HEM5. Main: none is needed. Other: projection, drift and step limits (see `RungeKuttaOptions`).

    With ``stages="complementarity"`` the systems of the stages contain all closed contacts as inequalities, so that
    contacts may take over from each other within a step, as at the edge of a surface.

    With ``steps="generated"`` code is generated around the model, once for all its parameters, which takes steps up
    to twice as fast; to make it takes a tenth of a second or more: it is for models that are run hundreds of times.
    With ``steps="background"`` runs begin at once, as always, and take it as soon as another thread has made it:
    results then depend, by rounding, on when that was. See also `ensemble`.

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.problems.pendulum()
    >>> sol = pendulum.simulate(method=da.Hem5(), rtol=1e-9, atol=1e-9)
    >>> pendulum.error(sol) < 1e-7, sol.max_residual("velocity") < 1e-13
    (True, True)
    """

    tableau = TABLEAU

    stages: str = "equality"  # what closed contacts are in the stages: equations, or "complementarity" problems
    steps: str = "kernel"  # by the kernel of all models, code "generated" around this one, or made in the "background"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("steps", self.steps, ("kernel", "generated", "background"))
        for name in self.without_code() if self.generated else ():
            raise OptionError(f"steps={self.steps!r} goes without {name}=: leave it out")
        one_of("stages", self.stages, ("equality", "complementarity"))
        require(
            not self.complementary or self.linear_solver == AUTO,
            "stages='complementarity' has a linear solver of its own: leave linear_solver= out",
        )

    @property
    def generated(self) -> bool:
        """Whether there may be code for the steps of a model."""
        return self.steps != "kernel"

    def without_code(self) -> list[str]:
        """Options that are not the usual ones, and that generated code does not have."""
        usual = type(self).__dataclass_fields__
        return [name for name in WITHOUT_CODE if getattr(self, name) != usual[name].default]

    @property
    def repeats(self) -> bool:
        return self.steps != "background"

    @property
    def complementary(self) -> bool:
        return self.stages == "complementarity"

    def formulate(self, model: Model) -> DescriptorForm:
        """The form this method integrates."""
        if self.complementary:
            contacts = model.contacts if model.mechanical else ()
            if not contacts:
                raise OptionError(f"Hem5(stages='complementarity'): model '{model.name}' has no contacts (unilateral=)")
            for contact in (*contacts, *model.dry):
                if contact.stick:
                    raise OptionError(
                        f"Hem5(stages='complementarity') has no friction, as contact '{contact.name}' has: take Hem5()"
                    )
        return super().formulate(model)

    def parts(self, model: Model, compiled: CompiledDescriptor) -> Parts:
        if not self.complementary:
            return super().parts(model, compiled)
        from dalembert.solvers.half.complementary import complementary_parts

        return complementary_parts(compiled, self.tableau)

    def variety(self, form: DescriptorForm, model: Model) -> Steps | None:
        """Code for the steps of a model, if there is some."""
        if not self.generated:
            return None
        from dalembert.solvers.half.generated_stepper import steps_for

        return steps_for(self, form, model)

    def assembled(self, model: Model, compiled: CompiledDescriptor, parts: Parts) -> HalfStepper:
        steps = self.variety(compiled.form, model)
        if steps is None:
            return super().assembled(model, compiled, parts)
        from dalembert.solvers.half.generated_stepper import with_code

        return with_code(self, compiled, parts, steps)

    def solver(self, pattern: SaddlePattern) -> LinearSolver:
        """The linear solver for a pattern."""
        return Complementary() if self.complementary else super().solver(pattern)
