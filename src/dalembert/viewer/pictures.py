"""What a result says about itself in diagrams: variables, residuals, step sizes, orders, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import DalembertError
from dalembert.viewer.curves import Plot, energies, fewer

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution


def residuals(sol: Solution) -> Plot | None:
    """The largest residual of each level at the accepted points."""
    found = {}
    for level in sol.model.residual_levels if sol.model is not None else ():
        try:
            residual = sol.residual(level)
        except DalembertError:
            continue
        if residual.shape[1]:
            found[level] = np.abs(residual).max(axis=1)
    return Plot("residuals of the constraints", sol.t, found, log=True) if found else None


def step_sizes(sol: Solution) -> Plot | None:
    """The sizes of accepted steps, at their ends; None if single points were kept only."""
    trajectory = sol.trajectory
    if not trajectory.dense or not trajectory.t.size:
        return None
    return Plot("step sizes", trajectory.t, {"step size": np.abs(trajectory.h)}, log=True)


def orders(sol: Solution) -> Plot | None:
    """The orders of accepted steps, from the trace."""
    trace = sol.trace
    if trace is None or not len(trace):
        return None
    taken = (np.asarray(trace.outcome) == "accepted") & (np.asarray(trace.order) > 0)
    if not taken.any():
        return None
    return Plot("order", (trace.t + trace.h)[taken], {"order": np.asarray(trace.order, float)[taken]})


def energy(sol: Solution) -> Plot | None:
    """Energies that the model has as outputs."""
    found = energies(fewer(sol._curve()))
    return found[0] if found else None


def diagnostics(sol: Solution) -> list[Plot]:
    """How the integration went, for reports."""
    found = [residuals(sol), step_sizes(sol), orders(sol)]
    return [one for one in found if one is not None and len(one.t)]
