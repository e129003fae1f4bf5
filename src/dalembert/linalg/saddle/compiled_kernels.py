"""The compiled elimination behind the protocol of saddle-point solvers, with `Dense` to fall back on."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, call1, call3, call_port, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, member, vec
from dalembert.linalg.saddle import compiled
from dalembert.linalg.saddle.dense_kernels import dense_memory
from dalembert.linalg.saddle.saddle import SADDLE, hand_on, new_saddle, saddle_at

i8, u8 = nb.int64, nb.uint64

RECORD = layout(
    arrays=[*SADDLE, "factors_port", "solution_port", "dense", "here", "there", "factors", "work"],
    wholes=["n", "n_factors", "fell_back"],
)
_at = member(RECORD)


def compiled_memory(solver, pattern) -> Memory:
    n, n_M, n_C = pattern.n, len(pattern.mass[0]), len(pattern.constraint[0])
    factors, solution, n_factors, once = compiled.ports(pattern, solver.longest)
    alike = pattern.symmetric or once is not None
    memory = new_saddle(
        solver, pattern, RECORD, address_of(factor), address_of(solve), factors_port=factors.address,
        solution_port=solution.address, dense=dense_memory(solver, pattern), here=np.zeros(factors.n_x),
        there=np.zeros(n_M + n_C), factors=np.zeros(n_factors), work=np.zeros(n), n=n, n_factors=n_factors, fell_back=0,
        once=once.address if once else 0, factor_at=address_of(factor_at) if alike else 0,
    )  # fmt: skip
    memory.ports = factors, solution, once  # copies of the record keep them alive
    return memory


@device
def move(source, target, n):
    """Copy numbers between addresses."""
    a, b = vec(source, n), vec(target, n)
    for k in range(n):
        b[k] = a[k]


@device
def factor_values(la, here, there):
    """Factor (M, U) here and (…, G) there; 0, or what `Dense` says where the pivots are not good."""
    la.fell_back = 0
    factors = vec(la.factors, la.n_factors)
    if call_port(la.factors_port, 1.0, here, there, la.factors) == 0:
        least = np.inf
        for k in range(la.n_factors - la.n, la.n_factors):
            least = min(least, factors[k])
        if least > 0.0:
            return 0
    la.fell_back = 1
    sizes, dense = ivec(la.sizes, 7), saddle_at(la.dense)
    dense.own = la.dense
    beyond = np.uint64(8 * sizes[2])
    hand_on(vec(here, sizes[2]), vec(there + beyond, sizes[3]), vec(here + beyond, sizes[4]), dense)
    return call1(dense.factor, la.dense)


@kernel(i8(u8))
def factor(own):
    la = _at(own)
    sizes = ivec(la.sizes, 7)
    n_M, n_C, n_U = sizes[2], sizes[3], sizes[4]
    move(la.M, la.here, n_M)
    move(la.U, la.here + np.uint64(8 * n_M), n_U)
    move(la.G, la.there + np.uint64(8 * n_M), n_C)
    return factor_values(la, la.here, la.there)


@kernel(i8(u8, u8, u8))
def factor_at(own, here, there):
    la = _at(own)
    answer = factor_values(la, here, there)
    if la.fell_back == 1:  # whoever explains a failure looks there
        sizes = ivec(la.sizes, 7)
        n_M, n_C, n_U = sizes[2], sizes[3], sizes[4]
        move(here, la.M, n_M)
        move(here + np.uint64(8 * n_M), la.U, n_U)
        move(there + np.uint64(8 * n_M), la.G, n_C)
    return answer


@kernel(i8(u8, u8, u8))
def solve(own, b, x):
    la = _at(own)
    if la.fell_back == 1:
        return call3(saddle_at(la.dense).solve, la.dense, b, x)
    if b != x:
        call_port(la.solution_port, 0.0, la.factors, b, x)
        return 0
    call_port(la.solution_port, 0.0, la.factors, b, la.work)
    work, out = vec(la.work, la.n), vec(x, la.n)
    for i in range(la.n):
        out[i] = work[i]
    return 0
