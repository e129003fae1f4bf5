"""What a command works on: a problem of the catalogue, something in a Python file, a Modelica class, or a robot."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import Interval, Which
from dalembert.cli.values import called, exists, named, read_table, settings_of, value_of
from dalembert.errors import ModelError, OptionError

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.problems import Problem


@dataclass(frozen=True)
class Subject:
    """Something that can be simulated."""

    title: str
    model: Model
    t_span: tuple[float, float] | None = None
    start: Mapping[str, Any] = field(default_factory=dict)  # arguments of `simulate`
    problem: Problem | None = None  # as it is in the catalogue: its reference values hold
    module: Any = None  # the user's, with more names in it

    def interval(self, given: Interval) -> tuple[float, float]:
        """From start to stop, where these are given, else as the model says."""
        own = self.t_span or (0.0, None)
        first = own[0] if given.start_time is None else given.start_time
        last = own[1] if given.stop_time is None else given.stop_time
        if last is None:
            raise OptionError(f"'{self.title}' is a model and does not know when to end: add --t-end (or --stop-time)")
        return first, last

    @property
    def startable(self) -> bool:
        return bool(self.start) or bool(self.model.start) or self.model.beginning is not None


def subject_of(which: Which) -> Subject:
    """What is meant, with the parameters, start values and inputs that are given."""
    kind = kind_of(which.model)
    _must_fit(which, kind)
    kind = "modelica" if is_modelica_class(which) else kind
    subject = {"modelica": _modelica, "urdf": _robot, "python": _from_file, "name": _from_catalogue}[kind](which)
    if kind != "modelica":  # where they may decide about the structure
        parameters = settings_of(which.settings)
        subject = replace(
            subject, model=subject.model.replace(parameters), problem=None if parameters else subject.problem
        )
    return _with_inputs(_with_initial(subject, settings_of(which.initial, "--initial")), which.inputs)


def simulated(which: Which) -> Subject:
    """The same, of something that can start."""
    subject = subject_of(which)
    if not subject.startable:
        raise OptionError(
            f"'{which.model}' is a model without start values; give them with --initial NAME=VALUE, as start={{'p0': "
            "[...]} of the model, or as a dalembert.problems.Problem"
        )
    return subject


# -- kinds -------------------------------------------------------------------------------------------------------------


def kind_of(text: str) -> str:
    """ "modelica", "urdf", "python" or "name": of what the text is a name."""
    if is_modelica(text):
        return "modelica"
    if text.lower().endswith(".urdf"):
        return "urdf"
    return "python" if in_file(text) is not None else "name"


def is_modelica_class(which: Which) -> bool:
    """Also names without a dot, where options of Modelica are given."""
    kind = kind_of(which.model)
    return kind == "modelica" or (kind == "name" and bool(which.class_name or which.path))


def in_file(text: str) -> tuple[Path, str] | None:
    """A Python file and a name in it, as in file.py:name; None if the text is something else.

    >>> in_file("a.py:model")[1], in_file("a.py")[1], in_file("andrews")
    ('model', '', None)
    """
    if text.endswith(".py"):
        return Path(text), ""
    file, colon, name = text.rpartition(":")
    return (Path(file), name) if colon and (file.endswith(".py") or len(file) > 1) else None


def is_modelica(text: str) -> bool:
    """Whether a text names a Modelica file, the directory of a package, or a class A.B."""
    if text.endswith(".mo") or exists(Path(text) / "package.mo"):
        return True
    if in_file(text) is not None or text.lower().endswith((".urdf", ".xacro")) or exists(Path(text)):
        return False
    return bool(re.fullmatch(r"\.?[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", text))


def _must_fit(which: Which, kind: str) -> None:
    """Options that would be ignored are refused."""
    own = {"--class": "modelica", "--path": "modelica", "--urdf": "urdf"}
    given = {"--class": which.class_name, "--path": which.path, "--urdf": which.urdf}
    called = {"modelica": "a Modelica model", "urdf": "a robot", "python": "a Python file", "name": "a problem"}
    for name, value in given.items():
        if value and kind != own[name] and not (kind == "name" and own[name] == "modelica"):
            raise OptionError(f"{name} is an option of {called[own[name]]}, and '{which.model}' is {called[kind]}")
    if which.coordinates is not None and kind not in ("urdf", "python"):
        raise OptionError(f"--coordinates is an option of robots and bodies, and '{which.model}' is {called[kind]}")


def _modelica(which: Which) -> Subject:
    from dalembert import modelica

    source = modelica_source(which.model)
    model = modelica.load(source, which.class_name, path=which.path or (), parameters=settings_of(which.settings))
    return Subject(model.name, model, model.t_span)


def modelica_source(text: str) -> str | Path:
    """A file or directory as a path, so that it is never taken for Modelica text; or the name of a class."""
    if text.endswith(".mo") or exists(Path(text)):
        if not exists(Path(text)):
            raise OptionError(f"there is no file '{text}'")
        return Path(text)
    return text


def _robot(which: Which) -> Subject:
    from dalembert.multibody import Multibody

    robot = Multibody.from_urdf(Path(which.model), **settings_of(which.urdf, "--urdf"))
    return Subject(robot.name, robot.equations(which.coordinates or "joint"))


def _from_file(which: Which) -> Subject:
    from dalembert.cli.user_files import import_file, taken
    from dalembert.model import Model
    from dalembert.multibody import Multibody
    from dalembert.problems import Problem

    path, name = in_file(which.model) or (Path(which.model), "")
    module = import_file(path)
    found = taken(module, path, name, (Problem, Model, Multibody))
    if which.coordinates is not None and not isinstance(found, Multibody):
        raise OptionError(f"--coordinates is an option of bodies, and '{which.model}' is a {type(found).__name__}")
    if isinstance(found, Multibody):
        return Subject(found.name, found.equations(which.coordinates or "joint"), module=module)
    if isinstance(found, Problem):
        return Subject(found.title, found.model, (0.0, found.t_end), found.start(), found, module)
    return Subject(which.model, found, found.t_span, module=module)


# -- the catalogue -----------------------------------------------------------------------------------------------------


def catalogue() -> dict[str, Callable[..., Problem]]:
    from dalembert import problems

    parts = (
        problems.catalogue, problems.catalogue_multibody, problems.catalogue_contact, problems.catalogue_large,
        problems.catalogue_singular, problems.catalogue_quasi_linear,
    )  # fmt: skip
    return {name: make for part in parts for name, make in part().items()}


def _from_catalogue(which: Which) -> Subject:
    problem = problem_of(which.model)
    return Subject(problem.title, problem.model, (0.0, problem.t_end), problem.start(), problem)


def problem_of(text: str) -> Problem:
    """A problem by its name, perhaps with arguments of its function: pendulum_chain(N=20)."""
    known = catalogue()
    call = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if call is None or call[1] not in known:
        from dalembert.model.namespace import explain_unknown

        if exists(Path(text)):
            kinds = "models are in files whose names end with .py, .mo or .urdf"
            raise OptionError(f"'{text}' is no model: {kinds}")
        raise OptionError(
            f"problems: {explain_unknown(text if call is None else call[1], known)} (a file of your own is given as "
            "file.py:name, Model.mo or robot.urdf)"
        )
    return called(known[call[1]], call[2], call[1])


# -- what is changed ---------------------------------------------------------------------------------------------------


def _with_initial(subject: Subject, values: Mapping[str, Any]) -> Subject:
    if not values:
        return subject
    from dalembert.model.namespace import explain_unknown
    from dalembert.sweeps.samples import arguments

    model = subject.model
    known = [name for kind in model.settable_kinds for name in model.names(kind)]
    known += [name for name in model.discrete_names if name not in known]
    for name, value in values.items():
        if name not in known:
            raise OptionError(f"--initial: {explain_unknown(name, known)}")
        if not isinstance(value, int | float):
            raise OptionError(f"--initial {name}={value}: a number is needed")
    return replace(subject, start=arguments(model, subject.start, values), problem=None)


def _with_inputs(subject: Subject, given: list[str] | None) -> Subject:
    if not given:
        return subject
    inputs = {}
    for text in given:
        name, value = named(text, "--input", "NAME=NUMBER or NAME=FILE.csv")
        number = value_of(value)
        inputs[name] = number if isinstance(number, int | float) else _signal(Path(value), name, f"--input {text}")
    return replace(subject, model=subject.model.replace(None, inputs), problem=None)


def _signal(path: Path, name: str, what: str) -> Any:
    """An input from a file: its first column is time; of several others that of the input's name is taken."""
    from dalembert.model import Input

    table = read_table(path, what)
    time, *others = table
    if name not in others and len(others) != 1:
        raise OptionError(f"{what}: the file has no column '{name}' (it has {', '.join(table)})")
    try:
        return Input.table(table[time], table[name if name in others else others[0]])
    except ModelError as error:
        raise OptionError(f"{what}: {error}") from None
