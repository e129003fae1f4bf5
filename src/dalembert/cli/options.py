"""Options that several commands have, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from dalembert.errors import OptionError

SubjectText = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A name of the catalogue; path/to/file.py:name; a Modelica file, package or class name (A.B.C).",
    ),
]
ClassName = Annotated[
    str | None, typer.Option("--class", metavar="A.B", help="Modelica: which class of the file; default: the last one.")
]
SearchPath = Annotated[
    list[Path] | None,
    typer.Option("--path", help="Modelica: a directory with packages, before those of MODELICAPATH. Repeatable."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value of a parameter. Repeatable.")
]
StartTime = Annotated[float | None, typer.Option("--start-time", help="Start time; default: the model's, or 0.")]
StopTime = Annotated[float | None, typer.Option("--stop-time", "--t-end", help="End time; default: the model's.")]


def settings_of(given: Iterable[str] | None, option: str = "--set") -> dict[str, Any]:
    """Values by name from texts NAME=VALUE: numbers, true, false, or text.

    >>> settings_of(["spring.c=1e4", "n = 3", "on=true"])
    {'spring.c': 10000.0, 'n': 3, 'on': True}
    """
    found: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise OptionError(f"{option} {text}: write NAME=VALUE")
        found[name.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip("\"'")
