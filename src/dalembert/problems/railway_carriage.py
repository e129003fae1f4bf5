"""A railway carriage on an S-shaped change of line: 41 coordinates, 8 wheels that keep contact."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion, Input

from .arguments import check_positive, checked
from .drawings import vehicles
from .problem import Problem, known_values
from .railway_carriage_references import RAILWAY_CARRIAGE
from .rigid_bodies import Body, join

_PIVOT, _AXLE = 9.5, 1.28  # m: half the distances of the bogies, and of the wheelsets of a bogie
_CURVE_START, _CURVE_LENGTH, _CURVE_OFFSET = 80.0, 200.0, 3.0  # m, along the line, and across it

_PARAMETERS = {
    # masses in kg, moments of inertia in kg m²
    "m_car": 32000.0, "Ix_car": 56800.0, "Iy_car": 1.97e6, "Iz_car": 1.97e6,
    "m_bogie": 2615.0, "Ix_bogie": 1722.0, "Iy_bogie": 1476.0, "Iz_bogie": 3067.0,
    "m_axle": 1813.0, "Ix_axle": 1120.0, "Iy_axle": 112.0, "Iz_axle": 1120.0, "gravity": 9.81,
    # geometry in m: heights above the rail, half distances
    "h_car": 1.8, "h_bogie": 0.6, "h_secondary": 0.83, "h_rod": 0.6, "pivot": _PIVOT, "axle": _AXLE,
    "b_primary": 1.0, "b_secondary": 1.0, "b_yaw": 1.35, "b_rail": 0.75, "radius": 0.46, "conicity": 0.15,
    # one axle box: stiffness in N/m, damping in N s/m
    "kx_primary": 5e6, "ky_primary": 3.9e6, "kz_primary": 1.22e6,
    "dx_primary": 1.5e4, "dy_primary": 2e3, "dz_primary": 4e3,
    # one secondary spring with its dampers
    "kx_secondary": 1.6e5, "ky_secondary": 1.6e5, "kz_secondary": 4.3e5,
    "dx_secondary": 0.0, "dy_secondary": 1.6e4, "dz_secondary": 1e4,
    # traction rod and roll bar of a bogie, one yaw damper
    "k_rod": 5e6, "d_rod": 2.5e4, "k_bar": 9.4e5, "d_yaw": 2e5,
    # linear creep of one wheel, in N
    "f_long": 1.0e7, "f_lat": 0.9e7,
}  # fmt: skip

_BOGIES = {"front": 1.0, "rear": -1.0}
_AXLES = {f"{bogie}{k}": (bogie, sign) for bogie in _BOGIES for k, sign in ((1, 1.0), (2, -1.0))}
_DIRECTIONS = ("x", "y", "z", "roll", "pitch", "yaw")
_BODIES = tuple(
    name for bogie in _BOGIES for name in (f"{bogie}_bogie", *(f"{axle}_axle" for axle in _AXLES if bogie in axle))
)


@checked
def railway_carriage(*, speed: float = 20.0, t_end: float = 15.0) -> Problem:
    """Carriage that crosses an S-shaped change of line at constant speed: 41 coordinates, 8 constraints, stiff.

    Made after a description without data [1]_: car body (5 coordinates), two bogies and four wheelsets (6 each), a
    constraint for each of the eight wheels, 15 s. Only this outline is the source's. The equations and the data are
    our own; masses, springs and dampers have the size of the passenger vehicle of the Manchester benchmarks [2]_, with
    softer longitudinal guidance of the wheelsets. Its results must not be compared with published ones, only with our
    references.

    - Coordinates are displacements from the place of each body in the undeformed vehicle, which moves straight on with
      the speed; the angles are yaw, roll and pitch (see `rigid_bodies`), the pitch of a wheelset is its rotation
      beyond rolling with the speed. The car body follows its speed exactly, so that it has no x.
    - Every axle box, secondary spring, traction rod and yaw damper is a spring-damper with three directions and full
      geometry, a roll bar joins car body and bogie. Axle boxes do not turn with the wheels.
    - Inertia forces are linear in roll, pitch and their rates; the gyroscopic moment of the rolling wheelsets is kept.
    - Wheels are cones, rails are edges: in the cross section of the track, each wheel's cone goes through the rail.
      Contact is never lost, and the multipliers are the wheel loads in N. There is no flange; the wheelsets stay
      within 6 mm of the track's centre.
    - Creep forces are linear in the longitudinal and the lateral creepage, without spin creepage.
    - The line is given by its lateral offset at the place of each wheelset, an input, whose rates are heading and
      curvature. It is 3 m on 200 m, with a curvature of κ sin(2πσ) sin²(πσ), σ from 0 to 1, and a radius of 1225 m at
      least. There is no cant.

    The start is the equilibrium on the straight line, at rest relative to it. In the end the carriage comes to rest
    again on the straight line 3 m beside it.

    Parameters
    ----------
    speed : in m/s. It is stable up to at least 60 m/s; there are references for 20 m/s.
    t_end : end time; 8 (in the curve) and 15 have references.

    References
    ----------
    .. [1] M. Arnold, A. Fuchs, C. Führer, "Efficient corrector iteration for DAE time integration in multibody
       dynamics", Computer Methods in Applied Mechanics and Engineering 195, 2006, section 4.1.
    .. [2] S. Iwnicki (ed.), "The Manchester benchmarks for rail vehicle simulation", Swets & Zeitlinger, 1999.
    """
    check_positive("railway_carriage", speed=speed, t_end=t_end)
    model = EquationsOfMotion(
        name="railway_carriage",
        drawing=vehicles.railway_carriage(
            {b: k * _PIVOT for b, k in _BOGIES.items()}, {a: _place(a) for a in _AXLES}, _offset, speed * t_end
        ),
        p=[f"car_{d}" for d in _DIRECTIONS[1:]] + [f"{body}_{d}" for body in _BODIES for d in _DIRECTIONS],
        parameters={**_PARAMETERS, "speed": speed},
        inputs={f"line_{axle}": _line(_place(axle), speed) for axle in _AXLES},
        mass=_mass,
        force=_force,
        holonomic=_contact,
        lam=[f"{axle}_{side}" for axle in _AXLES for side in ("left", "right")],
    )
    references = ()
    if speed == 20.0:
        source = "computed by us: HEM5, rtol 1e-12, and Radau IIA(5) in the form ggl, rtol 1e-13, compared"
        references = known_values(((t, *values) for t, values in RAILWAY_CARRIAGE.items()), source, 5e-12)
    return Problem(
        name="railway_carriage",
        title="Railway carriage on a change of line",
        model=model,
        p0=np.zeros(41),
        v0=np.zeros(41),
        t_end=t_end,
        reference=next((known for known in references if known.t == t_end), None),
        references=references,
    )


def _place(axle: str) -> float:
    """Distance of a wheelset from the middle of the carriage."""
    bogie, sign = _AXLES[axle]
    return _BOGIES[bogie] * _PIVOT + sign * _AXLE


def _offset(x):
    """Lateral offset of the line at x: the curvature sin(2πσ) sin²(πσ) integrated twice."""
    sigma = (x - _CURVE_START) / _CURVE_LENGTH
    wave = 2 * np.pi * sigma
    share = sigma + (np.sin(2 * wave) / 8 - np.sin(wave)) / (0.75 * 2 * np.pi)
    return _CURVE_OFFSET * np.where(sigma < 0.0, 0.0, np.where(sigma > 1.0, 1.0, share))


def _line(ahead: float, speed: float) -> Input:
    """The offset of the line where a wheelset is."""
    ends = (_CURVE_START - ahead, _CURVE_START + _CURVE_LENGTH - ahead)
    return Input(lambda t: _offset(speed * t + ahead), breakpoints=tuple(end / speed for end in ends))


def _mass(s):
    bogie = [s.m_bogie, s.m_bogie, s.m_bogie, s.Ix_bogie, s.Iy_bogie, s.Iz_bogie]
    axle = [s.m_axle, s.m_axle, s.m_axle, s.Ix_axle, s.Iy_axle, s.Iz_axle]
    return [s.m_car, s.m_car, s.Ix_car, s.Iy_car, s.Iz_car] + 2 * (bogie + axle + axle)


def _force(s):
    car = _body(s, "car", (0.0, 0.0, s.h_car))
    bogies = {name: _body(s, f"{name}_bogie", (sign * s.pivot, 0.0, s.h_bogie)) for name, sign in _BOGIES.items()}
    axles = {name: _body(s, f"{name}_axle", (_place(name), 0.0, s.radius)) for name in _AXLES}
    weight = s.m_car * s.gravity / 4  # on a secondary spring
    for name, bogie in bogies.items():
        _hold_car(s, car, bogie, _BOGIES[name] * s.pivot, weight)
    for name, axle in axles.items():
        bogie, sign = _AXLES[name]
        _hold_bogie(s, bogies[bogie], axle, sign * s.axle, (2 * weight + s.m_bogie * s.gravity) / 4)
    down = np.array([0.0, 0.0, -s.gravity])
    for body, m in [
        (car, s.m_car),
        *((b, s.m_bogie) for b in bogies.values()),
        *((a, s.m_axle) for a in axles.values()),
    ]:
        body.force = body.force + m * down
    forces = [*car.force[1:], *car.turning()]
    for name, bogie in bogies.items():
        forces += [*bogie.force, *bogie.turning()]
        for axle in (axle for axle in axles if name in axle):
            forces += _rolling(s, axle, axles[axle])
    return forces


def _body(s, name: str, place) -> Body:
    """A body whose coordinates are displacements from `place` in the undeformed vehicle."""
    ahead, ahead_rate = (0.0, 0.0) if name == "car" else (s[f"{name}_x"], s[f"{name}_x_dot"])
    # axle boxes do not turn with the wheels
    pitch, pitch_rate = (0.0, 0.0) if name.endswith("axle") else (s[f"{name}_pitch"], s[f"{name}_pitch_dot"])
    return Body(
        position=np.array(place) + np.array([ahead, s[f"{name}_y"], s[f"{name}_z"]]),
        velocity=np.array([ahead_rate, s[f"{name}_y_dot"], s[f"{name}_z_dot"]]),
        yaw=s[f"{name}_yaw"],
        roll=s[f"{name}_roll"],
        pitch=pitch,
        rates=(s[f"{name}_roll_dot"], pitch_rate, s[f"{name}_yaw_dot"]),
    )


def _hold_car(s, car: Body, bogie: Body, ahead, weight) -> None:
    """Secondary springs, yaw dampers, traction rod and roll bar between car body and a bogie."""

    def at(y, height):
        return (ahead, y, height - s.h_car), (0.0, y, height - s.h_bogie)

    for side in (1.0, -1.0):
        place, seat = at(side * s.b_secondary, s.h_secondary)
        stiffness = (s.kx_secondary, s.ky_secondary, s.kz_secondary)
        damping = (s.dx_secondary, s.dy_secondary, s.dz_secondary)
        join(car, place, bogie, seat, stiffness, damping, preload=(0.0, 0.0, weight))
        place, seat = at(side * s.b_yaw, s.h_secondary)
        join(car, place, bogie, seat, (0.0, 0.0, 0.0), (s.d_yaw, 0.0, 0.0))
    place, seat = at(0.0, s.h_rod)
    join(car, place, bogie, seat, (s.k_rod, 0.0, 0.0), (s.d_rod, 0.0, 0.0))
    bar = s.k_bar * (car.roll - bogie.roll)
    car.roll_moment, bogie.roll_moment = car.roll_moment - bar, bogie.roll_moment + bar


def _hold_bogie(s, bogie: Body, axle: Body, ahead, weight) -> None:
    """Axle boxes."""
    for side in (1.0, -1.0):
        place = (ahead, side * s.b_primary, s.radius - s.h_bogie)
        seat = (0.0, side * s.b_primary, 0.0)
        stiffness = (s.kx_primary, s.ky_primary, s.kz_primary)
        damping = (s.dx_primary, s.dy_primary, s.dz_primary)
        join(bogie, place, axle, seat, stiffness, damping, preload=(0.0, 0.0, weight))


def _rolling(s, name: str, axle: Body) -> list:
    """Forces on a wheelset, those of the rails included, and its gyroscopic moments."""
    heading = np.arctan(s[f"line_{name}_dot"] / s.speed)
    along, across = np.cos(heading), np.sin(heading)
    ahead, left = s.speed + axle.velocity[0], axle.velocity[1]
    roll_rate, _, yaw_rate = axle.rates
    turn = s.speed / s.radius + s[f"{name}_axle_pitch_dot"]
    inclined = axle.yaw - heading
    offset = s[f"{name}_axle_y"] - s[f"line_{name}"]
    pull = push = roll = yaw = pitch = 0.0
    for side in (1.0, -1.0):
        radius = s.radius + side * s.conicity * offset
        slip = ahead * along + left * across - side * s.b_rail * yaw_rate - radius * turn * np.cos(inclined)
        drift = left * along - ahead * across + s.radius * roll_rate - radius * turn * np.sin(inclined)
        longitudinal, lateral = -s.f_long * slip / s.speed, -s.f_lat * drift / s.speed
        pull = pull + longitudinal * along - lateral * across
        push = push + longitudinal * across + lateral * along
        roll = roll + s.radius * lateral
        yaw = yaw - side * s.b_rail * longitudinal
        pitch = pitch - radius * longitudinal
    momentum = s.Iy_axle * s.speed / s.radius
    turning = axle.turning()
    x, y, z = axle.force
    return [x + pull, y + push, z,
            turning[0] + roll + momentum * yaw_rate, pitch, turning[2] + yaw - momentum * roll_rate]  # fmt: skip


def _contact(s):
    """How deep the edge of each rail is in the wheel's cone, in the cross section of the track."""
    depths = []
    for name in _AXLES:
        offset, roll = s[f"{name}_axle_y"] - s[f"line_{name}"], s[f"{name}_axle_roll"]
        height = s.radius + s[f"{name}_axle_z"]
        for side in (1.0, -1.0):
            aside = side * s.b_rail - offset  # from the middle of the axle to the rail
            distance = aside * np.sin(roll) + height * np.cos(roll)
            outward = side * (aside * np.cos(roll) - height * np.sin(roll))
            depths.append(s.radius - s.conicity * (outward - s.b_rail) - distance)
    return depths
