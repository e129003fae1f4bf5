"""Nonlinear problems of consistent initial values: Newton's method with minimum-norm steps.

Matrices are dense or, in large models, SciPy-sparse; what is done differently with those is in `sparse_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import InconsistentInitialValues

ITERATIONS = 40
UNIT = float(np.finfo(float).eps)

#: a dense or a SciPy-sparse one
Matrix = Any
#: z -> residual, Jacobian
Function = Callable[[np.ndarray], tuple[np.ndarray, Matrix]]


def nearest_solution(function: Function, z: np.ndarray, names: Sequence[str], what: str, t: float) -> np.ndarray:
    """Solve residual(z) = 0, usually with fewer equations than unknowns, by the smallest corrections.

    Steps are damped when the residual grows; iteration ends when they are lost in rounding. `names` name the
    equations, `what` the unknowns, for the error that is raised when no solution is found.
    """
    residual, J = function(z)
    before = np.inf
    for _ in range(ITERATIONS):
        entries = J if isinstance(J, np.ndarray) else J.data
        if not (np.isfinite(residual).all() and np.isfinite(entries).all()):
            break
        if (np.abs(residual) <= UNIT * _reach(J, z)).all():  # nothing but rounding is left
            return z
        step = _minimum_norm_step(J, -residual)
        size, scale, norm = np.abs(step).max(initial=0.0), 1 + np.abs(z).max(initial=0.0), np.linalg.norm(residual)
        # converged only if the linearized equations can be met: contradictory ones cannot
        unmet = np.linalg.norm(J @ step + residual)
        solvable = unmet <= 1e-8 * norm + 1e-13 * (1 + np.abs(entries).max(initial=0) * scale)
        if solvable and (size <= 2 * UNIT * scale or (size <= 1e-12 * scale and size >= 0.5 * before)):
            return z
        damped = _damped_step(function, z, step, norm, accept_any=size <= 1e-8 * scale)
        if damped is None:
            break
        z, residual, J = damped
        before = size
    guilty = int(np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf)))
    raise InconsistentInitialValues(
        f"no consistent values of {what} were found near the given ones at t = {t:.9g}: {names[guilty]} keeps a "
        f"residual of {residual[guilty]:.3e}. Check the start values, and whether constraints contradict each other."
    )


def _reach(J: Matrix, z: np.ndarray) -> np.ndarray:
    """|J| |z|: what the residuals of linear equations are the differences of."""
    if isinstance(J, np.ndarray):
        # a product with @ would let go of the interpreter: threads would queue up
        return (np.abs(J) * np.abs(z)).sum(axis=1)
    return abs(J) @ np.abs(z)


def _minimum_norm_step(J: Matrix, b: np.ndarray) -> np.ndarray:
    if isinstance(J, np.ndarray):
        return np.linalg.lstsq(J, b, rcond=1e-12)[0]
    from dalembert.regularize.sparse_steps import minimum_norm

    return minimum_norm(J, b)


def _damped_step(function: Function, z: np.ndarray, step: np.ndarray, norm: float, accept_any: bool):
    damping = 1.0
    while damping > 1e-4:
        trial = z + damping * step
        residual, J = function(trial)
        if np.isfinite(residual).all() and (accept_any or np.linalg.norm(residual) <= norm * (1 - 0.1 * damping)):
            return trial, residual, J
        damping /= 2
    return None


def equilibrated(J: Matrix) -> tuple[Matrix, np.ndarray]:
    """J with rows divided by their largest entries, and these."""
    if isinstance(J, np.ndarray):
        scale = np.abs(J).max(axis=1, initial=0)
        scale[scale == 0] = 1
        return J / scale[:, None], scale
    from dalembert.regularize.sparse_steps import equilibrated

    return equilibrated(J)


def solve_or_least_squares(A: Matrix, b: np.ndarray) -> tuple[np.ndarray, int]:
    """A⁻¹ b and the rank of A; the minimum-norm least-squares solution if A is singular; NaN if A is not finite."""
    if not b.size:
        return b.copy(), 0
    if not np.isfinite(A if isinstance(A, np.ndarray) else A.data).all():
        return np.full(len(b), np.nan), len(b)
    if not isinstance(A, np.ndarray):
        from dalembert.regularize.sparse_steps import solve_or_minimum_norm

        return solve_or_minimum_norm(A, b)
    # NumPy's inverse keeps hold of the interpreter where SciPy's factorizations let go of it: threads would queue up
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        inverse = None
    if inverse is not None and np.abs(A).sum(axis=1).max() * np.abs(inverse).sum(axis=1).max() < 1e13:
        x = (inverse * b).sum(axis=1)
        return x + (inverse * (b - (A * x).sum(axis=1))).sum(axis=1), len(b)  # one refinement
    step, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-13)
    return step, int(rank)


def null_space_names(A: Matrix, names: Sequence[str]) -> str:
    """The rows that dominate the left null space of A (or, if it has none, the direction nearest to one)."""
    if isinstance(A, np.ndarray):
        U, S, _ = np.linalg.svd(A)
        small = 1e-12 * S[0] >= S
        weight = np.abs(U[:, small] if small.any() else U[:, -1:]).max(axis=1)
    else:
        from dalembert.regularize.sparse_steps import left_null_weights

        weight = left_null_weights(A)
    guilty = [i for i in np.argsort(-weight)[:3] if weight[i] > 0.1 * weight.max()]
    return ", ".join(names[i] for i in guilty)
