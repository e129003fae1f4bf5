"""What Runge-Kutta methods on the descriptor form do after their stages: judge a step, arrive, choose the next."""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import vec
from dalembert.solvers.attempts import UNSCALED, note_error
from dalembert.solvers.half import core
from dalembert.solvers.half.core import DRIFTED, FINE, STOPPED
from dalembert.solvers.half.interpolation import missed_by_multipliers, remember, set_multipliers, set_polynomial
from dalembert.solvers.half.loop import stepping_kernel
from dalembert.solvers.limits import FARTHEST
from dalembert.solvers.shell import limit_step, look_for_events
from dalembert.solvers.status import Outcome, Status

#: of the time: steps this short are not rejected for the sake of multipliers, which may jump
SHORTEST = 1e-10


def runge_kutta_kernel(layout, name, begin, take_stages, error_norm, farthest=FARTHEST):
    """The kernel of a method; `begin` is that of `stepping_kernel`, the others are those of `runge_kutta_step`."""
    return stepping_kernel(layout, name, begin, runge_kutta_step(take_stages, error_norm, farthest))


def runge_kutta_step(take_stages, error_norm, farthest=FARTHEST):
    """The step of a method that differs from others by its stages and by its error estimate.

    ``take_stages(state, ports, la)`` leaves the new point in `next`, with its matrices, and returns an outcome;
    ``error_norm(state, la)`` returns an outcome and the error, 1 being the largest allowed. Of the record they need
    `power`, what the error is to be raised to for the step size, `at_end`, whether the estimate needs the new point
    complete, and `blind`, whether it leaves out the first stage: a jump between that and the next is not seen then,
    unless integrals of cubics are off by more than `farthest` tolerances.
    """

    @device
    def step(state, ports, la, buffer, scan):
        outcome = take_stages(state, ports, la)
        if outcome != FINE:
            return core.give_up(state, outcome)
        core.copy(state.next, state.raw, state.n_p)
        t = core.time_at(state, 1.0)
        if state.at_end == 1:
            outcome = core.arrive(state, ports, la, t)
            if outcome != FINE:
                return core.give_up(state, outcome)
        outcome, error = error_norm(state, la)
        if outcome != FINE or not np.isfinite(error):
            return core.give_up(state, outcome if outcome != FINE else core.CANNOT_EVALUATE)
        note_error(state, error, state.error, UNSCALED, state.n_d)
        h_new = new_step_size(state, error)
        missed = error > 1.0
        if missed and core.may_shrink(state):
            return core.reject(state, Outcome.INACCURATE, min(abs(h_new), 0.9 * abs(state.h)))
        if state.at_end == 0:
            outcome = core.arrive(state, ports, la, t)
            if outcome != FINE:
                return core.give_up(state, outcome)
        return finish_step(state, ports, la, buffer, scan, h_new, missed, farthest)

    return step


@inlined
def combine(state, K, row, count, first, last, out):
    """out = y + h Σ_{j < count} a_j K_j for the components first … last − 1."""
    x, h = vec(state.x, state.n), state.h
    for i in range(first, last):
        total = 0.0
        for j in range(count):
            total += row[j] * K[j, i]
        out[i] = x[i] + h * total


@inlined
def new_step_size(state, error):
    """(10), within the limits on the change."""
    wanted = state.safety * error**-state.power if error > 0.0 else np.inf
    return state.h * max(state.max_shrink, min(state.max_growth, wanted))


@device
def finish_step(state, ports, la, buffer, scan, h_new, missed, farthest):
    """With the new point complete in `next`: accept it if drift allows. Returns GO_ON or a `Status`."""
    drift = core.drifted(state)
    if drift > 0.0 and core.may_shrink(state):
        return core.reject(state, DRIFTED, abs(state.h) * max(state.max_shrink, 0.9 * drift**-state.power))
    outcome, jump, inner = set_polynomial(state, ports, la)
    if outcome == STOPPED:
        return Status.PORT_FAILED
    if state.blind == 1 and jump > farthest and core.may_shrink(state):
        return core.reject(state, Outcome.INACCURATE, abs(state.h) * max(state.max_shrink, 0.9 * farthest / jump))
    nodes = set_multipliers(state, inner)
    if state.multiplier_limit > 0.0 and nodes > 2:
        # what is held changes no velocity, however its multipliers move: no other estimate sees that
        far = missed_by_multipliers(state, nodes)
        least = SHORTEST * max(abs(state.t), abs(state.t_end))
        wanted = abs(state.h) * max(state.max_shrink, 0.9 * far ** (-1.0 / nodes)) if far > 0.0 else np.inf
        if far > 1.0 and core.may_shrink(state) and abs(state.h) > least:
            return core.reject(state, Outcome.INACCURATE, min(wanted, 0.9 * abs(state.h)))
        h_new = np.sign(state.h) * min(abs(h_new), max(wanted, least))
    remember(state)
    if missed or drift > 0.0:
        state.forced += 1
    if state.rejected == 1:
        h_new = np.sign(state.h) * min(abs(h_new), abs(state.h))
    core.commit(state, buffer)
    code = look_for_events(state, ports, scan)
    # choose the next step before returning, so that a call can simply go on
    if state.t != state.t_end:
        limit_step(state, h_new)
    return code
