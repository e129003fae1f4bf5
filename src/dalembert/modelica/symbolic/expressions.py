"""Trees to values: numbers, truth values, text, CasADi graphs; `Arr` and `RecordValue` of them.

Values of enumerations are numbers from 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import casadi as ca

from dalembert.errors import ModelicaError
from dalembert.modelica import builtins, operators, tree
from dalembert.modelica.source import nearest
from dalembert.modelica.symbolic import scalars
from dalembert.modelica.symbolic.context import Context
from dalembert.modelica.symbolic.text import OpenText, joined, parts, text
from dalembert.modelica.values import Arr, RecordValue, shape_of, stack
from dalembert.modelica.values import scalars as scalars_of

if TYPE_CHECKING:
    from dalembert.modelica.symbolic.calls import Calls

Value: TypeAlias = "bool | int | float | str | ca.SX | Arr | RecordValue"

MOST_TURNS = 100_000  # of a loop or comprehension
_SPECIAL = frozenset(("der", "pre", "edge", "change", "sample", "initial", "terminal", "delay", "spatialDistribution"))
_REDUCTIONS = ("sum", "product", "min", "max", "array")
_NUMBERS = frozenset(("+", "-", "*", "/", "^"))
_NAN = float("nan")


class Expressions:
    """Values of trees at one place.

    Parameters
    ----------
    context : Context
        What names, relations and operators such as `der` mean.
    calls : Calls
        Functions, records and enumerations of the flat model.

    Examples
    --------
    See `tests/modelica/test_symbolic_expressions.py`; functions and algorithms use it, and the lowering of equations.
    """

    def __init__(self, context: Context, calls: Calls):
        self.context, self.calls = context, calls
        self.quiet = 0  # above 0, relations make no events
        self.guards: list[Any] = []  # conditions under which what is evaluated is looked at
        self.ends: list[int] = []  # what `end` means, innermost last
        self.turns: list[dict[str, Any]] = []  # values of iterators, innermost last
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

    def subscripted(self, value: Value, subs: tuple[tree.Expression, ...], node: Any) -> Value:
        if not isinstance(value, Arr) or len(subs) > len(value.shape):
            self.context.fail(f"there are {len(subs)} subscripts for {len(shape_of(value))} dimensions", node)
        return self.picked(value, [self.subscript(sub, n) for sub, n in zip(subs, value.shape, strict=False)], node)

    def picked(self, value: Arr, picks: list[Any], node: Any) -> Value:
        """A part of an array; a subscript that is a graph makes a choice between all elements."""
        for i, pick in enumerate(picks):
            if isinstance(pick, ca.SX):
                cases = [self.picked(value, [*picks[:i], k, *picks[i + 1 :]], node) for k in range(value.shape[i])]
                if not cases:
                    self.context.fail("an array without elements has no subscripts", node)
                found = cases[-1]
                for k in range(len(cases) - 2, -1, -1):
                    found = either(pick <= k + 1, cases[k], found)
                return found
        return value.pick(picks)

    def subscript(self, sub: tree.Expression, n: int) -> int | list[int] | ca.SX:
        """A number or a list of numbers from 0, or a graph (from 1)."""
        if isinstance(sub, tree.Colon):
            return list(range(n))
        self.ends.append(n)
        try:
            found = self.value(sub)
        finally:
            self.ends.pop()
        if isinstance(found, Arr):
            found = self.known(found, "subscripts", sub)
            return [self.number_of(item, n, sub) for item in found.items]
        return found if isinstance(found, ca.SX) else self.number_of(found, n, sub)

    def number_of(self, value: Any, n: int, sub: Any) -> int:
        if isinstance(value, bool):
            value = int(value) + 1
        value = self.whole(value, "a subscript", sub)
        if not 1 <= value <= n:
            if self.guards and n:
                return 0  # never looked at
            self.context.fail(f"the subscript {value} is not between 1 and {n}", sub)
        return value - 1

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

    # -- arrays --------------------------------------------------------------------------------------------------

    def range(self, node: tree.Range) -> Arr:
        parts = [node.start, node.stop] if node.step is None else [node.start, node.step, node.stop]
        values = [self.known(self.value(part), "a range", node) for part in parts]
        if isinstance(values[0], bool):
            return stack([v for v in (False, True) if values[0] <= v <= values[-1]])
        start, stop = values[0], values[-1]
        step = values[1] if len(values) == 3 else 1
        if not all(map(operators.is_number, values)) or step == 0:
            self.context.fail("a range needs numbers, and a step that is not 0", node)
        turns = (stop - start) / step
        count = int(turns + 1e-10) + 1 if turns >= -1e-10 else 0
        if count > MOST_TURNS:
            self.context.fail(f"this range has {count} elements", node)
        start, step = (int(one) if isinstance(one, float) and one.is_integer() and not any(
            isinstance(v, float) and not v.is_integer() for v in values) else one for one in (start, step))  # fmt: skip
        return stack([start + i * step for i in range(count)])

    def array(self, node: tree.Array) -> Arr:
        if node.iterators:
            return self.comprehension(node.items[0], node.iterators)
        return stack([self.value(item) for item in node.items])

    def comprehension(self, item: tree.Expression, iterators: tuple[tree.Iterator, ...]) -> Value:
        """Arrays with iterators; the last iterator is the outermost dimension."""
        if not iterators:
            return self.value(item)
        parts = []
        for value in self.iterator_values(iterators[-1], (item,)):
            with self.turn(iterators[-1].name, value):
                parts.append(self.comprehension(item, iterators[:-1]))
        return stack(parts)

    @contextmanager
    def turn(self, name: str, value: Any) -> Iterator[None]:
        self.turns.append({name: value})
        try:
            yield
        finally:
            self.turns.pop()

    def iterator_values(self, iterator: tree.Iterator, body: Any) -> list[Any]:
        if iterator.range is None:
            n = self.implied_size(iterator.name, body)
            if n is None:
                self.context.fail(f"the range of `{iterator.name}` cannot be deduced", iterator, "Write `in 1:n`")
            return list(range(1, n + 1))
        found = self.value(iterator.range)
        return found.parts() if isinstance(found, Arr) else [found]

    def implied_size(self, name: str, node: Any) -> int | None:
        """The size of an array that has this name as one of its subscripts."""
        if isinstance(node, tree.Ref) and node.subs is not None:
            for i, subs in enumerate(node.subs):
                for k, sub in enumerate(subs or ()):
                    if isinstance(sub, tree.Ref) and sub.names == (name,):
                        whole = node._replace(names=node.names[: i + 1], subs=(*node.subs[:i], None))
                        return shape_of(self.value(whole))[k]
        if isinstance(node, tuple):
            for child in node:
                if isinstance(child, tuple) and (found := self.implied_size(name, child)) is not None:
                    return found
        return None

    def reduction(self, node: tree.Call, name: str) -> Value:
        if name not in _REDUCTIONS:
            self.context.fail(f"`{name}` cannot be used with `for`; {', '.join(_REDUCTIONS)} can", node)
        if name == "array":
            return self.comprehension(node.args[0], node.iterators)
        values: list[Any] = []
        ranges = [self.iterator_values(one, node.args) for one in node.iterators]
        for row in itertools.product(*ranges):
            self.turns.append(dict(zip((one.name for one in node.iterators), row, strict=True)))
            try:
                values.append(self.value(node.args[0]))
            finally:
                self.turns.pop()
        if name == "sum":
            return operators.total(values)
        if name == "product":
            return builtins.ARRAY["product"](stack(values))
        return builtins.extreme(name, [stack(values)])

    # -- calls ---------------------------------------------------------------------------------------------------

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


def mapped(value: Value, change: Callable[[Any], Any]) -> Value:
    """A value with all its scalars changed."""
    if isinstance(value, Arr):
        return value.map(lambda item: mapped(item, change))
    if isinstance(value, RecordValue):
        return RecordValue(value.type, {name: mapped(one, change) for name, one in value.fields.items()})
    return change(value)


def either(condition: Any, then: Value, otherwise: Value) -> Value:
    """A choice, element by element and field by field."""
    if isinstance(then, Arr) or isinstance(otherwise, Arr):
        if shape_of(then) != shape_of(otherwise):
            raise ValueError(f"the branches have different sizes: {list(shape_of(then))}, {list(shape_of(otherwise))}")
        pairs = zip(then.items, otherwise.items, strict=True)
        return Arr(then.shape, [either(condition, a, b) for a, b in pairs])
    if isinstance(then, RecordValue) and isinstance(otherwise, RecordValue):
        fields = {name: either(condition, one, otherwise.fields[name]) for name, one in then.fields.items()}
        return RecordValue(then.type, fields)
    return scalars.choice(condition, then, otherwise)
