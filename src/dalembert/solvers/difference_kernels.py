"""Jacobians by differences of the residual, for kernels to call by address; see `differences`."""

import numba as nb
import numpy as np

from dalembert.compile.kernel import call_port, device, kernel
from dalembert.compile.memory import imat, ivec, mat, vec
from dalembert.solvers.differences import ESTIMATED, EVERY_COLUMN, differences_at

i8, u8 = nb.int64, nb.uint64
ROOT = float(np.sqrt(np.finfo(float).eps))
LEAST = float(np.finfo(float).eps ** 0.25)


@device
def each_column_apart(d):
    """Groups of one column."""
    group, skip = ivec(d.group, d.n), ivec(d.skip, d.n)
    d.n_groups = 0
    for r in range(d.n):
        group[r] = -1
        if skip[r] == 0:
            group[r] = d.n_groups
            d.n_groups += 1


@device
def has_room(d, r, k):
    """Whether column r has no row in common with group k."""
    occupied = imat(d.occupied, d.n_most, d.m)
    j_row, j_start, j_on = ivec(d.j_row, d.n_j), ivec(d.j_start, d.n + 1), ivec(d.j_on, d.n_j)
    e_row, e_start, e_on = ivec(d.e_row, d.n_e), ivec(d.e_start, d.n + 1), ivec(d.e_on, d.n_e)
    for q in range(j_start[r], j_start[r + 1]):
        if j_on[q] == 1 and occupied[k, j_row[q]] == 1:
            return False
    for q in range(e_start[r], e_start[r + 1]):  # noqa: SIM110
        if e_on[q] == 1 and occupied[k, e_row[q]] == 1:
            return False
    return True


@device
def group_columns(d):
    """Greedy colouring, columns of many nonzeros first."""
    n = d.n
    occupied, group, skip = imat(d.occupied, d.n_most, d.m), ivec(d.group, n), ivec(d.skip, n)
    j_row, j_start, j_on = ivec(d.j_row, d.n_j), ivec(d.j_start, n + 1), ivec(d.j_on, d.n_j)
    e_row, e_start, e_on = ivec(d.e_row, d.n_e), ivec(d.e_start, n + 1), ivec(d.e_on, d.n_e)
    for r in range(n):
        group[r] = -1
    for k in range(d.n_most):
        for i in range(d.m):
            occupied[k, i] = 0
    d.n_groups = 0
    while True:
        r, most = -1, -1
        for candidate in range(n):
            if group[candidate] < 0 and skip[candidate] == 0:
                size = 0
                for q in range(j_start[candidate], j_start[candidate + 1]):
                    size += j_on[q]
                for q in range(e_start[candidate], e_start[candidate + 1]):
                    size += e_on[q]
                if size > most:
                    r, most = candidate, size
        if r < 0:
            return
        k = 0
        while not has_room(d, r, k):
            k += 1
        group[r] = k
        d.n_groups = max(d.n_groups, k + 1)
        for q in range(j_start[r], j_start[r + 1]):
            if j_on[q] == 1:
                occupied[k, j_row[q]] = 1
        for q in range(e_start[r], e_start[r + 1]):
            if e_on[q] == 1:
                occupied[k, e_row[q]] = 1


@device
def difference(d, nz, every):
    """Nonzeros of ∂F/∂x and E at `stage` from differences by the groups; `every`: also those that are not known.

    Returns the status of a port.
    """
    n, m, n_j, t, c = d.n, d.m, d.n_j, d.t, d.c
    F0, F1, point, stage = vec(d.F0, m), vec(d.F1, m), vec(d.point, 2 * n), vec(d.stage, 2 * n)
    group = ivec(d.group, n)
    j_row, j_start, j_on = ivec(d.j_row, n_j), ivec(d.j_start, n + 1), ivec(d.j_on, n_j)
    e_row, e_start, e_on = ivec(d.e_row, d.n_e), ivec(d.e_start, n + 1), ivec(d.e_on, d.n_e)
    e_in_j = ivec(d.e_in_j, d.n_e)
    # x' changes with x unless E is known: in small steps c is large, and F may not be linear as far as c δ
    along = c if d.leading == 0 else 0.0
    answer = call_port(d.residual, t, d.stage, d.theta, d.F0)
    if answer != 0:
        return answer
    d.evaluations += 1
    for k in range(d.n_groups):
        for i in range(2 * n):
            point[i] = stage[i]
        for r in range(n):
            if group[r] == k:
                point[r] += max(abs(stage[r]), LEAST) * ROOT
                point[n + r] += along * (point[r] - stage[r])
        answer = call_port(d.residual, t, d.point, d.theta, d.F1)
        if answer != 0:
            return answer
        d.evaluations += 1
        for r in range(n):
            if group[r] != k:
                continue
            over = 1.0 / (point[r] - stage[r])
            for q in range(j_start[r], j_start[r + 1]):
                nz[q] = (F1[j_row[q]] - F0[j_row[q]]) * over if every or j_on[q] == 1 else 0.0
            for q in range(e_start[r], e_start[r + 1]):
                apart = (every or e_on[q] == 1) and e_in_j[q] < 0
                nz[n_j + q] = -(F1[e_row[q]] - F0[e_row[q]]) * over / along if apart and along != 0.0 else 0.0
    to, of = ivec(d.derived_to, d.n_derived), ivec(d.derived_from, d.n_derived)
    for q in range(d.n_derived):
        nz[to[q]] = -nz[of[q]]
    if d.leading != 0:
        E = nz[n_j:]
        answer = call_port(d.leading, t, d.stage, d.theta, E.ctypes.data)
    return answer


@device
def widen(d, nz):
    """Add to the estimated pattern what is not zero in the differences `nz` of every single column."""
    j_on, e_on, e_in_j = ivec(d.j_on, d.n_j), ivec(d.e_on, d.n_e), ivec(d.e_in_j, d.n_e)
    exact = ivec(d.j_exact, d.n_j)
    for q in range(d.n_j):
        j_on[q] = 1 if exact[q] == 0 and (nz[q] != 0.0 or (d.known == 1 and j_on[q] == 1)) else 0
    for q in range(d.n_e):
        e_on[q] = 1 if nz[d.n_j + q] != 0.0 or (d.known == 1 and e_on[q] == 1) else 0
        if e_in_j[q] >= 0 and e_on[q] == 1:
            j_on[e_in_j[q]] = 1
    d.known = 1


@device
def put_exact(d, nz):
    """Nonzeros that are not to be differences, from the port of the Jacobian. Returns its status."""
    exact, at = vec(d.exact, d.n_exact), ivec(d.exact_at, d.n_exact)
    answer = call_port(d.jacobian, d.t, d.stage, d.theta, d.exact)
    for k in range(d.n_exact):
        nz[at[k]] = exact[k]
    return answer


@device
def new_nonzeros(d, nz):
    """By differences, in whatever way the record says. Returns the status of a port."""
    if d.kind == ESTIMATED and (d.full == 1 or d.known == 0):
        each_column_apart(d)
        answer = difference(d, nz, True)
        if answer == 0:
            widen(d, nz)
            group_columns(d)
    else:
        if d.n_groups == 0:
            if d.kind == EVERY_COLUMN:
                each_column_apart(d)
            else:
                group_columns(d)
        answer = difference(d, nz, False)
    if answer == 0 and d.n_exact > 0:
        answer = put_exact(d, nz)
    return answer


@device
def follow(d, nz):
    """Derivatives of ∂F/∂x by the inputs and their rates, by differences. Returns the status of a port."""
    inputs, probe = vec(d.now, d.n_inputs), vec(d.probe, d.n_j + d.n_e)
    by_inputs = mat(d.by_inputs, d.n_inputs, d.n_j)
    for k in range(d.n_inputs):
        before = inputs[k]
        inputs[k] = before + max(abs(before), 1.0) * LEAST
        answer = difference(d, probe, False)
        over = 1.0 / (inputs[k] - before)
        inputs[k] = before
        if answer != 0:
            return answer
        for q in range(d.n_j):
            change = (probe[q] - nz[q]) * over
            # below this, differences of differences are rounding errors
            by_inputs[k, q] = change if abs(change) > 1e-3 * abs(nz[q]) or abs(change) > 1e-3 else 0.0
    d.followed = 1
    return 0


@device
def keep_inputs(d):
    """Remember the inputs that ∂F/∂x belongs to."""
    now, kept = vec(d.now, d.n_inputs), vec(d.inputs, d.n_inputs)
    for k in range(d.n_inputs):
        kept[k] = now[k]


@kernel(i8(u8))
def renew(own):
    """∂F/∂x and E at `stage`, the inputs in θ being those of its time. Returns the status of a port."""
    d = differences_at(own)
    nz = vec(d.nonzeros, d.n_j + d.n_e)
    answer = new_nonzeros(d, nz)
    if answer == 0 and d.extended == 1:
        keep_inputs(d)
        if d.followed == 0:
            answer = follow(d, nz)
    return answer


@kernel(i8(u8))
def refresh(own):
    """E at `stage`; ∂F/∂x as it was, or moved with the inputs. Returns the status of a port."""
    d = differences_at(own)
    nz = vec(d.nonzeros, d.n_j + d.n_e)
    if d.extended == 1 and d.followed == 1:
        now, kept, by_inputs = vec(d.now, d.n_inputs), vec(d.inputs, d.n_inputs), mat(d.by_inputs, d.n_inputs, d.n_j)
        for k in range(d.n_inputs):
            moved = now[k] - kept[k]
            if moved != 0.0:
                for q in range(d.n_j):
                    nz[q] += moved * by_inputs[k, q]
        keep_inputs(d)
    E = nz[d.n_j :]
    return call_port(d.leading, d.t, d.stage, d.theta, E.ctypes.data)
