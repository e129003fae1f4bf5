"""Algorithms of models: what their variables become, as graphs."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

import casadi as ca

from dalembert.modelica import tree
from dalembert.modelica.flat import FlatAlgorithm
from dalembert.modelica.symbolic.context import Context
from dalembert.modelica.symbolic.execution import Budget, Execution, State
from dalembert.modelica.symbolic.expressions import Expressions


class ModelContext(Context, Protocol):
    """What algorithms of models ask for, besides."""

    def before(self, name: str) -> Any:
        """The value of a variable that the algorithm determines, before its first assignment: what a discrete one had
        before the event, the start value of a continuous one."""

    def fires(self, condition: tree.Expression, node: tree.When, evaluator: Expressions) -> Any:
        """Whether a branch of a when-statement is carried out at this event: a truth value or a graph."""

    def act(self, call: tree.Call, condition: Any, evaluator: Expressions) -> None:
        """reinit, assert, terminate, and other calls whose results are not used, where a condition holds."""


class _Algorithm:
    """One run: the context of its expressions, and the host of its statements."""

    def __init__(self, algorithm: FlatAlgorithm, outer: ModelContext):
        self.outer, self.targets = outer, frozenset(algorithm.targets)
        self.state = State({name: outer.before(name) for name in algorithm.targets})

    def name(self, node: tree.Ref) -> Any:
        if node.names[0] in self.targets:
            return self.state.values[node.names[0]]
        return self.outer.name(node)

    def relation(self, op: str, left: Any, right: Any, node: Any) -> Any:
        return self.outer.relation(op, left, right, node)

    def special(self, name: str, node: tree.Call, evaluator: Expressions) -> Any:
        return self.outer.special(name, node, evaluator)

    def known(self, values: list[ca.SX], what: str, node: Any) -> list[float]:
        return self.outer.known(values, what, node)

    def claim(self, condition: ca.SX, message: tuple[Any, ...], node: Any) -> bool:
        self.outer.claim(condition, message, node)
        return False

    def fail(self, message: str, node: Any, suggestion: str | None = None) -> NoReturn:
        self.outer.fail(message, node, suggestion)

    def target(self, name: str, node: tree.Ref) -> None:
        if name not in self.targets:
            self.fail(f"`{name}` cannot be assigned to here", node)

    def action(self, call: tree.Call, evaluator: Expressions) -> None:
        self.outer.act(call, evaluator.path(), evaluator)

    def when(self, node: tree.When, execution: Execution) -> None:
        branches = [(self.outer.fires(condition, node, execution.evaluator), body) for condition, body in node.branches]
        open_ = []
        for condition, body in branches:
            if condition is True:
                execution.branches(open_, body)
                return
            if condition is not False:
                open_.append((condition, body))
        if open_:
            execution.branches(open_, ())


def run(algorithm: FlatAlgorithm, expressions: Expressions) -> dict[str, Any]:
    """The values of all variables that an algorithm determines.

    Parameters
    ----------
    algorithm : FlatAlgorithm
    expressions : Expressions
        Those of the model's equations; its context is a `ModelContext`.
    """
    host = _Algorithm(algorithm, expressions.context)
    Execution(host, Expressions(host, expressions.calls), Budget()).block(algorithm.statements)
    return host.state.values
