"""Jumps of forces that no row of MEXX's tableau has seen.

Near both ends of a step all rows take the same forces: a jump there leaves their differences, and so the error
estimate, as they are. The rates at the ends are therefore compared with those that the samples lead to.
"""

import numpy as np

from dalembert.compile.kernel import device
from dalembert.compile.memory import ivec, mat, vec
from dalembert.solvers.half import core
from dalembert.solvers.half.core import FINE

#: changes of rates up to this many times the difference of the last two columns are those of a smooth solution, but
#: this part of a change always counts
SMOOTH, CERTAIN = 5.0, 0.01


@device
def unseen(state, change, doubt):
    """By how many tolerances velocities and r may be off if their rates differ by `change` (v', r') between an end of
    the step and the sample next to it.

    `doubt` is how much the last two columns of the tableau differ in what `change` was made of. A smooth solution
    changes less than that; where all samples miss a jump, the columns agree.
    """
    n_p, weight = state.n_p, vec(state.weight, state.n)
    width = abs(state.h) / ivec(state.numbers, state.most_rows)[state.rows - 1]
    total, expected = 0.0, 0.0
    for k in range(state.n_d - n_p):
        scale = width / weight[n_p + k]
        e, d = scale * change[k], scale * doubt[k]
        total += e * e
        expected += d * d
    count = state.n_d - n_p
    size, expected = np.sqrt(total / count), np.sqrt(expected / count)
    return max(size - SMOOTH * expected, CERTAIN * size)


@device
def unseen_at_start(state):
    """How much the rates change between the start and the first samples behind it; see `unseen`.

    There all rows take the rates of the start, and extrapolation adds what is missing: T_jj is the result of a jump at
    the start itself, and all T_j,k agree on it.
    """
    n_p, n_d, rows, most = state.n_p, state.n_d, state.rows, state.most_rows
    first, weights = ivec(state.first_place, most + 1), mat(state.to_zero, 2 * (most + 1), most)
    slopes, change, doubt = mat(state.slopes, state.n_slopes, state.n), vec(state.trial, n_d), vec(state.error, n_d)
    for k in range(n_d - n_p):
        change[k] = 0.0
        doubt[k] = 0.0
    for j in range(rows):
        c, before, after = weights[rows, j], slopes[first[j]], slopes[first[j] + 1]
        other = c - weights[most + 1 + rows, j]
        for k in range(n_d - n_p):
            difference = after[n_p + k] - before[n_p + k]
            change[k] += c * difference
            doubt[k] += other * difference
    return unseen(state, change, doubt)


@device
def unseen_at_end(state, ports, la):
    """An outcome, and how much the rates of `next` differ from those that samples before it lead to; see `unseen`.

    What is missing in M a + Cᵀ λ = f, with the extrapolated a and λ, is solved for the change of a.
    """
    n, n_p, n_v, n_d, n_m, n_M = state.n, state.n_p, state.n_v, state.n_d, state.n_m, state.n_M
    matrices = vec(state.next_matrices, n_M + state.n_C + n_m)
    x, x_dot, rates = vec(state.next, n), vec(state.next_dot, n), vec(state.next_rates, n_d)
    if n_m == 0:  # otherwise they are known from the projection, and so are the factors
        outcome = core.evaluate_matrices(state, ports, core.time_at(state, 1.0), x, matrices)
        if outcome != FINE:
            return outcome, 0.0
    b, solved = vec(state.b, n_v + n_m), vec(state.solved, n_v + n_m)
    rows, columns = ivec(la.M_rows, n_M), ivec(la.M_columns, n_M)
    for i in range(n_v):
        b[i] = rates[n_p + i]
    for k in range(n_M):
        b[rows[k]] -= matrices[k] * x_dot[n_p + columns[k]]
    rows, columns = core.constraint_pattern(state, la)
    for k in range(state.n_C):
        b[columns[k]] -= matrices[n_M + k] * x[n_d + rows[k]]
    for i in range(n_m):
        b[n_v + i] = 0.0
    if n_m == 0:
        outcome = core.solve_step(state, la, state.next_matrices, state.next_matrices, state.b, state.b, 1.0, False)
    else:
        outcome = core.solve(state, la)
    table = mat(state.table, state.most_rows, state.n_table)
    change, doubt = vec(state.trial, n_d), vec(state.error, n_d)
    for i in range(n_v):
        change[i] = solved[i]
    for i in range(n_p + n_v, n_d):
        change[i - n_p] = rates[i] - table[0, n - n_p + i]
    for i in range(n_d - n_p):
        doubt[i] = table[0, n + i] - table[1, n + i]
    return outcome, unseen(state, change, doubt)


@device
def largest_unseen(state, ports, la):
    """An outcome, and the larger of the two."""
    outcome, size = unseen_at_end(state, ports, la)
    if state.delayed == 0:  # otherwise the first small steps know older multipliers
        size = max(size, unseen_at_start(state))
    return outcome, size
