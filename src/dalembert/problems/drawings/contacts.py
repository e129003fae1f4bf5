"""Drawings of what bounces, slides and rolls over edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.draw import Arrow, Body, Dot, Drawing, Fixed, Link, Path, Trace
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

        parts += [Link(top, ball, width=0.06 * R, color="gray"), Dot(ball, R), Dot(top)]
    bar = Path([(-R, 0.0), (2.0 * R * N - R, 0.0)], color="gray")
    return Drawing([bar, *parts])


def billiard(n: int, R: float, width: float, height: float) -> Drawing:
    """Discs between four walls."""
    walls = Path([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)], closed=True, color="gray")
    discs = [Dot((f"x{i + 1}", f"y{i + 1}"), R) for i in range(n)]
    arrows = [Arrow((f"x{i + 1}", f"y{i + 1}"), (f"x{i + 1}_dot", f"y{i + 1}_dot"), "velocity") for i in range(n)]
    return Drawing([walls, *discs, Trace(("x1", "y1")), *arrows])


def falling_rod(half: float) -> Drawing:
    """A rod whose ends touch the floor."""

    def end(side):
        return lambda s: [s.x + side * s.l * np.cos(s.th), s.z + side * s.l * np.sin(s.th)]

    arrows = [Arrow(end(side), (0.0, name), "contact", name=name) for side, name in ((-1, "tip"), (1, "end"))]
    return Drawing([Fixed(Plane()), Link(end(-1), end(1), width=0.08 * half), Trace(end(-1)), *arrows])


def rimless_wheel(N: int, feet: Sequence[float], slope: float) -> Drawing:
    """Spokes without a rim; the slope is drawn level, as the coordinates are."""

    def foot(k):
        return lambda s: [s.x - s.l * np.sin(feet[k] - s.th), s.z - s.l * np.cos(feet[k] - s.th)]

    spokes = [Link(("x", "z"), foot(k), color="tab:blue" if k else "tab:orange") for k in range(N)]
    arrows = [Arrow(foot(k), (0.0, f"foot{k + 1}"), "contact", name=f"foot{k + 1}") for k in range(N)]
    return Drawing([Fixed(Plane()), Trace(("x", "z")), *spokes, Dot(("x", "z"), 0.08), *arrows])


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
    surface = Path([(float(a), float(max(a, 0.0) ** 2)) for a in x], color="gray")
    return Drawing([surface, Dot(("x", "z"), 0.05), Trace(("x", "z"))])


def ball_over_corner(R: float, start: float) -> Drawing:
    """A ball that rolls off a table."""
    length, depth = start + 3 * R, 4 * R
    table = Plate([(-length, 0.0), (0.0, 0.0), (0.0, -depth), (-length, -depth)])
    return Drawing([Fixed(table), Body(("x", "z"), Sphere(R), name="ball"), Trace(("x", "z"))])


def woodpecker() -> Drawing:
    """Pole, sleeve and bird; angles are small, and drawn as they are."""
    pole = Plate([(-0.0025, -0.35), (0.0025, -0.35), (0.0025, 0.03), (-0.0025, 0.03)])

    def bird(x, y) -> Callable:
        """A point of the bird, given about its centre, which a spring joins to the sleeve."""

        def place(s):
            at = s.y + s.lM * s.phiM + s.lG * s.phiS
            return [s.lM + s.lG + x - y * s.phiS, at + y + x * s.phiS]

        return place

    sleeve = Body(
        (0.0, "y"), Plate([(0.0031, -0.0058), (0.01, -0.0058), (0.01, 0.0058), (0.0031, 0.0058)]), angle="phiM"
    )
    body = Path([bird(-0.006, -0.02), bird(0.004, -0.012), bird(0.005, 0.008), bird(-0.001, 0.022), bird(-0.008, 0.018),
                 bird(-0.006, 0.0)], closed=True, filled=True)  # fmt: skip
    beak = Path(
        [bird(-0.008, 0.019), bird(-0.0215, 0.02), bird(-0.008, 0.022)], closed=True, filled=True, color="tab:orange"
    )
    spring = Link((lambda s: s.lM, lambda s: s.y + s.lM * s.phiM), bird(0.0, 0.0), width=0.0012, color="gray")
    return Drawing([Fixed(pole, color="peru"), sleeve, spring, body, beak, Trace(bird(0.0, 0.0))])
