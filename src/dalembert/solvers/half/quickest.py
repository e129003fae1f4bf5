"""How quickly the quickest part of the motion changes: what decides whether explicit steps are limited by stability.

The largest modulus of an eigenvalue of (p, v, r) ↦ (p', v', r'), the accelerations being those that satisfy the
constraints. Powers of the derivative are applied to a vector by differences, in pairs: the square of an undamped
oscillation is a real number, and so is that of a strong damper; so v alone tells how it grows.
"""

import numba as nb
import numpy as np

from dalembert.compile.kernel import device, inlined, kernel
from dalembert.compile.memory import reference, vec
from dalembert.linalg.saddle.saddle import saddle_at
from dalembert.solvers.half import core
from dalembert.solvers.half.core import FINE
from dalembert.solvers.ports import ports_type

#: pairs of powers, and the difference of three estimates below which there are no more
PAIRS, CLOSE = 12, 0.05
#: pairs after which other directions have faded
SETTLED = 4
#: vectors of work space
VECTORS = 5


@device
def rates_at(state, ports, la, x, out):
    """(p', v', r') at x, in `out`; matrices and factors of the current point are lost. Returns an outcome."""
    matrices = vec(state.next_matrices, state.n_M + state.n_C + state.n_m)
    rates, x_dot = vec(state.next_rates, state.n_d), vec(state.next_dot, state.n)
    outcome = core.evaluate_matrices(state, ports, state.t, x, matrices)
    if outcome == FINE:
        outcome = core.factor_point(state, ports, la, state.t, x, matrices)
    if outcome == FINE:
        outcome = core.complete(state, ports, la, state.t, x, x_dot, rates)
    if outcome == FINE:
        for i in range(state.n_d):
            out[i] = x_dot[i]
    return outcome


@inlined
def size(values, weight, first, last):
    """The largest of the values, in units of the tolerance."""
    largest = 0.0
    for i in range(first, last):
        largest = max(largest, abs(values[i]) / weight[i])
    return largest


@device
def applied(state, ports, la, base, weight, u, y, out):
    """out = D(p', v', r') u, by a difference over about a tolerance. Returns an outcome."""
    n_d, x = state.n_d, vec(state.x, state.n)
    for i in range(state.n):
        y[i] = x[i]
    step = 1.0 / size(u, weight, 0, n_d)
    for i in range(n_d):
        y[i] += step * u[i]
    outcome = rates_at(state, ports, la, y, out)
    if outcome == FINE:
        for i in range(n_d):
            out[i] = (out[i] - base[i]) / step
    return outcome


@device
def largest_rate(state, ports, la, work):
    n, n_d, n_p = state.n, state.n_d, state.n_p
    x, atol, rtol = vec(state.x, n), vec(state.atol, n), vec(state.rtol, n)
    y, base, u = work[:n], work[n : n + n_d], work[2 * n : 2 * n + n_d]
    w, weight = work[3 * n : 3 * n + n_d], work[4 * n : 4 * n + n_d]
    for i in range(n):
        y[i] = x[i]
    if rates_at(state, ports, la, y, base) != FINE:
        return -1.0
    for i in range(n_d):
        weight[i] = atol[i] + rtol[i] * abs(x[i])
        # any direction but a special one: parts of the golden ratio, without a pattern
        u[i] = 0.0 if i < n_p else weight[i] * (0.5 + (0.6180339887498949 * (i + 1)) % 1.0) * (1.0 - 2.0 * (i % 2))
    rate, last, last_but_one, product = 0.0, 0.0, 0.0, 1.0
    for pair in range(PAIRS):
        before = size(u, weight, n_p, n_d)
        if not (before > 0.0 and np.isfinite(before)):
            return rate
        if applied(state, ports, la, base, weight, u, y, w) != FINE:
            return -1.0
        if not size(w, weight, 0, n_d) > 0.0:
            return 0.0
        if applied(state, ports, la, base, weight, w, y, u) != FINE:
            return -1.0
        last_but_one, last, rate = last, rate, np.sqrt(size(u, weight, n_p, n_d) / before)
        if not np.isfinite(rate):
            return -1.0
        most, least = max(rate, last, last_but_one), min(rate, last, last_but_one)
        if pair >= 2 and most - least <= CLOSE * most:
            return rate
        if pair >= SETTLED:
            product *= rate ** (1.0 / (PAIRS - SETTLED))
    return product  # damped oscillations grow by turns: the mean


def rate_kernel(layout, name):
    """The kernel for records of a layout."""

    @kernel(nb.float64(reference(layout), ports_type, nb.float64[::1]), name=name)
    def quickest(states, ports, work):
        """The largest rate at the current point, in 1/s; −1 if a function cannot be evaluated nearby.

        The record is left ready for the next step.
        """
        state = states[0]
        la = saddle_at(state.saddle)
        rate = largest_rate(state, ports, la, work)
        matrices = vec(state.matrices, state.n_M + state.n_C + state.n_m)
        core.factor_point(state, ports, la, state.t, vec(state.x, state.n), matrices)
        return rate

    return quickest

