"""Joints as constraints: where loops are closed, and everywhere in absolute coordinates.

With A and B the joint's frames on the first and the second body, d = x_B − x_A, n the axis in A and in B, and (s, t)
perpendicular to it in A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca

from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import UNIT, Scalar, Vector, perpendicular
from dalembert.multibody.parts import Joint
from dalembert.multibody.readings import Motion, relative_angle
from dalembert.multibody.scene import Scene

Row = tuple[str, Scalar]


def closure(scene: Scene, joint: Joint, A: Motion | None = None, B: Motion | None = None) -> list[Row]:
    """The equations of a cut joint, each with a label; A and B replace the joint's frames."""
    A = scene.motion(joint.first) if A is None else A
    B = scene.motion(joint.second) if B is None else B
    d = al.subtract(B.x, A.x)
    if scene.planar:
        return _planar(scene, joint, A, B, d)
    kind = joint.kind.name
    n_A, n_B = al.turn(A.R, joint.axis), al.turn(B.R, joint.axis)
    s, t = (al.turn(A.R, side) for side in perpendicular(joint.axis))
    together = [(axis, x) for axis, x in zip("xyz", _in_axes(scene, joint, A, B, d), strict=True)]
    parallel = [("tilt1", al.dot(s, n_B)), ("tilt2", al.dot(t, n_B))]
    on_line = [("side1", al.dot(s, d)), ("side2", al.dot(t, d))]
    if kind == "spherical":
        return together
    if kind == "revolute":
        return together + parallel
    if kind == "universal":
        return [*together, ("tilt", al.dot(n_A, al.turn(B.R, joint.second_axis)))]
    if kind == "cylindrical":
        return on_line + parallel
    one, _ = perpendicular(joint.axis)
    x, y = al.dot(s, al.turn(B.R, one)), al.dot(t, al.turn(B.R, one))  # cosine and sine of the angle about the axis
    if kind == "prismatic":
        return [*on_line, *parallel, ("turn", y)]
    if kind == "screw":  # pitch · sin(angle − that which belongs to the distance): no turn need be counted
        pitch = scene.value(joint.pitch)
        if type(pitch) is not ca.SX and pitch == 0.0:
            return [*together, *parallel]
        angle = al.dot(n_A, d) / pitch
        turned = al.minus(al.times(al.cosine(angle), y), al.times(al.sine(angle), x))
        return [*on_line, *parallel, ("turn", al.times(pitch, turned))]
    if kind == "planar":
        z = al.turn(A.R, UNIT[2])
        b = al.turn(B.R, UNIT[2])
        return [
            ("height", al.dot(z, d)),
            ("tilt1", al.dot(al.turn(A.R, UNIT[0]), b)),
            ("tilt2", al.dot(al.turn(A.R, UNIT[1]), b)),
        ]
    if kind == "fixed":
        a = [al.turn(A.R, unit) for unit in UNIT]
        b = [al.turn(B.R, unit) for unit in UNIT]
        return [*together, *((f"turn{k + 1}", al.dot(a[(k + 2) % 3], b[(k + 1) % 3])) for k in range(3))]
    if kind == "free":
        return []
    raise _no_rows(kind)


def _no_rows(kind: str) -> NotImplementedError:
    """For a kind of joint that somebody adds: without rows it would hold nothing, and nobody would notice."""
    return NotImplementedError(f"closure.py has no equations of a {kind} joint that closes a loop")


def _in_axes(scene: Scene, joint: Joint, A: Motion, B: Motion, d: Vector) -> Vector:
    """The distance of two points in axes of the world, or in those that the scene has for this joint."""
    axes = scene.closing_axes.get(joint.number)
    return d if axes is None else al.turn_back(A.R if axes == "first" else B.R, d)


def _planar(scene: Scene, joint: Joint, A: Motion, B: Motion, d: Vector) -> list[Row]:
    kind = joint.kind.name
    ex, ey = al.turn(A.R, UNIT[0]), al.turn(A.R, UNIT[1])
    angle = relative_angle(A, B)
    x, y, _ = _in_axes(scene, joint, A, B, d)
    if kind == "revolute":
        return [("x", x), ("y", y)]
    if kind == "fixed":
        return [("x", x), ("y", y), ("turn", angle)]
    if kind == "prismatic":
        side = al.turn(A.R, (-joint.axis[1], joint.axis[0], 0.0))
        return [("side", al.dot(side, d)), ("turn", angle)]
    if kind == "pin in slot":
        return [("side", al.dot(ey, d))]
    if kind == "rolling disc":
        r = scene.value(joint.radius)
        return [("height", al.minus(al.dot(ey, d), r)), ("roll", al.plus(al.dot(ex, d), al.times(r, angle)))]
    if kind == "planar":  # nothing is held
        return []
    raise _no_rows(kind)


def rolling(scene: Scene, joint: Joint) -> list[Row]:
    """A rolling disc in the tree: its coordinates depend on each other."""
    places = list(scene.bones.coordinates_of(joint))
    names = [scene.bones.names[k] for k in places]
    distance = scene.q[places[names.index(f"{joint.name}.distance")]]
    angle = scene.q[places[names.index(f"{joint.name}.angle")]]
    return [("roll", al.plus(distance, al.times(scene.value(joint.radius), angle)))]


def driven(scene: Scene, joint: Joint, value: ca.SX, A: Motion | None = None, B: Motion | None = None) -> list[Row]:
    """The coordinate is prescribed; of a cut hinge in space by a sine, which knows no turns."""
    if scene.bones.in_tree(joint):
        return [("drive", al.minus(scene.coordinate(joint), value))]
    A = scene.motion(joint.first) if A is None else A
    B = scene.motion(joint.second) if B is None else B
    if joint.kind.name == "prismatic":
        return [("drive", al.minus(al.dot(al.turn(A.R, joint.axis), al.subtract(B.x, A.x)), value))]
    if scene.planar:
        return [("drive", al.minus(relative_angle(A, B), value))]
    one, two = perpendicular(joint.axis)
    b = al.turn(B.R, one)
    x, y = al.dot(al.turn(A.R, one), b), al.dot(al.turn(A.R, two), b)
    return [("drive", al.minus(al.times(ca.cos(value), y), al.times(ca.sin(value), x)))]


def reaction(
    scene: Scene, joint: Joint, lam: list[ca.SX], rows: Callable[[Motion | None, Motion], list[Row]]
) -> tuple[Vector, Vector]:
    """Torque and force on the second body at its joint's frame, from the multipliers of a cut joint's `rows`.

    They are the derivatives of Σ λ g with respect to small displacements of that frame, with the sign of − Gᵀ λ.
    """
    B = scene.motion(joint.second)
    turning, moving = ca.SX.sym("turning", 3), ca.SX.sym("moving", 3)
    w, u = tuple(turning.elements()), tuple(moving.elements())
    axes = (al.add(axis, al.cross(w, axis)) for axis in zip(*B.R, strict=True))
    moved = replace(
        B,
        x=al.add(B.x, u),
        R=tuple(zip(*axes, strict=True)),
        angle=al.plus(B.angle, w[2]) if scene.planar else B.angle,
    )
    work = al.total([al.times(l, g) for l, (_, g) in zip(lam, rows(None, moved), strict=True)])
    if type(work) is not ca.SX:
        return al.ZERO, al.ZERO
    both = ca.vertcat(turning, moving)
    by = ca.substitute(ca.jacobian(work, both), both, ca.SX.zeros(6))
    parts = [-x for x in ca.densify(by).elements()]
    return tuple(parts[:3]), tuple(parts[3:])
