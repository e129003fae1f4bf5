"""Events on dense output: detecting sign changes inside a step. `roots.py` locates them.

Every method describes an accepted step by one polynomial in s = (t − t_new)/h ∈ [−1, 0]; all of this works on that
polynomial and is shared by all methods. Event functions are sampled at several points of a step; besides sign changes
between samples, a dip towards zero between three of them is followed, so that two roots in one step are found.
"""

from typing import NamedTuple

from dalembert.compile.kernel import device
from dalembert.solvers.ports import evaluate
from dalembert.solvers.records import matrix, record, vector


class EventScan(NamedTuple):
    """Values of the event functions at the samples of the last step, and work space."""

    values: matrix  # (samples + 1, events); row 0 belongs to the start of the step
    state: vector
    out: vector
    failed: vector  # the time at which an event function could not be evaluated


scan_type = record(EventScan)


@device
def interpolate(coefficients, s, out):
    """out = Σ c_k s^k."""
    degree, n = coefficients.shape
    for i in range(n):
        total = coefficients[degree - 1, i]
        for k in range(degree - 2, -1, -1):
            total = total * s + coefficients[k, i]
        out[i] = total


@device
def suspicious(before, middle, after):
    """Whether the parabola through three equidistant values of one sign reaches the other sign near the middle one."""
    if before * middle <= 0.0 or middle * after <= 0.0:
        return False
    if abs(middle) > abs(before) or abs(middle) > abs(after):
        return False
    curvature = before - 2.0 * middle + after
    slope = 0.5 * (after - before)
    # a safety factor: the dip may be deeper than the parabola says
    return curvature != 0.0 and (middle - 2.0 * slope * slope / curvature) * middle <= 0.5 * middle * middle


@device
def scan_step(scan, ports, t, h, coefficients):
    """Sample the event functions over the step that ends at t. Returns 1 if a root is likely, 0 if not, −1 on failure.

    Row 0 of `scan.values` must hold the values at the start of the step; afterwards it is `carry_over`'s turn.
    """
    samples, n_events = scan.values.shape[0] - 1, scan.values.shape[1]
    for k in range(1, samples + 1):
        s = (k - samples) / samples
        interpolate(coefficients, s, scan.state)
        if evaluate(ports.events, ports, t + s * h, scan.state, scan.out) != 0:
            scan.failed[0] = t + s * h
            return -1
        for e in range(n_events):
            scan.values[k, e] = scan.out[e]
    for e in range(n_events):
        for k in range(1, samples + 1):
            left, right = scan.values[k - 1, e], scan.values[k, e]
            if left * right < 0.0 or (right == 0.0 and left != 0.0):
                return 1
            if k > 1 and suspicious(scan.values[k - 2, e], left, right):
                return 1
    return 0


@device
def carry_over(scan):
    """The end of this step is the start of the next."""
    last = scan.values.shape[0] - 1
    for e in range(scan.values.shape[1]):
        scan.values[0, e] = scan.values[last, e]
