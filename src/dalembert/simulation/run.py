"""One simulation under way: segments between breakpoints, events, restarts; everything computed is kept."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import (
    DalembertError,
    FunctionFailed,
    Interrupted,
    SimulationError,
    StepRefused,
    StepSizeTooSmall,
)
from dalembert.model import EquationsOfMotion, ImplicitDAE, Model
from dalembert.model.event import Event, trace_events
from dalembert.model.namespace import explain_unknown
from dalembert.regularize import InitialValues, consistent_initial_values, start_vectors
from dalembert.simulation.output import INTERNAL
from dalembert.simulation.polynomials import derivative, polynomial, shortened
from dalembert.simulation.profiling import profile
from dalembert.solution import EventLog, Occurrence, Solution, Statistics, Trace, Trajectory
from dalembert.solvers.status import Status as status

#: accepted steps that must bring the simulation forward by a millionth of the interval
PATIENCE = 10_000
#: accepted points that are remembered
RECENT = 400
#: restarts by one event that are remembered, and how many of them at practically the same time mean that it accumulates
RESTARTS, RESTARTS_AT_ONCE = 8, 4
#: inputs are looked at at so many times to know their size; differences below this fraction of it are rounding errors
INPUT_SAMPLES, ROUNDING = 33, 1e-13


class Run:
    """One simulation under way: segments between breakpoints, events, restarts, collected steps."""

    def __init__(self, model, stepper, events, port, options, t0, t1, sampling, dense_output, tolerances):
        self.model, self.stepper, self.events, self.port, self.options = model, stepper, events, port, options
        self.t0, self.t1, self.sampling, self.tolerances = t0, t1, sampling, tolerances
        self.dense = dense_output or sampling.everywhere
        self.direction = 1.0 if t1 >= t0 else -1.0
        self.chunks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.steps = 0
        self.restarts: list[int] = []
        self.restart_x: list[np.ndarray] = []
        self.points: list[tuple[np.ndarray, np.ndarray]] = []  # at output times, when polynomials are not kept
        self.occurrences: list[Occurrence] = []
        self.counts = np.zeros(len(events), int)
        self.finished_by: str | None = None
        self.last_restart = t0
        self.wants_to_step_over = getattr(stepper, "wants_to_step_over", None)
        self.recent: deque[tuple[np.ndarray, np.ndarray]] = deque()  # times and points to extrapolate from, in pieces
        self.restarts_by = [deque(maxlen=RESTARTS) for _ in events]
        self.bar: Callable[[float], None] | None = None
        self.checkpoint: Path | None = None
        self.monitor = None  # of a profile
        self.preparation: dict[str, float] = {}
        self.progress = (0, t0)  # accepted steps and time when progress was last looked at
        self.begin = self.last_save = time.perf_counter()

    # -- the loop --------------------------------------------------------------------------------------------------

    def go(self, initial: InitialValues, first_step: float | None) -> Solution:
        self.initial = initial
        self.start_x, x_dot = start_vectors(self.stepper.system, initial)
        self.begin = time.perf_counter()
        if self.monitor is not None:
            self.monitor.begin()
        if not self.dense:
            first = self.sampling.first()
            self.points.append((first, np.repeat(self.sampling.kept(self.start_x)[None], len(first), axis=0)))
        try:
            self._integrate(self.start_x, x_dot, first_step)
        except KeyboardInterrupt as interrupt:
            if isinstance(interrupt, DalembertError):
                raise
            message = (
                f"interrupted at t = {self._reached():.9g}; the exception's .solution holds everything up to there"
            )
            raise Interrupted(message, self._solution("interrupted", message)) from None
        except StepRefused as refusal:
            message = f"a model function refused at the start of a step: {refusal}"
            raise FunctionFailed(message, self._solution("failed", message)) from refusal
        except SimulationError as error:
            error.solution = self._solution("failed", str(error))
            raise
        finally:
            if self.bar is not None:
                self.bar(np.nan)
        state = "finished" if self.finished_by is None else f"terminated by event '{self.finished_by}'"
        return self._solution(state, f"reached t = {self._reached():.9g}")

    def _integrate(self, x: np.ndarray, x_dot: np.ndarray, first_step: float | None) -> None:
        t = self.t0
        if self.t0 == self.t1:
            return
        inside = sorted(
            (
                b
                for b in self.model.breakpoints
                if (b - self.t0) * self.direction > 0 and (self.t1 - b) * self.direction > 0
            ),
            reverse=self.direction < 0,
        )
        smooth = self._smooth(inside)
        self._set_event_values(t, x, x_dot, None)
        for stop in [*inside, self.t1]:
            # inputs jump at breakpoints: keep every evaluation strictly on one side
            end = stop if stop == self.t1 else np.nextafter(stop, self.t0)
            if t == end:
                continue
            self.stepper.start(t, x, x_dot, end, first_step)
            first_step = None
            if self._segment(end):
                return
            if stop != self.t1:
                t = float(np.nextafter(stop, self.t1))
                if stop in smooth:
                    x, x_dot = self.stepper.x.copy(), self.stepper.state.x_dot.copy()
                else:
                    x, x_dot = self._continue_from(self.stepper.x, t)
                self._jump(x)
                self._set_event_values(t, x, x_dot, None)

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

    def _segment(self, end: float) -> bool:
        """Integrate to `end`. Returns True if a terminal event ended the simulation."""
        while True:
            reason = self.stepper.advance()
            t, h, c = self.stepper.collect()
            if reason == status.EVENT:
                self._keep(t[:-1], h[:-1], c[:-1])
                if self._handle_events(t[-1], h[-1], c[-1], end):
                    return True
            elif reason == status.EVENT_FAILED:
                self._keep(t[:-1], h[:-1], c[:-1])
            else:
                self._keep(t, h, c)
            self._report()
            if reason == status.DONE:
                return False
            if reason in (status.BUFFER_FULL, status.EVENT):
                self._must_progress()
                continue
            if reason == status.EVENT_FAILED:
                raise self._event_failure(float(self.stepper.scan.failed[0]), self.stepper.scan.out)
            if self._step_over(reason, end):
                continue
            raise self.stepper.explain(reason)

    def _step_over(self, reason: int, end: float) -> bool:
        """Pass a singular position, if that stopped the method and its options say so. Returns whether it did."""
        wanted = self.wants_to_step_over
        recent = [(float(t), x) for times, points in self.recent for t, x in zip(times, points, strict=True)]
        if wanted is None or not wanted(reason) or len(recent) < 2:
            return False
        from dalembert.simulation.singular import beyond

        found = beyond(self.model, self.stepper, recent[-RECENT:], end)
        if found is None:
            return False
        t, x, x_dot, coefficients = found
        self._keep(np.array([t]), np.array([t - self._reached()]), coefficients[None])
        smooth = list(self.recent)  # the motion goes on: these points may be needed again
        self._jump(x)
        self.recent.extend(smooth)
        if t != end:
            self.stepper.start(t, x, x_dot, end, None)
            self._set_event_values(t, x, x_dot, None)
        return True

    def _must_progress(self) -> None:
        """Raise if the last PATIENCE steps got nowhere: a chattering force, a singularity in disguise."""
        taken = self.stepper.counters["accepted"]
        if taken - self.progress[0] < PATIENCE:
            return
        before, self.progress = self.progress, (taken, self._reached())
        advanced = abs(self.progress[1] - before[1])
        if advanced < 1e-6 * abs(self.t1 - self.t0):
            raise StepSizeTooSmall(
                f"{taken - before[0]} steps advanced only {advanced:.2e}, to t = {self._reached():.9g}: a force may "
                "jump back and forth there (sign functions, dry friction), or the solution grow without bound. Smooth "
                "it, or describe the change by an Event"
            )

    def _event_failure(self, t: float, values: np.ndarray) -> FunctionFailed:
        error = self.port.take_error()
        if isinstance(error, SimulationError):
            return error
        bad = [event.name for event, value in zip(self.events, values, strict=False) if not np.isfinite(value)]
        names = ", ".join(f"'{name}'" for name in bad or [event.name for event in self.events])
        reason = error or self.port.take_refusal()
        said = f" ({type(error).__name__}: {error})" if error is not None else f" ({reason})" if reason else ""
        return FunctionFailed(f"the function of event {names} cannot be evaluated at t = {t:.9g}{said}")

    # -- events ----------------------------------------------------------------------------------------------------

    def _handle_events(self, t: float, h: float, c: np.ndarray, end: float) -> bool:
        """Deal with the roots in the last step. Returns True if the simulation ends here."""
        from dalembert.compile.kernel import announce

        with announce():
            from dalembert.solvers.roots import go_on, locate_roots

        scan = self.stepper.scan
        which, where, rising = np.zeros(64, np.int64), np.zeros(64), np.zeros(64, np.int64)
        found = locate_roots(scan, self.stepper.ports, t, h, c, which, where, rising)
        for k in np.argsort(where[:found], kind="stable"):
            number, s, sign = int(which[k]), float(where[k]), int(rising[k])
            event = self.events[number]
            if event.direction and event.direction != sign:
                continue
            self.counts[number] += 1
            stops = bool(event.terminal) and self.counts[number] >= int(event.terminal)
            if not stops and event.action is None:
                self._record(*self._projected_root(t, h, c, s, number), event, number, sign)
                continue
            root, x, a = self._step_to_root(t, h, c, s, number)
            self._record(root, x, a, event, number, sign)
            if stops:
                self.finished_by = event.name
            if event.action is not None:
                self._act(event, number, root, x, end, restart=not stops)
            return stops
        self._keep(t[None] if isinstance(t, np.ndarray) else np.array([t]), np.array([h]), c[None])
        go_on(scan)
        return False

    def _projected_root(self, t: float, h: float, c: np.ndarray, s: float, number: int) -> tuple:
        """The root again, by Newton's method on the dense output projected onto the constraints, if the method can.

        Returns the time, the state and the accelerations there.
        """
        project = getattr(self.stepper, "projected", None)
        x, a = polynomial(c, s), self._acceleration(c, s, h)
        if project is None:
            return t + s * h, x, a
        width = 1e-5
        ahead, behind = (
            self._event_value(t + e * h, polynomial(c, e), self._acceleration(c, e, h), number)
            for e in (s + width, s - width)
        )
        slope, before = (ahead - behind) / (2 * width), np.inf
        for _ in range(10):
            x = project(t + s * h, polynomial(c, s))
            if x is None:
                return t + s * h, polynomial(c, s), a
            a = self._acceleration(c, s, h)
            change = -self._event_value(t + s * h, x, a, number) / slope if slope != 0 else np.inf
            # it must converge, and stay within the step
            if not abs(change) < 0.5 * before or not -1 <= s + change <= 0 or abs(change) * abs(h) < np.spacing(abs(t)):
                break
            before, s = abs(change), s + change
        return t + s * h, x, a

    def _acceleration(self, c: np.ndarray, s: float, h: float) -> np.ndarray | None:
        """v' on the polynomial of a step; None if there are no velocities."""
        part = self.stepper.system.slices.get("v")
        return None if part is None else derivative(c[:, part], s) / h

    def _step_to_root(self, t: float, h: float, c: np.ndarray, s: float, number: int) -> tuple:
        """Repeat the step so that it ends at the root: dense output is less accurate than the method itself.

        Returns the time, the state and the accelerations there.
        """
        t_before = t - h
        x_before = self._last_x()
        root = t + s * h
        # the polynomial gives x' at the start of the step well enough for Newton's matrix
        x_dot = derivative(c, -1.0) / h
        kept = (np.array([root]), np.array([h * (1 + s)]), shortened(c, s)[None])
        if abs(root - t_before) <= 64 * np.spacing(max(abs(t_before), abs(root))):
            return t_before, x_before.copy(), self._acceleration(c, -1.0, h)  # no step is that short
        if getattr(self.stepper, "interpolates", False):  # to the accuracy of its steps; and has no history to lose
            self._keep(*kept)
            return float(root), kept[2][0, 0], self._acceleration(c, s, h)
        counts, attempts = self.stepper.state.count.copy(), self.stepper.attempts
        try:
            for _ in range(4):
                self.stepper.start(t_before, x_before, x_dot, root, abs(root - t_before))
                pieces, reason = [], status.EVENT
                while reason in (status.EVENT, status.BUFFER_FULL):
                    reason = self.stepper.advance()
                    pieces.append(self.stepper.collect())
                if reason != status.DONE:
                    break
                kept = tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))
                last, size = kept[2][-1], kept[1][-1]
                value, earlier = (
                    self._event_value(root + e * size, polynomial(last, e), self._acceleration(last, e, size), number)
                    for e in (0.0, -1e-4)
                )
                slope = (value - earlier) / (1e-4 * size)
                if slope == 0 or not np.isfinite(slope):
                    break
                correction = -value / slope
                small = abs(correction) <= 1e-14 * max(abs(root), abs(h))
                if small or not 0 < (root + correction - t_before) / h < 1.5:
                    break
                root += correction
        finally:
            self.stepper.state.count[:] = counts  # the detour is not part of the method's statistics
            self.stepper.cut_trace(attempts)
        self._keep(*kept)
        return float(kept[0][-1]), kept[2][-1, 0], self._acceleration(kept[2][-1], 0.0, kept[1][-1])

    def _accumulate(self, restarts: Sequence[float]) -> bool:
        """Whether the last restarts came at practically the same time, or ever faster and nearly at the same time.

        Later ones would be lost among the errors of the state, and the motion go on beyond the root.
        """
        if len(restarts) < RESTARTS_AT_ONCE:
            return False
        lasted = abs(restarts[-1] - restarts[-RESTARTS_AT_ONCE])
        faster = len(restarts) == RESTARTS and (np.diff(np.abs(np.diff(restarts))) < 0).all()
        return lasted <= (1e-7 if faster else 1e-9) * abs(self.t1 - self.t0)

    def _act(self, event: Event, number: int, t: float, x: np.ndarray, end: float, restart: bool) -> None:
        """Change the state as the event's action says and restart there."""
        since_last, self.last_restart = abs(t - self.last_restart), t
        recent = self.restarts_by[number]
        recent.append(t)
        if self._accumulate(recent):
            raise SimulationError(
                f"event '{event.name}' accumulates at t = {t:.7g} ({RESTARTS_AT_ONCE} restarts without progress): "
                "make it terminal there, for instance with a second event on the speed"
            )
        values = {kind: x[part].copy() for kind, part in self.stepper.system.slices.items()}
        theta = self.model.theta(t)
        kinds = tuple(self.model.graph.vectors)
        complete = {kind: values.get(kind, np.zeros(0)) for kind in kinds}
        namespace = self.model.graph.numbers(kinds, {}, t, complete, theta)
        try:
            changes = event.action(namespace)
        except Exception as error:
            raise SimulationError(
                f"the action of event '{event.name}' raised {type(error).__name__}: {error} at t = {t:.9g}"
            ) from error
        changed = self._changed(event, complete, {} if changes is None else changes, t)
        start = {f"{kind}0": value for kind, value in changed.items() if kind not in ("lam", "mu")}
        initial = consistent_initial_values(self.model, t, mode="correct", **start, **self._rates())
        x, x_dot = start_vectors(self.stepper.system, initial)
        self._jump(x)
        if restart and t != end:
            # events that follow each other ever faster must not be stepped over
            self.stepper.start(t, x, x_dot, end, None)
            self.stepper.limit_first_step(0.1 * since_last)
            self._set_event_values(t, x, x_dot, number)

    def _changed(self, event: Event, values: dict[str, np.ndarray], changes: Any, t: float) -> dict[str, np.ndarray]:
        if not isinstance(changes, Mapping):
            raise SimulationError(
                f"the action of event '{event.name}' must return a mapping of names to values, not {changes!r}"
            )
        places = {name: (kind, i) for kind in values for i, name in enumerate(self.model.names(kind))}
        for name, value in changes.items():
            try:
                new = np.asarray(value, float)
            except (TypeError, ValueError):
                new = np.full(1, np.nan)
            if not np.isfinite(new).all() or (name in places and new.size != 1):
                raise SimulationError(f"the action of event '{event.name}' sets '{name}' to {value!r} at t = {t:.9g}")
            if name in places:
                kind, i = places[name]
                values[kind][i] = float(new.reshape(()))
            elif name in values:
                if new.shape != values[name].shape:
                    raise SimulationError(
                        f"the action of event '{event.name}' gives {new.size} values for {name}, "
                        f"which has {values[name].size}"
                    )
                values[name][:] = new
            else:
                raise SimulationError(
                    f"the action of event '{event.name}': {explain_unknown(name, [*places, *values])}"
                )
        return values

    def _event_state(self, x: np.ndarray, a: np.ndarray | None) -> np.ndarray:
        """What the port of the events takes."""
        return np.concatenate([x, a]) if self.port.n_x > len(x) else np.ascontiguousarray(x)

    def _event_value(self, t: float, x: np.ndarray, a: np.ndarray | None, number: int) -> float:
        return float(self.port(t, self._event_state(x, a), self.model.theta(t))[number])

    def _set_event_values(self, t: float, x: np.ndarray, x_dot: np.ndarray, just_happened: int | None) -> None:
        """Values at the start of a segment; exactly zero (no sign) for the event that led here."""
        if self.port is None:
            return
        scan = self.stepper.scan
        values = np.zeros(len(self.events))
        a = x_dot[self.stepper.system.slices.get("v", slice(0))]
        if self.port.call_status(t, self._event_state(x, a), self.model.theta(t), values):
            raise self._event_failure(t, values)
        if just_happened is not None:
            values[just_happened] = 0.0
        scan.values[0] = values
        scan.threshold[:] = [event.threshold for event in self.events]
        scan.sign[:] = np.where(np.abs(values) > scan.threshold, np.sign(values), 0.0)

    def _record(self, t: float, x: np.ndarray, a: np.ndarray | None, event: Event, number: int, sign: int) -> None:
        state = {kind: np.array(x[part]) for kind, part in self.stepper.system.slices.items() if kind not in INTERNAL}
        if a is not None:
            state["a"] = a
        self.occurrences.append(Occurrence(t=float(t), name=event.name, number=number, direction=sign, state=state))

    # -- collecting ------------------------------------------------------------------------------------------------

    def _keep(self, t: np.ndarray, h: np.ndarray, c: np.ndarray) -> None:
        if not len(t):
            return
        self.end_x = c[-1, 0]
        self.end_t = float(t[-1])
        if self.wants_to_step_over is not None:
            self.recent.append((t[-RECENT:], c[-RECENT:, 0]))
            kept = sum(len(times) for times, _ in self.recent)
            while len(self.recent) > 1 and kept - len(self.recent[0][0]) >= RECENT:
                kept -= len(self.recent.popleft()[0])
        self.steps += len(t)
        c = self.sampling.kept(c)
        if self.dense:
            self.chunks.append((t, h, c))
            return
        # only the requested times are kept
        wanted, step, s = self.sampling.within(t, h)
        if len(wanted):
            x = c[step, -1]
            for k in range(c.shape[1] - 2, -1, -1):
                x = x * s[:, None] + c[step, k]
            self.points.append((wanted, x))

    def _jump(self, x: np.ndarray) -> None:
        self.recent.clear()
        self.restarts.append(self.steps)
        self.restart_x.append(self.sampling.kept(x).copy())
        self.end_x = x.copy()
        if self.points and self.points[-1][0][-1:].tolist() == [self._reached()]:
            self.points[-1][1][-1] = self.sampling.kept(x)  # as in dense output: right after the jump

    def _last_x(self) -> np.ndarray:
        return self.end_x if self.steps or self.restarts else self.start_x

    def _reached(self) -> float:
        return self.end_t if self.steps else self.t0

    def _continue_from(self, x: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Restart values at a breakpoint: states stay, multipliers and accelerations may jump."""
        slices = self.stepper.system.slices
        kinds = ("p", "v", "r", "w", "s") if isinstance(self.model, EquationsOfMotion) else ("x",)
        start = {f"{kind}0": x[slices[kind]].copy() for kind in kinds if kind in slices}
        mode = "trust" if isinstance(self.model, EquationsOfMotion) else "correct"
        start.pop("w0", None) if mode == "trust" else None
        start |= self._rates()
        return start_vectors(self.stepper.system, consistent_initial_values(self.model, t, mode=mode, **start))

    def _rates(self) -> dict[str, np.ndarray]:
        """The last derivatives, which tell an implicit DAE where to look for the next ones."""
        return {"dx0": self.stepper.state.x_dot.copy()} if isinstance(self.model, ImplicitDAE) else {}

    def _report(self) -> None:
        if self.bar is not None:
            self.bar(self._reached())
        if self.checkpoint is not None and time.perf_counter() - self.last_save > 30:
            self._solution("running", f"checkpoint at t = {self._reached():.9g}").save(self.checkpoint)
            self.last_save = time.perf_counter()

    def _merged(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All steps in one piece, which takes the place of the chunks: large models fill the memory once, not twice."""
        if len(self.chunks) > 1:
            steps = sum(len(chunk[0]) for chunk in self.chunks)
            whole = tuple(np.empty((steps, *part.shape[1:])) for part in self.chunks[0])
            chunks, self.chunks, first = self.chunks[::-1], [whole], 0
            while chunks:
                chunk = chunks.pop()
                last = first + len(chunk[0])
                for part, target in zip(chunk, whole, strict=True):
                    target[first:last] = part
                first = last
        return self.chunks[0]

    def _solution(self, state: str, message: str) -> Solution:
        system, sampling = self.stepper.system, self.sampling
        slices, names = sampling.layout(system)
        n = sum(len(kind) for kind in names.values())
        if self.dense:
            t, h, c = self._merged() if self.chunks else (np.zeros(0), np.zeros(0), np.zeros((0, 4, n)))
            trajectory = Trajectory(
                self.t0,
                sampling.kept(self.start_x),
                t,
                h,
                c,
                restarts=self.restarts,
                restart_x=np.array(self.restart_x).reshape(-1, n),
            )
            t_eval = sampling.all_times(t, h)
        else:
            parts = [(np.zeros(0), np.zeros((0, n))), *self.points]
            t_eval, x = (np.concatenate(p) for p in zip(*parts, strict=True))
            trajectory = Trajectory.from_points(t_eval, x, interval=(self.t0, self._reached()))
        solution = Solution(
            model=self.model, method=repr(self.options), formulation=system.formulation, slices=slices, names=names,
            trajectory=trajectory, stats=Statistics(**self.stepper.counters, seconds=time.perf_counter() - self.begin),
            events=EventLog(self.occurrences, names=[event.name for event in self.events]),
            status=state, message=message, parameters=self.model.parameters, t_eval=t_eval,
            initial=dict(self.initial.values), partial=sampling.columns is not None,
            profile=profile(self.monitor, self.preparation) if self.monitor is not None else None,
            trace=Trace(self.stepper.collect_trace(), system.variables) if self.stepper.traced else None,
        )  # fmt: skip
        if self.checkpoint is not None and state != "running":
            solution.save(self.checkpoint)
        return solution


def event_port(model: Model, system, events: list[Event]):
    """A port for all event functions, of x, or of (x, v') if one of them reads accelerations that x does not hold."""
    if not events:
        return None
    from dalembert.compile.system import expression_port

    key = ("events", system.formulation, tuple(id(event.function) for event in events))
    with model.lock:
        if key not in model.cache:
            values, graph, x, behind = trace_events(model, events), model.graph, system.x, None
            reads = ca.depends_on(values, graph.a) or graph.externals_in(values)
            if graph.size("v") and "a" not in system.slices and reads:
                x, behind = ca.vertcat(x, graph.a), {"a": slice(system.n, system.n + graph.size("v"))}
            # the functions are kept alive with the port, so that their ids stay theirs
            functions = [event.function for event in events]
            model.cache[key] = (expression_port(system, values, x, behind=behind), functions)
        return model.cache[key][0]
