"""Directions in which start values of a DAE may move: first those of which no derivative occurs, then all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dalembert.errors import DalembertError
from dalembert.regularize.newton import RANK, equilibrated, left_null_space

#: guesses for algebraic unknowns are sought so far from the given ones, in units of 1 + |x|
DISTANCES = (0.1, 1.0, 1.0, 3.0, 10.0, 10.0)
#: derivatives along combinations that cancel to less than this fraction of their terms are rounding errors
NOTHING = 1e-11


class Directions:
    """A part of the unknowns, `single`, and combinations of others, the columns of `mixed`."""

    def __init__(self, single: np.ndarray, mixed: np.ndarray):
        self.single, self.mixed = single, mixed

    @staticmethod
    def kernel(E: np.ndarray) -> Directions:
        """Those that a matrix E in E x' does not see. Unknowns whose column is zero stay apart from the others."""
        n = E.shape[1]
        single = ~np.any(np.abs(E) > 0, axis=0)
        others = np.flatnonzero(~single)
        basis = left_null_space(E[:, others].T, RANK) if others.size else np.zeros((0, 0))
        mixed = np.zeros((n, basis.shape[1]))
        mixed[others] = basis
        return Directions(np.flatnonzero(single), mixed)

    @staticmethod
    def all(n: int) -> Directions:
        return Directions(np.arange(n), np.zeros((n, 0)))

    @property
    def n(self) -> int:
        return len(self.single) + self.mixed.shape[1]

    @property
    def basis(self) -> np.ndarray:
        """All directions as columns."""
        return np.hstack([np.eye(len(self.mixed))[:, self.single], self.mixed])

    def along(self, J: np.ndarray) -> np.ndarray:
        """Derivatives by the coordinates."""
        mixed = J @ self.mixed
        mixed[np.abs(mixed) <= NOTHING * (np.abs(J) @ np.abs(self.mixed))] = 0.0
        return np.hstack([J[:, self.single], mixed])

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """Of a point; they tell how large rounding errors are, and where to begin."""
        mixed = np.linalg.lstsq(self.mixed, x, rcond=None)[0] if self.mixed.shape[1] else np.zeros(0)
        return np.concatenate([x[self.single], mixed])

    def point(self, x: np.ndarray, step: np.ndarray, z: np.ndarray) -> np.ndarray:
        """x moved by a step of the coordinates to z. What is outside of the directions stays, bit for bit."""
        k = len(self.single)
        moved = x + self.mixed @ step[k:] if self.mixed.shape[1] else x.copy()
        moved[self.single] = z[:k]
        return moved

    def guesses(
        self, equations: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], x: np.ndarray
    ) -> Iterator[np.ndarray]:
        """x; and if these directions are enough to satisfy the equations, other points in them.

        They are enough if the equations are independent in them at a point nearby. At x itself they need not be: the
        derivative of z² - q by z vanishes for z = 0.
        """
        yield x
        if not 0 < self.n < len(x):
            return
        rng = np.random.default_rng(self.n)
        for distance in DISTANCES:
            step = distance * rng.uniform(-1, 1, self.n) * (1 + np.abs(self.coordinates(x)))
            guess = x + self.basis @ step
            try:
                residual, J = equations(guess)
            except DalembertError:
                continue
            J = self.along(J)
            if not (np.isfinite(residual).all() and np.isfinite(J).all()):
                continue
            if len(J) > self.n or np.linalg.matrix_rank(equilibrated(J)[0], tol=1e-10) < len(J):
                return
            yield guess
