"""Results by name: which ones are meant, tables of them in files, pictures."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import OptionError

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.solution import Solution

#: curves of a picture if nobody says which
MOST_CURVES = 10


def variable_names(model: Model) -> list[str]:
    """Names of everything that may change in a run: unknowns, discrete variables, outputs."""
    internal = set()
    if model.hybrid is not None:
        hybrid = model.hybrid
        internal = {relation.place for relation in hybrid.relations} | set(hybrid.previous.values())
        internal |= {sample.place for sample in hybrid.samples} | {hybrid.initial, hybrid.terminal}
    names = [name for kind in model.state_kinds for name in model.names(kind)]
    names += [name for place, name in enumerate(model.discrete_names) if place not in internal]
    return [*names, *model.outputs.names]


def chosen_names(model: Model, patterns: Sequence[str] | None) -> list[str]:
    """Those that patterns such as inertia*.w choose, in the order of the patterns; all without patterns."""
    names = variable_names(model)
    if not patterns:
        return names
    found: dict[str, None] = {}
    known = [*names, *model.parameters]
    for pattern in (part for text in patterns for part in _parts(text)):
        # brackets are subscripts of Modelica, not sets of characters
        matching = [name for name in known if fnmatchcase(name, pattern.replace("[", "[[]"))]
        if not matching:
            from dalembert.model.namespace import explain_unknown

            raise OptionError(f"--variables: {explain_unknown(pattern, known)}")
        found |= dict.fromkeys(matching)
    return list(found)


def _parts(text: str) -> list[str]:
    """Patterns between commas; those inside of brackets or quoted names separate nothing.

    >>> _parts("inertia*.w,c[1,2],'a,b'")
    ['inertia*.w', 'c[1,2]', "'a,b'"]
    """
    found = re.findall(r"(?:'[^']*'|\[[^\]]*\]|[^,'\[]|['\[])+", text)
    return [part.strip() for part in found if part.strip()]


def write_csv(solution: Solution, path: Path | None, names: Sequence[str]) -> None:
    """Time and variables, a row for every step; where values jump, one for each side. Without a path to the screen."""
    import numpy as np

    from dalembert.solution.outputs import entries

    columns: dict[str, Any] = {"time": solution.t}
    for name in names:
        values = solution[name]
        if np.ndim(values) == 0:
            values = np.full(len(solution.t), values)
        columns |= entries(name, values, len(solution.t)) if np.ndim(values) > 1 else {name: values}
    opened = nullcontext(sys.stdout) if path is None else path.open("w", newline="", encoding="utf-8")
    with opened as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(
            zip(*(map(repr, np.asarray(column, float).tolist()) for column in columns.values()), strict=True)
        )


def draw(solution: Solution, path: Path, names: Sequence[str] | None) -> None:
    """Positions, velocities, multipliers and what else there is, one panel for each kind; or what is named."""
    from matplotlib.figure import Figure

    from dalembert.model.vocabulary import VOCABULARY

    model = solution.model
    if names is None:
        panels = {kind: model.names(kind) for kind in model.state_kinds if model.names(kind)}
        if list(panels) == ["x"] and len(panels["x"]) > MOST_CURVES:
            panels = {"x": panels["x"][:MOST_CURVES]}
    else:
        panels = {"": tuple(names)}
    figure = Figure(figsize=(8, 1 + (2.3 if len(panels) > 1 else 4) * len(panels)), layout="constrained")
    for ax, (kind, own) in zip(
        figure.subplots(len(panels), sharex=True, squeeze=False).flat, panels.items(), strict=True
    ):
        solution.plot(*own, ax=ax)
        title = VOCABULARY[kind].title.split(",")[0] if kind else ""
        ax.set(xlabel="", ylabel=title if len(own) > 1 else own[0])
        if len(own) > 1:
            ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    ax.set_xlabel("t")
    figure.suptitle(f"{model.name}: {solution.method.partition('(')[0]}, {solution.formulation}")
    figure.savefig(path, dpi=130)
