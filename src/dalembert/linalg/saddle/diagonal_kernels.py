"""Division by a diagonal."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, kernel
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.linalg.saddle.saddle import SADDLE, new_saddle

i8, u8 = nb.int64, nb.uint64

RECORD = layout(arrays=[*SADDLE, "diagonal"], wholes=["n"])
_at = member(RECORD)


def diagonal_memory(solver, pattern) -> Memory:
    n = pattern.n
    return new_saddle(solver, pattern, RECORD, address_of(factor), address_of(solve), diagonal=np.ones(n), n=n)


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    n = la.n
    M, row, diagonal = vec(la.M, n), ivec(la.M_rows, n), vec(la.diagonal, n)
    singular = 0
    for k in range(n):
        diagonal[row[k]] = M[k]
        if M[k] == 0.0 or not np.isfinite(M[k]):
            singular = row[k] + 1
    return singular


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    n = la.n
    right, left, diagonal = vec(b, n), vec(x, n), vec(la.diagonal, n)
    for i in range(n):
        left[i] = right[i] / diagonal[i]
    return 0
