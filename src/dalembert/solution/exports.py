"""Results for other programs: columns by name, CSV, tables of pandas, datasets of xarray."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import DalembertError, OptionError
from dalembert.solution import files
from dalembert.solution.outputs import entries

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dalembert.solution.solution import Solution

#: rows of a table that become text at once
ROWS = 10_000
#: outputs= for all that there are
ALL = "all"


def asked_for(sol: Solution, outputs: str | Sequence[str]) -> list[str]:
    """Names of outputs: one, several, or "all" of the model's that are scalars, vectors or matrices."""
    if isinstance(outputs, str):
        return list(sol.output_names) if outputs == ALL and ALL not in sol else [outputs]
    names: list[Any]
    try:
        names = list(outputs)
    except TypeError:
        names = [None]
    if not all(isinstance(name, str) for name in names):
        raise OptionError(f'outputs={shown(outputs)} must be names of outputs, or "all"')
    return names


def columns(sol: Solution, outputs: str | Sequence[str]) -> dict[str, np.ndarray]:
    """All variables, and the entries of outputs, by name."""
    found = {name: sol[name] for name in sol.names}
    for name in asked_for(sol, outputs):
        if name not in found:
            found |= entries(name, sol[name], len(sol.t))
    return found


def about(sol: Solution) -> dict[str, Any]:
    """What a table cannot say of itself: text and numbers by name."""
    first, last = sol.trajectory.interval
    known = {
        "model": "" if sol.model is None else sol.model.name, "method": sol.method, "formulation": sol.formulation,
        "status": sol.status, "message": sol.message, "t_start": float(first), "t_end": float(last),
        "parameters": json.dumps({name: np.asarray(value).tolist() for name, value in sol.parameters.items()}),
    }  # fmt: skip
    return {name: value for name, value in known.items() if value != ""}


def labels(sol: Solution, name: str) -> dict[str, str]:
    """Unit and description of a variable or output, as far as the model knows them."""
    model = sol.model
    if model is None:
        return {}
    text = model.comments.get(name) or (model.outputs.description(name) if name in model.outputs else "")
    found = {"units": model.units.get(name, ""), "long_name": text}
    return {key: value for key, value in found.items() if value}


# -- text --------------------------------------------------------------------------------------------------------------


def to_csv(sol: Solution, path: str | PathLike, outputs: str | Sequence[str]) -> Path:
    """A table with a line of names; numbers with all their digits."""
    return csv_file(path, {"t": sol.t, **columns(sol, outputs)})


def csv_file(path: str | PathLike, table: Mapping[str, Sequence[Any] | np.ndarray]) -> Path:
    """Write columns by name; a file of this name is replaced in one go, or not at all."""
    path = files.as_path(path)

    def write(descriptor: int) -> None:
        for text in csv_lines(table):
            files.write_all(descriptor, text.encode(), lambda _: None)

    files.replace(path, write)
    return path


def csv_lines(table: Mapping[str, Sequence[Any] | np.ndarray]) -> Iterator[str]:
    """Text, many lines at once. Numbers have as many digits as it takes to read the same number again."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    values: list[Any] = list(table.values())
    for first in range(0, len(values[0]), ROWS):
        parts = (column[first : first + ROWS] for column in values)
        writer.writerows(zip(*(part.tolist() if hasattr(part, "tolist") else part for part in parts), strict=True))
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


# -- HDF5 --------------------------------------------------------------------------------------------------------------


def to_hdf5(sol: Solution, path: str | PathLike, outputs: str | Sequence[str]) -> Path:
    """Datasets by name that any program can read; `Solution.save` is what reads them back as a result."""
    tables = {name: sol[name] for name in (*sol.names, *asked_for(sol, outputs))}
    return hdf5_file(path, sol, tables)


def hdf5_file(path: str | PathLike, sol: Solution, table: Mapping[str, np.ndarray]) -> Path:
    """t, and one dataset of `variables` for each name; events; what it is about are attributes."""
    import h5py

    path, buffer = files.as_path(path), io.BytesIO()  # HDF5 itself does not survive a disk that is full
    with h5py.File(buffer, "w") as file:
        file.attrs.update(about(sol))
        file["t"] = sol.t
        for name, values in table.items():
            data = file.create_dataset(f"variables/{_place(name, file.get('variables', ()))}", data=values)
            data.attrs.update({"name": name, **labels(sol, name)})
        file["events/t"] = np.array([event.t for event in sol.events], float)
        names = np.array([event.name for event in sol.events], object)
        file.create_dataset("events/name", data=names, dtype=h5py.string_dtype())
    files.replace(path, lambda descriptor: files.write_all(descriptor, buffer.getvalue(), lambda _: None))
    return path


def _place(name: str, taken: Any) -> str:
    """A name that HDF5 can have: there / makes a group, and . is the one that it is in."""
    place = name.replace("/", "|")
    while place.strip(".") == "" or place in taken:
        place += "_"
    return place


# -- tables and datasets -----------------------------------------------------------------------------------------------


def needed(package: str, caller: str) -> Any:
    """A package that comes with extras."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise DalembertError(f"{caller}() needs {package}; install it with: pip install {package}") from None


def to_pandas(sol: Solution, outputs: str | Sequence[str]) -> pd.DataFrame:
    """A table with the times as index; `attrs` has what it is about, and units."""
    pandas = needed("pandas", "to_pandas")
    table = columns(sol, outputs)
    frame = pandas.DataFrame(table, index=pandas.Index(sol.t, name="t"), columns=list(table))
    units = {name: known["units"] for name in table if "units" in (known := labels(sol, name))}
    frame.attrs = {**about(sol), **({"units": units} if units else {})}
    return frame


def to_xarray(sol: Solution, outputs: str | Sequence[str]) -> xr.Dataset:
    """A dataset over the dimension t; outputs keep their shapes, and events have a dimension of their own."""
    xarray = needed("xarray", "to_xarray")
    variables: dict[str, Any] = {name: ("t", sol[name], labels(sol, name)) for name in sol.names}
    for name in asked_for(sol, outputs):
        if name not in variables:
            value = sol[name]
            variables[name] = (("t", *(f"{name}_{k}" for k in range(value.ndim - 1))), value, labels(sol, name))
    coordinates: dict[str, Any] = {"t": ("t", sol.t, {"long_name": "time"})}
    if len(sol.events) and not {"event", "event_t"} & variables.keys():
        coordinates["event"] = ("event", np.array([event.name for event in sol.events], object))
        coordinates["event_t"] = ("event", np.array([event.t for event in sol.events], float))
    return xarray.Dataset(variables, coords=coordinates, attrs=about(sol))
