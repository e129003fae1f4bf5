"""Consistent initial values of quasi-linear DAEs E(x,t) x' = k(x,t), 0 = h(x,t)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.errors import DalembertError, InconsistentInitialValues
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.evaluate import PointFunction
from dalembert.model.kinematics import first, jacobian
from dalembert.regularize.directions import Directions
from dalembert.regularize.initial_implicit import evaluated, first_solution, of_residual, solve_with_derivatives
from dalembert.regularize.judgement import check_unchanged, tell_of_unknowns
from dalembert.regularize.newton import RANK, equilibrated, left_null_space, minimum_norm_step, nearest_solution
from dalembert.regularize.pencil import is_regular, pencil_index

#: of the algebraic equations, where the leading matrix depends on x
REPETITIONS = 5
#: unknowns up to which it is asked whether derivatives of equations restrict the start values
LARGEST = 400
IMPLICIT: Slot[ca.Function] = Slot("a quasi-linear DAE as an implicit one", most=1)
FUNCTION: Slot[tuple[PointFunction, NullSpace]] = Slot("start values of a quasi-linear DAE", most=1)


def quasi_linear_start(
    model: Model, t: float, x0: np.ndarray, mode: str, rtol: float, atol: float
) -> tuple[np.ndarray, np.ndarray, int | None]:
    """x, x' and the index if it is known: x satisfies the algebraic equations and h; x' follows from E x' = k and their
    derivatives.

    The algebraic equations are the combinations Nᵀ k = 0 with N the left null space of E(x0). The derivatives of
    variables that occur nowhere differentiated, and of DAEs of higher index, are the smallest that fit.
    """
    (function, null_space), theta = _function(model), model.theta(t)
    E = _leading(function, t, x0, theta)
    N, kernel = null_space(E)
    x = None
    varies = bool(N.shape[1] + model.n_constraints) and leading_varies(model)  # no matter without algebraic equations
    if mode != "trust" and varies and traced(model):
        x = _with_varying_leading(model, t, x0, theta, function)
    if x is not None:
        E = _leading(function, t, x, theta)
        N, kernel = null_space(E)
    else:
        x = x0
        for _ in range(REPETITIONS if mode != "trust" else 0):
            found = _algebraic(model, function, t, theta, x, N, kernel)
            moved, x, last = found is not x, found, E
            E = _leading(function, t, x, theta) if moved else E
            if np.array_equal(E, last):
                break
            N, kernel = null_space(E)
    x_dot, index = _rates(model, function, t, x, theta, N, kernel)
    if varies:
        index = None  # E x' has derivatives by x, too
    if mode != "trust" and index is None:
        x, x_dot = _with_hidden(model, t, x, x_dot, theta)
    check_unchanged(model.names("x"), "x0", x0, x, t=t, mode=mode, rtol=rtol, atol=atol)
    tell_of_unknowns(model.names("x"), x0, x, np.any(np.abs(E) > 0, axis=0), t)
    return x.copy(), x_dot, index


def leading_varies(model: Model) -> bool:
    """Whether E depends on x, or may do so."""
    leading = model.graph.functions["leading"]
    return not leading.traced or ca.depends_on(leading.sx, model.graph.symbol["x"])


def _rates(
    model: Model,
    function: PointFunction,
    t: float,
    x: np.ndarray,
    theta: np.ndarray,
    N: np.ndarray,
    kernel: Directions,
) -> tuple[np.ndarray, int | None]:
    """x' from E x' = k and the derivatives of the equations without x', N; the index of constant E if it is 0 or 1."""
    E, k, k_x, _, h_x, k_t, h_t = function(t, {"x": x}, theta)
    k, k_t, h_t = k.ravel(), k_t.ravel(), h_t.ravel()
    A = np.vstack([E, N.T @ k_x, h_x])
    b = np.concatenate([k, -N.T @ k_t, -h_t])
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        bad = int(np.argmax(~np.isfinite(k))) if not np.isfinite(k).all() else None
        name = model.equation_names[bad] if bad is not None else "a derivative of the equations"
        raise InconsistentInitialValues(f"{name} is not finite at the start values, t = {t:.9g}; check the model there")
    # rows are equilibrated: equations have different units
    A, scale = equilibrated(A)
    x_dot = minimum_norm_step(A, b / scale)
    algebraic = A[len(E) :]
    if not (kernel.n or len(algebraic)):
        return x_dot, 0
    return x_dot, 1 if len(algebraic) == kernel.n and is_regular(kernel.along(algebraic)) else None


def _with_hidden(
    model: Model, t: float, x: np.ndarray, x_dot: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x and x' that also satisfy derivatives of the algebraic equations: with index 2 these determine a part of x.

    Both are left as they are if nothing is found.
    """
    n = len(x)
    square = model.n_differential + model.n_constraints == n
    if not square or n > LARGEST or not traced(model):
        return x, x_dot
    _, F_x, F_dx, _, _ = as_implicit(model, t, x, x_dot, theta)
    index = pencil_index(-F_dx, F_x)
    if index is None or index.value != 2:
        return x, x_dot
    try:
        found = solve_with_derivatives(
            lambda x, dx: as_implicit(model, t, x, dx, theta), x, x_dot, Directions.kernel(F_dx).basis
        )
    except DalembertError:
        return x, x_dot
    return found[:2] if found[2] is None else (x, x_dot)


def as_implicit(model: Model, t: float, x: np.ndarray, dx: np.ndarray, theta: np.ndarray) -> list[np.ndarray]:
    """F = (k − E x', h), F_x, F_x', F_t and the pattern of F_x' of a model whose functions are traced."""
    graph = model.graph

    def make() -> ca.Function:
        rows = [graph.value("rhs") - ca.mtimes(graph.value("leading"), graph.dx)]
        rows += [graph.value("constraints")] if model.n_constraints else []
        return of_residual(graph, ca.vertcat(*rows))

    return evaluated(model.kept.get(IMPLICIT, None, make), t, x, dx, theta)


def _with_varying_leading(
    model: Model, t: float, x0: np.ndarray, theta: np.ndarray, function: PointFunction
) -> np.ndarray | None:
    """x where E depends on it: which combinations of equations are algebraic changes with x, and so do their values."""
    E, k, *_ = function(t, {"x": x0}, theta)
    x_dot = np.linalg.lstsq(E, k.ravel(), rcond=RANK)[0]
    try:
        x, _, worst = first_solution(
            lambda x, dx: as_implicit(model, t, x, dx, theta),
            x0,
            x_dot,
            (Directions.kernel(E), Directions.all(len(x0))),
        )
    except DalembertError:
        return None
    return x if worst is None else None


def traced(model: Model) -> bool:
    return all(function.traced for function in model.graph.functions.values())


def _leading(function: PointFunction, t: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    E = function(t, {"x": x}, theta)[0]
    if not np.isfinite(E).all():
        raise InconsistentInitialValues(f"the leading matrix is not finite at the start values, t = {t:.9g}")
    return E


class NullSpace:
    """The left null space of E as columns, and the right one; those of the last E are kept, since most are constant."""

    def __init__(self) -> None:
        self._last: tuple[np.ndarray, tuple[np.ndarray, Directions]] | None = None

    def __call__(self, E: np.ndarray) -> tuple[np.ndarray, Directions]:
        last = self._last
        if last is None or not np.array_equal(last[0], E):
            last = self._last = (E.copy(), (left_null_space(E, 1e-12), Directions.kernel(E)))
        return last[1]


def quasi_linear_numbers(model: Model, t: float, x: np.ndarray, theta: np.ndarray) -> list[np.ndarray]:
    """E, k, k_x, h, h_x, k_t, h_t at a point."""
    return _function(model)[0](t, {"x": x}, theta)


def _function(model: Model) -> tuple[PointFunction, NullSpace]:
    """E, k, k_x, h, h_x, and the partial derivatives of k and h by time."""
    return model.kept.get(FUNCTION, None, lambda: (PointFunction(model, _outputs(model)), NullSpace()))


def _outputs(model: Model) -> list[ca.SX]:
    graph = model.graph
    outputs = [graph.value("leading"), graph.value("rhs"), jacobian(graph, "rhs", "x")]
    if model.n_constraints:
        outputs += [graph.value("constraints"), jacobian(graph, "constraints", "x")]
    else:
        outputs += [ca.SX(0, 1), ca.SX(0, graph.size("x"))]
    outputs.append(first(graph, "rhs", {}))
    outputs.append(first(graph, "constraints", {}) if model.n_constraints else ca.SX(0, 1))
    return outputs


def _algebraic(
    model, function: PointFunction, t: float, theta: np.ndarray, x0: np.ndarray, N: np.ndarray, kernel: Directions
):
    """Solve the algebraic equations, changing algebraic variables only if that can work, so that given states stay."""
    names = [f"algebraic equation {i + 1}" for i in range(N.shape[1])]
    names += [f"constraint {i + 1}" for i in range(model.n_constraints)]
    if not names:
        return x0

    def equations(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, k, k_x, h, h_x, _, _ = function(t, {"x": x}, theta)
        return np.concatenate([N.T @ k.ravel(), h.ravel()]), np.vstack([N.T @ k_x, h_x])

    # what derivatives do not occur of; with all of these combinations given states stay
    for way in (kernel, Directions.all(len(x0))):
        for guess in way.guesses(equations, x0):
            start = way.coordinates(guess)

            def restricted(z: np.ndarray, way=way, guess=guess, start=start) -> tuple[np.ndarray, np.ndarray]:
                residual, J = equations(way.point(guess, z - start, z))
                return residual, way.along(J)

            try:
                z = nearest_solution(restricted, start, names, "x", t)
            except InconsistentInitialValues as error:
                failure = error
                continue
            except DalembertError:
                if guess is x0:
                    raise
                continue
            return x0 if z is start and guess is x0 else way.point(guess, z - start, z)
    raise failure
