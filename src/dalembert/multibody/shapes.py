"""Shapes of bodies: for drawing, and to have mass, centre and inertia computed where they are solid.

A shape sits on a body: `position` and `rotation` place its own frame in the body's. Planar systems use the same shapes;
positions may have two components there, and a rotation may be an angle.
"""

from __future__ import annotations

import contextlib
import math
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.checks import NoNumber, quiet_arithmetic, real, reals, shown
from dalembert.errors import ModelError
from dalembert.multibody.placement import fixed, rotation_matrix, vector

#: names and codes of colours as matplotlib understands them: red, tab:blue, C3, #1f77b4, 0.5
_COLOR = re.compile(r"[A-Za-z][A-Za-z0-9:_ -]*|#[0-9A-Fa-f]{3,4}|#[0-9A-Fa-f]{6}|#[0-9A-Fa-f]{8}|0?\.[0-9]+|[01]")


class MassProperties(NamedTuple):
    """Mass, centre of mass in the body's frame, and 3×3 inertia about the centre of mass in the body's axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """What all shapes have.

    Parameters
    ----------
    position : three numbers (two in a plane)
        Origin of the shape in the frame of its body.
    rotation : 3×3 matrix, rotation vector, angle about z, or None
        Axes of the shape in those of its body.
    color : str or three or four numbers from 0 to 1, optional
        A name or code of matplotlib, or red, green, blue and opacity.
    """

    position: Any = (0.0, 0.0, 0.0)
    rotation: Any = None
    color: Any = None

    def __post_init__(self) -> None:
        self._set("position", vector(self.position, self._named("position")))
        self._set("rotation", rotation_matrix(self.rotation, self._named("rotation")))
        self._set("color", _color(self.color, self._named("color")))

    def mass_properties(self, density: float) -> MassProperties:
        """Mass, centre of mass and inertia of the shape, filled with a material of this density."""
        try:
            density = real(density)
        except NoNumber as reason:
            raise ModelError(f"{type(self).__name__}: density={shown(density)} {reason}") from None
        if not 0 <= density < math.inf:
            raise ModelError(f"{type(self).__name__}: density={shown(density)} must be finite and not negative")
        try:
            with quiet_arithmetic():
                size, center, second = self._moments()
                # ∫ρ (|r|² 1 − r rᵀ), of the tensor ∫ρ r rᵀ about the centre of mass
                inertia = density * (np.trace(second) * np.eye(3) - second)
                inertia = self.rotation @ inertia @ self.rotation.T
                mass, com = float(density * size), self.position + self.rotation @ center
        except OverflowError:  # of powers of Python's numbers
            mass = math.inf
        if not (math.isfinite(mass) and np.isfinite(com).all() and np.isfinite(inertia).all()):
            raise ModelError(f"{type(self).__name__}: too large for its mass properties to be computed")
        return MassProperties(mass, com, (inertia + inertia.T) / 2)

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume, its centre, and ∫ r rᵀ about the centre, in axes of the shape."""
        raise ModelError(f"a {type(self).__name__} has no volume: give mass, com and inertia of the body")

    def _named(self, argument: str) -> str:
        return f"{type(self).__name__}: {argument}"

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _length(self, name: str) -> None:
        """Make a float, finite and not negative, of a parameter."""
        value = getattr(self, name)
        try:
            number = real(value)
        except NoNumber as reason:
            raise ModelError(f"{self._named(name)}={shown(value)} {reason}") from None
        if not 0 <= number < math.inf:
            raise ModelError(f"{self._named(name)}={shown(value)} must be finite and not negative")
        self._set(name, number)

    def _points(self, name: str, least: int, widths: tuple[int, ...]) -> None:
        """Make an (n, 2) or (n, 3) array of a parameter."""
        value = getattr(self, name)
        try:
            points = reals(value)
        except NoNumber as reason:
            raise ModelError(f"{self._named(name)}={shown(value)} {reason}") from None
        if points.ndim != 2 or points.shape[1] not in widths or len(points) < least:
            columns = " or ".join(map(str, widths))
            raise ModelError(f"{self._named(name)}={shown(value)} needs {least} points or more of {columns} numbers")
        if not np.isfinite(points).all():
            raise ModelError(f"{self._named(name)}={shown(value)} must be finite")
        self._set(name, fixed(np.column_stack([points, np.zeros((len(points), max(widths) - points.shape[1]))])))


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """A cuboid about its origin; `size` is its extent along x, y and z.

    >>> mass, com, inertia = Box((1, 2, 3)).mass_properties(density=2.0)
    >>> mass, inertia.diagonal().tolist()
    (12.0, [13.0, 10.0, 5.0])
    """

    size: Any = field(default=(1.0, 1.0, 1.0))

    def __post_init__(self) -> None:
        super().__post_init__()
        size = vector(self.size, self._named("size"), planar=False)
        if (size < 0).any():
            raise ModelError(f"{self._named('size')}={shown(self.size)} must not be negative")
        self._set("size", size)

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        volume = math.prod(self.size.tolist())
        return volume, np.zeros(3), np.diag(volume / 12 * self.size**2)


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A ball about its origin.

    >>> Sphere(0.5, position=(0, 0, 1)).mass_properties(density=6 / np.pi).mass
    1.0
    """

    radius: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._length("radius")

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        volume = 4 / 3 * math.pi * self.radius**3
        return volume, np.zeros(3), volume / 5 * self.radius**2 * np.eye(3)


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """A cylinder about its origin; its axis is z.

    >>> float(Cylinder(radius=1.0, length=2.0).mass_properties(density=1 / np.pi).inertia[2, 2])
    1.0
    """

    radius: Any = 1.0
    length: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._length("radius")
        self._length("length")

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        across, along = self.radius**2 / 4, self.length**2 / 12
        volume = math.pi * self.radius**2 * self.length
        return volume, np.zeros(3), volume * np.diag([across, across, along])


@dataclass(frozen=True, eq=False)
class Capsule(Shape):
    """A cylinder of this `length` along z with half a ball at each end.

    >>> ball = Sphere(0.3).mass_properties(density=1.0)
    >>> capsule = Capsule(radius=0.3, length=0.0).mass_properties(density=1.0)
    >>> bool(abs(capsule.inertia - ball.inertia).max() < 1e-15)
    True
    """

    radius: Any = 1.0
    length: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._length("radius")
        self._length("length")

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        r, h = self.radius, self.length / 2
        barrel, ends = 2 * math.pi * r * r * h, 4 / 3 * math.pi * r**3
        across = barrel * r * r / 4 + ends * r * r / 5
        # both halves of the ball: ∫ (h + z)² dV with ∫ z dV = 3/8 r and ∫ z² dV = r²/5 times the volume
        along = barrel * h * h / 3 + ends * (h * h + 3 / 4 * h * r + r * r / 5)
        return barrel + ends, np.zeros(3), np.diag([across, across, along])


@dataclass(frozen=True, eq=False)
class Plate(Shape):
    """A polygon in the plane z = 0, of this `thickness` (half of it on either side).

    `outline` lists its corners, two numbers each, in either sense; the last one is joined to the first. Without
    thickness, density is mass per area.

    >>> mass, com, inertia = Plate([(0, 0), (3, 0), (0, 3)]).mass_properties(density=2.0)
    >>> mass, com.tolist()
    (9.0, [1.0, 1.0, 0.0])
    """

    outline: Any = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    thickness: Any = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._points("outline", 3, (2,))
        self._length("thickness")

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        middle = self.outline.mean(axis=0)  # sums about a point inside lose no digits
        a = self.outline - middle
        b = np.roll(a, -1, axis=0)
        cross = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        area = cross.sum() / 2
        if area == 0:
            return 0.0, np.append(middle, 0.0), np.zeros((3, 3))
        center = (cross @ (a + b)) / (6 * area)
        both = np.einsum("n,ni,nj->ij", cross, a + b, a + b)
        second = (both + np.einsum("n,ni,nj->ij", cross, a, a) + np.einsum("n,ni,nj->ij", cross, b, b)) / 24
        second = (second - area * np.outer(center, center)) * np.sign(area)
        area = abs(area)
        depth = self.thickness or 1.0
        full = np.zeros((3, 3))
        full[:2, :2] = depth * second
        full[2, 2] = depth * area * self.thickness**2 / 12
        return depth * area, np.append(center + middle, 0.0), full


@dataclass(frozen=True, eq=False)
class Line(Shape):
    """A polyline through `points`, two or three numbers each; as a solid, thin rods, and density is mass per length.

    >>> mass, com, inertia = Line([(0, 0), (2, 0)]).mass_properties(density=3.0)
    >>> mass, com.tolist(), float(inertia[2, 2])
    (6.0, [1.0, 0.0, 0.0], 2.0)
    """

    points: Any = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    width: Any = 1.0  # of the stroke, in points

    def __post_init__(self) -> None:
        super().__post_init__()
        self._points("points", 2, (2, 3))
        self._length("width")

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        middle = (self.points[1:] + self.points[:-1]) / 2
        step = np.diff(self.points, axis=0)
        lengths = np.linalg.norm(step, axis=1)
        total = float(lengths.sum())
        center = lengths @ middle / total if total else self.points[0]
        from_center = middle - center
        second = np.einsum("n,ni,nj->ij", lengths, from_center, from_center)
        return total, np.array(center), second + np.einsum("n,ni,nj->ij", lengths / 12, step, step)


@dataclass(frozen=True, eq=False)
class Mesh(Shape):
    """Triangles, from a file or given as `vertices` (n, 3) and `faces` (m, 3).

    A file is only named here, and nobody reads it before something is drawn. Vertices and faces of a closed surface,
    each face counterclockwise seen from outside, have mass properties.

    Parameters
    ----------
    file : str, optional
        Name of a file, as text; also ``package://`` and ``file://`` as in URDF.
    scale : number or three numbers
        Factors on the coordinates, negative ones mirror.

    Examples
    --------
    >>> corners, sides = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    >>> round(6 * Mesh(vertices=corners, faces=sides).mass_properties(density=1.0).mass, 12)
    1.0
    """

    file: Any = None
    scale: Any = (1.0, 1.0, 1.0)
    vertices: Any = None
    faces: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.file is None) == (self.vertices is None) or (self.vertices is None) != (self.faces is None):
            raise ModelError("Mesh: give either file=, or both vertices= and faces=")
        if self.file is not None and (not isinstance(self.file, str) or not self.file.strip()):
            raise ModelError(f"Mesh: file={shown(self.file)} must be the name of a file")
        with contextlib.suppress(NoNumber):  # there are three of them, then
            self._set("scale", (real(self.scale),) * 3)
        self._set("scale", vector(self.scale, self._named("scale"), planar=False))
        if self.vertices is not None:
            self._points("vertices", 1, (3,))
            self._points("faces", 1, (3,))
            faces = self.faces.astype(np.int64)
            if (faces != self.faces).any() or faces.min() < 0 or faces.max() >= len(self.vertices):
                raise ModelError(f"Mesh: faces must be whole numbers from 0 to {len(self.vertices) - 1}")
            self._set("faces", fixed(faces))

    def _moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        if self.vertices is None:
            raise ModelError(f"the mesh '{self.file}' is for drawing only: give mass, com and inertia of the body")
        middle = self.vertices.mean(axis=0)
        corners = ((self.vertices - middle) * self.scale)[self.faces]  # tetrahedra with a corner in the middle
        volumes = np.linalg.det(corners) / 6
        volume = float(volumes.sum())
        if self.scale.prod() < 0:
            volume, volumes = -volume, -volumes
        if volume <= 0:
            raise ModelError("Mesh: its volume is not positive: faces must be counterclockwise seen from outside")
        center = volumes @ corners.sum(axis=1) / (4 * volume)
        sums = corners.sum(axis=1)
        second = np.einsum("n,ni,nj->ij", volumes, sums, sums) + np.einsum("n,nki,nkj->ij", volumes, corners, corners)
        return volume, center + middle * self.scale, second / 20 - volume * np.outer(center, center)


def _color(value: Any, what: str) -> str | tuple[float, ...] | None:
    if value is None or (isinstance(value, str) and _COLOR.fullmatch(value)):
        return value
    try:
        numbers = None if isinstance(value, str) else reals(value)
    except NoNumber:
        numbers = None
    if numbers is None or numbers.shape not in ((3,), (4,)) or not ((numbers >= 0) & (numbers <= 1)).all():
        raise ModelError(f"{what}={shown(value)} must be the name of a colour, or three or four numbers from 0 to 1")
    return tuple(numbers.tolist())
