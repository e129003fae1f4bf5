"""Stewart's platform: a body on six legs, each with a universal joint, a slide and a ball joint."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.locks import forks_wait
from dalembert.model.expression import scalar, to_sx
from dalembert.multibody.shapes import Cylinder, Plate
from dalembert.multibody.system import Multibody

from ..arguments import check_choice, check_positive, checked
from .problem import BodiesProblem, euler_parameters, problem_of

LEGS = range(6)
HEIGHT = 1.2  # m, of the platform at the start
STIFFNESS = 2e4  # N/m, of the springs in the legs
#: angles of the joints on the base (radius 1 m) and on the platform (0.6 m), in pairs
_PAIRS = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
BASE = np.stack([np.cos(_PAIRS), np.sin(_PAIRS), 0 * _PAIRS], axis=1)
_TURNED = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
TOP = 0.6 * np.stack([np.cos(_TURNED), np.sin(_TURNED), 0 * _TURNED], axis=1)

# version with springs: t, values and rates of the joints
_KNOWN: tuple = ()


@checked
def stewart_platform(
    coordinates: str = "joint", *, drive: str = "lengths", energy: bool = False, t_end: float = 1.0
) -> BodiesProblem:
    """Stewart's platform: thirteen bodies, five independent loops, six degrees of freedom.

    The platform (40 kg) stands on six legs of a cylinder (4 kg) and a rod (2 kg). The data are our own.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed"
        In joint coordinates the platform hangs on the first leg, and the other five are closed by constraints; mixed
        ones give it coordinates of its own.
    drive : "lengths" or "springs"
        "lengths": the lengths of the legs are prescribed such that the platform moves as `PlatformPath` says; the
        reference is exact, by inverse kinematics. "springs": the legs are springs without damping, and the platform
        is let go aside of its equilibrium; energy is conserved.
    energy : with drive="springs", whether the total energy is an invariant of the model.
    t_end : with drive="springs" 0.5 and 1 have reference values.
    """
    check_choice("stewart_platform", "drive", drive, ("lengths", "springs"))
    check_positive("stewart_platform", t_end=t_end)
    driven = drive == "lengths"
    return problem_of(
        stewart_system(drive=drive),
        coordinates,
        title=f"Stewart's platform ({'prescribed lengths' if driven else 'legs are springs'})",
        t_end=t_end,
        known=[(t_end, *joint_values(t_end))] if driven else _KNOWN,
        source="exact: inverse kinematics" if driven else "computed by us",
        accuracy=1e-13,
        energy=energy,
    )


def stewart_system(*, drive: str = "lengths") -> Multibody:
    """Joints "cross1", "slide1", "ball1" … of the legs "cylinder1" and "rod1" … below the body "platform"."""
    mb = Multibody(name="stewart_platform")
    platform = mb.body("platform", 40.0, (4.0, 4.0, 7.5), shape=Plate(TOP[:, :2], 0.05))
    q, _ = joint_values(0.0)
    crosses, slides, balls = [], [], []
    for k in LEGS:
        cylinder = mb.body(f"cylinder{k + 1}", 4.0, (0.15, 0.15, 0.005), (0, 0, 0.3),
                           shape=Cylinder(0.04, 0.8, position=(0, 0, 0.4)))  # fmt: skip
        rod = mb.body(f"rod{k + 1}", 2.0, (0.08, 0.08, 0.001), (0, 0, -0.35),
                      shape=Cylinder(0.02, 0.8, position=(0, 0, -0.4)))  # fmt: skip
        crosses.append((f"cross{k + 1}", mb.ground, cylinder, BASE[k]))
        slides.append((f"slide{k + 1}", cylinder, rod, k))
        balls.append((f"ball{k + 1}", rod, platform, TOP[k]))
    for name, first, second, at in crosses:
        mb.universal(name, first, second, axis="x", second_axis="y", at=at, q0=q[name], v0=(0.0, 0.0))
    for name, first, second, k in slides:
        if drive == "lengths":
            mb.prismatic(name, first, second, q0=q[name], v0=0.0, drive=LegLength(k))
        else:
            mb.prismatic(name, first, second, q0=q[name], v0=0.0, stiffness=STIFFNESS, rest=1.35)
    for name, first, second, at in balls:
        mb.spherical(name, first, second, to=at, q0=q[name], v0=(0.0, 0.0, 0.0))
    return mb


class PlatformPath:
    """Where the platform is at time t, and its axes: three angles about z, y and x; at rest at t = 0."""

    def __call__(self, t):
        """Position and rotation matrix."""
        there = 1 - np.cos(2 * t)
        x = np.stack([0.08 + 0.10 * there, -0.05 + 0.08 * np.sin(3 * t) ** 2, HEIGHT + 0.06 * there * np.cos(t)])
        return x, _turned(0.25 * there, 0.10 + 0.12 * np.sin(2 * t) ** 2, -0.05 + 0.10 * there)


def _turned(yaw, pitch, roll):
    cz, sz, cy, sy, cx, sx = (f(a) for a in (yaw, pitch, roll) for f in (np.cos, np.sin))
    return np.stack(
        [
            np.stack([cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx]),
            np.stack([sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx]),
            np.stack([-sy, cy * sx, cy * cx]),
        ]
    )


def _leg(k: int, t):
    """From its joint on the base to that on the platform."""
    x, R = PlatformPath()(t)
    return x + R @ TOP[k] - BASE[k]


class LegLength:
    """Length of a leg that belongs to the path of the platform."""

    def __init__(self, k: int):
        self.k = k

    def __call__(self, t):
        leg = _leg(self.k, t)
        return np.sqrt(leg @ leg)


@forks_wait
def joint_values(t: float) -> tuple[dict, dict]:
    """Values and rates of all joints on the path of the platform: inverse kinematics."""
    time = ca.SX.sym("t")
    now = scalar(time)
    R_platform = to_sx(PlatformPath()(now)[1])[0]
    q: dict = {}
    v: dict = {}
    for k in LEGS:
        leg = to_sx(_leg(k, now))[0]
        length = ca.norm_2(leg)
        n = leg / length
        a, b = ca.atan2(-n[1], n[2]), ca.asin(n[0])  # R_x(a) R_y(b) turns z into n
        ca_, sa, cb, sb = ca.cos(a), ca.sin(a), ca.cos(b), ca.sin(b)
        R_leg = ca.blockcat([[cb, 0, sb], [sa * sb, ca_, -sa * cb], [-ca_ * sb, sa, ca_ * cb]])
        R = ca.mtimes(R_leg.T, R_platform)
        values = ca.vertcat(a, b, length, ca.vec(R))
        found = ca.Function("values", [time], [values, ca.jacobian(values, time)])(t)
        at, rate = (np.array(entries).ravel() for entries in found)
        name = str(k + 1)
        q |= {f"cross{name}": at[:2], f"slide{name}": at[2:3]}
        v |= {f"cross{name}": rate[:2], f"slide{name}": rate[2:3]}
        turned, turning = (entries[3:].reshape(3, 3).T for entries in (at, rate))
        w = turned.T @ turning
        q[f"ball{name}"] = euler_parameters(turned)
        v[f"ball{name}"] = np.array([w[2, 1], w[0, 2], w[1, 0]])
    return q, v
