"""Moreau and Jean's time stepping for systems with many contacts [1]_, [2]_.

The step has a fixed size, and nobody looks for the times of impacts: contacts that are closed in the middle of a step
get impulses, so that their velocities after it satisfy Newton's law of impact and Coulomb's cone; joints and other
constraints hold on velocity level at the same time. Forces are taken by the θ method.

References
----------
.. [1] M. Jean, "The non-smooth contact dynamics method", Comput. Methods Appl. Mech. Engrg. 177, 1999.
.. [2] V. Acary, B. Brogliato, "Numerical methods for nonsmooth dynamical systems", Springer, 2008, chapter 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from dalembert.errors import ModelError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.regularize import DescriptorForm, descriptor_form
from dalembert.solvers.method import MethodOptions, one_of, require

if TYPE_CHECKING:
    from dalembert.solvers.moreau.stepper import MoreauStepper

#: step sizes below this overflow in the matrices of a step
SHORTEST = 1e-130


STEPPED: Slot[SteppedForm] = Slot("form of time stepping", most=1)


@dataclass(frozen=True, eq=False)
class SteppedForm(DescriptorForm):
    """The descriptor form, whose multipliers are the impulses of steps and not what accelerations say."""

    settles_multipliers = False

    @classmethod
    def of(cls, form: DescriptorForm) -> SteppedForm:
        return cls(**{field.name: getattr(form, field.name) for field in fields(form) if field.init})


@dataclass(frozen=True, kw_only=True, repr=False)
class MoreauJean(MethodOptions):
    """Options of Moreau and Jean's method. Main: h, the step size, which is needed.

    Results have order 2 in smooth motion with theta=0.5, and order 1 with contacts. Multipliers are mean forces of a
    step, impulses divided by h. rtol and atol of `simulate` only say how well positions are corrected.

    Examples
    --------
    >>> import dalembert as da
    >>> ball = da.EquationsOfMotion(p=["z"], mass=[1.0], force=[-9.81], unilateral=lambda s: [s.z], restitution=0.5)
    >>> sol = da.simulate(ball, (0, 3), p0=[1.0], method=da.MoreauJean(h=1e-3))
    >>> bool(abs(sol.at(3.0).v[0]) < 1e-9)                          # it has come to rest
    True
    >>> round(float(sol.at(3.0).lam[0]), 9)
    9.81
    """

    treats_contacts = True

    h: float | None = None  # the step size
    theta: float = 0.5  # from 0.5, second order where nothing touches, to 1, which damps
    projection: bool = True  # of positions, to joints and out of penetrations; of velocities to joints
    implicit: bool | None = None  # forces by their Jacobians; None: if these are at hand and the model is not large
    # impulses change by this fraction at the last iteration; None: 1e-8, for collisions 1e-4
    tolerance: float | None = None
    iterations: int = 1000  # of Gauss and Seidel's method at most
    initial_values: str = "correct"  # "correct", "check" or "trust" the start values

    def __post_init__(self) -> None:
        self.coerce_numbers()
        require(self.h is not None, "MoreauJean needs its step size, e.g. MoreauJean(h=1e-3)")
        require(SHORTEST < self.h < math.inf, f"h={self.h} must be positive and finite")
        require(0.5 <= self.theta <= 1.0, f"theta={self.theta} must lie between 0.5 and 1; below, steps are unstable")
        require(
            self.tolerance is None or 0 < self.tolerance < 1, f"tolerance={self.tolerance} must lie between 0 and 1"
        )
        require(self.iterations >= 1, f"iterations={self.iterations} must be at least 1")
        one_of("initial_values", self.initial_values, ("correct", "check", "trust"))

    def formulate(self, model: Model) -> SteppedForm:
        """The form this method integrates."""
        form = descriptor_form(model, "MoreauJean")
        if model.dry:
            raise ModelError(
                f"model '{model.name}': MoreauJean does not treat dry_friction= ('{model.dry[0].name}'); take a method "
                "that stops at events, such as Hem5"
            )
        return model.kept.get(STEPPED, None, lambda: SteppedForm.of(form))

    def new_stepper(self, form: DescriptorForm, model: Model) -> MoreauStepper:
        from dalembert.compile.half_explicit import compile_descriptor
        from dalembert.compile.kernel import load

        compiled = compile_descriptor(form)
        if model.collisions is not None:
            load("dalembert.solvers.moreau.collision_stepper")
            from dalembert.solvers.moreau.collision_stepper import CollisionStepper

            return CollisionStepper(self, compiled)
        load("dalembert.solvers.moreau.stepper")
        from dalembert.solvers.moreau.stepper import MoreauStepper

        return MoreauStepper(self, compiled)
