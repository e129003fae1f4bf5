"""Results by name: which ones are meant, and the files that a simulation leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dalembert.cli.options import RESULTS, Variables, option
from dalembert.cli.shown import PICTURES, check_output, writing
from dalembert.cli.values import chosen
from dalembert.errors import DalembertError, OptionError

if TYPE_CHECKING:
    import numpy as np

    from dalembert.model import Model
    from dalembert.solution import Solution

#: curves of a picture if nobody says which
MOST_CURVES = 10
ANIMATIONS = (".html", ".gif", ".mp4", ".png")


#: how a line about each file begins
WRITTEN = {
    "csv": "The table", "save": "The solution", "hdf5": "The dataset", "mat": "The result file", "plot": "The picture",
    "animate": "The animation", "report": "The report",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Files:
    """Where the results of a simulation go."""

    variables: Variables = None
    csv: Annotated[
        Path | None, option("--csv", metavar="FILE", panel=RESULTS, help="Write a table as text; - is the screen.")
    ] = None
    save: Annotated[
        Path | None,
        option("--save", metavar="FILE", panel=RESULTS, help="Write everything as HDF5 (dalembert export)."),
    ] = None
    hdf5: Annotated[
        Path | None, option("--hdf5", metavar="FILE", panel=RESULTS, help="Write plain datasets for other programs.")
    ] = None
    mat: Annotated[
        Path | None, option("--mat", metavar="FILE", panel=RESULTS, help="Write a result file as Modelica tools do.")
    ] = None
    plot: Annotated[Path | None, option("--plot", metavar="FILE", panel=RESULTS, help="Draw curves over time.")] = None
    animate: Annotated[
        Path | None,
        option("--animate", metavar="FILE", panel=RESULTS, help="A moving picture: .html, .gif, .mp4 or .png."),
    ] = None
    report: Annotated[
        Path | None, option("--report", metavar="FILE", panel=RESULTS, help="Everything on one page: .html.")
    ] = None
    overwrite: Annotated[
        bool,
        option("--overwrite/--no-overwrite", panel=RESULTS, help="Replace files that are there.", show_default=True),
    ] = True

    @property
    def to_screen(self) -> bool:
        return self.csv is not None and str(self.csv) == "-"

    def check(self) -> None:
        """Before the work: places that cannot be written to, and files that shall stay."""
        endings = {"plot": PICTURES, "animate": ANIMATIONS, "report": (".html", ".htm")}
        for name, path in self.places().items():
            check_output(path, endings.get(name, ()))
            if not self.overwrite and path.exists():
                raise OptionError(f"--{name} {path}: this file is there already, and --no-overwrite was given")
        twice = [str(path) for path in self.places().values()]
        for path in twice:
            if twice.count(path) > 1:
                raise OptionError(f"two results cannot both go to '{path}'")

    def places(self) -> dict[str, Path]:
        found = {name: getattr(self, name) for name in WRITTEN}
        return {
            name: path for name, path in found.items() if path is not None and not (name == "csv" and self.to_screen)
        }

    def write(self, solution: Solution, names: Sequence[str]) -> tuple[dict[str, str], list[DalembertError]]:
        """Write all; what was written where, and what could not be written and why."""
        from dalembert.solution.exports import hdf5_file
        from dalembert.solution.trajectory_files import mat_file

        curves: dict[str, Any] = {"plots": list(names)} if self.variables else {}
        writers: dict[str, Callable[[Path], Any]] = {
            "csv": lambda place: write_csv(solution, place, names),
            "save": solution.save,
            "hdf5": lambda place: hdf5_file(place, solution, series(solution, names)),
            "mat": lambda place: mat_file(place, solution, series(solution, names)),
            "plot": lambda place: draw(solution, place, names if self.variables else None),
            "animate": lambda place: solution.animate(place, **curves),
            "report": solution.report,
        }
        written, errors = {}, []
        for name, place in self.places().items():
            try:
                with writing(place):
                    writers[name](place)
                written[name] = str(place)
            except DalembertError as error:  # one that fails shall not cost the others
                errors.append(error)
        return written, errors


def variable_names(model: Model) -> list[str]:
    """Names of everything that may change in a run: unknowns, discrete variables, outputs."""
    internal = set() if model.hybrid is None else model.hybrid.internal
    names = [name for kind in model.state_kinds for name in model.names(kind)]
    names += [name for place, name in enumerate(model.discrete_names) if place not in internal]
    return [*names, *model.outputs.names]


def chosen_names(
    known: Sequence[str], patterns: Sequence[str] | None, more: Sequence[str] = (), option: str = "--variables"
) -> list[str]:
    """Those that patterns such as inertia*.w choose, in the order of the patterns; all that are known without any.

    `more` are names that have to be asked for.
    """
    if not patterns:
        return list(known)
    found: dict[str, None] = {}
    everything = [*known, *more]
    for pattern in chosen(patterns):
        # brackets are subscripts of Modelica, not sets of characters
        matching = [name for name in everything if fnmatchcase(name, pattern.replace("[", "[[]"))]
        if not matching:
            from dalembert.model.namespace import explain_unknown

            raise OptionError(f"{option}: {explain_unknown(pattern, everything)}")
        found |= dict.fromkeys(matching)
    return list(found)


def series(solution: Solution, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Values at all times of the result, a column for each entry of vectors and matrices."""
    import numpy as np

    from dalembert.solution.outputs import entries

    columns: dict[str, Any] = {}
    count = len(solution.t)
    parameters: Mapping[str, Any] = solution.parameters
    model = solution.model
    inputs = [] if model is None else list(model.inputs)
    for name in names:
        if name not in solution and name in parameters:
            values = np.broadcast_to(parameters[name], (count, *np.shape(parameters[name])))
        elif model is not None and name not in solution and name in inputs:
            values = np.array([model.input_values(t)[0, inputs.index(name)] for t in solution.t])
        else:
            values = np.asarray(solution[name], float)
            values = np.full(count, values) if values.ndim == 0 else values
        columns |= entries(name, values, count)
    return columns


def write_csv(solution: Solution, path: Path | None, names: Sequence[str]) -> None:
    """Time and variables, a row for every step; where values jump, one for each side. Without a path to the screen."""
    from dalembert.solution.exports import csv_file, csv_lines

    table = {"time": solution.t, **series(solution, names)}
    if path is not None:
        csv_file(path, table)
        return
    import sys

    for text in csv_lines(table):
        sys.stdout.write(text)


def draw(solution: Solution, path: Path, names: Sequence[str] | None) -> None:
    """Positions, velocities, multipliers and what else there is, one panel for each kind; or what is named."""
    from matplotlib.figure import Figure

    from dalembert.model.vocabulary import VOCABULARY

    if names is None:
        kinds = [kind for kind in solution._names if VOCABULARY[kind].visible and solution._names[kind]]
        panels = {kind: solution._names[kind] for kind in kinds}
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
    name = "result" if solution.model is None else solution.model.name
    figure.suptitle(f"{name}: {solution.method_name}, {solution.formulation}")
    figure.savefig(path, dpi=130)
