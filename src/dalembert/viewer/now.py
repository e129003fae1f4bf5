"""A scene at one moment, in numbers; and the few figures that images are drawn with."""

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


def darker(color: Any) -> Any:
    from matplotlib.colors import to_rgba

    r, g, b, a = to_rgba(color)
    return (0.62 * r, 0.62 * g, 0.62 * b, a)


def bar(a: np.ndarray, b: np.ndarray, half: float) -> np.ndarray:
    """A bar with round ends."""
    angle = np.arctan2(b[1] - a[1], b[0] - a[0])
    turn = np.linspace(np.pi / 2, 3 * np.pi / 2, 9) + angle
    first = a + half * np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)
    second = b - half * np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)
    return np.concatenate([first, second, first[:1]])


def circle(at: np.ndarray, radius: float) -> np.ndarray:
    turn = np.linspace(0, 2 * np.pi, 33)
    return at + radius * np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)


def zigzag(a: np.ndarray, b: np.ndarray, coils: int, width: float) -> np.ndarray:
    along = b - a
    length = np.hypot(*along[:2]) or 1.0
    n = np.array([-along[1], along[0], 0.0]) / length * width / 2
    steps = np.linspace(0.1, 0.9, 2 * coils + 2)
    aside = np.where(np.arange(2 * coils + 2) % 2, 1.0, -1.0)
    aside[[0, -1]] = 0.0
    return np.concatenate([[a], a + steps[:, None] * along + aside[:, None] * n, [b]])
