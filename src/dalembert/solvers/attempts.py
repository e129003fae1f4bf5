"""The trace: a row for each attempted step, accepted or not, for those who look for the reason of small steps.

A row holds what `status.ATTEMPT` says. Kernels call `open_attempt`, `note_contraction`, `note_error` and
`close_attempt`, each of which is one test of `state.trace` when nobody wants to know. `why_to_return` in `shell.py`
makes a kernel return when the rows are full.
"""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import Memory, ivec, layout, mat, member, vec
from dalembert.solvers.status import ATTEMPT, FRESH_FACTORS, FRESH_JACOBIAN, N_COUNTS, Count

#: rows that a kernel fills before it hands them over
CAPACITY = 2048
#: in place of the address of a scale
UNSCALED = np.uint64(0)

N_COLUMNS = len(ATTEMPT)
TRACE = layout(
    arrays=["rows"],
    # of the attempt that is under way
    reals=["t", "h", "error", "contraction"],
    wholes=["capacity", "used", "order", "worst", "jacobians", "factors", "iterations"],
)
trace_at = member(TRACE)


def new_trace() -> Memory:
    """Without rows; its address goes into the field `trace` of a method's record."""
    scalars = dict.fromkeys(TRACE.names, 0)
    return Memory(TRACE, scalars | {"rows": np.zeros((CAPACITY, N_COLUMNS)), "capacity": CAPACITY})


def take_attempts(trace: Memory) -> np.ndarray:
    """Take out the rows, as a copy."""
    used = int(trace.used)
    trace.set(used=0)
    return trace.rows[:used].copy()


@inlined
def trace_is_full(state):
    return state.trace != 0 and trace_at(state.trace).used == trace_at(state.trace).capacity


@inlined
def open_attempt(state, order):
    """A step from t of size h is about to be tried."""
    if state.trace != 0:
        begin_row(state, order)


@inlined
def note_contraction(state, rate):
    """Newton's increments shrink by this factor."""
    if state.trace != 0:
        trace_at(state.trace).contraction = rate


@inlined
def note_order(state, order):
    """The order was chosen in the course of the attempt."""
    if state.trace != 0:
        trace_at(state.trace).order = order


@inlined
def note_error(state, norm, error, scale, n):
    """The norm of the error, whose components are at the address `error`; they are to be multiplied by those at
    `scale`, or are UNSCALED, before the largest is looked for."""
    if state.trace != 0:
        find_worst(trace_at(state.trace), norm, error, scale, n)


@inlined
def close_attempt(state, outcome):
    """What became of it, an `Outcome`."""
    if state.trace != 0:
        end_row(state, outcome)


# -- with a trace ------------------------------------------------------------------------------------------------------


@device
def begin_row(state, order):
    trace, count = trace_at(state.trace), ivec(state.count, N_COUNTS)
    trace.t, trace.h, trace.order = state.t, state.h, order
    trace.error, trace.contraction, trace.worst = np.nan, np.nan, -1
    trace.jacobians, trace.factors = count[Count.JACOBIAN.value], count[Count.DECOMPOSITIONS.value]
    trace.iterations = count[Count.BACK_SUBSTITUTIONS.value]


@device
def find_worst(trace, norm, error, scale, n):
    e, s = vec(error, n), vec(error if scale == UNSCALED else scale, n)
    largest = 0.0
    trace.error, trace.worst = norm, -1
    for i in range(n):
        size = abs(e[i]) if scale == UNSCALED else abs(e[i] * s[i])
        if size > largest:
            largest, trace.worst = size, i


@device
def end_row(state, outcome):
    trace, count = trace_at(state.trace), ivec(state.count, N_COUNTS)
    if trace.used == trace.capacity:  # kernels return before that; never write behind the end
        return
    row = mat(trace.rows, trace.capacity, N_COLUMNS)[trace.used]
    trace.used += 1
    row[0], row[1], row[2], row[3] = trace.t, trace.h, trace.order, outcome
    row[4], row[5], row[7] = trace.error, trace.worst, trace.contraction
    row[6] = count[Count.BACK_SUBSTITUTIONS.value] - trace.iterations
    row[8] = 0.0
    if count[Count.JACOBIAN.value] > trace.jacobians:
        row[8] += FRESH_JACOBIAN
    if count[Count.DECOMPOSITIONS.value] > trace.factors:
        row[8] += FRESH_FACTORS
