"""Shapes of many bodies that collide with each other and with the ground, as arrays: for `MoreauJean`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError
from dalembert.model.shape_kinds import BOX, CAPSULE, HALF_SPACE, SPHERE

#: by the numbers of `shape_kinds`
KINDS = ("sphere", "capsule", "box", "half-space")
GROUND = -1
#: faults that a message lists
_MOST_FAULTS = 20


@dataclass(frozen=True, eq=False)
class Shapes:
    """Shapes of one kind: on which bodies, where, and how large.

    Parameters
    ----------
    kind : {"sphere", "capsule", "box", "half-space"}
        Capsules lie along z of their own axes; a half-space is all below z = 0 of its own, and belongs to the ground.
    body : whole numbers
        Of the body of each shape, −1 for the ground.
    size : (m, 1), (m, 2), (m, 3) or (m, 0)
        Radius; radius and length between the centres of the ends; extents along x, y, z; nothing.
    position : (m, 3)
        Of the centre, relative to the centre of mass, in axes of the body.
    rotation : (m, 3, 3), optional
        Axes of the shapes, as columns.
    """

    kind: str
    body: Any
    size: Any = ()
    position: Any = None
    rotation: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Collisions:
    """Bodies that must not penetrate each other, in absolute coordinates.

    A body has the positions com_x, com_y, com_z, e0, e1, e2, e3 (centre of mass, Euler parameters), one after the
    other from `p_at` on, and the velocities com_x', com_y', com_z', ω_x, ω_y, ω_z in axes of the body from `v_at` on;
    in the plane x, y, angle and their derivatives. `Multibody.collide` makes it of bodies with shapes.

    Parameters
    ----------
    p_at, v_at : (n,) whole numbers
        Where positions and velocities of each body begin.
    mass, inertia : (n,) and (n,), (n, 3) or (n, 3, 3)
        About the centre of mass, in axes of the body; in the plane the moment about z. They must be those of the model.
    shapes : sequence of Shapes
    friction, restitution : float
        Of all contacts.
    ignored : pairs of bodies, optional
        Which may penetrate each other, as those that a joint connects.
    planar : bool
    names : sequence of str, optional
        Of the bodies, for messages.

    Examples
    --------
    Two balls above a floor:

    >>> import numpy as np
    >>> from dalembert.model.collisions import Collisions, Shapes
    >>> balls = Collisions(p_at=[0, 7], v_at=[0, 6], mass=[1.0, 1.0], inertia=[0.1, 0.1], friction=0.3, shapes=[
    ...     Shapes("sphere", [0, 1], [[0.5], [0.5]]), Shapes("half-space", [-1])])
    >>> balls
    Collisions(2 bodies, 3 shapes)
    """

    p_at: Any
    v_at: Any
    mass: Any
    inertia: Any
    shapes: Sequence[Shapes]
    friction: float = 0.0
    restitution: float = 0.0
    ignored: Any = ()
    planar: bool = False
    names: Sequence[str] | None = None
    shape_body: np.ndarray = field(init=False, repr=False)
    shape_kind: np.ndarray = field(init=False, repr=False)
    shape_position: np.ndarray = field(init=False, repr=False)
    shape_rotation: np.ndarray = field(init=False, repr=False)
    shape_size: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        faults: list[str] = []

        def put(name: str, value: Any) -> None:
            if isinstance(value, np.ndarray):
                value = np.ascontiguousarray(value)
                value.flags.writeable = False
            object.__setattr__(self, name, value)

        mass = _numbers("mass", self.mass, 1, faults)
        n = len(mass)
        put("mass", mass)
        put("inertia", _inertia(self.inertia, n, self.planar, faults))
        for name in ("p_at", "v_at"):
            put(name, _wholes(name, getattr(self, name), faults))
            if len(getattr(self, name)) != n:
                faults.append(f"{name}= has {len(getattr(self, name))} values for {n} bodies")
        for name, most in (("friction", np.inf), ("restitution", 1.0)):
            put(name, _coefficient(name, getattr(self, name), most, faults))
        put("names", tuple(self.names) if self.names is not None else tuple(f"body {i + 1}" for i in range(n)))
        if len(self.names) != n:
            faults.append(f"names= has {len(self.names)} values for {n} bodies")
        bad = np.flatnonzero(~((mass > 0) & np.isfinite(mass)))
        faults.extend(f"mass={mass[i]:g} of '{_named(self.names, i)}' must be positive" for i in bad[:_MOST_FAULTS])
        moments = np.diagonal(self.inertia, axis1=1, axis2=2)[:, 2 if self.planar else 0 :]
        bad = np.flatnonzero(~(moments > 0).all(axis=1)) if len(self.inertia) == n else []
        faults.extend(f"inertia of '{_named(self.names, i)}' must be positive" for i in bad[:_MOST_FAULTS])
        tables = [_table(shapes, n, self.planar, self.names, faults) for shapes in self.shapes]
        ignored = np.array(list(self.ignored), np.int64).reshape(-1, 2) if not faults else np.zeros((0, 2), np.int64)
        put("ignored", ignored)
        if faults:
            raise ModelError("Collisions have faults", faults)
        tables = [table for table in tables if table is not None]
        columns = zip(*tables, strict=True) if tables else [np.zeros(0, np.int64)] * 5
        names = ("shape_body", "shape_kind", "shape_position", "shape_rotation", "shape_size")
        for name, parts in zip(names, columns, strict=True):
            put(name, np.concatenate(parts) if tables else parts)

    def __repr__(self) -> str:
        return f"Collisions({len(self.mass)} bodies, {sum(len(shapes.body) for shapes in self.shapes)} shapes)"

    def bounds(self) -> np.ndarray:
        """Radii of balls about the centres of shapes that hold them; 0 for half-spaces."""
        size, kind = self.shape_size, self.shape_kind
        box = np.linalg.norm(size[:, : 2 if self.planar else 3], axis=1)
        return np.select(
            [kind == SPHERE, kind == CAPSULE, kind == BOX], [size[:, 0], size[:, 0] + size[:, 1], box], 0.0
        )

    def ignored_keys(self) -> np.ndarray:
        """Pairs that do not collide, as sorted numbers."""
        low, high = self.ignored.min(axis=1, initial=2**62), self.ignored.max(axis=1, initial=-1)
        return np.unique(low * len(self.mass) + high)


def _named(names: Sequence[str], i: int) -> str:
    return names[i] if i < len(names) else f"body {i + 1}"


def _numbers(name: str, given: Any, ndim: int, faults: list[str]) -> np.ndarray:
    try:
        numbers = reals(given)
    except NoNumber as reason:
        faults.append(f"{name}={shown(given)} {reason}")
        return np.zeros((0,) * ndim)
    if numbers.ndim != ndim or not np.isfinite(numbers).all():
        faults.append(f"{name}={shown(given)} must be an array of finite numbers with {ndim} axes")
        return np.zeros((0,) * ndim)
    return numbers


def _wholes(name: str, given: Any, faults: list[str]) -> np.ndarray:
    numbers = _numbers(name, given, 1, faults)
    if (numbers != np.floor(numbers)).any():
        faults.append(f"{name}={shown(given)} must be whole numbers")
    return numbers.astype(np.int64)


def _coefficient(name: str, given: Any, most: float, faults: list[str]) -> float:
    try:
        value = real(given)
    except NoNumber as reason:
        faults.append(f"{name}={shown(given)} {reason}")
        return 0.0
    if not 0 <= value <= most or not np.isfinite(value):
        bound = "lie between 0 and 1" if most == 1.0 else "be finite and not negative"
        faults.append(f"{name}={value:g} must {bound}")
        return 0.0
    return value


def _inertia(given: Any, n: int, planar: bool, faults: list[str]) -> np.ndarray:
    try:
        J = reals(given)
    except NoNumber as reason:
        faults.append(f"inertia={shown(given)} {reason}")
        return np.zeros((n, 3, 3))
    if J.shape == (n,):
        return J[:, None, None] * np.eye(3)
    if J.shape == (n, 3) and not planar:
        return J[:, :, None] * np.eye(3)
    if J.shape == (n, 3, 3):
        return J
    faults.append(f"inertia= has the shape {J.shape}; {n} bodies need ({n},), ({n}, 3) or ({n}, 3, 3)")
    return np.zeros((n, 3, 3))


def _table(shapes: Any, n: int, planar: bool, names: Sequence[str], faults: list[str]) -> tuple[np.ndarray, ...] | None:
    """Columns of shapes of one kind: body, kind, position, rotation, size."""
    if not isinstance(shapes, Shapes) or shapes.kind not in ("sphere", "capsule", "box", "half-space"):
        faults.append(f"shapes: {shown(shapes)} must be Shapes of spheres, capsules, boxes or half-spaces")
        return None
    found, kind = len(faults), KINDS.index(shapes.kind)
    what = f"shapes ({shapes.kind})"
    body = _wholes(f"{what}: body", shapes.body, faults)
    m, width = len(body), {SPHERE: 1, CAPSULE: 2, BOX: 3, HALF_SPACE: 0}[kind]
    size = np.zeros((m, 3))
    given = _numbers(f"{what}: size", shapes.size, 2, faults) if width else np.zeros((m, 0))
    position = (
        np.zeros((m, 3)) if shapes.position is None else _numbers(f"{what}: position", shapes.position, 2, faults)
    )
    rotation = np.eye(3) + np.zeros((m, 3, 3))
    if shapes.rotation is not None:
        rotation = _numbers(f"{what}: rotation", shapes.rotation, 3, faults)
    for name, array, shape in (
        ("size", given, (m, width)),
        ("position", position, (m, 3)),
        ("rotation", rotation, (m, 3, 3)),
    ):
        if array.shape != shape and len(faults) == found:
            faults.append(f"{what}: {name} has the shape {array.shape}, not {shape}")
    if len(faults) > found:
        return None
    wrong = np.flatnonzero((body < GROUND) | (body >= n))
    faults.extend(f"{what}: there is no body {body[i]}" for i in wrong[:_MOST_FAULTS])
    if kind == HALF_SPACE and (body != GROUND).any():
        faults.append(f"{what}: half-spaces belong to the ground, body −1")
    small = np.flatnonzero((given < 0).any(axis=1) | ((given[:, :1] <= 0).any(axis=1) & (kind != BOX)))
    faults.extend(f"{what}: size={given[i].tolist()} must be positive" for i in small[:_MOST_FAULTS])
    if len(faults) > found:
        return None
    size[:, :width] = given
    if kind == CAPSULE:
        size[:, 1] *= 0.5
    if kind == BOX:
        size *= 0.5
    return body, np.full(m, kind), position, rotation, size


def container(low: Iterable[float], high: Iterable[float], *, open_top: bool = True) -> Shapes:
    """Walls of the ground around a box from `low` to `high`: half-spaces, five of them if it is open at the top.

    >>> len(container((0, 0, 0), (1, 1, 2)).body)
    5
    """
    low, high = np.array(list(low), float), np.array(list(high), float)
    points, normals = [], []
    for axis in range(3):
        for at, sign in ((low, 1.0), (high, -1.0)):
            if axis == 2 and sign < 0 and open_top:
                continue
            points.append(at)
            normals.append(sign * np.eye(3)[axis])
    return half_spaces(points, normals)


def half_spaces(points: Any, normals: Any) -> Shapes:
    """Half-spaces of the ground through these points, below planes with these normals."""
    points, z = np.atleast_2d(np.array(points, float)), np.atleast_2d(np.array(normals, float))
    z = z / np.linalg.norm(z, axis=1)[:, None]
    x = np.cross(np.eye(3)[np.argmin(np.abs(z), axis=1)], z)
    x /= np.linalg.norm(x, axis=1)[:, None]
    rotation = np.stack([x, np.cross(z, x), z], axis=2)
    return Shapes("half-space", np.full(len(z), GROUND), position=points, rotation=rotation)
