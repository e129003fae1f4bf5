"""Numbers of native functions, point by point: their code called with NumPy arrays, and differences of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

from dalembert.errors import FunctionFailed, StepRefused
from dalembert.model.native import Code, Pattern

SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


class Groups:
    """Columns that have no row in common, for differences: `members[k]` are those of group k."""

    def __init__(self, pattern: Pattern, n_columns: int):
        rows, columns = pattern
        by_column = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[by_column], np.arange(n_columns + 1))
        taken: dict[int, set[int]] = {}  # row -> groups
        group = np.full(n_columns, -1)
        for j in range(n_columns):
            mine = rows[by_column[starts[j] : starts[j + 1]]].tolist()
            if not mine:
                continue
            used = set().union(*(taken.get(i, ()) for i in mine))
            k = next(k for k in range(len(used) + 1) if k not in used)
            group[j] = k
            for i in mine:
                taken.setdefault(i, set()).add(k)
        self.count = int(group.max(initial=-1)) + 1
        self.members = [np.flatnonzero(group == k) for k in range(self.count)]
        #: the entries of the pattern by columns
        self.entries, self.starts, self.rows = by_column, starts, rows


#: of the relative and the least step of differences
STEP, LEAST = 6e-6, 1e-2


class Caller:
    """Calls a quantity of a native function with NumPy arrays; for evaluations point by point."""

    def __init__(self, code: Code, what: str, n_out: int, where: str):
        self._code, self._call, self.where = code, SIGNATURE(code.addresses[what]), where
        self._n, self._room = n_out, n_out + int(code.scratch.get(what, 0))

    def __call__(self, t: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        out, x, theta = np.zeros(self._room), np.ascontiguousarray(x, float), np.ascontiguousarray(theta, float)
        status = self._call(t, x.ctypes.data, theta.ctypes.data, out.ctypes.data, self._code.record)
        out = out[: self._n]
        if status == 1 or not np.isfinite(out).all():
            raise StepRefused(f"{self.where} cannot be evaluated at t = {t:.9g}")
        if status:
            raise FunctionFailed(f"{self.where} failed at t = {t:.9g} (status {status})")
        return out


def difference(
    function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, place: slice, groups: Groups, size: int
) -> np.ndarray:
    """Central differences by x[place], in the order of the pattern that `groups` was made of."""
    out, point = np.zeros(size), x.copy()
    own = point[place]
    for members in groups.members:
        step = STEP * np.maximum(np.abs(x[place][members]), LEAST)
        own[members] += step
        above = function(point)
        own[members] = x[place][members] - step
        below = function(point)
        own[members] = x[place][members]
        change = above - below
        for j, h in zip(members, step, strict=True):
            where = groups.entries[groups.starts[j] : groups.starts[j + 1]]
            out[where] = change[groups.rows[where]] / (2 * h)
    return out
