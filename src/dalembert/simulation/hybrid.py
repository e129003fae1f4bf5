"""What happens at an event is asked of one object: `respond` is told the state and which events occurred together, and
answers with a `Transition`. The actions of users' events are the first of these objects.

Locating roots, restarting consistently and recognizing events that accumulate are the driver's, whoever responds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from dalembert.checks import NoNumber, reals, said, shown, users_arithmetic
from dalembert.errors import SimulationError
from dalembert.locks import away
from dalembert.model import Model
from dalembert.model.event import Event
from dalembert.model.namespace import explain_unknown
from dalembert.regularize import InitialValues


@dataclass(frozen=True, kw_only=True)
class Transition:
    """What an event changes. An action may return one in place of a mapping.

    Parameters
    ----------
    values : mapping of names to values
        New values of variables, ``{"y_dot": 0.0}``, of vectors, ``{"v": [...]}``, or of discrete variables.
    active : collection of str, optional
        The names of all constraints (their multipliers' names, ``lam1``, …) that are in force from now on; the others
        are released, and their multipliers zero. Default: as before.

    Examples
    --------
    A mass hangs on a thread that breaks when the force in it exceeds 12:

    >>> import dalembert as da
    >>> pendulum = da.EquationsOfMotion(
    ...     p=["x", "y"], mass=[1, 1], force=[0, -9.81], lam=["thread"],
    ...     holonomic=lambda s: [(s.x**2 + s.y**2 - 1) / 2])
    >>> breaks = da.Event(lambda s: s.thread - 12, action=lambda s: da.Transition(active=[]), name="breaks")
    >>> sol = da.simulate(pendulum, (0, 2), p0=[1, 0], events=breaks)
    >>> sol.events.named("breaks").t.round(4), float(sol["thread"][-1])
    (array([0.2935]), 0.0)
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    active: Collection[str] | None = None


@dataclass(frozen=True)
class HybridState:
    """The state at an event: the model's vectors by kind, its discrete variables, the constraints in force."""

    model: Model
    t: float
    vectors: Mapping[str, np.ndarray]
    discrete: np.ndarray
    active: frozenset[str] | None  # None: all
    terminal: bool = False  # the last event of all
    rates: np.ndarray | None = None  # of a DAE: derivatives of its unknowns just before
    found: InitialValues | None = None  # where to start again, if the responder has seen to that

    def namespace(self) -> Any:
        """The namespace `s` that users' functions take."""
        theta = self.model.theta(self.t, self.discrete)
        graph = self.model.graph.branch(self.model.outputs)
        return graph.numbers(tuple(graph.vectors), {}, self.t, self.vectors, theta)

    def changed(self, transition: Transition, by: str) -> HybridState:
        """The state after a transition; `by` says for messages who asked for it."""
        vectors = {kind: value.copy() for kind, value in self.vectors.items()}
        discrete = self.discrete.copy()
        places = {name: (kind, i) for kind in vectors for i, name in enumerate(self.model.names(kind))}
        places |= {name: ("discrete", i) for i, name in enumerate(self.model.discrete_names)}
        if not isinstance(transition.values, Mapping):
            raise SimulationError(f"{by} must return a mapping of names to values, not {shown(transition.values)}")
        for name, value in transition.values.items():
            try:
                new = reals(value)
            except NoNumber:
                new = np.full(1, np.nan)
            if not np.isfinite(new).all() or (name in places and new.size != 1):
                raise SimulationError(f"{by} sets '{name}' to {shown(value)} at t = {self.t:.9g}")
            if name in places:
                kind, i = places[name]
                (discrete if kind == "discrete" else vectors[kind])[i] = float(new.reshape(()))
            elif name in vectors:
                if new.shape != vectors[name].shape:
                    raise SimulationError(f"{by} gives {new.size} values for {name}, which has {vectors[name].size}")
                vectors[name][:] = new
            else:
                raise SimulationError(f"{by}: {explain_unknown(name, [*places, *vectors])}")
        return replace(self, vectors=vectors, discrete=discrete, active=self._active(transition.active, by))

    def _active(self, wanted: Collection[str] | None, by: str) -> frozenset[str] | None:
        if wanted is None:
            return self.active
        known = (*self.model.names("lam"), *self.model.names("mu"))
        implied = {c.implied for c in (*self.model.contacts, *self.model.dry)} if self.model.has_contacts else set()
        if isinstance(wanted, str) or not isinstance(wanted, Collection):
            raise SimulationError(
                f"{by}: active={shown(wanted)} must be a list of names of constraints: {', '.join(known)}"
            )
        for name in wanted:
            if name not in known and name not in implied:
                raise SimulationError(f"{by}: active: {explain_unknown(name, known)}")
        return None if set(wanted) == set(known) else frozenset(wanted)


class NoTimes:
    """Of responders whose events are all roots of functions."""

    ended: str | None = None
    at_end = False
    struck: Sequence[tuple[str, bool]] = ()

    def next_time(self) -> float:
        return np.inf

    def must_go_on(self, t: float) -> None:
        return None

    def watch(self) -> None:
        return None


class Responder(Protocol):
    """Whoever answers events."""

    #: whether it deals with impacts itself: velocities then satisfy the constraints in force, and it is asked, without
    #: events, also at breakpoints
    impacts: bool
    @property
    def ended(self) -> str | None:
        """What a termination of the model says, if one has ended the run."""
        ...
    @property
    def at_end(self) -> bool:
        """Whether it is asked at the end, too."""
        ...

    @property
    def struck(self) -> Sequence[tuple[str, bool]]:
        """What has changed at the last response besides the events it was told of: names, whether they are true."""
        ...

    def answers(self, number: int) -> bool:
        """Whether this event changes anything: the integration then stops at its root, and goes on anew."""

    def accumulates(self, number: int) -> bool:
        """Whether this event may occur ever faster: the driver then does not take that for an error, and its value has
        a sign also where it has just occurred."""

    def soon(self, since_last: float) -> float:
        """The time in which something is expected after the last response, `since_last` after the one before."""

    def overdue(self, values: np.ndarray) -> list[int]:
        """Events that have occurred already where the integration starts again, by the values of all of them there."""

    def next_time(self) -> float:
        """When the next event is due of which the time is known; infinite if there is none."""

    def must_go_on(self, t: float) -> None:
        """Raise if what was reached by now is not what the model says."""

    def watch(self) -> tuple[slice, np.ndarray, np.ndarray] | None:
        """Events whose functions have these signs now, wherever they are within these moduli; None: there are none."""

    def respond(self, state: HybridState, which: Sequence[int]) -> HybridState:
        """The state after the events `which`, numbers in order, have occurred together."""

    def memory(self) -> dict[str, Any]:
        """All that changes during a run, for a checkpoint: numbers, texts, arrays, in lists and mappings."""

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Be as one was when `memory` was asked."""


class Actions(NoTimes):
    """The actions of users' events, one after the other: each sees what those before it have changed."""

    impacts = False

    def __init__(self, events: Sequence[Event]):
        self.events = events

    def answers(self, number: int) -> bool:
        return self.events[number].action is not None

    def accumulates(self, number: int) -> bool:
        return False

    def soon(self, since_last: float) -> float:
        return since_last

    def overdue(self, values: np.ndarray) -> list[int]:
        return []

    def memory(self) -> dict[str, Any]:
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        pass

    def respond(self, state: HybridState, which: Sequence[int]) -> HybridState:
        for number in which:
            event = self.events[number]
            if event.action is None:
                continue
            by = f"the action of event '{event.name}'"
            try:
                with away(), users_arithmetic():  # it may wait for another thread that simulates, too
                    answer = event.action(state.namespace())
            except Exception as error:
                raise SimulationError(f"{by} raised {said(error)} at t = {state.t:.9g}") from error
            if not isinstance(answer, Transition):
                answer = Transition(values={} if answer is None else answer)
            state = state.changed(answer, by)
        return state
