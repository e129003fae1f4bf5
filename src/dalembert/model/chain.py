"""Derivatives through native functions: the chain rule over their external symbols.

Nearly always the derivative of a block is only moved to other rows and columns, perhaps with another sign: as products
of matrices that would take longer than everything else in large models.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.model.graph import External, Graph
from dalembert.model.native_blocks import derivative


def total_jacobian(graph: Graph, expression: ca.SX, by: ca.SX) -> ca.SX:
    """∂(expression)/∂(symbols), with what native functions contribute; of functions in Python nothing is known."""
    if not graph.has_native:
        return ca.jacobian(expression, by)
    if not by.numel():
        return ca.SX(expression.numel(), 0)
    parts = [ca.jacobian(expression, by)]
    for block in graph.externals_in(expression):
        if block.native is not None:
            parts += _contributions(graph, block, expression, by)
    return _sum(parts, parts[0].shape)


def _contributions(graph: Graph, block: External, expression: ca.SX, by: ca.SX) -> list[ca.SX]:
    """What a block adds to the Jacobian, for each of its arguments."""
    parts, outer = [], None
    for kind, argument in zip(block.native.kinds, block.native.arguments, strict=True):
        if not argument.numel() or not ca.depends_on(argument, by):
            continue
        outer = ca.jacobian(expression, block.symbol) if outer is None else outer
        inner = ca.jacobian(argument, by)
        D = graph.native(block.role, derivative(block.what, kind))
        rows, columns = _moved(outer), _moved(inner.T)
        if rows is None or columns is None:
            parts.append(ca.mtimes(outer, ca.mtimes(D, inner)))
        else:
            parts.append(_placed(D, rows, columns, (outer.shape[0], by.numel())))
    return parts


def _moved(matrix: ca.SX) -> tuple[np.ndarray, np.ndarray] | None:
    """For each column the row in which its only entry stands (−1: none) and its sign; None if there is any other."""
    starts = np.array(matrix.sparsity().colind())
    if not matrix.is_constant() or (np.diff(starts) > 1).any():
        return None
    values = np.array(ca.DM(matrix).nonzeros(), float)
    if not np.isin(values, (-1.0, 1.0)).all():
        return None
    row, sign = np.full(matrix.shape[1], -1), np.ones(matrix.shape[1])
    filled = np.flatnonzero(np.diff(starts))
    row[filled], sign[filled] = matrix.sparsity().row(), values
    return row, sign


def _placed(D: ca.SX, rows: tuple, columns: tuple, shape: tuple[int, int]) -> ca.SX:
    """The entries of a matrix in other rows and columns."""
    row, column = triplets(D.sparsity())
    sign = rows[1][row] * columns[1][column]
    row, column = rows[0][row], columns[0][column]
    there = np.flatnonzero((row >= 0) & (column >= 0))
    values = D.nz[:] if len(there) == len(row) else D.nz[there.tolist()]
    if (sign[there] < 0).all():
        values = -values
    elif (sign[there] < 0).any():
        values = values * ca.DM(sign[there])
    return _matrix(row[there], column[there], ca.vec(values), shape)


def _sum(parts: list[ca.SX], shape: tuple[int, int]) -> ca.SX:
    """The sum of matrices; where no two have entries in common, all entries are put together."""
    places = [triplets(part.sparsity()) for part in parts]
    row, column = (np.concatenate(indices) for indices in zip(*places, strict=True))
    keys = np.sort(row + column * shape[0])
    if (np.diff(keys) > 0).all():
        return _matrix(row, column, ca.vertcat(*(ca.vec(part.nz[:]) for part in parts)), shape)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _matrix(row: np.ndarray, column: np.ndarray, values: ca.SX, shape: tuple[int, int]) -> ca.SX:
    order = np.lexsort((row, column))
    starts = np.searchsorted(column[order], np.arange(shape[1] + 1))
    pattern = ca.Sparsity(*shape, starts.tolist(), row[order].tolist())
    return ca.SX(pattern, values if (np.diff(order) == 1).all() else values[order.tolist()])


def triplets(sparsity: ca.Sparsity) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the nonzeros, in their order."""
    columns = np.repeat(np.arange(sparsity.size2()), np.diff(sparsity.colind()))
    return np.array(sparsity.row(), dtype=np.int64), columns.astype(np.int64)


def rows_with(graph: Graph, column: ca.SX, kind: str) -> np.ndarray:
    """Mask of the rows of a column that may contain a vector; functions in Python may contain everything."""
    column = ca.densify(column)
    mask = _touched(column, graph.symbol[kind])
    for block in graph.externals_in(column):
        if block.native is None or any(ca.depends_on(a, graph.symbol[kind]) for a in block.native.arguments):
            mask |= _touched(column, block.symbol)
    return mask


def _touched(column: ca.SX, symbols: ca.SX) -> np.ndarray:
    return np.diff(ca.jacobian_sparsity(column, symbols).T.colind()) > 0
