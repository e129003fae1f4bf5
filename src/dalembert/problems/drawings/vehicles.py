"""Drawings of trucks, a car and a railway carriage."""

from __future__ import annotations

import numpy as np

from dalembert.draw import Body, Drawing, Fixed, Path, Spring, Trace
from dalembert.draw.parts import On
from dalembert.multibody.boundaries import Plane
from dalembert.multibody.shapes import Box, Cylinder, Plate, Sphere

#: rotation of a cylinder about z so that it turns about y
ACROSS = (np.pi / 2, 0.0, 0.0)


def _plate(left: float, right: float, low: float, high: float) -> Plate:
    return Plate([(left, low), (right, low), (right, high), (left, high)])


def truck() -> Drawing:
    """Nine coordinates: wheels, chassis, cabin and load."""
    parts = [
        Path([(-6.0, 0.0), (lambda s: s.a12 - 0.8, 0.0), ("a12", "road1"), ("a23", "road3"), (6.0, 0.0)], color="gray"),
        Body(("a12", "z1"), Sphere(0.5), name="rear wheel"),
        Body(("a23", "z3"), Sphere(0.5), name="front wheel"),
        Body((0.0, "z2"), _plate(-3.5, 4.0, -0.2, 0.0), angle="th2", name="chassis"),
        Body((lambda s: s.a24 - s.b24, "z4"), _plate(-0.9, 1.0, 0.0, 1.5), angle="th4", name="cabin"),
        Body(("x5", "z5"), _plate(-2.5, 3.0, -0.75, 1.0), angle="th5", name="load"),
        Spring(("a12", "z1"), On("chassis", (-2.06, -0.2))),
        Spring(("a23", "z3"), On("chassis", (2.44, -0.2))),
        Spring(On("chassis", (1.94, 0.0)), On("cabin", (-0.8, 0.0))),
        Spring(On("chassis", (3.64, 0.0)), On("cabin", (0.9, 0.0))),
        Spring(On("chassis", (0.98, 0.0)), On("load", (2.44, -0.75))),
        Trace(On("cabin", (0.0, 0.75))),
    ]
    return Drawing(parts)


def truck11() -> Drawing:
    """Eleven coordinates: displacements, twenty times as large as they are."""
    big = 20.0

    def lifted(x, height, name):
        return (x, lambda s: height + big * s[name])

    def turned(name):
        return lambda s: big * s[name]

    wheels = [lifted("x_rear", 0.0, "road_rear"), lifted("x_front", 0.0, "road_front")]
    chassis, engine = _plate(-3.5, 4.0, -0.2, 0.0), _plate(-0.6, 0.6, -0.1, 0.45)
    parts = [
        Path([(-6.0, 0.0), *wheels, (6.0, 0.0)], color="gray"),
        Body(lifted("x_rear", 0.5, "rear"), Sphere(0.5), name="rear"),
        Body(lifted("x_front", 0.5, "front"), Sphere(0.5), name="front"),
        Body(lifted("x_chassis", 2.0, "chassis"), chassis, angle=turned("chassis_pitch"), name="chassis"),
        Body(lifted("x_engine", 2.3, "engine"), engine, angle=turned("engine_pitch"), name="engine"),
        Body(lifted(2.74, 2.9, "cabin"), _plate(-0.9, 1.0, 0.0, 1.5), angle=turned("cabin_pitch"), name="cabin"),
        Body(lifted(2.74, 3.2, "seat"), _plate(-0.25, 0.25, 0.0, 0.5), name="seat"),
        Body(lifted(-1.46, 2.9, "load"), _plate(-2.5, 2.4, -0.75, 1.0), angle=turned("load_pitch"), name="load"),
        Spring(lifted("x_rear", 0.5, "rear"), On("chassis", (-1.8, -0.2))),
        Spring(lifted("x_front", 0.5, "front"), On("chassis", (2.7, -0.2))),
        Trace(lifted(2.74, 3.4, "seat")),
    ]  # fmt: skip
    return Drawing(parts, name="truck (displacements × 20)")


def _rotation(yaw, roll, pitch):
    """Yaw, then roll, then pitch, as in `rigid_bodies`."""
    (cy, sy), (cr, sr), (cp, sp) = ((np.cos(a), np.sin(a)) for a in (yaw, roll, pitch))
    return [
        [cy * cp - sy * sr * sp, -sy * cr, cy * sp + sy * sr * cp],
        [sy * cp + cy * sr * sp, cy * cr, sy * sp - cy * sr * cp],
        [-cr * sp, sr, cr * cp],
    ]


def passenger_car(wheels: dict[str, tuple[int, int]]) -> Drawing:
    """A body and four wheels on the road."""

    def turn(s):
        return _rotation(s.yaw, s.roll, s.pitch)

    def wheel(name, end, side):
        def at(s):
            ahead, aside = (s.front if end > 0 else -s.rear), side * s.track
            x = s.x + np.cos(s.yaw) * ahead - np.sin(s.yaw) * aside
            y = s.y + np.sin(s.yaw) * ahead + np.cos(s.yaw) * aside
            return [x, y, s.radius + s[f"{name}_z"]]

        def turned(s):
            spin = s.speed * s.t / s.radius + s[f"{name}_spin"]
            return _rotation(s.yaw + (s.steer if end > 0 else 0.0), 0.0, spin)

        tyre = Cylinder(0.3, 0.2, rotation=ACROSS, color="#3a4048")
        rim = Box((0.5, 0.21, 0.06), color="#c5ccd6")
        return Body(at, [tyre, rim], rotation=turned, name=name)

    hull = [Box((4.0, 1.65, 0.5), color="#d3483e"), Box((2.0, 1.45, 0.5), position=(-0.25, 0, 0.45), color="#9fb6cc")]
    body = Body(lambda s: [s.x, s.y, s.height + s.z], hull, rotation=turn, name="body")
    trace = Trace(lambda s: [s.x, s.y, 0.02])
    return Drawing([Fixed(Plane()), body, *(wheel(name, *place) for name, place in wheels.items()), trace])


def railway_carriage(bogies: dict[str, float], axles: dict[str, float]) -> Drawing:
    """Car body, bogies and wheelsets, in a frame that moves along the line."""

    def frame(name, x, height):
        def at(s):
            ahead = s[f"{name}_x"] if name != "car" else 0.0
            return [s.speed * s.t + x + ahead, s[f"{name}_y"], height(s) + s[f"{name}_z"]]

        def turned(s):
            rolled = s.speed * s.t / s.radius if name.endswith("axle") else 0.0
            return _rotation(s[f"{name}_yaw"], s[f"{name}_roll"], s[f"{name}_pitch"] + rolled)

        return {"at": at, "rotation": turned, "name": name}

    car = [
        Box((25.0, 2.8, 2.6), position=(0, 0, 0.6), color="#3b7dd8"),
        Box((24.2, 2.84, 0.9), position=(0, 0, 0.9), color="#cfe0f2"),
    ]
    wheel = [Cylinder(0.46, 0.12, position=(0, side * 0.75, 0), rotation=ACROSS, color="#525c69") for side in (-1, 1)]
    wheelset = [*wheel, Cylinder(0.08, 1.7, rotation=ACROSS, color="#8b95a3"), Box((0.1, 1.75, 0.7), color="#525c69")]
    bogie = [Box((3.4, 0.25, 0.2), position=(0, side, 0), color="#8d6e63") for side in (-1.0, 1.0)]
    bogie.append(Box((0.5, 2.2, 0.2), color="#8d6e63"))
    parts = [Body(shape=car, **frame("car", 0.0, lambda s: s.h_car))]
    parts += [Body(shape=bogie, **frame(f"{name}_bogie", x, lambda s: s.h_bogie)) for name, x in bogies.items()]
    parts += [Body(shape=wheelset, **frame(f"{name}_axle", x, lambda s: s.radius)) for name, x in axles.items()]
    return Drawing([Fixed(Plane()), *parts, Trace(lambda s: [s.speed * s.t, s.car_y, 0.02])])
