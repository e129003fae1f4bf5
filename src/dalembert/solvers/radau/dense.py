"""Dense linear algebra of the Radau stage solver: solves (σ E − J) Δ = R for one real and one complex σ.

Equations x_j' = k_i that read no eliminated variable are taken out first (`System.eliminable`): with P those
variables and R the rest,

    Δ_P = (R_P + J_PR Δ_R) / σ,      (σ E_RR − J_RR − J_RP J_PR / σ) Δ_R = R_R + J_RP R_P / σ,

and the product J_RP J_PR does not depend on σ. For p' = v this halves the size of the matrices.
"""

from typing import NamedTuple

import numba as nb
import numpy as np

from dalembert.compile.kernel import device
from dalembert.linalg import lapack, lu
from dalembert.solvers.records import indices, matrix, record, vector


class DenseAlgebra(NamedTuple):
    """Structure (set up once per model) and work space (per run)."""

    p_row: indices  # eliminated equations and their variables
    p_column: indices
    r_row: indices  # the others
    r_column: indices
    rr: indices  # nonzeros of J by block: place in the port's output, and local row and column
    rr_row: indices
    rr_column: indices
    rp: indices
    rp_row: indices
    rp_column: indices
    pr: indices  # sorted by row; pr_start[k] : pr_start[k + 1] are those of row k
    pr_start: indices
    pr_column: indices
    e: indices
    e_row: indices
    e_column: indices
    nonzeros: vector  # of J, then of E, as the port gives them
    E: matrix
    J: matrix
    B: matrix  # J_RP J_PR
    real: matrix
    real_pivots: indices
    cr: matrix  # small matrices: real and imaginary parts apart, factored by `lu`
    ci: matrix
    complex_pivots: indices
    lapack: lapack.lapack_type  # larger ones: LAPACK
    complex: nb.complex128[:, ::1]
    work_complex: nb.complex128[::1]
    lapack_real_pivots: nb.int32[::1]
    lapack_complex_pivots: nb.int32[::1]
    sigma: vector  # γ/h, α/h, β/h of the factors
    work_real: vector
    work_imaginary: vector
    singular: indices  # variable without pivot, or −1
    cost: indices  # floating-point operations of decompose, prepare, one Newton iteration, one error estimate


dense_type = record(DenseAlgebra)


def dense_algebra(compiled) -> DenseAlgebra:
    """Set up for a compiled system."""
    n = compiled.system.n
    pairs = compiled.eliminable
    p_row = np.array([row for row, _ in pairs], dtype=np.int64)
    p_column = np.array([column for _, column in pairs], dtype=np.int64)
    r_row = np.setdiff1d(np.arange(n), p_row)
    r_column = np.setdiff1d(np.arange(n), p_column)
    row_of, column_of = np.full(n, -1), np.full(n, -1)
    row_of[r_row] = np.arange(len(r_row))
    column_of[r_column] = np.arange(len(r_column))
    p_row_of, p_column_of = np.full(n, -1), np.full(n, -1)
    p_row_of[p_row] = np.arange(len(p_row))
    p_column_of[p_column] = np.arange(len(p_column))
    rows, columns = compiled.jacobian_pattern
    in_r_row, in_r_column = row_of[rows] >= 0, column_of[columns] >= 0
    rr = np.flatnonzero(in_r_row & in_r_column)
    rp = np.flatnonzero(in_r_row & ~in_r_column)
    pr = np.flatnonzero(~in_r_row & in_r_column)
    pr = pr[np.argsort(p_row_of[rows[pr]], kind="stable")]
    pr_start = np.searchsorted(p_row_of[rows[pr]], np.arange(len(p_row) + 1))
    e_rows, e_columns = compiled.leading_pattern
    e = np.flatnonzero(row_of[e_rows] >= 0)
    m = len(r_row)
    as_indices = lambda a: np.ascontiguousarray(a, dtype=np.int64)  # noqa: E731
    large = m >= lapack.WORTHWHILE
    square = lambda: np.zeros((m, m))  # noqa: E731
    small = lambda: np.zeros((0, 0) if large else (m, m))  # noqa: E731
    return DenseAlgebra(
        p_row=p_row, p_column=p_column, r_row=as_indices(r_row), r_column=as_indices(r_column),
        rr=as_indices(rr), rr_row=as_indices(row_of[rows[rr]]), rr_column=as_indices(column_of[columns[rr]]),
        rp=as_indices(rp), rp_row=as_indices(row_of[rows[rp]]), rp_column=as_indices(p_column_of[columns[rp]]),
        pr=as_indices(pr), pr_start=as_indices(pr_start), pr_column=as_indices(column_of[columns[pr]]),
        e=as_indices(e + len(rows)), e_row=as_indices(row_of[e_rows[e]]), e_column=as_indices(column_of[e_columns[e]]),
        nonzeros=np.zeros(len(rows) + len(e_rows)),
        E=square(), J=square(), B=square(), real=square(), real_pivots=np.zeros(m, np.int64),
        cr=small(), ci=small(), complex_pivots=np.zeros(m, np.int64), sigma=np.zeros(3),
        lapack=lapack.lapack_arguments(m), complex=np.zeros((m, m) if large else (0, 0), complex),
        work_complex=np.zeros(m, complex), lapack_real_pivots=np.zeros(m, np.int32),
        lapack_complex_pivots=np.zeros(m, np.int32),
        work_real=np.zeros(m), work_imaginary=np.zeros(m), singular=np.full(1, -1), cost=_cost(m, len(rp), len(pr), len(p_row)),
    )  # fmt: skip


def _cost(m: int, rp: int, pr: int, eliminated: int) -> np.ndarray:
    """Floating-point operations; a complex multiplication with addition counts eight."""
    product = 2 * rp * pr // max(eliminated, 1)
    assembly, factors = 10 * m * m, (2 * m**3) // 3 + (8 * m**3) // 3
    real = 2 * m * m + 2 * rp + 2 * pr + eliminated
    return np.array([product, assembly + factors, real + 4 * real, real])


def workspace_copy(algebra: DenseAlgebra) -> DenseAlgebra:
    """A second work space on the same structure, for a run in another thread."""
    shared = {name for name in DenseAlgebra._fields if name.split("_")[0] in ("p", "r", "rr", "rp", "pr", "e")}
    copies = {k: v.copy() for k, v in algebra._asdict().items() if k not in shared and k != "lapack"}
    return algebra._replace(**copies, lapack=lapack.lapack_arguments(len(algebra.r_row)))


@device
def decompose(la, state):
    """Take a new Jacobian: scatter the nonzeros into blocks and form J_RP J_PR."""
    m = la.J.shape[0]
    for i in range(m):
        for j in range(m):
            la.J[i, j] = 0.0
            la.E[i, j] = 0.0
            la.B[i, j] = 0.0
    nz = la.nonzeros
    for k in range(la.rr.size):
        la.J[la.rr_row[k], la.rr_column[k]] = nz[la.rr[k]]
    for k in range(la.e.size):
        la.E[la.e_row[k], la.e_column[k]] = nz[la.e[k]]
    for k in range(la.rp.size):
        value, row, through = nz[la.rp[k]], la.rp_row[k], la.rp_column[k]
        for q in range(la.pr_start[through], la.pr_start[through + 1]):
            la.B[row, la.pr_column[q]] += value * nz[la.pr[q]]
    return True


@device
def correct(la, F, out):
    """The constraints are part of the system: there is nothing to correct."""
    return False


@device
def prepare(la, gamma, alpha, beta):
    """Factor for σ = γ and σ = α + iβ. Returns False if a matrix is singular."""
    m = la.J.shape[0]
    la.sigma[0], la.sigma[1], la.sigma[2] = gamma, alpha, beta
    large = m >= lapack.WORTHWHILE
    size2 = alpha * alpha + beta * beta
    over_gamma, over_r, over_i = 1.0 / gamma, alpha / size2, -beta / size2
    for i in range(m):
        for j in range(m):
            e, b, jac = la.E[i, j], la.B[i, j], la.J[i, j]
            la.real[i, j] = gamma * e - jac - over_gamma * b
            if large:
                la.complex[i, j] = complex(alpha * e - jac - over_r * b, beta * e - over_i * b)
            else:
                la.cr[i, j] = alpha * e - jac - over_r * b
                la.ci[i, j] = beta * e - over_i * b
    if large:
        failed = lapack.factor_real(la.lapack, la.real, la.lapack_real_pivots)
        if failed == 0:
            failed = lapack.factor_complex(la.lapack, la.complex, la.lapack_complex_pivots)
    else:
        failed = lu.factor(la.real, la.real_pivots, m)
        if failed == 0:
            failed = lu.factor_complex(la.cr, la.ci, la.complex_pivots, m)
    if failed != 0:
        la.singular[0] = la.r_column[failed - 1]
        return False
    return True


@device
def solve_real(la, R, out):
    """Δ = (γ E − J)⁻¹ R; R is indexed by equations, Δ by variables."""
    s, b, nz = 1.0 / la.sigma[0], la.work_real, la.nonzeros
    for i in range(b.size):
        b[i] = R[la.r_row[i]]
    for k in range(la.rp.size):
        b[la.rp_row[k]] += nz[la.rp[k]] * R[la.p_row[la.rp_column[k]]] * s
    if b.size >= lapack.WORTHWHILE:
        lapack.substitute_real(la.lapack, la.real, la.lapack_real_pivots, b)
    else:
        lu.substitute(la.real, la.real_pivots, b, b.size)
    for i in range(b.size):
        out[la.r_column[i]] = b[i]
    for k in range(la.p_row.size):
        total = R[la.p_row[k]]
        for q in range(la.pr_start[k], la.pr_start[k + 1]):
            total += nz[la.pr[q]] * b[la.pr_column[q]]
        out[la.p_column[k]] = total * s


@device
def solve_complex(la, Rr, Ri, out_r, out_i):
    """Δ = ((α + iβ) E − J)⁻¹ R."""
    alpha, beta = la.sigma[1], la.sigma[2]
    size2 = alpha * alpha + beta * beta
    sr, si = alpha / size2, -beta / size2
    br, bi, nz = la.work_real, la.work_imaginary, la.nonzeros
    for i in range(br.size):
        br[i] = Rr[la.r_row[i]]
        bi[i] = Ri[la.r_row[i]]
    for k in range(la.rp.size):
        p = la.p_row[la.rp_column[k]]
        value = nz[la.rp[k]]
        br[la.rp_row[k]] += value * (Rr[p] * sr - Ri[p] * si)
        bi[la.rp_row[k]] += value * (Rr[p] * si + Ri[p] * sr)
    if br.size >= lapack.WORTHWHILE:
        b = la.work_complex
        for i in range(b.size):
            b[i] = complex(br[i], bi[i])
        lapack.substitute_complex(la.lapack, la.complex, la.lapack_complex_pivots, b)
        for i in range(b.size):
            br[i], bi[i] = b[i].real, b[i].imag
    else:
        lu.substitute_complex(la.cr, la.ci, la.complex_pivots, br, bi, br.size)
    for i in range(br.size):
        out_r[la.r_column[i]] = br[i]
        out_i[la.r_column[i]] = bi[i]
    for k in range(la.p_row.size):
        tr, ti = Rr[la.p_row[k]], Ri[la.p_row[k]]
        for q in range(la.pr_start[k], la.pr_start[k + 1]):
            value = nz[la.pr[q]]
            tr += value * br[la.pr_column[q]]
            ti += value * bi[la.pr_column[q]]
        out_r[la.p_column[k]] = tr * sr - ti * si
        out_i[la.p_column[k]] = tr * si + ti * sr
