"""Linear algebra of the BDF methods with elimination as machine code (`solvers.written`).

Where the order of its pivots is not good, another linear algebra, with pivots of its own, takes over.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import address_of, call2, call3, call_port, call_reals3, kernel
from dalembert.compile.memory import Memory, layout, member, vec
from dalembert.solvers import written
from dalembert.solvers.bdf.core import LINEAR_ALGEBRA, algebra_at

i8, u8, f8 = nb.int64, nb.uint64, nb.float64

ALGEBRA = layout(
    arrays=[*LINEAR_ALGEBRA, "other", "factors_port", "solution_port", "sigma", "factors"],
    wholes=["n_nonzeros", "n_factors", "n_margins", "fell_back"],
)
_at = member(ALGEBRA)


def written_algebra(compiled, order, other: Memory) -> Memory:
    """Set up for a compiled system; `other` is what takes over."""
    factors, solution, n_margins = ports = written.real_ports(compiled, order)
    memory = Memory(
        ALGEBRA,
        dict(
            decompose=address_of(decompose), prepare=address_of(prepare), solve=address_of(solve), own=0, state=0,
            nonzeros=np.zeros(factors.n_x), cost=np.array([0, 2 * order.operations, 2 * order.kept]), other=other,
            factors_port=factors.address, solution_port=solution.address, sigma=np.zeros(1),
            factors=np.zeros(factors.n_out), n_nonzeros=factors.n_x, n_factors=factors.n_out, n_margins=n_margins,
            fell_back=0,
        ),
    )  # fmt: skip
    memory.ports = ports  # copies of the record keep them alive
    return memory


@kernel(i8(u8, u8))
def decompose(own, state):
    """See `bdf.core`; so for the others. Everything depends on c."""
    return 1


@kernel(i8(u8, f8, f8, f8))
def prepare(own, c, unused_1, unused_2):
    la = _at(own)
    vec(la.sigma, 1)[0] = c
    la.fell_back = 0
    if call_port(la.factors_port, 1.0, la.nonzeros, la.sigma, la.factors) == 0:
        factors, least = vec(la.factors, la.n_factors), np.inf
        for k in range(la.n_factors - la.n_margins, la.n_factors):
            least = min(least, factors[k])
        if least > 0.0:
            return 1
    la.fell_back = 1
    other = algebra_at(la.other)
    other.own = la.other
    other.state = la.state
    mine, its = vec(la.nonzeros, la.n_nonzeros), vec(other.nonzeros, la.n_nonzeros)
    for k in range(la.n_nonzeros):
        its[k] = mine[k]
    if call2(other.decompose, la.other, la.state) == 0:
        return 0
    return call_reals3(other.prepare, la.other, c, 0.0, 0.0)


@kernel(i8(u8, u8, u8))
def solve(own, R, out):
    la = _at(own)
    if la.fell_back == 1:
        return call3(algebra_at(la.other).solve, la.other, R, out)
    call_port(la.solution_port, 1.0, la.factors, R, out)
    return 0
