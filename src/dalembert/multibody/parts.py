"""Bodies, frames on them, and joints between frames: what a `Multibody` is put together from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.kinds import JointKind
from dalembert.multibody.quantities import Number, rotation, vector

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

ORIGIN = (0.0, 0.0, 0.0)


class Body:
    """A rigid body. `Multibody.body` makes it; its frame is where `com`, points of joints and shapes refer to."""

    __slots__ = ("com", "inertia", "mass", "name", "number", "orientation", "position", "shape", "system")

    def __init__(self, system: Multibody, number: int, name: str, mass: Number, com: tuple, inertia: tuple, shape: Any):
        self.system, self.number, self.name = system, number, name
        self.mass, self.com, self.inertia = mass, com, inertia  # inertia: (xx, xy, xz, yy, yz, zz) about com
        self.shape = shape
        self.position: tuple | None = None  # where it is about, for the search of start values
        self.orientation: np.ndarray | None = None

    @property
    def is_ground(self) -> bool:
        return self.number < 0

    def frame(self, at: Any = None, rotation: Any = None) -> Frame:
        """A frame fixed to the body.

        Parameters
        ----------
        at : vector
            Its origin, in the body's frame. Default: that of the body.
        rotation : 3×3 matrix or rotation vector; an angle in planar systems
            Its axes, relative to the body's.
        """
        return placed(f"frame on '{self.name}'", self, at, rotation)

    def __repr__(self) -> str:
        return f"Body({self.name!r})"


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A point with axes, fixed to a body."""

    body: Body
    at: tuple[Number, Number, Number] = ORIGIN
    rotation: np.ndarray | None = None  # None: axes of the body

    def frame(self, at: Any = None, rotation: Any = None) -> Frame:
        """A frame relative to this one."""
        return placed(f"frame on '{self.body.name}'", self, at, rotation)


def placed(where: str, on: Body | Frame, at: Any, turned: Any) -> Frame:
    """A frame at a point of a body or of another frame."""
    planar = on.body.system.planar if type(on) is Frame else on.system.planar
    point = ORIGIN if at is None else vector(where, "at", at, planar)
    R = rotation(where, "rotation", turned, planar)
    if type(on) is Body:
        return Frame(on, point, R)
    if on.rotation is not None:
        if any(not isinstance(x, float) for x in point):
            raise ModelError(
                f"{where}: parameters cannot stand in a point of a frame that is turned; give it on the body"
            )
        point = tuple((on.rotation @ np.array(point)).tolist())
        R = on.rotation if R is None else on.rotation @ R
    if point is ORIGIN:
        return Frame(on.body, on.at, R)
    if any(not isinstance(x, float) for x in (*point, *on.at)):
        if on.at != ORIGIN:
            raise ModelError(f"{where}: parameters cannot stand in a point relative to another; give it on the body")
        return Frame(on.body, point, R)
    return Frame(on.body, tuple(a + b for a, b in zip(on.at, point, strict=True)), R)


@dataclass(eq=False, slots=True)
class Joint:
    """A joint between a frame of the first body and one of the second; at coordinates zero both frames coincide."""

    number: int
    name: str
    kind: JointKind
    first: Frame
    second: Frame
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    second_axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    pitch: Number = 0.0  # of screws: metres per radian
    radius: Number = 0.0  # of rolling discs
    q0: tuple | None = None  # known start values of the coordinates
    v0: tuple | None = None
    drive: Any = None  # the name of the input that prescribes the coordinate
    damping: Number = 0.0
    stiffness: Number = 0.0
    rest: Number = 0.0
    limits: tuple[float, float] | None = None
    cut: bool | None = None  # whether loops are to be opened here; None: as it suits
    counted: bool = field(default=False)  # whether something depends on the number of turns
    kept: bool = field(default=False)  # whether its coordinates are needed in every set of coordinates

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of its coordinates, as they stand in results."""
        return tuple(f"{self.name}.{part}" for part in self.kind.coordinates)

    @property
    def rates(self) -> tuple[str, ...]:
        return tuple(f"{self.name}.{part}" for part in self.kind.rates)

    def __repr__(self) -> str:
        return f"Joint({self.name!r}: {self.kind.name}, {self.first.body.name!r} – {self.second.body.name!r})"
