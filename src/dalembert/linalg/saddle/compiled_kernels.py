"""The compiled elimination behind the protocol of saddle-point solvers, with `Dense` to fall back on."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, call1, call3, call_port, kernel
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.linalg.saddle import compiled
from dalembert.linalg.saddle.dense_kernels import dense_memory
from dalembert.linalg.saddle.saddle import SADDLE, hand_on, new_saddle, saddle_at

i8, u8 = nb.int64, nb.uint64

RECORD = layout(
    arrays=[*SADDLE, "factors_port", "solution_port", "dense", "given", "factors", "work"],
    wholes=["n", "n_given", "n_factors", "fell_back"],
)
_at = member(RECORD)


def compiled_memory(solver, pattern) -> Memory:
    n, n_given = pattern.n, sum(len(part[0]) for part in (pattern.mass, pattern.constraint, pattern.force or ((),)))
    factors, solution, n_factors = compiled.ports(pattern, solver.longest)
    memory = new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), factors_port=factors.address,
        solution_port=solution.address, dense=dense_memory(solver, pattern), given=np.zeros(n_given),
        factors=np.zeros(n_factors), work=np.zeros(n), n=n, n_given=n_given, n_factors=n_factors, fell_back=0,
    )  # fmt: skip
    memory.ports = factors, solution  # copies of the record keep them alive
    return memory


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    sizes, given = ivec(la.sizes, 7), vec(la.given, la.n_given)
    M, G, U = vec(la.M, sizes[2]), vec(la.G, sizes[3]), vec(la.U, sizes[4])
    for k in range(sizes[2]):
        given[k] = M[k]
    for k in range(sizes[3]):
        given[sizes[2] + k] = G[k]
    for k in range(sizes[4]):
        given[sizes[2] + sizes[3] + k] = U[k]
    la.fell_back = 0
    factors = vec(la.factors, la.n_factors)
    if call_port(la.factors_port, 0.0, la.given, la.given, la.factors) == 0:
        least = np.inf
        for k in range(la.n_factors - la.n, la.n_factors):
            least = min(least, factors[k])
        if least > 0.0:
            return 0
    la.fell_back = 1
    dense = saddle_at(la.dense)
    dense.own = la.dense
    hand_on(M, G, U, dense)
    return call1(dense.factor, la.dense)


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    if la.fell_back == 1:
        return call3(saddle_at(la.dense).solve, la.dense, b, x)
    call_port(la.solution_port, 0.0, la.factors, b, la.work)
    work, out = vec(la.work, la.n), vec(x, la.n)
    for i in range(la.n):
        out[i] = work[i]
    return 0
