"""How results of DAEs without eliminated unknowns are laid out: methods see the kept ones, users all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.kept import Kept, Slot
from dalembert.model import Model
from dalembert.regularize import InitialValues
from dalembert.regularize.form import Form
from dalembert.regularize.system import places
from dalembert.solvers.method import MethodOptions, Tolerances

if TYPE_CHECKING:
    from dalembert.regularize.structure.aliases import Reduction

LAYOUTS: Slot[Layout] = Slot("layout of all unknowns", most=1)


@dataclass(frozen=True, eq=False)
class Layout(Form):
    """Where solutions are recorded: the unknowns of a form, and those that were eliminated before it was made."""

    model: Model
    formulation: str
    slices: dict[str, slice]
    variables: tuple[str, ...]
    x: ca.SX
    kept: Kept = field(init=False, repr=False)


def reduction_of(model: Model) -> Reduction | None:
    """What was eliminated from a model; None if that is nothing."""
    if model.hidden != "auto":
        return None
    from dalembert.regularize.structure import aliases  # takes a while to load, and only DAEs need it

    return aliases.reduction_of(model)


def integrated(model: Model) -> Model:
    """The model without what was eliminated, which methods see."""
    reduction = reduction_of(model)
    return model if reduction is None else reduction.of(model)


def whole_form(options: MethodOptions, model: Model) -> Form:
    """The form of a method, with all unknowns of the model."""
    reduction = reduction_of(model)
    if reduction is None:
        return options.formulate(model)
    own = options.formulate(reduction.of(model))
    return own.kept.get(LAYOUTS, None, lambda: _layout(own, model))


def _layout(own: Form, model: Model) -> Layout:
    names = {kind: own.variables[part] for kind, part in own.slices.items()}
    symbols = {kind: own.x[part] for kind, part in own.slices.items()}
    names["x"], symbols["x"] = model.names("x"), model.graph.symbol["x"]
    return Layout(
        model=model,
        formulation=own.formulation,
        slices=places({kind: len(own) for kind, own in names.items()}),
        variables=tuple(name for part in names.values() for name in part),
        x=ca.vertcat(*symbols.values()),
    )


def tightened(tolerances: Tolerances, places: np.ndarray, reduction: Reduction, x: slice) -> Tolerances:
    """Tolerances of the kept unknowns: the tightest ones of those that they stand for. `x` is where all stand."""
    expansion, arrays = reduction.expansion, []
    for array in (tolerances.rtol, tolerances.atol):
        tightest = np.full(len(expansion.kept), np.inf)
        moving = expansion.source >= 0
        np.minimum.at(tightest, expansion.source[moving], array[x][moving])
        whole = array.copy()
        whole[x.start + expansion.kept] = tightest
        arrays.append(whole)
    return Tolerances(*arrays).at(places)


def kept_values(model: Model, initial: InitialValues) -> tuple[np.ndarray, np.ndarray]:
    """x and x' of the model that methods see."""
    reduction = reduction_of(model)
    if reduction is None:
        return initial.x, initial.x_dot
    kept = reduction.expansion.kept
    return initial.x[kept], initial.x_dot[kept]
