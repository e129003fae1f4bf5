"""Consistent initial values of F(t, x, x') = 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.kept import Slot
from dalembert.model.implicit import ImplicitDAE
from dalembert.model.opaque import OpaqueEvaluator
from dalembert.regularize.newton import (
    ROUNDINGS,
    equilibrated,
    holds,
    left_null_space,
    minimum_norm_step,
    rounding_seen,
)

if TYPE_CHECKING:
    from dalembert.model.graph import Graph

FUNCTION: Slot[Callable] = Slot("start values of an implicit DAE", most=1)
ITERATIONS = 60
#: iterations after which it is asked whether residuals are rounding errors
PATIENCE = 4
#: derivatives by differences below this fraction of the largest count as zero
SMALL = 1e-11


def implicit_start(
    model: ImplicitDAE, t: float, x0: np.ndarray, dx0: np.ndarray, known: bool, mode: str, rtol: float, atol: float
) -> tuple[np.ndarray, np.ndarray]:
    """x and x': both satisfy F = 0, and x' the derivative of the equations in which no derivative occurs.

    Those are the combinations Nᵀ F with N the left null space of ∂F/∂x': Nᵀ (F_x x' + F_t) = 0. Unknowns whose
    derivatives occur nowhere are changed first, so that given states stay; `dx0` tells which of several solutions x' is
    meant.
    """
    if mode == "trust" and known:
        return x0.copy(), dx0.copy()
    function, theta = _function(model), model.theta(t)
    n = len(x0)
    numbers = lambda x, dx: _evaluate(function, t, x, dx, theta)  # noqa: E731
    differential = np.any(numbers(x0, dx0)[4], axis=0)
    fixed = np.zeros(n, bool)
    choices = [fixed] if mode == "trust" else [~differential, np.ones(n, bool)]
    if mode != "trust" and not choices[0].any():
        choices.insert(0, fixed)
    worst = None
    for free in choices:
        x, dx, worst = _newton(numbers, x0, dx0, free)
        if worst is None:
            break
    else:
        F = numbers(x0, dx)[0]
        raise InconsistentInitialValues(
            f"no derivatives x' were found that satisfy the equations at t = {t:.9g}: equation {worst + 1} keeps a "
            f"residual ({F[worst]:.3e} at x0). Give better x0=, or the derivatives dx0="
        )
    _judge(model, "x", t, x0, x, mode, rtol, atol)
    if known:
        _judge(model, "dx", t, dx0, dx, mode, rtol, atol)
    return x, dx


def _newton(numbers, x0: np.ndarray, dx0: np.ndarray, free: np.ndarray):
    """Solve for x' and the `free` part of x, with the smallest changes; returns also the worst equation, or None.

    Iteration ends when all equations, and the derivatives of those without x', hold up to rounding of their terms, or
    when their residuals are seen to be rounding errors.
    """
    n, k = len(x0), int(free.sum())
    x, dx = x0.copy(), dx0.copy()

    def equations(x: np.ndarray, dx: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        F, F_x, F_dx, F_t, _ = numbers(x, dx)
        N = left_null_space(F_dx, 1e-10)
        A = np.block([[F_x, F_dx], [np.zeros((N.shape[1], n)), N.T @ F_x]])
        return np.concatenate([F, N.T @ (F_x @ dx + F_t)]), A

    def function(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        b, A = equations(z[:n], z[n:])
        return (b, A) if len(b) == len(met) else (np.full(len(met), np.nan), A)  # another null space: no comparison

    moving = np.concatenate([free, np.ones(n, bool)])
    b, A = equations(x, dx)
    for iteration in range(ITERATIONS):
        scaled, scale = equilibrated(A[:, moving])
        step = minimum_norm_step(scaled, -b / scale)
        step = np.where(np.isfinite(step), step, 0.0)
        x[free] += step[:k]
        dx += step[k:]
        b, A = equations(x, dx)
        z = np.concatenate([x, dx])
        met = holds(b, A, z, ROUNDINGS + np.sqrt(n))
        if iteration >= PATIENCE and not met.all():
            met |= rounding_seen(function, z, b, A)
        if met.all():
            return x, dx, None
        if len(b) == len(scale) and iteration > PATIENCE and np.abs(step).max() == 0.0:
            break  # what is left cannot be met
    return x, dx, int(np.argmax((np.abs(b) / equilibrated(A)[1])[:n]))


def _judge(model, kind: str, t: float, before: np.ndarray, after: np.ndarray, mode: str, rtol: float, atol: float):
    """In mode "check", changes beyond the tolerances are errors."""
    change, weight = np.abs(after - before), atol + rtol * np.abs(before)
    worst = int(np.argmax(change / weight))
    if mode == "check" and change[worst] > weight[worst]:
        raise InconsistentInitialValues(
            f"the start values {kind}0 violate the equations at t = {t:.9g}: '{model.names(kind)[worst]}' would have "
            f'to change by {change[worst]:.3e}. Correct it, or let initial_values="correct" do it.'
        )


def _evaluate(function: Callable, t: float, x: np.ndarray, dx: np.ndarray, theta: np.ndarray) -> list[np.ndarray]:
    values = [np.array(value, float) for value in function(t, x, dx, theta)]
    for value, what in zip(values, ("", "a derivative of ", "a derivative of ", "a derivative of "), strict=False):
        bad = ~np.isfinite(value).all(axis=1)
        if bad.any():
            raise InconsistentInitialValues(
                f"{what}equation {int(np.argmax(bad)) + 1} is not finite at the start values, t = {t:.9g}; check the "
                "model there, or give the derivatives dx0="
            )
    F, F_x, F_dx, F_t, pattern = values
    return [F.ravel(), F_x, F_dx, F_t.ravel(), pattern]


def _function(model: ImplicitDAE) -> Callable:
    """F, F_x, F_x', F_t (with the inputs' rates), and which derivatives occur."""
    make = _of_graph if model.graph.functions["residual"].traced else _by_differences
    return model.kept.get(FUNCTION, None, lambda: make(model.graph))


def _of_graph(graph: Graph) -> ca.Function:
    F, x, dx = graph.value("residual"), graph.symbol["x"], graph.dx
    along, direction = ca.vertcat(graph.t, graph.u, graph.du), ca.vertcat(1, graph.du, graph.ddu)
    by_dx = ca.jacobian(F, dx)
    outputs = [F, ca.jacobian(F, x), by_dx, ca.jtimes(F, along, direction), ca.DM(by_dx.sparsity(), 1)]
    return ca.Function("start", [graph.t, x, dx, graph.theta], [ca.densify(output) for output in outputs])


def _by_differences(graph: Graph) -> Callable:
    """Derivatives that are zero at the point count as not occurring."""
    n = graph.size("x")
    shapes = {"value": (n, 1), "by x": (n, n), "by dx": (n, n), "time": (n, 1)}
    for what, shape in shapes.items():
        graph.external("residual", what, shape)
    evaluate = OpaqueEvaluator(graph, [graph.externals["residual", what] for what in shapes], {})
    cuts = np.cumsum([rows * columns for rows, columns in shapes.values()])[:-1]

    def numbers(t: float, x: np.ndarray, dx: np.ndarray, theta: np.ndarray) -> list[np.ndarray]:
        parts = np.split(evaluate(t, {"x": x, "dx": dx}, theta), cuts)
        F, F_x, F_dx, F_t = (part.reshape(shape, order="F") for part, shape in zip(parts, shapes.values(), strict=True))
        return [F, F_x, F_dx, F_t, np.abs(F_dx) > SMALL * np.abs(F_dx).max(initial=0.0)]

    return numbers
