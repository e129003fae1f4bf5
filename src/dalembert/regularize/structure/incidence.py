"""Which unknown occurs in which equation of a DAE, and whether its derivative does.

An entry is there if the derivative of the equation by the unknown is not identically zero. What only switches (the
condition of a branch, sign, floor) is no entry: an equation cannot be solved for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from scipy import sparse

from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.model import Model


@dataclass(frozen=True, eq=False)
class Incidence:
    """σ by rows: row i has the columns `columns[starts[i]:starts[i + 1]]`, in increasing order.

    `order` holds the highest derivative of the column's unknown that occurs in the row: 0 or 1.
    """

    shape: tuple[int, int]
    starts: np.ndarray
    columns: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, columns: np.ndarray, order: np.ndarray, shape: tuple[int, int]) -> Incidence:
        """From entries in any order; of several entries at one place the highest counts.

        >>> sigma = Incidence.of([0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1], (2, 2))
        >>> sigma.columns.tolist(), sigma.order.tolist()
        ([0, 1, 0], [0, 1, 0])
        """
        rows, columns, order = (np.asarray(part, np.int64) for part in (rows, columns, order))
        sorted_ = np.lexsort((-order, columns, rows))
        rows, columns, order = rows[sorted_], columns[sorted_], order[sorted_]
        first = np.ones(len(rows), bool)
        first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=shape[0]))])
        return cls(shape, starts, columns[first], order[first])

    @computed
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.starts))

    def row(self, i: int) -> np.ndarray:
        """The columns of one row."""
        return self.columns[self.starts[i] : self.starts[i + 1]]

    def matrix(self, values: np.ndarray | None = None) -> sparse.csr_array:
        """A sparse matrix with these values at the entries; default: one."""
        values = np.ones(len(self.columns)) if values is None else values
        columns, starts = self.columns.astype(np.int32), self.starts.astype(np.int32)  # as SciPy's matchings want it
        return sparse.csr_array((values, columns, starts), shape=self.shape)

    def take(self, rows: Sequence[int] | np.ndarray) -> Incidence:
        """Some of the rows, in the order given."""
        rows = np.asarray(rows, np.int64)
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Incidence((len(rows), self.shape[1]), starts, self.columns[places], self.order[places])

    def where(self, kept: np.ndarray) -> Incidence:
        """Only the entries of a mask."""
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return Incidence(self.shape, starts, self.columns[kept], self.order[kept])


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of a DAE one below the other, 0 = F(t, x, x'): first those with derivatives, then constraints.

    `x` and `x_dot` are the graph's own symbols.
    """

    names: tuple[str, ...]
    residual: ca.SX
    x: ca.SX
    x_dot: ca.SX
    #: how often equations were differentiated that combinations are made of (`combine`), row by row; None: not at all
    spent: np.ndarray | None = None

    @classmethod
    def of(cls, model: Model) -> Equations:
        """Those of a `QuasiLinearDAE` or `ImplicitDAE`.

        Raises
        ------
        ModelError
            If there are functions that run as Python code, of which nothing is known, or if it is no DAE.
        """
        if model.own_formulation is None:
            raise ModelError(f"model '{model.name}' has equations of motion; structural analysis is for DAEs")
        functions = model.graph.functions
        python = [f"{role}=" for role, function in functions.items() if not function.traced]
        if python:
            raise ModelError(
                f"model '{model.name}': {', '.join(python)} runs as Python code, so that nobody knows which unknowns "
                "occur in its equations; write it with operations that can be traced"
            )
        graph = model.graph
        if model.own_formulation == "implicit":
            return cls(model.equation_names, graph.value("residual"), graph.symbol["x"], graph.dx)
        rows = [graph.value("rhs") - ca.mtimes(graph.value("leading"), graph.dx)]
        if model.n_constraints:
            rows.append(graph.value("constraints"))
        return cls(model.equation_names, ca.densify(ca.vertcat(*rows)), graph.symbol["x"], graph.dx)

    def some(self, rows: np.ndarray) -> Equations:
        """Some of the equations, in the order given."""
        spent = None if self.spent is None else self.spent[rows]
        names, residual = tuple(self.names[i] for i in rows), self.residual[np.asarray(rows).tolist()]
        return Equations(names, residual, self.x, self.x_dot, spent)

    def incidence(self) -> Incidence:
        """σ of all equations."""
        rows, columns, order = [], [], []
        for k, symbols in enumerate((self.x, self.x_dot)):
            pattern = ca.sparsify(ca.jacobian(self.residual, symbols)).sparsity()
            i, j = pattern.get_triplet()
            rows, columns, order = [*rows, *i], [*columns, *j], [*order, *[k] * len(i)]
        return Incidence.of(rows, columns, order, (self.residual.numel(), self.x.numel()))
