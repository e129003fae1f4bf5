"""What `compare` has found: a table of trials, a recommendation, a diagram, and files of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.errors import DalembertError, FileError, OptionError
from dalembert.solution import container
from dalembert.solution.exports import csv_file, needed
from dalembert.solution.files import as_path
from dalembert.solution.storage import UNFIT
from dalembert.solvers import MethodOptions
from dalembert.studies.work_precision import _aligned

if TYPE_CHECKING:
    import pandas as pd

KIND = "comparison"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One method at one tolerance; NaN where it failed, and `failure` says why."""

    method: str
    tolerance: float
    seconds: float = math.nan  # CPU time, the best of several runs
    error: float = math.nan  # max |y − ref| / (1 + |ref|) over positions and velocities, or x, at the end
    multiplier_error: float = math.nan  # the same over λ and μ; NaN if there are none
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    failure: str = ""


@dataclass(frozen=True)
class Recommendation:
    """The method that reaches an accuracy in the least time."""

    method: str
    options: MethodOptions | str = field(repr=False)  # as text where they were read from a file
    tolerance: float
    seconds: float
    error: float
    why: str

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class Comparison:
    """What `compare` has found. `str` of it is the table with the recommendation."""

    problem: str
    trials: tuple[Trial, ...]
    methods: Mapping[str, MethodOptions | str] = field(repr=False)
    reference: str  # where the values come from that errors are measured with

    def table(self) -> str:
        """All trials as aligned text."""
        head = ("method", "tolerance", "error", "multipliers", "ms", "steps", "rejected", "evaluations")
        lines: list[tuple[tuple[str, ...], str]] = []
        for one in self.trials:
            label = (one.method, f"{one.tolerance:.0e}")
            if one.failure:
                lines.append(((*label, *"------"), "  " + " ".join(one.failure.split())[:90]))
                continue
            multipliers = "-" if math.isnan(one.multiplier_error) else f"{one.multiplier_error:.1e}"
            counts = map(str, (one.steps, one.rejected, one.evaluations))
            lines.append(((*label, f"{one.error:.1e}", multipliers, f"{1e3 * one.seconds:.2f}", *counts), ""))
        return _aligned(head, lines, left=1)

    def recommend(self, error: float | None = None) -> Recommendation:
        """The quickest method that reaches an error; default: the error that the middle tolerance stands for.

        Multipliers count, too, where there are any: with the tenfold error.
        """
        if error is None:
            tolerances = sorted({one.tolerance for one in self.trials})
            error = 10 * tolerances[len(tolerances) // 2]
        try:
            target = real(error)
        except NoNumber:
            target = math.nan
        if not 0 < target < math.inf:
            raise OptionError(f"error={shown(error)} must be a positive number")
        good = [one for one in self.trials if not one.failure and _reaches(one, target)]
        if not good:
            least = min((one.error for one in self.trials if not one.failure), default=math.nan)
            raise OptionError(
                f"no method reached an error of {target:.1e} on '{self.problem}' (the least is {least:.1e}): try "
                "tighter tolerances"
            )
        best = min(good, key=lambda one: one.seconds)
        why = f"{best.method} with rtol = atol = {best.tolerance:.0e}: {1e3 * best.seconds:.2f} ms for an error of "
        why += f"{best.error:.1e} (asked for: {target:.1e})"
        second = min((o for o in good if o.method != best.method), key=lambda one: one.seconds, default=None)
        if second is not None and best.seconds > 0:
            why += f"; {second.method} takes {second.seconds / best.seconds:.1f} times as long"
        return Recommendation(best.method, self.methods[best.method], best.tolerance, best.seconds, best.error, why)

    def _columns(self) -> dict[str, list[Any]]:
        return {f.name: [getattr(one, f.name) for one in self.trials] for f in dataclasses.fields(Trial)}

    def to_pandas(self) -> pd.DataFrame:
        """A row for each trial; `attrs` has the problem and where its reference values come from."""
        frame = needed("pandas", "to_pandas").DataFrame(self._columns())
        frame.attrs = {"problem": self.problem, "reference": self.reference}
        return frame

    def to_csv(self, path: str | PathLike) -> Path:
        """Write a line for each trial."""
        return csv_file(path, self._columns())

    def save(self, path: str | PathLike) -> Path:
        """Write everything to an HDF5 file; a file of this name is replaced in one go, or not at all."""
        path, columns = as_path(path), self._columns()
        texts = {f.name: columns.pop(f.name) for f in dataclasses.fields(Trial) if f.type == "str"}
        description = {
            "kind": KIND, "problem": self.problem, "reference": self.reference, "texts": texts,
            "methods": {label: repr(method) for label, method in self.methods.items()},
            "numbers": {name: container.Reference(f"trials/{name}") for name in columns},
        }  # fmt: skip
        arrays = {f"trials/{name}": np.array(values) for name, values in columns.items()}
        container.write(path, description, arrays, {f"trials/{name}": values for name, values in texts.items()})
        return path

    @classmethod
    def load(cls, path: str | PathLike) -> Comparison:
        """Read what `save` has written; FileError if a single bit is not as it was."""
        path = as_path(path)
        content = container.Content(path)
        d = content.description
        if d.get("kind") != KIND:
            raise FileError(f"'{path}' is no comparison; results of simulations: Solution.load, Sweep.load", path)
        try:
            columns = {name: content.array(reference).tolist() for name, reference in d["numbers"].items()}
            columns |= {name: [str(text) for text in texts] for name, texts in d["texts"].items()}
            rows = zip(*(columns[f.name] for f in dataclasses.fields(Trial)), strict=True)
            names = [f.name for f in dataclasses.fields(Trial)]
            trials = tuple(Trial(**dict(zip(names, row, strict=True))) for row in rows)
            methods = {str(label): str(text) for label, text in d["methods"].items()}
            return cls(str(d["problem"]), trials, methods, str(d["reference"]))
        except (DalembertError, *UNFIT) as error:
            raise container.damaged(path, f"it describes no comparison ({type(error).__name__}: {error})") from error

    def plot(self, path: str | Path | None = None, ax: Any = None) -> Any:
        """The work-precision diagram: time against error, a curve for each method; returns the axes."""
        from matplotlib.figure import Figure

        figure = None
        if ax is None:
            figure = Figure(figsize=(7, 4.6), layout="constrained")
            ax = figure.subplots()
        for k, method in enumerate(self.methods):
            rows = [one for one in self.trials if one.method == method and not one.failure and one.error > 0]
            if rows:
                errors, times = [one.error for one in rows], [1e3 * one.seconds for one in rows]
                ax.loglog(errors, times, "-", marker="osD^v<>phX*"[k % 11], color=f"C{k % 10}", ms=4, label=method)
        ax.invert_xaxis()
        ax.set(title=self.problem, xlabel="error at the end", ylabel="CPU time in ms")
        ax.grid(True, which="major", alpha=0.3)
        ax.legend(frameon=False, fontsize="small")
        if path is not None:
            figure: Any = ax.figure
            figure.savefig(Path(path), dpi=130)
        return ax

    def __str__(self) -> str:
        try:
            last = str(self.recommend())
        except OptionError as reason:
            last = str(reason)
        return f"{self.problem}, errors against {self.reference}\n{self.table()}\n{last}"


def _reaches(one: Trial, error: float) -> bool:
    return one.error <= error and not one.multiplier_error > 10 * error
