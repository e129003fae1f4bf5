"""Kernels that evaluate a tree: the C functions behind ports.

Each has the signature ``int32 native(double t, double *x, double *theta, double *out, void *record)`` with the record
of a `Tree`. x holds p, then v; behind them a where the name says so; then the loads that the `Tree` was told of. The
answer is 0, or `RETRY` where a joint has no inertia along itself; its number is then in the record.
"""

from __future__ import annotations

from dalembert.compile.kernel import kernel
from dalembert.recursions.articulated import accelerations, clear, inertias, velocities
from dalembert.recursions.loads import place_loads, subtract_torques, torques_of, wrenches_of
from dalembert.recursions.matrices import mass_entries, world_poses
from dalembert.recursions.newton_euler import (
    coordinate_rates,
    joint_forces,
    motions_and_forces,
    rate_by_q,
    rate_change,
    rate_change_by_q,
    rate_change_by_v,
    rate_matrix,
    rate_matrix_by_q,
)
from dalembert.recursions.rows import MATRIX_WORK, WORK, tree_at
from dalembert.recursions.words import give_slot, skip, sweep, take_slot

SIGNATURE = "int32(float64, uint64, uint64, uint64, uint64)"
RETRY = 1


@sweep
def articulated(tree, start, q, v, out):
    """v' in the memory of a slot, in which loads have been placed. Returns −1, or the joint without inertia."""
    more = skip(start, tree.n * WORK)
    sums = skip(more, tree.n_more * WORK)
    tau, wrenches = torques_of(tree, start), wrenches_of(tree, start)
    clear(sums, tree.n_sums)
    velocities(tree.n, tree.rows, start, q, v)
    weak = inertias(
        tree.n, tree.rows, start, more, sums, q, v, tau, tree.n_applied_velocities != 0, wrenches,
        tree.n_applied_bodies != 0,
    )  # fmt: skip
    if weak < 0:
        accelerations(tree.n, tree.rows, start, more, v, tree.gx, tree.gy, tree.gz, out)
    return weak


@kernel(SIGNATURE)
def explicit(t, x, theta, out, record):
    """v' of the tree under its forces."""
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    start, v = skip(tree.work, slot * tree.slot_words), skip(x, tree.n_q)
    place_loads(tree, start, skip(v, tree.n_v))
    weak = articulated(tree, start, x, v, out)
    give_slot(tree.slots, slot, tree.n)
    if weak < 0:
        return 0
    tree.failed = weak
    return RETRY


@sweep
def _forces(x, out, record, has_a, sign):
    """`sign` times the forces that the motion takes; loads are behind a, or behind v."""
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    start, v = skip(tree.work, slot * tree.slot_words), skip(x, tree.n_q)
    a = skip(v, tree.n_v)
    applied = skip(a, tree.n_v) if has_a else a
    place_loads(tree, start, applied)
    motions_and_forces(
        tree.n, tree.rows, start, x, v, a, has_a, tree.gx, tree.gy, tree.gz, wrenches_of(tree, start),
        tree.n_applied_bodies != 0, False,
    )  # fmt: skip
    joint_forces(tree.n, tree.rows, start, x, v, sign, out)
    subtract_torques(tree, applied, sign, out)
    give_slot(tree.slots, slot, tree.n)


@kernel(SIGNATURE)
def residual(t, x, theta, out, record):
    """Forces along the joints that the motion (p, v, a) takes, less those of springs, dampers and loads: M a − f."""
    _forces(x, out, record, True, 1.0)
    return 0


@kernel(SIGNATURE)
def force(t, x, theta, out, record):
    """The right-hand side f of M v' = f."""
    _forces(x, out, record, False, -1.0)
    return 0


@kernel(SIGNATURE)
def mass(t, x, theta, out, record):
    """Entries of the mass matrix; x may end behind p."""
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    work = skip(tree.work, slot * tree.slot_words)
    dofs = skip(work, tree.n * MATRIX_WORK)
    world_poses(tree.n, tree.rows, work, dofs, x)
    mass_entries(tree.n, tree.rows, work, dofs, tree.walk_at, tree.lower, tree.upper, out)
    give_slot(tree.slots, slot, tree.n)
    return 0


@kernel(SIGNATURE)
def kinematics_rate(t, x, theta, out, record):
    """p' = Z(p) v."""
    tree = tree_at(record)
    coordinate_rates(tree.n, tree.rows, x, skip(x, tree.n_q), out)
    return 0


@kernel(SIGNATURE)
def kinematics(t, x, theta, out, record):
    """Entries of Z(p) (`multibody.pattern.rate_pattern`); x may end behind p."""
    tree = tree_at(record)
    rate_matrix(tree.n, tree.rows, x, out)
    return 0


@kernel(SIGNATURE)
def kinematics_first(t, x, theta, out, record):
    """(dZ/dt) v."""
    tree = tree_at(record)
    rate_change(tree.n, tree.rows, tree.n_q, x, skip(x, tree.n_q), out)
    return 0


@kernel(SIGNATURE)
def kinematics_rate_by_p(t, x, theta, out, record):
    """Entries of ∂(Z v)/∂p."""
    tree = tree_at(record)
    rate_by_q(tree.n, tree.rows, skip(x, tree.n_q), out)
    return 0


@kernel(SIGNATURE)
def kinematics_by_p(t, x, theta, out, record):
    """Derivatives of the entries of Z(p)."""
    tree = tree_at(record)
    rate_matrix_by_q(tree.n, tree.rows, out)
    return 0


@kernel(SIGNATURE)
def kinematics_first_by_p(t, x, theta, out, record):
    """Entries of ∂((dZ/dt) v)/∂p."""
    tree = tree_at(record)
    rate_change_by_q(tree.n, tree.rows, skip(x, tree.n_q), out)
    return 0


@kernel(SIGNATURE)
def kinematics_first_by_v(t, x, theta, out, record):
    """Entries of ∂((dZ/dt) v)/∂v."""
    tree = tree_at(record)
    rate_change_by_v(tree.n, tree.rows, x, skip(x, tree.n_q), out)
    return 0
