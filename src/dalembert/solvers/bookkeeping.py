"""What kernels of all methods keep of a run: counters, and the point that could not be evaluated."""

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import ivec, vec
from dalembert.solvers.limits import SMALLEST  # noqa: F401
from dalembert.solvers.status import N_COUNTS


@inlined
def add(state, which, amount):
    """Count, in the array `count` of a method's record."""
    ivec(state.count, N_COUNTS)[which.value] += amount


@device
def keep_failed(state, t):
    """Remember the point in `stage`, x and x', that could not be evaluated."""
    stage, failed = vec(state.stage, 2 * state.n), vec(state.failed, 2 * state.n)
    state.failed_t = t
    for i in range(2 * state.n):
        failed[i] = stage[i]
