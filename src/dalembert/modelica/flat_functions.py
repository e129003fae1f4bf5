"""Functions of the flat model: names within them are full names, constants are numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dalembert.modelica import tree
from dalembert.modelica.evaluate import Evaluator
from dalembert.modelica.flat import FlatModel
from dalembert.modelica.functions import Function
from dalembert.modelica.library import EXTERNAL
from dalembert.modelica.scopes import Entry, Part, Scope
from dalembert.modelica.source import Source
from dalembert.modelica.values import AT, EnumType, FunctionValue, as_tree


class Formal(NamedTuple):
    """A declared name of a function or record: its type (builtin, enumeration, or the name of a record) and sizes."""

    name: str
    type: str | EnumType
    dims: tuple[tree.Expression, ...]
    default: tree.Expression | None


class DerivativeRule(NamedTuple):
    """What an annotation says about a function: another function is its derivative."""

    function: str
    order: int
    without: tuple[str, ...]  # inputs whose derivatives are not handed over
    zero: tuple[str, ...]  # inputs whose derivatives have to be zero


@dataclass
class FlatRecord:
    """A record type that functions use."""

    name: str
    fields: list[Formal]


@dataclass
class FlatFunction:
    """A function that is called in the flat model."""

    name: str
    inputs: list[Formal]
    outputs: list[Formal]
    locals: list[Formal]
    statements: list[tree.Statement]
    external: tree.External | None = None
    derivatives: list[DerivativeRule] = field(default_factory=list)
    inverses: dict[str, tree.Expression] = field(default_factory=dict)
    pure: bool = True
    source: Source | None = None  # the text of its algorithm: places in `statements` are tokens of it


def collect_functions(flat: FlatModel, evaluator: Evaluator) -> None:
    """Put all functions that are called into the flat model, and those that they call."""
    writer = _Writer(flat, evaluator)
    _collect(flat, evaluator, writer)
    for name, klass in [*evaluator.externals.items()]:
        members = [klass.scope().member(one) for one in ("constructor", "destructor")]
        flat.externals[name] = [writer.function(evaluator.function(one.klass())) for one in members if one is not None]
    _collect(flat, evaluator, writer)


def _collect(flat: FlatModel, evaluator: Evaluator, writer: _Writer) -> None:
    while waiting := [name for name in evaluator.functions if name not in flat.functions]:
        for name in waiting:
            flat.functions[name] = writer.function(evaluator.functions[name])
            flat.functions[name].name = name


class _Writer:
    """Rewrites trees of functions."""

    def __init__(self, flat: FlatModel, evaluator: Evaluator):
        self.flat, self.evaluator = flat, evaluator

    def function(self, function: Function) -> FlatFunction:
        names = frozenset((*function.inputs, *function.outputs, *function.others))
        constants = {name for name, entry in function.others.items() if "constant" in entry.node.prefixes}
        names -= constants
        found = FlatFunction(
            function.name,
            [self.formal(entry, names) for entry in function.inputs.values()],
            [self.formal(entry, names) for entry in function.outputs.values()],
            [self.formal(entry, names) for name, entry in function.others.items() if name not in constants],
            [self.rewrite(item, part, names) for part, section in function.sections for item in section.items],
        )
        found.source = next((part.source for part, _ in function.sections), None)
        for part in function.place.parts():
            node = part.definition.node
            if node.external is not None:
                found.source = part.source
                args = tuple(self.rewrite(arg, part, names) for arg in node.external.args)
                found.external = node.external._replace(args=args)
            found.pure &= "impure" not in node.prefixes
        self.annotations(found, function, names)
        return found

    def formal(self, entry: Entry, names: frozenset[str]) -> Formal:
        part, node = entry.part, entry.node
        klass = part.find_class(node.type)
        kind = klass.scope()
        dims = tuple(self.rewrite(size, part, names) for size in node.dims)
        for sizes, where in reversed(kind.dims):
            dims += tuple(self.rewrite(size, where, frozenset()) for size in sizes)
        closure = Function.default(entry)
        default = None if closure is None else self.rewrite(closure.expression, closure.part, names)
        if kind.builtin is None and klass.kind == "function":
            part.source.fail(f"functions as inputs (`{entry.name}`) are not supported", node.at)
        if kind.builtin == EXTERNAL:
            self.evaluator.externals.setdefault(klass.name, klass)
            return Formal(entry.name, klass.name, dims, default)
        if kind.builtin is not None:
            if isinstance(kind.builtin, EnumType):
                self.flat.enumerations[kind.builtin.name] = kind.builtin
            return Formal(entry.name, kind.builtin, dims, default)
        if klass.name not in self.flat.records:
            self.flat.records[klass.name] = FlatRecord(klass.name, [])  # records may hold records
            fields = [kind.entries[name] for name in kind.component_names()]
            self.flat.records[klass.name].fields += [self.formal(one, frozenset()) for one in fields]
        return Formal(entry.name, klass.name, dims, default)

    def annotations(self, found: FlatFunction, function: Function, names: frozenset[str]) -> None:
        for part in function.place.parts():
            for note in part.definition.notes():
                if note.name == "derivative" and isinstance(note.value, tree.Ref):
                    found.derivatives.append(self.derivative(note, part))
                elif note.name == "inverse":
                    for one in note.args or ():
                        if one.value is not None:
                            found.inverses[one.name] = self.rewrite(one.value, part, names)

    def derivative(self, note: tree.Modifier, part: Part) -> DerivativeRule:
        klass = part.find_class(note.value)
        name = self.evaluator.registered(self.evaluator.function(klass))
        order, without, zero = 1, [], []
        for one in note.args or ():
            if one.name == "order" and isinstance(one.value, tree.Literal):
                order = int(one.value.value)
            elif one.name in ("noDerivative", "zeroDerivative") and isinstance(one.value, tree.Ref):
                (without if one.name == "noDerivative" else zero).append(one.value.names[0])
        return DerivativeRule(name, order, tuple(without), tuple(zero))

    # -- trees ---------------------------------------------------------------------------------------------------

    def rewrite(self, node: Any, part: Part, names: frozenset[str]) -> Any:
        """A tree in which only local names are left."""
        match node:
            case tree.Ref():
                return self.reference(node, part, names)
            case tree.Call():
                return self.call(node, part, names)
            case tree.Partial():
                part.source.fail("functions as arguments are not supported", node.at)
            case tree.For() | tree.Array() if node.iterators:
                names = names | {one.name for one in node.iterators}
        if isinstance(node, tree.Annotation | tree.Comment) or not isinstance(node, tuple):
            return None if isinstance(node, tree.Annotation | tree.Comment) else node
        children = [self.rewrite(child, part, names) if isinstance(child, tuple) else child for child in node]
        return type(node)(*children) if hasattr(node, "_fields") else tuple(children)

    def reference(self, node: tree.Ref, part: Part, names: frozenset[str]) -> tree.Expression:
        if node.names[0] in names and not node.rooted:
            subs = None if node.subs is None else tuple(s and self.rewrite(s, part, names) for s in node.subs)
            return node._replace(subs=subs)
        if node.subs is not None:  # a constant array with a subscript that changes
            whole = self.reference(node._replace(subs=None), part, names)
            subs = next(subs for subs in node.subs if subs is not None)
            return tree.Index(AT, whole, self.rewrite(subs, part, names))
        kind = self.evaluator.type_of_dimension(node, Scope(part))
        if kind is not None:
            return tree.Ref(AT, (kind.name if isinstance(kind, EnumType) else kind,))
        value = self.evaluator.value(node, Scope(part, {}, True))
        if isinstance(value, FunctionValue):
            part.source.fail("functions as arguments are not supported", node.at)
        return as_tree(value)

    def call(self, node: tree.Call, part: Part, names: frozenset[str]) -> tree.Call:
        inner = names | {one.name for one in node.iterators}
        args = tuple(self.rewrite(arg, part, inner) for arg in node.args)
        named = tuple(one._replace(value=self.rewrite(one.value, part, inner)) for one in node.named)
        iterators = tuple(
            one._replace(range=None if one.range is None else self.rewrite(one.range, part, names))
            for one in node.iterators
        )
        if node.function.names[0] in names:
            part.source.fail(f"functions as inputs (`{node.function.names[0]}`) are not supported", node.at)
        klass = self.evaluator.called_class(node.function, Scope(part))
        name = ".".join(node.function.names)
        if klass is not None and not isinstance(klass.definition, str):
            name = klass.name
            place = klass.scope()
            if klass.kind == "function":
                function = self.evaluator.function(klass)
                if function.external is not None and function.external.language == "builtin":
                    name = function.external.function or name.rsplit(".", 1)[-1]
                else:
                    name = self.evaluator.registered(function)
            elif place.kind in ("record", "operator record"):
                for entry in (place.entries[one] for one in place.component_names()):
                    self.formal(entry, frozenset())
                self.flat.records.setdefault(name, FlatRecord(name, [
                    self.formal(place.entries[one], frozenset()) for one in place.component_names()
                ]))  # fmt: skip
            elif place.builtin is None:
                raise part.source.error(f"`{name}` cannot be called", node.at)
        return tree.Call(AT, tree.Ref(AT, (name,)), args, named, iterators)
