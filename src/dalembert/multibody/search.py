"""Levenberg and Marquardt's search for F(z) = 0, from one start or from several.

Steps are the shortest ones that reduce F as the linearization promises, so that among many solutions one near the start
is found. Jacobians may have any shape and rank: equations that depend on each other do no harm.

References
----------
.. [1] J. Fan, Y. Yuan, "On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity
   assumption", Computing 74, 2005: damping proportional to |F|.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

#: entries of a Jacobian from which on sparse factors are taken
DENSE = 250_000
_FULL = 0.03  # share of nonzeros from which on dense ones are taken again
_MOST_STEPS = 200
_LONGEST = 0.7  # of one component in a step: linearizations of rotations do not reach further
_STATIONARY = 1e-9  # |Jᵀ F| relative to |J| |F|
_SLOW, _PATIENCE = 0.9999, 10  # so many steps in a row that gain next to nothing end a search
_ROUNDED = 3e-16

Point = Any
Evaluate = Callable[[Point], tuple[np.ndarray, Any]]  # F and its Jacobian, dense or sparse
Move = Callable[[Point, np.ndarray], Point]


@dataclass(frozen=True)
class Found:
    """Where a search ended."""

    point: Point
    F: np.ndarray
    steps: int

    @property
    def residual(self) -> float:
        return float(np.abs(self.F).max(initial=0.0))


def search(evaluate: Evaluate, move: Move, start: Point, scale: float = 1.0) -> Found:
    """Reduce |F| until it is of the size of rounding errors (of numbers of size `scale`), or does not fall any more.

    `move(point, step)` is the point that a step leads to.
    """
    point = start
    F, J = evaluate(point)
    factor, slow = 1e-4, 0
    for k in range(_MOST_STEPS):
        size = np.linalg.norm(F)
        if np.abs(F).max(initial=0.0) <= _ROUNDED * scale or J.shape[1] == 0:
            return Found(point, F, k)
        solve, slope, largest = _linear(J, F)
        if slope <= _STATIONARY * largest * size:
            return Found(point, F, k)
        while True:
            step = solve(factor * size * largest)
            longest = np.abs(step).max()
            if longest > _LONGEST:
                step *= _LONGEST / longest
            there = move(point, step)
            F_new, J_new = evaluate(there)
            size_new = np.linalg.norm(F_new)
            expected = size**2 - np.linalg.norm(F + J @ step) ** 2
            gained = size**2 - size_new**2 if np.isfinite(size_new) else -np.inf
            if gained > 1e-4 * expected and gained > 0:
                break
            factor *= 4
            if longest < 1e-15 or factor > 1e20:
                return Found(point, F, k)
        if gained > 0.75 * expected:
            factor = max(factor / 8, 1e-14)
        elif gained < 0.25 * expected:
            factor *= 2
        point, F, J = there, F_new, J_new
        slow = slow + 1 if size_new > _SLOW * size else 0
        if slow >= _PATIENCE:
            break
    return Found(point, F, k + 1)


def _linear(J: Any, F: np.ndarray) -> tuple[Callable[[float], np.ndarray], float, float]:
    """Damped shortest steps −Jᵀ (J Jᵀ + μ)⁻¹ F as a function of μ; |Jᵀ F|; |J|."""
    if isinstance(J, np.ndarray):
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        along = U.T @ F
        keep = s > 1e-14 * s[:1] if len(s) else s > 0
        s, along, Vt = s[keep], along[keep], Vt[keep]
        return (
            lambda mu: -Vt.T @ (s * along / (s**2 + mu)),
            float(np.linalg.norm(s * along)),
            float(s[0]) if len(s) else 0.0,
        )
    m, n = J.shape
    largest = float(np.sqrt((J.multiply(J)).sum(axis=1).max()))
    least = 1e-14 * largest**2
    if J.nnz > _FULL * m * n:  # coordinates along long chains: hardly a zero in it
        A = J.toarray()
        square = A @ A.T

        def solve(mu: float) -> np.ndarray:
            return -A.T @ np.linalg.solve(square + max(mu, least) * np.eye(m), F)
    else:
        solve = _sparse(J, F, least)
    return solve, float(np.linalg.norm(J.T @ F)), largest


def _sparse(J: Any, F: np.ndarray, least: float) -> Callable[[float], np.ndarray]:
    from scipy.sparse import bmat, eye
    from scipy.sparse.linalg import splu

    m, n = J.shape

    def solve(mu: float) -> np.ndarray:
        root = np.sqrt(max(mu, least))  # the step is Jᵀ y with (J Jᵀ + μ) y = −F, both blocks scaled alike
        K = bmat([[root * eye(n), -J.T], [J, root * eye(m)]], format="csc")
        return splu(K).solve(np.concatenate([np.zeros(n), -F]))[:n]

    return solve


def starts(
    first: Point, move: Move, scatter: Callable[[np.random.Generator], Point], n: int, seed: int = 2006
) -> Iterator[Point]:
    """The first point, then others near it, then any: always the same ones."""
    yield first
    rng = np.random.default_rng(seed)
    for width in (0.01, 0.1, 0.4, 0.4, 1.0, 1.0):
        yield move(first, width * rng.standard_normal(n))
    for _ in range(int(np.clip(1000 // max(n, 1), 3, 30))):
        yield scatter(rng)


def first_that_solves(
    evaluate: Evaluate, move: Move, points: Iterator[Point], accept: float, scale: float = 1.0
) -> tuple[bool, Found]:
    """Search from one start after the other; whether one was found, and the best."""
    best: Found | None = None
    for point in points:
        found = search(evaluate, move, point, scale)
        if best is None or np.linalg.norm(found.F) < np.linalg.norm(best.F):
            best = found
        if found.residual <= accept * scale:
            return True, found
        if not len(found.F):
            break
    return False, best
