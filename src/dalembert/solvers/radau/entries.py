"""Where the blocks of a projected system that is `partitioned` have their nonzeros."""

from __future__ import annotations

import numpy as np


def first_rows(compiled) -> dict[str, int]:
    """Where the equations of a kind begin."""
    blocks = compiled.system.blocks
    n_p, n_r, n_1, n_3 = len(blocks.V), len(blocks.free), len(blocks.F1), len(blocks.F3)
    first = {"dynamic": n_p, "F1": 2 * n_p + n_r, "F2": 2 * n_p + n_r + n_1, "F3": 2 * n_p + n_r + n_1 + n_3}
    return {**first, "end": len(compiled.system.equations)}


def block_entries(compiled) -> dict[str, np.ndarray]:
    """The nonzeros of each block in three rows: place in the port's output, row, column."""
    blocks, n, first = compiled.system.blocks, compiled.system.n, first_rows(compiled)
    n_p = len(blocks.V)
    rows, columns = compiled.jacobian_pattern
    e_rows, e_columns = compiled.leading_pattern
    every = np.arange(n)

    def places(members: np.ndarray) -> np.ndarray:
        out = np.full(n, -1)
        out[members] = np.arange(len(members))
        return out

    in_Y, in_P, in_V, in_r = (places(members) for members in (blocks.Y, blocks.P, blocks.V, blocks.free))

    def entries(low: str, high: str, wanted: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Nonzeros of ∂F/∂x in a range of rows and in the wanted columns, with local rows, and columns by `place`."""
        where = np.flatnonzero((rows >= first[low]) & (rows < first[high]) & wanted[columns])
        where = where[np.argsort(rows[where], kind="stable")]
        return np.ascontiguousarray([where, rows[where] - first[low], place[columns[where]]], dtype=np.int64)

    of_mass = np.flatnonzero((e_rows >= n_p) & (e_rows < 2 * n_p))
    mass = [of_mass + len(rows), e_rows[of_mass] - n_p, in_V[e_columns[of_mass]]]
    return {
        "a1": entries("F1", "F2", in_Y >= 0, in_Y),
        "a3": entries("F3", "end", in_P >= 0, in_P),
        "f1": entries("F1", "F2", in_Y < 0, every),
        "h": entries("F2", "F3", in_P >= 0, in_P),
        "mass": np.ascontiguousarray(mass, dtype=np.int64),
        "jv": entries("dynamic", "F1", in_V >= 0, in_V),
        "jp": entries("dynamic", "F1", in_P >= 0, in_P),
        "jr": entries("dynamic", "F1", in_r >= 0, in_r),
    }
