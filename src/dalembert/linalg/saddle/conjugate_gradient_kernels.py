"""Preconditioned conjugate gradients as kernels.

`factor` only keeps the values, unless a new preconditioner is due. `solve` iterates; K₀ is the matrix that the inner
solver has factored. If the iteration is slow, the current matrix becomes K₀.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, call1, call3, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.factors import cholesky
from dalembert.linalg.saddle.saddle import SADDLE, add_product, hand_on, new_saddle, not_finite, saddle_at, scale
from dalembert.linalg.saddle.storage import block_tables, constraint_kind

i8, u8 = nb.int64, nb.uint64

TABLES = ("order", "place", "begin", "at", "block")
VECTORS = ("rest", "better", "direction", "image", "solution", "weight", "c")
RECORD = layout(
    arrays=[*SADDLE, "inner", "kept_M", "kept_G", "full_G", "decomposed_M", "L", *TABLES, *VECTORS],
    reals=["tolerance"],
    wholes=[
        "n_v", "n_lam", "n_L", "n_blocks", "limit",
        "full",  # G is stored as a full matrix, too
        "definite",  # M may be decomposed
        "known",  # the inner solver has factors
        "exact",  # they are those of the current matrix
        "iterations", "factorizations",
    ],
)  # fmt: skip
_at = member(RECORD)


def conjugate_gradient_memory(solver, pattern, blocks, inner) -> Memory:
    n = pattern.n
    massive = np.zeros(pattern.n_v, bool)
    massive[pattern.mass[0]] = True
    tables = block_tables(blocks, pattern.n_v)
    n_L = int(tables["at"][-1])
    values = np.zeros(len(pattern.mass[0]))
    full = constraint_kind(pattern, solver.constraint) == "full"
    memory = new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), inner=inner, kept_M=values,
        kept_G=np.zeros(len(pattern.constraint[0])), full_G=np.zeros((pattern.n_lam, pattern.n_v) if full else (0, 0)),
        full=int(full), decomposed_M=np.full(len(values), np.nan), L=np.zeros(n_L),
        **tables, **{name: np.zeros(n) for name in VECTORS}, tolerance=solver.tolerance, n_v=pattern.n_v,
        n_lam=pattern.n_lam, n_L=n_L, n_blocks=len(blocks), limit=solver.iterations,
        definite=int(massive.all()), known=0, exact=0, iterations=0, factorizations=0,
    )  # fmt: skip
    return memory


@device
def precondition(la):
    """Let the inner solver factor the kept values. Returns its code."""
    sizes, inner = ivec(la.sizes, 7), saddle_at(la.inner)
    inner.own = la.inner
    hand_on(vec(la.kept_M, sizes[2]), vec(la.kept_G, sizes[3]), vec(la.U, 0), inner)
    la.factorizations += 1
    code = call1(inner.factor, la.inner)
    la.known = 1 if code == 0 else 0
    la.exact = la.known
    if code == 0:
        scale(inner, vec(la.weight, la.n_v + la.n_lam), vec(la.c, la.n_v + la.n_lam))
    return code


@device
def decompose_mass(la):
    """Cholesky decomposition of M, unless M has not changed."""
    n = ivec(la.sizes, 7)[2]
    M, old, mi, mj = vec(la.kept_M, n), vec(la.decomposed_M, n), ivec(la.M_rows, n), ivec(la.M_columns, n)
    same = True
    for k in range(n):
        if M[k] != old[k]:
            same = False
    if same:
        return True
    L, place, block = vec(la.L, la.n_L), ivec(la.place, la.n_v), ivec(la.block, la.n_v)
    begin, at = ivec(la.begin, la.n_blocks + 1), ivec(la.at, la.n_blocks + 1)
    for k in range(la.n_L):
        L[k] = 0.0
    for k in range(n):
        i, j = place[mi[k]], place[mj[k]]
        b = block[i]
        L[at[b] + (i - begin[b]) * (begin[b + 1] - begin[b]) + j - begin[b]] += M[k]
        old[k] = M[k]
    if cholesky.decompose(L, begin, at, la.n_blocks, cholesky.SMALL) != 0:
        old[0] = np.nan
        la.definite = 0
        return False
    return True


@device
def fill(A, values, rows, columns, n):
    """The full matrix of the given nonzeros."""
    A[:, :] = 0.0
    for k in range(n):
        A[rows[k], columns[k]] += values[k]


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    bad = not_finite(saddle_at(own))
    if bad != 0:
        return bad
    sizes = ivec(la.sizes, 7)
    M, G, kept_M, kept_G = vec(la.M, sizes[2]), vec(la.G, sizes[3]), vec(la.kept_M, sizes[2]), vec(la.kept_G, sizes[3])
    for k in range(sizes[2]):
        kept_M[k] = M[k]
    for k in range(sizes[3]):
        kept_G[k] = G[k]
    if la.full == 1:
        fill(mat(la.full_G, la.n_lam, la.n_v), G, ivec(la.G_rows, sizes[3]), ivec(la.G_columns, sizes[3]), sizes[3])
    if sizes[6] == 1 or la.known == 0:
        sizes[6] = 0
        return precondition(la)
    la.exact = 0
    return 0


@device
def times_constraint(la, w, out):
    """out = G w."""
    for i in range(la.n_lam):
        out[i] = 0.0
    if la.full == 1:
        A = mat(la.full_G, la.n_lam, la.n_v)
        for i in range(la.n_lam):
            for j in range(la.n_v):
                out[i] += A[i, j] * w[j]
        return
    n = ivec(la.sizes, 7)[3]
    add_product(1.0, vec(la.kept_G, n), ivec(la.G_rows, n), ivec(la.G_columns, n), n, w, out)


@device
def subtract_transposed(la, lam, out):
    """out −= Gᵀ λ."""
    if la.full == 1:
        A = mat(la.full_G, la.n_lam, la.n_v)
        for i in range(la.n_lam):
            for j in range(la.n_v):
                out[j] -= A[i, j] * lam[i]
        return
    n = ivec(la.sizes, 7)[3]
    add_product(-1.0, vec(la.kept_G, n), ivec(la.G_columns, n), ivec(la.G_rows, n), n, lam, out)


@device
def divide_by_mass(la, w):
    """w := M⁻¹ w; the vector `c` is work space."""
    y, place = vec(la.c, la.n_v), ivec(la.place, la.n_v)
    L, begin, at = vec(la.L, la.n_L), ivec(la.begin, la.n_blocks + 1), ivec(la.at, la.n_blocks + 1)
    for i in range(la.n_v):
        y[place[i]] = w[i]
    for b in range(la.n_blocks):
        cholesky.forward(L, begin, at, b, y)
        cholesky.backward(L, begin, at, b, y)
    for i in range(la.n_v):
        w[i] = y[place[i]]


@device
def small(z, x, weight, first, end, tolerance):
    """Whether the correction z is below the tolerance, in the units of the scaled system."""
    correction, size = 0.0, 0.0
    for i in range(first, end):
        correction = max(correction, abs(z[i]) / weight[i])
        size = max(size, abs(x[i]) / weight[i])
    return correction <= tolerance * size


@device
def iterate_multipliers(la, given, out):
    """(3.18): λ from G M⁻¹ Gᵀ λ = G M⁻¹ f − g, preconditioned by (3.19); then w. Returns False if it is slow."""
    n_v, n_lam = la.n_v, la.n_lam
    n = n_v + n_lam
    inner = saddle_at(la.inner)
    rest, z, p, q = vec(la.rest, n), vec(la.better, n), vec(la.direction, n), vec(la.image, n)
    x, weight = vec(la.solution, n), vec(la.weight, n)
    for i in range(n_v):
        x[i] = given[i]
        rest[i] = 0.0
    divide_by_mass(la, x)
    times_constraint(la, x, rest[n_v:])
    nothing = True
    for i in range(n_v, n):
        rest[i] -= given[i]
        x[i] = 0.0
        p[i] = 0.0
        nothing = nothing and rest[i] == 0.0
    rho, converged = 0.0, nothing
    for iteration in range(la.limit + 1):
        if converged:
            break
        for i in range(n_v):
            z[i] = 0.0
        for i in range(n_v, n):
            z[i] = -rest[i]
        call3(inner.solve, la.inner, la.better, la.better)
        if iteration > 0 and small(z, x, weight, n_v, n, la.tolerance):
            converged = True
            break
        if iteration == la.limit:
            break
        la.iterations += 1
        old, rho = rho, 0.0
        for i in range(n_v, n):
            rho += rest[i] * z[i]
        beta = rho / old if iteration > 0 else 0.0
        for i in range(n_v, n):
            p[i] = z[i] + beta * p[i]
        for i in range(n_v):
            p[i] = 0.0
        subtract_transposed(la, p[n_v:], p)
        divide_by_mass(la, p)
        times_constraint(la, p, q[n_v:])  # −G M⁻¹ Gᵀ p
        curvature = 0.0
        for i in range(n_v, n):
            curvature -= p[i] * q[i]
        if not (curvature > 0.0 and np.isfinite(rho)):
            return False
        alpha = rho / curvature
        for i in range(n_v, n):
            x[i] += alpha * p[i]
            rest[i] += alpha * q[i]
    if not converged:
        return False
    for i in range(n_v):
        x[i] = given[i]
    subtract_transposed(la, x[n_v:], x)
    divide_by_mass(la, x)
    for i in range(n):
        out[i] = x[i]
    return True


@device
def iterate_all(la, given, out):
    """The same for w and λ together, with the whole matrix in place of G M⁻¹ Gᵀ. Returns False if it is slow."""
    n_v, n = la.n_v, la.n_v + la.n_lam
    n_m = ivec(la.sizes, 7)[2]
    M, mi, mj = vec(la.kept_M, n_m), ivec(la.M_rows, n_m), ivec(la.M_columns, n_m)
    inner = saddle_at(la.inner)
    rest, z, p, q = vec(la.rest, n), vec(la.better, n), vec(la.direction, n), vec(la.image, n)
    x, weight = vec(la.solution, n), vec(la.weight, n)
    for i in range(n):
        rest[i] = given[i]
        x[i] = 0.0
        p[i] = 0.0
    rho = 0.0
    for iteration in range(la.limit + 1):
        call3(inner.solve, la.inner, la.rest, la.better)
        if small(z, x, weight, 0, n_v, la.tolerance) and small(z, x, weight, n_v, n, la.tolerance):
            for i in range(n):
                out[i] = x[i]
            return True
        if iteration == la.limit:
            break
        la.iterations += 1
        old, rho = rho, 0.0
        for i in range(n):
            rho += rest[i] * z[i]
        beta = rho / old if iteration > 0 else 0.0
        for i in range(n):
            p[i] = z[i] + beta * p[i]
        for i in range(n):
            q[i] = 0.0
        times_constraint(la, p, q[n_v:])
        for i in range(n_v, n):
            p[i] = -p[i]
        subtract_transposed(la, p[n_v:], q)
        for i in range(n_v, n):
            p[i] = -p[i]
        add_product(1.0, M, mi, mj, n_m, p, q)
        curvature = 0.0
        for i in range(n):
            curvature += p[i] * q[i]
        alpha = rho / curvature
        if not np.isfinite(alpha):
            return False
        for i in range(n):
            x[i] += alpha * p[i]
            rest[i] -= alpha * q[i]
    return False


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    inner = saddle_at(la.inner)
    n = la.n_v + la.n_lam
    if la.exact == 0:
        if la.definite == 1 and decompose_mass(la):
            good = iterate_multipliers(la, vec(b, n), vec(x, n))
        else:
            good = iterate_all(la, vec(b, n), vec(x, n))
        if good:
            return 0
        code = precondition(la)
        if code != 0:
            return code
    return call3(inner.solve, la.inner, b, x)
