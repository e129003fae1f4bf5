"""Trees to values: numbers, truth values, text, CasADi graphs; `Arr` and `RecordValue` of them.

Values of enumerations are numbers from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import casadi as ca

from dalembert.errors import ModelicaError
from dalembert.modelica import builtins, operators, tree
from dalembert.modelica.source import nearest
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.arrays import Arrays
from dalembert.modelica.symbolic.builtin_calls import BuiltinCalls
from dalembert.modelica.symbolic.choices import Value, either, mapped
from dalembert.modelica.symbolic.context import Context
from dalembert.modelica.symbolic.text import OpenText, joined, parts
from dalembert.modelica.values import Arr, RecordValue, stack
from dalembert.modelica.values import scalars as scalars_of

if TYPE_CHECKING:
    from dalembert.modelica.symbolic.calls import Calls

_NAN = float("nan")


class Expressions(Arrays, BuiltinCalls):
    """Values of trees at one place.

    Parameters
    ----------
    context : Context
        What names, relations and operators such as `der` mean.
    calls : Calls
        Functions, records and enumerations of the flat model.

    Equations, algorithms and bodies of functions are all evaluated by this class; their contexts differ.
    """

    def __init__(self, context: Context, calls: Calls):
        Arrays.__init__(self)
        self.context, self.calls = context, calls
        self.quiet = 0  # above 0, relations make no events
        self.guards: list[Any] = []  # conditions under which what is evaluated is looked at
        self.rules: dict[type, Callable[[Any], Any]] = {
            tree.Literal: lambda node: node.value,
            tree.Ref: self.reference,
            tree.Unary: self.unary,
            tree.Binary: self.binary,
            tree.IfExpression: self.choice,
            tree.Range: self.range,
            tree.Call: self.call,
            tree.Array: self.array,
            tree.Matrix: lambda node: builtins.matrix([[self.value(x) for x in row] for row in node.rows]),
            tree.Index: self.index,
            tree.Field: lambda node: self.field(self.value(node.base), node.name, node),
            tree.End: self.end,
            tree.Tuple: self.parentheses,
        }

    def value(self, node: tree.Expression) -> Value:
        """The value of a tree; what is wrong is a `ModelicaError` at its place."""
        rule = self.rules.get(type(node))
        if rule is None:
            self.context.fail("this cannot stand in an expression", node)
        try:
            return rule(node)
        except ValueError as reason:
            if isinstance(reason, ModelicaError):
                raise
            self.context.fail(str(reason), node)
        except RecursionError:
            self.context.fail("this is nested too deeply", node)

    def message(self, node: tree.Expression) -> tuple[str | ca.SX, ...]:
        """A text, with graphs where it contains numbers of the simulation."""
        found = self.value(node)
        if not isinstance(found, str | OpenText):
            self.context.fail("a message has to be a text", node)
        return parts(found)

    def known(self, value: Value, what: str, node: Any) -> Value:
        """A value that has to be known now: graphs of parameters become their numbers."""
        graphs = [one for one in scalars_of(value) if isinstance(one, ca.SX)]
        if not graphs:
            return value
        numbers = iter(self.context.known(graphs, what, node))
        return mapped(value, lambda one: next(numbers) if isinstance(one, ca.SX) else one)

    def whole(self, value: Value, what: str, node: Any) -> int:
        """A whole number that has to be known now."""
        found = self.known(value, what, node)
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if not isinstance(found, int) or isinstance(found, bool):
            self.context.fail(f"{what} has to be a whole number, not {found!r}", node)
        return found

    @contextmanager
    def without_events(self) -> Iterator[None]:
        self.quiet += 1
        try:
            yield
        finally:
            self.quiet -= 1

    @contextmanager
    def under_condition(self, condition: Any) -> Iterator[None]:
        """What is evaluated inside is only looked at if a condition holds: 1/0 may stand there."""
        self.guards.append(condition)
        try:
            yield
        finally:
            self.guards.pop()

    def path(self) -> Any:
        """The condition under which what is evaluated is looked at: True or a graph."""
        found: Any = True
        for condition in self.guards:
            found = scalars.logical("and", found, condition)
        return found

    # -- names and parts -----------------------------------------------------------------------------------------

    def reference(self, node: tree.Ref) -> Value:
        first = node.names[0]
        for turn in reversed(self.turns):
            if first in turn:
                value = turn[first]
                break
        else:
            if len(node.names) == 2 and first in self.calls.enumerations:
                return self.calls.literal(node)
            if first in self.calls.enumerations:
                return stack(list(range(1, len(self.calls.enumerations[first].literals) + 1)))
            if first == "Boolean":
                return stack([False, True])
            value = self.context.name(node)
        if node.subs is None and len(node.names) == 1:
            return value
        for i, name in enumerate(node.names):
            if i:
                value = self.field(value, name, node)
            if node.subs is not None and node.subs[i] is not None:
                value = self.subscripted(value, node.subs[i], node)
        return value

    def field(self, value: Value, name: str, node: Any) -> Value:
        if isinstance(value, Arr):
            parts = stack([self.field(item, name, node) for item in value.items])
            return Arr(value.shape + parts.shape[1:], parts.items)
        if not isinstance(value, RecordValue):
            self.context.fail(f"this value has no field `{name}`", node)
        if name not in value.fields:
            self.context.fail(f"the record {value.type} has no field `{name}`", node, nearest(name, value.fields))
        return value.fields[name]

    def index(self, node: tree.Index) -> Value:
        base = node.base
        if isinstance(base, tree.Tuple) and len(base.items) == 1 and isinstance(base.items[0], tree.Call):
            # (f(x))[2] stands for the second result
            results = self.results(base.items[0])
            i = self.whole(self.value(node.subs[0]), "the number of a result", node)
            if not 1 <= i <= len(results):
                self.context.fail(f"there is no result number {i}", node)
            rest = node.subs[1:]
            return self.subscripted(results[i - 1], rest, node) if rest else results[i - 1]
        return self.subscripted(self.value(base), node.subs, node)

    def end(self, node: tree.End) -> int:
        if not self.ends:
            self.context.fail("`end` is for subscripts", node)
        return self.ends[-1]

    # -- operators -----------------------------------------------------------------------------------------------

    def unary(self, node: tree.Unary) -> Value:
        return operators.unary(node.op, self.value(node.operand))

    def binary(self, node: tree.Binary) -> Value:
        spine = []  # sums may be long
        left: Any = node
        while isinstance(left, tree.Binary):
            spine.append(left)
            left = left.left
        value = self.value(left)
        for one in reversed(spine):
            if (one.op == "or" and value is True) or (one.op == "and" and value is False):
                continue  # the rest may make no sense then
            value = self.operator(one, value, self.value(one.right))
        return value

    def operator(self, node: tree.Binary, left: Value, right: Value) -> Value:
        op = node.op
        if isinstance(left, Arr | RecordValue) or isinstance(right, Arr | RecordValue):
            if op in scalars.RELATIONS and op not in ("==", "<>"):
                raise ValueError(f"`{op}` is for scalars")
            return operators.binary(op, left, right)
        if op in scalars.RELATIONS:
            if isinstance(left, OpenText) or isinstance(right, OpenText):
                raise ValueError("a text with numbers of the simulation cannot be compared")
            if self.quiet or not (isinstance(left, ca.SX) or isinstance(right, ca.SX)):
                return scalars.relation(op, left, right)
            return self.context.relation(op, left, right, node)
        if op in ("and", "or"):
            return scalars.logical(op, left, right)
        if isinstance(left, str | OpenText) or isinstance(right, str | OpenText):
            if op != "+" or not (isinstance(left, str | OpenText) and isinstance(right, str | OpenText)):
                raise ValueError(f"`{op}` is not for a text and something else; numbers become text by String(x)")
            return joined(left, right)
        try:
            return scalars.arithmetic(op.lstrip("."), left, right)
        except ValueError:
            if self.guards and all(operators.is_number(one) or isinstance(one, ca.SX) for one in (left, right)):
                return _NAN
            raise

    def choice(self, node: tree.IfExpression) -> Value:
        open_: list[tuple[Any, Any]] = []
        reached: Any = True
        last = node.otherwise
        for condition, then in node.branches:
            value = self.value(condition)
            if isinstance(value, bool):
                if value:
                    last = then
                    break
                continue
            if not isinstance(value, ca.SX):
                self.context.fail("a condition has to be true or false", condition)
            here = scalars.logical("and", reached, value)
            with self.under_condition(here):
                open_.append((value, self.value(then)))
            reached = scalars.logical("and", reached, scalars.negation(value))
        if not open_:
            return self.value(last)
        with self.under_condition(reached):
            found = self.value(last)
        for condition, then in reversed(open_):
            found = either(condition, then, found)
        return found
