"""Gaps between features of two bodies: signed distances, the nearest points, and the normal.

Entries of the motions may be numbers or expressions. Branches are chosen by value and not by smallest and largest
numbers: where two are equal the derivative is that of one of them, and not of a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import casadi as ca

from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import Scalar, Vector

if TYPE_CHECKING:
    from dalembert.multibody.readings import Motion

#: added to squares of distances below roots, so that there is a derivative at zero
TINY = 1e-60
#: part of a polygon's size by which a corner that lies on the end of an edge may be beyond it
CORNER = 1e-7
#: square of the sine below which two capsules count as parallel: their ends then say all
PARALLEL = 1e-10
#: in place of infinity, which expressions may have to multiply by zero
FAR = 1e200


class Touch(NamedTuple):
    """Where two bodies are nearest, in axes of the world."""

    gap: Scalar
    first: Vector  # the point of the first body
    second: Vector
    normal: Vector  # from the second body to the first
    tangents: tuple[Vector, Vector] | None = None  # None: any


class Feature(Protocol):
    """A corner, edge or face of one body against one of another."""

    def touch(self, A: Motion, B: Motion) -> Touch: ...


@dataclass(frozen=True)
class Swapped:
    """The same with the bodies in the other order."""

    feature: Feature

    def touch(self, A: Motion, B: Motion) -> Touch:
        gap, first, second, normal, tangents = self.feature.touch(B, A)
        return Touch(gap, second, first, al.negative(normal), tangents)


@dataclass(frozen=True)
class CornerPlane:
    """A corner, or a ball about it, on a plane."""

    corner: Vector
    radius: float
    point: Vector
    normal: Vector
    tangents: tuple[Vector, Vector]

    def touch(self, A: Motion, B: Motion) -> Touch:
        x, n = _at(A, self.corner), al.turn(B.R, self.normal)
        height = al.dot(n, al.subtract(x, _at(B, self.point)))
        tangents = (al.turn(B.R, self.tangents[0]), al.turn(B.R, self.tangents[1]))
        first, second = (al.subtract(x, al.scale(part, n)) for part in (self.radius, height))
        return Touch(al.minus(height, self.radius), first, second, n, tangents)


@dataclass(frozen=True)
class CornerCavity:
    """A corner, or a ball about it, inside of a sphere."""

    corner: Vector
    radius: float
    center: Vector
    wall: float

    def touch(self, A: Motion, B: Motion) -> Touch:
        x, c = _at(A, self.corner), _at(B, self.center)
        distance, outward = _apart(x, c)
        first = al.add(x, al.scale(self.radius, outward))
        second = al.add(c, al.scale(self.wall, outward))
        return Touch(al.minus(self.wall - self.radius, distance), first, second, al.negative(outward))


@dataclass(frozen=True)
class CornerRound:
    """A corner of one body and one of another, or a point of the line from there to a second one; with radii."""

    corner: Vector
    radius: float
    start: Vector
    along: Vector | None  # unit vector, None of a single corner
    length: float
    other_radius: float

    def touch(self, A: Motion, B: Motion) -> Touch:
        x = _at(A, self.corner)
        nearest = self.start
        if self.along is not None:
            s = al.dot(self.along, al.subtract(_inside(B, x), self.start))
            nearest = al.add(self.start, al.scale(_clamped(s, self.length), self.along))
        c = _at(B, nearest)
        distance, normal = _apart(x, c)
        gap = al.minus(distance, self.radius + self.other_radius)
        first = al.subtract(x, al.scale(self.radius, normal))
        return Touch(gap, first, al.add(c, al.scale(self.other_radius, normal)), normal)


@dataclass(frozen=True)
class Crossing:
    """Two lines of capsules that cross: the distance of points inside of both of them.

    Where the lines are nearest beyond their ends, the gap grows with the distance from there: then it is larger than
    that of one of the ends, of which each has a contact of its own.
    """

    starts: tuple[Vector, Vector]
    along: tuple[Vector, Vector]
    lengths: tuple[float, float]
    radii: tuple[float, float]

    def touch(self, A: Motion, B: Motion) -> Touch:
        p, q = _at(A, self.starts[0]), _at(B, self.starts[1])
        d, e = al.turn(A.R, self.along[0]), al.turn(B.R, self.along[1])
        r = al.subtract(p, q)
        cosine, c, f = al.dot(d, e), al.dot(d, r), al.dot(e, r)
        normal_square = al.cross(d, e)
        square = al.dot(normal_square, normal_square)  # of the sine: 1 − cosine² would lose it
        parallel = square < PARALLEL
        divisor = _choose(parallel, 1.0, square)
        s, t = (al.times(cosine, f) - c) / divisor, (f - al.times(cosine, c)) / divisor
        at_s, at_t = _clamped(s, self.lengths[0]), _clamped(t, self.lengths[1])
        beyond = _size(al.minus(s, at_s)) + _size(al.minus(t, at_t))
        beyond = _choose(parallel, sum(self.lengths), beyond)
        x, y = al.add(p, al.scale(at_s, d)), al.add(q, al.scale(at_t, e))
        distance, normal = _apart(x, y)
        first = al.subtract(x, al.scale(self.radii[0], normal))
        second = al.add(y, al.scale(self.radii[1], normal))
        return Touch(distance + beyond - sum(self.radii), first, second, normal)


@dataclass(frozen=True)
class CornerPolygon:
    """A corner, or a disc about it, and a convex polygon in the plane.

    `sides` are the directions of the edges that leave a sharp corner. An edge of the polygon can touch the corner only
    if its normal points between them; this tells which one is meant where corners lie on corners, as in a stack of
    equal boxes, and where distances alone would not.
    """

    corner: Vector
    radius: float
    sides: tuple[Vector, ...]
    starts: tuple[Vector, ...]
    along: tuple[Vector, ...]
    lengths: tuple[float, ...]
    normals: tuple[Vector, ...]

    def touch(self, A: Motion, B: Motion) -> Touch:
        x = _at(A, self.corner)
        local = _inside(B, x)
        near = CORNER * max(self.lengths)
        sides = [al.turn_back(B.R, al.turn(A.R, side)) for side in self.sides]
        # the edge that is farthest in front, and the corner that is nearest
        height, normal = -FAR, al.ZERO
        square, corner = FAR, al.ZERO
        on_edge = FAR  # not positive in front of an edge, and inside
        meant, meant_normal = -FAR, al.ZERO
        for start, along, length, n in zip(self.starts, self.along, self.lengths, self.normals, strict=True):
            r = al.subtract(local, start)
            d, s = al.dot(n, r), al.dot(along, r)
            r_square = al.dot(r, r)
            nearer, higher = r_square < square, d > height
            square, corner = _choose(nearer, r_square, square), _choose_vector(nearer, start, corner)
            height, normal = _choose(higher, d, height), _choose_vector(higher, n, normal)
            over = _larger(-s, s - length)
            on_edge = _smaller(on_edge, _larger(over, -d))
            if sides:
                fits = _larger(*(-al.dot(n, side) for side in sides))
                value = _choose(_larger(fits - CORNER, over - near, -d - near) <= 0.0, d, -FAR)
                better = value > meant
                meant, meant_normal = _choose(better, value, meant), _choose_vector(better, n, meant_normal)
        distance = al.root(square + TINY)
        radial = al.scale(1.0 / distance, al.subtract(local, corner))
        flat = _smaller(height, on_edge) <= 0.0
        gap, normal = _choose(flat, height, distance), _choose_vector(flat, normal, radial)
        if sides:
            found = meant > -FAR
            gap, normal = _choose(found, meant, gap), _choose_vector(found, meant_normal, normal)
        normal = al.turn(B.R, normal)
        first, second = (al.subtract(x, al.scale(part, normal)) for part in (self.radius, gap))
        return Touch(al.minus(gap, self.radius), first, second, normal)


@dataclass(frozen=True)
class CornerCuboid:
    """A corner, or a ball about it, and a box in space."""

    corner: Vector
    radius: float
    center: Vector
    axes: tuple[Vector, Vector, Vector]  # of the box, in the frame that it sits on
    half: Vector

    def touch(self, A: Motion, B: Motion) -> Touch:
        x = _at(A, self.corner)
        r = al.subtract(_inside(B, x), self.center)
        near = CORNER * max(self.half)
        along = [al.dot(axis, r) for axis in self.axes]
        outward = [al.scale(_choose(s < 0.0, -1.0, 1.0), axis) for s, axis in zip(along, self.axes, strict=True)]
        beyond = [_size(s) - h for s, h in zip(along, self.half, strict=True)]
        height, face = beyond[0], outward[0]
        for d, n in zip(beyond[1:], outward[1:], strict=True):
            higher = d > height
            height, face = _choose(higher, d, height), _choose_vector(higher, n, face)
        # of three, the second largest is the largest of the smaller ones of each pair
        pairs = [_smaller(beyond[i], beyond[k]) for i, k in ((0, 1), (0, 2), (1, 2))]
        flat = _larger(*pairs) <= near
        outside = [_larger(d, 0.0) for d in beyond]
        distance = al.root(al.dot(tuple(outside), tuple(outside)) + TINY)
        radial = al.add(*(al.scale(d / distance, n) for d, n in zip(outside, outward, strict=True)))
        gap, normal = _choose(flat, height, distance), _choose_vector(flat, face, radial)
        normal = al.turn(B.R, normal)
        first, second = (al.subtract(x, al.scale(part, normal)) for part in (self.radius, gap))
        return Touch(al.minus(gap, self.radius), first, second, normal)


# -- tangents ------------------------------------------------------------------------------------------------------

#: a direction to which hardly any normal is opposite, and two that are perpendicular to it
POLE = (2 / 7, -3 / 7, 6 / 7)
_SIDES = ((6 / 7, -2 / 7, -3 / 7), (3 / 7, 6 / 7, 2 / 7))


def tangents(touch: Touch, planar: bool) -> tuple[Vector, ...]:
    """Unit vectors perpendicular to the normal: in the plane one, on a floor to the right; in space two.

    In space the shortest rotation from `POLE` to the normal takes them there, so that they are smooth in it.
    """
    n = touch.normal
    if planar:
        return ((n[1], -n[0], 0.0),)
    if touch.tangents is not None:
        return touch.tangents
    divisor = 1.0 + al.dot(POLE, n)
    both = al.add(POLE, n)
    return tuple(al.subtract(side, al.scale(al.dot(side, n) / (divisor + TINY), both)) for side in _SIDES)


# -- numbers or expressions ----------------------------------------------------------------------------------------


def _at(motion: Motion, point: Vector) -> Vector:
    """A point of a body in the world."""
    return al.add(motion.x, al.turn(motion.R, point))


def _inside(motion: Motion, x: Vector) -> Vector:
    """A point of the world in a body's frame."""
    return al.turn_back(motion.R, al.subtract(x, motion.x))


def _apart(x: Vector, y: Vector) -> tuple[Scalar, Vector]:
    """The distance of two points, and the direction from the second to the first."""
    d = al.subtract(x, y)
    distance = al.root(al.dot(d, d) + TINY)
    return distance, al.scale(1.0 / distance, d)


def _choose(condition: Any, yes: Scalar, no: Scalar) -> Scalar:
    if type(condition) is not ca.SX:
        return yes if condition else no
    return ca.if_else(condition, yes, no)


def _choose_vector(condition: Any, yes: Vector, no: Vector) -> Vector:
    return tuple(_choose(condition, a, b) for a, b in zip(yes, no, strict=True))


def _larger(*values: Scalar) -> Scalar:
    found = values[0]
    for value in values[1:]:
        found = _choose(value > found, value, found)
    return found


def _smaller(*values: Scalar) -> Scalar:
    found = values[0]
    for value in values[1:]:
        found = _choose(value < found, value, found)
    return found


def _clamped(s: Scalar, length: float) -> Scalar:
    return _choose(s < 0.0, 0.0, _choose(s > length, length, s))


def _size(x: Scalar) -> Scalar:
    return _choose(x < 0.0, -x, x)
