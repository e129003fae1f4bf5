"""Semismooth Newton method on the projections of Alart and Curnier: quadratic convergence with round friction cones.

In units in which the diagonal of A is 1, with τ = λ − y, the equations are

    λ_N − max(0, τ_N) = 0,        λ_T − proj(τ_T) = 0  onto the disc of radius r = friction (max(0, τ_N) + preload).

Where Newton's method does not get nearer it starts anew: after some sweeps of Gauss-Seidel, or from the solution with
polygons in place of the discs, which Lemke's algorithm finds.

References
----------
.. [1] P. Alart, A. Curnier, "A mixed formulation for frictional contact problems prone to Newton like methods",
   1991.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import quiet_arithmetic
from dalembert.linalg.complementarity.gauss_seidel import sweeper
from dalembert.linalg.complementarity.pivoting import PIVOTED, Lemke
from dalembert.linalg.complementarity.problem import (
    SOLVED,
    ComplementaritySolver,
    ContactProblem,
    ContactSolution,
    accepted,
    failed,
    forces,
    no_solution,
    residual,
)
from dalembert.options import require

#: added to the diagonal of A (which is 1) in the Newton matrix only: redundant contacts leave it regular
SOFT = 1e-10
#: Newton steps from one start, and halvings of a step
STEPS = 30
HALVINGS = 10
#: sweeps before the first Newton step; after one that did not help twice as many, and so on
SWEEPS = 20
#: polygons in place of friction discs, and by how much each has finer angles than the one before
POLYGONS, FINER = 10, 4.0
#: unknowns from which the Newton matrix of a sparse problem is sparse
LARGE = 150


@dataclass(frozen=True, kw_only=True, repr=False)
class SemismoothNewton(ComplementaritySolver):
    """Newton's method for contacts with friction, planar or in space: few, expensive iterations to full accuracy.

    Examples
    --------
    >>> from dalembert.linalg.complementarity import ContactProblem, SemismoothNewton
    >>> A = [[1, 0.2, 0.1], [0.2, 1, 0], [0.1, 0, 2]]
    >>> solution = SemismoothNewton().solve(ContactProblem(A, [-2, 3, 4], dims=[3], friction=0.5))
    >>> solution.residual < 1e-14
    True
    """

    tolerance: float = 1e-12  # of `residual`, aimed at; where rounding forbids it, ten times to a hundred times as much
    iterations: int = 500  # Newton steps at most

    def __post_init__(self) -> None:
        self.coerce_numbers()
        require(1e-15 <= self.tolerance < 1, f"tolerance={self.tolerance} must lie between 1e-15 and 1")
        require(self.iterations >= 1, f"iterations={self.iterations} must be at least 1")

    def solve(self, problem: ContactProblem, guess: Any = None) -> ContactSolution:
        """Forces that satisfy the conditions, from the `guess` or from a few sweeps of Gauss-Seidel."""
        known = None if guess is None else forces("guess", guess, problem.n)
        with quiet_arithmetic():
            search = _Search(problem)
            for start in _starts(search, known):
                search.newton(start, self.tolerance, self.iterations)
                if search.error <= self.tolerance or search.steps >= self.iterations:
                    break
        solution = accepted(problem, search.best, search.steps, "SemismoothNewton")
        if not solution.residual <= max(self.tolerance, SOLVED):
            if search.hopeless:
                raise no_solution(problem, search.best)
            raise failed(problem, search.best, "SemismoothNewton", search.steps)
        return solution


class _Search:
    """The best forces so far, and Newton's method from somewhere."""

    def __init__(self, problem: ContactProblem):
        self.problem, self.equations = problem, _Equations(problem)
        self.best = np.zeros(problem.n)
        self.error = residual(problem, self.best)
        self.steps = 0
        self.hopeless = False  # there is no solution even with polygons in place of discs

    def look(self, lam: np.ndarray) -> None:
        error = residual(self.problem, lam)
        if error < self.error:
            self.best, self.error = lam.copy(), error

    def newton(self, lam: np.ndarray, tolerance: float, most: int) -> None:
        """Steps until the equations hold, but not more than it takes from a good start."""
        scale = self.problem.scale
        x = lam * scale
        self.look(lam)
        for _ in range(min(STEPS, most - self.steps)):
            if self.error <= tolerance:
                return
            self.steps += 1
            x = self.equations.step(x)
            if x is None:
                return
            self.look(x / scale)


def _starts(search: _Search, guess: np.ndarray | None) -> Iterator[np.ndarray]:
    """Forces from which Newton's method may succeed, the cheapest first."""
    problem = search.problem
    sweep = sweeper(problem)

    def swept(lam: np.ndarray, sweeps: int) -> np.ndarray:
        lam = lam.copy()
        sweep(lam, sweeps, 0.0)
        return lam

    if guess is not None:
        yield guess
    yield swept(search.best, SWEEPS)
    yield swept(search.best, 2 * SWEEPS)
    yield from _of_polygons(search)
    if not search.hopeless:
        for doubled in range(2, 9):
            yield swept(search.best, SWEEPS * 2**doubled)


def _of_polygons(search: _Search) -> Iterator[np.ndarray]:
    """Exact solutions with polygons in place of round discs, their corners ever closer around where forces point."""
    problem = search.problem
    spatial = (problem.dims == 3) & (problem.friction > 0)
    if Lemke.size(problem) + 2 * POLYGONS * spatial.sum() > PIVOTED:
        return
    rows = problem.starts[spatial]
    centre = np.zeros(len(problem.dims))
    fan = np.pi / 4 * np.arange(8)
    for k in range(1, POLYGONS):
        lam = Lemke.polygonal(problem, centre[:, None] + fan)
        if lam is None:
            search.hopeless = k == 1
            return
        yield lam
        centre[spatial] = np.arctan2(lam[rows + 2], lam[rows + 1])
        side = np.pi / 2 / FINER ** np.arange(k + 1)
        fan = np.concatenate([[0.0, np.pi], side, -side])


class _Equations:
    """The equations in scaled forces x, and Newton steps for them."""

    def __init__(self, problem: ContactProblem):
        from scipy.sparse import diags_array

        self.problem = problem
        s = 1 / problem.scale
        self.large = problem.sparse and problem.n > LARGE
        self.A = diags_array(s) @ problem.csr @ diags_array(s) if self.large else problem.dense * s[:, None] * s
        self.b = problem.b * s
        self.friction, self.constant = problem.scaled_friction
        self.tangential = problem.tangential
        self.contact = problem.block_of[self.tangential]  # of each tangential row
        # rows of the same contact that a tangential row depends on, in pairs of positions
        pairs = [(i, j) for i in range(len(self.contact)) for j in (i - 1, i, i + 1) if self._same(i, j)]
        self.pairs = np.array(pairs, np.int64).reshape(-1, 2)

    def _same(self, i: int, j: int) -> bool:
        return 0 <= j < len(self.contact) and self.contact[i] == self.contact[j]

    def at(self, x: np.ndarray) -> tuple[np.ndarray, tuple]:
        """Values F, and what derivatives need: which contacts are closed, directions, radii and lengths."""
        problem, T, c = self.problem, self.tangential, self.contact
        y = self.A @ x + self.b
        tau = x - y
        pressed = np.maximum(tau[problem.starts], 0.0)
        radius = self.friction * pressed + self.constant
        length = np.sqrt(np.bincount(c, tau[T] ** 2, minlength=len(problem.dims)))
        slides = (length > radius) | (radius == 0.0)
        length = np.where(length > 0.0, length, 1.0)
        direction = tau[T] / length[c]
        F = np.empty(problem.n)
        F[problem.starts] = np.minimum(x, y)[problem.starts]
        F[T] = np.where(slides[c], x[T] - radius[c] * direction, y[T])
        return F, (tau[problem.starts] > 0, slides, radius, length, direction)

    def step(self, x: np.ndarray) -> np.ndarray | None:
        """x after a Newton step, a part of it if that makes the equations smaller; None if there is no step.

        Where no part does, the whole step is taken: contacts that change between sticking and sliding make a hill,
        behind which the solution often lies.
        """
        F, parts = self.at(x)
        size = np.sqrt(F @ F)
        dx = self._direction(F, *parts)
        if dx is None or not np.isfinite(dx).all():
            return None
        t = 1.0
        for _ in range(HALVINGS):
            trial = x + t * dx
            new = self.at(trial)[0]
            if np.sqrt(new @ new) <= (1 - 1e-3 * t) * size:
                return trial
            t *= 0.5
        return x + dx

    def _direction(self, F, closed, slides, radius, length, direction) -> np.ndarray | None:
        """The solution of G dx = −F, G = 1 − D + D A, D being the derivative of the projection."""
        problem, T, c = self.problem, self.tangential, self.contact
        n, starts = problem.n, problem.starts
        # derivative of the projection by τ, whose entries stand within contacts
        i, j = self.pairs[:, 0], self.pairs[:, 1]
        sliding = (radius / length)[c[i]] * ((i == j) - direction[i] * direction[j])
        within = np.where(slides[c[i]], sliding, i == j)
        by_normal = np.where(slides[c] & closed[c], self.friction[c] * direction, 0.0)
        rows = np.concatenate([starts, T[i], T])
        columns = np.concatenate([starts, T[j], starts[c]])
        values = np.concatenate([closed.astype(float), within, by_normal])
        if self.large:
            return self._solve_sparse(F, rows, columns, values)
        D = np.zeros((n, n))
        D[rows, columns] = values
        G = D @ self.A
        G += np.eye(n) - D * (1 - SOFT)
        try:
            return np.linalg.solve(G, -F)
        except np.linalg.LinAlgError:
            return None

    def _solve_sparse(self, F, rows, columns, values) -> np.ndarray | None:
        from scipy.sparse import csc_array, eye_array
        from scipy.sparse.linalg import splu

        D = csc_array((values, (rows, columns)), shape=(len(F), len(F)))
        try:
            return splu(csc_array(D @ self.A + eye_array(len(F)) - D * (1 - SOFT))).solve(-F)
        except RuntimeError:  # exactly singular
            return None
