"""Contacts of a model: which are closed, the matrix of their impulses, and Gauss and Seidel's iteration on it.

Rows W of closed contacts are taken in the middle of the step, for impulses and for velocities alike, so that an impulse
never gains energy. With what one impulse along each row does to velocities, all else is one dense problem:

    y = A p + q,    A = W K⁻¹ Wᵀ,    q = W v_free + w + e min(W v + w, 0)      (e in normal rows only)
"""

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, mat, vec
from dalembert.solvers.moreau.cone import solve_normal, solve_planar, solve_spatial
from dalembert.solvers.moreau.smooth import FINE, call, predict, shift_positions, solve, time_at
from dalembert.solvers.moreau.state import CLOSED, CONTACTS, ITERATIONS, N_OWN_COUNTS
from dalembert.solvers.status import N_COUNTS


@device
def find_closed(state, ports):
    """Numbers of the contacts whose gap is closed half a step ahead, in `active`. Returns an outcome."""
    predict(state, 0.5)
    g, normal = vec(state.g, state.n_lam), ivec(state.normal, state.n_contacts)
    outcome = call(state, state.position_port, ports, time_at(state, 0.5), vec(state.middle, state.n), g)
    active, state.n_active, state.n_points = ivec(state.active, state.n_contacts), 0, 0
    if outcome != FINE:
        return outcome
    first = ivec(state.first_row, state.n_contacts + 1)
    for c in range(state.n_contacts):
        if -g[normal[c]] <= 0.0:
            active[state.n_active] = c
            state.n_active += 1
            state.n_points += first[c + 1] - first[c]
    return FINE


@device
def set_problem(state):
    """A, q and impulses to begin with, of the closed contacts. Returns an outcome."""
    n_v, n_b, n_p = state.n_v, state.n_b, state.n_p
    R, size = state.n_points, state.n_M + state.n_C + state.n_m
    values, v, change = vec(state.matrices, size), vec(state.x, state.n)[n_p : n_p + n_v], vec(state.change, n_v)
    W, answer, A = mat(state.W, R, n_v), mat(state.answer, R, n_v + n_b), mat(state.A, R, R)
    before, q, impulse, kept = (
        vec(state.before, R),
        vec(state.q, R),
        vec(state.impulse, R),
        vec(state.kept, state.n_rows),
    )
    active, first = ivec(state.active, state.n_contacts), ivec(state.first_row, state.n_contacts + 1)
    start, row_of = ivec(state.row_start, state.n_rows + 1), ivec(state.row_of, state.n_rows)
    entry, column = ivec(state.row_entry, start[state.n_rows]), ivec(state.row_column, start[state.n_rows])
    restitution = vec(state.restitution, state.n_contacts)
    b, solved = vec(state.b, n_v + n_b), vec(state.solved, n_v + n_b)
    k, state.slack = 0, 0.0
    for a in range(state.n_active):
        c = active[a]
        for row in range(first[c], first[c + 1]):
            for i in range(n_v):
                W[k, i] = 0.0
            rate = -values[state.n_M + state.n_C + row_of[row]]
            for e in range(start[row], start[row + 1]):
                W[k, column[e]] = -values[state.n_M + entry[e]]
            gained = 0.0
            before[k] = rate
            for i in range(n_v):
                before[k] += W[k, i] * v[i]
                gained += W[k, i] * change[i]
            q[k] = before[k] + gained
            if row == first[c]:
                q[k] += restitution[c] * min(before[k], 0.0)
                state.slack = max(state.slack, 0.5 * abs(state.h * gained))
            impulse[k] = kept[row]
            for i in range(n_v):
                b[i] = W[k, i]
            for i in range(n_b):
                b[n_v + i] = 0.0
            outcome = solve(state)
            if outcome != FINE:
                return outcome
            for i in range(n_v + n_b):
                answer[k, i] = solved[i]
            k += 1
    for i in range(R):
        for j in range(R):
            total = 0.0
            for m in range(n_v):
                total += W[i, m] * answer[j, m]
            A[i, j] = total
    return FINE


@device
def block(A, q, p, friction, k, d, R):
    """The impulses of the contact whose d rows begin at k, all others given."""
    y0, y1, y2 = q[k], 0.0, 0.0
    for j in range(R):
        y0 += A[k, j] * p[j]
    if d > 1:
        y1 = q[k + 1]
        for j in range(R):
            y1 += A[k + 1, j] * p[j]
    if d > 2:
        y2 = q[k + 2]
        for j in range(R):
            y2 += A[k + 2, j] * p[j]
    if not A[k, k] > 0.0:  # nothing moves along this normal, whatever the impulse
        return 0.0, 0.0, 0.0
    if d == 1:
        return solve_normal(A[k, k], y0 - A[k, k] * p[k]), 0.0, 0.0
    if d == 2:
        y0 -= A[k, k] * p[k] + A[k, k + 1] * p[k + 1]
        y1 -= A[k + 1, k] * p[k] + A[k + 1, k + 1] * p[k + 1]
        normal, along = solve_planar(A[k, k], A[k, k + 1], A[k + 1, k], A[k + 1, k + 1], y0, y1, friction)
        return normal, along, 0.0
    y0 -= A[k, k] * p[k] + A[k, k + 1] * p[k + 1] + A[k, k + 2] * p[k + 2]
    y1 -= A[k + 1, k] * p[k] + A[k + 1, k + 1] * p[k + 1] + A[k + 1, k + 2] * p[k + 2]
    y2 -= A[k + 2, k] * p[k] + A[k + 2, k + 1] * p[k + 1] + A[k + 2, k + 2] * p[k + 2]
    return solve_spatial(
        A[k, k], A[k, k + 1], A[k, k + 2], A[k + 1, k], A[k + 1, k + 1], A[k + 1, k + 2], A[k + 2, k],
        A[k + 2, k + 1], A[k + 2, k + 2], y0, y1, y2, friction,
    )  # fmt: skip


@device
def iterate(state):
    """Gauss and Seidel's iteration until impulses change by less than the tolerance, in the norm of A's diagonal."""
    R, count = state.n_points, ivec(state.count, N_COUNTS + N_OWN_COUNTS)
    A, q, p = mat(state.A, R, R), vec(state.q, R), vec(state.impulse, R)
    active, first = ivec(state.active, state.n_contacts), ivec(state.first_row, state.n_contacts + 1)
    friction = vec(state.friction, state.n_contacts)
    scale, k = 0.0, 0  # the energy that stops all contacts that approach, one by one
    for a in range(state.n_active):
        if A[k, k] > 0.0:
            scale += min(q[k], 0.0) ** 2 / A[k, k]
        k += first[active[a] + 1] - first[active[a]]
    for _turn in range(state.iterations):
        change, size, k = 0.0, 0.0, 0
        for a in range(state.n_active):
            c = active[a]
            d = first[c + 1] - first[c]
            new = block(A, q, p, friction[c], k, d, R)
            for i in range(d):
                value = new[0] if i == 0 else new[1] if i == 1 else new[2]
                weight = A[k + i, k + i]
                change += weight * (value - p[k + i]) ** 2
                size += weight * value * value
                p[k + i] = value
            k += d
        count[ITERATIONS] += 1
        if change <= state.tolerance * state.tolerance * max(size, scale):
            return
    state.unsolved += 1


@device
def apply(state):
    """Add what the impulses do to `change`; keep them for the next step, and as multipliers in `next`."""
    n_v, n_b, n_d, R = state.n_v, state.n_b, state.n_d, state.n_points
    answer, p = mat(state.answer, R, n_v + n_b), vec(state.impulse, R)
    change, kept, new = vec(state.change, n_v + n_b), vec(state.kept, state.n_rows), vec(state.next, state.n)
    active, first = ivec(state.active, state.n_contacts), ivec(state.first_row, state.n_contacts + 1)
    row_of, bilateral = ivec(state.row_of, state.n_rows), ivec(state.bilateral_row, n_b)
    for k in range(R):
        for i in range(n_v + n_b):
            change[i] += p[k] * answer[k, i]
    for i in range(state.n_rows):
        kept[i] = 0.0
        new[n_d + row_of[i]] = 0.0
    k = 0
    for a in range(state.n_active):
        for row in range(first[active[a]], first[active[a] + 1]):
            kept[row] = p[k]
            new[n_d + row_of[row]] = p[k] / state.h
            k += 1
    for i in range(n_b):
        new[n_d + bilateral[i]] = change[n_v + i] / state.h
    count = ivec(state.count, N_COUNTS + N_OWN_COUNTS)
    count[CONTACTS] += state.n_active
    count[CLOSED] = state.n_active


@device
def solve_contacts(state, ports):
    """Closed contacts and their impulses; `change` then is with them. Returns an outcome."""
    outcome = find_closed(state, ports) if state.n_contacts > 0 else FINE
    if outcome == FINE and state.n_active > 0:
        outcome = set_problem(state)
        if outcome == FINE:
            iterate(state)
    if outcome == FINE:
        apply(state)
    return outcome


@device
def push_apart(state, ports):
    """Where closed contacts penetrate at `next`, move positions: gap + slack + A c ≥ 0 ⊥ c ≥ 0. Returns an outcome.

    The slack is what a step of free motion adds: so deep contacts may stay, or they would be open in the next step.
    """
    n_v, n_b, R = state.n_v, state.n_b, state.n_points
    A, answer, c = mat(state.A, R, R), mat(state.answer, R, n_v + n_b), vec(state.correction, R)
    active, first = ivec(state.active, state.n_contacts), ivec(state.first_row, state.n_contacts + 1)
    g, gap, normal = vec(state.g, state.n_lam), vec(state.gap, state.n_contacts), ivec(state.normal, state.n_contacts)
    t = time_at(state, 1.0)
    outcome = call(state, state.position_port, ports, t, vec(state.next, state.n), g)
    if outcome != FINE:
        return outcome
    deepest = 0.0
    for a in range(state.n_active):
        gap[a] = -g[normal[active[a]]] + state.slack
        deepest = min(deepest, gap[a])
    if deepest >= 0.0:
        return FINE
    for k in range(R):
        c[k] = 0.0
    for _turn in range(state.iterations):
        change, size, k = 0.0, 0.0, 0
        for a in range(state.n_active):
            y = gap[a]
            for j in range(R):
                y += A[k, j] * c[j]
            if A[k, k] > 0.0:
                value = max(c[k] - y / A[k, k], 0.0)
                change = max(change, A[k, k] * abs(value - c[k]))
                size = max(size, A[k, k] * value)
                c[k] = value
            k += first[active[a] + 1] - first[active[a]]
        if change <= state.tolerance * size:
            break
    solved = vec(state.solved, n_v)
    for i in range(n_v):
        solved[i] = 0.0
        for k in range(R):
            solved[i] += answer[k, i] * c[k]
    _, outcome = shift_positions(state, ports, t)
    return outcome
