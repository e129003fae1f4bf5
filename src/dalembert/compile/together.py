"""Kernels compiled by several processes at once.

numba compiles one function at a time in a process. What a method needs is therefore also compiled by helpers: processes
that go through the same modules in another order and leave kernels in the disk cache, from where this process loads
them. A kernel belongs to the process that has locked its file; a helper passes by what is locked, any other process
waits for it. That holds for processes that know nothing of each other, too: of many workers that start at once, each
kernel is compiled by one.

Helpers only save time. If none can be started, or one dies, the kernels are compiled here: locks end with their owner.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from dalembert import file_locks
from dalembert.locks import renewed

_PATIENCE = 120.0  # seconds: then the owner of a lock is taken for stopped
_MOST = 3  # helpers; the longest kernel takes a third of the time or more

_START = (
    "import json, os, sys\n"
    "order = b''\n"
    "while not order.endswith(b'\\n'): order += os.read(0, 1) or sys.exit()\n"
    "order = json.loads(order)\n"
    "sys.path[:] = order['path']\n"
    "from dalembert.compile.together import help_out\n"
    "help_out(order['families'])\n"
)

_helping = False  # this process is a helper
_helpers: list[subprocess.Popen] = []
_starting = renewed(threading.Lock())


class Taken(Exception):
    """Another process compiles this kernel, and a helper does not wait for it."""


class Claim:
    """The right to compile one kernel, as a lock on a file; where there is no file, everybody has it."""

    def __init__(self, path: Path | None):
        self.path = path
        self._file: int | None = None

    def take(self) -> None:
        """Wait until nobody else compiles the kernel. Raises `Taken` in a helper."""
        if self.path is None:
            return
        end = time.monotonic() + _PATIENCE
        with contextlib.suppress(OSError):  # a file system without locks: there are no claims then
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            while not file_locks.try_lock(self._file):
                if _helping:
                    self.release()
                    raise Taken
                if time.monotonic() > end:
                    return
                time.sleep(0.02)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def start_helpers(families: Sequence[str]) -> None:
    """Let other processes compile these families, beginning with the last.

    A family is a module whose import compiles kernels, or ``module:function:argument``.
    """
    # without locks helpers would do everything twice
    if not families or not file_locks.AVAILABLE or _helping or not _is_python(sys.executable):
        return
    with _starting:
        for helper in [helper for helper in _helpers if helper.poll() is not None]:
            _helpers.remove(helper)
            with contextlib.suppress(OSError):
                helper.stdin.close()
        if _helpers:  # busy with what was asked for before
            return
        for k in range(min(_processes() - 1, _MOST)):
            last = len(families) - k % len(families)
            order = {"path": sys.path, "families": [*reversed(families[:last]), *reversed(families[last:])]}
            with contextlib.suppress(OSError, ValueError):
                _helpers.append(_start(order))


def _start(order: dict) -> subprocess.Popen:
    helper = subprocess.Popen(
        [sys.executable, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "DALEMBERT_QUIET": "1"},
    )  # fmt: skip
    # The pipe stays open: a helper ends when its reader finds that nobody is at the other end any more.
    with contextlib.suppress(OSError):
        helper.stdin.write(json.dumps(order).encode() + b"\n")
        helper.stdin.flush()
    return helper


def _is_python(executable: str | None) -> bool:
    """Whether this is an interpreter: a program in which Python is embedded would start a second time."""
    return "python" in os.path.basename(executable or "").lower() and not getattr(sys, "frozen", False)


def _processes() -> int:
    """How many may compile at once."""
    if (wish := os.environ.get("DALEMBERT_COMPILERS", "")).isdecimal():
        return max(1, int(wish))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@atexit.register
def _dismiss() -> None:
    for helper in _helpers:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            helper.kill()
            helper.wait(1.0)
            helper.stdin.close()
    _helpers.clear()


def _forget() -> None:
    """In a forked process: the helpers are the other's."""
    for helper in _helpers:
        helper.returncode = 0
    _helpers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def help_out(families: Sequence[str]) -> None:
    """The work of a helper; ends the process."""
    global _helping
    _helping = True
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    for family in families:
        with contextlib.suppress(Exception):  # it will be raised where somebody sees it
            compile_family(family)
    os._exit(0)


def compile_family(family: str) -> None:
    """Import the module, and call the function that is named with it."""
    module, _, call = family.partition(":")
    imported = importlib.import_module(module)
    if call:
        function, _, argument = call.partition(":")
        getattr(imported, function)(argument)


def _end_with_the_other() -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 64):
            pass
    os._exit(1)
