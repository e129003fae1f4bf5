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
    n_p, n_r = len(blocks.V), len(blocks.free)
    rows, columns = compiled.jacobian_pattern
    e_rows, e_columns = compiled.leading_pattern
    in_Y = np.full(n, -1)
    in_Y[blocks.Y] = np.arange(len(blocks.Y))

    def entries(low: str, high: str, wanted: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Nonzeros of ∂F/∂x in a range of rows and in the wanted columns, with local rows, and columns by `place`."""
        where = np.flatnonzero((rows >= first[low]) & (rows < first[high]) & wanted[columns])
        where = where[np.argsort(rows[where], kind="stable")]
        return np.ascontiguousarray([where, rows[where] - first[low], place[columns[where]]], dtype=np.int64)

    every = np.arange(n)
    of_p, of_v = every < n_p, (every >= n_p) & (every < 2 * n_p)
    of_r, of_Y = (every >= 2 * n_p) & (every < 2 * n_p + n_r), in_Y >= 0
    of_mass = np.flatnonzero((e_rows >= n_p) & (e_rows < 2 * n_p))
    mass = [of_mass + len(rows), e_rows[of_mass] - n_p, e_columns[of_mass] - n_p]
    return {
        "a1": entries("F1", "F2", of_Y, in_Y),
        "a3": entries("F3", "end", of_p, every),
        "f1": entries("F1", "F2", ~of_Y, every),
        "h": entries("F2", "F3", of_p, every),
        "mass": np.ascontiguousarray(mass, dtype=np.int64),
        "jv": entries("dynamic", "F1", of_v, every - n_p),
        "jp": entries("dynamic", "F1", of_p, every),
        "jr": entries("dynamic", "F1", of_r, every - 2 * n_p),
    }
