"""Positions and rotations that users hand over: checked, and turned into read-only arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError

#: largest entry of RᵀR − 1 of a matrix that still counts as a rotation: seven digits are what people type
ROUNDING = 1e-6


def vector(value: Any, what: str, *, planar: bool = True) -> np.ndarray:
    """Three finite numbers; if there are two, as in planar systems, and this is allowed, the third is zero.

    >>> vector((1, 2), "at").tolist()
    [1.0, 2.0, 0.0]
    """
    try:
        array = reals(value)
    except NoNumber as reason:
        raise ModelError(f"{what}={shown(value)} {reason}; give three numbers") from None
    if array.shape != (3,) and not (planar and array.shape == (2,)):
        raise ModelError(f"{what}={shown(value)} needs three numbers{' (two in a plane)' if planar else ''}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what}={shown(value)} must be finite")
    return fixed(np.append(array, np.zeros(3 - len(array))))


def rotation_matrix(value: Any, what: str) -> np.ndarray:
    """A rotation given as 3×3 matrix, as rotation vector (axis times angle), or as an angle about z.

    >>> rotation_matrix(math.pi, "rotation").round(9).diagonal().tolist()
    [-1.0, -1.0, 1.0]
    """
    if value is None:
        return fixed(np.eye(3))
    try:
        array = np.array([0.0, 0.0, real(value)])
    except NoNumber:
        try:
            array = reals(value)
        except NoNumber as reason:
            raise ModelError(f"{what}={shown(value)} {reason}; {FORMS}") from None
    if not np.isfinite(array).all():
        raise ModelError(f"{what}={shown(value)} must be finite")
    if array.shape == (3,):
        return fixed(about(array))
    if array.shape != (3, 3):
        raise ModelError(f"{what}={shown(value)} is no rotation; {FORMS}")
    with np.errstate(all="ignore"):
        off = np.abs(array.T @ array - np.eye(3)).max()
    if not off <= ROUNDING or np.linalg.det(array) < 0:
        kind = "a reflection" if off <= ROUNDING else f"not orthogonal (RᵀR − 1 has the entry {off:.2g})"
        raise ModelError(f"{what}={shown(value)} is {kind}; {FORMS}")
    return fixed(array)


FORMS = "give a 3×3 rotation matrix, a rotation vector (axis · angle), or an angle about z"


def about(turn: np.ndarray) -> np.ndarray:
    """The matrix of a rotation vector, by Rodrigues' formula.

    >>> about(np.array([0.0, 0.0, math.pi / 2])).round(9).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    angle = math.hypot(*turn)
    if angle == 0:
        return np.eye(3)
    x, y, z = turn / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    half = math.sin(angle / 2)  # 1 − cos, without cancellation
    return np.eye(3) + math.sin(angle) * cross + 2 * half * half * (cross @ cross)


def from_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Roll about x, then pitch about y, then yaw about z, all of them fixed axes: Rz Ry Rx.

    >>> from_rpy(0, 0, math.pi / 2).round(9).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(angle), math.cos(angle)) for angle in (roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def from_quaternion(x: float, y: float, z: float, w: float) -> np.ndarray:
    """The rotation of a quaternion other than zero; its norm does not matter.

    >>> from_quaternion(0, 0, 2, 2).round(9).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    norm = math.hypot(x, y, z, w)
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def turning(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The shortest rotation that takes one unit vector to another.

    >>> (turning(np.array([1.0, 0, 0]), np.array([0, 1.0, 0])) @ [1, 0, 0]).round(9).tolist()
    [0.0, 1.0, 0.0]
    """
    cross, cosine = np.cross(start, end), float(start @ end)
    sine = math.hypot(*cross)
    if sine > 0:
        return about(cross / sine * math.atan2(sine, cosine))
    if cosine > 0:
        return np.eye(3)
    across = np.cross(start, np.eye(3)[np.abs(start).argmin()])  # any axis at a right angle turns it over
    return about(across / np.linalg.norm(across) * math.pi)


def fixed(array: np.ndarray) -> np.ndarray:
    """The same array, which nobody can change any more."""
    array.flags.writeable = False
    return array
