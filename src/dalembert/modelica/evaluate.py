"""Expressions to values: names are looked up, arrays taken apart, and what is known is computed.

`const` in a scope says that a number is needed: parameters are then replaced by their values, and marked as structural.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from dalembert.errors import ModelicaError
from dalembert.modelica import builtins, operators, tree
from dalembert.modelica.calls import Calls
from dalembert.modelica.components import Absent, Instance, InstanceArray, Variable
from dalembert.modelica.modifiers import Closure
from dalembert.modelica.scopes import Entry, Klass, Part, World
from dalembert.modelica.source import nearest
from dalembert.modelica.values import AT, Arr, EnumType, EnumValue, FunctionValue, RecordValue, as_tree, is_known, stack

MOST_TURNS = 1_000_000


class Scope:
    """Where an expression stands: a part, the values of local names, and whether numbers are needed."""

    __slots__ = ("const", "locals", "part")

    def __init__(self, part: Part, local: dict[str, Any] | None = None, const: bool = False):
        self.part, self.locals, self.const = part, local or {}, const

    def with_locals(self, more: dict[str, Any]) -> Scope:
        return Scope(self.part, {**self.locals, **more}, self.const)

    def constant(self) -> Scope:
        return self if self.const else Scope(self.part, self.locals, True)

    def symbolic(self) -> Scope:
        return Scope(self.part, self.locals, False) if self.const else self


class Evaluator(Calls):
    """Values of expressions of one world."""

    def __init__(self, world: World):
        super().__init__()
        self.world = world
        world.evaluator = self
        self.ends: list[int] = []  # what `end` means, innermost last
        self.rules: dict[type, Callable[[Any, Scope], Any]] = {
            tree.Literal: lambda node, scope: node.value,
            tree.Ref: self.reference,
            tree.Unary: lambda node, scope: operators.unary(node.op, self.value(node.operand, scope)),
            tree.Binary: self.binary,
            tree.IfExpression: self.choice,
            tree.Range: self.range,
            tree.Call: self.call,
            tree.Partial: self.partial,
            tree.Array: self.array,
            tree.Matrix: lambda node, scope: builtins.matrix(
                [[self.value(x, scope) for x in row] for row in node.rows]
            ),
            tree.Index: self.index,
            tree.Field: lambda node, scope: self.field(self.value(node.base, scope), node.name, node, scope),
            tree.End: self.end,
        }

    def fail(self, message: str, node: Any, scope: Scope, suggestion: str | None = None) -> NoReturn:
        scope.part.source.fail(message, getattr(node, "at", 0), suggestion)

    def value(self, node: tree.Expression, scope: Scope) -> Any:
        """The value of an expression."""
        rule = self.rules.get(type(node))
        if rule is None:
            self.fail("this cannot stand in an expression", node, scope)
        try:
            return rule(node, scope)
        except ValueError as reason:
            if isinstance(reason, ModelicaError):
                raise
            self.fail(str(reason), node, scope)
        except RecursionError:
            self.fail("this is nested too deeply", node, scope)

    def known_value(self, node: tree.Expression, scope: Scope, what: str) -> Any:
        """A value that has to be known now; `what` it is needed for."""
        found = self.value(node, scope.constant())
        if not is_known(found):
            self.fail(f"{what} has to be known before the simulation", node, scope)
        return found

    # -- closures and variables ----------------------------------------------------------------------------------

    def closure(self, closure: Closure, const: bool = False) -> Any:
        found = self.value(closure.expression, Scope(closure.part, None, const))
        if closure.indices:
            if not isinstance(found, Arr) or len(found.shape) < len(closure.indices):
                self.fail(
                    "this is the value of one element, and an array of components is modified",
                    closure.expression, Scope(closure.part), "Write `each` before the name to give it to all of them",
                )  # fmt: skip
            if any(i > n for i, n in zip(closure.indices, found.shape, strict=False)):
                self.fail(f"there is no element {list(closure.indices)} in this value of size {list(found.shape)}",
                          closure.expression, Scope(closure.part))  # fmt: skip
            found = found.pick([i - 1 for i in closure.indices])
        return found

    def is_true(self, closure: Closure) -> bool:
        found = self.closure(closure, const=True)
        if not isinstance(found, bool):
            self.fail("a condition of a component has to be true or false", closure.expression, Scope(closure.part))
        return found

    def variable(self, variable: Variable, scope: Scope, node: Any) -> Any:
        """What a variable stands for: its value if it is a constant or numbers are needed, else its name."""
        if variable.is_constant or scope.const or not variable.owner.is_component:
            if variable.is_constant or variable.is_parameter or not variable.owner.is_component:
                variable.structural |= variable.is_parameter
                return self.known(variable, node, scope)
            self.fail(f"`{variable.name}` is not known before the simulation", node, scope)
        if not variable.dims:
            return tree.Ref(AT, (variable.name,))
        return Arr(variable.dims, [tree.Ref(AT, (name,)) for name in variable.element_names()])

    def known(self, variable: Variable, node: Any, scope: Scope) -> Any:
        """The value of a constant or parameter."""
        if variable.known is None:
            if variable._lock:
                self.fail(f"`{variable.name}` depends on itself", node, scope)
            closure = variable.binding
            if closure is None and "start" in variable.attributes:
                closure = variable.attributes["start"].value
            if closure is None:
                self.fail(f"`{variable.name}` has no value", node, scope, "Give it one in a modifier")
            variable._lock = True
            try:
                value = self.closure(closure, const=True)
            finally:
                variable._lock = False
            variable.known = self.fitting(value, variable.type, variable.dims, variable.name, closure)
        return variable.known

    def fitting(self, value: Any, type_: Any, dims: tuple[int, ...], name: str, closure: Closure) -> Any:
        """A value that was checked against a declared type and sizes."""
        scope = Scope(closure.part)
        shape = value.shape if isinstance(value, Arr) else ()
        if shape != dims:
            if not shape and closure.each:
                return builtins.filled(self.fitting(value, type_, (), name, closure), list(dims))
            self.fail(f"`{name}` has the size {list(dims)}, and its value {list(shape)}", closure.expression, scope)
        if isinstance(value, Arr):
            return value.map(lambda item: self.fitting(item, type_, (), name, closure))
        if isinstance(value, tuple):
            return value
        wanted = {"Real": (int, float), "Integer": (int,), "Boolean": (bool,), "String": (str,)}.get(
            type_, (EnumValue,)
        )
        if not isinstance(value, wanted) or (isinstance(value, bool) and type_ != "Boolean"):
            shown = type_.name if isinstance(type_, EnumType) else type_
            self.fail(f"`{name}` is of type {shown}, and its value is {value!r}", closure.expression, scope)
        return float(value) if type_ == "Real" and abs(value) < 1e300 else value

    def dimensions(self, variable: Variable, dims: list[tuple[tuple[tree.Expression, ...], Part]]) -> tuple[int, ...]:
        return self.sizes(dims, variable.binding, variable.name)

    def sizes(self, dims: list, binding: Closure | None, name: str) -> tuple[int, ...]:
        """Declared sizes as numbers; open ones are those of the value."""
        found: list[int | None] = []
        for sizes, part in dims:
            for size in sizes:
                found.append(None if isinstance(size, tree.Colon) else self.size_of_dimension(size, Scope(part)))
        if None in found:
            if binding is None:
                part, size = dims[0][1], dims[0][0][0]
                self.fail(f"the size of `{name}` is open, and it has no value", size, Scope(part))
            value = self.closure(binding)
            shape = value.shape if isinstance(value, Arr) else ()
            if len(shape) != len(found):
                self.fail(f"`{name}` has {len(found)} dimensions, and its value {len(shape)}", binding.expression,
                          Scope(binding.part))  # fmt: skip
            found = [shape[i] if n is None else n for i, n in enumerate(found)]
        return tuple(found)

    def size_of_dimension(self, size: tree.Expression, scope: Scope) -> int:
        if isinstance(size, tree.Ref):
            kind = self.type_of_dimension(size, scope)
            if isinstance(kind, EnumType):
                return len(kind.literals)
            if kind == "Boolean":
                return 2
        value = self.known_value(size, scope, "a size")
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.fail(f"a size has to be a whole number that is not negative, not {value}", size, scope)
        return value

    def type_of_dimension(self, ref: tree.Ref, scope: Scope) -> str | EnumType | None:
        """The type that a name means, if it is one."""
        if ref.subs is not None or ref.names[0] in scope.locals:
            return None
        found = self.world.top(ref.names[0]) if ref.rooted else scope.part.lookup(ref.names[0])
        if found is None or (isinstance(found, Entry) and not found.is_class):
            return None
        for name in ref.names[1:]:
            place = (found.klass() if isinstance(found, Entry) else found).scope()
            found = place.member(name)
            if found is None or (isinstance(found, Entry) and not found.is_class):
                return None  # a constant, or a value of an enumeration
        klass = found.klass() if isinstance(found, Entry) else found
        return klass.scope().builtin

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
        if isinstance(value, tuple) and not isinstance(value, FunctionValue):
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
                    condition = tree.Binary(AT, "==", pick, tree.Literal(AT, j))
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
                    if isinstance(found, Arr) or scope.const:
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

    # -- operators -----------------------------------------------------------------------------------------------

    def binary(self, node: tree.Binary, scope: Scope) -> Any:
        spine = []  # sums may be long
        left: Any = node
        while isinstance(left, tree.Binary):
            spine.append(left)
            left = left.left
        value = self.value(left, scope)
        for one in reversed(spine):
            if (one.op == "or" and value is True) or (one.op == "and" and value is False):
                continue  # the rest may make no sense then
            value = operators.binary(one.op, value, self.value(one.right, scope))
        return value

    def choice(self, node: tree.IfExpression, scope: Scope) -> Any:
        open_: list[tuple[Any, tree.Expression]] = []
        last = node.otherwise
        for condition, then in node.branches:
            value = self.value(condition, scope)
            if isinstance(value, bool):
                if value:
                    last = then
                    break
                continue
            if not isinstance(value, tuple):
                self.fail("a condition has to be true or false", condition, scope)
            open_.append((value, then))
        if not open_:
            return self.value(last, scope)
        try:
            found = self.value(last, scope)
            for condition, then in reversed(open_):
                found = self.either(condition, self.value(then, scope), found, node, scope)
            return found
        except ModelicaError as reason:
            if scope.const:
                raise
            # only some branches make sense: parameters decide which
            try:
                chosen = self.chosen(node, scope.constant())
            except ModelicaError:
                raise reason from None
            return self.value(chosen, scope)

    def chosen(self, node: tree.IfExpression, scope: Scope) -> tree.Expression:
        for condition, then in node.branches:
            if self.known_value(condition, scope, "this condition") is True:
                return then
        return node.otherwise

    def either(self, condition: tree.Expression, then: Any, otherwise: Any, node: Any, scope: Scope) -> Any:
        """A choice for the simulation, element by element."""
        if isinstance(then, Arr) or isinstance(otherwise, Arr):
            if not (isinstance(then, Arr) and isinstance(otherwise, Arr) and then.shape == otherwise.shape):
                self.fail("the branches have different sizes", node, scope)
            pairs = zip(then.items, otherwise.items, strict=True)
            return Arr(then.shape, [self.either(condition, a, b, node, scope) for a, b in pairs])
        if isinstance(then, RecordValue) and isinstance(otherwise, RecordValue):
            fields = {
                name: self.either(condition, then.fields[name], otherwise.fields[name], node, scope)
                for name in then.fields
            }
            return RecordValue(then.type, fields)
        if not isinstance(then, tuple) and type(then) is type(otherwise) and then == otherwise:
            return then
        rest = as_tree(otherwise)
        if isinstance(rest, tree.IfExpression):
            return tree.IfExpression(AT, ((condition, as_tree(then)), *rest.branches), rest.otherwise)
        return tree.IfExpression(AT, ((condition, as_tree(then)),), rest)

    def range(self, node: tree.Range, scope: Scope) -> Arr:
        parts = [node.start, node.stop] if node.step is None else [node.start, node.step, node.stop]
        values = [self.value(part, scope) for part in parts]
        if not all(map(is_known, values)):
            values = [self.known_value(part, scope, "a range") for part in parts]
        if isinstance(values[0], EnumValue):
            first, last = values[0].index, values[-1].index
            return stack([EnumValue(values[0].type, i) for i in range(first, last + 1)])
        if isinstance(values[0], bool):
            return stack([v for v in (False, True) if values[0] <= v <= values[-1]])
        start, stop = values[0], values[-1]
        step = values[1] if len(values) == 3 else 1
        if not all(map(operators.is_number, values)) or step == 0:
            self.fail("a range needs numbers, and a step that is not 0", node, scope)
        count = int((stop - start) / step + 1e-10) + 1 if (stop - start) / step >= -1e-10 else 0
        if count > MOST_TURNS:
            self.fail(f"this range has {count} elements", node, scope)
        return stack([start + i * step for i in range(max(count, 0))])

    def array(self, node: tree.Array, scope: Scope) -> Arr:
        if node.iterators:
            return self.comprehension(node.items[0], node.iterators, scope)
        return stack([self.value(item, scope) for item in node.items])

    def comprehension(self, item: tree.Expression, iterators: tuple[tree.Iterator, ...], scope: Scope) -> Arr:
        """Arrays with iterators; the last iterator is the outermost dimension."""
        if not iterators:
            return self.value(item, scope)
        values = self.iterator_values(iterators[-1], (item,), scope)
        parts = [self.comprehension(item, iterators[:-1], scope.with_locals({iterators[-1].name: v})) for v in values]
        return stack(parts)

    def turns(self, iterators: tuple[tree.Iterator, ...], body: Any, scope: Scope) -> Iterator[Scope]:
        """The scopes of all turns of a loop; the last iterator is the innermost."""
        if not iterators:
            yield scope
            return
        for value in self.iterator_values(iterators[0], body, scope):
            yield from self.turns(iterators[1:], body, scope.with_locals({iterators[0].name: value}))

    def iterator_values(self, iterator: tree.Iterator, body: Any, scope: Scope) -> list[Any]:
        if iterator.range is None:
            found = self.implied_values(iterator.name, body, scope)
            if found is None:
                self.fail(f"the range of `{iterator.name}` cannot be deduced", iterator, scope, "Write `in 1:n`")
            return found
        if isinstance(iterator.range, tree.Ref):
            kind = self.type_of_dimension(iterator.range, scope)
            if isinstance(kind, EnumType):
                return kind.values()
            if kind == "Boolean":
                return [False, True]
        found = self.value(iterator.range, scope)
        if not is_known(found) and not isinstance(found, Arr):
            found = self.known_value(iterator.range, scope, "the range of a loop")
        return found.parts() if isinstance(found, Arr) else [found]

    def implied_values(self, name: str, node: Any, scope: Scope) -> list[Any] | None:
        """The subscripts of an array that has this name as one of its subscripts."""
        if isinstance(node, tree.Ref) and node.subs is not None:
            for i, subs in enumerate(node.subs):
                for k, sub in enumerate(subs or ()):
                    if isinstance(sub, tree.Ref) and sub.names == (name,):
                        return self.subscripts_of(node, i, k, scope)
        if isinstance(node, tuple):
            for child in node:
                if isinstance(child, tuple) and (found := self.implied_values(name, child, scope)) is not None:
                    return found
        return None

    def subscripts_of(self, ref: tree.Ref, i: int, k: int, scope: Scope) -> list[Any] | None:
        """All subscripts of dimension `k` of name number `i`: numbers, or what the dimension is declared with."""
        entry = scope.part.lookup(ref.names[0]) if ref.names[0] not in scope.locals and not ref.rooted else None
        if i == 0 and isinstance(entry, Entry) and not entry.is_class and k < len(entry.node.dims):
            size = entry.node.dims[k]
            kind = self.type_of_dimension(size, Scope(entry.part)) if isinstance(size, tree.Ref) else None
            if isinstance(kind, EnumType):
                return kind.values()
            if kind == "Boolean":
                return [False, True]
        whole = tree.Ref(ref.at, ref.names[: i + 1], (*ref.subs[:i], None), ref.rooted)
        value = self.value(whole, scope.symbolic())
        return list(range(1, value.shape[k] + 1)) if isinstance(value, Arr) and k < len(value.shape) else None


def products(dims: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All subscripts of an array, from 1."""
    return itertools.product(*(range(1, n + 1) for n in dims))
