"""What goes in and out of a generated integrator: its arguments, its options as numbers, what it counts."""

from __future__ import annotations

from enum import IntEnum


class Option(IntEnum):
    """Places in the array of options, which all members share."""

    SAFETY = 0
    MAX_GROWTH = 1
    MAX_SHRINK = 2
    PROJECTION_LIMIT = 3
    MAX_STEP = 4
    FIRST_STEP = 5  # 0: guessed
    DIRECTION = 6  # of time: 1 or −1
    MAX_STEPS = 7
    STRETCHES = 8  # between breakpoints
    OUTPUTS = 9  # times of t_eval
    ROOTS = 10  # of each event that there is room for
    STOP = 11  # nobody waits for the rest any more, unless this is 0; for the host


N_OPTIONS = len(Option)


class Head(IntEnum):
    """Numbers at the beginning of the block of a single run's code."""

    FRESH = 0  # 1: complete the current point
    OUTCOME = 1
    ERROR = 2  # in units of the tolerance
    ITERATIONS = 3  # of the projection


class Counter(IntEnum):
    """Rows of whole numbers that are counted for each member."""

    STATUS = 0
    ACCEPTED = 1
    INACCURATE = 2  # rejected because of the error
    FAILED = 3  # could not be computed
    OUTPUTS = 4  # times of t_eval that were reached
    ENDED_BY = 5  # number of the event that has ended the run, if one has


N_COUNTERS = len(Counter)

#: arguments of both kernels: pointers to doubles, but for `counts` (32-bit integers)
INTEGRATE = (
    "shared",  # values of nodes that all members share
    "options",
    "tolerances",  # rtol of each unknown, then atol
    "stretches",  # of each: where it begins, where it ends, and the time that its end is shown as
    "times",  # t_eval
    "tables",  # inputs
    "member",  # numbers of the members' own: rows of θ
    "x0",
    "x", "a", "lam", "t",  # at the end
    "dense",  # at t_eval
    "counts",
    "roots", "found",  # times of events, and how many there were
)  # fmt: skip
START = ("shared", "options", "stretches", "tables", "member", "x0", "x", "correction", "counts")
