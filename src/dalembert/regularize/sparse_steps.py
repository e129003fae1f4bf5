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
from scipy.sparse.linalg import MatrixRankWarning, SuperLU, splu

from dalembert.regularize.newton import LARGEST_CONDITION, column_scales

#: δ, in units of the largest row of J Jᵀ
REGULARIZATION = 1e-12
#: random signs with which the effect of errors is sampled
SAMPLES = 3


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
    return divided(J, scale), scale


def divided(J: csc_matrix, rows: np.ndarray) -> csc_matrix:
    """J with its rows divided by these numbers."""
    return csc_matrix(diags(1 / rows) @ J)


def without(J: csc_matrix, rows: np.ndarray) -> csc_matrix:
    """J with zeros in these rows."""
    return csc_matrix(diags(np.where(rows, 0.0, 1.0)) @ J)


class Sparse:
    """As `newton.Dense`, for a sparse matrix: rank n, or n − 1 for every smaller one."""

    def __init__(self, A: csc_matrix):
        self.n = A.shape[0]
        self._A, self._rows = equilibrated(A)
        self.columns = column_scales(abs(self._A).max(axis=0).toarray().ravel())
        self._B = csc_matrix(self._A @ diags(self.columns))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", MatrixRankWarning)
                self._factors = splu(self._B)
        except (RuntimeError, MatrixRankWarning):
            self._factors = None
        if self._factors is not None and not _condition(self._B, self._factors) < LARGEST_CONDITION:
            self._factors = None
        self.rank = self.n if self._factors is not None else self.n - 1

    def solve(self, b: np.ndarray) -> np.ndarray:
        """x with A x = b; if there is none, the smallest of those that come nearest."""
        c = b / self._rows
        if self._factors is None:
            return minimum_norm(self._A, c)
        y = self._factors.solve(c)
        return self.columns * (y + self._factors.solve(c - self._B @ y))  # one refinement

    def spread(self, size: np.ndarray) -> np.ndarray:
        """|A⁻¹| size, about: what errors of these sizes with random signs do to the solution, a few times."""
        found, size = np.zeros(self.n), size / self._rows
        for signs in np.random.default_rng(0).choice([-1.0, 1.0], (SAMPLES, self.n)):
            if self._factors is None:
                moved = minimum_norm(self._A, signs * size)
            else:
                moved = self.columns * self._factors.solve(signs * size)
            found = np.maximum(found, np.abs(moved))
        return found


def _condition(A: csc_matrix, factors: SuperLU) -> float:
    """An estimate in the 1-norm, by Hager's ascent: the maximum of |A⁻¹ x| over the corners of the unit sphere."""
    n = A.shape[0]
    x, norm = np.full(n, 1 / n), 0.0
    for _ in range(5):
        y = factors.solve(x)
        if not np.abs(y).sum() > norm:
            break
        norm = np.abs(y).sum()
        ascent = factors.solve(np.where(y < 0, -1.0, 1.0), "T")
        k = int(np.argmax(np.abs(ascent)))
        if not np.abs(ascent[k]) > ascent @ x:
            break
        x = np.zeros(n)
        x[k] = 1.0
    # where all of that is misled by cancellation
    y = factors.solve(np.where(np.arange(n) % 2, -1.0, 1.0) * (1 + np.arange(n) / max(n - 1, 1)))
    return float(abs(A).sum(axis=0).max() * max(norm, 2 * np.abs(y).sum() / (3 * n)))


def left_null_weights(A: csc_matrix) -> np.ndarray:
    """Moduli of a vector that lies mostly in the left null space of A."""
    return np.abs(left_null_vector(A))


def left_null_vector(A: csc_matrix) -> np.ndarray:
    """A vector of length one that lies mostly in the left null space of A, or nearest to one."""
    m, n = A.shape
    factors = _regularized(A)
    y = np.random.default_rng(0).standard_normal(m)
    for _ in range(2):
        y = factors.solve(np.concatenate([np.zeros(n), y]))[n:]
        y /= max(np.linalg.norm(y), 1e-300)
    return y
