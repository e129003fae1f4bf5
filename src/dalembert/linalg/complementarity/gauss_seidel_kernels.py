"""Gauss-Seidel for contacts: one after the other is solved exactly while the others' forces stay (NSGS).

Without friction it is projected Gauss-Seidel. Sweeps go forward and backward in turn: in a chain of contacts what one
end does then reaches the other end at once.

Arrays of a sweep, for other kernels too (m contacts, n rows):

    A                        dense n × n, or for `sweep_sparse` in CSR form: first (n + 1), columns, values
    b                        n, rates without forces
    starts, dims             m, first row of each contact, and how many
    friction, preload        m
    blocks                   m × 9, diagonal blocks, 3 × 3 in rows (`diagonal_blocks`)
    scale                    n, of `ContactProblem.scale`: the units in which changes are measured
    lam                      n, forces, in and out
    local                    6 numbers of work space

`sweep_…(…, backward)` returns the largest change of a force and the largest force, both times scale.
"""

from __future__ import annotations

import numba as nb

from dalembert.compile.kernel import device, kernel
from dalembert.linalg.complementarity.block_kernels import solve_block

f8, i8 = nb.float64, nb.int64


@device
def update_contact(i, b, starts, dims, friction, preload, blocks, scale, lam, local):
    """Forces of contact i, `local[:3]` being the rates of its rows. Returns the largest change and force, scaled."""
    at, dim = starts[i], dims[i]
    rates, forces, a = local[:3], local[3:6], blocks[i]
    for k in range(dim):  # take away what the contact does to itself
        for j in range(dim):
            rates[k] -= a[3 * k + j] * lam[at + j]
    change, largest = 0.0, 0.0
    if solve_block(a, rates, dim, friction[i], preload[i], forces):
        for k in range(dim):
            change = max(change, abs(forces[k] - lam[at + k]) * scale[at + k])
            largest = max(largest, abs(forces[k]) * scale[at + k])
            lam[at + k] = forces[k]
    else:  # there is no answer while the others stay: a step towards the cone, so that they move
        for k in range(dim):
            y = rates[k]
            for j in range(dim):
                y += a[3 * k + j] * lam[at + j]
            forces[k] = lam[at + k] - y / (scale[at + k] * scale[at + k])
        forces[0] = max(forces[0], 0.0)
        length, r = (forces[1] ** 2 + forces[2] ** 2) ** 0.5 if dim == 3 else abs(forces[1]), 0.0
        if dim > 1:
            r = friction[i] * (forces[0] + preload[i])
        for k in range(dim):
            value = forces[k] * (r / length if k > 0 and length > r else 1.0)
            change = max(change, abs(value - lam[at + k]) * scale[at + k])
            largest = max(largest, abs(value) * scale[at + k])
            lam[at + k] = value
    return change, largest


@device
def sweep_dense(A, b, starts, dims, friction, preload, blocks, scale, lam, local, backward):
    """Once through all contacts."""
    n, m = b.size, starts.size
    change, largest = 0.0, 0.0
    for c in range(m):
        i = m - 1 - c if backward else c
        for k in range(dims[i]):
            row = starts[i] + k
            total = b[row]
            for j in range(n):
                total += A[row, j] * lam[j]
            local[k] = total
        moved, force = update_contact(i, b, starts, dims, friction, preload, blocks, scale, lam, local)
        change, largest = max(change, moved), max(largest, force)
    return change, largest


@device
def sweep_sparse(first, columns, values, b, starts, dims, friction, preload, blocks, scale, lam, local, backward):
    """Once through all contacts; A in CSR form."""
    m = starts.size
    change, largest = 0.0, 0.0
    for c in range(m):
        i = m - 1 - c if backward else c
        for k in range(dims[i]):
            row = starts[i] + k
            total = b[row]
            for j in range(first[row], first[row + 1]):
                total += values[j] * lam[columns[j]]
            local[k] = total
        moved, force = update_contact(i, b, starts, dims, friction, preload, blocks, scale, lam, local)
        change, largest = max(change, moved), max(largest, force)
    return change, largest


@kernel(i8(f8[:, ::1], f8[::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], i8, f8))
def dense_sweeps(A, b, starts, dims, friction, preload, blocks, scale, lam, local, most, tolerance):
    """Sweep until forces change by less than `tolerance`, relative to the largest. Returns the number of sweeps."""
    for k in range(most):
        change, largest = sweep_dense(A, b, starts, dims, friction, preload, blocks, scale, lam, local, k % 2 == 1)
        if not change > tolerance * largest:
            return k + 1
    return most


@kernel(
    i8(
        i8[::1], i8[::1], f8[::1], f8[::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1],
        i8, f8,
    )
)  # fmt: skip
def sparse_sweeps(
    first, columns, values, b, starts, dims, friction, preload, blocks, scale, lam, local, most, tolerance
):
    """As `dense_sweeps`, A in CSR form."""
    for k in range(most):
        change, largest = sweep_sparse(
            first, columns, values, b, starts, dims, friction, preload, blocks, scale, lam, local, k % 2 == 1
        )
        if not change > tolerance * largest:
            return k + 1
    return most
