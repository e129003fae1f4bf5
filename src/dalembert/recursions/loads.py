"""Loads that users apply: from the end of x to where recursions read them, and the derivative by them."""

from __future__ import annotations

from dalembert.recursions.algebra import add, column, cross, dot, load3, load9
from dalembert.recursions.matrices import S_U, S_W, TURN, WAY, dof_count
from dalembert.recursions.rows import DOF, KIND, MATRIX_WORK, PARENT, ROW, V_AT
from dalembert.recursions.words import formula, put, real, skip, sweep, whole


@sweep
def place_loads(tree, start, applied):
    """Forces along all velocities, then wrenches on all bodies, each only if there are some."""
    to = skip(start, tree.loads_at)
    count = tree.n_applied_velocities
    if count:
        for k in range(tree.n_v):
            put(to, k, 0.0)
        for k in range(count):
            put(to, whole(tree.applied_velocities, k), real(applied, k))
        to = skip(to, tree.n_v)
    if tree.n_applied_bodies:
        for k in range(6 * tree.n):
            put(to, k, 0.0)
        for k in range(tree.n_applied_bodies):
            for l in range(6):
                put(to, 6 * whole(tree.applied_bodies, k) + l, real(applied, count + 6 * k + l))


@formula
def torques_of(tree, start):
    return skip(start, tree.loads_at)


@formula
def wrenches_of(tree, start):
    return skip(start, tree.loads_at + (tree.n_v if tree.n_applied_velocities else 0))


@sweep
def subtract_torques(tree, applied, sign, out):
    """Take what is applied from `sign` times the forces that a motion needs."""
    for k in range(tree.n_applied_velocities):
        at = whole(tree.applied_velocities, k)
        put(out, at, real(out, at) - sign * real(applied, k))


@sweep
def load_entries(tree, work, dofs, sign, out):
    """Derivative of generalized forces by loads: one for each force, and for wrenches the way to the ground."""
    at = tree.n_applied_velocities
    for k in range(at):
        put(out, k, sign)
    for k in range(tree.n_applied_bodies):
        loaded = whole(tree.applied_bodies, k)
        R = load9(skip(work, loaded * MATRIX_WORK), TURN)
        for l in range(6):
            axis = column(R, l % 3)
            m, f = (0.0, 0.0, 0.0), axis
            if l >= 3:
                m, f = axis, m
            body = loaded
            while body >= 0:
                row = skip(tree.rows, body * ROW)
                first = whole(row, V_AT)
                for j in range(dof_count(whole(row, KIND)) - 1, -1, -1):
                    dof = skip(dofs, (first + j) * DOF)
                    put(out, at, sign * (dot(m, load3(dof, S_W)) + dot(f, load3(dof, S_U))))
                    at += 1
                m = add(m, cross(load3(skip(work, body * MATRIX_WORK), WAY), f))
                body = whole(row, PARENT)
