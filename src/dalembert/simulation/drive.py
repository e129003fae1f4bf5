"""From a task to its solution: start values, segments, event handler and recorder, and the loop over them."""

from __future__ import annotations

import time

import numpy as np

from dalembert.background import not_interrupted
from dalembert.checks import quiet_arithmetic
from dalembert.errors import SingularMatrix, StepSizeTooSmall, TooManySteps
from dalembert.regularize.index import explained, judge_index, remedy
from dalembert.simulation.contacts import WithContacts, closed_contacts, free_values, initial_values
from dalembert.simulation.events import EventHandler
from dalembert.simulation.hybrid import Actions
from dalembert.simulation.layout import integrated, kept_values
from dalembert.simulation.loop import Loop, beginning
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.segments import Segments
from dalembert.simulation.task import Task
from dalembert.solution import Solution

#: what preparation consists of, for a profile
PREPARATION = ("formulation", "initial values", "compilation and records")


def drive(task: Task, clock: list[float] | None) -> Solution:
    """Carry out a task. `clock` holds the times of preparation so far if a profile is wanted."""
    with quiet_arithmetic():
        return _drive(task, clock)


def _drive(task: Task, clock: list[float] | None) -> Solution:
    place = None if task.checkpoint is None else task.checkpoint.open(task)
    if isinstance(place, Solution):  # there is nothing left to do
        return place
    contacts, switching, start = None, None, None
    if task.model.has_contacts and task.options.treats_contacts:
        initial = free_values(task)
    elif task.model.has_contacts:
        contacts, start, initial = closed_contacts(task)
        task.events = [*task.events, *(own.event for own in contacts.events)]
    elif task.model.hybrid is not None:
        from dalembert.simulation.switching import Switching, WithSwitching

        switching = Switching(task)
        start, initial = switching.begin(task)
        task.events = [*task.events, *switching.events]
    else:
        initial = initial_values(task, task.model)
    if clock is not None:
        clock.append(time.perf_counter())
    index = None
    from dalembert.regularize.structure.system import is_regularized  # takes a while to load, and few models need it

    own = integrated(task.model)
    if switching is not None and start is not None:
        own = own.with_discrete(start.discrete)
    if own.own_formulation is not None and initial.index is None and not is_regularized(own):
        x, x_dot = kept_values(task.model, initial)
        index = judge_index(own, type(task.options).__name__, task.options.trusted_index, task.t0, x, x_dot)
    segments, recorder = Segments(task, start), Recorder(task)
    if task.pilot is not None and place is None and task.t0 != task.t1:
        task.pilot.begin(segments, beginning(task.model, task.t0, task.t1), task.t1, initial, stays=clock is not None)
    recorder.contacts = contacts
    if clock is not None:
        clock.append(time.perf_counter())
        recorder.preparation = dict(zip(PREPARATION, np.diff(clock), strict=True))
        recorder.monitor = segments.current.stepper.watch()
    actions = Actions(task.events[: task.own_events])
    responder = actions if contacts is None else WithContacts(actions, contacts)
    if switching is not None:
        responder = WithSwitching(actions, switching)
    handler = EventHandler(task.events, responder, recorder, task.t0, task.t1)
    not_interrupted()
    try:
        return Loop(segments, handler, recorder, task.t0, task.t1).run(initial, task.first_step, place)
    except (StepSizeTooSmall, TooManySteps, SingularMatrix) as error:
        if index is not None:  # the likeliest cause
            error.args = (f"{error} {explained(own, index, task.t0)} {remedy(own)}", *error.args[1:])
        raise
    finally:
        recorder.close()
