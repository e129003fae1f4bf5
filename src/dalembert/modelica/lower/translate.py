"""The way from a flat model to a DAE in symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.model.hybrid import Assignment, SymbolicDAE
from dalembert.modelica import tree
from dalembert.modelica.flat import FlatModel
from dalembert.modelica.lower.assemble import assemble
from dalembert.modelica.lower.classify import classify
from dalembert.modelica.lower.context import Context, Equations
from dalembert.modelica.lower.continuous import Continuous
from dalembert.modelica.lower.parameters import Parameters
from dalembert.modelica.lower.start import Start
from dalembert.modelica.lower.symbols import Space
from dalembert.modelica.lower.watch import Watch
from dalembert.modelica.lower.whens import Whens
from dalembert.modelica.symbolic.algorithms import run
from dalembert.modelica.symbolic.calls import Calls


class Translation(Continuous):
    """Everything that is known about a model while it is translated."""

    def __init__(self, flat: FlatModel, given: Mapping[str, Any]):
        super().__init__()
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
        self.assignments: list[Assignment] = []
        self._flags: dict[str, str] = {}
        self._entries: dict[str, str] = {}  # discrete variables -> their entries
        self._algorithms: dict[int, dict[str, Any]] = {}
        self.running: list[int] = []  # numbers of algorithms
        self._beginnings: dict[str, tree.Expression] = {}

    def run(self) -> SymbolicDAE:
        self.parameters.evaluate()
        self.classes = classify(self.flat, self.parameters.free)
        self.context.translation = self
        self.declare_inputs()
        self.declare_discrete()
        self.eliminate()
        residuals = self.residuals()
        self.discrete_equations()
        return assemble(self, residuals)

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
