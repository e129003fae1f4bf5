"""What rounding makes of residuals, found by trial: |J| |z| does not tell of constants, inner terms, other numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.regularize.newton import UNIT, Function, Matrix, Trial, equilibrated, row_squares

#: parts of a displacement in which `rounding_seen` looks for a response
PARTS = tuple(2.0**-k for k in range(6, 51, 6))
#: combinations of equations with which it looks
SIGNS = 4
#: trials of what rounding of numbers makes of residuals
TRIALS = 4


def shaken(trial: Trial, z: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """What rounding makes of residuals: that of the numbers they are computed from, and that on the way.

    Numbers are moved to both sides by the root of a unit of rounding. Of the difference, the same root is what a unit
    does; of the mean, curvature does no more than a unit could, and the rest is rounding itself.
    """
    found = np.zeros(len(residual))
    for k in range(TRIALS):
        up, down = (trial(z, _mover(side * UNIT**0.5, k)) for side in (1.0, -1.0))
        for change in (0.5 * UNIT**0.5 * (up - down), 0.5 * (up + down) - residual):
            found = np.maximum(found, np.where(np.isfinite(change), np.abs(change), 0.0))
    return found


def _mover(part: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Moves numbers by at most this part of them, up or down by chance."""
    rng = np.random.default_rng(seed)
    return lambda x: x + part * x * rng.choice([-1.0, 1.0], x.shape) * rng.uniform(0.5, 1.0, x.shape)


def moved(function: Function) -> Trial:
    """For equations that hold no other numbers."""
    return lambda z, move: function(move(z))[0]


def rounding_seen(function: Function, z: np.ndarray, residual: np.ndarray, J: Matrix) -> np.ndarray:
    """Which residuals are rounding errors, though |J| |z| does not tell (constants and inner terms are not seen there).

    Parts of a displacement that ought to change a residual by its own size have to show in proportion: half of them at
    least, for one size of the parts that is short enough for the equation to be straight and long enough to be noticed.
    Where no part does, the displacement is swallowed by rounding, or what it changes is rounding.
    """
    A, scale = equilibrated(J)
    squares = row_squares(A)
    share = residual / scale / np.where(squares > 0, squares, 1.0)
    seen = np.zeros(len(residual), bool)
    for signs in _signs(len(share)):  # opposite equations cancel in some of them
        direction = A.T @ (signs * share)
        expected = J @ direction
        rough = np.abs(expected) >= 0.25 * np.abs(residual)
        for part in PARTS:
            changed = function(z + part * direction)[0] - residual
            rough &= ~(np.abs(changed - part * expected) < 0.5 * part * np.abs(expected))
        seen |= rough
    return seen


def _signs(n: int) -> np.ndarray:
    """Several rows: ones, and others by chance."""
    return np.vstack([np.ones(n), np.random.default_rng(n).choice([-1.0, 1.0], (SIGNS - 1, n))])
