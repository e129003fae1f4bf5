"""Linear algebra of ODASSL: more equations than unknowns.

The first n equations give A₁ = c E − J, the constraints below them A₂. An increment satisfies the linearized
constraints exactly and the others up to a relaxation,

    A₁ d − B μ = r₁,   A₂ d = r₂,      d = A₁⁻¹ (r₁ + B Q⁻¹ (r₂ − A₂ A₁⁻¹ r₁)),   Q = A₂ A₁⁻¹ B.

With B = E W A₂ᵀ it is the derivatives x' that are relaxed by W A₂ᵀ μ, as η relaxes p' in the formulation of Gear, Gupta
and Leimkuhler. Where A₁ holds the constraints on acceleration level, B = A₂ᵀ itself would relax the equations of motion
in the direction of the multipliers, which corrects no velocity: Q is singular there at rest. The diagonal W measures
velocities in the tolerances' unit of time, so that it does not matter which unit the model has.

Of a quasi-linear DAE nobody knows how its constraints follow from the other equations, and no such B is right for all.
There any differential equation may be relaxed, by as little as possible in the sense of least squares: with Y = A₁⁻¹ S,
S the unit columns of these equations, and A₂ Y = L V, L triangular and V of orthonormal rows, it is
d = A₁⁻¹ r₁ + Y Vᵀ L⁻¹ (r₂ − A₂ A₁⁻¹ r₁).
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.factors.square import factor_square, new_square, square_at, square_cost, substitute_square
from dalembert.solvers import elimination as out_of
from dalembert.solvers.bdf.core import LINEAR_ALGEBRA
from dalembert.solvers.bdf.dense import form_matrix, solve_square, take_jacobian

i8, u8, f8 = nb.int64, nb.uint64, nb.float64

ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        *(name for name in out_of.ARRAYS if name not in LINEAR_ALGEBRA),
        "E", "J", "B", "matrix", "work",
        # nonzeros of ∂h/∂x and of E: place in the port's output, row and column
        "h", "h_row", "h_column", "all_e", "all_e_row", "all_e_column",
        "X",  # rows: the columns of A₁⁻¹ B
        "Q", "mu", "relaxed",
        "metric",  # W
        "free", "Y", "V",  # equations that may be relaxed one by one, rows: the columns of Y, and V; or none
    ],
    reals=["c"],
    wholes=[*out_of.WHOLES, "n_h", "n_all_e", "n_constraints", "n_free", "singular"],
)  # fmt: skip
_at = member(ALGEBRA)
#: what is left of a constraint that depends on others is at most this fraction
DEPENDENT = 1e-13


def overdetermined_algebra(compiled) -> Memory:
    """Set up for a compiled stacked system."""
    blocks = out_of.elimination(compiled)
    n, m = blocks["n"], blocks["m"]
    rows, columns = compiled.jacobian_pattern
    e_rows, e_columns = compiled.leading_pattern
    h = np.flatnonzero(rows >= n)
    n_constraints = blocks["n_rows"] - n
    product, around = out_of.elimination_cost(blocks)
    factors, substitution = square_cost(m)
    factors_q, substitution_q = square_cost(n_constraints)
    square = lambda: np.zeros((m, m))  # noqa: E731
    system = compiled.system
    free = np.unique(e_rows) if system.model.own_formulation is not None else np.zeros(0, np.int64)
    return Memory(
        ALGEBRA,
        dict(
            decompose=address_of(decompose), prepare=address_of(prepare), solve=address_of(solve), own=0, state=0,
            **blocks, E=square(), J=square(), B=square(), matrix=new_square(m), work=np.zeros(m), c=0.0, singular=-1,
            h=h, h_row=rows[h] - n, h_column=columns[h].copy(),
            all_e=len(rows) + np.arange(len(e_rows)), all_e_row=e_rows, all_e_column=e_columns,
            X=np.zeros((n_constraints, n)), Q=new_square(n_constraints), mu=np.zeros(n_constraints),
            relaxed=np.zeros(n), metric=np.ones(n), free=free.astype(np.int64), Y=np.zeros((len(free), n)),
            V=np.zeros((n_constraints, len(free))), n_free=len(free), n_h=len(h), n_all_e=len(e_rows),
            n_constraints=n_constraints,
            cost=np.array([
                product,
                4 * m * m + factors + max(n_constraints, len(free)) * (substitution + around + 2 * len(h)) + factors_q,
                substitution + around + substitution_q + 2 * len(h) + 2 * n * n_constraints,
            ]),
        ),
    )  # fmt: skip


@kernel(i8(u8, u8))
def decompose(own, state):
    """See `bdf.core`; so for the others."""
    take_jacobian(_at(own))
    return 1


@device
def relax_rates(la):
    """X and Q with B = E W A₂ᵀ."""
    n, k = la.n, la.n_constraints
    nz, X, relaxed, square = vec(la.nonzeros, la.n_nonzeros), mat(la.X, k, n), vec(la.relaxed, n), square_at(la.Q)
    h, row, column = ivec(la.h, la.n_h), ivec(la.h_row, la.n_h), ivec(la.h_column, la.n_h)
    e, e_row, e_column = ivec(la.all_e, la.n_all_e), ivec(la.all_e_row, la.n_all_e), ivec(la.all_e_column, la.n_all_e)
    Q, metric = mat(square.A, k, k), vec(la.metric, n)
    for q in range(k):
        X_q = X[q]
        for i in range(n):
            relaxed[i] = 0.0
            X_q[i] = 0.0
        for p in range(la.n_h):
            if row[p] == q:
                X_q[column[p]] = -nz[h[p]]
        for p in range(la.n_all_e):
            relaxed[e_row[p]] += nz[e[p]] * metric[e_column[p]] * X_q[e_column[p]]
        solve_square(la, relaxed, X_q)
        for i in range(k):
            Q[i, q] = 0.0
        for p in range(la.n_h):
            Q[row[p], q] -= nz[h[p]] * X_q[column[p]]


@device
def orthogonalize(V, q, n, L, k):
    """Row q of V against those above it, in Gram and Schmidt's way, twice; what it consisted of goes to row q of L."""
    before, after = 0.0, 0.0
    for j in range(n):
        before += V[q, j] * V[q, j]
    for p in range(k):
        L[q, p] = 0.0
    for _ in range(2):
        for p in range(q):
            part = 0.0
            for j in range(n):
                part += V[p, j] * V[q, j]
            L[q, p] += part
            for j in range(n):
                V[q, j] -= part * V[p, j]
    for j in range(n):
        after += V[q, j] * V[q, j]
    if after > DEPENDENT * DEPENDENT * before:  # otherwise L is singular
        L[q, q] = np.sqrt(after)
        for j in range(n):
            V[q, j] /= L[q, q]


@device
def relax_least(la):
    """X = (Y Vᵀ)ᵀ and Q = L."""
    n, k, n_free, square = la.n, la.n_constraints, la.n_free, square_at(la.Q)
    nz, X, relaxed = vec(la.nonzeros, la.n_nonzeros), mat(la.X, k, n), vec(la.relaxed, n)
    h, row, column = ivec(la.h, la.n_h), ivec(la.h_row, la.n_h), ivec(la.h_column, la.n_h)
    free, Y, V, Q = ivec(la.free, n_free), mat(la.Y, n_free, n), mat(la.V, k, n_free), mat(square.A, k, k)
    for i in range(n):
        relaxed[i] = 0.0
    for j in range(n_free):
        relaxed[free[j]] = 1.0
        solve_square(la, relaxed, Y[j])
        relaxed[free[j]] = 0.0
        for q in range(k):
            V[q, j] = 0.0
        for p in range(la.n_h):
            V[row[p], j] -= nz[h[p]] * Y[j, column[p]]
    for q in range(k):
        orthogonalize(V, q, n_free, Q, k)
        for i in range(n):
            X[q, i] = 0.0
        for j in range(n_free):
            for i in range(n):
                X[q, i] += V[q, j] * Y[j, i]


@kernel(i8(u8, f8, f8, f8))
def prepare(own, c, unused_1, unused_2):
    la = _at(own)
    failed = form_matrix(la, c)
    if failed != 0:
        la.singular = ivec(la.r_column, la.m)[failed - 1]
        return 0
    square = square_at(la.Q)
    if la.n_free > 0:
        relax_least(la)
    else:
        relax_rates(la)
    failed = factor_square(square)
    if failed != 0:
        la.singular = -failed
        return 0
    return 1


@kernel(i8(u8, u8, u8))
def solve(own, R, out):
    la = _at(own)
    n, k = la.n, la.n_constraints
    given, d, mu, X, nz = vec(R, n + k), vec(out, n), vec(la.mu, k), mat(la.X, k, n), vec(la.nonzeros, la.n_nonzeros)
    h, row, column = ivec(la.h, la.n_h), ivec(la.h_row, la.n_h), ivec(la.h_column, la.n_h)
    solve_square(la, given, d)
    for q in range(k):
        mu[q] = given[n + q]
    for p in range(la.n_h):
        mu[row[p]] += nz[h[p]] * d[column[p]]
    substitute_square(square_at(la.Q), la.mu)
    for q in range(k):
        for i in range(n):
            d[i] += mu[q] * X[q, i]
    return 0
