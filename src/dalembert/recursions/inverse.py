"""Derivatives of the explicit form: −M⁻¹ times those of the residual form, with factors M = Lᵀ D L without fill-in.

References
----------
.. [1] R. Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic trees", 2005.
"""

from __future__ import annotations

from dalembert.recursions.words import put, real, skip, small, sweep, whole


@sweep
def factor_mass(n_v, dofs, walk_at, met, lower, M, half):
    """L and D, each row from the degree of freedom to the ground, of the mass matrix in its square pattern."""
    for k in range(whole(walk_at, n_v)):
        put(half, k, real(M, small(lower, k)))
    for k in range(n_v):
        i = whole(dofs, n_v - 1 - k)
        start, stop = whole(walk_at, i), whole(walk_at, i + 1)
        inverse = 1.0 / real(half, start)
        for a in range(start + 1, stop):
            s = real(half, a) * inverse
            to = skip(half, whole(walk_at, small(met, a)))
            for b in range(a, stop):
                put(to, b - a, real(to, b - a) - s * real(half, b))
            put(half, a, s)


@sweep
def solve_mass(dofs, first, last, walk_at, met, half, b):
    """b := M⁻¹ b in the tree with these degrees of freedom."""
    for k in range(last - 1, first - 1, -1):
        i = whole(dofs, k)
        s = real(b, i)
        for a in range(whole(walk_at, i) + 1, whole(walk_at, i + 1)):
            j = small(met, a)
            put(b, j, real(b, j) - real(half, a) * s)
    for k in range(first, last):
        i = whole(dofs, k)
        start = whole(walk_at, i)
        s = real(b, i) / real(half, start)
        for a in range(start + 1, whole(walk_at, i + 1)):
            s -= real(half, a) * real(b, small(met, a))
        put(b, i, s)


@sweep
def solve_columns(tree, n_columns, tree_of, starts, rows, values, half, b, out):
    """−M⁻¹ times a sparse matrix with these columns; each column holds all rows of its tree, in the tree's order."""
    at = 0
    for c in range(n_columns):
        which = whole(tree_of, c)
        first, last = whole(tree.tree_starts, which), whole(tree.tree_starts, which + 1)
        for k in range(first, last):
            put(b, whole(tree.tree_dofs, k), 0.0)
        for k in range(whole(starts, c), whole(starts, c + 1)):
            put(b, whole(rows, k), -real(values, k))
        solve_mass(tree.tree_dofs, first, last, tree.walk_at, tree.met, half, b)
        for k in range(first, last):
            put(out, at, real(b, whole(tree.tree_dofs, k)))
            at += 1
