"""What was made once and is used again: typed, bounded, and gone with the object that it belongs to.

Models keep their formulations, formulations their compiled code. Each kind of thing has a *slot* of its own, which says
how many of them are kept; the ones that were used longest ago go first. A key is an object, never the `id` of one: what
stands in a key stays alive as long as the entry does.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dalembert.locks import begin, end, renewed

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Slot(Generic[T]):
    """A kind of things that are kept, at most `most` of them by key."""

    name: str
    most: int = 16


class Kept:
    """The store of one object; those that are made of each other share a lock.

    Examples
    --------
    >>> squares: Slot[int] = Slot("squares", most=2)
    >>> kept = Kept()
    >>> [kept.get(squares, n, lambda n=n: n * n) for n in (2, 3, 2, 4)]
    [4, 9, 4, 16]
    >>> kept.keys(squares)
    [2, 4]
    """

    def __init__(self, lock: threading.RLock | None = None) -> None:
        self.lock = renewed(threading.RLock()) if lock is None else lock
        self._entries: dict[Slot, OrderedDict[Hashable, Any]] = {}

    def get(self, slot: Slot[T], key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under the key; otherwise it is made, in one thread only."""
        begin()
        try:
            with self.lock:
                entries = self._entries.get(slot)
                if entries is None:
                    entries = self._entries[slot] = OrderedDict()
                if key in entries:
                    entries.move_to_end(key)
                    return entries[key]
                made = make()  # may ask this store for other things
                entries[key] = made
                while len(entries) > slot.most:
                    entries.popitem(last=False)
                return made
        finally:
            end()

    def keys(self, slot: Slot) -> list[Hashable]:
        """The keys of a slot, the one used longest ago first."""
        with self.lock:
            return list(self._entries.get(slot, ()))

    def __reduce__(self) -> tuple:
        """Copies, also those in other processes, begin empty: compiled code does not travel."""
        return Kept, ()


class computed(Generic[T]):
    """A property that is computed once for each object.

    Before 3.12, Python's `cached_property` has a lock for all objects of a class: two threads could wait for each
    other, one with that lock and one with that of a model. Here both compute, and who is done first is right.
    """

    def __init__(self, function: Callable[[Any], T]):
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        known = instance.__dict__
        if self._name not in known:
            known.setdefault(self._name, self._function(instance))
        return known[self._name]


class Pool(Generic[T]):
    """Things that one user at a time may have: taken out, and given back for the next, at most `most` by key."""

    def __init__(self, most: int = 4):
        self._most = most
        self._lock = renewed(threading.Lock())
        self._free: OrderedDict[Hashable, list[T]] = OrderedDict()

    def take(self, key: Hashable) -> T | None:
        """One that nobody has, or None."""
        with self._lock:
            free = self._free.get(key)
            return free.pop() if free else None

    def give_back(self, key: Hashable, thing: T) -> None:
        with self._lock:
            free = self._free.setdefault(key, [])
            self._free.move_to_end(key)
            if len(free) < self._most:
                free.append(thing)
            while len(self._free) > self._most:
                self._free.popitem(last=False)
