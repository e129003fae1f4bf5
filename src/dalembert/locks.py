"""Locks that do not outlive a fork.

A forked process has one thread. What the others were doing stays as it was at that moment, half done, and locks that
they held would stay locked for ever. There are two ways out, and each lock takes one of them:

- Whoever forks waits until others are done. That is for what cannot be left half done: LLVM's and numba's state, and
  modules that are being imported. These locks are *held* over the fork; nobody who has one of them waits for anything
  that the forking thread may have.
- The child begins with a new lock. That is for what may take long and may need anything, the preparation of a model,
  say: what such a lock guards has to be put in its place by a single assignment, when it is whole.

A thread that forks while it has a lock itself still has it in the child, and gives it back there.
"""

from __future__ import annotations

import contextlib
import importlib._bootstrap as _imports
import os
import sys
import threading
import time
import weakref
from typing import Any

PATIENCE = 120.0  # seconds that a fork may wait for others; the longest kernel takes a good part of a minute

_new: weakref.WeakSet = weakref.WeakSet()  # locks that begin anew in a child
_held: list[Any] = []  # locks that are held over a fork, in the order in which they are taken
_over_fork = threading.local()  # .taken: what this thread took for its fork
#: packages of which a module that is half imported would be missed in the child
_NEEDED = {"dalembert", "numba", "llvmlite", "casadi", "numpy", "scipy"}


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


def _foreign() -> list[Any]:
    """Locks of libraries, as far as these are loaded: numba's while it compiles, LLVM's for each call."""
    found = []
    for module, path in (
        ("numba.core.compiler_lock", ("global_compiler_lock", "_lock")),
        ("llvmlite.binding.ffi", ("lib", "_lock", "_lock")),
    ):
        lock: Any = sys.modules.get(module)
        for name in path:
            # of an object that hands names on to a library, only what it has itself
            lock = None if lock is None else _attribute(lock, name)
        found.append(lock)
    return found


def _attribute(value: Any, name: str) -> Any:
    with contextlib.suppress(AttributeError):
        return vars(value)[name] if isinstance(value, type(sys)) else object.__getattribute__(value, name)
    return None


def _importing() -> list[str]:
    """Modules that other threads are importing and that a child would need."""
    me = threading.get_ident()
    names = []
    for name, reference in list(getattr(_imports, "_module_locks", {}).items()):
        lock = reference()
        if lock is not None and getattr(lock, "owner", None) not in (None, me) and name.split(".")[0] in _NEEDED:
            names.append(name)
    return names


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


def _before() -> None:
    end = time.monotonic() + PATIENCE
    _over_fork.taken = []
    while time.monotonic() < end:
        if _importing():
            time.sleep(0.005)
            continue
        compiler, llvm = _foreign()
        locks = [lock for lock in (compiler, *_held, llvm) if lock is not None]
        # with the locks taken an import could get no further: if one has begun meanwhile, it goes first
        taken = _take(locks, end)
        if taken is not None and not _importing():
            _over_fork.taken = taken
            return
        _give_back(taken or [])


def _in_parent() -> None:
    _give_back(_over_fork.__dict__.pop("taken", []))


def _in_child() -> None:
    _give_back(_over_fork.__dict__.pop("taken", []))
    # whoever waited for one of these, or had it in spite of our patience, is gone
    for lock in [*_new, *_held, *_foreign()]:
        if lock is not None and not _is_mine(lock):
            lock._at_fork_reinit()
    _forget_imports()


def _is_mine(lock: Any) -> bool:
    """Whether the forking thread, the only one here, has the lock and will give it back."""
    return isinstance(lock, _RLOCK) and lock._is_owned()


_RLOCK = type(threading.RLock())


def _forget_imports() -> None:
    """Let modules that nobody goes on importing here be imported again."""
    for name in _importing():
        _imports._module_locks.pop(name, None)
        if name.split(".")[0] == "dalembert":
            sys.modules.pop(name, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
