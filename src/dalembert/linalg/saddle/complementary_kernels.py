"""Kernels of saddle-point systems with unilateral constraints. See `complementary`."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.complementarity.pivoting_kernels import SOLVED, lemke
from dalembert.linalg.factors import lu
from dalembert.linalg.saddle.saddle import SADDLE, new_saddle, not_finite

i8, u8 = nb.int64, nb.uint64

#: pivots below this fraction of the largest entry of the matrix count as zero
TINY = 1e-14

RECORD = layout(
    arrays=[
        *SADDLE,
        "role",  # of each constraint: EQUATION, CANDIDATE (unilateral), OPEN (unilateral, and does not act)
        "active",  # whether a unilateral constraint acts, by the last problem
        "rows",  # constraints that are equations in the matrix; −1 behind the last one
        "K", "pivots",  # factors of [M Uᵀ; G 0] with these
        "right",  # one right-hand side
        "free",  # solution without unilateral forces
        "answers",  # what a unit force of each candidate does, row by row
        "which",  # candidates, by number
        "A", "q", "z", "lemke", "whole",  # the problem, its solution, work space
    ],
    wholes=[
        "n_unilateral",
        "n_equations",
        "n_candidates",
        "problem",  # whether `solve` solves a problem, or equations
        "decide",  # whether it shall do so though U = G
    ],
)  # fmt: skip
_at = member(RECORD)
record_at = _at

EQUATION, CANDIDATE, OPEN = 0, 1, 2


def complementary_memory(solver, pattern) -> Memory:
    m, n = len(pattern.unilateral), pattern.n
    role = np.zeros(pattern.n_lam, np.int64)
    role[list(pattern.unilateral)] = CANDIDATE
    return new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), factor_at=address_of(factor_at), role=role,
        active=np.zeros(pattern.n_lam, np.int64), rows=np.zeros(pattern.n_lam + 1, np.int64), K=np.zeros((n, n)),
        pivots=np.zeros(n, np.int64), right=np.zeros(n), free=np.zeros(n), answers=np.zeros((m, n)),
        which=np.zeros(m, np.int64), A=np.zeros(m * m), q=np.zeros(m), z=np.zeros(m),
        lemke=np.zeros(m * (2 * m + 2) + m * m + 6 * m), whole=np.zeros(4 * m + 2, np.int64), n_unilateral=m,
        n_equations=0, n_candidates=0, problem=0, decide=0,
    )  # fmt: skip


@device
def choose_rows(la, n_lam):
    """Which constraints are equations: in a problem the ordinary ones, else also those that are active."""
    role, active = ivec(la.role, n_lam), ivec(la.active, n_lam)
    rows, which = ivec(la.rows, n_lam + 1), ivec(la.which, la.n_unilateral)
    equations, candidates = 0, 0
    for i in range(n_lam):
        if role[i] == EQUATION or (role[i] == CANDIDATE and la.problem == 0 and active[i] == 1):
            rows[equations] = i
            equations += 1
        elif role[i] == CANDIDATE:
            which[candidates] = i
            candidates += 1
    rows[equations] = -1
    la.n_equations, la.n_candidates = equations, candidates


@device
def factor_rows(own):
    """[M Uᵀ; G 0] with the chosen rows. Returns 0, or 1 + number of the unknown at which it is singular."""
    la = _at(own)
    sizes = ivec(la.sizes, 7)
    n_v, n_lam, n_m, n_g, n_u = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    bad = not_finite(la)
    if bad != 0:
        return bad
    choose_rows(la, n_lam)
    rows, k = ivec(la.rows, n_lam + 1), la.n_equations
    n = n_v + k
    K = mat(la.K, n_v + n_lam, n_v + n_lam)
    for i in range(n):
        for j in range(n):
            K[i, j] = 0.0
    M, mi, mj = vec(la.M, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    G, gi, gj = vec(la.G, n_g), ivec(la.G_rows, n_g), ivec(la.G_columns, n_g)
    U, ui, uj = vec(la.U, n_u), ivec(la.U_rows, n_u), ivec(la.U_columns, n_u)
    for e in range(n_m):
        K[mi[e], mj[e]] += M[e]
    for r in range(k):
        for e in range(n_g):
            if gi[e] == rows[r]:
                K[n_v + r, gj[e]] += G[e]
        for e in range(n_u):
            if ui[e] == rows[r]:
                K[uj[e], n_v + r] += U[e]
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(K[i, j]))
    failed = lu.factor(K, ivec(la.pivots, n_v + n_lam), n)
    if failed == 0:
        for i in range(n):
            if not abs(K[i, i]) > TINY * largest:
                failed = i + 1
                break
    if failed > n_v:
        return n_v + 1 + rows[failed - 1 - n_v]
    return failed


@device
def substitute(la, n_v, n_lam, right):
    """Solve with the factors, in place."""
    lu.substitute(mat(la.K, n_v + n_lam, n_v + n_lam), ivec(la.pivots, n_v + n_lam), right, n_v + la.n_equations)


@device
def number_of(la, n_lam, row):
    """The number of a unilateral constraint among those."""
    role, number = ivec(la.role, n_lam), 0
    for i in range(row):
        if role[i] != EQUATION:
            number += 1
    return number


@kernel(i8(u8))
def factor(own):
    """The values in the record: of one point."""
    la = _at(own)
    la.problem = la.decide
    return factor_rows(own)


@kernel(i8(u8, u8, u8))
def factor_at(own, here, there):
    """M and U here, G there, where they stand: a problem if these are two points."""
    la = _at(own)
    sizes = ivec(la.sizes, 7)
    n_m, n_g = sizes[2], sizes[3]
    a, b = vec(here, n_m + n_g), vec(there, n_m + n_g)
    M, G, U = vec(la.M, n_m), vec(la.G, n_g), vec(la.U, n_g)
    for e in range(n_m):
        M[e] = a[e]
    for e in range(n_g):
        G[e] = b[n_m + e]
        U[e] = a[n_m + e]
    la.problem = 1 if here != there else la.decide
    return factor_rows(own)


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    """For the right-hand side b = (f, g): x = (w, λ). Returns 0, or 1 + n + number of the contact at fault."""
    la = _at(own)
    sizes = ivec(la.sizes, 7)
    n_v, n_lam = sizes[0], sizes[1]
    given, out, right = vec(b, n_v + n_lam), vec(x, n_v + n_lam), vec(la.right, n_v + n_lam)
    rows, k, free = ivec(la.rows, n_lam + 1), la.n_equations, vec(la.free, n_v + n_lam)
    for i in range(n_v):
        free[i] = given[i]
    for r in range(k):
        free[n_v + r] = given[n_v + rows[r]]
    substitute(la, n_v, n_lam, free)
    m = la.n_candidates if la.problem == 1 else 0
    which, z = ivec(la.which, la.n_unilateral), vec(la.z, la.n_unilateral)
    answers = mat(la.answers, la.n_unilateral, n_v + n_lam)
    failed = 0
    if m > 0:
        G, gi, gj = vec(la.G, sizes[3]), ivec(la.G_rows, sizes[3]), ivec(la.G_columns, sizes[3])
        U, ui, uj = vec(la.U, sizes[4]), ivec(la.U_rows, sizes[4]), ivec(la.U_columns, sizes[4])
        A, q = mat(la.A, m, m), vec(la.q, la.n_unilateral)
        for c in range(m):
            answer = answers[c]
            for i in range(n_v + k):
                answer[i] = 0.0
            for e in range(sizes[4]):
                if ui[e] == which[c]:
                    answer[uj[e]] -= U[e]
            substitute(la, n_v, n_lam, answer)
        for c in range(m):
            q[c] = given[n_v + which[c]]
            for d in range(m):
                A[c, d] = 0.0
            for e in range(sizes[3]):
                if gi[e] == which[c]:
                    q[c] -= G[e] * free[gj[e]]
                    for d in range(m):
                        A[c, d] -= G[e] * answers[d, gj[e]]
        size = la.n_unilateral
        work = vec(la.lemke, size * (2 * size + 2) + size * size + 6 * size)
        whole = ivec(la.whole, 4 * size + 2)
        if lemke(A, vec(la.q, m), vec(la.z, m), work, whole) != SOLVED:
            failed = 1 + n_v + n_lam + number_of(la, n_lam, which[min(whole[1], m - 1)])
    active = ivec(la.active, n_lam)
    for i in range(n_v + n_lam):
        right[i] = 0.0
    for i in range(n_v):
        right[i] = free[i]
    for r in range(k):
        right[n_v + rows[r]] = free[n_v + r]
    if la.problem == 1:
        for i in range(n_lam):
            active[i] = 0
    for c in range(m):
        if z[c] > 0.0:
            active[which[c]] = 1
            right[n_v + which[c]] = z[c]
            for i in range(n_v):
                right[i] += z[c] * answers[c, i]
            for r in range(k):
                right[n_v + rows[r]] += z[c] * answers[c, n_v + r]
    for i in range(n_v + n_lam):
        out[i] = right[i]
    return failed
