"""The saddle-point system of constrained mechanics, and what all its solvers share. See `saddle` for the kernels' side.

[ M   Uᵀ ] [ w ]   [ f ]        M: symmetric positive semi-definite, and positive definite on the kernel of G
[ G   0  ] [ λ ] = [ g ]        U = G (the symmetric case), or U close to G
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dalembert.errors import ModelError
from dalembert.linalg.protocol import SADDLE, LinearSolver, Pattern  # noqa: F401

Entries = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class SaddlePattern(Pattern):
    """Where M, G and U have nonzeros: rows and columns, in the order in which their values will come."""

    kind: ClassVar[str] = SADDLE
    #: whether constraints may depend on each other
    redundant: ClassVar[bool] = False

    n_v: int
    n_lam: int
    mass: Entries  # of M, both triangles
    constraint: Entries  # of G
    force: Entries | None = None  # of U (rows: constraints, columns: velocities); None: symmetric, U = G
    velocity_names: tuple[str, ...] = ()
    constraint_names: tuple[str, ...] = ()
    # of M and of G (and of U, if its pattern is that of G) what is the same all the time; NaN what is not
    mass_values: np.ndarray | None = None
    constraint_values: np.ndarray | None = None

    def __post_init__(self) -> None:
        def put(name, value):
            object.__setattr__(self, name, value)

        faults: list[str] = []
        put("mass", _entries("M", self.mass, (self.n_v, self.n_v), faults))
        put("constraint", _entries("G", self.constraint, (self.n_lam, self.n_v), faults))
        if self.force is not None:
            put("force", _entries("U", self.force, (self.n_lam, self.n_v), faults))
        put("velocity_names", tuple(self.velocity_names) or tuple(f"v[{i}]" for i in range(self.n_v)))
        put("constraint_names", tuple(self.constraint_names) or tuple(f"constraint[{i}]" for i in range(self.n_lam)))
        for names, n, of in ((self.velocity_names, self.n_v, "n_v"), (self.constraint_names, self.n_lam, "n_lam")):
            if len(names) != n:
                faults.append(f"{len(names)} names are given for {of} = {n}")
        for values, pair, of in ((self.mass_values, self.mass, "M"), (self.constraint_values, self.constraint, "G")):
            if values is not None and len(values) != len(pair[0]):
                faults.append(f"{len(values)} values are given for the {len(pair[0])} entries of {of}")
        if self.n_lam > self.n_v and not self.redundant:
            faults.append(
                f"{self.n_lam} constraints on {self.n_v} velocities cannot be independent; "
                "Geoms(algebraic='svd') takes redundant ones"
            )
        if not faults:
            entries = set(zip(*(a.tolist() for a in self.mass), strict=True))
            lonely = next(((i, j) for i, j in entries if (j, i) not in entries), None)
            if lonely:
                i, j = (self.velocity_names[k] for k in lonely)
                faults.append(f"M has an entry at ({i}, {j}) but none at ({j}, {i}): give both triangles")
        if faults:
            raise ModelError("the pattern of a saddle-point system is faulty", faults)

    @property
    def symmetric(self) -> bool:
        return self.force is None

    @property
    def n(self) -> int:
        return self.n_v + self.n_lam

    def name(self, unknown: int) -> str:
        """What an unknown (0 … n_v + n_λ − 1) is called."""
        if unknown < self.n_v:
            return f"velocity '{self.velocity_names[unknown]}'"
        return f"constraint '{self.constraint_names[unknown - self.n_v]}'"

    def entries(self) -> Entries:
        """Rows and columns of the whole matrix: first M, then G, then Uᵀ."""
        (mi, mj), (gi, gj), (ui, uj) = self.mass, self.constraint, self.force or self.constraint
        n = self.n_v
        return np.concatenate([mi, n + gi, uj]), np.concatenate([mj, gj, n + ui])


def _entries(name: str, pair: Entries, shape: tuple[int, int], faults: list[str]) -> Entries:
    rows, columns = (np.ascontiguousarray(a, dtype=np.int64) for a in pair)
    if rows.ndim != 1 or rows.shape != columns.shape:
        faults.append(f"rows and columns of {name} must be vectors of the same length")
    elif rows.size and (min(rows.min(), columns.min()) < 0 or rows.max() >= shape[0] or columns.max() >= shape[1]):
        faults.append(f"entries of {name} lie outside of its shape {shape[0]} × {shape[1]}")
    return rows, columns
