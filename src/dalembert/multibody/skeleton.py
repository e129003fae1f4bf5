"""The tree that a system's coordinates follow: which joints are in it, which are cut, and where bodies sit on it.

A *link* is a frame that one elementary motion moves relative to its parent. A joint is a chain of links, of which the
last carries the second body (or the first, where the tree runs through the joint from its second to its first body).
The link's frame is the joint's frame on the body it carries; that of a body with coordinates of its own is its centre
of mass with the body's axes.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.kinds import COUNTS, FREE_BODY, FREE_PLANAR_BODY, Move
from dalembert.multibody.parts import Body, Frame, Joint
from dalembert.multibody.quantities import Parameter
from dalembert.multibody.system import Multibody

#: of joints that are not in the tree
NEVER = 1000
_UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Carrier(NamedTuple):
    """What moves a body: a joint, run through forwards or backwards, or nothing but its own coordinates."""

    body: int
    joint: Joint | None
    backwards: bool = False


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Links as arrays, parents before children; ground is −1. Arrays hold objects where parameters occur."""

    system: Multibody
    # links
    parent: np.ndarray
    move: np.ndarray
    axis: np.ndarray  # (n, 3)
    rotation: np.ndarray  # (n, 3, 3): frame of the motion on the parent
    offset: np.ndarray  # (n, 3)
    pitch: np.ndarray
    backwards: np.ndarray  # spherical and free motions whose coordinates are those of the parent relative to the link
    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray  # (n, 3, 3) about com
    q_at: np.ndarray
    v_at: np.ndarray
    n_q: int
    n_v: int
    names: tuple[str, ...]  # of coordinates
    rates: tuple[str, ...]
    # bodies and joints
    carriers: tuple[Carrier, ...]  # in the order of the tree
    first_link: dict[int, int]  # of each joint in the tree with coordinates
    link_of: np.ndarray  # of each body; the last entry is that of the ground
    body_rotation: np.ndarray  # pose of the body's frame in that of the link
    body_offset: np.ndarray
    cut: tuple[Joint, ...]
    own: dict[int, int]  # bodies with coordinates of their own → link
    values: Values

    @property
    def n(self) -> int:
        return len(self.parent)

    def in_tree(self, joint: Joint) -> bool:
        return joint.number in self.first_link

    def coordinates_of(self, joint: Joint) -> range:
        """Where the joint's coordinates stand in p."""
        first = int(self.q_at[self.first_link[joint.number]])
        return range(first, first + len(joint.kind.coordinates))

    def rates_of(self, joint: Joint) -> range:
        first = int(self.v_at[self.first_link[joint.number]])
        return range(first, first + joint.kind.freedoms)

    def placement(self, frame: Frame) -> tuple[int, np.ndarray, np.ndarray]:
        """Link, rotation and origin of a frame in the link's frame."""
        number = frame.body.number
        R, x = self.body_rotation[number], self.body_offset[number]
        at = self.values.vectors([frame.at])[0]
        return int(self.link_of[number]), R if frame.rotation is None else R @ frame.rotation, x + R @ at


def skeleton(
    system: Multibody, absolute: Collection[int] | None = (), symbols: Mapping[str, Any] | None = None
) -> Skeleton:
    """Build it.

    Parameters
    ----------
    absolute : collection of int or None
        Numbers of the bodies with coordinates of their own; None for all that can have them.
    symbols : mapping, optional
        What stands for parameters. Default: their values.
    """
    if not system.bodies:
        raise ModelError(f"Multibody '{system.name}' has no bodies; add some with mb.body(...)")
    carriers, cut = _tree(system, absolute)
    return _arrays(system, carriers, cut, Values(symbols if system.parameters else _NONE))


# -- the spanning tree ---------------------------------------------------------------------------------------------


def _tree(system: Multibody, absolute: Collection[int] | None) -> tuple[list[Carrier], list[Joint]]:
    """Grow a tree from the ground: joints of few freedoms first, near to the ground first.

    Fixed joints always belong to it. With absolute coordinates others do only if something counts their turns, or if
    they carry what has no mass.
    """
    n = len(system.bodies)
    at_body: list[list[int]] = [[] for _ in range(n + 1)]
    for number, joint in enumerate(system.joints):
        at_body[joint.first.body.number].append(number)
        at_body[joint.second.body.number].append(number)
    welded = _welded(system)
    own = {body.number for body in system.bodies} if absolute is None else set(absolute)
    own_groups = {welded[body] for body in own} - {welded[-1]}
    if absolute is None:
        own_groups &= {welded[body.number] for body in system.bodies if body.mass != 0.0}
    reached = [False] * (n + 1)
    depth = [0] * (n + 1)
    used: set[int] = set()
    carriers: list[Carrier] = []
    queue: list[tuple[int, int, int, int, int]] = []

    ends = [(joint.first.body.number, joint.second.body.number) for joint in system.joints]
    orders = [_order(system, joint) for joint in system.joints]

    def arrive(body: int) -> None:
        reached[body] = True
        for number in at_body[body]:
            there, other = ends[number]
            if there == body:
                there = other
            if reached[there] or orders[number] == NEVER:
                continue
            if own_groups and orders[number] >= 0 and welded[there] in own_groups:
                continue
            heapq.heappush(queue, (orders[number], depth[body], number, body, there))

    def grow() -> None:
        while queue:
            _, _, number, here, there = heapq.heappop(queue)
            if reached[there]:
                continue
            joint = system.joints[number]
            used.add(number)
            depth[there] = depth[here] + (joint.kind.name != "fixed")
            carriers.append(Carrier(there, joint, ends[number][1] == here))
            arrive(there)

    arrive(-1)  # the ground, last in all arrays
    grow()
    # bodies with coordinates of their own, and those that no joint connects with the ground: the most connected first
    left = [body for body in range(n) if not reached[body]]
    for body in sorted(left, key=lambda b: (welded[b] not in own_groups, -len(at_body[b]), b)):
        if not reached[body]:
            carriers.append(Carrier(body, None))
            depth[body] = 1
            arrive(body)
            grow()
    return carriers, [joint for joint in system.joints if joint.number not in used]


def _order(system: Multibody, joint: Joint) -> int:
    """Which joints come into the tree first: in a loop, one of those with the highest number is cut.

    Negative ones keep their coordinates also where bodies have coordinates of their own. `NEVER`: cut in any case.
    """
    if joint.cut is True:
        return NEVER
    if joint.kind.name == "fixed":
        return -2
    if joint.kept or (joint.counted and not system.planar):  # planar systems can read every angle off the bodies
        return -1
    return joint.kind.freedoms if joint.drive is None and joint.cut is None else 0


def _welded(system: Multibody) -> list[int]:
    """For each body (and the ground, last) the number of the group that fixed joints hold together."""
    group = list(range(len(system.bodies) + 1))

    def root(k: int) -> int:
        while group[k] != k:
            group[k] = k = group[group[k]]
        return k

    for joint in system.joints:
        if joint.kind.name == "fixed" and joint.cut is not True:
            a, b = root(joint.first.body.number % len(group)), root(joint.second.body.number % len(group))
            group[max(a, b)] = min(a, b)
    return [root(k) for k in range(len(group))]


# -- arrays --------------------------------------------------------------------------------------------------------


_NONE: Mapping[str, Any] = {}  # of a system without parameters


class Values:
    """Turns numbers and parameters into entries of arrays: floats, or objects where symbols stand for parameters."""

    def __init__(self, symbols: Mapping[str, Any] | None):
        self.symbols = symbols
        self.dtype = object if symbols else float

    def __call__(self, value: Any) -> Any:
        if type(value) is not Parameter:
            return value
        return self.symbols[value.name] if self.symbols else value.value

    def vectors(self, given: list[tuple], length: int = 3) -> np.ndarray:
        if self.symbols is not _NONE and any(type(x) is Parameter for v in given for x in v):
            given = [tuple(map(self, v)) for v in given]
        array = np.empty((len(given), length), self.dtype)
        if given:
            array[:] = given
        return array


def _rotations(frames: list[Frame]) -> np.ndarray:
    R = np.empty((len(frames), 3, 3))
    R[:] = np.eye(3)
    for k, frame in enumerate(frames):
        if frame.rotation is not None:
            R[k] = frame.rotation
    return R


def _times(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """R x for many."""
    return np.matmul(R, x[:, :, None])[:, :, 0] if len(x) else x


def _arrays(system: Multibody, carriers: list[Carrier], cut: list[Joint], values: Values) -> Skeleton:
    n_bodies = len(system.bodies)
    kind_of = values.dtype

    inner, outer = _ends(system, carriers)
    R_in, R_out = _rotations(inner), _rotations(outer)
    r_in, r_out = (values.vectors([frame.at for frame in frames]) for frames in (inner, outer))

    # where each body sits on its link: of the first body of a chain of fixed ones the joint's frame is the link's
    sits = [-1] * (n_bodies + 1)  # the link of each body
    body_rotation = np.empty((n_bodies + 1, 3, 3))
    body_rotation[:] = np.eye(3)
    body_offset = np.zeros((n_bodies + 1, 3), kind_of)
    bodies = np.array([carrier.body for carrier in carriers], int)
    body_rotation[bodies] = np.swapaxes(R_out, 1, 2)
    body_offset[bodies] = -_times(np.swapaxes(R_out, 1, 2), r_out)

    parent: list[int] = []
    moves: list[int] = []
    axes: list[tuple] = []
    places: list[int] = []  # of the carrier whose inner frame the motion starts from, −1: that of the link before
    pitch: list[Any] = []
    backwards: list[bool] = []
    names: list[str] = []
    rates: list[str] = []
    first_link: dict[int, int] = {}
    own: dict[int, int] = {}
    own_kind = FREE_PLANAR_BODY if system.planar else FREE_BODY
    for k, carrier in enumerate(carriers):
        joint, body = carrier.joint, carrier.body
        if joint is None:
            kind, name = own_kind, system.bodies[body].name
            at, own[body] = -1, len(parent)
        else:
            kind, name = joint.kind, joint.name
            at = sits[inner[k].body.number]
            if kind.moves:
                first_link[joint.number] = len(parent)
        if not kind.moves:  # fixed: sits where the other body sits
            there = inner[k].body.number
            R, x = body_rotation[there], body_offset[there]
            body_offset[body] = x + R @ (r_in[k] + R_in[k] @ body_offset[body])
            body_rotation[body] = R @ R_in[k] @ body_rotation[body]
            sits[body] = at
            continue
        back = carrier.backwards
        for i, (move, which) in enumerate(reversed(kind.moves) if back else kind.moves):
            parent.append(at if i == 0 else len(parent) - 1)
            moves.append(move)
            axis = _UNIT.get(which)
            if axis is None:
                axis = _UNIT["z"] if joint is None else joint.axis if which == "axis" else joint.second_axis
            axes.append((-axis[0], -axis[1], -axis[2]) if back else axis)
            places.append(k if i == 0 else -1)
            pitch.append(values(joint.pitch) if joint is not None else 0.0)
            backwards.append(back and (move is Move.SPHERICAL or move is Move.FREE))
        order = -1 if back and "e0" not in kind.coordinates else 1  # that of the links
        names += [f"{name}.{part}" for part in kind.coordinates[::order]]
        rates += [f"{name}.{part}" for part in kind.rates[::order]]
        sits[body] = len(parent) - 1
    link_of = np.array(sits, int)

    n = len(parent)
    move = np.array(moves, int)
    counts = np.array([COUNTS[Move(m)] for m in range(len(COUNTS))])[move] if n else np.zeros((0, 2), int)
    ends = np.cumsum(counts, axis=0)
    rotation = np.empty((n, 3, 3))
    rotation[:] = np.eye(3)
    offset = np.zeros((n, 3), kind_of)
    starts = np.array(places, int)
    at_joint = np.flatnonzero(starts >= 0)
    k = starts[at_joint]
    inner_body = np.array([frame.body.number for frame in inner], int)[k] if len(k) else np.zeros(0, int)
    rotation[at_joint] = np.matmul(body_rotation[inner_body], R_in[k])
    offset[at_joint] = body_offset[inner_body] + _times(body_rotation[inner_body], r_in[k])
    mass, com, inertia = _masses(system, values, n, link_of, body_rotation, body_offset)
    return Skeleton(
        system, np.array(parent, int), move, np.array(axes, float).reshape(n, 3), rotation, offset,
        np.array(pitch, kind_of), np.array(backwards, bool), mass, com, inertia, ends[:, 0] - counts[:, 0],
        ends[:, 1] - counts[:, 1], int(counts[:, 0].sum()), int(counts[:, 1].sum()), tuple(names), tuple(rates),
        tuple(carriers), first_link, link_of, body_rotation, body_offset, tuple(cut), own, values,
    )  # fmt: skip


def _ends(system: Multibody, carriers: list[Carrier]) -> tuple[list[Frame], list[Frame]]:
    """For each carrier the joint's frames on the body nearer to the root, and on the body carried."""
    inner, outer = [], []
    for carrier in carriers:
        body = system.bodies[carrier.body]
        joint = carrier.joint
        if joint is None:
            inner.append(Frame(system.ground))
            outer.append(Frame(body, body.com))
        else:
            ends = (joint.second, joint.first) if carrier.backwards else (joint.first, joint.second)
            if joint.kind.name == "rolling disc":
                ends = _raised(joint, carrier.backwards)
            inner.append(ends[0])
            outer.append(ends[1])
    return inner, outer


def _raised(joint: Joint, backwards: bool) -> tuple[Frame, Frame]:
    """The frames of a rolling disc, of which the first is moved to the height of its centre."""
    if type(joint.radius) is Parameter and joint.first.at != (0.0, 0.0, 0.0):
        raise ModelError(f"joint '{joint.name}': radius can be a parameter only where at= is left out")
    first = joint.first
    if type(joint.radius) is Parameter:
        at: tuple = (0.0, joint.radius, 0.0)
        if first.rotation is not None:
            raise ModelError(f"joint '{joint.name}': radius can be a parameter only where rotation= is left out")
    else:
        up = np.eye(3)[1] if first.rotation is None else first.rotation[:, 1]
        at = tuple((np.array(first.at, float) + joint.radius * up).tolist())
    raised = Frame(first.body, at, first.rotation)
    return (joint.second, raised) if backwards else (raised, joint.second)


def _masses(
    system: Multibody, values: Values, n: int, link_of: np.ndarray, rotation: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, centre and inertia of each link: those of the bodies on it, put together."""
    bodies: list[Body] = system.bodies
    kind = values.dtype
    m = np.array([values(body.mass) for body in bodies], kind)
    entries = values.vectors([body.inertia for body in bodies], 6)
    J = entries[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
    R, x, at = rotation[:-1], offset[:-1], link_of[:-1]
    c = x + _times(R, values.vectors([body.com for body in bodies]))
    turned = np.array([not np.array_equal(Q, np.eye(3)) for Q in R]) if kind is object else np.ones(len(R), bool)
    J = J.copy()
    J[turned] = np.matmul(np.matmul(R[turned], J[turned]), np.swapaxes(R[turned], 1, 2))
    mass, com, inertia = np.zeros(n, kind), np.zeros((n, 3), kind), np.zeros((n, 3, 3), kind)
    moving = at >= 0
    alone = moving & (np.bincount(at[moving], minlength=max(n, 1))[np.maximum(at, 0)] == 1)
    mass[at[alone]], com[at[alone]], inertia[at[alone]] = m[alone], c[alone], J[alone]
    several = np.flatnonzero(moving & ~alone)
    several = several[np.argsort(at[several], kind="stable")]
    if len(several):
        starts = np.concatenate([[0], np.flatnonzero(np.diff(at[several])) + 1])
        links = at[several[starts]]
        mass[links], com[links], inertia[links] = _together(m[several], c[several], J[several], starts)
    return mass, com, inertia


def _together(m: np.ndarray, c: np.ndarray, J: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mass, centre and inertia of groups of bodies, of which each begins at one of `starts`."""
    total = np.add.reduceat(m, starts)
    some = np.array([x != 0.0 if isinstance(x, float) else True for x in total])
    divisor = total.copy()
    divisor[~some] = 1.0  # without mass the centre is at the origin
    centre = np.add.reduceat(m[:, None] * c, starts, axis=0) / divisor[:, None]
    d = c - np.repeat(centre, np.diff([*starts, len(m)]), axis=0)
    squares = (d * d).sum(axis=1)
    moved = squares[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :]
    return total, centre, np.add.reduceat(J + m[:, None, None] * moved, starts, axis=0)
