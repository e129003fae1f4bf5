"""Symbols of one translation: who is who in a graph, and the discrete part of θ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import casadi as ca

TIME, UNKNOWN, DERIVATIVE = "time", "unknown", "derivative"
PARAMETER, DISCRETE, INPUT = "parameter", "discrete", "input"

#: kinds of symbols that move between events
MOVING = frozenset((TIME, UNKNOWN, DERIVATIVE, INPUT))


class Column:
    """Symbols of one kind in order, by name."""

    def __init__(self, kind: str, kinds: dict[int, tuple[str, str]]):
        self.kind, self._kinds = kind, kinds
        self.symbols: dict[str, ca.SX] = {}

    def __getitem__(self, name: str) -> ca.SX:
        """The symbol of this name; a new one at the end if there is none."""
        if name not in self.symbols:
            text = f"der({name})" if self.kind == DERIVATIVE else name
            symbol = self.symbols[name] = ca.SX.sym(text)
            self._kinds[symbol.element_hash()] = (self.kind, name)
        return self.symbols[name]

    def __contains__(self, name: str) -> bool:
        return name in self.symbols

    def column(self) -> ca.SX:
        return ca.vertcat(*self.symbols.values()) if self.symbols else ca.SX(0, 1)


class Space:
    """All symbols.

    `unknowns` and `derivatives` have their entries in the order in which they were first asked for.
    """

    def __init__(self) -> None:
        self._kinds: dict[int, tuple[str, str]] = {}
        self.t = ca.SX.sym("time")
        self._kinds[self.t.element_hash()] = (TIME, "time")
        self.unknowns, self.derivatives = self._column(UNKNOWN), self._column(DERIVATIVE)
        self.parameters, self.discrete, self.inputs = map(self._column, (PARAMETER, DISCRETE, INPUT))
        self.starts: dict[str, float] = {}  # of discrete entries
        self.previous: dict[str, str] = {}  # discrete entry -> that of its value before the event
        self._places: dict[str, int] = {}

    def _column(self, kind: str) -> Column:
        return Column(kind, self._kinds)

    def in_graph(self, value: Any) -> set[tuple[str, str]]:
        """Kinds and names of the symbols in a graph."""
        if not isinstance(value, ca.SX):
            return set()
        if value.is_scalar() and value.is_symbolic():
            return {self._kinds[value.element_hash()]}
        return {self._kinds[symbol.element_hash()] for symbol in ca.symvar(value)}

    def kinds(self, value: Any) -> set[str]:
        return {kind for kind, _ in self.in_graph(value)}

    def moves(self, value: Any) -> bool:
        """Whether a value changes between events."""
        return not MOVING.isdisjoint(self.kinds(value))

    # -- discrete entries ----------------------------------------------------------------------------------------

    def entry(self, name: str, start: float = 0.0) -> str:
        """A new discrete entry; its name is made unique."""
        unique, number = name, 1
        while unique in self.discrete or unique in self.starts:
            number += 1
            unique = f"{name} ({number})"
        self._places[unique] = len(self._places)
        self.starts[unique] = float(start)
        self.discrete[unique]
        return unique

    def place(self, entry: str) -> int:
        return self._places[entry]

    def before(self, entry: str) -> ca.SX:
        """The symbol of the value that a discrete entry had before the event."""
        if entry not in self.previous:
            self.previous[entry] = self.entry(f"pre({entry})", self.starts[entry])
        return self.discrete[self.previous[entry]]

    def entry_of(self, value: Any) -> str | None:
        """The discrete entry that a graph is, if it is nothing else."""
        if isinstance(value, ca.SX) and value.is_scalar() and value.is_symbolic():
            kind, name = self._kinds[value.element_hash()]
            return name if kind == DISCRETE else None
        return None

    def with_values(self, graphs: Iterable[ca.SX], values: dict[str, float]) -> ca.SX:
        """Graphs with numbers in place of parameters."""
        column = ca.vertcat(*graphs)
        names = [name for kind, name in self.in_graph(column) if kind == PARAMETER and name in values]
        if not names:
            return column
        symbols = ca.vertcat(*(self.parameters.symbols[name] for name in names))
        return ca.substitute(column, symbols, ca.SX(ca.DM([values[name] for name in names])))
