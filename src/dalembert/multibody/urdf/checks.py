"""Whether links and joints of a description make a tree, whom mimics follow, and which joints nothing holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dalembert.multibody.urdf.robot import SINGLE, Joint, Link, Robot, outward
from dalembert.multibody.urdf.values import Findings

#: names listed in one message
MOST_NAMES = 8


def check_names(links: Sequence[Link], joints: Sequence[Joint], loops: Sequence, find: Findings) -> None:
    """Names are given once among links, and once among joints of all kinds."""
    for kind, parts in (("link", links), ("joint", [*joints, *loops])):
        known: dict[str, int | None] = {}
        for part in parts:
            if part.name in known:
                find.fault(
                    part.line, f"{kind} '{part.name}'", f"line {known[part.name]} has a {kind} of this name already"
                )
            known.setdefault(part.name, part.line)


def check_tree(links: Sequence[Link], joints: Sequence[Joint], find: Findings) -> None:
    """Every link but one is the child of one joint, and can be reached from that one."""
    before = len(find.faults)
    known = {link.name: link for link in links}
    near = _Near(known)
    holder: dict[str, Joint] = {}
    for joint in joints:
        where = f"joint '{joint.name}'"
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                find.fault(joint.line, where, f"its {role} '{name}' is not a link of this robot{near(name)}")
        if joint.parent == joint.child:
            find.fault(joint.line, where, f"it joins the link '{joint.child}' to itself")
        elif joint.child in holder:
            other = holder[joint.child]
            find.fault(
                joint.line, where,
                f"the link '{joint.child}' is the child of joint '{other.name}' (line {other.line}) already; "
                "what closes a loop is written as <loop_joint>",
            )  # fmt: skip
        holder.setdefault(joint.child, joint)
    roots = [link for link in known.values() if link.name not in holder]
    if len(find.faults) > before:
        return
    if len(roots) > 1:
        find.fault(
            roots[1].line, f"link '{roots[1].name}'",
            f"{len(roots)} links have no parent ({_listed([link.name for link in roots])}); joints must connect all",
        )  # fmt: skip
        return
    reached = {joint.child for root in roots for joint in outward(root.name, joints)}
    lost = [link for link in links if link.name in holder and link.name not in reached]
    if lost:
        circle = _circle(lost[0].name, holder)
        find.fault(
            lost[0].line, f"link '{lost[0].name}'",
            f"parents and children go in a circle ({_listed(circle)}); what closes a loop is written as <loop_joint>",
        )  # fmt: skip


def check_mimics(joints: Sequence[Joint], find: Findings) -> None:
    """Mimics name joints with one coordinate, and do not go in circles."""
    known = {joint.name: joint for joint in joints}
    near = _Near(known)
    done: set[str] = set()
    for joint in joints:
        if joint.mimic is None:
            continue
        where = f"joint '{joint.name}'"
        other = known.get(joint.mimic.joint)
        if other is None:
            find.fault(
                joint.line, where,
                f"it mimics '{joint.mimic.joint}', which is not a joint of this robot{near(joint.mimic.joint)}; "
                "give another name, or pass mimic=False to do without mimics",
            )  # fmt: skip
        elif other.type not in SINGLE:
            find.fault(joint.line, where, f"it mimics '{other.name}', a {other.type} joint, which has no coordinate")
        path: dict[str, None] = {}  # in its order, and quick to ask
        at: Joint | None = joint
        while at is not None and at.mimic is not None and at.name not in done:
            if at.name in path:
                find.fault(joint.line, where, f"mimics go in a circle ({_listed([*path, at.name])})")
                break
            path[at.name] = None
            at = known.get(at.mimic.joint)
        done.update(path)


def unheld(robot: Robot, loops: bool, mimic: bool) -> list[Joint]:
    """Moving joints that carry nothing but massless links, which nothing else holds either.

    Their accelerations are not determined. What holds a joint is mass behind it, a loop (if loops count), or (if mimics
    count) a joint that is held and follows it, or that it follows.
    """
    ends = {name for loop in robot.loops for name in (loop.first, loop.second)} if loops else set()
    heavy = {link.name: not link.massless or link.name in ends for link in robot.links}
    for joint in reversed(robot.outward):
        heavy[joint.parent] |= heavy[joint.child]
    leaders: dict[str, str] = {}
    for joint in leaders_first(robot) if mimic else ():
        leaders[joint.name] = joint.name if joint.mimic is None else leaders[joint.mimic.joint]
    held = {leaders[joint.name] for joint in robot.joints if joint.name in leaders and heavy[joint.child]}
    return [
        joint
        for joint in robot.joints
        if joint.type != "fixed" and not heavy[joint.child] and leaders.get(joint.name) not in held
    ]


def leaders_first(robot: Robot) -> list[Joint]:
    """Joints with one coordinate, each after the one that it follows."""
    done: dict[str, Joint] = {}
    for joint in robot.joints:
        chain = []
        while joint.type in SINGLE and joint.name not in done and (not chain or chain[-1].mimic is not None):
            chain.append(joint)
            if joint.mimic is not None:
                joint = robot.joint(joint.mimic.joint)
        done |= {one.name: one for one in reversed(chain)}
    return list(done.values())


def rigid_with_root(robot: Robot) -> tuple[list[Link], list[Joint]]:
    """Links that fixed joints connect with the root, and the moving joints that leave them."""
    names = [robot.root]
    together, leaving = set(names), []
    for joint in robot.outward:
        if joint.parent in together:
            if joint.type == "fixed":
                together.add(joint.child)
                names.append(joint.child)
            else:
                leaving.append(joint)
    return [robot.link(name) for name in names], leaving


def _circle(name: str, holder: dict[str, Joint]) -> list[str]:
    seen: dict[str, None] = {}
    while name not in seen:
        seen[name] = None
        name = holder[name].parent
    path = list(seen)
    return [*path[path.index(name) :], name]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


class _Near:
    """Hints at names that differ from known ones in capitals and blanks only."""

    def __init__(self, known: Iterable[str]):
        self.known = {name.lower().strip(): name for name in known}

    def __call__(self, name: str) -> str:
        other = self.known.get(name.lower().strip())
        return "" if other is None else f"; do you mean '{other}'?"
