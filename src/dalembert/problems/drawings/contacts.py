"""Drawings of what bounces, slides and rolls over edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.draw import Arrow, Body, Dot, Drawing, Fixed, Link, Path, Spring, Trace
from dalembert.multibody.boundaries import Plane
from dalembert.multibody.shapes import Box, Plate, Sphere


def balls_on_floor(contacts: Sequence[str], R: float, names: Sequence[str], *, stacked: bool = False) -> Drawing:
    """Balls that move up and down, side by side or one on top of the other."""
    parts: list = [Fixed(Plane())]
    for i, name in enumerate(names):
        x = 0.0 if stacked else 3.0 * R * i
        parts.append(Body((x, name), Sphere(R), name=name))
        below = lambda s, x=x, name=name: [x, s[name] - R]  # noqa: E731 - a place
        parts.append(Arrow(below, (0.0, contacts[i]), "contact", name=contacts[i]))
    return Drawing(parts)


def ball_chain(N: int, R: float) -> Drawing:
    """Balls on a line."""
    return Drawing(
        [*(Body((f"x{i + 1}", 0.0), Sphere(R), name=f"ball{i + 1}") for i in range(N)), Fixed(Plane(position=(0, -R)))]
    )


def newtons_cradle(N: int, R: float) -> Drawing:
    """Balls on threads."""
    parts: list = []
    for i in range(N):
        top = (2.0 * R * i, 0.0)

        def ball(s, i=i):
            return [2 * R * i + s.L * np.sin(s.p[i]), -s.L * np.cos(s.p[i])]

        parts += [Link(top, ball, width=0.06 * R, color="gray"), Dot(ball, R, color="#9fb0c3")]
    left, right = -2.2 * R, 2 * R * (N - 1) + 2.2 * R
    floor = lambda s: -s.L - 2.2 * R  # noqa: E731 - a height
    stand = [(left, floor), (left, 0.0), (right, 0.0), (right, floor)]
    return Drawing([Path(stand, closed=True, width=0.35 * R, color="#8d6e63"), *parts], name="Newton's cradle")


def billiard(n: int, R: float, width: float, height: float) -> Drawing:
    """Discs between four walls."""
    corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
    rim = 0.5 * R
    table = [
        Fixed(Box((width, height, 0.1), position=(width / 2, height / 2)), color="#2f8f5b"),
        Path([(x + (rim if x else -rim), y + (rim if y else -rim)) for x, y in corners], closed=True, width=2 * rim,
             color="#8a5a34"),
    ]  # fmt: skip
    discs = [Dot((f"x{i + 1}", f"y{i + 1}"), R) for i in range(n)]
    arrows = [Arrow((f"x{i + 1}", f"y{i + 1}"), (f"x{i + 1}_dot", f"y{i + 1}_dot"), "velocity") for i in range(n)]
    return Drawing([*table, *discs, Trace(("x1", "y1"), color="white"), *arrows])


def falling_rod(half: float) -> Drawing:
    """A rod whose ends touch the floor."""

    def end(side):
        return lambda s: [s.x + side * s.l * np.cos(s.th), s.z + side * s.l * np.sin(s.th)]

    arrows = [Arrow(end(side), (0.0, name), "contact", name=name) for side, name in ((-1, "tip"), (1, "end"))]
    rod = Link(end(-1), end(1), width=0.08 * half)
    return Drawing([Fixed(Plane()), rod, Trace(end(-1)), *arrows], name="Painlevé's rod")


def rimless_wheel(N: int, feet: Sequence[float] | np.ndarray, slope: float) -> Drawing:
    """Spokes without a rim, on the slope: coordinates are along it and away from it."""
    c, d = float(np.cos(slope)), float(np.sin(slope))

    def placed(x, z):
        return [c * x + d * z, c * z - d * x]

    def foot(k):
        return lambda s: placed(s.x - s.l * np.sin(feet[k] - s.th), s.z - s.l * np.cos(feet[k] - s.th))

    def hub(s):
        return placed(s.x, s.z)

    def push(name):
        return lambda s: placed(0.0, s[name])

    spokes = [Link(hub, foot(k), color="#3b7dd8" if k else "#f2933b") for k in range(N)]
    arrows = [Arrow(foot(k), push(f"foot{k + 1}"), "contact", name=f"foot{k + 1}") for k in range(N)]
    ground = Fixed(Plane((d, c)))
    return Drawing([ground, Trace(hub), *spokes, Dot(hub, 0.1, color="#2f6fcb"), *arrows])


def sliding_box(names: Sequence[str]) -> Drawing:
    """A box on the floor, in the plane or in space."""
    if len(names) == 2:
        box = Body(("x", lambda s: s.z + 0.15), Box((0.4, 0.3, 0.3)), name="box")
        return Drawing([Fixed(Plane()), box, Trace(("x", "z")), Arrow(("x", "z"), (0.0, "floor"), "contact")])
    box = Body((names[0], names[1], lambda s: s[names[2]] + 0.15), Box((0.4, 0.3, 0.3)), name="box")
    return Drawing([Fixed(Plane()), box, Trace((names[0], names[1], 0.0))])


def ball_over_edge(start: float) -> Drawing:
    """A point on a floor that becomes a parabola."""
    x = np.concatenate([[-start - 1.0], np.linspace(0, 1.4, 40)])
    edge = [(float(a), float(max(a, 0.0) ** 2)) for a in x]
    ground = Plate([*edge, (1.4, -0.3), (-start - 1.0, -0.3)])
    ball = Dot(lambda s: [s.x, s.z + 0.05], 0.05, color="#f2933b")
    return Drawing([Fixed(ground), ball, Trace(("x", "z"))], follow=False)


def ball_over_corner(R: float, start: float) -> Drawing:
    """A ball that rolls off a table."""
    length, depth = start + 3 * R, 4 * R
    table = Plate([(-length, 0.0), (0.0, 0.0), (0.0, -depth), (-length, -depth)])
    ball = Body(("x", "z"), Sphere(R), name="ball")
    return Drawing([Fixed(table), ball, Trace(("x", "z"))], follow=False)


def woodpecker() -> Drawing:
    """Pole, sleeve and bird; angles are small, and drawn as they are."""
    pole = Plate([(-0.0025, -0.16), (0.0025, -0.16), (0.0025, 0.04), (-0.0025, 0.04)])

    def bird(x, y) -> Callable:
        """A point of the bird, given about its centre, which a spring joins to the sleeve."""

        def place(s):
            at = s.y + s.lM * s.phiM + s.lG * s.phiS
            return [s.lM + s.lG + x - y * s.phiS, at + y + x * s.phiS]

        return place

    def part(points, color) -> Path:
        return Path([bird(x / 1000, y / 1000) for x, y in points], closed=True, filled=True, color=color)

    edge = [(0.0031, -0.0058), (0.01, -0.0058), (0.01, 0.0058), (0.0031, 0.0058)]
    sleeve = Body((0.0, "y"), Plate(edge), angle="phiM", color="#56616f")
    tail = part([(3, -16), (9, -34), (4, -33), (-2, -18)], "#2b2f38")
    body = part([(-5, 10), (-7, 2), (-7, -8), (-4, -16), (2, -20), (7, -14), (8, -4), (6, 6), (3, 12)], "#3a3f4b")
    belly = part([(-6, 8), (-7, 1), (-7, -8), (-4, -15), (0, -17), (-1, -6), (-2, 4)], "#f0e6d6")
    head = part([(-7, 11), (-8, 15), (-6, 20), (-1, 23), (4, 21), (5, 15), (2, 10), (-4, 9)], "#3a3f4b")
    crest = part([(-6, 20), (-3, 26), (4, 27), (8, 21), (5, 17), (3, 21)], "#d8483e")
    beak = part([(-8, 14.5), (-21.5, 16.5), (-7.5, 18)], "#f2b13b")
    spring = Spring((lambda s: s.lM, lambda s: s.y + s.lM * s.phiM), bird(0.0, 0.0), coils=5, width=0.004)
    eye = [Dot(bird(-0.0035, 0.0175), 0.0017, color="white"), Dot(bird(-0.004, 0.0175), 0.0009, color="black")]
    parts = [Fixed(pole, color="#c98f55"), spring, sleeve, tail, body, belly, crest, head, beak, *eye]
    return Drawing([*parts, Trace(bird(0.0, 0.0))])
