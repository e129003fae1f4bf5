"""What a study has found: an array for each name, one row for each member."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import DalembertError, FileError, OptionError
from dalembert.model.namespace import explain_unknown
from dalembert.solution import container
from dalembert.solution.files import as_path
from dalembert.solution.storage import UNFIT
from dalembert.sweeps.member import FAILED, MISSING, Outcome

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

KIND = "sweep"


class Sweep:
    """The results of a study. Items are values by name, of all members: ``result["x"]`` has shape (N,), or (N, T) if
    the study has output times `t`; NaN where there is none. Names of samples are items, too.

    Attributes
    ----------
    samples : dict of arrays
        What was varied.
    t : array or None
        Output times; None: values are those at the end.
    status : list of str
        "finished", "terminated by event '…'", "failed", or "missing" for members that have not been simulated.
    errors : dict of int to str
        What happened to those that failed.
    t_end, seconds, steps : array
        Where each simulation ended, what it took, and its accepted steps.
    """

    def __init__(self, samples: Mapping[str, np.ndarray], t: np.ndarray | None = None, asked: Mapping | None = None):
        self.samples = dict(samples)
        self.t = t
        self._asked = dict(asked or {})
        count = len(next(iter(self.samples.values())))
        self.status = [MISSING] * count
        self.errors: dict[int, str] = {}
        self.t_end, self.seconds = np.full(count, np.nan), np.zeros(count)
        self.steps = np.zeros(count, np.int64)
        self._values: dict[str, np.ndarray] = {}
        self._found = False  # any values
        self.engine = ""  # who has simulated

    # -- what comes in ---------------------------------------------------------------------------------------------

    def take(self, number: int, outcome: Outcome) -> Outcome:
        """Keep what became of a member; returns it as it is kept."""
        if not outcome.failed and self._found:
            outcome = outcome.fits({name: array.shape[1:] for name, array in self._values.items()})
        if not outcome.failed and not self._found:
            self._values = {n: np.full((len(self), *value.shape), np.nan) for n, value in outcome.values.items()}
            self._found = True
        for name, value in outcome.values.items():
            self._values[name][number] = value
        self.status[number], self.t_end[number] = outcome.status, outcome.t_end
        self.seconds[number], self.steps[number] = outcome.seconds, outcome.steps
        self.errors.pop(number, None)
        if outcome.failed:
            self.errors[number] = outcome.message
        return outcome

    # -- what comes out --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.status)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the values."""
        return tuple(self._values)

    @property
    def success(self) -> np.ndarray:
        """Mask of the members that have a result."""
        return np.array([status not in (MISSING, FAILED) for status in self.status], bool)

    @property
    def missing(self) -> np.ndarray:
        """Numbers of members that have not been simulated."""
        return np.flatnonzero(np.array(self.status, object) == MISSING)

    def __getitem__(self, name: str) -> np.ndarray:
        if isinstance(name, str):
            for known in (self._values, self.samples):
                if name in known:
                    return known[name]
        raise OptionError(f"this study: {explain_unknown(name, (*self._values, *self.samples))}")

    def sample(self, number: int) -> dict[str, Any]:
        """What was varied, of one member."""
        return {name: values[number][()] for name, values in self.samples.items()}

    def to_pandas(self, *, at_times: bool = False) -> pd.DataFrame:
        """A table with a row for each member: samples, values (those at the last time), status, error.

        Parameters
        ----------
        at_times : bool
            A row for each member and output time in place of that, with both as index.
        """
        from dalembert.sweeps.tables import to_pandas

        return to_pandas(self, at_times)

    def to_csv(self, path: str | PathLike, *, at_times: bool = False) -> Path:
        """Write the table of `to_pandas` as text."""
        from dalembert.sweeps.tables import to_csv

        return to_csv(self, path, at_times)

    def to_xarray(self) -> xr.Dataset:
        """A dataset over the dimensions member and, with output times, t; what was varied are coordinates."""
        from dalembert.sweeps.tables import to_xarray

        return to_xarray(self)

    def __repr__(self) -> str:
        done, failed, missing = int(self.success.sum()), len(self.errors), len(self.missing)
        parts = [f"{done} of {len(self)} members"]
        parts += [f"{failed} failed"] if failed else []
        parts += [f"{missing} missing"] if missing else []
        return f"Sweep({', '.join(parts)}: {', '.join(self.names[:6])}{', …' if len(self.names) > 6 else ''})"

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike) -> Path:
        """Write everything to one HDF5 file; a file of this name is replaced in one go, or not at all."""
        path, arrays = as_path(path), {}

        def put(where: str, values: Mapping[str, np.ndarray]) -> dict[str, Any]:
            names = {}
            for i, (name, value) in enumerate(values.items()):
                arrays[f"{where}/{i:06d}"] = value
                names[name] = container.Reference(f"{where}/{i:06d}")
            return names

        known = list(dict.fromkeys(self.status))
        code = {status: i for i, status in enumerate(known)}
        description = {
            "kind": KIND,
            "asked": self._asked,
            "samples": put("samples", self.samples),
            "values": put("values", self._values),
            "members": put(
                "members",
                {
                    "t_end": self.t_end, "seconds": self.seconds, "steps": self.steps,
                    "status": np.array([code[status] for status in self.status], np.int64),
                } | ({} if self.t is None else {"t": self.t}),
            ),
            "statuses": known,
            "errors": {str(number): text for number, text in self.errors.items()},
        }  # fmt: skip
        labels = {"names/samples": tuple(self.samples), "names/values": tuple(self._values)}
        container.write(path, description, arrays, labels)
        return path

    @classmethod
    def load(cls, path: str | PathLike) -> Sweep:
        """Read what `save`, or a study with ``store=``, has written; FileError if a single bit is not as it was."""
        path = as_path(path)
        content = container.Content(path)
        try:
            return cls._from(content)
        except (DalembertError, *UNFIT) as error:
            if content.description.get("kind") != KIND:
                raise FileError(f"'{path}' is no study; results of one simulation: Solution.load", path) from None
            raise container.damaged(path, f"it does not describe a study ({type(error).__name__}: {error})") from error

    @classmethod
    def _from(cls, content: container.Content) -> Sweep:
        d = content.description
        if d["kind"] != KIND:
            raise ValueError("another kind of file")
        parts = {
            part: {name: content.array(reference).copy() for name, reference in d[part].items()}
            for part in ("samples", "values", "members")
        }
        members, statuses = parts["members"], [str(status) for status in d["statuses"]]
        found = cls(parts["samples"], members.get("t"), d["asked"])
        count, code = len(found), members["status"]
        columns = [*parts["samples"].values(), *parts["values"].values()]
        columns += [values for name, values in members.items() if name != "t"]
        if any(column.dtype.kind not in "fi" or len(column) != count for column in columns):
            raise ValueError("columns are of different lengths")
        if code.dtype != np.int64 or ((code < 0) | (code >= len(statuses))).any():
            raise ValueError("a member has no status")
        found.status = [statuses[k] for k in code.tolist()]
        found.t_end, found.seconds, found.steps = (members[name] for name in ("t_end", "seconds", "steps"))
        found.errors = {int(number): str(text) for number, text in d["errors"].items()}
        found._values, found._found = parts["values"], bool(found.success.any())
        return found

    def plot(self, x: str, y: str, ax: Any = None) -> Any:
        """Draw one name over another, a point for each member; at output times, a curve for each."""
        from matplotlib.figure import Figure

        ax = Figure(layout="constrained").subplots() if ax is None else ax
        if self.t is not None and x == "t":
            ax.plot(self.t, self[y].T, lw=0.8, alpha=0.6)
        else:
            across, up = self[x], self[y]
            if across.ndim != 1 or up.ndim != 1:
                raise OptionError(f"plot({shown(x)}, {shown(y)}): both must have one value for each member")
            ax.plot(across, up, ".")
        ax.set(xlabel=x, ylabel=y)
        return ax

