"""What Runge-Kutta methods on the descriptor form do after their stages: judge a step, arrive, choose the next."""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import vec
from dalembert.solvers.attempts import UNSCALED, note_error
from dalembert.solvers.half import core
from dalembert.solvers.half.core import DRIFTED, FINE, STOPPED
from dalembert.solvers.half.interpolation import set_polynomial
from dalembert.solvers.half.loop import stepping_kernel
from dalembert.solvers.shell import limit_step, look_for_events
from dalembert.solvers.status import Outcome, Status

#: the error of a step is proportional to its size to the fifth
POWER = 0.2


def runge_kutta_kernel(layout, name, take_stages, error_norm):
    """The kernel of a method that differs from others by its stages and by its error estimate."""

    @device
    def step(state, ports, la, buffer, scan):
        outcome = take_stages(state, ports, la)
        error = error_norm(state) if outcome == FINE else 0.0
        return finish_step(state, ports, la, buffer, scan, outcome, error)

    return stepping_kernel(layout, name, core.begin_or_fail, step)


@device
def combine(state, K, row, count, first, last, out):
    """out = y + h Σ_{j < count} a_j K_j for the components first … last − 1."""
    x, h = vec(state.x, state.n), state.h
    for i in range(first, last):
        out[i] = 0.0
    for j in range(count):
        a = row[j]
        if a != 0.0:
            for i in range(first, last):
                out[i] += a * K[j, i]
    for i in range(first, last):
        out[i] = x[i] + h * out[i]


@device
def new_step_size(state, error):
    """(10), within the limits on the change."""
    wanted = state.safety * error**-POWER if error > 0.0 else np.inf
    return state.h * max(state.max_shrink, min(state.max_growth, wanted))


@device
def finish_step(state, ports, la, buffer, scan, outcome, error):
    """With the result of the stages in `next` and their error. Returns GO_ON or a `Status`."""
    if outcome != FINE:
        return core.give_up(state, outcome)
    if not np.isfinite(error):
        return core.give_up(state, core.CANNOT_EVALUATE)
    note_error(state, error, state.error, UNSCALED, state.n_d)
    h_new = new_step_size(state, error)
    missed = error > 1.0
    if missed and core.may_shrink(state):
        return core.reject(state, Outcome.INACCURATE, min(abs(h_new), 0.9 * abs(state.h)))
    core.copy(state.next, state.raw, state.n_p)
    outcome = core.arrive(state, ports, la, core.time_at(state, 1.0))
    if outcome != FINE:
        return core.give_up(state, outcome)
    drift = core.drifted(state)
    if drift > 0.0 and core.may_shrink(state):
        return core.reject(state, DRIFTED, abs(state.h) * max(state.max_shrink, 0.9 * drift**-POWER))
    if missed or drift > 0.0:
        state.forced += 1
    if set_polynomial(state, ports, la) == STOPPED:
        return Status.PORT_FAILED
    if state.rejected == 1:
        h_new = np.sign(state.h) * min(abs(h_new), abs(state.h))
    core.commit(state, buffer)
    code = look_for_events(state, ports, scan)
    # choose the next step before returning, so that a call can simply go on
    if state.t != state.t_end:
        limit_step(state, h_new)
    return code
