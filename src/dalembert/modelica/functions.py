"""Functions: run where all arguments are known, else left as calls for the simulation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dalembert.errors import ModelicaError
from dalembert.modelica import builtins, tree
from dalembert.modelica.modifiers import Closure
from dalembert.modelica.running import Running
from dalembert.modelica.scopes import Entry, Klass, Part, Scope
from dalembert.modelica.source import nearest
from dalembert.modelica.values import AT, Arr, FunctionValue, RecordValue, as_tree, is_known, products, shape_of

if TYPE_CHECKING:
    from dalembert.modelica.evaluate import Evaluator

#: functions of the standard library's own C code that are needed before the simulation
NATIVE = {
    "ModelicaStrings_length": len,
    "ModelicaStrings_substring": lambda text, first, last: text[first - 1 : last],
}


class Function(Running):
    """A function class with its inputs, outputs and statements."""

    def __init__(self, klass: Klass, evaluator: Evaluator):
        super().__init__()
        self.klass, self.evaluator = klass, evaluator
        self.place = klass.scope()
        components = {name: entry for name, entry in self.place.entries.items() if not entry.is_class}
        self.inputs = {name: entry for name, entry in components.items() if _has_prefix(entry, "input")}
        self.outputs = {name: entry for name, entry in components.items() if _has_prefix(entry, "output")}
        self.others = {
            name: entry for name, entry in components.items() if name not in self.inputs and name not in self.outputs
        }
        self.sections = [(part, one) for part in self.place.parts() for one in part.definition.node.sections]
        self.external = next(
            (p.definition.node.external for p in self.place.parts() if p.definition.node.external), None
        )
        for part, section in self.sections:
            if section.kind != "algorithm" or section.initial:
                part.source.fail(f"function {self.name} has equations; functions have an algorithm", section.at)

    @property
    def name(self) -> str:
        return self.klass.name

    def fail(self, message: str, entry: Entry) -> None:
        entry.part.source.fail(message, entry.node.at)

    def anchor(self) -> int:
        """A number for what the meaning of its text depends on; 0 if nothing around it is modified or inherited."""
        if self.klass.mods:
            return id(self.klass)
        part: Part | None = self.klass.parent
        while part is not None and part.definition is not None:
            if part.mods or part.instance.part is not part:
                return id(part.instance)
            part = part.parent
        return 0

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, args: list[Any], named: dict[str, Any], node: tree.Call, scope: Scope) -> Any:
        """The first result."""
        outputs = self.call_all(args, named, node, scope)
        if not outputs:
            self.evaluator.fail(f"function {self.name} has no result", node, scope)
        return outputs[0]

    def call_all(self, args: list[Any], named: dict[str, Any], node: tree.Call, scope: Scope) -> list[Any]:
        """All results."""
        given = self.arguments(args, named, node, scope)
        spread = self.spread(given)
        if spread is not None and self.outputs:
            rows = [self.results({**given, **row}, node, scope)[0] for row in spread[1]]
            return [
                Arr(spread[0] + shape_of(rows[0]), [item for row in rows for item in _items(row)])
                if rows
                else Arr(spread[0], [])
            ]
        return self.results(given, node, scope)

    def arguments(self, args: list[Any], named: dict[str, Any], node: tree.Call, scope: Scope) -> dict[str, Any]:
        names = list(self.inputs)
        if len(args) > len(names):
            self.evaluator.fail(f"function {self.name} has {len(names)} inputs, not {len(args)}", node, scope)
        given = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in self.inputs:
                self.evaluator.fail(f"function {self.name} has no input `{name}`", node, scope, nearest(name, names))
            if name in given:
                self.evaluator.fail(f"the input `{name}` of function {self.name} is given twice", node, scope)
            given[name] = value
        for name in names:
            if name not in given:
                closure = self.default(self.inputs[name])
                if closure is None:
                    self.evaluator.fail(f"the input `{name}` of function {self.name} is not given", node, scope)
                given[name] = self.evaluator.value(closure.expression, Scope(closure.part, given, scope.const))
        return {name: given[name] for name in names}

    @staticmethod
    def default(entry: Entry) -> Closure | None:
        if entry.mod is not None and entry.mod.value is not None:
            return entry.mod.value
        if entry.node.modification is not None and entry.node.modification.value is not None:
            return Closure(entry.node.modification.value, entry.part)
        return None

    def spread(self, given: dict[str, Any]) -> tuple[tuple[int, ...], list[dict[str, Any]]] | None:
        """Arrays where scalars are declared: the function is applied to each element."""
        extra: tuple[int, ...] | None = None
        names = []
        for name, value in given.items():
            if isinstance(value, Arr) and not self.rank(self.inputs[name]):
                if extra not in (None, value.shape):
                    raise ValueError(f"the arguments of {self.name} have different sizes")
                names.append(name)
                extra = value.shape
        if extra is None:
            return None
        rows = [{name: given[name].items[k] for name in names} for k in range(math.prod(extra))]
        return extra, rows

    def rank(self, entry: Entry) -> int:
        """The number of declared dimensions."""
        kind = entry.part.find_class(entry.node.type).scope()
        return len(entry.node.dims) + sum(len(sizes) for sizes, _ in kind.dims)

    def results(self, given: dict[str, Any], node: tree.Call, scope: Scope) -> list[Any]:
        if self.external is not None and (self.external.language or "C") == "builtin":
            name = self.external.function or self.name.rsplit(".", 1)[-1]
            values = list(given.values())
            if name in builtins.SCALAR:
                return [builtins.apply_scalar(name, values)]
            if name in builtins.ARRAY:
                return [builtins.ARRAY[name](*values)]
        if self.external is not None and self.external.function in NATIVE and all(map(is_known, given.values())):
            return [NATIVE[self.external.function](*given.values())]
        if self.external is None and self.sections and all(map(is_known, given.values())):
            if scope.const:
                return list(self.run(given, node, scope).values())
            try:
                return list(self.run(given, node, scope).values())
            except ModelicaError:  # it calls what only the simulation has: what is wrong comes to light there
                return self.open_call(given, node, scope)
        if self.sections and any(isinstance(value, FunctionValue) for value in given.values()):
            return list(self.run(given, node, scope, scope.const).values())  # on trees
        if (body := self.inlined()) is not None:
            part, expression = body
            local = given | {name: self.empty(entry, given) for name, entry in self.outputs.items()}
            return [self.evaluator.value(expression, Scope(part, local, scope.const))]
        if scope.const:
            why = (
                "is external" if self.external is not None else "needs values that are not known before the simulation"
            )
            if not self.sections and self.external is None:
                why = "has no algorithm"
            self.evaluator.fail(f"function {self.name} {why}", node, scope)
        return self.open_call(given, node, scope)

    def inlined(self) -> tuple[Any, tree.Expression] | None:
        """The expression that stands for the call, if the function is one and asks for it (`Inline = true`)."""
        if len(self.sections) != 1 or len(self.outputs) != 1 or self.others or len(self.sections[0][1].items) != 1:
            return None
        part, section = self.sections[0]
        node = section.items[0]
        if not isinstance(node, tree.Assignment) or node.target != tree.Ref(
            node.target.at, (next(iter(self.outputs)),)
        ):
            return None
        notes = {note.name: getattr(note, "value", None) for note in part.definition.notes()}
        asked = notes.get("Inline")
        return (part, node.value) if isinstance(asked, tree.Literal) and asked.value is True else None

    def open_call(self, given: dict[str, Any], node: tree.Call, scope: Scope) -> list[Any]:
        """Results as trees: a call, or its elements."""
        if not self.sections and self.external is None:
            self.evaluator.fail(f"function {self.name} has no algorithm and is not external", node, scope)
        call = tree.Call(
            AT, tree.Ref(AT, (self.evaluator.registered(self),)), tuple(as_tree(value) for value in given.values())
        )
        found = []
        local = dict(given)
        for name, entry in self.others.items():  # sizes may be said with these
            closure = self.default(entry)
            if closure is not None:
                try:
                    local[name] = self.evaluator.value(closure.expression, Scope(closure.part, local, True))
                except ModelicaError:
                    continue
        if any(map(self.rank, self.outputs.values())):
            self.know_sizes(local, node, scope)
        for i, entry in enumerate(self.outputs.values()):
            source = call if i == 0 else tree.Index(AT, tree.Tuple(AT, (call,)), (tree.Literal(AT, i + 1),))
            found.append(self.shaped(entry, source, local, node, scope))
        return found

    def know_sizes(self, local: dict[str, Any], node: tree.Call, scope: Scope) -> None:
        """Put values in the place of whole numbers that are parameters: sizes of results may depend on them."""
        given = dict(zip(self.inputs, node.args, strict=False)) | {one.name: one.value for one in node.named}
        for name, entry in self.inputs.items():
            kind = entry.part.find_class(entry.node.type).scope()
            if name in given and kind.builtin == "Integer" and not is_known(local.get(name)):
                try:
                    local[name] = self.evaluator.value(given[name], scope.constant())
                except ModelicaError:
                    continue

    def shaped(
        self, entry: Entry, source: tree.Expression, local: dict[str, Any], node: tree.Call, scope: Scope
    ) -> Any:

        kind = entry.part.find_class(entry.node.type).scope()
        dims = self.dims(entry, kind, local)
        if any(n is None for n in dims):
            self.evaluator.fail(f"the size of the result of function {self.name} is not known here", node, scope)
        if dims:
            picks = [tree.Index(AT, source, tuple(tree.Literal(AT, k) for k in i)) for i in products(tuple(dims))]
            items = [self.fields(kind, pick, Scope(entry.part, local)) for pick in picks]
            return Arr(tuple(dims), items)
        return self.fields(kind, source, Scope(entry.part, local))

    def fields(self, kind: Any, source: tree.Expression, scope: Scope) -> Any:
        """A scalar, or a record with its fields."""
        if kind.builtin is not None:
            return source
        found = {}
        for name in kind.component_names():
            inner = kind.component(name)
            if not hasattr(inner, "type"):
                found[name] = self.fields(inner, tree.Field(AT, source, name), scope)
                continue
            whole = tree.Field(AT, source, name)
            if inner.dims:
                picks = [tree.Index(AT, whole, tuple(tree.Literal(AT, k) for k in i)) for i in products(inner.dims)]
                found[name] = Arr(inner.dims, picks)
            else:
                found[name] = whole
        return RecordValue(kind.klass.name, found)

    def dims(self, entry: Entry, kind: Any, local: dict[str, Any]) -> list[int | None]:
        found: list[int | None] = []
        for sizes, part in [(entry.node.dims, entry.part), *reversed(kind.dims)]:
            place = Scope(part, local if part is entry.part else {}, True)
            for size in sizes:
                if isinstance(size, tree.Colon):
                    found.append(None)
                else:
                    found.append(self.evaluator.size_of_dimension(size, place))
        return found


def _has_prefix(entry: Entry, word: str) -> bool:
    """Whether a declaration, or the short class that is its type, says input or output."""
    return word in entry.node.prefixes or word in entry.part.find_class(entry.node.type).scope().words


def _items(value: Any) -> list[Any]:
    return value.items if isinstance(value, Arr) else [value]
