"""How well a result satisfies the constraints of its model, on every level, and the accelerations it implies."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from dalembert.errors import OptionError
from dalembert.model import Model
from dalembert.model.evaluate import PointFunction, is_large
from dalembert.model.namespace import explain_unknown
from dalembert.regularize import hidden_constraints
from dalembert.regularize.structure.forms import picked
from dalembert.regularize.structure.hidden import regularized
from dalembert.regularize.structure.system import is_regularized

#: numbers held at once while mass matrices are evaluated
CHUNK = 2_000_000
#: a smaller pivot of the scaled mass matrix (squared: relative to 1) makes it singular
SINGULAR = 1e-7

#: vectors of shape (n_kind, N) by kind
Values = Mapping[str, np.ndarray]


def constraint_residual(model: Model, level: str, t: np.ndarray, values: Values, theta: np.ndarray) -> np.ndarray:
    """The constraints' left-hand sides at N points, shape (N, rows); `theta` has a column for each of them."""
    levels = model.residual_levels
    if level not in levels:
        raise OptionError(f"residual level: {explain_unknown(str(level), levels)} (one of {', '.join(levels)})")
    if level == "constraints":
        rows = model.graph.value("constraints") if model.n_constraints else ca.SX(0, 1)
        return _evaluate(model, rows, t, values, theta)
    if level == "hidden":
        return _evaluate(model, _of_all_levels(model), t, values, theta)
    hidden = hidden_constraints(model)
    if level == "acceleration":
        values = {**values, "a": accelerations(model, t, values, theta).T}
    rows = {
        "position": lambda: ca.vertcat(hidden.c, hidden.g),
        "velocity": lambda: ca.vertcat(hidden.g_I, hidden.h),
        "acceleration": lambda: ca.vertcat(hidden.g_II, hidden.h_I),
        "invariant": lambda: model.graph.value("invariant") if "invariant" in model.graph.functions else ca.SX(0, 1),
    }[level]()
    return _evaluate(model, rows, t, values, theta)


def _of_all_levels(model: Model) -> ca.SX:
    """All constraints of a DAE in its own unknowns; none if its functions run as Python code."""
    if not is_regularized(model):
        return model.graph.value("constraints") if model.n_constraints else ca.SX(0, 1)
    form = regularized(model)
    rows = ca.vertcat(*(level.rows for level in form.levels))
    if not form.y.numel():
        return rows
    without = [i for i in range(rows.numel()) if not ca.depends_on(rows[i], form.y)]
    return picked(rows, without)


def accelerations(model: Model, t: np.ndarray, values: Values, theta: np.ndarray) -> np.ndarray:
    """v' from M v' = f − Zᵀ Gᵀ λ − Zᵀ Hᵀ μ at N points, shape (N, n_v).

    Where M is singular this determines v' up to the null space of M; that part comes from g^II = 0 and h^I = 0, and is
    zero where these do not determine it either.
    """
    if not model.mechanical:
        raise OptionError(f"accelerations exist for EquationsOfMotion only; this is a {type(model).__name__}")
    graph, hidden = model.graph, hidden_constraints(model)
    n = graph.size("v")
    if is_large(graph.value("mass")):
        from dalembert.solution.sparse_accelerations import sparse_accelerations

        return sparse_accelerations(model, t, values, theta, SINGULAR**2)
    force = graph.value("force") - hidden.constraint_force
    # M is symmetric, so that the column-wise order of casadi does not matter
    dynamics = ca.vertcat(ca.vec(ca.densify(graph.value("mass"))), force)
    chunk = max(1, CHUNK // (n * n + n))
    a = np.empty((len(t), n))
    for first in range(0, len(t), chunk):
        part = slice(first, first + chunk)
        here = {kind: value[:, part] for kind, value in values.items()}
        numbers = _evaluate(model, dynamics, t[part], here, theta[:, part])
        M, rest = numbers[:, : n * n].reshape(-1, n, n), numbers[:, n * n :]
        regular = _solve_regular(M, rest)
        a[part] = _solve_singular(model, t[part], here, theta[:, part], M, rest) if regular is None else regular
    return a


def _solve_regular(M: np.ndarray, rest: np.ndarray) -> np.ndarray | None:
    """M⁻¹ rest for all points; None if M is not safely positive definite at one of them."""
    scaled, scale = _scaled(M)
    try:
        pivots = np.diagonal(np.linalg.cholesky(scaled), axis1=1, axis2=2)
    except np.linalg.LinAlgError:
        return None
    if not (pivots > SINGULAR).all():
        return None
    return np.linalg.solve(scaled, (rest / scale)[:, :, None])[:, :, 0] / scale


def _scaled(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """D⁻¹ M D⁻¹ with unit diagonal (where M has one), so that large and small masses count alike."""
    scale = np.sqrt(np.abs(np.diagonal(M, axis1=1, axis2=2)))
    scale[scale == 0] = 1.0
    return M / (scale[:, :, None] * scale[:, None, :]), scale


def _solve_singular(
    model: Model, t: np.ndarray, values: Values, theta: np.ndarray, M: np.ndarray, rest: np.ndarray
) -> np.ndarray:
    """First M a = rest, then within the null space of M the constraints, each in the sense of least squares."""
    graph, hidden = model.graph, hidden_constraints(model)
    n, rows = graph.size("v"), graph.size("lam") + graph.size("mu")
    A = ca.vec(ca.densify(ca.vertcat(hidden.GZ, hidden.HZ)))
    # with a = 0 only the part without accelerations is left
    at_rest = {**values, "a": np.zeros((n, len(t)))}
    numbers = _evaluate(model, ca.vertcat(A, hidden.g_II, hidden.h_I), t, at_rest, theta)
    scaled, scale = _scaled(M)
    a = np.full((len(t), n), np.nan)
    for i in range(len(t)):
        if not (np.isfinite(scaled[i]).all() and np.isfinite(rest[i]).all() and np.isfinite(numbers[i]).all()):
            continue
        eigenvalues, Q = np.linalg.eigh(scaled[i])
        regular = np.abs(eigenvalues) > SINGULAR**2 * np.abs(eigenvalues).max(initial=0)
        y = Q[:, regular] @ (Q[:, regular].T @ (rest[i] / scale[i]) / eigenvalues[regular])
        null = Q[:, ~regular]
        constraint = numbers[i, : rows * n].reshape(n, rows).T / scale[i]
        missing = -(numbers[i, rows * n :] + constraint @ y)
        a[i] = (y + null @ np.linalg.lstsq(constraint @ null, missing, rcond=1e-12)[0]) / scale[i]
    return a


def _evaluate(model: Model, rows: ca.SX, t: np.ndarray, values: Values, theta: np.ndarray) -> np.ndarray:
    if not rows.numel() or not len(t):
        return np.zeros((len(t), rows.numel()))
    return PointFunction(model, [rows]).many(t, values, theta)[0]
