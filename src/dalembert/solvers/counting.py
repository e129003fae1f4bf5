"""Counters in the kernels."""

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec
from dalembert.solvers.status import N_COUNTS


@device
def add(state, which, amount):
    """Count, in the array `count` of a method's record."""
    ivec(state.count, N_COUNTS)[which] += amount
