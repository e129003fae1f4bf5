"""Consistent initial values of quasi-linear DAEs E(x,t) x' = k(x,t), 0 = h(x,t)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.kept import Slot
from dalembert.model import QuasiLinearDAE
from dalembert.model.evaluate import PointFunction
from dalembert.model.kinematics import first, jacobian
from dalembert.regularize.newton import equilibrated, left_null_space, minimum_norm_step, nearest_solution

FUNCTION: Slot[tuple[PointFunction, NullSpace]] = Slot("start values of a quasi-linear DAE", most=1)


def quasi_linear_start(
    model: QuasiLinearDAE, t: float, x0: np.ndarray, mode: str, rtol: float, atol: float
) -> tuple[np.ndarray, np.ndarray]:
    """x and x': x satisfies the algebraic equations and h; x' follows from E x' = k and their derivatives.

    The algebraic equations are the combinations Nᵀ k = 0 with N the left null space of E(x0). The derivatives of
    variables that occur nowhere differentiated, and of DAEs of higher index, are the smallest that fit.
    """
    (function, null_space), theta = _function(model), model.theta(t)
    E = function(t, {"x": x0}, theta)[0]
    if not np.isfinite(E).all():
        raise InconsistentInitialValues(f"the leading matrix is not finite at the start values, t = {t:.9g}")
    N = null_space(E)
    x = x0 if mode == "trust" else _algebraic(model, function, t, theta, x0, E, N)
    change, weight = np.abs(x - x0), atol + rtol * np.abs(x0)
    worst = int(np.argmax(change / weight))
    if mode == "check" and change[worst] > weight[worst]:
        raise InconsistentInitialValues(
            f"the start values violate the algebraic equations at t = {t:.9g}: '{model.names('x')[worst]}' would have "
            f'to change by {change[worst]:.3e}. Correct it, or let initial_values="correct" do it.'
        )
    E, k, k_x, _, h_x, k_t, h_t = function(t, {"x": x}, theta)
    k, k_t, h_t = k.ravel(), k_t.ravel(), h_t.ravel()
    A = np.vstack([E, N.T @ k_x, h_x])
    b = np.concatenate([k, -N.T @ k_t, -h_t])
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        bad = int(np.argmax(~np.isfinite(k))) if not np.isfinite(k).all() else None
        name = f"equation {bad + 1}" if bad is not None else "a derivative of the equations"
        raise InconsistentInitialValues(f"{name} is not finite at the start values, t = {t:.9g}; check the model there")
    # rows are equilibrated: equations have different units
    A, scale = equilibrated(A)
    return x.copy(), minimum_norm_step(A, b / scale)


class NullSpace:
    """The left null space of E as columns; that of the last E is kept, since most are constant."""

    def __init__(self) -> None:
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, E: np.ndarray) -> np.ndarray:
        last = self._last
        if last is None or not np.array_equal(last[0], E):
            last = self._last = (E.copy(), left_null_space(E, 1e-12))
        return last[1]


def _function(model: QuasiLinearDAE) -> tuple[PointFunction, NullSpace]:
    """E, k, k_x, h, h_x, and the partial derivatives of k and h by time."""
    return model.kept.get(FUNCTION, None, lambda: (PointFunction(model, _outputs(model)), NullSpace()))


def _outputs(model: QuasiLinearDAE) -> list[ca.SX]:
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
    model, function: PointFunction, t: float, theta: np.ndarray, x0: np.ndarray, E: np.ndarray, N: np.ndarray
):
    """Solve the algebraic equations, changing algebraic variables only if that can work, so that given states stay."""
    names = [f"algebraic equation {i + 1}" for i in range(N.shape[1])]
    names += [f"constraint {i + 1}" for i in range(model.n_constraints)]
    if not names:
        return x0

    def restricted(columns: np.ndarray):
        def residual(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            point = x0.copy()
            point[columns] = z
            _, k, k_x, h, h_x, _, _ = function(t, {"x": point}, theta)
            return np.concatenate([N.T @ k.ravel(), h.ravel()]), np.vstack([N.T @ k_x, h_x])[:, columns]

        return residual

    algebraic, every = ~np.any(np.abs(E) > 0, axis=0), np.ones(len(x0), bool)
    for columns in (algebraic, every):
        x = x0.copy()
        try:
            x[columns] = nearest_solution(restricted(columns), x0[columns], names, "x", t)
        except InconsistentInitialValues:
            if columns is every:
                raise
            continue
        return x
    return x0
