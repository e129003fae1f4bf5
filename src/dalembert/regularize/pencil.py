"""The index of a DAE F(t, x, x') = 0 at a point, from the matrices of its linearization E = −∂F/∂x', A = ∂F/∂x.

Index 1 (or 0) means that the equations without derivatives determine the unknowns of which no derivative occurs. For
higher ones, subspaces tell [1]_: W₁ = ker E, Wₖ₊₁ = {x : E x ∈ A Wₖ} grow until the index is reached. Rank decisions
are made with scaled rows and columns, so that units do not matter.

References
----------
.. [1] T. Berger, A. Ilchmann, S. Trenn, "The quasi-Weierstraß form for regular matrix pencils", Linear Algebra and its
   Applications 436, 2012.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.regularize.newton import scales

#: singular values below this fraction of the largest count as zero
RANK = 1e-10


@dataclass(frozen=True)
class Index:
    """What was found: the index, and which unknown and which equation (numbers) make it higher than 1."""

    value: int
    unknown: int = 0
    equation: int = 0


def pencil_index(E: np.ndarray, A: np.ndarray) -> Index | None:
    """The index of E x' = A x + f. None if the matrices are not square or λ E − A is singular for all λ.

    >>> import numpy as np
    >>> pencil_index(np.diag([1.0, 0.0]), np.array([[-1.0, 1.0], [1.0, 1.0]])).value
    1
    >>> pencil_index(np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))        # q' = z, 0 = q
    Index(value=2, unknown=1, equation=1)
    """
    n = E.shape[1]
    if E.shape != (n, n) or not (np.isfinite(E).all() and np.isfinite(A).all()):
        return None
    largest = [max(np.abs(matrix).max(initial=0), 1e-300) for matrix in (E, A)]
    rows, columns = scales(np.abs(E) / largest[0] + np.abs(A) / largest[1])
    E, A = (matrix * rows[:, None] * columns for matrix in (E, A))
    E, A = (matrix / max(np.abs(matrix).max(initial=0), 1e-300) for matrix in (E, A))
    kernel, left = _null_space(E), _null_space(E.T)
    if not kernel.shape[1]:
        return Index(0)
    S = left.T @ A @ kernel
    U, sigma, V = np.linalg.svd(S)
    if sigma[-1] > RANK * np.linalg.norm(A, 2):
        return Index(1)
    if not _regular(E, A):
        return None
    small = sigma <= RANK * np.linalg.norm(A, 2)
    unknown = np.abs((kernel @ V[small].T) * columns[:, None]).max(axis=1)
    equation = np.abs((left @ U[:, small]) * rows[:, None]).max(axis=1)
    W, value = kernel, 1
    while value <= n:
        grown = _preimage(E, A @ W)
        if grown.shape[1] <= W.shape[1]:
            break
        W, value = grown, value + 1
    return Index(max(value, 2), int(np.argmax(unknown)), int(np.argmax(equation)))


def is_regular(S: np.ndarray) -> bool:
    """Whether a small square matrix has full rank, in whatever units its rows and columns are."""
    rows, columns = scales(S)
    sigma = np.linalg.svd(S * rows[:, None] * columns, compute_uv=False)
    return bool(sigma[-1] > RANK * sigma[0])


def _null_space(A: np.ndarray) -> np.ndarray:
    _, S, V = np.linalg.svd(A)
    return V[int((RANK * max(S[0], 1e-300) < S).sum()) :].T


def _preimage(E: np.ndarray, B: np.ndarray) -> np.ndarray:
    """An orthonormal basis of {x : E x lies in the span of B}."""
    U, S, _ = np.linalg.svd(B, full_matrices=False)
    span = U[:, RANK * max(S.max(initial=0), 1e-300) < S]
    outside = E - span @ (span.T @ E)
    _, S, V = np.linalg.svd(outside)
    return V[int((RANK < S).sum()) :].T  # E is scaled: its entries are of order one


def _regular(E: np.ndarray, A: np.ndarray) -> bool:
    rng = np.random.default_rng(len(E))
    best = 0.0
    for factor in rng.uniform(0.5, 2.0, 3):
        S = np.linalg.svd(factor * E - A, compute_uv=False)
        best = max(best, S[-1] / S[0])
    return best > 1e-14
