"""What a simulation integrated from when on: constraints in force, values of discrete variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class SegmentInfo:
    """A stretch of time without jumps. `active` are the constraints in force, by the names of their multipliers; None:
    all of them."""

    t: float  # where it begins
    active: tuple[str, ...] | None = None
    discrete: Mapping[str, float] = field(default_factory=dict)


def segment_at(segments: Sequence[SegmentInfo], t: np.ndarray, direction: float, *, repeated: bool) -> np.ndarray:
    """The number of the segment for each time; the later one where two of them meet.

    With `repeated`, a time that stands several times in a row means the segments that meet there one after the other.

    >>> halves = [SegmentInfo(0.0), SegmentInfo(1.0)]
    >>> segment_at(halves, np.array([0.5, 1.0, 1.0, 2.0]), 1.0, repeated=True)
    array([0, 0, 1, 1])
    """
    starts = direction * np.array([segment.t for segment in segments])
    number = np.maximum(np.searchsorted(starts, direction * t, side="right") - 1, 0)
    if repeated:
        for i in range(len(t) - 2, -1, -1):
            if t[i] == t[i + 1]:
                number[i] = max(number[i + 1] - 1, 0)
    return number
