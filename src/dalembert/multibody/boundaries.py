"""Shapes that only contacts know: points, half spaces and cavities. They have no volume, and so no mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.placement import fixed, vector
from dalembert.multibody.shapes import Shape


@dataclass(frozen=True, eq=False)
class Point(Shape):
    """A point of a body, such as the tip of a pencil. A frame in place of a body is the same.

    >>> Point(position=(0, 0, -1)).position.tolist()
    [0.0, 0.0, -1.0]
    """


@dataclass(frozen=True, eq=False)
class Plane(Shape):
    """A plane without end through its position, with everything behind it solid; a straight line in planar systems.

    Parameters
    ----------
    normal : vector, optional
        Points out of the solid. It need not have length one. Default: z, in planar systems y.

    Examples
    --------
    A ramp that rises at 30 degrees:

    >>> angle = np.radians(30)
    >>> ramp = Plane((-np.sin(angle), np.cos(angle)))
    >>> ramp.normal.round(3).tolist()
    [-0.5, 0.866, 0.0]
    """

    normal: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normal is None:
            return
        normal = vector(self.normal, self._named("normal"))
        largest = np.abs(normal).max()
        if largest == 0.0:
            raise ModelError(f"{self._named('normal')} is the zero vector, which has no direction")
        normal = normal / largest  # squares of very small and very large numbers do not exist
        self._set("normal", fixed(normal / np.linalg.norm(normal)))

    def outward(self, planar: bool) -> np.ndarray:
        """The normal as a unit vector, in axes of the shape."""
        if self.normal is None:
            return np.array((0.0, 1.0, 0.0) if planar else (0.0, 0.0, 1.0))
        return self.normal


@dataclass(frozen=True, eq=False)
class HollowSphere(Shape):
    """The wall of a spherical cavity about its origin; what is outside of it is solid. In planar systems a ring.

    >>> HollowSphere(2.0).radius
    2.0
    """

    radius: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._length("radius")
