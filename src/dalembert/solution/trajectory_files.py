"""Result files as Modelica tools write and read them: MATLAB 4, a "trajectory" of six matrices [1]_.

    Aclass        what it is, and that all others are transposed
    name          a name in each column
    description   a line about each, with its unit in brackets
    dataInfo      where each is: 1 or 2, the row of that matrix (negative: with the other sign), and how to read it
    data_1        parameters and other constants, at the first and at the last time
    data_2        variables at all times

Names whose values are the same to the last bit, up to their sign, share a row: models of many components have far more
names than quantities.

References
----------
.. [1] OpenModelica User's Guide, "Technical Details: The MATv4 Result File Format".
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.solution import files
from dalembert.solution.exports import ALL, columns, labels
from dalembert.solution.outputs import entries

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

#: of dataInfo: which matrix; linear between the points; not continued beyond the ends, or constant there
CONSTANTS, VARIABLES = 1, 2
LINEAR, NOWHERE, CONSTANT = 0, -1, 0


def to_mat(sol: Solution, path: str | PathLike, outputs: str | Sequence[str] | None) -> Path:
    """Parameters, variables and outputs; of a model with a beginning of its own (Modelica) all outputs by default."""
    if outputs is None:
        outputs = ALL if sol.model is not None and sol.model.beginning is not None else ()
    return mat_file(path, sol, columns(sol, outputs))


def mat_file(path: str | PathLike, sol: Solution, table: Mapping[str, np.ndarray]) -> Path:
    """Write columns by name, and the parameters of the result."""
    from scipy.io import savemat

    path = files.as_path(path)
    constants = {name: value for name, value in _parameters(sol).items() if name not in table}
    constants |= {name: float(column[0]) for name, column in table.items() if _is_constant(sol, name, column)}
    variables = {name: column for name, column in table.items() if name not in constants}
    where, rows = [[0, 1, LINEAR, NOWHERE]], [np.asarray(sol.t, float)]
    where += [[CONSTANTS, row, LINEAR, CONSTANT] for row in range(2, len(constants) + 2)]
    known: dict[bytes, int] = {}
    for column in variables.values():
        column = np.ascontiguousarray(column, float)
        row = known.get(_digest(column))
        if row is None:
            rows.append(column)
            row = len(rows)
            known |= {_digest(-column): -row, _digest(column): row}
        where.append([VARIABLES, row, LINEAR, NOWHERE])
    ends = np.array(sol.trajectory.interval, float)
    matrices = {
        "Aclass": _characters(["Atrajectory", "1.1", "", "binTrans"]),
        "name": _characters(["time", *constants, *variables]).T,
        "description": _characters(["Time", *(_line(sol, name) for name in (*constants, *variables))]).T,
        "dataInfo": np.array(where, np.int32).T,
        "data_1": np.vstack([ends, *(np.full(2, value) for value in constants.values())]),
        "data_2": np.vstack(rows),
    }

    def write(descriptor: int) -> None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            savemat(file, {name: np.ascontiguousarray(matrix) for name, matrix in matrices.items()}, format="4")

    files.replace(path, write)
    return path


def _parameters(sol: Solution) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in sol.parameters.items():
        found |= {key: float(column[0]) for key, column in entries(name, np.asarray(value, float)[None], 1).items()}
    return found


def _is_constant(sol: Solution, name: str, column: np.ndarray) -> bool:
    """Whether it is an output that follows from parameters, and not a variable that happens to stay where it is."""
    if sol.model is None or not len(column) or not (column == column[0]).all():
        return False
    if name in sol.parameters:
        return True
    if name not in sol.model.outputs or name in sol.names:
        return False
    reads = sol.model.outputs.reads(name)
    return not reads.accelerations and not any(len(rows) for rows in reads.rows.values())


def _digest(column: np.ndarray) -> bytes:
    return hashlib.blake2b(column.tobytes(), digest_size=16).digest()


def _line(sol: Solution, name: str) -> str:
    """As Modelica tools write it: text, and the unit in brackets."""
    known = labels(sol, name)
    unit = f"[{known['units']}]" if "units" in known else ""
    return " ".join(part for part in (known.get("long_name", ""), unit) if part)


def _characters(texts: Sequence[str]) -> np.ndarray:
    """One text in each row, in UTF-8, filled up with blanks."""
    plain = [text.encode().decode("latin-1") for text in texts]  # a character for each byte, which is what is written
    width = max(1, *map(len, plain))
    return np.array([list(text.ljust(width)) for text in plain], "U1")
