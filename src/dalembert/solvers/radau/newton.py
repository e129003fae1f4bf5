"""Newton's method for the stages: Jacobian, factors, and the simplified iteration W += ΔW, Z = T W."""

import numpy as np

from dalembert.compile.kernel import call1, call2, call3, call_reals3, device
from dalembert.compile.memory import ivec, mat, vec
from dalembert.solvers.attempts import note_contraction
from dalembert.solvers.bookkeeping import add, keep_failed
from dalembert.solvers.differences import EXACT, differences_at
from dalembert.solvers.ports import evaluate, set_inputs
from dalembert.solvers.radau.stages import set_stage, stage_residuals
from dalembert.solvers.radau.tableau import ALPHA, BETA, GAMMA, TI, TM, C
from dalembert.solvers.shell import FINE
from dalembert.solvers.status import Count, Outcome

#: a first iteration is never trusted to leave less than this fraction of its increment as an error
FIRST_CONTRACTION = 1e-2
#: increments that stop decreasing below this fraction of the tolerance are rounding errors
NOISE = 0.03
#: failures that lie no more accepted steps apart than this have one reason, which the error estimate does not see
PERSISTENT = 5
#: where the first increment is that many times the tolerance, the prediction was of no use, and so may be its Jacobian
FAR = 1e3
#: increments of positions up to so many rounding units are nothing but rounding
ROUNDING_UNITS = 100.0


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
def evaluate_jacobian(la, ports, state, t):
    """Into `la.nonzeros`, at the point in `stage`. Returns FINE, CANNOT_EVALUATE or STOPPED."""
    stage, nonzeros = vec(state.stage, 2 * state.n), vec(la.nonzeros, state.n_nonzeros)
    d = differences_at(state.differences)
    if d.kind == EXACT:
        answer = evaluate(ports.jacobian, ports, t, stage, nonzeros)
    else:
        before = d.evaluations
        answer = set_inputs(ports, t, stage)
        if answer == 0:
            d.t, d.c, d.full = t, 0.0, state.look_again
            answer = call1(d.renew, state.differences)
        state.look_again = 0
        add(state, Count.DIFFERENCES, d.evaluations - before)
    if answer != 0:
        keep_failed(state, t)
        return answer
    add(state, Count.JACOBIAN, 1)
    return answer


@device
def new_jacobian(la, ports, state, t):
    """Evaluate and decompose at the point in `stage`. Returns FINE, CANNOT_EVALUATE, STOPPED or RANK_LOST."""
    answer = evaluate_jacobian(la, ports, state, t)
    if answer != FINE:
        return answer
    return decompose_jacobian(la, state)


@device
def decompose_jacobian(la, state):
    """That in `la.nonzeros`. Returns FINE or RANK_LOST."""
    add(state, Count.FLOPS, ivec(la.cost, 4)[0])
    if call2(la.decompose, la.own, la.state) == 0:
        return Outcome.RANK_LOST
    state.need_jacobian = 0
    state.need_factors = 1
    return FINE


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
def is_rounding(state, control):
    """Whether the last increments changed positions by no more than rounding errors. Stiff springs make large
    multipliers of these, and with small steps velocities, which then do not converge any further."""
    n_p = state.n_kinematic
    if n_p == 0:
        return False
    D, scale, rtol = mat(state.D, state.n, 3), vec(state.scale, state.n), vec(state.rtol, state.n)
    position, total, smallest = ivec(state.position, n_p), 0.0, np.inf
    for k in range(n_p):
        i = position[k]
        total += (D[i, 0] ** 2 + D[i, 1] ** 2 + D[i, 2] ** 2) * scale[i] ** 2
        smallest = min(smallest, rtol[i])
    return np.sqrt(total / (3 * n_p)) <= ROUNDING_UNITS * control.unit / smallest


@device
def note_failure(state, tried):
    """Set the ceiling of step sizes if the iteration has failed before, a few steps ago."""
    if state.ceiling > 0.0 or 0 < state.since_failure <= PERSISTENT:
        state.ceiling = tried
    state.since_failure = 0


@device
def newton(la, ports, state, control):
    """Simplified Newton iteration, with new matrices on the way if allowed. Returns what `iterate` returns."""
    tried = abs(state.h)
    # where it has failed again and again, new matrices are cheaper than yet another attempt with a shorter step
    updates = max(1, control.updates) if state.ceiling > 0.0 else control.updates
    for update in range(updates + 1):
        outcome = iterate(la, ports, state, control, update < updates)
        bad = outcome == Outcome.DIVERGED or outcome == Outcome.SLOW
        if outcome == FINE and state.jacobian_is_here == 0 and state.first_increment > FAR:
            outcome = confirm(la, ports, state, control)
            bad = outcome == Outcome.DIVERGED or outcome == Outcome.SLOW
            if bad:
                note_failure(state, tried)
            return outcome
        if bad and update == updates:
            note_failure(state, tried)
        if update == updates or not bad:
            return outcome
        t = set_stage(state, 1)  # the current iterate of the middle stage
        state.jacobian_is_here = 0
        if new_jacobian(la, ports, state, t) != FINE or not new_factors(la, state):
            return Outcome.DIVERGED
    return Outcome.DIVERGED


@device
def confirm(la, ports, state, control):
    """Iterate again with the Jacobian of where the iteration has come to. Returns what `iterate` returns.

    A prediction far away, on the steep part of an exponential, has a Jacobian with which all increments are small:
    the iteration would stop anywhere.
    """
    t, before = set_stage(state, 2), state.iterations
    if new_jacobian(la, ports, state, t) != FINE or not new_factors(la, state):
        return Outcome.DIVERGED
    outcome = iterate(la, ports, state, control, False)
    state.iterations += before  # the next step should not be longer for it
    return Outcome.DIVERGED if outcome == FINE and state.first_increment > FAR else outcome


@device
def iterate(la, ports, state, control, may_update):
    """Iterate with one matrix. Returns FINE, DIVERGED, SLOW, CANNOT_EVALUATE or STOPPED.

    SLOW: convergence is foreseeably too slow; h has been reduced to what should work, unless `may_update`.
    """
    limit = control.max_iterations
    contraction = max(max(state.contraction, control.unit) ** 0.8, FIRST_CONTRACTION)
    rate, previous, previous_ratio = state.rate, 1.0, 1.0
    for iteration in range(1, limit + 1):
        answer = stage_residuals(state, ports, iteration > 1)
        if answer != 0:
            return answer
        transform_residuals(state)
        call3(la.solve_stages, la.own, state.R, state.D)
        add(state, Count.BACK_SUBSTITUTIONS, 1)
        add(state, Count.FLOPS, ivec(la.cost, 4)[2])
        state.iterations = iteration
        size = apply_increments(state)
        if not np.isfinite(size):
            return Outcome.DIVERGED
        if iteration == 1:
            state.first_increment = size
        if iteration > 1 and iteration < limit:
            ratio = size / previous
            rate = ratio if iteration == 2 else np.sqrt(ratio * previous_ratio)
            previous_ratio = ratio
            note_contraction(state, rate)
            # from a start far away multipliers follow an iteration after the rest: the next ratio tells more
            early = iteration == 2 and control.extrapolate == 0 and rate < 10.0
            if rate >= 0.99:
                if early:
                    previous = max(size, control.unit)
                    continue
                if size <= NOISE and previous <= NOISE:  # nothing but rounding: λ of index 3 shows it first
                    return FINE
                if is_rounding(state, control):
                    return FINE
                state.rate = rate
                return Outcome.DIVERGED
            contraction = rate / (1.0 - rate)
            left = limit - 1 - iteration
            foreseen = contraction * size * rate**left / control.newton_limit
            if foreseen >= 1.0 and not early:
                if contraction * size <= NOISE and previous <= NOISE:  # good enough, and perhaps rounding
                    return FINE
                if is_rounding(state, control):
                    return FINE
                state.rate = rate
                if not may_update:
                    state.h *= 0.8 * max(1e-4, min(20.0, foreseen)) ** (-1.0 / (4.0 + left))
                return Outcome.SLOW
        previous = max(size, control.unit)
        if contraction * size <= control.newton_limit:
            state.contraction, state.rate = contraction, rate
            return FINE
    return Outcome.DIVERGED
