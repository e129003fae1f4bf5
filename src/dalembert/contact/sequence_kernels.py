"""Impacts of single contacts one after the other, always that of the largest speed of approach."""

from __future__ import annotations

import numba as nb

from dalembert.compile.kernel import device, kernel
from dalembert.linalg.complementarity.block_kernels import solve_block

#: of the work of an impulse, what rounding may make of no energy
ROUNDING = 1e-14
#: factors on restitution that are looked at before the search among them, and steps of the search
SAMPLES, HALVINGS = 16, 40

f8, i8 = nb.float64, nb.int64


@device
def newton_single(a, before, dim, friction, restitution, allowed, rates, forces):
    """Impulses of one contact by Newton's law. Returns whether there are any that create no energy.

    `allowed`: what counts as none, relative to the work.
    """
    for k in range(dim):
        rates[k] = before[k]
    rates[0] = (1.0 + restitution) * before[0]
    if not solve_block(a, rates, dim, friction, 0.0, forces):
        return False
    work, size = 0.0, 0.0
    for k in range(dim):
        after = before[k]
        for j in range(dim):
            after += a[3 * k + j] * forces[j]
        work += forces[k] * (before[k] + after)
        size += abs(forces[k]) * (abs(before[k]) + abs(after))
    return work <= allowed * size


@device
def dissipative_single(a, before, dim, friction, restitution, rates, forces):
    """Impulses by the largest part of the restitution that creates no energy. Returns that, or −1 if there is none."""
    if newton_single(a, before, dim, friction, restitution, ROUNDING, rates, forces):
        return restitution
    low, high = -1.0, 1.0
    for k in range(SAMPLES - 1, -1, -1):
        allowed = 0.0 if k > 0 else ROUNDING
        if newton_single(a, before, dim, friction, restitution * k / SAMPLES, allowed, rates, forces):
            low = k / SAMPLES
            break
        high = k / SAMPLES
    if low < 0.0:
        return -1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if newton_single(a, before, dim, friction, restitution * middle, 0.0, rates, forces):
            low = middle
        else:
            high = middle
    newton_single(a, before, dim, friction, restitution * low, 0.0, rates, forces)
    return restitution * low


@kernel(
    i8(
        f8[:, ::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1], f8, i8,
    )
)  # fmt: skip
def impacts_in_sequence(A, starts, dims, friction, restitution, blocks, gamma, impulse, used, local, still, most):
    """Impacts until nobody approaches faster than `still`, or `most` have happened. Returns how many.

    gamma (rates) and impulse are updated, `used` becomes the least restitution that a contact had; local: 9 numbers.
    """
    m, n = starts.size, gamma.size
    before, rates, forces = local[:3], local[3:6], local[6:9]
    for count in range(most):
        i, approach = 0, 0.0
        for c in range(m):
            if gamma[starts[c]] < approach:
                i, approach = c, gamma[starts[c]]
        if approach >= -still:
            return count
        at, dim = starts[i], dims[i]
        for k in range(dim):
            before[k] = gamma[at + k]
        e = dissipative_single(blocks[i], before, dim, friction[i], restitution[i], rates, forces)
        if e < 0.0:  # a contact that cannot move by itself: the others together must do it
            return count
        used[i] = min(used[i], e)
        for k in range(dim):
            impulse[at + k] += forces[k]
            if forces[k] != 0.0:
                for row in range(n):
                    gamma[row] += A[row, at + k] * forces[k]
    return most
