"""Pages of the reference: every public name, grouped by the room where it lives, from its docstring."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dalembert
from dalembert.options import Options

#: pages: title, what they say first, and the rooms (or modules) whose names they hold; the first that fits
PAGES = {
    "models": (
        "Models",
        "Systems as equations, their inputs, and what follows from them before anything is integrated.",
        ("model", "regularize", "export"),
    ),
    "bodies": ("Bodies, joints and shapes", "Systems as bodies and joints.", ("multibody",)),
    "simulate": ("Simulation and results", "One function, and what it returns.", ("simulation", "solution")),
    "jacobians": (
        "Jacobians and linear solvers",
        "What the options `jacobian=` and `linear_solver=` take.",
        ("solvers.jacobians", "linalg"),
    ),
    "methods": (
        "Methods",
        "Options objects for `method=`. Their fields are the options; all are keywords and have a default.",
        ("solvers",),
    ),
    "studies": ("Studies", "Many simulations at once.", ("studies", "sweeps", "ensembles")),
    "errors": (
        "Errors and warnings",
        "Every exception of the package is a `DalembertError`; those of a running simulation carry what was computed"
        " as `solution`.",
        ("errors",),
    ),
}
#: rooms that are public as modules: title, and what is documented of them (None: what they offer)
MODULES = {
    "modelica": ("Modelica", None),
    "draw": ("Drawings", None),
    "problems": ("Problems", ("Problem", "Reference", "BodiesProblem", "ImpactProblem", "NaiveProblem", "naive")),
}
#: what pages hold besides, of rooms that are public as modules
MORE = {"studies": ("dalembert.studies", ("work_precision", "Study", "reproduce", "Section", "available_peers"))}
#: classes whose members come from parts that are not public themselves
WHOLE = ("Multibody", "Solution", "EquationsOfMotion", "QuasiLinearDAE", "ImplicitDAE", "Sweep")
OTHER = "other"


def groups() -> dict[str, list[str]]:
    """Public names by page.

    >>> "simulate" in groups()["simulate"], "Geoms" in groups()["methods"], "Sparse" in groups()["jacobians"]
    (True, True, True)
    """
    found: dict[str, list[str]] = {page: [] for page in PAGES}
    for name, home in dalembert._HOME.items():
        fitting = [page for page, (_, _, rooms) in PAGES.items() if any(f"{home}.".startswith(f"{r}.") for r in rooms)]
        found.setdefault(fitting[0] if fitting else OTHER, []).append(name)
    return {page: names for page, names in found.items() if names}


def write(folder: Path) -> dict[str, str]:
    """Texts of the pages by their names, relative to the folder of the reference."""
    titles = {page: PAGES[page][0] if page in PAGES else "Other names" for page in groups()}
    pages = {f"{page}.rst": _page(titles[page], page, names) for page, names in groups().items()}
    pages |= {f"{room}.rst": _module(room) for room in MODULES}
    return pages


def _page(title: str, page: str, names: list[str]) -> str:
    about = PAGES[page][1] if page in PAGES else ""
    module, more = MORE.get(page, ("", ()))
    entries = [*(_entry("dalembert", name) for name in names), *(_entry(module, name) for name in more)]
    return "\n".join([_heading(title), about, "", *entries])


def _module(room: str) -> str:
    title, names = MODULES[room]
    module = getattr(dalembert, room)
    about = {
        "problems": "All problems themselves are in the :doc:`gallery </gallery/index>`; "
        "``catalogue()``, ``catalogue_large()``, ``catalogue_singular()``, ``catalogue_quasi_linear()``, "
        "``catalogue_multibody()`` and ``catalogue_contact()`` are mappings of names to the functions that make them.",
    }.get(room, f"In ``dalembert.{room}``.")
    offered = [name for name in (names or module.__all__) if not name.isupper()]
    return "\n".join([_heading(title), about, "", *(_entry(f"dalembert.{room}", name) for name in offered)])


def _heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n"


def _entry(module: str, name: str) -> str:
    value = getattr(__import__(module, fromlist=[name]), name)
    if not inspect.isclass(value):
        return f".. autofunction:: {module}.{name}\n"
    if issubclass(value, Options):
        return f".. autoclass:: {module}.{name}()\n\n" + _options(value)
    lines = [f".. autoclass:: {module}.{name}"]
    if issubclass(value, BaseException):
        lines[0] += "()"  # users catch them
        lines.append("   :show-inheritance:")
    else:
        lines.append("   :members:")
    if name in WHOLE:
        lines.append("   :inherited-members:")
    return "\n".join(lines) + "\n"


def _options(cls: type) -> str:
    """A table of the options: defaults from the class, meanings from the comments beside them."""
    known = comments(cls)
    rows = [(field.name, _default(field), known.get(field.name, "")) for field in _own_first(cls)]
    if not rows:
        return ""
    table = ["   .. list-table::", "      :header-rows: 1", "      :class: options", ""]
    for row in [("option", "default", "says"), *((f"``{n}``", f"``{d}``", _escaped(c)) for n, d, c in rows)]:
        table += [f"      {'*' if k == 0 else ' '} - {cell}".rstrip() for k, cell in enumerate(row)]
    return "\n".join(table) + "\n"


def _own_first(cls: type) -> list[dataclasses.Field]:
    own = inspect.get_annotations(cls)
    return sorted(dataclasses.fields(cls), key=lambda field: field.name not in own)


def _default(field: dataclasses.Field) -> str:
    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    return "…" if field.default_factory is dataclasses.MISSING else repr(field.default_factory())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")


@functools.cache
def comments(cls: type) -> dict[str, str]:
    """Comments beside the fields of a dataclass and of its bases.

    >>> comments(dalembert.Radau5)["safety"]
    'factor on the optimal step'
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            found |= dict(_beside(base))
    return found


def _beside(cls: Any) -> Iterator[tuple[str, str]]:
    source = inspect.cleandoc("\n" + inspect.getsource(cls))
    texts: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            texts[token.start[0]] = token.string.lstrip("#: ").strip()
    for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            above = texts.get(node.lineno - 1, "") if source.splitlines()[node.lineno - 2].lstrip()[:1] == "#" else ""
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            said = " ".join(filter(None, [above, *(texts.get(line, "") for line in lines)]))
            if said and not said.startswith("fmt"):
                yield node.target.id, said
