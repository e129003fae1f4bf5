"""Nonlinear problems of consistent initial values: Newton's method with minimum-norm steps.

Convergence is judged by residuals, equation by equation, and never by the absolute size of a step, so that units do not
matter: an equation holds when its residual is what rounding makes of the terms J z that it is the sum of, or when it is
seen to be nothing but rounding (`rounding`). Equations that depend on each other contradict each other by rounding,
also by that of the numbers in which they are stated. Matrices are dense or, in large models, SciPy-sparse; what is done
differently with those is in `sparse_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import IllPosedConstraints, InconsistentInitialValues

ITERATIONS = 60
UNIT = float(np.finfo(float).eps)
#: an equation holds if its residual is at most so many units of rounding of |J| |z|
ROUNDINGS = 8.0
#: singular values below this fraction of the largest count as zero in steps of minimum norm
RANK = 1e-12
#: rows of a Jacobian below so many units of rounding of the largest are rounding themselves: redundant constraints that
#: say nothing in the plane in which a mechanism moves
SILENT = 32.0 * UNIT
#: condition numbers, after scaling, from which a square matrix counts as singular
LARGEST_CONDITION = 1e13
#: equations may depend on each other where a step leaves more than this part of the residuals by its own linear model
CONTRADICTED = 0.1
#: or where singular values are below this fraction of the largest
DOUBTFUL = UNIT**0.5
#: sweeps over rows and columns when a matrix is scaled; each takes the root of what is left
SCALINGS = 5

#: a dense or a SciPy-sparse one
Matrix = Any
#: z -> residual, Jacobian
Function = Callable[[np.ndarray], tuple[np.ndarray, Matrix]]
#: A with equilibrated rows, b -> x with A x = b, or nearest to it, and whether rows may depend on each other
Step = Callable[[Matrix, np.ndarray], tuple[np.ndarray, bool]]
#: z, how to move numbers by rounding -> residual
Trial = Callable[[np.ndarray, Callable[[np.ndarray], np.ndarray]], np.ndarray]


def nearest_solution(
    function: Function,
    z: np.ndarray,
    names: Sequence[str],
    what: str,
    t: float,
    trial: Trial | None = None,
    smallest: Step | None = None,
) -> np.ndarray:
    """Solve residual(z) = 0, usually with fewer equations than unknowns, by the smallest corrections.

    Steps are damped when the residual grows. `names` name the equations, `what` the unknowns, for the error that is
    raised when no solution is found. Values that satisfy the equations already are returned as they are. Where
    equations hold numbers besides z that are known up to rounding, `trial(z, move)` is the residual with all of them
    moved. `smallest` gives the corrections of linear equations; by default those of minimum norm.
    """
    from dalembert.regularize.rounding import moved, rounding_seen, shaken

    smallest = judged_step if smallest is None else smallest
    residual, J = function(z)
    # where J loses rank in the solution (x² = 0), steps only halve the distance: rounding is never reached
    nothing = UNIT**2 * np.abs(residual)
    for _ in range(ITERATIONS):
        if not (np.isfinite(residual).all() and np.isfinite(entries(J)).all()):
            break
        open_rows = ~(holds(residual, J, z) | (np.abs(residual) <= nothing))
        if not open_rows.any():
            return z
        silent = silent_rows(J)
        if silent.any():
            # no step changes them; what they say is as exact as the others can say it
            open_rows &= ~(silent & (np.abs(residual) <= ROUNDINGS * UNIT * products(J, z).max()))
            if not open_rows.any():
                return z
            if not (open_rows & ~silent).any():
                break
            J = without(J, silent)
        A, scale = equilibrated(J)
        loud = np.where(silent, 0.0, residual)
        step, doubtful = smallest(A, -loud / scale)
        if doubtful:
            rounding = shaken(trial or moved(function), z, residual)
            open_rows &= ~(np.abs(residual) <= ROUNDINGS * rounding)
            if not open_rows.any():
                return z
            # a row whose entries are small differences may say least of all, however large it is made
            larger = np.maximum(1.0, rounding / (UNIT * scale * (np.abs(z).max(initial=0) or 1.0)))
            A, scale = divided(A, larger), scale * larger
            step, _ = smallest(A, -loud / scale)
        damped = _damped_step(function, z, step, residual, scale, ~silent)
        if damped is None:
            # some equations may be as exact as they can be, while others are not
            open_rows &= ~rounding_seen(function, z, residual, J)
            if not open_rows.any():
                return z
            damped = _damped_step(function, z, step, residual, scale, open_rows)
        if damped is None:
            break
        z, residual, J = damped
    guilty = int(np.argmax(np.where(np.isfinite(residual), np.abs(residual), np.inf)))
    found = (
        f"no consistent values of {what} were found near the given ones at t = {t:.9g}: {names[guilty]} keeps a "
        f"residual of {residual[guilty]:.3e}."
    )
    from dalembert.regularize.contradiction import ill_posed

    contradiction = ill_posed(t, names, J, residual) if np.isfinite(residual).all() else None
    if contradiction is not None:
        raise IllPosedConstraints(f"{found} {contradiction}", constraints=contradiction.constraints)
    raise InconsistentInitialValues(f"{found} Check the start values, and whether constraints contradict each other.")


def holds(residual: np.ndarray, J: Matrix, z: np.ndarray, roundings: float = ROUNDINGS) -> np.ndarray:
    """Which equations hold: their residuals are rounding errors of the terms of J z.

    This is the componentwise backward error, which knows no units, neither of equations nor of unknowns. Unknowns that
    vanish leave rounding of rounding, in proportion to the others.
    """
    unit = roundings * UNIT
    return np.abs(residual) <= unit * products(J, np.abs(z) + unit * np.abs(z).max(initial=0))


def silent_rows(J: Matrix) -> np.ndarray:
    """Mask of the rows that are nothing but rounding beside others."""
    size = row_sizes(J)
    largest = size.max(initial=0)
    return (size <= SILENT * largest) & (largest > 0)


def row_sizes(J: Matrix) -> np.ndarray:
    """The largest entry of each row."""
    if isinstance(J, np.ndarray):
        return np.abs(J).max(axis=1, initial=0)
    return abs(J).max(axis=1).toarray().ravel()


def without(J: Matrix, rows: np.ndarray) -> Matrix:
    """J with zeros in these rows."""
    if isinstance(J, np.ndarray):
        return np.where(rows[:, None], 0.0, J)
    from dalembert.regularize.sparse_steps import without

    return without(J, rows)


def divided(J: Matrix, rows: np.ndarray) -> Matrix:
    """J with its rows divided by these numbers."""
    if isinstance(J, np.ndarray):
        return J / rows[:, None]
    from dalembert.regularize.sparse_steps import divided

    return divided(J, rows)


def entries(J: Matrix) -> np.ndarray:
    return J if isinstance(J, np.ndarray) else J.data


def products(J: Matrix, z: np.ndarray) -> np.ndarray:
    """|J| |z|: what the residuals of linear equations are the differences of."""
    if isinstance(J, np.ndarray):
        # a product with @ would let go of the interpreter: threads would queue up
        return (np.abs(J) * np.abs(z)).sum(axis=1)
    return abs(J) @ np.abs(z)


def _times(A: Matrix, x: np.ndarray) -> np.ndarray:
    return (A * x).sum(axis=1) if isinstance(A, np.ndarray) else A @ x


def row_squares(A: Matrix) -> np.ndarray:
    """Squared lengths of the rows."""
    if isinstance(A, np.ndarray):
        return (A * A).sum(axis=1)
    return np.asarray(A.multiply(A).sum(axis=1)).ravel()


def minimum_norm_step(A: Matrix, b: np.ndarray) -> np.ndarray:
    """The smallest x with A x = b, or the nearest to it; rows of A are equilibrated."""
    return judged_step(A, b)[0]


def judged_step(A: Matrix, b: np.ndarray) -> tuple[np.ndarray, bool]:
    """The same, and whether rows of A that are not zero may depend on each other."""
    if isinstance(A, np.ndarray):
        x, _, _, singular = np.linalg.lstsq(A, b, rcond=RANK)
        rows = int((row_sizes(A) > 0).sum())
        doubtful = rows > A.shape[1] or bool((singular[:rows] <= DOUBTFUL * singular.max(initial=0)).any())
    else:
        from dalembert.regularize.sparse_steps import minimum_norm

        x, doubtful = minimum_norm(A, b), False
    return x, doubtful or contradicted(A, x, b)


def contradicted(A: Matrix, x: np.ndarray, b: np.ndarray) -> bool:
    """Whether much of b is left."""
    return bool(np.linalg.norm(_times(A, x) - b) > CONTRADICTED * np.linalg.norm(b))


def _damped_step(
    function: Function, z: np.ndarray, step: np.ndarray, residual: np.ndarray, scale: np.ndarray, rows: np.ndarray
):
    """The next point, its residual and Jacobian: the residual in these rows, scaled, must become smaller."""
    norm = np.linalg.norm((residual / scale)[rows])
    damping = 1.0
    while damping > 1e-4:
        trial = z + damping * step
        value, J = function(trial)
        if np.isfinite(value).all() and np.linalg.norm((value / scale)[rows]) <= norm * (1 - 0.1 * damping):
            return trial, value, J
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
    if not np.isfinite(entries(A)).all():
        return np.full(len(b), np.nan), len(b)
    square = decompose(A)
    return square.solve(b), square.rank


def decompose(A: Matrix) -> Any:
    """Solver of A x = b with a square matrix of finite numbers: `Dense`, or the same for sparse ones."""
    if isinstance(A, np.ndarray):
        return Dense(A)
    from dalembert.regularize.sparse_steps import Sparse

    return Sparse(A)


class Dense:
    """A square matrix, its rank, and solutions.

    The rank is that of A with scaled rows and columns, so that units do not matter, and `condition` its condition
    number then. `columns` are the scales of the unknowns.
    """

    def __init__(self, A: np.ndarray):
        self.n = self.rank = len(A)
        B, self._rows = equilibrated(A)
        self.columns = column_scales(np.abs(B).max(axis=0, initial=0))
        self._B = B * self.columns
        # NumPy's inverse keeps hold of the interpreter where SciPy's factorizations let go: threads would queue up
        try:
            self._inverse = np.linalg.inv(self._B)
            self.condition = np.abs(self._B).sum(axis=1).max() * np.abs(self._inverse).sum(axis=1).max()
        except np.linalg.LinAlgError:
            self.condition = np.inf
        if not self.condition < LARGEST_CONDITION:
            self._inverse = None
            self._U, self._S, self._V = np.linalg.svd(self._B)
            self.rank = int((self._S[0] / LARGEST_CONDITION < self._S).sum())

    def solve(self, b: np.ndarray) -> np.ndarray:
        """x with A x = b; if there is none, the smallest of those that come nearest."""
        c = b / self._rows
        if self._inverse is None:
            return self._smallest(c)
        y = (self._inverse * c).sum(axis=1)
        return self.columns * (y + (self._inverse * (c - (self._B * y).sum(axis=1))).sum(axis=1))  # one refinement

    def _smallest(self, c: np.ndarray) -> np.ndarray:
        U, S, V, rank = self._U, self._S, self._V, self.rank
        x = self.columns * (V[:rank].T @ ((U[:, :rank].T @ c) / S[:rank]))
        if rank < self.n:  # smallest as the user counts, not as scaled
            free, _ = np.linalg.qr(self.columns[:, None] * V[rank:].T)
            for _ in range(2):  # once leaves rounding of what was taken away
                x = x - free @ (free.T @ x)
        return x

    def spread(self, size: np.ndarray) -> np.ndarray:
        """|A⁻¹| size: how far errors of these sizes in the equations can move the solution."""
        if self._inverse is not None:
            return self.columns * (np.abs(self._inverse) * (size / self._rows)).sum(axis=1)
        rank = self.rank
        inverse = self._V[:rank].T @ (self._U[:, :rank].T / self._S[:rank, None])
        return self.columns * (np.abs(inverse) @ (size / self._rows))


def column_scales(largest: np.ndarray) -> np.ndarray:
    """Powers of two near the reciprocals of the largest entries: scaling with them rounds nothing."""
    return np.exp2(-np.rint(np.log2(np.where(largest > 0, largest, 1.0))))


def scales(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Powers of two for rows and columns that bring the largest entries of all of them near one."""
    rows, columns = np.ones(len(A)), np.ones(A.shape[1])
    size = np.abs(A)
    for _ in range(SCALINGS):
        r, c = _near_root(size.max(axis=1, initial=0)), _near_root(size.max(axis=0, initial=0))
        rows, columns, size = rows * r, columns * c, size * r[:, None] * c
    return rows, columns


def _near_root(largest: np.ndarray) -> np.ndarray:
    """A power of two near 1/√largest; 1 for zero."""
    return np.exp2(-np.rint(0.5 * np.log2(np.where(largest > 0, largest, 1.0))))


def left_null_space(A: np.ndarray, rank: float) -> np.ndarray:
    """Columns of length one that span it; singular values below `rank` × the largest, of A scaled, count as zero."""
    rows, columns = scales(A)
    U, S, _ = np.linalg.svd(A * rows[:, None] * columns)
    N = U[:, int((rank * S.max(initial=1e-300) < S).sum()) :] * rows[:, None]
    return N / np.sqrt((N * N).sum(axis=0))


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
