"""Results of a study as columns by name, for CSV and pandas, and as a dataset of xarray."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import OptionError
from dalembert.solution.exports import csv_file, needed

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dalembert.sweeps.result import Sweep

#: behind the names of samples that are called like a result, as start values are, and of values called like a column
SAMPLE, VALUE = " (sample)", " (value)"
#: columns that every table has
OWN = ("member", "t", "status", "t_end", "steps", "seconds", "error")


def columns(study: Sweep, at_times: bool) -> dict[str, Any]:
    """A value for each member, or for each member and output time, which then have columns as well."""
    t = study.t
    if at_times and t is None:
        raise OptionError("at_times=True needs a study with output times: sweep(..., t_eval=...)")
    samples, values = named(study)
    if at_times and t is not None:
        count, times = len(study), len(t)
        index = {"member": np.repeat(np.arange(count), times), "t": np.tile(t, count)}
        varied = {name: np.repeat(rows, times, axis=0) for name, rows in samples.items()}
        found = {name: rows.reshape(-1, *rows.shape[2:]) for name, rows in values.items()}
        return index | flat(varied) | flat(found)
    last = {name: rows[:, -1] if study.t is not None else rows for name, rows in values.items()}
    about = {"status": study.status, "t_end": study.t_end, "steps": study.steps, "seconds": study.seconds}
    about["error"] = [study.errors.get(i, "") for i in range(len(study))]
    return {"member": np.arange(len(study))} | flat(samples) | flat(last) | about


def named(study: Sweep) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Samples and values by names that differ from each other and from those of other columns."""
    known = (*OWN, *study.names)
    samples = {f"{name}{SAMPLE}" if name in known else name: values for name, values in study.samples.items()}
    return samples, {f"{name}{VALUE}" if name in OWN else name: study[name] for name in study.names}


def flat(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One column for each entry of a vector or matrix: tip[0], tip[1]."""
    found = {}
    for name, array in values.items():
        if array.ndim == 1:
            found[name] = array
            continue
        for place in np.ndindex(array.shape[1:]):
            found[f"{name}[{', '.join(map(str, place))}]"] = array[(slice(None), *place)]
    return found


def to_pandas(study: Sweep, at_times: bool) -> pd.DataFrame:
    frame = needed("pandas", "to_pandas").DataFrame(columns(study, at_times))
    return frame.set_index(["member", "t"] if at_times else "member")


def to_csv(study: Sweep, path: str | PathLike, at_times: bool) -> Path:
    return csv_file(path, columns(study, at_times))


def to_xarray(study: Sweep) -> xr.Dataset:
    """Dimensions member and, with output times, t; samples are coordinates."""
    xarray = needed("xarray", "to_xarray")
    coordinates: dict[str, Any] = {"member": np.arange(len(study))}
    if study.t is not None:
        coordinates["t"] = ("t", study.t, {"long_name": "time"})
    first = ("member",) if study.t is None else ("member", "t")
    variables: dict[str, Any] = {}
    samples, found = named(study)
    for name, values in samples.items():
        coordinates[name] = (("member", *(f"{name}_{k}" for k in range(values.ndim - 1))), values)
    for name, values in found.items():
        variables[name] = ((*first, *(f"{name}_{k}" for k in range(values.ndim - len(first)))), values)
    variables["status"] = ("member", np.array(study.status, object))
    variables |= {name: ("member", getattr(study, name)) for name in ("t_end", "steps", "seconds")}
    return xarray.Dataset(variables, coords=coordinates)
