"""Options of the kernel, and the step controller: what follows a step that was accepted, rejected or failed."""

from typing import NamedTuple

import numpy as np

from dalembert.compile.kernel import device
from dalembert.solvers.differences import ESTIMATED, differences_at
from dalembert.solvers.records import f8, i8, record
from dalembert.solvers.shell import fail, limit_step
from dalembert.solvers.status import GO_ON, Outcome

#: a step is shortened by this factor where nothing better is known
FAILURE_SHRINK = 0.5
#: the first step is only a guess
FIRST_SHRINK = 0.1
#: after Newton's method has failed, steps up to this part of the one it failed with are tried
BELOW_CEILING = 0.7
#: and with each accepted step so much more
CEILING_RISES = 1.03
#: after so many without another failure the ceiling is gone
FORGOTTEN = 20


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


control_type = record(Control)


@device
def after_failure(state, outcome, h_new):
    """Prepare another attempt, with a smaller step and with a new Jacobian unless it was computed right here.

    `h_new` is what the error asks for if it was too large. Returns GO_ON, or a `Status` if the run ends.
    """
    code = fail(state, outcome)
    if code != GO_ON:
        return code
    state.rejected = 1
    state.need_factors = 1
    if state.jacobian_is_here == 0:
        state.need_jacobian = 1
    if outcome == Outcome.INACCURATE:
        state.h = FIRST_SHRINK * state.h if state.first == 1 else h_new
        return GO_ON
    if outcome != Outcome.SLOW:  # else Newton's method has said how small the step must be
        state.h *= FAILURE_SHRINK
    state.convergence_failed = 1
    if differences_at(state.differences).kind == ESTIMATED:
        state.look_again = 1
        state.need_jacobian = 1
    return GO_ON


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
def below_ceiling(state, h, h_new):
    """The error does not tell how long a step Newton's method can take: where stiff springs turn, less than the error
    allows. What failed is approached anew by and by only."""
    state.ceiling *= CEILING_RISES
    highest = max(abs(h), BELOW_CEILING * state.ceiling)
    if state.since_failure > FORGOTTEN:
        state.ceiling = 0.0
    return h_new if abs(h_new) <= highest else np.sign(h_new) * highest


@device
def choose_next_step(state, control, h_new):
    """After an accepted step: keep step size, factors and Jacobian if that is worthwhile."""
    h = state.h_old
    state.since_failure += 1
    if state.ceiling > 0.0:
        h_new = below_ceiling(state, h, h_new)
    keep_jacobian = state.rate <= control.jacobian_rate
    keep = keep_jacobian and control.keep_low <= h_new / h <= control.keep_high
    limit_step(state, h if keep else h_new)
    if state.h != h:
        state.need_factors = 1
    if not keep_jacobian:
        state.need_jacobian = 1
