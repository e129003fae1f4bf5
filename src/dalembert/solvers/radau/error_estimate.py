"""The embedded error estimate of order 3."""

import numpy as np

from dalembert.compile.kernel import call3, device
from dalembert.compile.memory import ivec, mat, vec
from dalembert.solvers.attempts import note_error, trace_at
from dalembert.solvers.bookkeeping import add, keep_failed
from dalembert.solvers.ports import evaluate
from dalembert.solvers.radau.tableau import ERR, GAMMA
from dalembert.solvers.shell import FINE, scaled_norm
from dalembert.solvers.status import Count

#: errors are not taken to be smaller than this
SMALLEST_ERROR = 1e-10
#: how much more accurate the motion must be for the sake of multipliers, at full weight
MOST_TIGHTENED = 30.0


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
    """That of the filtered estimate, or of the positions before the filter if it is larger."""
    filtered_norm = scaled_norm(vec(state.error, state.n), vec(state.scale, state.n), state.n, state.n)
    if state.n_motion > 0:
        filtered_norm = eased_norm(state, filtered_norm)
    return max(max(filtered_norm, SMALLEST_ERROR), kinematic_norm(state))


@device
def eased_norm(state, norm):
    """The norm, with less weight on multipliers where they ask for far more accuracy than the tolerances of the motion.

    Their errors are those of the motion times derivatives: to control them is to control the motion more tightly. With
    stiff springs that has no limit: a rounding error of a position makes a multiplier of any size, and what Newton's
    method or a correction left of the constraints, far below the tolerance, an oscillation of it that every step would
    have to resolve. There they count as variables of index 2 do: by what they change of velocities within the step.
    """
    error, scale, total = vec(state.error, state.n), vec(state.scale, state.n), 0.0
    member, h = ivec(state.motion, state.n_motion), min(1.0, abs(state.h) / state.time_unit)
    for k in range(state.n_motion):
        e = error[member[k]] * scale[member[k]]
        total += e * e
    motion = np.sqrt(total / state.n)
    if norm <= MOST_TIGHTENED * motion:
        return norm
    return np.sqrt(motion * motion + (norm * norm - motion * motion) * h * h)


@device
def kinematic_norm(state):
    """The estimate of the positions before it is filtered. Constraints leave nothing of it where they prescribe the
    motion, however far the polynomial between the points is off."""
    F, scale, total = mat(state.F, 3, state.m), vec(state.scale, state.n), 0.0
    row, p, factor = ivec(state.kinematic, state.n_kinematic), ivec(state.position, state.n_kinematic), state.h / GAMMA
    for i in range(state.n_kinematic):
        e = factor * F[0, row[i]] * scale[p[i]]
        total += e * e
    return np.sqrt(total / state.n)


@device
def note_estimate(state, norm):
    """For a trace: the variable with the largest error, a position if the error before the filter is larger."""
    note_error(state, norm, state.error, state.scale, state.n)
    if state.n_kinematic == 0 or kinematic_norm(state) < norm:
        return
    F, scale, largest = mat(state.F, 3, state.m), vec(state.scale, state.n), -1.0
    row, p, trace = (
        ivec(state.kinematic, state.n_kinematic),
        ivec(state.position, state.n_kinematic),
        trace_at(state.trace),
    )
    for i in range(state.n_kinematic):
        size = abs(F[0, row[i]] * scale[p[i]])
        if size > largest:
            largest, trace.worst = size, p[i]


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
def filtered(la, ports, state):
    """error = (γ/h E − J)⁻¹ F at the current point, with the x' in `stage`. Returns the status of the port."""
    F, answer = mat(state.F, 3, state.m), 0
    if state.have_here == 1 and (state.constant == 1 or state.jacobian_is_here == 1):
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
def filter_again(la, state):
    """error = (γ/h E − J)⁻¹ (γ/h E) error: what F at x + error, F + J error, comes to after the filter.

    It is not evaluated there: near a jump that depends on the state, x + error may lie beyond it, where the jump that
    the step has passed cancels, and a step that ought to be rejected again would be accepted.
    """
    n_e = state.n_e
    F, error, factor = mat(state.F, 3, state.m), vec(state.error, state.n), GAMMA / state.h
    row, column = ivec(state.e_row, n_e), ivec(state.e_column, n_e)
    nonzeros, first = vec(la.nonzeros, state.n_nonzeros), state.n_nonzeros - n_e
    for i in range(state.m):
        F[0, i] = 0.0
    for k in range(n_e):
        F[0, row[k]] += factor * nonzeros[first + k] * error[column[k]]
    call3(la.solve_real, la.own, state.F, state.error)
    add(state, Count.FLOPS, ivec(la.cost, 4)[3])


@device
def estimate_error(la, ports, state):
    """Embedded estimate (γ/h E − J)⁻¹ (k(x) + E Σ e_i Z_i / h), filtered twice at the start and after rejections.

    Returns FINE, CANNOT_EVALUATE or STOPPED, and the norm.
    """
    n, over_h = state.n, 1.0 / state.h
    stage, Z, x = vec(state.stage, 2 * n), mat(state.Z, n, 3), vec(state.x, n)
    for i in range(n):
        stage[i] = x[i]
        stage[n + i] = -over_h * (ERR[0] * Z[i, 0] + ERR[1] * Z[i, 1] + ERR[2] * Z[i, 2])
    answer = filtered(la, ports, state)
    if answer != 0:
        keep_failed(state, state.t)
        return answer, 0.0
    norm = error_norm(state)
    if norm >= 1.0 and (state.first == 1 or state.rejected == 1):
        filter_again(la, state)
        norm = error_norm(state)
    if state.trace != 0:
        note_estimate(state, norm)
    return FINE, norm
