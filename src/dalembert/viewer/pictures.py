"""What a result says about itself in diagrams: variables, residuals, step sizes, orders, energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.viewer.curves import plots_of

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

ENERGIES = ("energy", "energy.total", "energy.kinetic", "energy.potential")


@dataclass(frozen=True)
class Curves:
    """Curves over common times."""

    title: str
    t: np.ndarray
    curves: dict[str, np.ndarray]
    log: bool = False


def residuals(sol: Solution) -> Curves | None:
    """The largest residual of each level at the accepted points."""
    found = {}
    for level in sol.model.residual_levels if sol.model is not None else ():
        try:
            residual = sol.residual(level)
        except DalembertError:
            continue
        if residual.shape[1]:
            found[level] = np.abs(residual).max(axis=1)
    return Curves("residuals of the constraints", sol.t, found, log=True) if found else None


def step_sizes(sol: Solution) -> Curves | None:
    """The sizes of accepted steps, at their ends; None if single points were kept only."""
    trajectory = sol.trajectory
    if not trajectory.dense or not trajectory.t.size:
        return None
    return Curves("step sizes", trajectory.t, {"step size": np.abs(trajectory.h)}, log=True)


def orders(sol: Solution) -> Curves | None:
    """The orders of accepted steps, from the trace."""
    trace = sol.trace
    if trace is None or not len(trace):
        return None
    taken = (np.asarray(trace.outcome) == "accepted") & (np.asarray(trace.order) > 0)
    if not taken.any():
        return None
    return Curves("order", (trace.t + trace.h)[taken], {"order": np.asarray(trace.order, float)[taken]})


def energy(sol: Solution) -> Curves | None:
    """Energies that the model has as outputs."""
    view, found = sol._curve(), {}
    for name in ENERGIES:
        if name in view and name in (sol.model.outputs if sol.model is not None else ()):
            try:
                values = np.asarray(view[name], float)
            except DalembertError:  # no potential, or multipliers that are missing
                continue
            if values.ndim == 1:
                found[name] = values
    return Curves("energy", np.asarray(view.t, float), found) if found else None


def diagnostics(sol: Solution) -> list[Curves]:
    """All diagrams that a result has, for reports."""
    view: Any = sol._curve()
    t = np.asarray(view.t, float)
    found: list[Curves | None] = []
    for plot in plots_of(view, None, sol.model):
        if plot.title != "energy":
            found.append(Curves(plot.title, t, plot.curves))
    found += [energy(sol), residuals(sol), step_sizes(sol), orders(sol)]
    return [one for one in found if one is not None and len(one.t)]
