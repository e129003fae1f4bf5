"""Whether a position where constraints are nearly dependent is singular: the method itself tries to get through.

From afar an ill-conditioned mechanism looks like a singular one, but its motion turns sharply where that of the other
goes straight on. Only steps that are small enough can tell, so some are taken for trial.
"""

from __future__ import annotations

import numpy as np

from dalembert.solvers.status import Count, Status

#: calls of the kernel for trial, at most; more steps than these the method may take in earnest as well
MOST_CALLS = 8
#: a position that was passed is singular nevertheless if between two points the smallest singular value falls to this
#: fraction of what it is at both: a step happened to be long enough to stride over it
VANISHED = 0.05
#: what is counted of a trial: work, but no steps
WORK = (
    Count.RHS, Count.JACOBIAN, Count.MASS, Count.DECOMPOSITIONS, Count.BACK_SUBSTITUTIONS, Count.SELECTORS,
    Count.CONSTRAINT_DECOMPOSITIONS, Count.FLOPS, Count.DIFFERENCES,
)  # fmt: skip


def gets_through(stepper, beyond: float) -> bool:
    """Whether the stepper takes steps until its constraints are as regular as `beyond`, through no singular position.

    It is left as it was, but for the work that is counted.
    """
    before, traced = stepper.snapshot(), stepper.take_trace()
    try:
        return _tries(stepper, beyond)
    finally:
        worked = stepper.counts[list(WORK)].copy()
        stepper.take_trace()
        stepper.restore(before)
        stepper.counts[list(WORK)] = worked
        stepper.keep_trace(traced)


def _tries(stepper, beyond: float) -> bool:
    lowest, where = np.inf, None
    for _ in range(MOST_CALLS):
        reason = stepper.advance()
        _, _, polynomials = stepper.collect()
        for c in polynomials:
            value = stepper.regularity(c[0])
            if value < lowest or where is None:
                lowest, where = value, [c]
            elif len(where) == 1:
                where.append(c)  # the one behind: the least value may lie in it
            if value >= beyond:
                return not _strides_over(stepper, where, lowest)
        if reason != Status.BUFFER_FULL:
            return reason in (Status.DONE, Status.EVENT)
    return True


def _strides_over(stepper, polynomials: list[np.ndarray], lowest: float) -> bool:
    """Whether the constraints lose rank between the points that the polynomials join."""
    from scipy.optimize import minimize_scalar  # takes a while to load, and few runs need it

    def value(s: float, c: np.ndarray) -> float:
        return stepper.regularity(c[0] + s * (c[1] + s * (c[2] + s * c[3])))

    least = min(
        minimize_scalar(value, bounds=(-1.0, 0.0), args=(c,), method="bounded", options={"xatol": 1e-7}).fun
        for c in polynomials
    )
    return least < VANISHED * lowest
