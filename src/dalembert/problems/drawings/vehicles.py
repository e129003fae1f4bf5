"""Drawings of trucks, a car and a railway carriage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.draw import Body, Dot, Drawing, Fixed, Path, Spring, Trace
from dalembert.draw.parts import On
from dalembert.multibody.boundaries import Plane
from dalembert.multibody.shapes import Box

from . import shapes

#: metres of rails that are drawn at most: whoever asks for more gets a line that ends
FARTHEST = 3000.0


def _ground(road: Callable) -> Path:
    """The road around the vehicle; `road(s, x)` is its height."""
    places = [(x, lambda s, x=x: road(s, x)) for x in np.linspace(-5.2, 5.2, 12).tolist()]
    return Path([(-5.2, -0.35), *places, (5.2, -0.35)], filled=True, closed=True, color="#8a96a5")


def truck(speed: float) -> Drawing:
    """Nine coordinates: wheels, chassis, cabin and load. The road comes with the speed."""

    def road(s, x):
        """A wave that passes both wheels: what is under the front wheel, later or earlier."""
        since = s.t - (2.0 + s.a23 - x) / speed
        return np.where(since > 0, 1e-3 * since**6 * np.exp(-since), 0.0)

    def turned(s):
        return -2 * speed * s.t

    parts = [
        _ground(road),
        Spring(("a12", "z1"), On("chassis", (-2.06, -0.86)), coils=5, width=0.4),
        Spring(("a23", "z3"), On("chassis", (2.44, -0.86)), coils=5, width=0.4),
        Spring(On("chassis", (0.98, -0.86)), On("load", (2.44, -1.05)), coils=4, width=0.3),
        Spring(On("chassis", (1.94, -0.86)), On("cabin", (-0.8, -1.1)), coils=4, width=0.25),
        Spring(On("chassis", (3.64, -0.86)), On("cabin", (0.9, -1.1)), coils=4, width=0.25),
        Body(("x5", "z5"), shapes.truck_load(), angle="th5", name="load"),
        Body((0.0, "z2"), shapes.truck_chassis(), angle="th2", name="chassis"),
        Body((lambda s: s.a24 - s.b24, "z4"), shapes.truck_cabin(), angle="th4", name="cabin"),
        Body(("a12", "z1"), shapes.wheel(0.5), angle=turned, name="rear wheel"),
        Body(("a23", "z3"), shapes.wheel(0.5), angle=turned, name="front wheel"),
        Dot(On("chassis", (-3.07, 0.15))),
    ]
    return Drawing(parts, name="Truck over a bump")


def truck11(speed: float = 15.0) -> Drawing:
    """Eleven coordinates: displacements, ten times as large as they are."""
    big = 10.0

    def lifted(x, height, name):
        return (x, lambda s: height + big * s[name])

    def turned(name):
        return lambda s: big * s[name]

    def rolled(s):
        return -2 * speed * s.t

    def road(s, x):
        share = (x - s.x_rear) / (s.x_front - s.x_rear)
        return big * (s.road_rear + share * (s.road_front - s.road_rear))

    engine = shapes.plate(-0.6, 0.6, -0.55, 0.1, color="#f2933b")
    seat = [shapes.plate(*edges, color="#4a3f55") for edges in ((-0.25, 0.3, -0.1, 0.02), (-0.32, -0.2, -0.1, 0.5))]
    driver = shapes.Sphere(0.17, position=(0.05, 0.62), color="#e8b48c")
    parts = [
        _ground(road),
        Spring(lifted("x_rear", 0.5, "rear"), On("chassis", (-1.17, -0.86)), coils=5, width=0.4),
        Spring(lifted("x_front", 0.5, "front"), On("chassis", (3.33, -0.86)), coils=5, width=0.4),
        Spring(On("chassis", (1.87, -0.86)), On("load", (2.44, -1.05)), coils=4, width=0.3),
        Spring(On("chassis", (2.83, -0.86)), On("cabin", (-0.8, -1.1)), coils=4, width=0.25),
        Spring(On("chassis", (4.53, -0.86)), On("cabin", (0.9, -1.1)), coils=4, width=0.25),
        Body(lifted(-1.46, 2.9, "load"), shapes.truck_load(), angle=turned("load_pitch"), name="load"),
        Body(lifted("x_engine", 1.55, "engine"), engine, angle=turned("engine_pitch"), name="engine"),
        Body(lifted("x_chassis", 2.0, "chassis"), [_shifted(one, 0.89) for one in shapes.truck_chassis()],
             angle=turned("chassis_pitch"), name="chassis"),
        Body(lifted(2.74, 2.9, "cabin"), shapes.truck_cabin(), angle=turned("cabin_pitch"), name="cabin"),
        Body(lifted(2.95, 2.65, "seat"), [*seat, driver], name="seat"),
        Body(lifted("x_rear", 0.5, "rear"), shapes.wheel(0.5), angle=rolled, name="rear"),
        Body(lifted("x_front", 0.5, "front"), shapes.wheel(0.5), angle=rolled, name="front"),
        Trace(lifted(3.0, 3.27, "seat")),
    ]  # fmt: skip
    return Drawing(parts, name="Truck with engine and seat (displacements × 10)")


def _shifted(shape: Any, by: float) -> shapes.Plate:
    """The chassis of this truck has its origin elsewhere."""
    return shapes.Plate(shape.outline[:, :2] + [by, 0.0], color=shape.color)


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

        return Body(at, shapes.car_wheel(), rotation=turned, name=name)

    body = Body(lambda s: [s.x, s.y, s.height + s.z], shapes.car_body(), rotation=turn, name="body")
    trace = Trace(lambda s: [s.x, s.y, 0.02])
    return Drawing([Fixed(Plane()), body, *(wheel(name, *place) for name, place in wheels.items()), trace])


def railway_carriage(bogies: dict[str, float], axles: dict[str, float], line: Callable, length: float) -> Drawing:
    """Car body, bogies and wheelsets on rails; `line` gives the offset of the line at x, of which so much is drawn."""

    def frame(name, x, height):
        def at(s):
            ahead = s[f"{name}_x"] if name != "car" else 0.0
            return [s.speed * s.t + x + ahead, s[f"{name}_y"], height(s) + s[f"{name}_z"]]

        def turned(s):
            rolled = s.speed * s.t / s.radius if name.endswith("axle") else 0.0
            return _rotation(s[f"{name}_yaw"], s[f"{name}_roll"], s[f"{name}_pitch"] + rolled)

        return {"at": at, "rotation": turned, "name": name}

    bogie, wheelset = shapes.bogie(), shapes.wheelset()
    parts = [Body(shape=shapes.carriage_body(), **frame("car", 0.0, lambda s: s.h_car))]
    parts += [Body(shape=bogie, **frame(f"{name}_bogie", x, lambda s: s.h_bogie)) for name, x in bogies.items()]
    parts += [Body(shape=wheelset, **frame(f"{name}_axle", x, lambda s: s.radius)) for name, x in axles.items()]
    return Drawing([Fixed(Plane(position=(0, 0, -0.25))), *_rails(line, length), *parts])


def _rails(line: Callable, length: float) -> list:
    """Two rails and their sleepers, as far as anybody looks."""
    length = min(length, FARTHEST)
    x = np.linspace(-30.0, length + 30.0, 90)
    rails = [[(float(a), float(line(a)) + side, -0.05) for a in x] for side in (-0.75, 0.75)]
    places = [(a, float(line(a)), -0.18) for a in np.arange(-30.0, length + 30.0, 2.0).tolist()]
    sleepers = [Box((0.3, 2.4, 0.12), position=place, color="#8d7b68") for place in places]
    return [Fixed(sleepers), *(Path(rail, width=0.1, color="#7b8794") for rail in rails)]
