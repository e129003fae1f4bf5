"""Impulses between many free bodies: Gauss and Seidel's iteration over contacts, without any matrix but 3×3 ones.

Velocities of bodies are (v, ω) of the centre of mass in space. A contact reads those of its two bodies, solves its own
problem, and adds its impulse to them at once: the work of an iteration is that of the contacts.
"""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import imat, ivec, mat, vec
from dalembert.solvers.moreau.collide import (
    ARM_A,
    ARM_B,
    BODY_A,
    BODY_B,
    BOUNCE,
    CORRECTION,
    GAP,
    IMPULSE,
    MATRIX,
    N_COLUMNS,
    N_WHOLES,
    NORMAL,
    TANGENT1,
    TANGENT2,
)
from dalembert.solvers.moreau.cone import solve_normal, solve_planar, solve_spatial
from dalembert.solvers.moreau.state import ITERATIONS, N_OWN_COUNTS
from dalembert.solvers.status import N_COUNTS, Outcome

FINE, CANNOT_EVALUATE = int(Outcome.FINE), int(Outcome.CANNOT_EVALUATE)
#: sweeps that move bodies apart, in each step: what is left is the next step's
SWEEPS = 10


# -- places ------------------------------------------------------------------------------------------------------------


@device
def place_bodies(own, point):
    """Places and axes of bodies and centres of shapes at the positions in `point`. Returns an outcome."""
    n, m = own.n_bodies, own.n_shapes
    at, place, axes = ivec(own.p_at, n), mat(own.place, n, 3), mat(own.axes, n, 9)
    for b in range(n):
        k, R = at[b], axes[b]
        x, y = point[k], point[k + 1]
        if own.planar == 1:
            z, c, s = 0.0, np.cos(point[k + 2]), np.sin(point[k + 2])
            R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8] = c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0
        else:
            z = point[k + 2]
            e0, e1, e2, e3 = point[k + 3], point[k + 4], point[k + 5], point[k + 6]
            f = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
            R[0], R[4], R[8] = 1 - f * (e2 * e2 + e3 * e3), 1 - f * (e1 * e1 + e3 * e3), 1 - f * (e1 * e1 + e2 * e2)
            R[1], R[3] = f * (e1 * e2 - e0 * e3), f * (e1 * e2 + e0 * e3)
            R[2], R[6] = f * (e1 * e3 + e0 * e2), f * (e1 * e3 - e0 * e2)
            R[5], R[7] = f * (e2 * e3 - e0 * e1), f * (e2 * e3 + e0 * e1)
        if not np.isfinite(x + y + z + R[0] + R[4]):
            return CANNOT_EVALUATE
        place[b, 0], place[b, 1], place[b, 2] = x, y, z
    body, local, center = ivec(own.shape_body, m), mat(own.shape_position, m, 3), mat(own.center, m, 3)
    for s in range(m):
        b, x, y, z = body[s], local[s, 0], local[s, 1], local[s, 2]
        if b < 0:
            center[s, 0], center[s, 1], center[s, 2] = x, y, z
        elif x == 0.0 and y == 0.0 and z == 0.0:
            center[s, 0], center[s, 1], center[s, 2] = place[b, 0], place[b, 1], place[b, 2]
        else:
            R = axes[b]
            for k in range(3):
                center[s, k] = place[b, k] + R[3 * k] * x + R[3 * k + 1] * y + R[3 * k + 2] * z
    return FINE


@device
def turn_inertia(own):
    """I⁻¹ = R J⁻¹ Rᵀ of all bodies."""
    n = own.n_bodies
    local, turned, axes = mat(own.inverse_inertia, n, 9), mat(own.inertia, n, 9), mat(own.axes, n, 9)
    spherical = ivec(own.round, n)
    for b in range(n):
        J, I, R = local[b], turned[b], axes[b]
        if spherical[b] == 1 or own.planar == 1:
            for k in range(9):
                I[k] = J[k]
            continue
        for i in range(3):
            a0 = R[3 * i] * J[0] + R[3 * i + 1] * J[3] + R[3 * i + 2] * J[6]
            a1 = R[3 * i] * J[1] + R[3 * i + 1] * J[4] + R[3 * i + 2] * J[7]
            a2 = R[3 * i] * J[2] + R[3 * i + 1] * J[5] + R[3 * i + 2] * J[8]
            for j in range(3):
                I[3 * i + j] = a0 * R[3 * j] + a1 * R[3 * j + 1] + a2 * R[3 * j + 2]


@device
def read_velocities(own, v, change):
    """(v, ω) in space of v + change, whose turning speeds are in axes of the bodies."""
    n = own.n_bodies
    at, axes, velocity = ivec(own.v_at, n), mat(own.axes, n, 9), mat(own.velocity, n, 6)
    for b in range(n):
        k, R, u = at[b], axes[b], velocity[b]
        u[0], u[1] = v[k] + change[k], v[k + 1] + change[k + 1]
        if own.planar == 1:
            u[2], u[3], u[4], u[5] = 0.0, 0.0, 0.0, v[k + 2] + change[k + 2]
            continue
        u[2] = v[k + 2] + change[k + 2]
        x, y, z = v[k + 3] + change[k + 3], v[k + 4] + change[k + 4], v[k + 5] + change[k + 5]
        u[3] = R[0] * x + R[1] * y + R[2] * z
        u[4] = R[3] * x + R[4] * y + R[5] * z
        u[5] = R[6] * x + R[7] * y + R[8] * z


@device
def write_velocities(own, v, change):
    """The inverse: `change` from (v, ω)."""
    n = own.n_bodies
    at, axes, velocity = ivec(own.v_at, n), mat(own.axes, n, 9), mat(own.velocity, n, 6)
    for b in range(n):
        k, R, u = at[b], axes[b], velocity[b]
        change[k], change[k + 1] = u[0] - v[k], u[1] - v[k + 1]
        if own.planar == 1:
            change[k + 2] = u[5] - v[k + 2]
            continue
        change[k + 2] = u[2] - v[k + 2]
        change[k + 3] = R[0] * u[3] + R[3] * u[4] + R[6] * u[5] - v[k + 3]
        change[k + 4] = R[1] * u[3] + R[4] * u[4] + R[7] * u[5] - v[k + 4]
        change[k + 5] = R[2] * u[3] + R[5] * u[4] + R[8] * u[5] - v[k + 5]


# -- the contact problem -----------------------------------------------------------------------------------------------


@inlined
def relative(row, a, b, velocity):
    """Velocity of the point of body b relative to that of body a, in space."""
    x, y, z = 0.0, 0.0, 0.0
    if b >= 0:
        u = velocity[b]
        r0, r1, r2 = row[ARM_B], row[ARM_B + 1], row[ARM_B + 2]
        x += u[0] + u[4] * r2 - u[5] * r1
        y += u[1] + u[5] * r0 - u[3] * r2
        z += u[2] + u[3] * r1 - u[4] * r0
    if a >= 0:
        u = velocity[a]
        r0, r1, r2 = row[ARM_A], row[ARM_A + 1], row[ARM_A + 2]
        x -= u[0] + u[4] * r2 - u[5] * r1
        y -= u[1] + u[5] * r0 - u[3] * r2
        z -= u[2] + u[3] * r1 - u[4] * r0
    return x, y, z


@inlined
def push(row, at, sign, u, inverse_mass, I, x, y, z):
    """An impulse (x, y, z) times sign at an arm of one body."""
    x, y, z = sign * x, sign * y, sign * z
    r0, r1, r2 = row[at], row[at + 1], row[at + 2]
    u[0] += inverse_mass * x
    u[1] += inverse_mass * y
    u[2] += inverse_mass * z
    t0, t1, t2 = r1 * z - r2 * y, r2 * x - r0 * z, r0 * y - r1 * x
    u[3] += I[0] * t0 + I[1] * t1 + I[2] * t2
    u[4] += I[3] * t0 + I[4] * t1 + I[5] * t2
    u[5] += I[6] * t0 + I[7] * t1 + I[8] * t2


@device
def add_to_matrix(row, arm, inverse_mass, I):
    """One body's part of the 3×3 matrix of a contact: m⁻¹ d·e + (r×d)·I⁻¹ (r×e) for its directions d and e."""
    r0, r1, r2 = row[arm], row[arm + 1], row[arm + 2]
    for i in range(3):
        d0, d1, d2 = row[3 * i], row[3 * i + 1], row[3 * i + 2]
        t0, t1, t2 = r1 * d2 - r2 * d1, r2 * d0 - r0 * d2, r0 * d1 - r1 * d0
        w0 = I[0] * t0 + I[1] * t1 + I[2] * t2
        w1 = I[3] * t0 + I[4] * t1 + I[5] * t2
        w2 = I[6] * t0 + I[7] * t1 + I[8] * t2
        row[MATRIX + 4 * i] += inverse_mass
        for j in range(3):
            e0, e1, e2 = row[3 * j], row[3 * j + 1], row[3 * j + 2]
            row[MATRIX + 3 * i + j] += w0 * (r1 * e2 - r2 * e1) + w1 * (r2 * e0 - r0 * e2) + w2 * (r0 * e1 - r1 * e0)


@device
def set_contacts(own):
    """Matrices of contacts, and what restitution adds; `velocity` holds those before the step."""
    n = own.n_bodies
    wholes, contacts = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)
    inverse_mass, inertia, velocity = vec(own.inverse_mass, n), mat(own.inertia, n, 9), mat(own.velocity, n, 6)
    for c in range(own.n_contacts):
        row, a, b = contacts[c], wholes[c, BODY_A], wholes[c, BODY_B]
        for k in range(9):
            row[MATRIX + k] = 0.0
        if a >= 0:
            add_to_matrix(row, ARM_A, inverse_mass[a], inertia[a])
        if b >= 0:
            add_to_matrix(row, ARM_B, inverse_mass[b], inertia[b])
        x, y, z = relative(row, a, b, velocity)
        before = row[NORMAL] * x + row[NORMAL + 1] * y + row[NORMAL + 2] * z
        row[BOUNCE] = own.restitution * min(before, 0.0)


@device
def measure(own):
    """`scale`: the energy that stops all contacts that approach, one by one: what impulses are compared with."""
    wholes, contacts = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)
    velocity, total = mat(own.velocity, own.n_bodies, 6), 0.0
    for c in range(own.n_contacts):
        row = contacts[c]
        x, y, z = relative(row, wholes[c, BODY_A], wholes[c, BODY_B], velocity)
        u = min(row[NORMAL] * x + row[NORMAL + 1] * y + row[NORMAL + 2] * z + row[BOUNCE], 0.0)
        total += u * u / row[MATRIX]
    own.scale = total


@device
def start_with_old_impulses(own):
    """Add the impulses that contacts begin with to the velocities."""
    n = own.n_bodies
    wholes, contacts = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)
    inverse_mass, inertia, velocity = vec(own.inverse_mass, n), mat(own.inertia, n, 9), mat(own.velocity, n, 6)
    for c in range(own.n_contacts):
        row, a, b = contacts[c], wholes[c, BODY_A], wholes[c, BODY_B]
        p0, p1, p2 = row[IMPULSE], row[IMPULSE + 1], row[IMPULSE + 2]
        if p0 == 0.0:
            row[IMPULSE + 1], row[IMPULSE + 2] = 0.0, 0.0
            continue
        most, length = own.friction * p0, np.sqrt(p1 * p1 + p2 * p2)
        if length > most:  # the normal may have turned
            p1, p2 = p1 * most / length, p2 * most / length
            row[IMPULSE + 1], row[IMPULSE + 2] = p1, p2
        x = p0 * row[NORMAL] + p1 * row[TANGENT1] + p2 * row[TANGENT2]
        y = p0 * row[NORMAL + 1] + p1 * row[TANGENT1 + 1] + p2 * row[TANGENT2 + 1]
        z = p0 * row[NORMAL + 2] + p1 * row[TANGENT1 + 2] + p2 * row[TANGENT2 + 2]
        if a >= 0:
            push(row, ARM_A, -1.0, velocity[a], inverse_mass[a], inertia[a], x, y, z)
        if b >= 0:
            push(row, ARM_B, 1.0, velocity[b], inverse_mass[b], inertia[b], x, y, z)


@inlined
def new_impulse(row, u0, u1, u2, friction, planar):
    """The impulse of one contact at relative velocities u along its directions."""
    p0, p1, p2 = row[IMPULSE], row[IMPULSE + 1], row[IMPULSE + 2]
    a00, a01, a02 = row[MATRIX], row[MATRIX + 1], row[MATRIX + 2]
    a10, a11, a12 = row[MATRIX + 3], row[MATRIX + 4], row[MATRIX + 5]
    a20, a21, a22 = row[MATRIX + 6], row[MATRIX + 7], row[MATRIX + 8]
    u0 += row[BOUNCE]
    if friction == 0.0:
        return solve_normal(a00, u0 - a00 * p0), 0.0, 0.0
    if planar == 1:
        q0, q1 = u0 - a00 * p0 - a01 * p1, u1 - a10 * p0 - a11 * p1
        normal, along = solve_planar(a00, a01, a10, a11, q0, q1, friction)
        return normal, along, 0.0
    q0 = u0 - a00 * p0 - a01 * p1 - a02 * p2
    if q0 >= 0.0:
        return 0.0, 0.0, 0.0
    q1 = u1 - a10 * p0 - a11 * p1 - a12 * p2
    q2 = u2 - a20 * p0 - a21 * p1 - a22 * p2
    return solve_spatial(a00, a01, a02, a10, a11, a12, a20, a21, a22, q0, q1, q2, friction)


@device
def iterate_over_bodies(state, own):
    """Until the impulses change by less than the tolerance, in the norm of the contacts' matrices."""
    n, count = own.n_bodies, ivec(state.count, N_COUNTS + N_OWN_COUNTS)
    wholes, contacts = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)
    inverse_mass, inertia, velocity = vec(own.inverse_mass, n), mat(own.inertia, n, 9), mat(own.velocity, n, 6)
    friction, planar = own.friction, own.planar
    for _turn in range(state.iterations):
        change, size = 0.0, 0.0
        for c in range(own.n_contacts):
            row, a, b = contacts[c], wholes[c, BODY_A], wholes[c, BODY_B]
            x, y, z = relative(row, a, b, velocity)
            u0 = row[NORMAL] * x + row[NORMAL + 1] * y + row[NORMAL + 2] * z
            u1 = row[TANGENT1] * x + row[TANGENT1 + 1] * y + row[TANGENT1 + 2] * z
            u2 = row[TANGENT2] * x + row[TANGENT2 + 1] * y + row[TANGENT2 + 2] * z
            p0, p1, p2 = new_impulse(row, u0, u1, u2, friction, planar)
            d0, d1, d2 = p0 - row[IMPULSE], p1 - row[IMPULSE + 1], p2 - row[IMPULSE + 2]
            weight = row[MATRIX]
            size += weight * (p0 * p0 + p1 * p1 + p2 * p2)
            if d0 == 0.0 and d1 == 0.0 and d2 == 0.0:
                continue
            change += weight * (d0 * d0 + d1 * d1 + d2 * d2)
            row[IMPULSE], row[IMPULSE + 1], row[IMPULSE + 2] = p0, p1, p2
            x = d0 * row[NORMAL] + d1 * row[TANGENT1] + d2 * row[TANGENT2]
            y = d0 * row[NORMAL + 1] + d1 * row[TANGENT1 + 1] + d2 * row[TANGENT2 + 1]
            z = d0 * row[NORMAL + 2] + d1 * row[TANGENT1 + 2] + d2 * row[TANGENT2 + 2]
            if a >= 0:
                push(row, ARM_A, -1.0, velocity[a], inverse_mass[a], inertia[a], x, y, z)
            if b >= 0:
                push(row, ARM_B, 1.0, velocity[b], inverse_mass[b], inertia[b], x, y, z)
        count[ITERATIONS] += 1
        if change <= state.tolerance * state.tolerance * max(size, own.scale):
            return
    state.unsolved += 1


# -- penetration -------------------------------------------------------------------------------------------------------


@device
def move_apart(state, own):
    """Shifts of bodies so that gaps at the end of the step are not below the slack; a few sweeps.

    The gap there is that in the middle and half a step of the velocity after it. Returns whether anything moves.
    """
    n, h = own.n_bodies, state.h
    wholes, contacts = imat(own.wholes, own.room_contacts, N_WHOLES), mat(own.contacts, own.room_contacts, N_COLUMNS)
    inverse_mass, inertia = vec(own.inverse_mass, n), mat(own.inertia, n, 9)
    velocity, shift = mat(own.velocity, n, 6), mat(own.shift, n, 6)
    some = False
    for c in range(own.n_contacts):
        row = contacts[c]
        x, y, z = relative(row, wholes[c, BODY_A], wholes[c, BODY_B], velocity)
        row[GAP] += 0.5 * h * (row[NORMAL] * x + row[NORMAL + 1] * y + row[NORMAL + 2] * z) + own.slack
        row[CORRECTION] = 0.0
        some = some or row[GAP] < 0.0
    if not some:
        return False
    for b in range(n):
        for k in range(6):
            shift[b, k] = 0.0
    for _ in range(SWEEPS):
        for c in range(own.n_contacts):
            row, a, b = contacts[c], wholes[c, BODY_A], wholes[c, BODY_B]
            if row[GAP] > own.slack and row[CORRECTION] == 0.0:
                continue
            x, y, z = relative(row, a, b, shift)
            gap = row[GAP] + row[NORMAL] * x + row[NORMAL + 1] * y + row[NORMAL + 2] * z
            new = max(row[CORRECTION] - gap / row[MATRIX], 0.0)
            more = new - row[CORRECTION]
            if more == 0.0:
                continue
            row[CORRECTION] = new
            x, y, z = more * row[NORMAL], more * row[NORMAL + 1], more * row[NORMAL + 2]
            if a >= 0:
                push(row, ARM_A, -1.0, shift[a], inverse_mass[a], inertia[a], x, y, z)
            if b >= 0:
                push(row, ARM_B, 1.0, shift[b], inverse_mass[b], inertia[b], x, y, z)
    return True


@device
def shift_bodies(own, point, moved):
    """Add the shifts to positions, if anything has `moved`; Euler parameters get length one again."""
    n = own.n_bodies
    at, axes, shift = ivec(own.p_at, n), mat(own.axes, n, 9), mat(own.shift, n, 6)
    for b in range(n):
        k, u, R = at[b], shift[b], axes[b]
        if moved:
            point[k] += u[0]
            point[k + 1] += u[1]
        if own.planar == 1:
            if moved:
                point[k + 2] += u[5]
            continue
        e0, e1, e2, e3 = point[k + 3], point[k + 4], point[k + 5], point[k + 6]
        if moved:
            point[k + 2] += u[2]
            # half of e times the turn in axes of the body
            x = 0.5 * (R[0] * u[3] + R[3] * u[4] + R[6] * u[5])
            y = 0.5 * (R[1] * u[3] + R[4] * u[4] + R[7] * u[5])
            z = 0.5 * (R[2] * u[3] + R[5] * u[4] + R[8] * u[5])
            e0, e1, e2, e3 = (
                e0 - e1 * x - e2 * y - e3 * z,
                e1 + e0 * x + e2 * z - e3 * y,
                e2 + e0 * y + e3 * x - e1 * z,
                e3 + e0 * z + e1 * y - e2 * x,
            )
        f = 1.0 / np.sqrt(e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
        point[k + 3], point[k + 4], point[k + 5], point[k + 6] = f * e0, f * e1, f * e2, f * e3
