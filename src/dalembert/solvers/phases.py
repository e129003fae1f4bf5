"""The parts of a step that a profile tells apart, and how kernels say which one begins."""

from enum import IntEnum

import numpy as np

from dalembert.compile.kernel import call1, inlined


class Phase(IntEnum):
    """What a method is doing. `OUTSIDE`: the driver is at work."""

    OUTSIDE = 0
    STAGES = 1
    EXTRAPOLATION = 2
    PROJECTION = 3
    DENSE_OUTPUT = 4
    EVENTS = 5


NAMES = ("Python driver", "stages", "extrapolation", "projection", "dense output", "event search")


@inlined
def enter(state, phase):
    """From here on `phase` is under way. `monitor` is the address of a `Monitor`'s clock; 0: nobody wants to know."""
    if state.monitor != 0:
        call1(state.monitor, np.uint64(phase))
