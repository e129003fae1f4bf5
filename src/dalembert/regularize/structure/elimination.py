"""Derivatives that follow from equations by a safe division, so that they need not be unknowns.

A derivative is taken from an equation whose coefficient is a nonzero number or an expression of parameters alone, or
from a group of equations whose matrix is definite wherever one looks (a mass matrix), or made of numbers. Everything
else might be divided by zero on the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.model import Model
from dalembert.regularize.structure.analysis import Structure
from dalembert.regularize.structure.decomposition import triangular_blocks
from dalembert.regularize.structure.incidence import Incidence
from dalembert.regularize.structure.matching import augment, maximum_matching
from dalembert.regularize.structure.switching import rows_that_switch

#: rows of a matrix up to which its decomposition becomes part of the graph
LARGEST_BLOCK = 60
#: derivatives that contain others, which contain others …: long chains make dense rows of sparse ones
DEEPEST = 8
#: pivots of scaled matrices below this are zero
SMALLEST = 1e-9


@dataclass(frozen=True)
class Rates:
    """Derivatives x' of some unknowns, from equations that are linear in x'.

    `values` are expressions of x, t, θ and of those x' (the graph's symbols) that have none here.
    """

    rows: np.ndarray  # equations that are used
    columns: np.ndarray  # the unknown that each of them gives, if they are taken together
    values: ca.SX  # of x' of these columns
    divisors: ca.SX  # parameters and numbers alone, which must not vanish


def picked(column: ca.SX, places: np.ndarray) -> ca.SX:
    """Entries of a column, as a column also if there is none."""
    return column[np.asarray(places, int).tolist()] if len(places) else ca.SX(0, 1)


def leading_matrix(equations: ca.SX, x_dot: ca.SX) -> ca.SX:
    """−∂F/∂x'."""
    return -ca.sparsify(ca.jacobian(equations, x_dot))


def solved_rates(model: Model, structure: Structure, F: ca.SX, E: ca.SX) -> Rates:
    """As many derivatives as equations give safely; only those which give all derivatives of an unknown are used."""
    x_dot = model.graph.dx
    entries = _Entries.of(model, structure, F, E)
    blocks = [block for block in _blocks(entries) if len(block[0]) <= LARGEST_BLOCK]
    chosen: list[tuple[np.ndarray, np.ndarray, ca.SX | None]] = []  # rows, columns, inverse where it is made of numbers
    values_at = _Samples(model, E)
    for rows, columns in blocks:
        if len(rows) == 1 and entries.is_safe(rows[0], columns[0]):
            chosen.append((rows, columns, None))
            continue
        inverse = _numbers_inverse(E, rows, columns)
        if inverse is not None or values_at.definite(rows, columns):
            chosen.append((rows, columns, inverse))
    chosen = _shallow(E, chosen)
    used_rows = np.concatenate([np.zeros(0, int), *(rows for rows, _, _ in chosen)])
    used_columns = np.concatenate([np.zeros(0, int), *(columns for _, columns, _ in chosen)])
    if not len(used_rows):
        return Rates(used_rows, used_columns, ca.SX(0, 1), ca.SX(0, 1))
    rest = _without_own(F, E, x_dot, chosen)
    values, divisors = _divide(E, rest, chosen)
    values = _nested(values, x_dot, used_columns)
    return Rates(used_rows, used_columns, values, divisors)


@dataclass(frozen=True)
class _Entries:
    """Entries of E by which a derivative may be found: of equations linear in x', with d_j − c_i = 1.

    The derivatives of such an equation give all higher ones of the unknown.
    """

    pattern: Incidence
    safe: frozenset[tuple[int, int]]  # entries which are numbers or made of parameters alone, and not zero

    @classmethod
    def of(cls, model: Model, structure: Structure, F: ca.SX, E: ca.SX) -> _Entries:
        graph = model.graph
        rows, columns = (np.array(part, int) for part in E.sparsity().get_triplet())
        nonzeros = E.nz[:]
        nonlinear = np.zeros(E.shape[0], bool)
        if not model.linear_in_rates:
            nonlinear = rows_that_switch(F, graph.dx)
            nonlinear[rows[_touched(nonzeros, graph.dx)]] = True
        fits = (structure.d[columns] - structure.c[rows] == 1) & ~nonlinear[rows]
        varies = _touched(nonzeros, ca.vertcat(graph.symbol["x"], graph.dx, graph.changing))
        numbers = _parameter_numbers(model, nonzeros, ~varies)
        good = fits & ~varies & np.isfinite(numbers) & (numbers != 0)
        safe = frozenset(zip(rows[good].tolist(), columns[good].tolist(), strict=True))
        return cls(Incidence.of(rows[fits], columns[fits], np.ones(fits.sum()), E.shape), safe)

    def is_safe(self, row: int, column: int) -> bool:
        return (int(row), int(column)) in self.safe

    def safe_pattern(self) -> Incidence:
        rows, columns = np.array(sorted(self.safe), int).reshape(-1, 2).T
        return Incidence.of(rows, columns, np.ones(len(rows)), self.pattern.shape)


def _where(column: ca.SX, mask: np.ndarray) -> ca.SX:
    """Zeros in place of the entries outside of a mask."""
    if mask.all():
        return column
    result = ca.SX.zeros(column.numel())
    chosen = np.flatnonzero(mask).tolist()
    if chosen:
        result[chosen] = column[chosen]
    return result


def _touched(column: ca.SX, symbols: ca.SX) -> np.ndarray:
    """Mask of the rows that contain a symbol."""
    if not column.numel() or not ca.depends_on(column, symbols):
        return np.zeros(column.numel(), bool)
    return np.diff(ca.jacobian_sparsity(column, symbols).T.colind()) > 0


def _blocks(entries: _Entries) -> list[tuple[np.ndarray, np.ndarray]]:
    """Equations that give derivatives together, and these, in the order of solution; safe entries are preferred."""
    pattern = entries.pattern
    column_of = maximum_matching(entries.safe_pattern())
    row_of = np.full(pattern.shape[1], -1)
    row_of[column_of[column_of >= 0]] = np.flatnonzero(column_of >= 0)
    for i in np.flatnonzero((column_of < 0) & (np.diff(pattern.starts) > 0)).tolist():
        augment(pattern, i, row_of, column_of)
    rows = np.flatnonzero(column_of >= 0)
    columns = np.sort(column_of[rows])
    within = pattern.take(rows)
    place = np.full(pattern.shape[1], -1)
    place[columns] = np.arange(len(columns))
    within = within.where(place[within.columns] >= 0)
    square = Incidence((len(rows), len(columns)), within.starts, place[within.columns], within.order)
    blocks = triangular_blocks(square, place[column_of[rows]])
    return [(np.sort(rows[r]), np.sort(columns[c])) for r, c in blocks]


def _numbers_inverse(E: ca.SX, rows: np.ndarray, columns: np.ndarray) -> np.ndarray | None:
    block = E[rows.tolist(), columns.tolist()]
    if not block.is_constant():
        return None
    matrix = np.array(ca.DM(block), float)
    scale_rows, scale_columns = np.abs(matrix).max(axis=1), np.abs(matrix).max(axis=0)
    scaled = matrix / np.sqrt(np.outer(scale_rows, scale_columns))
    if not np.isfinite(scaled).all() or np.linalg.cond(scaled) > 1 / SMALLEST:
        return None
    return np.linalg.inv(matrix)


class _Samples:
    """Values of E at generic points."""

    def __init__(self, model: Model, E: ca.SX):
        graph, self._E, self._model, self._points = model.graph, E, model, None
        self._arguments = [graph.t, graph.symbol["x"], graph.dx, graph.theta]

    def definite(self, rows: np.ndarray, columns: np.ndarray) -> bool:
        """Whether a block is symmetric and positive definite (or negative definite) wherever one looks."""
        block = self._E[rows.tolist(), columns.tolist()]
        if block.sparsity() != block.T.sparsity():
            return False
        function = ca.Function("block", self._arguments, [ca.densify(block)])
        signs = []
        for t, x, x_dot, theta in sample_points(self._model):
            matrix = np.array(function(t, x, x_dot, theta), float)
            if np.isfinite(matrix).all():
                signs.append(_definite(matrix))
        return len(signs) > 1 and abs(sum(signs)) == len(signs)


def sample_points(model: Model, count: int = 6) -> list[tuple[float, np.ndarray, np.ndarray, np.ndarray]]:
    """t, x, x' and θ at which nothing vanishes by chance, of several sizes: functions may not be defined everywhere."""
    random, n, points = np.random.default_rng(1), model.graph.size("x"), []
    for k in range(count):
        size = (1.0, 0.1, 0.7, 3.0, 10.0, 1.0)[k % 6]
        x = size * random.uniform(-1.0, 1.0, n) if k % 2 else size * random.uniform(0.2, 1.0, n)
        theta = model.graph.sample_theta(float(random.uniform(0.2, 1.0)))
        points.append((float(random.uniform(0.0, 1.0)), x, size * random.uniform(-1.0, 1.0, n), theta))
    return points


def _definite(matrix: np.ndarray) -> int:
    """1 for positive, −1 for negative definite, 0 for other matrices."""
    diagonal = np.diag(matrix)
    if not ((diagonal > 0).all() or (diagonal < 0).all()):
        return 0
    scale = np.sqrt(np.abs(diagonal))
    scaled = np.sign(diagonal[0]) * matrix / np.outer(scale, scale)
    if np.abs(scaled - scaled.T).max() > 1e-10:
        return 0
    try:
        pivots = np.diag(np.linalg.cholesky(scaled)) ** 2
    except np.linalg.LinAlgError:
        return 0
    return int(np.sign(diagonal[0])) if pivots.min() > SMALLEST else 0


def _shallow(E: ca.SX, chosen: list) -> list:
    """Without those that need a long chain of others."""
    block_of = np.full(E.shape[1], -1)
    pattern = E.sparsity().T  # by rows
    starts, columns = np.array(pattern.colind()), np.array(pattern.row())
    depth: list[int] = []
    kept = []
    for rows, own, inverse in chosen:
        needs = np.unique(np.concatenate([columns[starts[i] : starts[i + 1]] for i in rows]))
        others = block_of[np.setdiff1d(needs, own)]
        deep = 1 + max((depth[b] for b in others.tolist() if b >= 0), default=-1)
        if deep <= DEEPEST:
            block_of[own] = len(kept)
            depth.append(deep)
            kept.append((rows, own, inverse))
    return kept


def _without_own(F: ca.SX, E: ca.SX, x_dot: ca.SX, chosen: list) -> ca.SX:
    """The equations without the terms of E x' for which they are solved."""
    still = ca.substitute(F, x_dot, ca.SX.zeros(x_dot.numel()))
    rows, columns = (np.array(part, int) for part in E.sparsity().get_triplet())
    row_block, column_block = np.full(E.shape[0], -1), np.full(E.shape[1], -2)
    for k, (own_rows, own_columns, _) in enumerate(chosen):
        row_block[own_rows], column_block[own_columns] = k, k
    others = np.flatnonzero((row_block[rows] >= 0) & (row_block[rows] != column_block[columns]))
    if len(others):
        off = ca.SX(ca.Sparsity.triplet(*E.shape, rows[others].tolist(), columns[others].tolist()),
                    E.nz[others.tolist()])  # fmt: skip
        still = still - ca.mtimes(off, x_dot)
    return still


def _divide(E: ca.SX, rest: ca.SX, chosen: list) -> tuple[ca.SX, ca.SX]:
    """x' of each block."""
    singles = [k for k, (rows, _, inverse) in enumerate(chosen) if len(rows) == 1]
    values: list[ca.SX | None] = [None] * len(chosen)
    divisors = ca.SX(0, 1)
    if singles:
        i = [int(chosen[k][0][0]) for k in singles]
        j = [int(chosen[k][1][0]) for k in singles]
        divisors = ca.vertcat(*(E[a, b] for a, b in zip(i, j, strict=True)))
        quotients = rest[i] / divisors
        for k, quotient in zip(singles, ca.vertsplit(quotients), strict=True):
            values[k] = quotient
    for k, (rows, columns, inverse) in enumerate(chosen):
        if len(rows) == 1:
            continue
        right = rest[rows.tolist()]
        if inverse is not None:
            values[k] = ca.mtimes(ca.DM(inverse), right)
        else:
            block = E[rows.tolist(), columns.tolist()]
            D, L, order = ca.ldl(ca.sparsify(block))
            values[k] = ca.ldl_solve(right, D, L, order)
    return ca.densify(ca.vertcat(*values)), divisors


def _nested(values: ca.SX, x_dot: ca.SX, columns: np.ndarray) -> ca.SX:
    """Without those x' which the values give themselves."""
    own = x_dot[columns.tolist()]
    for _ in range(DEEPEST + 1):
        if not ca.depends_on(values, own):
            break
        values = ca.substitute(values, own, values)
    return values


@dataclass(frozen=True)
class Given:
    """Unknowns y that follow from rows: y[columns] = values, row by row."""

    rows: np.ndarray
    columns: np.ndarray
    y: ca.SX
    values: list[ca.SX]

    def insert(self, expression: ca.SX) -> ca.SX:
        """An expression without these unknowns."""
        if not len(self.columns) or not ca.depends_on(expression, self.y[self.columns.tolist()]):
            return expression
        symbols = [self.y[int(j)] for j in self.columns]
        return ca.densify(ca.substitute_inplace(symbols, self.values, [expression])[1][0])


def given_by_rows(model: Model, rows: ca.SX, y: ca.SX, order: np.ndarray) -> Given:
    """Find unknowns y in rows that contain no other y that is still unknown, with a coefficient that is safe.

    Rows that were differentiated most often (`order`) are taken first.
    """
    J = ca.sparsify(ca.jacobian(rows, y)) if y.numel() else ca.SX(rows.numel(), 0)
    i, j = (np.array(part, int) for part in ca.jacobian_sparsity(rows, y).get_triplet()) if y.numel() else ([], [])
    contains: list[set[int]] = [set() for _ in range(rows.numel())]
    within: list[set[int]] = [set() for _ in range(y.numel())]
    for row, column in zip(i, j, strict=True):
        contains[row].add(int(column))
        within[column].add(int(row))
    safe = _safe_coefficients(model, rows, J, y)
    ready = sorted((row for row in range(len(contains)) if len(contains[row]) == 1), key=lambda row: -order[row])
    used, found, symbols, values = [], [], [], []
    while ready:
        row = ready.pop(0)
        if len(contains[row]) != 1:
            continue
        (column,) = contains[row]
        coefficient = safe.get((row, column))
        if coefficient is None:
            continue
        used.append(row)
        found.append(column)
        for other in within[column]:
            contains[other].discard(column)
            if len(contains[other]) == 1 and other != row:
                ready.append(other)
        symbols.append(y[column])
        values.append(-ca.substitute(rows[row], y[column], 0) / coefficient)
    return Given(np.array(used, int), np.array(found, int), y, values)


def _safe_coefficients(model: Model, rows: ca.SX, J: ca.SX, y: ca.SX) -> dict[tuple[int, int], ca.SX]:
    """Coefficients of y that are numbers or made of parameters, and not zero, of rows that are linear in it."""
    if not J.nnz():
        return {}
    graph = model.graph
    i, j = (np.array(part, int) for part in J.sparsity().get_triplet())
    nonzeros = J.nz[:]
    varies = _touched(nonzeros, ca.vertcat(graph.symbol["x"], y, graph.changing))
    values = _parameter_numbers(model, nonzeros, ~varies)
    good = ~varies & np.isfinite(values) & (values != 0) & ~rows_that_switch(rows, y)[i]
    return {(int(i[k]), int(j[k])): nonzeros[int(k)] for k in np.flatnonzero(good)}


def _parameter_numbers(model: Model, column: ca.SX, which: np.ndarray) -> np.ndarray:
    """Values of those entries that depend on parameters alone."""
    graph = model.graph
    function = ca.Function("numbers", [graph.parameter_symbols], [_where(column, which)])
    return np.array(function(graph.parameter_values), float).ravel()
