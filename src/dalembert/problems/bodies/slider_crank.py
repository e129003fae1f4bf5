"""A slider crank in space: the crank turns about the line along which the slider moves, at a distance."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.locks import forks_wait
from dalembert.multibody.shapes import Box, Capsule, Cylinder
from dalembert.multibody.system import Multibody

from ..arguments import check_choice, check_positive, checked
from .problem import BodiesProblem, problem_of

HINGE = (0.0, 0.10, 0.12)  # m: of the crank, whose axis is x; the slider moves along the x axis
CRANK, ROD = 0.08, 0.30
SPEED = 6.0  # rad/s: of the crank at the start
GRAVITY = 9.81
#: mass, centre of mass in the body's frame, moments of inertia about it
BODIES = {
    "crank": (0.12, (0.0, 0.0, 0.04), (1e-4, 1e-4, 1e-5)),
    "rod": (0.50, (-0.15, 0.0, 0.0), (4e-5, 4e-3, 4e-3)),
    "slider": (2.00, (0.0, 0.0, 0.0), (1e-3, 1e-3, 1e-3)),
}

# free version: t, angle and speed of the crank
_KNOWN = ((1.0, 10.989584617133158, 10.487164471424132), (5.0, 54.7030009357545, 10.540296535443503))


@checked
def spatial_slider_crank(
    coordinates: str = "joint", *, drive: str = "speed", energy: bool = False, t_end: float = 1.0
) -> BodiesProblem:
    """Spatial slider crank: hinge, ball joint, universal joint and slide around one loop, one degree of freedom.

    With P = hinge + r (0, -sin θ, cos θ) the pin of the crank, the slider is at x = √(l² - Py² - Pz²); the rod's two
    angles in the universal joint follow from its direction. The data are our own.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed".
    drive : "speed" or "none"
        "speed": the crank turns with 6 rad/s; the reference is exact. "none": it starts with that speed and turns under
        the weights alone, which conserves energy.
    energy : with drive="none", whether the total energy is an invariant of the model.
    t_end : with drive="none" 1 and 5 have reference values.
    """
    check_choice("spatial_slider_crank", "drive", drive, ("speed", "none"))
    check_positive("spatial_slider_crank", t_end=t_end)
    driven = drive == "speed"
    rows = [(t_end, SPEED * t_end, SPEED)] if driven else _KNOWN
    return problem_of(
        slider_crank_system(drive=drive),
        coordinates,
        title="Spatial slider crank",
        t_end=t_end,
        known=[(t, *kinematics(theta, rate)) for t, theta, rate in rows],
        source=(
            "exact: closed form of the kinematics"
            if driven
            else "computed by us: energy integral of the one freedom, closed form of the kinematics, 40 and 80 panels"
        ),
        accuracy=1e-14 if driven else 1e-13,
        energy=energy,
    )


def slider_crank_system(*, drive: str = "speed") -> Multibody:
    """Joints "hinge", "ball", "cross" (the universal joint) and "slide"."""
    mb = Multibody(gravity=(0, 0, -GRAVITY), name="spatial_slider_crank")
    shapes = {
        "crank": Capsule(0.01, CRANK, position=(0, 0, CRANK / 2)),
        "rod": Cylinder(0.008, ROD, position=(-ROD / 2, 0, 0), rotation=(0, np.pi / 2, 0)),
        "slider": Box((0.06, 0.04, 0.04)),
    }
    bodies = [mb.body(name, mass, moments, com, shapes[name]) for name, (mass, com, moments) in BODIES.items()]
    crank, rod, slider = bodies
    stand = Box((0.02, 0.05, HINGE[2] + 0.05), position=(-0.02, HINGE[1], (HINGE[2] - 0.05) / 2), color="#8a96a5")
    rail = Box((0.36, 0.02, 0.03), position=(0.2, 0, -0.035), color="#8a96a5")
    mb.ground.shape = [stand, rail]
    q, v = kinematics(0.0, SPEED)
    turning = Turning(SPEED) if drive == "speed" else None
    mb.revolute("hinge", mb.ground, crank, axis="x", at=HINGE, q0=q["hinge"], v0=v["hinge"], drive=turning)
    mb.prismatic("slide", mb.ground, slider, axis="x", q0=q["slide"], v0=v["slide"])
    mb.universal("cross", slider, rod, axis="z", second_axis="y", q0=q["cross"], v0=v["cross"])
    mb.spherical("ball", crank, rod, at=(0, 0, CRANK), to=(-ROD, 0, 0))
    return mb


class Turning:
    """An angle that grows with constant speed."""

    def __init__(self, speed: float):
        self.speed = speed

    def __call__(self, t):
        return self.speed * t


@forks_wait
def kinematics(angle: float, rate: float) -> tuple[dict, dict]:
    """Values and rates of the joints for an angle of the crank.

    >>> q, v = kinematics(0.0, 1.0)
    >>> round(q["slide"][0], 6), round(v["slide"][0], 6)
    (0.2, 0.04)
    """
    theta = ca.SX.sym("theta")
    y, z = HINGE[1] - CRANK * ca.sin(theta), HINGE[2] + CRANK * ca.cos(theta)
    x = ca.sqrt(ROD**2 - y**2 - z**2)
    # the rod's -x points from the slider to the pin: R_z(a) R_y(b) (-1, 0, 0) = (-x, y, z)/l
    values = ca.vertcat(theta, x, ca.atan2(-y, x), ca.asin(z / ROD))
    found = ca.Function("q", [theta], [values, ca.jacobian(values, theta)])(angle)
    q, by_angle = (np.array(entries).ravel().tolist() for entries in found)
    places = {"hinge": slice(0, 1), "slide": slice(1, 2), "cross": slice(2, 4)}
    return {name: q[at] for name, at in places.items()}, {
        name: [rate * entry for entry in by_angle[at]] for name, at in places.items()
    }
