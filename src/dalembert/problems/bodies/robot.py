"""A robot arm of six axes with our own data, in the manner of industrial arms of about 0.9 m reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.multibody.shapes import Capsule, Cylinder, Sphere
from dalembert.multibody.system import Multibody

from ..arguments import check_choice, check_positive, checked
from .problem import BodiesProblem, problem_of


class Axis(NamedTuple):
    """A link of the arm with the hinge before it; controllers are proportional with damping."""

    link: str
    axis: tuple[float, float, float]
    at: tuple[float, float, float]  # the hinge on the link before, in m
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]  # about com, kg m²
    home: float  # angle at the start, rad
    swing: float  # how far it goes and comes back, rad
    frequency: float  # of that, rad/s
    stiffness: float  # of the controller, N m/rad
    damping: float


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
#: from the base to the flange, which holds a load of 5 kg
AXES = (
    Axis("column", Z, (0.0, 0.0, 0.20), 16.0, (0.05, 0.0, 0.14), (0.28, 0.25, 0.16), 0.0, 1.2, 2.0, 2500.0, 240.0),
    Axis("upper_arm", Y, (0.15, 0.0, 0.22), 10.5, (0.0, 0.02, 0.18), (0.16, 0.15, 0.03), 0.3, 0.5, 3.0, 3600.0, 300.0),
    Axis("forearm", Y, (0.0, 0.0, 0.40), 8.0, (0.06, 0.0, 0.03), (0.03, 0.07, 0.06), -0.4, -0.7, 2.5, 1600.0, 110.0),
    Axis("wrist_roll", X, (0.18, 0.0, 0.05), 3.2, (0.14, 0.0, 0.0), (0.005, 0.018, 0.018), 0.2, 1.5, 4.0, 90.0, 5.0),
    Axis("wrist_pitch", Y, (0.24, 0.0, 0.0), 1.4, (0.02, 0.0, 0.0), (0.002, 0.003, 0.003), 0.5, -0.8, 3.5, 110.0, 6.0),
    Axis("flange", X, (0.08, 0.0, 0.0), 5.3, (0.06, 0.01, 0.03), (0.02, 0.025, 0.022), 0.0, 2.0, 5.0, 40.0, 2.0),
)
GRAVITY = 9.81
ORANGE, DARK = "#f0862e", "#3a424d"

# torque version: t, angles, rates
_KNOWN = (
    (
        1.0,
        [0.7380132391569191, 0.8120556085641325, -0.9507734585701093, 1.5836861589310487, -0.29752944281466803,
         0.9931171295634256],
        [1.1546834735389726, 0.2934566440184189, -0.6158351308588362, -1.6677820076327647, 0.2804842032884016,
         -4.686976165767625],
    ),
)  # fmt: skip


@checked
def six_axis_robot(coordinates: str = "joint", *, drive: str = "torque", t_end: float = 1.0) -> BodiesProblem:
    """Arm of six axes that swings a load of 5 kg: from the base the axes z, y, y, x, y, x.

    Every axis k is to follow the path home + swing (1 - cos(frequency t))/2, from rest. The data are our own.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed".
    drive : "torque" or "motion"
        "torque": motors with proportional control and damping, which lag behind the path and sag under the weight; no
        constraints in joint coordinates. "motion": joints that follow the path exactly, each by a rheonomic constraint;
        the reference is exact.
    t_end : with drive="torque" 1 has reference values.
    """
    check_choice("six_axis_robot", "drive", drive, ("torque", "motion"))
    check_positive("six_axis_robot", t_end=t_end)
    names = [f"axis{k}" for k in range(1, 7)]
    paths = [Path(axis.home, axis.swing, axis.frequency) for axis in AXES]
    if drive == "motion":
        known = [(t_end, [path(t_end) for path in paths], [path.rate(t_end) for path in paths])]
        source, accuracy = "exact: prescribed motion", 1e-15
    else:
        known = list(_KNOWN)
        source = "computed by us: articulated bodies of Pinocchio with DOP853, rtol 1e-13 and 1e-11 compared"
        accuracy = 1e-12
    return problem_of(
        robot_system(drive=drive),
        coordinates,
        title=f"Six-axis robot ({'controlled by torques' if drive == 'torque' else 'prescribed motion'})",
        t_end=t_end,
        known=[(t, dict(zip(names, q, strict=True)), dict(zip(names, v, strict=True))) for t, q, v in known],
        source=source,
        accuracy=accuracy,
    )


def robot_system(*, drive: str = "torque") -> Multibody:
    """The arm, its joints axis1 … axis6, and motor1 … motor6."""
    mb = Multibody(gravity=(0.0, 0.0, -GRAVITY), name="six_axis_robot")
    foot, pedestal = ((0.15, 0.03), (0.09, 0.2))  # radius and height
    mb.ground.shape = [Cylinder(r, h, position=(0, 0, h / 2), color=DARK) for r, h in (foot, pedestal)]
    before = mb.ground
    for k, axis in enumerate(AXES, 1):
        end = AXES[k].at if k < len(AXES) else axis.com
        thick = 1.0 - 0.09 * k
        drum = Cylinder(0.075 * thick, 0.17 * thick, rotation=_from_z(axis.axis), color=DARK)
        shape = [drum, _bar((0.0, 0.0, 0.0), end, 0.055 * thick)]
        if k == len(AXES):
            shape = [drum, Sphere(0.06, position=axis.com, color="#3b7dd8")]
        body = mb.body(axis.link, axis.mass, axis.inertia, axis.com, shape=shape)
        path = Path(axis.home, axis.swing, axis.frequency)
        joint = mb.revolute(
            f"axis{k}", before, body, axis=axis.axis, at=axis.at, q0=axis.home, v0=0.0,
            drive=path if drive == "motion" else None,
        )  # fmt: skip
        if drive == "torque":
            mb.actuator(f"motor{k}", joint, Controller(joint.name, path, axis.stiffness, axis.damping))
        before = body
    mb.marker("tool", before, at=AXES[-1].com)
    return mb


class Path:
    """An angle that goes from `home` by `swing` and back again."""

    def __init__(self, home: float, swing: float, frequency: float):
        self.home, self.swing, self.frequency = home, swing, frequency

    def __call__(self, t):
        return self.home + self.swing * (1 - np.cos(self.frequency * t)) / 2

    def rate(self, t):
        return self.swing * self.frequency * np.sin(self.frequency * t) / 2


class Controller:
    """Torque of a motor that is to follow a path."""

    def __init__(self, joint: str, path: Path, stiffness: float, damping: float):
        self.joint, self.path, self.stiffness, self.damping = joint, path, stiffness, damping

    def __call__(self, s):
        behind = self.path(s.t) - s[f"{self.joint}.angle"]
        return self.stiffness * behind - self.damping * s[f"{self.joint}.angle_dot"]


def _bar(start, end, radius) -> Capsule:
    """A bar between two points."""
    start, end = np.array(start), np.array(end)
    length = float(np.linalg.norm(end - start))
    middle, turn = (start + end) / 2, _from_z((end - start) / length)
    return Capsule(radius, length, position=middle, rotation=turn, color=ORANGE)


def _from_z(direction) -> np.ndarray:
    """The rotation vector that turns z into a direction, which is not -z."""
    axis = np.cross(Z, direction)
    sine, cosine = np.linalg.norm(axis), np.dot(Z, direction)
    return axis if sine == 0.0 else axis / sine * np.arctan2(sine, cosine)
