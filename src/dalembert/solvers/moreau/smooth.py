"""A step without contacts: Δv from M, f and the bilateral constraints, then positions.

    [ M − θ h ∂f/∂v − θ² h² ∂f/∂p Z    U ᵀ ] [ Δv ]   [ h f                ]     M, f, U at t + θ h
    [ G                               0   ] [ P  ] = [ −(G v + (g_t, h))  ]     G at t + h
    p⁺ = p + h Z (v + θ Δv)

Both points are predicted with p' at the start. P are impulses: multipliers are P/h, mean forces of the step. The order
is 2 for θ = ½: constraints hold for the new velocity at a position that is off by O(h²). Without Jacobians f is
evaluated twice, the second time at the velocity that the first one gives.
"""

import numpy as np

from dalembert.compile.kernel import call1, call3, device, inlined
from dalembert.compile.memory import ivec, mat, vec
from dalembert.linalg.saddle.saddle import saddle_at
from dalembert.solvers.bookkeeping import add
from dalembert.solvers.ports import evaluate
from dalembert.solvers.status import Count, Outcome

FINE, SINGULAR = int(Outcome.FINE), int(Outcome.SINGULAR)
#: corrections of positions: a residual that does not fall below its limit by then stays
MOST_CORRECTIONS = 8


@inlined
def copy(source, target, n):
    """Numbers from one address to another."""
    a, b = vec(source, n), vec(target, n)
    for i in range(n):
        b[i] = a[i]


@device
def call(state, port, ports, t, x, out):
    """A port; the point is kept if it cannot be evaluated there. Returns its answer, an `Outcome`."""
    answer = evaluate(port, ports, t, x, out)
    if answer != 0:
        failed = vec(state.failed, state.n)
        state.failed_t = t
        for i in range(state.n):
            failed[i] = x[i]
    return answer


@inlined
def time_at(state, c):
    """t + c h; exactly the end of the interval at the end of the last step, as inputs may jump there."""
    return state.t_end if c == 1.0 and state.last == 1 else state.t + c * state.h


@device
def rate_of_positions(state, ports, t, point, out):
    """p' = Z v at a point, into `out`. Returns an outcome."""
    if state.plain == 1:
        for i in range(state.n_p):
            out[i] = point[state.n_p + i]
        return FINE
    return call(state, state.kinematics_port, ports, t, point, out)


@device
def predict(state, part):
    """`middle` = the current point with positions a part of the step ahead; contact forces are not known yet."""
    n, n_p, n_d = state.n, state.n_p, state.n_d
    x, p_dot, middle = vec(state.x, n), vec(state.p_dot, n_p), vec(state.middle, n)
    for i in range(n):
        middle[i] = x[i]
    for i in range(n_p):
        middle[i] += part * state.h * p_dot[i]
    for k in range(state.n_rows):
        middle[n_d + ivec(state.row_of, state.n_rows)[k]] = 0.0


@device
def factor(state):
    """The matrix of the step from `matrices`, `end_matrices` and `jacobian`. Returns FINE or SINGULAR."""
    la = saddle_at(state.saddle)
    sizes = ivec(la.sizes, 7)
    M, values = vec(la.M, sizes[2]), vec(state.matrices, state.n_M + state.n_C)
    place = ivec(state.mass_place, state.n_M)
    for k in range(sizes[2]):
        M[k] = 0.0
    for k in range(state.n_M):
        M[place[k]] += values[k]
    if state.n_J > 0:  # with their factors h θ and (h θ)² in the port's order: by v, then by p
        J, place = vec(state.jacobian, state.n_J), ivec(state.jacobian_place, state.n_J)
        for k in range(state.n_J):
            M[place[k]] -= J[k]
    entry = ivec(state.bilateral_entry, state.n_G)
    G, U, end = vec(la.G, state.n_G), vec(la.U, sizes[4]), vec(state.end_matrices, state.n_M + state.n_C)
    for k in range(state.n_G):
        G[k] = end[state.n_M + entry[k]]
        U[k] = values[state.n_M + entry[k]]
    add(state, Count.DECOMPOSITIONS, 1)
    code = call1(la.factor, la.own)
    if code != 0:
        state.singular = code
        return SINGULAR
    return FINE


@device
def solve(state):
    """For the right-hand side in `b`; the result is in `solved`. Returns FINE or SINGULAR."""
    la = saddle_at(state.saddle)
    add(state, Count.LINEAR_SOLVES, 1)
    code = call3(la.solve, la.own, state.b, state.solved)
    if code != 0:
        state.singular = code
        return SINGULAR
    return FINE


@device
def velocity_residual(state, matrices, v, out):
    """Of the bilateral constraints, G v + (g_t, h), into `out`; returns the largest modulus."""
    la = saddle_at(state.saddle)
    n_b, n_G = state.n_b, state.n_G
    rows, columns = ivec(la.G_rows, n_G), ivec(la.G_columns, n_G)
    entry, row = ivec(state.bilateral_entry, n_G), ivec(state.bilateral_row, n_b)
    values = vec(matrices, state.n_M + state.n_C + state.n_m)
    for i in range(n_b):
        out[i] = values[state.n_M + state.n_C + row[i]]
    for k in range(n_G):
        out[rows[k]] += values[state.n_M + entry[k]] * v[columns[k]]
    largest = 0.0
    for i in range(n_b):
        largest = max(largest, abs(out[i]))
    return largest


@device
def solve_for_change(state, ports):
    """f at `middle`, then Δv and impulses, into `change`; the matrix is factored. Returns an outcome."""
    n_p, n_v, n_b = state.n_p, state.n_v, state.n_b
    rates, b = vec(state.rates, state.n_d), vec(state.b, n_v + n_b)
    add(state, Count.RHS, 1)
    outcome = call(state, state.rates_port, ports, time_at(state, state.theta), vec(state.middle, state.n), rates)
    if outcome != FINE:
        return outcome
    v = vec(state.x, state.n)[n_p : n_p + n_v]
    velocity_residual(state, state.end_matrices, v, b[n_v:])
    for i in range(n_v):
        b[i] = state.h * rates[n_p + i]
    for i in range(n_b):
        b[n_v + i] = -b[n_v + i]
    outcome = solve(state)
    if outcome == FINE:
        copy(state.solved, state.change, n_v + n_b)
    return outcome


@device
def free_motion(state, ports):
    """Everything up to Δv without contacts. Returns an outcome."""
    n, n_p, n_v, n_d = state.n, state.n_p, state.n_v, state.n_d
    x, middle, next_point = vec(state.x, n), vec(state.middle, n), vec(state.next, n)
    size = state.n_M + state.n_C + state.n_m
    outcome = rate_of_positions(state, ports, state.t, x, vec(state.p_dot, n_p))
    if outcome != FINE:
        return outcome
    if state.n_b > 0:
        predict(state, 1.0)
        add(state, Count.MASS, 1)
        outcome = call(state, state.matrices_port, ports, time_at(state, 1.0), middle, vec(state.end_matrices, size))
        if outcome != FINE:
            return outcome
    predict(state, state.theta)
    t = time_at(state, state.theta)
    add(state, Count.MASS, 1)
    outcome = call(state, state.matrices_port, ports, t, middle, vec(state.matrices, size))
    if outcome != FINE:
        return outcome
    if state.n_J > 0:
        J, split = vec(state.jacobian, state.n_J), state.n_by_v
        add(state, Count.JACOBIAN, 1)
        outcome = call(state, state.jacobian_port, ports, t, middle, J)
        if outcome != FINE:
            return outcome
        part = state.theta * state.h
        for k in range(state.n_J):
            J[k] *= part if k < split else part * part
    outcome = factor(state)
    if outcome == FINE:
        outcome = solve_for_change(state, ports)
    rates = vec(state.rates, n_d)
    for _turn in range(1, state.passes):
        if outcome != FINE:
            return outcome
        change = vec(state.change, n_v)
        for i in range(n_v):
            middle[n_p + i] = x[n_p + i] + state.theta * change[i]
        for i in range(n_p + n_v, n_d):
            middle[i] = x[i] + state.theta * state.h * rates[i]
        outcome = solve_for_change(state, ports)
    for i in range(n_p + n_v, n_d):
        next_point[i] = x[i] + state.h * rates[i]
    return outcome


@device
def move(state, ports):
    """`next` from `change`: velocities, then positions with the velocity in between. Returns an outcome."""
    n, n_p, n_v = state.n, state.n_p, state.n_v
    x, next_point, middle, change = vec(state.x, n), vec(state.next, n), vec(state.middle, n), vec(state.change, n_v)
    for i in range(n_v):
        next_point[n_p + i] = x[n_p + i] + change[i]
        middle[n_p + i] = x[n_p + i] + state.theta * change[i]
    way = vec(state.way, n_p)
    outcome = rate_of_positions(state, ports, time_at(state, state.theta), middle, way)
    for i in range(n_p):
        next_point[i] = x[i] + state.h * way[i]
    return outcome


@device
def shift_positions(state, ports, t):
    """Move `next` along Z w, w being the velocities in `solved`. Returns the size of the shift and an outcome."""
    n, n_p, n_v = state.n, state.n_p, state.n_v
    next_point, middle, way = vec(state.next, n), vec(state.middle, n), vec(state.way, n_p)
    solved, weight = vec(state.solved, n_v), vec(state.weight, n)
    for i in range(n):
        middle[i] = next_point[i]
    for i in range(n_v):
        middle[n_p + i] = solved[i]
    outcome = rate_of_positions(state, ports, t, middle, way)
    total = 0.0
    for i in range(n_p):
        next_point[i] += way[i]
        total += (way[i] / weight[i]) ** 2
    return np.sqrt(total / n_p), outcome


@device
def project(state, ports):
    """Bring `next` to the bilateral constraints with the factored matrix of the step. Returns an outcome."""
    n, n_p, n_v, n_b = state.n, state.n_p, state.n_v, state.n_b
    t, next_point = time_at(state, 1.0), vec(state.next, n)
    b, g, row = vec(state.b, n_v + n_b), vec(state.g, state.n_lam), ivec(state.bilateral_row, n_b)
    before, missed = np.inf, True
    for _ in range(MOST_CORRECTIONS if state.position_port != 0 else 0):
        outcome = call(state, state.position_port, ports, t, next_point, g)
        if outcome != FINE:
            return outcome
        for i in range(n_v):
            b[i] = 0.0
        for i in range(n_b):
            b[n_v + i] = -g[row[i]] if row[i] < state.n_lam else 0.0
        outcome = solve(state)
        if outcome != FINE:
            return outcome
        size, outcome = shift_positions(state, ports, t)
        if outcome != FINE:
            return outcome
        if size <= state.projection_limit:
            missed = False
            break
        if not size < 2.0 * before:
            break
        before = size
    if missed and state.position_port != 0:
        state.not_projected += 1
    add(state, Count.MASS, 1)
    size = state.n_M + state.n_C + state.n_m
    outcome = call(state, state.matrices_port, ports, t, next_point, vec(state.end_matrices, size))
    if outcome != FINE:
        return outcome
    v, solved = next_point[n_p : n_p + n_v], vec(state.solved, n_v)
    largest = np.inf
    for _ in range(3):
        residual = velocity_residual(state, state.end_matrices, v, b[n_v:])
        if not residual < 0.5 * largest:
            break
        largest = residual
        for i in range(n_v):
            b[i] = 0.0
        for i in range(n_b):
            b[n_v + i] = -b[n_v + i]
        outcome = solve(state)
        if outcome != FINE:
            return outcome
        for i in range(n_v):
            v[i] += solved[i]
    return FINE


@device
def set_polynomial(state, straight):
    """Of the step from `x` to `next`: positions as p' at the start says, or straight where contacts are closed;
    velocities straight; multipliers constant."""
    n, n_p, n_d, h = state.n, state.n_p, state.n_d, state.h
    c, x, new = mat(state.coefficients, state.n_coefficients, n), vec(state.x, n), vec(state.next, n)
    p_dot = vec(state.p_dot, n_p)
    for i in range(n):
        c[0, i] = new[i]
        c[1, i] = new[i] - x[i] if i < n_d else 0.0
        c[2, i] = 0.0
    if not straight:
        for i in range(n_p):
            bend = new[i] - x[i] - h * p_dot[i]
            c[1, i] += bend
            c[2, i] = bend


@device
def arrive(state, ports):
    """Make `next` the current point, with its derivatives: p' there, means of v' and r'. Returns an outcome."""
    n, n_p, n_d, h = state.n, state.n_p, state.n_d, state.h
    x, x_dot, new, way = vec(state.x, n), vec(state.x_dot, n), vec(state.next, n), vec(state.way, n_p)
    outcome = rate_of_positions(state, ports, time_at(state, 1.0), new, way)
    if outcome != FINE:
        return outcome
    for i in range(n_p):
        x_dot[i] = way[i]
    for i in range(n_p, n_d):
        x_dot[i] = (new[i] - x[i]) / h
    for i in range(n):
        x[i] = new[i]
    return FINE
