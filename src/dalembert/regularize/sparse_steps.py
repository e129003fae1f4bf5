"""Newton steps with sparse matrices, for the start values of large models.

Steps of minimum norm come from the regularized saddle-point system

    [ I   Jᵀ  ] [ x ]   [ 0 ]
    [ J  −δ I ] [ y ] = [ b ]          x = Jᵀ (J Jᵀ + δ I)⁻¹ b,

which is regular also when rows depend on each other. Its error, a part δ/σ² for a singular value σ, is taken away by
repetition with what is left of b.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import bmat, csc_matrix, diags, eye
from scipy.sparse.linalg import LinearOperator, MatrixRankWarning, SuperLU, onenormest, splu

#: δ, in units of the largest row of J Jᵀ
REGULARIZATION = 1e-12
#: condition numbers beyond this count as singular
LARGEST_CONDITION = 1e13


def _regularized(J: csc_matrix) -> SuperLU:
    m, n = J.shape
    delta = REGULARIZATION * max(J.multiply(J).sum(axis=1).max(), 1e-300)
    return splu(csc_matrix(bmat([[eye(n), J.T], [J, -delta * eye(m)]])))


def minimum_norm(J: csc_matrix, b: np.ndarray) -> np.ndarray:
    """The smallest x with J x = b; the nearest to it if the equations contradict each other."""
    n = J.shape[1]
    factors = _regularized(J)
    x, left = np.zeros(n), b
    size = np.linalg.norm(b)
    for _ in range(5):
        correction = factors.solve(np.concatenate([np.zeros(n), left]))[:n]
        after = left - J @ correction
        if not np.linalg.norm(after) < size:
            break
        x, left, before, size = x + correction, after, size, np.linalg.norm(after)
        if size > 0.1 * before or size <= 1e-15 * np.linalg.norm(b):
            break
    return x


def equilibrated(J: csc_matrix) -> tuple[csc_matrix, np.ndarray]:
    """J with rows divided by their largest entries, and these."""
    scale = abs(J).max(axis=1).toarray().ravel()
    scale[scale == 0] = 1
    return csc_matrix(diags(1 / scale) @ J), scale


def solve_or_minimum_norm(A: csc_matrix, b: np.ndarray) -> tuple[np.ndarray, int]:
    """A⁻¹ b and the number of rows; if A is singular, the minimum-norm solution and a smaller number."""
    n = len(b)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", MatrixRankWarning)
            factors = splu(A)
    except (RuntimeError, MatrixRankWarning):
        factors = None
    if factors is not None and _condition(A, factors) < LARGEST_CONDITION:
        x = factors.solve(b)
        return x + factors.solve(b - A @ x), n  # one refinement
    return minimum_norm(A, b), n - 1


def _condition(A: csc_matrix, factors: SuperLU) -> float:
    """An estimate in the 1-norm."""
    inverse = LinearOperator(A.shape, matvec=factors.solve, rmatvec=lambda v: factors.solve(v, "T"), dtype=float)
    return float(abs(A).sum(axis=0).max() * onenormest(inverse))


def left_null_weights(A: csc_matrix) -> np.ndarray:
    """Moduli of a vector that lies mostly in the left null space of A."""
    m, n = A.shape
    factors = _regularized(A)
    y = np.random.default_rng(0).standard_normal(m)
    for _ in range(2):
        y = factors.solve(np.concatenate([np.zeros(n), y]))[n:]
        y /= max(np.linalg.norm(y), 1e-300)
    return np.abs(y)
