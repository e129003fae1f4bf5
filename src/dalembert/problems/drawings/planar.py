"""Drawings of mechanisms in the plane."""

from __future__ import annotations

import numpy as np

from dalembert.draw import Arrow, Body, Dot, Drawing, Fixed, Link, Path, Pin, Spring, Trace
from dalembert.draw.parts import Part
from dalembert.multibody.boundaries import Plane
from dalembert.multibody.shapes import Box, Plate, Sphere


def pendulum(x: str = "x", y: str = "y", lam: str = "lam1", *, radius: float = 0.07) -> Drawing:
    """A bob on a rod, and the rod's pull."""
    parts = [
        Trace("bob"),
        Link("pin", "bob"),
        Pin("pin"),
        Dot("bob", radius),
        Arrow("bob", lambda s: [-2 * s[lam] * s[x], -2 * s[lam] * s[y]], name="rod"),
    ]
    return Drawing(parts, points={"pin": (0.0, 0.0), "bob": (x, y)})


def andrews() -> Drawing:
    """Seven bodies: crank, rod, the ternary bodies at A, B with the spring, and the links between them."""
    points = {
        "O": (0.0, 0.0),
        "A": ("xa", "ya"),
        "B": ("xb", "yb"),
        "C": ("xc", "yc"),
        "P": lambda s: [s.rr * np.cos(s.beta), s.rr * np.sin(s.beta)],
        "E": lambda s: [
            s.rr * np.cos(s.beta) - s.d * np.cos(s.beta + s.theta),
            s.rr * np.sin(s.beta) - s.d * np.sin(s.beta + s.theta),
        ],
        "D": lambda s: [
            s.xb + s.sd * np.cos(s.gamma) + s.sc * np.sin(s.gamma),
            s.yb + s.sd * np.sin(s.gamma) - s.sc * np.cos(s.gamma),
        ],
        "F": lambda s: [s.xa + s.zt * np.cos(s.delta), s.ya + s.zt * np.sin(s.delta)],
        "G": lambda s: [s.xa + s.uu * np.sin(s.epsilon), s.ya - s.uu * np.cos(s.epsilon)],
        # corners of the bodies at A, where their centres of mass lie beside the line
        "Fc": lambda s: [
            s.xa + s.ta * np.cos(s.delta) - s.tb * np.sin(s.delta),
            s.ya + s.ta * np.sin(s.delta) + s.tb * np.cos(s.delta),
        ],
        "Gc": lambda s: [
            s.xa + s.ua * np.sin(s.epsilon) - s.ub * np.cos(s.epsilon),
            s.ya - s.ua * np.cos(s.epsilon) - s.ub * np.sin(s.epsilon),
        ],
    }
    parts = [
        Trace("E"),
        Path(["B", "E", "D"], closed=True, filled=True),
        Path(["A", "F", "Fc"], closed=True, filled=True),
        Path(["A", "G", "Gc"], closed=True, filled=True),
        Spring("C", "D"),
        Link("F", "E"),
        Link("G", "E"),
        Link("P", "E"),
        Link("O", "P"),
        *(Pin(name) for name in "OABC"),
        *(Dot(name) for name in "PEFGD"),
    ]
    return Drawing(parts, points=points)


def car_axis(length: str = "length") -> Drawing:
    """A rod on two springs, the right one on the road."""

    def foot(s):
        yb = s.bump * np.sin(s.frequency * s.t) if length == "length" else s.yb
        return [np.sqrt(s[length] ** 2 - yb**2), yb]

    points = {"left": ("xl", "yl"), "right": ("xr", "yr"), "foot": foot, "rest": (0.0, 0.0)}
    parts = [
        Trace("right"),
        Spring("rest", "left"),
        Spring("foot", "right"),
        Link("left", "right"),
        Link("rest", "foot", color="gray"),
        Pin("rest"),
        Dot("foot"),
        Dot("left", 0.035),
        Dot("right", 0.035),
    ]
    return Drawing(parts, points=points)


def ball_in_ellipse() -> Drawing:
    """The ring, the ball, and the force between them."""
    sigma = np.linspace(0, 2 * np.pi, 97)
    ring = [lambda s, a=a: [s.A * np.cos(a), s.B * np.sin(a)] for a in sigma[:-1].tolist()]

    def push(s):
        gap = [s.x - s.A * np.cos(s.sigma), s.y - s.B * np.sin(s.sigma)]
        return [s["lam1"] * one / s.radius for one in gap]

    touch = lambda s: [s.A * np.cos(s.sigma), s.B * np.sin(s.sigma)]  # noqa: E731 - a place
    parts = [
        Path(ring, closed=True, color="gray"),
        Trace(("x", "y")),
        Dot(("x", "y"), 0.25),
        Arrow(touch, push, "contact"),
    ]
    return Drawing(parts)


def motor_pendulum() -> Drawing:
    """The shaft of the motor, and the pendulum on it."""
    motor = [Box((0.26, 0.2, 0.2), color="#56616f"), Box((0.3, 0.03, 0.2), position=(0, -0.1), color="#434c58")]
    fins = [Box((0.012, 0.18, 0.2), position=(x, 0.0), color="#7b8794") for x in np.linspace(-0.1, 0.1, 6)]
    parts = [
        Fixed([*motor, *fins, Sphere(0.07, color="#aab5c2")]),
        Trace(("x", "y")),
        Link((0.0, 0.0), ("x", "y"), width=0.035),
        Dot((0.0, 0.0)),
        Dot(("x", "y"), 0.055),
        Arrow(("x", "y"), lambda s: [-s.k * s.current * s.y / s.L**2, s.k * s.current * s.x / s.L**2], name="motor"),
    ]
    return Drawing(parts)


def cable_drum(r1: float, r2: float) -> Drawing:
    """The drum in its bearing, and the load on the cable."""

    def hung(across, up):
        return lambda s: [s.x2 + across * s.r1, s.y2 + up * s.r1]

    def load(up):
        return lambda s: [s.x2 + s.r1, s.y1 - up * s.r1]

    rims = [Sphere(share * r1, color=color) for share, color in ((1.0, "#c98f55"), (0.82, "#dba86f"), (0.2, "#56616f"))]
    spokes = [Box((1.6 * r1, 0.07 * r1, 0.1), rotation=a, color="#a8743f") for a in np.radians([0, 60, 120])]
    held = [hung(-0.45, 1.6), hung(0.45, 1.6), hung(0.12, -0.15), hung(-0.12, -0.15)]
    bracket, hook = Path(held, filled=True, color="gray"), Sphere(0.12 * r1, position=(0, 0.6 * r1), color="#56616f")
    parts = [
        Fixed(Plane((0, -1), position=(0.0, r2 + 1.6 * r1))),
        Body(("x2", "y2"), [rims[0], rims[1], *spokes, rims[2]], angle="alpha2", name="drum"),
        bracket,
        Dot(("x2", "y2")),
        Link(hung(1.0, 0.0), load(3.0), width=0.05 * r1, color="#56616f"),
        Body(load(3.6), [Box((1.3 * r1, 1.2 * r1, r1), color="#3b7dd8"), hook], name="load"),
    ]
    return Drawing(parts)


def _crank(s):
    return [s.l1 * np.cos(s.phi1), s.l1 * np.sin(s.phi1)]


def four_bar_linkage(*, stop: bool = False) -> Drawing:
    """Crank, coupler and rocker; with a stop for the crank."""
    points = {
        "O": (0.0, 0.0),
        "A": _crank,
        "B": lambda s: [s.d1 + s.l3 * np.cos(s.phi3), s.l3 * np.sin(s.phi3)],
        "Q": lambda s: [s.d1, 0.0],
        "M": lambda s: [
            s.l1 * np.cos(s.phi1) + s.l2 / 2 * np.cos(s.phi2),
            s.l1 * np.sin(s.phi1) + s.l2 / 2 * np.sin(s.phi2),
        ],
    }
    parts = [Trace("M"), Link("O", "A"), Link("A", "B"), Link("Q", "B"), Pin("O"), Pin("Q"), Dot("A"), Dot("B")]
    if stop:
        end = lambda s: [1.3 * s.l1 * np.cos(s.stop), 1.3 * s.l1 * np.sin(s.stop)]  # noqa: E731 - a place
        start = lambda s: [0.7 * s.l1 * np.cos(s.stop), 0.7 * s.l1 * np.sin(s.stop)]  # noqa: E731
        parts.insert(0, Path([start, end], color="gray"))
    return Drawing(parts, points=points)


def rocking_block(L: float, H: float, *, contacts: bool = False) -> Drawing:
    """A block on the ground."""
    parts = [Fixed(Plane()), Body(("x", "z"), Box((L, H, min(L, H))), angle="th", name="block"), Trace(("x", "z"))]
    if contacts:
        for name, side in (("A", 1), ("B", -1)):

            def corner(s, side=side):
                along, up = np.array([np.cos(s.th), np.sin(s.th)]), np.array([-np.sin(s.th), np.cos(s.th)])
                return [
                    s.x - side * s.L / 2 * along[0] - s.H / 2 * up[0],
                    s.z - side * s.L / 2 * along[1] - s.H / 2 * up[1],
                ]

            parts.append(Arrow(corner, (0.0, name), "contact", name=name))
    return Drawing(parts)


def slider_crank() -> Drawing:
    """Crank, the rod with what it bends (ten times as much), and the slider."""
    big = 10.0

    def rod(share):
        def place(s):
            along, up = np.array([np.cos(s.phi2), np.sin(s.phi2)]), np.array([-np.sin(s.phi2), np.cos(s.phi2)])
            bend = big * (s.q1 * np.sin(np.pi * share) + s.q2 * np.sin(2 * np.pi * share))
            length = share * (s.l2 + s.q4)
            x, y = s.l1 * np.cos(s.phi1), s.l1 * np.sin(s.phi1)
            return [x + length * along[0] + bend * up[0], y + length * along[1] + bend * up[1]]

        return place

    places = [rod(share) for share in np.linspace(0, 1, 13).tolist()]
    guides = [Box((0.42, 0.012, 0.05), position=(0.33, side * 0.032)) for side in (-1, 1)]
    parts = [
        Fixed(guides),
        Fixed(Sphere(0.165), color=(0.5, 0.57, 0.65, 0.25)),
        Body(("x3", 0.0), Box((0.07, 0.05, 0.05)), name="slider", color="#2fa37c"),
        Link((0.0, 0.0), _crank, width=0.022, color="#3b7dd8"),
        Path(places, width=0.014, color="#f2933b"),
        Pin((0.0, 0.0)),
        Dot(_crank),
        Dot(("x3", 0.0)),
        Trace(places[6]),
    ]
    return Drawing(parts)


def elastic_robot(*, load: bool) -> Drawing:
    """Two links whose hand follows a circle."""

    def elbow(s):
        return [s.l_1 * np.cos(s.q_1), s.l_1 * np.sin(s.q_1)]

    def hand(s):
        x, y = elbow(s)
        return [x + s.l_2 * np.cos(s.q_1 + s.q_2), y + s.l_2 * np.sin(s.q_1 + s.q_2)]

    base = Plate([(-0.14, -0.12), (0.14, -0.12), (0.07, 0.05), (-0.07, 0.05)])
    arms = [Link((0.0, 0.0), elbow, width=0.07), Link(elbow, hand, width=0.05)]
    parts: list[Part] = [Fixed(base, color="#8a96a5"), Trace(hand), *arms]
    parts += [Dot((0.0, 0.0), 0.05, color="#56616f"), Dot(elbow, 0.04, color="#56616f")]
    if load:
        below = lambda s: [hand(s)[0], s.z]  # noqa: E731 - a place
        weight = lambda s: [hand(s)[0], s.z - 0.35]  # noqa: E731
        parts += [Spring(hand, weight), Dot(weight, 0.06), Trace(below)]
    return Drawing([*parts, Dot(hand)])
