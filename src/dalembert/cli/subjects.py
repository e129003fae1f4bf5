"""What a command works on: a problem of the catalogue, a model or problem in a Python file, or a Modelica class."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, OptionError

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.problems import Problem


@dataclass(frozen=True)
class Subject:
    """Something that can be simulated."""

    title: str
    model: Model
    t_span: tuple[float, float] | None = None
    start: Mapping[str, Any] = field(default_factory=dict)
    problem: Problem | None = None

    def interval(self, start: float | None, stop: float | None) -> tuple[float, float]:
        """From start to stop, where these are given, else as the model says."""
        own = self.t_span or (0.0, None)
        first, last = (own[0] if start is None else start), (own[1] if stop is None else stop)
        if last is None:
            raise OptionError(f"'{self.title}' is a model and does not know when to end: add --t-end (or --stop-time)")
        return first, last


def subject_of(
    text: str, class_name: str | None, path: Sequence[Path] | None, parameters: Mapping[str, Any]
) -> Subject:
    """A problem of the catalogue, a model or problem in a Python file, or a Modelica class."""
    from dalembert.model import Model
    from dalembert.problems import Problem

    if is_modelica(text) or class_name is not None or path:
        from dalembert import modelica

        model = modelica.load(modelica_source(text), class_name, path=path or (), parameters=parameters)
        return Subject(model.name, model, model.t_span)
    found = loaded(text, (Problem, Model), lambda value: isinstance(value, Problem) or bool(value.start))
    model = (found.model if isinstance(found, Problem) else found).replace(parameters)
    if isinstance(found, Problem):
        return Subject(found.title, model, (0.0, found.t_end), found.start(), None if parameters else found)
    if not model.start:
        raise OptionError(
            f"'{text}' is a model without start values (start={{'p0': [...]}} of a model gives them); with others a "
            "dalembert.problems.Problem is needed"
        )
    return Subject(text, model, model.t_span)


def is_modelica(text: str) -> bool:
    """Whether a text names a Modelica file, the directory of a package, or a class A.B."""
    if text.endswith(".mo") or (Path(text) / "package.mo").is_file():
        return True
    if text.rpartition(":")[0].endswith(".py") or text.endswith(".py"):
        return False
    return bool(re.fullmatch(r"\.?[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", text))


def modelica_source(text: str) -> str | Path:
    """A file or directory as a path, so that it is never taken for Modelica text; or the name of a class."""
    if text.endswith(".mo") or Path(text).exists():
        if not Path(text).exists():
            raise OptionError(f"there is no file '{text}'")
        return Path(text)
    return text


def catalogue() -> dict[str, Any]:
    from dalembert import problems

    parts = (problems.catalogue, problems.catalogue_multibody, problems.catalogue_contact, problems.catalogue_large)
    return {name: make for part in (*parts, problems.catalogue_quasi_linear) for name, make in part().items()}


def loaded(text: str, kinds: tuple[type, ...], fits: Callable[[Any], bool] = lambda value: True) -> Any:
    """A problem of the catalogue, or what a Python file calls by a name, `file.py:name`.

    Without a name it is the only one of its kind that fits; the first kind goes before the others.
    """
    file, colon, name = text.rpartition(":")
    if not colon and text.endswith(".py"):
        file, name = text, ""
    if not file:
        known = catalogue()
        if text in known:
            return known[text]()
        from dalembert.model.namespace import explain_unknown

        raise OptionError(f"problems: {explain_unknown(text, known)} (a file of your own is given as file.py:name)")
    module = _import_file(Path(file))
    if not name:
        found = {key: value for key, value in vars(module).items() if isinstance(value, kinds) and fits(value)}
        found = {key: value for key, value in found.items() if isinstance(value, kinds[0])} or found
        if len(found) != 1:
            which = f"more than one: {', '.join(found)}" if found else "none"
            raise OptionError(f"'{file}' has no single {_any_of(kinds)} ({which}); say which one with {file}:name")
        return next(iter(found.values()))
    if not hasattr(module, name):
        from dalembert.model.namespace import explain_unknown

        own = [key for key in vars(module) if not key.startswith("_")]
        raise OptionError(f"'{file}': {explain_unknown(name, own)}")
    value = getattr(module, name)
    if callable(value) and not isinstance(value, kinds):
        with _running_users_code(f"{name}() in '{file}'"):
            value = value()
    if not isinstance(value, kinds):
        raise OptionError(f"'{name}' in '{file}' is a {type(value).__name__}; a {_any_of(kinds)} is needed")
    return value


def _any_of(kinds: tuple[type, ...]) -> str:
    return " or ".join("dalembert.problems.Problem" if k.__name__ == "Problem" else k.__name__ for k in kinds)


def _import_file(path: Path) -> Any:
    if not path.is_file():
        raise OptionError(f"there is no file '{path}'")
    if path.suffix != ".py":
        raise OptionError(f"'{path}' is not a Python file")
    spec = importlib.util.spec_from_file_location(f"_user_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as dataclasses and pickle expect
    sys.path.insert(0, str(path.absolute().parent))  # as `python file.py` does
    try:
        with _running_users_code(f"'{path}'"):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


@contextmanager
def _running_users_code(what: str) -> Iterator[None]:
    """Exceptions of the user's own code in one line, with the line it happened in."""
    import traceback

    try:
        yield
    except DalembertError:
        raise
    except SyntaxError as error:
        raise OptionError(f"{what}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise OptionError(
            f"{what} raised {type(error).__name__}: {error} (line {last.lineno} of {last.filename})"
        ) from error
