"""Hybrid DAEs in a run: the answer to their events, and when the next one is due that depends on time alone."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.errors import AssertionFailed, AssertionWarning, Chattering, OptionError, warn_user
from dalembert.model.event import Crossing, Event
from dalembert.regularize import InitialValues
from dalembert.regularize.initial import own_start
from dalembert.simulation.changes import OF_VALUE, SMALLEST, changes_of
from dalembert.simulation.continuous import Continuous
from dalembert.simulation.hybrid import Actions, HybridState
from dalembert.simulation.iteration import COMBINED, OF_TIMES, Iteration, Point
from dalembert.simulation.layout import reduction_of
from dalembert.simulation.loop import beginning
from dalembert.simulation.task import Task

#: changes of one relation that are remembered; so many of them within this part of the interval are chattering
REMEMBERED, NO_PROGRESS = 200, 1e-7
#: of the interval: changes within it come at practically the same time
AT_ONCE = 1e-9
#: so many changes, each pause shorter than this part of the one before and at last than that of the interval, and then
#: none for this many pauses: they have accumulated
FASTER, STEADY, SHORT, LONG = 10, 0.97, 1e-3, 20


#: arrays of `Switching` that change during a run
ARRAYS = ("bits", "bands", "_largest", "_changed", "_clocks")


class Switching:
    """The events of one run of a hybrid DAE: those of its relations, `events`, and those at known times."""

    def __init__(self, task: Task):
        model = task.model
        if task.t1 < task.t0:
            raise OptionError(
                f"t_span = ({task.t0:g}, {task.t1:g}): model '{model.name}' has events, before which it was what does "
                "not follow from what comes after them; it is simulated forwards in time"
            )
        self.model, self.t0, self.t1 = model, task.t0, task.t1
        self.changes = changes_of(model)
        x = task.form.slices["x"]
        self._tolerances = replace(task.tolerances, rtol=task.tolerances.rtol[x], atol=task.tolerances.atol[x])
        self.events: list[Event] = [Crossing.of(r.value, r.name) for r in self.changes.crossing]
        self.ended: str | None = None  # what a termination says
        self.bits = np.zeros(0)
        self.bands = np.zeros(len(self.changes.crossing))
        self._largest = np.zeros(len(self.changes.crossing))
        self._continuous = Continuous(model, reduction_of(model), self._tolerances)
        self._recent = [deque(maxlen=REMEMBERED) for _ in self.events]
        #: when discrete variables changed last, and before that
        self._changed = np.full((2, len(model.discrete_names)), -np.inf)
        self._visits: list[tuple[float, np.ndarray, np.ndarray]] = []  # truth values and unknowns at one time
        self._next = np.inf
        self._clocks = np.zeros((0, 2))
        self.struck: list[tuple[str, bool]] = []
        self._warned: set[str] = set()

    # -- the start -------------------------------------------------------------------------------------------------

    def begin(self, task: Task) -> tuple[HybridState, InitialValues]:
        """The state after what happens at the start, and the unknowns there."""
        model, changes, t = self.model, self.changes, beginning(self.model, task.t0, task.t1)
        self._clocks = changes.clock_times(t, model.guesses("x"), model.theta(t))
        for sample, (start, interval) in zip(changes.hybrid.samples, self._clocks, strict=True):
            if not interval > 0 or not math.isfinite(start + interval):
                raise OptionError(f"{sample.name}: its interval is {interval:g} and its start {start:g}; check them")
        rtol, atol = task.tolerances.tightest
        options: dict[str, Any] = dict(mode=task.options.initial_values, rtol=rtol, atol=atol)

        def solve(point: Point) -> Point:
            if point.found is not None and not self._matter(point.discrete, point.found_for):
                return point
            here = model.with_discrete(point.discrete)
            found = own_start(here, t, task.given, task.initial_conditions, task.fixed, **options)
            return replace(point, x=found.values["x"], found=found, found_for=point.discrete)

        discrete = model.discrete_values()
        discrete[changes.before] = discrete[changes.now]
        if changes.hybrid.initial is not None:
            discrete[changes.hybrid.initial] = 1.0
        x = self._guess(task)
        self._measure(t, x, None, discrete)
        iteration = self._iteration(t, solve, start=True)
        point = Point(x, discrete)
        point = replace(point, discrete=iteration.with_bits(point))
        point = iteration.settled(point)
        self._judge(iteration, changes.claims(t, point.x, model.theta(t, point.discrete)), t)
        reinits = changes.reinits(t, point.x, model.theta(t, point.discrete))
        after = point.discrete.copy()
        after[changes.flags] = 0.0
        after[changes.before] = after[changes.now]
        point = replace(point, discrete=after)
        if reinits:
            x = point.x.copy()
            x[list(reinits)] = list(reinits.values())
            point = Point(x, after, held=tuple(reinits))
        point = self._continuous.complete(t, self._event(t, point, self._due(t)))
        found = point.found
        assert found is not None, "`complete` has seen to it"
        self._measure(t, point.x, found.values["x_dot"], point.discrete)
        return HybridState(model, t, {"x": point.x}, point.discrete, None), found

    def _guess(self, task: Task) -> np.ndarray:
        """Unknowns as far as they are known before the first truth values are."""
        x, given = self.model.guesses("x"), task.given.get("x0")
        if given is None:
            return x
        from dalembert.regularize.start_values import given_values

        return given_values(self.model, {"x0": given})[0]["x"]

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """All that changes during a run."""
        return {
            **{name: getattr(self, name).copy() for name in ARRAYS},
            "ended": self.ended,
            "next": self._next,
            "recent": [list(recent) for recent in self._recent],
            "visits": [[t, bits.copy(), x.copy()] for t, bits, x in self._visits],
            "warned": sorted(self._warned),
            "continuous": self._continuous.memory(),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Be as one was when `memory` was asked."""
        for name in ARRAYS:
            setattr(self, name, memory[name])
        self.ended, self._next, self._warned = memory["ended"], memory["next"], set(memory["warned"])
        self._recent = [deque(recent, maxlen=REMEMBERED) for recent in memory["recent"]]
        self._visits = [(float(t), bits, x) for t, bits, x in memory["visits"]]
        self._continuous.recall(memory["continuous"])

    # -- the protocol of a responder -------------------------------------------------------------------------------

    def respond(self, state: HybridState, which: Sequence[int], moved: bool = False) -> HybridState:
        """The state after relations `which` have changed, or a time has come, or something else has changed it.

        `moved`: that has changed unknowns.
        """
        changes, t, told = self.changes, state.t, frozenset(which)
        discrete, x = state.discrete.copy(), state.vectors["x"]
        if changes.crossing:
            theta = self.model.theta(t, state.discrete)
            if not moved and state.rates is not None:
                now = changes.crossing_now(t, x, state.rates, theta, discrete[changes.bits])
                which = sorted({*which, *now.tolist()})
            places = changes.bits[list(which)]
            discrete[places] = 1.0 - discrete[places]
            values = np.abs(changes.values(t, x, theta))
            self.bands[list(which)] = np.maximum(self.bands[list(which)], 4 * values[list(which)])
            self._must_progress(t, which)
        suits = None if moved else state.discrete
        begun = Point(x, discrete, found_for=suits)
        due = self._due(t)
        point = self._event(t, begun, due, state.terminal)
        if which:
            point = self._elsewhere(t, state, begun, point)
        changed = point.discrete != state.discrete
        self.struck = [(changes.hybrid.samples[k].name, True) for k in due]
        for relations, places, known in (
            (changes.timed, changes.timed_bits, ()),
            (changes.crossing, changes.bits, told),
        ):
            new = [k for k in np.flatnonzero(changed[places]) if k not in known]
            self.struck += [(relations[k].name, bool(point.discrete[places[k]])) for k in new]
        self._changed[1, changed], self._changed[0, changed] = self._changed[0, changed], t
        if point.found is None and not which and not moved:  # the unknowns are what they were
            return replace(state, discrete=point.discrete)
        point = self._continuous.complete(t, point)
        return replace(state, vectors={"x": point.x}, discrete=point.discrete, found=point.found)

    def told(self, state: HybridState, before: np.ndarray) -> HybridState:
        """What somebody else has set of discrete variables is their value before the event, too."""
        changes, discrete = self.changes, state.discrete.copy()
        set_now = discrete[changes.now] != before[changes.now]
        discrete[changes.before[set_now]] = discrete[changes.now[set_now]]
        return replace(state, discrete=discrete)

    def _event(self, t: float, point: Point, due: Sequence[int], terminal: bool = False) -> Point:
        changes, discrete = self.changes, point.discrete.copy()
        discrete[changes.clocks[list(due)]] = 1.0
        if terminal and changes.hybrid.terminal is not None:
            discrete[changes.hybrid.terminal] = 1.0
        iteration = self._iteration(t, lambda point: self._continuous.solve(t, point, self._matter))
        point = iteration.event(replace(point, discrete=discrete))
        self._judge(iteration, iteration.claims, t)
        self._measure(t, point.x, None if point.found is None else point.found.values["x_dot"], point.discrete)
        self._next = self._next_time(t, point)
        return point

    def _iteration(self, t: float, solve, *, start: bool = False) -> Iteration:
        model = self.model
        theta, part = model.theta(t), model.theta_layout.discrete

        def with_discrete(discrete: np.ndarray) -> np.ndarray:
            theta[part] = discrete
            return theta

        return Iteration(self.changes, t, with_discrete, self.bands, solve, beginning=start)

    def _matter(self, discrete: np.ndarray, other: np.ndarray | None) -> bool:
        """Whether what differs occurs in the equations."""
        return bool((self.changes.matters & (discrete != other)).any())

    def _measure(self, t: float, x: np.ndarray, x_dot: np.ndarray | None, discrete: np.ndarray) -> None:
        """How near to zero values of relations are as good as zero from now on."""
        changes = self.changes
        self.bits = discrete[changes.bits]
        if not changes.crossing:
            return
        theta = self.model.theta(t, discrete)
        self._largest = np.maximum(self._largest, np.abs(changes.values(t, x, theta)))
        own = changes.bands(t, x, np.zeros(len(x)) if x_dot is None else x_dot, theta, self._tolerances)
        self.bands = np.maximum(own, np.maximum(OF_VALUE * self._largest, SMALLEST))

    def _judge(self, iteration: Iteration, claims: list, t: float) -> None:
        for claim, message in claims:
            if claim.ends:
                self.ended = message or claim.name
            elif claim.warns:
                if claim.name not in self._warned:
                    self._warned.add(claim.name)
                    warn_user(f"{message} (at t = {t:.9g}, {claim.name})", AssertionWarning)
            else:
                raise AssertionFailed(f"{message} (at t = {t:.9g}, {claim.name})", claim.name)

    # -- times -----------------------------------------------------------------------------------------------------

    def next_time(self) -> float:
        """When the next event is due of which the time is known."""
        return self._next

    def _due(self, t: float) -> list[int]:
        """Clocks that strike at t."""
        due = []
        for k, (start, interval) in enumerate(self._clocks):
            tick = start + max(round((t - start) / interval), 0) * interval
            if abs(tick - t) <= OF_TIMES * math.ulp(max(abs(t), abs(tick), abs(start))):
                due.append(k)
        return due

    def _next_time(self, t: float, point: Point) -> float:
        late = t + OF_TIMES * math.ulp(max(abs(t), abs(self.t1)))
        upcoming = [np.inf]
        if self.changes.timed:
            times = self.changes.times(t, point.x, self.model.theta(t, point.discrete))
            upcoming += times[times > late].tolist()
        for start, interval in self._clocks:
            number = max(math.floor((late - start) / interval), -1)
            while start + number * interval <= late or number < 0:
                number += 1
            upcoming.append(start + number * interval)
        return min(upcoming)

    # -- going back and forth ------------------------------------------------------------------------------------------

    def _elsewhere(self, t: float, state: HybridState, begun: Point, point: Point) -> Point:
        """The point; or if it leads back to where everything was at practically the same time, another one that suits.

        So it is with feedback that drives a switch over: on both sides of the relation that changes, solutions lead
        back to it, and the one that goes on is far away.
        """
        bits, moving = self.changes.bits, self._continuous.moving
        if self._visits and t - self._visits[-1][0] > AT_ONCE * abs(self.t1 - self.t0):
            self._visits.clear()
        if not self._visits:
            self._visits.append((t, state.discrete[bits], state.vectors["x"]))
        scale = self._tolerances.atol + self._tolerances.rtol * np.abs(point.x)
        back = any(
            np.array_equal(before, point.discrete[bits]) and (np.abs(x - point.x) <= scale)[moving].all()
            for _, before, x in self._visits
        )
        if back:
            points = (state.vectors["x"], begun.discrete), (point.x, point.discrete)
            values = [self.changes.values(t, x, self.model.theta(t, discrete)) for x, discrete in points]
            affected = np.abs(values[0] - values[1]) / (np.abs(values[0]) + np.abs(values[1]) + self.bands)
            chosen = np.sort(np.argsort(-affected, kind="stable")[:COMBINED])
            iteration = self._iteration(t, lambda point: self._continuous.solve(t, point, self._matter))
            visited = {before.tobytes() for _, before, _ in self._visits}
            other = iteration.another(point, bits[chosen], visited)
            if other is not None:
                point = self._event(t, other, ())
        self._visits.append((t, point.discrete[bits], point.x))
        return point

    # -- chattering ------------------------------------------------------------------------------------------------

    def _must_progress(self, t: float, which: Sequence[int]) -> None:
        """Raise if a relation changes again and again at practically the same time."""
        for number in which:
            recent = self._recent[number]
            recent.append(t)
            if len(recent) == REMEMBERED and recent[-1] - recent[0] <= NO_PROGRESS * abs(self.t1 - self.t0):
                name = self.changes.crossing[number].name
                raise Chattering(
                    f"the relation '{name}' changes again and again at t = {t:.9g} ({REMEMBERED} times in "
                    f"{recent[-1] - recent[0]:.2e}): the equations on its two sides lead back to each other. Add "
                    "hysteresis, or equations for what holds in between",
                    name,
                )

    def must_not_have_accumulated(self, t: float) -> None:
        """Raise if a relation changed ever faster, and then no more, without anything else that has changed.

        Its changes have become smaller than what is told from zero; what comes after them is not the model's motion.
        """
        for number, recent in enumerate(self._recent):
            times = np.unique(np.array(recent))[-FASTER:]
            if len(times) < FASTER or self._went_over(times[0], times[-1]):
                continue
            pauses = np.diff(times)
            faster = (pauses[1:] < STEADY * pauses[:-1]).all() and pauses[-1] < SHORT * abs(self.t1 - self.t0)
            if faster and t - times[-1] > LONG * pauses[-1]:
                name = self.changes.crossing[number].name
                raise Chattering(
                    f"the relation '{name}' changes ever faster until t = {times[-1]:.9g}, and the model does not say "
                    "what comes then: give it a state in which it has come to rest",
                    name,
                )

    def _went_over(self, first: float, last: float) -> bool:
        """Whether at the last of these times, or later, something changed that had not changed between them."""
        at, before = self._changed
        others = np.ones(len(at), bool)
        others[self.changes.bits] = False
        return bool((others & (at >= last) & (before < first)).any())


class WithSwitching:
    """The actions of users' events, and a hybrid DAE, which looks at the state whenever anything has changed."""

    impacts = False

    def __init__(self, actions: Actions, switching: Switching):
        self.actions, self.switching, self._own = actions, switching, len(actions.events)

    @property
    def at_end(self) -> bool:
        return self.switching.changes.hybrid.terminal is not None

    @property
    def struck(self) -> list[tuple[str, bool]]:
        return self.switching.struck

    @property
    def ended(self) -> str | None:
        return self.switching.ended

    def answers(self, number: int) -> bool:
        return number >= self._own or self.actions.answers(number)

    def accumulates(self, number: int) -> bool:
        return number >= self._own

    def soon(self, since_last: float) -> float:
        """Of users' events nobody knows; relations are looked at at many points of each step."""
        return since_last if self.actions.events else np.inf

    def overdue(self, values: np.ndarray) -> list[int]:
        return []

    def next_time(self) -> float:
        return self.switching.next_time()

    def must_go_on(self, t: float) -> None:
        self.switching.must_not_have_accumulated(t)

    def watch(self) -> tuple[slice, np.ndarray, np.ndarray]:
        bits, bands = self.switching.bits, self.switching.bands
        return slice(self._own, self._own + len(bits)), np.where(bits != 0, 1.0, -1.0), bands

    def memory(self) -> dict[str, Any]:
        return {"actions": self.actions.memory(), "switching": self.switching.memory()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        self.actions.recall(memory["actions"])
        self.switching.recall(memory["switching"])

    def respond(self, state: HybridState, which: Sequence[int]) -> HybridState:
        after = self.actions.respond(state, [number for number in which if number < self._own])
        own = [number - self._own for number in which if number >= self._own]
        if after is not state:
            after = self.switching.told(after, state.discrete)
        return self.switching.respond(after, own, moved=after is not state)
