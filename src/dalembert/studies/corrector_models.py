"""Models from bodies and joints on which strategies for Jacobians differ: a chain that swings, a car on a bad road.

They are what `problems.moving_chain` and `problems.passenger_car` are not: far from linear, with forces that make step
sizes go up and down. In joint coordinates without loops, so that there is an explicit and a residual form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.model import EquationsOfMotion
from dalembert.multibody import Multibody

GRAVITY = 9.81


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A system with start values; those that are not named are zero."""

    system: Multibody
    start: dict[str, float]
    t_end: float
    rtol: float
    atol: float

    def model(self, form: str) -> EquationsOfMotion:
        """Its equations in joint coordinates, in explicit or residual form."""
        return self.system.equations("joint", formalism=form)

    def values(self, model: EquationsOfMotion) -> dict[str, Any]:
        """The start values as arguments of `simulate`."""
        kinds = [kind for kind in ("p", "v", "r") if model.names(kind)]
        return {f"{kind}0": np.array([self.start.get(name, 0.0) for name in model.names(kind)]) for kind in kinds}


# -- the chain ---------------------------------------------------------------------------------------------------------


def swinging_chain(
    N: int, *, t_end: float = 10.0, omega: float = 1.0, tilt: float = 1.0, friction: float = 0.3
) -> Case:
    """The chain of `problems.moving_chain`, let go from a slope, with dry friction in its joints.

    N point masses of 1 kg on massless rods of 1 m. The start is a straight line, `tilt` rad from the vertical. The
    suspension moves by 0.3 m across and 0.2 m along the vertical with sin ωt; seen from there its acceleration acts on
    every mass, and is an input of the model. Friction in N m is smooth below rates of some 0.05 rad/s; beyond them it
    grows slowly with the rate.

    Examples
    --------
    >>> swinging_chain(3).model("explicit")
    EquationsOfMotion('swinging_chain_3': 3 positions, 3 velocities)
    """
    mb = Multibody(planar=True, name=f"swinging_chain_{N}")
    swing = mb.input("swing", lambda t: -(omega**2) * np.sin(omega * t))
    above, at = mb.ground, (0.0, 0.0)
    for i in range(1, N + 1):
        rod = mb.body(f"rod{i}", mass=1.0, com=(0.0, -1.0))
        joint = mb.revolute(f"joint{i}", above, rod, at=at)
        if friction:
            mb.friction(f"friction{i}", joint, friction, viscous=friction / 15, smoothing=0.05)
        mb.force(f"shaking{i}", rod.frame(at=(0.0, -1.0)), lambda s: [-0.3 * s[swing], -0.2 * s[swing]])
        above, at = rod, (0.0, -1.0)
    return Case(system=mb, start={"joint1.angle": tilt}, t_end=t_end, rtol=1e-4, atol=1e-6)


# -- the car -----------------------------------------------------------------------------------------------------------

#: kg, kg m², m, N/m, N s/m; the same as those of `problems.passenger_car` where both have them
BODY_MASS, BODY_INERTIA = 1150.0, (540.0, 2050.0, 2450.0)
ENGINE_MASS, ENGINE_INERTIA, ENGINE_AT = 150.0, (6.0, 8.0, 7.0), 1.0  # the engine is ahead of the centre of mass
MOUNTS, MOUNT_STIFFNESS, MOUNT_DAMPING = ((0.4, 0.0), (-0.2, 0.3), (-0.2, -0.3)), 3e5, 1500.0
CARRIER_MASS, CARRIER_INERTIA = 15.0, 0.3
WHEEL_MASS, WHEEL_INERTIA = 25.0, (0.7, 1.2, 0.7)
FRONT, REAR, TRACK, DEPTH, RADIUS = 1.2, 1.4, 0.75, 0.25, 0.3
SPRINGS = {1: (22e3, 1800.0), -1: (24e3, 2000.0)}
FREE_TRAVEL, STOP = 0.06, 5e5  # of a strut to either side, and the stiffness beyond
RUBBING, RUBBING_STIFFNESS = 150.0, 5e5  # dry friction of a strut in N, and how stiff it is before it slips
TYRE_STIFFNESS, TYRE_DAMPING = 2e5, 200.0
GRIP, SLIP_STIFFNESS, SHAPE = 0.95, 10.0, 1.4
PATCH = 0.07  # half of the length of a tyre's contact
RATIO = 16.0  # of the steering
DRIVE = 400.0  # N m s: torque of the rear wheels for what is lacking in speed

CORNERS = {"fl": (1, 1), "fr": (1, -1), "rl": (-1, 1), "rr": (-1, -1)}


def _joints(way: Any, side: int) -> Any:
    """Height of a road with ridges of 1 cm, some 10 cm long, every 5 m."""
    return 0.01 * np.exp(-((np.sin(np.pi * way / 5.0) * 5.0 / np.pi / 0.05) ** 2))


def _rough(way: Any, side: int) -> Any:
    """Height of a road with waves of 0.9 m to 5 m, different on the left (side 1) and on the right (−1)."""
    waves = np.sin(np.pi * way + side) + 0.6 * np.sin(0.37 * np.pi * way) + 0.4 * np.sin(2.3 * np.pi * way + 2 * side)
    return 0.02 * waves


#: joints of a concrete road, between which it is smooth: step sizes go up and down, stiffnesses hardly do. And waves
#: that drive the struts into their stops and lift wheels off the road: stiffnesses change, too
ROADS: dict[str, Callable[[Any, int], Any]] = {"joints": _joints, "rough": _rough}


def weaving_car(road: str = "joints", *, strips: int = 1, speed: float = 25.0, t_end: float = 5.0) -> Case:
    """The car of `problems.passenger_car` from bodies and joints, on a road that is not smooth.

    A free body with an engine on three elastic mounts; at each corner a strut (prismatic) with a carrier and a wheel
    that spins (revolute). Struts have springs with stops, dampers, and dry friction with hysteresis: its deflection
    before it slips is a state. The steering wheel moves with 0.5 sin(πt) rad; the angle of the front wheels, an input,
    turns the forces of the tyres only. Tyres are stiff, lift off, and saturate. Their contact is divided into `strips`
    across the direction of travel, each with a slip of its own: a detailed tyre is the costly force element of a
    vehicle model.

    Examples
    --------
    >>> weaving_car().model("residual")
    EquationsOfMotion('weaving_car': 22 positions, 20 velocities, 4 dynamic force variables)
    """
    mb = Multibody(name="weaving_car")
    # the centre of mass of both is the origin
    body = mb.body("body", mass=BODY_MASS, inertia=BODY_INERTIA, com=(-ENGINE_AT * ENGINE_MASS / BODY_MASS, 0.0, 0.0))
    mb.free("body_free", mb.ground, body)
    engine = mb.body("engine", mass=ENGINE_MASS, inertia=ENGINE_INERTIA)
    mb.free("engine_free", body, engine, at=(ENGINE_AT, 0.0, 0.0))
    for k, (x, y) in enumerate(MOUNTS, 1):
        ends = body.frame(at=(ENGINE_AT + x, y, 0.0)), engine.frame(at=(x, y, 0.0))
        mb.bushing(f"mount{k}", *ends, MOUNT_STIFFNESS, 0.0, MOUNT_DAMPING)
    mb.input("steer", lambda t: 0.5 / RATIO * np.sin(np.pi * t))
    sagging = ENGINE_MASS * GRAVITY / (len(MOUNTS) * MOUNT_STIFFNESS)
    start = {
        "body_free.e0": 1.0, "body_free.x_dot": speed, "engine_free.e0": 1.0, "engine_free.z": -sagging,
    }  # fmt: skip
    for name, (end, side) in CORNERS.items():
        _corner(mb, body, name, end, side, ROADS[road], strips, speed)
        start[f"{name}_spin.angle_dot"] = speed / RADIUS
    return Case(system=mb, start=start, t_end=t_end, rtol=1e-4, atol=1e-5)


def _corner(mb: Multibody, body, name: str, end: int, side: int, road: Callable, strips: int, speed: float) -> None:
    x = FRONT if end > 0 else -REAR
    weight = (BODY_MASS + ENGINE_MASS) * GRAVITY * (REAR if end > 0 else FRONT) / (FRONT + REAR) / 2
    stiffness, damping = SPRINGS[end]
    carrier = mb.body(f"{name}_carrier", mass=CARRIER_MASS, inertia=CARRIER_INERTIA)
    strut = mb.prismatic(f"{name}_strut", body, carrier, axis="z", at=(x, side * TRACK, -DEPTH))
    wheel = mb.body(f"{name}_wheel", mass=WHEEL_MASS, inertia=WHEEL_INERTIA)
    spin = mb.revolute(f"{name}_spin", carrier, wheel, axis="y")

    def spring(q):
        stops = _positive(q - FREE_TRAVEL, 1e-3) - _positive(-q - FREE_TRAVEL, 1e-3)
        return weight + stiffness * q + STOP * stops

    mb.torsion(f"{name}_spring", strut, spring, damping)
    deflection, rate = f"{name}_rubbing.deflection", f"{name}_strut.speed"

    def creep(s):  # slips when the deflection has reached rubbing/stiffness
        slow = np.sqrt(s[rate] ** 2 + 1e-6)
        return [s[rate] - slow * s[deflection] * RUBBING_STIFFNESS / RUBBING]

    mb.actuator(
        f"{name}_rubbing", strut, states={"deflection": 0.0}, dynamics=creep,
        force=lambda s: [-RUBBING_STIFFNESS * s[deflection]],
    )  # fmt: skip
    at_rest = weight + (CARRIER_MASS + WHEEL_MASS) * GRAVITY

    def tyre(s):
        way = speed * s.t + x
        height = 0.5 * (1.0 + np.tanh((way - 8.0) / 2.0)) * road(way, side)  # smooth at the start
        pressed = at_rest / TYRE_STIFFNESS + height - (s.position[2] + DEPTH)
        load = _positive(TYRE_STIFFNESS * pressed, 50.0)
        pull, push, turn, (along, across) = _contact(s, load, s.steer if end > 0 else None, strips, speed)
        forces = [
            pull * along - push * across,
            pull * across + push * along,
            load - TYRE_DAMPING * s.velocity[2],
        ]
        return forces, [RADIUS * forces[1], -RADIUS * forces[0], turn]

    mb.force(f"{name}_tyre", wheel, force=lambda s: tyre(s)[0], torque=lambda s: tyre(s)[1])
    if end < 0:
        mb.actuator(f"{name}_drive", spin, lambda s: DRIVE * (speed / RADIUS - s[f"{name}_spin.speed"]))


def _positive(x: Any, width: float) -> Any:
    """x where it is positive, otherwise 0; smooth."""
    return 0.5 * (x + np.sqrt(x**2 + width**2))


def _contact(s, load: Any, steer: Any, strips: int, speed: float) -> tuple:
    """Forces of the road along and across the wheel, their torque about the vertical, the direction of the wheel."""
    axle = s.orientation[:, 1]
    flat = np.sqrt(axle[0] ** 2 + axle[1] ** 2)
    along, across = axle[1] / flat, -axle[0] / flat
    if steer is not None:
        c, d = np.cos(steer), np.sin(steer)
        along, across = along * c - across * d, across * c + along * d
    turning = sum(s.angular_velocity[i] * axle[i] for i in range(3))
    ahead = s.velocity[0] * along + s.velocity[1] * across
    aside = s.velocity[1] * along - s.velocity[0] * across
    slip = (ahead - RADIUS * turning) / speed
    places = (2.0 * np.arange(strips) + 1.0) / strips - 1.0
    pressure = (1.0 - places**2) / np.sum(1.0 - places**2)
    pull, push, turn = 0.0, 0.0, 0.0
    for place, part in zip(PATCH * places, pressure, strict=True):
        drift = (aside + place * s.angular_velocity[2]) / speed
        size = np.sqrt(slip**2 + drift**2 + 1e-6)  # smooth where there is no slip
        force = GRIP * part * load * np.sin(SHAPE * np.arctan(SLIP_STIFFNESS * size)) / size
        pull, push, turn = pull - force * slip, push - force * drift, turn - place * force * drift
    return pull, push, turn, (along, across)
