"""The moments of a result that an animation shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dalembert.solution.state_view import StateView

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

#: events, impacts and jumps beyond these are not looked at one by one
MOST_MARKS = 400


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
        return _chosen(sol, frames)
    first, last = trajectory.interval
    special = {mark.t for mark in marks(sol)}
    jumps = np.concatenate([[trajectory.start_t], trajectory.t])[trajectory.restarts]
    if len(jumps) > MOST_MARKS:
        jumps = jumps[np.linspace(0, len(jumps) - 1, MOST_MARKS).astype(int)]
    special |= set(jumps.tolist())
    inside = np.array([t for t in special if min(first, last) < t <= max(first, last)])
    times = np.concatenate([np.linspace(first, last, frames), inside, np.nextafter(inside, first)])
    times = np.unique(times)
    return sol.at(times if last > first else times[::-1])


def _chosen(sol: Solution, frames: int) -> StateView:
    count = len(sol.t)
    rows = np.unique(np.linspace(0, count - 1, min(count, frames)).astype(int))
    discrete = {name: np.asarray(values)[rows] for name, values in sol._discrete.items()}
    return StateView(
        sol.t[rows], sol._values(True)[rows], sol._slices, sol._names, sol.not_kept, discrete, None,
        sol._output_source(),
    )  # fmt: skip
