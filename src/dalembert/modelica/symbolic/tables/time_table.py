"""Curves over time: time events at their kinks and jumps."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import casadi as ca
import numpy as np

from dalembert.modelica.symbolic.tables.curve import Curve, Extrapolation, Memory, Place, Smoothness

NEVER = 1.7976931348623157e308  # Modelica's largest number


class TimeEvents(IntEnum):
    """Modelica.Blocks.Types.TimeEvents."""

    ALWAYS, AT_DISCONTINUITIES, NONE = range(1, 4)


class TimeTable:
    """Curves with common points of time.

    Parameters
    ----------
    table : array
        Time and values, by rows.
    columns : list of int
        The columns that become curves, from 1.
    start : float
        Before, values are 0.
    shift : float
        What is added to the times of the table.

    Examples
    --------
    >>> table = TimeTable([[0, 0], [1, 0], [1, 1], [2, 4]], [2], 1, 2, 0.0, 0.0, 1)
    >>> table.next_event(0.0), table.next_event(1.0)
    (1.0, 2.0)
    >>> table.value(1, 1.0, 1.0), table.value(1, 1.0, 2.0)
    (0.0, 1.0)
    """

    def __init__(
        self, table: Any, columns: Any, smoothness: int, extrapolation: int, start: float, shift: float, events: int
    ):
        table = np.asarray(table, float)
        self.curves = [Curve(table[:, 0], table[:, k - 1], smoothness, extrapolation) for k in columns]
        self.curve = self.curves[0] if self.curves else Curve(table[:, 0], table[:, 0], 1, extrapolation)
        self.start, self.shift = start, shift
        self.memory = Memory()
        x = self.curve.x
        self.least, self.largest = float(x[0]), float(x[-1])
        self.periodic = self.curve.extrapolation == Extrapolation.PERIODIC and self.largest > self.least
        double = {float(one) for one in x[1:][np.diff(x) == 0]}
        if Smoothness(smoothness) == Smoothness.CONSTANT or (
            Smoothness(smoothness) == Smoothness.LINEAR and TimeEvents(events) == TimeEvents.ALWAYS
        ):
            self.knots = {float(one) for one in x}
        elif TimeEvents(events) == TimeEvents.NONE:
            self.knots = set()
        else:
            self.knots = double | ({self.largest} if self.periodic else set())

    def _tolerance(self, time: float) -> float:
        """Times that differ by less are the same event: scaled by somebody, they are rounded."""
        return 1e-12 * max(abs(time), self.largest - self.least, 1e-300)

    # -- events --------------------------------------------------------------------------------------------------

    def next_event(self, t: Any) -> Any:
        """The first event after a time."""
        return self.memory(self._next_event, t)

    def _next_event(self, t: Any) -> Any:
        found: Any = NEVER
        offsets, base = self._upcoming(t)
        margin = 1e-12 * (abs(t) + (self.largest - self.least))
        if len(offsets) and isinstance(t, ca.SX):
            times = base + ca.DM(offsets)
            later = t < times - margin
            first = later > ca.vertcat(0, later[:-1])
            found = ca.sum1(ca.if_else(first, times, 0)) + ca.if_else(later[-1], 0, NEVER)
        elif len(offsets):
            times = base + offsets
            found = next((float(one) for one in times if t < one - margin), NEVER)
        first = self.start
        return _choice(t < first - self._tolerance(first), first, found)

    def _upcoming(self, t: Any) -> tuple[np.ndarray, Any]:
        """Events in order, from a time on; of a periodic table those of the present period, and the first behind."""
        knots = np.array(sorted(self.knots))
        if not self.periodic:
            return knots[knots + self.shift > self.start], self.shift
        floor = ca.floor if isinstance(t, ca.SX) else np.floor
        base = self.shift + floor((t - self.shift - self.least) / self.curve.period) * self.curve.period
        inner = knots[knots > self.least]
        return np.concatenate([inner, inner[:1] + self.curve.period]), base

    # -- values --------------------------------------------------------------------------------------------------

    def value(self, number: int, t: Any, upcoming: Any) -> Any:
        """The value of curve `number` (from 1) at a time; the next event says which piece counts.

        At an event, the piece before counts until the event has happened.
        """
        return self.memory(lambda t, upcoming, number: self._value(number, t, upcoming), t, upcoming, number)

    def _value(self, number: int, t: Any, upcoming: Any) -> Any:
        curve = self.curves[number - 1]
        u, until = t - self.shift, upcoming - self.shift
        if self.periodic:
            turn = self._turn(u, until)
            u, until = u - turn * curve.period, until - turn * curve.period
        if isinstance(until, ca.SX):
            u = ca.SX(u)
        elif isinstance(u, ca.SX):
            until = ca.SX(until)
        found = curve.at(Place(curve.starts, u, self._reached(curve.starts, u, until)))
        first = self.start
        return _choice(upcoming > first + self._tolerance(first), found, 0.0)

    def _reached(self, starts: np.ndarray, u: Any, until: Any) -> Any:
        """Which starts of pieces are reached: those with events when they have happened, others in time."""
        events = np.array([start in self.knots for start in starts])
        margin = np.array([self._tolerance(start) for start in starts])
        if not isinstance(u, ca.SX):
            found = np.where(events, until > starts + margin, u >= starts)
            if self.periodic:
                found[0], found[-1] = True, found[-1] and not self.knots
            return found
        happened, passed = until > ca.DM(starts + margin), u >= ca.DM(starts)
        found = happened if events.all() else passed
        if events.any() and not events.all():
            found = ca.vertcat(*(happened[i] if event else passed[i] for i, event in enumerate(events)))
        if self.periodic:
            found = ca.vertcat(1, found[1:-1], 0 if self.knots else found[-1])
        return found

    def _turn(self, u: Any, until: Any) -> Any:
        """The number of the period: the one that the next event belongs to, if there are events."""
        period = self.curve.period
        if isinstance(u, ca.SX) or isinstance(until, ca.SX):
            floor, ceil = ca.floor, ca.ceil
        else:
            floor, ceil = np.floor, np.ceil
        if self.knots:
            return ceil((until - self.least) / period - 1e-9) - 1
        return floor((u - self.least) / period)


def _choice(condition: Any, then: Any, otherwise: Any) -> Any:
    if isinstance(condition, ca.SX):
        return ca.if_else(condition, then, otherwise)
    return then if condition else otherwise
