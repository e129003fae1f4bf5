"""What a command gives back: a result for programs, a text for people, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from dalembert.cli.exits import Exit
from dalembert.errors import Interrupted, SimulationError

if TYPE_CHECKING:
    from rich.console import Console

#: of the documents that --json prints; another number where one of their names changes its meaning, or goes
SCHEMA = 1


@dataclass(frozen=True)
class Answer:
    """What a command gives back.

    `result` is what --json prints, plain data or a function that returns it; `show` prints the same for people. Only
    one of them is called. An `error` besides a result says that the result is not whole.
    """

    result: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None
    show: Callable[[Console], None] | None = None
    error: Exception | None = None
    code: Exit = Exit.OK

    @classmethod
    def failed(cls, error: Exception) -> Answer:
        """Of a command that has nothing but an error."""
        return cls(error=error, code=code_of(error))


def code_of(error: Exception, *, partial: bool = False) -> Exit:
    """The exit code that says what an error is about; `partial`: there is a result besides."""
    if isinstance(error, Interrupted):
        return Exit.INTERRUPTED
    return Exit.PARTIAL if partial else Exit.ERROR


def document(
    command: str, code: Exit, *, result: Mapping[str, Any] | None = None, error: Any = None, warnings: Any = ()
) -> dict[str, Any]:
    """The one object that --json prints, whatever has happened; all its names are always there."""
    from dalembert import __version__

    return {
        "schema": SCHEMA, "dalembert": __version__, "command": command, "exit_code": int(code),
        "result": None if result is None else plain(result),
        "error": error if error is None or isinstance(error, dict) else described(error),
        "warnings": [{"type": type(one).__name__, "message": str(one)} for one in warnings],
    }  # fmt: skip


def described(error: Exception) -> dict[str, Any]:
    """An exception as plain data: type, message, place in a text, time of the simulation, and all faults of a model."""
    place = {"file": getattr(error, "path", None) or getattr(error, "filename", None)}
    place |= {name: getattr(error, name, None) for name in ("line", "column")}
    place["file"] = None if place["file"] is None else str(place["file"])
    solution = getattr(error, "solution", None) if isinstance(error, SimulationError) else None
    time = None if solution is None or not hasattr(solution, "trajectory") else solution.trajectory.interval[1]
    return {
        "type": type(error).__name__, "message": str(error),
        "place": place if any(value is not None for value in place.values()) else None,
        "time": plain(time), "faults": list(getattr(error, "faults", ())),
    }  # fmt: skip


def plain(value: Any) -> Any:
    """Data that JSON has: what is not a finite number is null, arrays are lists, everything else is text.

    >>> plain({"x": (1.5, float("nan")), 2: None, "on": True})
    {'x': [1.5, None], '2': None, 'on': True}
    """
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    if isinstance(value, PathLike):
        return str(value)
    return str(value)
