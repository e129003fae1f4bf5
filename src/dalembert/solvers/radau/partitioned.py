"""Linear algebra of GEOMS where p' = v and only holonomic constraints act: coordinates partitioned, λ decoupled.

The Jacobian G of the constraints splits p and v alike into c dependent and N independent coordinates; with W = G_d⁻¹
the null space is K = (−W G_i; I). Selectors are the rows of the independent coordinates for p' = v, and Kᵀ for the
equations of motion, where the constraint forces vanish. So λ follows once everything else is known, and p from v:
with u the increment of the independent velocities, 1/σ standing for division by the real or complex σ,

    Δp = p̂ + K u/σ         p̂ = (−W R₃ + K_d R_p/σ; R_p/σ)           R_p: rows p' = v of the independent coordinates
    Δv = K u − (w + T K u/σ; 0)     w = W R₂ + T p̂,  T = W ∂F₂/∂p

and what is left for y = (u, Δr), of the size of half the degrees of freedom (and r), is

    (σ A − B − C/σ) y = S R + (σ S M_d − S J_d) w + S J_p p̂.

W, K_d, T, A, B, C are computed once per Jacobian. `projected` treats everything that this cannot.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, imat, ivec, layout, mat, vec
from dalembert.linalg.factors.blocks import LU, QR, block_at, new_block, solve_block_many
from dalembert.linalg.factors.pair import factor_pair, new_pair, pair_at, pair_cost, substitute_complex, substitute_real
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.radau.constraints import (
    ANNOUNCED,
    DEFICIENT_1,
    DEFICIENT_3,
    NONE,
    SCALINGS,
    factor_constraint,
    is_near,
    scatter,
    set_row_factor,
)
from dalembert.solvers.radau.entries import block_entries, first_rows
from dalembert.solvers.radau.state import LINEAR_ALGEBRA
from dalembert.solvers.status import Count

ENTRIES = ("a1", "a3", "f1", "h", "mass", "jv", "jp", "jr")
ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        "Y",  # variables determined by F1
        "P", "V", "r",  # where positions, velocities and dynamic force variables stand among the variables
        # nonzeros in three rows: place in the port's output, row, column; f1 sorted by row, its columns variables
        *ENTRIES,
        "f1_start",
        "b1", "b3",
        "place",  # of a coordinate among dependent and independent ones: the inverse of b3's column order
        "unit", "inverse", "W", "W1", "Kd", "T", "TK",
        "M", "Jv", "Jp", "Jr",  # equations of motion and of r: rows of dependent coordinates, then S times the matrices
        "A", "B", "C", "pair",
        "p", "w", "y", "yr", "yi", "q", "rhs1",  # three columns each but y, yr, yi
        "p_one", "w_one", "q_one", "rhs1_one",
    ],
    reals=["threshold", "row_factor", "gamma", "alpha", "beta", "near", "reference"],
    wholes=[
        "algebraic", "scaling", "n", "n_rows", "n_p", "n_r", "n_1", "n_3", "n_free", "n_y", "row_1", "row_2", "row_3",
        "n_nonzeros", *(f"n_{name}" for name in ENTRIES), "rank3", "trouble", "singular", "suspended",
    ],
)  # fmt: skip


def applies_to(system, options) -> bool:
    """Whether system and options have the structure this linear algebra needs."""
    return (
        system.blocks.partitioned
        and len(system.blocks.F3) <= len(system.blocks.V)  # otherwise they are redundant, and `projected` says so
        and options.selector == "every"
        and options.algebraic in ("lu", "qr")
        and options.differential == "lu"
    )


def algebra(compiled, options, addresses: dict[str, int]) -> Memory:
    """Set up for a compiled projected system; `options` are those of `Geoms`, `addresses` those of the kernels."""
    blocks, n, m = compiled.system.blocks, compiled.system.n, len(compiled.system.equations)
    n_p, n_r, n_1, n_3 = len(blocks.V), len(blocks.free), len(blocks.F1), len(blocks.F3)
    N = n_p - n_3
    rows, e_rows = compiled.jacobian_pattern[0], compiled.leading_pattern[0]
    first, nonzeros = first_rows(compiled), block_entries(compiled)
    counts = {f"n_{name}": found.shape[1] for name, found in nonzeros.items()}
    n_y = N + n_r
    larger = max(n_1, n_3)
    return Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0, nonzeros=np.zeros(len(rows) + len(e_rows)),
            Y=np.ascontiguousarray(blocks.Y, dtype=np.int64), P=np.ascontiguousarray(blocks.P, dtype=np.int64),
            V=np.ascontiguousarray(blocks.V, dtype=np.int64), r=np.ascontiguousarray(blocks.free, dtype=np.int64),
            **nonzeros, **counts,
            f1_start=np.searchsorted(nonzeros["f1"][1], np.arange(n_1 + 1)).astype(np.int64),
            b1=new_block(n_1, n_1), b3=new_block(n_3, n_p), place=np.zeros(n_p, np.int64),
            unit=np.zeros((larger, larger)), inverse=np.zeros((max(n_p, n_1), larger)), W=np.zeros((n_3, n_3)),
            W1=np.zeros((n_1, n_1)), Kd=np.zeros((n_3, N)), T=np.zeros((n_3, n_p)), TK=np.zeros((n_3, N)),
            **{name: np.zeros((n_p + n_r, n_p)) for name in ("M", "Jv", "Jp")}, Jr=np.zeros((n_p + n_r, n_r)),
            A=np.zeros((n_y, n_y)), B=np.zeros((n_y, n_y)), C=np.zeros((n_y, n_y)), pair=new_pair(n_y),
            p=np.zeros((n_p, 3)), w=np.zeros((n_3, 3)), y=np.zeros(n_y), yr=np.zeros(n_y), yi=np.zeros(n_y),
            q=np.zeros((N, 3)), rhs1=np.zeros((n_1, 3)),
            p_one=np.zeros(n_p), w_one=np.zeros(n_3), q_one=np.zeros(N), rhs1_one=np.zeros(n_1),
            cost=_cost(n_p, n_r, n_3, n_1, counts), threshold=options.rank_threshold, row_factor=1.0,
            scaling=SCALINGS.index(options.scaling), gamma=0.0, alpha=0.0, beta=0.0,
            near=ANNOUNCED if options.singular == "step over" else 0.0, reference=0.0,
            algebraic={"lu": LU, "qr": QR}[options.algebraic], n=n, n_rows=m, n_p=n_p, n_r=n_r, n_1=n_1, n_3=n_3,
            n_free=N, n_y=n_y, row_1=first["F1"], row_2=first["F2"], row_3=first["F3"],
            n_nonzeros=len(rows) + len(e_rows), rank3=-1, trouble=NONE, singular=-1, suspended=0,
        ),
    )  # fmt: skip


def _cost(n: int, n_r: int, c: int, n_1: int, nnz: dict) -> np.ndarray:
    """Floating-point operations of decompose, prepare, a Newton iteration, an error estimate (LU everywhere)."""
    N, m = n - c, n - c + n_r

    def factors(rows: int, columns: int) -> int:
        return sum(2 * (rows - k - 1) * (columns - k - 1) + rows - k - 1 for k in range(rows))

    inverses = 2 * c**3 + 2 * n_1**3
    basis = c * c * N + 2 * c * nnz["n_h"] + 2 * c * c * N  # K_d, T, T K
    # entries in rows of dependent coordinates (a fraction c/n of all) are spread over N rows
    selected = 2 * (nnz["n_mass"] + nnz["n_jv"] + nnz["n_jp"] + nnz["n_jr"]) * N * c // max(n, 1)
    products = 3 * 2 * m * c * N + 2 * 2 * m * c * N
    decompose = factors(c, n) + factors(n_1, n_1) + inverses + basis + selected + products
    prepare, real, both = pair_cost(m)
    # p̂, w, right-hand side, Δp, Δv, Y, of one column
    one = 2 * c * c + 2 * c * N + 2 * c * c + 2 * c * n + 2 * N * c + 4 * m * c + 2 * m * n
    one += 2 * N * c + 4 * N * c + 2 * nnz["n_f1"] + 2 * n_1 * n_1 + 2 * n
    return np.array([decompose, prepare, 3 * one + real + both, one + real])


@device
def invert(la, block):
    """la.inverse = solutions of a decomposed block for unit vectors, one row for each variable."""
    n = block.rows
    unit, inverse = mat(la.unit, n, n), mat(la.inverse, block.columns, n)
    for i in range(n):
        for j in range(n):
            unit[i, j] = 1.0 if i == j else 0.0
    solve_block_many(block, la.algebraic, unit, inverse, n)


@device
def decompose_constraints(la):
    """W, K_d, and the inverse of ∂F1/∂y. Returns whether the constraints have full rank."""
    b1, b3, c, N, n_1 = block_at(la.b1), block_at(la.b3), la.n_3, la.n_free, la.n_1
    scatter(la, la.a3, la.n_a3, b3)
    scatter(la, la.a1, la.n_a1, b1)
    rank3 = factor_constraint(la, b3)
    la.trouble = NONE
    if is_near(la, b3):
        return False
    la.rank3 = rank3
    if rank3 < c:
        la.trouble = DEFICIENT_3
    elif factor_constraint(la, b1) < n_1:
        la.trouble = DEFICIENT_1
    if la.trouble != NONE:
        return False
    column, place = ivec(b3.column, la.n_p), ivec(la.place, la.n_p)
    for i in range(la.n_p):
        place[column[i]] = i
    factors, Kd, W, W1 = mat(b3.A, c, la.n_p), mat(la.Kd, c, N), mat(la.W, c, c), mat(la.W1, n_1, n_1)
    for i in range(c - 1, -1, -1):
        over = -1.0 / factors[i, i]
        for j in range(N):
            total = factors[i, c + j]
            for k in range(i + 1, c):
                total += factors[i, k] * Kd[k, j]
            Kd[i, j] = total * over
    invert(la, b3)
    inverse = mat(la.inverse, la.n_p, c)
    for i in range(c):
        for j in range(c):
            W[i, j] = inverse[column[i], j]
    invert(la, b1)
    inverse = mat(la.inverse, n_1, n_1)
    for i in range(n_1):
        for j in range(n_1):
            W1[i, j] = inverse[i, j]
    return True


@device
def select(la, entries, count, out, width, by_place):
    """S A behind the first c rows of out, which hold the rows of dependent coordinates; columns by `place` if asked."""
    nz, at, place = vec(la.nonzeros, la.n_nonzeros), imat(entries, 3, count), ivec(la.place, la.n_p)
    c, N, n, rows = la.n_3, la.n_free, la.n_p, la.n_p + la.n_r
    for i in range(rows):
        for j in range(width):
            out[i, j] = 0.0
    for k in range(count):
        row, column = at[1, k], at[2, k]
        out[place[row] if row < n else row, place[column] if by_place else column] = nz[at[0, k]]
    Kd = mat(la.Kd, c, N)
    for i in range(c):
        for j in range(N):
            weight = Kd[i, j]
            if weight != 0.0:
                for k in range(width):
                    out[c + j, k] += weight * out[i, k]


@device
def carry_positions(la):
    """T = W ∂F2/∂p and T K."""
    nz, h, place, c = vec(la.nonzeros, la.n_nonzeros), imat(la.h, 3, la.n_h), ivec(la.place, la.n_p), la.n_3
    W, T = mat(la.W, c, c), mat(la.T, c, la.n_p)
    for i in range(c):
        for j in range(la.n_p):
            T[i, j] = 0.0
    for k in range(la.n_h):
        value, row, column = nz[h[0, k]], h[1, k], place[h[2, k]]
        for i in range(c):
            T[i, column] += W[i, row] * value
    Kd, TK = mat(la.Kd, c, la.n_free), mat(la.TK, c, la.n_free)
    for i in range(c):
        for j in range(la.n_free):
            total = T[i, c + j]
            for k in range(c):
                total += T[i, k] * Kd[k, j]
            TK[i, j] = total


@device
def decompose(la, state):
    """Everything that does not depend on the step size."""
    add(state, Count.CONSTRAINT_DECOMPOSITIONS, 1)
    add(state, Count.SELECTORS, 1)
    set_row_factor(la, state)
    if not decompose_constraints(la):
        return False
    carry_positions(la)
    c, N, n, n_r, m = la.n_3, la.n_free, la.n_p, la.n_r, la.n_y
    A, B, C = mat(la.A, m, m), mat(la.B, m, m), mat(la.C, m, m)
    M, Jv, Jp, Jr = mat(la.M, n + n_r, n), mat(la.Jv, n + n_r, n), mat(la.Jp, n + n_r, n), mat(la.Jr, n + n_r, n_r)
    select(la, la.mass, la.n_mass, M, n, True)
    select(la, la.jv, la.n_jv, Jv, n, True)
    select(la, la.jp, la.n_jp, Jp, n, True)
    select(la, la.jr, la.n_jr, Jr, n_r, False)
    Kd, TK = mat(la.Kd, c, N), mat(la.TK, c, N)
    for i in range(m):
        for j in range(N):
            a, b, d = M[c + i, c + j], Jv[c + i, c + j], Jp[c + i, c + j]
            for k in range(c):
                mass, jv, basis, carried = M[c + i, k], Jv[c + i, k], Kd[k, j], TK[k, j]
                a += mass * basis
                b += jv * basis + mass * carried
                d += Jp[c + i, k] * basis - jv * carried
            A[i, j], B[i, j], C[i, j] = a, b, d
        for j in range(n_r):
            A[i, N + j] = 1.0 if i == N + j else 0.0
            B[i, N + j] = Jr[c + i, j]
            C[i, N + j] = 0.0
    state.convergence_failed = 0
    return True


@device
def prepare(la, gamma, alpha, beta):
    """Factor the small matrices for σ = γ and σ = α + iβ. Returns False if one is singular."""
    m = la.n_y
    la.gamma, la.alpha, la.beta = gamma, alpha, beta
    failed = factor_pair(pair_at(la.pair), mat(la.A, m, m), mat(la.B, m, m), mat(la.C, m, m), gamma, alpha, beta)
    return failed == 0


@device
def solve_stages(la, R, D):
    """Three columns: σ = γ, and real and imaginary part of σ = α + iβ."""
    c, N, n, n_r, m = la.n_3, la.n_free, la.n_p, la.n_r, la.n_y
    alpha, beta, gamma = la.alpha, la.beta, la.gamma
    size2 = alpha * alpha + beta * beta
    s, sr, si = 1.0 / gamma, alpha / size2, -beta / size2
    order = ivec(block_at(la.b3).column, n)
    W, Kd, T, TK = mat(la.W, c, c), mat(la.Kd, c, N), mat(la.T, c, n), mat(la.TK, c, N)
    M, Jv, Jp = mat(la.M, n + n_r, n), mat(la.Jv, n + n_r, n), mat(la.Jp, n + n_r, n)
    p, w, q = mat(la.p, n, 3), mat(la.w, c, 3), mat(la.q, N, 3)
    y, yr, yi = vec(la.y, m), vec(la.yr, m), vec(la.yi, m)
    P, V, free = ivec(la.P, n), ivec(la.V, n), ivec(la.r, n_r)
    for j in range(N):
        at = order[c + j]
        r0, r1, r2 = R[at, 0], R[at, 1], R[at, 2]
        p[c + j, 0], p[c + j, 1], p[c + j, 2] = s * r0, sr * r1 - si * r2, sr * r2 + si * r1
    for i in range(c):
        t0, t1, t2 = 0.0, 0.0, 0.0
        for k in range(c):
            a, at = W[i, k], la.row_3 + k
            t0 -= a * R[at, 0]
            t1 -= a * R[at, 1]
            t2 -= a * R[at, 2]
        for j in range(N):
            a = Kd[i, j]
            t0 += a * p[c + j, 0]
            t1 += a * p[c + j, 1]
            t2 += a * p[c + j, 2]
        p[i, 0], p[i, 1], p[i, 2] = t0, t1, t2
    for i in range(c):
        t0, t1, t2 = 0.0, 0.0, 0.0
        for k in range(c):
            a, at = W[i, k], la.row_2 + k
            t0 += a * R[at, 0]
            t1 += a * R[at, 1]
            t2 += a * R[at, 2]
        for j in range(n):
            a = T[i, j]
            t0 += a * p[j, 0]
            t1 += a * p[j, 1]
            t2 += a * p[j, 2]
        w[i, 0], w[i, 1], w[i, 2] = t0, t1, t2
    for j in range(m):
        at = n + order[c + j] if j < N else 2 * n + j - N
        t0, t1, t2 = R[at, 0], R[at, 1], R[at, 2]
        for i in range(c):
            e, jv, w0, w1, w2 = M[c + j, i], Jv[c + j, i], w[i, 0], w[i, 1], w[i, 2]
            t0 += (gamma * e - jv) * w0
            real, imaginary = alpha * e - jv, beta * e
            t1 += real * w1 - imaginary * w2
            t2 += real * w2 + imaginary * w1
        for k in range(n):
            a = Jp[c + j, k]
            t0 += a * p[k, 0]
            t1 += a * p[k, 1]
            t2 += a * p[k, 2]
        y[j], yr[j], yi[j] = t0, t1, t2
    for i in range(c):
        at = n + order[i]
        r0, r1, r2 = R[at, 0], R[at, 1], R[at, 2]
        for j in range(N):
            a = Kd[i, j]
            y[j] += a * r0
            yr[j] += a * r1
            yi[j] += a * r2
    substitute_real(pair_at(la.pair), la.y)
    substitute_complex(pair_at(la.pair), yr, yi)
    for j in range(N):
        at, u0, u1, u2 = order[c + j], y[j], yr[j], yi[j]
        q0, q1, q2 = s * u0, sr * u1 - si * u2, sr * u2 + si * u1
        q[j, 0], q[j, 1], q[j, 2] = q0, q1, q2
        to = P[at]
        D[to, 0], D[to, 1], D[to, 2] = p[c + j, 0] + q0, p[c + j, 1] + q1, p[c + j, 2] + q2
        to = V[at]
        D[to, 0], D[to, 1], D[to, 2] = u0, u1, u2
    for i in range(c):
        at = order[i]
        p0, p1, p2 = p[i, 0], p[i, 1], p[i, 2]
        v0, v1, v2 = -w[i, 0], -w[i, 1], -w[i, 2]
        for j in range(N):
            a, b, q0, q1, q2 = Kd[i, j], TK[i, j], q[j, 0], q[j, 1], q[j, 2]
            p0 += a * q0
            p1 += a * q1
            p2 += a * q2
            v0 += a * y[j] - b * q0
            v1 += a * yr[j] - b * q1
            v2 += a * yi[j] - b * q2
        to = P[at]
        D[to, 0], D[to, 1], D[to, 2] = p0, p1, p2
        to = V[at]
        D[to, 0], D[to, 1], D[to, 2] = v0, v1, v2
    for j in range(n_r):
        to = free[j]
        D[to, 0], D[to, 1], D[to, 2] = y[N + j], yr[N + j], yi[N + j]
    solve_rest3(la, R, D)


@device
def solve_rest3(la, R, D):
    """The variables of F1, all others being known."""
    n_1, nz = la.n_1, vec(la.nonzeros, la.n_nonzeros)
    f1, start, rhs = imat(la.f1, 3, la.n_f1), ivec(la.f1_start, n_1 + 1), mat(la.rhs1, n_1, 3)
    Y, W1 = ivec(la.Y, n_1), mat(la.W1, n_1, n_1)
    for i in range(n_1):
        at = la.row_1 + i
        t0, t1, t2 = -R[at, 0], -R[at, 1], -R[at, 2]
        for k in range(start[i], start[i + 1]):
            a, j = nz[f1[0, k]], f1[2, k]
            t0 -= a * D[j, 0]
            t1 -= a * D[j, 1]
            t2 -= a * D[j, 2]
        rhs[i, 0], rhs[i, 1], rhs[i, 2] = t0, t1, t2
    for i in range(n_1):
        t0, t1, t2 = 0.0, 0.0, 0.0
        for k in range(n_1):
            a = W1[i, k]
            t0 += a * rhs[k, 0]
            t1 += a * rhs[k, 1]
            t2 += a * rhs[k, 2]
        at = Y[i]
        D[at, 0], D[at, 1], D[at, 2] = t0, t1, t2


@device
def solve_real(la, R, out):
    """One vector, σ = γ; see `solve_stages`."""
    c, N, n, m, gamma = la.n_3, la.n_free, la.n_p, la.n_y, la.gamma
    order, s = ivec(block_at(la.b3).column, n), 1.0 / gamma
    Kd, TK, y = mat(la.Kd, c, N), mat(la.TK, c, N), vec(la.y, m)
    M, Jv, Jp = mat(la.M, n + la.n_r, n), mat(la.Jv, n + la.n_r, n), mat(la.Jp, n + la.n_r, n)
    p, w = vec(la.p_one, n), vec(la.w_one, c)
    P, V, free = ivec(la.P, n), ivec(la.V, n), ivec(la.r, la.n_r)
    for j in range(N):
        p[c + j] = s * R[order[c + j]]
    dependent_parts(la, R, p, w)
    for j in range(m):
        total = R[n + order[c + j] if j < N else 2 * n + j - N]
        for i in range(c):
            total += (gamma * M[c + j, i] - Jv[c + j, i]) * w[i]
            if j < N:
                total += Kd[i, j] * R[n + order[i]]
        for k in range(n):
            total += Jp[c + j, k] * p[k]
        y[j] = total
    substitute_real(pair_at(la.pair), la.y)
    for j in range(N):
        at = order[c + j]
        out[P[at]], out[V[at]] = p[c + j] + s * y[j], y[j]
    for i in range(c):
        at, position, velocity = order[i], p[i], -w[i]
        for j in range(N):
            position += Kd[i, j] * s * y[j]
            velocity += (Kd[i, j] - s * TK[i, j]) * y[j]
        out[P[at]], out[V[at]] = position, velocity
    for j in range(la.n_r):
        out[free[j]] = y[N + j]
    solve_rest(la, R, out)


@device
def dependent_parts(la, R, p, w):
    """p̂ of the dependent coordinates from that of the others, and w."""
    c, N, n = la.n_3, la.n_free, la.n_p
    W, Kd, T = mat(la.W, c, c), mat(la.Kd, c, N), mat(la.T, c, n)
    for i in range(c):
        total = 0.0
        for k in range(c):
            total -= W[i, k] * R[la.row_3 + k]
        for j in range(N):
            total += Kd[i, j] * p[c + j]
        p[i] = total
    for i in range(c):
        total = 0.0
        for k in range(c):
            total += W[i, k] * R[la.row_2 + k]
        for j in range(n):
            total += T[i, j] * p[j]
        w[i] = total


@device
def solve_rest(la, R, out):
    """`solve_rest3` for one column."""
    n_1, nz = la.n_1, vec(la.nonzeros, la.n_nonzeros)
    f1, start, rhs = imat(la.f1, 3, la.n_f1), ivec(la.f1_start, n_1 + 1), vec(la.rhs1_one, n_1)
    Y, W1 = ivec(la.Y, n_1), mat(la.W1, n_1, n_1)
    for i in range(n_1):
        total = -R[la.row_1 + i]
        for k in range(start[i], start[i + 1]):
            total -= nz[f1[0, k]] * out[f1[2, k]]
        rhs[i] = total
    for i in range(n_1):
        total = 0.0
        for k in range(n_1):
            total += W1[i, k] * rhs[k]
        out[Y[i]] = total


@device
def correct(la, F, out):
    """The constraint rows alone, the independent coordinates staying as they are."""
    c, n = la.n_3, la.n_p
    order, p, w = ivec(block_at(la.b3).column, n), vec(la.p_one, n), vec(la.w_one, c)
    P, V, free = ivec(la.P, n), ivec(la.V, n), ivec(la.r, la.n_r)
    for j in range(c, n):
        p[j] = 0.0
        out[P[order[j]]], out[V[order[j]]] = 0.0, 0.0
    dependent_parts(la, F, p, w)
    for i in range(c):
        out[P[order[i]]], out[V[order[i]]] = p[i], -w[i]
    for j in range(la.n_r):
        out[free[j]] = 0.0
    solve_rest(la, F, out)
    return True
