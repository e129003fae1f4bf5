"""Sparse LU factors of a square matrix, real or complex: with pivoting once, then on the pattern that it found.

A record for other records to hold. Values go into A, to the places that `new_sparse_lu` names; factors are
left-looking, column by column.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, cvec, ivec, layout, member, vec
from dalembert.linalg.saddle.saddle import TINY
from dalembert.linalg.saddle.sparse import column_order, fill_bound

SPARSE_LU = layout(
    arrays=[
        "A", "A_start", "A_row",  # in compressed columns
        "A_at",  # rows in the order of pivots
        "order",  # of columns
        "place",  # of row i in the order of pivots, or −1
        "lower", "lower_row", "lower_start", "upper", "upper_row", "upper_start",
        "pivot",  # its inverse
        "r", "s",  # scales of rows and columns
        "unit",  # in which unknowns are measured before rows are scaled
        "x", "stack", "next", "seen", "found",
    ],
    reals=["threshold"],
    wholes=["n", "nnz", "n_L", "n_U", "known", "analyses"],
)  # fmt: skip
lu_at = member(SPARSE_LU)

THRESHOLD = 1e-3  # pivots may fall to this fraction of their column before rows are chosen anew
PREFERENCE = 0.1  # the diagonal is taken as pivot if it is not smaller than this fraction of the largest
GROWTH = 1e6


def new_sparse_lu(
    rows: np.ndarray,
    columns: np.ndarray,
    n: int,
    *,
    threshold: float = THRESHOLD,
    dtype: type = float,
    like: Memory | None = None,
) -> tuple[Memory, np.ndarray]:
    """Work space for matrices of size n with nonzeros in these places, and for each of them its index in A.

    `like` is one for the same places: the order of the columns and the bounds of the fill are taken from it.
    """
    keys, to = np.unique(columns * n + rows, return_inverse=True)
    A_row, A_start = keys % n, np.searchsorted(keys, np.arange(n + 1) * n)
    if like is None:
        order = column_order(A_start, A_row, n)
        n_L, n_U = fill_bound(A_start, A_row, order)
    else:
        order, n_L, n_U = like.order, int(like.n_L), int(like.n_U)
    whole = lambda size: np.zeros(size, np.int64)  # noqa: E731
    values = lambda size: np.zeros(size, dtype)  # noqa: E731
    memory = Memory(
        SPARSE_LU,
        dict(
            A=values(len(keys)), A_start=A_start.astype(np.int64), A_row=A_row.astype(np.int64), A_at=whole(len(keys)),
            order=order.astype(np.int64), place=whole(n), lower=values(n_L), lower_row=whole(n_L),
            lower_start=whole(n + 1), upper=values(n_U), upper_row=whole(n_U), upper_start=whole(n + 1),
            pivot=values(n), r=np.ones(n), s=np.ones(n), unit=np.ones(n), x=values(n), stack=whole(n), next=whole(n),
            seen=whole(n), found=whole(n), threshold=threshold, n=n, nnz=len(keys), n_L=n_L, n_U=n_U, known=0,
            analyses=0,
        ),
    )  # fmt: skip
    return memory, to.ravel().astype(np.int64)


def sparse_lu_cost(lu: Memory) -> tuple[int, int]:
    """Floating-point operations of a real factorization, roughly, and of a substitution."""
    return 4 * int(lu.n_L) + 2 * int(lu.nnz), 2 * (int(lu.n_L) + int(lu.n_U))


@device
def reach(lu, column, mark):
    """Rows that column's nonzeros fill in, as `found[top:]`, so that each pivot row stands before the rows it fills."""
    n = lu.n
    A_start, A_row, place = ivec(lu.A_start, n + 1), ivec(lu.A_row, lu.nnz), ivec(lu.place, n)
    L_start, L_row = ivec(lu.lower_start, n + 1), ivec(lu.lower_row, lu.n_L)
    stack, at, seen, found = ivec(lu.stack, n), ivec(lu.next, n), ivec(lu.seen, n), ivec(lu.found, n)
    top = n
    for p in range(A_start[column], A_start[column + 1]):
        if seen[A_row[p]] == mark:
            continue
        depth = 0
        stack[0] = A_row[p]
        seen[A_row[p]] = mark
        at[0] = L_start[place[A_row[p]]] if place[A_row[p]] >= 0 else 0
        while depth >= 0:
            row = stack[depth]
            k = place[row]
            deeper = False
            if k >= 0:
                while at[depth] < L_start[k + 1]:
                    below = L_row[at[depth]]
                    at[depth] += 1
                    if seen[below] != mark:
                        seen[below] = mark
                        depth += 1
                        stack[depth] = below
                        at[depth] = L_start[place[below]] if place[below] >= 0 else 0
                        deeper = True
                        break
            if not deeper:
                top -= 1
                found[top] = row
                depth -= 1
    return top


@device
def analyse(lu, A, L, U, pivot, x):
    """Factor with pivoting, and keep the pattern. Returns 0, or 1 + the column that has no pivot."""
    n = lu.n
    A_start, A_row = ivec(lu.A_start, n + 1), ivec(lu.A_row, lu.nnz)
    L_row, L_start = ivec(lu.lower_row, lu.n_L), ivec(lu.lower_start, n + 1)
    U_row, U_start = ivec(lu.upper_row, lu.n_U), ivec(lu.upper_start, n + 1)
    order, place = ivec(lu.order, n), ivec(lu.place, n)
    seen, found, A_at = ivec(lu.seen, n), ivec(lu.found, n), ivec(lu.A_at, lu.nnz)
    lu.known = 0
    lu.analyses += 1
    for i in range(n):
        place[i] = -1
        seen[i] = -1
        x[i] = 0.0
    n_l, n_u = 0, 0
    for j in range(n):
        column = order[j]
        L_start[j] = n_l
        U_start[j] = n_u
        top = reach(lu, column, j)
        for p in range(A_start[column], A_start[column + 1]):
            x[A_row[p]] = A[p]
        best, at, largest = 0.0, -1, 0.0
        for s in range(top, n):
            row = found[s]
            k = place[row]
            if k >= 0:
                value = x[row]
                U[n_u] = value
                U_row[n_u] = k
                n_u += 1
                largest = max(largest, abs(value))
                for p in range(L_start[k], L_start[k + 1]):
                    x[L_row[p]] -= L[p] * value
            elif abs(x[row]) > best:  # its value is final: the rows that fill it stand before it
                best, at = abs(x[row]), row
        if not best > TINY * largest:
            for i in range(n):
                x[i] = 0.0
            return column + 1
        if seen[column] == j and place[column] < 0 and abs(x[column]) >= PREFERENCE * best:
            at = column
        inverse = 1.0 / x[at]
        pivot[j] = inverse
        place[at] = j
        for s in range(top, n):
            row = found[s]
            if place[row] < 0:
                L[n_l] = x[row] * inverse
                L_row[n_l] = row
                n_l += 1
            x[row] = 0.0
    L_start[n] = n_l
    U_start[n] = n_u
    for p in range(n_l):
        L_row[p] = place[L_row[p]]
    for p in range(lu.nnz):
        A_at[p] = place[A_row[p]]
    lu.known = 1
    return 0


@device
def refactor(lu, A, L, U, pivot, x):
    """Factor with the pattern and the pivots of `analyse`. Returns False where they have become unstable."""
    n = lu.n
    A_start, A_at, order = ivec(lu.A_start, n + 1), ivec(lu.A_at, lu.nnz), ivec(lu.order, n)
    L_row, L_start = ivec(lu.lower_row, lu.n_L), ivec(lu.lower_start, n + 1)
    U_row, U_start = ivec(lu.upper_row, lu.n_U), ivec(lu.upper_start, n + 1)
    for j in range(n):
        column = order[j]
        for p in range(A_start[column], A_start[column + 1]):
            x[A_at[p]] = A[p]
        largest = 0.0
        for s in range(U_start[j], U_start[j + 1]):
            k = U_row[s]
            value = x[k]
            x[k] = 0.0
            U[s] = value
            largest = max(largest, abs(value))
            for p in range(L_start[k], L_start[k + 1]):
                x[L_row[p]] -= L[p] * value
        size = abs(x[j])
        if size == 0.0:  # numba lets complex divisions by zero raise
            return False
        inverse = 1.0 / x[j]
        x[j] = 0.0
        below = 0.0
        for p in range(L_start[j], L_start[j + 1]):
            value = x[L_row[p]]
            x[L_row[p]] = 0.0
            below = max(below, abs(value))
            L[p] = value * inverse
        pivot[j] = inverse
        if not (size > lu.threshold * below and size > TINY * largest and largest < GROWTH):
            return False
    return True


@device
def scale(lu, A):
    """Rows, then columns, to largest entries of 1. Returns 0, or 1 + a column that is not finite."""
    n, unit = lu.n, vec(lu.unit, lu.n)
    A_start, A_row, r, s = ivec(lu.A_start, n + 1), ivec(lu.A_row, lu.nnz), vec(lu.r, n), vec(lu.s, n)
    for i in range(n):
        r[i] = 0.0
    for j in range(n):
        for p in range(A_start[j], A_start[j + 1]):
            A[p] *= unit[j]
            size = abs(A[p])
            if not np.isfinite(size):
                return j + 1
            r[A_row[p]] = max(r[A_row[p]], size)
    for i in range(n):
        r[i] = 1.0 / r[i] if r[i] > 0.0 else 1.0
    for j in range(n):
        largest = 0.0
        for p in range(A_start[j], A_start[j + 1]):
            A[p] *= r[A_row[p]]
            largest = max(largest, abs(A[p]))
        s[j] = 1.0 / largest if largest > 0.0 else 1.0
        for p in range(A_start[j], A_start[j + 1]):
            A[p] *= s[j]
        s[j] *= unit[j]
    return 0


@device
def factor_scaled(lu):
    """Factor A, a real matrix that stands there with its scales. Returns 0, or 1 + the column that has no pivot."""
    n = lu.n
    A, L, U = vec(lu.A, lu.nnz), vec(lu.lower, lu.n_L), vec(lu.upper, lu.n_U)
    pivot, x = vec(lu.pivot, n), vec(lu.x, n)
    if lu.known == 1 and refactor(lu, A, L, U, pivot, x):
        return 0
    return analyse(lu, A, L, U, pivot, x)


@device
def factor_sparse(lu):
    """Scale and factor A. Returns 0, or 1 + the column that has no pivot or is not finite."""
    failed = scale(lu, vec(lu.A, lu.nnz))
    return failed if failed != 0 else factor_scaled(lu)


@device
def factor_sparse_complex(lu):
    """As `factor_sparse`, for a complex matrix."""
    n = lu.n
    A, L, U = cvec(lu.A, lu.nnz), cvec(lu.lower, lu.n_L), cvec(lu.upper, lu.n_U)
    pivot, x = cvec(lu.pivot, n), cvec(lu.x, n)
    failed = scale(lu, A)
    if failed != 0:
        return failed
    if lu.known == 1 and refactor(lu, A, L, U, pivot, x):
        return 0
    return analyse(lu, A, L, U, pivot, x)


@device
def substitute(lu, L, U, pivot, y):
    """Solve with the factors: y is the right-hand side in the order of pivots, then the solution in that of columns."""
    n = lu.n
    L_row, L_start = ivec(lu.lower_row, lu.n_L), ivec(lu.lower_start, n + 1)
    U_row, U_start = ivec(lu.upper_row, lu.n_U), ivec(lu.upper_start, n + 1)
    for j in range(n):
        value = y[j]
        for p in range(L_start[j], L_start[j + 1]):
            y[L_row[p]] -= L[p] * value
    for j in range(n - 1, -1, -1):
        value = y[j] * pivot[j]
        y[j] = value
        for q in range(U_start[j], U_start[j + 1]):
            y[U_row[q]] -= U[q] * value


@device
def substitute_sparse(lu, given, out):
    """out = A⁻¹ given."""
    n = lu.n
    order, place, r, s, y = ivec(lu.order, n), ivec(lu.place, n), vec(lu.r, n), vec(lu.s, n), vec(lu.x, n)
    for i in range(n):
        y[place[i]] = r[i] * given[i]
    substitute(lu, vec(lu.lower, lu.n_L), vec(lu.upper, lu.n_U), vec(lu.pivot, n), y)
    for j in range(n):
        out[order[j]] = s[order[j]] * y[j]
        y[j] = 0.0


@device
def substitute_sparse_complex(lu, given, out):
    """Columns 1 and 2 of `given` and `out` are real and imaginary parts."""
    n = lu.n
    order, place, r, s, y = ivec(lu.order, n), ivec(lu.place, n), vec(lu.r, n), vec(lu.s, n), cvec(lu.x, n)
    for i in range(n):
        y[place[i]] = r[i] * complex(given[i, 1], given[i, 2])
    substitute(lu, cvec(lu.lower, lu.n_L), cvec(lu.upper, lu.n_U), cvec(lu.pivot, n), y)
    for j in range(n):
        out[order[j], 1], out[order[j], 2] = s[order[j]] * y[j].real, s[order[j]] * y[j].imag
        y[j] = 0.0
