"""Instances and variables: what declarations become when their types are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from dalembert.modelica import tree
from dalembert.modelica.library import EXTERNAL
from dalembert.modelica.modifiers import Closure, Mods, element_of, make_mods, merge_all
from dalembert.modelica.restrictions import check_class, check_prefixes
from dalembert.modelica.scopes import Entry, Klass, Part, World, base_of_extended, enum_type
from dalembert.modelica.source import nearest
from dalembert.modelica.values import EnumType

MOST_COMPONENTS = 50_000
DEEPEST = 60  # components within each other, base classes of each other

_SHARED = ("flow", "stream", "discrete", "parameter", "constant", "input", "output")  # prefixes that records hand down
ATTRIBUTES = {
    "quantity", "unit", "displayUnit", "min", "max", "start", "fixed", "nominal", "stateSelect", "unbounded",
}  # fmt: skip


#: which kinds of classes a kind may extend; `class` goes with all
_BASES = {
    "package": {"package"},
    "function": {"function", "operator function"},
    "record": {"record"},
    "operator record": {"record", "operator record"},
    "connector": {"connector", "record", "operator record", "type"},
    "block": {"block", "record"},
    "model": {"model", "block", "record"},
}


class Variable:
    """A scalar or an array of a builtin type."""

    __slots__ = (
        "_dims",
        "_lock",
        "attributes",
        "binding",
        "entry",
        "known",
        "name",
        "owner",
        "prefixes",
        "structural",
        "type",
    )

    def __init__(self, name: str, type_: str | EnumType, entry: Entry, owner: Instance, prefixes: frozenset[str]):
        self.name, self.type, self.entry, self.owner, self.prefixes = name, type_, entry, owner, prefixes
        self.binding: Closure | None = None
        self.attributes: Mods = {}
        self.known: Any = None  # the value, once it was evaluated
        self.structural = False  # whether sizes or equations depend on the value
        self._dims: Any = ()
        self._lock = False

    @property
    def part(self) -> Part:
        return self.entry.part

    @property
    def is_constant(self) -> bool:
        return "constant" in self.prefixes

    @property
    def is_parameter(self) -> bool:
        return "parameter" in self.prefixes

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes; open ones are those of the value."""
        if not isinstance(self._dims, tuple):
            self._dims = self.owner.world.evaluator.dimensions(self, self._dims)
        return self._dims

    def element_name(self, indices: tuple[int, ...]) -> str:
        return f"{self.name}[{','.join(map(str, indices))}]" if indices else self.name

    def element_names(self) -> list[str]:
        return [self.element_name(i) for i in itertools.product(*(range(1, n + 1) for n in self.dims))]


class InstanceArray:
    """Components of one declaration with dimensions, in row-major order."""

    __slots__ = ("dims", "items", "name")

    def __init__(self, name: str, dims: tuple[int, ...], items: list[Instance]):
        self.name, self.dims, self.items = name, dims, items


class Absent:
    """A conditional component whose condition is false."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name


Component = Variable | InstanceArray | Absent  # or an Instance


class Instance:
    """A class with its modifiers: a component if `enclosing` is set or it is the model, else a place for names."""

    def __init__(
        self,
        klass: Klass,
        name: str,
        enclosing: Instance | None,
        world: World,
        prefixes: frozenset[str] = frozenset(),
        is_component: bool = False,
    ):
        self.klass, self.name, self.enclosing, self.world, self.prefixes = klass, name, enclosing, world, prefixes
        self.is_component = is_component
        self.depth = 0 if enclosing is None else enclosing.depth + 1
        self.entries: dict[str, Entry] = {}
        self.builtin: str | EnumType | None = None
        self.attributes: Mods = {}
        self.dims: list[tuple[tuple[tree.Expression, ...], Part]] = []  # those of short classes
        self.words: set[str] = set()  # prefixes of short classes
        self.binding: Closure | None = None
        self.kind = klass.kind
        self._components: dict[str, Any] = {}
        self.part: Part = world.root

    def build(self) -> Instance:
        """Put the parts together."""
        self.part = self._part(self.klass, self.klass.mods, 0)
        return self

    def __repr__(self) -> str:
        return f"<{self.kind} {self.klass.name} {self.name}>"

    # -- classes -------------------------------------------------------------------------------------------------

    def _part(self, klass: Klass, mods: Mods, depth: int) -> Part:
        definition = klass.definition
        if isinstance(definition, str):
            self.builtin, self.attributes = definition, mods
            return self.world.root
        part = Part(definition, klass.parent, self, mods, self.world)
        if depth == 0:
            self.part = part
        node = definition.node
        if depth > DEEPEST:
            definition.fail(f"{node.kind} {definition.name} extends itself", node.at)
        if isinstance(node.short, tree.Enumeration):
            self.builtin, self.attributes = enum_type(klass), mods
        elif isinstance(node.short, tree.Derivative):
            definition.fail("functions that are partial derivatives (`der(f, x)`) are not supported", node.short.at)
        elif node.short is not None:
            self._short(part, node.short, mods, depth)
        else:
            self._long(part, node, mods, depth)
        return part

    def _short(self, part: Part, short: tree.Short, mods: Mods, depth: int) -> None:
        around = part.parent or self.world.root
        base = self._meant(part, around, short)
        self.words |= set(short.prefixes)
        inner = self._part(base, merge_all(mods, merge_all(make_mods(short.args, around), base.mods)), depth + 1)
        if short.dims:
            self.dims.append((short.dims, around))
        part.bases.append(inner)

    def _meant(self, part: Part, around: Part, short: tree.Short) -> Klass:
        """The class behind `=`. In `package Medium = Medium` the one that is inherited, or further out, is meant."""
        name = short.type.names[0]
        if short.type.rooted or len(short.type.names) > 1 or name != part.definition.node.name:
            return around.find_class(short.type)
        found = around.lookup(name)
        if isinstance(found, Entry) and found.node is part.definition.node:
            found = around.inherited(name) or (around.parent.lookup(name) if around.parent is not None else None)
        if found is None or (isinstance(found, Entry) and found.node is part.definition.node):
            part.definition.fail(f"`{name}` is defined by itself", short.at)
        return found.klass() if isinstance(found, Entry) else found

    def _long(self, part: Part, node: tree.ClassDef, mods: Mods, depth: int) -> None:
        if id(node) not in self.world.checked:
            self.world.checked[id(node)] = node
            check_class(node, part.source)
        if "extends" in node.prefixes and part.parent is not None:
            entry = base_of_extended(part, part.parent, node.name)
            base = entry.klass()
            inner = merge_all(mods, merge_all(make_mods(node.args, part), base.mods))
            part.bases.append(self._part(base, inner, depth + 1))
        for one in part.definition.elements().values():
            entry = part.own[one.name] = Entry(one.name, one, part, mods.get(one.name))
            entry.definition = part.definition.nested(one.name) if isinstance(one, tree.ClassDef) else None
        for one in node.elements:
            if isinstance(one, tree.Extends):
                base = part.find_class(one.type)
                self._check_base(part, base, one)
                inner = merge_all(mods, merge_all(make_mods(one.args, part), base.mods))
                part.bases.append(self._part(base, inner, depth + 1))
                self.kind = self.kind if self.kind != "class" else base.kind
            elif isinstance(one, tree.Component | tree.ClassDef):
                # the derived class decides, in the place of the base class
                self.entries[one.name] = part.own[one.name]
        self._check_twice(part)
        for name, entry in part.own.items():
            self.entries[name] = entry

    def _check_base(self, part: Part, base: Klass, node: tree.Extends) -> None:
        """A model may not extend a function, and so on."""
        kind, other = part.definition.node.kind, base.kind
        if kind in _BASES and other != "class" and other not in _BASES[kind]:
            part.source.fail(f"{kind} {part.definition.name} cannot extend {other} {base.name}", node.at)

    def _check_twice(self, part: Part) -> None:
        """A name that is inherited may be declared again if it is redeclared, or if both say the same."""
        for name, entry in part.own.items():
            words = entry.node.prefixes
            if "redeclare" in words or "extends" in words or not part.bases:
                continue
            other = part.inherited(name)
            if other is None or other.node is entry.node:
                continue
            if entry.is_class != other.is_class or (not entry.is_class and not same(entry.node, other.node)):
                hint = "Write `redeclare` before it, if it replaces the inherited one"
                part.source.fail(
                    f"`{name}` is declared, and inherited from {other.part.definition.name}", entry.node.at, hint
                )

    def member(self, name: str) -> Entry | Klass | None:
        """A declared or inherited name; imports are not seen from outside."""
        if self.part.definition is not None and self.part.sees(name):
            return self.part.entry(name)
        return None

    def parts(self) -> Iterator[Part]:
        """Base classes before what extends them, each once."""

        def walk(part: Part) -> Iterator[Part]:
            for base in part.bases:
                yield from walk(base)
            if part.definition is not None:
                yield part

        return walk(self.part)

    # -- components ----------------------------------------------------------------------------------------------

    def component(self, name: str) -> Any:
        """The component of this name: Variable, Instance, InstanceArray or Absent."""
        if name not in self._components:
            self._components[name] = self._make(self.entries[name])
        return self._components[name]

    def component_names(self) -> list[str]:
        return [name for name, entry in self.entries.items() if not entry.is_class]

    def path_of(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name

    def _make(self, entry: Entry) -> Any:
        node, part, mod = entry.node, entry.part, entry.mod
        self.world.made += 1
        if self.world.made > MOST_COMPONENTS:
            path = self.path_of(entry.name)
            part.source.fail(f"with `{path}` the model has more than {MOST_COMPONENTS} components", node.at)
        own_part, first = part, node
        inner: Mods = {}
        if mod is not None and mod.redeclared is not None:
            node, own_part = mod.redeclared, mod.part
            if isinstance(node, tree.ClassDef):
                mod.source.fail(f"`{entry.name}` is a component and is redeclared as a class", mod.at)
            if first.constraint is not None:
                inner = make_mods(first.constraint.args, part)
            elif first.modification is not None:
                inner = make_mods(first.modification.args, part)
        if mod is not None and "final" in first.prefixes and (mod.value is not None or mod.redeclared is not None):
            mod.source.fail(f"`{entry.name}` is final in {part.definition.name} and cannot be modified", mod.at)
        if "outer" in first.prefixes and "inner" not in first.prefixes and self.is_component:
            return self._inner(entry)
        evaluator = self.world.evaluator
        path = self.path_of(entry.name)
        if first.condition is not None and not evaluator.is_true(Closure(first.condition, part)):
            return Absent(path)
        if node.modification is not None:
            inner = merge_all(make_mods(node.modification.args, own_part), inner)
        mods = inner if mod is None else merge_all(mod.args, inner)
        klass = own_part.find_class(node.type)
        words = {word for word in (*node.prefixes, *first.prefixes) if word in _SHARED}
        prefixes = frozenset(words | self._handed_down())
        if self.depth > DEEPEST:
            part.source.fail(f"`{path}` is nested too deeply: does {self.klass.name} contain itself?", node.at)
        instance = Instance(klass.modified(mods), path, self, self.world, prefixes, self.is_component).build()
        check_prefixes(entry, instance, prefixes, instance.words)
        prefixes = instance.prefixes = prefixes | frozenset(instance.words)
        dims = [(node.dims or first.dims, own_part if node.dims else part), *reversed(instance.dims)]
        dims = [(sizes, where) for sizes, where in dims if sizes]
        binding = self._binding(entry, node, own_part)
        if instance.builtin is not None:
            type_ = instance.builtin
            if type_ == EXTERNAL:  # known by its class, and made before the simulation
                type_, prefixes = klass.name, prefixes | {"parameter"}
            variable = Variable(path, type_, entry, self, prefixes)
            variable.attributes, variable.binding = instance.attributes, binding
            self._check_attributes(variable)
            if dims:
                variable._dims = dims
            return variable
        instance._check_modifiers(mods)
        if not dims:
            instance.binding = binding
            return instance
        sizes = evaluator.sizes(dims, binding, path)
        items = []
        if math.prod(sizes) > 1_000_000:
            part.source.fail(f"`{path}` has {math.prod(sizes)} elements", node.at)
        for indices in itertools.product(*(range(1, n + 1) for n in sizes)):
            name = f"{path}[{','.join(map(str, indices))}]"
            modified = klass.modified(element_of(mods, indices))
            item = Instance(modified, name, self, self.world, prefixes, self.is_component).build()
            if binding is not None:
                item.binding = binding if binding.each else binding._replace(indices=indices + binding.indices)
            items.append(item)
        return InstanceArray(path, sizes, items)

    def _handed_down(self) -> set[str]:
        """Prefixes that a record or connector gives to what is in it."""
        return {word for word in self.prefixes if word in _SHARED}

    def _binding(self, entry: Entry, node: tree.Component, part: Part) -> Closure | None:
        if entry.mod is not None and entry.mod.value is not None:
            return entry.mod.value
        if self.binding is not None:  # of the record around it
            return self.binding._replace(
                expression=tree.Field(_at(self.binding), _marked(self.binding), entry.name), indices=()
            )
        for one, where in ((node, part), (entry.node, entry.part)):
            if one.modification is not None and one.modification.value is not None:
                return Closure(one.modification.value, where)
        return None

    def _inner(self, entry: Entry) -> Any:
        around = self.enclosing
        while around is not None:
            other = around.entries.get(entry.name)
            if other is not None and not other.is_class and "inner" in other.node.prefixes:
                return around.component(entry.name)
            around = around.enclosing
        return self._added(entry)

    def _added(self, entry: Entry) -> Instance:
        """An inner component that nobody has declared: it stands in the model itself, with the values of its class."""
        if entry.name not in self.world.added:
            klass = entry.part.find_class(entry.node.type)
            instance = Instance(klass, entry.name, self.world.model, self.world, is_component=True).build()
            model = self.world.model
            taken = model is None or model.entries.get(entry.name, entry) is not entry
            if taken or instance.builtin is not None or "partial" in klass.definition.node.prefixes:
                entry.part.source.fail(
                    f"`outer {entry.name}` in {self.name or self.klass.name} has no `inner {entry.name}` around it",
                    entry.node.at, f"Declare `inner {'.'.join(entry.node.type.names)} {entry.name}` in the model",
                )  # fmt: skip
            self.world.added[entry.name] = instance
        return self.world.added[entry.name]

    def _check_attributes(self, variable: Variable) -> None:
        for name, mod in variable.attributes.items():
            if name not in ATTRIBUTES:
                mod.source.fail(
                    f"`{variable.name}` is of a builtin type and has no attribute `{name}`",
                    mod.at,
                    nearest(name, ATTRIBUTES),
                )

    def _check_modifiers(self, mods: Mods) -> None:
        """Every modified name has to exist."""
        for name, mod in mods.items():
            if name not in self.entries and not self.part.sees(name):
                message = f"{self.klass.kind} {self.klass.name} has no element `{name}` that could be modified"
                mod.source.fail(message, mod.at, nearest(name, self.entries))
            entry = self.part.entry(name)
            if "protected" in entry.node.prefixes:
                mod.source.fail(
                    f"`{name}` of {self.klass.name} is protected and cannot be modified from outside", mod.at
                )


def same(a: Any, b: Any) -> bool:
    """Whether two trees say the same, wherever they stand."""
    if isinstance(a, tree.Comment | None) and isinstance(b, tree.Comment | None):
        return True
    if type(a) is not type(b):
        return False
    if not isinstance(a, tuple):
        return a == b
    if not hasattr(a, "_fields"):
        return len(a) == len(b) and all(map(same, a, b))
    return all(same(getattr(a, name), getattr(b, name)) for name in a._fields if name != "at")


def _at(closure: Closure) -> int:
    return getattr(closure.expression, "at", 0)


def _marked(closure: Closure) -> tree.Expression:
    """The expression of a closure with its indices."""
    if not closure.indices:
        return closure.expression
    return tree.Index(_at(closure), closure.expression, tuple(tree.Literal(_at(closure), i) for i in closure.indices))
