"""Why a kernel returned, and what it counts."""

from __future__ import annotations

import enum

DONE = 0  # reached the end of the interval
BUFFER_FULL = 1
EVENT = 2  # an event function changed sign within the last step of the buffer
STEP_TOO_SMALL = 3
TOO_MANY_STEPS = 4
SINGULAR = 5  # the iteration matrix is singular, whatever the step size
PORT_FAILED = 6  # a model function asked to stop (a Python exception is pending)
NOT_FINITE = 7  # a model function cannot be evaluated at the current point itself
EVENT_FAILED = 9  # an event function cannot be evaluated within the last step of the buffer
RANK_DEFICIENT = 8  # constraints are redundant, or their rank has changed


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
