"""Which source files a kernel is made of, and what they say.

A kernel is compiled together with the device functions it calls, which stand in modules that its own module imports,
and in those that these import. The *stamp* of a kernel is a hash over this closure. It is found without running
anything, from the `import` statements at the top level of the modules: imports inside of functions and those for type
checkers do not count. What counts of a file is its syntax tree without docstrings, so that comments, docstrings and
the places of lines do not change the stamp.

A function that a factory made of other functions (``stepping_kernel(layout, name, begin, step)``) holds them in its
closure: their files count too, and so do plain values held there, the coefficients of a method, say.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from dalembert.compile import store

_LIBRARIES = {"numba", "llvmlite", "numpy", "scipy", "casadi"}  # known by their versions, if at all
_MAX_ENTRIES = 4096


class Sources:
    """The files of a package (and of others that use it), read once.

    Parsing takes some milliseconds a file, which every process would spend again: the result is kept on disk, found
    by the hash of the file's content. Files of the package named in `without` are left out, and what only they import.
    """

    def __init__(self, package: Path, without: Iterable[str] = ()):
        self.package = package
        self._without = {package / name for name in without}
        self._files: dict[Path, tuple[str, list[list[str]]]] = {}
        self._known: dict[str, tuple[str, list[list[str]]]] | None = None
        self._located: dict[tuple[str, str], list[Path]] = {}
        self._stamps: dict[frozenset[Path], str] = {}

    def stamp(self, files: Iterable[Path]) -> str:
        """Hash of what these files and all that they import from the package say."""
        files = frozenset(files)
        if files not in self._stamps:
            digest = hashlib.sha256()
            for path in sorted(self.closure(files)):
                inside = path.is_relative_to(self.package)
                name = path.relative_to(self.package).as_posix() if inside else path.name
                digest.update(f"{name}|{self._read(path)[0]}|".encode())
            self._stamps[files] = digest.hexdigest()
        return self._stamps[files]

    def closure(self, files: Iterable[Path]) -> set[Path]:
        """These files and all that they import from the package, directly or not."""
        found: set[Path] = set()
        new = [Path(file).resolve() for file in files]
        parsed = len(self._known or ())
        while new:
            path = new.pop()
            if path not in found and path not in self._without:
                found.add(path)
                new += [file for module, name in self._read(path)[1] for file in self._locate(module, name)]
        if len(self._known or ()) > parsed:
            store.save("syntax", json.dumps(dict(list(self._known.items())[-_MAX_ENTRIES:])).encode(), "sources")
        return found

    def module(self, path: Path) -> str:
        """The dotted name of a file of the package, or one made of the path of another."""
        if not path.is_relative_to(self.package):
            return f"{path.stem}-{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
        parts = path.relative_to(self.package).with_suffix("").parts
        return ".".join([self.package.name, *(parts[:-1] if parts[-1] == "__init__" else parts)])

    def _read(self, path: Path) -> tuple[str, list[list[str]]]:
        """What a file says, as a hash, and what it imports from the package: pairs of a module and a name in it."""
        if path not in self._files:
            if self._known is None:
                self._known = _load()
            content = path.read_bytes()
            # the same text means other imports elsewhere if they are relative
            key = hashlib.sha256(self.module(path).encode() + b"|" + content).hexdigest()
            if key not in self._known:
                try:
                    tree = _without_docstrings(ast.parse(content))
                except (SyntaxError, ValueError):  # it was changed since it was imported
                    return key, []
                imports = [list(pair) for pair in sorted(set(self._imports(tree, path)))]
                self._known[key] = (hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports)
            self._files[path] = self._known[key]
        return self._files[path]

    def _imports(self, tree: ast.Module, path: Path) -> Iterator[tuple[str, str]]:
        own = self.module(path).split(".") if path.is_relative_to(self.package) else []
        for node in _top_level(tree.body):
            if isinstance(node, ast.Import):
                pairs = [(alias.name, "") for alias in node.names]
            else:
                base = node.module or ""
                if node.level and own:
                    above = own if path.name == "__init__.py" else own[:-1]
                    base = ".".join([*above[: len(above) + 1 - node.level], *([base] if base else [])])
                pairs = [(base, alias.name) for alias in node.names]
            yield from (pair for pair in pairs if pair[0].split(".")[0] == self.package.name)

    def _locate(self, module: str, name: str) -> list[Path]:
        """The file that ``from module import name`` is about: the submodule of this name, else the module itself."""
        if (module, name) not in self._located:
            place = self.package.joinpath(*module.split(".")[1:])
            submodule = [place / f"{name}.py", place / name / "__init__.py"] if name else []
            found = [path for path in submodule if path.is_file()]
            found = found or [path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
            self._located[module, name] = found
        return self._located[module, name]


def ingredients(function: Any, package: Path) -> tuple[set[Path], str]:
    """The files of a function and of those it holds in its closure, and a hash of the plain values held there.

    Of functions outside of the package, those that they use as globals count as well.
    """
    files: set[Path] = set()
    digest = hashlib.sha256()
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        value = waiting.pop()
        value = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value  # numba's wrappers
        if isinstance(value, FunctionType):
            if id(value) in seen or value.__module__.split(".")[0] in _LIBRARIES:
                continue
            seen.add(id(value))
            file = Path(value.__code__.co_filename).resolve()
            files.add(file)
            waiting += [cell.cell_contents for cell in reversed(value.__closure__ or ()) if _filled(cell)]
            if not file.is_relative_to(package):
                names = value.__globals__
                used = [names[name] for name in reversed(value.__code__.co_names) if name in names]
                waiting += [item for item in used if hasattr(item, "py_func") or hasattr(item, "_defn")]
        elif isinstance(value, ModuleType):
            file = Path(getattr(value, "__file__", None) or "").resolve()
            if file.is_relative_to(package):
                files.add(file)
        elif isinstance(value, tuple | list):
            digest.update(f"{len(value)}:".encode())
            waiting += reversed(value)
        elif isinstance(value, np.ndarray):
            digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            waiting += [getattr(value, field.name) for field in reversed(dataclasses.fields(value))]
        elif value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | np.dtype):
            digest.update(f"{value!r}|".encode())
    return files, digest.hexdigest()


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # a name that has no value yet
        return False
    return True


def _load() -> dict[str, tuple[str, list[list[str]]]]:
    try:
        known = json.loads(store.load("syntax", "sources") or b"{}")
        return {str(key): (str(digest), list(imports)) for key, (digest, imports) in known.items()}
    except (ValueError, TypeError, AttributeError):  # written by another version
        return {}


def _top_level(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports that are executed when the module is."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            yield from _top_level(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _top_level(handler.body)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return tree
