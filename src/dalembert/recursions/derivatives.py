"""Kernels for derivatives of the residual and of the explicit form; arguments and answers are those of `entries`."""

from __future__ import annotations

from dalembert.compile.kernel import kernel
from dalembert.recursions.entries import RETRY, SIGNATURE, articulated
from dalembert.recursions.inverse import factor_mass, solve_columns
from dalembert.recursions.loads import load_entries, place_loads, wrenches_of
from dalembert.recursions.matrices import (
    by_parameters,
    derivative_entries,
    mass_entries,
    world_motions,
    world_poses,
)
from dalembert.recursions.rows import MATRIX_WORK, tree_at
from dalembert.recursions.words import give_slot, skip, sweep, take_slot

BY_Q, BY_V, BY_A, BY_LOADS = 1, 2, 4, 8


@sweep
def _differentiate(tree, start, q, v, a, has_a, sign, by_q, by_v, by_a, which):
    """Derivatives of `sign` times the forces that a motion takes; addresses of what is not asked for are not used."""
    dofs = skip(start, tree.n * MATRIX_WORK)
    world_poses(tree.n, tree.rows, start, dofs, q)
    world_motions(
        tree.n, tree.rows, start, dofs, v, a, has_a, tree.gx, tree.gy, tree.gz, wrenches_of(tree, start),
        tree.n_applied_bodies != 0,
    )  # fmt: skip
    derivative_entries(
        tree.n, tree.rows, start, dofs, tree.walk_at, tree.lower, tree.upper, tree.shift_q, sign, by_q, by_v, by_a,
        which,
    )  # fmt: skip
    if which & BY_Q:
        by_parameters(tree.n, tree.rows, tree.starts_q, q, by_q)


@sweep
def _of_residual(x, record, has_a, sign, by_q, by_v, by_a, which):
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    start, v = skip(tree.work, slot * tree.slot_words), skip(x, tree.n_q)
    a = skip(v, tree.n_v)
    place_loads(tree, start, skip(a, tree.n_v) if has_a else a)
    _differentiate(tree, start, x, v, a, has_a, sign, by_q, by_v, by_a, which)
    give_slot(tree.slots, slot, tree.n)


@kernel(SIGNATURE)
def residual_derivatives(t, x, theta, out, record):
    """Derivatives of `residual` by p, by v and by a, one after the other."""
    tree = tree_at(record)
    by_v = skip(out, tree.entries_q)
    _of_residual(x, record, True, 1.0, out, by_v, skip(by_v, tree.entries_v), BY_Q | BY_V | BY_A)
    return 0


@kernel(SIGNATURE)
def residual_by_p(t, x, theta, out, record):
    """Derivative of `residual` by p; that by a is `mass`."""
    _of_residual(x, record, True, 1.0, out, out, out, BY_Q)
    return 0


@kernel(SIGNATURE)
def residual_by_v(t, x, theta, out, record):
    """Derivative of `residual` by v."""
    _of_residual(x, record, True, 1.0, out, out, out, BY_V)
    return 0


@kernel(SIGNATURE)
def force_by_p(t, x, theta, out, record):
    """Derivative of `force` by p."""
    _of_residual(x, record, False, -1.0, out, out, out, BY_Q)
    return 0


@kernel(SIGNATURE)
def force_by_v(t, x, theta, out, record):
    """Derivative of `force` by v."""
    _of_residual(x, record, False, -1.0, out, out, out, BY_V)
    return 0


@sweep
def _by_loads(x, record, sign, out):
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    start = skip(tree.work, slot * tree.slot_words)
    dofs = skip(start, tree.n * MATRIX_WORK)
    world_poses(tree.n, tree.rows, start, dofs, x)
    load_entries(tree, start, dofs, sign, out)
    give_slot(tree.slots, slot, tree.n)


@kernel(SIGNATURE)
def residual_by_applied(t, x, theta, out, record):
    """Derivative of `residual` by the loads."""
    _by_loads(x, record, -1.0, out)
    return 0


@kernel(SIGNATURE)
def force_by_applied(t, x, theta, out, record):
    """Derivative of `force` by the loads."""
    _by_loads(x, record, 1.0, out)
    return 0


@sweep
def _of_explicit(x, record, out, which):
    """Derivative of v' by p, by v or by the loads: full columns of each tree."""
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    start, v = skip(tree.work, slot * tree.slot_words), skip(x, tree.n_q)
    a = skip(start, tree.factors_at)
    b = skip(a, tree.n_v)
    half = skip(b, tree.n_v)
    M = skip(half, tree.pairs)
    values = skip(M, tree.entries_v)
    place_loads(tree, start, skip(v, tree.n_v))
    weak = articulated(tree, start, x, v, a)
    if weak < 0:
        dofs = skip(start, tree.n * MATRIX_WORK)
        if which == BY_LOADS:
            world_poses(tree.n, tree.rows, start, dofs, x)
            load_entries(tree, start, dofs, -1.0, values)
            mass_entries(tree.n, tree.rows, start, dofs, tree.walk_at, tree.lower, tree.upper, M)
        else:
            _differentiate(tree, start, x, v, a, True, 1.0, values, values, M, which | BY_A)
        factor_mass(tree.n_v, tree.tree_dofs, tree.walk_at, tree.met, tree.lower, M, half)
        if which == BY_Q:
            n, trees, starts, rows = tree.n_q, tree.tree_of_q, tree.starts_q, tree.rows_q
        elif which == BY_V:
            n, trees, starts, rows = tree.n_v, tree.tree_of_v, tree.starts_v, tree.rows_v
        else:
            n, trees, starts = (
                tree.n_applied_velocities + 6 * tree.n_applied_bodies,
                tree.tree_of_load,
                tree.starts_load,
            )
            rows = tree.rows_load
        solve_columns(tree, n, trees, starts, rows, values, half, b, out)
    give_slot(tree.slots, slot, tree.n)
    if weak < 0:
        return 0
    tree.failed = weak
    return RETRY


@kernel(SIGNATURE)
def explicit_by_p(t, x, theta, out, record):
    """Derivative of `explicit` by p."""
    return _of_explicit(x, record, out, BY_Q)


@kernel(SIGNATURE)
def explicit_by_v(t, x, theta, out, record):
    """Derivative of `explicit` by v."""
    return _of_explicit(x, record, out, BY_V)


@kernel(SIGNATURE)
def explicit_by_applied(t, x, theta, out, record):
    """Derivative of `explicit` by the loads."""
    return _of_explicit(x, record, out, BY_LOADS)
