"""Dense linear algebra of the BDF methods: solves (c E − J) Δ = R.

Equations such as p' = v are taken out first (`solvers.elimination`).
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.factors.square import factor_square, new_square, square_at, square_cost, substitute_square
from dalembert.solvers import elimination as out_of
from dalembert.solvers.bdf.core import LINEAR_ALGEBRA

i8, u8, f8 = nb.int64, nb.uint64, nb.float64

ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        *(name for name in out_of.ARRAYS if name not in LINEAR_ALGEBRA),
        "E", "J",
        "B",  # J_RP J_PR
        "matrix", "work",
    ],
    reals=["c"],
    wholes=[*out_of.WHOLES, "singular"],
)  # fmt: skip
_at = member(ALGEBRA)


def dense_algebra(compiled) -> Memory:
    """Set up for a compiled system."""
    blocks = out_of.elimination(compiled)
    m = blocks["m"]
    product, around = out_of.elimination_cost(blocks)
    factors, substitution = square_cost(m)
    square = lambda: np.zeros((m, m))  # noqa: E731
    return Memory(
        ALGEBRA,
        dict(
            decompose=address_of(decompose), prepare=address_of(prepare), solve=address_of(solve), own=0, state=0,
            **blocks, E=square(), J=square(), B=square(), matrix=new_square(m), work=np.zeros(m), c=0.0, singular=-1,
            cost=np.array([product, 4 * m * m + factors, substitution + around]),
        ),
    )  # fmt: skip


@device
def take_jacobian(la):
    """Scatter the nonzeros into blocks."""
    m = la.m
    out_of.fill_blocks(la, mat(la.E, m, m), mat(la.J, m, m), mat(la.B, m, m))


@device
def form_matrix(la, c):
    """c E − J − B/c, factored. Returns 0, or k + 1 if column k has no pivot."""
    m, s, square = la.m, 1.0 / c, square_at(la.matrix)
    la.c = c
    A, E, J, B = mat(square.A, m, m), mat(la.E, m, m), mat(la.J, m, m), mat(la.B, m, m)
    for i in range(m):
        for j in range(m):
            A[i, j] = c * E[i, j] - J[i, j] - s * B[i, j]
    return factor_square(square)


@device
def solve_square(la, given, out):
    """out = (c E − J)⁻¹ given."""
    b, s = vec(la.work, la.m), 1.0 / la.c
    out_of.gather(la, given, s, b)
    substitute_square(square_at(la.matrix), la.work)
    out_of.scatter(la, given, s, b, out)


@kernel(i8(u8, u8))
def decompose(own, state):
    """See `bdf.core`; so for the others."""
    take_jacobian(_at(own))
    return 1


@kernel(i8(u8, f8, f8, f8))
def prepare(own, c, unused_1, unused_2):
    la = _at(own)
    failed = form_matrix(la, c)
    if failed != 0:
        la.singular = ivec(la.r_column, la.m)[failed - 1]
        return 0
    return 1


@kernel(i8(u8, u8, u8))
def solve(own, R, out):
    la = _at(own)
    solve_square(la, vec(R, la.n_rows), vec(out, la.n))
    return 0
