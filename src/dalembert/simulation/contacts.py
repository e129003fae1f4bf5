"""Contacts in a run: which are closed at the start, and how their events stand beside those of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.contact.events import Change
from dalembert.contact.responder import Contacts
from dalembert.contact.space import contact_space
from dalembert.errors import OptionError, PenetratingStart
from dalembert.model import Model
from dalembert.model.restricted import restricted
from dalembert.regularize import InitialValues
from dalembert.regularize.initial import OF_CONTACTS, own_start
from dalembert.simulation.hybrid import Actions, HybridState, NoTimes
from dalembert.simulation.loop import beginning
from dalembert.simulation.segments import of_whole
from dalembert.simulation.task import Task
from dalembert.solvers.start import start_values


def initial_values(task: Task, model: Model) -> InitialValues:
    """Start values of a run for its model, or for one with fewer constraints."""
    rtol, atol = task.tolerances.tightest
    given = task.given
    if model.beginning is not None:
        return own_start(
            model, beginning(model, task.t0, task.t1), given, task.initial_conditions, task.fixed,
            mode=task.options.initial_values, rtol=rtol, atol=atol,
        )  # fmt: skip
    if model is not task.model:  # multipliers are those of fewer constraints; they are guesses only
        given = {key: value for key, value in given.items() if key not in OF_CONTACTS}
    return start_values(
        model,
        beginning(model, task.t0, task.t1),
        given,
        mode=task.options.initial_values,
        rtol=rtol,
        atol=atol,
        initial_conditions=task.initial_conditions,
        fixed=task.fixed,
    )


def closed_contacts(task: Task) -> tuple[Contacts, HybridState, InitialValues]:
    """The contacts of a run, the state after what happens at its start, and start values with those that are closed."""
    model = task.model
    if task.t1 < task.t0:
        raise OptionError(
            f"t_span = ({task.t0:g}, {task.t1:g}): impacts and friction have no past that follows from what comes "
            "after them; contacts are simulated forwards in time"
        )
    contacts = Contacts(model, task.tolerances, task.t0, task.t1, complementary=task.options.complementary)
    free = of_whole(initial_values(task, restricted(model, model.bilateral)), model)
    start = contacts.begin(free.t, {kind: free.values[kind] for kind in model.graph.vectors})
    own = restricted(model, start.active).with_discrete(start.discrete) if start.active is not None else model
    given = {f"{kind}0": start.vectors[kind] for kind in model.settable_kinds}
    initial = start_values(own, free.t, given, mode="correct")
    return contacts, start, initial


def free_values(task: Task) -> InitialValues:
    """Start values for a method that treats contacts itself: none is in force, but none may be violated."""
    model = task.model
    found = of_whole(initial_values(task, restricted(model, model.bilateral)), model)
    gaps = contact_space(model).gaps(found.t, found.values, model.theta(found.t))
    deepest = int(np.argmin(gaps))
    p, v, a = (np.abs(found.values[kind]).max(initial=0.0) for kind in ("p", "v", "a"))
    options: Any = task.options  # which has a fixed step size
    (rtol, atol), h = task.tolerances.tightest, options.h
    # a run may go on from what a step of such a method leaves behind
    if not gaps[deepest] >= -(atol + rtol * max(p, 1.0) + h * v + h * h * a):
        name = model.contacts[deepest].name
        raise PenetratingStart(
            f"contact '{name}' penetrates at the start: its gap is {gaps[deepest]:.6g}. Give positions in which no gap "
            "is negative, or check its sign in unilateral=",
            contact=name,
        )
    return found


class WithContacts(NoTimes):
    """The actions of users' events, and contacts, which look at the state whenever anything has changed."""

    impacts = True

    def __init__(self, actions: Actions, contacts: Contacts):
        self.actions, self.contacts, self._own = actions, contacts, len(actions.events)

    def answers(self, number: int) -> bool:
        return number >= self._own or self.actions.answers(number)

    def accumulates(self, number: int) -> bool:
        return number >= self._own

    def soon(self, since_last: float) -> float:
        """Of users' events nobody knows. Contacts know how long they fly: steps that are shorter show nothing but
        rounding of their gaps."""
        return min(self.contacts.flight, since_last) if self.actions.events else self.contacts.flight

    def overdue(self, values: np.ndarray) -> list[int]:
        own = enumerate(self.contacts.events, self._own)
        return [k for k, event in own if values[k] < 0 and event.change is not Change.CLOSES]

    def memory(self) -> dict[str, Any]:
        return {"actions": self.actions.memory(), "contacts": self.contacts.memory()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        self.actions.recall(memory["actions"])
        self.contacts.recall(memory["contacts"])

    def respond(self, state: HybridState, which: Sequence[int]) -> HybridState:
        users = [number for number in which if number < self._own]
        state = self.actions.respond(state, users)
        occasion = "after the action of an event" if any(map(self.actions.answers, users)) else ""
        return self.contacts.respond(state, [number - self._own for number in which if number >= self._own], occasion)
