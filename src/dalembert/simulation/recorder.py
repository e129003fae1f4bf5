"""Everything that a simulation has computed, kept from its first step on: steps, jumps, events; and the `Solution`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FileError, SimulationError
from dalembert.model import Model
from dalembert.regularize import InitialValues
from dalembert.regularize.form import Form
from dalembert.simulation.profiling import profile
from dalembert.simulation.segments import Segment
from dalembert.simulation.settling import ROWS, Owed, Stretch
from dalembert.simulation.task import Task
from dalembert.solution import (
    EventLog,
    ImpactLog,
    Occurrence,
    Profile,
    SegmentInfo,
    Solution,
    Statistics,
    Trace,
    Trajectory,
)
from dalembert.solution.spool import Spool, Steps
from dalembert.solvers.multipliers import evaluate, settler, with_rows
from dalembert.solvers.status import ATTEMPT

if TYPE_CHECKING:
    from dalembert.compile.monitor import Monitor
    from dalembert.contact.responder import Contacts

NO_ATTEMPTS = np.zeros((0, len(ATTEMPT)))


class Recorder:
    """Keeps steps in the layout of `form`, that of the whole model, whatever the segment that they come from."""

    segment: Segment

    def __init__(self, task: Task):
        self.model, self.form, self.method, self.t0 = task.model, task.form, task.options, task.t0
        self.pilot = task.pilot
        self.sampling, self.dense = task.sampling, task.dense_output or task.sampling.everywhere
        self.steps = 0
        self.occurrences: list[Occurrence] = []
        own = len(task.events) if task.model.hybrid is not None else task.own_events
        self.event_names = [str(event.name) for event in task.events[:own]]
        self.contacts: Contacts | None = None
        self.bar, self.checkpoint, self.settings = task.bar, task.checkpoint, task.settings
        self.monitor: Monitor | None = None
        self.preparation: dict[str, float] = {}
        #: times that are recorded as others: integration ends a rounding error before a breakpoint
        self.shown: dict[float, float] = {}
        self._chunks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._owed = Owed()
        self._owed_jumps: list[tuple[int, float, Form, Model]] = []  # states after jumps that are not settled
        self._points: list[tuple[np.ndarray, np.ndarray]] = []  # at output times, when polynomials are not kept
        self._restarts: list[int] = []
        self._restart_x: list[np.ndarray] = []
        self._segments: list[SegmentInfo] = []
        self._spool: Spool | None = None  # which has the steps in place of the chunks
        self._spooled: Steps | None = None
        self.traced = task.trace
        self._attempts: list[np.ndarray] = []  # rows of a trace

    def begin(self, segment: Segment, x: np.ndarray, initial: InitialValues, *, anew: bool) -> None:
        """At the start, where the first segment has the unknowns x; what is not `anew` is going to be recalled."""
        self.initial = initial
        self._enter(segment, self.t0)
        self.reached, self.x, self._start_x = self.t0, x, segment.in_whole(x, self.form.n).copy()
        self._begun = time.perf_counter()
        if self.checkpoint is not None:
            self.checkpoint.wait()
        if self.monitor is not None:
            self.monitor.begin()
        if self.checkpoint is not None and self.checkpoint.spool and anew:
            start = self.sampling.kept(self._start_x)
            self._spool = Spool(self.checkpoint.path, start.size)
            self._spool.begin(self.t0, start)
        if not self.dense:
            first = self.sampling.first()
            self._points.append((first, np.repeat(self.sampling.kept(self._start_x)[None], len(first), axis=0)))

    # -- what happens ----------------------------------------------------------------------------------------------

    def keep(self, t: np.ndarray, h: np.ndarray, c: np.ndarray) -> None:
        """Accepted steps of the current segment: ends, sizes, polynomials."""
        if not len(t):
            return
        t[-1] = self.shown.get(float(t[-1]), t[-1])
        self.sampling.count(len(t))
        self._add(t, h, c)
        # as the method goes on, with multipliers of its own: those of the result may be settled in place
        self.x, self.reached = c[-1, 0].copy(), float(t[-1])
        self.steps += len(t)

    @property
    def last(self) -> float:
        """The end of the last step that was kept."""
        return float(self._chunks[-1][0][-1]) if self._chunks else self.reached

    def _add(self, t: np.ndarray, h: np.ndarray, c: np.ndarray) -> None:
        if not self.dense:
            try:
                self._keep_requested(t, h, c)
            except MemoryError:
                raise SimulationError(
                    f"the memory is full: after t = {self.reached:.9g} there is no room for the output that is asked "
                    "for. Ask for fewer points, or keep fewer components (Output)"
                ) from None
            return
        segment = self.segment
        settles = self._settles(segment)
        waits = self._can_wait(segment)
        if settles and not waits:
            c = settler(segment.form).settled_steps(segment.model, t, h, c)
        if self._spool is not None:
            self._to_disk(lambda spool: spool.append(t, h, self._in_result(c)))
            return
        self._chunks.append((t, h, self._in_result(c)))
        if settles and waits:
            self._owed.add(Stretch(self.steps, self.steps + len(t), self._layout_of(segment), segment.model))

    def _settles(self, segment: Segment) -> bool:
        """Whether multipliers in results follow from the motion: between steps those of explicit methods, too, where
        users have not chosen one."""
        if self.pilot is None or segment.active is not None:
            return segment.form.settles_multipliers
        return bool(self.form.slices.keys() & {"lam", "mu"})

    def _layout_of(self, segment: Segment) -> Form:
        """The form in whose layout the result has steps of a segment that can wait."""
        return segment.form if segment.places is None else self.form

    def _can_wait(self, segment: Segment) -> bool:
        """Whether multipliers can be settled when somebody looks at them: all that it needs is in the result."""
        whole = segment.places is None or (self.pilot is not None and segment.active is None)
        return whole and self.sampling.columns is None and self._spool is None

    def _to_disk(self, write: Callable[[Spool], None]) -> None:
        """SimulationError if that cannot be written; what was written before stays."""
        if self._spool is None:
            return
        try:
            write(self._spool)
        except FileError as error:
            self._spool.give_up()
            raise SimulationError(str(error)) from error

    def flush(self) -> None:
        """Let the disk have what belongs there."""
        self._to_disk(Spool.flush)

    def close(self) -> None:
        """Nothing more will be written."""
        if self._spool is not None:
            self._spool.close()

    def _in_result(self, x: np.ndarray) -> np.ndarray:
        """States of the current segment (last axis) as the result has them."""
        return self.sampling.kept(self.segment.in_whole(x, self.form.n))

    def _keep_requested(self, t: np.ndarray, h: np.ndarray, c: np.ndarray) -> None:
        """The states at output times in new steps."""
        wanted, step, s = self.sampling.within(t, h)
        if not len(wanted):
            return
        segment = self.segment
        if self._settles(segment):
            used = np.unique(np.concatenate([step, np.maximum(step - 1, 0)]))  # a step begins where the last one ends
            first, step = np.flatnonzero(np.diff(used, prepend=-2) > 1), np.searchsorted(used, step)
            c = settler(segment.form).settled_steps(segment.model, t[used], h[used], c[used], first)
        self._points.append((wanted, self._in_result(evaluate(c, step, s))))

    def tried(self, rows: np.ndarray | None) -> None:
        """Steps that were tried in the current segment, as `Stepper.take_trace` gives them."""
        if rows is None:
            return
        if self.segment.places is not None:
            column = rows[:, ATTEMPT.index("worst")]
            known = column >= 0
            column[known] = self.segment.places[column[known].astype(int)]
        self._attempts.append(rows)

    def change(self, segment: Segment, x: np.ndarray) -> None:
        """The motion goes on from x, which is what was reached but for rounding, in another segment."""
        self.segment, self.x = segment, x.copy()

    def jump(self, segment: Segment, x: np.ndarray, unsettled: float | None = None) -> None:
        """The state is x from here on, in the layout of a segment, which may be another one.

        `unsettled`: the time, if multipliers in x are the method's own.
        """
        self._enter(segment, self.reached)
        self.x = x.copy()
        if unsettled is not None and segment.form.settles_multipliers:
            if self.dense and self._can_wait(segment):
                self._owed_jumps.append((len(self._restarts), unsettled, self._layout_of(segment), segment.model))
            else:
                x = segment.settled(unsettled, x)
        after = self.sampling.kept(segment.in_whole(x, self.form.n)).copy()
        if self.dense:
            self._restarts.append(self.steps)
            self._restart_x.append(after)
        if self._points and self._points[-1][0][-1:].tolist() == [self.reached]:
            self._points[-1][1][-1] = after  # as in dense output: right after the jump

    def _enter(self, segment: Segment, t: float) -> None:
        self.segment = segment
        known = (*segment.model.names("lam"), *segment.model.names("mu")) if segment.active is not None else ()
        active = None if segment.active is None else tuple(sorted(segment.active & set(known)))
        self._segments.append(SegmentInfo(t, active, segment.model.graph.discrete))

    def occurred(self, t: float, x: np.ndarray, a: np.ndarray | None, number: int, direction: int) -> None:
        """A root of an event function."""
        if number >= len(self.event_names):  # of a contact, not of the user
            return
        before = float(np.nextafter(t, self.t0)) if t in self.model.breakpoints else t
        vectors = self.segment.vectors(self.segment.settled(before, x), self.model)
        state = {kind: value for kind, value in vectors.items() if kind in self.form.slices}
        if a is not None:
            state["a"] = a
        t = self.shown.get(float(t), float(t))
        self.occurrences.append(
            Occurrence(t=t, name=self.event_names[number], number=number, direction=direction, state=state)
        )

    def noted(self, t: float, x: np.ndarray, name: str, rising: bool) -> None:
        """An event that is no root of a function; x is the state before it."""
        state = self.segment.vectors(x, self.model)
        self.occurrences.append(Occurrence(t=t, name=name, number=-1, direction=1 if rising else -1, state=state))

    def finish(self) -> None:
        """Nothing more will come: let go what a result does not need."""
        self.bar = self.monitor = None
        self.segment = None  # ty: ignore[invalid-assignment]  # of no use any more

    def report(self) -> None:
        """Progress bar."""
        if self.bar is not None:
            self.bar(self.reached)

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """What is no result, and how much of the result there was: later ones may have more."""
        return {
            "steps": self.steps,
            "reached": self.reached,
            "x": self.x.copy(),
            "seconds": time.perf_counter() - self._begun,
            "points": sum(len(t) for t, _ in self._points),
            "next": self.sampling.next,
            "jumps": len(self._restarts),
            "segments": len(self._segments),
            "occurrences": len(self.occurrences),
            "attempts": sum(map(len, self._attempts)),
        }

    def recall(self, memory: Mapping[str, Any], arguments: Mapping[str, Any], segment: Segment) -> None:
        """Go on in a segment from the results that a file has; `arguments` are those of a `Solution`."""
        self.steps, self.reached, self.x, self.segment = memory["steps"], memory["reached"], memory["x"], segment
        self._begun = time.perf_counter() - memory["seconds"]
        trajectory: Trajectory = arguments["trajectory"]
        if self.dense:
            steps, jumps = slice(0, memory["steps"]), slice(0, memory["jumps"])
            if self.checkpoint is not None and self.checkpoint.spool:
                self._spool = Spool(self.checkpoint.path, trajectory.n, trajectory.extent, memory["steps"])
            elif memory["steps"]:
                c: Any = trajectory.coefficients  # it is dense
                self._chunks = [(trajectory.t[steps], trajectory.h[steps], c[steps])]
            self._restarts = trajectory.restarts[jumps].tolist()
            self._restart_x = list(trajectory.restart_x[jumps])
            self.sampling.count(self.steps)
        else:
            t, x = (part[: memory["points"]].copy() for part in trajectory.points())
            self._points = [(t, x)]
            self.sampling.next = memory["next"]
        self._segments = list(arguments["segments"])[: memory["segments"]]
        self.occurrences = list(arguments["events"])[: memory["occurrences"]]
        if self.traced:
            self._attempts = [arguments["trace"].rows[: memory["attempts"]]]

    # -- the result ------------------------------------------------------------------------------------------------

    def solution(self, status: str, message: str) -> Solution:
        """Everything up to now."""
        stepper, seconds = self.segment.stepper, time.perf_counter() - self._begun
        counts = stepper.counts.copy()  # the stepper may be at work again when the result is looked at

        def statistics() -> Statistics:
            return Statistics(**stepper.name_counts(counts), seconds=seconds)

        if self._spool is not None:
            self._spooled = self._spool.content()
        measured = profile(self.monitor, self.preparation) if self.monitor is not None else None
        if status == "running":  # the recorder goes on
            return Solution(**self._content(status, message, statistics, measured))
        solution = Solution.later(lambda: self._content(status, message, statistics, measured))
        if self.checkpoint is not None:
            self.saved(self.checkpoint.save(lambda: solution, last=True))
        return solution

    def saved(self, written: bool) -> None:
        """After a checkpoint, whether it could be written."""
        if written and self._spool is not None:
            self._spool.saved()

    def _content(
        self, status: str, message: str, statistics: Callable[[], Statistics], measured: Profile | None
    ) -> dict[str, Any]:
        """The arguments of a `Solution`."""
        sampling = self.sampling
        slices, names = sampling.layout(self.form)
        trajectory, t_eval = self._trajectory(sum(len(kind) for kind in names.values()))
        return dict(
            model=self.model, method=self._methods(), formulation=self.form.formulation, slices=slices, names=names,
            trajectory=trajectory, stats=statistics,
            events=EventLog(self.occurrences, names=self.event_names), status=status, message=message,
            parameters=lambda: self.model.parameters, t_eval=t_eval, initial=dict(self.initial.values),
            not_kept=sampling.not_kept(self.form), segments=self._segments, profile=measured,
            impacts=self._impacts(), settings=self.settings,
            trace=Trace(np.concatenate([NO_ATTEMPTS, *self._attempts]), self.form.variables) if self.traced else None,
        )  # fmt: skip

    def _methods(self) -> str:
        """What has integrated, as text."""
        if self.pilot is None:
            return repr(self.method)
        return " and ".join(dict.fromkeys([repr(self.pilot.first.options), *(c.method for c in self.pilot.changes)]))

    def _impacts(self) -> ImpactLog:
        if self.contacts is None:
            return ImpactLog(contacts=[contact.name for contact in getattr(self.model, "contacts", ())])
        within = (self.t0, self.reached)
        impacts = [impact for impact in self.contacts.impacts if within[0] <= impact.t <= within[1]]
        rests = [rest for rest in self.contacts.rests if within[0] <= rest.t <= within[1]]
        return ImpactLog(impacts, rests, [contact.name for contact in self.model.contacts])

    def _trajectory(self, n: int) -> tuple[Trajectory, np.ndarray | None]:
        sampling = self.sampling
        if not self.dense:
            parts = [(np.zeros(0), np.zeros((0, n))), *self._points]
            t_eval, x = (np.concatenate(p) for p in zip(*parts, strict=True))
            return Trajectory.from_points(t_eval, x, interval=(self.t0, self.reached)), t_eval
        if self._spooled is not None:
            jumps = np.array(self._restart_x).reshape(-1, n)
            trajectory = Trajectory.from_steps(self._spooled, restarts=self._restarts, restart_x=jumps)
            return trajectory, sampling.all_times(trajectory.t, trajectory.h)
        while self._owed_jumps:
            number, at, form, model = self._owed_jumps.pop()
            settler(form).settle_for(model, np.array([at]), self._restart_x[number][None])
        t, h, c = self._merged() if self._chunks else (np.zeros(0), np.zeros(0), np.zeros((0, 4, n)))
        trajectory = Trajectory(
            self.t0,
            sampling.kept(self._start_x),
            t,
            h,
            c,
            restarts=self._restarts,
            restart_x=np.array(self._restart_x).reshape(-1, n),
            trusted=True,
            unsettled=self._owed if self._owed else None,
        )
        return trajectory, sampling.all_times(t, h)

    def _merged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All steps in one piece, which takes the place of the chunks: large models fill the memory once, not twice."""
        rows = max(chunk[2].shape[1] for chunk in self._chunks)
        if self._owed:
            rows = max(rows, ROWS)
        if len(self._chunks) > 1:
            steps, n = sum(len(chunk[0]) for chunk in self._chunks), self._chunks[0][2].shape[2]
            whole = np.empty(steps), np.empty(steps), np.zeros((steps, rows, n))
            chunks, self._chunks, first = self._chunks[::-1], [whole], 0
            while chunks:
                t, h, c = chunks.pop()
                last = first + len(t)
                whole[0][first:last], whole[1][first:last], whole[2][first:last, : c.shape[1]] = t, h, c
                first = last
        elif self._chunks[0][2].shape[1] < rows:
            t, h, c = self._chunks[0]
            self._chunks = [(t, h, with_rows(c, rows))]
        return self._chunks[0]
