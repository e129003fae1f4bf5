"""Locating the roots of event functions on the dense output of one step. Compiled at the first event only."""

import math

from dalembert.compile.kernel import device, kernel
from dalembert.solvers.events import EARLY, carry_over, dives, sample, scan_type, suspicious
from dalembert.solvers.limits import DESCENTS, GOLDEN, NARROW, POINT, ROOT_ITERATIONS, SLOW_ITERATIONS
from dalembert.solvers.ports import ports_type
from dalembert.solvers.records import f8, i8, indices, matrix, vector


@device
def value_at(scan, ports, t, h, coefficients, s, e):
    sample(scan, ports, t, h, coefficients, s)
    return scan.out[e]


@device
def bracketed_root(scan, ports, t, h, coefficients, e, a, ga, b, gb):
    """Illinois iteration, and bisection where some of these have not halved the interval: roots may be of any order."""
    side, wide = 0, math.inf
    for iteration in range(ROOT_ITERATIONS):
        if abs(b - a) <= POINT:
            break
        s = b - gb * (b - a) / (gb - ga)
        slow = False
        if iteration % SLOW_ITERATIONS == 0:
            slow, wide = abs(b - a) > 0.5 * wide, abs(b - a)
        if slow or not (min(a, b) < s < max(a, b)):
            s = 0.5 * (a + b)
            if s in (a, b):
                break
        g = value_at(scan, ports, t, h, coefficients, s, e)
        if g == 0.0:
            return s
        if (g > 0.0) == (gb > 0.0):
            b, gb = s, g
            if side == -1:
                ga *= 0.5
            side = -1
        else:
            a, ga = s, g
            if side == 1:
                gb *= 0.5
            side = 1
    return b


@device
def lowest(scan, ports, t, h, coefficients, e, side, low, high, threshold):
    """Golden-section search for the smallest value of side·g, until it has the other sign; returns where, and g."""
    x1, x2 = low + GOLDEN * (high - low), high - GOLDEN * (high - low)
    g1 = side * value_at(scan, ports, t, h, coefficients, x1, e)
    g2 = side * value_at(scan, ports, t, h, coefficients, x2, e)
    for _ in range(DESCENTS):
        if (g1 < 0.0 and g1 <= -threshold) or (g2 < 0.0 and g2 <= -threshold) or high - low < NARROW:
            break
        if g1 < g2:
            high, x2, g2 = x2, x1, g1
            x1 = low + GOLDEN * (high - low)
            g1 = side * value_at(scan, ports, t, h, coefficients, x1, e)
        else:
            low, x1, g1 = x1, x2, g2
            x2 = high - GOLDEN * (high - low)
            g2 = side * value_at(scan, ports, t, h, coefficients, x2, e)
    return (x1 if g1 < g2 else x2), side * min(g1, g2)


@kernel(i8(scan_type))
def go_on(scan):
    """`carry_over`, for the driver."""
    carry_over(scan)
    return 0


@kernel(i8(scan_type, ports_type, f8, f8, matrix, indices, vector, indices))
def locate_roots(scan, ports, t, h, coefficients, which, where, direction):
    """Find the roots in the step scanned last: fills event number, s and ±1 (rising, falling); returns how many."""
    samples, n_events = scan.values.shape[0] - 1, scan.values.shape[1]
    width = 1.0 / samples
    found = 0
    for e in range(n_events):
        threshold, sign, last = scan.threshold[e], scan.sign[e], 0
        for k in range(1, samples + 1):
            if found + 3 > which.size:
                return found
            ga, gb = scan.values[k - 1, e], scan.values[k, e]
            a, b = (k - 1 - samples) * width, (k - samples) * width
            if threshold > 0.0:
                if abs(gb) <= threshold:
                    continue
                if gb * sign < 0.0:
                    # from the last sample of the other sign; if there is none, the band was left at the very start
                    root, before = -1.0, scan.values[last, e]
                    if before * gb < 0.0:
                        early = (last - samples) * width
                        root = bracketed_root(scan, ports, t, h, coefficients, e, early, before, b, gb)
                    which[found], where[found], direction[found] = e, root, 1 if gb > 0.0 else -1
                    found += 1
                sign, last = 1.0 if gb > 0.0 else -1.0, k
            elif gb == 0.0 and ga != 0.0:
                which[found], where[found], direction[found] = e, b, 1 if ga < 0.0 else -1
                found += 1
            elif ga * gb < 0.0:
                root = bracketed_root(scan, ports, t, h, coefficients, e, a, ga, b, gb)
                which[found], where[found], direction[found] = e, root, 1 if ga < 0.0 else -1
                found += 1
            low = a - width
            if k == 1 and abs(ga) > threshold:
                early = value_at(scan, ports, t, h, coefficients, a + EARLY * width, e)
                dips, low = dives(ga, early, gb), a
            else:
                dips = k > 1 and abs(ga) > threshold and suspicious(scan.values[k - 2, e], ga, gb)
            if dips:
                side = 1.0 if ga > 0.0 else -1.0
                middle, gm = lowest(scan, ports, t, h, coefficients, e, side, low, b, threshold)
                if gm * ga < 0.0 and abs(gm) >= threshold:
                    before = ga if k == 1 else scan.values[k - 2, e]
                    root = bracketed_root(scan, ports, t, h, coefficients, e, low, before, middle, gm)
                    which[found], where[found], direction[found] = e, root, 1 if before < 0.0 else -1
                    found += 1
                    root = bracketed_root(scan, ports, t, h, coefficients, e, middle, gm, b, gb)
                    which[found], where[found], direction[found] = e, root, 1 if gm < 0.0 else -1
                    found += 1
    return found
