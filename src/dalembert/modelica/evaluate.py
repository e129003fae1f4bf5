"""Expressions to values: names are looked up, arrays taken apart, and what is known is computed.

`const` in a scope says that a number is needed: parameters are then replaced by their values, and marked as structural.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from dalembert.errors import ModelicaError
from dalembert.modelica import builtins, operators, tree
from dalembert.modelica.calls import Calls
from dalembert.modelica.components import Variable
from dalembert.modelica.flat import names_in
from dalembert.modelica.modifiers import Closure
from dalembert.modelica.overloading import Overloading, has_record
from dalembert.modelica.references import References
from dalembert.modelica.scopes import Entry, Part, Scope, World
from dalembert.modelica.values import AT, Arr, EnumType, EnumValue, RecordValue, as_tree, is_known, stack

MOST_TURNS = 1_000_000


class Evaluator(References, Calls, Overloading):
    """Values of expressions of one world."""

    def __init__(self, world: World):
        References.__init__(self)
        Calls.__init__(self)
        self.world = world
        world.evaluator = self
        self.rules: dict[type, Callable[[Any, Scope], Any]] = {
            tree.Literal: lambda node, scope: node.value,
            tree.Ref: self.reference,
            tree.Unary: self.unary,
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
                value = self.constant(variable, closure) if variable.is_constant else self.closure(closure, const=True)
            finally:
                variable._lock = False
            variable.known = self.fitting(value, variable.type, variable.dims, variable.name, closure)
        return variable.known

    def constant(self, variable: Variable, closure: Closure) -> Any:
        """The value of a constant, which may not depend on parameters."""
        value = self.closure(closure)
        if is_known(value):
            return value
        if variable.owner.is_component and any(True for _ in names_in(as_tree(value))):
            self.fail(f"the constant `{variable.name}` depends on parameters or variables", closure.expression,
                      Scope(closure.part), "Make it a parameter")  # fmt: skip
        return self.closure(closure, const=True)

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
        if math.prod(found) > MOST_TURNS:
            self.fail(f"`{name}` has {math.prod(found)} elements", dims[0][0][0], Scope(dims[0][1]))
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
            other = self.value(one.right, scope)
            if has_record(value) or has_record(other):
                value = self.overloaded(one.op, [value, other], one, scope)
            else:
                value = operators.binary(one.op, value, other)
        return value

    def unary(self, node: tree.Unary, scope: Scope) -> Any:
        value = self.value(node.operand, scope)
        if not has_record(value):
            return operators.unary(node.op, value)
        return value if node.op in ("+", ".+") else self.overloaded(node.op, [value], node, scope)

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
