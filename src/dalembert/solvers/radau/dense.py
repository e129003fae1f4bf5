"""Dense linear algebra of the Radau stage solver: solves (σ E − J) Δ = R for one real and one complex σ.

Equations such as p' = v are taken out first (`solvers.elimination`).
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, layout, mat, vec
from dalembert.linalg.factors.pair import factor_pair, new_pair, pair_at, pair_cost, substitute_complex, substitute_real
from dalembert.solvers import elimination as out_of
from dalembert.solvers.radau.state import LINEAR_ALGEBRA

ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        *(name for name in out_of.ARRAYS if name not in LINEAR_ALGEBRA),
        "E", "J",
        "B",  # J_RP J_PR
        "pair", "work", "work_real", "work_imaginary",
    ],
    reals=["gamma", "alpha", "beta"],
    wholes=[*out_of.WHOLES, "singular"],
)  # fmt: skip


def algebra(compiled, addresses: dict[str, int]) -> Memory:
    """Set up for a compiled system; `addresses` are those of the kernels."""
    blocks = out_of.elimination(compiled)
    m = blocks["m"]
    square = lambda: np.zeros((m, m))  # noqa: E731
    return Memory(
        ALGEBRA,
        dict(
            **addresses, **blocks, own=0, state=0, E=square(), J=square(), B=square(), pair=new_pair(m),
            work=np.zeros(m), work_real=np.zeros(m), work_imaginary=np.zeros(m), cost=_cost(blocks),
            gamma=0.0, alpha=0.0, beta=0.0, singular=-1,
        ),
    )  # fmt: skip


def _cost(blocks: dict) -> np.ndarray:
    """Floating-point operations; a complex multiplication with addition counts eight."""
    product, around = out_of.elimination_cost(blocks)
    factors, real, pair = pair_cost(blocks["m"])
    return np.array([product, factors, real + pair + 5 * around, real + around])


@device
def decompose(la, state):
    """Take a new Jacobian: scatter the nonzeros into blocks and form J_RP J_PR."""
    m = la.m
    out_of.fill_blocks(la, mat(la.E, m, m), mat(la.J, m, m), mat(la.B, m, m))
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
    b, s = vec(la.work, la.m), 1.0 / la.gamma
    out_of.gather(la, R, s, b)
    substitute_real(pair_at(la.pair), la.work)
    out_of.scatter(la, R, s, b, out)


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
