"""The two matrices σ A − B − C/σ of a Radau method, for one real and one complex σ: assembly, factors, substitution.

Small ones are factored by `lu`, the complex one with its real and imaginary parts apart; larger ones by LAPACK.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.factors import lapack, lu
from dalembert.linalg.factors.square import factor_square, new_square, square_at, square_cost, substitute_square

PAIR = layout(
    arrays=[
        "real",  # a record of `square`
        "cr", "ci", "complex_pivots",
        "complex", "work", "lapack", "lapack_complex_pivots",
    ],
    wholes=["n"],
)  # fmt: skip
pair_at = member(PAIR)


def new_pair(n: int) -> Memory:
    """Work space for matrices of size n."""
    large = n >= lapack.WORTHWHILE
    small = lambda: np.zeros((0, 0) if large else (n, n))  # noqa: E731
    return Memory(
        PAIR,
        dict(
            real=new_square(n), cr=small(), ci=small(), complex_pivots=np.zeros(n, np.int64),
            complex=np.zeros((n, 2 * n) if large else (0, 0)), work=np.zeros(2 * n), lapack=lapack.lapack_arguments(n),
            lapack_complex_pivots=np.zeros(n, np.int32), n=n,
        ),
    )  # fmt: skip


def pair_cost(n: int) -> tuple[int, int, int]:
    """Floating-point operations of `factor_pair` and of substitution, real and complex."""
    factor, substitute = square_cost(n)
    return 10 * n * n + factor + (8 * n**3) // 3, substitute, 8 * n * n


@device
def factor_pair(pair, A, B, C, gamma, alpha, beta):
    """Factor for σ = γ and σ = α + iβ. Returns 0, or k + 1 if a matrix has no pivot in column k."""
    n = pair.n
    square = square_at(pair.real)
    real = mat(square.A, n, n)
    size2 = alpha * alpha + beta * beta
    over_gamma, over_r, over_i = 1.0 / gamma, alpha / size2, -beta / size2
    if n >= lapack.WORTHWHILE:
        both = mat(pair.complex, n, 2 * n)
        for i in range(n):
            for j in range(n):
                a, b, c = A[i, j], B[i, j], C[i, j]
                real[i, j] = gamma * a - b - over_gamma * c
                both[i, 2 * j], both[i, 2 * j + 1] = alpha * a - b - over_r * c, beta * a - over_i * c
        failed = factor_square(square)
        if failed == 0:
            failed = lapack.factor_complex(lapack.arguments_at(pair.lapack), pair.complex, pair.lapack_complex_pivots)
        return failed
    cr, ci = mat(pair.cr, n, n), mat(pair.ci, n, n)
    for i in range(n):
        for j in range(n):
            a, b, c = A[i, j], B[i, j], C[i, j]
            real[i, j] = gamma * a - b - over_gamma * c
            cr[i, j] = alpha * a - b - over_r * c
            ci[i, j] = beta * a - over_i * c
    failed = factor_square(square)
    return failed if failed != 0 else lu.factor_complex(cr, ci, ivec(pair.complex_pivots, n), n)


@device
def substitute_real(pair, address):
    """Solve with the real matrix, in place; the right-hand side is given by its address."""
    substitute_square(square_at(pair.real), address)


@device
def substitute_complex(pair, br, bi):
    """Solve with the complex matrix, in place."""
    n = pair.n
    if n < lapack.WORTHWHILE:
        lu.substitute_complex(mat(pair.cr, n, n), mat(pair.ci, n, n), ivec(pair.complex_pivots, n), br, bi, n)
        return
    work = vec(pair.work, 2 * n)
    for i in range(n):
        work[2 * i], work[2 * i + 1] = br[i], bi[i]
    lapack.substitute_complex(lapack.arguments_at(pair.lapack), pair.complex, pair.lapack_complex_pivots, pair.work)
    for i in range(n):
        br[i], bi[i] = work[2 * i], work[2 * i + 1]
