"""The three stages of a step: first guesses, values, residuals, and the polynomial through them.

The stage values X_k = x + Z_k satisfy F(t_k, X_k, D_k) = 0 with D = (A⁻¹/h) Z.
"""

from dalembert.compile.kernel import call_port, device
from dalembert.compile.memory import mat, vec
from dalembert.solvers.bookkeeping import add, keep_failed
from dalembert.solvers.ports import set_inputs
from dalembert.solvers.radau.tableau import AI, TI, C
from dalembert.solvers.status import Count


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
def inputs_of_stage(state, ports, t, k, known):
    """Bring the inputs in θ to stage k; they do not change with the iterates of a step. Returns the port's status."""
    if ports.inputs == 0:
        return 0
    now = ports.theta[ports.n_fixed :]
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
