"""What is plotted beside an animation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import DalembertError, ModelError, OptionError
from dalembert.model.namespace import explain_unknown
from dalembert.solution.outputs import entries
from dalembert.solution.state_view import StateView

#: curves in a plot that nobody asked for
MOST = 6
#: unknowns of a model beyond which energies are not computed before somebody asks for them
LARGE = 400


@dataclass(frozen=True)
class Plot:
    """Curves in one pair of axes."""

    title: str
    curves: dict[str, np.ndarray]
    log: bool = False


def plots_of(view: StateView, wanted: Any, model: Any) -> list[Plot]:
    """Plots of variables and outputs: those asked for, by name or as lists of names; None: what seems to matter."""
    if wanted is None:
        return _usual(view, model)
    if isinstance(wanted, str):
        wanted = [wanted]
    if not isinstance(wanted, list | tuple):
        raise OptionError(f"plots={shown(wanted)} must be a list of names, or of lists of names")
    found = []
    for names in wanted:
        if not isinstance(names, str | list | tuple) or not len(names):
            raise OptionError(f"plots={shown(wanted)} must be a list of names, or of lists of names")
        names = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in names if not isinstance(name, str) or name not in view]
        if unknown:
            known = (*view.names, *view.output_names)
            raise ModelError(f"plots=: {explain_unknown(unknown[0], known)}")
        curves: dict[str, np.ndarray] = {}
        for name in names:
            curves |= entries(name, view[name], len(view.t))
        found.append(Plot(", ".join(names), curves))
    return found


def _usual(view: StateView, model: Any) -> list[Plot]:
    found = []
    for kind, title in (("p", "positions"), ("v", "velocities"), ("x", "unknowns"), ("lam", "constraint forces λ")):
        names = view._names.get(kind, ())[:MOST]
        if names and kind in view._slices:
            found.append(Plot(title, {name: view[name] for name in names}))
    if len(view._columns) > LARGE:
        return found
    energies = [name for name in ("energy", "energy.total", "energy.kinetic", "energy.potential") if name in view]
    curves = {}
    for name in energies:
        try:
            values = view[name]
        except DalembertError:  # springs without a potential, multipliers that were not kept
            continue
        if np.ndim(values) == 1:
            curves[name] = values
    if curves:
        found.append(Plot("energy", curves))
    return found
