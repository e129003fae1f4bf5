"""LDLᵀ factorization of the scaled full matrix by LAPACK."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, device, kernel
from dalembert.compile.memory import Memory, ivec32, layout, mat, member, vec
from dalembert.linalg.factors import lapack
from dalembert.linalg.saddle.full import load_scaled, multiply
from dalembert.linalg.saddle.saddle import SADDLE, TINY, new_saddle

i8, u8 = nb.int64, nb.uint64

RECORD = layout(arrays=[*SADDLE, "A", "pivots", "lapack", "r", "c", "x", "work", "lower", "length"], wholes=["n"])
_at = member(RECORD)


def symmetric_memory(solver, pattern) -> Memory:
    n = pattern.n
    return new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), A=np.zeros((n, n)),
        pivots=np.zeros(n, np.int32), lapack=lapack.lapack_arguments(n), r=np.ones(n), c=np.ones(n), x=np.zeros(n),
        work=np.zeros(64 * max(n, 1)), lower=np.array([ord("L")], np.uint8),
        length=np.array([64 * max(n, 1)], np.int32), n=n,
    )  # fmt: skip


@device
def rank_deficient(A, n, pivots):
    """1 + number of the first pivot of D, 1 × 1 or 2 × 2, that is nothing but rounding, or 0."""
    largest = 0.0
    for k in range(n):
        largest = max(largest, abs(A[k, k]))
        if k + 1 < n and pivots[k] < 0:
            largest = max(largest, abs(A[k, k + 1]))
    k = 0
    while k < n:
        if pivots[k] > 0:
            if not abs(A[k, k]) > TINY * largest:
                return k + 1
            k += 1
        else:
            a, b, c = A[k, k], A[k, k + 1], A[k + 1, k + 1]
            if not abs(a * c - b * b) > TINY * largest * max(abs(a), abs(b), abs(c)):
                return k + 1
            k += 2
    return 0


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    n, to = la.n, lapack.arguments_at(la.lapack)
    A = mat(la.A, n, n)
    failed = load_scaled(own, A, vec(la.r, n), vec(la.c, n))
    if failed == 0:
        failed = lapack.factor_symmetric(to, la.A, la.pivots, la.lower, la.work, la.length)
    return failed if failed != 0 else rank_deficient(A, n, ivec32(la.pivots, n))


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n = la.n
    multiply(vec(la.r, n), vec(b, n), vec(la.x, n), n)
    lapack.substitute_symmetric(lapack.arguments_at(la.lapack), la.A, la.pivots, la.lower, la.x)
    multiply(vec(la.c, n), vec(la.x, n), vec(x, n), n)
    return 0
