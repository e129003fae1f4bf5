"""The kernel of half-explicit Runge-Kutta methods whose steps are code that is generated around the model.

That code (`generated.single`) tries a step and arrives. Whatever goes wrong, be it for want of pivots, the step is done
once more as always: by stages on ports, which have other pivots and tell what it was.
"""

from dalembert.compile.kernel import call_reals3, device, inlined
from dalembert.compile.memory import vec
from dalembert.solvers.attempts import UNSCALED, note_error
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.half import core, half_explicit_kernel
from dalembert.solvers.half.core import FINE, copy, place
from dalembert.solvers.half.generated.layout import Head
from dalembert.solvers.half.half_explicit_kernel import STATE
from dalembert.solvers.half.loop import stepping_kernel
from dalembert.solvers.half.runge_kutta import finish_step, new_step_size
from dalembert.solvers.limits import FARTHEST
from dalembert.solvers.status import Count, Outcome

INACCURATE = int(Outcome.INACCURATE)
N_HEAD, (FRESH, OUTCOME, ERROR, ITERATIONS) = len(Head), map(int, Head)


@device
def begin(state, ports, la):
    """Returns GO_ON or a `Status`."""
    state.astray = 1
    return half_explicit_kernel.begin(state, ports, la)


@device
def call(state, fresh):
    """Try a step, or complete the current point. Returns an outcome."""
    head, t = vec(state.block, N_HEAD), state.t
    head[FRESH] = fresh
    copy(state.x, place(state.block, N_HEAD), state.n_d)
    call_reals3(state.generated, state.block, t, state.h, core.time_at(state, 1.0) if fresh == 0.0 else t)
    return int(head[OUTCOME])


@inlined
def part(state, k):
    """The address of a part of the block, behind k vectors of all unknowns and the head."""
    return place(state.block, N_HEAD + k * state.n_d)


@inlined
def keep(state):
    """What was found on arrival is what the next step begins with."""
    kept = place(part(state, 4), state.n_m + state.n_p)
    copy(place(kept, state.n_kept), kept, state.n_kept)


@device
def count(state, arrived):
    """What the code has done."""
    s, block = state.stages, vec(state.block, N_HEAD)
    add(state, Count.RHS, s - 1 + arrived)
    add(state, Count.MASS, s)
    add(state, Count.DECOMPOSITIONS, s + arrived)
    add(state, Count.LINEAR_SOLVES, s)
    if arrived == 1:
        add(state, Count.LINEAR_SOLVES, int(block[ITERATIONS]) + 1)
        if state.project_positions == 1 and state.n_lam > 0:
            add(state, Count.MASS, 1)
        if state.project_velocities == 1 and state.n_m > 0:
            add(state, Count.LINEAR_SOLVES, 1)


@device
def take(state):
    """The new point from the block."""
    n_d, n_m, n_p = state.n_d, state.n_m, state.n_p
    copy(part(state, 1), state.next, n_d)
    copy(part(state, 2), state.next_dot, n_d)
    copy(part(state, 3), place(state.next, n_d), n_m)
    copy(place(part(state, 3), n_m), state.raw, n_p)


@device
def by_ports(state, ports, la, buffer, scan):
    """The step as other kernels take it. Returns GO_ON or a `Status`."""
    x, rates = vec(state.x, state.n), vec(state.rates, state.n_d)
    matrices = vec(state.matrices, state.n_M + state.n_C + state.n_m)
    outcome = core.evaluate_matrices(state, ports, state.t, x, matrices)
    if outcome == FINE:
        outcome = core.evaluate_rates(state, ports, state.t, x, rates)
    if outcome != FINE:
        return core.give_up(state, outcome)
    code = half_explicit_kernel.step(state, ports, la, buffer, scan)
    if state.rejected == 0:
        state.astray = 1
    return code


@device
def step(state, ports, la, buffer, scan):
    """Returns GO_ON or a `Status`."""
    if state.astray == 1 and call(state, 1.0) == FINE:
        keep(state)
        state.astray = 0
    outcome = call(state, 0.0) if state.astray == 0 else core.CANNOT_EVALUATE
    if outcome != FINE and outcome != INACCURATE:
        return by_ports(state, ports, la, buffer, scan)
    count(state, int(outcome == FINE))
    error = vec(state.block, N_HEAD)[ERROR]
    copy(place(part(state, 3), state.n_m + state.n_p), state.error, state.n_d)
    note_error(state, error, state.error, UNSCALED, state.n_d)
    h_new = new_step_size(state, error)
    if outcome == INACCURATE:
        return core.reject(state, Outcome.INACCURATE, min(abs(h_new), 0.9 * abs(state.h)))
    take(state)
    code = finish_step(state, ports, la, buffer, scan, h_new, False, FARTHEST)
    if state.rejected == 0:
        keep(state)
    return code


generated_half_explicit = stepping_kernel(STATE, "generated_half_explicit", begin, step)
