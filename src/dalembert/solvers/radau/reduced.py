"""Linear algebra of GEOMS as in `partitioned`, with constraints solved for coordinates by their constants first, and
everything but the pivots of the rest as machine code (`reduction`).

Where digits are lost on the way, or a rank is missing, `partitioned` takes over, with pivots of its own, and says why.
"""

import numpy as np

from dalembert.compile.kernel import call2, call3, call_code, call_port, call_reals3, device
from dalembert.compile.memory import Memory, ivec, layout, mat, vec
from dalembert.linalg.factors.blocks import LU, block_at, clear, factor_block, new_block, solve_block_many
from dalembert.linalg.factors.pair import factor_pair, new_pair, pair_at, pair_cost, substitute_complex, substitute_real
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.radau.state import LINEAR_ALGEBRA, algebra_at
from dalembert.solvers.status import Count

ALGEBRA = layout(
    arrays=[
        *LINEAR_ALGEBRA,
        "other", "first_port", "second_port", "ahead", "ahead3", "behind", "behind3",
        "block", "unit", "Kd",
        "left",  # coordinates that constants do not determine
        "pair", "y", "yr", "yi",
        "small", "middle", "small3", "middle3",
    ],
    reals=["threshold", "near", "gamma", "alpha", "beta"],
    wholes=[
        "n", "n_rows", "n_nonzeros", "n_p", "n_free", "n_left", "n_3",
        "rest", "n_first", "n_first_margins",  # where G̃ stands behind the nonzeros, and the end of `first`
        "inner", "matrices", "n_second_margins",  # where W̃, K̃ and A, B, C stand
        "second", "fell_back",
    ],
)  # fmt: skip


def algebra(compiled, addresses: dict[str, int], written, other: Memory, threshold: float) -> Memory:
    """Set up for a compiled projected system; `other` is the record of `partitioned`, which takes over."""
    system = compiled.system
    n_p, n_nonzeros = len(system.blocks.V), int(other.n_nonzeros)
    m, d = len(written.left_columns), written.left_rows
    N = m - d
    rest = n_nonzeros + written.n_first
    end_of_first = n_nonzeros + written.first.n_out
    second = end_of_first + m * d + m * N
    matrices = second + written.n_second
    factors, real, both = pair_cost(N)
    decompose, solve = written.operations
    memory = Memory(
        ALGEBRA,
        dict(
            **addresses, own=0, state=0, nonzeros=np.zeros(second + written.second.n_out),
            cost=np.array([decompose, factors, 3 * solve + real + both, solve + real]), other=other,
            first_port=written.first.address, second_port=written.second.address, ahead=written.ahead[0].address,
            ahead3=written.ahead[1].address, behind=written.behind[0].address, behind3=written.behind[1].address,
            block=new_block(d, m), unit=np.eye(d), Kd=np.zeros((d, N)), left=np.array(written.left_columns, np.int64),
            pair=new_pair(N), y=np.zeros(N), yr=np.zeros(N), yi=np.zeros(N), small=np.zeros(2 * N),
            middle=np.zeros(2 * n_p + 2 * N), small3=np.zeros((2 * N, 3)), middle3=np.zeros((2 * n_p + 2 * N, 3)),
            threshold=threshold, near=0.0, gamma=0.0, alpha=0.0, beta=0.0, n=system.n, n_rows=len(system.equations),
            n_nonzeros=n_nonzeros, n_p=n_p, n_free=N, n_left=m, n_3=d, rest=rest, n_first=written.first.n_out,
            n_first_margins=written.n_first_margins, inner=end_of_first, matrices=matrices,
            n_second_margins=written.n_second_margins, second=second, fell_back=0,
        ),
    )  # fmt: skip
    memory.ports = written  # copies of the record keep them alive
    return memory


@device
def at(la, place):
    """Address of a number."""
    return la.nonzeros + np.uint64(8 * place)


@device
def all_positive(address, count):
    """Of numbers that are finite."""
    margins, least = vec(address, count), np.inf
    for k in range(count):
        least = min(least, margins[k])
    return least > 0.0


@device
def split_rest(la):
    """W̃ and K̃ of what is left of the constraints. Returns whether it has full rank."""
    d, m, N, block = la.n_3, la.n_left, la.n_free, block_at(la.block)
    given, A = mat(at(la, la.rest), d, m), mat(block.A, d, m)
    clear(block)
    for i in range(d):
        for j in range(m):
            A[i, j] = given[i, j]
    if factor_block(block, LU, la.threshold, True, 1.0) < d:
        return False
    solve_block_many(block, LU, mat(la.unit, d, d), mat(at(la, la.inner), m, d), d)
    column, Kd, K = ivec(block.column, m), mat(la.Kd, d, N), mat(at(la, la.inner + m * d), m, N)
    for i in range(d - 1, -1, -1):
        over = -1.0 / A[i, i]
        for j in range(N):
            total = A[i, d + j]
            for k in range(i + 1, d):
                total += A[i, k] * Kd[k, j]
            Kd[i, j] = total * over
    for i in range(d):
        for j in range(N):
            K[column[i], j] = Kd[i, j]
    for i in range(N):
        for j in range(N):
            K[column[d + i], j] = 1.0 if i == j else 0.0
    return True


@device
def write_down(la):
    """Everything that does not depend on the step size. Returns whether it is to be trusted."""
    first, last = la.n_nonzeros, la.n_nonzeros + la.n_first - la.n_first_margins
    if call_port(la.first_port, 1.0, la.nonzeros, la.nonzeros, at(la, first)) != 0:
        return False
    if not all_positive(at(la, last), la.n_first_margins) or not split_rest(la):
        return False
    if call_port(la.second_port, 1.0, la.nonzeros, la.nonzeros, at(la, la.second)) != 0:
        return False
    return all_positive(at(la, la.matrices + 3 * la.n_free * la.n_free), la.n_second_margins)


@device
def decompose(la, state):
    """Everything that does not depend on the step size. Returns False if constraints lose rank."""
    la.fell_back = 0
    if write_down(la):
        add(state, Count.CONSTRAINT_DECOMPOSITIONS, 1)
        add(state, Count.SELECTORS, 1)
        state.convergence_failed = 0
        return True
    la.fell_back = 1
    other = algebra_at(la.other)
    other.own = la.other
    other.state = la.state
    mine, its = vec(la.nonzeros, la.n_nonzeros), vec(other.nonzeros, la.n_nonzeros)
    for k in range(la.n_nonzeros):
        its[k] = mine[k]
    return call2(other.decompose, la.other, la.state) != 0


@device
def prepare(la, gamma, alpha, beta):
    """Factor the small matrices for σ = γ and σ = α + iβ. Returns False if one is singular."""
    if la.fell_back == 1:
        return call_reals3(algebra_at(la.other).prepare, la.other, gamma, alpha, beta) != 0
    N, place = la.n_free, la.matrices
    la.gamma, la.alpha, la.beta = gamma, alpha, beta
    A, B, C = (mat(at(la, place), N, N), mat(at(la, place + N * N), N, N), mat(at(la, place + 2 * N * N), N, N))
    return factor_pair(pair_at(la.pair), A, B, C, gamma, alpha, beta) == 0


@device
def solve_stages(la, R, D):
    """Three columns: σ = γ, and real and imaginary part of σ = α + iβ."""
    if la.fell_back == 1:
        call3(algebra_at(la.other).solve_stages, la.other, R.ctypes.data, D.ctypes.data)
        return
    N, d, alpha, beta, gamma = la.n_free, la.n_3, la.alpha, la.beta, la.gamma
    size2 = alpha * alpha + beta * beta
    s, sr, si = 1.0 / gamma, alpha / size2, -beta / size2
    order, left, small = ivec(block_at(la.block).column, la.n_left), ivec(la.left, la.n_left), mat(la.small3, 2 * N, 3)
    for j in range(N):
        i = left[order[d + j]]
        r0, r1, r2 = R[i, 0], R[i, 1], R[i, 2]
        small[j, 0], small[j, 1], small[j, 2] = s * r0, sr * r1 - si * r2, sr * r2 + si * r1
    call_code(la.ahead3, 1.0, la.nonzeros, R.ctypes.data, la.small3, la.small3, la.middle3)
    middle, y, yr, yi = mat(la.middle3, 2 * la.n_p + 2 * N, 3), vec(la.y, N), vec(la.yr, N), vec(la.yi, N)
    for j in range(N):
        here, there = 2 * la.n_p + j, 2 * la.n_p + N + j
        y[j] = middle[here, 0] + gamma * middle[there, 0]
        yr[j] = middle[here, 1] + alpha * middle[there, 1] - beta * middle[there, 2]
        yi[j] = middle[here, 2] + alpha * middle[there, 2] + beta * middle[there, 1]
    substitute_real(pair_at(la.pair), la.y)
    substitute_complex(pair_at(la.pair), yr, yi)
    for j in range(N):
        u0, u1, u2 = y[j], yr[j], yi[j]
        small[j, 0], small[j, 1], small[j, 2] = u0, u1, u2
        small[N + j, 0], small[N + j, 1], small[N + j, 2] = s * u0, sr * u1 - si * u2, sr * u2 + si * u1
    call_code(la.behind3, 1.0, la.nonzeros, R.ctypes.data, la.middle3, la.small3, D.ctypes.data)


@device
def solve_real(la, R, out):
    """One vector, σ = γ; see `solve_stages`."""
    if la.fell_back == 1:
        call3(algebra_at(la.other).solve_real, la.other, R.ctypes.data, out.ctypes.data)
        return
    N, d, s = la.n_free, la.n_3, 1.0 / la.gamma
    order, left, small = ivec(block_at(la.block).column, la.n_left), ivec(la.left, la.n_left), vec(la.small, 2 * N)
    for j in range(N):
        small[j] = s * R[left[order[d + j]]]
    call_code(la.ahead, 1.0, la.nonzeros, R.ctypes.data, la.small, la.small, la.middle)
    middle, y = vec(la.middle, 2 * la.n_p + 2 * N), vec(la.y, N)
    for j in range(N):
        y[j] = middle[2 * la.n_p + j] + la.gamma * middle[2 * la.n_p + N + j]
    substitute_real(pair_at(la.pair), la.y)
    for j in range(N):
        small[j], small[N + j] = y[j], s * y[j]
    call_code(la.behind, 1.0, la.nonzeros, R.ctypes.data, la.middle, la.small, out.ctypes.data)


@device
def correct(la, F, out):
    """The constraint rows alone, the independent coordinates staying as they are."""
    if la.fell_back == 1:
        return call3(algebra_at(la.other).correct, la.other, F.ctypes.data, out.ctypes.data) != 0
    small = vec(la.small, 2 * la.n_free)
    for j in range(2 * la.n_free):
        small[j] = 0.0
    call_code(la.ahead, 1.0, la.nonzeros, F.ctypes.data, la.small, la.small, la.middle)
    call_code(la.behind, 1.0, la.nonzeros, F.ctypes.data, la.middle, la.small, out.ctypes.data)
    return True
