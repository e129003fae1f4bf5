"""What ``method="auto"`` chooses and why, and what it does when a method proves wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dalembert.errors import RedundantConstraints, SimulationError, SingularMatrix
from dalembert.model import Model
from dalembert.model.native_blocks import lacks_derivatives
from dalembert.solvers import Geoms, MethodOptions, resolve_method

#: what another method may be able to do
WRONG = (SingularMatrix, RedundantConstraints)


@dataclass(frozen=True)
class MethodChoice:
    """Which method a simulation took, why, and which it had tried before: ``sol.method_choice``.

    Examples
    --------
    >>> import dalembert as da
    >>> sol = da.problems.pendulum().simulate()
    >>> print(sol.method_choice)
    Radau5(): positions and velocities of a mechanical system: an implicit method is right whether it is stiff or not
    """

    method: MethodOptions
    why: str
    tried: tuple[tuple[str, str], ...] = ()  # methods that proved wrong, and what they said

    def __str__(self) -> str:
        before = "".join(f"; {method} was tried before: {what}" for method, what in self.tried)
        return f"{self.method!r}: {self.why}{before}"


def first_choice(model: Model) -> MethodChoice:
    """The method that suits a model, before anything is known of its motion."""
    from dalembert.regularize.structure.system import is_regularized

    method = resolve_method("auto", model)
    if is_regularized(model):
        why = "a DAE whose equations hide constraints: a method that keeps all of them"
    elif lacks_derivatives(model.graph):
        why = "so many bodies that nobody can have their Jacobian: a method that needs none"
    elif model.mechanical and (model.names("w") or model.names("s")):
        kinds = " and ".join(kind for kind in ("w", "s") if model.names(kind))
        why = f"a mechanical system with unknowns {kinds}, for which explicit methods have no equations"
    elif model.mechanical:
        why = "positions and velocities of a mechanical system: an implicit method is right whether it is stiff or not"
    else:
        why = "a DAE of index 1 or less: an implicit method is right whether it is stiff or not"
    return MethodChoice(method, why)




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
    )
