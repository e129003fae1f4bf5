"""A passenger car that weaves: sinusoidal steering by a rheonomic constraint, tyres that saturate."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_finite, check_positive, checked
from .drawings import vehicles
from .passenger_car_references import PASSENGER_CAR
from .problem import Problem, Reference
from .rigid_bodies import Body

_PARAMETERS = {
    # masses in kg: body, one wheel with its carrier; moments of inertia in kg m², yaw of the whole car
    "m_body": 1300.0, "m_wheel": 40.0, "Ix": 550.0, "Iy": 2200.0, "Iz": 2600.0, "I_spin": 1.2, "gravity": 9.81,
    # geometry in m: front and rear axle from the centre of mass, half tracks, heights above the road
    "front": 1.2, "rear": 1.4, "track": 0.75, "height": 0.55, "roll_centre": 0.1, "radius": 0.3,
    # suspension and tyre in N/m and N s/m, bars against roll in N/m between the wheels of an axle
    "k_front": 22e3, "k_rear": 24e3, "d_front": 1800.0, "d_rear": 2000.0, "bar_front": 12e3, "bar_rear": 6e3,
    "k_tyre": 2e5, "d_tyre": 200.0,
    # friction and shape of the tyres' slip curve, trail in m
    "grip": 0.95, "stiffness": 10.0, "shape": 1.4, "trail": 0.04,
    # steering: inertias of hand wheel and road wheels in kg m², ratio, shaft in N m/rad and N m s/rad at the wheels
    "I_hand": 0.04, "I_steer": 3.0, "ratio": 16.0, "k_shaft": 2e4, "d_shaft": 150.0,
    # drive on the rear wheels in N m s/m
    "drive": 2000.0,
}  # fmt: skip

_WHEELS = {"front_left": (1, 1), "front_right": (1, -1), "rear_left": (-1, 1), "rear_right": (-1, -1)}


@checked
def passenger_car(
    *, speed: float = 25.0, amplitude: float = 0.5, frequency: float = 0.5, t_end: float = 5.0
) -> Problem:
    """Car that weaves at constant speed: 16 coordinates, the steering wheel prescribed.

    Made after a description without data [1]_: a car at constant speed whose steering is driven by a sinusoidal
    rheonomic joint, 5 s. Equations and data are our own, of the size usual for a medium passenger car [2]_; results
    must not be compared with published ones, only with our reference.

    - Body: centre of mass x, y, z and roll, pitch, yaw (see `rigid_bodies`). Four wheels that move vertically
      (`…_z`) and spin (`…_spin`, beyond rolling with the speed); along and across the road they move with the body.
    - `hand` is the angle of the steering wheel and `steer` that of the front wheels; an elastic shaft is between them.
      The constraint is hand = amplitude sin(2π frequency t): its multiplier is the driver's torque.
    - Springs, dampers and bars against roll are linear and vertical. Forces along and across act on the body at the
      height of the roll centre. Inertia forces are linear in roll and pitch.
    - Tyres: the force opposes the slip (longitudinal and lateral together) and is grip · load · sin(shape ·
      arctan(stiffness · slip)), which saturates. The load changes with the tyre's vertical deflection.
    - A drive on the rear wheels, in proportion to what is lacking, holds the speed.

    Heights are displacements from the equilibrium; it starts straight ahead from there, with the steering wheel moving
    already, as a sine has it; so the line about which the car weaves is inclined to x.

    Parameters
    ----------
    speed : in m/s.
    amplitude : of the steering wheel in rad. The default gives 0.4 g across, twice as much 0.7 g, near the limit of
        the tyres.
    frequency : of the steering wheel in Hz.
    t_end : end time. There is a reference for the defaults of all.

    References
    ----------
    .. [1] M. Arnold, A. Fuchs, C. Führer, "Efficient corrector iteration for DAE time integration in multibody
       dynamics", Computer Methods in Applied Mechanics and Engineering 195, 2006, section 4.2.2.
    .. [2] H.B. Pacejka, "Tyre and vehicle dynamics", Butterworth-Heinemann, 2006.
    """
    check_positive("passenger_car", speed=speed, frequency=frequency, t_end=t_end)
    check_finite("passenger_car", amplitude=amplitude)
    model = EquationsOfMotion(
        name="passenger_car",
        drawing=vehicles.passenger_car(_WHEELS),
        p=["x", "y", "z", "roll", "pitch", "yaw", "hand", "steer"]
        + [f"{wheel}_{d}" for wheel in _WHEELS for d in ("z", "spin")],
        parameters={**_PARAMETERS, "speed": speed, "amplitude": amplitude, "frequency": frequency},
        mass=_mass,
        force=_force,
        holonomic=lambda s: [s.hand - s.amplitude * np.sin(2 * np.pi * s.frequency * s.t)],
        lam=["driver"],
    )
    reference = None
    if (speed, amplitude, frequency, t_end) == (25.0, 0.5, 0.5, 5.0):
        p, v, lam = PASSENGER_CAR
        reference = Reference(
            t=t_end,
            p=p,
            v=v,
            lam=lam,
            source="computed by us: DOP853 on the index-1 form, rtol 1e-11 and 1e-13 compared; HEM5 agrees to 2e-13",
            accuracy=1e-12,
        )
    v0 = np.zeros(16)
    v0[0], v0[6] = speed, 2 * np.pi * frequency * amplitude
    return Problem(
        name="passenger_car",
        title="Passenger car with sinusoidal steering",
        model=model,
        p0=np.zeros(16),
        v0=v0,
        t_end=t_end,
        reference=reference,
    )


def _mass(s):
    whole = s.m_body + 4 * s.m_wheel
    return [whole, whole, s.m_body, s.Ix, s.Iy, s.Iz, s.I_hand, s.I_steer] + 4 * [s.m_wheel, s.I_spin]


def _force(s):
    body = Body(
        position=np.array([0.0, s.y, s.height + s.z]),  # the road is the same everywhere: x has no say
        velocity=np.array([s.x_dot, s.y_dot, s.z_dot]),
        yaw=s.yaw,
        roll=s.roll,
        pitch=s.pitch,
        rates=(s.roll_dot, s.pitch_dot, s.yaw_dot),
    )
    suspension = _suspension(s, body)
    torque = s.drive * (s.speed - (s.x_dot * np.cos(s.yaw) + s.y_dot * np.sin(s.yaw))) / 2
    wheels, aligning = [], 0.0
    for wheel, (end, _) in _WHEELS.items():
        turn = s.speed / s.radius + s[f"{wheel}_spin_dot"]
        load = _weight(s, end) + s.m_wheel * s.gravity - s.k_tyre * s[f"{wheel}_z"] - s.d_tyre * s[f"{wheel}_z_dot"]
        angle = s.yaw + (s.steer if end > 0 else 0.0)
        place = np.array([s.front if end > 0 else -s.rear, _WHEELS[wheel][1] * s.track, s.roll_centre - s.height])
        at, velocity = body.point(place)
        pull, push = _tyre(s, load, velocity, angle, turn)
        along, across = np.cos(angle), np.sin(angle)
        body.apply(np.array([pull * along - push * across, pull * across + push * along, 0.0]), at)
        if end > 0:
            aligning = aligning - s.trail * push
        wheels += [
            load - suspension[wheel] - s.m_wheel * s.gravity,
            (torque if end < 0 else 0.0) - s.radius * pull,
        ]
    twist = s.hand / s.ratio - s.steer
    shaft = s.k_shaft * twist + s.d_shaft * (s.hand_dot / s.ratio - s.steer_dot)
    x, y, z = body.force
    return [x, y, z - s.m_body * s.gravity, *body.turning(), -shaft / s.ratio, shaft + aligning, *wheels]


def _weight(s, end: int):
    """The body's weight on one wheel."""
    return s.m_body * s.gravity * (s.rear if end > 0 else s.front) / (s.front + s.rear) / 2


def _suspension(s, body: Body) -> dict:
    """Push body and wheels apart; the pushes, by wheel."""
    stroke, rate, at = {}, {}, {}
    for wheel, (end, side) in _WHEELS.items():
        place = np.array([s.front if end > 0 else -s.rear, side * s.track, 0.0])
        at[wheel], velocity = body.point(place)
        stroke[wheel] = at[wheel][2] - s.height - s[f"{wheel}_z"]
        rate[wheel] = velocity[2] - s[f"{wheel}_z_dot"]
    pushes = {}
    for wheel, (end, side) in _WHEELS.items():
        k, d, bar = (s.k_front, s.d_front, s.bar_front) if end > 0 else (s.k_rear, s.d_rear, s.bar_rear)
        name = "front" if end > 0 else "rear"
        skew = side * (stroke[f"{name}_left"] - stroke[f"{name}_right"])
        pushes[wheel] = _weight(s, end) - k * stroke[wheel] - d * rate[wheel] - bar * skew
        body.apply(np.array([0.0, 0.0, pushes[wheel]]), at[wheel])
    return pushes


def _tyre(s, load, velocity, angle, turn):
    """Forces of the road on a wheel along and across its plane."""
    ahead = velocity[0] * np.cos(angle) + velocity[1] * np.sin(angle)
    aside = velocity[1] * np.cos(angle) - velocity[0] * np.sin(angle)
    slip, drift = (ahead - s.radius * turn) / s.speed, aside / s.speed
    size = np.sqrt(slip**2 + drift**2 + 1e-6)  # smooth where there is no slip
    force = s.grip * load * np.sin(s.shape * np.arctan(s.stiffness * size)) / size
    return -force * slip, -force * drift
