"""The Radau IIA stage solver: Newton's method, error estimate, step control, dense output, for F(t, x, x') = 0.

The stage values X_i = x + Z_i satisfy F(t_i, X_i, D_i) = 0 with D = (A⁻¹/h) Z. Newton's increments solve
(σ E − J) ΔW = R for one real and one complex σ. How that is done is the business of a *linear algebra*: five device
functions on a record `la`, passed by reference (dense: `dense.py`; projected, with more equations than unknowns:
`projected.py`),

    decompose(la, state) -> bool       take the Jacobian in la.nonzeros; False if constraints lose rank
    prepare(la, γ/h, α/h, β/h) -> bool  factor for these σ; False if singular
    solve_real(la, R, out)             σ = γ/h
    solve_complex(la, Rr, Ri, outr, outi)   σ = (α + iβ)/h
    correct(la, F, out) -> bool        correction of constraints alone at an accepted point; False if there is none

so that every method of the family shares this file (`make_run`). Step control follows Hairer and Wanner [1]_, with the
predictive controller of Gustafsson.

References
----------
.. [1] E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd ed., sections IV.8 and VII.
"""

from typing import NamedTuple

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, vec
from dalembert.solvers import status
from dalembert.solvers.events import carry_over, scan_step
from dalembert.solvers.ports import evaluate
from dalembert.solvers.radau import tableau
from dalembert.solvers.records import f8, i8, indices, matrix, record, tensor, vector
from dalembert.solvers.status import Count

STOP = 2

# places in State.real
T, H, T_END, H_OLD, H_ACCEPTED, ERROR_ACCEPTED, RATE, CONTRACTION, FAILED_T, N_REAL = range(10)
# places in State.flag
(
    FIRST,
    REJECTED,
    NEED_JACOBIAN,
    NEED_FACTORS,
    JACOBIAN_IS_HERE,
    LAST,
    SINGULAR_COUNT,
    HAVE_HISTORY,
    REFUSED,
    ITERATIONS,
    CONVERGENCE_FAILED,
    N_FLAG,
) = range(12)

#: steps below this overflow in the iteration matrix
SMALLEST = 1e-140
#: a first iteration is never trusted to leave less than this fraction of its increment as an error
FIRST_CONTRACTION = 1e-2
#: increments that stop decreasing below this fraction of the tolerance are rounding errors
NOISE = 0.03

# outcomes of Newton's method
CONVERGED, DIVERGED, SLOW, CANNOT_EVALUATE, STOPPED = range(5)

C = tuple(float(c) for c in tableau.C)
TI = tuple(tuple(float(v) for v in row) for row in tableau.T_INVERSE)
TM = tuple(tuple(float(v) for v in row) for row in tableau.T)
AI = tuple(tuple(float(v) for v in row) for row in tableau.A_INVERSE)
ERR = tuple(float(v) for v in tableau.ERROR)
GAMMA, ALPHA, BETA = float(tableau.GAMMA), float(tableau.ALPHA), float(tableau.BETA)


class State(NamedTuple):
    """Everything that survives between two calls of a kernel, and its work space."""

    x: vector
    x_dot: vector
    coefficients: matrix  # (4, n): the polynomial of the last accepted step
    real: vector
    flag: indices
    count: indices
    atol: vector
    rtol: vector
    index: indices
    algebraic: indices  # 1 for equations without derivatives
    weight: vector  # atol + rtol |x| at the current point
    scale: vector  # 1 / weight, with powers of h for variables of higher index
    Z: matrix
    W: matrix
    F: matrix
    R: matrix
    D: matrix  # increments
    stage: vector  # (2 n): x and x' of a stage
    error: vector
    correction: vector
    failed: vector  # (2 n): the stage at which a function could not be evaluated


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
    corrections: i8  # of the constraints at an accepted point
    max_step: f8
    max_steps: i8


class Buffer(NamedTuple):
    """Accepted steps, for the driver to collect."""

    t: vector
    h: vector
    coefficients: tensor  # (capacity, 4, n)
    used: indices


state_type, control_type, buffer_type = record(State), record(Control), record(Buffer)


def new_state(n: int, index: np.ndarray, algebraic: np.ndarray) -> State:
    """Work space for n unknowns of the given indices; `algebraic` is a mask of the equations, at least n."""
    v, m = lambda k=1: np.zeros(k * n), lambda k: np.zeros((k, n))
    rows = len(algebraic)
    return State(
        x=v(), x_dot=v(), coefficients=m(4), real=np.zeros(N_REAL), flag=np.zeros(N_FLAG, np.int64),
        count=np.zeros(status.N_COUNTS, np.int64), atol=v(), rtol=v(), index=np.ascontiguousarray(index, np.int64),
        algebraic=np.ascontiguousarray(algebraic, np.int64),
        weight=v(), scale=v(), Z=m(3), W=m(3),
        F=np.zeros((3, rows)), R=np.zeros((3, rows)), D=m(3), stage=v(2), error=v(), correction=v(), failed=v(2),
    )  # fmt: skip


@device
def set_weights(state):
    for i in range(state.x.size):
        state.weight[i] = state.atol[i] + state.rtol[i] * abs(state.x[i])


@device
def set_scale(state):
    """Errors of variables of index 2 and 3 are weighted by h and h²."""
    h = abs(state.real[H])
    for i in range(state.x.size):
        power = state.index[i]
        factor = 1.0 if power == 1 else (h if power == 2 else h * h)
        state.scale[i] = factor / state.weight[i]


@device
def predict_stages(state, control):
    """Starting values for the stages: the last polynomial, or the current point."""
    n = state.x.size
    if control.extrapolate == 0 or state.flag[HAVE_HISTORY] == 0:
        for i in range(n):
            for k in range(3):
                state.Z[k, i] = 0.0
                state.W[k, i] = 0.0
        return
    c = state.coefficients
    ratio = state.real[H] / state.real[H_OLD]
    s0, s1, s2 = C[0] * ratio, C[1] * ratio, C[2] * ratio
    for i in range(n):
        z0 = s0 * (c[1, i] + s0 * (c[2, i] + s0 * c[3, i]))
        z1 = s1 * (c[1, i] + s1 * (c[2, i] + s1 * c[3, i]))
        z2 = s2 * (c[1, i] + s2 * (c[2, i] + s2 * c[3, i]))
        state.Z[0, i], state.Z[1, i], state.Z[2, i] = z0, z1, z2
        state.W[0, i] = TI[0][0] * z0 + TI[0][1] * z1 + TI[0][2] * z2
        state.W[1, i] = TI[1][0] * z0 + TI[1][1] * z1 + TI[1][2] * z2
        state.W[2, i] = TI[2][0] * z0 + TI[2][1] * z1 + TI[2][2] * z2


@device
def stage_residuals(state, ports):
    """F_i = F(t + c_i h, x + Z_i, D_i). Returns the status of the port; a refused point is kept in `failed`."""
    n = state.x.size
    t, h = state.real[T], state.real[H]
    over_h = 1.0 / h
    Z, stage = state.Z, state.stage
    for k in range(3):
        a0, a1, a2 = AI[k][0] * over_h, AI[k][1] * over_h, AI[k][2] * over_h
        for i in range(n):
            stage[i] = state.x[i] + Z[k, i]
            stage[n + i] = a0 * Z[0, i] + a1 * Z[1, i] + a2 * Z[2, i]
        answer = evaluate(ports.residual, ports, t + C[k] * h, stage, state.F[k])
        if answer != 0:
            state.real[FAILED_T] = t + C[k] * h
            for i in range(2 * n):
                state.failed[i] = stage[i]
            return answer
    state.count[Count.RHS] += 3
    return 0


@device
def choose_matrix_point(state, control):
    """Put the point for the next Jacobian, current or predicted, into `stage`; returns its time."""
    n, real, stage = state.x.size, state.real, state.stage
    if control.matrix_at == 0 or control.extrapolate == 0 or state.flag[HAVE_HISTORY] == 0:
        for i in range(n):
            stage[i] = state.x[i]
            stage[n + i] = state.x_dot[i]
        state.flag[JACOBIAN_IS_HERE] = 1
        return real[T]
    node = C[control.matrix_at - 1]
    s, over_h, c = node * real[H] / real[H_OLD], 1.0 / real[H_OLD], state.coefficients
    for i in range(n):
        stage[i] = c[0, i] + s * (c[1, i] + s * (c[2, i] + s * c[3, i]))
        stage[n + i] = over_h * (c[1, i] + s * (2.0 * c[2, i] + s * 3.0 * c[3, i]))
    state.flag[JACOBIAN_IS_HERE] = 0  # it belongs to this step size
    return real[T] + node * real[H]


@device
def middle_stage(state):
    """Put the current iterate of the second stage into `stage`; returns its time."""
    n, Z, over_h = state.x.size, state.Z, 1.0 / state.real[H]
    for i in range(n):
        state.stage[i] = state.x[i] + Z[1, i]
        state.stage[n + i] = over_h * (AI[1][0] * Z[0, i] + AI[1][1] * Z[1, i] + AI[1][2] * Z[2, i])
    state.flag[JACOBIAN_IS_HERE] = 0
    return state.real[T] + C[1] * state.real[H]


def make_matrix(decompose, prepare):
    """Jacobian and factors with a linear algebra."""

    @device
    def new_jacobian(la, ports, state, t):
        """Evaluate at the point in `stage`. Returns 0 or a code of `status`."""
        answer = evaluate(ports.jacobian, ports, t, state.stage, vec(la.nonzeros, la.n_nonzeros))
        if answer != 0:
            state.real[FAILED_T] = t
            for i in range(state.failed.size):
                state.failed[i] = state.stage[i]
            return status.PORT_FAILED if answer == STOP else status.NOT_FINITE
        state.count[Count.JACOBIAN] += 1
        state.count[Count.FLOPS] += ivec(la.cost, 4)[0]
        if not decompose(la, state):
            return status.RANK_DEFICIENT
        state.flag[NEED_JACOBIAN] = 0
        state.flag[NEED_FACTORS] = 1
        return 0

    @device
    def new_factors(la, state):
        """Factor for the current step size. Returns whether that was possible."""
        h = state.real[H]
        state.count[Count.DECOMPOSITIONS] += 1
        state.count[Count.FLOPS] += ivec(la.cost, 4)[1]
        if not prepare(la, GAMMA / h, ALPHA / h, BETA / h):
            return False
        state.flag[NEED_FACTORS] = 0
        return True

    return new_jacobian, new_factors


def make_newton(new_jacobian, new_factors, solve_real, solve_complex):
    """Newton's method with a linear algebra."""

    @device
    def newton(la, ports, state, control):
        """Simplified Newton iteration, with new matrices on the way if allowed. Returns what `iterate` returns."""
        for update in range(control.updates + 1):
            outcome = iterate(la, ports, state, control, update < control.updates)
            if update == control.updates or outcome not in (DIVERGED, SLOW):
                return outcome
            if new_jacobian(la, ports, state, middle_stage(state)) != 0 or not new_factors(la, state):
                return DIVERGED
        return DIVERGED

    @device
    def iterate(la, ports, state, control, may_update):
        """Iterate with one matrix. Returns CONVERGED, DIVERGED, SLOW, CANNOT_EVALUATE or STOPPED.

        SLOW: convergence is foreseeably too slow; real[H] has been reduced to what should work, unless `may_update`.
        """
        n, m = state.x.size, state.algebraic.size
        real, W, F, R, D = state.real, state.W, state.F, state.R, state.D
        limit = control.max_iterations
        contraction = max(max(real[CONTRACTION], control.unit) ** 0.8, FIRST_CONTRACTION)
        rate = real[RATE]
        previous = 1.0
        previous_ratio = 1.0
        for iteration in range(1, limit + 1):
            answer = stage_residuals(state, ports)
            if answer != 0:
                return STOPPED if answer == STOP else CANNOT_EVALUATE
            for i in range(m):
                f0, f1, f2 = F[0, i], F[1, i], F[2, i]
                R[0, i] = TI[0][0] * f0 + TI[0][1] * f1 + TI[0][2] * f2
                R[1, i] = TI[1][0] * f0 + TI[1][1] * f1 + TI[1][2] * f2
                R[2, i] = TI[2][0] * f0 + TI[2][1] * f1 + TI[2][2] * f2
            solve_real(la, R[0], D[0])
            solve_complex(la, R[1], R[2], D[1], D[2])
            state.count[Count.BACK_SUBSTITUTIONS] += 1
            state.count[Count.FLOPS] += ivec(la.cost, 4)[2]
            state.flag[ITERATIONS] = iteration
            total = 0.0
            for i in range(n):
                d0, d1, d2, scale = D[0, i], D[1, i], D[2, i], state.scale[i]
                total += (d0 * d0 + d1 * d1 + d2 * d2) * scale * scale
                w0, w1, w2 = W[0, i] + d0, W[1, i] + d1, W[2, i] + d2
                W[0, i], W[1, i], W[2, i] = w0, w1, w2
                state.Z[0, i] = TM[0][0] * w0 + TM[0][1] * w1 + TM[0][2] * w2
                state.Z[1, i] = TM[1][0] * w0 + TM[1][1] * w1 + TM[1][2] * w2
                state.Z[2, i] = TM[2][0] * w0 + TM[2][1] * w1 + TM[2][2] * w2
            size = np.sqrt(total / (3 * n))
            if not np.isfinite(size):
                return DIVERGED
            if iteration > 1 and iteration < limit:
                ratio = size / previous
                rate = ratio if iteration == 2 else np.sqrt(ratio * previous_ratio)
                previous_ratio = ratio
                if rate >= 0.99:
                    if size <= NOISE and previous <= NOISE:  # nothing but rounding is left: λ of index 3 shows it first
                        return CONVERGED
                    real[RATE] = rate
                    return DIVERGED
                contraction = rate / (1.0 - rate)
                left = limit - 1 - iteration
                foreseen = contraction * size * rate**left / control.newton_limit
                if foreseen >= 1.0:
                    if may_update:
                        return SLOW
                    real[H] *= 0.8 * max(1e-4, min(20.0, foreseen)) ** (-1.0 / (4.0 + left))
                    real[RATE] = rate
                    return SLOW
            previous = max(size, control.unit)
            if contraction * size <= control.newton_limit:
                real[CONTRACTION], real[RATE] = contraction, rate
                return CONVERGED
        return DIVERGED

    return newton


@device
def satisfy_constraints(state):
    """Drop the residuals of algebraic equations from the estimate: what Newton's method left of them at the start of
    the step would show as an error that no step size makes smaller."""
    for i in range(state.algebraic.size):
        if state.algebraic[i] == 1:
            state.F[0, i] = 0.0


@device
def error_norm(state):
    total = 0.0
    for i in range(state.x.size):
        e = state.error[i] * state.scale[i]
        total += e * e
    return max(np.sqrt(total / state.x.size), 1e-10)


def make_error_estimate(solve_real):
    """The embedded error estimate with a linear algebra."""

    @device
    def estimate_error(la, ports, state):
        """Embedded estimate (γ/h E − J)⁻¹ (k(x) + E Σ e_i Z_i / h), filtered twice at the start and after rejections.

        Returns the norm, or −1 if a function cannot be evaluated, or −2 if one asked to stop.
        """
        n = state.x.size
        t, over_h = state.real[T], 1.0 / state.real[H]
        stage, Z = state.stage, state.Z
        for i in range(n):
            stage[i] = state.x[i]
            stage[n + i] = -over_h * (ERR[0] * Z[0, i] + ERR[1] * Z[1, i] + ERR[2] * Z[2, i])
        answer = evaluate(ports.residual, ports, t, stage, state.F[0])
        state.count[Count.RHS] += 1
        if answer != 0:
            return -2.0 if answer == STOP else -1.0
        satisfy_constraints(state)
        solve_real(la, state.F[0], state.error)
        state.count[Count.FLOPS] += ivec(la.cost, 4)[3]
        norm = error_norm(state)
        if norm >= 1.0 and (state.flag[FIRST] == 1 or state.flag[REJECTED] == 1):
            for i in range(n):
                stage[i] = state.x[i] + state.error[i]
            answer = evaluate(ports.residual, ports, t, stage, state.F[0])
            state.count[Count.RHS] += 1
            if answer == STOP:
                return -2.0
            if answer == 0:
                satisfy_constraints(state)
                solve_real(la, state.F[0], state.error)
                norm = error_norm(state)
        return norm

    return estimate_error


@device
def set_polynomial(state):
    """Collocation polynomial in s = (t − t_new)/h from the stages; c_0 is the new point itself."""
    Z, c = state.Z, state.coefficients
    a, b = C[1] - 1.0, C[0] - 1.0
    for i in range(state.x.size):
        z0, z1, z2 = Z[0, i], Z[1, i], Z[2, i]
        slope = (z0 - z1) / (C[0] - C[1])
        k1 = (z1 - z2) / a
        k2 = (slope - k1) / b
        k3 = k2 - (slope - z0 / C[0]) / C[1]
        c[0, i] = state.x[i] + z2
        c[1, i] = k1 - a * k2 + a * b * k3
        c[2, i] = k2 - (a + b) * k3
        c[3, i] = k3


@device
def accept(state, buffer):
    """Advance to the end of the step and put it into the buffer."""
    n = state.x.size
    real, Z = state.real, state.Z
    h = real[H]
    set_polynomial(state)
    for i in range(n):
        state.x[i] = state.coefficients[0, i]
        state.x_dot[i] = (AI[2][0] * Z[0, i] + AI[2][1] * Z[1, i] + AI[2][2] * Z[2, i]) / h
    real[T] = real[T_END] if state.flag[LAST] == 1 else real[T] + h
    real[H_OLD] = h
    k = buffer.used[0]
    buffer.t[k] = real[T]
    buffer.h[k] = h
    for j in range(4):
        for i in range(n):
            buffer.coefficients[k, j, i] = state.coefficients[j, i]
    buffer.used[0] = k + 1
    state.flag[HAVE_HISTORY] = 1
    set_weights(state)


@device
def limit_step(state, control, h_new):
    """Bound the next step by max_step and the end of the interval; sets LAST."""
    real = state.real
    direction = 1.0 if real[T_END] >= real[T] else -1.0
    h_new = direction * min(abs(h_new), control.max_step)
    state.flag[LAST] = 0
    if (real[T] + 1.0001 * h_new - real[T_END]) * direction >= 0.0:
        h_new = real[T_END] - real[T]
        state.flag[LAST] = 1
    return h_new


@device
def shrink_after_failure(state, control, factor):
    """A smaller step after a failed iteration; a new Jacobian unless it was computed right here."""
    state.real[H] *= factor
    state.flag[REJECTED] = 1
    state.flag[LAST] = 0
    state.count[Count.CONVERGENCE_REJECTIONS] += 1
    state.flag[NEED_FACTORS] = 1
    state.flag[CONVERGENCE_FAILED] = 1
    if state.flag[JACOBIAN_IS_HERE] == 0:
        state.flag[NEED_JACOBIAN] = 1


def make_correction(correct):
    """The correction of constraints with a linear algebra."""

    @device
    def correct_constraints(la, ports, state, control):
        """Move the end of the step, Z_3, onto the constraints. Functions that fail here leave it as it is."""
        n, Z = state.x.size, state.Z
        over_h = 1.0 / state.real[H]
        for _ in range(control.corrections):
            for i in range(n):
                state.stage[i] = state.x[i] + Z[2, i]
                state.stage[n + i] = over_h * (AI[2][0] * Z[0, i] + AI[2][1] * Z[1, i] + AI[2][2] * Z[2, i])
            if evaluate(ports.residual, ports, state.real[T] + state.real[H], state.stage, state.F[0]) != 0:
                return
            state.count[Count.RHS] += 1
            if not correct(la, state.F[0], state.correction):
                return
            for i in range(n):
                Z[2, i] += state.correction[i]

    return correct_constraints


def make_run(decompose, prepare, solve_real, solve_complex, correct):
    """The step loop with a linear algebra. (Functions passed as arguments would keep numba from caching the kernel.)"""
    new_jacobian, new_factors = make_matrix(decompose, prepare)
    newton = make_newton(new_jacobian, new_factors, solve_real, solve_complex)
    estimate_error = make_error_estimate(solve_real)
    correct_constraints = make_correction(correct)

    @device
    def run(la, ports, state, control, buffer, scan):
        """Take steps until the end, a full buffer, an event or a failure. Returns one of the codes in `status`."""
        real, flag, count = state.real, state.flag, state.count
        while True:
            if real[T] == real[T_END]:
                return status.DONE
            if buffer.used[0] == buffer.t.size:
                return status.BUFFER_FULL
            if count[Count.STEPS] >= control.max_steps:
                return status.TOO_MANY_STEPS
            if 0.1 * abs(real[H]) <= abs(real[T]) * control.unit or abs(real[H]) < SMALLEST:
                return status.STEP_TOO_SMALL
            if flag[NEED_JACOBIAN] == 1:
                code = new_jacobian(la, ports, state, choose_matrix_point(state, control))
                if code == status.NOT_FINITE and flag[JACOBIAN_IS_HERE] == 0:
                    # a predicted point may lie outside of a function's domain
                    flag[REFUSED] = 1
                    shrink_after_failure(state, control, 0.5)
                    continue
                if code != 0:
                    return code
            if flag[NEED_FACTORS] == 1 and not new_factors(la, state):
                flag[SINGULAR_COUNT] += 1
                if flag[SINGULAR_COUNT] >= 6:
                    return status.SINGULAR
                shrink_after_failure(state, control, 0.5)
                continue
            count[Count.STEPS] += 1
            set_scale(state)
            predict_stages(state, control)
            outcome = newton(la, ports, state, control)
            if outcome == STOPPED:
                return status.PORT_FAILED
            flag[REFUSED] = 1 if outcome == CANNOT_EVALUATE else 0
            if outcome != CONVERGED:
                shrink_after_failure(state, control, 1.0 if outcome == SLOW else 0.5)
                continue
            error = estimate_error(la, ports, state)
            if error < 0.0:
                if error == -2.0:
                    return status.PORT_FAILED
                flag[REFUSED] = 1
                shrink_after_failure(state, control, 0.5)
                continue
            iterations = flag[ITERATIONS]
            factor = min(
                control.safety,
                control.safety * (1 + 2 * control.max_iterations) / (iterations + 2 * control.max_iterations),
            )
            quotient = max(1.0 / control.max_growth, min(1.0 / control.max_shrink, error**0.25 / factor))
            h = real[H]
            if error >= 1.0:
                count[Count.ERROR_REJECTIONS] += 1
                flag[REJECTED] = 1
                real[H] = 0.1 * h if flag[FIRST] == 1 else h / quotient
                flag[LAST] = 0
                flag[NEED_FACTORS] = 1
                if flag[JACOBIAN_IS_HERE] == 0:
                    flag[NEED_JACOBIAN] = 1
                continue

            count[Count.ACCEPTED] += 1
            flag[SINGULAR_COUNT] = 0
            if control.predictive == 1:
                if flag[FIRST] == 0:
                    gustafsson = (
                        (real[H_ACCEPTED] / h) * (error * error / real[ERROR_ACCEPTED]) ** 0.25 / control.safety
                    )
                    gustafsson = max(1.0 / control.max_growth, min(1.0 / control.max_shrink, gustafsson))
                    quotient = max(quotient, gustafsson)
                real[H_ACCEPTED] = h
                real[ERROR_ACCEPTED] = max(1e-2, error)
            h_new = h / quotient
            if flag[REJECTED] == 1:
                h_new = np.sign(h) * min(abs(h_new), abs(h))
            correct_constraints(la, ports, state, control)
            accept(state, buffer)
            flag[FIRST] = 0
            flag[REJECTED] = 0
            flag[JACOBIAN_IS_HERE] = 0
            found = 0
            if ports.events != 0:
                found = scan_step(scan, ports, real[T], real[H_OLD], state.coefficients)
                count[Count.EVENT_EVALUATIONS] += scan.values.shape[0] - 1
            # choose the next step before returning, so that a call can simply go on
            if real[T] != real[T_END]:
                keep_jacobian = real[RATE] <= control.jacobian_rate
                keep = keep_jacobian and control.keep_low <= h_new / h <= control.keep_high
                real[H] = limit_step(state, control, h if keep else h_new)
                if real[H] != h:
                    flag[NEED_FACTORS] = 1
                if not keep_jacobian:
                    flag[NEED_JACOBIAN] = 1
            if found != 0:
                return status.EVENT if found > 0 else status.EVENT_FAILED
            if ports.events != 0:
                carry_over(scan)

    return run
