"""What kernels of all methods keep of a run: counters, the point that could not be evaluated, reasons to return."""

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import ivec, vec
from dalembert.solvers import status
from dalembert.solvers.status import N_COUNTS, Count

#: step sizes below this overflow in iteration matrices
SMALLEST = 1e-140


@inlined
def add(state, which, amount):
    """Count, in the array `count` of a method's record."""
    ivec(state.count, N_COUNTS)[which] += amount


@device
def keep_failed(state, t):
    """Remember the point in `stage`, x and x', that could not be evaluated."""
    stage, failed = vec(state.stage, 2 * state.n), vec(state.failed, 2 * state.n)
    state.failed_t = t
    for i in range(2 * state.n):
        failed[i] = stage[i]


@device
def why_to_return(state, max_steps, buffer):
    """A code of `status` if no further step shall be taken now, whatever its size, or −1."""
    if state.t == state.t_end:
        return status.DONE
    if buffer.used[0] == buffer.t.size:
        return status.BUFFER_FULL
    if ivec(state.count, N_COUNTS)[Count.STEPS] >= max_steps:
        return status.TOO_MANY_STEPS
    return -1
