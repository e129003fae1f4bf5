"""Ports of a formulation: residual and Jacobian for implicit methods, inputs, and any expression of its state.

Expressions that contain functions which could not be traced become Python ports: the callback fills the external
symbols with numbers, then calls the compiled rest. Native functions alone need no Python (`compile.native`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.compile.callback import python_port
from dalembert.compile.graph import compile_port
from dalembert.compile.ports import Port
from dalembert.errors import StepRefused
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.chain import triplets
from dalembert.model.graph import External, Graph
from dalembert.model.inputs import TracedInput
from dalembert.model.opaque import OpaqueEvaluator
from dalembert.regularize import System
from dalembert.regularize.form import Form

COMPILED: Slot[CompiledSystem] = Slot("compiled system", most=1)
#: a sweep over inputs must not fill the memory
INPUTS: Slot[Port] = Slot("ports of inputs", most=8)


@dataclass(frozen=True)
class CompiledSystem:
    """`residual` is F(t, [x, x'], θ); `jacobian` gives the nonzeros of ∂F/∂x, then of E, in the patterns' order."""

    system: System
    residual: Port
    jacobian: Port
    jacobian_pattern: tuple[np.ndarray, np.ndarray]  # rows, columns
    leading_pattern: tuple[np.ndarray, np.ndarray]
    eliminable: tuple[tuple[int, int], ...]


def compile_system(system: System) -> CompiledSystem:
    """Compile a formulation, once."""
    return system.kept.get(COMPILED, None, lambda: _compile(system))


def _compile(system: System) -> CompiledSystem:
    graph = system.model.graph
    both = ca.vertcat(system.x, system.x_dot)
    residual = expression_port(system, system.residual, both, behind=_behind(system))
    blocks = _in_python(graph, system.residual)
    pattern = _pattern_with_externals(system, blocks) if blocks else triplets(system.jacobian.sparsity())
    return CompiledSystem(
        system,
        residual,
        _jacobian_port(system, residual, pattern, np.arange(len(pattern[0]))),
        pattern,
        triplets(system.leading.sparsity()),
        tuple(system.eliminable(pattern)),
    )


def part_of_jacobian(compiled: CompiledSystem, where: np.ndarray) -> Port:
    """The nonzeros `where` of ∂F/∂x, then all of E."""
    return _jacobian_port(compiled.system, compiled.residual, compiled.jacobian_pattern, where)


def _jacobian_port(system: System, residual: Port, pattern: tuple[np.ndarray, np.ndarray], where: np.ndarray) -> Port:
    graph, n, E = system.model.graph, system.n, nonzeros(system.leading)
    both = ca.vertcat(system.x, system.x_dot)
    if not _in_python(graph, system.residual):
        out = ca.vertcat(nonzeros(system.jacobian)[where.tolist()], E)
        if graph.has_native:
            return expression_port(system, out, both)
        return compile_port(graph.t, both, graph.theta, out)
    rows, columns = pattern[0][where], pattern[1][where]
    leading = leading_port(system)
    return python_port(
        _difference_jacobian(residual, leading, rows, columns),
        n_x=2 * n,
        n_theta=graph.theta.numel(),
        n_out=len(rows) + leading.n_out,
    )


def leading_port(system: System) -> Port:
    """E alone, in the pattern's order, as a function of x and x'."""
    both = ca.vertcat(system.x, system.x_dot)
    return expression_port(system, nonzeros(system.leading), both, behind=_behind(system))


def _behind(system: System) -> dict[str, slice]:
    """Where the derivatives stand that a function of an implicit DAE may read."""
    return {"dx": slice(system.n, 2 * system.n)} if system.formulation == "implicit" else {}


def expression_port(
    form: Form,
    expression: ca.SX,
    x: ca.SX | None = None,
    at_zero: tuple[str, ...] = (),
    behind: Mapping[str, slice] | None = None,
    graph: Graph | None = None,
) -> Port:
    """A port for any expression of a form's unknowns (or of `x` = unknowns and rates).

    Functions that could not be traced are evaluated with the vectors `at_zero` set to zero, and with those that stand
    `behind` the unknowns in `x`; they are those of `graph` if it is not the model's own.
    """
    graph = form.model.graph if graph is None else graph
    x = form.x if x is None else x
    expression = ca.densify(ca.vec(expression))  # `compile_port` looks for common subexpressions
    if graph.has_native:
        from dalembert.compile.native import native_port  # loads numba: not before it is needed

        zeros = ca.vertcat(*(graph.symbol[kind] for kind in at_zero)) if at_zero else None
        port = native_port(graph, x, expression, zeros)
        if port is not None:
            return port
    blocks = graph.externals_in(expression)
    if not blocks:
        return compile_port(graph.t, x, graph.theta, expression)
    inner = compile_port(graph.t, x, ca.vertcat(graph.theta, *(b.symbol for b in blocks)), expression)
    evaluator = OpaqueEvaluator(graph, blocks, {})
    slices = {**form.slices, **(behind or {})}
    fixed = {kind: np.zeros(0) for kind in graph.vectors if kind not in slices}
    fixed |= {kind: np.zeros(graph.size(kind)) for kind in at_zero}

    def evaluate(t: float, state: np.ndarray, theta: np.ndarray, out: np.ndarray) -> None:
        values = {kind: state[part] for kind, part in slices.items()} | fixed
        full = np.concatenate([theta, evaluator(t, values, theta)])
        inner(t, np.ascontiguousarray(state), full, out)

    return python_port(evaluate, n_x=x.numel(), n_theta=graph.theta.numel(), n_out=expression.numel())


def _in_python(graph: Graph, expression: ca.SX) -> list[External]:
    """The blocks of functions that run as Python code."""
    return [block for block in graph.externals_in(expression) if block.native is None]


def input_port(model: Model, *, to_move: bool = False) -> Port | None:
    """A port for u, u', u'' as functions of time, or None if the model has no inputs. `to_move`: for the motion alone,
    and neither for outputs nor for events, so that derivatives need not be estimated for nothing."""
    inputs = model.inputs
    if not inputs:
        return None
    return model.kept.get(INPUTS, (to_move, *inputs.values()), lambda: _input_port(model, inputs, to_move))


def _input_port(model: Model, inputs: dict[str, TracedInput], to_move: bool) -> Port:
    graph = model.graph
    if all(traced.sx is not None for traced in inputs.values()):
        columns = ca.horzcat(*(traced.sx(graph.t) for traced in inputs.values()))
        return compile_port(graph.t, ca.SX(0, 1), ca.SX(0, 1), ca.densify(ca.vec(columns.T)))

    def evaluate(t: float, x: np.ndarray, theta: np.ndarray, out: np.ndarray) -> None:
        out[:] = model.input_values(t, to_move=to_move).ravel()

    return python_port(evaluate, n_x=0, n_theta=0, n_out=model.theta_layout.n_moving)


def nonzeros(matrix: ca.SX) -> ca.SX:
    """The nonzeros of a sparse matrix as a column."""
    return ca.vec(matrix.nz[:])  # those of a row are a row


def _pattern_with_externals(system: System, blocks: list) -> tuple[np.ndarray, np.ndarray]:
    """Pattern of ∂F/∂x when external functions may depend on anything: rows that contain one are full."""
    symbols = ca.vertcat(*(b.symbol for b in blocks))
    touched = np.diff(ca.jacobian(system.residual, symbols).sparsity().T.colind()) > 0
    mask = np.zeros((system.residual.numel(), system.n), bool)
    rows, columns = triplets(system.jacobian.sparsity())
    mask[rows, columns] = True
    mask[touched] = True
    columns, rows = np.nonzero(mask.T)
    return rows.astype(np.int64), columns.astype(np.int64)


def _difference_jacobian(residual: Port, leading: Port, rows: np.ndarray, columns: np.ndarray) -> Callable:
    """Central differences of the residual, and the leading matrix, as a Python port's function."""
    used = np.unique(columns)
    entries = [(j, np.flatnonzero(columns == j)) for j in used]

    def evaluate(t: float, state: np.ndarray, theta: np.ndarray, out: np.ndarray) -> None:
        point = np.array(state)
        for j, where in entries:
            step = 6e-6 * max(abs(point[j]), 1e-2)
            centre = point[j]
            point[j] = centre + step
            above = _status(residual, t, point, theta)
            point[j] = centre - step
            below = _status(residual, t, point, theta)
            point[j] = centre
            out[where] = ((above - below) / (2 * step))[rows[where]]
        if leading.n_out:
            leading(t, point, theta, out[len(rows) :])

    return evaluate


def _status(port: Port, t: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    out = np.empty(port.n_out)
    if port.call_status(t, x, theta, out):
        error = port.take_error()
        raise error if error is not None else StepRefused(f"not finite near t = {t:.9g}")
    return out
