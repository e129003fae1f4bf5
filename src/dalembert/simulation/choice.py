"""What ``method="auto"`` chooses and why, and what it does when a method proves wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dalembert.errors import ModelError, RedundantConstraints, SimulationError, SingularMatrix
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.native_blocks import lacks_derivatives
from dalembert.regularize import formulate
from dalembert.regularize.form import Form
from dalembert.simulation.arguments import tolerances_for
from dalembert.solvers import Geoms, Hedop5, MethodOptions, resolve_method
from dalembert.solvers.method import Tolerances

if TYPE_CHECKING:
    from dalembert.simulation.pilot import Change, Pilot

#: what another method may be able to do
WRONG = (SingularMatrix, RedundantConstraints)
#: relative tolerance below which a high order pays
TIGHT = 3e-10
#: what a step of Mexx costs, in steps of Hedop5
MEXX_WORTH = 9.0
#: velocities from which, and part of the entries of ∂F/∂x from which, matrices are decomposed with all their zeros
LARGE, FULL = 24, 0.1

TIGHTENED: Slot[Tolerances] = Slot("tolerances of explicit methods", most=4)
CHOICE: Slot[bool] = Slot("whether there is a choice of methods", most=1)


@dataclass(frozen=True)
class MethodChoice:
    """Which method a simulation took, why, and which it had tried before: ``sol.method_choice``.

    Examples
    --------
    >>> import dalembert as da
    >>> sol = da.problems.pendulum().simulate()
    >>> print(sol.method_choice)
    Hedop5(): not stiff at the start (quickest rate 0/s): an explicit method is quickest
    """

    method: MethodOptions
    why: str
    tried: tuple[tuple[str, str], ...] = ()  # methods that proved wrong, and what they said
    changes: tuple[Change, ...] = ()  # others that took over on the way

    def __str__(self) -> str:
        later = "".join(f"; {change}" for change in self.changes)
        before = "".join(f"; {method} was tried before: {what}" for method, what in self.tried)
        return f"{self.method!r}: {self.why}{later}{before}"


def first_choice(model: Model) -> MethodChoice:
    """The method that suits a model, before anything is known of its motion."""
    from dalembert.regularize.structure.system import is_regularized

    method = resolve_method("auto", model)
    if is_regularized(model):
        why = "a DAE whose equations hide constraints: a method that keeps all of them"
    elif lacks_derivatives(model.graph):
        why = "so many bodies that nobody can have their Jacobian: a method that needs none"
    elif model.mechanical and model.has_contacts:
        method, why = Geoms(), "contacts, which events decide on: a method whose forces need no second computation"
    elif model.mechanical and (model.names("w") or model.names("s")):
        kinds = " and ".join(kind for kind in ("w", "s") if model.names(kind))
        why = f"a mechanical system with unknowns {kinds}, for which explicit methods have no equations"
    elif model.mechanical:
        why = "a mechanical system that explicit methods cannot treat: an implicit one"
    else:
        why = "a DAE of index 1 or less: an implicit method is right whether it is stiff or not"
    return MethodChoice(method, why)


def pilot_for(model: Model, tolerances: tuple[Any, Any]) -> Pilot | None:
    """Who chooses between an explicit and an implicit method while a simulation runs; None if there is no choice.

    `tolerances` are rtol and atol, as users write them.
    """
    if not model.kept.get(CHOICE, None, lambda: _is_plain(model)):
        return None
    from dalembert.simulation.pilot import Candidate, Pilot, tightened

    plain = all(isinstance(value, float) for value in tolerances)
    whole = resolve_method("hedop5").formulate(model)

    def wanted(form: Form) -> Tolerances:
        places = form.places_in(whole)
        if plain or places is None:
            return tolerances_for(form, *tolerances)
        return tolerances_for(whole, *tolerances).at(places)  # one value for each unknown of the model, or by name

    def of_explicit(form: Form) -> Tolerances:
        if plain:
            return form.kept.get(TIGHTENED, tolerances, lambda: tightened(wanted(form)))
        return tightened(wanted(form))

    tight = isinstance(tolerances[0], float) and tolerances[0] < TIGHT
    explicit = Candidate(model, _mexx, of_explicit, MEXX_WORTH) if tight else Candidate(model, _hedop5, of_explicit)
    return Pilot(explicit, Candidate(model, _implicit, wanted))


def piloted(pilot: Pilot) -> MethodChoice:
    """What became of it."""
    return MethodChoice(pilot.first.options, pilot.why_first, changes=tuple(pilot.changes))


def _is_plain(model: Model) -> bool:
    """Whether an explicit and an implicit method can integrate a model, and take turns."""
    plain = model.mechanical and not model.has_contacts and model.hybrid is None
    if not plain or model.names("w") or model.names("s") or lacks_derivatives(model.graph):
        return False
    try:
        Hedop5().formulate(model)
    except ModelError:
        return False
    return True


def _hedop5(model: Model) -> MethodOptions:
    return resolve_method("hedop5")


def _mexx(model: Model) -> MethodOptions:
    return resolve_method("mexx")


def _implicit(model: Model) -> MethodOptions:
    """Radau5 leaves out zeros; Geoms works on smaller matrices, which pays where there are none to leave out."""
    if len(model.names("v")) < LARGE:
        return resolve_method("radau5")
    jacobian = formulate(model, "ggl").jacobian
    full = jacobian.nnz() > FULL * jacobian.numel()
    return resolve_method("geoms" if full else "radau5")


def next_choice(choice: MethodChoice, model: Model, error: SimulationError) -> MethodChoice | None:
    """The method to take after one has failed so; None if there is no reason to hope for more."""
    if not isinstance(error, WRONG) or not model.mechanical or model.has_contacts:
        return None
    other = Geoms(algebraic="svd")
    if repr(other) in {method for method, _ in choice.tried} or repr(choice.method) == repr(other):
        return None
    told = f"{type(error).__name__}, {' '.join(str(error).split())}"
    return replace(
        choice,
        method=other,
        why="constraints depend on each other, and this method finds the smallest of their forces",
        tried=(*choice.tried, (repr(choice.method), told[:200])),
        changes=(),
    )
