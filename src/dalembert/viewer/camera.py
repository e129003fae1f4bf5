"""Where a scene in space is seen from: as in the player (`page/spatial.js`)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dalembert.viewer.scene import Scene

#: of view, from top to bottom
ANGLE = 0.62


class Camera:
    """A perspective view of a scene in an image of some pixels, from a direction (azimuth, elevation) in degrees."""

    def __init__(self, scene: Scene, width: int, height: int, view: tuple[float, float]):
        self.scene, self.width, self.height = scene, width, height
        self.focal = height / 2 / np.tan(ANGLE / 2)
        k = "xyz".index(scene.up)
        self.up = np.eye(3)[k]
        self.along = np.array([np.eye(3)[(k + 1) % 3], np.eye(3)[(k + 2) % 3]])
        azimuth, elevation = np.radians(view)
        back = np.cos(elevation) * (np.cos(azimuth) * self.along[0] + np.sin(azimuth) * self.along[1])
        back += np.sin(elevation) * self.up
        right = np.cross(self.up, back)
        right = right / np.linalg.norm(right) if np.linalg.norm(right) > 1e-9 else self.along[0]
        self.axes = np.array([right, np.cross(back, right), back])
        self._fit()
        self.go_to(np.zeros(3))

    def _fit(self) -> None:
        """So near that the corners of the box are just inside of the picture, with as much room on either side."""
        scene = self.scene
        low, high = (-np.array(scene.reach), np.array(scene.reach)) if scene.follow else map(np.array, scene.box)
        corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
        self.target, self.distance = (low + high) / 2, scene.size
        tall = np.tan(ANGLE / 2)
        half = np.array([tall * self.width / self.height, tall])
        for _ in range(4):
            seen = (corners - self.target) @ self.axes.T
            needed = seen[:, 2] + (np.abs(seen[:, :2]) / half).max(axis=1)
            self.distance = 1.12 * max(float(needed.max()), 0.2 * scene.size) or 1.0
            share = seen[:, :2] / (self.distance - seen[:, 2:])
            off = 0.5 * self.distance * (share.max(axis=0) + share.min(axis=0))
            self.target = self.target + off @ self.axes[:2]

    def go_to(self, centre: np.ndarray) -> None:
        """Look at the same from there, where the camera goes along."""
        self.eye = self.target + centre + self.distance * self.axes[2]

    def seen(self, points: np.ndarray) -> np.ndarray:
        """Points (…, 3) in the image: pixels to the right and down, inverse distance; negative behind the camera."""
        x, y, z = np.moveaxis((points - self.eye) @ self.axes.T, -1, 0)
        away = np.where(np.abs(z) > 1e-3 * self.distance, -z, np.nan)
        near = np.nan_to_num(1.0 / away, nan=-1.0)
        return np.stack([self.width / 2 + self.focal * x * near, self.height / 2 - self.focal * y * near, near], -1)
