"""Where names are looked up: parts of classes, their base classes, imports, and the classes around them.

An `Instance` is a class with modifiers, as a component or as a place for names. It consists of `Part`s: its own text
and those of its base classes. Each part keeps the names that it can see, so that what a derived class adds does not
hide what a base class means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.modelica import tree
from dalembert.modelica.library import BUILTIN_TYPES, Definition, Library
from dalembert.modelica.modifiers import Mods, make_mods, merge_all
from dalembert.modelica.source import KEYWORDS, Source, nearest
from dalembert.modelica.values import EnumType

if TYPE_CHECKING:
    from dalembert.modelica.components import Instance
    from dalembert.modelica.evaluate import Evaluator
    from dalembert.modelica.modifiers import Mod


class World:
    """What all instances of one model share."""

    def __init__(self, library: Library):
        self.library = library
        self.root = Part(None, None, None, {}, self)
        self.evaluator: Evaluator
        self.tops: dict[str, Klass | None] = {}
        self.model: Instance | None = None  # the one that is flattened
        self.made = 0  # components so far
        self.checked: dict[int, tree.ClassDef] = {}  # classes whose declarations were looked at
        self.added: dict[str, Instance] = {}  # inner components that nobody has declared

    def top(self, name: str) -> Klass | None:
        """The class of this name at the top, or a builtin type."""
        if name not in self.tops:
            if name in BUILTIN_TYPES:
                self.tops[name] = Klass(name, self.root, {})
            else:
                found = self.library.top(name)
                self.tops[name] = None if found is None else Klass(found, self.root, {})
        return self.tops[name]


class Klass:
    """A class with modifiers, and the part around it. `definition` is a string for builtin types."""

    __slots__ = ("_scope", "definition", "enum", "mods", "parent")

    def __init__(self, definition: Definition | str, parent: Part, mods: Mods):
        self.definition, self.parent, self.mods = definition, parent, mods
        self._scope: Instance | None = None
        self.enum: EnumType | None = None

    @property
    def name(self) -> str:
        return self.definition if isinstance(self.definition, str) else self.definition.name

    @property
    def kind(self) -> str:
        return "type" if isinstance(self.definition, str) else self.definition.node.kind

    def scope(self) -> Instance:
        """The class as a place for names."""
        if self._scope is None:
            from dalembert.modelica.components import Instance

            self._scope = Instance(self, self.name, None, self.parent.world)
            self._scope.build()  # it may ask for itself, as packages do that extend an icon of their own
        return self._scope

    def modified(self, mods: Mods) -> Klass:
        return Klass(self.definition, self.parent, merge_all(mods, self.mods)) if mods else self


class Entry:
    """A declared name of an instance: its node, the part in which it stands, and how it is modified from outside."""

    __slots__ = ("_klass", "definition", "mod", "name", "node", "part")

    def __init__(self, name: str, node: tree.Component | tree.ClassDef, part: Part, mod: Mod | None):
        self.name, self.node, self.part, self.mod = name, node, part, mod
        self._klass: Klass | None = None
        self.definition: Definition | None = None

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, tree.ClassDef)

    def _inner(self) -> Klass:
        """The class of this name that is declared `inner` further out."""
        around = self.part.instance.enclosing
        while around is not None:
            other = around.entries.get(self.name)
            if other is not None and other.is_class and "inner" in other.node.prefixes:
                return other.klass()
            around = around.enclosing
        self.part.source.fail(
            f"`outer {self.node.kind} {self.name}` has no `inner {self.node.kind} {self.name}` around it", self.node.at
        )

    def klass(self) -> Klass:
        """The class that is declared here, or what it was redeclared to."""
        if self._klass is None:
            mod, node = self.mod, self.node
            if "outer" in node.prefixes and "inner" not in node.prefixes and self.part.instance.is_component:
                self._klass = self._inner()
                return self._klass
            if mod is not None and isinstance(mod.redeclared, tree.Component):
                mod.source.fail(f"`{self.name}` is a class and is redeclared as a component", mod.at)
            if mod is not None and isinstance(mod.redeclared, tree.ClassDef):
                inner: Mods = {}
                if node.constraint is not None:
                    inner = make_mods(node.constraint.args, self.part)
                elif isinstance(node.short, tree.Short):
                    inner = make_mods(node.short.args, self.part.parent if self.part.parent else self.part)
                outer = mod.part.definition
                definition = (
                    outer.adopt(mod.redeclared)
                    if outer is not None
                    else Definition(mod.redeclared, mod.source, None, self.part.world.library)
                )
                self._klass = Klass(definition, mod.part, merge_all(mod.args, inner))
            else:
                definition = self.definition or self.part.definition.adopt(node)
                self._klass = Klass(definition, self.part, {} if mod is None else mod.args)
        return self._klass


class Part:
    """The text of one class within an instance: its own class, or one of its base classes."""

    __slots__ = ("_found", "bases", "definition", "instance", "mods", "own", "parent", "world")

    def __init__(
        self, definition: Definition | None, parent: Part | None, instance: Instance | None, mods: Mods, world: World
    ):
        self.definition, self.parent, self.instance, self.mods, self.world = definition, parent, instance, mods, world
        self.bases: list[Part] = []
        self.own: dict[str, Entry] = {}
        self._found: dict[str, Entry | Klass | None] = {}

    @property
    def source(self) -> Source:
        return _NOWHERE if self.definition is None else self.definition.source

    def sees(self, name: str) -> bool:
        """Whether a name is declared here or inherited."""
        return self.entry_here(name) is not None or any(base.sees(name) for base in self.bases)

    def entry_here(self, name: str) -> Entry | None:
        """What is declared in this very text, or in a file of its directory."""
        if name in self.own:
            return self.own[name]
        definition = self.definition
        if definition is None or (definition.directory is None and name not in definition._classes):
            return None
        nested = definition.nested(name)
        if nested is None:
            return None
        entry = self.own[name] = Entry(name, nested.node, self, self.mods.get(name))
        entry.definition = nested
        self.instance.entries.setdefault(name, entry)
        return entry

    def entry(self, name: str) -> Entry:
        """What a name that is seen here means in the whole instance."""
        return self.instance.entries.get(name) or self.entry_here(name) or self.inherited(name)

    def inherited(self, name: str) -> Entry | None:
        """What base classes declare."""
        for base in self.bases:
            if (found := base.entry_here(name) or base.inherited(name)) is not None:
                return found
        return None

    # -- lookup --------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Entry | Klass | None:
        """What a simple name means here: a declaration of an instance, or an imported or builtin class."""
        part: Part | None = self
        while part is not None and part.definition is not None:
            if part.sees(name):
                return part.entry(name)
            if name not in part._found:
                part._found[name] = part._imported(name)
            if (found := part._found[name]) is not None:
                return found
            part = self.world.root if "encapsulated" in part.definition.node.prefixes else part.parent
        return self.world.top(name)

    def _imported(self, name: str) -> Entry | Klass | None:
        for one in self.definition.node.elements:
            if not isinstance(one, tree.Import):
                continue
            if not one.names:  # import A.B.*
                package = self.absolute(one.path, one.at)
                if isinstance(package, Entry) and not package.is_class:
                    self.source.fail(f"`{'.'.join(one.path)}` is no package", one.at)
                klass = package.klass() if isinstance(package, Entry) else package
                if (found := klass.scope().member(name)) is not None:
                    return found
            for alias, inner in one.names:
                if alias == name:
                    path = one.path if inner is None else (*one.path, inner)
                    return self.absolute(path, one.at)
        return None

    def absolute(self, path: tuple[str, ...], at: int) -> Entry | Klass:
        """What a full name means; imports have these."""
        found: Entry | Klass | None = self.world.top(path[0])
        if found is None:
            self.source.fail(f"there is no package `{path[0]}` to import from", at, self._where())
        return self.inside(found, path[1:], at)

    def _where(self) -> str:
        places = ", ".join(map(str, self.world.library.path))
        return f"Searched: {places}" if places else "The search path is empty: set path= or $MODELICAPATH"

    def inside(self, found: Entry | Klass, names: tuple[str, ...], at: int) -> Entry | Klass:
        """Follow names into classes; the last may be a component."""
        for i, name in enumerate(names):
            if isinstance(found, Entry) and not found.is_class:
                return found
            klass = found.klass() if isinstance(found, Entry) else found
            inner = klass.scope().member(name)
            if inner is None:
                hint = nearest(name, klass.scope().entries)
                self.source.fail(f"{klass.kind} {klass.name} has no element `{name}`", at, hint)
            if isinstance(inner, Entry) and not inner.is_class and i < len(names) - 1:
                return inner
            found = inner
        return found

    def find_class(self, ref: tree.Ref) -> Klass:
        """The class of a name."""
        names = ref.names
        first = self.world.top(names[0]) if ref.rooted else self.lookup(names[0])
        if first is None:
            known = {*KEYWORDS, *BUILTIN_TYPES}
            part: Part | None = self
            while part is not None and part.definition is not None:
                known |= set(part.instance.entries)
                part = part.parent
            hint = nearest(names[0], known)
            if names[0] in ("Modelica", "ModelicaServices", "Complex"):
                hint = self._where()
            self.source.fail(f"there is no class `{names[0]}`", ref.at, hint)
        found = self.inside(first, names[1:], ref.at)
        if isinstance(found, Entry):
            if not found.is_class:
                self.source.fail(f"`{'.'.join(names)}` is a component, not a class", ref.at)
            return found.klass()
        return found


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


def base_of_extended(part: Part, entry_part: Part, name: str) -> Entry:
    """What `model extends A` extends: the inherited class of the same name."""
    found = entry_part.inherited(name)
    if found is None or not found.is_class:
        part.source.fail(f"there is no inherited class `{name}` to extend", part.definition.node.at)
    return found


def enum_type(klass: Klass) -> EnumType | None:
    """The enumeration that a class defines directly."""
    if klass.enum is None and not isinstance(klass.definition, str):
        short = klass.definition.node.short
        if isinstance(short, tree.Enumeration):
            if short.literals is None:
                klass.definition.fail("`enumeration(:)` has no values", short.at, "It has to be redeclared")
            klass.enum = EnumType(klass.name, [name for _, name, _ in short.literals])
    return klass.enum


_NOWHERE = Source("")
