"""The Radau IIA stage solver: Newton's method, error estimate, step control, dense output, for F(t, x, x') = 0.

The stage values X_i = x + Z_i satisfy F(t_i, X_i, D_i) = 0 with D = (A⁻¹/h) Z. Newton's increments solve
(σ E − J) ΔW = R for one real and one complex σ. How that is done is the business of a *linear algebra*: five kernels,
whose addresses stand at the beginning of its record (`LINEAR_ALGEBRA`), so that one stage solver is compiled for all
(dense: `dense.py`; projected, with more equations than unknowns: `projected.py`):

    decompose(la, state) -> bool       take the Jacobian in la.nonzeros; False if constraints lose rank
    prepare(la, γ/h, α/h, β/h) -> bool  factor for these σ; False if singular
    solve_stages(la, R, D)             three columns: σ = γ/h, and real and imaginary part of σ = (α + iβ)/h
    solve_real(la, R, out)             one vector, σ = γ/h
    correct(la, F, out) -> bool        correction of constraints alone at an accepted point; False if there is none

Step control follows Hairer and Wanner [1]_, with the
predictive controller of Gustafsson.

References
----------
.. [1] E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., sections IV.8 and VII.
"""

from typing import NamedTuple

import numba as nb
import numpy as np

from dalembert.compile.kernel import call2, call3, call_port, call_reals3, device, kernel
from dalembert.compile.memory import Memory, ivec, layout, mat, member, reference, vec
from dalembert.solvers import status
from dalembert.solvers.buffer import buffer_type
from dalembert.solvers.differences import ESTIMATED, EXACT, differences_at, new_nonzeros
from dalembert.solvers.events import carry_over, scan_step, scan_type
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.ports import evaluate, ports_type, set_inputs
from dalembert.solvers.radau import tableau
from dalembert.solvers.records import f8, i8, record
from dalembert.solvers.status import N_COUNTS, Count

STOP = 2

#: steps below this overflow in the iteration matrix
SMALLEST = 1e-140
#: a first iteration is never trusted to leave less than this fraction of its increment as an error
FIRST_CONTRACTION = 1e-2
#: increments that stop decreasing below this fraction of the tolerance are rounding errors
NOISE = 0.03

#: what a correction of the constraints with an old Jacobian is taken to leave of itself
OLD_CONTRACTION = 0.2

# outcomes of Newton's method
CONVERGED, DIVERGED, SLOW, CANNOT_EVALUATE, STOPPED = range(5)

C = tuple(float(c) for c in tableau.C)
TI = tuple(tuple(float(v) for v in row) for row in tableau.T_INVERSE)
TM = tuple(tuple(float(v) for v in row) for row in tableau.T)
AI = tuple(tuple(float(v) for v in row) for row in tableau.A_INVERSE)
ERR = tuple(float(v) for v in tableau.ERROR)
GAMMA, ALPHA, BETA = float(tableau.GAMMA), float(tableau.ALPHA), float(tableau.BETA)

# Everything that survives between two calls of a kernel, and its work space. Stage quantities Z, W, D (increments)
# and R have one row per unknown or equation and three columns, so that one pass serves all stages.
STATE = layout(
    arrays=[
        "monitor",  # the clock of a profile; 0: there is none
        "x", "x_dot",
        "coefficients",  # (4, n): the polynomial of the last accepted step
        "count", "atol", "rtol", "index",
        "algebraic",  # 1 for equations without derivatives
        "weight",  # atol + rtol |x| at the current point
        "scale",  # 1 / weight, with powers of h for variables of higher index
        "Z", "W", "F", "R", "D",
        "stage",  # (2 n): x and x' of a stage
        "inputs",  # u, u', u'' at the three stages
        "F_here", "rate_here",  # the residual at the current point, and the x' it was evaluated with
        "e_row", "e_column",  # of the nonzeros of E
        "error", "correction",
        "failed",  # (2 n): the stage at which a function could not be evaluated
        "differences",  # a record of `solvers.differences`, by address: how to get the Jacobian
    ],
    reals=["t", "h", "t_end", "h_old", "h_accepted", "error_accepted", "rate", "contraction", "failed_t"],
    wholes=[
        "n", "m", "n_nonzeros", "n_e",
        "constant",  # E does not change
        "first", "rejected", "need_jacobian", "need_factors", "jacobian_is_here", "last",
        "singular_count", "have_history", "refused", "iterations", "convergence_failed",
        "look_again",  # the pattern of estimated differences may be too small
        "have_here",  # F_here belongs to the current point
    ],
)  # fmt: skip
FLAGS = STATE.names[STATE.names.index("first") :]
state_at = member(STATE)

#: the fields with which the record of every linear algebra begins; cost: floating-point operations of decompose,
#: prepare, one Newton iteration, one error estimate; own and state: addresses of the record itself and of `STATE`
LINEAR_ALGEBRA = ("decompose", "prepare", "solve_stages", "solve_real", "correct", "nonzeros", "cost", "own", "state")
algebra_at = member(layout(arrays=LINEAR_ALGEBRA))


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


def new_state(compiled, n_nonzeros: int, n_inputs: int) -> Memory:
    """Work space for a compiled system; `n_inputs` counts inputs and their derivatives."""
    system, (e_row, e_column) = compiled.system, compiled.leading_pattern
    n, m, index, algebraic = system.n, len(system.equations), system.index, ~system.differential_equations
    vectors = {name: np.zeros(n) for name in ("x", "x_dot", "atol", "rtol", "weight", "scale", "error", "correction")}
    scalars = {name: 0 for name in STATE.names if STATE[name] != np.uint64 or name == "monitor"}
    arrays = dict(
        coefficients=np.zeros((4, n)), count=np.zeros(N_COUNTS, np.int64), index=np.ascontiguousarray(index, np.int64),
        algebraic=np.ascontiguousarray(algebraic, np.int64), Z=np.zeros((n, 3)), W=np.zeros((n, 3)), D=np.zeros((n, 3)),
        F=np.zeros((3, m)), R=np.zeros((m, 3)), stage=np.zeros(2 * n), failed=np.zeros(2 * n),
        inputs=np.zeros((3, n_inputs)), differences=0, F_here=np.zeros(m), rate_here=np.zeros(n),
        e_row=np.ascontiguousarray(e_row, np.int64), e_column=np.ascontiguousarray(e_column, np.int64),
    )  # fmt: skip
    sizes = dict(n=n, m=m, n_nonzeros=n_nonzeros, n_e=len(e_row), constant=int(system.leading_is_constant))
    return Memory(STATE, {**vectors, **scalars, **arrays, **sizes})


@device
def add(state, which, amount):
    """Count."""
    ivec(state.count, N_COUNTS)[which] += amount


@device
def set_weights(state):
    n = state.n
    x, weight, atol, rtol = vec(state.x, n), vec(state.weight, n), vec(state.atol, n), vec(state.rtol, n)
    for i in range(n):
        weight[i] = atol[i] + rtol[i] * abs(x[i])


@device
def set_scale(state):
    """Errors of variables of index 2 and 3 are weighted by h and h²."""
    n, h = state.n, abs(state.h)
    index, scale, weight = ivec(state.index, n), vec(state.scale, n), vec(state.weight, n)
    for i in range(n):
        power = index[i]
        scale[i] = (1.0 if power == 1 else (h if power == 2 else h * h)) / weight[i]


@device
def predict_stages(state, control):
    """Starting values for the stages: the last polynomial, or the current point."""
    n = state.n
    Z, W, c = mat(state.Z, n, 3), mat(state.W, n, 3), mat(state.coefficients, 4, n)
    if control.extrapolate == 0 or state.have_history == 0:
        for i in range(n):
            for k in range(3):
                Z[i, k] = 0.0
                W[i, k] = 0.0
        return
    ratio = state.h / state.h_old
    s0, s1, s2 = C[0] * ratio, C[1] * ratio, C[2] * ratio
    for i in range(n):
        z0 = s0 * (c[1, i] + s0 * (c[2, i] + s0 * c[3, i]))
        z1 = s1 * (c[1, i] + s1 * (c[2, i] + s1 * c[3, i]))
        z2 = s2 * (c[1, i] + s2 * (c[2, i] + s2 * c[3, i]))
        Z[i, 0], Z[i, 1], Z[i, 2] = z0, z1, z2
        W[i, 0] = TI[0][0] * z0 + TI[0][1] * z1 + TI[0][2] * z2
        W[i, 1] = TI[1][0] * z0 + TI[1][1] * z1 + TI[1][2] * z2
        W[i, 2] = TI[2][0] * z0 + TI[2][1] * z1 + TI[2][2] * z2


@device
def set_stage(state, k):
    """Put X_k = x + Z_k and D_k into `stage`; returns the time of the stage."""
    n, over_h = state.n, 1.0 / state.h
    Z, stage, x = mat(state.Z, n, 3), vec(state.stage, 2 * n), vec(state.x, n)
    a0, a1, a2 = AI[k][0] * over_h, AI[k][1] * over_h, AI[k][2] * over_h
    for i in range(n):
        stage[i] = x[i] + Z[i, k]
        stage[n + i] = a0 * Z[i, 0] + a1 * Z[i, 1] + a2 * Z[i, 2]
    return state.t + C[k] * state.h


@device
def keep_failed(state, t):
    """Remember the stage that could not be evaluated."""
    stage, failed = vec(state.stage, 2 * state.n), vec(state.failed, 2 * state.n)
    state.failed_t = t
    for i in range(2 * state.n):
        failed[i] = stage[i]


@device
def inputs_of_stage(state, ports, t, k, known):
    """Bring the inputs in θ to stage k; they do not change with the iterates of a step. Returns the port's status."""
    if ports.inputs == 0:
        return 0
    now = ports.theta[ports.n_parameters :]
    kept = mat(state.inputs, 3, now.size)
    if known:
        for i in range(now.size):
            now[i] = kept[k, i]
        return 0
    answer = set_inputs(ports, t, now)
    for i in range(now.size):
        kept[k, i] = now[i]
    return answer


@device
def stage_residuals(state, ports, again):
    """F_k = F(t + c_k h, x + Z_k, D_k). Returns the status of the port; a refused point is kept in `failed`.

    `again`: the stages were evaluated before, with other iterates.
    """
    F, stage, theta = mat(state.F, 3, state.m), vec(state.stage, 2 * state.n), ports.theta
    for k in range(3):
        t = set_stage(state, k)
        answer = inputs_of_stage(state, ports, t, k, again)
        if answer == 0:
            answer = call_port(ports.residual, t, stage.ctypes.data, theta.ctypes.data, F[k].ctypes.data)
        if answer != 0:
            keep_failed(state, t)
            return answer
    add(state, Count.RHS, 3)
    return 0


@device
def choose_matrix_point(state, control):
    """Put the point for the next Jacobian, current or predicted, into `stage`; returns its time."""
    n, stage = state.n, vec(state.stage, 2 * state.n)
    if control.matrix_at == 0 or control.extrapolate == 0 or state.have_history == 0:
        x, x_dot = vec(state.x, n), vec(state.x_dot, n)
        for i in range(n):
            stage[i] = x[i]
            stage[n + i] = x_dot[i]
        state.jacobian_is_here = 1
        return state.t
    node, c = C[control.matrix_at - 1], mat(state.coefficients, 4, n)
    s, over_h = node * state.h / state.h_old, 1.0 / state.h_old
    for i in range(n):
        stage[i] = c[0, i] + s * (c[1, i] + s * (c[2, i] + s * c[3, i]))
        stage[n + i] = over_h * (c[1, i] + s * (2.0 * c[2, i] + s * 3.0 * c[3, i]))
    state.jacobian_is_here = 0  # it belongs to this step size
    return state.t + node * state.h


@device
def new_jacobian(la, ports, state, t):
    """Evaluate at the point in `stage`. Returns 0 or a code of `status`."""
    stage, nonzeros = vec(state.stage, 2 * state.n), vec(la.nonzeros, state.n_nonzeros)
    d = differences_at(state.differences)
    if d.kind == EXACT:
        answer = evaluate(ports.jacobian, ports, t, stage, nonzeros)
    else:
        before = d.evaluations
        answer = set_inputs(ports, t, stage)
        if answer == 0:
            answer = new_nonzeros(d, ports, t, stage, 0.0, nonzeros, state.look_again == 1)
        state.look_again = 0
        add(state, Count.DIFFERENCES, d.evaluations - before)
    if answer != 0:
        keep_failed(state, t)
        return status.PORT_FAILED if answer == STOP else status.NOT_FINITE
    add(state, Count.JACOBIAN, 1)
    add(state, Count.FLOPS, ivec(la.cost, 4)[0])
    if call2(la.decompose, la.own, la.state) == 0:
        return status.RANK_DEFICIENT
    state.need_jacobian = 0
    state.need_factors = 1
    return 0


@device
def new_factors(la, state):
    """Factor for the current step size. Returns whether that was possible."""
    h = state.h
    add(state, Count.DECOMPOSITIONS, 1)
    add(state, Count.FLOPS, ivec(la.cost, 4)[1])
    if call_reals3(la.prepare, la.own, GAMMA / h, ALPHA / h, BETA / h) == 0:
        return False
    state.need_factors = 0
    return True


@device
def transform_residuals(state):
    """R = T⁻¹ F."""
    F, R = mat(state.F, 3, state.m), mat(state.R, state.m, 3)
    for i in range(state.m):
        f0, f1, f2 = F[0, i], F[1, i], F[2, i]
        R[i, 0] = TI[0][0] * f0 + TI[0][1] * f1 + TI[0][2] * f2
        R[i, 1] = TI[1][0] * f0 + TI[1][1] * f1 + TI[1][2] * f2
        R[i, 2] = TI[2][0] * f0 + TI[2][1] * f1 + TI[2][2] * f2


@device
def apply_increments(state):
    """W += D, Z = T W. Returns the weighted size of the increments."""
    n = state.n
    D, W, Z, scale = mat(state.D, n, 3), mat(state.W, n, 3), mat(state.Z, n, 3), vec(state.scale, n)
    total = 0.0
    for i in range(n):
        d0, d1, d2 = D[i, 0], D[i, 1], D[i, 2]
        total += (d0 * d0 + d1 * d1 + d2 * d2) * scale[i] * scale[i]
        w0, w1, w2 = W[i, 0] + d0, W[i, 1] + d1, W[i, 2] + d2
        W[i, 0], W[i, 1], W[i, 2] = w0, w1, w2
        Z[i, 0] = TM[0][0] * w0 + TM[0][1] * w1 + TM[0][2] * w2
        Z[i, 1] = TM[1][0] * w0 + TM[1][1] * w1 + TM[1][2] * w2
        Z[i, 2] = TM[2][0] * w0 + TM[2][1] * w1 + TM[2][2] * w2
    return np.sqrt(total / (3 * n))


@device
def newton(la, ports, state, control):
    """Simplified Newton iteration, with new matrices on the way if allowed. Returns what `iterate` returns."""
    for update in range(control.updates + 1):
        outcome = iterate(la, ports, state, control, update < control.updates)
        if update == control.updates or outcome not in (DIVERGED, SLOW):
            return outcome
        t = set_stage(state, 1)  # the current iterate of the middle stage
        state.jacobian_is_here = 0
        if new_jacobian(la, ports, state, t) != 0 or not new_factors(la, state):
            return DIVERGED
    return DIVERGED


@device
def iterate(la, ports, state, control, may_update):
    """Iterate with one matrix. Returns CONVERGED, DIVERGED, SLOW, CANNOT_EVALUATE or STOPPED.

    SLOW: convergence is foreseeably too slow; h has been reduced to what should work, unless `may_update`.
    """
    limit = control.max_iterations
    contraction = max(max(state.contraction, control.unit) ** 0.8, FIRST_CONTRACTION)
    rate, previous, previous_ratio = state.rate, 1.0, 1.0
    for iteration in range(1, limit + 1):
        answer = stage_residuals(state, ports, iteration > 1)
        if answer != 0:
            return STOPPED if answer == STOP else CANNOT_EVALUATE
        transform_residuals(state)
        call3(la.solve_stages, la.own, state.R, state.D)
        add(state, Count.BACK_SUBSTITUTIONS, 1)
        add(state, Count.FLOPS, ivec(la.cost, 4)[2])
        state.iterations = iteration
        size = apply_increments(state)
        if not np.isfinite(size):
            return DIVERGED
        if iteration > 1 and iteration < limit:
            ratio = size / previous
            rate = ratio if iteration == 2 else np.sqrt(ratio * previous_ratio)
            previous_ratio = ratio
            if rate >= 0.99:
                if size <= NOISE and previous <= NOISE:  # nothing but rounding: λ of index 3 shows it first
                    return CONVERGED
                state.rate = rate
                return DIVERGED
            contraction = rate / (1.0 - rate)
            left = limit - 1 - iteration
            foreseen = contraction * size * rate**left / control.newton_limit
            if foreseen >= 1.0:
                if contraction * size <= NOISE and previous <= NOISE:  # good enough, and perhaps rounding
                    return CONVERGED
                state.rate = rate
                if not may_update:
                    state.h *= 0.8 * max(1e-4, min(20.0, foreseen)) ** (-1.0 / (4.0 + left))
                return SLOW
        previous = max(size, control.unit)
        if contraction * size <= control.newton_limit:
            state.contraction, state.rate = contraction, rate
            return CONVERGED
    return DIVERGED


@device
def satisfy_constraints(state):
    """Drop the residuals of algebraic equations from the estimate: what Newton's method left of them at the start of
    the step would show as an error that no step size makes smaller."""
    algebraic, F = ivec(state.algebraic, state.m), mat(state.F, 3, state.m)
    for i in range(state.m):
        if algebraic[i] == 1:
            F[0, i] = 0.0


@device
def error_norm(state):
    error, scale = vec(state.error, state.n), vec(state.scale, state.n)
    total = 0.0
    for i in range(state.n):
        e = error[i] * scale[i]
        total += e * e
    return max(np.sqrt(total / state.n), 1e-10)


@device
def residual_here(la, state):
    """F_0 at the current point with the x' in `stage`, from the residual that is known there: F = k − E x'. What the
    correction of the constraints changed since is far below the error that is estimated."""
    n, n_e = state.n, state.n_e
    F, known, rate = mat(state.F, 3, state.m), vec(state.F_here, state.m), vec(state.rate_here, n)
    stage, nonzeros = vec(state.stage, 2 * n), vec(la.nonzeros, state.n_nonzeros)
    row, column, first = ivec(state.e_row, n_e), ivec(state.e_column, n_e), state.n_nonzeros - n_e
    for i in range(state.m):
        F[0, i] = known[i]
    for k in range(n_e):
        j = column[k]
        F[0, row[k]] += nonzeros[first + k] * (rate[j] - stage[n + j])


@device
def filtered(la, ports, state, here):
    """error = (γ/h E − J)⁻¹ F at the point in `stage`; `here`: the current one. Returns the status of the port."""
    F, answer = mat(state.F, 3, state.m), 0
    if here and state.have_here == 1 and (state.constant == 1 or state.jacobian_is_here == 1):
        residual_here(la, state)
    else:
        answer = evaluate(ports.residual, ports, state.t, vec(state.stage, 2 * state.n), F[0])
        add(state, Count.RHS, 1)
    if answer == 0:
        satisfy_constraints(state)
        call3(la.solve_real, la.own, state.F, state.error)
        add(state, Count.FLOPS, ivec(la.cost, 4)[3])
    return answer


@device
def estimate_error(la, ports, state):
    """Embedded estimate (γ/h E − J)⁻¹ (k(x) + E Σ e_i Z_i / h), filtered twice at the start and after rejections.

    Returns the norm, or −1 if a function cannot be evaluated, or −2 if one asked to stop.
    """
    n, over_h = state.n, 1.0 / state.h
    stage, Z, x, error = vec(state.stage, 2 * n), mat(state.Z, n, 3), vec(state.x, n), vec(state.error, n)
    for i in range(n):
        stage[i] = x[i]
        stage[n + i] = -over_h * (ERR[0] * Z[i, 0] + ERR[1] * Z[i, 1] + ERR[2] * Z[i, 2])
    answer = filtered(la, ports, state, True)
    if answer != 0:
        keep_failed(state, state.t)
        return -2.0 if answer == STOP else -1.0
    norm = error_norm(state)
    if norm >= 1.0 and (state.first == 1 or state.rejected == 1):
        for i in range(n):
            stage[i] = x[i] + error[i]
        answer = filtered(la, ports, state, False)
        if answer == STOP:
            return -2.0
        if answer == 0:
            norm = error_norm(state)
    return norm


@device
def set_polynomial(state):
    """Collocation polynomial in s = (t − t_new)/h from the stages; c_0 is the new point itself."""
    n = state.n
    Z, c, x = mat(state.Z, n, 3), mat(state.coefficients, 4, n), vec(state.x, n)
    a, b = C[1] - 1.0, C[0] - 1.0
    over_a, over_b, over_c0, over_c1, over_c01 = 1.0 / a, 1.0 / b, 1.0 / C[0], 1.0 / C[1], 1.0 / (C[0] - C[1])
    for i in range(n):
        z0, z1, z2 = Z[i, 0], Z[i, 1], Z[i, 2]
        slope = (z0 - z1) * over_c01
        k1 = (z1 - z2) * over_a
        k2 = (slope - k1) * over_b
        k3 = k2 - (slope - z0 * over_c0) * over_c1
        c[0, i] = x[i] + z2
        c[1, i] = k1 - a * k2 + a * b * k3
        c[2, i] = k2 - (a + b) * k3
        c[3, i] = k3


@device
def accept(state, buffer):
    """Advance to the end of the step and put it into the buffer."""
    n, h = state.n, state.h
    set_stage(state, 2)
    set_polynomial(state)
    x, x_dot, stage, c = vec(state.x, n), vec(state.x_dot, n), vec(state.stage, 2 * n), mat(state.coefficients, 4, n)
    for i in range(n):
        x[i] = c[0, i]
        x_dot[i] = stage[n + i]
    state.t = state.t_end if state.last == 1 else state.t + h
    state.h_old = h
    k = buffer.used[0]
    buffer.t[k] = state.t
    buffer.h[k] = h
    for j in range(4):
        for i in range(n):
            buffer.coefficients[k, j, i] = c[j, i]
    buffer.used[0] = k + 1
    state.have_history = 1
    set_weights(state)


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
    the residuals are small.
    """
    n, Z, F, correction = state.n, mat(state.Z, state.n, 3), mat(state.F, 3, state.m), vec(state.correction, state.n)
    stage, known, rate = vec(state.stage, 2 * n), vec(state.F_here, state.m), vec(state.rate_here, n)
    state.have_here = 0
    for _ in range(control.corrections):
        t = set_stage(state, 2)
        if evaluate(ports.residual, ports, t, vec(state.stage, 2 * n), F[0]) != 0:
            return
        add(state, Count.RHS, 1)
        if call3(la.correct, la.own, state.F, state.correction) == 0:
            return
        for i in range(n):
            Z[i, 2] += correction[i]
            rate[i] = stage[n + i]
        for i in range(state.m):
            known[i] = F[0, i]
        state.have_here = 1
        if fresh == 1 or OLD_CONTRACTION * largest_algebraic(state, 0) <= control.corrected:
            return


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


@kernel(i8(nb.uint64, ports_type, reference(STATE), control_type, buffer_type, scan_type))
def radau(algebra, ports, states, control, buffer, scan):
    """Take steps until the end, a full buffer, an event or a failure. Returns one of the codes in `status`."""
    la, state = algebra_at(algebra), states[0]
    count = ivec(state.count, N_COUNTS)
    while True:
        if state.t == state.t_end:
            return status.DONE
        if buffer.used[0] == buffer.t.size:
            return status.BUFFER_FULL
        if count[Count.STEPS] >= control.max_steps:
            return status.TOO_MANY_STEPS
        if 0.1 * abs(state.h) <= abs(state.t) * control.unit or abs(state.h) < SMALLEST:
            return status.STEP_TOO_SMALL
        enter(state, Phase.STAGES)
        if state.need_jacobian == 1:
            code = new_jacobian(la, ports, state, choose_matrix_point(state, control))
            if code == status.NOT_FINITE and state.jacobian_is_here == 0:
                # a predicted point may lie outside of a function's domain
                state.refused = 1
                shrink_after_failure(state, 0.5)
                continue
            if code != 0:
                return code
        if state.need_factors == 1 and not new_factors(la, state):
            state.singular_count += 1
            if state.singular_count >= 6:
                return status.SINGULAR
            shrink_after_failure(state, 0.5)
            continue
        count[Count.STEPS] += 1
        set_scale(state)
        predict_stages(state, control)
        outcome = newton(la, ports, state, control)
        if outcome == STOPPED:
            return status.PORT_FAILED
        state.refused = 1 if outcome == CANNOT_EVALUATE else 0
        if outcome != CONVERGED:
            shrink_after_failure(state, 1.0 if outcome == SLOW else 0.5)
            continue
        error = estimate_error(la, ports, state)
        if error == -2.0:
            return status.PORT_FAILED
        if error < 0.0:
            state.refused = 1
            shrink_after_failure(state, 0.5)
            continue
        h_new = new_step_size(state, control, error)
        if error >= 1.0:
            count[Count.ERROR_REJECTIONS] += 1
            state.h = 0.1 * state.h if state.first == 1 else h_new
            reject(state)
            continue
        if state.rejected == 1:
            h_new = np.sign(state.h) * min(abs(h_new), abs(state.h))
        fresh = 0
        if control.correct_anew == 1 and control.matrix_at == 0 and state.rate > control.jacobian_rate:
            # the next step needs a Jacobian at this point anyway: with it one correction is nearly exact
            code = new_jacobian(la, ports, state, set_stage(state, 2))
            if code == status.NOT_FINITE:
                state.refused = 1
                shrink_after_failure(state, 0.5)
                continue
            if code != 0:
                return code
            fresh = 1
        if control.corrections > 0:
            enter(state, Phase.PROJECTION)
        correct_constraints(la, ports, state, control, fresh)
        enter(state, Phase.DENSE_OUTPUT)
        count[Count.ACCEPTED] += 1
        accept(state, buffer)
        state.first = 0
        state.rejected = 0
        state.jacobian_is_here = fresh
        state.singular_count = 0
        found = 0
        if ports.events != 0:
            enter(state, Phase.EVENTS)
            found = scan_step(scan, ports, state.t, state.h_old, mat(state.coefficients, 4, state.n))
            count[Count.EVENT_EVALUATIONS] += scan.values.shape[0] - 1
        # choose the next step before returning, so that a call can simply go on
        if state.t != state.t_end:
            choose_next_step(state, control, h_new)
            if fresh == 1:
                state.need_jacobian = 0
        if found != 0:
            return status.EVENT if found > 0 else status.EVENT_FAILED
        if ports.events != 0:
            carry_over(scan)
