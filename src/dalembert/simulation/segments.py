"""Segments: stretches of time on which one form is integrated by one stepper.

Between segments the state may jump, and the constraints in force or the values of discrete variables change. The form
of the whole model is where solutions are recorded; each other form knows where its unknowns stand in that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.compile.events import event_port, reads, traced_events
from dalembert.errors import SimulationError
from dalembert.model import Model
from dalembert.model.restricted import restricted
from dalembert.model.vocabulary import VOCABULARY
from dalembert.regularize import InitialValues
from dalembert.regularize.form import Form
from dalembert.regularize.half_explicit import MULTIPLIERS
from dalembert.regularize.impulse import across_kink, after_impact
from dalembert.regularize.judgement import OCCASION, warn_of_change
from dalembert.simulation.hybrid import HybridState
from dalembert.simulation.layout import reduction_of, tightened
from dalembert.simulation.task import Task
from dalembert.solvers.method import RunSpec, Snapshot, Stepper
from dalembert.solvers.multipliers import multipliers_of
from dalembert.solvers.start import start_values

if TYPE_CHECKING:
    from dalembert.simulation.pilot import Candidate

#: of the interval: the longest steps where there are contacts, or relations
OF_INTERVAL = 0.02


@dataclass(frozen=True, eq=False)
class Segment:
    """What is integrated with what."""

    model: Model  # with the constraints that are in force
    form: Form
    stepper: Stepper
    port: Any  # of the event functions; None: there are none
    active: frozenset[str] | None  # constraints in force; None: all
    places: np.ndarray | None  # of the unknowns in the form of the whole model; None: they are the same
    #: the method itself says which contacts are closed: none is in force at a restart
    unforced: bool = field(default=False, kw_only=True)

    @property
    def restarted(self) -> Model:
        """The model that restart values belong to."""
        return restricted(self.model, self.model.bilateral) if self.unforced else self.model

    def in_whole(self, x: np.ndarray, n: int) -> np.ndarray:
        """Values of the unknowns (last axis) where the form of the whole model, of n unknowns, has them."""
        if self.places is None:
            return x
        known = self.places >= 0
        out = np.zeros((*x.shape[:-1], n))
        out[..., self.places[known]] = x[..., known]
        return out

    def start(self, initial: InitialValues) -> tuple[np.ndarray, np.ndarray]:
        """x and x' of start values for what is in force."""
        return self.form.start(initial)

    def of_model(self, model: Model) -> Segment:
        """The same with other values of discrete variables."""
        return replace(self, model=model)

    def consistent(
        self, t: float, vectors: Mapping[str, np.ndarray], mode: str, occasion: tuple[str, str] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """x and x' at t from vectors of the model, made consistent with what is in force here.

        `occasion` is how a warning calls values that this changes noticeably; None: that they change is meant.
        """
        model = self.model
        given: dict[str, Any] = {f"{kind}0": vectors[kind] for kind in model.settable_kinds if kind in vectors}
        # the last derivatives tell where to look for the next ones
        rates, slices = self.stepper.x_dot, self.form.slices
        given |= {f"{kind}0": rates[slices[str(VOCABULARY[kind].of)]].copy() for kind in model.given_rates}
        token = OCCASION.set(occasion)
        try:
            found = start_values(self.restarted, t, given, mode=mode)
            return self.form.start(of_whole(found, self.model) if self.unforced else found)
        finally:
            OCCASION.reset(token)

    def after_breakpoint(self, before: float, after: float) -> tuple[np.ndarray, np.ndarray]:
        """Restart values: multipliers and accelerations may jump, velocities where constraints demand it."""
        vectors = self.form.vectors(self.stepper.x)
        kept = {kind: vectors[kind] for kind in self.model.continuous_kinds if kind in vectors}
        if self.model.mechanical:
            model = self.model
            if model.has_contacts:  # what they do to velocities is for them to say
                model = restricted(model, model.bilateral)
            moved = across_kink(model, before, after, kept)
            kept = {kind: moved[kind] for kind in kept}
        return self.consistent(after, kept, self.model.restart_mode)

    def after_action(
        self, t: float, vectors: Mapping[str, np.ndarray], occasion: tuple[str, str] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """x and x' at t after an action; velocities that constraints do not allow change by an impulse."""
        if self.model.mechanical:
            given, v = vectors["v"], after_impact(self.restarted, t, vectors)
            warn_of_change(self.model.names("v"), given, v, "the constraints on velocity level", t, occasion)
            vectors = {**vectors, "v": v}
        return self.consistent(t, vectors, "correct", occasion)

    def own_vectors(
        self, t: float, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], occasion: tuple[str, str]
    ) -> Mapping[str, np.ndarray]:
        """Vectors of the whole model, before and after an action, as this segment's model has those after it."""
        return after

    def acceleration(self, x_dot: np.ndarray) -> np.ndarray | None:
        """v' in x'; None if there are no velocities."""
        part = self.form.slices.get("v")
        return None if part is None else x_dot[part]

    def rates(self, x_dot: np.ndarray) -> np.ndarray:
        """The derivatives of the unknowns of a DAE."""
        return x_dot[self.form.slices["x"]].copy()

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """x with the multipliers that results have, which may be better than the method's own."""
        if not self.form.settles_multipliers:
            return x
        rows = x[None].copy()
        multipliers_of(self.form).settle_for(self.model, np.array([t]), rows)
        return rows[0]

    def vectors(self, x: np.ndarray, whole: Model) -> dict[str, np.ndarray]:
        """The vectors of the whole model, with zeros for multipliers of released constraints, as copies."""
        own = self.form.vectors(x)
        vectors = {}
        for kind, names in whole.graph.vectors.items():
            vectors[kind] = own.get(kind, np.zeros(0))
            if self.active is not None and kind in MULTIPLIERS:
                known = dict(zip(self.model.names(kind), vectors[kind], strict=True))
                vectors[kind] = np.array([known.get(name, 0.0) for name in names])
        return vectors


def of_whole(found: InitialValues, model: Model) -> InitialValues:
    """Values of a model without the rows of its contacts, as those of the model: their multipliers are zero."""
    graph = restricted(model, model.bilateral).graph
    return replace(found, values=graph.whole_values(found.values))


@dataclass(frozen=True, eq=False)
class ComplementarySegment(Segment):
    """A segment of a method whose steps decide which of the closed contacts act.

    Its form has the rows of all of them. Values are made consistent with those that are in force, in `held`.
    """

    held: Segment = field(kw_only=True)

    def of_model(self, model: Model) -> ComplementarySegment:
        own = self.held.model.with_discrete(model.graph.discrete_values)
        return replace(self, model=model, held=self.held.of_model(own))

    def start(self, initial: InitialValues) -> tuple[np.ndarray, np.ndarray]:
        x, x_dot = self.held.start(initial)
        return self.held.in_whole(x, self.form.n), self.held.in_whole(x_dot, self.form.n)

    def consistent(
        self, t: float, vectors: Mapping[str, np.ndarray], mode: str, occasion: tuple[str, str] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        x, x_dot = self.held.consistent(t, vectors, mode, occasion)
        return self.held.in_whole(x, self.form.n), self.held.in_whole(x_dot, self.form.n)

    def after_action(
        self, t: float, vectors: Mapping[str, np.ndarray], occasion: tuple[str, str] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        x, x_dot = self.held.after_action(t, vectors, occasion)
        return self.held.in_whole(x, self.form.n), self.held.in_whole(x_dot, self.form.n)


class Segments:
    """Makes the segments of one run; those with the same constraints in force share form and stepper."""

    def __init__(self, task: Task, start: HybridState | None = None):
        self.task, self.model = task, task.model
        self.reduction = reduction_of(task.model)
        if self.reduction is None:
            self._traced = traced_events(task.form.model, task.events, task.model.outputs)
        else:
            base = self.reduction.base
            self._traced = traced_events(base, task.events, base.outputs)
        self._samples = max((event.check_points for event in task.events), default=1)
        #: by the constraints in force, and by the method where several take part
        self._known: dict[tuple[frozenset[str] | None, Candidate | None], Segment] = {}
        self.candidate = None if task.pilot is None else task.pilot.explicit
        self.current = self.of(None if start is None else start.active)
        if start is not None:
            self.switch(start)

    def of(self, active: frozenset[str] | None, candidate: Candidate | None = None) -> Segment:
        """The segment with these constraints in force, of the method that integrates now or of a given one."""
        key = active, candidate or self.candidate
        if key not in self._known:
            complementary = self.task.options.complementary
            self._known[key] = self._complementary(active) if complementary else self._new(*key)
        return self._known[key]

    def take(self, candidate: Candidate) -> Segment:
        """The segment of another method with the same constraints in force, from now on; counters go on in it."""
        before, self.candidate = self.current, candidate
        self.current = segment = self.of(before.active)
        segment.stepper.counts[:] = before.stepper.counts
        model = segment.model.with_discrete(before.model.graph.discrete_values)
        if model is not segment.model:
            segment.stepper.set_discrete(model)
            self.current = self._known[before.active, candidate] = segment.of_model(model)
        return self.current

    def _complementary(self, active: frozenset[str] | None) -> Segment:
        """One form and stepper for all; what is in force tells them apart."""
        task = self.task
        whole = next((known for known in self._known.values()), None) or self._new(None, None)
        model = task.model if active is None else restricted(task.model, active)
        form = task.options.formulate(model)
        places = None if active is None else form.places_in(task.form)
        held = Segment(model, form, whole.stepper, whole.port, active, places)
        return ComplementarySegment(whole.model, whole.form, whole.stepper, whole.port, active, None, held=held)

    def _new(self, active: frozenset[str] | None, candidate: Candidate | None) -> Segment:
        task = self.task
        options = task.options if candidate is None else candidate.options
        model, form, tolerances = task.model, task.form, task.tolerances
        places = None
        if candidate is not None:
            form, tolerances = candidate.form, candidate.tolerances
            places = form.places_in(task.form)
        if self.reduction is not None:
            model = self.reduction.of(model)
            form = task.options.formulate(model)
            places = form.places_in(task.form)
            assert places is not None, "unknowns have been eliminated"
            tolerances = tightened(tolerances, places, self.reduction, task.form.slices["x"])
        if active is not None:
            if not model.mechanical:
                raise SimulationError("constraints can be released in EquationsOfMotion only")
            model = restricted(model, active)
            whole, form = form, options.formulate(model)
            own, places = form.places_in(whole), form.places_in(task.form)
            if own is not None:
                tolerances = tolerances.at(own)
        port = event_port(form, self._traced)
        if form.settles_multipliers and reads(self._traced, form, ("lam", "mu", "w")):
            port = multipliers_of(form).events(port)
        spec = RunSpec(
            model=model,
            tolerances=tolerances,
            max_step=self._max_step(),
            max_steps=task.max_steps,
            events=port,
            samples=self._samples,
            trace=task.trace,
        )
        if self.reduction is not None:
            from dalembert.simulation.reduced_segment import ReducedSegment  # which derives from the class above

            return ReducedSegment(
                model, form, options.stepper(form, spec), port, active, places,
                reduction=self.reduction, all_x=task.form.slices["x"],
            )  # fmt: skip
        unforced = options.treats_contacts and model.mechanical and bool(model.contacts)
        return Segment(model, form, options.stepper(form, spec), port, active, places, unforced=unforced)

    def _max_step(self) -> float:
        """With contacts steps have a limit: bodies at rest need none, but their forces may change with time. So it is
        with relations between unknowns that follow from the time alone, of which no error tells."""
        watches = self.model.hybrid is not None and bool(self.model.hybrid.relations)
        if not watches and (not self.model.has_contacts or self.task.options.treats_contacts):
            return self.task.max_step
        return min(self.task.max_step, OF_INTERVAL * abs(self.task.t1 - self.task.t0))

    def switch(self, state: HybridState) -> Segment:
        """The segment for a state; counters go on in it."""
        before, segment = self.current, self.of(state.active)
        if segment.stepper is not before.stepper:
            segment.stepper.counts[:] = before.stepper.counts
        model = segment.model.with_discrete(state.discrete)
        if model is not segment.model or segment.stepper is before.stepper:
            segment.stepper.set_discrete(model)
            segment = self._known[state.active, self.candidate] = segment.of_model(model)
        self.current = segment
        return segment

    # -- checkpoints -----------------------------------------------------------------------------------------------

    @property
    def _candidates(self) -> list[Candidate | None]:
        pilot = self.task.pilot
        return [None] if pilot is None else [pilot.explicit, pilot.implicit]

    def memory(self) -> dict[str, Any]:
        """All segments, with the records of their steppers."""
        steppers = list(dict.fromkeys(segment.stepper for segment in self._known.values()))
        return {
            "known": [
                {
                    "active": None if active is None else sorted(active),
                    "candidate": self._candidates.index(candidate),
                    "discrete": segment.model.graph.discrete_values.copy(),
                    "stepper": steppers.index(segment.stepper),
                }
                for (active, candidate), segment in self._known.items()
            ],
            "steppers": [_without_buffer(stepper.snapshot()) for stepper in steppers],
            "current": list(self._known).index((self.current.active, self.candidate)),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Make the same segments in the same order, and let their steppers be where they were."""
        steppers: dict[int, Stepper] = {}
        known = []
        for entry in memory["known"]:
            active = None if entry["active"] is None else frozenset(entry["active"])
            candidate = self._candidates[entry["candidate"]]
            known.append((active, candidate))
            segment = self.of(active, candidate)
            segment.stepper.set_discrete(segment.model.with_discrete(entry["discrete"]))
            self._known[active, candidate] = segment.of_model(segment.model.with_discrete(entry["discrete"]))
            steppers[entry["stepper"]] = segment.stepper
        for number, taken in enumerate(memory["steppers"]):
            _restore(steppers[number], taken, self.task.max_steps)
        self.candidate = known[memory["current"]][1]
        self.current = self._known[known[memory["current"]]]
        self.current.stepper.model = self.current.model

    def release(self) -> None:
        """Give the steppers back."""
        for segment in self._known.values():
            segment.stepper.release()


def _without_buffer(taken: Snapshot) -> dict[str, Any]:
    """A snapshot between two calls of the kernel: the steps in the buffer have been collected."""
    names = [name for name in taken.arrays if not name.startswith("buffer ")]
    return {"method": taken.method, "names": names, "arrays": [taken.arrays[name] for name in names]}


def _restore(stepper: Stepper, memory: Mapping[str, Any], max_steps: int) -> None:
    own = stepper.snapshot().arrays
    arrays = {name: array for name, array in own.items() if name.startswith("buffer ")}
    arrays |= dict(zip(memory["names"], memory["arrays"], strict=True))
    stepper.restore(Snapshot(memory["method"], arrays))
    stepper.state.set(max_steps=max_steps)  # more than before may be allowed
