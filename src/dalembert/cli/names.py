"""Names for completion: of problems, of methods and their options, of what a problem consists of.

A shell asks at every press of a key, and importing models takes a second: what was once found is kept with compiled
code, as long as the files that it comes from stay as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dalembert.compile import store

PART = "names"


def problems() -> dict[str, str]:
    """Names of the catalogue, with a line about each."""

    def find() -> dict[str, str]:
        from dalembert.cli.subjects import catalogue

        return {name: _first_line(make) for name, make in catalogue().items()}

    return _kept("problems", "problems", find)


def methods() -> dict[str, dict[str, str]]:
    """Methods by name, with their options and the defaults of these."""

    def find() -> dict[str, dict[str, str]]:
        import dataclasses

        from dalembert.solvers import METHODS

        return {
            name: {field.name: str(field.default) for field in dataclasses.fields(kind) if field.init}
            for name, kind in METHODS.items()
        }

    return _kept("methods", "solvers", find)


def of_problem(name: str) -> Mapping[str, list[str]]:
    """Parameters, variables (of which start values can be given), outputs of a problem of the catalogue."""
    if name not in problems():
        return {"parameters": [], "variables": [], "all": []}

    def find() -> dict[str, list[str]]:
        from dalembert.cli.results import variable_names
        from dalembert.cli.subjects import catalogue

        model = catalogue()[name]().model
        own = [each for kind in model.settable_kinds for each in model.names(kind)]
        return {"parameters": list(model.parameters), "variables": own, "all": variable_names(model)}

    return _kept(f"problem {name}", "problems", find)


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0]


def _kept(what: str, room: str, find: Callable[[], Any]) -> Any:
    """What `find` has found before, if no file of a room has changed since."""
    key = hashlib.sha256(f"{what}\n{_stamp(room)}".encode()).hexdigest()
    known = store.load(key, PART)
    if known is not None:
        return json.loads(known)
    found = find()
    store.save(key, json.dumps(found).encode(), PART)
    return found


def _stamp(room: str) -> str:
    from dalembert import __version__

    folder = Path(__file__).parents[1] / room
    newest = max((path.stat().st_mtime_ns for path in folder.rglob("*.py")), default=0)
    return f"{__version__} {newest} {len(list(folder.rglob('*.py')))}"
