"""LU factorization of the scaled full matrix: own loops for small sizes, LAPACK for larger ones."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, layout, mat, member, vec
from dalembert.linalg.factors import lapack
from dalembert.linalg.factors.square import factor_square, new_square, square_at, substitute_square
from dalembert.linalg.saddle.full import load_scaled, multiply
from dalembert.linalg.saddle.saddle import SADDLE, TINY, new_saddle

i8, u8 = nb.int64, nb.uint64

RECORD = layout(arrays=[*SADDLE, "matrix", "r", "c", "work"], wholes=["n"])
_at = member(RECORD)


def dense_memory(solver, pattern) -> Memory:
    n = pattern.n
    return new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), matrix=new_square(n), r=np.ones(n),
        c=np.ones(n), work=np.zeros(n), n=n,
    )  # fmt: skip


@device
def rank_deficient(A, n, transposed):
    """1 + number of the first pivot that is nothing but rounding of its column of U, or 0."""
    for k in range(n):
        largest = 0.0
        for i in range(k):
            largest = max(largest, abs(A[k, i] if transposed else A[i, k]))
        if not abs(A[k, k]) > TINY * largest:
            return k + 1
    return 0


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    n, square = la.n, square_at(la.matrix)
    A = mat(square.A, n, n)
    failed = load_scaled(own, A, vec(la.r, n), vec(la.c, n))
    if failed == 0:
        failed = factor_square(square)
    return failed if failed != 0 else rank_deficient(A, n, n >= lapack.WORTHWHILE)


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n = la.n
    multiply(vec(la.r, n), vec(b, n), vec(la.work, n), n)
    substitute_square(square_at(la.matrix), la.work)
    multiply(vec(la.c, n), vec(la.work, n), vec(x, n), n)
    return 0
