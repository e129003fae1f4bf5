"""Events on dense output: detecting sign changes inside a step. `roots.py` locates them.

Every method describes an accepted step by one polynomial in s = (t − t_new)/h ∈ [−1, 0]; all of this works on that
polynomial and is shared by all methods. Event functions are sampled at several points of a step; besides sign changes
between samples, a dip towards zero between three of them, or right at the start, is followed, so that two roots in one
step are found.

Accelerations that an event function reads are the derivatives of the polynomials of the velocities. Values within the
threshold of an event have no sign: a root is where the function comes out of that band on the other side.
"""

from typing import NamedTuple

import numpy as np

from dalembert.compile.kernel import device
from dalembert.solvers.limits import EARLY
from dalembert.solvers.ports import evaluate
from dalembert.solvers.records import i8, matrix, record, vector


class EventScan(NamedTuple):
    """Values of the event functions at the samples of the last step, and work space."""

    values: matrix  # (samples + 1, events); row 0 belongs to the start of the step
    state: vector  # x, behind it v' if an event reads it
    out: vector
    failed: vector  # the time at which an event function could not be evaluated
    threshold: vector  # moduli up to this are small; 0: none is
    sign: vector  # the last one that was not small, where there is a threshold
    velocity: i8  # where the velocities begin in x
    n_rates: i8  # how many accelerations stand behind x


scan_type = record(EventScan)


def new_scan(system, events, samples: int) -> EventScan:
    """For the port of the event functions, or for none."""
    n_events = events.n_out if events else 0
    n_rates = events.n_x - system.n if events else 0
    return EventScan(
        values=np.zeros((samples + 1, n_events)),
        state=np.zeros(system.n + n_rates),
        out=np.zeros(max(n_events, 1)),
        failed=np.zeros(1),
        threshold=np.zeros(n_events),
        sign=np.zeros(n_events),
        velocity=system.slices["v"].start if n_rates else 0,
        n_rates=n_rates,
    )


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
def sample(scan, ports, t, h, coefficients, s):
    """The event functions at s of the step that ends at t, in `scan.out`. Returns the port's status."""
    degree, n = coefficients.shape
    interpolate(coefficients, s, scan.state)
    for i in range(scan.n_rates):
        column = scan.velocity + i
        total = (degree - 1) * coefficients[degree - 1, column]
        for k in range(degree - 2, 0, -1):
            total = total * s + k * coefficients[k, column]
        scan.state[n + i] = total / h
    return evaluate(ports.events, ports, t + s * h, scan.state, scan.out)


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
def dives(first, early, after):
    """Whether a function goes from its first value straight to the other sign, although it has its sign at the end.

    `early` is its value at the part EARLY of the interval, `after` that at its end. No parabola through the samples of
    a step sees a dip in the first interval, since there is none before it.
    """
    if first * after <= 0.0:
        return False
    return (first + (early - first) / EARLY) * first <= 0.5 * first * first


@device
def scan_step(scan, ports, t, h, coefficients):
    """Sample the event functions over the step that ends at t. Returns 1 if a root is likely, 0 if not, −1 on failure.

    Row 0 of `scan.values` must hold the values at the start of the step; afterwards it is `carry_over`'s turn.
    """
    samples, n_events = scan.values.shape[0] - 1, scan.values.shape[1]
    for k in range(1, samples + 1):
        s = (k - samples) / samples
        if sample(scan, ports, t, h, coefficients, s) != 0:
            scan.failed[0] = t + s * h
            return -1
        for e in range(n_events):
            scan.values[k, e] = scan.out[e]
    for e in range(n_events):
        threshold = scan.threshold[e]
        for k in range(1, samples + 1):
            left, right = scan.values[k - 1, e], scan.values[k, e]
            if threshold > 0.0:
                if abs(right) > threshold and right * scan.sign[e] < 0.0:
                    return 1
            elif left * right < 0.0 or (right == 0.0 and left != 0.0):
                return 1
            if k > 1 and abs(left) > threshold and suspicious(scan.values[k - 2, e], left, right):
                return 1
    s = -1.0 + EARLY / samples
    if sample(scan, ports, t, h, coefficients, s) != 0:
        scan.failed[0] = t + s * h
        return -1
    for e in range(n_events):
        if abs(scan.values[0, e]) > scan.threshold[e] and dives(scan.values[0, e], scan.out[e], scan.values[1, e]):
            return 1
    return 0


@device
def carry_over(scan):
    """The end of this step is the start of the next."""
    last = scan.values.shape[0] - 1
    for e in range(scan.values.shape[1]):
        scan.values[0, e] = scan.values[last, e]
        for k in range(1, last + 1):
            if abs(scan.values[k, e]) > scan.threshold[e]:
                scan.sign[e] = 1.0 if scan.values[k, e] > 0.0 else -1.0
