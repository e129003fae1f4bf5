"""Residual formalism: forces that a motion needs, by the Newton-Euler recursion, and p' = Z(p) v."""

from __future__ import annotations

from dalembert.multibody.moves import FREE, PRISMATIC, REVOLUTE, SCREW, SPHERICAL
from dalembert.recursions.algebra import add, back, load3, load6, load9, store3, store9, sub, turn
from dalembert.recursions.joints import body_force, child_motion, joint_bias, joint_velocity, parent_force, pose
from dalembert.recursions.rows import (
    ACCELERATION,
    DAMPING,
    FORCE,
    INERTIA,
    KIND,
    LEVER,
    MASS,
    PARENT,
    PITCH,
    POSE_E,
    POSE_R,
    Q_AT,
    REST,
    ROTATION,
    ROW,
    SPEED,
    SPIN,
    STIFFNESS,
    SUM,
    V_AT,
    WORK,
)
from dalembert.recursions.words import formula, put, real, skip, sweep, whole

ZERO3 = (0.0, 0.0, 0.0)


@sweep
def motions_and_forces(n, rows, work, q, v, a, has_a, gx, gy, gz, wrenches, has_wrenches, keep):
    """From the ground up: poses, velocities, accelerations, and the force that each body's own motion takes.

    `keep` says whether motions are asked for afterwards.
    """
    w, u, aw, au = ZERO3, ZERO3, ZERO3, ZERO3
    for i in range(n):
        row, own = skip(rows, i * ROW), skip(work, i * WORK)
        parent, kind, at = whole(row, PARENT), whole(row, KIND), whole(row, V_AT)
        if parent < 0:
            w, u, aw, au = ZERO3, ZERO3, ZERO3, (-gx, -gy, -gz)
        elif parent != i - 1:
            above = skip(work, parent * WORK)
            w, u = load3(above, SPIN), load3(above, SPEED)
            aw, au = load3(above, ACCELERATION), load3(above, ACCELERATION + 3)
        E, r = pose(row, kind, q, whole(row, Q_AT))
        w, u = child_motion(E, r, w, u)
        aw, au = child_motion(E, r, aw, au)
        jw, ju = joint_velocity(row, kind, E, v, at)
        w, u = add(w, jw), add(u, ju)
        cw, cu = joint_bias(kind, w, u, jw, ju)
        aw, au = add(aw, cw), add(au, cu)
        if has_a:
            cw, cu = joint_velocity(row, kind, E, a, at)
            aw, au = add(aw, cw), add(au, cu)
        m, f = body_force(real(row, MASS), load3(row, LEVER), load6(row, INERTIA), w, u, aw, au)
        if has_wrenches:
            f = sub(f, load3(wrenches, 6 * i))
            m = sub(m, load3(wrenches, 6 * i + 3))
        store9(own, POSE_E, E)
        store3(own, POSE_R, r)
        store3(own, FORCE, m)
        store3(own, FORCE + 3, f)
        if keep or whole(row, SUM) >= 0:  # children that are no neighbours will ask for them
            store3(own, SPIN, w)
            store3(own, SPEED, u)
            store3(own, ACCELERATION, aw)
            store3(own, ACCELERATION + 3, au)


@sweep
def joint_forces(n, rows, work, q, v, sign, out):
    """From the leaves down: `sign` times the forces along the joints, less those of dampers and springs."""
    m0, f0 = ZERO3, ZERO3  # what the body after this one passes on
    for j in range(n):
        i = n - 1 - j
        row, own = skip(rows, i * ROW), skip(work, i * WORK)
        parent, kind, at = whole(row, PARENT), whole(row, KIND), whole(row, V_AT)
        E, r = load9(own, POSE_E), load3(own, POSE_R)
        m0, f0 = add(m0, load3(own, FORCE)), add(f0, load3(own, FORCE + 3))
        store3(own, FORCE, m0)
        store3(own, FORCE + 3, f0)
        if kind in (REVOLUTE, PRISMATIC, SCREW):
            s = m0[2]
            if kind == PRISMATIC:
                s = f0[2]
            elif kind == SCREW:
                s += real(row, PITCH) * f0[2]
            s += real(row, DAMPING) * real(v, at) + real(row, STIFFNESS) * (real(q, whole(row, Q_AT)) - real(row, REST))
            put(out, at, sign * s)
        else:
            if kind == FREE:
                along = back(load9(row, ROTATION), turn(E, f0))
                store3(out, at, (sign * along[0], sign * along[1], sign * along[2]))
                at += 3
            store3(out, at, (sign * m0[0], sign * m0[1], sign * m0[2]))
        m0, f0 = parent_force(E, r, m0, f0)
        if parent != i - 1 or parent < 0:
            if parent >= 0:
                above = skip(work, parent * WORK)
                store3(above, FORCE, add(load3(above, FORCE), m0))
                store3(above, FORCE + 3, add(load3(above, FORCE + 3), f0))
            m0, f0 = ZERO3, ZERO3


@sweep
def coordinate_rates(n, rows, q, v, out):
    """p' = Z(p) v: Euler parameters turn with ω, all others are velocities themselves."""
    for i in range(n):
        row = skip(rows, i * ROW)
        kind, at, to = whole(row, KIND), whole(row, V_AT), whole(row, Q_AT)
        if kind in (SPHERICAL, FREE):
            if kind == FREE:
                store3(out, to, load3(v, at))
                at, to = at + 3, to + 3
            e0, e1, e2, e3 = real(q, to), real(q, to + 1), real(q, to + 2), real(q, to + 3)
            w = load3(v, at)
            put(out, to, -0.5 * (e1 * w[0] + e2 * w[1] + e3 * w[2]))
            put(out, to + 1, 0.5 * (e0 * w[0] + e2 * w[2] - e3 * w[1]))
            put(out, to + 2, 0.5 * (e0 * w[1] + e3 * w[0] - e1 * w[2]))
            put(out, to + 3, 0.5 * (e0 * w[2] + e1 * w[1] - e2 * w[0]))
        else:
            put(out, to, real(v, at))


@formula
def _euler_rows(to, k, e):
    """Rows of E(e)/2, where e' = E(e)/2 ω."""
    store3(to, k, (-0.5 * e[1], -0.5 * e[2], -0.5 * e[3]))
    store3(to, k + 3, (0.5 * e[0], -0.5 * e[3], 0.5 * e[2]))
    store3(to, k + 6, (0.5 * e[3], 0.5 * e[0], -0.5 * e[1]))
    store3(to, k + 9, (-0.5 * e[2], 0.5 * e[1], 0.5 * e[0]))


@sweep
def rate_matrix(n, rows, q, out):
    """Entries of Z(p), joint by joint and row by row."""
    k = 0
    for i in range(n):
        row = skip(rows, i * ROW)
        kind, at = whole(row, KIND), whole(row, Q_AT)
        if kind in (SPHERICAL, FREE):
            if kind == FREE:
                store3(out, k, (1.0, 1.0, 1.0))
                k, at = k + 3, at + 3
            _euler_rows(out, k, (real(q, at), real(q, at + 1), real(q, at + 2), real(q, at + 3)))
            k += 12
        else:
            put(out, k, 1.0)
            k += 1


@sweep
def rate_change(n, rows, n_q, q, v, out):
    """(dZ/dt) v: −|ω|²/4 e for Euler parameters, zero for all others."""
    for k in range(n_q):
        put(out, k, 0.0)
    for i in range(n):
        row = skip(rows, i * ROW)
        kind, at, to = whole(row, KIND), whole(row, V_AT), whole(row, Q_AT)
        if kind in (SPHERICAL, FREE):
            if kind == FREE:
                at, to = at + 3, to + 3
            w = load3(v, at)
            s = -0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
            for k in range(4):
                put(out, to + k, s * real(q, to + k))


@sweep
def rate_by_q(n, rows, v, out):
    """Entries of ∂(Z v)/∂p, for each joint with Euler parameters 4 × 4, row by row."""
    k = 0
    for i in range(n):
        row = skip(rows, i * ROW)
        kind, at = whole(row, KIND), whole(row, V_AT)
        if kind in (SPHERICAL, FREE):
            if kind == FREE:
                at += 3
            x, y, z = 0.5 * real(v, at), 0.5 * real(v, at + 1), 0.5 * real(v, at + 2)
            store3(out, k, (0.0, -x, -y))
            store3(out, k + 3, (-z, x, 0.0))
            store3(out, k + 6, (z, -y, y))
            store3(out, k + 9, (-z, 0.0, x))
            store3(out, k + 12, (z, y, -x))
            put(out, k + 15, 0.0)
            k += 16


@sweep
def rate_matrix_by_q(n, rows, out):
    """Derivatives of the entries of Z(p) by e (`multibody.pattern.TurningJoints`): each holds half of one of them."""
    k = 0
    for i in range(n):
        if whole(skip(rows, i * ROW), KIND) in (SPHERICAL, FREE):
            _euler_rows(out, k, (1.0, 1.0, 1.0, 1.0))
            k += 12


@sweep
def rate_change_by_q(n, rows, v, out):
    """Derivative of −|ω|²/4 e by e."""
    k = 0
    for i in range(n):
        row = skip(rows, i * ROW)
        kind, at = whole(row, KIND), whole(row, V_AT)
        if kind in (SPHERICAL, FREE):
            w = load3(v, at + 3 if kind == FREE else at)
            for l in range(4):
                put(out, k + l, -0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]))
            k += 4


@sweep
def rate_change_by_v(n, rows, q, v, out):
    """Derivative of −|ω|²/4 e by ω, row by row."""
    k = 0
    for i in range(n):
        row = skip(rows, i * ROW)
        kind, at, to = whole(row, KIND), whole(row, V_AT), whole(row, Q_AT)
        if kind in (SPHERICAL, FREE):
            if kind == FREE:
                at, to = at + 3, to + 3
            w = load3(v, at)
            for l in range(4):
                s = -0.5 * real(q, to + l)
                store3(out, k + 3 * l, (s * w[0], s * w[1], s * w[2]))
            k += 12
