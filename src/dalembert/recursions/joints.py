"""Formulas of elementary joints: pose of the child, velocity and acceleration across the joint."""

from __future__ import annotations

from math import cos, sin

from dalembert.multibody.moves import FREE, PRISMATIC, REVOLUTE, SCREW
from dalembert.recursions.algebra import add, back, cross, load3, load9, momentum, rotation_of, sub, times, turn
from dalembert.recursions.rows import OFFSET, PITCH, ROTATION
from dalembert.recursions.words import formula, real


@formula
def turned_about_z(R, q):
    """R times a rotation about z by q."""
    c, s = cos(q), sin(q)
    return (
        c * R[0] + s * R[1], c * R[1] - s * R[0], R[2],
        c * R[3] + s * R[4], c * R[4] - s * R[3], R[5],
        c * R[6] + s * R[7], c * R[7] - s * R[6], R[8],
    )  # fmt: skip


@formula
def pose(row, kind, x, at):
    """Rotation E from the child's axes to the parent's, and the child's origin in the parent's frame."""
    E = load9(row, ROTATION)
    r = load3(row, OFFSET)
    q = real(x, at)
    if kind == REVOLUTE:
        E = turned_about_z(E, q)
    elif kind == PRISMATIC:
        r = (r[0] + q * E[2], r[1] + q * E[5], r[2] + q * E[8])
    elif kind == SCREW:
        along = real(row, PITCH) * q
        r = (r[0] + along * E[2], r[1] + along * E[5], r[2] + along * E[8])
        E = turned_about_z(E, q)
    elif kind == FREE:
        r = add(r, turn(E, load3(x, at)))
        E = times(E, rotation_of(real(x, at + 3), real(x, at + 4), real(x, at + 5), real(x, at + 6)))
    else:
        E = times(E, rotation_of(q, real(x, at + 1), real(x, at + 2), real(x, at + 3)))
    return E, r


@formula
def joint_velocity(row, kind, E, v, at):
    """Velocity of the child relative to the parent, in the child's axes at its origin."""
    z = real(v, at)
    if kind == REVOLUTE:
        return (0.0, 0.0, z), (0.0, 0.0, 0.0)
    if kind == PRISMATIC:
        return (0.0, 0.0, 0.0), (0.0, 0.0, z)
    if kind == SCREW:
        return (0.0, 0.0, z), (0.0, 0.0, real(row, PITCH) * z)
    if kind == FREE:
        return load3(v, at + 3), back(E, turn(load9(row, ROTATION), load3(v, at)))
    return load3(v, at), (0.0, 0.0, 0.0)


@formula
def joint_bias(kind, w, u, jw, ju):
    """What the acceleration has besides that of the parent and the joint's own: v × v_J, and Ṡ v of free joints."""
    spin, speed = cross(w, jw), add(cross(w, ju), cross(u, jw))
    if kind == FREE:  # x' is held in axes that do not turn with the child
        speed = sub(speed, cross(jw, ju))
    return spin, speed


@formula
def child_motion(E, r, w, u):
    """A motion of the parent (velocity, or acceleration) as seen in the child's axes at its origin."""
    return back(E, w), back(E, add(u, cross(w, r)))


@formula
def parent_force(E, r, n, f):
    """Moment and force on the child as seen in the parent's axes at its origin."""
    f = turn(E, f)
    return add(turn(E, n), cross(r, f)), f


@formula
def momentum_rate(mass, lever, inertia, w, u):
    """v ×* I v: moment and force on a body whose frame has no acceleration."""
    h, p = momentum(mass, lever, inertia, w, u)
    return add(cross(w, h), cross(u, p)), cross(w, p)


@formula
def body_force(mass, lever, inertia, w, u, aw, au):
    """I a + v ×* I v: moment and force that move a body, at its origin."""
    n, f = momentum_rate(mass, lever, inertia, w, u)
    an, af = momentum(mass, lever, inertia, aw, au)
    return add(n, an), add(f, af)
