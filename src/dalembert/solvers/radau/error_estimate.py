"""The embedded error estimate of order 3."""

import numpy as np

from dalembert.compile.kernel import call3, device
from dalembert.compile.memory import ivec, mat, vec
from dalembert.solvers.bookkeeping import add, keep_failed
from dalembert.solvers.ports import evaluate
from dalembert.solvers.radau.state import STOP
from dalembert.solvers.radau.tableau import ERR, GAMMA
from dalembert.solvers.status import Count


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
def kinematic_norm(state):
    """The estimate of the positions before it is filtered. Constraints leave nothing of it where they prescribe the
    motion, however far the polynomial between the points is off."""
    F, scale, total = mat(state.F, 3, state.m), vec(state.scale, state.n), 0.0
    row, factor = ivec(state.kinematic, state.n_kinematic), state.h / GAMMA
    for i in range(state.n_kinematic):
        e = factor * F[0, row[i]] * scale[i]
        total += e * e
    return np.sqrt(total / state.n)


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
    norm = max(error_norm(state), kinematic_norm(state))
    if norm >= 1.0 and (state.first == 1 or state.rejected == 1):
        for i in range(n):
            stage[i] = x[i] + error[i]
        answer = filtered(la, ports, state, False)
        if answer == STOP:
            return -2.0
        if answer == 0:
            norm = max(error_norm(state), kinematic_norm(state))
    return norm
