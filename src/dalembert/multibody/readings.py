"""Frames in the world, and the coordinates of a joint read off those that it connects: of cut joints, and where
coordinates are changed.

They are those of the second body relative to the first, whichever way a tree runs through the joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import Matrix, Scalar, Vector, perpendicular
from dalembert.multibody.parts import Joint


@dataclass(frozen=True)
class Motion:
    """A frame in the world."""

    x: Vector
    R: Matrix
    angle: Scalar  # planar systems
    v: Vector
    w: Vector
    link: int
    mounted: float = 0.0  # planar systems: the part of the angle that the frame has on its link


@dataclass(frozen=True)
class Reading:
    """Numbers or expressions by name of the part; Euler parameters are left out, `Q` stands for them."""

    coordinates: dict[str, Scalar]
    rates: dict[str, Scalar]
    Q: Matrix  # axes of the second frame in those of the first


def arctan2(y: Scalar, x: Scalar) -> Scalar:
    if type(y) is ca.SX or type(x) is ca.SX:
        return ca.atan2(y, x)
    return float(np.arctan2(y, x))


def read(joint: Joint, planar: bool, A: Motion, B: Motion, pitch: Scalar = 0.0) -> Reading:
    """Coordinates and rates of a joint whose frames are A and B; angles lie in (−π, π] unless the system is planar."""
    d = al.turn_back(A.R, al.subtract(B.x, A.x))
    u = al.turn_back(A.R, al.subtract(al.subtract(B.v, A.v), al.cross(A.w, al.subtract(B.x, A.x))))
    w = al.turn_back(A.R, al.subtract(B.w, A.w))
    Q = al.product(al.transpose(A.R), B.R)
    kind, axis = joint.kind.name, joint.axis
    place = {"x": d[0], "y": d[1], "z": d[2]}
    moving = {"x_dot": u[0], "y_dot": u[1], "z_dot": u[2]}
    if kind == "prismatic":
        return Reading({"distance": al.dot(axis, d)}, {"distance_dot": al.dot(axis, u)}, Q)
    if planar:
        coordinates = {"angle": relative_angle(A, B), "distance": d[0], **place}
        rates = {"angle_dot": w[2], "distance_dot": u[0], **moving}
        return _only(joint, coordinates, rates, Q)
    if kind == "universal":
        second = joint.second_axis
        across = al.cross(axis, second)
        carried, back = al.turn(Q, second), al.turn_back(Q, axis)
        coordinates = {
            "angle1": arctan2(al.dot(across, carried), al.dot(second, carried)),
            "angle2": arctan2(al.dot(across, back), al.dot(axis, back)),
        }
        return Reading(coordinates, {"angle1_dot": al.dot(axis, w), "angle2_dot": al.dot(carried, w)}, Q)
    about = (0.0, 0.0, 1.0) if kind == "planar" else axis
    coordinates = {"angle": _angle(about, A, B), "distance": al.dot(axis, d), **place}
    rates = {"angle_dot": al.dot(about, w), "distance_dot": al.dot(axis, u), **moving}
    if kind == "screw" and not (type(pitch) is float and pitch == 0.0):  # the distance tells the turns
        coordinates["angle"] = al.dot(axis, d) / pitch
    turning = al.turn_back(Q, w)
    rates |= dict(zip(("wx", "wy", "wz"), turning, strict=True))
    return _only(joint, coordinates, rates, Q)


def _only(joint: Joint, coordinates: dict[str, Scalar], rates: dict[str, Scalar], Q: Matrix) -> Reading:
    """Those that the joint has."""
    kind = joint.kind
    return Reading(
        {part: coordinates[part] for part in kind.coordinates if part in coordinates},
        {part: rates[part] for part in kind.rates if part in rates},
        Q,
    )


def _angle(axis: Vector, A: Motion, B: Motion) -> Scalar:
    one, two = perpendicular(axis)
    turned = al.turn_back(A.R, al.turn(B.R, one))
    return arctan2(al.dot(two, turned), al.dot(one, turned))


def relative_angle(A: Motion, B: Motion) -> Scalar:
    """Of B in A, in a planar system. Frames that are mounted at 3 and −3 differ by 2π − 6 and not by −6."""
    turns = round((B.mounted - A.mounted) / (2 * math.pi))
    return al.minus(al.minus(B.angle, A.angle), 2 * math.pi * turns)


def coordinates_and_rates(
    joint: Joint, planar: bool, A: Motion, B: Motion, pitch: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """All coordinates and rates of a joint between frames of numbers, in the order of its kind."""
    reading = read(joint, planar, A, B, pitch)
    coordinates: dict[str, Any] = dict(reading.coordinates)
    if "e0" in joint.kind.coordinates:
        e = al.euler_parameters(np.array(reading.Q))
        coordinates |= {f"e{k}": e[k] for k in range(4)}
    return (
        np.array([coordinates[part] for part in joint.kind.coordinates], float),
        np.array([reading.rates[part] for part in joint.kind.rates], float),
    )


def along_tree(joint: Joint, q: np.ndarray, v: np.ndarray, backwards: bool) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and rates as they stand in a tree, or the other way round: the order is that of the links."""
    turned = backwards and "e0" not in joint.kind.coordinates
    return (q[::-1], v[::-1]) if turned else (q, v)
