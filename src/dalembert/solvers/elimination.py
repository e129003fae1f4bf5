"""Taking equations x_j' = k_i out of Newton's linear systems (σ E − J) Δ = R.

Those that read no eliminated variable (`System.eliminable`) are taken out first: with P those variables and R the
rest,

    Δ_P = (R_P + J_PR Δ_R) / σ,      (σ E_RR − J_RR − J_RP J_PR / σ) Δ_R = R_R + J_RP R_P / σ,

and the product J_RP J_PR does not depend on σ. For p' = v this halves the size of the matrices. Records that use it
have the fields `ARRAYS` and `WHOLES`.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, vec

ENTRIES = ("rr", "rp", "pr", "e")
ARRAYS = (
    "nonzeros",
    "p_row", "p_column",  # eliminated equations and their variables
    "r_row", "r_column",  # the others
    # nonzeros by block: place in the port's output, and local row and column; those of "pr" are sorted by row,
    # pr_start[k] : pr_start[k + 1] being those of row k
    "rr", "rr_row", "rr_column", "rp", "rp_row", "rp_column", "pr", "pr_start", "pr_column", "e", "e_row", "e_column",
)  # fmt: skip
WHOLES = ("n", "n_rows", "m", "n_p", *(f"n_{name}" for name in ENTRIES), "n_nonzeros")


def elimination(compiled) -> dict:
    """The fields' values for the first n equations of a compiled system of n unknowns."""
    n, pairs, n_rows = compiled.system.n, compiled.eliminable, len(compiled.system.equations)
    p_row = np.array([row for row, _ in pairs], dtype=np.int64)
    p_column = np.array([column for _, column in pairs], dtype=np.int64)
    r_row, r_column = np.setdiff1d(np.arange(n), p_row), np.setdiff1d(np.arange(n), p_column)

    def place(members: np.ndarray) -> np.ndarray:
        out = np.full(n_rows, -1)
        out[members] = np.arange(len(members))
        return out

    row_of, column_of, p_row_of, p_column_of = place(r_row), place(r_column), place(p_row), place(p_column)
    rows, columns = compiled.jacobian_pattern
    square, in_r_row, in_r_column = rows < n, row_of[rows] >= 0, column_of[columns] >= 0
    rr = np.flatnonzero(in_r_row & in_r_column)
    rp = np.flatnonzero(in_r_row & ~in_r_column)
    pr = np.flatnonzero(square & ~in_r_row & in_r_column)
    pr = pr[np.argsort(p_row_of[rows[pr]], kind="stable")]
    e_rows, e_columns = compiled.leading_pattern
    e = np.flatnonzero(row_of[e_rows] >= 0)
    as_indices = lambda a: np.ascontiguousarray(a, dtype=np.int64)  # noqa: E731
    return dict(
        nonzeros=np.zeros(len(rows) + len(e_rows)),
        p_row=p_row, p_column=p_column, r_row=as_indices(r_row), r_column=as_indices(r_column),
        rr=as_indices(rr), rr_row=as_indices(row_of[rows[rr]]), rr_column=as_indices(column_of[columns[rr]]),
        rp=as_indices(rp), rp_row=as_indices(row_of[rows[rp]]), rp_column=as_indices(p_column_of[columns[rp]]),
        pr=as_indices(pr), pr_start=as_indices(np.searchsorted(p_row_of[rows[pr]], np.arange(len(p_row) + 1))),
        pr_column=as_indices(column_of[columns[pr]]),
        e=as_indices(e + len(rows)), e_row=as_indices(row_of[e_rows[e]]), e_column=as_indices(column_of[e_columns[e]]),
        n=n, n_rows=n_rows, m=len(r_row), n_p=len(p_row), n_rr=len(rr), n_rp=len(rp), n_pr=len(pr), n_e=len(e),
        n_nonzeros=len(rows) + len(e_rows),
    )  # fmt: skip


def elimination_cost(values: dict) -> tuple[int, int]:
    """Floating-point operations of the product J_RP J_PR, and around one substitution."""
    rp, pr, eliminated = len(values["rp"]), len(values["pr"]), len(values["p_row"])
    return 2 * rp * pr // max(eliminated, 1), 2 * rp + 2 * pr + eliminated


@device
def fill_blocks(la, E, J, B):
    """Scatter the nonzeros into the blocks E_RR, J_RR and form B = J_RP J_PR."""
    m, nz = la.m, vec(la.nonzeros, la.n_nonzeros)
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


@device
def gather(la, R, s, b):
    """b = R_R + J_RP R_P / σ, with s = 1/σ; R is indexed by equations."""
    m, nz = la.m, vec(la.nonzeros, la.n_nonzeros)
    r_row, p_row = ivec(la.r_row, m), ivec(la.p_row, la.n_p)
    rp, rp_row, rp_column = ivec(la.rp, la.n_rp), ivec(la.rp_row, la.n_rp), ivec(la.rp_column, la.n_rp)
    for i in range(m):
        b[i] = R[r_row[i]]
    for k in range(la.n_rp):
        b[rp_row[k]] += nz[rp[k]] * R[p_row[rp_column[k]]] * s


@device
def scatter(la, R, s, b, out):
    """Δ, indexed by variables, from Δ_R = b."""
    m, nz = la.m, vec(la.nonzeros, la.n_nonzeros)
    r_column, p_row, p_column = ivec(la.r_column, m), ivec(la.p_row, la.n_p), ivec(la.p_column, la.n_p)
    pr, start, pr_column = ivec(la.pr, la.n_pr), ivec(la.pr_start, la.n_p + 1), ivec(la.pr_column, la.n_pr)
    for i in range(m):
        out[r_column[i]] = b[i]
    for k in range(la.n_p):
        total = R[p_row[k]]
        for q in range(start[k], start[k + 1]):
            total += nz[pr[q]] * b[pr_column[q]]
        out[p_column[k]] = total * s
