"""Kernels that evaluate a tree: the C functions behind ports.

Each has the signature ``int32 native(double t, double *x, double *theta, double *out, void *record)`` with the record
of a `Tree`. x holds p, then v; behind them a where the name says so; then, if the record says so, forces along the
velocities (explicit form) and wrenches on the bodies, (force, moment) in axes of each body at its origin. The answer is
0, or `RETRY` where a joint has no inertia along itself; its number is then in the record.
"""

from __future__ import annotations

from dalembert.compile.kernel import kernel
from dalembert.recursions.articulated import accelerations, clear, inertias, velocities
from dalembert.recursions.matrices import (
    by_parameters, derivative_entries, mass_entries, world_motions, world_poses,
)  # fmt: skip
from dalembert.recursions.newton_euler import coordinate_rates, joint_forces, motions_and_forces
from dalembert.recursions.rows import MATRIX_WORK, WORK, tree_at
from dalembert.recursions.words import give_slot, skip, sweep, take_slot

SIGNATURE = "int32(float64, uint64, uint64, uint64, uint64)"
RETRY = 1
BY_Q, BY_V, BY_A = 1, 2, 4


@kernel(SIGNATURE)
def explicit(t, x, theta, out, record):
    """v' of the tree under its forces."""
    tree = tree_at(record)
    slot = take_slot(tree.slots)
    work = skip(tree.work, slot * tree.slot_words)
    more = skip(work, tree.n * WORK)
    sums = skip(more, tree.n_more * WORK)
    v = skip(x, tree.n_q)
    tau = skip(v, tree.n_v)
    wrenches = skip(tau, tree.n_v) if tree.torques else tau
    clear(sums, tree.n_sums)
    velocities(tree.n, tree.rows, work, x, v)
    weak = inertias(
        tree.n, tree.rows, work, more, sums, x, v, tau, tree.torques != 0, wrenches, tree.wrenches != 0
    )  # fmt: skip
    if weak < 0:
        accelerations(tree.n, tree.rows, work, more, v, tree.gx, tree.gy, tree.gz, out)
    give_slot(tree.slots, slot)
    if weak < 0:
        return 0
    tree.failed = weak
    return RETRY


@sweep
def _forces(x, out, record, has_a, sign):
    """`sign` times forces that the motion takes; wrenches are behind a, or behind v."""
    tree = tree_at(record)
    slot = take_slot(tree.slots)
    work = skip(tree.work, slot * tree.slot_words)
    v = skip(x, tree.n_q)
    a = skip(v, tree.n_v)
    wrenches = skip(a, tree.n_v) if has_a else a
    motions_and_forces(
        tree.n, tree.rows, work, x, v, a, has_a, tree.gx, tree.gy, tree.gz, wrenches, tree.wrenches != 0
    )  # fmt: skip
    joint_forces(tree.n, tree.rows, work, x, v, sign, out)
    give_slot(tree.slots, slot)


@kernel(SIGNATURE)
def residual(t, x, theta, out, record):
    """Forces along the joints that the motion (p, v, a) takes, less those of springs, dampers and wrenches."""
    _forces(x, out, record, True, 1.0)
    return 0


@kernel(SIGNATURE)
def force(t, x, theta, out, record):
    """The right-hand side f of M v' = f."""
    _forces(x, out, record, False, -1.0)
    return 0


@kernel(SIGNATURE)
def kinematics(t, x, theta, out, record):
    """p' = Z(p) v."""
    tree = tree_at(record)
    coordinate_rates(tree.n, tree.rows, x, skip(x, tree.n_q), out)
    return 0


@kernel(SIGNATURE)
def mass(t, x, theta, out, record):
    """Entries of the mass matrix; x may end behind p."""
    tree = tree_at(record)
    slot = take_slot(tree.slots)
    work = skip(tree.work, slot * tree.slot_words)
    dofs = skip(work, tree.n * MATRIX_WORK)
    world_poses(tree.n, tree.rows, work, dofs, x)
    mass_entries(tree.n, tree.rows, work, dofs, tree.walk_at, tree.lower, tree.upper, out)
    give_slot(tree.slots, slot)
    return 0


@sweep
def _derivatives(x, record, has_a, sign, by_q, by_v, by_a, which):
    """Derivatives of `sign` times the forces that a motion takes; addresses of what is not asked for are not used."""
    tree = tree_at(record)
    slot = take_slot(tree.slots)
    work = skip(tree.work, slot * tree.slot_words)
    dofs = skip(work, tree.n * MATRIX_WORK)
    v = skip(x, tree.n_q)
    a = skip(v, tree.n_v)
    wrenches = skip(a, tree.n_v) if has_a else a
    world_poses(tree.n, tree.rows, work, dofs, x)
    world_motions(
        tree.n, tree.rows, work, dofs, v, a, has_a, tree.gx, tree.gy, tree.gz, wrenches, tree.wrenches != 0
    )  # fmt: skip
    derivative_entries(
        tree.n, tree.rows, work, dofs, tree.walk_at, tree.lower, tree.upper, tree.shift_q, sign, by_q, by_v, by_a,
        which,
    )  # fmt: skip
    if which & BY_Q:
        by_parameters(tree.n, tree.rows, tree.starts_q, x, by_q)
    give_slot(tree.slots, slot)


@kernel(SIGNATURE)
def residual_derivatives(t, x, theta, out, record):
    """Derivatives of `residual` by p, by v and by a, one after the other."""
    tree = tree_at(record)
    by_v = skip(out, tree.entries_q)
    _derivatives(x, record, True, 1.0, out, by_v, skip(by_v, tree.entries_v), BY_Q | BY_V | BY_A)
    return 0


@kernel(SIGNATURE)
def residual_by_p(t, x, theta, out, record):
    """Derivative of `residual` by p."""
    _derivatives(x, record, True, 1.0, out, out, out, BY_Q)
    return 0


@kernel(SIGNATURE)
def residual_by_v(t, x, theta, out, record):
    """Derivative of `residual` by v."""
    _derivatives(x, record, True, 1.0, out, out, out, BY_V)
    return 0


@kernel(SIGNATURE)
def force_by_p(t, x, theta, out, record):
    """Derivative of `force` by p."""
    _derivatives(x, record, False, -1.0, out, out, out, BY_Q)
    return 0


@kernel(SIGNATURE)
def force_by_v(t, x, theta, out, record):
    """Derivative of `force` by v."""
    _derivatives(x, record, False, -1.0, out, out, out, BY_V)
    return 0
