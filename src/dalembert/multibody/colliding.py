"""`Multibody.collide`: bodies with shapes that must not penetrate each other, as arrays for time stepping."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.model.collisions import GROUND, Collisions, Shapes, container, half_spaces
from dalembert.multibody.parts import Body
from dalembert.multibody.quantities import Parameter
from dalembert.multibody.shapes import Box, Capsule, Shape, Sphere

if TYPE_CHECKING:
    from dalembert.multibody.skeleton import Skeleton
    from dalembert.multibody.system import Multibody

#: shapes that collide: their kind, and their size as `Shapes` has it
_COLLIDING = {
    Sphere: ("sphere", lambda shape: (shape.radius,)),
    Capsule: ("capsule", lambda shape: (shape.radius, shape.length)),
    Box: ("box", lambda shape: tuple(shape.size)),
}


@dataclass(frozen=True)
class Colliders:
    """What `collide` was told."""

    bodies: tuple[Body, ...]
    friction: Any
    restitution: Any
    ground: tuple[Shapes, ...]
    fixed: tuple[Shape, ...]
    ignore: tuple[tuple[Body, Body], ...]


class Colliding:
    """The part of `Multibody` that is about collisions."""

    planar: bool
    bodies: list[Body]
    ground: Body
    colliders: Colliders | None = None

    def collide(
        self,
        bodies: Sequence[Body] | None = None,
        *,
        friction: Any = 0.0,
        restitution: Any = 0.0,
        planes: Iterable[Any] = (),
        inside: Any = None,
        ground: Any = (),
        ignore: Iterable[Any] = (),
    ) -> None:
        """Let bodies collide with each other and with the ground: for free bodies, and the method `MoreauJean`.

        Spheres, capsules and boxes collide. Two boxes touch along a face of one of them; where edges cross each other,
        normals are those of the nearest face.

        Parameters
        ----------
        bodies : sequence of bodies, optional
            Default: all that have a shape.
        friction, restitution : float
            Of all contacts.
        planes : pairs (point, normal)
            Bodies stay on the side of these planes to which the normals point.
        inside : (low, high)
            Two corners of a box, open at the top, that holds the bodies.
        ground : shape or shapes
            Of the ground, besides those it has.
        ignore : pairs of bodies
            That may penetrate each other, besides those that a joint connects.

        Examples
        --------
        >>> import dalembert as da
        >>> mb = da.Multibody()
        >>> for i in range(3):
        ...     place = (0.1 * i, 0.0, 1 + 1.2 * i)
        ...     ball = mb.body(f"ball{i}", mass=1.0, inertia=0.1, shape=da.Sphere(0.5), position=place)
        >>> mb.collide(friction=0.3, restitution=0.5, planes=[((0, 0, 0), (0, 0, 1))])
        >>> model = mb.equations("absolute")
        >>> model.collisions
        Collisions(3 bodies, 4 shapes)
        >>> sol = da.simulate(model, (0, 1), method=da.MoreauJean(h=1e-3))
        >>> bool(sol["ball0.com_z"].min() > 0.49)
        True
        """
        what = "collide"
        chosen = [body for body in self.bodies if body.shape is not None] if bodies is None else list(bodies)
        for body in chosen:
            if not isinstance(body, Body) or body.system is not self or body.is_ground:
                raise ModelError(f"{what}: {shown(body)} is not a body of this system")
            if body.shape is None:
                raise ModelError(f"{what}: body '{body.name}' has no shape: give it one, e.g. shape=da.Sphere(0.1)")
            for shape in _several(body.shape):
                _must_collide(f"body '{body.name}'", shape)
        if not chosen:
            raise ModelError(f"{what}: no body has a shape: give them, e.g. mb.body(..., shape=da.Sphere(0.1))")
        fixed = (*_several(self.ground.shape), *_several(ground))
        for shape in fixed:
            _must_collide("the ground", shape)
        walls = [container(*_corners(inside, self.planar))] if inside is not None else []
        pairs = [_plane(plane, self.planar) for plane in planes]
        if pairs:
            walls.append(half_spaces(*zip(*pairs, strict=True)))
        ignored = []
        for pair in ignore:
            pair = tuple(pair)
            if len(pair) != 2 or any(not isinstance(b, Body) or b.system is not self for b in pair):
                raise ModelError(f"{what}: ignore={shown(pair)} must be pairs of bodies of this system")
            ignored.append(pair)
        self.colliders = Colliders(tuple(chosen), friction, restitution, tuple(walls), fixed, tuple(ignored))


def _several(shape: Any) -> tuple[Any, ...]:
    return () if shape is None else (shape,) if isinstance(shape, Shape) else tuple(shape)


def _must_collide(where: str, shape: Any) -> None:
    if type(shape) not in _COLLIDING:
        raise ModelError(
            f"collide: {where} has a {type(shape).__name__}, for which collisions are not computed; give it spheres, "
            "capsules or boxes"
        )


def _vector(what: str, given: Any, planar: bool) -> np.ndarray:
    try:
        vector = np.array([float(x) for x in given])
    except (TypeError, ValueError):
        vector = np.zeros(0)
    if planar and vector.shape == (2,):
        vector = np.append(vector, 0.0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ModelError(f"collide: {what}={shown(given)} must be {2 if planar else 3} finite numbers")
    return vector


def _plane(given: Any, planar: bool) -> tuple[np.ndarray, np.ndarray]:
    try:
        point, normal = given
    except (TypeError, ValueError):
        raise ModelError(f"collide: planes={shown(given)} must be pairs (point, normal)") from None
    point, normal = _vector("planes", point, planar), _vector("planes", normal, planar)
    if not normal.any():
        raise ModelError(f"collide: the normal of a plane is undefined: planes={shown(given)}")
    return point, normal


def _corners(given: Any, planar: bool) -> tuple[np.ndarray, np.ndarray]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise ModelError(f"collide: inside={shown(given)} must be two corners of a box (low, high)") from None
    low, high = _vector("inside", low, planar), _vector("inside", high, planar)
    if not (low <= high).all():
        raise ModelError(f"collide: inside={shown(given)}: the first corner must be the lower one")
    return low, high


def collisions(system: Multibody, bones: Skeleton) -> Collisions | None:
    """The arrays, for coordinates in which every colliding body has its own."""
    told = system.colliders
    if told is None:
        return None
    for body in told.bodies:
        link = bones.link_of[body.number]
        if body.number not in bones.own or np.any(bones.com[link] != 0.0):
            raise ModelError(
                f"body '{body.name}' collides, but has no coordinates of its own: take coordinates='absolute', and do "
                "not fix it to another body"
            )
        if any(type(x) is Parameter for x in (body.mass, *body.inertia, *body.com)):
            raise ModelError(f"body '{body.name}' collides: its mass and inertia must be numbers, not parameters")
    first = np.array([bones.own[body.number] for body in told.bodies])
    links = np.array([bones.link_of[body.number] for body in told.bodies])
    number = {body.number: i for i, body in enumerate(told.bodies)}
    groups: dict[str, list[tuple]] = {}
    for body in (*told.bodies, None):
        shapes = told.fixed if body is None else _several(body.shape)
        com = (0.0, 0.0, 0.0) if body is None else body.com
        place = GROUND if body is None else number[body.number]
        for shape in shapes:
            kind, size = _COLLIDING[type(shape)]
            groups.setdefault(kind, []).append((place, size(shape), shape.position - com, shape.rotation))
    shapes = [
        Shapes(
            kind,
            *(np.array(column, float) if i else np.array(column) for i, column in enumerate(zip(*rows, strict=True))),
        )
        for kind, rows in groups.items()
    ]
    joined = [(joint.first.body, joint.second.body) for joint in system.joints]
    pairs = [
        (number[a.number], number[b.number]) for a, b in (*told.ignore, *joined) if {a.number, b.number} <= set(number)
    ]
    return Collisions(
        p_at=bones.q_at[first], v_at=bones.v_at[first], mass=bones.mass[links], inertia=bones.inertia[links],
        shapes=[*shapes, *told.ground], friction=told.friction, restitution=told.restitution, ignored=pairs,
        planar=system.planar, names=[body.name for body in told.bodies],
    )  # fmt: skip
