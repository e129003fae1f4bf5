"""Python files of users: run like scripts, and their faults told in one line."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dalembert.cli.values import called, exists, read_text
from dalembert.errors import DalembertError, OptionError


class FileFault(OptionError):
    """Something is wrong in a user's Python file: `path` and `line` say where."""

    def __init__(self, message: str, path: Path, line: int | None = None):
        super().__init__(message)
        self.path, self.line = path, line


def import_file(path: Path) -> Any:
    """The module of a Python file."""
    if not exists(path):
        raise OptionError(f"there is no file '{path}'")
    if path.suffix != ".py":
        raise OptionError(f"'{path}' is not a Python file")
    read_text(path)  # or what is wrong with it
    spec = importlib.util.spec_from_file_location(f"_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise OptionError(f"'{path}' is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as dataclasses and pickle expect
    sys.path.insert(0, str(path.absolute().parent))  # as `python file.py` does
    try:
        with _running(f"'{path}'", path):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def taken(module: Any, path: Path, name: str, kinds: tuple[type, ...]) -> Any:
    """What a file calls by a name, or the value of a function of that name, which must be of one of these kinds.

    Without a name it is the only one of its kind; the first kind goes before the others.
    """
    if not name:
        return _only_one(module, path, kinds)
    call = re.fullmatch(r"(\w+)\((.*)\)", name, re.DOTALL)
    name, arguments = (call[1], call[2]) if call else (name, None)
    if not hasattr(module, name):
        from dalembert.model.namespace import explain_unknown

        own = [key for key in vars(module) if not key.startswith("_")]
        raise OptionError(f"'{path}': {explain_unknown(name, own)}")
    value = getattr(module, name)
    if callable(value) and not isinstance(value, kinds):
        with _running(f"{name}() in '{path}'", path):
            value = called(value, arguments, name)
    if not isinstance(value, kinds):
        raise OptionError(f"'{name}' in '{path}' is a {type(value).__name__}; a {_any_of(kinds)} is needed")
    return value


def _only_one(module: Any, path: Path, kinds: tuple[type, ...]) -> Any:
    found = {key: value for key, value in vars(module).items() if isinstance(value, kinds)}
    for kind in kinds:  # a problem has a model, and bodies make one
        own = {key: value for key, value in found.items() if isinstance(value, kind)}
        if own:
            found = own
            break
    if len(found) > 1:  # models that can start go before parts of others
        found = {key: value for key, value in found.items() if getattr(value, "start", None)} or found
    if len({id(value) for value in found.values()}) != 1:
        which = f"more than one: {', '.join(found)}" if found else "none"
        raise OptionError(f"'{path}' has no single {_any_of(kinds)} ({which}); say which one with {path}:name")
    return next(iter(found.values()))


def _any_of(kinds: tuple[type, ...]) -> str:
    names = ["dalembert.problems.Problem" if kind.__name__ == "Problem" else kind.__name__ for kind in kinds]
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


@contextmanager
def _running(what: str, path: Path) -> Iterator[None]:
    """Exceptions of the user's own code in one line, with the line it happened in."""
    try:
        yield
    except DalembertError:
        raise
    except SyntaxError as error:
        place = "" if error.filename in (None, str(path), str(path.absolute())) else f" of {error.filename}"
        raise FileFault(f"{what}, line {error.lineno}{place}: {error.msg}", path, error.lineno) from error
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path.absolute()]
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise FileFault(
            f"{what} raised {' '.join(said.split())} (line {last.lineno} of {last.filename})", path,
            own[-1].lineno if own else None,
        ) from error  # fmt: skip
