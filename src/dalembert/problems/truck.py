"""The planar truck of Eich-Soellner and Führer: nine coordinates, with or without a joint between chassis and load."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion, Input

from .arguments import checked
from .drawings import vehicles
from .problem import Problem, known_values
from .truck_references import TRUCK

_PARAMETERS = {
    # masses in kg (1 rear wheel, 2 chassis, 3 front wheel, 4 cabin, 5 load), moments of inertia in kg m²
    "m1": 1450.0, "m2": 3335.0, "m3": 600.0, "m4": 1100.0, "m5": 11515.0,
    "I2": 14313.0, "I4": 948.0, "I5": 33000.0, "gravity": 9.81,
    # longitudinal positions in m: aij on body i or the chassis, b on the cabin, c on the load
    "a12": -2.06, "a23": 2.44, "a24": 1.94, "a42": 3.64, "a25": 0.98, "a52": -3.07,
    "b24": -0.8, "b42": 0.9, "c25": 2.44, "c1d": -1.91, "c2d": -1.31, "h1": -1.34,
    # the joint: its point on the chassis and on the load
    "ac1": -3.07, "ac2": 0.15, "cc1": -1.61, "cc2": -0.75,
    # spring-dampers: stiffness, damping, offset of the force; numbers as in the points above, 10 and 30 are the tyres
    "k10": 44e5, "d10": 600.0, "f10": -2.329145162e6,
    "k30": 22e5, "d30": 300.0, "f30": -1.147434838e6,
    "k12": 8.247e5, "d12": 21593.0, "f12": -0.246872662e6,
    "k23": 2.711e5, "d23": 38537.0, "f23": -0.084924838e6,
    "k24": 1.357e5, "d24": 12218.0, "f24": -0.12784288235294e6,
    "k42": 1.357e5, "d42": 12218.0, "f42": -0.12720811764706e6,
    "k25": 9.0e5, "d25": 38500.0, "f25": -0.85490594111111e6,
    "k52": 7.70e5, "d52": 33013.0, "f52": -0.76635491099974e6,
    # pneumatic axle springs: polytropic exponent, nominal length, ambient pressure, 1/height, area, static loads
    "kappa": 1.4, "nominal": 0.16, "pressure": 1e5, "slope": 39.13228, "area": 0.0562,
    "load12": 114920.662, "load23": 41548.838,
}  # fmt: skip

SPEED = 15.0  # m/s
FRONT_ONSET = 2.0 / SPEED  # s: the front wheel meets the bump
REAR_ONSET = FRONT_ONSET + 4.5 / SPEED

_P0 = [0.5, 2.0, 0.0, 0.5, 2.9, 0.0, -1.46, 2.9, 0.0]


@checked
def truck(*, version: str = "constrained", springs: str = "pneumatic", t_end: float = 10.0) -> Problem:
    """Truck over a bump: nine coordinates, two constraints (or none), stiff tyres, a road that begins abruptly.

    Rear wheel, chassis (lift, pitch), front wheel, cabin (lift, pitch) and load (x, lift, pitch). The start is the
    exact static equilibrium; at 15 m/s the front wheel meets the bump 0.001 s⁶ e⁻ˢ (0.116 m high) at t = 2/15 and the
    rear wheel 0.3 s later. A good test of restarts, and of the work a method spends on fast, well-damped modes.

    Parameters
    ----------
    version : "constrained" (the load hinges on the chassis) or "unconstrained" (two spring-dampers instead: an ODE).
    springs : "pneumatic" (nonlinear, both axles) or "linear" (with the stiffness of the former in equilibrium).
    t_end : 3, 10 and 20 have reference values.

    Notes
    -----
    The literature prints the pneumatic law with signs of the ambient pressure that one would expect the other way
    round; they are kept, since only they give back the printed linear stiffness on both axles.

    References
    ----------
    .. [1] E. Eich-Soellner, C. Führer, "Numerical methods in multibody dynamics", Teubner, 1998.
    """
    if version not in ("constrained", "unconstrained"):
        raise OptionError(f"truck: version must be 'constrained' or 'unconstrained', not {version!r}")
    if springs not in ("pneumatic", "linear"):
        raise OptionError(f"truck: springs must be 'pneumatic' or 'linear', not {springs!r}")
    constrained, pneumatic = version == "constrained", springs == "pneumatic"

    def force(s):
        return _force(s, constrained, pneumatic)

    model = EquationsOfMotion(
        name=f"truck_{version}_{springs}",
        drawing=vehicles.truck(SPEED),
        p=["z1", "z2", "th2", "z3", "z4", "th4", "x5", "z5", "th5"],
        parameters=dict(_PARAMETERS),
        inputs={
            "road1": Input(bump(REAR_ONSET), breakpoints=(REAR_ONSET,)),
            "road3": Input(bump(FRONT_ONSET), breakpoints=(FRONT_ONSET,)),
        },
        mass=lambda s: [s.m1, s.m2, s.I2, s.m3, s.m4, s.I4, s.m5, s.m5, s.I5],
        force=force,
        holonomic=_joint if constrained else None,
    )
    source = "computed by us: DOP853 on the index-1 form, rtol 1e-10 and 1e-13 compared, restarted at the onsets"
    references = known_values(TRUCK[version, springs], source, 6e-13)
    return Problem(
        name="truck",
        title=f"Planar truck over a bump ({version}, {springs} axle springs)",
        model=model,
        p0=_P0,
        v0=np.zeros(9),
        t_end=t_end,
        reference=next((known for known in references if known.t == t_end), None),
        references=references,
    )


def bump(onset: float):
    """Height of the road under a wheel that meets the bump at time `onset`."""

    def height(t):
        since = np.where(t > onset, t - onset, 0.0)
        return 0.001 * since**6 * np.exp(-since)

    return height


class _Point:
    """A point in the plane with its velocity, and the lever arms that turn a force on it into generalized forces."""

    def __init__(self, origin, velocity, lift=0.0, angle=0.0, along=0.0, up=0.0, rate=0.0):
        # `lift` is the height of `origin` as a variable; the point sits at (along, up) in the turned body frame
        self.arm_x = np.cos(angle) * along - np.sin(angle) * up
        self.arm_z = np.sin(angle) * along + np.cos(angle) * up
        self.x, self.z = origin + self.arm_x, lift + self.arm_z
        self.x_dot = velocity[0] - self.arm_z * rate
        self.z_dot = velocity[1] + self.arm_x * rate

    def torque(self, fx, fz):
        return self.arm_x * fz - self.arm_z * fx


def _length(one, two):
    dx, dz = two.x - one.x, two.z - one.z
    length = np.sqrt(dx**2 + dz**2)
    rate = (dx * (two.x_dot - one.x_dot) + dz * (two.z_dot - one.z_dot)) / length
    return dx / length, dz / length, length, rate


def _spring(one, two, k, d, offset):
    """Linear spring-damper: the force on `one`, pulling towards `two`."""
    ex, ez, length, rate = _length(one, two)
    pull = k * length + d * rate + offset
    return pull * ex, pull * ez


def _pneumatic_spring(s, one, two, load, d):
    ex, ez, length, rate = _length(one, two)
    ratio = (1 + s.slope * s.nominal) / (1 + s.slope * length)
    push = (load - s.pressure * s.area) * ratio**s.kappa + s.pressure * s.area - d * rate
    return -push * ex, -push * ez


def _force(s, constrained, pneumatic):
    def on_chassis(along, up=0.0):
        return _Point(0.0, (0.0, s.z2_dot), s.z2, s.th2, along, up, s.th2_dot)

    def on_cabin(along):
        return _Point(s.a24 - s.b24, (0.0, s.z4_dot), s.z4, s.th4, along, 0.0, s.th4_dot)

    def on_load(along):
        return _Point(s.x5, (s.x5_dot, s.z5_dot), s.z5, s.th5, along, 0.0, s.th5_dot)

    rear, front = _Point(s.a12, (0.0, s.z1_dot), s.z1), _Point(s.a23, (0.0, s.z3_dot), s.z3)
    rear_axle, front_axle = on_chassis(s.a12, s.h1), on_chassis(s.a23, s.h1)
    if pneumatic:
        on_rear = _pneumatic_spring(s, rear, rear_axle, s.load12, s.d12)
        on_front = _pneumatic_spring(s, front, front_axle, s.load23, s.d23)
    else:
        on_rear = _spring(rear, rear_axle, s.k12, s.d12, s.f12)
        on_front = _spring(front, front_axle, s.k23, s.d23, s.f23)
    tyre_rear = s.k10 * (s.z1 - s.road1) + s.d10 * (s.z1_dot - s.road1_dot) + s.f10
    tyre_front = s.k30 * (s.z3 - s.road3) + s.d30 * (s.z3_dot - s.road3_dot) + s.f30

    # Every entry: (point on the chassis, force on the chassis there).
    chassis = [(rear_axle, _opposite(on_rear)), (front_axle, _opposite(on_front))]
    cabin, load = [], []
    for along, on_body, bodies, element in (
        (s.a24, on_cabin(s.b24), cabin, (s.k24, s.d24, s.f24)),
        (s.a42, on_cabin(s.b42), cabin, (s.k42, s.d42, s.f42)),
        (s.a25, on_load(s.c25), load, (s.k25, s.d25, s.f25)),
        (s.a52, on_load(s.c2d), load, (s.k52, s.d52, s.f52)),
        (s.a52, on_load(s.c1d), load, (s.k52, s.d52, s.f52)),
    )[: 3 if constrained else 5]:
        point = on_chassis(along)
        pull = _spring(point, on_body, *element)
        chassis.append((point, pull))
        bodies.append((on_body, _opposite(pull)))

    return [
        on_rear[1] - tyre_rear - s.m1 * s.gravity,
        _sum_z(chassis) - s.m2 * s.gravity,
        _sum_torque(chassis),
        on_front[1] - tyre_front - s.m3 * s.gravity,
        _sum_z(cabin) - s.m4 * s.gravity,
        _sum_torque(cabin),
        sum(fx for _, (fx, _) in load),
        _sum_z(load) - s.m5 * s.gravity,
        _sum_torque(load),
    ]


def _opposite(force):
    return -force[0], -force[1]


def _sum_z(forces):
    return sum(fz for _, (_, fz) in forces)


def _sum_torque(forces):
    return sum(point.torque(fx, fz) for point, (fx, fz) in forces)


def _joint(s):
    sin2, cos2, sin5, cos5 = np.sin(s.th2), np.cos(s.th2), np.sin(s.th5), np.cos(s.th5)
    return [
        s.x5 + cos5 * s.cc1 - sin5 * s.cc2 - (cos2 * s.ac1 - sin2 * s.ac2),
        s.z5 + sin5 * s.cc1 + cos5 * s.cc2 - (s.z2 + sin2 * s.ac1 + cos2 * s.ac2),
    ]
