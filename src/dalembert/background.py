"""Ctrl-C while something is at work that does not look for it.

Python looks for signals between its own instructions only, never while a kernel runs or LLVM compiles one. What may
take long therefore works in a thread, while the main one waits for it: that can be interrupted at once. A kernel asked
to stop does so before its next step; should that take too long, it is left alone with its records, and what it has
finished is taken. Imports and compilation are left to finish: half of a module would be of no use to the next who asks
for it. Libraries that call Python swallow exceptions, that of Ctrl-C too: `listening` remembers that it was there.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import Any, TypeVar

try:  # without the wrappers, which look for every handler in an enumeration: that takes a tenth of a short simulation
    from _signal import getsignal  # ty: ignore[import-not-found]
    from _signal import signal as set_signal  # ty: ignore[import-not-found]
except ImportError:
    from signal import getsignal
    from signal import signal as set_signal

T = TypeVar("T")

SIGINT = int(signal.SIGINT)
#: seconds that is waited for the work to stop
GRACE = 0.25
#: seconds that the main thread waits at once: on Windows it does not hear Ctrl-C while it waits; −1 is for ever
UNHEARD = 0.1 if sys.platform == "win32" else -1


def in_background(work: Callable[[], T], stop: Callable[[], None] = lambda: None) -> T:
    """work(), in a thread if this one gets signals. An exception here, Ctrl-C, calls stop() and passes on.

    Examples
    --------
    >>> in_background(lambda: 6 * 7)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[tuple[Any, BaseException | None]] = []
    finished = threading.Lock()
    context = copy_context()

    def worker() -> None:
        try:
            outcome.append((context.run(work), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            finished.release()

    finished.acquire()
    threading.Thread(target=worker, name="dalembert", daemon=True).start()
    try:
        while not finished.acquire(timeout=UNHEARD):
            pass
    except BaseException:
        stop()
        finished.acquire(timeout=GRACE)
        raise
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


class Ear:
    """Whether somebody has pressed Ctrl-C, also where nobody was told."""

    def __init__(self) -> None:
        self.heard = False


_EAR: ContextVar[Ear | None] = ContextVar("ear", default=None)


@contextmanager
def listening() -> Iterator[None]:
    """Remember Ctrl-C, besides what is done about it anyway; `not_interrupted` asks."""
    told = getsignal(SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(told):
        yield
        return
    ear = Ear()

    def handler(number: int, frame: FrameType | None) -> Any:
        ear.heard = True
        return told(number, frame)

    token = _EAR.set(ear)
    set_signal(SIGINT, handler)
    try:
        yield
    finally:
        _EAR.reset(token)
        if getsignal(SIGINT) is handler:
            set_signal(SIGINT, told)


def not_interrupted() -> None:
    """Raise KeyboardInterrupt if a Ctrl-C since `listening` has been swallowed."""
    ear = _EAR.get()
    if ear is not None and ear.heard:
        raise KeyboardInterrupt
