"""The kernel of HEM5. See `solvers/hem5.py`."""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import mat, vec
from dalembert.solvers.half import core, interpolation
from dalembert.solvers.half.core import FINE
from dalembert.solvers.half.runge_kutta import combine, runge_kutta_kernel

STAGES = 8
C = np.array([0.0, 0.1, 0.15, 0.3614787346573635, 0.08535584335486351, 0.5, 0.8, 1.0, 1.0])
# row i + 1 leads from stage i to stage i + 1; the last row are the weights b
A = np.array([
    [0.0] * 8,
    [0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0375, 0.1125, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [0.3222169236216038, -1.188883322987607, 1.228145134023366, 0.0, 0.0, 0.0, 0.0, 0.0],
    [-0.03501123898129943, 0.3725420601086163, -0.2721053535582034, 0.01993037578575077, 0.0, 0.0, 0.0, 0.0],
    [-0.5576547055042005, 1.367307289645883, -1.732236360460725, 0.4587772007467548, 0.9638065755722880, 0.0, 0.0, 0.0],
    [0.08654517193566155, -0.08810082847945416, 0.1981275547329404, -0.4645422679331083, 0.1615170091109488,
     0.9064533606330119, 0.0, 0.0],
    [0.0, 0.0, 0.0, 3.624477248753816, -0.4617724189181256, -3.198024628164272, 1.035319798328740, 0.0],
    [0.0, 0.0, 0.0, 0.2467760667636791, 0.2106594087489728, 0.1769218149125021, 0.3064446444147922,
     0.05919806516005373],
])  # fmt: skip

STATE = core.half_layout(
    arrays=("K", "stage", "stage_rates", "stage_matrices", *interpolation.ARRAYS), wholes=interpolation.WHOLES
)


def new_hem5_state(compiled):
    """The record of a run."""
    n, n_d, n_matrices = compiled.form.n, compiled.rates.n_out, compiled.matrices.n_out
    return core.new_state(
        STATE, compiled, interpolation.N_COEFFICIENTS, K=np.zeros((STAGES, n_d)), stage=np.zeros(n),
        stage_rates=np.zeros(n_d), stage_matrices=np.zeros(n_matrices), **interpolation.own_arrays(compiled),
    )  # fmt: skip


@device
def take_stages(state, ports, la):
    """Eight stages (6)-(7): `stage` is the eighth at the end, `next` the new point. Returns an outcome."""
    n_p, n_v, n_d, n_m, h = state.n_p, state.n_v, state.n_d, state.n_m, state.h
    K, b = mat(state.K, STAGES, n_d), vec(state.b, n_v + n_m)
    stage, following = vec(state.stage, state.n), vec(state.next, state.n)
    size = state.n_M + state.n_C + n_m
    here, there, other = vec(state.matrices, size), vec(state.stage_matrices, size), vec(state.next_matrices, size)
    core.copy(state.x, state.stage, n_d)
    core.forget_multipliers(state, stage)
    core.forget_multipliers(state, following)
    for i in range(STAGES):
        rates = vec(state.rates, n_d)  # those of the first stage are known
        if i > 0:
            rates = vec(state.stage_rates, n_d)
            answer = core.evaluate_rates(state, ports, core.time_at(state, C[i]), stage, rates)
            if answer != 0:
                return answer
        for k in range(n_p):
            K[i, k] = rates[k]
        for k in range(n_p + n_v, n_d):
            K[i, k] = rates[k]
        combine(state, K, A[i + 1], i + 1, 0, n_p, following)
        combine(state, K, A[i + 1], i + 1, n_p + n_v, n_d, following)
        combine(state, K, A[i + 1], i, n_p, n_p + n_v, following)
        answer = core.evaluate_matrices(state, ports, core.time_at(state, C[i + 1]), following, there)
        if answer != 0:
            return answer
        # the velocities of the next stage shall satisfy its constraints
        step = h * A[i + 1, i]
        core.velocity_residual(state, la, there, following[n_p:], b[n_v:])
        for k in range(n_m):
            b[n_v + k] /= -step
        for k in range(n_v):
            b[k] = rates[n_p + k]
        core.load(state, la, here, here, there)
        outcome = core.factor(state, la)
        if outcome != FINE:
            return outcome
        outcome = core.solve(state, la)
        if outcome != FINE:
            return outcome
        for k in range(n_v):
            K[i, n_p + k] = b[k]
            following[n_p + k] += step * b[k]
        if i < STAGES - 1:
            core.copy(state.next, state.stage, n_d)
            # what was evaluated last belongs to the stage that comes; after eight exchanges that is next_matrices
            if i == 0:
                here = other
            here, there = there, here
    state.factors_fit = 1  # constraints of the new point, forces of the eighth stage, which is near
    return FINE


@device
def error_norm(state):
    """(9): the new point against the eighth stage and a quadrature of low order; O(h⁵)."""
    n_d, n_p, h = state.n_d, state.n_p, state.h
    count = n_p if state.error_in == 0 else n_d
    K, error = mat(state.K, STAGES, n_d), vec(state.error, state.n)
    x, new, stage = vec(state.x, state.n), vec(state.next, state.n), vec(state.stage, state.n)
    atol, rtol = vec(state.atol, state.n), vec(state.rtol, state.n)
    near, far = 0.0, 0.0
    for i in range(count):
        weight = atol[i] + rtol[i] * max(abs(x[i]), abs(new[i]))
        e1 = (new[i] - stage[i]) / weight
        e2 = (new[i] - x[i] - h * (2.5 * K[6, i] - 1.5 * K[7, i])) / weight
        near += e1 * e1
        far += e2 * e2
        error[i] = e1
    near, far = np.sqrt(near / count), np.sqrt(far / count)
    total = near + 0.01 * far
    return near * near / total if total > 0.0 else 0.0


hem5 = runge_kutta_kernel(STATE, "hem5", take_stages, error_norm)
