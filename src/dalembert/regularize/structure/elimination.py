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
#: coefficients that are sums, in units of what else stands in a row: smaller ones are rounding errors
ROUNDING = 1e-12
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


def leading_matrix(equations: ca.SX, x_dot: ca.SX) -> ca.SX:
    """−∂F/∂x'."""
    return -ca.sparsify(ca.jacobian(equations, x_dot))


def solved_rates(model: Model, structure: Structure, F: ca.SX, E: ca.SX) -> Rates:
    """As many derivatives as equations give safely; only those which give all derivatives of an unknown are used."""
    entries, samples = _Entries.of(model, structure, F, E), _Samples(model, E)
    chosen: list[_Group] = []
    for rows, columns in _blocks(entries):
        if len(rows) == 1 and (int(rows[0]), int(columns[0])) in entries.safe:
            chosen.append(_Group(rows, columns))
        elif len(rows) <= LARGEST_BLOCK:
            inverse = _inverse_of_numbers(E, rows, columns)
            if inverse is not None or samples.definite(rows, columns):
                chosen.append(_Group(rows, columns, inverse))
    chosen = _shallow(E, chosen)
    if not chosen:
        return Rates(np.zeros(0, int), np.zeros(0, int), ca.SX(0, 1))
    columns = np.concatenate([group.columns for group in chosen])
    values = _divided(E, _without_own(F, E, model.graph.dx, chosen), chosen)
    values = _nested(values, model.graph.dx[columns.tolist()])
    return Rates(np.concatenate([group.rows for group in chosen]), columns, values)


@dataclass(frozen=True)
class _Group:
    """Equations that are solved for derivatives of as many unknowns, by this inverse or by a decomposition."""

    rows: np.ndarray
    columns: np.ndarray
    inverse: np.ndarray | None = None


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
        largest = np.zeros(E.shape[0])
        np.maximum.at(largest, rows, np.nan_to_num(np.abs(numbers)))
        good = fits & ~varies & np.isfinite(numbers) & (np.abs(numbers) > ROUNDING * largest[rows])
        safe = frozenset(zip(rows[good].tolist(), columns[good].tolist(), strict=True))
        return cls(Incidence.of(rows[fits], columns[fits], np.ones(fits.sum()), E.shape), safe)

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


def _inverse_of_numbers(E: ca.SX, rows: np.ndarray, columns: np.ndarray) -> np.ndarray | None:
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
    """t, x, x' and θ at which nothing vanishes by chance, of several sizes: functions may not be defined everywhere.

    Of hybrid DAEs, there are twice as many, with truth values at random after the first.
    """
    random, n, points = np.random.default_rng(1), model.graph.size("x"), []
    for k in range(count if model.hybrid is None else 2 * count):
        size = (1.0, 0.1, 0.7, 3.0, 10.0, 1.0)[k % 6]
        x = size * random.uniform(-1.0, 1.0, n) if k % 2 else size * random.uniform(0.2, 1.0, n)
        moved = float(random.uniform(0.0, 0.5)) * (k % 2) if model.hybrid is None else 0.0
        theta = model.graph.sample_theta(float(random.uniform(0.2, 1.0)), moved)
        if model.hybrid is not None and k:
            theta[model.theta_layout.discrete] = random_truth(model, random)
        points.append((float(random.uniform(0.0, 1.0)), x, size * random.uniform(-1.0, 1.0, n), theta))
    return points


def random_truth(model: Model, random: np.random.Generator) -> np.ndarray:
    """Values of the discrete variables: those that may be truth values at random, others as they start."""
    values = model.graph.discrete_values
    return np.where((values == 0) | (values == 1), random.integers(0, 2, len(values)), values)


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


def _shallow(E: ca.SX, groups: list[_Group]) -> list[_Group]:
    """Without those that need a long chain of others."""
    by_rows = E.sparsity().T
    starts, columns = by_rows.colind(), by_rows.row()
    depth: dict[int, int] = {}  # of the unknowns whose derivatives are found
    kept = []
    for group in groups:
        own = set(group.columns.tolist())
        needs = {j for i in group.rows.tolist() for j in columns[starts[i] : starts[i + 1]]} - own
        here = 1 + max((depth.get(j, -1) for j in needs), default=-1)
        if here <= DEEPEST:
            depth |= dict.fromkeys(own, here)
            kept.append(group)
    return kept


def _without_own(F: ca.SX, E: ca.SX, x_dot: ca.SX, groups: list[_Group]) -> ca.SX:
    """The equations without the terms of E x' for which they are solved."""
    rest = ca.substitute(F, x_dot, ca.SX.zeros(x_dot.numel()))
    rows, columns = (np.array(part, int) for part in E.sparsity().get_triplet())
    of_row, of_column = np.full(E.shape[0], -1), np.full(E.shape[1], -2)
    for number, group in enumerate(groups):
        of_row[group.rows], of_column[group.columns] = number, number
    others = np.flatnonzero((of_row[rows] >= 0) & (of_row[rows] != of_column[columns]))
    if len(others):
        pattern = ca.Sparsity.triplet(*E.shape, rows[others].tolist(), columns[others].tolist())
        rest = rest - ca.mtimes(ca.SX(pattern, E.nz[others.tolist()]), x_dot)
    return rest


def _divided(E: ca.SX, rest: ca.SX, groups: list[_Group]) -> ca.SX:
    """x' of each group, one below the other."""
    single = [len(group.rows) == 1 for group in groups]
    values: list[ca.SX] = [ca.SX(0, 1)] * len(groups)
    alone = [group for group, is_single in zip(groups, single, strict=True) if is_single]
    if alone:
        entry = {place: k for k, place in enumerate(zip(*E.sparsity().get_triplet(), strict=True))}
        rows, columns = [int(group.rows[0]) for group in alone], [int(group.columns[0]) for group in alone]
        divisors = E.nz[[entry[place] for place in zip(rows, columns, strict=True)]]
        quotients = iter(ca.vertsplit(rest[rows] / divisors))
        values = [next(quotients) if is_single else nothing for is_single, nothing in zip(single, values, strict=True)]
    for k, group in enumerate(groups):
        if single[k]:
            continue
        right = rest[group.rows.tolist()]
        if group.inverse is not None:
            values[k] = ca.mtimes(ca.DM(group.inverse), right)
        else:
            D, L, order = ca.ldl(ca.sparsify(E[group.rows.tolist(), group.columns.tolist()]))
            values[k] = ca.ldl_solve(right, D, L, order)
    return ca.densify(ca.vertcat(*values))


def _nested(values: ca.SX, own: ca.SX) -> ca.SX:
    """Without those x' (`own`) which the values give themselves."""
    while ca.depends_on(values, own):
        values = ca.substitute(values, own, values)
    return values


@dataclass(frozen=True)
class Given:
    """Unknowns y that follow from rows: y[columns] = values, from `rows`."""

    rows: np.ndarray
    columns: np.ndarray
    y: ca.SX
    values: ca.SX

    def insert(self, expression: ca.SX) -> ca.SX:
        """An expression without these unknowns."""
        if not len(self.columns):
            return expression
        return ca.densify(ca.substitute(expression, self.y[self.columns.tolist()], self.values))


def given_by_rows(model: Model, rows: ca.SX, y: ca.SX, order: np.ndarray) -> Given:
    """Find unknowns y in differentiated rows that contain no other y that is still unknown, with a safe coefficient.

    Rows that were differentiated most often (`order`) are taken first. Those that were not differentiated at all are
    left alone: solved one after the other they might let errors grow.
    """
    used, found, values = np.zeros(0, int), np.zeros(0, int), ca.SX(0, 1)
    J = ca.sparsify(ca.jacobian(rows, y)) if y.numel() else ca.SX(rows.numel(), 0)
    if not J.nnz():
        return Given(used, found, y, values)
    i, j = (np.array(part, int) for part in ca.jacobian_sparsity(rows, y).get_triplet())
    coefficient = _safe_coefficients(model, rows, J, y)
    unknown = np.bincount(i, minlength=rows.numel())  # how many y of each row
    open_entry = np.ones(len(i), bool)
    for _ in range(DEEPEST):
        candidates = np.flatnonzero(open_entry & (unknown[i] == 1) & (order[i] > 0))
        candidates = candidates[np.argsort(-order[i[candidates]], kind="stable")]
        candidates = [k for k in candidates.tolist() if (int(i[k]), int(j[k])) in coefficient]
        columns, first = np.unique(j[candidates], return_index=True)
        if not len(columns):
            break
        here = i[np.array(candidates)[first]]
        divisors = ca.vertcat(*(coefficient[place] for place in zip(here.tolist(), columns.tolist(), strict=True)))
        rest = ca.substitute(rows[here.tolist()], y[columns.tolist()], ca.SX.zeros(len(columns)))
        layer = Given(used, found, y, values).insert(-rest / divisors)
        used, found = np.concatenate([used, here]), np.concatenate([found, columns])
        values = ca.vertcat(values, layer)
        done = np.isin(j, columns) & open_entry
        unknown -= np.bincount(i[done], minlength=len(unknown))
        open_entry &= ~done
    return Given(used, found, y, values)


def _safe_coefficients(model: Model, rows: ca.SX, J: ca.SX, y: ca.SX) -> dict[tuple[int, int], ca.SX]:
    """Coefficients of y that are numbers or made of parameters, and not zero, of rows that are linear in it."""
    graph = model.graph
    i, j = (np.array(part, int) for part in J.sparsity().get_triplet())
    nonzeros = J.nz[:]
    varies = _touched(nonzeros, ca.vertcat(graph.symbol["x"], y, graph.changing))
    values = _parameter_numbers(model, nonzeros, ~varies)
    large = np.abs(values) > ROUNDING * _sizes(model, rows, y)[i]
    good = np.flatnonzero(~varies & np.isfinite(values) & large & ~rows_that_switch(rows, y)[i])
    entries = ca.vertsplit(nonzeros[good.tolist()]) if len(good) else []
    return dict(zip(zip(i[good].tolist(), j[good].tolist(), strict=True), entries, strict=True))


def _sizes(model: Model, rows: ca.SX, y: ca.SX) -> np.ndarray:
    """The largest derivative of each row by an unknown, at points in which nothing vanishes by chance."""
    graph, sizes = model.graph, np.zeros(rows.numel())
    J = ca.sparsify(ca.jacobian(rows, ca.vertcat(graph.symbol["x"], y)))
    places = np.array(J.sparsity().get_triplet()[0], int)
    function = ca.Function("J", [graph.t, graph.symbol["x"], y, graph.theta], [J.nz[:]])
    for t, x, x_dot, theta in sample_points(model)[:2]:
        values = np.abs(np.array(function(t, x, np.resize(x_dot, y.numel()), theta), float).ravel())
        np.maximum.at(sizes, places, np.nan_to_num(values, posinf=0.0))
    return sizes


def _parameter_numbers(model: Model, column: ca.SX, which: np.ndarray) -> np.ndarray:
    """Values of those entries that depend on parameters alone."""
    graph = model.graph
    function = ca.Function("numbers", [graph.parameter_symbols], [_where(column, which)])
    return np.array(function(graph.parameter_values), float).ravel()
