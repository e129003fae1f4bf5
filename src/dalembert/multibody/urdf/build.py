"""Bodies and joints of a `Multibody`, from a robot that was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.checks import NoNumber, flag, shown
from dalembert.errors import ModelError, OptionError, UrdfError
from dalembert.multibody.placement import about, turning
from dalembert.multibody.urdf.checks import leaders_first, rigid_with_root, unheld
from dalembert.multibody.urdf.robot import SINGLE, UNTURNED, Joint, Link, Loop, Pose, Robot

Z = np.array([0.0, 0.0, 1.0])


class Built(NamedTuple):
    """What was built: bodies by names of links, joints (also loops) by their names in the file."""

    bodies: dict[str, Any]
    joints: dict[str, Any]


def build(
    robot: Robot,
    multibody: Any,
    *,
    fixed_base: bool = True,
    base: Any = None,
    prefix: str = "",
    damping: bool = True,
    friction: bool = False,
    mimic: bool = True,
    loops: bool = True,
    massless: str = "error",
) -> Built:
    """Add the bodies and joints of a robot to a spatial `Multibody`.

    Names stay as they are in the file, but dots become underscores, and a joint that is called like a link gets
    ``_joint`` behind its name. Greatest efforts and velocities of joints are in the `Robot` and not used.

    Parameters
    ----------
    robot : Robot
        As `read_urdf` gives it.
    multibody : Multibody
        What it is added to.
    fixed_base : bool
        Whether the root link is fixed to the ground; otherwise it moves freely.
    base : Body or Frame, optional
        What the root is fixed to, or free from, in place of the ground.
    prefix : str
        Goes before every name; for several robots in one system.
    damping, friction, mimic, loops : bool
        Whether damping and (smoothed) Coulomb friction of joints, mimics and loops are taken over.
    massless : {"error", "lock", "keep"}
        What to do about joints that move nothing but links without mass, and whose motion is therefore not determined:
        an error that names them, fixed joints in their place, or nothing.
    """
    flags = {"fixed_base": fixed_base, "damping": damping, "friction": friction, "mimic": mimic, "loops": loops}
    fixed_base, damping, friction, mimic, loops = (_flag(name, value) for name, value in flags.items())
    if not isinstance(robot, Robot):
        raise ModelError(f"{shown(robot)} is not a robot; read one with read_urdf")
    if not isinstance(prefix, str):
        raise OptionError(f"prefix={shown(prefix)} must be text")
    if massless not in ("error", "lock", "keep"):
        raise OptionError(f"massless={shown(massless)} must be 'error', 'lock' or 'keep'")
    loose = [] if massless == "keep" else unheld(robot, loops, mimic)
    faults = [_loose(joint, robot) for joint in loose if massless == "error"]
    if not fixed_base and massless != "keep":
        faults += _floating(robot, loops)
    if faults:
        what = "links without mass move freely" if len(faults) > 1 else "a link without mass moves freely"
        raise UrdfError(f"{robot.source}: {what}", faults)
    names = _Names(prefix, robot)
    bodies = {link.name: _body(multibody, names.links[link.name], link) for link in robot.links}
    ground = multibody.ground if base is None else base
    start = multibody.fixed if fixed_base else multibody.free
    start(names.root, ground, bodies[robot.root])
    locked = {joint.name for joint in loose}
    at_rest = _at_rest(robot, mimic) if locked else {}
    made = {}
    for joint in robot.outward:
        pair = bodies[joint.parent], bodies[joint.child]
        name = names.joints[joint.name]
        if joint.name in locked:
            made[joint.name] = multibody.fixed(name, *pair, **_locked(joint, at_rest.get(joint.name, 0.0)))
        else:
            made[joint.name] = _joint(multibody, name, *pair, joint, damping)
    for joint in robot.joints:
        if joint.name in locked or joint.type not in SINGLE:
            continue
        name = names.joints[joint.name]
        if mimic and joint.mimic is not None:
            other, ratio, offset = joint.mimic
            multibody.coupling(names.new(f"{name}_mimic"), made[joint.name], made[other], ratio=ratio, offset=offset)
        if friction and joint.friction:
            multibody.friction(names.new(f"{name}_friction"), made[joint.name], joint.friction)
    for loop in robot.loops if loops else ():
        pair = (ground if end is None else bodies[end] for end in (loop.first, loop.second))
        made[loop.name] = _loop(multibody, names.joints[loop.name], *pair, loop)
    return Built(bodies, made)


def _flag(name: str, value: Any) -> bool:
    try:
        return flag(value)
    except NoNumber as reason:
        raise OptionError(f"{name}={shown(value)} {reason}") from None


# -- names -----------------------------------------------------------------------------------------------------------


class _Names:
    """Names of links and joints that a `Multibody` takes: without dots, and each given once among all."""

    def __init__(self, prefix: str, robot: Robot):
        self.prefix, self.taken = prefix, {"ground": 1}  # and how often each was asked for
        self.links = {link.name: self.new(link.name) for link in robot.links}
        named = [part.name for part in (*robot.joints, *robot.loops)]
        wanted = [f"{name}_joint" if self._clean(name) in self.taken else name for name in named]
        self.joints = dict(zip(named, map(self.new, wanted), strict=True))
        self.root = self.new(f"{robot.root}_base")
        self.prefix = ""  # what comes now is made of names that have it already

    def _clean(self, name: str) -> str:
        return self.prefix + name.replace(".", "_")

    def new(self, name: str) -> str:
        """This name, or one like it that is free."""
        clean = found = self._clean(name)
        while found in self.taken:
            self.taken[clean] += 1
            found = f"{clean}_{self.taken[clean]}"
        self.taken[found] = 1
        return found


# -- what moves although it has no mass ------------------------------------------------------------------------------


def _loose(joint: Joint, robot: Robot) -> str:
    line = robot.link(joint.child).line
    return (
        f"line {joint.line}, joint '{joint.name}': it moves the link '{joint.child}' (line {line}), and there is no "
        "mass there nor anything else that holds it; give the link an <inertial>, make the joint fixed, or pass "
        "massless='lock'"
    )


def _floating(robot: Robot, loops: bool) -> list[str]:
    """Why the base cannot float."""
    together, leaving = rigid_with_root(robot)
    names = {link.name for link in together}
    tied = loops and any(names & {loop.first, loop.second} for loop in robot.loops)
    if tied or len(leaving) > 1 or any(not link.massless for link in together):
        return []
    root = robot.link(robot.root)
    return [
        f"line {root.line}, link '{root.name}': the base is to move freely, but has no mass; "
        "give it an <inertial>, or pass fixed_base=True"
    ]


def _at_rest(robot: Robot, mimic: bool) -> dict[str, float]:
    """Coordinates that are zero unless mimics say otherwise."""
    q: dict[str, float] = {}
    for joint in leaders_first(robot):
        follows = joint.mimic if mimic else None
        q[joint.name] = 0.0 if follows is None else follows.multiplier * q[follows.joint] + follows.offset
    return q


def _locked(joint: Joint, q: float) -> dict[str, Any]:
    """Where a fixed joint holds the child of a moving one at this coordinate."""
    moved = Pose(q * joint.axis) if joint.type == "prismatic" else Pose(rotation=about(q * joint.axis))
    return _between(joint.origin.of(moved), Pose())


# -- bodies and joints -----------------------------------------------------------------------------------------------


def _body(multibody: Any, name: str, link: Link) -> Any:
    inertia = link.inertia if link.plausible else np.zeros((3, 3))
    body = multibody.body(name, mass=link.mass, inertia=inertia, com=link.com, shape=link.shapes or None)
    if not link.plausible:  # that no body has this inertia was said when the file was read
        body.inertia = tuple(link.inertia[np.triu_indices(3)].tolist())
    return body


def _between(first: Pose, second: Pose, turn: np.ndarray | None = None) -> dict[str, Any]:
    """Arguments that place a joint; `turn` comes before both rotations."""
    turned = [pose.rotation if turn is None else pose.rotation @ turn for pose in (first, second)]
    one, two = (None if rotation is UNTURNED else rotation for rotation in turned)
    return {"at": first.xyz, "rotation": one, "to": second.xyz, "rotation_to": two}


def _joint(multibody: Any, name: str, parent: Any, child: Any, joint: Joint, damping: bool) -> Any:
    place = _between(joint.origin, Pose())
    if joint.type in SINGLE:
        make: Callable = multibody.prismatic if joint.type == "prismatic" else multibody.revolute
        given: dict[str, Any] = {"axis": joint.axis}
        if damping and joint.damping:
            given["damping"] = joint.damping
        if joint.limits is not None:
            given["limits"] = joint.limits
        return make(name, parent, child, **place, **given)
    if joint.type == "planar":  # in the plane at right angles to the axis; its own frame has z there
        return multibody.plane(name, parent, child, **_between(joint.origin, Pose(), turning(Z, joint.axis)))
    make = {"fixed": multibody.fixed, "floating": multibody.free, "spherical": multibody.spherical}[joint.type]
    return make(name, parent, child, **place)


def _loop(multibody: Any, name: str, first: Any, second: Any, loop: Loop) -> Any:
    place = _between(loop.first_pose, loop.second_pose)
    if loop.type == "planar":
        turned = _between(loop.first_pose, loop.second_pose, turning(Z, loop.axis))
        return multibody.plane(name, first, second, **turned)
    axes: dict[str, Sequence[float]] = {}
    if loop.type in ("revolute", "prismatic", "cylindrical", "universal"):
        axes["axis"] = loop.axis
    if loop.type == "universal":
        axes["second_axis"] = loop.second_axis
    return getattr(multibody, loop.type)(name, first, second, **place, **axes)
