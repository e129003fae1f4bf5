"""Continuous unknowns: what is eliminated, values and derivatives, residuals."""

from __future__ import annotations

from typing import Any

import casadi as ca

from dalembert.modelica import tree
from dalembert.modelica.flat import FlatModel
from dalembert.modelica.lower.atoms import RATE, VALUE, Result, all_names, atoms, call_name, compared, has_call
from dalembert.modelica.lower.classify import Classes
from dalembert.modelica.lower.context import Context, Equations
from dalembert.modelica.lower.eliminate import Elimination, Wishes
from dalembert.modelica.lower.fold import fold
from dalembert.modelica.lower.linear import Row, Sums, times
from dalembert.modelica.lower.parameters import Parameters
from dalembert.modelica.lower.start import Start
from dalembert.modelica.lower.symbols import INPUT, UNKNOWN, Space
from dalembert.modelica.symbolic import scalars


class Continuous:
    """The part of a translation that is about continuous unknowns."""

    flat: FlatModel
    space: Space
    context: Context
    evaluator: Equations
    parameters: Parameters
    classes: Classes
    start: Start
    inputs: dict[str, float]

    def __init__(self) -> None:
        self.elimination: Elimination | None = None
        self.aux: dict[str, ca.SX] = {}  # unknowns that stand for derivatives in what makes events
        self._rates: dict[str, Any] = {}
        self._constant: dict[int, tuple[Any, bool]] = {}

    def is_continuous(self, name: str) -> bool:
        return name in self.classes.continuous

    def atoms(self, node: Any) -> set:
        return atoms(node, self.is_continuous)

    def is_constant(self, node: Any) -> bool:
        """Whether an expression is one of parameters and constants alone."""
        if isinstance(node, tree.Literal):
            return True
        key = id(node)
        if key not in self._constant:
            found = all(self._is_parameter(name) for name in all_names(node)) and not _has_special(node)
            self._constant[key] = (node, found)
        return self._constant[key][1]

    def _is_parameter(self, name: str) -> bool:
        variable = self.flat.variables.get(name)
        if variable is None or name in self.classes.continuous:
            return False
        return variable.variability in ("parameter", "constant")

    # -- continuous equations ------------------------------------------------------------------------------------

    def eliminate(self) -> None:
        sums = Sums(self.is_continuous, self.is_constant, self.evaluator.value, self.atoms)
        rows = []
        for one in self.classes.equations:
            self.context.origin = one.origin
            left, right = (self.folded(side) for side in (one.left, one.right))
            rows.append(sums.row(left, right, one.text, one.origin))
        for number, algorithm in enumerate(self.flat.algorithms):
            read = tuple(dict.fromkeys(name for one in algorithm.statements for name in all_names(_right_sides(one))))
            names = tuple(name for name in read if name not in algorithm.targets)
            for target in algorithm.targets:
                if self.is_continuous(target):
                    result = Result(0, number, target, names)
                    text = f"algorithm for {target}"
                    rows.append(sums.row(tree.Ref(0, (target,)), result, lambda text=text: text, algorithm.origin))
        for name in self.parameters.free:
            row = Row(lambda name=name: f"der({name}) = 0", self.flat.variables[name].origin)
            row.linear[(RATE, name)] = 1.0
            rows.append(row)
        kept = frozenset(self._restarted()) | frozenset(self.parameters.free)
        wishes = Wishes(kept, self._watched(), self.start.rank, self._is_moving, self.start.agrees, self._divides)
        self.elimination = Elimination(rows, wishes)
        self.elimination.run()

    def folded(self, node: Any) -> Any:
        return fold(node, self.atoms, self.is_constant, self._truth)

    def _truth(self, condition: Any) -> bool:
        value = self.evaluator.value(condition)
        return bool(self.evaluator.known(value, "which of two expressions with different unknowns holds", condition))

    def _restarted(self) -> list[str]:
        found: list[str] = []
        waiting: list[Any] = [body for when in self.flat.whens for _, body in when.branches]
        waiting += [algorithm.statements for algorithm in self.flat.algorithms]
        while waiting:
            one = waiting.pop()
            if call_name(one) == "reinit" and isinstance(one.args[0], tree.Ref):
                found.append(one.args[0].names[0])
            elif isinstance(one, tuple | list):
                waiting += [child for child in one if isinstance(child, tuple | list)]
        return found

    def _watched(self) -> frozenset[str]:
        """Unknowns that stand in relations."""
        nodes: list[Any] = [(one.left, one.right) for one in (*self.classes.equations, *self.classes.defined.values())]
        nodes += [(condition, tuple(body)) for when in self.flat.whens for condition, body in when.branches]
        nodes += [tuple(algorithm.statements) for algorithm in self.flat.algorithms]
        nodes += [one.condition for one in self.flat.asserts]
        return frozenset(name for node in nodes for name in compared(node) if self.is_continuous(name))

    def _divides(self, factor: ca.SX) -> bool:
        """Whether an expression of parameters is far from zero for their present values."""
        value = self.space.with_values([factor], self.context.numbers)
        return value.is_constant() and 1e-100 < abs(float(value)) < 1e100

    def _is_moving(self, row: Row) -> bool:
        if not self.inputs:
            return False
        waiting, seen = [name for _, node in row.rest for name in all_names(node)], set()
        while waiting:
            name = waiting.pop()
            if name in self.inputs:
                return True
            if name not in seen and name in self.elimination.definitions:
                seen.add(name)
                waiting += [other for _, node in self.elimination.definitions[name].rest for other in all_names(node)]
        return False

    def value_of(self, name: str) -> Any:
        """The value of a continuous unknown: its symbol, or what was found in its stead."""
        values = self.context.values
        if name in values:
            return values[name]
        if name not in self.classes.continuous:
            self.context.fail(f"`{name}` has no value here", None)
        if self.elimination is None:
            self.context.fail(f"`{name}` is not known before the simulation", None)
        if name not in self.elimination.definitions:
            values[name] = self.space.unknowns[name]
            return values[name]
        waiting = [name]
        while waiting:  # what it needs comes first, without recursion
            one = waiting[-1]
            if one in values:
                waiting.pop()
                continue
            row = self.elimination.definitions[one]
            needed = {other for _, other in row.linear}
            needed |= {other for _, node in row.rest for _, other in self.atoms(node)}
            open_ = [other for other in needed if other not in values and other in self.elimination.definitions]
            if one in open_ or len(waiting) > len(self.elimination.definitions):
                self.context.fail(f"`{one}` is defined by itself", None)
            if open_:
                waiting += open_
                continue
            values[one] = self.sum(row, -1.0)
            waiting.pop()
        return values[name]

    def sum(self, row: Row, factor: Any = 1.0, without: Any = None) -> Any:
        """The value of a row times a factor, as graph or number, `without` one of its atoms."""
        before, self.context.origin = self.context.origin, row.origin
        total: Any = 0.0
        for atom, coefficient in row.linear.items():
            if atom != without:
                kind, name = atom
                value = self.value_of(name) if kind == VALUE else self.space.derivatives[name]
                total = _plus(total, times(factor, coefficient), value)
        for coefficient, node in row.rest:
            total = _plus(total, times(factor, coefficient), self.evaluator.value(node))
        self.context.origin = before
        return total

    # -- derivatives ---------------------------------------------------------------------------------------------

    def rate(self, node: Any, evaluator: Equations) -> Any:
        """der(node)"""
        if self.elimination is None:
            self.context.fail("a derivative is not known before the simulation", node)
        if isinstance(node, tree.Ref) and self.is_continuous(node.names[0]):
            return self.rate_of(node.names[0])
        return self.total_derivative(evaluator.value(node))

    def rate_of(self, name: str) -> Any:
        if name not in self._rates:
            self._rates[name] = self._rate_of(name)
        return self._rates[name]

    def _rate_of(self, name: str) -> Any:
        elimination = self.elimination
        if name in elimination.definitions:
            row = elimination.definitions[name]
            total: Any = 0.0
            for (_, other), coefficient in row.linear.items():
                total = _plus(total, -coefficient, self.rate_of(other))
            for coefficient, node in row.rest:
                total = _plus(total, -coefficient, self.total_derivative(self.evaluator.value(node)))
            return total
        if name in elimination.rates:
            row = elimination.rates[name]
            pivot = row.linear[(RATE, name)]
            return self.sum(row, -1 / pivot, without=(RATE, name))
        return self.space.derivatives[name]

    def total_derivative(self, value: Any) -> Any:
        """The derivative of a value with respect to time."""
        if not isinstance(value, ca.SX):
            return 0.0
        inside = self.space.in_graph(value)
        if any(kind == INPUT for kind, _ in inside):
            name = next(name for kind, name in inside if kind == INPUT)
            self.context.fail(f"the derivative of the input `{name}` is needed, which is not known", None)
        names = [name for kind, name in inside if kind == UNKNOWN]
        variables = ca.vertcat(self.space.t, *(self.space.unknowns[name] for name in names))
        rates = ca.vertcat(1, *(self.space.derivatives[name] for name in names))
        return scalars.folded(ca.jtimes(value, variables, rates))

    def rate_unknown(self, name: str) -> ca.SX:
        """An unknown that is the derivative of another one."""
        if name not in self.aux:
            self.aux[name] = self.space.unknowns[f"der({name})"]
        return self.aux[name]

    def residuals(self) -> list[tuple[Any, str, Any]]:
        for name in self.classes.continuous:
            self.value_of(name)
        return [(self.sum(row), row.text, row.origin) for row in self.elimination.rows]


def _plus(total: Any, factor: Any, value: Any) -> Any:
    if not isinstance(factor, ca.SX) and factor == -1:
        return scalars.arithmetic("-", total, value)
    return scalars.arithmetic("+", total, scalars.arithmetic("*", factor, value))


def _right_sides(node: Any) -> Any:
    """A statement without the targets of its assignments."""
    if isinstance(node, tree.Assignment):
        return node.value
    if isinstance(node, tuple):
        return tuple(_right_sides(child) for child in node if isinstance(child, tuple))
    return ()


_SPECIAL = frozenset(("pre", "der", "edge", "change", "sample", "initial", "terminal", "delay"))


def _has_special(node: Any) -> bool:
    return has_call(node, _SPECIAL)
