"""Linear algebra of GEOMS: the constraint blocks are decomposed once per Jacobian, only the small rest per step size.

Unknowns y | free | v | z, constraints F1(y, free, v, z), F2(v, z), F3(z) with square ∂F1/∂y and wide ∂F2/∂v, ∂F3/∂z.
For any right-hand side R every increment is Δx = X0 + X y_f: X0 solves the constraint rows (z, then v, then y), X is
the basis of their null space, carried through the same three blocks. What remains,

    (σ S E X − S J X) y_f = S (R − (σ E − J) X0),

has the size of the differential part. S, the selector, is X's own transpose on the differential equations, computed
anew with every Jacobian ("every"), or the rows of the independent coordinates, kept while the pivots stay ("adaptive").
"""

from typing import NamedTuple

import numpy as np

from dalembert.compile.kernel import device
from dalembert.linalg import lu
from dalembert.linalg.blocks import LU, QR, SVD, block_type, decompose_block, factor_householder, new_block, solve_block
from dalembert.solvers.radau.core import CONVERGENCE_FAILED
from dalembert.solvers.records import f8, i8, indices, matrix, record, vector
from dalembert.solvers.status import Count

EVERY, ADAPTIVE = 0, 1

# why decompose returned False (la.trouble)
NONE, DEFICIENT_1, DEFICIENT_2, DEFICIENT_3, CHANGED, NOT_UNIFORM = range(6)


class ProjectedAlgebra(NamedTuple):
    """Structure, options, work space."""

    algebraic: i8  # LU, QR or SVD
    differential: i8  # LU or QR
    strategy: i8  # of the selectors
    step_over: i8  # pass isolated points where the rank changes
    threshold: f8  # of ranks
    # rows and columns
    d_row: indices  # kinematic, dynamic and force-element equations
    c1_row: indices
    c2_row: indices
    c3_row: indices
    Y: indices
    free: indices
    V: indices
    Z: indices
    n_kinematic: i8
    p_of_z: indices  # place of z_j among the kinematic equations, or −1 for contact points
    multiplier_of_free: indices  # row of F2 belonging to a free multiplier, or −1
    element_of_free: indices  # place of a free variable's own differential equation, or −1
    # nonzeros: place in the port's output, local row, local column (dense blocks) or variable (the others)
    a1: indices
    a1_row: indices
    a1_column: indices
    a2: indices
    a2_row: indices
    a2_column: indices
    a3: indices
    a3_row: indices
    a3_column: indices
    f1: indices
    f1_row: indices
    f1_column: indices
    f2: indices
    f2_row: indices
    f2_column: indices
    jd: indices
    jd_row: indices
    jd_column: indices
    ed: indices
    ed_row: indices
    ed_column: indices
    # work space
    nonzeros: vector
    b1: block_type
    b2: block_type
    b3: block_type
    G: matrix  # ∂F2/∂v before it is decomposed
    X: matrix  # (n_f, n): rows are the columns of X
    EX: matrix  # (n_f, n_d)
    JX: matrix
    S: matrix  # (n_f, n_d)
    SEX: matrix
    SJX: matrix
    real: matrix
    real_pivots: indices
    cr: matrix
    ci: matrix
    complex_pivots: indices
    real_block: block_type  # QR of the differential part; complex systems as real ones of twice the size
    complex_block: block_type
    rhs1: vector
    rhs2: vector
    rhs3: vector
    part: vector
    X0r: vector
    X0i: vector
    rd: vector
    yr: vector
    yi: vector
    double_rhs: vector
    double_solution: vector
    sigma: vector
    kept_v: indices  # pivots for which the selectors were computed: 1 for dependent variables
    kept_z: indices
    ranks: indices  # of the three blocks; −1 before the first
    size: indices  # n_f, whether selectors are there, whether they are unit rows
    trouble: indices
    singular: indices
    cost: indices


projected_type = record(ProjectedAlgebra)


def projected_algebra(compiled, options) -> ProjectedAlgebra:
    """Set up for a compiled projected system; `options` has algebraic, differential, selector, …"""
    blocks, n = compiled.system.blocks, compiled.system.n
    d_row = np.concatenate([blocks.kinematic, blocks.dynamic, blocks.elements])
    rows, columns = compiled.jacobian_pattern
    e_rows, e_columns = compiled.leading_pattern
    m = len(compiled.system.equations)

    def place(members: np.ndarray, size: int) -> np.ndarray:
        out = np.full(size, -1)
        out[members] = np.arange(len(members))
        return out

    in_d, in_1, in_2, in_3 = (place(r, m) for r in (d_row, blocks.F1, blocks.F2, blocks.F3))
    in_Y, in_V, in_Z = (place(c, n) for c in (blocks.Y, blocks.V, blocks.Z))
    as_indices = lambda a: np.ascontiguousarray(a, dtype=np.int64)  # noqa: E731

    def triplets(name: str, mask: np.ndarray, local_row: np.ndarray, local_column: np.ndarray | None) -> dict:
        where = np.flatnonzero(mask)
        at = columns[where] if local_column is None else local_column[columns[where]]
        return {
            name: as_indices(where),
            f"{name}_row": as_indices(local_row[rows[where]]),
            f"{name}_column": as_indices(at),
        }

    n1, n2, n3 = len(blocks.F1), len(blocks.F2), len(blocks.F3)
    nY, nV, nZ, n_free, n_d = len(blocks.Y), len(blocks.V), len(blocks.Z), len(blocks.free), len(d_row)
    n_f = n_free + nV + nZ  # at most: all constraints redundant
    in_p = place(blocks.P, n)
    first_r = n - len(blocks.elements)  # only used to number the free variables below
    del first_r
    n_mult = len(blocks.multipliers)
    free_is_multiplier = np.isin(blocks.free, blocks.multipliers)
    element = len(blocks.kinematic) + len(blocks.dynamic) + np.cumsum(~free_is_multiplier) - 1
    square = lambda: np.zeros((n_f, n_f))  # noqa: E731
    nnz = {
        "f1": (in_1[rows] >= 0) & (in_Y[columns] < 0), "f2": (in_2[rows] >= 0) & (in_V[columns] < 0), "jd": in_d[rows] >= 0,
    }  # fmt: skip
    expected = n_free + (nV - n2) + (nZ - n3)
    return ProjectedAlgebra(
        algebraic={"lu": LU, "qr": QR, "svd": SVD}[options.algebraic],
        differential={"lu": LU, "qr": QR}[options.differential],
        strategy={"every": EVERY, "adaptive": ADAPTIVE}[options.selector],
        step_over=int(options.singular == "step over"),
        threshold=options.rank_threshold,
        d_row=as_indices(d_row), c1_row=as_indices(blocks.F1), c2_row=as_indices(blocks.F2), c3_row=as_indices(blocks.F3),
        Y=as_indices(blocks.Y), free=as_indices(blocks.free), V=as_indices(blocks.V), Z=as_indices(blocks.Z),
        n_kinematic=len(blocks.kinematic),
        p_of_z=as_indices(in_p[blocks.Z]),
        multiplier_of_free=as_indices(np.where(free_is_multiplier, np.cumsum(free_is_multiplier) - 1, -1)),
        element_of_free=as_indices(np.where(free_is_multiplier, -1, element)),
        **triplets("a1", (in_1[rows] >= 0) & (in_Y[columns] >= 0), in_1, in_Y),
        **triplets("a2", (in_2[rows] >= 0) & (in_V[columns] >= 0), in_2, in_V),
        **triplets("a3", in_3[rows] >= 0, in_3, in_Z),
        **triplets("f1", nnz["f1"], in_1, None),
        **triplets("f2", nnz["f2"], in_2, None),
        **triplets("jd", nnz["jd"], in_d, None),
        ed=as_indices(np.flatnonzero(in_d[e_rows] >= 0) + len(rows)),
        ed_row=as_indices(in_d[e_rows][in_d[e_rows] >= 0]), ed_column=as_indices(e_columns[in_d[e_rows] >= 0]),
        nonzeros=np.zeros(len(rows) + len(e_rows)),
        b1=new_block(n1, nY), b2=new_block(n2, nV), b3=new_block(n3, nZ), G=np.zeros((n2, nV)),
        X=np.zeros((n_f, n)), EX=np.zeros((n_f, n_d)), JX=np.zeros((n_f, n_d)), S=np.zeros((n_f, n_d)),
        SEX=square(), SJX=square(), real=square(), real_pivots=np.zeros(n_f, np.int64),
        cr=square(), ci=square(), complex_pivots=np.zeros(n_f, np.int64),
        real_block=new_block(expected, expected), complex_block=new_block(2 * expected, 2 * expected),
        rhs1=np.zeros(n1), rhs2=np.zeros(n2), rhs3=np.zeros(n3), part=np.zeros(max(nY, nV, nZ, 1)),
        X0r=np.zeros(n), X0i=np.zeros(n), rd=np.zeros(n_d), yr=np.zeros(n_f), yi=np.zeros(n_f),
        double_rhs=np.zeros(2 * n_f), double_solution=np.zeros(2 * n_f), sigma=np.zeros(3),
        kept_v=np.full(nV, -1), kept_z=np.full(nZ, -1), ranks=np.full(3, -1), size=np.array([expected, 0, 0]),
        trouble=np.zeros(1, np.int64), singular=np.full(1, -1),
        cost=_cost((n1, nY), (n2, nV), (n3, nZ), n_free, n_d, expected, {k: int(v.sum()) for k, v in nnz.items()}, n_mult),
    )  # fmt: skip


def _cost(first, second, third, n_free: int, n_d: int, n_f: int, nnz: dict, n_mult: int) -> np.ndarray:
    """Floating-point operations of decompose, prepare, a Newton iteration, an error estimate (LU everywhere)."""

    def factors(rows: int, columns: int) -> int:
        return sum(2 * (rows - k - 1) * (columns - k - 1) + rows - k - 1 for k in range(rows))

    def solve(rows: int) -> int:
        return 2 * rows * rows

    null = sum(rows * rows * (columns - rows) for rows, columns in (second, third))
    particular = solve(first[0]) + solve(second[0]) + solve(third[0]) + 2 * (nnz["f1"] + nnz["f2"])
    differential = 2 * nnz["jd"] + 2 * n_d
    basis = n_f * (solve(first[0]) + solve(second[0]) + 2 * (nnz["f1"] + nnz["f2"]) + differential + 4 * n_f * n_d)
    one = particular + differential + 2 * n_f * n_d + 2 * n_f * n_f + 2 * n_f * (n_f + first[1] + second[0] + third[0])
    small = (2 * n_f**3) // 3 + (8 * n_f**3) // 3 + 6 * n_f * n_f
    return np.array([factors(*first) + factors(*second) + factors(*third) + null + basis, small, 3 * one, one])


# -- constraints ---------------------------------------------------------------------------------------------------


@device
def complete(la, x):
    """Given free, the null-space part of v, and z in x: add what F2 asks of v, then set y from F1. Homogeneous."""
    nz = la.nonzeros
    for i in range(la.rhs2.size):
        la.rhs2[i] = 0.0
    moved = False
    for k in range(la.f2.size):
        value = x[la.f2_column[k]]
        if value != 0.0:
            la.rhs2[la.f2_row[k]] -= nz[la.f2[k]] * value
            moved = True
    if moved:
        solve_block(la.b2, la.algebraic, la.rhs2, la.part)
        for j in range(la.V.size):
            x[la.V[j]] += la.part[j]
    for i in range(la.rhs1.size):
        la.rhs1[i] = 0.0
    for k in range(la.f1.size):
        la.rhs1[la.f1_row[k]] -= nz[la.f1[k]] * x[la.f1_column[k]]
    solve_block(la.b1, la.algebraic, la.rhs1, la.part)
    for j in range(la.Y.size):
        x[la.Y[j]] = la.part[j]


@device
def particular(la, R, x):
    """X0: constraint rows solved for the dependent variables, F3, then F2, then F1."""
    nz = la.nonzeros
    for i in range(x.size):
        x[i] = 0.0
    for i in range(la.c3_row.size):
        la.rhs3[i] = -R[la.c3_row[i]]
    solve_block(la.b3, la.algebraic, la.rhs3, la.part)
    for j in range(la.Z.size):
        x[la.Z[j]] = la.part[j]
    for i in range(la.c2_row.size):
        la.rhs2[i] = -R[la.c2_row[i]]
    for k in range(la.f2.size):
        la.rhs2[la.f2_row[k]] -= nz[la.f2[k]] * x[la.f2_column[k]]
    solve_block(la.b2, la.algebraic, la.rhs2, la.part)
    for j in range(la.V.size):
        x[la.V[j]] = la.part[j]
    for i in range(la.c1_row.size):
        la.rhs1[i] = -R[la.c1_row[i]]
    for k in range(la.f1.size):
        la.rhs1[la.f1_row[k]] -= nz[la.f1[k]] * x[la.f1_column[k]]
    solve_block(la.b1, la.algebraic, la.rhs1, la.part)
    for j in range(la.Y.size):
        x[la.Y[j]] = la.part[j]


@device
def decompose_constraints(la):
    """Scatter the Jacobian into the three blocks, decompose them, check their ranks. Returns whether all is well."""
    nz, b1, b2, b3 = la.nonzeros, la.b1, la.b2, la.b3
    b1.A[:, :] = 0.0
    b2.A[:, :] = 0.0
    b3.A[:, :] = 0.0
    for k in range(la.a1.size):
        b1.A[la.a1_row[k], la.a1_column[k]] = nz[la.a1[k]]
    for k in range(la.a2.size):
        b2.A[la.a2_row[k], la.a2_column[k]] = nz[la.a2[k]]
    for k in range(la.a3.size):
        b3.A[la.a3_row[k], la.a3_column[k]] = nz[la.a3[k]]
    for i in range(b2.A.shape[0]):
        for j in range(b2.A.shape[1]):
            la.G[i, j] = b2.A[i, j]
    rank3 = decompose_block(b3, la.algebraic, la.threshold)
    rank2 = decompose_block(b2, la.algebraic, la.threshold)
    rank1 = decompose_block(b1, la.algebraic, la.threshold)
    missing3, missing2, missing1 = b3.A.shape[0] - rank3, b2.A.shape[0] - rank2, b1.A.shape[0] - rank1
    la.trouble[0] = NONE
    if la.algebraic != SVD:
        if missing3 > 0:
            la.trouble[0] = DEFICIENT_3
        elif missing2 > 0:
            la.trouble[0] = DEFICIENT_2
        elif missing1 > 0:
            la.trouble[0] = DEFICIENT_1
        return la.trouble[0] == NONE
    changed = la.ranks[0] >= 0 and (la.ranks[0] != rank1 or la.ranks[1] != rank2 or la.ranks[2] != rank3)
    if changed and la.step_over == 0:
        la.trouble[0] = CHANGED
        return False
    if not changed and la.b1.A.shape[0] > 0 and (missing1 != missing2 or missing3 > missing2):
        la.trouble[0] = NOT_UNIFORM
        return False
    if la.ranks[0] < 0:
        la.ranks[0], la.ranks[1], la.ranks[2] = rank1, rank2, rank3
    return True


# -- the differential part -----------------------------------------------------------------------------------------


@device
def null_space(la):
    """X, row by row: free variables, null space of F2, null space of F3 carried through F2; F1 follows."""
    X = la.X
    null2, null3 = la.V.size - la.b2.rank[0], la.Z.size - la.b3.rank[0]
    X[:, :] = 0.0
    row = 0
    for j in range(la.free.size):
        X[row, la.free[j]] = 1.0
        complete(la, X[row])
        row += 1
    for c in range(null2):
        for j in range(la.V.size):
            X[row, la.V[j]] = la.b2.K[j, c]
        complete(la, X[row])
        row += 1
    for c in range(null3):
        for j in range(la.Z.size):
            X[row, la.Z[j]] = la.b3.K[j, c]
        complete(la, X[row])
        row += 1
    la.size[0] = row


@device
def transposed_selectors(la):
    """S = the null-space bases themselves, transposed; free multipliers select along the constraint forces."""
    S, n_k = la.S, la.n_kinematic
    null2, null3 = la.V.size - la.b2.rank[0], la.Z.size - la.b3.rank[0]
    S[:, :] = 0.0
    row = 0
    for j in range(la.free.size):
        if la.element_of_free[j] >= 0:
            S[row, la.element_of_free[j]] = 1.0
        else:
            for i in range(la.V.size):
                S[row, n_k + i] = la.G[la.multiplier_of_free[j], i]
        row += 1
    for c in range(null2):
        for i in range(la.V.size):
            S[row, n_k + i] = la.b2.K[i, c]
        row += 1
    for c in range(null3):
        for j in range(la.Z.size):
            if la.p_of_z[j] >= 0:
                S[row, la.p_of_z[j]] = la.b3.K[j, c]
        row += 1


@device
def unit_selectors(la):
    """S = rows of the independent coordinates. Returns whether there are such (LU, QR; contact points dependent)."""
    if la.algebraic == SVD:
        return False
    S, n_k = la.S, la.n_kinematic
    rank2, rank3 = la.b2.rank[0], la.b3.rank[0]
    S[:, :] = 0.0
    row = 0
    for j in range(la.free.size):
        if la.element_of_free[j] < 0:
            return False
        S[row, la.element_of_free[j]] = 1.0
        row += 1
    for c in range(la.V.size - rank2):
        S[row, n_k + la.b2.column[rank2 + c]] = 1.0
        row += 1
    for c in range(la.Z.size - rank3):
        at = la.p_of_z[la.b3.column[rank3 + c]]
        if at < 0:
            return False
        S[row, at] = 1.0
        row += 1
    return True


@device
def pivots_changed(la):
    """Whether other variables are dependent than those for which the selectors were computed; remembers the new ones."""
    changed = False
    for place in range(la.V.size):
        now = 1 if place < la.b2.rank[0] else 0
        if la.kept_v[la.b2.column[place]] != now:
            la.kept_v[la.b2.column[place]] = now
            changed = True
    for place in range(la.Z.size):
        now = 1 if place < la.b3.rank[0] else 0
        if la.kept_z[la.b3.column[place]] != now:
            la.kept_z[la.b3.column[place]] = now
            changed = True
    return changed


@device
def select(la, source, out):
    """out = S source, for `source` with one row per column of X."""
    n_f = la.size[0]
    for i in range(n_f):
        for j in range(n_f):
            total = 0.0
            for k in range(la.S.shape[1]):
                total += la.S[i, k] * source[j, k]
            out[i, j] = total


@device
def well_conditioned(la):
    """Whether S E X can be inverted safely: smallest pivot of its equilibrated rows."""
    n_f = la.size[0]
    for i in range(n_f):
        largest = 0.0
        for j in range(n_f):
            largest = max(largest, abs(la.SEX[i, j]))
        if largest == 0.0:
            return False
        for j in range(n_f):
            la.real[i, j] = la.SEX[i, j] / largest
    if lu.factor(la.real, la.real_pivots, n_f) != 0:
        return False
    for i in range(n_f):
        if abs(la.real[i, i]) < 1e-3:
            return False
    return True


@device
def choose_selectors(la, state):
    """Selectors for the new decomposition, and S E X."""
    if la.strategy == EVERY:
        transposed_selectors(la)
        state.count[Count.SELECTORS] += 1
        select(la, la.EX, la.SEX)
        return
    if la.size[1] == 0 or state.flag[CONVERGENCE_FAILED] == 1 or pivots_changed(la):
        pivots_changed(la)
        if not unit_selectors(la):
            transposed_selectors(la)
        state.count[Count.SELECTORS] += 1
        la.size[1] = 1
    select(la, la.EX, la.SEX)
    # the differential part without derivatives (free multipliers) has no E: there this test would mean nothing
    if la.multiplier_of_free.size == 0 or la.multiplier_of_free[0] < 0:
        if not well_conditioned(la):
            transposed_selectors(la)
            state.count[Count.SELECTORS] += 1
            select(la, la.EX, la.SEX)


@device
def decompose(la, state):
    """Everything that does not depend on the step size."""
    state.count[Count.CONSTRAINT_DECOMPOSITIONS] += 1
    if not decompose_constraints(la):
        return False
    null_space(la)
    nz, n_f = la.nonzeros, la.size[0]
    for c in range(n_f):
        x, ex, jx = la.X[c], la.EX[c], la.JX[c]
        for i in range(ex.size):
            ex[i] = 0.0
            jx[i] = 0.0
        for k in range(la.ed.size):
            ex[la.ed_row[k]] += nz[la.ed[k]] * x[la.ed_column[k]]
        for k in range(la.jd.size):
            jx[la.jd_row[k]] += nz[la.jd[k]] * x[la.jd_column[k]]
    choose_selectors(la, state)
    state.flag[CONVERGENCE_FAILED] = 0
    select(la, la.JX, la.SJX)
    return True


@device
def prepare(la, gamma, alpha, beta):
    """Factor the small matrices for σ = γ and σ = α + iβ. Returns False if one is singular."""
    n_f = la.size[0]
    la.sigma[0], la.sigma[1], la.sigma[2] = gamma, alpha, beta
    if la.differential == QR:
        # Householder on the matrices as they are: equilibration and ranks are the constraints' business
        real, double = la.real_block, la.complex_block
        for i in range(n_f):
            real.scale[i] = 1.0
            double.scale[i], double.scale[n_f + i] = 1.0, 1.0
            for j in range(n_f):
                real.A[i, j] = gamma * la.SEX[i, j] - la.SJX[i, j]
                re, im = alpha * la.SEX[i, j] - la.SJX[i, j], beta * la.SEX[i, j]
                double.A[i, j], double.A[n_f + i, n_f + j] = re, re
                double.A[i, n_f + j], double.A[n_f + i, j] = -im, im
        factor_householder(real, 1e-300)
        factor_householder(double, 1e-300)
        return real.rank[0] == n_f and double.rank[0] == 2 * n_f
    for i in range(n_f):
        for j in range(n_f):
            e, jac = la.SEX[i, j], la.SJX[i, j]
            la.real[i, j] = gamma * e - jac
            la.cr[i, j] = alpha * e - jac
            la.ci[i, j] = beta * e
    if lu.factor(la.real, la.real_pivots, n_f) != 0:
        return False
    return lu.factor_complex(la.cr, la.ci, la.complex_pivots, n_f) == 0


@device
def remainder(la, R, X0, own, other, X0_other, y):
    """y = S (R + J X0 − own E X0 + other E X0_other) on the differential equations."""
    nz, rd, n_f = la.nonzeros, la.rd, la.size[0]
    for i in range(rd.size):
        rd[i] = R[la.d_row[i]]
    for k in range(la.jd.size):
        rd[la.jd_row[k]] += nz[la.jd[k]] * X0[la.jd_column[k]]
    for k in range(la.ed.size):
        column = la.ed_column[k]
        rd[la.ed_row[k]] -= nz[la.ed[k]] * (own * X0[column] - other * X0_other[column])
    for i in range(n_f):
        total = 0.0
        for k in range(rd.size):
            total += la.S[i, k] * rd[k]
        y[i] = total


@device
def assemble(la, X0, y, out):
    """out = X0 + X y."""
    for i in range(out.size):
        out[i] = X0[i]
    for c in range(la.size[0]):
        value, x = y[c], la.X[c]
        for i in range(out.size):
            out[i] += x[i] * value


@device
def solve_real(la, R, out):
    """Δ for σ = γ."""
    n_f = la.size[0]
    particular(la, R, la.X0r)
    remainder(la, R, la.X0r, la.sigma[0], 0.0, la.X0r, la.yr)
    if la.differential == QR:
        solve_block(la.real_block, QR, la.yr, la.double_solution)
        for i in range(n_f):
            la.yr[i] = la.double_solution[i]
    else:
        lu.substitute(la.real, la.real_pivots, la.yr, n_f)
    assemble(la, la.X0r, la.yr, out)


@device
def solve_complex(la, Rr, Ri, out_r, out_i):
    """Δ for σ = α + iβ; the constraint blocks are real, so both parts pass through them separately."""
    n_f, alpha, beta = la.size[0], la.sigma[1], la.sigma[2]
    particular(la, Rr, la.X0r)
    particular(la, Ri, la.X0i)
    remainder(la, Rr, la.X0r, alpha, beta, la.X0i, la.yr)
    remainder(la, Ri, la.X0i, alpha, -beta, la.X0r, la.yi)
    if la.differential == QR:
        for i in range(n_f):
            la.double_rhs[i], la.double_rhs[n_f + i] = la.yr[i], la.yi[i]
        solve_block(la.complex_block, QR, la.double_rhs, la.double_solution)
        for i in range(n_f):
            la.yr[i], la.yi[i] = la.double_solution[i], la.double_solution[n_f + i]
    else:
        lu.substitute_complex(la.cr, la.ci, la.complex_pivots, la.yr, la.yi, n_f)
    assemble(la, la.X0r, la.yr, out_r)
    assemble(la, la.X0i, la.yi, out_i)


@device
def correct(la, F, out):
    """The constraint rows alone: y_f = 0."""
    particular(la, F, out)
    return True
