"""The way from a flat model to a DAE in symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.model.hybrid import Assignment, SymbolicDAE
from dalembert.modelica import tree
from dalembert.modelica.flat import FlatModel
from dalembert.modelica.lower.atoms import RATE, VALUE, Result, all_names, atoms, call_name, compared
from dalembert.modelica.lower.classify import classify
from dalembert.modelica.lower.context import Context, Equations
from dalembert.modelica.lower.eliminate import Elimination, Wishes
from dalembert.modelica.lower.fold import fold
from dalembert.modelica.lower.linear import Row, Sums, times
from dalembert.modelica.lower.parameters import Parameters
from dalembert.modelica.lower.start import Start
from dalembert.modelica.lower.symbols import INPUT, UNKNOWN, Space
from dalembert.modelica.lower.watch import Watch
from dalembert.modelica.lower.whens import Whens
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.calls import Calls


class Translation:
    """Everything that is known about a model while it is translated."""

    def __init__(self, flat: FlatModel, given: Mapping[str, Any]):
        self.flat = flat
        self.space = Space()
        self.watch = Watch(self.space)
        self.context = Context(flat, self.space, self.watch)
        self.calls = Calls(flat)
        self.evaluator = Equations(self.context, self.calls)
        self.evaluator.run_algorithm = self.algorithm_results
        self.parameters = Parameters(self.context, self.evaluator, given)
        self.starts: dict[str, Any] = {}
        self.start = Start(self)
        self.whens = Whens(self)
        self.aux: dict[str, ca.SX] = {}  # unknowns that stand for derivatives in what makes events
        self.assignments: list[Assignment] = []
        self.elimination: Elimination | None = None
        self._flags: dict[str, str] = {}
        self._entries: dict[str, str] = {}  # discrete variables -> their entries
        self._rates: dict[str, Any] = {}
        self._algorithms: dict[int, dict[str, Any]] = {}
        self.running: list[int] = []  # numbers of algorithms
        self._beginnings: dict[str, tree.Expression] = {}
        self._constant: dict[int, tuple[Any, bool]] = {}

    def run(self) -> SymbolicDAE:
        self.parameters.evaluate()
        self.classes = classify(self.flat, self.parameters.free)
        self.context.translation = self
        self.declare_inputs()
        self.declare_discrete()
        self.eliminate()
        residuals = self.residuals()
        self.discrete_equations()
        return self.assemble(residuals)

    # -- variables -----------------------------------------------------------------------------------------------

    def declare_inputs(self) -> None:
        self.inputs: dict[str, float] = {}
        for name, variable in self.flat.variables.items():
            if variable.variability in ("discrete", "continuous") and variable.causality == "input":
                self.context.origin = variable.origin
                node = variable.binding if variable.binding is not None else variable.attributes.get("start")
                value = 0.0 if node is None else self.evaluator.value(node)
                if isinstance(value, ca.SX):
                    value = self.context.known([value], f"the value of the input {name}", node)[0]
                self.inputs[name] = float(value)
                self.context.values[name] = self.space.inputs[name]

    def declare_discrete(self) -> None:
        for name in self.classes.discrete:
            if name not in self.classes.aliases:
                if self.flat.variables[name].type == "String":
                    self.context.origin = self.flat.variables[name].origin
                    self.context.fail(f"the text `{name}` changes in the simulation, which is not supported", None)
                start = self.start.number(name)
                self._entries[name] = self.space.entry(name, 0.0 if start is None else start)
                self.context.values[name] = self.space.discrete[self._entries[name]]
        for name in self.classes.aliases:
            other = name
            while other in self.classes.aliases:
                other = self.classes.aliases[other]
            self._entries[name] = self._entries[other]
            self.context.values[name] = self.context.values[other]
            if self.start.is_given(name) and not self.start.is_given(other):
                self.space.starts[self._entries[other]] = self.start.number(name) or 0.0
        self._beginnings = self.start.discrete_beginnings()
        for name, entry in self.parameters.held.items():
            self.context.origin = self.flat.variables[name].origin
            with self.evaluator.without_events():
                value = self.evaluator.value(self.parameters.bound[name])
            self.context.beginnings[name] = value
            held = ca.if_else(self.flag("initial"), value, self.space.before(entry))
            self.assignments.append(Assignment(place=self.space.place(entry), value=held, name=f"{name} at the start"))

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

    # -- discrete variables --------------------------------------------------------------------------------------

    def flag(self, name: str) -> ca.SX:
        """initial() or terminal()"""
        if name not in self._flags:
            self._flags[name] = self.space.entry(f"{name}()")
        return self.space.discrete[self._flags[name]]

    def is_flag(self, value: Any) -> bool:
        entry = self.space.entry_of(value)
        return entry is not None and entry in self._flags.values()

    def before(self, node: Any, evaluator: Equations) -> Any:
        """pre(node)"""
        if not isinstance(node, tree.Ref):
            self.context.fail("`pre` is for variables", node)
        name = node.names[0]
        if name in self.classes.discrete:
            return self.previous_value(name)
        return evaluator.value(node)  # what moves has the same value right before an event

    def previous_value(self, name: str) -> Any:
        """pre(name), which initial equations may say at the start."""
        root = name
        while root in self.classes.aliases:
            root = self.classes.aliases[root]
        before = self.space.before(self._entries[root])
        node = self._beginnings.get(name, self._beginnings.get(root))
        beginning = None
        if node is not None:
            with self.evaluator.without_events():
                beginning = self.evaluator.value(node)
        elif isinstance(self.start.value(root), ca.SX):
            beginning = self.start.value(root)
        if beginning is None:
            return before
        if not isinstance(beginning, ca.SX):
            entry = self._entries[root]
            self.space.starts[entry] = self.space.starts[self.space.previous[entry]] = float(beginning)
            return before
        return ca.if_else(self.flag("initial"), self.context.without_rates(beginning), before)

    def assign(self, name: str, value: Any, text: str) -> None:
        value = self.context.without_rates(value)
        place = self.space.place(self._entries[name])
        self.assignments.append(Assignment(place=place, value=ca.SX(value), name=text))

    def discrete_equations(self) -> None:
        for name, one in self.classes.defined.items():
            if name not in self.classes.aliases:
                self.context.origin = one.origin
                self.assign(name, self.evaluator.value(one.right), one.text())
        for number, algorithm in enumerate(self.flat.algorithms):
            self.context.origin = algorithm.origin
            for target in algorithm.targets:
                if target in self.classes.discrete:
                    self.assign(target, self.algorithm_results(number)[target], f"algorithm for {target}")
            if not algorithm.targets:
                self.algorithm_results(number)
        for when in self.flat.whens:
            self.whens.clause(when)
        self.whens.finish()
        for one in self.flat.asserts:
            self.whens.assertion(one)
        for condition, message in self.flat.terminations:
            self.whens.claim(self.evaluator.value(condition), self.evaluator.message(message), "terminate", ends=True)

    def algorithm_results(self, number: int) -> dict[str, Any]:
        if number not in self._algorithms:
            from dalembert.modelica.symbolic.algorithms import run

            everything = [*self.flat.algorithms, *self.flat.initial_algorithms]
            before, self.context.origin = self.context.origin, everything[number].origin
            self.running.append(number)
            self._algorithms[number] = run(everything[number], self.evaluator)
            self.running.pop()
            self.context.origin = before
        return self._algorithms[number]

    def begins_here(self, name: str) -> bool:
        """Whether an initial algorithm runs now that determines a variable."""
        known = len(self.flat.algorithms)
        return any(n >= known and name in self.flat.initial_algorithms[n - known].targets for n in self.running)

    # -- the result ----------------------------------------------------------------------------------------------

    def assemble(self, residuals: list[tuple[Any, str, Any]]) -> SymbolicDAE:
        from dalembert.modelica.lower.assemble import assemble

        return assemble(self, residuals)


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
    from dalembert.modelica.lower.atoms import has_call

    return has_call(node, _SPECIAL)
