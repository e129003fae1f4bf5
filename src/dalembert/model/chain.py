"""Derivatives through native functions: the chain rule over their external symbols."""

from __future__ import annotations

import casadi as ca

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
