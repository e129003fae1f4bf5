"""Kernels for closures of loops; arguments and answers are those of `entries`."""

from __future__ import annotations

from dalembert.compile.kernel import kernel
from dalembert.recursions.entries import SIGNATURE
from dalembert.recursions.loops import closure_entries, closures
from dalembert.recursions.rows import tree_at
from dalembert.recursions.words import give_slot, skip, sweep, take_slot


@sweep
def _closures(x, record, order, out):
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    closures(tree, skip(tree.work, slot * tree.slot_words), x, skip(x, tree.n_q), order, out)
    give_slot(tree.slots, slot, tree.n)


@sweep
def _entries(x, record, by_p, out):
    tree = tree_at(record)
    slot = take_slot(tree.slots, tree.n)
    closure_entries(tree, skip(tree.work, slot * tree.slot_words), x, by_p, out)
    give_slot(tree.slots, slot, tree.n)


@kernel(SIGNATURE)
def closure(t, x, theta, out, record):
    """g(p); x may end behind p."""
    _closures(x, record, 0, out)
    return 0


@kernel(SIGNATURE)
def closure_first(t, x, theta, out, record):
    """dg/dt."""
    _closures(x, record, 1, out)
    return 0


@kernel(SIGNATURE)
def closure_second(t, x, theta, out, record):
    """d²g/dt² for velocities that do not change."""
    _closures(x, record, 2, out)
    return 0


@kernel(SIGNATURE)
def closure_by_p(t, x, theta, out, record):
    """Derivative of g by p (`LoopPattern.by_p`); x may end behind p."""
    _entries(x, record, True, out)
    return 0


@kernel(SIGNATURE)
def closure_first_by_v(t, x, theta, out, record):
    """Derivative of dg/dt by v (`LoopPattern.by_v`); x may end behind p."""
    _entries(x, record, False, out)
    return 0
