"""Drawings of chains, and of points that belong together."""

from __future__ import annotations

import itertools

import numpy as np

from dalembert.draw import Body, Dot, Drawing, Fixed, Link, Path, Pin, Trace
from dalembert.multibody.boundaries import HollowSphere
from dalembert.multibody.shapes import Plate, Sphere

#: links up to which each is a bar of its own; more are one line
FEW = 40


def chain(points: list, first: object = (0.0, 0.0), *, bobs: float = 0.0) -> Drawing:
    """Bars from the first place through all others."""
    places = [first, *points]
    if len(points) > FEW:
        parts = [Path(places)]
    else:
        parts = [Link(a, b) for a, b in itertools.pairwise(places)]
    knots = [Dot(one, bobs or None) for one in points] if len(points) <= FEW else []
    return Drawing([Trace(points[-1]), *parts, *knots, Pin(first)])


def pendulum_chain(N: int, *, absolute: bool) -> Drawing:
    """Ends of the rods, from their centres or from all angles above."""

    def end(i):
        if absolute:
            return lambda s: [
                s[f"x{i}"] + s.L / 2 * np.sin(s[f"phi{i}"]),
                s[f"y{i}"] - s.L / 2 * np.cos(s[f"phi{i}"]),
            ]
        angles = [f"phi{k}" for k in range(1, i + 1)]
        return lambda s: [s.L * sum(np.sin(s[name]) for name in angles), -s.L * sum(np.cos(s[name]) for name in angles)]

    return chain([end(i) for i in (range(1, N + 1) if absolute else _some(N))])


def moving_chain(N: int, *, absolute: bool) -> Drawing:
    """Point masses below a suspension that moves."""

    def suspension(s):
        swing = np.sin(s.omega * s.t)
        return [s.x_mean + s.x_amplitude * swing, s.y_amplitude * swing]

    def point(i):
        if absolute:
            return (f"x{i}", f"y{i}")

        def place(s):
            x, y = suspension(s)
            across, down = (sum(f(s[f"a{k}"]) for k in range(1, i + 1)) for f in (np.sin, np.cos))
            return [x + s.L * across, y - s.L * down]

        return place

    return chain([point(i) for i in (range(1, N + 1) if absolute else _some(N))], suspension)


def _some(N: int) -> list[int]:
    """Links to whose ends a line is drawn; each end needs all angles above it, so that of long chains some must do."""
    return np.unique(np.linspace(1, N, min(N, 2 * FEW)).astype(int)).tolist()


def four_bar_chain(n: int) -> Drawing:
    """Cranks on the ground, couplers between their tops."""
    tops, pins = [(f"x{i}", f"y{i}") for i in range(n + 1)], [(float(i), 0.0) for i in range(n + 1)]
    cranks = [Link(pin, top) for pin, top in zip(pins, tops, strict=True)]
    couplers = [Link(a, b) for a, b in itertools.pairwise(tops)]
    knots = [*(Pin(pin) for pin in pins), *(Dot(top) for top in tops)]
    return Drawing([Trace(tops[0]), *cranks, *couplers, *knots])


def insulator_chain(N: int) -> Drawing:
    """Caps on a line, from the conductor to the suspension; seen from the side, so that the motion can be seen."""
    bell = Plate([(-0.16, -0.07), (0.16, -0.07), (0.13, 0.0), (0.045, 0.07), (-0.045, 0.07), (-0.13, 0.0)])
    caps = [
        Body((f"x{i}", f"y{i}"), bell, angle=f"phi{i}", name=f"cap{i}", color="#2f9e8f") for i in range(2, N + 2)
    ]
    line = [("x0", "y0"), *((f"x{i}", f"y{i}") for i in range(1, N + 2)), (0.0, 0.0)]
    return Drawing([Path(line, width=0.03), *caps, Dot(("x0", "y0")), Pin((0.0, 0.0)), Trace(("x0", "y0"))])


def fekete(N: int) -> Drawing:
    """Points on a ball."""
    places = [(f"x{i}", f"y{i}", f"z{i}") for i in range(1, N + 1)]
    dots = [Body(place, Sphere(0.055)) for place in places]
    ball, traces = Fixed(HollowSphere(1.0), color="lightsteelblue"), [Trace(place) for place in places[:12]]
    return Drawing([ball, *dots, *traces], name=f"Fekete points, N = {N}")
