"""From a task to its solution: start values, segments, event handler and recorder, and the loop over them."""

from __future__ import annotations

import time

import numpy as np

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
    segments, recorder = Segments(task), Recorder(task)
    if clock is not None:
        clock.append(time.perf_counter())
        recorder.preparation = dict(zip(PREPARATION, np.diff(clock), strict=True))
        recorder.monitor = segments.current.stepper.watch()
    handler = EventHandler(task.events, Actions(task.events), recorder, task.t0, task.t1)
    return Loop(segments, handler, recorder, task.t0, task.t1).run(initial, task.first_step)
