"""Results for other programs: CSV, xarray, and the result files of Modelica tools."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.solution import files
from dalembert.solution.outputs import entries

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.solution.solution import Solution

#: rows of a table that become text at once
ROWS = 10_000


def columns(sol: Solution, outputs: str | Sequence[str]) -> dict[str, np.ndarray]:
    """All variables, and the entries of outputs, by name."""
    found = {name: sol[name] for name in sol.names}
    for name in [outputs] if isinstance(outputs, str) else outputs:
        found |= entries(name, sol[name], len(sol.t))
    return found


def to_csv(sol: Solution, path: str | PathLike, outputs: str | Sequence[str]) -> Path:
    """A table with a line of names; numbers with all their digits."""
    path, table = files.as_path(path), {"t": sol.t, **columns(sol, outputs)}

    def write(descriptor: int) -> None:
        for text in _lines(table):
            files.write_all(descriptor, text.encode(), lambda _: None)

    files.replace(path, write)
    return path


def _lines(table: Mapping[str, np.ndarray]) -> Iterator[str]:
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(table)
    yield head.getvalue()
    values = list(table.values())
    for first in range(0, len(values[0]), ROWS):
        rows = zip(*(column[first : first + ROWS].tolist() for column in values), strict=True)
        yield "".join(",".join(map(repr, row)) + "\n" for row in rows)


def to_xarray(sol: Solution, outputs: str | Sequence[str]) -> xr.Dataset:
    """A dataset over the dimension t; outputs keep their shapes."""
    try:
        import xarray as xr
    except ImportError:
        raise DalembertError("to_xarray() needs xarray; install it with: pip install xarray") from None
    variables: dict[str, Any] = {name: ("t", sol[name]) for name in sol.names}
    for name in [outputs] if isinstance(outputs, str) else outputs:
        value = sol[name]
        variables[name] = (("t", *(f"{name}_{k}" for k in range(value.ndim - 1))), value)
    about = {"method": sol.method, "status": sol.status, "formulation": sol.formulation}
    if sol.model is not None:
        about["model"] = sol.model.name
    return xr.Dataset(variables, coords={"t": sol.t}, attrs=about)


# -- Modelica ----------------------------------------------------------------------------------------------------------


def to_mat(sol: Solution, path: str | PathLike, outputs: str | Sequence[str]) -> Path:
    """A trajectory as Modelica tools write it: MATLAB 4, matrices Aclass, name, description, dataInfo, data_1, data_2.

    data_1 holds parameters at the first and the last time, data_2 variables at all times; dataInfo says where each
    name is: in which of them, in which row, and that it is interpolated linearly and not continued beyond the ends.
    """
    from scipy.io import savemat

    path, variables = files.as_path(path), columns(sol, outputs)
    constants = {name: float(value) for name, value in sol.parameters.items() if np.ndim(value) == 0}
    names = ["time", *constants, *variables]
    where = [[0, 1, 0, -1]]
    where += [[1, row, 0, 0] for row in range(2, len(constants) + 2)]
    where += [[2, row, 0, -1] for row in range(2, len(variables) + 2)]
    ends = np.array(sol.trajectory.interval, float)
    data_1 = np.vstack([ends, *(np.full(2, value) for value in constants.values())])
    told = ["Time", *("parameter" for _ in constants), *("" for _ in variables)]
    buffer = io.BytesIO()
    matrices = {
        "Aclass": _characters(["Atrajectory", "1.1", "", "binTrans"]),
        "name": np.ascontiguousarray(_characters(names).T),
        "description": np.ascontiguousarray(_characters(told).T),
        "dataInfo": np.array(where, np.int32).T,
        "data_1": data_1,
        "data_2": np.vstack([sol.t, *variables.values()]),
    }
    savemat(buffer, matrices, format="4")
    files.replace(path, lambda descriptor: files.write_all(descriptor, buffer.getvalue(), lambda _: None))
    return path


def _characters(texts: Sequence[str]) -> np.ndarray:
    """One text in each row, filled up with blanks; what is not in Latin-1 becomes a question mark."""
    plain = [text.encode("latin-1", "replace").decode("latin-1") for text in texts]
    width = max(1, *map(len, plain))
    return np.array([list(text.ljust(width)) for text in plain], "U1")
