"""Derivatives through native functions: the chain rule over their external symbols."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.model.graph import Graph
from dalembert.model.native_blocks import derivative


def total_jacobian(graph: Graph, expression: ca.SX, by: ca.SX) -> ca.SX:
    """∂(expression)/∂(symbols), with what native functions contribute; of functions in Python nothing is known."""
    J = ca.jacobian(expression, by)
    for block in graph.externals_in(expression) if graph.has_native else ():
        if block.native is None:
            continue
        inner = _inner(graph, block, by)
        if inner is not None:
            J += ca.mtimes(ca.jacobian(expression, block.symbol), inner)
    return J


def _inner(graph: Graph, block, by: ca.SX) -> ca.SX | None:
    """Derivative of a block of symbols; None if it does not depend on `by`."""
    total = None
    for kind, argument in zip(block.native.kinds, block.native.arguments, strict=True):
        if not argument.numel() or not ca.depends_on(argument, by):
            continue
        part = ca.mtimes(graph.native(block.role, derivative(block.what, kind)), ca.jacobian(argument, by))
        total = part if total is None else total + part
    return total


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
