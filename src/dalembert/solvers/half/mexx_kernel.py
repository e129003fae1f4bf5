"""The kernel of MEXX. See `solvers/mexx.py`; numbers in parentheses are equations of the article."""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, mat, vec
from dalembert.solvers.attempts import UNSCALED, note_error, note_order
from dalembert.solvers.half import core, extrapolation
from dalembert.solvers.half.core import DRIFTED, FINE, NOT_PROJECTED
from dalembert.solvers.half.extrapolation import MOST_COEFFICIENTS, MOST_DERIVATIVES
from dalembert.solvers.half.loop import stepping_kernel
from dalembert.solvers.half.quickest import rate_kernel
from dalembert.solvers.half.unseen_jumps import largest_unseen
from dalembert.solvers.phases import Phase, enter
from dalembert.solvers.ports import evaluate
from dalembert.solvers.shell import limit_step, look_for_events
from dalembert.solvers.status import GO_ON, Outcome, Status

# verdicts on a row besides GO_ON and the outcomes of `core`
ACCEPT, REJECT, HALVE = -2, -3, -4
FAR_FROM_CONSTRAINTS = int(Outcome.FAR_FROM_CONSTRAINTS)

#: a projection may move positions or velocities by this much in units of the tolerance
FARTHEST = 5.0
#: the last step may be longer by this factor than planned
STRETCH = 1.0 / 0.965

STATE = core.half_layout(
    arrays=(
        "numbers", "first_place",  # n_j, and where the rates of row j begin
        "work", "best_h", "efficiency",  # A_j, H_j, W_j by number of rows
        "table",  # rows of (growth of p, v, r; λ; a; r'); 0: T_jj, 1: T_{j,j−1}, …
        "slopes",  # (p', a, r', λ) of all small steps
        "stage", "stage_rates", "stage_matrices",
        "force",  # f − F λ
        "raw",  # p and v before they are projected
        "first_lam",  # λ that the first small steps multiply by F
        "ends",  # derivatives at the ends, for interpolation
        "weight_start", "weight_place", "weights", "hermite",
        "to_zero",  # weights of the rows in T_jj, then in T_{j,j−1}, by number of rows
    ),
    reals=("error_now", "error_before", "dense_limit", "jump_limit"),
    wholes=(
        "delayed",  # F λ of the first small steps is one basic step old
        "perturbed", "most_rows", "dense_rows", "n_slopes", "n_weights",
        "n_table",  # length of a row of the table
        "order",  # rows that are planned
        "rows",  # rows that were computed
        "begun",
    ),
)  # fmt: skip
#: fields of the record that do not change from run to run
FIXED = ("delayed", "perturbed", "most_rows", "dense_rows", "n_slopes", "n_weights", "n_table")


def new_mexx_state(compiled, sequence, dense_order, modified, delayed):
    """The record of a run; `sequence` holds as many step numbers as there may be rows."""
    n, n_d, n_v = compiled.form.n, compiled.rates.n_out, compiled.form.mass.shape[0]
    most_rows, perturbed = len(sequence), compiled.form.has_friction and (delayed or not modified)
    n_coefficients, n_table = min(most_rows + 3, dense_order + 1), n + n_d - len(compiled.form.model.names("p"))
    first = np.concatenate([[0], np.cumsum(sequence)])
    start, place, weights = extrapolation.derivative_weights(sequence, perturbed)
    return core.new_state(
        STATE, compiled, n_coefficients, numbers=np.array(sequence, np.int64), first_place=first.astype(np.int64),
        work=np.concatenate([[0.0], 4.0 + np.cumsum(sequence)]), best_h=np.zeros(most_rows + 1),
        efficiency=np.zeros(most_rows + 1), table=np.zeros((most_rows, n_table)), slopes=np.zeros((first[-1], n)),
        stage=np.zeros(n), stage_rates=np.zeros(n_d), stage_matrices=np.zeros(compiled.matrices.n_out),
        force=np.zeros(n_v), raw=np.zeros(n), first_lam=np.zeros(n - n_d), ends=np.zeros((MOST_COEFFICIENTS, n)),
        weight_start=start, weight_place=place, weights=weights,
        hermite=extrapolation.polynomial_tables(most_rows, perturbed), frictional=int(modified), delayed=int(delayed),
        perturbed=int(perturbed), most_rows=most_rows, dense_rows=n_coefficients - 3, n_slopes=int(first[-1]),
        n_weights=len(weights), n_table=n_table, to_zero=extrapolation.rows_to_zero(sequence),
    )  # fmt: skip


# -- one row -----------------------------------------------------------------------------------------------------------


@device
def keep_multipliers(state):
    """Those of the current point, for the first small steps of the next basic step."""
    x, first_lam = vec(state.x, state.n), vec(state.first_lam, state.n - state.n_d)
    for k in range(state.n - state.n_d):
        first_lam[k] = x[state.n_d + k]


@device
def too_fast(state, x, h, a):
    """Whether a small step changes velocities by more than twice what they are: it is too long to be stable.

    The larger of the velocities before and after two small steps counts, so that turning back is no reason; changes
    within the tolerance are none either, as at rest there are rounding errors only.
    """
    n_p, weight, start = state.n_p, vec(state.weight, state.n), vec(state.x, state.n)
    change, before, after = 0.0, 0.0, 0.0
    for i in range(state.n_v):
        w = weight[n_p + i]
        c, v0, v2 = h * a[i] / w, start[n_p + i] / w, x[n_p + i] / w
        change += c * c
        before += v0 * v0
        after += v2 * v2
    return change > 4.0 * max(before, after) and change > state.n_v


@device
def take_row(state, ports, la, j):
    """n_j steps of the half-explicit Euler method (2.1) or (2.2) from the current point; row j of the tableau.

    Returns an outcome, or HALVE if it looks unstable. The saddle-point systems are written for (a, λ).
    """
    n, n_p, n_v, n_d, n_m = state.n, state.n_p, state.n_v, state.n_d, state.n_m
    count = ivec(state.numbers, state.most_rows)[j]
    first = ivec(state.first_place, state.most_rows + 1)[j]
    h = state.h / count
    stage, force, F = vec(state.stage, n), vec(state.force, n_v), vec(state.F, state.n_F)
    solved = vec(state.solved, n_v + n_m)
    matrices = vec(state.stage_matrices, state.n_M + state.n_C + n_m)
    slopes = mat(state.slopes, state.n_slopes, n)
    size_U = state.n_C + state.n_F if state.frictional == 1 else 0
    U_rows, U_columns = ivec(la.U_rows, size_U), ivec(la.U_columns, size_U)
    x, first_lam = vec(state.x, n), vec(state.first_lam, n - n_d)
    # sums of small numbers have smaller rounding errors, which extrapolation enlarges a thousand times
    grown = mat(state.table, state.most_rows, state.n_table)[j]
    core.copy(state.x, state.stage, n)
    for k in range(n_d):
        grown[k] = 0.0
    for i in range(count):
        rates = vec(state.rates, n_d)  # those of the first point are known
        if i > 0:
            rates = vec(state.stage_rates, n_d)
            answer = core.evaluate_rates(state, ports, state.t + i * h, stage, rates)
            if answer != 0:
                return answer
        slope = slopes[first + i]
        for k in range(n_p):
            slope[k] = rates[k]
            grown[k] += h * rates[k]
            stage[k] = x[k] + grown[k]
        for k in range(n_v):
            force[k] = rates[n_p + k]
        if state.frictional == 1:
            lam = first_lam if i == 0 else stage[n_d:]
            for k in range(state.n_F):
                force[U_columns[state.n_C + k]] -= F[k] * lam[U_rows[state.n_C + k]]
        t = core.time_at(state, 1.0) if i == count - 1 else state.t + (i + 1) * h
        answer = core.evaluate_matrices(state, ports, t, stage, matrices)
        if answer != 0:
            return answer
        at, v = state.stage_matrices, core.place(state.stage, n_p)
        outcome = core.solve_step(state, la, at, at, state.force, v, h, False)
        if outcome != FINE:
            return outcome
        for k in range(n_v):
            slope[n_p + k] = solved[k]
            grown[n_p + k] += h * solved[k]
            stage[n_p + k] = x[n_p + k] + grown[n_p + k]
        for k in range(n_p + n_v, n_d):
            slope[k] = rates[k]
            grown[k] += h * rates[k]
            stage[k] = x[k] + grown[k]
        for k in range(n_m):
            slope[n_d + k] = solved[n_v + k]
            stage[n_d + k] = solved[n_v + k]
        if i == 1 and j < 2 and too_fast(state, stage, h, solved) and core.may_shrink(state):
            return HALVE
    for k in range(n_d, n):
        grown[k] = stage[k]
    for k in range(n_p, n_d):
        grown[n - n_p + k] = slopes[first + count - 1, k]
    return FINE


@device
def extrapolate(state, j):
    """(2.6) with the new row j: the table holds T_{j+1,j+1}, T_{j+1,j}, … afterwards."""
    size = state.n_table
    table, numbers = mat(state.table, state.most_rows, size), ivec(state.numbers, state.most_rows)
    for level in range(j, 0, -1):
        factor = 1.0 / (numbers[j] / numbers[level - 1] - 1.0)
        new, old = table[level], table[level - 1]
        for k in range(size):
            old[k] = new[k] + (new[k] - old[k]) * factor


@device
def part_of_error(state, table, first, last):
    """The mean square of T_jj − T_{j,j−1} over some components (2.8)."""
    x, error, weight = vec(state.x, state.n), vec(state.error, state.n), vec(state.weight, state.n)
    atol, rtol = vec(state.atol, state.n), vec(state.rtol, state.n)
    total = 0.0
    for i in range(first, last):
        weight[i] = atol[i] + rtol[i] * max(abs(x[i]), abs(x[i] + table[0, i]))
        e = (table[0, i] - table[1, i]) / weight[i]
        error[i] = e
        total += e * e
    return total / (last - first) if last > first else 0.0


@device
def judge(state, rows):
    """The error after `rows` rows (2.7), and what step that would suit this order."""
    table = mat(state.table, state.most_rows, state.n_table)
    n_p, n_v, n_d = state.n_p, state.n_v, state.n_d
    error = np.sqrt(
        part_of_error(state, table, 0, n_p)
        + part_of_error(state, table, n_p, n_p + n_v)
        + part_of_error(state, table, n_p + n_v, n_d)
    )
    power = 1.0 / (rows - 1.0)
    least = 0.1**power
    factor = min(4.0 / least, max(least, (error / 0.8) ** power / 0.93))
    best_h, size = vec(state.best_h, state.most_rows + 1), state.most_rows + 1
    best_h[rows] = min(abs(state.h) / factor, state.max_step)
    vec(state.efficiency, size)[rows] = vec(state.work, size)[rows] / best_h[rows]
    return error


# -- a basic step ------------------------------------------------------------------------------------------------------


@device
def monitor(state, rows):
    """What to do after `rows` rows, the error of which is `error_now`: GO_ON, ACCEPT, REJECT or HALVE."""
    error, k, numbers = state.error_now, state.order, ivec(state.numbers, state.most_rows)
    can = core.may_shrink(state)
    last = rows == k + 1
    if not np.isfinite(error) or error > 1e15:
        return HALVE if can else core.CANNOT_EVALUATE
    if rows > 2 and error >= state.error_before and can:
        return HALVE
    state.error_before = max(error, 0.8)
    free = state.begun == 0 or state.last == 1  # any row may end the first and the last step
    if error <= 1.0 and (free or rows >= k or (rows == k - 1 and state.rejected == 0)):
        return ACCEPT
    if last:
        return REJECT if can else ACCEPT
    if can:
        if rows == k and error > numbers[k]:
            return REJECT
        if rows == k - 1 and not free and state.rejected == 0 and error > numbers[k] * numbers[k - 1]:
            return REJECT
    return GO_ON


@device
def take_rows(state, ports, la):
    """Rows of the tableau until the step is accepted or not. Returns ACCEPT, REJECT, HALVE or an outcome."""
    if state.frictional == 1:  # that at the start of the basic step
        outcome = core.set_friction(state, ports, la, state.t, vec(state.x, state.n))
        if outcome != FINE:
            return outcome
    for j in range(state.order + 1):
        state.rows = j + 1
        note_order(state, j + 1)
        outcome = take_row(state, ports, la, j)
        if outcome != FINE:
            return outcome
        if j == 0:
            continue
        enter(state, Phase.EXTRAPOLATION)
        extrapolate(state, j)
        enter(state, Phase.STAGES)
        state.error_now = judge(state, j + 1)
        note_error(state, state.error_now, state.error, UNSCALED, state.n_d)
        verdict = monitor(state, j + 1)
        if verdict != GO_ON:
            return verdict
    return REJECT


@device
def moved(state, first, last):
    """How far the projection moved some components of `next`, in units of the tolerance."""
    x, raw, weight = vec(state.next, state.n), vec(state.raw, state.n), vec(state.weight, state.n)
    total = 0.0
    for i in range(first, last):
        e = (x[i] - raw[i]) / weight[i]
        total += e * e
    return np.sqrt(total / (last - first)) if last > first else 0.0


@device
def settle(state, ports, la, t):
    """Project `next`, then its rates. Returns an outcome."""
    n, n_p, n_v, n_d = state.n, state.n_p, state.n_v, state.n_d
    x, x_dot, rates = vec(state.next, n), vec(state.next_dot, n), vec(state.next_rates, n_d)
    matrices = vec(state.next_matrices, state.n_M + state.n_C + state.n_m)
    core.copy(state.next, state.raw, n)
    if state.n_m > 0:
        # the article counts evaluations for the projection of positions apart
        outcome = core.watched(state, evaluate(state.matrices_port, ports, t, x, matrices), t, x)
        if outcome == FINE:
            outcome = core.project(state, ports, la, t)
        if outcome != FINE:
            return outcome
    outcome = core.evaluate_rates(state, ports, t, x, rates)
    for i in range(n_p):
        x_dot[i] = rates[i]
    for i in range(n_p + n_v, n_d):
        x_dot[i] = rates[i]
    return outcome


@device
def arrive(state, ports, la):
    """Make the extrapolated values a complete point, `next`. Returns an outcome."""
    n, n_p, n_v, n_d = state.n, state.n_p, state.n_v, state.n_d
    best, x, x_dot = mat(state.table, state.most_rows, state.n_table)[0], vec(state.next, n), vec(state.next_dot, n)
    before = vec(state.x, n)
    for i in range(n_d):
        x[i] = before[i] + best[i]
    for i in range(n_d, n):
        x[i] = best[i]
    for i in range(n_v):
        x_dot[n_p + i] = best[n + i]
    return settle(state, ports, la, core.time_at(state, 1.0))


@device
def begin(state, ports, la):
    """Project the start; choose the order. Returns GO_ON or a `Status`."""
    core.set_weights(state)
    core.copy(state.x, state.next, state.n)
    core.copy(state.x_dot, state.next_dot, state.n)
    ivec(la.sizes, 7)[6] = 1
    state.since_projection = state.project_every  # a projection is due
    outcome = settle(state, ports, la, state.t)
    state.since_projection = 0
    if outcome == core.STOPPED:
        return Status.PORT_FAILED
    if outcome == core.SINGULAR:
        return Status.SINGULAR
    if outcome == NOT_PROJECTED:
        state.why = NOT_PROJECTED
        return Status.STEP_TOO_SMALL
    if outcome != FINE:
        return Status.NOT_FINITE
    core.copy(state.next, state.x, state.n)
    core.copy(state.next_dot, state.x_dot, state.n)
    core.copy(state.next_rates, state.rates, state.n_d)
    keep_multipliers(state)
    core.set_weights(state)
    atol, rtol, tolerance = vec(state.atol, state.n), vec(state.rtol, state.n), np.inf
    for i in range(state.n_d):
        tolerance = min(tolerance, atol[i] + rtol[i])
    wanted = int(1.5 - 0.6 * np.log10(tolerance))
    state.order = min(max(3, min(state.most_rows - 2, wanted)), state.most_rows - 1)
    return GO_ON


# -- order and step size -----------------------------------------------------------------------------------------------


@device
def plan(state):
    """Order and size of the step after an accepted one; returns the size."""
    W, H, A = (
        vec(state.efficiency, state.most_rows + 1),
        vec(state.best_h, state.most_rows + 1),
        vec(state.work, state.most_rows + 1),
    )
    rows, k, most = state.rows, state.order, state.most_rows - 1
    if rows == 2:
        best = 2 if state.rejected == 1 else min(3, most)
    elif rows <= k:
        best = rows
        if W[rows - 1] < 0.9 * W[rows]:
            best = rows - 1
        if W[rows] < W[rows - 1]:
            best = min(rows + 1, most)
    else:
        best = rows - 1
        if rows > 3 and W[rows - 2] < 0.9 * W[rows - 1]:
            best = rows - 2
        if W[rows] < W[best]:
            best = min(rows, most)
    if state.rejected == 1:
        state.order = min(best, rows)
        return min(abs(state.h), H[state.order])
    state.order = best
    return H[best] if best <= rows else H[rows] * A[rows + 1] / A[rows]


@device
def lower(state):
    """Order and size of the step after a rejected one; returns the size."""
    W, H = vec(state.efficiency, state.most_rows + 1), vec(state.best_h, state.most_rows + 1)
    k = min(state.order, state.rows)
    if k > 2 and W[k - 1] < 0.9 * W[k]:
        k -= 1
    state.order = k
    return H[k]


@device
def set_next_step(state, h_new):
    """As `limit_step`, but the last step may be a little longer than planned."""
    left = abs(state.t_end - state.t)
    if h_new * STRETCH >= left and left <= state.max_step:
        h_new = left
    limit_step(state, h_new)


# -- dense output ------------------------------------------------------------------------------------------------------


@device
def derivative(state, end, k, slot):
    """H^k times the k-th derivative of the rates at one end (0: right, 1: left), into a row of `ends`."""
    i = (2 * state.rows + end) * MOST_DERIVATIVES + k - 1
    start = ivec(state.weight_start, 2 * (state.most_rows + 1) * MOST_DERIVATIVES + 1)
    place, weight = ivec(state.weight_place, state.n_weights), vec(state.weights, state.n_weights)
    slopes, out = mat(state.slopes, state.n_slopes, state.n), mat(state.ends, MOST_COEFFICIENTS, state.n)[slot]
    for c in range(state.n):
        out[c] = 0.0
    for q in range(start[i], start[i + 1]):
        w, slope = weight[q], slopes[place[q]]
        for c in range(state.n):
            out[c] += w * slope[c]


@device
def interpolate(state, kind, rows, first, last, count):
    """Coefficients of the components first … last − 1 from the first `count` rows of `ends`."""
    size = MOST_COEFFICIENTS
    c, ends = mat(state.coefficients, state.n_coefficients, state.n), mat(state.ends, size, state.n)
    tables = mat(state.hermite, 2 * (state.most_rows + 1) * size, size)
    top = (kind * (state.most_rows + 1) + rows) * size
    for m in range(state.n_coefficients):
        for i in range(first, last):
            c[m, i] = 0.0
    for m in range(count):
        for q in range(count):
            B = tables[top + m, q]
            if B != 0.0:
                for i in range(first, last):
                    c[m, i] += B * ends[q, i]


@device
def set_polynomial(state):
    """Hermite's polynomials through values and derivatives at both ends.

    Returns the size of the last term of Newton's form, an estimate of the error in units of the tolerance, and the
    degree, for p, v and r.
    """
    n, n_d, h = state.n, state.n_d, state.h
    rows = min(state.rows, state.dense_rows)
    left = 0 if state.perturbed == 1 else (rows - 1) // 2
    right = rows // 2
    ends = mat(state.ends, MOST_COEFFICIENTS, n)
    x, x_dot, new, new_dot = vec(state.x, n), vec(state.x_dot, n), vec(state.next, n), vec(state.next_dot, n)
    # differential variables: value, rate, its derivatives; first at the right end, then at the left
    for k in range(1, right + 1):
        derivative(state, 0, k, 1 + k)
    for k in range(1, left + 1):
        derivative(state, 1, k, right + 3 + k)
    for q in range(2, right + 2):
        for i in range(n_d):
            ends[q, i] *= h
    for q in range(right + 4, right + 4 + left):
        for i in range(n_d):
            ends[q, i] *= h
    for i in range(n_d):
        ends[0, i], ends[1, i] = new[i], h * new_dot[i]
        ends[right + 2, i], ends[right + 3, i] = x[i], h * x_dot[i]
    interpolate(state, 0, rows, 0, n_d, right + left + 4)
    # multipliers: value and derivatives
    for i in range(n_d, n):
        ends[0, i] = new[i]
        for k in range(1, right + 1):
            ends[k, i] = ends[1 + k, i]
        ends[right + 1, i] = x[i]
        for k in range(1, left + 1):
            ends[right + 1 + k, i] = ends[right + 3 + k, i]
    interpolate(state, 1, rows, n_d, n, right + left + 2)
    degree = right + left + 3
    c, weight, total = mat(state.coefficients, state.n_coefficients, n), vec(state.weight, n), 0.0
    for i in range(n_d):
        e = c[degree, i] / weight[i]
        total += e * e
    theta = (right + 2.0) / degree
    return theta ** (right + 2) * (1.0 - theta) ** (left + 1) * np.sqrt(total / n_d), degree


# -- a step ------------------------------------------------------------------------------------------------------------


@device
def step(state, ports, la, buffer, scan):
    """Try a basic step. Returns GO_ON or a `Status`."""
    verdict = take_rows(state, ports, la)
    if verdict == HALVE:
        return core.reject(state, Outcome.INACCURATE, 0.5 * abs(state.h))
    if verdict == REJECT:
        return core.reject(state, Outcome.INACCURATE, min(lower(state), 0.9 * abs(state.h)))
    if verdict != ACCEPT:
        return core.give_up(state, verdict)
    outcome = arrive(state, ports, la)
    if outcome != FINE:
        return core.give_up(state, outcome)
    can = core.may_shrink(state)
    way = max(moved(state, 0, state.n_p), moved(state, state.n_p, state.n_p + state.n_v))
    drift = core.drifted(state)
    if can and (way > FARTHEST or drift > 0.0):
        outcome = DRIFTED if drift > 0.0 else FAR_FROM_CONSTRAINTS
        return core.reject(state, outcome, abs(state.h) * max(0.45, 0.9 / max(way, drift)))
    if state.jump_limit > 0.0:
        outcome, jump = largest_unseen(state, ports, la)
        if outcome != FINE:
            return core.give_up(state, outcome)
        if can and jump > state.jump_limit:
            state.order = max(min(state.order, 3), state.order - 1)
            return core.reject(state, Outcome.INACCURATE, abs(state.h) * max(0.25, 0.9 * state.jump_limit / jump))
    enter(state, Phase.DENSE_OUTPUT)
    missed, degree = set_polynomial(state)
    enter(state, Phase.STAGES)
    limit = np.inf
    if state.dense_limit > 0.0 and missed > 0.0:
        limit = abs(state.h) * 0.9 * (state.dense_limit / missed) ** (1.0 / degree)
        if missed > state.dense_limit and can:
            return core.reject(state, Outcome.INACCURATE, max(limit, 0.3 * abs(state.h)))
    if state.error_now > 1.0 or way > FARTHEST or drift > 0.0:
        state.forced += 1
        h_new, state.order = abs(state.h), state.most_rows - 1
    else:
        h_new = min(plan(state), limit)
    if state.delayed == 1:
        keep_multipliers(state)
    core.commit(state, buffer)
    if state.delayed == 0:
        keep_multipliers(state)
    state.begun = 1
    code = look_for_events(state, ports, scan)
    if state.t != state.t_end:
        set_next_step(state, h_new)
    return code


mexx = stepping_kernel(STATE, "mexx", begin, step)
quickest = rate_kernel(STATE, "quickest_of_mexx")
