"""Columns that are nothing but symbols and constants in some order: what is copied need not be compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np


@dataclass(frozen=True)
class Gathered:
    """Entries of a column: `sign` times component `index` of the vector `source`, the constant `value` if that is −1.

    A source of −2 is anything else.
    """

    source: np.ndarray
    index: np.ndarray
    sign: np.ndarray
    value: np.ndarray

    @property
    def others(self) -> np.ndarray:
        """Which entries are anything else."""
        return np.flatnonzero(self.source == -2)


def gathered(vectors: Sequence[ca.SX], column: ca.SX) -> Gathered:
    """Where the entries of a column stand in the vectors."""
    n = column.numel()
    if not n:
        return Gathered(*(np.zeros(0, int),) * 2, *(np.zeros(0),) * 2)
    function = ca.Function("gather", list(vectors), [column])
    # where each entry comes from shows in its value: all symbols are numbered, in two ways
    ends = np.cumsum([0, *(vector.numel() for vector in vectors)])
    number = np.arange(1.0, ends[-1] + 1)
    first, second = (
        np.array(function(*np.split(values, ends[1:-1])), float).ravel() for values in (number, 2 * number + 0.5)
    )
    sign, size = np.where(np.signbit(first), -1, 1), np.abs(first)
    looks = (np.abs(second) == 2 * size + 0.5) & (size >= 1) & (size <= ends[-1]) & (size == np.floor(size))
    # ... or so it seems: what the graph itself says is decisive
    source, index, value = np.full(n, -2), np.zeros(n, np.int64), np.zeros(n)
    for which, one in ((looks & (sign > 0), 1), (looks & (sign < 0), -1)):
        where = np.flatnonzero(which)
        entries = column[where.tolist()]
        if len(where) and (entries if one > 0 else -entries).is_valid_input():
            place = size[where].astype(np.int64) - 1
            source[where] = np.searchsorted(ends, place, side="right") - 1
            index[where] = place - ends[source[where]]
    where = np.flatnonzero(~looks & (first == second))
    if len(where) and column[where.tolist()].is_constant():
        source[where], value[where] = -1, first[where]
    return Gathered(source, index, np.where(source >= 0, sign, 1), value)


def run_of(found: Gathered, source: int, size: int) -> int | None:
    """Where in the results all numbers of a source stand in a row, if they do and nowhere else."""
    where = np.flatnonzero(found.source == source)
    if len(where) != size or where[-1] - where[0] != size - 1 or (found.index[where] != np.arange(size)).any():
        return None
    return int(where[0]) if (found.sign[where] > 0).all() else None


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last + 1 of each stretch of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
