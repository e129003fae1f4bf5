"""Backward differentiation formulas with fixed leading coefficient: predictor, corrector, error test, order and step.

The past is kept as modified divided differences φ_1, φ_2, … of the last points; with k the order,

    predictor  x⁰ = Σ φ_j,  x'⁰ = Σ γ_j φ_j  (j = 1 … k + 1),      corrector  F(t, x, x'⁰ + c (x − x⁰)) = 0,  c = α_s/h.

Newton's increments solve (c E − J) Δ = F with a matrix that is kept over many steps; while it belongs to another c the
increments are scaled by 2/(1 + c/c_old). All constants are those of DASSL [1]_.

The linear systems are the business of a *linear algebra*: three kernels, whose addresses stand at the beginning of its
record (`LINEAR_ALGEBRA`):

    decompose(la, state) -> bool   take the Jacobian in la.nonzeros
    prepare(la, c, 0, 0) -> bool   factor c E − J; False if singular
    solve(la, R, out)              R is indexed by equations, of which there may be more than variables

References
----------
.. [1] K.E. Brenan, S.L. Campbell, L.R. Petzold, "Numerical Solution of Initial-Value Problems in Differential-Algebraic
   Equations", 2nd ed., SIAM, 1996.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import call1, call2, call3, call_port, call_reals3, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, reference, vec
from dalembert.solvers import shell
from dalembert.solvers.attempts import note_contraction, note_error
from dalembert.solvers.bookkeeping import add, keep_failed
from dalembert.solvers.buffer import buffer_type
from dalembert.solvers.differences import ESTIMATED, EXACT, differences_at
from dalembert.solvers.events import scan_type
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.ports import ports_type, set_inputs
from dalembert.solvers.records import i8
from dalembert.solvers.shell import (
    FINE,
    commit,
    fail,
    keep_polynomial,
    limit_step,
    look_for_events,
    open_step,
    scaled_norm,
    step_too_small,
    why_to_return,
)
from dalembert.solvers.status import GO_ON, N_COUNTS, Count, Outcome, Status

MAX_ORDER = 5
EXCLUDED = 2  # of `weighted`
ROWS = MAX_ORDER + 2  # differences that an order increase to MAX_ORDER needs

NEW_CONTRACTION = 100.0  # what a new matrix is taken to need: practically two iterations
SLOWEST = 0.9  # rate of convergence
SLOW = 0.25  # contraction beyond which a kept Jacobian is replaced
AGEING = 2.0  # a matrix contracts less from step to step; how much, is known again after a second iteration
FAILURE_SHRINK = 0.25  # factor on the step size where nothing better is known
SMALLEST_PART = 0.25  # steps of which this part is lost in the rounding of t are too small

#: part of the tolerance that a solution may be off when a Jacobian by differences is tested; and a number to vary it by
NEGLIGIBLE, GOLDEN = 0.1, 0.6180339887498949

NEW, FULL = 1, 2  # what may be needed: a new Jacobian; one of which every column is looked at

STATE = layout(
    arrays=[
        *shell.ARRAYS,
        "phi",  # (ROWS, n): modified divided differences
        "psi", "alpha", "beta", "sigma", "gamma",  # coefficients of the formula, ROWS each
        "power",  # coefficients of a polynomial
        "index",
        "scale", "newton_scale",  # of the error test and of Newton's method
        "error",  # x − x⁰
        "F", "increment",
        "near", "F_near",  # (2 n), (m): a point near that of the corrector, and its residual
        "stage",  # (2 n): x and x' of the corrector
        "predicted",  # (2 n)
        "work",
        "failed",  # (2 n): the point at which a function could not be evaluated
        "differences",  # a record of `solvers.differences`, by address: how to get the Jacobian
    ],
    reals=[
        *shell.REALS, "c", "c_last", "c_matrix", "error_constant", "contraction", "failed_t",
        "predicted_norm", "newton_limit", "range", "unit", "time_unit",
    ],
    wholes=[
        *shell.WHOLES, "m", "n_nonzeros", "n_error", "max_order", "max_iterations",
        "weighted",  # errors of variables of index 2 and 3: 0 as all others, 1 by h and h², 2 not at all
        # cleared at every start:
        *shell.FLAGS,
        "order", "order_old", "steady", "starting", "need_jacobian", "need_matrix", "iterations",
        "tested",  # a solution by a matrix from differences has been seen to be one
        "patience",  # steps after an error failure before the step size may grow: first the order is looked at
    ],
)  # fmt: skip
FLAGS = STATE.names[STATE.names.index(shell.FLAGS[0]) :]
state_at = member(STATE)

#: the fields with which the record of every linear algebra begins; cost: floating-point operations of decompose,
#: prepare, solve
LINEAR_ALGEBRA = ("decompose", "prepare", "solve", "nonzeros", "cost", "own", "state")
algebra_at = member(layout(arrays=LINEAR_ALGEBRA))


def new_state(n: int, m: int, index: np.ndarray, n_nonzeros: int, max_order: int) -> Memory:
    """Work space for n unknowns of the given indices and m equations."""
    vectors = ("x", "x_dot", "atol", "rtol", "weight", "scale", "newton_scale", "error", "increment", "work")
    scalars = {name: 0 for name in STATE.names if STATE[name] != np.uint64}
    sizes = {"n": n, "m": m, "n_nonzeros": n_nonzeros, "max_order": max_order, "n_coefficients": max_order + 1}
    return Memory(
        STATE,
        {
            **{name: np.zeros(n) for name in vectors},
            **{name: np.zeros(2 * n) for name in ("stage", "predicted", "failed", "near")},
            **{name: np.zeros(ROWS) for name in ("psi", "alpha", "beta", "sigma", "gamma", "power")},
            "phi": np.zeros((ROWS, n)), "coefficients": np.zeros((max_order + 1, n)), "F": np.zeros(m),
            "F_near": np.zeros(m),
            "count": np.zeros(N_COUNTS, np.int64), "differences": 0, "monitor": 0, "trace": 0,
            "index": np.ascontiguousarray(index, np.int64),
            **scalars, **sizes,
        },
    )  # fmt: skip


# -- scales ------------------------------------------------------------------------------------------------------------


@device
def set_scales(state):
    """Newton's increments of variables of index 2 and 3 are weighted by h and h², told in the tolerances' unit of time;
    their errors as told."""
    n, h = state.n, abs(state.h) / state.time_unit
    index, weight = ivec(state.index, n), vec(state.weight, n)
    scale, newton_scale = vec(state.scale, n), vec(state.newton_scale, n)
    weighted, h2 = state.weighted, h * h
    for i in range(n):  # without branches
        plain = 1.0 / weight[i]
        by_index = 1.0 if index[i] == 1 or weighted == 0 else (h if index[i] == 2 else h2)
        newton_scale[i] = plain * by_index
        scale[i] = 0.0 if index[i] != 1 and weighted == EXCLUDED else plain * by_index


# -- the formula -------------------------------------------------------------------------------------------------------


@device
def set_formula(state):
    """Coefficients for step size h and order k, and the differences brought to them."""
    k, h, n = state.order, state.h, state.n
    psi, alpha, beta = vec(state.psi, ROWS), vec(state.alpha, ROWS), vec(state.beta, ROWS)
    sigma, gamma, phi = vec(state.sigma, ROWS), vec(state.gamma, ROWS), mat(state.phi, ROWS, n)
    if state.h_old == 0.0 and h != psi[0]:
        # before the first step there is no past: the one difference is that of the step to be taken, whatever was tried
        # before it. Otherwise its error would be divided by the longer one.
        for i in range(n):
            phi[1, i] *= h / psi[0]
        psi[0] = h
    if h != state.h_old or k != state.order_old:
        state.steady = 0
    state.steady = min(state.steady + 1, state.order_old + 2)
    if k + 1 >= state.steady:
        beta[0], alpha[0], gamma[0], sigma[0] = 1.0, 1.0, 0.0, 1.0
        ahead = h
        for i in range(1, k + 1):
            before = psi[i - 1]
            psi[i - 1] = ahead
            beta[i] = beta[i - 1] * ahead / before
            ahead = before + h
            alpha[i] = h / ahead
            sigma[i] = i * sigma[i - 1] * alpha[i]
            gamma[i] = gamma[i - 1] + alpha[i - 1] / h
        psi[k] = ahead
    alpha_s, alpha_0 = 0.0, 0.0
    for i in range(k):
        alpha_s -= 1.0 / (i + 1)
        alpha_0 -= alpha[i]
    state.c_last = state.c
    state.c = -alpha_s / h
    state.error_constant = max(abs(alpha[k] + alpha_s - alpha_0), alpha[k])
    for j in range(state.steady, k + 1):
        factor = beta[j]
        for i in range(n):
            phi[j, i] *= factor


@device
def undo_formula(state):
    """Bring differences and ψ back to where they were before the attempt."""
    k, n = state.order, state.n
    psi, beta, phi = vec(state.psi, ROWS), vec(state.beta, ROWS), mat(state.phi, ROWS, n)
    for j in range(state.steady, k + 1):
        factor = 1.0 / beta[j]
        for i in range(n):
            phi[j, i] *= factor
    for i in range(1, k + 1):
        psi[i - 1] = psi[i] - state.h


@device
def predict(state):
    """x⁰ and x'⁰."""
    n, k = state.n, state.order
    phi, gamma, predicted = mat(state.phi, ROWS, n), vec(state.gamma, ROWS), vec(state.predicted, 2 * n)
    for i in range(n):
        predicted[i] = phi[0, i]
        predicted[n + i] = 0.0
    for j in range(1, k + 1):
        g = gamma[j]
        for i in range(n):
            predicted[i] += phi[j, i]
            predicted[n + i] += g * phi[j, i]
    state.predicted_norm = scaled_norm(predicted, vec(state.newton_scale, n), n, n)


# -- the corrector -----------------------------------------------------------------------------------------------------


@device
def to_prediction(state):
    n = state.n
    stage, predicted, error = vec(state.stage, 2 * n), vec(state.predicted, 2 * n), vec(state.error, n)
    for i in range(2 * n):
        stage[i] = predicted[i]
    for i in range(n):
        error[i] = 0.0


@device
def new_matrix(la, ports, state, t):
    """Jacobian at the predicted point, and its factors for the current c.

    Returns FINE, CANNOT_EVALUATE, STOPPED, RANK_LOST or SINGULAR.
    The inputs in θ belong to time t already.
    """
    d = differences_at(state.differences)
    before, d.t, d.c = d.evaluations, t, state.c
    if state.need_jacobian == 0:
        answer = call1(d.refresh, state.differences)
        add(state, Count.UPDATES, 1)
    else:
        if d.kind == EXACT:
            answer = i8(call_port(ports.jacobian, t, state.stage, ports.theta.ctypes.data, la.nonzeros))
        else:
            d.full = 1 if state.need_jacobian == FULL else 0
            answer = call1(d.renew, state.differences)
        add(state, Count.JACOBIAN, 1)
    add(state, Count.DIFFERENCES, d.evaluations - before)
    if answer != 0:
        keep_failed(state, t)
        return answer
    cost = ivec(la.cost, 3)
    add(state, Count.FLOPS, cost[0] + cost[1])
    if call2(la.decompose, la.own, la.state) == 0:
        return Outcome.RANK_LOST
    add(state, Count.DECOMPOSITIONS, 1)
    if call_reals3(la.prepare, la.own, state.c, 0.0, 0.0) == 0:
        return Outcome.SINGULAR
    state.need_jacobian = 0
    state.need_matrix = 0
    # of more equations than variables not all need hold: there is nothing to be tested
    state.tested = 1 if d.kind == EXACT or state.m > state.n else 0
    state.c_matrix = state.c
    state.contraction = NEW_CONTRACTION
    return FINE


@device
def solved(ports, state, t):
    """Whether the residual in F, that of `stage`, is less than what a small part of the tolerance makes of it.

    A matrix that is far too large, from differences across a jump, has increments that are far too small: they seem to
    converge at once. Returns 1 for yes, also if the residual cannot be evaluated near by, 0 for no, −STOPPED.
    """
    n, m, c = state.n, state.m, state.c
    stage, near, F = vec(state.stage, 2 * n), vec(state.near, 2 * n), vec(state.F, m)
    other, scale = vec(state.F_near, m), vec(state.newton_scale, n)
    place = 0.5
    for i in range(n):
        place = (place + GOLDEN) % 1.0  # no two variables by the same amount: differences of them shall not vanish
        change = (0.5 + place) * max(NEGLIGIBLE / scale[i], 100.0 * state.unit * abs(stage[i]))
        near[i] = stage[i] + change
        near[n + i] = stage[n + i] + c * change
    answer = call_port(ports.residual, t, state.near, ports.theta.ctypes.data, state.F_near)
    add(state, Count.RHS, 1)
    if answer != 0:
        return -i8(Outcome.STOPPED) if answer == Outcome.STOPPED else 1
    for k in range(m):
        if not abs(F[k]) <= abs(other[k] - F[k]):
            return 0
    return 1


@device
def iterate(la, ports, state, t):
    """Newton's method with one matrix. Returns FINE, DIVERGED, CANNOT_EVALUATE or STOPPED."""
    n, c = state.n, state.c
    stage, error, increment = vec(state.stage, 2 * n), vec(state.error, n), vec(state.increment, n)
    scale, F, theta, cost = vec(state.newton_scale, n), vec(state.F, state.m), ports.theta, ivec(la.cost, 3)
    factor = 2.0 / (1.0 + c / state.c_matrix)
    first, converged = 0.0, False
    for iteration in range(state.max_iterations + 1 - state.tested):
        answer = call_port(ports.residual, t, stage.ctypes.data, theta.ctypes.data, F.ctypes.data)
        if answer != 0:
            keep_failed(state, t)
            return i8(answer)
        add(state, Count.RHS, 1)
        if converged:
            answer = solved(ports, state, t)
            if answer == 1:
                state.tested = 1
                return FINE
            if answer == -Outcome.STOPPED:
                keep_failed(state, t)
                return i8(Outcome.STOPPED)
        call3(la.solve, la.own, state.F, state.increment)
        add(state, Count.BACK_SUBSTITUTIONS, 1)
        add(state, Count.FLOPS, cost[2])
        for i in range(n):
            d = factor * increment[i]
            increment[i] = d
            error[i] += d
            stage[i] += d
            stage[n + i] += c * d
        total = 0.0
        for i in range(n):  # apart: sums have to wait for each other
            e = increment[i] * scale[i]
            total += e * e
        size = np.sqrt(total / n)
        state.iterations = iteration + 1
        if not np.isfinite(size):
            return Outcome.DIVERGED
        converged = size <= 100.0 * state.unit * state.predicted_norm
        if converged and (state.tested == 1 or size == 0.0):
            return FINE
        if iteration == 0:
            first = size
            state.contraction *= AGEING
        else:
            rate = (size / first) ** (1.0 / iteration)
            note_contraction(state, rate)
            if rate > SLOWEST:
                return Outcome.DIVERGED
            state.contraction = rate / (1.0 - rate)
        converged = converged or state.contraction * size <= state.newton_limit
        if converged and state.tested == 1:
            return FINE
    return Outcome.DIVERGED


@device
def correct(la, ports, state, t):
    """Solve for the new point, with a new matrix if the old one belongs to another c or does not lead there.

    Returns what `new_matrix` and `iterate` do.
    """
    to_prediction(state)
    answer = set_inputs(ports, t, vec(state.stage, state.n))
    if answer != 0:
        keep_failed(state, t)
        return i8(answer)
    low = (1.0 - state.range) / (1.0 + state.range)
    d = differences_at(state.differences)
    if state.need_jacobian == 0 and not low <= state.c / state.c_matrix <= 1.0 / low:
        state.need_matrix = 1
        state.need_jacobian = 1 - d.partitioned
    if state.c != state.c_last:
        state.contraction = NEW_CONTRACTION
    fresh = state.need_jacobian
    while True:
        if state.need_jacobian != 0 or state.need_matrix == 1:
            outcome = new_matrix(la, ports, state, t)
            if outcome != FINE:
                return outcome
        outcome = iterate(la, ports, state, t)
        if outcome != Outcome.DIVERGED or fresh == (FULL if d.kind == ESTIMATED else NEW):
            if d.partitioned == 1 and fresh == 0 and state.iterations > 1 and state.contraction > SLOW:
                state.need_jacobian = NEW  # for the next step
            return outcome
        # an old Jacobian is replaced; if a new one does not lead there, its pattern may be too small
        fresh += 1
        state.need_jacobian = fresh
        to_prediction(state)


# -- order and step size -----------------------------------------------------------------------------------------------


@device
def lower_orders(state, size):
    """Estimates for the orders k, k − 1: the order to go on with, its error, and the terms that compare k and k − 1."""
    n, k = state.n, state.order
    sigma, phi, error = vec(state.sigma, ROWS), mat(state.phi, ROWS, n), vec(state.error, n)
    work, scale = vec(state.work, n), vec(state.scale, n)
    here = sigma[k] * size
    term = (k + 1) * here
    if k == 1:
        return 1, here, term, np.inf, here
    for i in range(n):
        work[i] = phi[k, i] + error[i]
    below = sigma[k - 1] * scaled_norm(work, scale, n, state.n_error)
    term_below = k * below
    if k == 2:
        lower = term_below <= 0.5 * term
    else:
        for i in range(n):
            work[i] += phi[k - 1, i]
        further = sigma[k - 2] * scaled_norm(work, scale, n, state.n_error) * (k - 1)
        lower = max(term_below, further) <= term
    return (k - 1 if lower else k), (below if lower else here), term, term_below, below


@device
def next_order_and_step(state, wanted, estimate, term, term_below, below, raised, steady):
    """After an accepted step of order k: raise, keep or lower the order, and the step size it asks for."""
    n, k, h = state.n, state.order, state.h
    if wanted == k - 1 or k == state.max_order:
        state.starting = 0
    if state.starting == 1:
        state.order = k + 1
        state.h = 2.0 * h
        return
    if wanted == k - 1:
        state.order = k - 1
        estimate = below
    elif k < state.max_order and k + 1 < steady and not raised:
        work, phi, error = vec(state.work, n), mat(state.phi, ROWS, n), vec(state.error, n)
        for i in range(n):
            work[i] = error[i] - phi[k + 1, i]
        above = scaled_norm(work, vec(state.scale, n), n, state.n_error) / (k + 2)
        term_above = (k + 2) * above
        if k == 1:
            if term_above < 0.5 * term:
                state.order = 2
                estimate = above
        elif term_below <= min(term, term_above):
            state.order = k - 1
            estimate = below
        elif term_above < term:
            state.order = k + 1
            estimate = above
    ratio = (2.0 * estimate + 1e-4) ** (-1.0 / (state.order + 1))
    if ratio >= 2.0:
        if state.patience == 0:
            state.h = 2.0 * h
    elif ratio <= 1.0:
        state.h = h * max(0.5, min(0.9, ratio))


@device
def after_failure(state, outcome, wanted, estimate):
    """Order and step size for the next attempt; `wanted` and `estimate` are those of `lower_orders` if the error is too
    large. Returns GO_ON, or a `Status` if the run ends."""
    if outcome != Outcome.STOPPED and outcome != Outcome.RANK_LOST:
        undo_formula(state)
    code = fail(state, outcome)
    if code != GO_ON:
        return code
    state.starting = 0
    if outcome != Outcome.INACCURATE:
        state.need_jacobian = NEW
        state.h *= FAILURE_SHRINK
        return GO_ON
    if state.error_failures == 1:
        state.order = wanted
        ratio = 0.9 * (2.0 * estimate + 1e-4) ** (-1.0 / (wanted + 1))
        state.h *= max(0.25, min(0.9, ratio))
    else:
        state.order = wanted if state.error_failures == 2 else 1
        state.h *= FAILURE_SHRINK
    state.patience = state.order + 1
    return GO_ON


@device
def update_differences(state, k):
    """The differences of order k with the new point."""
    n = state.n
    phi, error = mat(state.phi, ROWS, n), vec(state.error, n)
    if k < state.max_order:
        for i in range(n):
            phi[k + 1, i] = error[i]
    for i in range(n):
        phi[k, i] += error[i]
    for j in range(k - 1, -1, -1):
        for i in range(n):
            phi[j, i] += phi[j + 1, i]


@device
def set_polynomial(state, k, h):
    """The polynomial of degree k through the last k + 1 points, in powers of s = (t − t_new)/h."""
    n, rows = state.n, state.n_coefficients
    c, phi = mat(state.coefficients, rows, n), mat(state.phi, ROWS, n)
    psi, power = vec(state.psi, ROWS), vec(state.power, ROWS)
    for d in range(rows):
        power[d] = 0.0
        for i in range(n):
            c[d, i] = 0.0
    power[0] = 1.0
    for i in range(n):
        c[0, i] = phi[0, i]
    for j in range(1, k + 1):
        # times (s h + ψ_{j−1})/ψ_j, with ψ_0 = 0
        slope, shift = h / psi[j - 1], (psi[j - 2] / psi[j - 1] if j > 1 else 0.0)
        for d in range(j, 0, -1):
            power[d] = shift * power[d] + slope * power[d - 1]
        power[0] = shift * power[0]
        for d in range(1, j + 1):
            factor = power[d]
            for i in range(n):
                c[d, i] += factor * phi[j, i]


@device
def accept(state, buffer):
    """Advance to the end of the step and put it into the buffer."""
    n, k, h = state.n, state.order_old, state.h_old
    x, x_dot, stage, phi = vec(state.x, n), vec(state.x_dot, n), vec(state.stage, 2 * n), mat(state.phi, ROWS, n)
    for i in range(n):
        x[i] = phi[0, i]
        x_dot[i] = stage[n + i]
    set_polynomial(state, k, h)
    keep_polynomial(state, buffer)
    commit(state, h, buffer)
    state.patience = max(state.patience - 1, 0)


@kernel(i8(nb.uint64, ports_type, reference(STATE), buffer_type, scan_type))
def bdf(algebra, ports, states, buffer, scan):
    """Take steps until the end, a full buffer, an event or a failure. Returns a `Status`."""
    la, state = algebra_at(algebra), states[0]
    while True:
        code = why_to_return(state, buffer)
        if code != GO_ON:
            return code
        limit_step(state, state.h)
        if step_too_small(state, SMALLEST_PART, state.unit):
            return Status.STEP_TOO_SMALL
        open_step(state, state.order)
        set_formula(state)
        set_scales(state)
        predict(state)
        outcome = i8(correct(la, ports, state, state.t_end if state.last == 1 else state.t + state.h))
        wanted, estimate, term, term_below, below = 0, 0.0, 0.0, 0.0, 0.0
        if outcome == FINE:
            size = scaled_norm(vec(state.error, state.n), vec(state.scale, state.n), state.n, state.n_error)
            note_error(state, state.error_constant * size, state.error, state.scale, state.n)
            wanted, estimate, term, term_below, below = lower_orders(state, size)
            if not state.error_constant * size <= 1.0:
                outcome = i8(Outcome.INACCURATE)
        if outcome != FINE:
            code = after_failure(state, outcome, wanted, estimate)
            if code != GO_ON:
                return code
            continue
        enter(state, Phase.DENSE_OUTPUT)
        k, raised, steady = state.order, state.order > state.order_old, state.steady
        state.order_old = k
        state.h_old = state.h
        next_order_and_step(state, wanted, estimate, term, term_below, below, raised, steady)
        update_differences(state, k)
        accept(state, buffer)
        code = look_for_events(state, ports, scan)
        if code != GO_ON:
            return code
