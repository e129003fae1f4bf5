"""What contacts see of shapes: convex pieces in numbers, in the frame that the shape sits on.

Everything round is a set of corners with a radius about it: a ball is one corner, a capsule two. In planar systems
polygons have no radius and corners counterclockwise. Positions along z do not matter there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.algebra import perpendicular
from dalembert.multibody.boundaries import HollowSphere, Plane, Point
from dalembert.multibody.shapes import Box, Capsule, Cylinder, Line, Plate, Shape, Sphere

#: lengths and sines up to this part of a shape's size count as none
NONE = 1e-9


@dataclass(frozen=True, eq=False)
class Piece:
    """Base of all. `what` names the shape in messages."""

    what: str


@dataclass(frozen=True, eq=False)
class Round(Piece):
    """A ball about one corner, or everything that is no farther than the radius from the line between two."""

    corners: np.ndarray  # (1 or 2, 3)
    radius: float


@dataclass(frozen=True, eq=False)
class Polygon(Piece):
    """Convex, in the plane; corners counterclockwise."""

    corners: np.ndarray
    radius: float = 0.0

    @property
    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Directions, lengths, and outward normals of the edges that begin at each corner."""
        along = np.roll(self.corners, -1, axis=0) - self.corners
        lengths = np.linalg.norm(along, axis=1)
        along = along / lengths[:, None]
        return along, lengths, np.column_stack([along[:, 1], -along[:, 0], np.zeros(len(along))])


@dataclass(frozen=True, eq=False)
class Cuboid(Piece):
    """A box in space."""

    corners: np.ndarray
    center: np.ndarray
    axes: np.ndarray  # columns
    half: np.ndarray
    radius: float = 0.0


@dataclass(frozen=True, eq=False)
class Corners(Piece):
    """Corners of a flat polygon in space: enough against planes and in cavities."""

    corners: np.ndarray
    radius: float = 0.0


@dataclass(frozen=True, eq=False)
class HalfSpace(Piece):
    point: np.ndarray
    normal: np.ndarray
    tangents: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Cavity(Piece):
    center: np.ndarray
    radius: float


def pieces(where: str, shape: Shape, planar: bool) -> list[Piece]:
    """The pieces of a shape; `where` begins the message if it cannot have any."""
    make = _MAKERS.get(type(shape))
    what = type(shape).__name__
    if make is None:
        known = ", ".join(sorted(kind.__name__ for kind in _MAKERS))
        raise ModelError(f"{where}: a {what} has no contacts; shapes that have are {known}")
    return make(f"{where}: {what}", shape, planar)


def _on(shape: Shape, points: Any, planar: bool) -> np.ndarray:
    """Points given in the shape's frame, in that which the shape sits on."""
    points = shape.position + np.asarray(points, float) @ shape.rotation.T
    return points * (1.0, 1.0, 0.0) if planar else points


def _point(where: str, shape: Point, planar: bool) -> list[Piece]:
    return [Round("Point", _on(shape, np.zeros((1, 3)), planar), 0.0)]


def _sphere(where: str, shape: Sphere, planar: bool) -> list[Piece]:
    if shape.radius == 0.0:
        raise ModelError(f"{where} has the radius zero, and so no normals; for a point take da.Point()")
    return [Round("Sphere", _on(shape, np.zeros((1, 3)), planar), shape.radius)]


def _capsule(where: str, shape: Capsule, planar: bool) -> list[Piece]:
    if shape.radius == 0.0:
        raise ModelError(f"{where} has the radius zero, and so no normals along its axis; for a thin line take da.Line")
    axis = shape.rotation[:, 2]
    if planar and min(abs(axis[2]), np.hypot(axis[0], axis[1])) > NONE:
        raise ModelError(
            f"{where} is neither along the plane nor across: turn it, e.g. rotation=(0, np.pi / 2, 0) for along x"
        )
    across = planar and abs(axis[2]) > 0.5
    h = 0.0 if across else shape.length / 2
    ends = np.array([(0.0, 0.0, -h), (0.0, 0.0, h)] if h else [(0.0, 0.0, 0.0)])
    return [Round("Capsule", _on(shape, ends, planar), shape.radius)]


def _line(where: str, shape: Line, planar: bool) -> list[Piece]:
    points = _on(shape, shape.points, planar)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not steps.max() > 0:
        raise ModelError(f"{where} has the length zero; for a point take da.Point()")
    ends = [(a, b) for a, b, step in zip(points[:-1], points[1:], steps, strict=True) if step > 0]
    return [Round("Line", np.array(pair), 0.0) for pair in ends]


def _box(where: str, shape: Box, planar: bool) -> list[Piece]:
    if not (shape.size[:2] if planar else shape.size).all():
        raise ModelError(f"{where} has the size zero along an axis, and so no inside")
    half = shape.size / 2
    if planar:
        flat = [(-half[0], -half[1], 0), (half[0], -half[1], 0), (half[0], half[1], 0), (-half[0], half[1], 0)]
        return [Polygon("Box", _in_plane(where, shape, flat))]
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return [Cuboid("Box", _on(shape, signs * half, False), shape.position, shape.rotation, half)]


def _plate(where: str, shape: Plate, planar: bool) -> list[Piece]:
    flat = np.column_stack([shape.outline, np.zeros(len(shape.outline))])
    if planar:
        return [Polygon("Plate", _convex(where, _in_plane(where, shape, flat)))]
    d = (0.0, 0.0, shape.thickness / 2)
    corners = [*(flat - d), *(flat + d)] if shape.thickness else flat
    return [Corners("Plate", _on(shape, corners, False))]


def _in_plane(where: str, shape: Shape, flat: Any) -> np.ndarray:
    """Corners of a shape that lies in the plane, counterclockwise."""
    if abs(shape.rotation[2, 2]) < 1 - NONE:
        raise ModelError(f"{where} is turned out of the plane; in planar systems its rotation is an angle about z")
    corners = _on(shape, flat, True)
    return corners if _area(corners) > 0 else corners[::-1].copy()


def _area(corners: np.ndarray) -> float:
    x, y = (corners - corners.mean(axis=0))[:, :2].T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2)


def _convex(where: str, corners: np.ndarray) -> np.ndarray:
    """Corners without those that are none; an error if the polygon is not convex."""
    size = np.ptp(corners, axis=0).max()
    corners = corners[np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1) > NONE * size]
    if len(corners) < 3 or _area(corners) <= NONE * size * size:
        raise ModelError(f"{where} has no area, and so no inside")
    along = np.roll(corners, -1, axis=0) - corners
    along /= np.linalg.norm(along, axis=1)[:, None]
    before = np.roll(along, 1, axis=0)
    turns = before[:, 0] * along[:, 1] - before[:, 1] * along[:, 0]
    angles = np.arctan2(turns, (before * along).sum(axis=1))
    inward = np.flatnonzero(turns < -NONE)
    if len(inward) or angles.sum() > 3 * np.pi:  # a star turns twice
        named = ", ".join(f"({x:g}, {y:g})" for x, y in corners[inward[:3], :2])
        raise ModelError(
            f"{where} is not convex{f' at {named}' if named else ': its outline crosses itself'}; make it of convex "
            "shapes, e.g. shape=[da.Plate(…), da.Plate(…)]"
        )
    return corners[turns > NONE]


def _cylinder(where: str, shape: Cylinder, planar: bool) -> list[Piece]:
    if not planar or abs(shape.rotation[2, 2]) < 1 - NONE:
        raise ModelError(
            f"{where} has contacts only in planar systems, where its axis is z and it is a disc; in space take "
            "da.Capsule"
        )
    if shape.radius == 0.0:
        raise ModelError(f"{where} has the radius zero, and so no normals; for a point take da.Point()")
    return [Round("Cylinder", _on(shape, np.zeros((1, 3)), True), shape.radius)]


def _plane(where: str, shape: Plane, planar: bool) -> list[Piece]:
    normal = shape.rotation @ shape.outward(planar)
    if planar and abs(normal[2]) > NONE:
        raise ModelError(f"{where}: the normal {tuple(normal.round(6).tolist())} does not lie in the plane x, y")
    one, two = (np.array(side) for side in perpendicular(normal))
    return [HalfSpace("Plane", _on(shape, np.zeros(3), planar), normal, (one, two))]


def _hollow(where: str, shape: HollowSphere, planar: bool) -> list[Piece]:
    if shape.radius == 0.0:
        raise ModelError(f"{where} has the radius zero, and so no inside")
    return [Cavity("HollowSphere", _on(shape, np.zeros(3), planar), shape.radius)]


_MAKERS: dict[type, Callable[[str, Any, bool], list[Piece]]] = {
    Point: _point, Sphere: _sphere, Capsule: _capsule, Line: _line, Box: _box, Plate: _plate, Cylinder: _cylinder,
    Plane: _plane, HollowSphere: _hollow,
}  # fmt: skip
