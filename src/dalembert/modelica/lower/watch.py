"""What makes events: relations, functions that jump, clocks."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.model.hybrid import Assignment, Relation, Sample
from dalembert.modelica.lower.symbols import DISCRETE, PARAMETER, TIME, Space

#: a number that is so close below a whole one counts as this; relative
ROUNDING = 1e-9


class Watch:
    """Collects relations, and the discrete entries which hold their truth values."""

    def __init__(self, space: Space):
        self.space = space
        self.relations: list[Relation] = []
        self.assignments: list[Assignment] = []
        self.samples: list[Sample] = []
        self.signs: list[tuple[ca.SX, str]] = []  # expressions of parameters that were taken to be positive
        self._known: dict[str, list[tuple[Any, ca.SX]]] = {}
        self.values: dict[str, float] = {}  # of parameters

    def relation(self, name: str, value: ca.SX, closed: bool) -> ca.SX:
        """The truth value of value > 0, or ≥ 0 if closed."""
        before = self._seen(f"{name} {closed}", value)
        if before is not None:
            return before
        entry = self.space.entry(name)
        when, rising = self.by_time(value, name)
        self.relations.append(
            Relation(name=entry, value=value, closed=closed, place=self.space.place(entry), by_time=when, rising=rising)
        )
        return self._keep(f"{name} {closed}", value, self.space.discrete[entry])

    def by_time(self, value: ca.SX, name: str) -> tuple[ca.SX | None, bool]:
        """When a value passes zero, if that only depends on time, linearly; and whether it grows."""
        kinds = self.space.kinds(value)
        if TIME not in kinds or kinds - {TIME, PARAMETER, DISCRETE}:
            return None, True
        slope = ca.simplify(ca.jacobian(value, self.space.t))
        if self.space.kinds(slope) - {PARAMETER}:
            return None, True
        number = self.space.with_values([slope], self.values)
        if not number.is_constant() or not abs(float(number)) > 0:
            return None, True
        rising = float(number) > 0
        if not slope.is_constant():
            self.signs.append((slope if rising else -slope, name))
        rest = ca.substitute(value, self.space.t, ca.SX(0))
        return -rest / slope, rising

    def floor(self, name: str, value: ca.SX) -> ca.SX:
        """The largest whole number that is not above a value: a discrete entry that changes at events."""
        before = self._seen(name, value)
        if before is not None:
            return before
        entry = self.space.entry(name)
        held = self.space.discrete[entry]
        tiny = ROUNDING * (1 + ca.fabs(value))
        self.assignments.append(
            Assignment(place=self.space.place(entry), value=ca.floor(value + tiny), name=f"{name} at events")
        )
        self.relation(f"{name} rises", value - (held + 1), True)
        self.relation(f"{name} falls", held - 2 * ROUNDING * (1 + ca.fabs(held)) - value, False)
        return self._keep(name, value, held)

    def sample(self, name: str, start: Any, interval: Any) -> ca.SX:
        pair = ca.vertcat(start, interval)
        before = self._seen(name, pair)
        if before is not None:
            return before
        entry = self.space.entry(name)
        self.samples.append(
            Sample(start=ca.SX(start), interval=ca.SX(interval), place=self.space.place(entry), name=entry)
        )
        return self._keep(name, pair, self.space.discrete[entry])

    def is_clock(self, entry: str) -> bool:
        place = self.space.place(entry)
        return any(sample.place == place for sample in self.samples)

    def _seen(self, name: str, value: ca.SX) -> ca.SX | None:
        """What was made of the same thing before: the same text need not mean the same within algorithms."""
        for other, symbol in self._known.get(name, ()):
            if other.shape == value.shape and ca.is_equal(other, value, 8):
                return symbol
        return None

    def _keep(self, name: str, value: ca.SX, symbol: ca.SX) -> ca.SX:
        self._known.setdefault(name, []).append((value, symbol))
        return symbol
