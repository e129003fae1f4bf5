"""Whether a DAE has an index that methods can treat, asked at consistent start values."""

from __future__ import annotations

import numpy as np

from dalembert.errors import DalembertError, HighIndex, IndexTooHigh, warn_user
from dalembert.model import Model
from dalembert.model.numeric import jacobian as numeric_jacobian
from dalembert.regularize.initial_implicit import implicit_numbers
from dalembert.regularize.initial_quasi_linear import as_implicit, quasi_linear_numbers
from dalembert.regularize.pencil import Index, pencil_index

#: with a higher one no method can be expected to work
HIGHEST = 2
#: more unknowns are not looked at: several singular value decompositions would take seconds
LARGEST = 400
#: the index is what it is at points nearby as well, so far away in units of 1 + |x|; else the point is a special one
NEARBY, POINTS = 1e-3, 2


def index_at(model: Model, t: float, x: np.ndarray, x_dot: np.ndarray) -> Index | None:
    """The index of a `QuasiLinearDAE` or `ImplicitDAE` at a point and near it; None if it is not known."""
    n = len(x)
    if model.own_formulation is None or n > LARGEST:
        return None
    rng = np.random.default_rng(n)
    found: Index | None = None
    for k in range(1 + POINTS):
        try:
            here = pencil_index(*_linearized(model, t, x, x_dot))
        except DalembertError:
            here = None  # cannot be evaluated there
        if here is None and k == 0:
            return None
        if here is not None and (found is None or here.value < found.value):
            found = here
        if found.value <= 1:
            return found
        x = x + NEARBY * rng.uniform(-1, 1, n) * (1 + np.abs(x))
        x_dot = x_dot + NEARBY * rng.uniform(-1, 1, n) * (1 + np.abs(x_dot))
    return found


def _linearized(model: Model, t: float, x: np.ndarray, x_dot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E and A."""
    theta = model.theta(t)
    if model.own_formulation == "implicit":
        _, F_x, F_dx, _, _ = implicit_numbers(model, t, x, x_dot, theta)
        return -F_dx, F_x
    if all(function.traced for function in model.graph.functions.values()):
        _, F_x, F_dx, _, _ = as_implicit(model, t, x, x_dot, theta)
        return -F_dx, F_x
    E, _, k_x, _, h_x, _, _ = quasi_linear_numbers(model, t, x, theta)
    k_x = k_x - numeric_jacobian(lambda z: quasi_linear_numbers(model, t, z, theta)[0] @ x_dot, x)
    return np.vstack([E, np.zeros_like(h_x)]), np.vstack([k_x, h_x])


def judge_index(model: Model, method: str, trusted: int, t: float, x: np.ndarray, x_dot: np.ndarray) -> Index | None:
    """The index at consistent start values, if it is above 1. Raises IndexTooHigh if no method can treat it.

    `trusted` is the index up to which `method` is known to work; above it, the user is warned.
    """
    index = index_at(model, t, x, x_dot)
    if index is None or index.value < 2:
        return None
    if index.value > HIGHEST:
        raise IndexTooHigh(
            f"{explained(model, index, t)} No method takes index {index.value}: put derivatives of such equations in "
            "their place until the index is 1, or 2 for Radau5. For mechanical systems, "
            f"EquationsOfMotion(..., holonomic=...) does that{_what_auto_does(model)}"
        )
    if index.value > trusted:
        warn_user(
            f"{explained(model, index, t)} {method} is made for index 1, and may take very small steps or fail. "
            f"{remedy(model)}",
            HighIndex,
        )
    return index


def _what_auto_does(model: Model) -> str:
    """If nothing but the user's word keeps derivatives from being added."""
    given = model.hidden == "given" and all(function.traced for function in model.graph.functions.values())
    return "; and so does hidden='auto' for any DAE" if given else ""


def explained(model: Model, index: Index, t: float) -> str:
    """Who is behind an index above 1."""
    unknown, equation = model.names("x")[index.unknown], model.equation_names[index.equation]
    return (
        f"The equations of model '{model.name}' have index {index.value} at t = {t:.9g}: "
        f"'{unknown}' is determined only by derivatives of {equation}."
    )


def remedy(model: Model) -> str:
    """What to do about index 2."""
    other = "take Radau5, which is made for index 2, or " if model.linear_in_rates else ""
    return f"If that is the trouble, {other}put the derivative of such an equation in its place"
