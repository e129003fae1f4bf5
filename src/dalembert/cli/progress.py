"""How far it is and how long it takes: a bar on terminals, lines in logs; always on the standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from dalembert.cli.shown import line, new_console

#: seconds that nothing is shown for, on terminals; between two lines elsewhere
QUIET, BETWEEN = 0.4, 5.0

#: is told the part that is done, from 0 to 1, and a word about it
Tell = Callable[[float, str], None]


@contextmanager
def progress(wanted: bool | None, *, still: bool = False) -> Iterator[Tell | None]:
    """Something to be told, or None if nothing is wanted; by default terminals want it.

    `still`: nothing works beside what is measured; the bar moves when it is told something.
    """
    terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    if not (terminal if wanted is None else wanted):
        yield None
        return
    with _bar(still) if terminal else _lines() as tell:
        yield tell


@contextmanager
def _bar(still: bool) -> Iterator[Tell]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), "{task.percentage:>3.0f}%", TimeRemainingColumn()
    bar = Progress(*columns, console=new_console(stderr=True), transient=True, auto_refresh=not still)
    task, begun = bar.add_task("", total=1.0), time.perf_counter()

    def tell(part: float, word: str) -> None:
        if not bar.live.is_started and time.perf_counter() - begun > QUIET:  # short runs need no bar
            bar.start()
        bar.update(task, completed=part, description=word, refresh=still and bar.live.is_started)

    try:
        yield tell
    finally:
        bar.stop()


@contextmanager
def _lines() -> Iterator[Tell]:
    begun = last = time.perf_counter()

    def tell(part: float, word: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < BETWEEN:
            return
        last = now
        line(new_console(stderr=True), f"{word}, {100 * part:.0f} %, {left(now - begun, part)}")

    yield tell


def left(seconds: float, part: float) -> str:
    """How long the rest takes if it goes on like this.

    >>> left(10.0, 0.25), left(10.0, 0.0)
    ('0:00:30 left', 'time left unknown')
    """
    if not 0 < part <= 1:
        return "time left unknown"
    return f"{timedelta(seconds=round(seconds * (1 - part) / part))} left"


def over_time(tell: Tell | None, t0: float, t1: float) -> Callable[[float], None] | bool:
    """What `simulate` takes as progress=."""
    if tell is None:
        return False
    return lambda t: tell((t - t0) / (t1 - t0) if t1 != t0 else 1.0, f"t = {t:.4g}")


def over_members(tell: Tell | None, noun: str) -> Callable[[int, int], None] | bool:
    """What `sweep` and `compare` take."""
    if tell is None:
        return False
    return lambda done, of: tell(done / of, f"{done} of {of} {noun}")
