"""Equations as sums: numbers times unknowns and derivatives, and whatever else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import casadi as ca

from dalembert.modelica import tree
from dalembert.modelica.flat import Origin
from dalembert.modelica.lower.atoms import RATE, VALUE, Atom, call_name, derivative

#: a number or an expression of parameters
Coefficient: TypeAlias = "float | ca.SX"


class Row:
    """0 = Σ coefficient · atom + Σ coefficient · tree.

    `others` are the atoms that occur within the trees. `text` says what was written, `origin` where.
    """

    __slots__ = ("defines", "linear", "origin", "others", "rest", "text")

    def __init__(self, text: Callable[[], str], origin: Origin):
        self.linear: dict[Atom, Coefficient] = {}
        self.rest: list[tuple[Coefficient, Any]] = []
        self.others: set[Atom] = set()
        self.text, self.origin = text, origin
        self.defines: str | None = None  # the unknown whose derivative this row says

    def atoms(self) -> set[Atom]:
        return self.others | self.linear.keys()

    def add(self, atom: Atom, coefficient: Coefficient) -> None:
        total = coefficient + self.linear[atom] if atom in self.linear else coefficient
        if is_zero(total):
            self.linear.pop(atom, None)
        else:
            self.linear[atom] = total

    def add_rest(self, coefficient: Coefficient, node: Any, others: Iterable[Atom]) -> None:
        for i, (before, other) in enumerate(self.rest):
            if other is node:
                total = before + coefficient
                self.rest[i : i + 1] = [] if is_zero(total) else [(total, node)]
                break
        else:
            self.rest.append((coefficient, node))
        self.others |= set(others)

    def include(self, factor: Coefficient, other: Row) -> None:
        """Add another sum, times a factor."""
        for atom, coefficient in other.linear.items():
            self.add(atom, times(factor, coefficient))
        for coefficient, node in other.rest:
            self.add_rest(times(factor, coefficient), node, ())
        self.others |= other.others

    def include_rate(self, factor: Coefficient, other: Row) -> None:
        """Add the derivative of another sum, times a factor."""
        for (_, name), coefficient in other.linear.items():
            self.add((RATE, name), times(factor, coefficient))
        for coefficient, node in other.rest:
            self.rest.append((times(factor, coefficient), derivative(node)))
        self.others |= rates_of(other.others)


def rates_of(atoms: Iterable[Atom]) -> set[Atom]:
    """What occurs in the derivative of an expression in which these atoms occur."""
    atoms = set(atoms)
    return atoms | {(RATE, name) for kind, name in atoms if kind == VALUE}


def is_number(coefficient: Coefficient) -> bool:
    return not isinstance(coefficient, ca.SX)


def is_zero(coefficient: Coefficient) -> bool:
    return coefficient.is_zero() if isinstance(coefficient, ca.SX) else coefficient == 0


def times(a: Coefficient, b: Coefficient) -> Coefficient:
    """a·b; products with ±1 are the other factor, which keeps graphs small."""
    for one, other in ((a, b), (b, a)):
        if not isinstance(one, ca.SX):
            if one == 1:
                return other
            if one == -1:
                return -other
    return a * b


class Sums:
    """Makes rows of trees.

    `is_unknown` tells unknowns from what is known, `value` evaluates expressions of parameters, and `is_constant` says
    whether an expression is one.
    """

    def __init__(
        self,
        is_unknown: Callable[[str], bool],
        is_constant: Callable[[Any], bool],
        value: Callable[[Any], Any],
        atoms: Callable[[Any], set[Atom]],
    ):
        self.is_unknown, self.is_constant, self.value, self.atoms = is_unknown, is_constant, value, atoms

    def row(self, left: tree.Expression, right: tree.Expression, text: Callable[[], str], origin: Origin) -> Row:
        """left - right"""
        row = Row(text, origin)
        self.put(row, left, 1.0)
        self.put(row, right, -1.0)
        return row

    def put(self, row: Row, node: Any, factor: Coefficient) -> None:
        waiting = [(node, factor)]
        while waiting:
            node, factor = waiting.pop()
            match node:
                case tree.Literal():
                    if node.value != 0:
                        row.add_rest(factor, node, ())
                    continue
                case tree.Ref(names=(name,), subs=None) if self.is_unknown(name):
                    row.add((VALUE, name), factor)
                    continue
                case tree.Unary(op="-" | ".-" | "+" | ".+"):
                    waiting.append((node.operand, -factor if "-" in node.op else factor))
                    continue
                case tree.Binary(op="+" | "-" | ".+" | ".-"):
                    waiting.append((node.left, factor))
                    waiting.append((node.right, -factor if "-" in node.op else factor))
                    continue
                case tree.Binary(op="*" | ".*"):
                    known, other = (node.left, node.right)
                    if not self.is_constant(known):
                        known, other = other, known
                    if self.is_constant(known) and not self.is_constant(other):
                        coefficient = self.coefficient(known)
                        if not is_zero(coefficient):
                            waiting.append((other, times(factor, coefficient)))
                        continue
                case tree.Binary(op="/" | "./"):
                    if self.is_constant(node.right) and not self.is_constant(node.left):
                        coefficient = self.coefficient(node.right)
                        if not is_zero(coefficient):
                            waiting.append((node.left, factor / coefficient))
                            continue
                case tree.Tuple(items=(one,)) if one is not None:
                    waiting.append((one, factor))
                    continue
                case tree.Call():
                    name = call_name(node)
                    if name == "der" and isinstance(node.args[0], tree.Ref) and self.is_unknown(node.args[0].names[0]):
                        row.add((RATE, node.args[0].names[0]), factor)
                        continue
                    if name == "homotopy" and node.args:
                        waiting.append((node.args[0], factor))
                        continue
            row.add_rest(factor, node, self.atoms(node))

    def coefficient(self, node: Any) -> Coefficient:
        value = self.value(node)
        return value if isinstance(value, ca.SX) else float(value)
