"""Classes as they stand in files: the search path, packages in directories, loaded when somebody asks for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from dalembert.checks import shown
from dalembert.errors import ModelicaError
from dalembert.modelica import cache, tree
from dalembert.modelica.parser import parse_annotation
from dalembert.modelica.source import Source, nearest

EXTERNAL = "ExternalObject"  # what lives in a foreign library
BUILTIN_TYPES = ("Real", "Integer", "Boolean", "String", "Clock", EXTERNAL)

_BUILTIN_TEXT = """
type StateSelect = enumeration(never, avoid, default, prefer, always);
type AssertionLevel = enumeration(warning, error);
"""


class Definition:
    """A class in a text, before anything is modified.

    Attributes
    ----------
    node : ClassDef
    source : Source
    parent : Definition or None
        The class around it; None at the top.
    """

    __slots__ = ("_classes", "_elements", "_notes", "directory", "library", "node", "parent", "source")

    def __init__(self, node: tree.ClassDef, source: Source, parent: Definition | None, library: Library):
        self.node, self.source, self.parent, self.library = node, source, parent, library
        self.directory: Path | None = None
        self._classes: dict[str, Definition | None] = {}
        self._elements: dict[str, tree.Component | tree.ClassDef] | None = None
        self._notes: tuple | None = None

    @property
    def name(self) -> str:
        """The full name with dots."""
        return self.node.name if self.parent is None else f"{self.parent.name}.{self.node.name}"

    def __repr__(self) -> str:
        return f"<{self.node.kind} {self.name}>"

    def elements(self) -> dict[str, tree.Component | tree.ClassDef]:
        """Declared components and classes by name; those in files of a directory are not among them."""
        if self._elements is None:
            self._elements = {}
            for one in self.node.elements:
                if isinstance(one, tree.Component | tree.ClassDef):
                    if one.name in self._elements:
                        self.fail(f"`{one.name}` is declared twice in {self.node.kind} {self.name}", one.at)
                    self._elements[one.name] = one
        return self._elements

    def nested(self, name: str) -> Definition | None:
        """The class of this name that stands within this one, from its own file if need be."""
        if name in self._classes:
            return self._classes[name]
        found = None
        node = self.elements().get(name)
        if isinstance(node, tree.ClassDef):
            found = self.adopt(node)
        elif node is None and self.directory is not None:
            found = self.library.load_from(self.directory, name, self)
        self._classes[name] = found  # also if there is none: files are looked for once
        return found

    def adopt(self, node: tree.ClassDef) -> Definition:
        """A class of this text with this one as its parent."""
        return Definition(node, self.source, self, self.library)

    def class_names(self) -> list[str]:
        """Names of all nested classes, in the order of the text or of package.order."""
        names = [name for name, node in self.elements().items() if isinstance(node, tree.ClassDef)]
        if self.directory is not None:
            names += [name for name in _names_in(self.directory) if name not in names]
        return names

    def notes(self) -> tuple[tree.Modifier | tree.Redeclaration, ...]:
        """The annotation of the class."""
        if self._notes is None:
            note = self.node.annotation
            self._notes = () if note is None else parse_annotation(self.source, note)
        return self._notes

    def fail(self, message: str, at: int, suggestion: str | None = None) -> NoReturn:
        self.source.fail(message, at, suggestion)


class Library:
    """All classes that can be found: those given as text, and those on the search path.

    Parameters
    ----------
    path : iterable of str or Path
        Directories with packages, looked at before those of `$MODELICAPATH`.

    Examples
    --------
    >>> library = Library()
    >>> library.add(Source("package P model M end M; end P;"))
    ['P']
    >>> library.find("P.M")
    <model P.M>
    """

    def __init__(self, path: Iterable[str | Path] = ()):
        given = [path] if isinstance(path, str | Path) else list(path) if isinstance(path, Iterable) else [path]
        if not all(isinstance(one, str | Path) for one in given):
            raise ModelicaError(f"path={shown(path)} should be a list of directories")
        wish = [part for part in os.environ.get("MODELICAPATH", "").split(os.pathsep) if part]
        self.path = [Path(part) for part in (*given, *wish)]
        self._top: dict[str, Definition | None] = {}
        self.add(Source(_BUILTIN_TEXT))

    def add(self, source: Source) -> list[str]:
        """Make the classes of a text known; the full names of those that it defines at its top."""
        return self._add_file(source, cache.load_tree(source))

    def _add_file(self, source: Source, file: tree.File) -> list[str]:
        names = []
        for node in file.classes:
            parent = None
            if file.within:
                parent = self.find(".".join(file.within), source)
            found = Definition(node, source, parent, self)
            if parent is None:
                self._top[node.name] = found
            else:
                parent._classes[node.name] = found
            names.append(found.name)
        return names

    def add_path(self, path: Path) -> list[str]:
        """Make a file or the directory of a package known."""
        if os.path.isdir(path):
            path = path / "package.mo"
        source, file = cache.load_file(path)
        names = self._add_file(source, file)
        if path.name == "package.mo" and len(file.classes) == 1:
            found = self.find(names[0])
            found.directory = path.parent
        return names

    def top(self, name: str) -> Definition | None:
        """The class of this name that stands in no other."""
        if name not in self._top:
            self._top[name] = None  # a library that looks for itself while it is loaded does not find itself
            for directory in self.path:
                if (found := self._on_path(directory, name)) is not None:
                    self._top[name] = found
                    break
        return self._top[name]

    def _on_path(self, directory: Path, name: str) -> Definition | None:
        if directory.name.split(" ")[0] == name and os.path.isfile(directory / "package.mo"):
            return self._package(directory, name, None)
        if (found := self.load_from(directory, name, None)) is not None:
            return found
        # "Modelica 4.1.0", "Complex 4.1.0.mo"; the newest
        try:
            candidates = sorted(
                (entry for entry in directory.iterdir() if entry.name.startswith(name + " ")), key=_version
            )
        except OSError:
            return None
        for entry in reversed(candidates):
            if os.path.isfile(entry / "package.mo"):
                return self._package(entry, name, None)
            if entry.suffix == ".mo":
                return self._one_file(entry, name, None)
        return None

    def load_from(self, directory: Path, name: str, parent: Definition | None) -> Definition | None:
        """The class of this name whose file, or directory, lies in a directory."""
        if name.startswith("'") or not name.isidentifier():
            return None
        if os.path.isfile(directory / name / "package.mo"):
            return self._package(directory / name, name, parent)
        if os.path.isfile(directory / f"{name}.mo"):
            return self._one_file(directory / f"{name}.mo", name, parent)
        return None

    def _package(self, directory: Path, name: str, parent: Definition | None) -> Definition:
        found = self._one_file(directory / "package.mo", name, parent)
        found.directory = directory
        return found

    def _one_file(self, path: Path, name: str, parent: Definition | None) -> Definition:
        source, file = cache.load_file(path)
        node = next((node for node in file.classes if node.name == name), None)
        if node is None:
            raise ModelicaError(f"the file {path} should define `{name}` and does not", str(path), 1, 1)
        within = ".".join(file.within or ())
        wanted = "" if parent is None else parent.name
        if file.within is not None and within != wanted:
            source.fail(
                f"the file says `within {within};` and lies in the package `{wanted}`" if wanted
                else f"the file says `within {within};` and lies in no package",
                0, f"Write `within {wanted};`",
            )  # fmt: skip
        return Definition(node, source, parent, self)

    def find(self, name: str, asking: Source | None = None) -> Definition:
        """The class of a full name."""
        first, *rest = split_name(name) or [""]
        found = self.top(first)
        if found is None:
            where = ", ".join(map(str, self.path)) or "no directories: set path= or $MODELICAPATH"
            hint = nearest(first, [one for one, known in self._top.items() if known is not None])
            message = f"there is no class `{first}`; searched: {where}"
            if asking is not None:
                asking.fail(message, 0, hint)
            raise ModelicaError(message, suggestion=hint)
        for part in rest:
            inner = found.nested(part)
            if inner is None:
                raise found.source.error(
                    f"{found.node.kind} {found.name} has no class `{part}`",
                    found.node.at,
                    nearest(part, found.class_names()),
                )
            found = inner
        return found

    def walk(self, definition: Definition) -> Iterator[Definition]:
        """A class and all classes within it."""
        yield definition
        for name in definition.class_names():
            inner = definition.nested(name)
            if inner is not None:
                yield from self.walk(inner)


def split_name(name: str) -> list[str]:
    """The parts of a full name; quoted ones may have dots.

    Examples
    --------
    >>> split_name("A.'b.c'.d")
    ['A', "'b.c'", 'd']
    """
    return re.findall(r"'(?:[^'\\]|\\.)*'|[^.]+", name)


def _names_in(directory: Path) -> list[str]:
    """Names of classes in files of a directory, in the order of package.order."""
    found = {entry.stem for entry in directory.glob("*.mo") if entry.name != "package.mo"}
    found |= {entry.name for entry in directory.iterdir() if os.path.isfile(entry / "package.mo")}
    try:
        order = (directory / "package.order").read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        order = []
    first = [name.strip() for name in order if name.strip() in found]
    return first + sorted(found - set(first))


def _version(entry: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", entry.name)]
