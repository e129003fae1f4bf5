"""The kernel of RKF45. See `solvers/rkf45.py`."""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import mat, vec
from dalembert.solvers.half import core, interpolation
from dalembert.solvers.half.core import FINE
from dalembert.solvers.half.runge_kutta import combine, runge_kutta_kernel

STAGES = 6
C = np.array([0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2])
# the last two rows are the weights of order 4 and of order 5
FOURTH, FIFTH = 6, 7
A = np.array([
    [0.0] * 6,
    [1 / 4, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3 / 32, 9 / 32, 0.0, 0.0, 0.0, 0.0],
    [1932 / 2197, -7200 / 2197, 7296 / 2197, 0.0, 0.0, 0.0],
    [439 / 216, -8.0, 3680 / 513, -845 / 4104, 0.0, 0.0],
    [-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40, 0.0],
    [25 / 216, 0.0, 1408 / 2565, 2197 / 4104, -1 / 5, 0.0],
    [16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55],
])  # fmt: skip

STATE = core.half_layout(
    arrays=("K", "stage", "stage_dot", "stage_rates", *interpolation.ARRAYS), reals=("power",),
    wholes=(*interpolation.WHOLES, "advance", "at_end", "blind"),
)  # fmt: skip
#: fields of the record that do not change from run to run
FIXED = ("power", "at_end", "blind")


def new_rkf45_state(compiled):
    """The record of a run."""
    n, n_d = compiled.form.n, compiled.rates.n_out
    return core.new_state(
        STATE, compiled, interpolation.N_COEFFICIENTS, K=np.zeros((STAGES, n_d)), stage=np.zeros(n),
        stage_dot=np.zeros(n), stage_rates=np.zeros(n_d), power=0.2, at_end=0, blind=0,
        frictional=int(compiled.form.has_friction),
        **interpolation.own_arrays(compiled),
    )  # fmt: skip


@device
def take_stages(state, ports, la):
    """Six stages, each with the accelerations of its point; then the new point with its matrices. An outcome."""
    n, n_d = state.n, state.n_d
    K, stage, stage_dot = mat(state.K, STAGES, n_d), vec(state.stage, n), vec(state.stage_dot, n)
    rates, matrices = vec(state.stage_rates, n_d), vec(state.next_matrices, state.n_M + state.n_C + state.n_m)
    core.copy(state.x_dot, state.K, n_d)
    core.copy(state.x, state.stage, n)
    for i in range(1, STAGES):
        t = core.time_at(state, C[i])
        combine(state, K, A[i], i, 0, n_d, stage)
        core.forget_multipliers(state, stage)
        outcome = core.evaluate_matrices(state, ports, t, stage, matrices)
        if outcome == FINE:
            outcome = core.factor_point(state, ports, la, t, stage, matrices)
        if outcome == FINE:
            outcome = core.complete(state, ports, la, t, stage, stage_dot, rates)
        if outcome != FINE:
            return outcome
        for k in range(n_d):
            K[i, k] = stage_dot[k]
    new = vec(state.next, n)
    combine(state, K, A[state.advance], STAGES, 0, n_d, new)
    core.forget_multipliers(state, new)
    return core.evaluate_matrices(state, ports, core.time_at(state, 1.0), new, matrices)


@device
def error_norm(state, la):
    """(11): the difference of the two orders. An outcome and the norm."""
    n_d, h = state.n_d, state.h
    K, error = mat(state.K, STAGES, n_d), vec(state.error, state.n)
    x, new, atol, rtol = (
        vec(state.x, state.n),
        vec(state.next, state.n),
        vec(state.atol, state.n),
        vec(state.rtol, state.n),
    )
    total = 0.0
    for i in range(n_d):
        difference = 0.0
        for j in range(STAGES):
            difference += (A[FIFTH, j] - A[FOURTH, j]) * K[j, i]
        error[i] = h * difference / (atol[i] + rtol[i] * max(abs(x[i]), abs(new[i])))
        total += error[i] * error[i]
    return FINE, np.sqrt(total / n_d)


rkf45 = runge_kutta_kernel(STATE, "rkf45", core.begin_or_fail, take_stages, error_norm)
