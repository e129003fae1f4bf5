"""Links, joints and shapes of a URDF file, element by element."""

from __future__ import annotations

import math

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.placement import fixed
from dalembert.multibody.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from dalembert.multibody.urdf.robot import SINGLE, UNTURNED, Joint, Link, Mimic
from dalembert.multibody.urdf.values import Findings
from dalembert.multibody.urdf.xml_tree import MOST_BYTES, Element

JOINTS = (*SINGLE, "fixed", "floating", "planar", "spherical")
#: other names that files in use have for these
OTHER_NAMES = {"ball": "spherical", "free": "floating", "hinge": "revolute", "slider": "prismatic"}
#: moments of inertia below mass · (30 nm)² are what is left of zeros in other units
ROUNDING = 1e-15
#: relative violation of the triangle inequality that comes from the digits of the file, and of our arithmetic
DIGITS, EXACT = 1e-6, 1e-12

Colors = dict[str, tuple[float, ...]]


# -- links -----------------------------------------------------------------------------------------------------------


def read_link(element: Element, colors: Colors, find: Findings) -> Link | None:
    """A link; None if it has no name."""
    name = find.text(element, "name", "a link")
    if name is None:
        return None
    where = f"link '{name}'"
    mass, com, inertia, plausible = 0.0, fixed(np.zeros(3)), fixed(np.zeros((3, 3))), True
    inertial = find.single(element, "inertial", where)
    if inertial is not None:
        pose = find.pose(find.single(inertial, "origin", where), where)
        mass, com = _mass(inertial, where, find), pose.xyz
        inertia, plausible = _inertia(inertial, mass, pose.rotation, where, find)
    drawn = element.all("visual") or element.all("collision")
    shapes = (_shape(one, colors, where, find) for one in drawn)
    return Link(
        name=name, mass=mass, com=com, inertia=inertia, plausible=plausible, line=element.line,
        shapes=tuple(shape for shape in shapes if shape is not None),
    )  # fmt: skip


def _mass(inertial: Element, where: str, find: Findings) -> float:
    element = find.single(inertial, "mass", where)
    if element is None:
        find.fault(inertial.line, where, "<inertial> has no <mass>; add one, or remove <inertial>")
        return 0.0
    mass = find.number(element, "value", where)
    if mass is not None and mass < 0:
        find.fault(element.line, where, f"its mass {mass:g} is negative")
    return 0.0 if mass is None else abs(mass)


def _inertia(
    inertial: Element, mass: float, rotation: np.ndarray, where: str, find: Findings
) -> tuple[np.ndarray, bool]:
    """The inertia in axes of the link, and whether a body can have it."""
    nothing = fixed(np.zeros((3, 3))), True
    element = find.single(inertial, "inertia", where)
    if element is None:
        find.fault(inertial.line, where, "<inertial> has no <inertia>; add one (zeros for a point mass)")
        return nothing
    # moments must be there; products that are not are zero
    xx, yy, zz = (find.number(element, name, where) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (find.number(element, name, where, 0.0) for name in ("ixy", "ixz", "iyz"))
    if None in (xx, yy, zz):
        return nothing
    given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.abs(given).max() <= ROUNDING * mass:
        return nothing
    negative = [f"{name}={value:g}" for name, value in (("ixx", xx), ("iyy", yy), ("izz", zz)) if value < 0]
    if negative:
        find.fault(element.line, where, f"the moment of inertia {negative[0]} is negative")
        return nothing
    principal = np.linalg.eigvalsh(given).tolist()
    why = _doubtful(principal, DIGITS)
    if why or mass == 0:
        find.doubt(element.line, where, why or "it has inertia, but no mass")
    if rotation is not UNTURNED:
        turned = rotation @ given @ rotation.T
        given = (turned + turned.T) / 2
    return fixed(given), not _doubtful(principal, EXACT)


def _doubtful(principal: list[float], rounding: float) -> str:
    """Why no body can have these principal moments; empty if one can."""
    least, middle, most = principal
    shown = f"principal moments {least:.4g}, {middle:.4g}, {most:.4g}"
    if least < -rounding * most:
        return f"its inertia is not positive ({shown}); no body has it"
    if most > (least + middle) + rounding * most:
        return f"its inertia violates the triangle inequality ({shown}); no body has it"
    return ""


# -- joints ----------------------------------------------------------------------------------------------------------


def read_joint(element: Element, mimics: bool, find: Findings) -> Joint | None:
    """A joint of the tree; None if it lacks what makes one."""
    name = find.text(element, "name", "a joint")
    where = "a joint" if name is None else f"joint '{name}'"
    kind = joint_type(element, where, JOINTS, find)
    ends = [_end(element, tag, where, find) for tag in ("parent", "child")]
    origin = find.pose(find.single(element, "origin", where), where)
    axis = find.single(element, "axis", where)
    direction = find.axis(None if kind in ("fixed", "floating", "spherical") else axis, where)
    limits, effort, velocity = _limits(element, kind, where, find)
    damping, friction = _dynamics(element, where, find)
    if kind not in (*SINGLE, "fixed", None) and damping:
        find.note(element.line, where, f"the damping of a {kind} joint is ignored")
    mimic = _mimic(element, where, find) if mimics and kind in SINGLE else None  # others have no coordinate
    if name is None or kind is None or None in ends:
        return None
    return Joint(
        name=name, type=kind, parent=ends[0], child=ends[1], origin=origin, axis=direction, limits=limits,
        effort=effort, velocity=velocity, damping=damping, friction=friction, mimic=mimic, line=element.line,
    )  # fmt: skip


def joint_type(element: Element, where: str, known: tuple[str, ...], find: Findings) -> str | None:
    """The type of a joint, by the name that we have for it."""
    given = find.text(element, "type", where)
    if given is None:
        return None
    kind = OTHER_NAMES.get(given.strip().lower(), given.strip().lower())
    if kind not in known:
        find.fault(element.line, where, f"the type '{given}' is unknown; known are {', '.join(known)}")
        return None
    return kind


def _end(element: Element, tag: str, where: str, find: Findings) -> str | None:
    found = find.single(element, tag, where)
    if found is None:
        find.fault(element.line, where, f'it has no <{tag} link="…">')
        return None
    return find.text(found, "link", where)


def _limits(
    element: Element, kind: str | None, where: str, find: Findings
) -> tuple[tuple[float, float] | None, float | None, float | None]:
    """Range of the coordinate, greatest effort and velocity, where they are given and are not infinite."""
    limit = find.single(element, "limit", where)
    if limit is None:
        return None, None, None
    effort, velocity = (find.number(limit, name, where, math.inf, infinite=True) for name in ("effort", "velocity"))
    for name, value in (("effort", effort), ("velocity", velocity)):
        if value < 0:
            find.note(limit.line, where, f"the limit of {name}, {value:g}, is negative and therefore ignored")
    effort, velocity = (value if 0 <= value < math.inf else None for value in (effort, velocity))
    if kind not in ("revolute", "prismatic") or not {"lower", "upper"} & set(limit.attributes):
        return None, effort, velocity
    lower, upper = (find.number(limit, name, where, 0.0, infinite=True) for name in ("lower", "upper"))
    if lower > upper:
        find.fault(limit.line, where, f"its lower limit {lower:g} is above the upper one, {upper:g}")
        return None, effort, velocity
    return (lower, upper), effort, velocity


def _dynamics(element: Element, where: str, find: Findings) -> tuple[float, float]:
    dynamics = find.single(element, "dynamics", where)
    if dynamics is None:
        return 0.0, 0.0
    values = [find.number(dynamics, name, where, 0.0) for name in ("damping", "friction")]
    for name, value in zip(("damping", "friction"), values, strict=True):
        if value < 0:
            find.fault(dynamics.line, where, f"its {name} {value:g} is negative")
    return values[0], values[1]


def _mimic(element: Element, where: str, find: Findings) -> Mimic | None:
    mimic = find.single(element, "mimic", where)
    if mimic is None:
        return None
    other = find.text(mimic, "joint", where)
    multiplier, offset = find.number(mimic, "multiplier", where, 1.0), find.number(mimic, "offset", where, 0.0)
    return None if other is None else Mimic(other, multiplier, offset)


# -- shapes ----------------------------------------------------------------------------------------------------------


def read_color(material: Element, where: str, find: Findings) -> tuple[float, ...] | None:
    """Red, green, blue and opacity of a material that has a colour."""
    color = material.first("color")
    rgba = None if color is None else find.vector(color, "rgba", where, 4)
    if rgba is None:
        return None
    scale = 255 if max(rgba) > 1 else 1  # bytes, which some tools write
    return tuple(min(max(value / scale, 0.0), 1.0) for value in rgba)


def _shape(element: Element, colors: Colors, where: str, find: Findings) -> Shape | None:
    """What is drawn of a link; None if there is nothing that we can draw."""
    pose = find.pose(find.single(element, "origin", where), where)
    material = element.first("material")
    color = None
    if material is not None:
        color = read_color(material, where, find) or colors.get(material.attributes.get("name", ""))
    geometry = element.first("geometry")
    if geometry is None or not geometry.children:
        return None
    form = geometry.children[0]
    place = {"position": pose.xyz, "rotation": pose.rotation, "color": color}
    try:
        return _form(form, place, where, find)
    except ModelError as reason:  # sizes that no shape has
        find.fault(form.line, where, str(reason))
        return None


def _form(form: Element, place: dict, where: str, find: Findings) -> Shape | None:
    if form.tag == "mesh":
        file = find.text(form, "filename", where, MOST_BYTES)
        scale = find.vector(form, "scale", where) or (1.0, 1.0, 1.0)
        return None if file is None else Mesh(file, scale, **place)
    if form.tag == "box":
        given = find.text(form, "size", where, MOST_BYTES)
        size = None if given is None else find.vector(form, "size", where)
        return None if size is None else Box(size, **place)
    solid, needs = {
        "sphere": (Sphere, ("radius",)),
        "cylinder": (Cylinder, ("radius", "length")),
        "capsule": (Capsule, ("radius", "length")),
    }.get(form.tag, (None, ()))
    if solid is None:
        find.note(form.line, where, f"the shape <{form.tag}> is unknown and will not be drawn")
        return None
    values = [find.number(form, name, where) for name in needs]
    return None if None in values else solid(*values, **place)
