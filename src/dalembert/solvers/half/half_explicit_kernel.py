"""The kernel of half-explicit Runge-Kutta methods: one for all tableaux, which are part of the record of a run."""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import ivec, vec
from dalembert.solvers.half import core, interpolation
from dalembert.solvers.half.core import FINE, place
from dalembert.solvers.half.loop import stepping_kernel
from dalembert.solvers.half.quickest import rate_kernel
from dalembert.solvers.half.runge_kutta import runge_kutta_step
from dalembert.solvers.half.tableau import KNOWN, MOST_STAGES, NEXT

STATE = core.half_layout(
    arrays=(
        "A", "c", "closing", "closing_c", "links",  # the tableau; rows of MOST_STAGES
        "estimates",  # one column more, for the rates of the new point
        "before", "diagonal",  # the two parts of `closing`
        "K", "zeros",  # rates of the stages
        "stage", "matrices_1", "matrices_2", *interpolation.ARRAYS,
        "generated", "block",  # code for steps, and its memory; see `generated_kernel`
    ),
    reals=("power",),
    wholes=(
        *interpolation.WHOLES, "stages", "n_estimates", "at_end", "blind", "project_estimate",
        "n_kept",  # numbers of the block that steps hand on to the next
        "astray",  # whether they are of another point
    ),
)  # fmt: skip
NOTHING = np.zeros(1)
#: fields of the record that do not change from run to run
FIXED = ("power", "stages", "n_estimates", "at_end", "blind", "project_estimate", "n_kept")


def new_half_explicit_state(compiled, tableau, block=NOTHING, n_kept=0):
    """The record of a run; `block` is memory of generated code."""
    n, n_d, n_matrices, s = compiled.form.n, compiled.rates.n_out, compiled.matrices.n_out, tableau.stages
    closing = _wide(tableau.closing)
    estimates = np.hstack([_wide(tableau.estimates[:, :s]), tableau.estimates[:, s:]])
    return core.new_state(
        STATE, compiled, interpolation.N_COEFFICIENTS, A=_wide(tableau.A), c=tableau.c, closing=closing,
        before=np.tril(closing, -1), diagonal=np.diag(tableau.closing).copy(), closing_c=tableau.closing_c,
        links=np.array(tableau.links), estimates=estimates, zeros=np.zeros(n_d), K=np.zeros((MOST_STAGES, n_d)),
        stage=np.zeros(n), matrices_1=np.zeros(n_matrices), matrices_2=np.zeros(n_matrices),
        power=1.0 / tableau.estimate_power, stages=s, n_estimates=len(tableau.estimates),
        at_end=int(tableau.estimate_at_end), blind=int(not tableau.estimates[:, 0].any()),
        project_estimate=int(tableau.project_estimate), frictional=int(compiled.form.has_friction),
        generated=0, block=block, n_kept=n_kept,
        **interpolation.own_arrays(compiled),
    )  # fmt: skip


def _wide(rows):
    """The rows with zeros up to MOST_STAGES columns."""
    return np.hstack([rows, np.zeros((len(rows), MOST_STAGES - rows.shape[1]))])


@inlined
def advance(x, h, row, K, width, n, out):
    """out = x + h Σ a_j K_j for n components. All but h are addresses, rows of K are `width` numbers apart.

    Sums of fixed length: components are few, and a loop over stages would take longer than what it does.
    """
    a, y, z = vec(row, MOST_STAGES), vec(x, n), vec(out, n)
    k0, k1, k2, k3 = vec(K, n), vec(place(K, width), n), vec(place(K, 2 * width), n), vec(place(K, 3 * width), n)
    a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
    if a4 == 0.0 and a5 == 0.0 and a6 == 0.0 and a7 == 0.0:
        for i in range(n):
            z[i] = y[i] + h * ((a0 * k0[i] + a1 * k1[i]) + (a2 * k2[i] + a3 * k3[i]))
    else:
        K = place(K, 4 * width)
        k4, k5, k6, k7 = vec(K, n), vec(place(K, width), n), vec(place(K, 2 * width), n), vec(place(K, 3 * width), n)
        for i in range(n):
            early = (a0 * k0[i] + a1 * k1[i]) + (a2 * k2[i] + a3 * k3[i])
            z[i] = y[i] + h * (early + ((a4 * k4[i] + a5 * k5[i]) + (a6 * k6[i] + a7 * k7[i])))


@device
def clear(state):
    """Forget rates that may not be finite: sums of fixed length multiply also those by zero that they do not need."""
    K = vec(state.K, MOST_STAGES * state.n_d)
    for k in range(K.size):
        K[k] = 0.0


@device
def begin(state, ports, la):
    """Returns −1 or a code of `status`."""
    clear(state)
    return core.begin_or_fail(state, ports, la)


@device
def take_stages(state, ports, la):
    """All stages; `next` is the new point with its matrices. Returns an outcome."""
    n, n_p, n_v, n_r, n_d, s, h = state.n, state.n_p, state.n_v, state.n_r, state.n_d, state.stages, state.h
    size = state.n_M + state.n_C + state.n_m
    c, closing_c, links = vec(state.c, s), vec(state.closing_c, s), ivec(state.links, s)
    diagonal, solved, x = vec(state.diagonal, s), vec(state.solved, n_v), state.x
    # whether the last factors shall serve the projection; those with friction would not be orthogonal
    project = state.project_positions == 1 and state.since_projection + 1 >= state.project_every
    project = project and state.frictional == 0
    if state.why != FINE:
        clear(state)
    here, K = state.matrices, state.K  # those of the first stage are known
    core.copy(state.rates, K, n_d)
    core.forget_multipliers(state, vec(state.stage, n))
    core.forget_multipliers(state, vec(state.next, n))
    for i in range(s):
        last = i == s - 1
        target = state.next if last else state.stage
        there = state.matrices_1 if here != state.matrices_1 else state.matrices_2
        if last:
            there = state.next_matrices
        slope, row = place(K, i * n_d), i * MOST_STAGES
        if i > 0:
            t = core.time_at(state, c[i])
            answer = core.evaluate_rates(state, ports, t, vec(state.stage, n), vec(slope, n_d))
            if answer != 0:
                return answer
        v = place(slope, n_p)
        if links[i] == KNOWN:
            core.copy(place(state.x_dot, n_p), v, n_v)
        else:
            if state.frictional == 1:  # with the velocities of the stage, on which the direction of sliding depends
                at = x if i == 0 else state.stage
                answer = core.set_friction(state, ports, la, core.time_at(state, c[i]), vec(at, n))
                if answer != 0:
                    return answer
            closing = place(state.closing, row)
            advance(x, h, closing, K, n_d, n_p, target)
            # without this stage, whose accelerations are not known yet
            advance(place(x, n_p), h, place(state.before, row), place(K, n_p), n_d, n_v, place(target, n_p))
            if n_r > 0:
                p_v = n_p + n_v
                advance(place(x, p_v), h, closing, place(K, p_v), n_d, n_r, place(target, p_v))
            t = core.time_at(state, closing_c[i])
            answer = core.evaluate_matrices(state, ports, t, vec(target, n), vec(there, size))
            if answer != 0:
                return answer
            # the velocities at the closing point shall satisfy its constraints
            step = h * diagonal[i]
            outcome = core.solve_step(state, la, here, there, v, place(target, n_p), step, last and project)
            if outcome != FINE:
                return outcome
            velocities, accelerations = vec(place(target, n_p), n_v), vec(v, n_v)
            for k in range(n_v):
                accelerations[k] = solved[k]
                velocities[k] += step * solved[k]
        if links[i] != NEXT:
            advance(x, h, place(state.A, row + MOST_STAGES), K, n_d, n_d, target)
            t = core.time_at(state, c[i + 1])
            answer = core.evaluate_matrices(state, ports, t, vec(target, n), vec(there, size))
            if answer != 0:
                return answer
        here = there
    # constraints of the new point, forces of the last stage, which is near
    state.factors_fit = 1 if project else 0
    return FINE


@device
def project_estimate(state, la, e):
    """Take away from the velocities in e what violates the constraints of `next`, whose matrix is factored."""
    n_v, n_m, n_p = state.n_v, state.n_m, state.n_p
    C = vec(place(state.next_matrices, state.n_M), state.n_C)
    rows, columns = core.constraint_pattern(state, la)
    b, solved = vec(state.b, n_v + n_m), vec(state.solved, n_v)
    for i in range(n_v + n_m):
        b[i] = 0.0
    for k in range(state.n_C):
        b[n_v + rows[k]] -= C[k] * e[n_p + columns[k]]
    outcome = core.solve(state, la)
    if outcome == FINE:
        for i in range(n_v):
            e[n_p + i] += solved[i]
    return outcome


@device
def estimate(state, which, out):
    """The estimate of the error in row `which`, at an address."""
    n_d, h = state.n_d, state.h
    row = place(state.estimates, which * (MOST_STAGES + 1))
    advance(state.zeros, h, row, state.K, n_d, n_d, out)
    if state.at_end == 1:
        e, new_dot, d = vec(out, n_d), vec(state.next_dot, n_d), vec(row, MOST_STAGES + 1)[MOST_STAGES]
        for i in range(n_d):
            e[i] += h * d * new_dot[i]


@device
def error_norm(state, la):
    """An outcome, and the size of the estimated error in units of the tolerance."""
    n, n_d = state.n, state.n_d
    count, two = state.n_p if state.error_in == 0 else n_d, state.n_estimates == 2
    error, other = vec(state.error, n), vec(state.trial, n)
    x, new, atol, rtol = vec(state.x, n), vec(state.next, n), vec(state.atol, n), vec(state.rtol, n)
    estimate(state, 0, state.error)
    if two:
        estimate(state, 1, state.trial)
    if state.project_estimate == 1 and state.error_in == 1 and state.n_m > 0:
        outcome = project_estimate(state, la, error)
        if outcome != FINE:
            return outcome, 0.0
    near, far = 0.0, 0.0
    for i in range(count):
        weight = 1.0 / (atol[i] + rtol[i] * max(abs(x[i]), abs(new[i])))
        e = error[i] * weight
        error[i] = e
        near += e * e
        if two:
            e = other[i] * weight
            far += e * e
    near = np.sqrt(near / count)
    if two:
        total = near + 0.01 * np.sqrt(far / count)
        near = near * near / total if total > 0.0 else 0.0
    return FINE, near


step = runge_kutta_step(take_stages, error_norm)
half_explicit = stepping_kernel(STATE, "half_explicit", begin, step)
quickest = rate_kernel(STATE, "quickest_of_half_explicit")
