"""Events during a run: finding the roots in a step, going to them, asking the responder, recognizing accumulation."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import said, words
from dalembert.errors import FunctionFailed, SimulationError
from dalembert.model.event import Event
from dalembert.simulation.hybrid import HybridState, Responder
from dalembert.simulation.polynomials import derivative, polynomial, shortened
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.segments import Segment
from dalembert.solvers.limits import NO_WAY
from dalembert.solvers.status import Status

#: restarts by one event that are remembered, and how many of them at practically the same time mean that it accumulates
RESTARTS, RESTARTS_AT_ONCE = 8, 4
#: roots of one step for which there is room at first
ROOM = 64
#: roots this many units in the last place apart, or this fraction of the step, come together
SIMULTANEOUS, OF_STEP = NO_WAY, 1e-12
#: a stretch of so many units in the last place cannot be divided into steps
INDIVISIBLE = 1024


@dataclass(frozen=True)
class Root:
    """Of event `number` at s ∈ [−1, 0] of a step."""

    number: int
    s: float
    direction: int  # +1 rising, −1 falling


@dataclass(frozen=True)
class Stop:
    """Where the integration has stopped for events that occurred together."""

    t: float
    x: np.ndarray
    numbers: tuple[int, ...]
    ends: bool  # the simulation, too: one of them is terminal
    also: tuple[int, ...] = ()  # events that came with them and change nothing


class EventHandler:
    """The events of a run. `responder` says what they change."""

    def __init__(self, events: Sequence[Event], responder: Responder, recorder: Recorder, t0: float, t1: float):
        self.events, self.responder, self.recorder = events, responder, recorder
        self.t0, self.t1 = t0, t1
        self.finished_by: str | None = None
        self._counts = np.zeros(len(events), int)
        self._last_restart = t0
        self._restarts_by = [deque(maxlen=RESTARTS) for _ in events]

    def memory(self) -> dict[str, Any]:
        """For a checkpoint: all that changes during a run."""
        return {
            "counts": self._counts.copy(),
            "last_restart": self._last_restart,
            "restarts": [list(recent) for recent in self._restarts_by],
            "responder": self.responder.memory(),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        self._counts[:] = memory["counts"]
        self._last_restart = memory["last_restart"]
        for recent, restarts in zip(self._restarts_by, memory["restarts"], strict=True):
            recent.clear()
            recent.extend(restarts)
        self.responder.recall(memory["responder"])

    # -- the start of a segment ------------------------------------------------------------------------------------

    def look(self, segment: Segment, t: float, x: np.ndarray, x_dot: np.ndarray, happened: Sequence[int] = ()) -> None:
        """Values at the start of a segment; exactly zero (no sign) for events that led here."""
        if segment.port is None:
            return
        scan, values = segment.stepper.scan, np.zeros(len(self.events))
        point = _point(segment, x, segment.acceleration(x_dot))
        if segment.port.call_status(t, point, segment.model.theta(t), values):
            raise self.failure(segment, t, values)
        values[list(happened)] = 0.0
        scan.values[0] = values
        scan.threshold[:] = [event.threshold for event in self.events]
        scan.sign[:] = np.where(np.abs(values) > scan.threshold, np.sign(values), 0.0)
        watched = self.responder.watch()
        if watched is not None:
            own, scan.sign[own], scan.threshold[own] = watched[0], *watched[1:]

    def across(
        self,
        segment: Segment,
        stop: float,
        before: tuple[np.ndarray, np.ndarray | None],
        t: float,
        x: np.ndarray,
        x_dot: np.ndarray,
    ) -> Stop | None:
        """As `look`, on the other side of a breakpoint at `stop`: functions that have changed sign had their roots
        there. `before` is the state (and accelerations) on this side. None: nothing has to be done about them."""
        if segment.port is None:
            return None
        scan = segment.stepper.scan
        was, sign = scan.values[0].copy(), scan.sign.copy()
        self.look(segment, t, x, x_dot)
        now, threshold = scan.values[0], scan.threshold
        crossing = (was * now < 0) | (was != 0) & (now == 0)
        passed = np.where(threshold > 0, (np.abs(now) > threshold) & (now * sign < 0), crossing)
        stops, last = [], None
        for number in np.flatnonzero(passed).tolist():
            direction = 1 if was[number] < 0 or (was[number] == 0 and now[number] > 0) else -1
            if self.events[number].direction not in (0, direction):
                continue
            self._counts[number] += 1
            self.recorder.occurred(stop, *before, number, direction)
            if self._stops(number, self._counts[number]):
                stops.append(number)
            if last is None and self._ends(number, self._counts[number]):
                last = self.events[number].name
        self.finished_by = last
        asked = self.responder.impacts
        return Stop(t, x, tuple(stops), last is not None) if stops or asked else None

    def failure(self, segment: Segment, t: float, values: np.ndarray) -> Exception:
        """The exception for event functions that cannot be evaluated."""
        error = segment.port.take_error()
        if isinstance(error, SimulationError):
            return error
        bad = [event.name for event, value in zip(self.events, values, strict=False) if not np.isfinite(value)]
        names = ", ".join(f"'{name}'" for name in bad or [event.name for event in self.events])
        reason = error or segment.port.take_refusal()
        why = f" ({said(error)})" if error is not None else f" ({words(reason)})" if reason else ""
        return FunctionFailed(f"the function of event {names} cannot be evaluated at t = {t:.9g}{why}")

    # -- the last step ---------------------------------------------------------------------------------------------

    def handle(self, segment: Segment, t: float, h: float, c: np.ndarray, end: float) -> Stop | None:
        """Deal with the roots in the last step before `end`. None: nothing stops there, and the step has been kept."""
        from dalembert.compile.kernel import load

        load("dalembert.solvers.roots")
        from dalembert.solvers.roots import go_on

        counts = self._counts
        every = self._roots(segment, t, h, c)
        roots = [root for root in every if self.events[root.number].direction in (0, root.direction)]
        for k, root in enumerate(roots):
            if not self._stops(root.number, counts[root.number] + 1):
                counts[root.number] += 1
                self.recorder.occurred(*self._projected_root(segment, t, h, c, root), root.number, root.direction)
                continue
            at, x, a = self._step_to_root(segment, t, h, c, root, end)
            slack = SIMULTANEOUS * np.spacing(max(abs(t), abs(h))) / abs(h) + OF_STEP
            together = self._together(root, every, slack, segment, at, _point(segment, x, a))
            for one in together:
                counts[one.number] += 1
                self.recorder.occurred(at, x, a, one.number, one.direction)
            last = [self.events[one.number].name for one in together if self._ends(one.number, counts[one.number])]
            self.finished_by = last[0] if last else None
            also = tuple(one.number for one in roots[:k] if root.s - one.s <= slack)
            return Stop(at, x, tuple(dict.fromkeys(sorted(one.number for one in together))), bool(last), also)
        self.recorder.keep(np.array([t]), np.array([h]), c[None])
        go_on(segment.stepper.scan)
        return None

    def _ends(self, number: int, count: int) -> bool:
        """Whether the simulation ends at the root of an event that is its `count`-th one."""
        terminal = self.events[number].terminal
        return bool(terminal) and count >= int(terminal)

    def _stops(self, number: int, count: int) -> bool:
        return self._ends(number, count) or self.responder.answers(number)

    def _roots(self, segment: Segment, t: float, h: float, c: np.ndarray) -> list[Root]:
        """All roots in the step, in the order of time."""
        from dalembert.solvers.roots import locate_roots

        stepper, room = segment.stepper, ROOM
        while True:
            which, where, rising = np.zeros(room, np.int64), np.zeros(room), np.zeros(room, np.int64)
            found = locate_roots(stepper.scan, stepper.ports, t, h, c, which, where, rising)
            if found + 3 <= room:  # it stops looking where two more might not fit
                break
            room *= 4
        order = np.argsort(where[:found], kind="stable")
        return [Root(int(which[k]), float(where[k]), int(rising[k])) for k in order]

    def _together(
        self, first: Root, every: Sequence[Root], slack: float, segment: Segment, t: float, point: np.ndarray
    ) -> list[Root]:
        """A root and those that come with it: within `slack`, or passed already where it was reached."""
        later = every[next(k for k, root in enumerate(every) if root is first) + 1 :]
        if not later:
            return [first]
        values = segment.port(t, point, segment.model.theta(t))
        together, known = [first], {first.number}
        for root in later:
            if root.number in known:  # whatever comes after an event's first root, of any direction, comes later
                continue
            known.add(root.number)
            if self.events[root.number].direction not in (0, root.direction):
                continue
            passed = values[root.number] * root.direction >= 0.0
            if root.s - first.s <= slack or (passed and self.events[root.number].threshold == 0.0):
                together.append(root)
        return together

    # -- reaching a root -------------------------------------------------------------------------------------------

    def _projected_root(self, segment: Segment, t: float, h: float, c: np.ndarray, root: Root) -> tuple:
        """The root again, by Newton's method on the dense output projected onto the constraints, if the method can.

        Returns the time, the state and the accelerations there.
        """
        stepper, s, number = segment.stepper, root.s, root.number
        x, a = polynomial(c, s), _acceleration(segment, c, s, h)
        if not stepper.projects:
            return t + s * h, x, a
        width = 1e-5
        ahead, behind = (
            self._value(segment, t + e * h, polynomial(c, e), _acceleration(segment, c, e, h), number)
            for e in (s + width, s - width)
        )
        slope, before, least = (ahead - behind) / (2 * width), np.inf, np.inf
        found: tuple[Any, ...] = ()
        for _ in range(10):
            x = stepper.projected(t + s * h, polynomial(c, s))
            if x is None:
                return t + s * h, polynomial(c, s), a
            a = _acceleration(segment, c, s, h)
            value = self._value(segment, t + s * h, x, a, number)
            if not abs(value) < least:  # a function that jumps has no slope
                break
            found, least = (t + s * h, x, a), abs(value)
            change = -value / slope if slope != 0 else np.inf
            # it must converge, and stay within the step
            if not abs(change) < 0.5 * before or not -1 <= s + change <= 0 or abs(change) * abs(h) < np.spacing(abs(t)):
                break
            before, s = abs(change), s + change
        return found or (t + s * h, x, a)

    def _step_to_root(self, segment: Segment, t: float, h: float, c: np.ndarray, root: Root, end: float) -> tuple:
        """Repeat the step so that it ends at the root: dense output is less accurate than the method itself.

        Returns the time, the state and the accelerations there; the step has been kept.
        """
        stepper, recorder, s = segment.stepper, self.recorder, root.s
        t_before, x_before, at = t - h, recorder.x, t + s * h
        # the polynomial gives x' at the start of the step well enough for Newton's matrix
        x_dot = derivative(c, -1.0) / h
        kept: tuple[Any, ...] = (np.array([at]), np.array([h * (1 + s)]), shortened(c, s)[None])
        if abs(at - t_before) <= SIMULTANEOUS * np.spacing(max(abs(t_before), abs(at))):
            return t_before, x_before.copy(), _acceleration(segment, c, -1.0, h)  # no step is that short
        rest = INDIVISIBLE * np.spacing(max(abs(at), abs(end)))
        if t == end and abs(t - at) <= rest:
            recorder.keep(np.array([t]), np.array([h]), c[None])
            return t, c[0].copy(), _acceleration(segment, c, 0.0, h)
        if stepper.interpolates:  # to the accuracy of its steps; and has no history to lose
            recorder.keep(*kept)
            return float(at), kept[2][0, 0], _acceleration(segment, c, s, h)
        counts, least, nearest, passed = stepper.counts.copy(), np.inf, kept, False
        try:
            for _ in range(4):
                stepper.start(t_before, x_before, x_dot, at, abs(at - t_before))
                pieces, reason = [], Status.EVENT
                while reason in (Status.EVENT, Status.BUFFER_FULL):
                    reason = stepper.advance()
                    pieces.append(stepper.collect())
                if reason != Status.DONE:
                    break
                kept = tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))
                last, size = kept[2][-1], kept[1][-1]
                value, earlier = (
                    self._value(
                        segment, at + e * size, polynomial(last, e), _acceleration(segment, last, e, size), root.number
                    )
                    for e in (0.0, -1e-4)
                )
                if passed and not abs(value) < least:  # a function that jumps has no slope: it was behind the jump
                    kept = nearest
                    break
                nearest, least, passed = kept, abs(value), value * root.direction >= 0.0
                slope = (value - earlier) / (1e-4 * size)
                if slope == 0 or not np.isfinite(slope):
                    break
                correction = -value / slope
                small = abs(correction) <= 1e-14 * max(abs(at), abs(h))
                if small or not 0 < (at + correction - t_before) / h < 1.5:
                    break
                at += correction
                if (at - end) * h > 0:  # what lies beyond may be another model: inputs jump there
                    at = end
        finally:
            stepper.counts[:] = counts  # the detour is not part of the method's statistics, nor of a trace
            stepper.take_trace()
        if abs(kept[0][-1] - end) <= rest:
            kept[0][-1] = end
        recorder.keep(*kept)
        return float(kept[0][-1]), kept[2][-1, 0], _acceleration(segment, kept[2][-1], 0.0, kept[1][-1])

    def _value(self, segment: Segment, t: float, x: np.ndarray, a: np.ndarray | None, number: int) -> float:
        return float(segment.port(t, _point(segment, x, a), segment.model.theta(t))[number])

    # -- restarting ------------------------------------------------------------------------------------------------

    def respond(self, stop: Stop, state: HybridState) -> tuple[HybridState, float]:
        """What the events change; also the time since the last restart."""
        since_last, self._last_restart = abs(stop.t - self._last_restart), stop.t
        for number in stop.numbers:
            if not self.responder.answers(number) or self.responder.accumulates(number):
                continue
            recent = self._restarts_by[number]
            recent.append(stop.t)
            if self._accumulates(recent):
                raise SimulationError(
                    f"event '{self.events[number].name}' accumulates at t = {stop.t:.7g} ({RESTARTS_AT_ONCE} restarts "
                    "without progress): make it terminal there, for instance with a second event on the speed"
                )
        return self.responder.respond(state, stop.numbers), since_last

    def _accumulates(self, restarts: Sequence[float]) -> bool:
        """Whether the last restarts came at practically the same time, or ever faster and nearly at the same time.

        Later ones would be lost among the errors of the state, and the motion go on beyond the root.
        """
        if len(restarts) < RESTARTS_AT_ONCE:
            return False
        lasted = abs(restarts[-1] - restarts[-RESTARTS_AT_ONCE])
        faster = len(restarts) == RESTARTS and (np.diff(np.abs(np.diff(restarts))) < 0).all()
        return lasted <= (1e-7 if faster else 1e-9) * abs(self.t1 - self.t0)


def _acceleration(segment: Segment, c: np.ndarray, s: float, h: float) -> np.ndarray | None:
    """v' on the polynomial of a step; None if there are no velocities."""
    part = segment.form.slices.get("v")
    return None if part is None else derivative(c[:, part], s) / h


def _point(segment: Segment, x: np.ndarray, a: np.ndarray | None) -> np.ndarray:
    """What the port of the events takes."""
    return np.concatenate([x, a]) if segment.port.n_x > len(x) else np.ascontiguousarray(x)
