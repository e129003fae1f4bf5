"""Left-looking sparse LU factorization, column by column: with pivoting once, then on the pattern that it found."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.linalg.saddle import SADDLE, TINY, check_and_scale, new_saddle, saddle_at
from dalembert.linalg.sparse import column_order, fill_bound

i8, u8 = nb.int64, nb.uint64

RECORD = layout(
    arrays=[
        *SADDLE,
        # A in compressed columns; nonzero k of M, then G, then Uᵀ, goes to[k]
        "to", "A", "A_start", "A_row",
        "A_at",  # rows in the order of pivots
        "order",  # of columns
        "place",  # of row i in the order of pivots, or −1
        "lower", "lower_row", "lower_start", "upper", "upper_row", "upper_start",
        "pivot",  # its inverse
        "r", "c", "x", "stack", "next", "seen", "found",
    ],
    reals=["threshold"],
    wholes=["n", "nnz", "n_L", "n_U", "known", "analyses"],
)  # fmt: skip
_at = member(RECORD)

PREFERENCE = 0.1  # the diagonal is taken as pivot if it is not smaller than this fraction of the largest
GROWTH = 1e6


def sparse_memory(solver, pattern) -> Memory:
    n = pattern.n
    rows, columns = pattern.entries()
    keys, to = np.unique(columns * n + rows, return_inverse=True)
    A_row, A_start = keys % n, np.searchsorted(keys, np.arange(n + 1) * n)
    order = column_order(A_start, A_row, n)
    n_L, n_U = fill_bound(A_start, A_row, order)
    whole = lambda size: np.zeros(size, np.int64)  # noqa: E731
    return new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), to=to.ravel().astype(np.int64),
        A=np.zeros(len(keys)), A_start=A_start.astype(np.int64), A_row=A_row.astype(np.int64), A_at=whole(len(keys)),
        order=order.astype(np.int64), place=whole(n), lower=np.zeros(n_L), lower_row=whole(n_L),
        lower_start=whole(n + 1), upper=np.zeros(n_U), upper_row=whole(n_U), upper_start=whole(n + 1),
        pivot=np.zeros(n), r=np.ones(n), c=np.ones(n), x=np.zeros(n), stack=whole(n), next=whole(n), seen=whole(n),
        found=whole(n), threshold=solver.threshold, n=n, nnz=len(keys), n_L=n_L, n_U=n_U, known=0, analyses=0,
    )  # fmt: skip


@device
def load(la):
    """The scaled matrix from the values of M, G and U."""
    sizes = ivec(la.sizes, 7)
    n_v, n_m, n_g, n_u = sizes[0], sizes[2], sizes[3], sizes[4]
    M, mi, mj = vec(la.M, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    G, gi, gj = vec(la.G, n_g), ivec(la.G_rows, n_g), ivec(la.G_columns, n_g)
    A, r, c = vec(la.A, la.nnz), vec(la.r, la.n), vec(la.c, la.n)
    symmetric = sizes[5] == 1
    n_force = n_g if symmetric else n_u
    to = ivec(la.to, n_m + n_g + n_force)
    for k in range(la.nnz):
        A[k] = 0.0
    for k in range(n_m):
        A[to[k]] += M[k] * r[mi[k]] * c[mj[k]]
    first = n_m
    for k in range(n_g):
        value = G[k] * r[n_v + gi[k]] * c[gj[k]]
        A[to[first + k]] += value
        if symmetric:
            A[to[first + n_g + k]] += value
    first += n_g
    U, ui, uj = vec(la.U, n_u), ivec(la.U_rows, n_u), ivec(la.U_columns, n_u)
    for k in range(n_u):
        A[to[first + k]] += U[k] * r[uj[k]] * c[n_v + ui[k]]


@device
def reach(la, column, mark):
    """Rows that column's nonzeros fill in, as `found[top:]`, so that each pivot row stands before the rows it fills."""
    n = la.n
    A_start, A_row, place = ivec(la.A_start, n + 1), ivec(la.A_row, la.nnz), ivec(la.place, n)
    L_start, L_row = ivec(la.lower_start, n + 1), ivec(la.lower_row, la.n_L)
    stack, at, seen, found = ivec(la.stack, n), ivec(la.next, n), ivec(la.seen, n), ivec(la.found, n)
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
def analyse(la):
    """Factor with pivoting, and keep the pattern. Returns 0, or 1 + the column that has no pivot."""
    n = la.n
    A, A_start, A_row = vec(la.A, la.nnz), ivec(la.A_start, n + 1), ivec(la.A_row, la.nnz)
    L, L_row, L_start = vec(la.lower, la.n_L), ivec(la.lower_row, la.n_L), ivec(la.lower_start, n + 1)
    U, U_row, U_start = vec(la.upper, la.n_U), ivec(la.upper_row, la.n_U), ivec(la.upper_start, n + 1)
    order, place, pivot, x = ivec(la.order, n), ivec(la.place, n), vec(la.pivot, n), vec(la.x, n)
    seen, found, A_at = ivec(la.seen, n), ivec(la.found, n), ivec(la.A_at, la.nnz)
    la.known = 0
    la.analyses += 1
    for i in range(n):
        place[i] = -1
        seen[i] = -1
        x[i] = 0.0
    n_l, n_u = 0, 0
    for j in range(n):
        column = order[j]
        L_start[j] = n_l
        U_start[j] = n_u
        top = reach(la, column, j)
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
    for p in range(la.nnz):
        A_at[p] = place[A_row[p]]
    la.known = 1
    return 0


@device
def refactor(la):
    """Factor with the pattern and the pivots of `analyse`. Returns False where they have become unstable."""
    n = la.n
    A, A_start, A_at = vec(la.A, la.nnz), ivec(la.A_start, n + 1), ivec(la.A_at, la.nnz)
    L, L_row, L_start = vec(la.lower, la.n_L), ivec(la.lower_row, la.n_L), ivec(la.lower_start, n + 1)
    U, U_row, U_start = vec(la.upper, la.n_U), ivec(la.upper_row, la.n_U), ivec(la.upper_start, n + 1)
    order, pivot, x = ivec(la.order, n), vec(la.pivot, n), vec(la.x, n)
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
        inverse = 1.0 / x[j]
        x[j] = 0.0
        below = 0.0
        for p in range(L_start[j], L_start[j + 1]):
            value = x[L_row[p]]
            x[L_row[p]] = 0.0
            below = max(below, abs(value))
            L[p] = value * inverse
        pivot[j] = inverse
        if not (size > la.threshold * below and size > TINY * largest and largest < GROWTH):
            return False
    return True


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    bad = check_and_scale(saddle_at(own), vec(la.r, la.n), vec(la.c, la.n))
    if bad != 0:
        return bad
    load(la)
    if la.known == 1 and refactor(la):
        return 0
    return analyse(la)


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n = la.n
    L, L_row, L_start = vec(la.lower, la.n_L), ivec(la.lower_row, la.n_L), ivec(la.lower_start, n + 1)
    U, U_row, U_start = vec(la.upper, la.n_U), ivec(la.upper_row, la.n_U), ivec(la.upper_start, n + 1)
    order, place, pivot = ivec(la.order, n), ivec(la.place, n), vec(la.pivot, n)
    r, c, y, given, out = vec(la.r, n), vec(la.c, n), vec(la.x, n), vec(b, n), vec(x, n)
    for i in range(n):
        y[place[i]] = r[i] * given[i]
    for j in range(n):
        value = y[j]
        for p in range(L_start[j], L_start[j + 1]):
            y[L_row[p]] -= L[p] * value
    for j in range(n - 1, -1, -1):
        value = y[j] * pivot[j]
        y[j] = 0.0
        for s in range(U_start[j], U_start[j + 1]):
            y[U_row[s]] -= U[s] * value
        out[order[j]] = c[order[j]] * value
    return 0
