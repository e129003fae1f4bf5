"""Vehicles of rigid bodies in space: frames of bodies and spring-damper elements between them.

A body has the position (x, y, z) of its centre of mass and the angles yaw, roll, pitch, applied in this order: its
rotation is A = A_z(yaw) A_x(roll) A_y(pitch). Roll and pitch are small, yaw need not be. Their generalized forces are
the moments about the three axes of rotation, so that force elements do exactly the work that their points move by.
x points ahead, y to the left, z up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Body:
    """Position, angles and their rates at one moment, and the forces and moments that have been applied so far.

    Vectors are in space; `position` is that of the centre of mass, in a frame that moves with the vehicle.
    """

    position: np.ndarray
    velocity: np.ndarray
    yaw: Any
    roll: Any
    pitch: Any
    rates: tuple[Any, Any, Any]  # of roll, pitch, yaw
    force: Any = 0.0
    moment: Any = 0.0
    roll_moment: Any = 0.0  # about the axis of roll, from roll bars
    rotation: np.ndarray = field(init=False)  # from the body's frame to space
    axes: tuple = field(init=False)  # about which roll, pitch and yaw turn
    spin: np.ndarray = field(init=False)  # angular velocity

    def __post_init__(self) -> None:
        (cy, sy), (cr, sr), (cp, sp) = ((np.cos(a), np.sin(a)) for a in (self.yaw, self.roll, self.pitch))
        self.rotation = np.array(
            [
                [cy * cp - sy * sr * sp, -sy * cr, cy * sp + sy * sr * cp],
                [sy * cp + cy * sr * sp, cy * cr, sy * sp - cy * sr * cp],
                [-cr * sp, sr, cr * cp],
            ]
        )
        self.axes = (np.array([cy, sy, 0.0]), self.rotation[:, 1], np.array([0.0, 0.0, 1.0]))
        self.spin = sum(rate * axis for rate, axis in zip(self.rates, self.axes, strict=True))

    def point(self, place) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity of a point of the body, given in its frame."""
        arm = self.rotation @ np.asarray(place)
        return self.position + arm, self.velocity + np.cross(self.spin, arm)

    def apply(self, force, at) -> None:
        """A force at a point in space."""
        self.force = self.force + force
        self.moment = self.moment + np.cross(at - self.position, force)

    def turning(self) -> list:
        """Generalized forces of roll, pitch and yaw."""
        roll, pitch, yaw = (axis @ self.moment for axis in self.axes)
        return [roll + self.roll_moment, pitch, yaw]


def join(upper: Body, place, lower: Body, seat, stiffness, damping, preload=(0.0, 0.0, 0.0)) -> None:
    """A spring-damper with three directions, those of the lower body, between a point of each body.

    `place` on the upper and `seat` on the lower body coincide when the element has no deformation; then it pushes with
    the `preload`. The force depends on where the lower body sees the upper one's point, so this point is where it acts
    on both bodies: action, reaction, and the work of the springs a potential.
    """
    point, velocity = upper.point(place)
    arm = point - lower.position
    seen = arm @ lower.rotation  # = rotationᵀ arm
    seen_rate = (velocity - lower.velocity - np.cross(lower.spin, arm)) @ lower.rotation
    push = np.asarray(preload) - np.asarray(stiffness) * (seen - np.asarray(seat)) - np.asarray(damping) * seen_rate
    force = lower.rotation @ push
    upper.apply(force, point)
    lower.apply(-force, point)
