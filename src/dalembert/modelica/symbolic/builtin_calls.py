"""Calls in expressions: functions of the language itself, and the way to all others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.modelica import builtins, operators, tree
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.choices import Value
from dalembert.modelica.symbolic.text import text
from dalembert.modelica.values import Arr, shape_of, stack

if TYPE_CHECKING:
    from dalembert.modelica.symbolic.calls import Calls
    from dalembert.modelica.symbolic.context import Context

_SPECIAL = frozenset(("der", "pre", "edge", "change", "sample", "initial", "terminal", "delay", "spatialDistribution"))
_OF_ARRAYS = frozenset(
    ("diagonal", "transpose", "cross", "skew", "symmetric", "outerProduct", "product", "cat")
)  # scalar graphs have subscripts of their own, which mean something else
_NAN = float("nan")


class BuiltinCalls:
    """The part of the evaluator that is about calls."""

    context: Context
    calls: Calls
    guards: list[Any]
    quiet: int
    # of the other parts
    value: Callable[[tree.Expression], Value]
    whole: Callable[[Value, str, Any], int]
    reduction: Callable[[tree.Call, str], Value]
    without_events: Callable[[], AbstractContextManager[None]]

    def parentheses(self, node: tree.Tuple) -> Value:
        if len(node.items) != 1 or node.items[0] is None:
            self.context.fail("several results cannot be one value", node)
        return self.value(node.items[0])

    def call(self, node: tree.Call) -> Value:
        name = node.function.names[0] if len(node.function.names) == 1 else ".".join(node.function.names)
        if node.iterators:
            return self.reduction(node, name)
        if name in scalars.FUNCTIONS:
            return self.mathematics(name, node)
        if name in _SPECIAL:
            return self.context.special(name, node, self)
        if name == "noEvent":
            with self.without_events():
                return self.value(self.argument(node, 0))
        if name == "smooth":
            order = self.whole(self.value(self.argument(node, 0)), "the order of smooth", node)
            if order < 1:
                return self.value(self.argument(node, 1))
            with self.without_events():
                return self.value(self.argument(node, 1))
        if name == "homotopy":
            given = {one.name: one.value for one in node.named}
            return self.value(given["actual"] if "actual" in given else self.argument(node, 0))
        if name == "semiLinear":
            x, plus, minus = (self.value(self.argument(node, i)) for i in range(3))
            factor = scalars.choice(scalars.relation(">=", x, 0), plus, minus)
            return operators.binary("*", x, factor)
        if name == "String":
            args = [self.value(arg) for arg in node.args]
            return text(args, {one.name: self.value(one.value) for one in node.named})
        if name in ("Integer", "Real", "Boolean"):
            return self.value(self.argument(node, 0))
        if name == "size":
            return self.size(node)
        if name in ("min", "max"):
            return builtins.extreme(name, [self.value(arg) for arg in node.args])
        if name in builtins.ARRAY:
            return self.array_function(name, node)
        results = self.results(node)
        if not results:
            self.context.fail(f"function {name} has no result", node)
        return results[0]

    def argument(self, node: tree.Call, i: int) -> tree.Expression:
        given = [*node.args, *(one.value for one in node.named)]
        if i >= len(given):
            self.context.fail(f"`{'.'.join(node.function.names)}` needs {i + 1} arguments", node)
        return given[i]

    def mathematics(self, name: str, node: tree.Call) -> Value:
        args = [self.value(arg) for arg in node.args]
        wanted = 2 if name in ("atan2", "div", "mod", "rem") else 1
        if len(args) != wanted:
            self.context.fail(f"`{name}` has {wanted} arguments, not {len(args)}", node)
        if any(isinstance(arg, Arr) for arg in args):
            return builtins.apply_scalar(name, args)
        if name in scalars.JUMPING and not self.quiet and any(isinstance(arg, ca.SX) for arg in args):
            held = tuple(tree.Literal(node.at, arg) for arg in args)
            return self.context.special(name, node._replace(args=held), self)
        try:
            return scalars.function(name, args)
        except ValueError:
            if self.guards and all(map(operators.is_number, args)):
                return _NAN
            raise

    def size(self, node: tree.Call) -> Value:
        shape = shape_of(self.value(self.argument(node, 0)))
        if len(node.args) == 1:
            return stack(list(shape))
        i = self.whole(self.value(node.args[1]), "the number of a dimension", node)
        if not 1 <= i <= len(shape):
            self.context.fail(f"this array has {len(shape)} dimensions; number {i} was asked for", node)
        return shape[i - 1]

    def array_function(self, name: str, node: tree.Call) -> Value:
        args = [self.value(arg) for arg in node.args]
        first = {"zeros": 0, "ones": 0, "identity": 0, "fill": 1, "linspace": 2}.get(name)
        if first is not None:
            args[first:] = [self.whole(arg, "a size", node) for arg in args[first:]]
        number = {"cat": 0, "promote": 1}.get(name)
        if number is not None and number < len(args):
            args[number] = self.whole(args[number], "the number of a dimension", node)
        if name in _OF_ARRAYS and not all(isinstance(arg, Arr) for i, arg in enumerate(args) if i != number):
            self.context.fail(f"`{name}` is for arrays", node)
        try:
            return builtins.ARRAY[name](*args)
        except (TypeError, AttributeError, IndexError):
            self.context.fail(f"`{name}` cannot be applied to these arguments", node)

    def results(self, node: tree.Call) -> list[Value]:
        """All results of a function, or a record from its constructor."""
        name = ".".join(node.function.names)
        args = [self.value(arg) for arg in node.args]
        named = {one.name: self.value(one.value) for one in node.named}
        return self.calls.call(name, args, named, node, self)
