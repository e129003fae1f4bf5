"""Progress: a bar on the standard error, or a function of the user's that is told how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dalembert.checks import said
from dalembert.errors import FunctionFailed
from dalembert.simulation.arguments import switch


def over_time(progress: Any, t0: float, t1: float) -> Callable[[float], Any] | None:
    """What is told the time that was reached, and NaN at the end; None if nobody wants to know."""
    if callable(progress):
        return lambda t: None if np.isnan(t) else _told(progress, t)
    return _time_bar(t0, t1) if switch("progress", progress) else None


def _told(progress: Callable[[float], Any], t: float) -> None:
    try:
        progress(t)
    except Exception as error:
        raise FunctionFailed(f"progress=: the function raised {said(error)}") from error


def _time_bar(t0: float, t1: float) -> Callable[[float], None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("t = {task.fields[time]:.4g}"),
        BarColumn(),
        "{task.percentage:>3.0f}%",
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("simulate", total=1.0, time=t0)
    bar.start()

    def update(t: float) -> None:
        if np.isnan(t):
            bar.stop()
        else:
            bar.update(task, completed=(t - t0) / (t1 - t0) if t1 != t0 else 1.0, time=t)

    return update


@contextmanager
def over_count(progress: Any, count: int) -> Iterator[Callable[[int], Any]]:
    """What is told how many of `count` are done; of a user's function both numbers are arguments."""
    if callable(progress):
        yield lambda done: progress(done, count)
        return
    if not switch("progress", progress):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=count)
        yield lambda done: bar.update(task, completed=done)
