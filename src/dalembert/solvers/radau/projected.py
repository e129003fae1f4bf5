"""Linear algebra of GEOMS: the constraint blocks are decomposed once per Jacobian, only the small rest per step size.

Constraints stand in blocks that are solved one after another, each for some of the unknowns (`constraints.py`). For any
right-hand side R every increment is Δx = X0 + X y_f: X0 solves the constraint rows, X is the basis of their null space,
carried through the same blocks. What remains,

    (σ S E X − S J X) y_f = S (R − (σ E − J) X0),

has the size of the differential part. X0 and X: `constraints.py`; S, the selector: `selectors.py`.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, imat, ivec, layout, mat, vec
from dalembert.linalg.factors import lu
from dalembert.linalg.factors.blocks import (
    LU,
    QR,
    SVD,
    block_at,
    factor_householder,
    factor_singular_values,
    new_block,
    solve_block,
)
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.radau.constraints import (
    ANNOUNCED,
    NONE,
    SCALINGS,
    decompose_constraints,
    factor_constraint,
    last_of,
    missing_rank,
    new_constraints,
    null_space,
    particular,
    particular3,
    places,
    scatter,
    set_row_factor,
)
from dalembert.solvers.radau.redundant import BLIND, SEEN, TURNED
from dalembert.solvers.radau.selectors import ADAPTIVE, EVERY, IMAGE, choose_selectors, select
from dalembert.solvers.radau.state import LINEAR_ALGEBRA
from dalembert.solvers.status import Count

#: combinations of redundant equations that see less than this part of one of them are too old
ENOUGH = 0.7
#: those that see more than this are as good as new: multipliers change with the motion, and not with the dependence
NEARLY_ALL = 0.99999

TRIPLETS = ("f4", "jd", "ed")
ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        "chain",  # the constraint blocks
        "d_row",  # kinematic, dynamic and force-element equations
        "c4_row", "free",
        "multiplier_of_free",  # row of F2 belonging to a free multiplier, or −1
        "element_of_free",  # place of a free variable's own differential equation, or −1
        # nonzeros in three rows: place in the port's output, local row, variable
        *TRIPLETS,
        # work space
        "G",  # ∂F2/∂v before it is decomposed, if free multipliers ask for it
        "X", "EX", "JX", "many", "part_many",
        "S", "SEX", "SJX", "real", "real_pivots", "cr", "ci", "complex_pivots",
        "real_block", "complex_block",  # QR of the differential part; complex systems as real ones of twice the size
        "part", "rd", "y", "yr", "yi", "double_rhs", "double_solution",
        "part3", "rd3",  # the same for three columns
        "EI", "gram", "gram_pivots", "rhs4",  # projection onto invariants: their derivatives along X
        "spare",  # a block like the last one of the chain, for points other than that of the Jacobian
        "insight",  # another: how much the combinations of equations in the one see of those in the other
    ],
    reals=[
        "threshold", "row_factor", "gamma", "alpha", "beta",
        "near",  # ANNOUNCED if singular positions are to be stepped over, or 0
        "reference",  # the smallest value at the start
    ],
    wholes=[
        "algebraic", "differential", "strategy",  # LU, QR, SVD; LU, QR; EVERY, ADAPTIVE, IMAGE
        "scaling",  # BY_ROWS, BY_STEP or NOT_SCALED
        "n", "n_rows", "n_d", "n_4", "n_free", "n_part", "n_most",
        "levels",  # the blocks are the same constraints on three levels
        "n_nonzeros",
        *(f"n_{name}" for name in TRIPLETS),
        "n_f",  # size of the differential part
        "have_selectors",
        "rank3",  # of the first block, if constraints may be redundant; −1 before the first decomposition
        "trouble", "singular", "suspended",
    ],
)  # fmt: skip


def algebra(compiled, options, addresses: dict[str, int]) -> Memory:
    """Set up for a compiled projected system; `options` are those of `Geoms`, `addresses` those of the kernels."""
    blocks, n, m = compiled.system.blocks, compiled.system.n, len(compiled.system.equations)
    d_row = np.concatenate([blocks.kinematic, blocks.dynamic, blocks.elements])
    rows, columns = compiled.jacobian_pattern
    e_rows, e_columns = compiled.leading_pattern

    in_d, in_4 = places(d_row, m), places(blocks.F4, m)

    def triplets(local_row: np.ndarray) -> np.ndarray:
        where = np.flatnonzero(local_row[rows] >= 0)
        return np.ascontiguousarray([where, local_row[rows[where]], columns[where]], dtype=np.int64)

    e_where = np.flatnonzero(in_d[e_rows] >= 0)
    nonzeros = {
        "f4": triplets(in_4),
        "jd": triplets(in_d),
        "ed": np.ascontiguousarray([e_where + len(rows), in_d[e_rows[e_where]], e_columns[e_where]], dtype=np.int64),
    }
    n4, n_free, n_d = len(blocks.F4), len(blocks.free), len(d_row)
    wide = [each for each in blocks.constraints if each.splits]
    most = n_free + sum(len(each.unknowns) for each in wide)  # columns of X if all constraints were redundant
    redundant = options.algebraic == "svd"  # rows may outnumber unknowns, and more directions be free than they leave
    n_f = most if redundant else max(0, most - sum(len(each.rows) for each in wide))
    last = blocks.constraints[-1]
    spare = new_block(len(last.rows), len(last.unknowns)) if redundant else new_block(0, 0)
    insight = new_block(len(last.rows), len(last.rows)) if redundant else new_block(0, 0)
    directing = [each for each in blocks.constraints if each.directs]
    n_part = max(1, *(len(each.unknowns) for each in blocks.constraints))
    is_multiplier = np.isin(blocks.free, blocks.multipliers)
    element = len(blocks.kinematic) + len(blocks.dynamic) + np.cumsum(~is_multiplier) - 1
    as_indices = lambda a: np.ascontiguousarray(a, dtype=np.int64)  # noqa: E731
    square = lambda: np.zeros((most, most))  # noqa: E731
    counts = {name: entries.shape[1] for name, entries in nonzeros.items()}
    couplings = sum(
        np.count_nonzero(np.isin(rows, each.rows) & ~np.isin(columns, each.unknowns)) for each in blocks.constraints
    )
    return Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0,
            chain=new_constraints(blocks, in_d, compiled.jacobian_pattern, m, n),
            d_row=as_indices(d_row), c4_row=as_indices(blocks.F4), free=as_indices(blocks.free),
            multiplier_of_free=as_indices(np.where(is_multiplier, np.cumsum(is_multiplier) - 1, -1)),
            element_of_free=as_indices(np.where(is_multiplier, -1, element)),
            **nonzeros, **{f"n_{name}": count for name, count in counts.items()},
            nonzeros=np.zeros(len(rows) + len(e_rows)), n_nonzeros=len(rows) + len(e_rows),
            G=np.zeros((len(directing[0].rows), len(directing[0].unknowns)) if directing else (0, 0)),
            X=np.zeros((n, most)), EX=np.zeros((n_d, most)), JX=np.zeros((n_d, most)), S=np.zeros((most, n_d)),
            many=np.zeros((max(n, m), most)), part_many=np.zeros((n, most)), spare=spare, insight=insight,
            SEX=square(), SJX=square(), real=square(), real_pivots=np.zeros(most, np.int64),
            cr=square(), ci=square(), complex_pivots=np.zeros(most, np.int64),
            real_block=new_block(n_f, n_f), complex_block=new_block(2 * n_f, 2 * n_f),
            part=np.zeros(n_part), part3=np.zeros((n_part, 3)),
            rd=np.zeros(n_d), y=np.zeros(most), yr=np.zeros(most), yi=np.zeros(most), rd3=np.zeros((n_d, 3)),
            double_rhs=np.zeros(2 * most), double_solution=np.zeros(2 * most),
            EI=np.zeros((n4, most)), gram=np.zeros((n4, n4)), gram_pivots=np.zeros(n4, np.int64), rhs4=np.zeros(n4),
            cost=_cost(blocks.constraints, n_d, max(0, most - sum(len(each.rows) for each in wide)), counts, couplings),
            threshold=options.rank_threshold, row_factor=1.0, scaling=SCALINGS.index(options.scaling),
            gamma=0.0, alpha=0.0, beta=0.0,
            near=ANNOUNCED if options.singular == "step over" else 0.0, reference=0.0,
            algebraic={"lu": LU, "qr": QR, "svd": SVD}[options.algebraic],
            differential={"lu": LU, "qr": QR}[options.differential],
            strategy={"every": EVERY, "adaptive": ADAPTIVE, "image": IMAGE}[blocks.selector or options.selector],
            n=n, n_rows=m, n_d=n_d, n_4=n4, n_free=n_free, n_part=n_part, n_most=most, n_f=n_f,
            levels=int(blocks.same_on_all_levels), have_selectors=0, rank3=-1, trouble=NONE, singular=-1,
            suspended=0,
        ),
    )  # fmt: skip


def _cost(constraints: tuple, n_d: int, n_f: int, nnz: dict, couplings: int) -> np.ndarray:
    """Floating-point operations of decompose, prepare, a Newton iteration, an error estimate (LU everywhere)."""
    nnz = {**nnz, "f": couplings}

    def factors(rows: int, columns: int) -> int:
        return sum(2 * (rows - k - 1) * (columns - k - 1) + rows - k - 1 for k in range(min(rows, columns)))

    def solve(rows: int) -> int:
        return 2 * rows * rows

    sizes = [(len(each.rows), len(each.unknowns)) for each in constraints]
    null = sum(r * r * max(0, c - r) for r, c in sizes)
    later = [solve(r) for r, _ in sizes[1:]]
    particular = solve(sizes[0][0]) + sum(later) + 2 * nnz["f"]
    differential = 2 * nnz["jd"] + 2 * nnz["ed"]
    basis = n_f * (sum(later) + 2 * nnz["f"] + differential + 4 * n_f * n_d)
    dependent = sum(r for r, _ in sizes)
    one = particular + differential + 2 * n_f * n_d + 2 * n_f * n_f + 2 * n_f * (n_f + dependent)
    small = (2 * n_f**3) // 3 + (8 * n_f**3) // 3 + 6 * n_f * n_f
    return np.array([sum(factors(*size) for size in sizes) + null + basis, small, 3 * one, one])


@device
def decompose(la, state):
    """Everything that does not depend on the step size."""
    add(state, Count.CONSTRAINT_DECOMPOSITIONS, 1)
    set_row_factor(la, state)
    if not decompose_constraints(la):
        return False
    null_space(la)
    nz, X = vec(la.nonzeros, la.n_nonzeros), mat(la.X, la.n, la.n_most)
    EX, JX = mat(la.EX, la.n_d, la.n_most), mat(la.JX, la.n_d, la.n_most)
    ed, jd, width = imat(la.ed, 3, la.n_ed), imat(la.jd, 3, la.n_jd), la.n_f
    for i in range(la.n_d):
        for c in range(width):
            EX[i, c] = 0.0
            JX[i, c] = 0.0
    for k in range(la.n_ed):
        value, i, j = nz[ed[0, k]], ed[1, k], ed[2, k]
        for c in range(width):
            EX[i, c] += value * X[j, c]
    for k in range(la.n_jd):
        value, i, j = nz[jd[0, k]], jd[1, k], jd[2, k]
        for c in range(width):
            JX[i, c] += value * X[j, c]
    choose_selectors(la, state)
    state.convergence_failed, state.redundant = 0, 1 if missing_rank(la) > 0 else 0
    select(la, JX, mat(la.SJX, la.n_most, la.n_most))
    return True


@device
def prepare(la, gamma, alpha, beta):
    """Factor the small matrices for σ = γ and σ = α + iβ. Returns False if one is singular."""
    n_f = la.n_f
    la.gamma, la.alpha, la.beta = gamma, alpha, beta
    SEX, SJX = mat(la.SEX, la.n_most, la.n_most), mat(la.SJX, la.n_most, la.n_most)
    if la.differential == QR:
        return prepare_orthogonal(la, SEX, SJX)
    most = la.n_most
    real, cr, ci = mat(la.real, most, most), mat(la.cr, most, most), mat(la.ci, most, most)
    for i in range(n_f):
        for j in range(n_f):
            e, jac = SEX[i, j], SJX[i, j]
            real[i, j] = gamma * e - jac
            cr[i, j] = alpha * e - jac
            ci[i, j] = beta * e
    if lu.factor(real, ivec(la.real_pivots, la.n_most), n_f) != 0:
        return False
    return lu.factor_complex(cr, ci, ivec(la.complex_pivots, la.n_most), n_f) == 0


@device
def prepare_orthogonal(la, SEX, SJX):
    """Householder on the matrices as they are: equilibration and ranks are the constraints' business."""
    n_f, gamma, alpha, beta = la.n_f, la.gamma, la.alpha, la.beta
    real, double = block_at(la.real_block), block_at(la.complex_block)
    # their work space has the size of the largest differential part that there may be
    real.rows, real.columns, double.rows, double.columns = n_f, n_f, 2 * n_f, 2 * n_f
    A, B = mat(real.A, n_f, n_f), mat(double.A, 2 * n_f, 2 * n_f)
    for i in range(n_f):
        for j in range(n_f):
            A[i, j] = gamma * SEX[i, j] - SJX[i, j]
            re, im = alpha * SEX[i, j] - SJX[i, j], beta * SEX[i, j]
            B[i, j], B[n_f + i, n_f + j] = re, re
            B[i, n_f + j], B[n_f + i, j] = -im, im
    factor_householder(real, 1e-300)
    factor_householder(double, 1e-300)
    return real.rank == n_f and double.rank == 2 * n_f


@device
def solve_small(la, y, yr, yi):
    """The differential part: y with γ, yr + i yi with α + iβ, in place."""
    n_f = la.n_f
    if la.differential == QR:
        rhs, solution = vec(la.double_rhs, 2 * n_f), vec(la.double_solution, 2 * n_f)
        solve_block(block_at(la.real_block), QR, y, solution)
        for i in range(n_f):
            y[i] = solution[i]
            rhs[i], rhs[n_f + i] = yr[i], yi[i]
        solve_block(block_at(la.complex_block), QR, rhs, solution)
        for i in range(n_f):
            yr[i], yi[i] = solution[i], solution[n_f + i]
        return
    lu.substitute(mat(la.real, la.n_most, la.n_most), ivec(la.real_pivots, la.n_most), y, n_f)
    cr, ci = mat(la.cr, la.n_most, la.n_most), mat(la.ci, la.n_most, la.n_most)
    lu.substitute_complex(cr, ci, ivec(la.complex_pivots, la.n_most), yr, yi, n_f)


@device
def solve_stages(la, R, D):
    """Three columns: σ = γ, and real and imaginary part of σ = α + iβ."""
    nz, rd, d_row = vec(la.nonzeros, la.n_nonzeros), mat(la.rd3, la.n_d, 3), ivec(la.d_row, la.n_d)
    ed, jd, S = imat(la.ed, 3, la.n_ed), imat(la.jd, 3, la.n_jd), mat(la.S, la.n_most, la.n_d)
    X, n_f = mat(la.X, la.n, la.n_most), la.n_f
    y, yr, yi = vec(la.y, la.n_most), vec(la.yr, la.n_most), vec(la.yi, la.n_most)
    gamma, alpha, beta = la.gamma, la.alpha, la.beta
    particular3(la, R, D)
    for i in range(la.n_d):
        r = d_row[i]
        rd[i, 0], rd[i, 1], rd[i, 2] = R[r, 0], R[r, 1], R[r, 2]
    for k in range(la.n_jd):
        value, i, j = nz[jd[0, k]], jd[1, k], jd[2, k]
        rd[i, 0] += value * D[j, 0]
        rd[i, 1] += value * D[j, 1]
        rd[i, 2] += value * D[j, 2]
    for k in range(la.n_ed):
        value, i, j = nz[ed[0, k]], ed[1, k], ed[2, k]
        rd[i, 0] -= value * gamma * D[j, 0]
        rd[i, 1] -= value * (alpha * D[j, 1] - beta * D[j, 2])
        rd[i, 2] -= value * (alpha * D[j, 2] + beta * D[j, 1])
    for c in range(n_f):
        t0, t1, t2 = 0.0, 0.0, 0.0
        for k in range(la.n_d):
            s = S[c, k]
            t0 += s * rd[k, 0]
            t1 += s * rd[k, 1]
            t2 += s * rd[k, 2]
        y[c], yr[c], yi[c] = t0, t1, t2
    solve_small(la, y, yr, yi)
    for i in range(la.n):
        t0, t1, t2 = 0.0, 0.0, 0.0
        for c in range(n_f):
            x = X[i, c]
            t0 += x * y[c]
            t1 += x * yr[c]
            t2 += x * yi[c]
        D[i, 0] += t0
        D[i, 1] += t1
        D[i, 2] += t2


@device
def solve_real(la, R, out):
    """One vector, σ = γ."""
    nz, rd, d_row = vec(la.nonzeros, la.n_nonzeros), vec(la.rd, la.n_d), ivec(la.d_row, la.n_d)
    ed, jd, S = imat(la.ed, 3, la.n_ed), imat(la.jd, 3, la.n_jd), mat(la.S, la.n_most, la.n_d)
    y, X, n_f = vec(la.y, la.n_most), mat(la.X, la.n, la.n_most), la.n_f
    particular(la, R, out)
    for i in range(la.n_d):
        rd[i] = R[d_row[i]]
    for k in range(la.n_jd):
        rd[jd[1, k]] += nz[jd[0, k]] * out[jd[2, k]]
    for k in range(la.n_ed):
        rd[ed[1, k]] -= la.gamma * nz[ed[0, k]] * out[ed[2, k]]
    for i in range(n_f):
        total = 0.0
        for k in range(la.n_d):
            total += S[i, k] * rd[k]
        y[i] = total
    if la.differential == QR:
        solution = vec(la.double_solution, n_f)
        solve_block(block_at(la.real_block), QR, y, solution)
        for i in range(n_f):
            y[i] = solution[i]
    else:
        lu.substitute(mat(la.real, la.n_most, la.n_most), ivec(la.real_pivots, la.n_most), y, n_f)
    for i in range(la.n):
        total = 0.0
        for c in range(n_f):
            total += X[i, c] * y[c]
        out[i] += total


@device
def correct(la, F, out):
    """The constraint rows alone, y_f = 0; then the smallest y_f that also satisfies the invariants of F4."""
    particular(la, F, out)
    n_4, n_f = la.n_4, la.n_f
    if n_4 == 0:
        return True
    nz, f4, c4 = vec(la.nonzeros, la.n_nonzeros), imat(la.f4, 3, la.n_f4), ivec(la.c4_row, n_4)
    X, EI, gram, rhs = mat(la.X, la.n, la.n_most), mat(la.EI, n_4, la.n_most), mat(la.gram, n_4, n_4), vec(la.rhs4, n_4)
    for i in range(n_4):
        rhs[i] = -F[c4[i]]
        for c in range(n_f):
            EI[i, c] = 0.0
    for k in range(la.n_f4):
        value, i, j = nz[f4[0, k]], f4[1, k], f4[2, k]
        rhs[i] -= value * out[j]
        for c in range(n_f):
            EI[i, c] += value * X[j, c]
    for i in range(n_4):
        for j in range(n_4):
            total = 0.0
            for c in range(n_f):
                total += EI[i, c] * EI[j, c]
            gram[i, j] = total
    pivots = ivec(la.gram_pivots, n_4)
    if lu.factor(gram, pivots, n_4) != 0:
        return True  # an equilibrium: no direction changes the invariants
    lu.substitute(gram, pivots, rhs, n_4)
    for i in range(la.n):
        total = 0.0
        for c in range(n_f):
            along = 0.0
            for k in range(n_4):
                along += EI[k, c] * rhs[k]
            total += X[i, c] * along
        out[i] += total
    return True


@device
def settle(la, F, x):
    """Solve the last block for its unknowns in x, where F and la.nonzeros belong to. Of all multipliers that give the
    same constraint forces the smallest are left. How many directions there are is known from the decomposition; a point
    that is not exactly on the constraints may hide it.

    Returns BLIND, and leaves x as it is, where the decomposed Jacobian is too old for Newton's method: it could not see
    what an equation says here. Otherwise SEEN or TURNED."""
    own, block = last_of(la), block_at(la.spare)
    seen, here = vec(block_at(own.block).seen, own.n_rows), vec(block.seen, own.n_rows)
    for i in range(own.n_rows):
        here[i] = seen[i]
    scatter(la, own.a, own.n_a, block)
    factor_constraint(la, block)
    part_seen = seen_part(block_at(own.block), block, block_at(la.insight), own.rank)
    if part_seen < ENOUGH:
        return BLIND
    V, unknowns = mat(block.V, own.n_unknowns, own.n_unknowns), ivec(own.unknowns, own.n_unknowns)
    rhs, rows, part = vec(own.rhs, own.n_rows), ivec(own.rows, own.n_rows), vec(la.part, la.n_part)
    for i in range(own.n_rows):
        rhs[i] = -F[rows[i]]
    block.rank = min(own.rank, block.rank)
    solve_block(block, SVD, rhs, part)
    for j in range(own.n_unknowns):
        x[unknowns[j]] += part[j]
    for k in range(block.rank, own.n_unknowns):
        along = 0.0
        for j in range(own.n_unknowns):
            along += V[k, j] * x[unknowns[j]]
        for j in range(own.n_unknowns):
            x[unknowns[j]] -= along * V[k, j]
    return SEEN if part_seen > NEARLY_ALL else TURNED


@device
def seen_part(used, here, insight, rank):
    """Redundant equations are combined by left singular vectors, as many as there are independent ones. Returns what
    part the combinations `used` see at least of the equations `here`: 1 if those are the same, 0 if there is one that
    they are blind to."""
    n = used.rows
    U, W, K = mat(used.Q, n, n), mat(here.Q, n, n), mat(insight.A, n, n)
    old, new = vec(used.scale, n), vec(here.scale, n)
    for i in range(n):
        for j in range(n):
            total = 1.0 if i == j else 0.0
            if i < rank and j < rank:
                total = 0.0
                for k in range(n):
                    total += U[k, i] * old[k] / new[k] * W[k, j]
            K[i, j] = total
    factor_singular_values(insight, 0.0)
    return vec(insight.values, n)[n - 1]
