"""The part of a run's contacts that is about impacts: what they change, who rebounds, and series of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.contact.accumulation import Series
from dalembert.contact.edges import Edges
from dalembert.contact.events import ContactEvent, contact_events
from dalembert.contact.laws import resolve
from dalembert.contact.scales import Scales
from dalembert.contact.space import contact_space
from dalembert.model import Model
from dalembert.model.contacts import OPEN
from dalembert.solution.impacts import Impact, Rest
from dalembert.solvers.method import Tolerances

#: an impact with a restitution that is less by this has not made use of all of it
UNUSED = 1e-6
#: so many impacts of several contacts in this part of the interval may accumulate together
CROWD, CROWDED = 40, 0.02
#: responses at practically the same time that mean that contacts get nowhere
AT_ONCE, INSTANT = 200, 1e-13
#: vectors of an impact, in the order of its fields
ROWS = ("before", "after", "impulse", "v_before", "v_after")


class Impacts:
    """Base of `Contacts`."""

    def __init__(
        self, model: Model, tolerances: Tolerances, t0: float, t1: float, *, complementary: bool = False
    ):
        """`complementary`: the method itself decides in its steps which of the closed contacts act."""
        self.model, self.tolerances, self.t0, self.t1 = model, tolerances, t0, t1
        self.complementary = complementary
        self.space = contact_space(model)
        self.restitution, self.friction = model.contact_values()
        self.events: list[ContactEvent] = contact_events(model, complementary=complementary)
        self.edges = Edges(model, self.space, found=not complementary)
        self.impacts: list[Impact] = []
        self.rests: list[Rest] = []
        self._recent: deque[float] = deque(maxlen=AT_ONCE)
        self.flight = np.inf  # the shortest one that follows the last event
        self._hits: deque[tuple[float, str]] = deque(maxlen=CROWD)
        self._fastest = 0.0  # of all impacts

    def memory(self) -> dict[str, Any]:
        """All that changes during a run, for a checkpoint."""
        return {
            "t": np.array([impact.t for impact in self.impacts], float),
            "contacts": [impact.contact for impact in self.impacts],
            "rows": {name: _in_a_row([getattr(impact, name) for impact in self.impacts]) for name in ROWS},
            "rests": [[rest.t, rest.contact] for rest in self.rests],
            "recent": list(self._recent),
            "flight": self.flight,
            "hits": [list(hit) for hit in self._hits],
            "fastest": self._fastest,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Be as one was when `memory` was asked."""
        rows = [_apart(*memory["rows"][name]) for name in ROWS]
        columns = memory["t"].tolist(), memory["contacts"], *rows
        self.impacts = [Impact(*values) for values in zip(*columns, strict=True)]
        self.rests = [Rest(t, contact) for t, contact in memory["rests"]]
        self._recent = deque(memory["recent"], maxlen=AT_ONCE)
        self._hits = deque(((t, name) for t, name in memory["hits"]), maxlen=CROWD)
        self.flight, self._fastest = memory["flight"], memory["fastest"]

    def _impact(
        self,
        t: float,
        vectors: dict[str, np.ndarray],
        theta: np.ndarray,
        closed: Sequence[int],
        modes: Mapping[int, float],
        scales: Scales,
        resting: Collection[int],
    ) -> tuple[dict[str, np.ndarray], list[Impact]]:
        """Vectors after an impact, if there is one; contacts that are `resting` do not rebound."""
        if not closed:
            return vectors, []
        space = self.space
        rates = space.rates(t, vectors, theta, closed)
        dims = space.dims_of(closed)
        normal = np.cumsum(dims) - dims
        before = rates.gamma
        # contacts that are in force already approach by what methods err only
        allowed = np.array([scales.speed if modes[i] == OPEN else scales.noise for i in closed])
        if not (before[normal] < -allowed).any():
            return vectors, []
        before = before.copy()
        before[normal[np.abs(before[normal]) <= allowed]] = 0.0
        e = np.where(np.isin(closed, list(resting)), 0.0, self.restitution[closed])
        found = resolve(rates.A, before, dims, self.friction[closed], e, self.model.impact)
        v = vectors["v"] + rates.drift + rates.answer @ found.impulse
        impacts, largest = [], np.abs(found.impulse).max(initial=0)
        for k, i in enumerate(closed):
            if found.impulse[normal[k]] > 1e-14 * largest:
                part = slice(normal[k], normal[k] + dims[k])
                rows = (rows[part].copy() for rows in (before, found.gamma_after, found.impulse))
                impacts.append(Impact(t, space.contacts[i].name, *rows, vectors["v"].copy(), v.copy()))
        return {**vectors, "v": v}, impacts

    def _numbers(self, impacts: Sequence[Impact]) -> list[int]:
        """Of their contacts."""
        numbers = {contact.name: contact.number for contact in self.space.contacts}
        return [numbers[impact.contact] for impact in impacts]

    def _restitutions(self, impacts: Sequence[Impact]) -> np.ndarray:
        """Of each contact, what an impact has left of it: with friction less, where else energy would be created."""
        used = self.restitution.copy()
        for i, hit in zip(self._numbers(impacts), impacts, strict=True):
            found = -hit.after[0] / hit.before[0] if hit.before[0] < 0 else 1.0
            if found < used[i] - UNUSED:  # what rounding makes of it does not count
                used[i] = max(found, 0.0)
        return used

    def _slowest(self, scales: Scales) -> float:
        """Rebounds that are slower come to rest. Where contacts accumulate together (a box that rocks on its corners)
        no series tells when, and what the tolerances do not tell from zero is no rebound."""
        if len(self._hits) < CROWD or len({name for _, name in self._hits}) < 2:
            return scales.speed
        if self._hits[-1][0] - self._hits[0][0] > CROWDED * abs(self.t1 - self.t0):
            return scales.speed
        rtol, atol = self.tolerances.tightest
        return max(scales.speed, 10 * (atol + rtol * self._fastest))

    def _rebounds(self, impacts: Sequence[Impact], resting: Collection[int], scales: Scales) -> dict[int, float]:
        """Contacts that leave after an impact, and their speeds."""
        after = (float(impact.after[0]) for impact in impacts)
        speeds = dict(zip(self._numbers(impacts), after, strict=True))
        return {i: speed for i, speed in speeds.items() if speed > scales.speed and i not in resting}

    def _continue(self, t: float, series: Series, impacts: Sequence[Impact]) -> None:
        """Take down all impacts of a series to come: copies of the first ones, ever smaller."""
        name = self.space.contacts[series.contact].name
        first = next(-impact.before[0] for impact in impacts if impact.contact == name)
        for when, speed in series.impacts(t):
            share = speed / first
            self.impacts += [
                Impact(when, one.contact, share * one.before, share * one.after, share * one.impulse) for one in impacts
            ]
        self.rests.append(Rest(t + series.lasts, name))


def _in_a_row(vectors: Sequence[np.ndarray | None]) -> list[np.ndarray]:
    """Lengths, −1 for None, and all values."""
    lengths = np.array([-1 if vector is None else len(vector) for vector in vectors], np.int64)
    return [lengths, np.concatenate([np.zeros(0), *(vector for vector in vectors if vector is not None)])]


def _apart(lengths: np.ndarray, values: np.ndarray) -> list[np.ndarray | None]:
    ends = np.cumsum(np.maximum(lengths, 0)).tolist()
    return [
        None if length < 0 else values[end - length : end].copy()
        for length, end in zip(lengths.tolist(), ends, strict=True)
    ]
