"""Options of the kernel, and the step controller: what follows a step that was accepted, rejected or failed."""

from typing import NamedTuple

from dalembert.compile.kernel import device
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.differences import ESTIMATED, differences_at
from dalembert.solvers.records import f8, i8, record
from dalembert.solvers.status import Count


class Control(NamedTuple):
    """Options of the stage solver and the step controller."""

    newton_limit: f8  # convergence test
    max_iterations: i8
    safety: f8
    max_growth: f8
    max_shrink: f8
    keep_low: f8  # keep step and factors if h_new / h lies between these two
    keep_high: f8
    jacobian_rate: f8  # keep the Jacobian if Newton converged faster than this
    unit: f8  # rounding unit
    predictive: i8
    extrapolate: i8
    matrix_at: i8  # 0: the Jacobian is taken at the current point; 1, 2, 3: at that extrapolated stage
    updates: i8  # new Jacobians allowed within one Newton iteration
    corrections: i8  # of the constraints at an accepted point, at most
    corrected: f8  # and only until no more than this is left of their residuals
    correct_anew: i8  # with the Jacobian of that point
    max_step: f8
    max_steps: i8


control_type = record(Control)


@device
def limit_step(state, control, h_new):
    """Bound the next step by max_step and the end of the interval; sets `last`."""
    direction = 1.0 if state.t_end >= state.t else -1.0
    h_new = direction * min(abs(h_new), control.max_step)
    state.last = 0
    if (state.t + 1.0001 * h_new - state.t_end) * direction >= 0.0:
        h_new = state.t_end - state.t
        state.last = 1
    return h_new


@device
def reject(state):
    """Repeat the step with the smaller h that has been set; with a new Jacobian unless it was computed right here."""
    state.rejected = 1
    state.last = 0
    state.need_factors = 1
    if state.jacobian_is_here == 0:
        state.need_jacobian = 1


@device
def shrink_after_failure(state, factor):
    """A smaller step after a failed iteration."""
    state.h *= factor
    state.convergence_failed = 1
    add(state, Count.CONVERGENCE_REJECTIONS, 1)
    reject(state)
    if differences_at(state.differences).kind == ESTIMATED:
        state.look_again = 1
        state.need_jacobian = 1


@device
def new_step_size(state, control, error):
    """The controller: the step size that the error asks for, classical or with Gustafsson's prediction."""
    h, limit = state.h, 2 * control.max_iterations
    factor = min(control.safety, control.safety * (1 + limit) / (state.iterations + limit))
    low, high = 1.0 / control.max_growth, 1.0 / control.max_shrink
    quotient = max(low, min(high, error**0.25 / factor))
    if error < 1.0 and control.predictive == 1:
        if state.first == 0:
            predicted = (state.h_accepted / h) * (error * error / state.error_accepted) ** 0.25 / control.safety
            quotient = max(quotient, max(low, min(high, predicted)))
        state.h_accepted = h
        state.error_accepted = max(1e-2, error)
    return h / quotient


@device
def choose_next_step(state, control, h_new):
    """After an accepted step: keep step size, factors and Jacobian if that is worthwhile."""
    h = state.h_old
    keep_jacobian = state.rate <= control.jacobian_rate
    keep = keep_jacobian and control.keep_low <= h_new / h <= control.keep_high
    state.h = limit_step(state, control, h if keep else h_new)
    if state.h != h:
        state.need_factors = 1
    if not keep_jacobian:
        state.need_jacobian = 1
