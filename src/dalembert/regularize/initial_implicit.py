"""Consistent initial values of F(t, x, x') = 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.errors import DalembertError, InconsistentInitialValues
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.implicit import ImplicitDAE
from dalembert.model.opaque import OpaqueEvaluator
from dalembert.regularize.directions import Directions
from dalembert.regularize.judgement import check_unchanged, tell_of_unknowns
from dalembert.regularize.newton import (
    ROUNDINGS,
    equilibrated,
    holds,
    left_null_space,
    minimum_norm_step,
)
from dalembert.regularize.rounding import rounding_seen

if TYPE_CHECKING:
    from dalembert.model.graph import Graph

FUNCTION: Slot[Callable] = Slot("start values of an implicit DAE", most=1)
ITERATIONS = 60
#: iterations after which it is asked whether residuals are rounding errors
PATIENCE = 4
#: derivatives by differences below this fraction of the largest count as zero
SMALL = 1e-11


def implicit_start(
    model: Model,
    t: float,
    x0: np.ndarray,
    dx0: np.ndarray,
    known: np.ndarray | None,
    mode: str,
    rtol: float,
    atol: float,
) -> tuple[np.ndarray, np.ndarray]:
    """x and x': both satisfy F = 0, and x' the derivative of the equations in which no derivative occurs.

    Those are the combinations Nᵀ F with N the left null space of ∂F/∂x': Nᵀ (F_x x' + F_t) = 0. Unknowns whose
    derivatives occur nowhere are changed first, so that given states stay; `dx0` tells which of several solutions x' is
    meant, and `known` which of its components were given.
    """
    if mode == "trust" and known is not None and known.all():
        return x0.copy(), dx0.copy()
    function, theta = _function(model), model.theta(t)
    n = len(x0)
    numbers = lambda x, dx: evaluated(function, t, x, dx, theta)  # noqa: E731
    _, _, F_dx, _, pattern = numbers(x0, dx0)
    differential = np.any(pattern, axis=0)
    nowhere = Directions(np.zeros(0, int), np.zeros((n, 0)))
    ways = _ways(differential, F_dx) if mode != "trust" else [nowhere]
    x, dx, worst = first_solution(numbers, x0, dx0, ways)
    if worst is not None:
        F = numbers(x0, dx)[0]
        raise InconsistentInitialValues(
            f"no derivatives x' were found that satisfy the equations at t = {t:.9g}: equation {worst + 1} keeps a "
            f"residual ({F[worst]:.3e} at x0). Give better x0=, or the derivatives dx0="
        )
    check_unchanged(model.names("x"), "x0", x0, x, t=t, mode=mode, rtol=rtol, atol=atol)
    if known is not None:
        check_unchanged(model.names("dx"), "dx0", dx0, np.where(known, dx, dx0), t=t, mode=mode, rtol=rtol, atol=atol)
    tell_of_unknowns(model.names("x"), x0, x, differential, t)
    return x, dx


def first_solution(numbers, x0: np.ndarray, dx0: np.ndarray, ways: Iterable[Directions]):
    """What `solve_with_derivatives` finds when x moves in the first of these ways in which there is a solution."""
    for way in ways:
        for guess in way.guesses(lambda x: _algebraic(numbers, x, dx0), x0):
            try:
                found = solve_with_derivatives(numbers, guess, dx0, way.basis)
            except DalembertError:
                if guess is x0:
                    raise
                continue
            if found[2] is None:
                return found
    return found


def _ways(differential: np.ndarray, F_dx: np.ndarray) -> Iterator[Directions]:
    """Directions in which x may move: none if all derivatives occur, the unknowns without one, those that F_x' does not
    see, all."""
    n = len(differential)
    yield Directions(np.flatnonzero(~differential), np.zeros((n, 0)))
    kernel = Directions.kernel(F_dx)
    if (~differential).sum() < kernel.n < n:
        yield kernel
    yield Directions.all(n)


def _algebraic(numbers, x: np.ndarray, dx: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The equations without derivatives, and their derivatives by x."""
    F, F_x, F_dx, _, _ = numbers(x, dx)
    N = left_null_space(F_dx, 1e-10)
    return N.T @ F, N.T @ F_x


def solve_with_derivatives(numbers, x0: np.ndarray, dx0: np.ndarray, basis: np.ndarray):
    """Solve for x' and x along the columns of `basis`, with the smallest changes.

    Returns x, x' and None, or the worst equation if there is no solution.

    Iteration ends when all equations, and the derivatives of those without x', hold up to rounding of their terms, or
    when their residuals are seen to be rounding errors.
    """
    n, k = basis.shape
    x, dx = x0.copy(), dx0.copy()

    def equations(x: np.ndarray, dx: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        F, F_x, F_dx, F_t, _ = numbers(x, dx)
        N = left_null_space(F_dx, 1e-10)
        A = np.block([[F_x, F_dx], [np.zeros((N.shape[1], n)), N.T @ F_x]])
        return np.concatenate([F, N.T @ (F_x @ dx + F_t)]), A

    def function(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        b, A = equations(z[:n], z[n:])
        return (b, A) if len(b) == len(met) else (np.full(len(met), np.nan), A)  # another null space: no comparison

    b, A = equations(x, dx)
    for iteration in range(ITERATIONS):
        scaled, scale = equilibrated(np.hstack([A[:, :n] @ basis, A[:, n:]]))
        step = minimum_norm_step(scaled, -b / scale)
        step = np.where(np.isfinite(step), step, 0.0)
        x += basis @ step[:k]
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
    return x, dx, int(np.argmax((np.abs(b) / equilibrated(A)[1])[: len(numbers(x, dx)[0])]))


def evaluated(function: Callable, t: float, x: np.ndarray, dx: np.ndarray, theta: np.ndarray) -> list[np.ndarray]:
    """What `of_residual` gives at a point; raises InconsistentInitialValues if something is not finite."""
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


def implicit_numbers(
    model: Model, t: float, x: np.ndarray, dx: np.ndarray, theta: np.ndarray
) -> list[np.ndarray]:
    """F, F_x, F_x', F_t and the pattern of F_x' at a point; raises InconsistentInitialValues if one is not finite."""
    return evaluated(_function(model), t, x, dx, theta)


def _function(model: ImplicitDAE) -> Callable:
    """F, F_x, F_x', F_t (with the inputs' rates), and which derivatives occur."""
    make = _of_graph if model.graph.functions["residual"].traced else _by_differences
    return model.kept.get(FUNCTION, None, lambda: make(model.graph))


def _of_graph(graph: Graph) -> ca.Function:
    return of_residual(graph, graph.value("residual"))


def of_residual(graph: Graph, F: ca.SX) -> ca.Function:
    """F, F_x, F_x', F_t and the pattern of F_x' as a function of t, x, x', θ."""
    x, dx = graph.symbol["x"], graph.dx
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
