"""Contacts beside joints: which are closed, the matrix of their impulses, and Gauss and Seidel's iteration on it.

Contacts are those of the model, then those of colliding bodies if there are some; each is a block of rows.

Rows W of closed contacts are taken in the middle of the step, for impulses and for velocities alike, so that an impulse
never gains energy. With what one impulse along each row does to velocities, all else is one dense problem:

    y = A p + q,    A = W K⁻¹ Wᵀ,    q = W v_free + w + e min(W v + w, 0)      (e in normal rows only)
"""

from dalembert.compile.kernel import device
from dalembert.compile.memory import imat, ivec, mat, vec
from dalembert.solvers.moreau.collide import (
    ARM_A,
    ARM_B,
    BODY_A,
    BODY_B,
    GAP,
    IMPULSE,
    N_COLUMNS,
    N_WHOLES,
    collisions_at,
)
from dalembert.solvers.moreau.cone import solve_normal, solve_planar, solve_spatial
from dalembert.solvers.moreau.detect import detect
from dalembert.solvers.moreau.narrow import keep_impulses
from dalembert.solvers.moreau.smooth import FINE, call, predict, shift_positions, solve, time_at
from dalembert.solvers.moreau.state import CLOSED, CONTACTS, ITERATIONS, N_OWN_COUNTS
from dalembert.solvers.status import N_COUNTS


@device
def find_closed(state, ports):
    """Contacts that are closed half a step ahead: numbers of the model's in `active`. Returns an outcome."""
    predict(state, 0.5)
    active, first = ivec(state.active, state.n_contacts), ivec(state.first_row, state.n_contacts + 1)
    start, friction = ivec(state.block_start, state.n_blocks + 1), vec(state.block_friction, state.n_blocks)
    state.n_active, state.n_closed, start[0] = 0, 0, 0
    if state.n_contacts > 0:
        g, normal = vec(state.g, state.n_lam), ivec(state.normal, state.n_contacts)
        outcome = call(state, state.position_port, ports, time_at(state, 0.5), vec(state.middle, state.n), g)
        if outcome != FINE:
            return outcome
        for c in range(state.n_contacts):
            if -g[normal[c]] <= 0.0:
                k = state.n_active
                active[k] = c
                friction[k] = vec(state.friction, state.n_contacts)[c]
                start[k + 1] = start[k] + first[c + 1] - first[c]
                state.n_active += 1
        state.n_closed = state.n_active
    if state.collisions != 0:
        own = collisions_at(state.collisions)
        outcome = detect(own, vec(state.middle, state.n))
        if outcome != FINE:
            return outcome
        d = 1 if own.friction == 0.0 else 3 - own.planar
        for _ in range(own.n_contacts if own.full == 0 else 0):
            k = state.n_closed
            friction[k] = own.friction
            start[k + 1] = start[k] + d
            state.n_closed += 1
    state.n_points = start[state.n_closed]
    return FINE


@device
def set_row(state, k, row):
    """Row `row` of the model's contacts as row k of W. Returns its rate without motion."""
    values, W = vec(state.matrices, state.n_M + state.n_C + state.n_m), mat(state.W, state.n_points, state.n_v)
    start = ivec(state.row_start, state.n_rows + 1)
    entry, column = ivec(state.row_entry, start[state.n_rows]), ivec(state.row_column, start[state.n_rows])
    for e in range(start[row], start[row + 1]):
        W[k, column[e]] = -values[state.n_M + entry[e]]
    return -values[state.n_M + state.n_C + ivec(state.row_of, state.n_rows)[row]]


@device
def add_body(own, w, row, direction, b, arm, sign):
    """What one body contributes to a row of W: d along its velocity, r × d in its axes along its turning speed."""
    at, R = ivec(own.v_at, own.n_bodies)[b], mat(own.axes, own.n_bodies, 9)[b]
    d0, d1, d2 = row[3 * direction], row[3 * direction + 1], row[3 * direction + 2]
    r0, r1, r2 = row[arm], row[arm + 1], row[arm + 2]
    t0, t1, t2 = r1 * d2 - r2 * d1, r2 * d0 - r0 * d2, r0 * d1 - r1 * d0
    w[at], w[at + 1] = sign * d0, sign * d1
    if own.planar == 1:
        w[at + 2] = sign * t2
        return
    w[at + 2] = sign * d2
    w[at + 3] = sign * (R[0] * t0 + R[3] * t1 + R[6] * t2)
    w[at + 4] = sign * (R[1] * t0 + R[4] * t1 + R[7] * t2)
    w[at + 5] = sign * (R[2] * t0 + R[5] * t1 + R[8] * t2)


@device
def set_rows(state):
    """W, rates at rest in `before`, and impulses to begin with."""
    n_v, R = state.n_v, state.n_points
    W, before, impulse = mat(state.W, R, n_v), vec(state.before, R), vec(state.impulse, R)
    active, first = ivec(state.active, state.n_contacts), ivec(state.first_row, state.n_contacts + 1)
    kept, start = vec(state.kept, state.n_rows), ivec(state.block_start, state.n_blocks + 1)
    for k in range(R):
        for i in range(n_v):
            W[k, i] = 0.0
    for a in range(state.n_active):
        for i in range(start[a + 1] - start[a]):
            before[start[a] + i] = set_row(state, start[a] + i, first[active[a]] + i)
            impulse[start[a] + i] = kept[first[active[a]] + i]
    if state.collisions == 0:
        return
    own = collisions_at(state.collisions)
    wholes, contacts = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)
    for c in range(own.n_contacts):
        k = start[state.n_active + c]
        for i in range(start[state.n_active + c + 1] - k):
            before[k + i] = 0.0
            impulse[k + i] = contacts[c, IMPULSE + i]
            if wholes[c, BODY_A] >= 0:
                add_body(own, W[k + i], contacts[c], i, wholes[c, BODY_A], ARM_A, -1.0)
            if wholes[c, BODY_B] >= 0:
                add_body(own, W[k + i], contacts[c], i, wholes[c, BODY_B], ARM_B, 1.0)


@device
def set_problem(state):
    """A, q and impulses to begin with, of the closed contacts. Returns an outcome."""
    n_v, n_b, n_p, R = state.n_v, state.n_b, state.n_p, state.n_points
    v, change = vec(state.x, state.n)[n_p : n_p + n_v], vec(state.change, n_v)
    W, answer, A = mat(state.W, R, n_v), mat(state.answer, R, n_v + n_b), mat(state.A, R, R)
    before, q, start = vec(state.before, R), vec(state.q, R), ivec(state.block_start, state.n_blocks + 1)
    b, solved = vec(state.b, n_v + n_b), vec(state.solved, n_v + n_b)
    active, restitution = ivec(state.active, state.n_contacts), vec(state.restitution, state.n_contacts)
    set_rows(state)
    state.slack = 0.0
    for a in range(state.n_closed):
        for k in range(start[a], start[a + 1]):
            gained = 0.0
            for i in range(n_v):
                before[k] += W[k, i] * v[i]
                gained += W[k, i] * change[i]
            q[k] = before[k] + gained
            if k == start[a]:
                if a < state.n_active:
                    e = restitution[active[a]]
                else:
                    e = collisions_at(state.collisions).restitution
                q[k] += e * min(before[k], 0.0)
                state.slack = max(state.slack, 0.5 * abs(state.h * gained))
            for i in range(n_v):
                b[i] = W[k, i]
            for i in range(n_b):
                b[n_v + i] = 0.0
            outcome = solve(state)
            if outcome != FINE:
                return outcome
            for i in range(n_v + n_b):
                answer[k, i] = solved[i]
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
    start, friction = ivec(state.block_start, state.n_blocks + 1), vec(state.block_friction, state.n_blocks)
    scale = 0.0  # the energy that stops all contacts that approach, one by one
    for a in range(state.n_closed):
        k = start[a]
        if A[k, k] > 0.0:
            scale += min(q[k], 0.0) ** 2 / A[k, k]
    for _turn in range(state.iterations):
        change, size = 0.0, 0.0
        for a in range(state.n_closed):
            k = start[a]
            d = start[a + 1] - k
            new = block(A, q, p, friction[a], k, d, R)
            for i in range(d):
                value = new[0] if i == 0 else new[1] if i == 1 else new[2]
                weight = A[k + i, k + i]
                change += weight * (value - p[k + i]) ** 2
                size += weight * value * value
                p[k + i] = value
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
    start = ivec(state.block_start, state.n_blocks + 1)
    for k in range(R):
        for i in range(n_v + n_b):
            change[i] += p[k] * answer[k, i]
    for i in range(state.n_rows):
        kept[i] = 0.0
        new[n_d + row_of[i]] = 0.0
    for a in range(state.n_active):
        for i in range(start[a + 1] - start[a]):
            row = first[active[a]] + i
            kept[row] = p[start[a] + i]
            new[n_d + row_of[row]] = p[start[a] + i] / state.h
    if state.collisions != 0:
        own = collisions_at(state.collisions)
        contacts = mat(own.contacts, own.room_contacts, N_COLUMNS)
        for c in range(own.n_contacts):
            k = start[state.n_active + c]
            for i in range(start[state.n_active + c + 1] - k):
                contacts[c, IMPULSE + i] = p[k + i]
        keep_impulses(own)
    for i in range(n_b):
        new[n_d + bilateral[i]] = change[n_v + i] / state.h
    count = ivec(state.count, N_COUNTS + N_OWN_COUNTS)
    count[CONTACTS] += state.n_closed
    count[CLOSED] = state.n_closed


@device
def solve_contacts(state, ports):
    """Closed contacts and their impulses; `change` then is with them. Returns an outcome."""
    state.n_closed, state.n_points = 0, 0
    outcome = find_closed(state, ports) if state.n_blocks > 0 else FINE
    if outcome == FINE and state.n_closed > 0:
        outcome = set_problem(state)
        if outcome == FINE:
            iterate(state)
    if outcome == FINE:
        apply(state)
    return outcome


@device
def set_gaps(state, ports):
    """Gaps of closed contacts at `next`, above the slack, in `gap`. Returns the least and an outcome.

    Those of colliding bodies are what they were in the middle, and half a step of the velocity after it.
    """
    R, g, gap = state.n_points, vec(state.g, state.n_lam), vec(state.gap, state.n_blocks)
    A, q, p, before = mat(state.A, R, R), vec(state.q, R), vec(state.impulse, R), vec(state.before, R)
    active, normal = ivec(state.active, state.n_contacts), ivec(state.normal, state.n_contacts)
    start, deepest = ivec(state.block_start, state.n_blocks + 1), 0.0
    if state.n_active > 0:
        outcome = call(state, state.position_port, ports, time_at(state, 1.0), vec(state.next, state.n), g)
        if outcome != FINE:
            return 0.0, outcome
    for a in range(state.n_closed):
        if a < state.n_active:
            gap[a] = -g[normal[active[a]]] + state.slack
        else:
            own, k = collisions_at(state.collisions), start[a]
            after = q[k] - own.restitution * min(before[k], 0.0)
            for j in range(R):
                after += A[k, j] * p[j]
            reached = mat(own.contacts, own.room_contacts, N_COLUMNS)[a - state.n_active, GAP]
            gap[a] = reached + 0.5 * state.h * after + state.slack
        deepest = min(deepest, gap[a])
    return deepest, FINE


@device
def push_apart(state, ports):
    """Where closed contacts penetrate at `next`, move positions: gap + slack + A c ≥ 0 ⊥ c ≥ 0. Returns an outcome.

    The slack is what a step of free motion adds: so deep contacts may stay, or they would be open in the next step.
    """
    n_v, n_b, R = state.n_v, state.n_b, state.n_points
    A, answer, c = mat(state.A, R, R), mat(state.answer, R, n_v + n_b), vec(state.correction, R)
    gap, start = vec(state.gap, state.n_blocks), ivec(state.block_start, state.n_blocks + 1)
    deepest, outcome = set_gaps(state, ports)
    if outcome != FINE or deepest >= 0.0:
        return outcome
    for k in range(R):
        c[k] = 0.0
    for _turn in range(state.iterations):
        change, size = 0.0, 0.0
        for a in range(state.n_closed):
            k, y = start[a], gap[a]
            for j in range(R):
                y += A[k, j] * c[j]
            if A[k, k] > 0.0:
                value = max(c[k] - y / A[k, k], 0.0)
                change = max(change, A[k, k] * abs(value - c[k]))
                size = max(size, A[k, k] * value)
                c[k] = value
        if change <= state.tolerance * size:
            break
    solved = vec(state.solved, n_v)
    for i in range(n_v):
        solved[i] = 0.0
        for k in range(R):
            solved[i] += answer[k, i] * c[k]
    _, outcome = shift_positions(state, ports, time_at(state, 1.0))
    return outcome
