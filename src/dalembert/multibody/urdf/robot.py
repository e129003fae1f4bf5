"""What a robot description says, in neutral terms: links, joints in a tree, joints that close loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.multibody.placement import fixed
from dalembert.multibody.shapes import Shape

#: joints with one coordinate
SINGLE = ("revolute", "continuous", "prismatic")


#: the rotation of most frames, which is quicker to recognize than to multiply with
UNTURNED = fixed(np.eye(3))


class Pose(NamedTuple):
    """Where a frame is in another one: its origin, and its axes as columns."""

    xyz: np.ndarray = fixed(np.zeros(3))
    rotation: np.ndarray = UNTURNED

    def of(self, inner: Pose) -> Pose:
        """A pose in this frame, seen from outside.

        >>> Pose(np.array([1.0, 0, 0])).of(Pose(np.array([0, 2.0, 0]))).xyz.tolist()
        [1.0, 2.0, 0.0]
        """
        return Pose(self.xyz + self.rotation @ inner.xyz, self.rotation @ inner.rotation)

    def back(self) -> Pose:
        """The outer frame, seen from this one."""
        return Pose(-self.rotation.T @ self.xyz, self.rotation.T)


@dataclass(frozen=True, eq=False, kw_only=True)
class Link:
    """A rigid body. Inertia is about the centre of mass, in the link's axes."""

    name: str
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: fixed(np.zeros(3)))
    inertia: np.ndarray = field(default_factory=lambda: fixed(np.zeros((3, 3))))
    shapes: tuple[Shape, ...] = ()
    plausible: bool = True  # whether a body with this inertia can exist
    line: int | None = None

    @property
    def massless(self) -> bool:
        return self.mass == 0 and not self.inertia.any()


class Mimic(NamedTuple):
    """A joint follows another: q = multiplier · q of `joint` + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """A joint of the tree. `origin` is its frame on the parent, and at coordinate zero the frame of the child.

    `type` is one of revolute, continuous, prismatic, fixed, floating, planar, spherical.
    """

    name: str
    type: str
    parent: str
    child: str
    origin: Pose = field(default_factory=Pose)
    axis: np.ndarray = field(default_factory=lambda: fixed(np.array([1.0, 0.0, 0.0])))
    limits: tuple[float, float] | None = None
    effort: float | None = None
    velocity: float | None = None
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    line: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Loop:
    """A joint between two links that joints of the tree connect already; None stands for the ground.

    `type` is one of revolute, prismatic, cylindrical, universal, spherical, planar, fixed. Both poses are the joint's
    frame, on either link; `axis` is given in this frame.
    """

    name: str
    type: str
    first: str | None
    second: str | None
    first_pose: Pose = field(default_factory=Pose)
    second_pose: Pose = field(default_factory=Pose)
    axis: np.ndarray = field(default_factory=lambda: fixed(np.array([1.0, 0.0, 0.0])))
    second_axis: np.ndarray | None = None
    damping: float = 0.0
    line: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """All that a description says. `joints` are in the order of the file; `notes` tells what was doubtful in it."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    loops: tuple[Loop, ...] = ()
    source: str = "URDF"
    notes: tuple[str, ...] = ()

    @computed
    def _links(self) -> Mapping[str, Link]:
        return {link.name: link for link in self.links}

    @computed
    def _joints(self) -> Mapping[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    def link(self, name: str) -> Link:
        """The link of this name."""
        return _named("link", name, self._links)

    def joint(self, name: str) -> Joint:
        """The joint of this name."""
        return _named("joint", name, self._joints)

    @computed
    def root(self) -> str:
        """The link that is no joint's child."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

    @computed
    def outward(self) -> tuple[Joint, ...]:
        """Joints of the tree so that those of a link's parents come before its own."""
        return tuple(outward(self.root, self.joints))

    def poses(self) -> dict[str, Pose]:
        """Where the links are, seen from the root, when all coordinates are zero."""
        found = {self.root: Pose()}
        for joint in self.outward:
            found[joint.child] = found[joint.parent].of(joint.origin)
        return found


def outward(root: str, joints: Iterable[Joint]) -> list[Joint]:
    """Joints that are reached from a link, parents first."""
    leaving: dict[str, list[Joint]] = {}
    for joint in joints:
        leaving.setdefault(joint.parent, []).append(joint)
    found, waiting = [], [root]
    while waiting:
        own = leaving.pop(waiting.pop(), ())
        found.extend(own)
        waiting.extend(joint.child for joint in reversed(own))
    return found


def _named(kind: str, name: str, among: Mapping[str, Link] | Mapping[str, Joint]) -> Link | Joint:
    try:
        return among[name]
    except (KeyError, TypeError):
        known = ", ".join(list(among)[:20]) or "none"
        raise ModelError(f"there is no {kind} {shown(name)}; known: {known}") from None
