"""The kernel of the Radau IIA methods for F(t, x, x') = 0: the loop over steps.

A step has stages (`stages.py`), found by Newton's method (`newton.py`), an error estimate (`error_estimate.py`) and a
controller (`control.py`); its end may be moved onto the constraints. Newton's increments solve (σ E − J) ΔW = R for one
real and one complex σ. How that is done is the business of a *linear algebra*: kernels, whose addresses stand at
the beginning of its record (`LINEAR_ALGEBRA` in `state.py`), so that the loop is compiled once for all. `dense.py`
takes as many equations as unknowns, `projected.py` and `partitioned.py` more.

    decompose(la, state) -> bool       take the Jacobian in la.nonzeros; False if constraints lose rank
    prepare(la, γ/h, α/h, β/h) -> bool  factor for these σ; False if singular
    solve_stages(la, R, D)             three columns: σ = γ/h, and real and imaginary part of σ = (α + iβ)/h
    solve_real(la, R, out)             one vector, σ = γ/h
    correct(la, F, out) -> bool        correction of constraints alone at an accepted point; False if there is none
    settle(la, F, x)                   solve for the smallest multipliers where F and the Jacobian in la.nonzeros belong
                                       to; says whether the decomposed one was good enough (`redundant.py`)

Step control follows Hairer and Wanner [1]_, with the predictive controller of Gustafsson.

References
----------
.. [1] E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., sections IV.8 and VII.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import call3, device, kernel
from dalembert.compile.memory import ivec, mat, reference, vec
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.buffer import buffer_type
from dalembert.solvers.events import scan_type
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.ports import evaluate, ports_type
from dalembert.solvers.radau.control import after_failure, choose_next_step, control_type, new_step_size
from dalembert.solvers.radau.error_estimate import estimate_error
from dalembert.solvers.radau.newton import (
    choose_matrix_point,
    new_factors,
    new_jacobian,
    newton,
)
from dalembert.solvers.radau.redundant import settle_multipliers
from dalembert.solvers.radau.stages import predict_stages, set_polynomial, set_stage
from dalembert.solvers.radau.state import N_COEFFICIENTS, STATE, algebra_at, set_scale
from dalembert.solvers.records import i8
from dalembert.solvers.shell import (
    FINE,
    commit,
    keep_polynomial,
    look_for_events,
    open_step,
    step_too_small,
    why_to_return,
)
from dalembert.solvers.status import GO_ON, Count, Outcome, Status

#: steps of which a tenth is lost in the rounding of t are too small
SMALLEST_PART = 0.1
#: what a correction of the constraints with an old Jacobian is taken to leave of itself
OLD_CONTRACTION = 0.2
#: if more than this is left, the old Jacobian is too old
TOO_LITTLE = 0.5


@device
def largest_algebraic(state, k):
    """The largest residual of an algebraic equation in F_k."""
    algebraic, F, largest = ivec(state.algebraic, state.m), mat(state.F, 3, state.m), 0.0
    for i in range(state.m):
        if algebraic[i] == 1:
            largest = max(largest, abs(F[k, i]))
    return largest


@device
def correct_constraints(la, ports, state, control, fresh):
    """Move the end of the step, Z_3, onto the constraints. Functions that fail here leave it as it is.

    With the Jacobian of that point (`fresh`) one correction is nearly exact; with an older one they are repeated until
    the residuals are small. An old one may also lead away: the gradient of an energy changes its sign within a few
    steps. Then there is a new one. Returns whether the Jacobian is that of the point now, 1 or 0.
    """
    n, Z, F, correction = state.n, mat(state.Z, state.n, 3), mat(state.F, 3, state.m), vec(state.correction, state.n)
    stage, known, rate = vec(state.stage, 2 * n), vec(state.F_here, state.m), vec(state.rate_here, n)
    state.have_here = 0
    before = np.inf
    for _ in range(control.corrections):
        t = set_stage(state, 2)
        if evaluate(ports.residual, ports, t, vec(state.stage, 2 * n), F[0]) != 0:
            return fresh
        add(state, Count.RHS, 1)
        left = largest_algebraic(state, 0)
        if fresh == 0 and control.correct_anew == 1 and left > max(TOO_LITTLE * before, control.corrected):
            state.jacobian_is_here = 0
            if new_jacobian(la, ports, state, t) != FINE:
                state.need_jacobian = 1
                return 0
            fresh = 1
        before = left
        if call3(la.correct, la.own, state.F, state.correction) == 0:
            return fresh
        for i in range(n):
            Z[i, 2] += correction[i]
            rate[i] = stage[n + i]
        for i in range(state.m):
            known[i] = F[0, i]
        state.have_here = 1
        if fresh == 1 or OLD_CONTRACTION * left <= control.corrected:
            return fresh
    return fresh


@device
def accept(state, buffer):
    """Advance to the end of the step and put it into the buffer."""
    n = state.n
    set_stage(state, 2)
    set_polynomial(state)
    x, x_dot, stage = vec(state.x, n), vec(state.x_dot, n), vec(state.stage, 2 * n)
    c = mat(state.coefficients, N_COEFFICIENTS, n)
    for i in range(n):
        x[i] = c[0, i]
        x_dot[i] = stage[n + i]
    keep_polynomial(state, buffer)
    commit(state, state.h, buffer)
    state.have_history = 1
    state.first = 0
    state.rejected = 0


@device
def try_step(la, ports, state, control):
    """Matrices, stages and error estimate. Returns an outcome, and the step size that the error asks for, if known.

    FINE: the error is small enough. INACCURATE: it is not. CANNOT_START: the Jacobian cannot be evaluated at the
    current point. CANNOT_EVALUATE, STOPPED, RANK_LOST, SINGULAR, DIVERGED, SLOW: see `Outcome`.
    """
    if state.need_jacobian == 1:
        outcome = new_jacobian(la, ports, state, choose_matrix_point(state, control))
        if outcome == Outcome.CANNOT_EVALUATE and state.jacobian_is_here == 1:
            return i8(Outcome.CANNOT_START), 0.0
        if outcome != FINE:  # a predicted point may lie outside of a function's domain
            return i8(outcome), 0.0
    if state.need_factors == 1 and not new_factors(la, state):
        return i8(Outcome.SINGULAR), 0.0
    set_scale(state)
    predict_stages(state, control)
    outcome = newton(la, ports, state, control)
    if outcome != FINE:
        return i8(outcome), 0.0
    outcome, error = estimate_error(la, ports, state)
    if outcome != FINE:
        return i8(outcome), 0.0
    h_new = new_step_size(state, control, error)
    return i8(Outcome.INACCURATE if error >= 1.0 else FINE), h_new


@kernel(i8(nb.uint64, ports_type, reference(STATE), control_type, buffer_type, scan_type))
def radau(algebra, ports, states, control, buffer, scan):
    """Take steps until the end, a full buffer, an event or a failure. Returns a `Status`."""
    la, state = algebra_at(algebra), states[0]
    while True:
        code = why_to_return(state, buffer)
        if code != GO_ON:
            return code
        if step_too_small(state, SMALLEST_PART, control.unit):
            return Status.STEP_TOO_SMALL
        open_step(state, 0)
        outcome, h_new = try_step(la, ports, state, control)
        fresh = 0
        anew = control.correct_anew == 1 and control.matrix_at == 0 and state.rate > control.jacobian_rate
        if outcome == FINE and anew:
            # the next step needs a Jacobian at this point anyway: with it one correction is nearly exact
            state.jacobian_is_here = 0
            outcome = new_jacobian(la, ports, state, set_stage(state, 2))
            fresh = 1
        corrected = False
        if outcome == FINE and state.redundant == 1 and la.settle != 0:
            correct_constraints(la, ports, state, control, fresh)  # redundant is what is so on the constraints
            outcome, allowed = settle_multipliers(la, ports, state)
            h_new = np.sign(state.h) * min(abs(h_new), allowed)
            if outcome == FINE:
                correct_constraints(la, ports, state, control, 1)
            corrected = True
            if control.matrix_at == 0:
                fresh = 1
            else:
                state.need_jacobian = 1
            if outcome != FINE:
                state.have_here = 0
        if outcome != FINE:
            code = after_failure(state, outcome, h_new)
            if code != GO_ON:
                return code
            continue
        if state.rejected == 1:
            h_new = np.sign(state.h) * min(abs(h_new), abs(state.h))
        if control.corrections > 0:
            enter(state, Phase.PROJECTION)
        if not corrected:
            fresh = correct_constraints(la, ports, state, control, fresh)
            if fresh == 1 and control.matrix_at != 0:
                state.need_jacobian = 1
        enter(state, Phase.DENSE_OUTPUT)
        accept(state, buffer)
        state.jacobian_is_here = fresh
        code = look_for_events(state, ports, scan)
        # choose the next step before returning, so that a call can simply go on
        if state.t != state.t_end:
            choose_next_step(state, control, h_new)
            if fresh == 1:
                state.need_jacobian = 0
        if code != GO_ON:
            return code
