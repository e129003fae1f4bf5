"""Locks that do not outlive a fork.

A forked process has one thread. What the others were doing stays as it was at that moment, half done, and locks that
they held, those inside of libraries too, would stay locked for ever. So whoever forks waits until the others are at a
point where they can be left:

- Nobody else is *preparing*: building a model, simulating, with the exception of the time within a kernel, which runs
  on memory of its own (`away`). CasADi has locks inside that cannot be reached from here. One thread at a time prepares
  something anyway: CasADi lets go of the GIL, but two threads that drop expressions at once can crash in it.
- numba's and LLVM's locks and those that are `held` are taken: nobody who has one waits for what the forking thread may
  have. No module of ours, or that we need, is half imported.

For how long: a preparation, a kernel to be compiled, `PATIENCE` at most. Then, or where the forking thread itself is in
the middle of something for which another one may be waiting, the fork goes on as it is. In the child all locks begin
anew. A thread that forks while it has one, within a user's function, say, still has it in the child, and gives it back
there.
"""

from __future__ import annotations

import contextlib
import functools
import importlib._bootstrap as _imports
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable)

PATIENCE = 60.0  # seconds that a fork may wait for others; the longest kernel takes a good part of a minute
_SHORT = 2.0  # where another thread may be waiting for this one

_new: weakref.WeakSet = weakref.WeakSet()  # locks that begin anew in a child
_held: list[Any] = []  # locks that are held over a fork, in the order in which they are taken
#: packages of which a module that is half imported would be missed in the child
_NEEDED = {"dalembert", "numba", "llvmlite", "casadi", "numpy", "scipy"}

_symbols: Any = threading.RLock()  # of the one who prepares something
_depth = 0  # how deep it is in it
_over_fork = threading.local()  # .taken: what this thread took for its fork


def renewed(lock: Any) -> Any:
    """Let a lock (`Lock`, `RLock`) begin anew in forked processes, unless the forking thread has it. Returns it."""
    _new.add(lock)
    return lock


def held(lock: Any) -> Any:
    """Let whoever forks wait for this lock, and give it back on both sides. Returns it.

    A thread that has it must not wait for another lock, except for those that were named later.
    """
    _held.append(lock)
    return lock


def begin() -> None:
    """This thread is going to prepare something; to be followed by `end`. Waits while another does, or forks.

    Whoever wants a lock that others keep while they prepare something begins before, not after.
    """
    global _depth
    _symbols.acquire()
    _depth += 1


def end() -> None:
    global _depth
    _depth -= 1
    _symbols.release()


@contextlib.contextmanager
def prepared(lock: Any) -> Iterator[None]:
    """`begin`, and then a lock under which something is prepared: in this order everywhere, lest two threads wait for
    each other."""
    begin()
    try:
        with lock:
            yield
    finally:
        end()


def forks_wait(function: F) -> F:
    """For functions during which others have to wait with a fork."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        begin()
        try:
            return function(*args, **options)
        finally:
            end()

    return wrapped  # ty: ignore[invalid-explicit-return]  # which takes and returns the same


class away:
    """Let others fork meanwhile, from the outermost function where `forks_wait`; nothing happens in an inner one."""

    def __enter__(self) -> None:
        self._left = _depth == 1 and _symbols._is_owned()
        if self._left:
            end()

    def __exit__(self, *exception: object) -> None:
        if self._left:
            begin()


# -- forking -------------------------------------------------------------------------------------------------------


def _before() -> None:
    # another thread may wait for a lock of this one if it forks in the middle of a preparation
    deadline = time.monotonic() + (_SHORT if _symbols._is_owned() else PATIENCE)
    _over_fork.taken = []
    while time.monotonic() < deadline:
        if _importing():
            time.sleep(0.001)
            continue
        locks = [_symbols, *_foreign()[:1], *_held, *_foreign()[1:]]
        taken = _take([lock for lock in locks if lock is not None], deadline)
        # with the locks taken an import could get no further: if one has begun meanwhile, it goes first
        if taken is not None and not _importing():
            _over_fork.taken = taken
            return
        _give_back(taken or [])


def _in_parent() -> None:
    _give_back(_over_fork.__dict__.pop("taken", []))


def _in_child() -> None:
    global _depth
    _give_back(_over_fork.__dict__.pop("taken", []))
    if not _symbols._is_owned():
        _depth = 0
    # whoever waited for one of these, or had it in spite of our patience, is gone
    for lock in [_symbols, *_new, *_held, *_foreign()]:
        if lock is not None and not _is_mine(lock):
            lock._at_fork_reinit()
    _forget_imports()


def _take(locks: list[Any], end: float) -> list[Any] | None:
    """Take all of these; None, and none of them, if one could not be had in time.

    Who has one already does not keep it for long: others may need it before they give the next one back.
    """
    taken: list[Any] = []
    for lock in locks:
        if not lock.acquire(timeout=max(end - time.monotonic(), 0.0) if not taken else 0.5):
            _give_back(taken)
            return None
        taken.append(lock)
    return taken


def _give_back(taken: list[Any]) -> None:
    while taken:
        taken.pop().release()


def _is_mine(lock: Any) -> bool:
    """Whether the forking thread, the only one here, has the lock and will give it back."""
    return isinstance(lock, _RLOCK) and lock._is_owned()


_RLOCK = type(threading.RLock())


def _foreign() -> tuple[Any, Any]:
    """Locks of libraries, as far as these are loaded: numba's while it compiles, LLVM's for each call."""
    compiler = _part("numba.core.compiler_lock", "global_compiler_lock", "_lock")
    return compiler, _part("llvmlite.binding.ffi", "lib", "_lock", "_lock")


def _part(module: str, *names: str) -> Any:
    """What is found under these names, one in the other; None if a library has it no more, or not yet."""
    found: Any = vars(sys.modules[module]).get(names[0]) if module in sys.modules else None
    for name in names[1:]:
        try:
            found = object.__getattribute__(found, name)  # its own, not what it hands on to the library
        except AttributeError:
            return None
    return found


def _importing() -> list[str]:
    """Modules that other threads are importing and that a child would need."""
    me = threading.get_ident()
    names = []
    for name, reference in list(getattr(_imports, "_module_locks", {}).items()):
        lock = reference()
        if lock is not None and getattr(lock, "owner", None) not in (None, me) and name.split(".")[0] in _NEEDED:
            names.append(name)
    return names


def _forget_imports() -> None:
    """Let modules that nobody goes on importing here be imported again."""
    for name in _importing():
        getattr(_imports, "_module_locks", {}).pop(name, None)
        if name.split(".")[0] == "dalembert":
            sys.modules.pop(name, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
