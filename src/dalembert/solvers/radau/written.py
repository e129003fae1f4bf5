"""Linear algebra of the Radau stage solver with elimination as machine code (`solvers.written`).

Where the order of its pivots is not good, another linear algebra, with pivots of its own, takes over.
"""

import numpy as np

from dalembert.compile.kernel import call2, call3, call_port, call_reals3, device
from dalembert.compile.memory import Memory, layout, vec
from dalembert.solvers import written
from dalembert.solvers.radau.state import LINEAR_ALGEBRA, algebra_at

ALGEBRA = layout(
    arrays=[*LINEAR_ALGEBRA, "other", "factors_port", "stages_port", "real_port", "sigma", "factors"],
    wholes=["n", "n_rows", "n_nonzeros", "n_factors", "n_margins", "fell_back"],
)


def algebra(compiled, addresses: dict[str, int], order, other: Memory) -> Memory:
    """Set up for a compiled system; `addresses` are those of the kernels, `other` is what takes over."""
    factors, stages, real, n_margins = ports = written.pair_ports(compiled, order)
    n, multiplications = compiled.system.n, np.array([0, 5 * order.operations, 5 * order.kept, order.kept])
    memory = Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0, nonzeros=np.zeros(factors.n_x), cost=2 * multiplications, other=other,
            factors_port=factors.address, stages_port=stages.address, real_port=real.address, sigma=np.zeros(3),
            factors=np.zeros(factors.n_out), n=n, n_rows=n, n_nonzeros=factors.n_x, n_factors=factors.n_out,
            n_margins=n_margins, fell_back=0,
        ),
    )  # fmt: skip
    memory.ports = ports  # copies of the record keep them alive
    return memory


@device
def decompose(la, state):
    """Everything depends on σ."""
    return True


@device
def all_positive(margins):
    """False also for what is not a number."""
    least = np.inf
    for k in range(margins.size):
        least = min(least, margins[k])
    return least > 0.0


@device
def hand_over(la):
    """Give the Jacobian to the other linear algebra. Returns whether it can take it."""
    other = algebra_at(la.other)
    other.own = la.other
    other.state = la.state
    mine, its = vec(la.nonzeros, la.n_nonzeros), vec(other.nonzeros, la.n_nonzeros)
    for k in range(la.n_nonzeros):
        its[k] = mine[k]
    return call2(other.decompose, la.other, la.state) != 0


@device
def prepare(la, gamma, alpha, beta):
    """Factor for σ = γ and σ = α + iβ. Returns False if a matrix is singular."""
    sigma, first = vec(la.sigma, 3), la.n_factors - la.n_margins
    sigma[0], sigma[1], sigma[2] = gamma, alpha, beta
    la.fell_back = 0
    good = call_port(la.factors_port, 1.0, la.nonzeros, la.sigma, la.factors) == 0
    if good and all_positive(vec(la.factors, la.n_factors)[first:]):
        return True
    la.fell_back = 1
    return hand_over(la) and call_reals3(algebra_at(la.other).prepare, la.other, gamma, alpha, beta) != 0


@device
def solve_stages(la, R, D):
    """Column 0: (γ E − J)⁻¹ R₀; columns 1 and 2: real and imaginary part of ((α + iβ) E − J)⁻¹ (R₁ + i R₂)."""
    if la.fell_back == 1:
        call3(algebra_at(la.other).solve_stages, la.other, R.ctypes.data, D.ctypes.data)
    else:
        call_port(la.stages_port, 1.0, la.factors, R.ctypes.data, D.ctypes.data)


@device
def solve_real(la, R, out):
    """Δ = (γ E − J)⁻¹ R."""
    if la.fell_back == 1:
        call3(algebra_at(la.other).solve_real, la.other, R.ctypes.data, out.ctypes.data)
    else:
        call_port(la.real_port, 1.0, la.factors, R.ctypes.data, out.ctypes.data)


@device
def correct(la, F, out):
    """The constraints are part of the system: there is nothing to correct."""
    return False
