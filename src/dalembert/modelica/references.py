"""Names and subscripts to values: components, constants of classes, values of enumerations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dalembert.errors import ModelicaError
from dalembert.modelica import tree
from dalembert.modelica.components import Absent, Instance, InstanceArray, Variable
from dalembert.modelica.scopes import Entry, Klass, Scope, World
from dalembert.modelica.source import nearest
from dalembert.modelica.values import AT, NUMBER, Arr, EnumType, EnumValue, FunctionValue, RecordValue, is_known, stack


class References:
    """The part of the evaluator that is about names."""

    # of the other parts
    world: World
    fail: Callable[..., NoReturn]
    value: Callable[[tree.Expression, Scope], Any]
    variable: Callable[[Variable, Scope, Any], Any]
    either: Callable[..., Any]

    def __init__(self) -> None:
        self.ends: list[int] = []  # what `end` means, innermost last

    # -- names ---------------------------------------------------------------------------------------------------

    def reference(self, ref: tree.Ref, scope: Scope) -> Any:
        first = ref.names[0]
        if first in scope.locals and not ref.rooted:
            value = scope.locals[first]
            if value is None:
                self.fail(f"`{first}` has no value here", ref, scope)
            if ref.subs is not None and ref.subs[0] is not None:
                value = self.subscripted(value, ref.subs[0], scope, ref)
            for i, name in enumerate(ref.names[1:], 1):
                value = self.field(value, name, ref, scope)
                if ref.subs is not None and ref.subs[i] is not None:
                    value = self.subscripted(value, ref.subs[i], scope, ref)
            return value
        found = self.world.top(first) if ref.rooted else scope.part.lookup(first)
        if found is None:
            if ref.names == ("time",):
                if scope.const:
                    self.fail("`time` is not known before the simulation", ref, scope)
                return tree.Ref(AT, ("time",))
            known = {*scope.locals, *(scope.part.instance.entries if scope.part.instance else ())}
            self.fail(f"there is no `{first}` here", ref, scope, nearest(first, known))
        if isinstance(found, Entry) and not found.is_class:
            return self.component_value(found.part.instance.component(first), ref, 0, scope)
        return self.classes(found, ref, scope)

    def classes(self, found: Entry | Klass, ref: tree.Ref, scope: Scope) -> Any:
        """The value of a name that begins with a class: a constant, a value of an enumeration, or a function."""
        for i, name in enumerate(ref.names[1:], 1):
            klass = found.klass() if isinstance(found, Entry) else found
            place = klass.scope()
            if isinstance(place.builtin, EnumType):
                if name not in place.builtin.literals:
                    self.fail(f"{klass.name} has no value `{name}`", ref, scope, nearest(name, place.builtin.literals))
                return place.builtin.value(name)
            inner = place.member(name)
            if inner is None:
                self.fail(
                    f"{klass.kind} {klass.name} has no element `{name}`", ref, scope, nearest(name, place.entries)
                )
            if isinstance(inner, Entry) and not inner.is_class:
                return self.component_value(place.component(name), ref, i, scope)
            found = inner
        klass = found.klass() if isinstance(found, Entry) else found
        if klass.kind in ("function", "operator function"):
            return FunctionValue(klass, {})
        if isinstance(klass.scope().builtin, EnumType):
            return stack(klass.scope().builtin.values())
        if klass.name == "Boolean":
            return stack([False, True])
        self.fail(f"`{'.'.join(ref.names)}` is a class and has no value", ref, scope)

    def component_value(self, component: Any, ref: tree.Ref, i: int, scope: Scope) -> Any:
        """The value of a component, at name number `i` of a reference."""
        subs = None if ref.subs is None else ref.subs[i]
        if isinstance(component, Variable):
            value = self.variable(component, scope, ref)
            if subs is not None:
                value = self.subscripted(value, subs, scope, ref)
            if i + 1 < len(ref.names):
                self.fail(f"`{component.name}` has no element `{ref.names[i + 1]}`", ref, scope)
            return value
        if isinstance(component, Absent):
            self.fail(f"`{component.name}` is used, and its condition is false", ref, scope)
        if isinstance(component, InstanceArray):
            chosen: Any = Arr(component.dims, component.items)
            if subs is not None:
                chosen = self.subscripted(chosen, subs, scope, ref)
            if isinstance(chosen, Arr):
                parts = [self.instance_value(item, ref, i, scope) for item in chosen.items]
                if not parts:
                    return Arr(chosen.shape, [])
                together = stack(parts)
                return Arr(chosen.shape + together.shape[1:], together.items)
            return self.instance_value(chosen, ref, i, scope)
        if subs is not None:
            self.fail(f"`{component.name}` is not an array", ref, scope)
        return self.instance_value(component, ref, i, scope)

    def instance_value(self, instance: Instance, ref: tree.Ref, i: int, scope: Scope) -> Any:
        if i + 1 == len(ref.names):
            return self.record_of(instance, ref, scope)
        name = ref.names[i + 1]
        member = instance.member(name)
        if member is None:
            hint = nearest(name, instance.component_names())
            self.fail(f"`{instance.name}` ({instance.klass.name}) has no element `{name}`", ref, scope, hint)
        if member.is_class:
            return self.classes(member, ref._replace(names=ref.names[i + 1 :], subs=None), scope)
        if "protected" in member.node.prefixes:
            self.fail(f"`{name}` is protected in {instance.klass.name} and not seen from outside", ref, scope)
        return self.component_value(instance.component(name), ref, i + 1, scope)

    def record_of(self, instance: Instance, ref: Any, scope: Scope) -> RecordValue:
        """An instance as a value with its fields."""
        fields = {}
        for name in instance.component_names():
            whole = tree.Ref(getattr(ref, "at", 0), (name,))
            member = instance.component(name)
            if not isinstance(member, Absent):
                fields[name] = self.component_value(member, whole, 0, scope)
        return RecordValue(instance.klass.name, fields)

    def field(self, value: Any, name: str, node: Any, scope: Scope) -> Any:
        if isinstance(value, Arr):
            return stack([self.field(part, name, node, scope) for part in value.parts()])
        if isinstance(value, RecordValue):
            if name not in value.fields:
                self.fail(f"the record {value.type} has no field `{name}`", node, scope, nearest(name, value.fields))
            return value.fields[name]
        if isinstance(value, tuple):
            return tree.Field(AT, value, name)
        self.fail(f"this value has no field `{name}`", node, scope)

    # -- subscripts ----------------------------------------------------------------------------------------------

    def index(self, node: tree.Index, scope: Scope) -> Any:
        return self.subscripted(self.value(node.base, scope), node.subs, scope, node)

    def end(self, node: tree.End, scope: Scope) -> int:
        if not self.ends:
            self.fail("`end` is for subscripts", node, scope)
        return self.ends[-1]

    def subscripted(self, value: Any, subs: tuple[tree.Expression, ...], scope: Scope, node: Any) -> Any:
        if not isinstance(value, Arr) or len(subs) > len(value.shape):
            n = len(value.shape) if isinstance(value, Arr) else 0
            self.fail(f"there are {len(subs)} subscripts for {n} dimensions", node, scope)
        picks: list[Any] = []
        for i, (sub, n) in enumerate(zip(subs, value.shape, strict=False)):
            pick = self.subscript(sub, n, scope)
            if isinstance(pick, tuple):  # only known in the simulation: every case, one after the other
                rest = subs[i + 1 :]
                cases = [value.pick([*picks, j]) for j in range(n)]
                cases = [self.subscripted(case, rest, scope, node) if rest else case for case in cases]
                found = cases[-1]
                for j in range(n - 1, 0, -1):
                    condition = tree.Binary(AT, "==", pick, tree.Literal(NUMBER, j))
                    found = self.either(condition, cases[j - 1], found, node, scope)
                return found
            picks.append(pick)
        return value.pick(picks)

    def subscript(self, sub: tree.Expression, n: int, scope: Scope) -> Any:
        """A number or a list of numbers from 0; a tree if it is not known."""
        if isinstance(sub, tree.Colon):
            return list(range(n))
        self.ends.append(n)
        try:
            found = self.value(sub, scope)
            if not is_known(found):
                try:
                    found = self.value(sub, scope.constant())
                except ModelicaError:
                    if not isinstance(found, tuple) or scope.const:
                        raise
                    return found
        finally:
            self.ends.pop()
        if isinstance(found, Arr):
            return [self.number_of(item, n, sub, scope) for item in found.items]
        return self.number_of(found, n, sub, scope)

    def number_of(self, value: Any, n: int, sub: Any, scope: Scope) -> int:
        if isinstance(value, EnumValue):
            value = value.index
        elif isinstance(value, bool):
            value = int(value) + 1
        if isinstance(value, float) and value == int(value):
            value = int(value)
        if not isinstance(value, int):
            self.fail(f"a subscript has to be a whole number, not {value!r}", sub, scope)
        if not 1 <= value <= n:
            self.fail(f"the subscript {value} is not between 1 and {n}", sub, scope)
        return value - 1
