"""Impacts of a simulation, in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.namespace import explain_unknown


@dataclass(frozen=True, eq=False)
class Impact:
    """An impact in one contact. Several at the same time have happened together.

    `before`, `after` and `impulse` have the normal component first, then those along the directions of sliding: rates
    of the gap and sliding velocities. `v_before` and `v_after` are the model's velocities; None for impacts of a series
    that accumulates, which are not followed one by one.
    """

    t: float
    contact: str
    before: np.ndarray
    after: np.ndarray
    impulse: np.ndarray
    v_before: np.ndarray | None = None
    v_after: np.ndarray | None = None

    def __repr__(self) -> str:
        return (
            f"Impact(t={self.t:.10g}, contact={self.contact!r}, before={self.before[0]:.6g}, "
            f"after={self.after[0]:.6g}, impulse={self.impulse[0]:.6g})"
        )


@dataclass(frozen=True)
class Rest:
    """The end of infinitely many impacts: from here on the contact is closed."""

    t: float
    contact: str


@dataclass(frozen=True, eq=False)
class ImpactLog(Sequence[Impact]):
    """A sequence of impacts; `rests` are the times at which they accumulate.

    Examples
    --------
    >>> log = ImpactLog([Impact(0.45, "floor", np.array([-4.4]), np.array([3.9]), np.array([8.3]))])
    >>> log.t, log.named("floor")[0].after
    (array([0.45]), array([3.9]))
    """

    impacts: tuple[Impact, ...] = ()
    rests: tuple[Rest, ...] = field(default=())
    contacts: tuple[str, ...] = ()  # names of all contacts

    def __init__(self, impacts: Iterable[Impact] = (), rests: Iterable[Rest] = (), contacts: Sequence[str] = ()):
        ordered = sorted(impacts, key=lambda impact: impact.t)
        object.__setattr__(self, "impacts", tuple(ordered))
        object.__setattr__(self, "rests", tuple(sorted(rests, key=lambda rest: rest.t)))
        known = (*contacts, *(impact.contact for impact in ordered))
        object.__setattr__(self, "contacts", tuple(dict.fromkeys(known)))

    @property
    def t(self) -> np.ndarray:
        """Times of all impacts."""
        return np.array([impact.t for impact in self.impacts], float)

    def named(self, contact: str) -> ImpactLog:
        """The impacts of one contact."""
        if contact not in self.contacts:
            raise ModelError(f"impacts: {explain_unknown(contact, self.contacts)}")
        mine = (impact for impact in self.impacts if impact.contact == contact)
        return ImpactLog(mine, (rest for rest in self.rests if rest.contact == contact), (contact,))

    def __len__(self) -> int:
        return len(self.impacts)

    def __iter__(self) -> Iterator[Impact]:
        return iter(self.impacts)

    @overload
    def __getitem__(self, index: int) -> Impact: ...
    @overload
    def __getitem__(self, index: slice) -> ImpactLog: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return ImpactLog(self.impacts[index], self.rests, self.contacts)
        return self.impacts[index]

    def __repr__(self) -> str:
        if not self.impacts:
            return "ImpactLog(no impacts)"
        counts = ((name, sum(impact.contact == name for impact in self.impacts)) for name in self.contacts)
        return f"ImpactLog({', '.join(f'{count} × {name!r}' for name, count in counts if count)})"
