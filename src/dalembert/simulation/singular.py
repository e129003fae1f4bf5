"""Passing an isolated singular position: the motion is smooth there, though multipliers may not be.

From the last accepted points, with velocities and accelerations, the motion is extrapolated beyond the position where
constraints lose rank, and made consistent again on the other side: the extrapolation tells the branch.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.interpolate import KroghInterpolator

from dalembert.errors import DalembertError, InitialValuesCorrected
from dalembert.model import Model
from dalembert.regularize.initial import completed_values

#: how much more regular than where the method stopped the constraints must be beyond
MARGIN = 1.1
#: trial points per estimated length of the jump, and at most so many
FINENESS, TRIALS = 40, 200
#: how far positions and velocities beyond may be from the extrapolated ones, as a fraction of their size
CONTINUOUS = 5e-3


def beyond(model: Model, stepper, recent: list[tuple[float, np.ndarray]], end: float):
    """Time, state and rates beyond the singular position, and the polynomial that leads there; None if there is no way.

    `recent` are accepted points, oldest first.
    """
    slices = stepper.form.slices
    jump, target = _length(stepper, recent), MARGIN * stepper.regularity(recent[-1][1])
    recent = _spread(recent, jump)
    if len(recent) < 2:
        return None
    times = np.array([t for t, _ in recent])
    p, v, p_dot, a = [], [], [], []
    for t, x in recent:
        start = {f"{kind}0": x[slices[kind]] for kind in ("p", "v", "r", "s") if kind in slices}
        values = completed_values(model, t, start, mode="trust")
        p.append(values.p)
        v.append(values.v)
        p_dot.append(values.values["p_dot"])
        a.append(values.a)
    twice = np.repeat(times, 2) - times[-1]
    positions = KroghInterpolator(twice, np.reshape(np.stack([p, p_dot], 1), (len(twice), -1)))
    velocities = KroghInterpolator(twice, np.reshape(np.stack([v, a], 1), (len(twice), -1)))
    t0, x0 = recent[-1]
    stride = jump / FINENESS
    x = x0.copy()
    for k in range(1, TRIALS):  # the first half of the jump leads into the singular position
        ahead = k * stride
        if (t0 + ahead - end) * stride >= 0:
            return None  # the interval ends before the way is clear
        x[slices["p"]] = positions(ahead)
        if k < FINENESS // 2 or stepper.regularity(x) < target:
            continue
        t = t0 + ahead
        start = {f"{kind}0": x0[slices[kind]] for kind in ("r", "s") if kind in slices}
        start |= {"p0": positions(ahead), "v0": velocities(ahead)}
        try:
            with warnings.catch_warnings():  # a start value that is changed much is looked at here
                warnings.simplefilter("ignore", InitialValuesCorrected)
                initial = completed_values(model, t, start)
        except DalembertError:
            continue
        if not _goes_on(initial.p, positions(ahead), recent, slices["p"]):
            continue
        if not _goes_on(initial.v, velocities(ahead), recent, slices["v"]):
            continue
        new, rates = stepper.form.start(initial)
        return t, new, rates, _hermite(x0, new, recent, initial, slices, ahead)
    return None


def _goes_on(found: np.ndarray, expected: np.ndarray, recent, part: slice) -> bool:
    """Whether what satisfies the constraints is what the motion leads to, and no point of another branch."""
    size = max(np.abs(x[part]).max(initial=0.0) for _, x in recent)
    return bool(np.abs(found - expected).max(initial=0.0) <= CONTINUOUS * size)


def _spread(recent: list[tuple[float, np.ndarray]], jump: float) -> list[tuple[float, np.ndarray]]:
    """Four points, half a jump apart: near singular positions steps are too short to look ahead from the last ones."""
    last = recent[-1][0]
    chosen = {min(range(len(recent)), key=lambda k, w=last - 0.5 * i * jump: abs(recent[k][0] - w)) for i in range(4)}
    return [recent[k] for k in sorted(chosen)]


def _length(stepper, recent: list[tuple[float, np.ndarray]]) -> float:
    """Estimated length of the jump: the smallest singular value falls about linearly to zero, and rises again."""
    last, here = recent[-1][0], stepper.regularity(recent[-1][1])
    for t, earlier in reversed(recent[:-1]):
        there = stepper.regularity(earlier)
        if there > 2 * here:
            return (1 + MARGIN) * here * (last - t) / (there - here)
    return 2 * (last - recent[0][0])


def _hermite(before: np.ndarray, after: np.ndarray, recent, initial, slices, h: float) -> np.ndarray:
    """Cubic through values and rates at both ends for p and v, straight lines for the rest; in s = (t − t_new)/h."""
    change = before - after
    c = np.zeros((4, len(after)))
    c[0], c[1] = after, -change
    (t1, x1), (t2, x2) = recent[-2:]
    for kind, rate in (("p", initial.values["p_dot"]), ("v", initial.a)):
        part = slices[kind]
        early, late = h * (x2[part] - x1[part]) / (t2 - t1), h * rate
        d = change[part]
        # c(0) = 0, c'(0) = late, c(−1) = d, c'(−1) = early
        c[1, part] = late
        c[2, part] = 3 * d + 2 * late + early
        c[3, part] = 2 * d + late + early
    return c
