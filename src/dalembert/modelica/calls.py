"""Calls: builtin functions and operators, functions of users, constructors of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from dalembert.errors import ModelicaError
from dalembert.modelica import builtins, operators, tree
from dalembert.modelica.components import Instance
from dalembert.modelica.functions import Function
from dalembert.modelica.library import EXTERNAL
from dalembert.modelica.overloading import has_record
from dalembert.modelica.scopes import Entry, Klass, Scope, World
from dalembert.modelica.source import nearest
from dalembert.modelica.values import (
    AT,
    Arr,
    EnumType,
    EnumValue,
    FunctionValue,
    RecordValue,
    as_tree,
    is_known,
    shape_of,
    stack,
)

if TYPE_CHECKING:
    from dalembert.modelica.overconstrained import Graph

_REDUCTIONS = ("sum", "product", "min", "max", "array")
_SIZES_FROM = {"zeros": 0, "ones": 0, "identity": 0, "fill": 1, "linspace": 2}  # arguments that are sizes
_MAPPED = ("der", "pre", "edge", "change", "noEvent")


class Calls:
    """The part of the evaluator that is about calls."""

    # of the other parts
    world: World
    fail: Callable[..., NoReturn]
    value: Callable[[tree.Expression, Scope], Any]
    known_value: Callable[[tree.Expression, Scope, str], Any]
    component_value: Callable[[Any, tree.Ref, int, Scope], Any]
    comprehension: Callable[..., Arr]
    turns: Callable[..., Iterator[Scope]]
    added: Callable[..., Any]
    constructed: Callable[..., Any]
    operators_of: Callable[[Klass, str], list[Function]]

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}  # those that are left in equations
        self._made: dict[int, Function] = {}
        self._names: dict[str, dict[int, str]] = {}
        self.graph: Graph  # of overconstrained connectors
        self.externals: dict[str, Klass] = {}  # classes of external objects

    def call(self, node: tree.Call, scope: Scope) -> Any:
        name = node.function.names[0] if len(node.function.names) == 1 else None
        if node.iterators:
            return self.reduction(node, name, scope)
        if name in ("der", "initial", "pure"):
            found = None
        elif name is not None and name in scope.locals and isinstance(scope.locals[name], FunctionValue):
            return self.call_value(scope.locals[name], node, scope)
        else:
            found = self.called_class(node.function, scope)
        if found is None or isinstance(found.definition, str):
            return self.builtin(".".join(node.function.names), node, scope)
        return self.call_class(found, node, scope)

    def called_class(self, ref: tree.Ref, scope: Scope) -> Klass | None:
        first = self.world.top(ref.names[0]) if ref.rooted else scope.part.lookup(ref.names[0])
        if first is None:
            return None
        if isinstance(first, Entry) and not first.is_class:
            # a function within a component's class, as in world.gravityAcceleration(r)
            return self.function_in_component(first, ref, scope)
        found = scope.part.inside(first, ref.names[1:], ref.at)
        if isinstance(found, Entry):
            if not found.is_class:
                self.fail(f"`{'.'.join(ref.names)}` is a component and cannot be called", ref, scope)
            return found.klass()
        return found

    def function_in_component(self, entry: Entry, ref: tree.Ref, scope: Scope) -> Klass:
        place = entry.part.instance.component(entry.name)
        for name in ref.names[1:-1]:
            member = place.member(name) if isinstance(place, Instance) else None
            place = None if member is None or member.is_class else place.component(name)
        member = place.member(ref.names[-1]) if isinstance(place, Instance) and len(ref.names) > 1 else None
        if member is None or not member.is_class:
            self.fail(f"`{'.'.join(ref.names)}` is no function", ref, scope)
        return member.klass()

    # -- builtin ---------------------------------------------------------------------------------------------------

    def builtin(self, name: str, node: tree.Call, scope: Scope) -> Any:
        if name in ("Connections.isRoot", "Connections.rooted", "rooted", "cardinality"):
            return self.graph.answer(node, scope)
        if name in builtins.UNSUPPORTED:
            self.fail(f"{builtins.UNSUPPORTED[name]} not supported (`{name}`)", node, scope)
        if name == "sample" and len(node.args) + len(node.named) == 1:
            self.fail("clocked equations are not supported (`sample` with one argument)", node, scope)
        if name == "size":
            return self.size(node, scope)
        if name in ("smooth", "homotopy", "semiLinear", "delay", "sample", "initial", "terminal", *_MAPPED):
            return self.temporal(name, node, scope)
        args = [self.value(arg, scope) for arg in node.args]
        if name == "String":
            return self.string(node, args, scope)
        if node.named:
            self.fail(f"the builtin function `{name}` has no arguments with names", node.named[0], scope)
        if name in ("Integer", "integer") and len(args) == 1 and isinstance(args[0], EnumValue):
            return args[0].index
        if name == "Integer" and len(args) == 1 and isinstance(args[0], tuple):
            return builtins.call_tree("Integer", args[0])
        if name in builtins.SCALAR:
            wanted = 2 if name in ("atan2", "div", "mod", "rem") else 1
            if len(args) != wanted:
                self.fail(f"`{name}` has {wanted} arguments, not {len(args)}", node, scope)
            return builtins.apply_scalar(name, args)
        if name in ("min", "max") and args:
            try:
                return builtins.extreme(name, args)
            except TypeError:
                self.fail(f"`{name}` cannot compare these", node, scope)
        if name in ("sum", "product") and args and has_record(args[0]) and isinstance(args[0], Arr):
            return self.added(args[0].items, node, scope)
        if name in builtins.ARRAY:
            first = _SIZES_FROM.get(name)
            if first is not None and not all(map(is_known, args[first:])):
                args[first:] = [self.known_value(arg, scope, "a size") for arg in node.args[first:]]
            try:
                return builtins.ARRAY[name](*args)
            except (TypeError, AttributeError, IndexError):
                self.fail(f"`{name}` cannot be applied to these arguments", node, scope)
        if name == "getInstanceName":
            return scope.part.instance.name
        known = [*builtins.SCALAR, *builtins.ARRAY, *builtins.TEMPORAL, "min", "max", "size", "String"]
        if scope.part.instance is not None:
            known += [one for one, entry in scope.part.instance.entries.items() if entry.is_class]
        self.fail(f"there is no function `{name}`", node, scope, nearest(name, known))

    def size(self, node: tree.Call, scope: Scope) -> Any:
        try:
            shape = shape_of(self.value(node.args[0], scope.symbolic()))
        except IndexError:
            self.fail("`size` needs an array", node, scope)
        if len(node.args) == 1:
            return stack(list(shape))
        i = self.known_value(node.args[1], scope, "the number of a dimension")
        if not isinstance(i, int) or not 1 <= i <= len(shape):
            self.fail(f"this array has {len(shape)} dimensions; number {i} was asked for", node, scope)
        return shape[i - 1]

    def temporal(self, name: str, node: tree.Call, scope: Scope) -> Any:
        """Operators about time, events and solvers."""
        args = [self.value(arg, scope) for arg in node.args]
        args += [self.value(one.value, scope) for one in node.named]
        if name in ("initial", "terminal"):
            if scope.const:
                self.fail(f"{name}() is not known before the simulation", node, scope)
            return builtins.call_tree(name)
        fewest = {"smooth": 2, "homotopy": 2, "semiLinear": 3, "delay": 2, "sample": 2}.get(name, 1)
        if len(args) < fewest:
            self.fail(f"`{name}` needs {fewest} arguments", node, scope)
        if name == "homotopy" and node.named:
            by_name = {one.name: value for one, value in zip(node.named, args[len(node.args) :], strict=True)}
            args = args[: len(node.args)] + [by_name[key] for key in ("actual", "simplified") if key in by_name]
        main = {"smooth": 1}.get(name, 0)
        value = args[main]
        if is_known(value) and name not in ("semiLinear", "sample"):
            zero = {"der": 0, "edge": False, "change": False}
            if name in zero:
                return value.map(lambda _: zero[name]) if isinstance(value, Arr) else zero[name]
            return value
        if isinstance(value, RecordValue):
            whole = {key: self._mapped(name, main, args, field) for key, field in value.fields.items()}
            return RecordValue(value.type, whole)
        return self._mapped(name, main, args, value)

    def _mapped(self, name: str, main: int, args: list[Any], value: Any) -> Any:
        size = next((arg.shape for arg in args if isinstance(arg, Arr)), None)
        if size is not None and not isinstance(value, Arr):
            value = builtins.filled(value, list(size))
        if any(isinstance(arg, Arr) and arg.shape != size for arg in (value, *args)):
            raise ValueError(f"the arguments of {name} have different sizes")
        if isinstance(value, Arr):
            others = [arg.items if isinstance(arg, Arr) else [arg] * len(value.items) for arg in args]
            items = []
            for k, item in enumerate(value.items):
                row = [other[k] for other in others]
                row[main] = item
                items.append(self._mapped(name, main, row, item))
            return Arr(value.shape, items)
        return builtins.call_tree(name, *(value if k == main else arg for k, arg in enumerate(args)))

    def string(self, node: tree.Call, args: list[Any], scope: Scope) -> Any:
        if args and isinstance(args[0], bool | int | float | EnumValue) and len(args) == 1:
            value = args[0]
            if isinstance(value, bool):
                return "true" if value else "false"
            if isinstance(value, EnumValue):
                return value.literal
            if isinstance(value, int) or not node.named:
                return str(value) if isinstance(value, int) else f"{value:.6g}"
        named = tuple(tree.Named(AT, one.name, as_tree(self.value(one.value, scope))) for one in node.named)
        return tree.Call(AT, tree.Ref(AT, ("String",)), tuple(as_tree(arg) for arg in args), named)

    def reduction(self, node: tree.Call, name: str | None, scope: Scope) -> Any:
        if name not in _REDUCTIONS:
            self.fail(
                f"`{'.'.join(node.function.names)}` cannot be used with `for`; {', '.join(_REDUCTIONS)} can",
                node,
                scope,
            )
        if name == "array":
            return self.comprehension(node.args[0], node.iterators, scope)
        values = [self.value(node.args[0], turn) for turn in self.turns(node.iterators, node.args, scope)]
        if name == "sum" and values and has_record(values[0]):
            return self.added(values, node, scope)
        if name == "sum":
            return operators.total(values)
        if name == "product":
            return builtins.ARRAY["product"](stack(values))
        return builtins.extreme(name, [stack(values)])

    # -- functions and records -------------------------------------------------------------------------------------

    def partial(self, node: tree.Partial, scope: Scope) -> FunctionValue:
        klass = self.called_class(node.function, scope)
        if klass is None or klass.kind != "function":
            self.fail(f"`{'.'.join(node.function.names)}` is no function", node, scope)
        return FunctionValue(klass, {one.name: self.value(one.value, scope) for one in node.named})

    def call_value(self, function: FunctionValue, node: tree.Call, scope: Scope) -> Any:
        args = [self.value(arg, scope) for arg in node.args]
        named = {one.name: self.value(one.value, scope) for one in node.named}
        return self.function(function.klass).call(args, {**function.bound, **named}, node, scope)

    def call_class(self, klass: Klass, node: tree.Call, scope: Scope) -> Any:
        kind = klass.kind
        if isinstance(klass.scope().builtin, EnumType):
            enum = klass.scope().builtin
            if len(node.args) != 1:
                self.fail(f"{enum.name} needs one number", node, scope)
            value = self.known_value(node.args[0], scope, "the number of a value")
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= len(enum.literals):
                self.fail(f"{enum.name} has no value number {value}", node, scope)
            return EnumValue(enum, value)
        if klass.scope().builtin == EXTERNAL:
            return self.external_object(klass, node, scope)
        if klass.scope().kind == "operator record" or kind == "operator record":
            if self.operators_of(klass, "constructor"):
                args = [self.value(arg, scope) for arg in node.args]
                named = {one.name: self.value(one.value, scope) for one in node.named}
                return self.constructed(klass, args, named, node, scope)
            return self.construct(klass, node, scope)
        if kind == "record" or klass.scope().kind == "record":
            return self.construct(klass, node, scope)
        if kind not in ("function", "operator function"):
            self.fail(f"`{klass.name}` is a {kind} and cannot be called", node, scope)
        args = [self.value(arg, scope) for arg in node.args]
        named = {one.name: self.value(one.value, scope) for one in node.named}
        return self.function(klass).call(args, named, node, scope)

    def external_object(self, klass: Klass, node: tree.Call, scope: Scope) -> tree.Call:
        """The constructor of an external object: always left for the simulation."""
        constructor = klass.scope().member("constructor")
        if constructor is None:
            self.fail(f"the external object {klass.name} has no constructor", node, scope)
        self.externals[klass.name] = klass
        args = [self.value(arg, scope.symbolic()) for arg in node.args]
        named = {one.name: self.value(one.value, scope.symbolic()) for one in node.named}
        given = self.function(constructor.klass()).arguments(args, named, node, scope.symbolic())
        return tree.Call(AT, tree.Ref(AT, (klass.name,)), tuple(as_tree(value) for value in given.values()))

    def function(self, klass: Klass) -> Function:
        key = id(klass)
        if key not in self._made:
            self._made[key] = Function(klass, self)
        return self._made[key]

    def registered(self, function: Function) -> str:
        """The name by which the flat model knows a function.

        Functions of packages with other constants are others, although they have the same text.
        """
        names = self._names.setdefault(function.name, {})
        anchor = function.anchor()
        if anchor not in names:
            names[anchor] = function.name if not names else f"{function.name}_{len(names) + 1}"
            self.functions[names[anchor]] = function
        return names[anchor]

    def construct(self, klass: Klass, node: tree.Call, scope: Scope) -> RecordValue:
        """A record from its constructor."""
        place = klass.scope()
        names = place.component_names()
        given: dict[str, Any] = {}
        if len(node.args) > len(names):
            self.fail(f"record {klass.name} has {len(names)} fields, not {len(node.args)}", node, scope)
        for name, arg in zip(names, node.args, strict=False):
            given[name] = self.value(arg, scope)
        for one in node.named:
            if one.name not in names:
                self.fail(f"record {klass.name} has no field `{one.name}`", one, scope, nearest(one.name, names))
            given[one.name] = self.value(one.value, scope)
        fields = {}
        for name in names:
            if name in given:
                fields[name] = given[name]
                continue
            try:
                fields[name] = self.component_value(
                    place.component(name), tree.Ref(node.at, (name,)), 0, scope.constant()
                )
            except ModelicaError:
                self.fail(f"the field `{name}` of record {klass.name} is not given", node, scope)
        return RecordValue(klass.name, fields)
