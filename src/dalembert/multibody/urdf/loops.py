"""Joints that close loops, which URDF itself does not know, in the ways in which they are commonly written.

==========================================  ==========================================================================
``<loop_joint>`` with link1, link2          Drake until 2018, Isaac Sim (which writes link1 twice); xyz and rpy at the
                                            links
``<loop_joint>`` with parent, child         exporters of CAD systems; parent_origin, child_origin
``<loop>`` with predecessor, successor      URDF+; an origin inside of either
``<constraint>`` with parent, child         proposed for ROS; origins and axes of either
``<drake:ball_constraint>``                 Drake; two points that coincide
``<joint>`` inside of ``<gazebo>``          Gazebo; as in SDFormat: a pose on the child, links where they are at
                                            coordinates zero
==========================================  ==========================================================================
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.multibody.placement import fixed, from_rpy, turning
from dalembert.multibody.urdf.parts import joint_type
from dalembert.multibody.urdf.robot import Loop, Pose, Robot
from dalembert.multibody.urdf.values import LONGEST_NUMBERS, Findings, short
from dalembert.multibody.urdf.xml_tree import Element

KINDS = ("revolute", "continuous", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed")
ENDS = (("link1", "link2"), ("parent", "child"), ("predecessor", "successor"))
TAGS = ("loop_joint", "drake:loop_joint", "loop", "constraint")
BALL = "drake:ball_constraint"
X = fixed(np.array([1.0, 0.0, 0.0]))


def read_loops(root: Element, find: Findings) -> list[Loop]:
    """All loops of the root element but those of Gazebo."""
    loops = []
    for element in root.children:
        if element.tag in TAGS:
            loops.append(_loop(element, find))
        elif element.tag == BALL:
            loops.append(_ball(element, f"ball_constraint_{len(loops) + 1}", find))
        elif element.tag == "coupling":
            name = short(element.attributes.get("name", ""))
            find.note(element.line, f"coupling '{name}'", "couplings of URDF+ are not read; write <mimic> in the joint")
    return [loop for loop in loops if loop is not None]


def check_loops(loops: list[Loop], links: set[str], find: Findings) -> list[Loop]:
    """Both ends of a loop are links; "world" is the ground where no link has this name."""
    checked = []
    for loop in loops:
        where = f"loop '{loop.name}'"
        ends = [None if name == "world" and "world" not in links else name for name in (loop.first, loop.second)]
        for name in ends:
            if name is not None and name not in links:
                find.fault(loop.line, where, f"its end '{name}' is not a link of this robot")
        if ends[0] == ends[1]:
            find.fault(loop.line, where, f"it joins the link '{loop.first}' to itself")
        checked.append(replace(loop, first=ends[0], second=ends[1]))
    return checked


def _loop(element: Element, find: Findings) -> Loop | None:
    ends = _ends(element)
    if ends is None and element.tag == "constraint":  # others use this name for other things
        find.note(element.line, "<constraint>", "it does not name two links and is ignored")
        return None
    name = find.text(element, "name", f"a <{element.tag}>")
    where = f"a <{element.tag}>" if name is None else f"loop '{name}'"
    kind = joint_type(element, where, KINDS, find)
    if ends is None:
        find.fault(element.line, where, "it needs two links: <link1 link=…> and <link2 link=…>, or <parent>, <child>")
        return None
    names = [find.text(end, "link", where) for end in ends]
    poses = [_pose(element, end, first, where, find) for end, first in zip(ends, (True, False), strict=True)]
    axis, second = _axes(element, ends, poses[0], where, find)
    if second is not None and kind not in (None, "universal"):
        # the joint has one axis, which is written on both links: turn the second frame so that they coincide
        poses[1] = Pose(poses[1].xyz, fixed(poses[1].rotation @ turning(axis, second)))
        second = None
    if kind == "universal":
        second = _second_axis(element, axis, second, "<parent_axis> and <child_axis>", where, find)
    if name is None or kind is None or None in names:
        return None
    kind = "revolute" if kind == "continuous" else kind
    return Loop(
        name=name, type=kind, first=names[0], second=names[1], first_pose=poses[0], second_pose=poses[1], axis=axis,
        second_axis=second, line=element.line,
    )  # fmt: skip


def _ends(element: Element) -> list[Element] | None:
    """The elements that name the two links."""
    for tags in ENDS:
        found = [child for child in element.children if child.tag in tags]
        if tags[0] == "link1" and len(found) == 2:  # both may be called link1
            return found
        if len(found) == 2 and [child.tag for child in sorted(found, key=lambda end: tags.index(end.tag))] == [*tags]:
            return sorted(found, key=lambda end: tags.index(end.tag))
    return None


def _pose(element: Element, end: Element, first: bool, where: str, find: Findings) -> Pose:
    """The joint's frame on one of the links."""
    if {"xyz", "rpy", "quat_xyzw"} & set(end.attributes):
        return find.pose(end, where)
    inside = end.first("origin") or element.first(f"{end.tag}_origin")
    if inside is None and first:  # as in joints of the tree: on the parent, and the child's frame is the joint's
        inside = element.first("origin")
    return find.pose(inside, where)


def _axes(
    element: Element, ends: list[Element], pose: Pose, where: str, find: Findings
) -> tuple[np.ndarray, np.ndarray | None]:
    """The axis on the first link and, where it is given, that on the second, each in the joint's frame there."""
    on_first, on_second = (element.first(f"{end.tag}_axis") for end in ends)
    if on_first is not None and on_second is not None:
        return find.axis(on_first, where), find.axis(on_second, where)
    axis = element.first("axis") or on_first or on_second
    direction = find.axis(axis, where)
    if axis is not None and axis.attributes.get("frame") == "parent":  # axes of the link, not of the joint
        direction = fixed(pose.rotation.T @ direction)
    return direction, None


def _second_axis(
    element: Element, axis: np.ndarray, second: np.ndarray | None, tags: str, where: str, find: Findings
) -> np.ndarray | None:
    """The second axis of a universal joint, at a right angle to the first to the last digit."""
    if second is None:
        find.fault(element.line, where, f"a universal joint needs two axes: {tags}")
        return None
    along = float(axis @ second)
    if abs(along) > 1e-5:
        find.fault(
            element.line, where, f"the axes of a universal joint must be perpendicular; their cosine is {along:g}"
        )
        return None
    second = second - along * axis
    return fixed(second / np.linalg.norm(second))


def _ball(element: Element, name: str, find: Findings) -> Loop | None:
    where = f"<{BALL}>"
    parts = {}
    for part in ("body_A", "body_B", "p_AP", "p_BQ"):
        parts[part] = found = element.first(f"{BALL}_{part}")
        if found is None:
            find.fault(element.line, where, f"it has no <{BALL}_{part}>")
    if None in parts.values():
        return None
    names = [find.text(parts[part], "name", where) for part in ("body_A", "body_B")]
    points = []
    for part in ("p_AP", "p_BQ"):
        given = find.text(parts[part], "value", where, LONGEST_NUMBERS)
        points.append(None if given is None else find.vector(parts[part], "value", where))
    if None in names or None in points:
        return None
    first, second = (Pose(fixed(np.array(point))) for point in points)
    return Loop(
        name=short(element.attributes.get("name", "")) or name, type="spherical", first=names[0], second=names[1],
        first_pose=first, second_pose=second, line=element.line,
    )  # fmt: skip


# -- Gazebo ----------------------------------------------------------------------------------------------------------


def read_gazebo(root: Element, robot: Robot, find: Findings) -> list[Loop]:
    """Joints that <gazebo> adds to the robot; those inside of plugins are no joints."""
    found = [
        joint
        for gazebo in root.all("gazebo")
        for joint in gazebo.all("joint")
        if joint.first("parent") is not None and joint.first("child") is not None
    ]
    if not found:
        return []
    at_zero = robot.poses()
    loops = [_gazebo_joint(element, at_zero, find) for element in found]
    return [loop for loop in loops if loop is not None]


def _gazebo_joint(element: Element, at_zero: dict[str, Pose], find: Findings) -> Loop | None:
    name = find.text(element, "name", "a <joint> of <gazebo>")
    where = "a <joint> of <gazebo>" if name is None else f"loop '{name}'"
    kind = joint_type(element, where, KINDS, find)
    ends = [element.first(tag).text for tag in ("parent", "child")]
    for end in ends:
        if end not in at_zero and end != "world":
            find.fault(element.line, where, f"its end '{short(end)}' is not a link of this robot")
    given, on_child = element.first("pose"), Pose()
    if given is not None and given.text:
        if {"relative_to", "frame"} & set(given.attributes):
            find.fault(given.line, where, "<pose> is relative to another frame; give it on the child")
        numbers = find.numbers(given, "text", given.text, where, 6)
        if numbers is not None:
            on_child = Pose(fixed(np.array(numbers[:3])), fixed(from_rpy(*numbers[3:])))
    if name is None or kind is None or any(end not in at_zero and end != "world" for end in ends):
        return None
    parent, child = (at_zero.get(end, Pose()) for end in ends)
    joint = child.of(on_child)
    axis, second = (_gazebo_axis(element.first(tag), joint, where, find) for tag in ("axis", "axis2"))
    axis = X if axis is None else axis
    if kind == "universal":
        second = _second_axis(element, axis, second, "<axis> and <axis2>", where, find)
    return Loop(
        name=name, type="revolute" if kind == "continuous" else kind, first=ends[0], second=ends[1],
        first_pose=parent.back().of(joint), second_pose=on_child, axis=axis,
        second_axis=second if kind == "universal" else None, line=element.line,
    )  # fmt: skip


def _gazebo_axis(axis: Element | None, joint: Pose, where: str, find: Findings) -> np.ndarray | None:
    """An axis in the joint's frame; SDFormat may give it in that of the whole model."""
    written = None if axis is None else axis.first("xyz")
    if written is None:
        return None
    found = find.direction(written, find.numbers(written, "text", written.text, where, 3), where)
    flag = axis.first("use_parent_model_frame")
    of_model = written.attributes.get("expressed_in") == "__model__" or (
        flag is not None and flag.text.lower() in ("1", "true")
    )
    return fixed(joint.rotation.T @ found) if found is not None and of_model else found
