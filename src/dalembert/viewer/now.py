"""A scene at one moment, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.viewer.geometry import turned
from dalembert.viewer.scene import Scene


class Now:
    """Numbers of a scene at one moment."""

    def __init__(self, scene: Scene, moment: float):
        self.scene = scene
        self.k = min(int(moment), len(scene.channels[0].values) - 1)
        self.next = min(self.k + 1, len(scene.channels[0].values) - 1)
        self.weight = moment - self.k
        self.poses = [np.array([self.value(c) for c in body["c"]]) for body in scene.bodies]
        for pose in self.poses:
            if len(pose) == 7:
                pose[3:] /= np.linalg.norm(pose[3:])

    def t(self, times: np.ndarray) -> float:
        return float(times[self.k] * (1 - self.weight) + times[self.next] * self.weight)

    def value(self, c: int) -> float:
        values = self.scene.channels[c].values
        return values[self.k] * (1 - self.weight) + values[self.next] * self.weight

    def place(self, place: dict[str, Any]) -> np.ndarray:
        if "x" in place:
            return np.array(place["x"], float)
        if "c" in place:
            return np.array([self.value(c) for c in place["c"]])
        at = np.array(place["at"], float)
        if place["b"] < 0:
            return at
        pose = self.poses[place["b"]]
        if len(pose) == 7:
            return pose[:3] + turned(pose[3:], at)
        c, s = np.cos(pose[2]), np.sin(pose[2])
        return pose[:2] + np.array([c * at[0] - s * at[1], s * at[0] + c * at[1]])

    def way(self, place: dict[str, Any]) -> np.ndarray:
        """Where a place has been so far."""
        whole = self.scene.values(place, len(self.scene.channels[0].values))[: self.k + 1]
        return np.concatenate([whole, self.place(place)[None]])
