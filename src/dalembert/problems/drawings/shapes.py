"""Shapes that several drawings share: wheels, the parts of a truck, of a car and of a railway carriage."""

from __future__ import annotations

import numpy as np

from dalembert.multibody.shapes import Box, Cylinder, Plate, Shape, Sphere

#: rotation of a cylinder about z so that it turns about y; of an outline in the plane x, y to the plane x, z
ACROSS = (np.pi / 2, 0.0, 0.0)
#: of an outline to the plane y, z, so that its thickness is along x
ALONG = tuple(2 * np.pi / 3 / np.sqrt(3) * np.ones(3))

RUBBER, RIM, STEEL, GLASS, RED = "#343b45", "#c5ccd6", "#56616f", "#9ccbe8", "#d8483e"


def plate(left: float, right: float, low: float, high: float, **more) -> Plate:
    """A rectangle."""
    return Plate([(left, low), (right, low), (right, high), (left, high)], **more)


def arch(x: float, y: float, radius: float, start: float = 180.0, end: float = 0.0) -> list[tuple[float, float]]:
    """Points of an arc, from one angle in degrees to another."""
    turn = np.radians(np.linspace(start, end, 13))
    return list(zip(x + radius * np.cos(turn), y + radius * np.sin(turn), strict=True))


def wheel(radius: float) -> list[Shape]:
    """Tyre, rim and nuts in the plane."""
    nuts = [Sphere(0.07 * radius, position=at, color=STEEL) for at in arch(0, 0, 0.36 * radius, 0, 300)[::2]]
    rim = [Sphere(0.62 * radius, color=RIM), Sphere(0.16 * radius, color=STEEL)]
    return [Sphere(radius, color=RUBBER), *rim, *nuts[:6]]


# -- truck: origins are the centres of mass, 2 m, 2.9 m and 2.9 m above the road --------------------------------------


def truck_chassis() -> list[Shape]:
    """A frame above the axles, with bumper, and the bracket of the hinge that carries the load."""
    frame = [(-3.7, -0.86), (3.95, -0.86), (3.95, -1.3), (3.55, -1.3), (3.4, -1.1), (-3.7, -1.1)]
    bracket = Plate([(-3.5, -0.86), (-2.64, -0.86), (-2.97, 0.25), (-3.17, 0.25)], color=STEEL)
    tank = plate(-0.6, 0.7, -1.5, -1.1, color="#8a96a5")
    return [tank, Plate(frame, color="#434c58"), bracket]


def truck_cabin() -> list[Shape]:
    """The driver's place, with door and window."""
    hull = [(-0.93, -1.1), (1.3, -1.1), (1.32, -0.25), (1.02, 1.0), (0.8, 1.15), (-0.93, 1.15)]
    window = [(-0.05, 0.0), (1.1, 0.0), (0.88, 0.8), (-0.05, 0.8)]
    door = [(-0.1, -0.95), (0.95, -0.95), (1.18, 0.0), (0.92, 0.87), (-0.1, 0.87)]
    lamp = plate(1.16, 1.3, -0.85, -0.68, color="#ffe08a")
    return [Plate(hull, color=RED), Plate(door, color=RED), Plate(window, color=GLASS), lamp]


def truck_load() -> list[Shape]:
    """A box with ribs."""
    ribs = [plate(x, x + 0.06, -0.95, 1.15, color="#b4c0ce") for x in np.arange(-2.15, 3.0, 0.58)]
    return [plate(-2.6, 3.05, -1.05, 1.25, color="#dbe3ec"), *ribs]


# -- car: the origin is its centre of mass, 0.55 m above the road; the axles are at 1.2 m and -1.4 m ------------------


def car_body() -> list[Shape]:
    """A saloon: hull with wheel arches, glass house, roof, lamps."""
    arches = [*arch(-1.4, -0.25, 0.38), *arch(1.2, -0.25, 0.38)]
    hull = [(-2.05, -0.28), *arches, (1.95, -0.28), (2.02, -0.05), (1.9, 0.1), (0.95, 0.22), (-1.75, 0.28), (-2.1, 0.2)]
    glass = [(-1.7, 0.27), (-1.15, 0.68), (0.05, 0.7), (0.85, 0.22)]
    roof = [(-1.2, 0.66), (0.08, 0.68), (0.0, 0.74), (-1.1, 0.73)]
    pillar = [(-0.5, 0.24), (-0.4, 0.24), (-0.42, 0.69), (-0.5, 0.69)]
    upright = {"rotation": ACROSS}
    parts = [
        Plate(hull, 1.66, color=RED, **upright), Plate(glass, 1.36, color="#3d5166", **upright),
        Plate(roof, 1.3, color=RED, **upright), Plate(pillar, 1.4, color=RED, **upright),
        Plate([(-2.0, -0.3), (1.9, -0.3), (1.9, -0.2), (-2.0, -0.2)], 1.45, color=RUBBER, **upright),
    ]  # fmt: skip
    for side in (-1, 1):
        parts.append(Box((0.06, 0.34, 0.12), position=(1.96, 0.6 * side, 0.0), color="#fff3c4"))
        parts.append(Box((0.06, 0.3, 0.14), position=(-2.08, 0.62 * side, 0.1), color="#8f1d18"))
    return parts


def car_wheel() -> list[Shape]:
    """Tyre and rim in space."""
    spokes = [Box((0.36, 0.19, 0.05), rotation=(0, turn, 0), color=RIM) for turn in np.radians([0, 60, 120])]
    return [Cylinder(0.3, 0.18, rotation=ACROSS, color=RUBBER), *spokes]


# -- railway carriage: origins at the centres of mass ------------------------------------------------------------------


def carriage_body() -> list[Shape]:
    """A tube with a round roof, windows and doors."""
    side = [(1.4, -1.0), (1.45, 0.2), (1.4, 1.5)]
    top = arch(0.0, 1.0, 1.48, 20, 160)
    section = [(-1.2, -1.15), (1.2, -1.15), *side, *top, *((-y, z) for y, z in side[::-1])]
    windows = [Box((1.7, 2.93, 0.85), position=(x, 0, 0.65), color="#2c3e50") for x in np.arange(-9.2, 9.3, 2.3)]
    doors = [Box((1.1, 2.92, 2.0), position=(x, 0, 0.1), color="#e9eef4") for x in (-11.3, 11.3)]
    band = Box((24.9, 2.92, 0.3), position=(0, 0, -0.35), color="#e9eef4")
    return [Plate(section, 25.0, rotation=ALONG, color="#2f6fcb"), *windows, *doors, band]


def bogie() -> list[Shape]:
    """Two side frames and a beam between them."""
    sides = [Box((3.4, 0.25, 0.2), position=(0, side, 0), color="#5b4a44") for side in (-1.0, 1.0)]
    springs = [Cylinder(0.2, 0.3, position=(0, side, 0.2), color="#8b95a3") for side in (-1.0, 1.0)]
    return [*sides, Box((0.5, 2.2, 0.2), color="#5b4a44"), *springs]


def wheelset() -> list[Shape]:
    """Two wheels on an axle, with a bar by which one sees them turn."""
    wheels = [Cylinder(0.46, 0.12, position=(0, side * 0.75, 0), rotation=ACROSS, color=STEEL) for side in (-1, 1)]
    marks = [Box((0.1, 0.125, 0.8), position=(0, side * 0.75, 0), color="#8b95a3") for side in (-1, 1)]
    return [*wheels, *marks, Cylinder(0.08, 2.3, rotation=ACROSS, color="#8b95a3")]
