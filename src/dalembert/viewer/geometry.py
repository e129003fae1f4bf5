"""Shapes as triangles for pictures in space, and as outlines for pictures of the plane."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from dalembert.multibody import shapes as of_bodies
from dalembert.multibody.boundaries import HollowSphere, Plane, Point

#: corners of a circle
ROUND = 28
HALF_UP = np.array([0.0, 0.0, 0.5])


@dataclass(frozen=True)
class Surface:
    """Triangles with a normal at every corner."""

    vertices: np.ndarray  # (n, 3)
    normals: np.ndarray
    faces: np.ndarray  # (m, 3)


def quaternion(R: np.ndarray) -> np.ndarray:
    """Unit Euler parameters (scalar first) of rotation matrices (…, 3, 3); by the largest, so nothing is divided by 0.

    >>> quaternion(np.diag([1.0, -1.0, -1.0])).tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    R = np.asarray(R, float)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    a = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    b = R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]
    rows = np.stack(
        [
            np.stack([1 + xx + yy + zz, a[0], a[1], a[2]], -1),
            np.stack([a[0], 1 + xx - yy - zz, b[0], b[1]], -1),
            np.stack([a[1], b[0], 1 - xx + yy - zz, b[2]], -1),
            np.stack([a[2], b[1], b[2], 1 - xx - yy + zz], -1),
        ],
        -2,
    )
    best = np.argmax(np.stack([rows[..., i, i] for i in range(4)], -1), -1)
    q = np.take_along_axis(rows, best[..., None, None], -2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def steady(q: np.ndarray) -> np.ndarray:
    """Euler parameters over time without changes of sign: q and −q are the same rotation."""
    flips = np.where((q[1:] * q[:-1]).sum(axis=1) < 0, -1.0, 1.0)
    return q * np.concatenate([[1.0], np.cumprod(flips)])[:, None]


def turned(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (…, 3) turned by Euler parameters (…, 4)."""
    u, w = q[..., 1:], q[..., :1]
    t = 2 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def composed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Euler parameters of one rotation after the other: `second` within `first`."""
    a, u = first[0], first[1:]
    b, v = second[0], second[1:]
    return np.concatenate([[a * b - u @ v], a * v + b * u + np.cross(u, v)])


def towards(vector: np.ndarray) -> np.ndarray:
    """Euler parameters that turn z into the direction of a vector.

    >>> turned(towards(np.array([0.0, 3.0, 0.0])), np.array([0.0, 0.0, 1.0])).round(12).tolist()
    [0.0, 1.0, 0.0]
    """
    x, y, z = vector / (np.linalg.norm(vector) or 1.0)
    if z < -0.999999:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([1 + z, -y, x, 0.0])
    return q / np.linalg.norm(q)


# -- surfaces ----------------------------------------------------------------------------------------------------------


def surface(shape: Any) -> tuple[str, np.ndarray, Surface] | None:
    """Name of a surface that shapes of different sizes share, the factors for this one, and the surface itself.

    None for what is drawn otherwise (planes) or not at all (points).
    """
    if isinstance(shape, of_bodies.Sphere | HollowSphere):
        return "sphere", np.full(3, shape.radius), sphere()
    if isinstance(shape, of_bodies.Box):
        return "box", np.array(shape.size), box()
    if isinstance(shape, of_bodies.Cylinder):
        return "cylinder", np.array([shape.radius, shape.radius, shape.length]), cylinder()
    if isinstance(shape, of_bodies.Capsule):
        if not shape.radius:
            return None
        ratio = round(shape.length / shape.radius, 6)
        return f"capsule {ratio}", np.full(3, shape.radius), capsule(ratio)
    if isinstance(shape, of_bodies.Plate):
        own = plate(shape.outline[:, :2], shape.thickness)
        return f"plate {_mark(own)}", np.ones(3), own
    if isinstance(shape, of_bodies.Mesh) and shape.vertices is not None:
        own = flat(shape.vertices * shape.scale, shape.faces)
        return f"mesh {_mark(own)}", np.ones(3), own
    return None


def _mark(own: Surface) -> str:
    """By which equal surfaces are known."""
    return blake2b(own.vertices.tobytes(), digest_size=6).hexdigest()


@cache
def sphere(rounds: int = ROUND) -> Surface:
    """Of radius 1."""
    return revolved(np.linspace(-np.pi / 2, np.pi / 2, rounds // 2 + 1), np.zeros(rounds // 2 + 1), rounds)


@cache
def capsule(ratio: float) -> Surface:
    """Of radius 1, with so many radii between the centres of its ends."""
    half = np.linspace(0, np.pi / 2, ROUND // 4 + 1)
    shift = np.repeat([-ratio / 2, ratio / 2], len(half))
    return revolved(np.concatenate([half - np.pi / 2, half]), shift, ROUND)


def revolved(latitude: np.ndarray, shift: np.ndarray, rounds: int) -> Surface:
    """Circles of latitude of a unit ball, each shifted along z."""
    around = np.linspace(0, 2 * np.pi, rounds + 1)
    c, s = np.cos(latitude)[:, None], np.sin(latitude)[:, None]
    normals = np.stack([c * np.cos(around), c * np.sin(around), s + 0 * around], -1)
    vertices = normals + np.stack([0 * shift, 0 * shift, shift], -1)[:, None]
    return Surface(vertices.reshape(-1, 3), normals.reshape(-1, 3), _grid(len(latitude), rounds + 1))


@cache
def cylinder() -> Surface:
    """Of radius and length 1, about z."""
    around = np.linspace(0, 2 * np.pi, ROUND + 1)
    ring = np.stack([np.cos(around), np.sin(around), 0 * around], -1)
    side = np.concatenate([ring - HALF_UP, ring + HALF_UP])
    parts = [Surface(side, np.concatenate([ring, ring]), _grid(2, ROUND + 1))]
    for z in (-0.5, 0.5):
        disc = np.concatenate([[[0, 0, z]], ring + 2 * z * HALF_UP])
        k = np.arange(1, ROUND + 1)
        faces = np.stack([0 * k, k, k + 1] if z > 0 else [0 * k, k + 1, k], -1)
        parts.append(Surface(disc, np.tile([0, 0, np.sign(z)], (len(disc), 1)), faces))
    return joined(parts)


@cache
def cone() -> Surface:
    """With the base, of radius 1, at z = 0 and the tip at z = 1."""
    around = np.linspace(0, 2 * np.pi, ROUND + 1)
    ring = np.stack([np.cos(around), np.sin(around), 0 * around], -1)
    tips = np.tile([0.0, 0.0, 1.0], (ROUND + 1, 1))
    slope = (ring + 2 * HALF_UP) / np.sqrt(2)
    side = Surface(np.concatenate([ring, tips]), np.concatenate([slope, slope]), _grid(2, ROUND + 1))
    k = np.arange(1, ROUND + 1)
    base = np.concatenate([[[0.0, 0.0, 0.0]], ring])
    return joined([side, Surface(base, np.tile([0, 0, -1.0], (len(base), 1)), np.stack([0 * k, k + 1, k], -1))])


@cache
def box() -> Surface:
    """A cube of length 1."""
    corners, faces = [], []
    for axis in range(3):
        for sign in (-0.5, 0.5):
            square = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
            face = np.insert(square if sign > 0 else square[::-1], 0, sign, axis=1)
            corners.append(np.roll(face, axis, axis=1))
            faces.append(np.array([(0, 1, 2), (0, 2, 3)]) + 4 * (len(corners) - 1))
    vertices = np.concatenate(corners)
    return flat(vertices, np.concatenate(faces))


def plate(outline: np.ndarray, thickness: float) -> Surface:
    """A polygon with two sides and an edge."""
    if _area(outline) < 0:
        outline = outline[::-1]
    n, top = len(outline), triangles(outline)
    half = thickness / 2
    low, high = np.insert(outline, 2, -half, axis=1), np.insert(outline, 2, half, axis=1)
    k, nxt = np.arange(n), (np.arange(n) + 1) % n
    sides = np.concatenate([np.stack([k, nxt, nxt + n], -1), np.stack([k, nxt + n, k + n], -1)])
    return flat(np.concatenate([low, high]), np.concatenate([top[:, ::-1], top + n, sides]))


def flat(vertices: np.ndarray, faces: np.ndarray) -> Surface:
    """Every triangle has corners, and a normal, of its own."""
    corners = np.asarray(vertices, float)[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return Surface(corners.reshape(-1, 3), np.repeat(normals, 3, axis=0), np.arange(3 * len(faces)).reshape(-1, 3))


def joined(parts: list[Surface]) -> Surface:
    """Several surfaces as one."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Surface(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.normals for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)]),
    )


@cache
def helix(coils: int = 8, thin: float = 0.1) -> Surface:
    """A wire around z from 0 to 1, about a circle of radius 1."""
    steps, rounds = 14 * coils, 6
    along = np.linspace(0, 1, steps + 1)
    turn = 2 * np.pi * coils * along
    centre = np.stack([np.cos(turn), np.sin(turn), along], -1)
    out = np.stack([np.cos(turn), np.sin(turn), 0 * turn], -1)
    around = np.linspace(0, 2 * np.pi, rounds + 1)
    normals = out[:, None] * np.cos(around)[:, None] + np.array([0, 0, 1.0]) * np.sin(around)[:, None]
    size = np.array([thin, thin, thin / 12])  # along z it is stretched with the spring
    vertices = centre[:, None] + normals * size
    return Surface(vertices.reshape(-1, 3), normals.reshape(-1, 3), _grid(steps + 1, rounds + 1))


def _grid(rows: int, columns: int) -> np.ndarray:
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij")
    a = (i * columns + j).ravel()
    return np.concatenate([np.stack([a, a + 1, a + columns + 1], -1), np.stack([a, a + columns + 1, a + columns], -1)])


def _area(outline: np.ndarray) -> float:
    x, y = outline.T
    return float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2)


def triangles(outline: np.ndarray) -> np.ndarray:
    """A simple polygon, counterclockwise, cut into triangles: one ear after the other.

    >>> len(triangles(np.array([(0, 0), (2, 0), (2, 2), (1, 1), (0, 2)])))
    3
    """
    left, found = list(range(len(outline))), []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            if _is_ear(outline, a, b, c, left):
                found.append((a, b, c))
                del left[k]
                break
        else:  # a polygon that crosses itself has none: any cut is as good as another
            found.append((left[0], left[1], left[2]))
            del left[1]
    return np.array([*found, tuple(left)])


def _is_ear(outline: np.ndarray, a: int, b: int, c: int, left: list[int]) -> bool:
    def side(p: Any, q: Any, r: Any) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    A, B, C = outline[a], outline[b], outline[c]
    if side(A, B, C) <= 0:
        return False
    others = (outline[k] for k in left if k not in (a, b, c))
    return not any(side(A, B, p) >= 0 and side(B, C, p) >= 0 and side(C, A, p) >= 0 for p in others)


# -- outlines ----------------------------------------------------------------------------------------------------------


def outline(shape: Any) -> dict[str, Any] | None:
    """A shape in the plane of its body: a circle, a polygon, a line, a half plane; None if it has no extent."""
    at, R = shape.position, shape.rotation
    if isinstance(shape, Point):
        return None
    if isinstance(shape, of_bodies.Sphere):
        return {"circle": shape.radius, "at": _flat(at)}
    if isinstance(shape, HollowSphere):
        return {"ring": shape.radius, "at": _flat(at)}
    if isinstance(shape, Plane):
        return {"half": _flat(R @ shape.outward(True)), "at": _flat(at)}
    if isinstance(shape, of_bodies.Line):
        return {"line": [_flat(at + R @ point) for point in shape.points], "width": float(shape.width)}
    if isinstance(shape, of_bodies.Plate):
        return {"polygon": [_flat(at + R @ np.append(point[:2], 0.0)) for point in shape.outline]}
    found = surface(shape)
    if found is None:
        return None
    _, factors, solid = found
    points = (solid.vertices * factors) @ R.T + at
    return {"polygon": [_flat(point) for point in hull(points[:, :2])]}


def _flat(point: np.ndarray) -> list[float]:
    return [float(f"{x:.6g}") for x in point[:2]]


def hull(points: np.ndarray) -> np.ndarray:
    """The convex hull of points in the plane, counterclockwise.

    >>> hull(np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 0.5)])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    ordered = np.unique(np.round(points, 12), axis=0)

    def half(one: np.ndarray) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        for p in one:
            while len(found) > 1 and _turn(found[-2], found[-1], p) <= 0:
                found.pop()
            found.append(p)
        return found

    if len(ordered) < 3:
        return ordered
    return np.array([*half(ordered)[:-1], *half(ordered[::-1])[:-1]])


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
