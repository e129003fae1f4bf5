"""Rebounds that accumulate (Zeno's points): infinitely many impacts in a finite time, after which a contact is closed.

When a rebound is so low that positions hardly resolve it, forces do not change during the rest of them. Each then lasts
e times as long as the one before, and all together T/(1 − e).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.contact.decision import Decision
from dalembert.contact.space import ContactSpace, Vectors

#: of the size of positions: rebounds that are lower are not followed one by one
HEIGHT = 1e-11
#: of the time, and of the interval: rebounds that are shorter
SHORT = 1e-9
#: and so many times how far gaps are below zero
DEPTHS = 4.0
#: impacts of a series that are listed
MOST = 10_000


@dataclass(frozen=True)
class Series:
    """Impacts of one contact that follow each other ever faster."""

    contact: int
    speed: float  # after the first
    acceleration: float  # towards the contact
    restitution: float

    @property
    def flight(self) -> float:
        """The time to the second impact."""
        return 2 * self.speed / self.acceleration

    @property
    def lasts(self) -> float:
        """The time until it is at rest."""
        return self.flight / (1 - self.restitution)

    def impacts(self, t: float) -> Iterator[tuple[float, float]]:
        """Times and speeds of approach of those to come, as far as times can be told apart."""
        speed, flight = self.speed, self.flight
        for _ in range(MOST):
            if flight <= 4 * np.spacing(abs(t)) or speed == 0:
                return
            t += flight
            yield t, speed
            speed, flight = speed * self.restitution, flight * self.restitution


def bounces_to_rest(
    space: ContactSpace,
    t: float,
    vectors: Vectors,
    theta: np.ndarray,
    decision: Decision,
    rebounds: Mapping[int, float],
    restitution: np.ndarray,
    time: float,
    length: float,
    slowest: float,
    depth: Mapping[int, float],
) -> tuple[Series | None, float]:
    """The contact among those that rebound which comes to rest now, or None; and how long the shortest flight of the
    others is.

    `time`, `length` and `slowest` are what short times, low heights and small speeds are compared with; `depth` is how
    far gaps are below the value that is their event: rebounds that hardly lead out of there would not be seen to end.
    """
    falling, shortest = list(rebounds), np.inf
    if not falling:
        return None, shortest
    for i, acceleration in zip(falling, -_accelerations(space, t, vectors, theta, decision, falling), strict=True):
        speed = rebounds[i]
        if not acceleration > 0:
            continue
        series = Series(i, speed, float(acceleration), float(restitution[i]))
        low = speed**2 / (2 * acceleration) <= max(HEIGHT * length, DEPTHS * depth[i])
        if restitution[i] < 1 and (low or series.flight <= SHORT * time or speed <= slowest):
            return series, shortest
        shortest = min(shortest, series.flight)
    return None, shortest


def hardly_open(
    space: ContactSpace,
    t: float,
    vectors: Vectors,
    theta: np.ndarray,
    decision: Decision,
    closed: Sequence[int],
    slack: float,
) -> set[int]:
    """Contacts that an impact elsewhere has opened, but which fall back from a height that nobody notices.

    A wheel that rocks from foot to foot comes to rest by such impacts, each without rebound.
    """
    opens = [i for i in closed if i not in decision.modes]
    if not opens:
        return set()
    rates, dims = space.rates(t, vectors, theta, opens), space.dims_of(opens)
    speeds = rates.gamma[np.cumsum(dims) - dims]
    falls = -_accelerations(space, t, vectors, theta, decision, opens)
    return {
        i
        for i, speed, fall in zip(opens, speeds, falls, strict=True)
        if fall > 0 and speed > 0 and speed**2 <= 2 * fall * DEPTHS * slack
    }


def _accelerations(
    space: ContactSpace, t: float, vectors: Vectors, theta: np.ndarray, decision: Decision, which: Sequence[int]
) -> np.ndarray:
    """Of the gaps of open contacts, with the forces of those in force."""
    normals = np.array([space.rows[i][0] for i in which], int)
    found = space.accelerations(t, vectors, theta, np.concatenate([decision.rows, normals]))
    n = len(found.b) - len(which)  # their rows are the last ones
    lam = np.linalg.lstsq(found.A[:n, :n], -found.b[:n], rcond=None)[0] if n else np.zeros(0)
    return found.b[n:] + found.A[n:, :n] @ lam
