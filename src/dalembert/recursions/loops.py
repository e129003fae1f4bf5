"""Closures of loops: values, Jacobians, derivatives along the motion, and the wrenches of multipliers.

A loop goes from the last body that both sides share down to its two bodies; what happens between that body and the
ground does not change the closure. So positions are those relative to it, in its axes. Each equation is u·d or u·w,
with a vector u of frame a, the way d from the origin of frame a to that of frame b, and a vector w of frame b.
"""

from __future__ import annotations

from dalembert.multibody.moves import FREE, PRISMATIC, REVOLUTE, SCREW
from dalembert.recursions.algebra import (
    add,
    back,
    column,
    cross,
    dot,
    load3,
    load9,
    scale,
    store3,
    store9,
    sub,
    times,
    turn,
)
from dalembert.recursions.joints import joint_velocity, pose
from dalembert.recursions.rows import (
    ENTRY_P,
    ENTRY_V,
    EQUATION,
    FRAME_A,
    FRAME_B,
    KIND,
    LOOP,
    LOOP_KIND,
    PATH_A,
    PATH_B,
    PATH_END,
    PITCH,
    Q_AT,
    ROTATION,
    ROW,
    SHARED,
    V_AT,
    WORK,
)
from dalembert.recursions.words import formula, put, real, skip, sweep, whole

#: Row of a body on a path, in the memory of a slot: rotation, axes of the joint's frame, origin
PATH_TURN, PATH_AXES, PATH_ORIGIN = 0, 9, 18

ZERO3 = (0.0, 0.0, 0.0)
ONE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@formula
def _pair(A, B, bit):
    """u and w of an equation between directions."""
    x, y = column(A, 0), column(A, 1)
    if bit == 3:
        return x, column(B, 2)
    if bit == 4:
        return y, column(B, 2)
    return x, column(B, 1)


@sweep
def follow(tree, work, first, last, q, v, has_v):
    """Go down a path: pose of its last body, its velocities ω, u, and accelerations if v does not change."""
    R, x = ONE, ZERO3
    w, u, aw, au = ZERO3, ZERO3, ZERO3, ZERO3
    for k in range(first, last):
        body = whole(tree.loop_path, k)
        row, own = skip(tree.rows, body * ROW), skip(work, body * WORK)
        kind = whole(row, KIND)
        E, r = pose(row, kind, q, whole(row, Q_AT))
        r = turn(R, r)
        store9(own, PATH_AXES, times(R, load9(row, ROTATION)))
        au = add(au, add(cross(aw, r), cross(w, cross(w, r))))
        u = add(u, cross(w, r))
        x, R = add(x, r), times(R, E)
        store9(own, PATH_TURN, R)
        store3(own, PATH_ORIGIN, x)
        if has_v:
            jw, ju = joint_velocity(row, kind, E, v, whole(row, V_AT))
            jw, ju = turn(R, jw), turn(R, ju)
            aw, au = add(aw, cross(w, jw)), add(au, scale(2.0, cross(w, ju)))
            w, u = add(w, jw), add(u, ju)
    return R, x, w, u, aw, au


@formula
def _frame(row, at, R, x, w, u, aw, au):
    """Axes, origin, and its velocity and acceleration, of a frame on a body."""
    o = turn(R, load3(row, at + 9))
    return (
        times(R, load9(row, at)),
        add(x, o),
        add(u, cross(w, o)),
        add(au, add(cross(aw, o), cross(w, cross(w, o)))),
    )


@formula
def _turned(w, aw, a):
    """First and second derivative of a vector that turns with a body."""
    rate = cross(w, a)
    return rate, add(cross(aw, a), cross(w, rate))


@sweep
def closures(tree, work, q, v, order, out):
    """g, ġ or g̈ (for v that does not change), by `order`."""
    for l in range(tree.n_loops):
        row = skip(tree.loops, l * LOOP)
        middle = whole(row, PATH_B)
        Ra, xa, wa, ua, awa, aua = follow(tree, work, whole(row, PATH_A), middle, q, v, order > 0)
        Rb, xb, wb, ub, awb, aub = follow(tree, work, middle, whole(row, PATH_END), q, v, order > 0)
        A, oa, da, dda = _frame(row, FRAME_A, Ra, xa, wa, ua, awa, aua)
        B, ob, db, ddb = _frame(row, FRAME_B, Rb, xb, wb, ub, awb, aub)
        kind, at = whole(row, LOOP_KIND), whole(row, EQUATION)
        for bit in range(6):
            if not (kind >> bit) & 1:
                continue
            if bit < 3:
                a, b, b1, b2 = (A[bit], A[bit + 3], A[bit + 6]), sub(ob, oa), sub(db, da), sub(ddb, dda)
            else:
                a, b = _pair(A, B, bit)
                b1, b2 = _turned(wb, awb, b)
            a1, a2 = _turned(wa, awa, a)
            if order == 0:
                s = dot(a, b)
            elif order == 1:
                s = dot(a1, b) + dot(a, b1)
            else:
                s = dot(a2, b) + 2.0 * dot(a1, b1) + dot(a, b2)
            put(out, at, s)
            at += 1


@formula
def _about(axis, c, d, u, w, distance):
    """Change of an equation if frame b turns about an axis through c; d is the origin of frame b."""
    if distance:
        return dot(u, cross(axis, sub(d, c)))
    return dot(u, cross(axis, w))


@sweep
def closure_entries(tree, work, q, by_p, out):
    """Jacobian of g: loop by loop, row by row, along the path to a and then to b; by p, or by velocities."""
    for l in range(tree.n_loops):
        row = skip(tree.loops, l * LOOP)
        first, middle, last = whole(row, PATH_A), whole(row, PATH_B), whole(row, PATH_END)
        A = times(follow(tree, work, first, middle, q, q, False)[0], load9(row, FRAME_A))
        Rb, xb = follow(tree, work, middle, last, q, q, False)[:2]
        B, ob = times(Rb, load9(row, FRAME_B)), add(xb, turn(Rb, load3(row, FRAME_B + 9)))
        kind = whole(row, LOOP_KIND)
        at = whole(row, ENTRY_P) if by_p else whole(row, ENTRY_V)
        for bit in range(6):
            if not (kind >> bit) & 1:
                continue
            distance = bit < 3
            if distance:
                u, w = (A[bit], A[bit + 3], A[bit + 6]), ZERO3
            else:
                u, w = _pair(A, B, bit)
            for k in range(first, last):
                # turning a's side is turning b's side backwards
                sign = -1.0 if k < middle else 1.0
                body = whole(tree.loop_path, k)
                at = _joint_entries(
                    skip(tree.rows, body * ROW), skip(work, body * WORK), sign, ob, u, w, distance, q, by_p, at, out
                )


@sweep
def _joint_entries(row, own, sign, d, u, w, distance, q, by_p, at, out):
    """Entries of one equation for one joint; returns where the next ones stand."""
    joint, R, c = whole(row, KIND), load9(own, PATH_TURN), load3(own, PATH_ORIGIN)
    z = column(R, 2)
    if joint == REVOLUTE:
        put(out, at, sign * _about(z, c, d, u, w, distance))
        return at + 1
    if joint == PRISMATIC:
        put(out, at, sign * dot(u, z) if distance else 0.0)
        return at + 1
    if joint == SCREW:
        s = _about(z, c, d, u, w, distance)
        if distance:
            s += real(row, PITCH) * dot(u, z)
        put(out, at, sign * s)
        return at + 1
    e = whole(row, Q_AT)
    if joint == FREE:
        axes = load9(own, PATH_AXES)
        along = back(axes, u) if distance else ZERO3
        store3(out, at, scale(sign, along))
        at, e = at + 3, e + 3
    x = sign * _about(column(R, 0), c, d, u, w, distance)
    y = sign * _about(column(R, 1), c, d, u, w, distance)
    s = sign * _about(z, c, d, u, w, distance)
    if not by_p:
        store3(out, at, (x, y, s))
        return at + 3
    e0, e1, e2, e3 = real(q, e), real(q, e + 1), real(q, e + 2), real(q, e + 3)
    f = 2.0 / (e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3)
    put(out, at, f * (-e1 * x - e2 * y - e3 * s))
    put(out, at + 1, f * (e0 * x - e3 * y + e2 * s))
    put(out, at + 2, f * (e3 * x + e0 * y - e1 * s))
    put(out, at + 3, f * (e1 * y - e2 * x + e0 * s))
    return at + 4


@formula
def _add_wrench(wrenches, body, R, x, point, f, m):
    """Add a force at a point and a moment to the wrench on a body, in its axes at its origin."""
    if body >= 0:
        to = skip(wrenches, 6 * body)
        store3(to, 0, add(load3(to, 0), back(R, f)))
        store3(to, 3, add(load3(to, 3), back(R, add(m, cross(sub(point, x), f)))))


@sweep
def closure_wrenches(tree, work, q, lam, wrenches):
    """Add to the wrenches on bodies what multipliers do: −Gᵀ λ."""
    for l in range(tree.n_loops):
        row = skip(tree.loops, l * LOOP)
        first, middle, last = whole(row, PATH_A), whole(row, PATH_B), whole(row, PATH_END)
        Ra, xa = follow(tree, work, first, middle, q, q, False)[:2]
        Rb, xb = follow(tree, work, middle, last, q, q, False)[:2]
        A, B = times(Ra, load9(row, FRAME_A)), times(Rb, load9(row, FRAME_B))
        ob = add(xb, turn(Rb, load3(row, FRAME_B + 9)))
        kind, at = whole(row, LOOP_KIND), whole(row, EQUATION)
        f, m = ZERO3, ZERO3
        for bit in range(6):
            if not (kind >> bit) & 1:
                continue
            s = -real(lam, at)
            at += 1
            if bit < 3:
                f = add(f, scale(s, (A[bit], A[bit + 3], A[bit + 6])))
            else:
                u, w = _pair(A, B, bit)
                m = add(m, scale(s, cross(w, u)))
        a = whole(tree.loop_path, middle - 1) if middle > first else whole(row, SHARED)
        b = whole(tree.loop_path, last - 1) if last > middle else whole(row, SHARED)
        _add_wrench(wrenches, b, Rb, xb, ob, f, m)
        _add_wrench(wrenches, a, Ra, xa, ob, scale(-1.0, f), scale(-1.0, m))
