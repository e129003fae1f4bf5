"""One real square matrix: factors and substitution, by `lu` if it is small, by LAPACK if it is large."""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.linalg.factors import lapack, lu

SQUARE = layout(arrays=["A", "pivots", "lapack", "lapack_pivots"], wholes=["n"])
square_at = member(SQUARE)


def new_square(n: int) -> Memory:
    """Work space for a matrix of size n."""
    return Memory(
        SQUARE,
        dict(
            A=np.zeros((n, n)), pivots=np.zeros(n, np.int64), lapack=lapack.lapack_arguments(n),
            lapack_pivots=np.zeros(n, np.int32), n=n,
        ),
    )  # fmt: skip


def square_cost(n: int) -> tuple[int, int]:
    """Floating-point operations of factorization and substitution."""
    return (2 * n**3) // 3, 2 * n * n


@device
def factor_square(square):
    """Factor the matrix in A, in place. Returns 0, or k + 1 if column k has no pivot."""
    n = square.n
    if n >= lapack.WORTHWHILE:
        return lapack.factor_real(lapack.arguments_at(square.lapack), square.A, square.lapack_pivots)
    return lu.factor(mat(square.A, n, n), ivec(square.pivots, n), n)


@device
def substitute_square(square, address):
    """Solve in place; the right-hand side is given by its address."""
    n = square.n
    if n >= lapack.WORTHWHILE:
        lapack.substitute_real(lapack.arguments_at(square.lapack), square.A, square.lapack_pivots, address)
    else:
        lu.substitute(mat(square.A, n, n), ivec(square.pivots, n), vec(address, n), n)
