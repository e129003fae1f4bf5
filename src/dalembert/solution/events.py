"""What happened during a simulation: the roots of event functions, in the order in which they occurred."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.namespace import explain_unknown


@dataclass(frozen=True, eq=False)
class Occurrence:
    """One root of one event function.

    `state` holds p, v, … (or x) just before the event changed anything; each is also an attribute.

    Examples
    --------
    >>> bounce = Occurrence(t=0.45, name="floor", number=0, direction=-1, state={"v": np.array([-4.4])})
    >>> bounce.v
    array([-4.4])
    """

    t: float
    name: str
    number: int  # of the event function
    direction: int  # +1 rising, −1 falling
    state: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __getattr__(self, name: str) -> np.ndarray:
        state = self.__dict__.get("state", {})
        if name in state:
            return state[name]
        kinds = ", ".join(state) or "nothing"
        raise AttributeError(f"an occurrence of an event has no '{name}'; its state holds {kinds}")

    def __repr__(self) -> str:
        return f"Occurrence(t={self.t:.10g}, name={self.name!r}, {'rising' if self.direction > 0 else 'falling'})"


class EventLog(Sequence[Occurrence]):
    """A sequence of occurrences in the order of the integration.

    Parameters
    ----------
    occurrences : iterable of Occurrence
    names : sequence of str, optional
        Names of all event functions, also of those that never occurred. Default: the names that occur.

    Examples
    --------
    >>> log = EventLog(
    ...     [Occurrence(1.0, "floor", 0, -1), Occurrence(1.5, "apex", 1, -1), Occurrence(2.0, "floor", 0, -1)])
    >>> log.t
    array([1. , 1.5, 2. ])
    >>> log.named("floor")
    EventLog(2 occurrences: 2 × 'floor')
    """

    def __init__(self, occurrences: Iterable[Occurrence] = (), names: Sequence[str] | None = None):
        self._occurrences = tuple(occurrences)
        occurring = dict.fromkeys(o.name for o in self._occurrences)
        self.names = tuple(dict.fromkeys((*names, *occurring) if names is not None else occurring))

    @property
    def t(self) -> np.ndarray:
        """Times of all occurrences."""
        return np.array([o.t for o in self._occurrences], float)

    def named(self, name: str) -> EventLog:
        """The occurrences of one event."""
        if not isinstance(name, str) or (self.names and name not in self.names):
            raise ModelError(f"events: {explain_unknown(name, self.names)}")
        return EventLog((o for o in self._occurrences if o.name == name), (name,))

    def __len__(self) -> int:
        return len(self._occurrences)

    def __iter__(self) -> Iterator[Occurrence]:
        return iter(self._occurrences)

    @overload
    def __getitem__(self, index: int) -> Occurrence: ...
    @overload
    def __getitem__(self, index: slice) -> EventLog: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return EventLog(self._occurrences[index], self.names)
        return self._occurrences[index]

    def __repr__(self) -> str:
        if not self._occurrences:
            return "EventLog(no occurrences)"
        counts = ((name, sum(o.name == name for o in self._occurrences)) for name in self.names)
        by_name = ", ".join(f"{count} × {name!r}" for name, count in counts if count)
        return f"EventLog({len(self)} occurrence{'s' if len(self) > 1 else ''}: {by_name})"
