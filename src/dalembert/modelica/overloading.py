"""Operator records: operators and constructors are functions of the record class, chosen by their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.functions import Function
from dalembert.modelica.library import split_name
from dalembert.modelica.scopes import Entry, Klass, Scope, World
from dalembert.modelica.values import Arr, RecordValue, shape_of


def has_record(value: Any) -> bool:
    """Whether a value is a record, or an array of them."""
    return isinstance(value, RecordValue) or (
        isinstance(value, Arr) and bool(value.items) and isinstance(value.items[0], RecordValue)
    )


class Overloading:
    """The part of the evaluator that is about operator records."""

    # of the other parts
    world: World
    fail: Callable[..., NoReturn]
    function: Callable[[Klass], Function]

    def class_named(self, name: str) -> Klass | None:
        """The class of a full name."""
        names = split_name(name)
        found = self.world.top(names[0])
        for one in names[1:]:
            inner = None if found is None else found.scope().member(one)
            found = inner.klass() if isinstance(inner, Entry) and inner.is_class else None
        return found

    def operators_of(self, klass: Klass, name: str) -> list[Function]:
        """The functions behind an operator of a class."""
        entry = klass.scope().member(f"'{name}'")
        if not isinstance(entry, Entry) or not entry.is_class:
            return []
        operator = entry.klass()
        if operator.kind in ("operator function", "function"):
            return [self.function(operator)]
        place = operator.scope()
        inner = [place.member(one) for one in operator.definition.class_names()]
        return [self.function(one.klass()) for one in inner if isinstance(one, Entry) and one.is_class]

    def overloaded(self, op: str, operands: list[Any], node: Any, scope: Scope) -> Any:
        """The value of an operator on records, or on arrays of them."""
        name = op.lstrip(".")
        if any(isinstance(one, Arr) for one in operands):
            found = self.on_arrays(op, operands, node, scope)
            if found is not None:
                return found
        record = next(one for value in operands for one in _records(value))
        klass = self.class_named(record.type)
        functions = [] if klass is None else self.operators_of(klass, name)
        for function in functions:
            if self.takes(function, operands):
                return self.carried_out(function, operands, node, scope)
        lifted = [one if has_record(one) else self.constructed(klass, [one], {}, node, scope) for one in operands]
        for function in functions:
            if self.takes(function, lifted):
                return self.carried_out(function, lifted, node, scope)
        self.fail(f"`{op}` is not defined for records of {record.type}", node, scope)

    def on_arrays(self, op: str, operands: list[Any], node: Any, scope: Scope) -> Any:
        """Operators on arrays, element by element; products of vectors and matrices."""
        if len(operands) == 1:
            return operands[0].map(lambda item: self.overloaded(op, [item], node, scope))
        a, b = operands
        if isinstance(a, Arr) and isinstance(b, Arr):
            if op == "*":
                return self.product(a, b, node, scope)
            if a.shape != b.shape:
                self.fail(f"`{op}` needs equal sizes, not {list(a.shape)} and {list(b.shape)}", node, scope)
            items = [self.overloaded(op, [x, y], node, scope) for x, y in zip(a.items, b.items, strict=True)]
            return Arr(a.shape, items)
        if isinstance(a, Arr):
            return a.map(lambda x: self.overloaded(op, [x, b], node, scope))
        return b.map(lambda y: self.overloaded(op, [a, y], node, scope))

    def product(self, a: Arr, b: Arr, node: Any, scope: Scope) -> Any:
        if len(a.shape) == len(b.shape) == 1:
            record = next(one for value in (a, b) for one in _records(value))
            for function in self.operators_of(self.class_named(record.type), "*"):
                if self.takes(function, [a, b]):
                    return self.carried_out(function, [a, b], node, scope)
            products = [self.overloaded("*", [x, y], node, scope) for x, y in zip(a.items, b.items, strict=True)]
            return self.added(products, node, scope)
        if len(a.shape) > 2 or len(b.shape) > 2 or a.shape[-1] != b.shape[0]:
            self.fail(f"`*` does not fit sizes {list(a.shape)} and {list(b.shape)}", node, scope)

        def line(x: Arr, y: Arr) -> Any:
            pairs = zip(x.items, y.items, strict=True)
            return self.added([self.overloaded("*", [p, q], node, scope) for p, q in pairs], node, scope)

        rows = a.parts() if len(a.shape) == 2 else [a]
        columns = [b]
        if len(b.shape) == 2:
            columns = [Arr((b.shape[0],), b.items[j :: b.shape[1]]) for j in range(b.shape[1])]
        return Arr(a.shape[:-1] + b.shape[1:], [line(x, y) for x in rows for y in columns])

    def added(self, items: list[Any], node: Any, scope: Scope) -> Any:
        """A sum of records."""
        found = items[0]
        for item in items[1:]:
            found = self.overloaded("+", [found, item], node, scope)
        return found

    def takes(self, function: Function, values: list[Any]) -> bool:
        """Whether a function can have these arguments without conversion."""
        entries = list(function.inputs.values())
        if len(values) > len(entries) or any(function.default(one) is None for one in entries[len(values) :]):
            return False
        for entry, value in zip(entries, values, strict=False):
            kind = entry.part.find_class(entry.node.type).scope()
            first = next(iter(value.items), None) if isinstance(value, Arr) else value
            if len(shape_of(value)) != function.rank(entry) or isinstance(first, RecordValue) != (kind.builtin is None):
                return False
            if isinstance(first, RecordValue) and set(first.fields) != set(kind.component_names()):
                return False
        return True

    def constructed(self, klass: Klass | None, args: list[Any], named: dict[str, Any], node: Any, scope: Scope) -> Any:
        """A record from the constructors of its class."""
        for function in self.operators_of(klass, "constructor") if klass is not None else []:
            try:
                given = function.arguments(args, named, node, scope)
            except ModelicaError:
                continue
            if self.takes(function, list(given.values())):
                return self.carried_out(function, list(given.values()), node, scope)
        self.fail(f"no constructor of {klass.name if klass else 'this record'} takes these arguments", node, scope)

    def carried_out(self, function: Function, values: list[Any], node: Any, scope: Scope) -> Any:
        """The result: operators are short, so their statements are carried out on trees where that can be done."""
        call = node
        if not isinstance(node, tree.Call):
            call = tree.Call(getattr(node, "at", 0), tree.Ref(0, (function.name,)), ())
        given = function.arguments(values, {}, call, scope)
        try:
            return next(iter(function.run(given, call, scope, scope.const).values()))
        except ModelicaError:
            if scope.const:
                raise
            return function.call(values, {}, call, scope)


def _records(value: Any) -> list[RecordValue]:
    return [one for one in (value.items if isinstance(value, Arr) else [value]) if isinstance(one, RecordValue)]
