"""The moments of a result that an animation shows, and the points that a curve needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.solution.state_view import StateView

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

#: events, impacts and jumps beyond these are not looked at one by one
MOST_MARKS = 400
#: stretches of which a long curve keeps the extreme points: twice as many as a screen has pixels for it
STRETCHES = 600


@dataclass(frozen=True)
class Mark:
    """Something that happened at one time."""

    t: float
    kind: str  # "event", "impact" or "rest"
    name: str


def marks(sol: Solution) -> list[Mark]:
    """Events and impacts, evenly thinned out where there are too many."""
    found = [Mark(float(o.t), "event", o.name) for o in sol.events]
    found += [Mark(float(i.t), "impact", i.contact) for i in sol.impacts]
    found += [Mark(float(r.t), "rest", r.contact) for r in sol.impacts.rests]
    found.sort(key=lambda mark: mark.t)
    if len(found) > MOST_MARKS:
        found = [found[k] for k in np.linspace(0, len(found) - 1, MOST_MARKS).astype(int)]
    return found


def sampled(sol: Solution, frames: int) -> StateView:
    """The state at `frames` equidistant times and, besides, right before and after everything that happened.

    Without dense output: at the points that there are, as many as asked for.
    """
    trajectory = sol.trajectory
    if not trajectory.dense or not trajectory.t.size:
        count = len(sol.t)
        return rows_of(sol, np.unique(np.linspace(0, count - 1, min(count, frames)).astype(int)))
    first, last = trajectory.interval
    special = sorted({mark.t for mark in marks(sol)} | set(trajectory.jump_times().tolist()))
    inside = np.array([t for t in special if min(first, last) < t <= max(first, last)])
    most = min(MOST_MARKS, frames)
    if len(inside) > most:
        inside = inside[np.linspace(0, len(inside) - 1, most).astype(int)]
    times = np.concatenate([np.linspace(first, last, frames), inside, np.nextafter(inside, first)])
    times = np.unique(times)
    return sol.at(times if last > first else times[::-1])


def rows_of(view: StateView, rows: np.ndarray) -> StateView:
    """Some of the points of a view."""
    discrete = {name: np.asarray(values)[rows] for name, values in view._discrete.items()}
    later = None if view._settled is None else lambda: view._values(True)[rows]
    return StateView(
        np.asarray(view.t)[rows], view._values(False)[rows], view._slices, view._names, view.not_kept, discrete, later,
        view._output_source(),
    )  # fmt: skip


def thinned(values: np.ndarray, stretches: int = STRETCHES) -> np.ndarray:
    """Numbers of the points that a picture of a curve needs: the ends, and of each stretch the extreme ones.

    >>> thinned(np.array([0.0, 1.0, 5.0, 1.0, 0.0, 0.0, -1.0, 0.0]), 2).tolist()
    [0, 2, 4, 6, 7]
    """
    count = len(values)
    if count <= 2 * stretches:
        return np.arange(count)
    finite = np.isfinite(values)
    starts = np.linspace(0, count, stretches + 1).astype(int)[:-1]
    rows = [0, count - 1]
    for fill, better in ((-np.inf, np.maximum), (np.inf, np.minimum)):
        best = better.reduceat(np.where(finite, values, fill), starts)
        hit = np.flatnonzero(values == np.repeat(best, np.diff(starts, append=count)))
        stretch = np.searchsorted(starts, hit, "right")
        rows += hit[np.unique(stretch, return_index=True)[1]].tolist()
    # where a curve has no value for a while, its picture has a gap
    gaps = np.flatnonzero(np.diff(finite.astype(int)))[:stretches]
    return np.unique(np.concatenate([rows, gaps, gaps + 1]).astype(int))
