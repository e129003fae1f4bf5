"""The planar truck of Eich-Soellner and Führer from five bodies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dalembert.model import Input
from dalembert.multibody.parts import Frame
from dalembert.multibody.system import Multibody

from ..arguments import check_choice, check_positive, checked
from ..drawings import shapes
from ..truck import _P0, _PARAMETERS, FRONT_ONSET, REAR_ONSET
from ..truck_references import TRUCK
from .problem import BodiesProblem, JointValues, problem_of


@checked
def truck_from_bodies(
    coordinates: str = "joint", *, version: str = "constrained", springs: str = "pneumatic", t_end: float = 10.0
) -> BodiesProblem:
    """Truck over a bump from bodies: the vehicle of `truck`, in any coordinates.

    Wheels slide along the vertical, chassis and cabin slide and pitch, the load hinges on the chassis ("constrained";
    in joint coordinates a tree of seven freedoms without constraints) or moves freely on springs ("unconstrained").
    Spring-dampers act between points of the bodies, tyres on the wheels.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed".
    version, springs, t_end : see `truck`.
    """
    check_choice("truck_from_bodies", "version", version, ("constrained", "unconstrained"))
    check_choice("truck_from_bodies", "springs", springs, ("pneumatic", "linear"))
    check_positive("truck_from_bodies", t_end=t_end)
    constrained = version == "constrained"
    return problem_of(
        truck_system(constrained=constrained, pneumatic=springs == "pneumatic"),
        coordinates,
        title=f"Planar truck over a bump from bodies ({version}, {springs} axle springs)",
        t_end=t_end,
        known=[(t, _joints(p, constrained), _joints(v, constrained)) for t, p, v, _ in TRUCK[version, springs]],
        source="computed by us: DOP853 on the index-1 form of the hand-written equations, rtol 1e-10 and 1e-13",
        accuracy=1e-12,
    )


def _joints(values: list[float], constrained: bool) -> JointValues:
    z1, z2, th2, z3, z4, th4, x5, z5, th5 = values
    load = {"hitch": th5 - th2} if constrained else {"loose": (x5, z5, th5)}
    return {"rear_guide": z1, "front_guide": z3, "chassis_guide": (z2, th2), "cabin_guide": (z4, th4)} | load


def truck_system(*, constrained: bool = True, pneumatic: bool = True) -> Multibody:
    """Rear wheel, chassis, front wheel, cabin and load; the roads are inputs."""
    s = SimpleNamespace(**_PARAMETERS)
    z1, z2, th2, z3, z4, th4, x5, z5, th5 = _P0
    mb = Multibody(planar=True, gravity=(0, -s.gravity), name="truck_from_bodies")
    rear = mb.body("rear_wheel", s.m1, 0.0, shape=shapes.wheel(0.5))
    chassis = mb.body("chassis", s.m2, s.I2, shape=shapes.truck_chassis())
    front = mb.body("front_wheel", s.m3, 0.0, shape=shapes.wheel(0.5))
    cabin = mb.body("cabin", s.m4, s.I4, shape=shapes.truck_cabin())
    load = mb.body("load", s.m5, s.I5, shape=shapes.truck_load())
    mb.ground.shape = shapes.plate(-5.2, 5.2, -0.35, 0.0, color="#8a96a5")

    mb.input("road1", Input(Bump(REAR_ONSET), breakpoints=(REAR_ONSET,)))
    mb.input("road3", Input(Bump(FRONT_ONSET), breakpoints=(FRONT_ONSET,)))
    mb.prismatic("rear_guide", mb.ground, rear, axis="y", at=(s.a12, 0), q0=z1)
    mb.prismatic("front_guide", mb.ground, front, axis="y", at=(s.a23, 0), q0=z3)
    upright = {"rotation": np.pi / 2, "rotation_to": np.pi / 2}  # the slot is vertical, the body's axes stay level
    mb.pin_in_slot("chassis_guide", mb.ground, chassis, q0=(z2, th2), **upright)
    mb.pin_in_slot("cabin_guide", mb.ground, cabin, at=(s.a24 - s.b24, 0), q0=(z4, th4), **upright)
    if constrained:
        mb.revolute("hitch", chassis, load, at=(s.ac1, s.ac2), to=(s.cc1, s.cc2), q0=th5 - th2)
    else:
        mb.plane("loose", mb.ground, load, q0=(x5, z5, th5))

    for name, wheel, k, d, f in (("1", rear, s.k10, s.d10, s.f10), ("3", front, s.k30, s.d30, s.f30)):
        mb.force(f"tyre{name}", wheel, Tyre(f"road{name}", k, d, f))
    axles = (("12", rear, s.a12, s.load12), ("23", front, s.a23, s.load23))
    for name, wheel, along, held in axles:
        k, d, f = (getattr(s, f"{letter}{name}") for letter in "kdf")
        ends = Frame(wheel), chassis.frame(at=(along, s.h1))
        if pneumatic:
            mb.spring(f"spring{name}", *ends, stiffness=Pneumatic(held), damping=d)
        else:
            mb.spring(f"spring{name}", *ends, stiffness=k, damping=d, length=-f / k)
    mounts = [("24", s.a24, cabin, s.b24), ("42", s.a42, cabin, s.b42), ("25", s.a25, load, s.c25)]
    if not constrained:
        mounts += [("52", s.a52, load, s.c2d), ("52", s.a52, load, s.c1d)]
    for count, (name, along, body, there) in enumerate(mounts):
        k, d, f = (getattr(s, f"{letter}{name}") for letter in "kdf")
        ends = chassis.frame(at=(along, 0)), body.frame(at=(there, 0))
        mb.spring(f"spring{name}{'b' if count == 4 else ''}", *ends, stiffness=k, damping=d, length=-f / k)
    return mb


class Bump:
    """Height of the road under a wheel that meets the bump at time `onset`."""

    def __init__(self, onset: float):
        self.onset = onset

    def __call__(self, t):
        since = np.where(t > self.onset, t - self.onset, 0.0)
        return 0.001 * since**6 * np.exp(-since)


class Tyre:
    """Vertical force of a tyre on its wheel."""

    def __init__(self, road: str, k: float, d: float, offset: float):
        self.road, self.k, self.d, self.offset = road, k, d, offset

    def __call__(self, s):
        squeezed = self.k * (s.position[1] - s[self.road])
        return [0, -(squeezed + self.d * (s.velocity[1] - s[f"{self.road}_dot"]) + self.offset)]


class Pneumatic:
    """Pull of an air spring of a given length that carries `load` at its nominal one."""

    def __init__(self, load: float):
        self.load = load

    def __call__(self, length):
        s = SimpleNamespace(**_PARAMETERS)
        ratio = (1 + s.slope * s.nominal) / (1 + s.slope * length)
        return -((self.load - s.pressure * s.area) * ratio**s.kappa + s.pressure * s.area)
