"""Why a kernel returned, what became of the steps it tried, and what it counts."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """Why a kernel returned."""

    DONE = 0  # reached the end of the interval
    BUFFER_FULL = 1  # that of the steps, or that of the trace
    EVENT = 2  # an event function changed sign within the last step of the buffer
    STEP_TOO_SMALL = 3
    TOO_MANY_STEPS = 4
    SINGULAR = 5  # the iteration matrix is singular, whatever the step size
    PORT_FAILED = 6  # a model function asked to stop (a Python exception is pending)
    NOT_FINITE = 7  # a model function cannot be evaluated at the current point itself
    RANK_DEFICIENT = 8  # constraints are redundant, or their rank has changed
    EVENT_FAILED = 9  # an event function cannot be evaluated within the last step of the buffer
    # attempts in a row that failed for the same reason, though each was shorter than the one before
    ERROR_FAILURES = 10
    CONVERGENCE_FAILURES = 11
    EVALUATION_FAILURES = 12


#: what functions that return a `Status` return when there is no reason to
GO_ON = -1
#: no step size leads on from here
NO_STEP = (
    Status.STEP_TOO_SMALL, Status.ERROR_FAILURES, Status.CONVERGENCE_FAILURES, Status.EVALUATION_FAILURES,
)  # fmt: skip


class Outcome(enum.IntEnum):
    """What became of an attempted step, or of a part of one. The first three are the answers of ports."""

    FINE = 0
    CANNOT_EVALUATE = 1
    STOPPED = 2  # a function asked to stop
    CANNOT_START = 3  # a function cannot be evaluated at the current point itself
    DIVERGED = 4  # Newton's method
    SLOW = 5  # Newton's method would take too many iterations; the step size with which it should not is set
    SINGULAR = 6
    RANK_LOST = 7  # constraints became dependent or independent
    NOT_PROJECTED = 8  # the projection onto the constraints did not converge
    INACCURATE = 9  # the error is too large
    DRIFTED = 10  # constraints are violated too much
    FAR_FROM_CONSTRAINTS = 11  # the projection moved the point by more than its error may be


#: those that count as rejections because of the error; all others as failures to compute the step at all
BY_ERROR = (Outcome.INACCURATE, Outcome.DRIFTED, Outcome.FAR_FROM_CONSTRAINTS)

#: what a trace holds of an attempt, in this order
ATTEMPT = (
    "t", "h",  # start and size of the step that was tried
    "order",  # 0 if the method has only one
    "outcome",  # a number of `Outcome`
    "error",  # its norm, at most 1 if the step is accepted; NaN if the attempt failed before
    "worst",  # the variable with the largest part in it, or −1
    "iterations",  # of Newton's method
    "contraction",  # from one of them to the next; NaN if there were not two
    "fresh",  # FRESH_JACOBIAN + FRESH_FACTORS
)  # fmt: skip
FRESH_JACOBIAN, FRESH_FACTORS = 1, 2


class Count(enum.IntEnum):
    """Places of the counters."""

    ACCEPTED = 0
    ERROR_REJECTIONS = 1
    CONVERGENCE_REJECTIONS = 2
    RHS = 3
    JACOBIAN = 4
    MASS = 5
    DECOMPOSITIONS = 6
    BACK_SUBSTITUTIONS = 7
    SELECTORS = 8
    CONSTRAINT_DECOMPOSITIONS = 9
    LINEAR_SOLVES = 10
    EVENT_EVALUATIONS = 11
    STEPS = 12  # all attempted, for the limit
    FLOPS = 13  # floating-point operations of the linear algebra
    DIFFERENCES = 14  # residuals evaluated for Jacobians
    UPDATES = 15  # iteration matrices with a Jacobian that was kept


N_COUNTS = len(Count)
