"""Consistent initial values of F(t, x, x') = 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.model.implicit import ImplicitDAE
from dalembert.model.opaque import OpaqueEvaluator

if TYPE_CHECKING:
    from dalembert.model.graph import Graph

ITERATIONS = 60
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
    """Solve for x' and the `free` part of x, with the smallest changes; returns also the worst equation, or None."""
    x, dx = x0.copy(), dx0.copy()
    n, k = len(x), int(free.sum())
    for _ in range(ITERATIONS):
        F, F_x, F_dx, F_t, _ = numbers(x, dx)
        U, S, _ = np.linalg.svd(F_dx)
        N = U[:, int((1e-10 * max(S.max(initial=0.0), 1e-300) < S).sum()) :]
        A = np.block([[F_x[:, free], F_dx], [np.zeros((N.shape[1], k)), N.T @ F_x]])
        b = -np.concatenate([F, N.T @ (F_x @ dx + F_t)])
        scale = np.abs(A).max(axis=1, initial=0)
        scale[scale == 0] = 1
        step = np.linalg.lstsq(A / scale[:, None], b / scale, rcond=1e-12)[0]
        step = np.where(np.isfinite(step), step, 0.0)
        x[free] += step[:k]
        dx += step[k:]
        reach = 1 + max(np.abs(x).max(), np.abs(dx).max())
        if np.abs(step).max(initial=0) <= SMALL * reach:
            left = np.abs(numbers(x, dx)[0]) / scale[:n]
            return x, dx, None if left.max() <= 1e3 * SMALL * reach else int(np.argmax(left))
    return x, dx, int(np.argmax(np.abs(numbers(x, dx)[0]) / scale[:n]))


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
    with model.lock:
        if "initial" not in model.cache:
            traced = model.graph.functions["residual"].traced
            model.cache["initial"] = _of_graph(model.graph) if traced else _by_differences(model.graph)
        return model.cache["initial"]


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
