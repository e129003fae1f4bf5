"""Dense output of one-step methods on the descriptor form: Hermite polynomials, one order higher than cubic.

Values and rates at both ends of a step give cubics for p, v and r. One more condition makes them quartics:

- If p' = v, the integral of v over the step is known, and p'' = v' at both ends: p becomes a quintic, v a quartic, for
  nothing.
- Otherwise, and for r, the rates at one inner point, evaluated on the cubics [1]_.

Multipliers go through their values at the ends and at up to four earlier points: a polynomial of degree up to 5. The
inner point, whose multipliers have the error of the cubics, only helps as long as there are no two earlier ones.

References
----------
.. [1] E. Hairer, S.P. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", 2nd ed., section II.6
   (bootstrapping).
"""

import numpy as np

from dalembert.compile.kernel import device, inlined
from dalembert.compile.memory import mat, vec
from dalembert.solvers.half.core import FINE, STOPPED, complete, evaluate_matrices, factor_point
from dalembert.solvers.limits import INNER, N_COEFFICIENTS, NOISE, ROUNDING, SLOPE
from dalembert.solvers.phases import Phase, enter

#: earlier points nearer than this fraction of the step are not used: differences would be noise
NEAREST = 0.2
#: nodes of the multipliers' polynomial, and earlier points among them
NODES, PAST = 6, 4

# fields that a method with this dense output adds to its record
ARRAYS = (
    "raw",  # positions at the end of the step before they were projected
    "inner", "inner_dot", "inner_rates", "inner_matrices",
    "past", "past_t",  # multipliers at earlier points, latest first, and their times
    "node", "node_s", "node_inverse",
)  # fmt: skip
WHOLES = ("n_past",)


def own_arrays(compiled) -> dict[str, np.ndarray]:
    """The arrays behind the fields."""
    n, n_d, n_m = compiled.form.n, compiled.rates.n_out, len(compiled.form.constraint_names)
    return dict(
        raw=np.zeros(len(compiled.form.model.names("p"))), inner=np.zeros(n), inner_dot=np.zeros(n),
        inner_rates=np.zeros(n_d), inner_matrices=np.zeros(compiled.matrices.n_out), past=np.zeros((PAST, n_m)),
        past_t=np.zeros(PAST), node=np.zeros((NODES, n_m)), node_s=np.zeros(NODES),
        node_inverse=np.zeros((NODES, NODES)),
    )  # fmt: skip


@device
def set_cubics(state):
    """Of p, v, r, through values and rates at both ends."""
    n, h = state.n, state.h
    c, x, x_dot = mat(state.coefficients, N_COEFFICIENTS, n), vec(state.x, n), vec(state.x_dot, n)
    new, new_dot = vec(state.next, n), vec(state.next_dot, n)
    for i in range(state.n_d):
        d0, d1 = h * x_dot[i], h * new_dot[i]
        fall = x[i] - new[i] + d1
        c[0, i] = new[i]
        c[1, i] = d1
        c[2, i] = d0 - d1 + 3.0 * fall
        c[3, i] = d0 - d1 + 2.0 * fall
        c[4, i] = 0.0
        c[5, i] = 0.0


@device
def raise_degree(c, i, kappa):
    """Add κ s²(1 + s)²."""
    c[2, i] += kappa
    c[3, i] += 2.0 * kappa
    c[4, i] += kappa


@device
def raise_from_positions(state):
    """p' = v: quintics for p from v', quartics for v from the way travelled.

    Returns the mean square of what this way by h differs from that of the cubics, in units of the tolerance of v.
    """
    n, n_p, h = state.n, state.n_p, state.h
    c, x, x_dot = mat(state.coefficients, N_COEFFICIENTS, n), vec(state.x, n), vec(state.x_dot, n)
    new, new_dot, raw, weight = vec(state.next, n), vec(state.next_dot, n), vec(state.raw, n_p), vec(state.weight, n)
    total = 0.0
    rounding = ROUNDING / abs(h)
    for i in range(n_p):
        a0, a1 = h * x_dot[n_p + i], h * new_dot[n_p + i]
        mean = 0.5 * (x[n_p + i] + new[n_p + i]) + (a0 - a1) / 12.0
        missed = (raw[i] - x[i]) / h - mean
        certain = max(abs(missed) - rounding * abs(x[i]), 0.0) / weight[n_p + i]
        total += certain * certain
        kappa = 30.0 * missed
        if abs(kappa * h) > NOISE * abs(raw[i]):  # over the shortest steps the way travelled is nothing but rounding
            raise_degree(c, n_p + i, kappa)
        late = 0.5 * (h * a1 - 2.0 * c[2, i])
        early = 0.5 * (h * a0 - 2.0 * c[2, i] + 6.0 * c[3, i])
        rho = late - early
        raise_degree(c, i, late)
        c[3, i] += rho
        c[4, i] += 2.0 * rho
        c[5, i] += rho
    return total / n_p


@device
def evaluate_inner(state, ports, la):
    """The rates at the inner point of the cubics. Returns an outcome."""
    n, s, t = state.n, INNER, state.t + (1.0 + INNER) * state.h
    c, inner, rates = mat(state.coefficients, N_COEFFICIENTS, n), vec(state.inner, n), vec(state.inner_rates, state.n_d)
    for i in range(state.n_d):
        inner[i] = c[0, i] + s * (c[1, i] + s * (c[2, i] + s * c[3, i]))
    new = vec(state.next, n)
    for i in range(state.n_d, n):
        inner[i] = new[i]
    matrices = vec(state.inner_matrices, state.n_M + state.n_C + state.n_m)
    outcome = evaluate_matrices(state, ports, t, inner, matrices)
    if outcome == FINE:
        outcome = factor_point(state, ports, la, t, inner, matrices)
    if outcome == FINE:
        outcome = complete(state, ports, la, t, inner, vec(state.inner_dot, n), rates)
    return outcome


@device
def raise_from_inner(state, first, last):
    """Quartics for the components first … last − 1 from the rates at the inner point.

    Returns the mean square of what the integral of the rates over the step changes by, in units of the tolerance.
    """
    n, h, s = state.n, state.h, INNER
    c, inner_dot = mat(state.coefficients, N_COEFFICIENTS, n), vec(state.inner_dot, n)
    x, weight, total = vec(state.x, n), vec(state.weight, n), 0.0
    for i in range(first, last):
        slope = c[1, i] + s * (2.0 * c[2, i] + s * 3.0 * c[3, i])
        kappa = (h * inner_dot[i] - slope) / SLOPE
        certain = max(abs(kappa) / 30.0 - ROUNDING * abs(x[i]), 0.0)
        total += (certain / weight[i]) ** 2
        raise_degree(c, i, kappa)
    return total / (last - first)


@inlined
def interpolate_nodes(node, s, inverse, count, n_m, c, n_d):
    """Newton's form through the first `count` nodes, for all multipliers, and from it the powers of s."""
    for i in range(n_m):
        for level in range(1, count):
            for k in range(count - 1, level - 1, -1):
                node[k, i] = (node[k, i] - node[k - 1, i]) * inverse[level, k]
        # multiplying by (s − s_k) from the inside
        column = n_d + i
        for k in range(NODES):
            c[k, column] = 0.0
        for k in range(count - 1, -1, -1):
            for power in range(count - 1 - k, 0, -1):
                c[power, column] = c[power - 1, column] - s[k] * c[power, column]
            c[0, column] = node[k, i] - s[k] * c[0, column]


@device
def set_multipliers(state, inner):
    """Newton's interpolation through the ends, the inner point if there is one, and earlier points; returns how many
    these are. Divided differences are left in `node`."""
    n, n_d, n_m, h = state.n, state.n_d, state.n_m, state.h
    c, node, s = mat(state.coefficients, N_COEFFICIENTS, n), mat(state.node, NODES, n_m), vec(state.node_s, NODES)
    past, past_t = mat(state.past, PAST, n_m), vec(state.past_t, PAST)
    x, new, middle = vec(state.x, n), vec(state.next, n), vec(state.inner, n)
    s[0], s[1] = 0.0, -1.0
    for i in range(n_m):
        node[0, i], node[1, i] = new[n_d + i], x[n_d + i]
    count, bound = 2, -1.0
    if inner:
        s[2] = INNER
        for i in range(n_m):
            node[2, i] = middle[n_d + i]
        count = 3
    for k in range(state.n_past):
        place = (past_t[k] - state.t - h) / h
        if count == NODES or place > bound - NEAREST:
            break
        s[count] = place
        for i in range(n_m):
            node[count, i] = past[k, i]
        count, bound = count + 1, place
    inverse = mat(state.node_inverse, NODES, NODES)
    for level in range(1, count):
        for k in range(level, count):
            inverse[level, k] = 1.0 / (s[k] - s[k - level])
    if count == NODES:  # as in most steps: loops of constant length take half the time
        interpolate_nodes(node, s, inverse, NODES, n_m, c, n_d)
    else:
        interpolate_nodes(node, s, inverse, count, n_m, c, n_d)
    return count


@device
def missed_by_multipliers(state, count):
    """How far their polynomial through `count` nodes may be off, 1 being the limit: what the next term of Newton's form
    would be, if terms decrease as the last two do."""
    n_m, n_d = state.n_m, state.n_d
    node, s = mat(state.node, NODES, n_m), vec(state.node_s, NODES)
    atol, rtol, x, new = (
        vec(state.atol, state.n),
        vec(state.rtol, state.n),
        vec(state.x, state.n),
        vec(state.next, state.n),
    )
    # the largest value of (s − s_0) (s − s_1) … in the step, or a bound of it
    before, last = 1.0, 0.25
    for k in range(2, count - 1):
        before, last = last, last * max(abs(s[k]), abs(1.0 + s[k]))
    missed = 0.0
    for i in range(n_m):
        k = n_d + i
        size = max(abs(x[k]), abs(new[k]))
        weight = max(10.0 * (atol[k] + rtol[k] * size), state.multiplier_limit * size)
        term, one_before = last * abs(node[count - 1, i]), before * abs(node[count - 2, i])
        missed = max(missed, term * min(1.0, term / one_before if one_before > 0.0 else 1.0) / weight)
    return missed


@device
def set_polynomial(state, ports, la):
    """The polynomial of p, v and r from the current point to `next`.

    Returns FINE or STOPPED; by how many tolerances integrals of the cubics are off; and whether `inner` holds
    multipliers that are needed. Rates that jump where there is no stage leave an error estimate small, but not this
    number.
    """
    enter(state, Phase.DENSE_OUTPUT)
    set_cubics(state)
    n_p, n_d, from_positions = state.n_p, state.n_d, state.plain == 1
    young = state.n_m > 0 and state.n_past < 2
    if state.n_m > 0 and state.multiplier_limit > 0.0 and not young:  # earlier points may be too near
        young = abs(state.t - vec(state.past_t, PAST)[0]) < NEAREST * abs(state.h)
    inner = (not from_positions) or state.n_r > 0 or young
    if inner:
        outcome = evaluate_inner(state, ports, la)
        if outcome == STOPPED:
            return STOPPED, 0.0, False
        inner = outcome == FINE  # where it cannot be evaluated, the cubics stay
    missed = 0.0
    if from_positions:
        missed = raise_from_positions(state)
        if inner and state.n_r > 0:
            missed = max(missed, raise_from_inner(state, 2 * n_p, n_d))
    elif inner:
        missed = raise_from_inner(state, 0, n_d)
    return FINE, np.sqrt(missed), inner and young


@device
def remember(state):
    """The current point's multipliers join the earlier ones."""
    past, past_t, x = mat(state.past, PAST, state.n_m), vec(state.past_t, PAST), vec(state.x, state.n)
    for k in range(PAST - 1, 0, -1):
        past_t[k] = past_t[k - 1]
        for i in range(state.n_m):
            past[k, i] = past[k - 1, i]
    past_t[0] = state.t
    for i in range(state.n_m):
        past[0, i] = x[state.n_d + i]
    state.n_past = min(state.n_past + 1, PAST)
