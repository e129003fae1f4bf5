"""What is plotted beside an animation: names that somebody asked for, or what seems to matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import DalembertError, ModelError, OptionError
from dalembert.model.namespace import explain_unknown
from dalembert.solution.outputs import entries
from dalembert.solution.state_view import StateView
from dalembert.viewer.sampling import rows_of

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

#: curves in a plot that nobody asked for
MOST = 6
#: unknowns of a model beyond which energies, and multipliers of methods that have none, are left to those who ask
LARGE = 400
#: points at which outputs are computed; those of longer runs are evenly chosen
MOST_POINTS = 50_000
#: of the whole height of a plot: curves that are flatter have a plot of their own
FLAT = 1 / 12
ENERGIES = ("energy", "energy.total", "energy.kinetic", "energy.potential")


@dataclass(frozen=True)
class Plot:
    """Curves over common times, in one pair of axes."""

    title: str
    t: np.ndarray
    curves: dict[str, np.ndarray]
    log: bool = False


def plots_of(sol: Solution, wanted: Any = None) -> list[Plot]:
    """Plots of variables and outputs: those asked for, by name or as lists of names; None: what seems to matter."""
    view = sol._curve()
    if wanted is None:
        return usual(view, len(sol.names))
    if isinstance(wanted, str):
        wanted = [wanted]
    if not isinstance(wanted, list | tuple):
        raise OptionError(f"plots={shown(wanted)} must be a list of names, or of lists of names")
    found, few = [], None
    for names in wanted:
        if not isinstance(names, str | list | tuple) or not len(names):
            raise OptionError(f"plots={shown(wanted)} must be a list of names, or of lists of names")
        names = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in names if not isinstance(name, str) or name not in view]
        if unknown:
            known = (*view.names, *view.output_names)
            raise ModelError(f"plots=: {explain_unknown(unknown[0], known)}")
        own = view
        if any(name not in view._columns for name in names):
            few = own = few or fewer(view)
        curves: dict[str, np.ndarray] = {}
        for name in names:
            curves |= entries(name, own[name], len(own.t))
        found.append(Plot(", ".join(names), np.asarray(own.t, float), curves))
    return found


def fewer(view: StateView) -> StateView:
    """The view, or so many of its points that outputs can be computed at all of them."""
    count = len(view.t)
    return view if count <= MOST_POINTS else rows_of(view, np.linspace(0, count - 1, MOST_POINTS).astype(int))


def usual(view: StateView, unknowns: int) -> list[Plot]:
    """Positions, velocities, unknowns, forces and energies, as far as something happens there."""
    found, t = [], np.asarray(view.t, float)
    for kind, title in (("p", "positions"), ("v", "velocities"), ("x", "unknowns"), ("lam", "constraint forces λ")):
        names = view._names.get(kind, ())[: 2 * MOST]
        if not names or kind not in view._slices:
            continue
        if kind == "lam" and unknowns > LARGE and view._settled is not None:
            continue  # to compute them would take longer than all else
        curves = {name: np.asarray(view[name], float) for name in names}
        if kind == "lam" and not any(np.abs(values).max(initial=0.0) > 1e-12 for values in curves.values()):
            continue  # contacts that never close
        found += grouped(title, t, curves)
    steps = {name: np.asarray(view[name], float) for name in told_discrete(view)[:MOST]}
    found += [Plot("discrete variables", t, steps)] if steps else []
    return found + (energies(fewer(view)) if unknowns <= LARGE else [])


def told_discrete(view: StateView) -> list[str]:
    """Discrete variables that somebody has written: neither truth values of relations nor modes of contacts."""
    source = view._output_source()
    if source is None or (source.model.mechanical and source.model.has_contacts):
        return []
    return [name for name in view.names if name in view._discrete]


def energies(view: StateView) -> list[Plot]:
    """Energies that the model has as outputs, in one plot."""
    curves = {}
    for name in ENERGIES:
        if name not in view.output_names:
            continue
        try:
            values = np.asarray(view[name], float)
        except DalembertError:  # springs without a potential, multipliers that were not kept
            continue
        if values.ndim == 1:
            curves[name] = values
    return [Plot("energy", np.asarray(view.t, float), curves)] if curves else []


def grouped(title: str, t: np.ndarray, curves: dict[str, np.ndarray]) -> list[Plot]:
    """One plot, or several if some curves are so small that nothing would be seen of them beside the others.

    >>> t = np.linspace(0, 1, 5)
    >>> [list(plot.curves) for plot in grouped("", t, {"far": 100 * t, "near": t, "off": t + 40})]
    [['far', 'off'], ['near']]
    """
    found, left = [], dict(curves)
    for words in ("", ", smaller ones", ", smallest ones"):
        sizes = {name: float(np.ptp(values)) for name, values in left.items() if np.isfinite(values).all()}
        largest = max(sizes.values(), default=0.0)
        # what lies far from zero, or is a rounding error, stays where it is
        small = {
            name: left[name]
            for name, size in sizes.items()
            if 1e-6 * largest < size < FLAT * largest and np.abs(left[name]).max() < largest / 3
        }
        shown_here = [name for name in left if name not in small][:MOST]
        found.append(Plot(title + words, t, {name: left[name] for name in shown_here}))
        if not small:
            break
        left = small
    return found
