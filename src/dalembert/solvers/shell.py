"""The shell of a step, the same for all methods: weights and norm, limits of the step size, commit, failure, events.

A method's kernel is a loop around its own `try`:

    while True:
        code = why_to_return(state, buffer)      the end, a full buffer, too many steps
        if step_too_small(state, …): …
        open_step(state, order)                  counts; phase and trace begin
        …                                        stages, corrector, error estimate; they end with an `Outcome`
        code = fail(state, outcome)              counts, caps, trace; then the method chooses a smaller step
        keep_polynomial(state, buffer)
        commit(state, h, buffer)                 the new point becomes the current one
        code = look_for_events(state, ports, scan)
        limit_step(state, h_new)

Its record has the fields ARRAYS, REALS, WHOLES and FLAGS, of which `start` clears the last, besides its own.

Two words have one meaning everywhere. `weight` is atol + rtol |x|, what an error of that variable may be: errors are
divided by it. `scale` is what errors are multiplied by: the reciprocal, with powers of h for variables of higher index,
or 0 for those that are not looked at.
"""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import ivec, mat, vec
from dalembert.solvers.attempts import close_attempt, open_attempt, trace_is_full
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.events import carry_over, scan_step
from dalembert.solvers.limits import (
    MOST_CONVERGENCE_FAILURES,
    MOST_ERROR_FAILURES,
    MOST_EVALUATION_FAILURES,
    MOST_SINGULAR_FAILURES,
    NEARLY_THERE,
    SMALLEST,
)
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.records import i8
from dalembert.solvers.status import GO_ON, N_COUNTS, Count, Outcome, Status

ARRAYS = (
    "monitor",  # the clock of a profile; 0: there is none
    "trace",  # a record of `attempts`; 0: there is none
    "x", "x_dot",
    "coefficients",  # (n_coefficients, n): the polynomial of the last accepted step
    "count", "atol", "rtol",
    "weight",  # atol + rtol |x| at the current point
)  # fmt: skip
REALS = ("t", "h", "t_end", "h_old", "max_step", "min_step")
WHOLES = ("n", "n_coefficients", "max_steps")
FLAGS = (
    "last",  # the step leads to the end of the interval
    "why",  # the outcome of the last attempt
    # attempts in a row that failed, by reason
    "error_failures", "convergence_failures", "evaluation_failures", "singular_failures",
)  # fmt: skip

FINE = int(Outcome.FINE)


# -- weights and norm --------------------------------------------------------------------------------------------------


@device
def set_weights(state):
    """At the current point."""
    n = state.n
    x, weight, atol, rtol = vec(state.x, n), vec(state.weight, n), vec(state.atol, n), vec(state.rtol, n)
    for i in range(n):
        weight[i] = atol[i] + rtol[i] * abs(x[i])


@device
def scaled_norm(values, scale, n, members):
    """Root mean square of n values times their scale; `members` counts those that are looked at."""
    total = 0.0
    for i in range(n):
        e = values[i] * scale[i]
        total += e * e
    return np.sqrt(total / members)


# -- limits of the step size -------------------------------------------------------------------------------------------


@inlined
def why_to_return(state, buffer):
    """A `Status` if no further step shall be taken now, whatever its size, or GO_ON."""
    if state.t == state.t_end:
        return Status.DONE
    if buffer.used[0] == buffer.t.size or trace_is_full(state):
        return Status.BUFFER_FULL
    if ivec(state.count, N_COUNTS)[Count.STEPS.value] >= state.max_steps:
        return Status.TOO_MANY_STEPS
    return GO_ON


@inlined
def step_too_small(state, part, unit):
    """Whether even a part of the step is lost in the rounding of t."""
    return part * abs(state.h) <= abs(state.t) * unit or abs(state.h) < SMALLEST


@inlined
def limit_step(state, h):
    """The next step size: h within max_step, min_step and the end of the interval; sets `last`."""
    direction = 1.0 if state.t_end >= state.t else -1.0
    h = direction * max(min(abs(h), state.max_step), state.min_step)
    state.last = 0
    if (state.t + NEARLY_THERE * h - state.t_end) * direction >= 0.0:
        h = state.t_end - state.t
        state.last = 1
    state.h = h


# -- an attempt --------------------------------------------------------------------------------------------------------


@inlined
def open_step(state, order):
    """An attempt begins; `order` is 0 if the method has only one."""
    enter(state, Phase.STAGES)
    add(state, Count.STEPS, 1)
    open_attempt(state, order)


@device
def fail(state, outcome):
    """What every failed attempt comes to. The method does the rest: a smaller step, new matrices, another order.

    In: `outcome`, not FINE. Out: a `Status` if the run ends, or GO_ON; the counters of rejections and of failures in a
    row, `why`, `last` and the trace.
    """
    outcome = i8(outcome)
    close_attempt(state, outcome)
    state.why = outcome
    state.last = 0
    if outcome == Outcome.STOPPED:
        return Status.PORT_FAILED
    if outcome == Outcome.CANNOT_START:
        return Status.NOT_FINITE
    if outcome == Outcome.RANK_LOST:
        return Status.RANK_DEFICIENT
    if outcome == Outcome.INACCURATE or outcome == Outcome.DRIFTED or outcome == Outcome.FAR_FROM_CONSTRAINTS:
        add(state, Count.ERROR_REJECTIONS, 1)
        state.error_failures += 1
        return Status.ERROR_FAILURES if state.error_failures >= MOST_ERROR_FAILURES else GO_ON
    add(state, Count.CONVERGENCE_REJECTIONS, 1)
    if outcome == Outcome.SINGULAR:
        state.singular_failures += 1
        return Status.SINGULAR if state.singular_failures >= MOST_SINGULAR_FAILURES else GO_ON
    if outcome == Outcome.CANNOT_EVALUATE:
        state.evaluation_failures += 1
        return Status.EVALUATION_FAILURES if state.evaluation_failures >= MOST_EVALUATION_FAILURES else GO_ON
    state.convergence_failures += 1
    return Status.CONVERGENCE_FAILURES if state.convergence_failures >= MOST_CONVERGENCE_FAILURES else GO_ON


@inlined
def keep_polynomial(state, buffer):
    """Copy it from `coefficients` to its place in the buffer, before `commit`."""
    c, place = mat(state.coefficients, state.n_coefficients, state.n), buffer.coefficients[buffer.used[0]]
    for j in range(state.n_coefficients):
        for i in range(state.n):
            place[j, i] = c[j, i]


@inlined
def commit(state, h, buffer):
    """A step of size h is accepted, whose end is in `x` already, and its polynomial in the buffer: time and size join
    it there."""
    close_attempt(state, FINE)
    state.t = state.t_end if state.last == 1 else state.t + h
    state.h_old = h
    k = buffer.used[0]
    buffer.t[k], buffer.h[k] = state.t, h
    buffer.used[0] = k + 1
    add(state, Count.ACCEPTED, 1)
    state.why = FINE
    state.error_failures, state.convergence_failures = 0, 0
    state.evaluation_failures, state.singular_failures = 0, 0
    set_weights(state)


@inlined
def look_for_events(state, ports, scan):
    """After `commit`. Returns EVENT, EVENT_FAILED or GO_ON."""
    return scan_for_events(state, ports, scan) if ports.events != 0 else GO_ON


@device
def scan_for_events(state, ports, scan):
    enter(state, Phase.EVENTS)
    found = scan_step(scan, ports, state.t, state.h_old, mat(state.coefficients, state.n_coefficients, state.n))
    add(state, Count.EVENT_EVALUATIONS, scan.values.shape[0] - 1)
    if found != 0:
        return Status.EVENT if found > 0 else Status.EVENT_FAILED
    carry_over(scan)
    return GO_ON
