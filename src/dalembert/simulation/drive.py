"""From a task to its solution: start values, segments, event handler and recorder, and the loop over them."""

from __future__ import annotations

import time

import numpy as np

from dalembert.errors import SingularMatrix, StepSizeTooSmall, TooManySteps
from dalembert.regularize.index import explained, judge_index, remedy
from dalembert.simulation.events import EventHandler
from dalembert.simulation.hybrid import Actions
from dalembert.simulation.loop import Loop, beginning
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.segments import Segments
from dalembert.simulation.task import Task
from dalembert.solution import Solution
from dalembert.solvers.start import start_values

#: what preparation consists of, for a profile
PREPARATION = ("formulation", "initial values", "compilation and records")


def drive(task: Task, clock: list[float] | None) -> Solution:
    """Carry out a task. `clock` holds the times of preparation so far if a profile is wanted."""
    rtol, atol = task.tolerances.tightest
    initial = start_values(
        task.model,
        beginning(task.model, task.t0, task.t1),
        task.given,
        mode=task.options.initial_values,
        rtol=rtol,
        atol=atol,
        initial_conditions=task.initial_conditions,
    )
    if clock is not None:
        clock.append(time.perf_counter())
    index = None
    if task.model.own_formulation is not None and initial.index is None:
        method = type(task.options).__name__
        index = judge_index(task.model, method, task.options.trusted_index, task.t0, initial.x, initial.x_dot)
    segments, recorder = Segments(task), Recorder(task)
    if clock is not None:
        clock.append(time.perf_counter())
        recorder.preparation = dict(zip(PREPARATION, np.diff(clock), strict=True))
        recorder.monitor = segments.current.stepper.watch()
    handler = EventHandler(task.events, Actions(task.events), recorder, task.t0, task.t1)
    try:
        return Loop(segments, handler, recorder, task.t0, task.t1).run(initial, task.first_step)
    except (StepSizeTooSmall, TooManySteps, SingularMatrix) as error:
        if index is not None:  # the likeliest cause
            error.args = (f"{error} {explained(task.model, index, task.t0)} {remedy(task.model)}", *error.args[1:])
        raise
