"""Functions on known values: their statements are carried out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.scopes import Entry, Scope
from dalembert.modelica.values import Arr, RecordValue, scalars, shape_of

if TYPE_CHECKING:
    from dalembert.modelica.evaluate import Evaluator

MOST_STATEMENTS = 500_000  # of one call
DEEPEST_CALLS = 60


class _Break(Exception):
    pass


class _Return(Exception):
    pass


class Running:
    """The part of a function that carries it out."""

    evaluator: Evaluator
    inputs: dict[str, Entry]
    outputs: dict[str, Entry]
    others: dict[str, Entry]
    # of the function itself
    name: str
    sections: list[Any]
    default: Callable[[Entry], Any]
    dims: Callable[..., Any]

    def __init__(self) -> None:
        self.budget = 0  # statements that are left
        self.depth = 0  # calls of itself

    def run(self, given: dict[str, Any], node: tree.Call, scope: Scope, const: bool = True) -> dict[str, Any]:
        """Carry out the statements on known values; on trees if `const` is False, if no choice depends on them."""
        self.depth += 1
        if self.depth > DEEPEST_CALLS:
            self.depth = 0
            self.evaluator.fail(f"function {self.name} calls itself too often", node, scope)
        if self.depth == 1:
            self.budget = MOST_STATEMENTS
        local = dict(given)
        try:
            for name, entry in (*self.outputs.items(), *self.others.items()):
                closure = self.default(entry)
                if closure is not None:
                    local[name] = self.evaluator.value(closure.expression, Scope(closure.part, local, const))
                else:
                    local[name] = self.declared(entry, self.empty(entry, local), local, const)
            try:
                for part, section in self.sections:
                    if section.kind == "algorithm":
                        self.statements(section.items, Scope(part, local, const), local)
            except _Return:
                pass
        finally:
            self.depth = max(0, self.depth - 1)
        for name in self.outputs:
            if local[name] is None or any(one is None for one in scalars(local[name])):
                self.evaluator.fail(f"function {self.name} gives no value to its output `{name}`", node, scope)
        return {name: self.converted(entry, local[name]) for name, entry in self.outputs.items()}

    def converted(self, entry: Entry, value: Any) -> Any:
        kind = entry.part.find_class(entry.node.type).scope()
        if kind.builtin == "Real":
            if isinstance(value, Arr):
                return value.map(lambda item: float(item) if isinstance(item, int) else item)
            return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        return value

    def declared(self, entry: Entry, value: Any, local: dict[str, Any], const: bool) -> Any:
        """A record with the values that its declaration gives to fields, as in `output R r(a = x)`."""
        args = entry.node.modification.args if entry.node.modification is not None else ()
        if not isinstance(value, RecordValue) or not args:
            return value
        fields = dict(value.fields)
        for one in args:
            if isinstance(one, tree.Modifier) and one.value is not None and one.name in fields:
                fields[one.name] = self.evaluator.value(one.value, Scope(entry.part, local, const))
        return RecordValue(value.type, fields)

    def empty(self, entry: Entry, local: dict[str, Any]) -> Any:
        kind = entry.part.find_class(entry.node.type).scope()
        dims = self.dims(entry, kind, local)
        item = None if kind.builtin is not None else self.empty_record(kind)
        if not dims:
            return item
        if any(n is None for n in dims):
            return None
        return Arr(tuple(dims), [item] * math.prod(dims))

    def empty_record(self, kind: Any) -> RecordValue:
        fields = {}
        for name in kind.component_names():
            inner = kind.component(name)
            if hasattr(inner, "type"):
                fields[name] = Arr(inner.dims, [None] * math.prod(inner.dims)) if inner.dims else None
                if inner.binding is not None:
                    try:
                        fields[name] = self.evaluator.closure(inner.binding, const=True)
                    except ModelicaError:
                        continue
            else:
                fields[name] = self.empty_record(inner)
        return RecordValue(kind.klass.name, fields)

    def statements(self, items: tuple[tree.Statement, ...], scope: Scope, local: dict[str, Any]) -> None:
        for one in items:
            self.statement(one, scope, local)

    def statement(self, node: tree.Statement, scope: Scope, local: dict[str, Any]) -> None:
        evaluator = self.evaluator
        self.budget -= 1
        if self.budget < 0:
            evaluator.fail(f"function {self.name} takes too long", node, scope)
        match node:
            case tree.Assignment(target=tree.Ref()):
                self.assign(node.target, evaluator.value(node.value, scope), scope, local)
            case tree.Assignment():
                values = self.many(node.value, scope)
                for target, value in zip(node.target.items, values, strict=False):
                    if target is not None:
                        self.assign(target, value, scope, local)
            case tree.If():
                for condition, body in node.branches:
                    if self.true(condition, scope):
                        return self.statements(body, scope, local)
                self.statements(node.otherwise or (), scope, local)
            case tree.For():
                self.loop(node, node.iterators, scope, local)
            case tree.While():
                try:
                    while self.true(node.condition, scope):
                        self.budget -= 1
                        if self.budget < 0:
                            evaluator.fail(f"function {self.name} takes too long", node, scope)
                        self.statements(node.body, scope, local)
                except _Break:
                    pass
            case tree.Break():
                raise _Break
            case tree.Return():
                raise _Return
            case tree.CallStatement():
                self.call_statement(node.call, scope)
            case _:
                evaluator.fail("this statement cannot stand in a function", node, scope)

    def loop(self, node: tree.For, iterators: tuple, scope: Scope, local: dict[str, Any]) -> None:
        if not iterators:
            self.statements(node.body, scope, local)
            return
        name = iterators[0].name
        hidden = local.get(name)
        try:
            for value in self.evaluator.iterator_values(iterators[0], node.body, scope):
                local[name] = value
                self.loop(node, iterators[1:], scope, local)
        except _Break:
            if len(iterators) > 1:
                raise
        finally:
            if hidden is None:
                local.pop(name, None)
            else:
                local[name] = hidden

    def true(self, condition: tree.Expression, scope: Scope) -> bool:
        value = self.evaluator.value(condition, scope)
        if not isinstance(value, bool):
            self.evaluator.fail("a condition has to be true or false", condition, scope)
        return value

    def call_statement(self, call: tree.Call, scope: Scope) -> None:
        name = call.function.names[-1]
        if call.function.names == ("assert",):
            if not call.args or not self.true(call.args[0], scope):
                text = self.evaluator.value(call.args[1], scope) if len(call.args) > 1 else ""
                self.evaluator.fail(f"an assertion of function {self.name} does not hold: {text}", call, scope)
        elif name in ("print",):
            return
        else:
            self.many(call, scope)

    def many(self, node: tree.Expression, scope: Scope) -> list[Any]:
        """All results of a call."""
        evaluator = self.evaluator
        if isinstance(node, tree.Call) and not node.iterators:
            klass = evaluator.called_class(node.function, scope)
            if klass is not None and not isinstance(klass.definition, str) and klass.kind == "function":
                args = [evaluator.value(arg, scope) for arg in node.args]
                named = {one.name: evaluator.value(one.value, scope) for one in node.named}
                return evaluator.function(klass).call_all(args, named, node, scope)
        return [evaluator.value(node, scope)]

    def assign(self, target: tree.Ref, value: Any, scope: Scope, local: dict[str, Any]) -> None:
        name = target.names[0]
        if name not in local or name in self.inputs:
            self.evaluator.fail(f"`{name}` cannot be assigned to here", target, scope)
        local[name] = self.replaced(local[name], target, 0, value, scope)

    def replaced(self, old: Any, target: tree.Ref, i: int, value: Any, scope: Scope) -> Any:
        """`old` with the part that the target names replaced."""
        subs = None if target.subs is None else target.subs[i]
        if subs is None:
            if i + 1 == len(target.names):
                return value
            if not isinstance(old, RecordValue) or target.names[i + 1] not in old.fields:
                self.evaluator.fail(f"there is no field `{target.names[i + 1]}`", target, scope)
            fields = dict(old.fields)
            fields[target.names[i + 1]] = self.replaced(fields[target.names[i + 1]], target, i + 1, value, scope)
            return RecordValue(old.type, fields)
        if not isinstance(old, Arr):
            self.evaluator.fail(f"`{target.names[i]}` is not an array, or its size is not known", target, scope)
        numbers = Arr(old.shape, list(range(len(old.items))))
        where = self.evaluator.subscripted(numbers, subs, scope, target)
        items = list(old.items)
        if isinstance(where, Arr):
            if i + 1 < len(target.names) or shape_of(value) != where.shape:
                self.evaluator.fail(
                    f"a value of size {list(shape_of(value))} does not fit {list(where.shape)}", target, scope
                )
            for k, item in zip(where.items, value.items, strict=True):
                items[k] = item
        elif i + 1 < len(target.names):
            rest = tree.Ref(target.at, target.names[i:], (None, *target.subs[i + 1 :]))
            items[where] = self.replaced(items[where], rest, 0, value, scope)
        else:
            items[where] = value
        return Arr(old.shape, items)
