"""Which unknowns follow from others, and how: they leave the equations.

A row that can be solved for an unknown with a number as its factor becomes the definition of this unknown, which is put
into all other rows. In turn:

1. what follows from time, parameters and discrete variables alone;
2. aliases, x = ±y;
3. derivatives: where der(x) = v stands somewhere, v takes the place of der(x) elsewhere;
4. differentiated unknowns that are sums of other differentiated ones, as relative positions are;
5. unknowns that are not differentiated and stand alone in an equation; at last also those with a parameter as their
   factor that is not zero.

This also takes away constraints between positions that are linear, together with all of their derivatives. Everything
else (index, hidden constraints, start) is left to structural analysis: unknowns are not sorted into states and others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import casadi as ca

from dalembert.modelica.lower.atoms import RATE, VALUE, Atom
from dalembert.modelica.lower.linear import Row, is_number, rates_of, times

#: an unknown is not eliminated if rows would get so many atoms more in all: Jacobians would fill up
MOST_FILL = 60

#: unknowns of this rank are kept as differentiated ones, in place of others
PREFERRED = 16


@dataclass(frozen=True)
class Wishes:
    """What start and events say about unknowns: those `kept` stay; the `rank` of others says what they are worth."""

    kept: frozenset[str]
    watched: frozenset[str]  # those in relations: differences in their place would magnify errors
    rank: Callable[[str], int]
    is_moving: Callable[[Row], bool]  # whether a row depends on inputs, whose derivatives nobody knows
    agrees: Callable[[str, Row], bool]  # whether a start value of an unknown follows from those of others
    divides: Callable[[ca.SX], bool]  # whether an expression of parameters is not zero


class Elimination:
    """Rows, and where atoms occur in them.

    Attributes
    ----------
    rows : list of Row
        Those that are left. Those with `defines` say what a derivative is; elsewhere it was replaced.
    definitions : dict
        Row by unknown: the unknown is minus the sum of the row (its own coefficient was 1, and was taken out).
    rates : dict
        The row by unknown that says its derivative.
    hints : dict
        Rows by unknown that could have been solved for it, but were not.
    divisors : list
        Pairs of an expression of parameters that must not be zero, and the unknown for which a row was solved.
    """

    def __init__(self, rows: Iterable[Row], wishes: Wishes):
        self.rows: list[Row] = list(rows)
        self.wishes = wishes
        self.definitions: dict[str, Row] = {}
        self.rates: dict[str, Row] = {}
        self.hints: dict[str, Row] = {}
        self.divisors: list[tuple[ca.SX, str]] = []
        self._taken: set[int] = set()  # rows that are definitions
        self.where: dict[Atom, dict[Row, None]] = defaultdict(dict)
        for row in self.rows:
            self.note(row, row.atoms())

    def run(self) -> None:
        again = True
        while again:
            again = self.follow_known()
            again = self.join_aliases() or again
            again = self.say_rates() or again
            again = again or self.solve_moving() or self.solve_explicit() or self.solve_explicit(divide=True)
        self.rows = [row for row in self.rows if id(row) not in self._taken]

    # -- bookkeeping ---------------------------------------------------------------------------------------------

    def note(self, row: Row, atoms: Iterable[Atom]) -> None:
        """These atoms may occur in a row now."""
        for atom in atoms:
            self.where[atom][row] = None

    def is_open(self, row: Row) -> bool:
        """Whether it is still an equation, and none that says a derivative."""
        return row.defines is None and id(row) not in self._taken

    def differentiated(self, name: str) -> bool:
        rows, atom = self.where.get((RATE, name)), (RATE, name)
        return rows is not None and any(atom in row.linear or atom in row.others for row in rows)

    def define(self, name: str, row: Row) -> None:
        """Solve a row for an unknown, and put what it is into all others."""
        pivot = row.linear.pop((VALUE, name))
        if not is_number(pivot):
            self.divisors.append((pivot, name))
        if not is_number(pivot) or pivot != 1:
            inverse = 1 / pivot
            for atom in row.linear:
                row.linear[atom] = times(row.linear[atom], inverse)
            row.rest = [(times(coefficient, inverse), node) for coefficient, node in row.rest]
        del self.where[(VALUE, name)][row]
        self.definitions[name] = row
        self._taken.add(id(row))
        inside = row.atoms()
        for other in list(self.where.pop((VALUE, name), ())):
            if (VALUE, name) in other.linear:
                other.include(-other.linear.pop((VALUE, name)), row)
            if (VALUE, name) in other.others:
                other.others.discard((VALUE, name))
                other.others |= inside
            self.note(other, inside)
        rates = {(RATE, one) for _, one in row.linear} | rates_of(row.others)
        for other in list(self.where.pop((RATE, name), ())):
            if other.defines == name:
                other.defines = None
                del self.rates[name]
            if (RATE, name) in other.linear:
                other.include_rate(-other.linear.pop((RATE, name)), row)
            if (RATE, name) in other.others:
                other.others.discard((RATE, name))
                other.others |= rates
            self.note(other, rates)

    def spread_rate(self, name: str) -> bool:
        """Put what is known about a derivative into all rows but the one that says it."""
        row, changed = self.rates[name], False
        atom = (RATE, name)
        inside = row.atoms() - {atom}
        for other in list(self.where[atom]):
            if other is row:
                continue
            changed = True
            factor = -1 / row.linear[atom]
            if atom in other.linear:
                coefficient = times(other.linear.pop(atom), factor)
                for one, share in row.linear.items():
                    if one != atom:
                        other.add(one, times(coefficient, share))
                for share, node in row.rest:
                    other.add_rest(times(coefficient, share), node, ())
                other.others |= row.others
            if atom in other.others:
                other.others.discard(atom)
                other.others |= inside
            del self.where[atom][other]
            self.note(other, inside)
        return changed

    # -- steps ---------------------------------------------------------------------------------------------------

    def pivots(self, row: Row, divide: bool = False) -> list[str]:
        """Unknowns for which a row can be solved, by parameters only if it is to `divide`."""
        return [
            name
            for (kind, name), coefficient in row.linear.items()
            if kind == VALUE and (is_number(coefficient) or (divide and self.wishes.divides(coefficient)))
            and (VALUE, name) not in row.others
            and (RATE, name) not in row.others and (RATE, name) not in row.linear and name not in self.wishes.kept
        ]  # fmt: skip

    def follow_known(self) -> bool:
        changed = False
        waiting = [row for row in self.rows if self.is_open(row)]
        while waiting:
            row = waiting.pop()
            if not self.is_open(row) or len(row.linear) != 1 or row.others:
                continue
            for name in self.pivots(row):
                if self.differentiated(name) and self.wishes.is_moving(row):
                    continue
                touched = [*self.where.get((VALUE, name), ()), *self.where.get((RATE, name), ())]
                self.define(name, row)
                waiting += [other for other in touched if other is not row]
                changed = True
        return changed

    def join_aliases(self) -> bool:
        changed = False
        for row in self.rows:
            if not self.is_open(row) or len(row.linear) != 2 or row.others or row.rest:
                continue
            (_, a), (_, b) = row.linear
            if any(kind != VALUE for kind, _ in row.linear):
                continue
            pivots = self.pivots(row)
            if len(set(map(abs, filter(is_number, row.linear.values())))) != 1 or not pivots or a == b:
                continue
            name = min(pivots, key=lambda one: (self.differentiated(one), self.wishes.rank(one)))
            self.define(name, row)
            changed = True
        return changed

    def say_rates(self) -> bool:
        """der(x) = v, a single unknown or something known: v stands for der(x) elsewhere."""
        changed = False
        for row in self.rows:
            if not self.is_open(row) or row.others or len(row.linear) > 2:
                continue
            rates = [name for kind, name in row.linear if kind == RATE]
            if len(rates) != 1 or rates[0] in self.rates or not is_number(row.linear[(RATE, rates[0])]):
                continue
            if any(name == rates[0] for kind, name in row.linear if kind == VALUE):
                continue
            row.defines = rates[0]
            self.rates[rates[0]] = row
        for name in list(self.rates):
            changed = self.spread_rate(name) or changed
        return changed

    def solve_moving(self) -> bool:
        changed = False
        for row in self.rows:
            if not self.is_open(row) or row.others or not row.linear:
                continue
            if any(kind != VALUE for kind, _ in row.linear) or self.wishes.is_moving(row):
                continue
            still = [name for _, name in row.linear if not self.differentiated(name)]
            if any(self.wishes.rank(name) < PREFERRED for name in still):
                continue
            # those which somebody prefers become differentiated in place of another one
            most = PREFERRED if still else None
            pivots = [
                name
                for name in self.pivots(row)
                if name not in still
                and (most is None or self.wishes.rank(name) < most)
                and self.wishes.agrees(name, row)
            ]
            name = min(pivots, key=lambda one: (self.wishes.rank(one), self.uses(one)), default=None)
            if name is not None and self.fill(name, row) <= MOST_FILL:
                self.define(name, row)
                changed = True
        return changed

    def uses(self, name: str) -> int:
        return len(self.where.get((VALUE, name), ())) + len(self.where.get((RATE, name), ()))

    def fill(self, name: str, row: Row) -> int:
        """How many atoms more there may be in all rows when an unknown is eliminated with this one."""
        size = len(row.linear) + len(row.others)
        return (self.uses(name) - 1) * (size - 2) - size

    def solve_explicit(self, divide: bool = False) -> bool:
        changed = False
        for row in sorted((row for row in self.rows if self.is_open(row)), key=lambda row: len(row.atoms())):
            atoms = row.atoms()
            if any(kind == RATE for kind, _ in atoms):
                continue
            pivots = [name for name in self.pivots(row, divide) if not self.differentiated(name)]
            if len(atoms) > 2:
                for name in self.wishes.watched.intersection(pivots):
                    self.hints.setdefault(name, row)
                pivots = [name for name in pivots if name not in self.wishes.watched]
            name = min(pivots, key=lambda one: (self.wishes.rank(one), self.uses(one)), default=None)
            if name is not None and self.fill(name, row) <= MOST_FILL:
                self.define(name, row)
                changed = True
        return changed
