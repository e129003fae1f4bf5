"""A planar truck with engine and driver's seat: eleven coordinates, one constraint."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion, Input

from .arguments import checked
from .drawings import vehicles
from .problem import Problem, known_values
from .truck_references import TRUCK11

_ENGINE_X = 1.30  # the engine's centre of mass; all x relative to the reference point of the nine-coordinate chassis
_CHASSIS_X = -1355.0 * _ENGINE_X / 1980.0  # engine and chassis together have their centre of mass at that point
_REAR_DELAY = 0.3  # s: 4.5 m at 15 m/s
_ROUGH_TIME = 12.0  # s: length of the rough road

_PARAMETERS = {
    # masses in kg; chassis + engine = 3335 and cabin + seat = 1100, as in the nine-coordinate truck
    "m_rear": 1450.0, "m_front": 600.0, "m_chassis": 1980.0, "m_engine": 1355.0, "m_cabin": 1000.0, "m_seat": 100.0,
    "m_load": 11515.0,
    # moments of inertia in kg m²; the chassis has what is left of 14313 for chassis and engine together
    "I_chassis": 14313.0 - 250.0 - 1355.0 * _ENGINE_X**2 - 1980.0 * _CHASSIS_X**2,
    "I_engine": 250.0, "I_cabin": 948.0, "I_load": 33000.0, "gravity": 9.81,
    # x of the points on the chassis, and arms on the other bodies, in m
    "x_chassis": _CHASSIS_X, "x_rear": -2.06, "x_front": 2.44, "x_engine": _ENGINE_X, "x_cabin1": 1.94,
    "x_cabin2": 3.64, "x_load": 0.98, "x_joint": -3.07,
    "arm_engine": 0.5, "arm_cabin1": -0.8, "arm_cabin2": 0.9, "arm_load": 2.44, "arm_joint": -1.61,
    # stiffness in N/m and damping in N s/m
    "k_tyre_rear": 44e5, "d_tyre_rear": 600.0, "k_tyre_front": 22e5, "d_tyre_front": 300.0,
    "d_rear": 21593.0, "d_front": 38537.0, "k_engine": 1.3e6, "d_engine": 3500.0, "k_cabin": 1.357e5,
    "d_cabin": 12218.0, "k_seat": 8000.0, "d_seat": 600.0, "k_load": 9e5, "d_load": 38500.0,
    # pneumatic axle springs, see truck.py
    "kappa": 1.4, "nominal": 0.16, "pressure": 1e5, "slope": 39.13228, "area": 0.0562,
    # static loads of the axles, which the nine-coordinate truck has, too, in N
    "load_rear": 114920.662, "load_front": 41548.838,
}  # fmt: skip


@checked
def truck11(*, road: str = "sine") -> Problem:
    """Truck with engine and seat on [0, 20] s: eleven coordinates, one constraint, stiff tyres and engine mounts.

    The eleven-coordinate truck used in the literature was never published completely. This is a reconstruction: same
    bodies, connections and constraint; every number that the nine-coordinate truck (`truck`) has is taken from it; the
    split of chassis and engine, cabin and seat, the mounts of engine and seat, and the roads are our assumptions. Its
    results must not be compared with published ones, only with our reference. All coordinates are displacements from
    the static equilibrium, which is the start; forces act vertically.

    Parameters
    ----------
    road : "sine" (0.01 m amplitude at 1.5 Hz for ever) or "fourier" (eight harmonics that fade out after 12 s, so that
        the truck comes to rest again: a test of how far a method lets the step size grow).

    References
    ----------
    .. [1] B. Simeon, F. Grupp, C. Führer, P. Rentrop, "A nonlinear truck model and its treatment as a multibody
       system", J. Comp. Appl. Math. 50, 1994.
    """
    roads = {"sine": (_sine_road, (0.0,)), "fourier": (_fourier_road, (0.0, _ROUGH_TIME))}
    if road not in roads:
        raise OptionError(f"truck11: road must be one of {sorted(roads)}, not {road!r}")
    profile, kinks = roads[road]
    model = EquationsOfMotion(
        name=f"truck11_{road}",
        drawing=vehicles.truck11(),
        p=["rear", "front", "chassis", "chassis_pitch", "engine", "engine_pitch", "cabin", "cabin_pitch", "seat",
           "load", "load_pitch"],
        parameters=dict(_PARAMETERS),
        inputs={
            "road_rear": Input(lambda t: profile(t - _REAR_DELAY), breakpoints=tuple(k + _REAR_DELAY for k in kinks)),
            "road_front": Input(profile, breakpoints=kinks),
        },
        mass=lambda s: [s.m_rear, s.m_front, s.m_chassis, s.I_chassis, s.m_engine, s.I_engine, s.m_cabin, s.I_cabin,
                        s.m_seat, s.m_load, s.I_load],
        force=_force,
        holonomic=lambda s: [
            s.load + s.arm_joint * np.sin(s.load_pitch)
            - s.chassis - (s.x_joint - s.x_chassis) * np.sin(s.chassis_pitch)
        ],
    )  # fmt: skip
    source = "computed by us: DOP853 on the index-1 form, rtol 1e-10 and 1e-12 compared, restarted at the kinks"
    references = known_values(TRUCK11[road], source, 2e-13)
    return Problem(
        name="truck11",
        title=f"Planar truck with engine and seat ({road} road)",
        model=model,
        p0=np.zeros(11),
        v0=np.zeros(11),
        t_end=20.0,
        reference=references[0],
        references=references,
    )


def _sine_road(since):
    return np.where(since > 0.0, 0.01 * (1 - np.cos(2 * np.pi * 1.5 * since)), 0.0)


def _fourier_road(since):
    amplitudes = (0.010, 0.008, 0.006, 0.005, 0.004, 0.003, 0.002, 0.002)
    phases = (0.3, 1.7, 2.9, 0.8, 4.1, 5.2, 2.2, 3.6)
    waves = sum(
        amplitude * np.sin(2 * np.pi * 0.5 * i * since + phase)
        for i, (amplitude, phase) in enumerate(zip(amplitudes, phases, strict=True), start=1)
    )
    fading = np.sin(np.pi * since / _ROUGH_TIME) ** 4
    return np.where(since > 0.0, np.where(since < _ROUGH_TIME, fading * waves, 0.0), 0.0)


def _force(s):
    """Forces count as pushes: positive up on the upper body, down on the lower one."""

    def on_chassis(x):
        return on_body("chassis", "chassis_pitch", x - s.x_chassis)

    def on_body(lift, pitch, arm):
        height, angle = s[lift], s[pitch]
        return height + arm * np.sin(angle), s[f"{lift}_dot"] + arm * np.cos(angle) * s[f"{pitch}_dot"]

    def mount(static, k, d, upper, lower):
        return static - k * (upper[0] - lower[0]) - d * (upper[1] - lower[1])

    def axle(static, d, x, wheel, wheel_dot):
        height, rate = on_chassis(x)
        ratio = (1 + s.slope * s.nominal) / (1 + s.slope * (s.nominal + height - wheel))
        return (static - s.pressure * s.area) * ratio**s.kappa + s.pressure * s.area - d * (rate - wheel_dot)

    # static loads, from the balance of every body
    engine_weight, cabin_weight, load_weight = s.m_engine * s.gravity, s.m_cabin * s.gravity, s.m_load * s.gravity
    seat_weight = s.m_seat * s.gravity
    span = s.arm_cabin2 - s.arm_cabin1
    static_cabin1 = (cabin_weight + seat_weight) * s.arm_cabin2 / span
    static_cabin2 = -(cabin_weight + seat_weight) * s.arm_cabin1 / span
    static_load = -load_weight * s.arm_joint / (s.arm_load - s.arm_joint)
    wheels_rear = s.load_rear + s.m_rear * s.gravity
    wheels_front = s.load_front + s.m_front * s.gravity

    tyre_rear = mount(wheels_rear, s.k_tyre_rear, s.d_tyre_rear, (s.rear, s.rear_dot), (s.road_rear, s.road_rear_dot))
    tyre_front = mount(
        wheels_front, s.k_tyre_front, s.d_tyre_front, (s.front, s.front_dot), (s.road_front, s.road_front_dot)
    )
    rear = axle(s.load_rear, s.d_rear, s.x_rear, s.rear, s.rear_dot)
    front = axle(s.load_front, s.d_front, s.x_front, s.front, s.front_dot)
    engine1, engine2 = (
        mount(
            0.5 * engine_weight,
            s.k_engine,
            s.d_engine,
            on_body("engine", "engine_pitch", arm),
            on_chassis(s.x_engine + arm),
        )
        for arm in (-s.arm_engine, s.arm_engine)
    )
    cabin1, cabin2 = (
        mount(static, s.k_cabin, s.d_cabin, on_body("cabin", "cabin_pitch", arm), on_chassis(x))
        for static, arm, x in (
            (static_cabin1, s.arm_cabin1, s.x_cabin1),
            (static_cabin2, s.arm_cabin2, s.x_cabin2),
        )
    )
    seat = mount(seat_weight, s.k_seat, s.d_seat, (s.seat, s.seat_dot), (s.cabin, s.cabin_dot))
    load = mount(static_load, s.k_load, s.d_load, on_body("load", "load_pitch", s.arm_load), on_chassis(s.x_load))

    chassis = [
        (s.x_rear, rear),
        (s.x_front, front),
        (s.x_engine - s.arm_engine, -engine1),
        (s.x_engine + s.arm_engine, -engine2),
        (s.x_cabin1, -cabin1),
        (s.x_cabin2, -cabin2),
        (s.x_load, -load),
    ]
    return [
        tyre_rear - rear - s.m_rear * s.gravity,
        tyre_front - front - s.m_front * s.gravity,
        sum(push for _, push in chassis) - s.m_chassis * s.gravity,
        np.cos(s.chassis_pitch) * sum((x - s.x_chassis) * push for x, push in chassis),
        engine1 + engine2 - engine_weight,
        np.cos(s.engine_pitch) * s.arm_engine * (engine2 - engine1),
        cabin1 + cabin2 - seat - cabin_weight,
        np.cos(s.cabin_pitch) * (s.arm_cabin1 * cabin1 + s.arm_cabin2 * cabin2),
        seat - seat_weight,
        load - load_weight,
        np.cos(s.load_pitch) * s.arm_load * load,
    ]
