"""The iteration at an event: unknowns, truth values of relations and discrete variables that agree with each other.

One pass, with the values before the event held: unknowns that suit the discrete variables, truth values that suit the
unknowns, assignments, and so on until nothing changes. Where that goes round in circles, truth values change one at a
time, and if that does not help either, all combinations of those that went round are tried. Between passes unknowns are
reinitialized, and values before the event become those after it. The event is over when a pass changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import FunctionFailed, InconsistentInitialValues, SingularMatrix, UnsettledEvent
from dalembert.regularize import InitialValues

if TYPE_CHECKING:
    from dalembert.simulation.changes import Changes

#: passes of one event, and rounds of one pass
PASSES, ROUNDS = 200, 200
#: truth values of which all combinations are tried, at most
COMBINED = 10
#: names in a message
NAMED = 6

#: what says that there are no unknowns for some truth values
NO_UNKNOWNS = (InconsistentInitialValues, SingularMatrix, FunctionFailed)


@dataclass(frozen=True, eq=False)
class Point:
    """Where the iteration is: consistent unknowns (`found`) of the whole model for the discrete values they suit."""

    x: np.ndarray
    discrete: np.ndarray
    found: InitialValues | None = None  # None: x is from before the event, and nothing was solved for
    found_for: np.ndarray | None = None  # the discrete values that x suits
    held: tuple[int, ...] = ()  # unknowns that were reinitialized, and stay


class Iteration:
    """At one time. `solve(point)` gives the point with unknowns that suit its discrete values."""

    def __init__(
        self,
        changes: Changes,
        t: float,
        theta: Callable[[np.ndarray], np.ndarray],
        bands: np.ndarray,
        solve: Callable[[Point], Point],
        *,
        beginning: bool = False,
    ):
        self.changes, self.t, self.theta, self.bands, self._solve = changes, t, theta, bands, solve
        self.beginning = beginning  # nothing was before: near zero a relation is what it is at zero
        self.claims: list = []
        self._near = np.zeros(len(changes.crossing), bool)  # relations that were near zero: they may be either

    # -- passes ----------------------------------------------------------------------------------------------------

    def event(self, point: Point) -> Point:
        """From what has just changed to where nothing does any more."""
        changes = self.changes
        for _ in range(PASSES):
            point = self.settled(point)
            reinits = changes.reinits(self.t, point.x, self.theta(point.discrete))
            self.claims += changes.claims(self.t, point.x, self.theta(point.discrete))
            discrete = point.discrete.copy()
            discrete[changes.clocks] = 0.0
            discrete[changes.flags] = 0.0
            discrete[changes.before] = discrete[changes.now]
            if not reinits and np.array_equal(discrete, point.discrete):
                return point
            point = replace(point, discrete=discrete)
            if reinits:
                x = point.x.copy()
                x[list(reinits)] = list(reinits.values())
                point = Point(x, discrete, held=tuple(reinits))
        raise self._unsettled(
            f"discrete variables still change after {PASSES} passes",
            self._names(np.flatnonzero(self.settled(point).discrete != point.discrete)),
        )

    def settled(self, point: Point) -> Point:
        """One pass."""
        seen: set[bytes] = set()
        path: list[np.ndarray] = []
        start = point
        for _ in range(ROUNDS):
            try:
                point = self._solve(point)
            except NO_UNKNOWNS:
                if not path:
                    raise
                break
            new = self.next(point)
            if np.array_equal(new, point.discrete):
                return point
            path.append(point.discrete)
            key = new.tobytes()
            if key in seen:
                break
            seen.add(key)
            point = replace(point, discrete=new)
        return self._one_at_a_time(start, path)

    def next(self, point: Point) -> np.ndarray:
        """The discrete values that suit a point."""
        discrete = self.with_bits(point)
        self.changes.assign(self.t, point.x, self.theta(discrete), discrete)
        return discrete

    def with_bits(self, point: Point) -> np.ndarray:
        """The discrete values with truth values that suit the unknowns; near zero they stay as they are."""
        changes, discrete, theta = self.changes, point.discrete.copy(), self.theta(point.discrete)
        if changes.crossing:
            values = changes.values(self.t, point.x, theta)
            near = np.abs(values) <= self.bands
            self._near |= near
            stays = changes.closed if self.beginning else discrete[changes.bits] != 0
            discrete[changes.bits] = np.where(near, stays, values > 0)
        if changes.timed:
            times = changes.times(self.t, point.x, theta)
            slack = OF_TIMES * np.spacing(np.maximum(np.abs(times), abs(self.t)))
            passed = times <= self.t + slack
            if self.beginning:  # as it is written; what comes right after is an event of its own
                at = np.abs(times - self.t) <= slack
                discrete[changes.timed_bits] = np.where(at, changes.timed_closed, passed == changes.rising)
            else:
                discrete[changes.timed_bits] = passed == changes.rising
        return discrete

    # -- circles ---------------------------------------------------------------------------------------------------

    def _one_at_a_time(self, start: Point, path: list[np.ndarray]) -> Point:
        """As `settled`, but of several truth values that do not suit only the first one changes."""
        bits, point, seen, went = self.changes.bits, start, set(), list(path)
        for _ in range(ROUNDS):
            try:
                point = self._solve(point)
                wanted = self.with_bits(point)
            except NO_UNKNOWNS:
                break
            wrong = [place for place in bits if wanted[place] != point.discrete[place]]
            discrete = point.discrete.copy()
            discrete[self.changes.timed_bits] = wanted[self.changes.timed_bits]
            if wrong:
                discrete[wrong[0]] = wanted[wrong[0]]
            self.changes.assign(self.t, point.x, self.theta(discrete), discrete)
            if np.array_equal(discrete, point.discrete):
                return point
            went.append(discrete)
            key = discrete.tobytes()
            if key in seen:
                break
            seen.add(key)
            point = replace(point, discrete=discrete)
        return self._by_combinations(start, went)

    def _by_combinations(self, start: Point, path: list[np.ndarray]) -> Point:
        """Try all truth values of the relations that changed on the way, or may be either, those nearest to the start
        first."""
        moving = np.flatnonzero((np.array(path) != start.discrete).any(axis=0)) if path else np.zeros(0, int)
        bits = np.intersect1d(self.changes.bits, moving)
        if len(bits):
            bits = np.union1d(bits, self.changes.bits[self._near])
        if 0 < len(bits) <= COMBINED:
            choices = sorted(itertools.product((0.0, 1.0), repeat=len(bits)), key=self._distance(start.discrete[bits]))
            for choice in choices:
                point = self._with(start, bits, np.array(choice))
                if point is not None:
                    return point
        what = "truth values of relations and discrete variables do not settle"
        raise self._unsettled(what, self._names(bits if len(bits) else moving))

    def another(self, start: Point, bits: np.ndarray, avoid: set[bytes]) -> Point | None:
        """A point with other truth values of these relations than those to avoid; None if no others suit."""
        for choice in sorted(itertools.product((0.0, 1.0), repeat=len(bits)), key=self._distance(start.discrete[bits])):
            point = self._with(start, bits, np.array(choice))
            if point is not None and point.discrete[self.changes.bits].tobytes() not in avoid:
                return point
        return None

    @staticmethod
    def _distance(bits: np.ndarray) -> Callable[[Iterable[float]], int]:
        return lambda choice: int((np.array(choice) != bits).sum())

    def _with(self, point: Point, bits: np.ndarray, choice: np.ndarray) -> Point | None:
        """The point with these truth values, if they suit what follows from them."""
        changes, discrete = self.changes, point.discrete.copy()
        discrete[bits] = choice
        for _ in range(ROUNDS):
            point = replace(point, discrete=discrete)
            try:
                point = self._solve(point)
                wanted = self.with_bits(point)
            except NO_UNKNOWNS:
                return None
            if (wanted[bits] != choice).any():
                return None
            changes.assign(self.t, point.x, self.theta(wanted), wanted)
            if np.array_equal(wanted, point.discrete):
                return point
            discrete = wanted
        return None

    # -- words -----------------------------------------------------------------------------------------------------

    def _names(self, places: np.ndarray) -> list[str]:
        """Relations and equations behind discrete variables."""
        hybrid, wanted = self.changes.hybrid, set(places.tolist())
        names = [f"'{each.name}'" for each in (*hybrid.relations, *hybrid.assignments) if each.place in wanted]
        return names[:NAMED] + ([f"… ({len(names)} in all)"] if len(names) > NAMED else [])

    def _unsettled(self, what: str, names: list[str]) -> UnsettledEvent:
        listed = ", ".join(names) or "no relation"
        return UnsettledEvent(
            f"the event at t = {self.t:.9g} has no end: {what}: {listed}. These equations may have no solution "
            "together, or one that the iteration does not find; a value before the event, pre(...), in one of them "
            "makes it one"
        )


#: units in the last place within which times are the same
OF_TIMES = 64
