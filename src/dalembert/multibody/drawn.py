"""What a system of bodies looks like: shapes, sticks where there are none, joints, springs, and forces as arrows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.draw.parts import Arrow, Body, Dot, Fixed, Link, Part, Path, Pin, Spring, Trace, counted
from dalembert.draw.sketch import Layout, OnBody
from dalembert.errors import DalembertError
from dalembert.kept import computed
from dalembert.model.travel import Carried, Shared
from dalembert.multibody import elements
from dalembert.multibody.boundaries import Plane, Point
from dalembert.multibody.parts import Frame
from dalembert.multibody.poses import Poses
from dalembert.multibody.quantities import values_of
from dalembert.multibody.shapes import Shape

if TYPE_CHECKING:
    from dalembert.model.graph import Graph
    from dalembert.multibody.system import Multibody

#: joints that hold a point, which is drawn
HINGES = ("revolute", "universal", "spherical")
#: joints up to which their forces can be shown: each is an expression of the whole system
MOST_FORCES = 12
#: contacts up to which theirs are shown
MOST_CONTACTS = 60


class BodiesSketch(Shared):
    """The drawing of a `Multibody` in the coordinates that follow from `own`; see `draw.sketch.Sketch`.

    Poses of bodies are entries 0, 1 (body 0), 2, 3 (body 1) and so on; all else is fixed to them.
    """

    given = None

    def __init__(self, system: Multibody, own: set[int] | None):
        self.system, self.own = system, own

    def __repr__(self) -> str:
        return f"Drawing({counted(self.layout.parts)})"

    def __reduce__(self) -> tuple:
        return BodiesSketch, (Carried(self.system, "description of a Multibody"), self.own)

    def bound(self, graph: Graph) -> BodiesSketch:
        """Nothing of it stands in a graph."""
        return self

    # -- what there is ---------------------------------------------------------------------------------------------

    @computed
    def _forces(self) -> list[tuple[str, str, str]]:
        """Names of outputs: where forces act, their vectors, and the kind of arrow."""
        found = []
        if len(self.system.contacts) <= MOST_CONTACTS:
            found += [(f"{pair.name}.point", f"{pair.name}.force", "contact") for pair in self.system.contacts]
        return found

    @computed
    def _joint_forces(self) -> list[Any]:
        joints = [joint for joint in self.system.joints if joint.kind.freedoms < (3 if self.system.planar else 6)]
        return joints if len(joints) <= MOST_FORCES and not self.system.contacts else []

    @computed
    def layout(self) -> Layout:
        system = self.system
        surfaces = self._surfaces()
        bodies = [
            Body(
                at=2 * body.number,
                angle=2 * body.number + 1 if system.planar else None,
                rotation=None if system.planar else 2 * body.number + 1,
                shape=(*_several(body.shape), *surfaces.get(body.number, ())),
                name=body.name,
            )
            for body in system.bodies
        ]
        parts: list[Part] = [Fixed(shapes) for shapes in (self._ground(surfaces),) if shapes]
        for element in system.elements:
            if isinstance(element, elements.Spring):
                parts.append(Spring(self._on(element.first), self._on(element.second)))
        parts += bodies
        for body in system.bodies:
            if not bodies[body.number].shape:
                parts += self._stick(body)
        for joint in system.joints:
            if joint.kind.name in HINGES:
                grounded = joint.first.body.is_ground or joint.second.body.is_ground
                frame = joint.second if joint.first.body.is_ground else joint.first
                place = self._on(frame)
                parts.append(Pin(place) if grounded and joint.kind.name == "revolute" else Dot(place))
        parts += [Trace(self._on(frame)) for frame in system.markers.values() if not frame.body.is_ground]
        entry = 2 * len(bodies) + 1  # behind that of the ground
        for k, (_, vector, kind) in enumerate(self._forces):
            parts.append(Arrow(entry + 2 * k, entry + 2 * k + 1, kind, name=vector))
        entry += 2 * len(self._forces)
        for k, joint in enumerate(self._joint_forces):
            parts.append(Arrow(self._on(joint.second), entry + k, "force", name=f"{joint.name}.force"))
        layout = Layout(tuple(parts), tuple(bodies), _up(system), planar=system.planar)
        return dataclasses.replace(layout, quiet=("force",))

    def _on(self, frame: Frame) -> OnBody:
        return OnBody(frame.body.number, tuple(map(float, values_of(frame.at))))

    def _surfaces(self) -> dict[int, list[Shape]]:
        """Shapes that were named for contacts only, by number of the body, in its frame."""
        found: dict[int, list[Shape]] = {}
        for frame, shapes in self.system.surfaces:
            own = found.setdefault(frame.body.number, [])
            for shape in shapes:
                if isinstance(shape, Point) or shape in _several(frame.body.shape):
                    continue
                R = np.eye(3) if frame.rotation is None else frame.rotation
                at = np.array(values_of(frame.at)) + R @ shape.position
                moved = dataclasses.replace(shape, position=at, rotation=R @ shape.rotation)
                if not any(_alike(moved, other) for other in own):
                    own.append(moved)
        return found

    def _ground(self, surfaces: Mapping[int, list[Shape]]) -> tuple[Shape, ...]:
        told, shapes = self.system.colliders, [*_several(self.system.ground.shape), *surfaces.get(-1, ())]
        if told is not None:
            shapes += [shape for shape in told.fixed if shape not in shapes]
            for walls in told.ground:
                if walls.kind == "half-space":
                    pairs = zip(walls.position, walls.rotation, strict=True)
                    shapes += [Plane(axes[:, 2], position=point) for point, axes in pairs]
        return tuple(shapes)

    def _stick(self, body: Any) -> list[Part]:
        """A body without shape: bars from its centre of mass to what is attached to it, or one bar between two."""
        frames = [f for joint in self.system.joints for f in (joint.first, joint.second) if f.body is body]
        places = list(dict.fromkeys(self._on(frame) for frame in frames))
        centre = OnBody(body.number, tuple(map(float, values_of(body.com))))
        if len(places) > 2 and self.system.planar:
            middle = np.mean([place.at for place in places], axis=0)
            places.sort(key=lambda place: np.arctan2(place.at[1] - middle[1], place.at[0] - middle[0]))
            return [Path(tuple(places), closed=True, filled=True)]
        if len(places) == 2 and places[0] != places[1]:
            return [Link(*places)]
        return [*(Link(place, centre) for place in places if place != centre), Dot(centre)]

    # -- numbers ---------------------------------------------------------------------------------------------------

    def entries(
        self, view: Any, evaluate: Callable[[Any, str], np.ndarray], parameters: Mapping[str, Any]
    ) -> list[np.ndarray]:
        """Poses of all bodies, then of the ground, then points and vectors of arrows; NaN where these are unknown."""
        from dalembert.multibody.skeleton import skeleton

        system, p = self.system, np.atleast_2d(view.p)
        bones = skeleton(system, self.own, {name: float(parameters[name]) for name in system.parameters})
        n, count = len(system.bodies), len(p)
        link, offset = bones.link_of[:n], np.asarray(bones.body_offset, float)[:n]
        rotation = np.asarray(bones.body_rotation, float)[:n]
        own = np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])
        x, R, angle = np.empty((count, n, 3)), np.empty((count, n, 3, 3)), np.empty((count, n))
        for k in range(count):
            poses = Poses(bones, p[k])
            moves = link >= 0
            turned = np.where(moves[:, None, None], poses.R[link], np.eye(3)) if len(poses.R) else np.eye(3)
            x[k] = np.einsum("nij,nj->ni", np.broadcast_to(turned, (n, 3, 3)), offset)
            x[k, moves] += poses.x[link[moves]]
            R[k] = turned @ rotation
            angle[k] = own
            angle[k, moves] += poses.angle[link[moves]]
        width = 2 if system.planar else 3
        found: list[np.ndarray] = []
        for i in range(n):
            found += [x[:, i, :width], angle[:, i] if system.planar else R[:, i]]
        found.append(np.zeros((count, width)))
        for names in self._forces:
            found += [_or_nothing(lambda name=name: evaluate(None, name), (count, width)) for name in names[:2]]
        for joint in self._joint_forces:
            name = f"{joint.name}.force"
            found.append(_or_nothing(lambda name=name: evaluate(None, name), (count, width)))
        return found


def _or_nothing(evaluate: Callable[[], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Forces that nobody asked for are no reason to fail: methods may do without multipliers."""
    try:
        return evaluate()
    except DalembertError:
        return np.full(shape, np.nan)


def _several(shape: Any) -> tuple[Shape, ...]:
    return () if shape is None else (shape,) if isinstance(shape, Shape) else tuple(shape)


def _alike(one: Shape, other: Shape) -> bool:
    names = [field.name for field in dataclasses.fields(one)]
    return type(one) is type(other) and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _up(system: Multibody) -> str:
    """The axis against gravity; z without any."""
    gravity = np.array(values_of(system.gravity))
    return "xyz"[int(np.argmax(np.abs(gravity)))] if gravity.any() else "z"
