"""Explicit formalism: accelerations of a tree by articulated-body inertias, in three sweeps.

The articulated inertia of body and subtree maps motions (ω, u) of its frame to (moment, force): [[I, H], [Hᵀ, M]] with
symmetric I and M. All of it is in axes of the body. From a body to its neighbour in memory, which is its parent in most
trees, numbers go in registers.

References
----------
.. [1] R. Featherstone, "Rigid Body Dynamics Algorithms", 2008, chapter 7.
"""

from __future__ import annotations

from dalembert.multibody.moves import FREE, PRISMATIC, REVOLUTE, SCREW
from dalembert.recursions.algebra import (
    add,
    add6,
    add9,
    back,
    dot,
    load3,
    load6,
    load9,
    scale,
    store3,
    store6,
    store9,
    sub,
    sym,
    times,
    turn,
    turned_sym,
)
from dalembert.recursions.joints import child_motion, joint_bias, joint_velocity, momentum_rate, parent_force, pose
from dalembert.recursions.rows import (
    ACCELERATION,
    DAMPING,
    DRIVE,
    FORCE,
    INERTIA,
    INVERSE,
    KIND,
    LEVER,
    MASS,
    MORE,
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
from dalembert.recursions.solve3 import factor3, solve3
from dalembert.recursions.words import formula, put, real, skip, sweep, whole

#: an articulated inertia along a joint that is smaller than this part of what it was made of is a rounding error
WEAK = 1e-14

ZERO3 = (0.0, 0.0, 0.0)
ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ZERO9 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@sweep
def velocities(n, rows, work, q, v):
    """From the ground up: poses E, r on the parents, and velocities."""
    w, u = ZERO3, ZERO3
    for i in range(n):
        row, own = skip(rows, i * ROW), skip(work, i * WORK)
        parent, kind = whole(row, PARENT), whole(row, KIND)
        if parent < 0:
            w, u = ZERO3, ZERO3
        elif parent != i - 1:
            above = skip(work, parent * WORK)
            w, u = load3(above, SPIN), load3(above, SPEED)
        E, r = pose(row, kind, q, whole(row, Q_AT))
        w, u = child_motion(E, r, w, u)
        jw, ju = joint_velocity(row, kind, E, v, whole(row, V_AT))
        w, u = add(w, jw), add(u, ju)
        store9(own, POSE_E, E)
        store3(own, POSE_R, r)
        store3(own, SPIN, w)
        store3(own, SPEED, u)


@formula
def shifted(r, I, H, M):
    """An inertia about a point at r, in terms of motions of the origin."""
    G = (
        H[0] + r[1] * M[2] - r[2] * M[1], H[1] + r[1] * M[4] - r[2] * M[3], H[2] + r[1] * M[5] - r[2] * M[4],
        H[3] + r[2] * M[0] - r[0] * M[2], H[4] + r[2] * M[1] - r[0] * M[4], H[5] + r[2] * M[2] - r[0] * M[5],
        H[6] + r[0] * M[1] - r[1] * M[0], H[7] + r[0] * M[3] - r[1] * M[1], H[8] + r[0] * M[4] - r[1] * M[2],
    )  # fmt: skip
    # I + r̃ Gᵀ + (r̃ Hᵀ)ᵀ
    return (
        I[0] + r[1] * G[2] - r[2] * G[1] + r[1] * H[2] - r[2] * H[1],
        I[1] + r[1] * G[5] - r[2] * G[4] + r[2] * H[0] - r[0] * H[2],
        I[2] + r[1] * G[8] - r[2] * G[7] + r[0] * H[1] - r[1] * H[0],
        I[3] + r[2] * G[3] - r[0] * G[5] + r[2] * H[3] - r[0] * H[5],
        I[4] + r[2] * G[6] - r[0] * G[8] + r[0] * H[4] - r[1] * H[3],
        I[5] + r[0] * G[7] - r[1] * G[6] + r[0] * H[7] - r[1] * H[6],
    ), G  # fmt: skip


@formula
def turned_about(E, I, H):
    """E I Eᵀ and E H Eᵀ where column and row z of I and row z of H are zero: what a hinge about z passes on."""
    a, b = E[0] * I[0] + E[1] * I[1], E[0] * I[1] + E[1] * I[3]
    c, d = E[3] * I[0] + E[4] * I[1], E[3] * I[1] + E[4] * I[3]
    e, f = E[6] * I[0] + E[7] * I[1], E[6] * I[1] + E[7] * I[3]
    turned = (
        a * E[0] + b * E[1], a * E[3] + b * E[4], a * E[6] + b * E[7], c * E[3] + d * E[4], c * E[6] + d * E[7],
        e * E[6] + f * E[7],
    )  # fmt: skip
    P = (
        E[0] * H[0] + E[1] * H[3], E[0] * H[1] + E[1] * H[4], E[0] * H[2] + E[1] * H[5],
        E[3] * H[0] + E[4] * H[3], E[3] * H[1] + E[4] * H[4], E[3] * H[2] + E[4] * H[5],
        E[6] * H[0] + E[7] * H[3], E[6] * H[1] + E[7] * H[4], E[6] * H[2] + E[7] * H[5],
    )  # fmt: skip
    return turned, times_transposed(P, E)


@formula
def times_transposed(A, E):
    """A Eᵀ"""
    return (
        A[0] * E[0] + A[1] * E[1] + A[2] * E[2],
        A[0] * E[3] + A[1] * E[4] + A[2] * E[5],
        A[0] * E[6] + A[1] * E[7] + A[2] * E[8],
        A[3] * E[0] + A[4] * E[1] + A[5] * E[2],
        A[3] * E[3] + A[4] * E[4] + A[5] * E[5],
        A[3] * E[6] + A[4] * E[7] + A[5] * E[8],
        A[6] * E[0] + A[7] * E[1] + A[8] * E[2],
        A[6] * E[3] + A[7] * E[4] + A[8] * E[5],
        A[6] * E[6] + A[7] * E[7] + A[8] * E[8],
    )


@formula
def mapped(I, H, M, w, u):
    """[[I, H], [Hᵀ, M]] (w, u)"""
    return add(sym(I, w), turn(H, u)), add(back(H, w), sym(M, u))


@formula
def one_less(I, H, M, n, f, s):
    """The inertia without s (n, f)(n, f)ᵀ."""
    sn, sf = scale(s, n), scale(s, f)
    return (
        (I[0] - sn[0] * n[0], I[1] - sn[0] * n[1], I[2] - sn[0] * n[2],
         I[3] - sn[1] * n[1], I[4] - sn[1] * n[2], I[5] - sn[2] * n[2]),
        (H[0] - sn[0] * f[0], H[1] - sn[0] * f[1], H[2] - sn[0] * f[2],
         H[3] - sn[1] * f[0], H[4] - sn[1] * f[1], H[5] - sn[1] * f[2],
         H[6] - sn[2] * f[0], H[7] - sn[2] * f[1], H[8] - sn[2] * f[2]),
        (M[0] - sf[0] * f[0], M[1] - sf[0] * f[1], M[2] - sf[0] * f[2],
         M[3] - sf[1] * f[1], M[4] - sf[1] * f[2], M[5] - sf[2] * f[2]),
    )  # fmt: skip


@formula
def diagonal(S):
    return S[0], S[3], S[5]


@formula
def made_of(E, r, turning, sliding):
    """Terms of the inertia about and along the parent's z that a child passes on, as large as before they cancel.

    A motion s of the child takes terms of size Σ s_k² A_kk. Those of large inertias across a joint do not count for a
    small one about it, as in a long straight chain, unless they are turned into each other.
    """
    x, y, z = E[3] * r[0] - E[0] * r[1], E[4] * r[0] - E[1] * r[1], E[5] * r[0] - E[2] * r[1]
    a, b, c = E[6] * E[6], E[7] * E[7], E[8] * E[8]
    about = a * turning[0] + b * turning[1] + c * turning[2]
    return (
        about + x * x * sliding[0] + y * y * sliding[1] + z * z * sliding[2],
        a * sliding[0] + b * sliding[1] + c * sliding[2],
    )


@formula
def drive_of(row, q, v, tau, has_tau):
    """τ of a joint with one degree of freedom: given, of damper and of spring."""
    at = whole(row, V_AT)
    force = -real(row, DAMPING) * real(v, at) - real(row, STIFFNESS) * (real(q, whole(row, Q_AT)) - real(row, REST))
    if has_tau:
        force += real(tau, at)
    return force


@sweep
def inertias(n, rows, work, more, sums, q, v, tau, has_tau, wrenches, has_wrenches):
    """From the leaves down: articulated inertias. Returns −1, or the joint along which there is no inertia."""
    I, H, M, n0, f0 = ZERO6, ZERO9, ZERO6, ZERO3, ZERO3  # what the body after this one passes on
    about, along_z = 0.0, 0.0  # what inertias about and along z are made of, before terms cancel
    for j in range(n):
        i = n - 1 - j
        row, own = skip(rows, i * ROW), skip(work, i * WORK)
        kind, parent, at = whole(row, KIND), whole(row, PARENT), whole(row, V_AT)
        mass, lever, inertia = real(row, MASS), load3(row, LEVER), load6(row, INERTIA)
        w, u = load3(own, SPIN), load3(own, SPEED)
        E, r = load9(own, POSE_E), load3(own, POSE_R)
        n1, f1 = momentum_rate(mass, lever, inertia, w, u)
        n0, f0 = add(n0, n1), add(f0, f1)
        if has_wrenches:
            f0 = sub(f0, load3(wrenches, 6 * i))
            n0 = sub(n0, load3(wrenches, 6 * i + 3))
        about, along_z = about + inertia[5], along_z + mass
        I = add6(I, inertia)
        H = (H[0], H[1] - lever[2], H[2] + lever[1], H[3] + lever[2], H[4], H[5] - lever[0], H[6] - lever[1],
             H[7] + lever[0], H[8])  # fmt: skip
        M = (M[0] + mass, M[1], M[2], M[3] + mass, M[4], M[5] + mass)
        if whole(row, SUM) >= 0:
            total = skip(sums, whole(row, SUM) * WORK)
            I, H, M = add6(I, load6(total, 0)), add9(H, load9(total, 6)), add6(M, load6(total, 15))
            n0, f0 = add(n0, load3(total, 21)), add(f0, load3(total, 24))
            about, along_z = about + real(total, 27), along_z + real(total, 28)
        turning, sliding = diagonal(I), diagonal(M)
        if kind == REVOLUTE:
            rate = real(v, at)
            d = I[5]
            if not d > WEAK * about:
                return i
            d = 1.0 / d
            t = drive_of(row, q, v, tau, has_tau) - n0[2]
            un, uf = (I[2], I[4], I[5]), (H[6], H[7], H[8])
            store3(own, FORCE, un)
            store3(own, FORCE + 3, uf)
            put(own, INVERSE, d)
            put(own, DRIVE, t)
            if parent >= 0:
                I, H, M = one_less(I, H, M, un, uf, d)
                # row and column z are zero from here on
                cx, cy, ux, uy = w[1] * rate, -w[0] * rate, u[1] * rate, -u[0] * rate
                t = t * d
                n0 = (
                    n0[0] + I[0] * cx + I[1] * cy + H[0] * ux + H[1] * uy + un[0] * t,
                    n0[1] + I[1] * cx + I[3] * cy + H[3] * ux + H[4] * uy + un[1] * t,
                    n0[2] + un[2] * t,
                )
                f0 = (
                    f0[0] + H[0] * cx + H[3] * cy + M[0] * ux + M[1] * uy + uf[0] * t,
                    f0[1] + H[1] * cx + H[4] * cy + M[1] * ux + M[3] * uy + uf[1] * t,
                    f0[2] + H[2] * cx + H[5] * cy + M[2] * ux + M[4] * uy + uf[2] * t,
                )
                I, H = turned_about(E, I, H)
                M = turned_sym(E, M)
        else:
            jw, ju = joint_velocity(row, kind, E, v, at)
            cw, cu = joint_bias(kind, w, u, jw, ju)
            if kind in (PRISMATIC, SCREW):
                turns, along = 0.0, 1.0
                if kind == SCREW:
                    turns, along = 1.0, real(row, PITCH)
                un = (turns * I[2] + along * H[2], turns * I[4] + along * H[5], turns * I[5] + along * H[8])
                uf = (turns * H[6] + along * M[2], turns * H[7] + along * M[4], turns * H[8] + along * M[5])
                d = turns * un[2] + along * uf[2]
                if not d > WEAK * (turns * about + along * along * along_z):
                    return i
                d = 1.0 / d
                t = drive_of(row, q, v, tau, has_tau) - turns * n0[2] - along * f0[2]
                store3(own, FORCE, un)
                store3(own, FORCE + 3, uf)
                put(own, INVERSE, d)
                put(own, DRIVE, t)
                I, H, M = one_less(I, H, M, un, uf, d)
                n1, f1 = mapped(I, H, M, cw, cu)
                n0, f0 = add(add(n0, n1), scale(t * d, un)), add(add(f0, f1), scale(t * d, uf))
            elif kind == FREE:
                wide = skip(more, whole(row, MORE) * WORK)
                tn, tf = ZERO3, ZERO3
                if has_tau:
                    tn, tf = load3(tau, at + 3), back(E, turn(load9(row, ROTATION), load3(tau, at)))
                ok, aw, au = solve6(I, H, M, sub(tn, n0), sub(tf, f0))
                if not ok:
                    return i
                store3(wide, 0, aw)
                store3(wide, 3, au)
                I, H, M, n0, f0 = ZERO6, ZERO9, ZERO6, tn, tf
                turning, sliding = ZERO3, ZERO3
            else:
                wide = skip(more, whole(row, MORE) * WORK)
                tn = ZERO3
                if has_tau:
                    tn = load3(tau, at)
                tn = sub(tn, n0)
                ok, L = factor3(I, WEAK)
                if not ok:
                    return i
                store6(wide, 0, L)
                store9(wide, 6, H)
                store3(wide, 15, tn)
                M = without(M, L, H)
                # I − I I⁻¹ I and H − I I⁻¹ H vanish; the moment of the joint passes through
                s = solve3(L, tn)
                n0 = add(n0, tn)
                f0 = add(add(f0, sym(M, cu)), back(H, s))
                I, H = ZERO6, ZERO9
            I, H, M = turned_sym(E, I), times_transposed(times(E, H), E), turned_sym(E, M)
        if parent >= 0:
            n0, f0 = parent_force(E, r, n0, f0)
            I, H = shifted(r, I, H, M)
            about, along_z = made_of(E, r, turning, sliding)
        if parent != i - 1 or parent < 0:
            if parent >= 0:
                total = skip(sums, whole(skip(rows, parent * ROW), SUM) * WORK)
                store6(total, 0, add6(load6(total, 0), I))
                store9(total, 6, add9(load9(total, 6), H))
                store6(total, 15, add6(load6(total, 15), M))
                store3(total, 21, add(load3(total, 21), n0))
                store3(total, 24, add(load3(total, 24), f0))
                put(total, 27, real(total, 27) + about)
                put(total, 28, real(total, 28) + along_z)
            I, H, M, n0, f0, about, along_z = ZERO6, ZERO9, ZERO6, ZERO3, ZERO3, 0.0, 0.0
    return -1


@formula
def without(M, L, H):
    """M − Hᵀ I⁻¹ H with the factors L of I."""
    a, b, c = (H[0], H[3], H[6]), (H[1], H[4], H[7]), (H[2], H[5], H[8])
    x, y, z = solve3(L, a), solve3(L, b), solve3(L, c)
    return (
        M[0] - dot(a, x), M[1] - dot(a, y), M[2] - dot(a, z), M[3] - dot(b, y), M[4] - dot(b, z), M[5] - dot(c, z),
    )  # fmt: skip


@formula
def solve6(I, H, M, n, f):
    """Solve [[I, H], [Hᵀ, M]] (w, u) = (n, f); first whether that can be done."""
    right, L = factor3(M, WEAK)
    t = (H[0], H[3], H[6], H[1], H[4], H[7], H[2], H[5], H[8])
    well, K = factor3(without(I, L, t), 0.0)
    w = solve3(K, sub(n, turn(H, solve3(L, f))))
    return right and well, w, solve3(L, sub(f, back(H, w)))


@sweep
def accelerations(n, rows, work, more, v, gx, gy, gz, out):
    """From the ground up: v' of each joint."""
    aw, au = ZERO3, ZERO3
    for i in range(n):
        row, own = skip(rows, i * ROW), skip(work, i * WORK)
        parent, kind, at = whole(row, PARENT), whole(row, KIND), whole(row, V_AT)
        if parent < 0:
            aw, au = ZERO3, (-gx, -gy, -gz)
        elif parent != i - 1:
            above = skip(work, parent * WORK)
            aw, au = load3(above, ACCELERATION), load3(above, ACCELERATION + 3)
        E, r = load9(own, POSE_E), load3(own, POSE_R)
        w, u = load3(own, SPIN), load3(own, SPEED)
        aw, au = child_motion(E, r, aw, au)
        if kind == REVOLUTE:
            rate = real(v, at)
            aw = (aw[0] + w[1] * rate, aw[1] - w[0] * rate, aw[2])
            au = (au[0] + u[1] * rate, au[1] - u[0] * rate, au[2])
            s = dot(load3(own, FORCE), aw) + dot(load3(own, FORCE + 3), au)
            s = (real(own, DRIVE) - s) * real(own, INVERSE)
            put(out, at, s)
            aw = (aw[0], aw[1], aw[2] + s)
        else:
            jw, ju = joint_velocity(row, kind, E, v, at)
            cw, cu = joint_bias(kind, w, u, jw, ju)
            aw, au = add(aw, cw), add(au, cu)
            if kind in (PRISMATIC, SCREW):
                s = dot(load3(own, FORCE), aw) + dot(load3(own, FORCE + 3), au)
                s = (real(own, DRIVE) - s) * real(own, INVERSE)
                put(out, at, s)
                if kind == SCREW:
                    aw = (aw[0], aw[1], aw[2] + s)
                    s *= real(row, PITCH)
                au = (au[0], au[1], au[2] + s)
            elif kind == FREE:
                wide = skip(more, whole(row, MORE) * WORK)
                bw, bu = load3(wide, 0), load3(wide, 3)
                store3(out, at + 3, sub(bw, aw))
                store3(out, at, back(load9(row, ROTATION), turn(E, sub(bu, au))))
                aw, au = bw, bu
            else:
                wide = skip(more, whole(row, MORE) * WORK)
                s = solve3(load6(wide, 0), sub(load3(wide, 15), turn(load9(wide, 6), au)))
                store3(out, at, sub(s, aw))
                aw = s
        if whole(row, SUM) >= 0:  # children that are no neighbours will ask for it
            store3(own, ACCELERATION, aw)
            store3(own, ACCELERATION + 3, au)


@sweep
def clear(sums, n_sums):
    for k in range(n_sums * WORK):
        put(sums, k, 0.0)
