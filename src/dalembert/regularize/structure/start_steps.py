"""Newton steps for start values of DAEs: given values move as little as possible, others as they must.

Of the changes that satisfy the linearized equations, those of the *given* unknowns have the smallest norm, in the units
of the user; among these, those of the *free* ones are small. Free unknowns are scaled, so that their units do not
matter. All others stay, bit for bit.
"""

from __future__ import annotations

import numpy as np

from dalembert.regularize.newton import (
    DOUBTFUL,
    Matrix,
    column_scales,
    contradicted,
    equilibrated,
    judged_step,
    minimum_norm_step,
    row_sizes,
    scales,
)

#: singular values below this fraction of the largest, of matrices that are scaled, count as zero
RANK = 1e-11
#: ratio of units from which given unknowns are treated with care
GRADED = 2.0**20
#: combinations that cancel to less than this fraction of their terms are rounding errors
NOTHING = 1e-12
#: residuals below this fraction of the largest component tell a null vector, where matrices are sparse
UNSEEN = 1e-8
#: how much less a change of a free unknown counts than one of a given one, where matrices are sparse
PREFERENCE = 2.0**12


class NearestStep:
    """A function of A and b: the step with A step = b, or nearest to it, as above; and whether rows may depend on each
    other, so far as these unknowns see them.

    Rows of A are equilibrated, but for those that count less where not all can be satisfied.
    """

    def __init__(self, free: np.ndarray, given: np.ndarray):
        self.free, self.given = free, given

    def __call__(self, A: Matrix, b: np.ndarray) -> tuple[np.ndarray, bool]:
        step, doubtful = self._dense(A, b) if isinstance(A, np.ndarray) else (self._sparse(A, b), False)
        return step, doubtful or contradicted(A, step, b)

    def _dense(self, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, bool]:
        step, F, G = np.zeros(A.shape[1]), A[:, self.free], A[:, self.given]
        m = int((row_sizes(A[:, np.concatenate([self.free, self.given])]) > 0).sum())
        weight = row_sizes(A)
        if not len(self.free):
            step[self.given], doubtful = _smallest(G, b, weight)
            return step, doubtful
        rows, columns = scales(F)
        rows = rows * weight
        U, S, V = np.linalg.svd(F * rows[:, None] * columns)
        rank = int((RANK * S.max(initial=0) < S).sum())
        doubtful = bool((S[:m] <= DOUBTFUL * S.max(initial=0)).any()) or m > len(S)
        b, G = rows * b, G * rows[:, None]
        if len(self.given) and rank < len(A):
            # what no change of free unknowns can do
            left = U[:, rank:].T
            B, c = left @ G, left @ b
            B[np.abs(B) <= NOTHING * (np.abs(left) @ np.abs(G))] = 0.0
            c[np.abs(c) <= NOTHING * (np.abs(left) @ np.abs(b))] = 0.0
            step[self.given], doubtful = _smallest(B, c, np.ones(len(c)))
            b = b - G @ step[self.given]
        move = columns * (V[:rank].T @ ((U[:, :rank].T @ b) / S[:rank]))
        if rank < len(move):  # smallest as the user counts where nothing else tells, not as scaled
            unseen, _ = np.linalg.qr(columns[:, None] * V[rank:].T)
            move = move - unseen @ (unseen.T @ move)
        step[self.free] = move
        return step, doubtful

    def _sparse(self, A: Matrix, b: np.ndarray) -> np.ndarray:
        from scipy.sparse import csc_matrix, diags

        from dalembert.regularize.sparse_steps import Sparse

        step, F, moving = np.zeros(A.shape[1]), A[:, self.free], np.concatenate([self.free, self.given])
        if not len(moving):
            return step
        if not len(self.given) and F.shape[0] == F.shape[1]:
            square = Sparse(F)
            if square.rank == F.shape[0]:
                step[self.free] = square.solve(b)
                return step
        columns = np.ones(A.shape[1])
        if len(self.free):
            columns[self.free] = PREFERENCE * column_scales(abs(F).max(axis=0).toarray().ravel())
        B, rows = equilibrated(csc_matrix(A[:, moving] @ diags(columns[moving])))
        step[moving] = columns[moving] * minimum_norm_step(B, b / rows)
        return step


def _smallest(B: np.ndarray, c: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, bool]:
    """The smallest x with B x = c, or nearest to it if rows count by their weights; and whether they may depend on each
    other."""
    rows, columns = scales(B)
    if columns.size and columns.max() > GRADED * columns.min() and independent(B, np.arange(B.shape[1])):
        return _smallest_of_graded(B * rows[:, None], c * rows), False
    A, rows = equilibrated(B)
    return judged_step(A * weight[:, None], c / rows * weight)


def _smallest_of_graded(B: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The same for independent rows and columns in very different units, whose ratio would pass for a lack of rank.

    Orthogonal elimination is exact row by row if the largest rows come first, and columns are exchanged.
    """
    from scipy.linalg import qr, solve_triangular

    order = np.argsort(-np.abs(B).max(axis=0), kind="stable")
    Q, R, exchanged = qr(B.T[order], mode="economic", pivoting=True)
    x = np.zeros(B.shape[1])
    x[order] = Q @ solve_triangular(R, c[exchanged], trans="T")
    return x


def independent(J: Matrix, columns: np.ndarray) -> bool:
    """Whether the rows are independent in these columns: then these are enough to satisfy the equations nearby.

    Of sparse matrices the pattern decides.
    """
    m = J.shape[0]
    if m > len(columns):
        return False
    B = J[:, columns]
    if not isinstance(J, np.ndarray):
        from scipy.sparse.csgraph import structural_rank

        return bool(structural_rank(B) == m)
    if not np.isfinite(B).all():
        return False
    rows, c = scales(B)
    S = np.linalg.svd(B * rows[:, None] * c, compute_uv=False)
    return bool(m == 0 or S[-1] > RANK * S[0])


def undetermined(J: Matrix, columns: np.ndarray) -> tuple[np.ndarray, int]:
    """How much each of these columns takes part in combinations of them that no equation sees, and how many there are.

    Of sparse matrices one such combination is found.
    """
    B = J[:, columns]
    if isinstance(J, np.ndarray):
        rows, c = scales(B)
        _, S, V = np.linalg.svd(B * rows[:, None] * c)
        null = V[int((RANK * S.max(initial=0) < S).sum()) :]
    else:
        from scipy.sparse import csc_matrix, diags

        from dalembert.regularize.sparse_steps import left_null_vector

        c = column_scales(abs(B).max(axis=0).toarray().ravel())
        A, _ = equilibrated(csc_matrix(B @ diags(c)))
        v = left_null_vector(csc_matrix(A.T))
        null = v[None] if np.abs(A @ v).max(initial=0) <= UNSEEN * np.abs(v).max() else np.zeros((0, len(v)))
    weight = np.abs(null).max(axis=0, initial=0.0)
    return np.where(weight > UNSEEN * weight.max(initial=0), weight, 0.0), len(null)
