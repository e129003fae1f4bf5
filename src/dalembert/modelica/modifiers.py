"""Modifiers as closures: an expression with the scope in which it was written, outer ones merged over inner ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dalembert.modelica import tree

if TYPE_CHECKING:
    from dalembert.modelica.scopes import Part
    from dalembert.modelica.source import Source


class Closure(NamedTuple):
    """An expression, where it was written, and the element of its array value that is meant."""

    expression: tree.Expression
    part: Part
    indices: tuple[int, ...] = ()
    each: bool = False


class Mod:
    """What is said about one name: its value, its own modifiers, or another declaration in its place."""

    __slots__ = ("args", "at", "each", "final", "name", "part", "redeclared", "value")

    def __init__(self, name: str, part: Part, at: int):
        self.name, self.part, self.at = name, part, at
        self.args: dict[str, Mod] = {}
        self.value: Closure | None = None
        self.each = self.final = False
        self.redeclared: tree.Component | tree.ClassDef | None = None  # its scope is `part`

    @property
    def source(self) -> Source:
        return self.part.source

    def copy(self) -> Mod:
        other = Mod(self.name, self.part, self.at)
        other.args, other.value, other.redeclared = dict(self.args), self.value, self.redeclared
        other.each, other.final = self.each, self.final
        return other


Mods = dict[str, Mod]


def make_mods(args: tuple[tree.Modifier | tree.Redeclaration, ...] | None, part: Part) -> Mods:
    """The modifiers of a list of arguments that stands in `part`."""
    found: Mods = {}
    for one in args or ():
        if isinstance(one, tree.Redeclaration):
            mod = Mod(one.element.name, part, one.at)
            mod.redeclared = one.element
        else:
            mod = Mod(one.name, part, one.at)
            mod.args = make_mods(one.args, part)
            if one.value is not None:
                mod.value = Closure(one.value, part, each="each" in one.prefixes)
        mod.each, mod.final = "each" in one.prefixes, "final" in one.prefixes
        if mod.name in found:
            earlier = found[mod.name]
            if (mod.value and earlier.value) or mod.redeclared or earlier.redeclared:
                part.source.fail(f"`{mod.name}` is modified twice", one.at)
            mod = merge(earlier, mod)
        found[mod.name] = mod
    return found


def merge(outer: Mod | None, inner: Mod | None) -> Mod | None:
    """Outer modifiers win, name by name."""
    if outer is None or inner is None:
        return outer or inner
    if inner.final and (outer.value is not None or outer.redeclared is not None):
        outer.source.fail(f"`{outer.name}` is final and cannot be modified", outer.at)
    found = outer.copy()
    if inner.redeclared is not None and outer.redeclared is None:
        found.redeclared, found.part = inner.redeclared, inner.part
    if found.value is None:
        found.value, found.each = inner.value, inner.each or outer.each
    found.final = outer.final or inner.final
    found.args = merge_all(outer.args, inner.args)
    return found


def merge_all(outer: Mods, inner: Mods) -> Mods:
    """Two sets of modifiers, outer ones first."""
    if not inner:
        return outer
    if not outer:
        return inner
    found = dict(inner)
    for name, mod in outer.items():
        found[name] = merge(mod, inner.get(name))
    return found


def element_of(mods: Mods, indices: tuple[int, ...]) -> Mods:
    """The modifiers of one element of an array of components, counted from 1."""
    return {name: _element_of(mod, indices) for name, mod in mods.items()}


def _element_of(mod: Mod, indices: tuple[int, ...]) -> Mod:
    found = mod.copy()
    if mod.each:
        found.each = mod.value is not None  # one value for all; what is nested may still be for arrays further inside
        return found
    if mod.value is not None:
        found.value = mod.value._replace(indices=indices + mod.value.indices)
    found.args = element_of(mod.args, indices)
    return found
