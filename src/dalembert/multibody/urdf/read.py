"""URDF, the format of robot descriptions in ROS: read it, and build bodies and joints from it.

Files come from anywhere, so nothing in them is trusted: no entity is expanded, no other file is opened (meshes are only
named), and nothing is fetched from a network. All faults of a file are reported at once, each with its line.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from dalembert.checks import NoNumber, flag, shown, words
from dalembert.errors import FileError, FileMissing, OptionError, UrdfError, UrdfWarning, warn_user
from dalembert.multibody.urdf.build import build
from dalembert.multibody.urdf.checks import check_mimics, check_names, check_tree
from dalembert.multibody.urdf.loops import check_loops, read_gazebo, read_loops
from dalembert.multibody.urdf.parts import read_color, read_joint, read_link
from dalembert.multibody.urdf.robot import Robot
from dalembert.multibody.urdf.values import Findings, short
from dalembert.multibody.urdf.xml_tree import MOST_BYTES, Element, XmlFault, parse

#: notes in one warning
MOST_SHOWN = 50


def read_urdf(source: Any, *, check_inertia: str = "warn", mimic: bool = True) -> Robot:
    """Read a robot from a URDF file or from its text.

    Parameters
    ----------
    source : path, str or bytes
        A file. Text counts as the description itself if it contains ``<``.
    check_inertia : {"warn", "error", "ignore"}
        What to do about inertias that no body can have: principal moments that violate the triangle inequality or are
        negative, or inertia without mass. Files of many real robots contain them. Negative masses and moments on the
        diagonal are always errors.
    mimic : bool
        Whether to read that joints follow others.

    Returns
    -------
    Robot
        Links, joints and loops as the file has them.

    Raises
    ------
    UrdfError
        The description is faulty; ``error.faults`` lists everything that was found.
    FileError
        The file is missing or cannot be read.

    Examples
    --------
    >>> robot = read_urdf('''
    ... <robot name="pendulum">
    ...   <link name="base"/>
    ...   <link name="rod">
    ...     <inertial> <origin xyz="0 0 -0.5"/> <mass value="2"/> <inertia ixx="0.1" iyy="0.1" izz="0.01"/> </inertial>
    ...   </link>
    ...   <joint name="hinge" type="continuous">
    ...     <parent link="base"/> <child link="rod"/> <origin xyz="0 0 1"/> <axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>''')
    >>> robot.root, robot.link("rod").mass, robot.joint("hinge").axis.tolist()
    ('base', 2.0, [0.0, 1.0, 0.0])
    """
    if check_inertia not in ("warn", "error", "ignore"):
        raise OptionError(f"check_inertia={shown(check_inertia)} must be 'warn', 'error' or 'ignore'")
    try:
        mimic = flag(mimic)
    except NoNumber as reason:
        raise OptionError(f"mimic={shown(mimic)} {reason}") from None
    path, data, encoding = _content(source)
    title = "the URDF text" if path is None else f"the URDF file '{path}'"
    try:
        root = parse(data, encoding)
    except XmlFault as fault:
        raise UrdfError(f"{title} cannot be read, line {fault.line}: {fault}", path=path, line=fault.line) from None
    if root.tag != "robot":
        raise UrdfError(f"{title}, line {root.line}: {_wrong_root(root)}", path=path, line=root.line)
    find = Findings()
    robot = _robot(root, title, mimic, find)
    if check_inertia == "error":
        find.faults += find.doubts
    if find.faults:
        faults = sorted(find.faults, key=lambda fault: fault[0])
        count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise UrdfError(f"{title} has {count}", [text for _, text in faults], path=path, line=faults[0][0])
    notes = find.notes + (find.doubts if check_inertia == "warn" else [])
    if notes:
        texts = [text for _, text in sorted(notes, key=lambda note: note[0])]
        more = [f"… and {len(texts) - MOST_SHOWN} more"] if len(texts) > MOST_SHOWN else []
        lines = "".join(f"\n  - {text}" for text in texts[:MOST_SHOWN] + more)
        warn_user(f"{title} is doubtful:{lines}", UrdfWarning)
    return robot


def load(kind: Callable[..., Any], source: Any, *, gravity: Any = None, name: str | None = None, **options: Any) -> Any:
    """A new `Multibody` (`kind` makes it) with one robot; options are those of `read_urdf` and of `build`."""
    of_build = {key for key, one in signature(build).parameters.items() if one.kind is one.KEYWORD_ONLY}
    known = of_build - {"base"} | {"check_inertia"}  # there is nothing yet that it could stand on
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, known, n=1)
            hint = f"; did you mean {near[0]}=?" if near else f"; it takes {', '.join(sorted(known))}"
            raise OptionError(f"from_urdf takes no {option}={hint}")
    reading = {key: value for key, value in options.items() if key in ("check_inertia", "mimic")}
    robot = read_urdf(source, **reading)
    multibody = kind(gravity=gravity, name=robot.name.replace(".", "_") if name is None else name)
    build(robot, multibody, **{key: value for key, value in options.items() if key != "check_inertia"})
    return multibody


def _content(source: Any) -> tuple[Path | None, bytes, str | None]:
    """The file if there is one, what is in it, and the encoding if that is known."""
    if isinstance(source, str) and "<" in source:
        return None, source.encode("utf-8", "surrogatepass"), "utf-8"  # whatever the text says of its encoding
    if isinstance(source, bytes | bytearray):
        return None, bytes(source), None
    if not isinstance(source, str | os.PathLike) or not isinstance(os.fspath(source), str):
        raise UrdfError(f"{shown(source)} is neither the path of a URDF file nor its text")
    if isinstance(source, str) and not source.strip():
        raise UrdfError("the URDF text is empty; give a path, or a text that begins with <robot …>")
    path = Path(source)
    try:
        with open(path, "rb", opener=_opener) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileError(f"'{path}' is not a plain file: a URDF file was expected", path)
            return path, file.read(MOST_BYTES + 1), None
    except FileError:
        raise
    except FileNotFoundError as error:
        raise FileMissing(f"there is no URDF file {shown(os.fspath(path))}", path, error.errno) from None
    except IsADirectoryError as error:
        raise FileError(f"'{path}' is a directory; name the URDF file in it", path, error.errno) from None
    except OSError as error:
        why = error.strerror or words(error)
        raise FileError(f"the URDF file {shown(os.fspath(path))} cannot be read: {why}", path, error.errno) from None
    except ValueError as error:  # characters that no file name has
        raise FileError(f"{shown(os.fspath(path))} is no name of a file: {words(error)}", path) from None


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe must not make us wait for its writer


def _wrong_root(root: Element) -> str:
    known = {"sdf": "an SDFormat file", "mujoco": "a MuJoCo model", "COLLADA": "a COLLADA scene", "html": "a web page"}
    kind = known.get(root.tag)
    return f"its root element is <{root.tag}>, not <robot>" + (f": this is {kind}, no URDF" if kind else "")


def _robot(root: Element, title: str, mimic: bool, find: Findings) -> Robot | None:
    """Everything in the root element; None if there are faults."""
    macros = _macros(root)
    if macros:
        find.fault(
            macros[0].line, f"<{macros[0].tag}>",
            f"{len(macros)} element(s) of xacro are not expanded; do so before: xacro robot.urdf.xacro > robot.urdf",
        )  # fmt: skip
    colors = {}
    for material in root.all("material"):
        name = material.attributes.get("name", "")
        color = read_color(material, f"material '{short(name)}'", find)
        if color is not None:
            colors.setdefault(name, color)
    read = [read_link(element, colors, find) for element in root.all("link")]
    links = tuple(link for link in read if link is not None)
    read = [read_joint(element, mimic, find) for element in root.all("joint")]
    joints = tuple(joint for joint in read if joint is not None)
    loops = check_loops(read_loops(root, find), {link.name for link in links}, find)
    if not root.all("link") and not macros:
        find.fault(root.line, "<robot>", "it has no <link>")
    check_names(links, joints, loops, find)
    if len(links) == len(root.all("link")) and len(joints) == len(root.all("joint")):
        check_tree(links, joints, find)
        check_mimics(joints, find)
    if find.faults:
        return None
    robot = Robot(name=short(root.attributes.get("name", "")) or "robot", links=links, joints=joints, source=title)
    added = check_loops(read_gazebo(root, robot, find), {link.name for link in links}, find)
    if added:
        loops = [*loops, *added]
        check_names(links, joints, loops, find)
    notes = tuple(text for _, text in sorted(find.notes + find.doubts, key=lambda note: note[0]))
    return replace(robot, loops=tuple(loops), notes=notes)


def _macros(root: Element) -> list[Element]:
    """Elements of xacro among those that describe the robot; extensions may hold anything."""
    inside = [root, *root.all("link"), *root.all("joint")]
    return [child for element in inside for child in element.children if child.tag.startswith("xacro:")]
