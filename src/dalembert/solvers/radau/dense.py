"""Dense linear algebra of the Radau stage solver: solves (σ E − J) Δ = R for one real and one complex σ.

Equations x_j' = k_i that read no eliminated variable are taken out first (`System.eliminable`): with P those
variables and R the rest,

    Δ_P = (R_P + J_PR Δ_R) / σ,      (σ E_RR − J_RR − J_RP J_PR / σ) Δ_R = R_R + J_RP R_P / σ,

and the product J_RP J_PR does not depend on σ. For p' = v this halves the size of the matrices.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, layout, mat, vec
from dalembert.linalg.pair import factor_pair, new_pair, pair_at, pair_cost, substitute_complex, substitute_real
from dalembert.solvers.radau.core import LINEAR_ALGEBRA

ENTRIES = ("rr", "rp", "pr", "e")
ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        "p_row", "p_column",  # eliminated equations and their variables
        "r_row", "r_column",  # the others
        # nonzeros by block: place in the port's output, and local row and column; those of "pr" are sorted by row,
        # pr_start[k] : pr_start[k + 1] being those of row k
        "rr", "rr_row", "rr_column", "rp", "rp_row", "rp_column", "pr", "pr_start", "pr_column", "e", "e_row",
        "e_column",
        "E", "J",
        "B",  # J_RP J_PR
        "pair", "work", "work_real", "work_imaginary",
    ],
    reals=["gamma", "alpha", "beta"],
    wholes=["n", "n_rows", "m", "n_p", *(f"n_{name}" for name in ENTRIES), "n_nonzeros", "singular"],
)  # fmt: skip


def dense_algebra(compiled, addresses: dict[str, int]) -> Memory:
    """Set up for a compiled system; `addresses` are those of the kernels."""
    n, pairs = compiled.system.n, compiled.eliminable
    p_row = np.array([row for row, _ in pairs], dtype=np.int64)
    p_column = np.array([column for _, column in pairs], dtype=np.int64)
    r_row, r_column = np.setdiff1d(np.arange(n), p_row), np.setdiff1d(np.arange(n), p_column)

    def place(members: np.ndarray) -> np.ndarray:
        out = np.full(n, -1)
        out[members] = np.arange(len(members))
        return out

    row_of, column_of, p_row_of, p_column_of = place(r_row), place(r_column), place(p_row), place(p_column)
    rows, columns = compiled.jacobian_pattern
    in_r_row, in_r_column = row_of[rows] >= 0, column_of[columns] >= 0
    rr = np.flatnonzero(in_r_row & in_r_column)
    rp = np.flatnonzero(in_r_row & ~in_r_column)
    pr = np.flatnonzero(~in_r_row & in_r_column)
    pr = pr[np.argsort(p_row_of[rows[pr]], kind="stable")]
    e_rows, e_columns = compiled.leading_pattern
    e = np.flatnonzero(row_of[e_rows] >= 0)
    m = len(r_row)
    as_indices = lambda a: np.ascontiguousarray(a, dtype=np.int64)  # noqa: E731
    square = lambda: np.zeros((m, m))  # noqa: E731
    return Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0,
            p_row=p_row, p_column=p_column, r_row=as_indices(r_row), r_column=as_indices(r_column),
            rr=as_indices(rr), rr_row=as_indices(row_of[rows[rr]]), rr_column=as_indices(column_of[columns[rr]]),
            rp=as_indices(rp), rp_row=as_indices(row_of[rows[rp]]), rp_column=as_indices(p_column_of[columns[rp]]),
            pr=as_indices(pr), pr_start=as_indices(np.searchsorted(p_row_of[rows[pr]], np.arange(len(p_row) + 1))),
            pr_column=as_indices(column_of[columns[pr]]),
            e=as_indices(e + len(rows)), e_row=as_indices(row_of[e_rows[e]]),
            e_column=as_indices(column_of[e_columns[e]]),
            nonzeros=np.zeros(len(rows) + len(e_rows)), E=square(), J=square(), B=square(), pair=new_pair(m),
            work=np.zeros(m), work_real=np.zeros(m), work_imaginary=np.zeros(m),
            cost=_cost(m, len(rp), len(pr), len(p_row)), gamma=0.0, alpha=0.0, beta=0.0,
            n=n, n_rows=n, m=m, n_p=len(p_row), n_rr=len(rr), n_rp=len(rp), n_pr=len(pr), n_e=len(e),
            n_nonzeros=len(rows) + len(e_rows), singular=-1,
        ),
    )  # fmt: skip


def _cost(m: int, rp: int, pr: int, eliminated: int) -> np.ndarray:
    """Floating-point operations; a complex multiplication with addition counts eight."""
    product = 2 * rp * pr // max(eliminated, 1)
    factors, real, pair = pair_cost(m)
    around = 2 * rp + 2 * pr + eliminated
    return np.array([product, factors, real + pair + 5 * around, real + around])


@device
def decompose(la, state):
    """Take a new Jacobian: scatter the nonzeros into blocks and form J_RP J_PR."""
    m, nz = la.m, vec(la.nonzeros, la.n_nonzeros)
    E, J, B = mat(la.E, m, m), mat(la.J, m, m), mat(la.B, m, m)
    for i in range(m):
        for j in range(m):
            J[i, j] = 0.0
            E[i, j] = 0.0
            B[i, j] = 0.0
    at, row, column = ivec(la.rr, la.n_rr), ivec(la.rr_row, la.n_rr), ivec(la.rr_column, la.n_rr)
    for k in range(la.n_rr):
        J[row[k], column[k]] = nz[at[k]]
    at, row, column = ivec(la.e, la.n_e), ivec(la.e_row, la.n_e), ivec(la.e_column, la.n_e)
    for k in range(la.n_e):
        E[row[k], column[k]] = nz[at[k]]
    at, row, column = ivec(la.rp, la.n_rp), ivec(la.rp_row, la.n_rp), ivec(la.rp_column, la.n_rp)
    pr, start, pr_column = ivec(la.pr, la.n_pr), ivec(la.pr_start, la.n_p + 1), ivec(la.pr_column, la.n_pr)
    for k in range(la.n_rp):
        value, through = nz[at[k]], column[k]
        for q in range(start[through], start[through + 1]):
            B[row[k], pr_column[q]] += value * nz[pr[q]]
    return True


@device
def prepare(la, gamma, alpha, beta):
    """Factor for σ = γ and σ = α + iβ. Returns False if a matrix is singular."""
    m = la.m
    la.gamma, la.alpha, la.beta = gamma, alpha, beta
    failed = factor_pair(pair_at(la.pair), mat(la.E, m, m), mat(la.J, m, m), mat(la.B, m, m), gamma, alpha, beta)
    if failed != 0:
        la.singular = ivec(la.r_column, m)[failed - 1]
        return False
    return True


@device
def solve_real(la, R, out):
    """Δ = (γ E − J)⁻¹ R; R is indexed by equations, Δ by variables."""
    m, s, b, nz = la.m, 1.0 / la.gamma, vec(la.work, la.m), vec(la.nonzeros, la.n_nonzeros)
    r_row, r_column = ivec(la.r_row, m), ivec(la.r_column, m)
    p_row, p_column = ivec(la.p_row, la.n_p), ivec(la.p_column, la.n_p)
    rp, rp_row, rp_column = ivec(la.rp, la.n_rp), ivec(la.rp_row, la.n_rp), ivec(la.rp_column, la.n_rp)
    pr, start, pr_column = ivec(la.pr, la.n_pr), ivec(la.pr_start, la.n_p + 1), ivec(la.pr_column, la.n_pr)
    for i in range(m):
        b[i] = R[r_row[i]]
    for k in range(la.n_rp):
        b[rp_row[k]] += nz[rp[k]] * R[p_row[rp_column[k]]] * s
    substitute_real(pair_at(la.pair), la.work)
    for i in range(m):
        out[r_column[i]] = b[i]
    for k in range(la.n_p):
        total = R[p_row[k]]
        for q in range(start[k], start[k + 1]):
            total += nz[pr[q]] * b[pr_column[q]]
        out[p_column[k]] = total * s


@device
def solve_stages(la, R, D):
    """Column 0: (γ E − J)⁻¹ R₀; columns 1 and 2: real and imaginary part of ((α + iβ) E − J)⁻¹ (R₁ + i R₂)."""
    m, nz, s = la.m, vec(la.nonzeros, la.n_nonzeros), 1.0 / la.gamma
    size2 = la.alpha * la.alpha + la.beta * la.beta
    sr, si = la.alpha / size2, -la.beta / size2
    b, br, bi = vec(la.work, m), vec(la.work_real, m), vec(la.work_imaginary, m)
    r_row, r_column = ivec(la.r_row, m), ivec(la.r_column, m)
    p_row, p_column = ivec(la.p_row, la.n_p), ivec(la.p_column, la.n_p)
    rp, rp_row, rp_column = ivec(la.rp, la.n_rp), ivec(la.rp_row, la.n_rp), ivec(la.rp_column, la.n_rp)
    pr, start, pr_column = ivec(la.pr, la.n_pr), ivec(la.pr_start, la.n_p + 1), ivec(la.pr_column, la.n_pr)
    for i in range(m):
        row = r_row[i]
        b[i], br[i], bi[i] = R[row, 0], R[row, 1], R[row, 2]
    for k in range(la.n_rp):
        p, value, row = p_row[rp_column[k]], nz[rp[k]], rp_row[k]
        b[row] += value * R[p, 0] * s
        br[row] += value * (R[p, 1] * sr - R[p, 2] * si)
        bi[row] += value * (R[p, 1] * si + R[p, 2] * sr)
    substitute_real(pair_at(la.pair), la.work)
    substitute_complex(pair_at(la.pair), br, bi)
    for i in range(m):
        column = r_column[i]
        D[column, 0], D[column, 1], D[column, 2] = b[i], br[i], bi[i]
    for k in range(la.n_p):
        row, column = p_row[k], p_column[k]
        total, tr, ti = R[row, 0], R[row, 1], R[row, 2]
        for q in range(start[k], start[k + 1]):
            value, j = nz[pr[q]], pr_column[q]
            total += value * b[j]
            tr += value * br[j]
            ti += value * bi[j]
        D[column, 0], D[column, 1], D[column, 2] = total * s, tr * sr - ti * si, tr * si + ti * sr


@device
def correct(la, F, out):
    """The constraints are part of the system: there is nothing to correct."""
    return False
