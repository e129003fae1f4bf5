"""Mass matrix of a tree, and derivatives of the forces that a motion takes, in O(entries).

Everything is in world axes, but about the origin of each body, so that neither a long way from the world's origin nor a
long chain costs digits. An entry couples a degree of freedom i with one, j, between its body and the ground: the tree
beyond i acts as one composite body, whose force is carried from origin to origin down to the ground.

With the velocity v and acceleration a of the body before the joint, S_j the motion of degree of freedom j, and for
composite bodies inertia I, force f and 2 B = v×* I − I v× + (I v)×̄*, [1]_ gives for i beyond or in the joint of j

    Ψ̇_j = v × S_j,   Ψ̈_j = a × S_j + v × Ψ̇_j,   Ṡ_j = (v + v_joint) × S_j,
    ∂τ_i/∂q_j = S_i·(I_i Ψ̈_j + 2 B_i Ψ̇_j),               ∂τ_i/∂v_j = S_i·(I_i (Ψ̇_j + Ṡ_j) + 2 B_i S_j),
    ∂τ_j/∂q_i = S_j·(I_i Ψ̈_i + 2 B_i Ψ̇_i + S_i ×* f_i),    ∂τ_j/∂v_i = S_j·(I_i (Ψ̇_i + Ṡ_i) + 2 B_i S_i).

2 B maps (ω, u) to (N ω, −2 p × ω) with one matrix N and the linear momentum p. A free joint counts as three sliding
joints and a spherical one. Derivatives by "q" of spherical joints are by small rotations in axes of the child.

References
----------
.. [1] S. Singh, R. P. Russell, P. M. Wensing, "Efficient analytical derivatives of rigid-body dynamics using spatial
   vector algebra", 2022.
"""

from __future__ import annotations

from dalembert.multibody.moves import FREE, PRISMATIC, REVOLUTE, SCREW, SPHERICAL
from dalembert.recursions.algebra import (
    add,
    add6,
    back,
    column,
    cross,
    dot,
    full,
    load3,
    load6,
    load9,
    momentum,
    scale,
    store3,
    store6,
    store9,
    sub,
    times,
    turn,
    turned_sym,
)
from dalembert.recursions.joints import body_force, pose
from dalembert.recursions.rows import (
    DAMPING,
    DOF,
    INERTIA,
    KIND,
    LEVER,
    MASS,
    MATRIX_WORK,
    PARENT,
    PITCH,
    Q_AT,
    ROTATION,
    ROW,
    STIFFNESS,
    V_AT,
)
from dalembert.recursions.words import formula, put, real, skip, small, sweep, whole

#: Row of a body to work in: world rotation, way from the parent's origin; composite mass, m·c, inertia; then force,
#: matrix N and linear momentum p of the composite body; velocity and acceleration.
TURN, WAY, ALL_MASS, ALL_LEVER, ALL_INERTIA, ALL_FORCE, ALL_N, ALL_P, VELOCITY, ACCELERATION = (
    0, 9, 12, 13, 16, 22, 28, 37, 40, 46,
)  # fmt: skip
#: Row of a degree of freedom: S, Ψ̇, Ψ̈, Ψ̇ + Ṡ
S_W, S_U, RATE_W, RATE_U, SECOND_W, SECOND_U, BOTH_W, BOTH_U = 0, 3, 6, 9, 12, 15, 18, 21

ZERO3 = (0.0, 0.0, 0.0)
ONE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@formula
def dof_count(kind):
    if kind == FREE:
        return 6
    return 3 if kind == SPHERICAL else 1


@formula
def carried(r, w, u):
    """A motion about a point at r from the one that was given."""
    return w, add(u, cross(w, r))


@formula
def motion_cross(w, u, mw, mu):
    """(w, u) × (mw, mu)"""
    return cross(w, mw), add(cross(w, mu), cross(u, mw))


@sweep
def world_poses(n, rows, work, dofs, q):
    """From the ground up: axes of bodies and joints in the world, and each body's own inertia."""
    for i in range(n):
        row, own = skip(rows, i * ROW), skip(work, i * MATRIX_WORK)
        parent, kind, at = whole(row, PARENT), whole(row, KIND), whole(row, V_AT)
        R = ONE
        if parent >= 0:
            R = load9(skip(work, parent * MATRIX_WORK), TURN)
        E, r = pose(row, kind, q, whole(row, Q_AT))
        r = turn(R, r)
        if kind == FREE:
            axes = times(R, load9(row, ROTATION))
            for k in range(3):
                dof = skip(dofs, (at + k) * DOF)
                store3(dof, S_W, ZERO3)
                put(dof, S_U, axes[k])
                put(dof, S_U + 1, axes[k + 3])
                put(dof, S_U + 2, axes[k + 6])
            at += 3
        R = times(R, E)
        z = column(R, 2)
        dof = skip(dofs, at * DOF)
        if kind == REVOLUTE:
            store3(dof, S_W, z)
            store3(dof, S_U, ZERO3)
        elif kind == PRISMATIC:
            store3(dof, S_W, ZERO3)
            store3(dof, S_U, z)
        elif kind == SCREW:
            store3(dof, S_W, z)
            store3(dof, S_U, scale(real(row, PITCH), z))
        else:
            store3(dof, S_W, column(R, 0))
            store3(dof, S_U, ZERO3)
            store3(dof, DOF + S_W, column(R, 1))
            store3(dof, DOF + S_U, ZERO3)
            store3(dof, 2 * DOF + S_W, z)
            store3(dof, 2 * DOF + S_U, ZERO3)
        store9(own, TURN, R)
        store3(own, WAY, r)
        put(own, ALL_MASS, real(row, MASS))
        store3(own, ALL_LEVER, turn(R, load3(row, LEVER)))
        store6(own, ALL_INERTIA, turned_sym(R, load6(row, INERTIA)))


@formula
def describe_dof(dof, w, u, aw, au, full_w, full_u):
    """Ψ̇, Ψ̈ and Ψ̇ + Ṡ from velocity and acceleration before the joint, and the velocity behind it."""
    sw, su = load3(dof, S_W), load3(dof, S_U)
    rw, ru = motion_cross(w, u, sw, su)
    cw, cu = motion_cross(aw, au, sw, su)
    dw, du = motion_cross(w, u, rw, ru)
    bw, bu = motion_cross(full_w, full_u, sw, su)
    store3(dof, RATE_W, rw)
    store3(dof, RATE_U, ru)
    store3(dof, SECOND_W, add(cw, dw))
    store3(dof, SECOND_U, add(cu, du))
    store3(dof, BOTH_W, add(rw, bw))
    store3(dof, BOTH_U, add(ru, bu))


@formula
def rotor(I, lever, w, u, h):
    """N of a body with angular momentum h."""
    # [ω̃, I] − m (c̃ ũ + ũ c̃) − h̃, with ã b̃ = b aᵀ − (a·b) 1
    J = full(I)
    s = 2.0 * dot(lever, u)
    return (
        w[1] * J[6] - w[2] * J[3] - J[1] * w[2] + J[2] * w[1] - 2.0 * lever[0] * u[0] + s,
        w[1] * J[7] - w[2] * J[4] + J[0] * w[2] - J[2] * w[0] - lever[0] * u[1] - lever[1] * u[0] + h[2],
        w[1] * J[8] - w[2] * J[5] - J[0] * w[1] + J[1] * w[0] - lever[0] * u[2] - lever[2] * u[0] - h[1],
        w[2] * J[0] - w[0] * J[6] - J[4] * w[2] + J[5] * w[1] - lever[1] * u[0] - lever[0] * u[1] - h[2],
        w[2] * J[1] - w[0] * J[7] + J[3] * w[2] - J[5] * w[0] - 2.0 * lever[1] * u[1] + s,
        w[2] * J[2] - w[0] * J[8] - J[3] * w[1] + J[4] * w[0] - lever[1] * u[2] - lever[2] * u[1] + h[0],
        w[0] * J[3] - w[1] * J[0] - J[7] * w[2] + J[8] * w[1] - lever[2] * u[0] - lever[0] * u[2] + h[1],
        w[0] * J[4] - w[1] * J[1] + J[6] * w[2] - J[8] * w[0] - lever[2] * u[1] - lever[1] * u[2] - h[0],
        w[0] * J[5] - w[1] * J[2] - J[6] * w[1] + J[7] * w[0] - 2.0 * lever[2] * u[2] + s,
    )  # fmt: skip


@sweep
def world_motions(n, rows, work, dofs, v, a, has_a, gx, gy, gz, wrenches, has_wrenches):
    """From the ground up: velocities, accelerations, and what they make of degrees of freedom and of forces."""
    for i in range(n):
        row, own = skip(rows, i * ROW), skip(work, i * MATRIX_WORK)
        parent, kind, at = whole(row, PARENT), whole(row, KIND), whole(row, V_AT)
        R, r = load9(own, TURN), load3(own, WAY)
        w, u, aw, au = ZERO3, ZERO3, ZERO3, (-gx, -gy, -gz)
        if parent >= 0:
            above = skip(work, parent * MATRIX_WORK)
            w, u = carried(r, load3(above, VELOCITY), load3(above, VELOCITY + 3))
            aw, au = carried(r, load3(above, ACCELERATION), load3(above, ACCELERATION + 3))
        if kind == FREE:
            speed, push = ZERO3, ZERO3
            for k in range(3):
                dof = skip(dofs, (at + k) * DOF)
                describe_dof(dof, w, u, aw, au, w, u)
                speed = add(speed, scale(real(v, at + k), load3(dof, S_U)))
                if has_a:
                    push = add(push, scale(real(a, at + k), load3(dof, S_U)))
            au = add(au, add(push, cross(w, speed)))
            u = add(u, speed)
            at += 3
        count = 3 if kind in (FREE, SPHERICAL) else 1
        jw, ju, bw, bu = ZERO3, ZERO3, ZERO3, ZERO3
        for k in range(count):
            dof = skip(dofs, (at + k) * DOF)
            jw, ju = add(jw, scale(real(v, at + k), load3(dof, S_W))), add(ju, scale(real(v, at + k), load3(dof, S_U)))
            if has_a:
                s = real(a, at + k)
                bw, bu = add(bw, scale(s, load3(dof, S_W))), add(bu, scale(s, load3(dof, S_U)))
        for k in range(count):
            describe_dof(skip(dofs, (at + k) * DOF), w, u, aw, au, add(w, jw), add(u, ju))
        cw, cu = motion_cross(w, u, jw, ju)
        aw, au = add(add(aw, bw), cw), add(add(au, bu), cu)
        w, u = add(w, jw), add(u, ju)
        mass, lever, inertia = real(own, ALL_MASS), load3(own, ALL_LEVER), load6(own, ALL_INERTIA)
        m, f = body_force(mass, lever, inertia, w, u, aw, au)
        if has_wrenches:
            f = sub(f, turn(R, load3(wrenches, 6 * i)))
            m = sub(m, turn(R, load3(wrenches, 6 * i + 3)))
        h, p = momentum(mass, lever, inertia, w, u)
        store3(own, VELOCITY, w)
        store3(own, VELOCITY + 3, u)
        store3(own, ACCELERATION, aw)
        store3(own, ACCELERATION + 3, au)
        store3(own, ALL_FORCE, m)
        store3(own, ALL_FORCE + 3, f)
        store9(own, ALL_N, rotor(inertia, lever, w, u, h))
        store3(own, ALL_P, p)


@formula
def pass_inertia(own, above):
    """Add the composite inertia of a body to that of its parent."""
    r, mass, lever = load3(own, WAY), real(own, ALL_MASS), load3(own, ALL_LEVER)
    # m·c of both ends: c r + r c + m r r, once
    half = (lever[0] + 0.5 * mass * r[0], lever[1] + 0.5 * mass * r[1], lever[2] + 0.5 * mass * r[2])
    s = 2.0 * dot(half, r)
    moved = (
        s - 2.0 * half[0] * r[0], -half[0] * r[1] - half[1] * r[0], -half[0] * r[2] - half[2] * r[0],
        s - 2.0 * half[1] * r[1], -half[1] * r[2] - half[2] * r[1], s - 2.0 * half[2] * r[2],
    )  # fmt: skip
    put(above, ALL_MASS, real(above, ALL_MASS) + mass)
    store3(above, ALL_LEVER, add(load3(above, ALL_LEVER), add(lever, scale(mass, r))))
    store6(above, ALL_INERTIA, add6(load6(above, ALL_INERTIA), add6(load6(own, ALL_INERTIA), moved)))


@formula
def pass_force(own, above):
    """Add force, N and momentum of a composite body to those of its parent."""
    r, m, f = load3(own, WAY), load3(own, ALL_FORCE), load3(own, ALL_FORCE + 3)
    store3(above, ALL_FORCE, add(load3(above, ALL_FORCE), add(m, cross(r, f))))
    store3(above, ALL_FORCE + 3, add(load3(above, ALL_FORCE + 3), f))
    p = load3(own, ALL_P)
    s = 2.0 * dot(r, p)
    for k in range(3):
        for l in range(3):
            moved = -2.0 * p[k] * r[l]  # N − 2 r̃ p̃
            if k == l:
                moved += s
            put(above, ALL_N + 3 * k + l, real(above, ALL_N + 3 * k + l) + real(own, ALL_N + 3 * k + l) + moved)
    store3(above, ALL_P, add(load3(above, ALL_P), p))


@sweep
def mass_entries(n, rows, work, dofs, walk_at, lower, upper, out):
    """From the leaves down: composite inertias, and the rows of the mass matrix."""
    for back_i in range(n):
        i = n - 1 - back_i
        row, own = skip(rows, i * ROW), skip(work, i * MATRIX_WORK)
        parent, count, first = whole(row, PARENT), dof_count(whole(row, KIND)), whole(row, V_AT)
        mass, lever, inertia = real(own, ALL_MASS), load3(own, ALL_LEVER), load6(own, ALL_INERTIA)
        for k in range(count):
            dof = skip(dofs, (first + k) * DOF)
            m, f = momentum(mass, lever, inertia, load3(dof, S_W), load3(dof, S_U))
            step = whole(walk_at, first + k)
            at, last, body, r = first, k, i, load3(own, WAY)
            while True:
                for l in range(last, -1, -1):
                    other = skip(dofs, (at + l) * DOF)
                    s = dot(m, load3(other, S_W)) + dot(f, load3(other, S_U))
                    put(out, small(lower, step), s)
                    put(out, small(upper, step), s)
                    step += 1
                body = whole(skip(rows, body * ROW), PARENT)
                if body < 0:
                    break
                m = add(m, cross(r, f))
                r = load3(skip(work, body * MATRIX_WORK), WAY)
                other_row = skip(rows, body * ROW)
                at, last = whole(other_row, V_AT), dof_count(whole(other_row, KIND)) - 1
        if parent >= 0:
            pass_inertia(own, skip(work, parent * MATRIX_WORK))


@sweep
def derivative_entries(n, rows, work, dofs, walk_at, lower, upper, shift_q, sign, by_q, by_v, by_a, which):
    """From the leaves down: derivatives by q, v and a. Bits of `which` say which of them are asked for."""
    for back_i in range(n):
        i = n - 1 - back_i
        row, own = skip(rows, i * ROW), skip(work, i * MATRIX_WORK)
        parent, kind, first = whole(row, PARENT), whole(row, KIND), whole(row, V_AT)
        count = dof_count(kind)
        mass, lever, inertia = real(own, ALL_MASS), load3(own, ALL_LEVER), load6(own, ALL_INERTIA)
        force_n, force_f = load3(own, ALL_FORCE), load3(own, ALL_FORCE + 3)
        N, p = load9(own, ALL_N), load3(own, ALL_P)
        for k in range(count):
            dof = skip(dofs, (first + k) * DOF)
            shift = whole(shift_q, first + k)
            sw, su = load3(dof, S_W), load3(dof, S_U)
            # of i as the outer one: S_i I and S_i 2B; of i as the inner one: changes of the force by q_i and v_i
            m, f = momentum(mass, lever, inertia, sw, su)
            b = add(back(N, sw), scale(2.0, cross(p, su)))
            rate = load3(dof, RATE_W)
            qm, qf = momentum(mass, lever, inertia, load3(dof, SECOND_W), load3(dof, SECOND_U))
            qm = add(add(qm, turn(N, rate)), add(cross(sw, force_n), cross(su, force_f)))
            qf = add(sub(qf, scale(2.0, cross(p, rate))), cross(sw, force_f))
            vm, vf = momentum(mass, lever, inertia, load3(dof, BOTH_W), load3(dof, BOTH_U))
            vm, vf = add(vm, turn(N, sw)), sub(vf, scale(2.0, cross(p, sw)))
            # the joint's own degrees of freedom: all are outer ones, but those of a free joint slide before they turn
            for l in range(count):
                other = skip(dofs, (first + l) * DOF)
                if l <= k:
                    here = small(lower, whole(walk_at, first + k) + k - l)
                else:
                    here = small(upper, whole(walk_at, first + l) + l - k)
                if kind == FREE and k < 3 and l >= 3:
                    continue
                if which & 1:
                    s = dot(m, load3(other, SECOND_W)) + dot(f, load3(other, SECOND_U)) + dot(b, load3(other, RATE_W))
                    if count == 1:
                        s += real(row, STIFFNESS)
                    put(by_q, here + whole(shift_q, first + l), sign * s)
                if which & 2:
                    s = dot(m, load3(other, BOTH_W)) + dot(f, load3(other, BOTH_U)) + dot(b, load3(other, S_W))
                    if count == 1:
                        s += real(row, DAMPING)
                    put(by_v, here, sign * s)
                if which & 4:
                    put(by_a, here, sign * (dot(m, load3(other, S_W)) + dot(f, load3(other, S_U))))
                if kind == FREE and k >= 3 and l < 3:
                    there = small(upper, whole(walk_at, first + k) + k - l)
                    ow, ou = load3(other, S_W), load3(other, S_U)
                    if which & 1:
                        put(by_q, there + shift, sign * (dot(qm, ow) + dot(qf, ou)))
                    if which & 2:
                        put(by_v, there, sign * (dot(vm, ow) + dot(vf, ou)))
                    if which & 4:
                        put(by_a, there, sign * (dot(m, ow) + dot(f, ou)))
            step = whole(walk_at, first + k) + k + 1
            body, r = parent, load3(own, WAY)
            while body >= 0:
                m, qm, vm = add(m, cross(r, f)), add(qm, cross(r, qf)), add(vm, cross(r, vf))
                r = load3(skip(work, body * MATRIX_WORK), WAY)
                other_row = skip(rows, body * ROW)
                at = whole(other_row, V_AT)
                for l in range(dof_count(whole(other_row, KIND)) - 1, -1, -1):
                    other = skip(dofs, (at + l) * DOF)
                    here, there = small(lower, step), small(upper, step)
                    step += 1
                    ow, ou = load3(other, S_W), load3(other, S_U)
                    if which & 1:
                        s = dot(m, load3(other, SECOND_W)) + dot(f, load3(other, SECOND_U))
                        s += dot(b, load3(other, RATE_W))
                        put(by_q, here + whole(shift_q, at + l), sign * s)
                        put(by_q, there + shift, sign * (dot(qm, ow) + dot(qf, ou)))
                    if which & 2:
                        s = dot(m, load3(other, BOTH_W)) + dot(f, load3(other, BOTH_U)) + dot(b, ow)
                        put(by_v, here, sign * s)
                        put(by_v, there, sign * (dot(vm, ow) + dot(vf, ou)))
                    if which & 4:
                        s = sign * (dot(m, ow) + dot(f, ou))
                        put(by_a, here, s)
                        put(by_a, there, s)
                body = whole(other_row, PARENT)
        if parent >= 0:
            above = skip(work, parent * MATRIX_WORK)
            pass_inertia(own, above)
            pass_force(own, above)


@sweep
def by_parameters(n, rows, starts_q, q, by_q):
    """Derivatives by small rotations, which stand in the first three columns of each joint, to those by e.

    R(e) does not change with the length of e: δ = 2/eᵀe E(e)ᵀ δe.
    """
    for i in range(n):
        row = skip(rows, i * ROW)
        kind, at = whole(row, KIND), whole(row, Q_AT)
        if kind in (SPHERICAL, FREE):
            if kind == FREE:
                at += 3
            e0, e1, e2, e3 = real(q, at), real(q, at + 1), real(q, at + 2), real(q, at + 3)
            s = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
            c0, c1, c2 = whole(starts_q, at), whole(starts_q, at + 1), whole(starts_q, at + 2)
            c3 = whole(starts_q, at + 3)
            for k in range(c1 - c0):
                x, y, z = s * real(by_q, c0 + k), s * real(by_q, c1 + k), s * real(by_q, c2 + k)
                put(by_q, c0 + k, -e1 * x - e2 * y - e3 * z)
                put(by_q, c1 + k, e0 * x - e3 * y + e2 * z)
                put(by_q, c2 + k, e3 * x + e0 * y - e1 * z)
                put(by_q, c3 + k, e1 * y - e2 * x + e0 * z)
