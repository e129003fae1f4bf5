"""Kernels that evaluate a tree: the C functions behind ports.

Each has the signature ``int32 native(double t, double *x, double *theta, double *out, void *record)`` with the record
of a `Tree`. x holds p, then v; behind them a where the name says so; then, if the record says so, forces along the
velocities (explicit form) and wrenches on the bodies, (force, moment) in axes of each body at its origin. The answer is
0, or `RETRY` where a joint has no inertia along itself; its number is then in the record.
"""

from __future__ import annotations

from dalembert.compile.kernel import kernel
from dalembert.recursions.articulated import accelerations, clear, inertias, velocities
from dalembert.recursions.newton_euler import coordinate_rates, joint_forces, motions_and_forces
from dalembert.recursions.rows import WORK, tree_at
from dalembert.recursions.words import give_slot, skip, sweep, take_slot

SIGNATURE = "int32(float64, uint64, uint64, uint64, uint64)"
RETRY = 1


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
