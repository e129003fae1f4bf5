"""How large a scene is: the box around everything, the size of the mechanism itself, and whether it goes away."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

#: a scene that moves this many times its own size is followed by the camera; a vehicle, which goes away and does not
#: come back, before that
FAR, AWAY = 10.0, 5.0


class Bounds:
    """Collects points over time, and boxes around what does not move; only the extreme values are kept."""

    def __init__(self, count: int, width: int):
        self.low, self.high = np.full((count, width), np.inf), np.full((count, width), -np.inf)
        self.fixed: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, points: np.ndarray, radius: float = 0.0) -> None:
        """Points (count, width), or balls of this radius around them."""
        np.minimum(self.low, points - radius, out=self.low)
        np.maximum(self.high, points + radius, out=self.high)

    def add_box(self, low: np.ndarray, high: np.ndarray, at: np.ndarray, axes: np.ndarray) -> None:
        """A box in the frame of a body, whose origin (count, width) and axes (count, width, width) are given."""
        for corner in itertools.product(*zip(low, high, strict=True)):
            self.add(at + axes @ np.array(corner))

    @property
    def middle(self) -> np.ndarray:
        """Of everything that moves, over all times."""
        if not np.isfinite(self.low).all():
            return np.zeros(self.low.shape[1])
        return (self.low.min(axis=0) + self.high.max(axis=0)) / 2

    def measured(self, level: list[int], follow: bool | None = None) -> Measures:
        """All measures; `level` are the directions that are not up; `follow`: whether the camera is to go along."""
        low, high = self.low, self.high
        if not np.isfinite(low).all():  # nothing moves
            low = high = np.zeros_like(low)
        size = float(np.median((high - low).max(axis=1)))
        box_low, box_high = low.min(axis=0), high.max(axis=0)
        whole = float((box_high - box_low).max())
        if not size > 1e-3 * whole:  # a single point has no size of its own
            size = whole / 4 or 1.0
        middle = (low + high) / 2
        gone = float(np.abs(middle[-1] - middle[0])[level].max(initial=0.0))
        if follow is None:
            follow = whole > FAR * size or (whole > AWAY * size and gone > 0.6 * whole)
        size = size if follow else max(size, whole)
        for one_low, one_high in self.fixed:  # of the ground so much that one sees what things stand on
            box_low = np.minimum(box_low, np.maximum(one_low, box_low - size))
            box_high = np.maximum(box_high, np.minimum(one_high, box_high + size))
        reach = np.percentile((high - low) / 2, 95, axis=0)
        return Measures((box_low.tolist(), box_high.tolist()), size, middle, reach.tolist(), follow)


@dataclass(frozen=True)
class Measures:
    """What cameras need to know."""

    box: tuple[list[float], list[float]]  # around everything at all times
    size: float  # of the mechanism itself
    middle: np.ndarray  # of it, over time
    reach: list[float]  # how far it extends from there
    follow: bool  # whether the camera has to go along
