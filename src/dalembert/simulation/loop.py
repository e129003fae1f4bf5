"""The loop over segments: from breakpoint to breakpoint and event to event, until the end or a failure."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.background import not_interrupted
from dalembert.checks import words
from dalembert.errors import (
    DalembertError,
    FunctionFailed,
    Interrupted,
    SimulationError,
    SingularMatrix,
    StepRefused,
    StepSizeTooSmall,
)
from dalembert.model import Model
from dalembert.regularize import InitialValues
from dalembert.regularize.initial_accelerations import dependent_constraints
from dalembert.simulation.continuation import Place
from dalembert.simulation.events import SIMULTANEOUS, EventHandler, Stop
from dalembert.simulation.hybrid import HybridState
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.segments import Segments
from dalembert.solution import Solution
from dalembert.solvers.status import Count, Status

if TYPE_CHECKING:
    from dalembert.simulation.pilot import Candidate

#: accepted steps that must bring the simulation forward by a millionth of the interval
PATIENCE = 10_000
#: accepted points that are remembered for methods that pass singular positions
RECENT = 400
#: inputs are looked at at so many times to know their size; differences below this fraction of it are rounding errors
INPUT_SAMPLES, ROUNDING = 33, 1e-13

#: how warnings speak of values that an action has set, and that violate constraints
AFTER_ACTION = ("after the action of an event,", "let the action set values that satisfy them")


def beginning(model: Model, t0: float, t1: float) -> float:
    """Where evaluation begins: beyond t0 if that is a breakpoint, on the side of which inputs are another function."""
    return float(np.nextafter(t0, t1)) if t0 != t1 and t0 in model.breakpoints else t0


@dataclass(frozen=True)
class Goal:
    """What is integrated to: `end`, for what happens at `stop`, which is the same but for rounding."""

    stop: float
    end: float
    broken: bool  # inputs are another function beyond


class Loop:
    """One simulation under way. The segments say what is integrated, the recorder keeps what comes out."""

    def __init__(self, segments: Segments, events: EventHandler, recorder: Recorder, t0: float, t1: float):
        self.segments, self.events, self.recorder, self.t0, self.t1 = segments, events, recorder, t0, t1
        self.model, self.pilot = segments.model, segments.task.pilot
        self._recent: deque[tuple[np.ndarray, np.ndarray]] = deque()  # times and points to extrapolate from, in pieces
        self._open = False  # whether the buffer of the stepper may hold steps that have not been kept
        self._unchanged = False  # whether the last response left the equations and unknowns as they were
        self._longest: float | None = None  # of the last steps
        self._progress = (0, t0)  # accepted steps and time when progress was last looked at

    def run(self, initial: InitialValues, first_step: float | None, place: Place | None = None) -> Solution:
        """Integrate, or go on from a place; whatever happens, everything computed is in the result or in the
        exception's `.solution`."""
        recorder = self.recorder
        x, x_dot = self.segments.current.start(initial)
        recorder.begin(self.segments.current, x, initial, anew=place is None)
        try:
            self._must_determine_multipliers(initial)
            self._integrate(x, x_dot, first_step, place)
            recorder.flush()
        except KeyboardInterrupt as interrupt:
            if isinstance(interrupt, DalembertError):
                raise
            self._salvage()
            message = (
                f"interrupted at t = {recorder.reached:.9g}; the exception's .solution holds everything up to there"
            )
            raise Interrupted(message, recorder.solution("interrupted", message)) from None
        except StepRefused as refusal:
            message = f"a model function refused at the start of a step: {words(refusal)}"
            raise FunctionFailed(message, recorder.solution("failed", message)) from refusal
        except SimulationError as error:
            error.solution = recorder.solution("failed", str(error))
            raise
        finally:
            if recorder.bar is not None:
                recorder.bar(np.nan)
        finished_by, said = self.events.finished_by, self.events.responder.ended
        state = "finished" if finished_by is None else f"terminated by event '{finished_by}'"
        state = state if said is None else "terminated by the model"
        because = "" if said is None else f": {said}"
        solution = recorder.solution(state, f"reached t = {recorder.reached:.9g}{because}")
        self.segments.release()
        recorder.finish()
        return solution

    def _must_determine_multipliers(self, initial: InitialValues) -> None:
        """Forms whose matrices redundant constraints make singular. Factorizations do not tell: where rounding leaves a
        pivot, they go on with multipliers that are anything."""
        settles = self.segments.current.form.settles_multipliers or self.pilot is not None
        if initial.unique or not settles or self.t0 == self.t1:
            return
        dependence = dependent_constraints(self.model, initial.t, initial.values)
        if dependence:
            raise SingularMatrix(
                f"the iteration matrix is singular at t = {self.t0:.9g}: {dependence}, and multipliers are not unique. "
                "Leave out redundant constraints, or take Geoms(algebraic='svd'), which treats them; "
                "Geoms(singular='step over') passes isolated singular positions."
            )

    def _integrate(
        self, x: np.ndarray, x_dot: np.ndarray, first_step: float | None, place: Place | None = None
    ) -> None:
        if self.t0 == self.t1:
            return
        self._breaks = deque(self._breakpoints())
        smooth = self._smooth(list(self._breaks))
        t, since_last = beginning(self.model, self.t0, self.t1), np.inf
        if place is not None:
            self._recall(place)
        elif self._has_ended():
            return
        else:
            self.events.look(self.segments.current, t, x, x_dot)
        while True:
            if place is not None:  # as if the kernel had just returned, on the way to a goal
                goal, place = self._goal, None
                if self._reach():
                    return
                goal = self._goal
            else:
                goal = self._goal = self._next_goal(t)
                if self._is_ahead(goal.end, t):
                    self.segments.current.stepper.start(t, x, x_dot, goal.end, first_step)
                    self.segments.current.stepper.limit_first_step(0.1 * self.events.responder.soon(since_last))
                    first_step = None
                    if self._reach():
                        return
                    goal = self._goal  # events on the way may have set another
                else:
                    self._stand(goal.stop, x, x_dot)
            if goal.broken:
                self._breaks.popleft()
                t, x, x_dot, since_last = self._cross(goal.stop, goal.end, goal.stop in smooth)
            else:
                since_last, unchanged = np.inf, False
                if self._is_due(goal.stop):
                    since_last, unchanged = self._strike(goal.stop)
                stepper = self.segments.current.stepper
                first_step = self._longest if unchanged else None
                t, x, x_dot = goal.stop, stepper.x.copy(), stepper.x_dot.copy()
            self.events.responder.must_go_on(goal.stop)
            if self.events.finished_by is not None or self._has_ended() or goal.stop == self.t1:
                return

    def _stand(self, stop: float, x: np.ndarray, x_dot: np.ndarray) -> None:
        """Be at a goal that is too near for a step. The end has been asked for all the same."""
        stepper, recorder = self.segments.current.stepper, self.recorder
        stepper.x[:], stepper.x_dot[:] = x, x_dot
        if stop == self.t1 != recorder.reached:
            recorder.keep(np.array([stop]), np.array([stop - recorder.reached]), stepper.standing(x))

    def _next_goal(self, t: float) -> Goal:
        """What comes next behind t: a breakpoint, an event of which the time is known, or the end."""
        stop = self._breaks[0] if self._breaks else self.t1
        known = self.events.responder.next_time()
        if known < stop and self._is_ahead(stop, known):
            return Goal(known, known, broken=False)
        if not self._breaks:
            return Goal(stop, stop, broken=False)
        # inputs jump at breakpoints: keep every evaluation strictly on one side
        end = float(np.nextafter(stop, self.t0))
        self.recorder.shown = {end: stop}  # users asked for the breakpoint itself
        return Goal(stop, end, broken=True)

    def _is_due(self, t: float) -> bool:
        """Whether there are events at t of which the time was known."""
        responder = self.events.responder
        known = responder.next_time()
        due = math.isfinite(known) and (known <= t or not self._is_ahead(known, t))
        return due or (responder.at_end and t == self.t1)

    def _has_ended(self) -> bool:
        """Whether the model has ended the run itself."""
        said = self.events.responder.ended
        if said is not None:
            self.events.finished_by = said
        return said is not None

    def _strike(self, t: float) -> tuple[float, bool]:
        """Carry out the events of which the time was known. Returns the time since the last one, and whether the
        equations are what they were: steps then may be, too."""
        since_last = self._respond(Stop(t, self.segments.current.stepper.x.copy(), (), False), timed=True)
        return since_last, self._unchanged

    def _breakpoints(self) -> list[float]:
        """Those behind the start, up to the end, in the order in which they are met."""
        low, high = sorted((self.t0, self.t1))
        inside = [b for b in self.model.breakpoints if low <= b <= high and b != self.t0]
        return sorted(inside, reverse=self.t1 < self.t0)

    def _is_ahead(self, end: float, t: float) -> bool:
        """Whether there is room for a step from t to `end`."""
        way = end - t if self.t1 > self.t0 else t - end
        return way > SIMULTANEOUS * math.ulp(max(abs(t), abs(end)))

    def _cross(self, stop: float, end: float, smooth: bool) -> tuple[float, np.ndarray, np.ndarray, float]:
        """From one side of a breakpoint to the other: the time there, the state, its rates, and the time since the last
        action if one is due now. Beyond the end of the interval nobody goes: there, only events are looked at."""
        segment, ends = self.segments.current, stop == self.t1
        stepper, t = segment.stepper, stop if ends else float(np.nextafter(stop, self.t1))
        before = stepper.x.copy(), segment.acceleration(stepper.x_dot.copy())
        if smooth or ends:
            x, x_dot = stepper.x.copy(), stepper.x_dot.copy()
        else:
            x, x_dot = segment.after_breakpoint(end, t)
        if not ends:
            self._jump(x, t if smooth else None)
        crossed = self.events.across(segment, stop, before, t, x, x_dot)
        timed = self._is_due(t)
        if crossed is None and not timed:
            return t, x, x_dot, np.inf
        stepper.x[:], stepper.x_dot[:] = x, x_dot
        since_last = self._respond(crossed or Stop(t, x, (), False), timed=timed, starts=False)
        stepper = self.segments.current.stepper
        return t, stepper.x.copy(), stepper.x_dot.copy(), since_last

    def _smooth(self, breakpoints: Sequence[float]) -> set[float]:
        """Those at which no multiplier or acceleration jumps, because inputs and their two derivatives do not."""
        if not breakpoints or not self.model.time_acts_through_inputs:
            return set()
        before, after = (np.nextafter(breakpoints, end) for end in (self.t0, self.t1))
        theta = self.model.thetas(np.concatenate([before, after, np.linspace(self.t0, self.t1, INPUT_SAMPLES)]))
        n = len(breakpoints)
        jump, size = np.abs(theta[:, :n] - theta[:, n : 2 * n]), np.abs(theta).max(axis=1)
        smooth = (jump <= ROUNDING * size[:, None]).all(axis=0)
        return {b for b, passes in zip(breakpoints, smooth, strict=True) if passes}

    def _reach(self) -> bool:
        """Integrate to the goal. Returns True if an event ended the simulation."""
        while True:
            end = self._goal.end
            segment = self.segments.current
            stepper = segment.stepper
            self._open = True
            not_interrupted()
            reason = stepper.advance(None if self.pilot is None else self.pilot.most(int(stepper.counts[Count.STEPS])))
            t, h, c = stepper.collect()
            self.recorder.tried(stepper.take_trace())
            if reason in (Status.EVENT, Status.EVENT_FAILED):
                self._keep(t[:-1], h[:-1], c[:-1])
            else:
                self._keep(t, h, c)
            self._open = False
            if len(h):
                self._longest = float(np.abs(h).max())
            if reason == Status.EVENT:
                stop = self.events.handle(segment, float(t[-1]), float(h[-1]), c[-1], end)
                self._remember(t[-1:], c[-1:, 0])
                if stop is not None:
                    self._respond(stop)
                    ends = stop.ends or self._has_ended()
                    if ends or stop.t == self._goal.end:
                        self.recorder.report()
                        return ends
            self.recorder.report()
            if reason == Status.DONE:
                return False
            if reason in (Status.BUFFER_FULL, Status.EVENT):
                self._must_progress()
                if self.pilot is not None and reason == Status.BUFFER_FULL:
                    self._take(self.pilot.judged(self.segments, h, stepper.t, self.t1))
                self._save_if_due()
                continue
            if reason == Status.EVENT_FAILED:
                raise self.events.failure(segment, float(stepper.scan.failed[0]), stepper.scan.out)
            if self._step_over(reason, end):
                continue
            if self.pilot is not None and self._take(self.pilot.rescued(reason, stepper.t)):
                continue
            raise stepper.explain(reason)

    def _take(self, candidate: Candidate | None) -> bool:
        """Go on with another method from where the last step ended, on the way to the same goal; None: with this one.
        Returns whether there was a change."""
        if candidate is None or self.pilot is None:
            return False
        segments, before = self.segments, self.segments.current
        t, x = before.stepper.t, before.stepper.x
        vectors = before.vectors(before.settled(t, x), self.model)
        segment = segments.take(candidate)
        try:
            x, x_dot = segment.consistent(t, segment.own_vectors(t, vectors, vectors, AFTER_ACTION), "correct")
        except SimulationError:
            self.pilot.stay()
            segments.take(self.pilot.flying)
            return False
        self.pilot.flying = candidate
        self.recorder.change(segment, x)
        segment.stepper.start(t, x, x_dot, self._goal.end, None)
        self.events.look(segment, t, x, x_dot)
        return True

    def _respond(self, stop: Stop, *, timed: bool = False, starts: bool = True) -> float:
        """Change what the events change, and start again from there. Returns the time since the last such change.

        `timed`: the time was known, and has been reached. `starts`: on the way to the next goal; otherwise that is for
        the caller.
        """
        segments, model, t = self.segments, self.model, stop.t
        before = segments.current
        responder = self.events.responder
        asked = timed or (responder.impacts and not stop.numbers)
        if not asked and not any(map(responder.answers, stop.numbers)):
            return np.inf
        vectors = before.vectors(before.settled(t, stop.x), model)
        last = t == self.t1
        rates = before.rates(before.stepper.x_dot) if model.hybrid is not None else None
        discrete = before.model.graph.discrete_values
        state = HybridState(model, t, vectors, discrete, before.active, terminal=last, rates=rates)
        state, since_last = self.events.respond(stop, state)
        for name, rising in responder.struck:
            self.recorder.noted(t, stop.x, name, rising)
        segment = segments.switch(state)
        taken_up = before.active is not None and (segment.active is None or segment.active - before.active)
        own = segment.own_vectors(t, vectors, state.vectors, AFTER_ACTION)
        # constraints that are taken up change velocities: that is an impact
        self._unchanged = False
        if state.found is not None:
            x, x_dot = segment.start(state.found)
        elif timed and state.vectors is vectors:  # nothing that the equations contain has changed
            x, x_dot, self._unchanged = stop.x, before.stepper.x_dot.copy(), True
        elif responder.impacts:
            x, x_dot = segment.consistent(t, own, "correct")
        else:
            x, x_dot = segment.after_action(t, own, None if taken_up else AFTER_ACTION)
        self._jump(x)
        segment.stepper.x[:], segment.stepper.x_dot[:] = x, x_dot  # from where it goes on beyond a breakpoint
        if not stop.ends:
            if starts and not timed and t != self._goal.end:
                self._goal = self._next_goal(t)
                segment.stepper.start(t, x, x_dot, self._goal.end, None)
                # events that follow each other ever faster must not be stepped over
                segment.stepper.limit_first_step(0.1 * responder.soon(since_last))
            here = (*stop.numbers, *stop.also)
            self.events.look(segment, t, x, x_dot, [n for n in here if not responder.accumulates(n)])
            overdue = responder.overdue(segment.stepper.scan.values[0])
            if overdue:
                self._respond(Stop(t, x, tuple(overdue), False), starts=starts)
        return since_last

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        """Between two calls of a kernel, where all that goes on is in the hands of the parts of the loop."""
        saving = self.recorder.checkpoint
        if saving is not None and saving.due:
            message = f"checkpoint at t = {self.recorder.reached:.9g}"
            place = Place(self._memory())
            self.recorder.saved(saving.save(lambda: self.recorder.solution("running", message), place))

    def _memory(self) -> dict[str, Any]:
        return {
            "breaks": len(self._breaks),
            "goal": [self._goal.stop, self._goal.end, self._goal.broken],
            "shown": [list(pair) for pair in self.recorder.shown.items()],
            "progress": list(self._progress),
            "longest": self._longest,
            "recent": [list(piece) for piece in self._recent],
            "segments": self.segments.memory(),
            "pilot": None if self.pilot is None else self.pilot.memory(),
            "events": self.events.memory(),
            "recorder": self.recorder.memory(),
        }

    def _recall(self, place: Place) -> None:
        """Be as one was there."""
        memory = place.memory
        while len(self._breaks) > memory["breaks"]:
            self._breaks.popleft()
        self._goal, self.recorder.shown = Goal(*memory["goal"]), dict(memory["shown"])
        self._longest = memory["longest"]
        taken, reached = memory["progress"]
        self._progress = (taken, reached)
        self._recent = deque((t, x) for t, x in memory["recent"])
        self.segments.recall(memory["segments"])
        if self.pilot is not None:
            self.pilot.recall(memory["pilot"])
        self.events.recall(memory["events"])
        self.recorder.recall(memory["recorder"], place.arguments or {}, self.segments.current)

    # -- singular positions ----------------------------------------------------------------------------------------

    def _step_over(self, reason: int, end: float) -> bool:
        """Pass a singular position, if that stopped the method and its options say so. Returns whether it did."""
        segment = self.segments.current
        recent = [(float(t), x) for times, points in self._recent for t, x in zip(times, points, strict=True)]
        if not segment.stepper.wants_to_step_over(reason):
            return False
        if segment.stepper.passes(reason):
            return True
        if len(recent) < 2:
            return False
        from dalembert.simulation.singular import beyond

        found = beyond(segment.model, segment.stepper, recent[-RECENT:], end)
        if found is None:
            return False
        t, x, x_dot, coefficients = found
        self._keep(np.array([t]), np.array([t - self.recorder.reached]), coefficients[None])
        smooth = list(self._recent)  # the motion goes on: these points may be needed again
        self._jump(x)
        self._recent.extend(smooth)
        if t != end:
            segment.stepper.start(t, x, x_dot, end, None)
            self.events.look(segment, t, x, x_dot)
        return True

    def _must_progress(self) -> None:
        """Raise if the last PATIENCE steps got nowhere: a chattering force, a singularity in disguise."""
        taken = int(self.segments.current.stepper.counts[Count.ACCEPTED])
        if taken - self._progress[0] < PATIENCE:
            return
        reached = self.recorder.reached
        before, self._progress = self._progress, (taken, reached)
        advanced = abs(reached - before[1])
        if advanced < 1e-6 * abs(self.t1 - self.t0):
            raise StepSizeTooSmall(
                f"{taken - before[0]} steps advanced only {advanced:.2e}, to t = {reached:.9g}: a force may "
                "jump back and forth there (sign functions, dry friction), or the solution grow without bound. Smooth "
                "it, or describe the change by an Event"
            )

    # -- collecting ------------------------------------------------------------------------------------------------

    def _salvage(self) -> None:
        """Keep the steps that a kernel had finished when it was interrupted."""
        if not self._open:
            return
        segment = self.segments.current
        t, h, c = segment.stepper.collect()
        if segment.port is not None:  # nobody knows whether there is an event in the last one
            t, h, c = t[:-1], h[:-1], c[:-1]
        new = (t - self.recorder.last) * (self.t1 - self.t0) > 0
        self._keep(t[new], h[new], c[new])

    def _keep(self, t: np.ndarray, h: np.ndarray, c: np.ndarray) -> None:
        self.recorder.keep(t, h, c)
        self._remember(t, c[:, 0])

    def _remember(self, t: np.ndarray, x: np.ndarray) -> None:
        if not len(t) or not self.segments.current.stepper.steps_over:
            return
        self._recent.append((t[-RECENT:], x[-RECENT:]))
        kept = sum(len(times) for times, _ in self._recent)
        while len(self._recent) > 1 and kept - len(self._recent[0][0]) >= RECENT:
            kept -= len(self._recent.popleft()[0])

    def _jump(self, x: np.ndarray, unsettled: float | None = None) -> None:
        """`unsettled`: the time, if multipliers in x are the method's own."""
        self._recent.clear()
        self.recorder.jump(self.segments.current, x, unsettled)
