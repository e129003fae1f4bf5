"""Drawings of a top, a disc, a sleigh, and Bricard's mechanism."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from dalembert.draw import Body, Dot, Drawing, Fixed, Link, Pin, Trace
from dalembert.multibody.boundaries import Plane
from dalembert.multibody.shapes import Box, Cylinder, Plate

#: rotation of a cylinder about z so that it turns about y
ACROSS = (np.pi / 2, 0.0, 0.0)


def heavy_top() -> Drawing:
    """A disc on a rod whose tip stands in the origin; its axis is y of the body."""
    disc = [Cylinder(0.45, 0.12, rotation=ACROSS), Box((0.92, 0.05, 0.08), color="#f7c873")]
    top = Body(("x", "y", "z"), disc, rotation=("e0", "e1", "e2", "e3"), name="top")
    return Drawing(
        [
            top,
            Link((0.0, 0.0, 0.0), ("x", "y", "z"), width=0.06),
            Dot((0.0, 0.0, 0.0), 0.07, color="#56616f"),
            Trace(("x", "y", "z")),
        ]
    )


def rolling_disc(R: float) -> Drawing:
    """A disc that stands upright on the floor."""

    def turned(s):
        (cf, sf), (ct, st) = (np.cos(s.phi), np.sin(s.phi)), (np.cos(s.theta), np.sin(s.theta))
        # heading, then rolling about the axis across
        return [[cf * ct, -sf, cf * st], [sf * ct, cf, sf * st], [-st, 0 * st, ct]]

    disc = [Cylinder(R, 0.12 * R, rotation=ACROSS), Box((1.9 * R, 0.13 * R, 0.12 * R), color="#f7c873")]
    body = Body(lambda s: [s.x, s.y, s.R], disc, rotation=turned, name="disc")
    return Drawing([Fixed(Plane()), body, Trace(("x", "y", 0.0))])


def sleigh(offset: float) -> Drawing:
    """Seen from above: a plate, the knife edge behind the centre of mass, and the way of both."""
    a = offset
    hull = Plate([(-1.3 * a, -0.5 * a), (0.7 * a, -0.5 * a), (1.3 * a, 0.0), (0.7 * a, 0.5 * a), (-1.3 * a, 0.5 * a)])

    def edge(s, by=0.0):
        back = -s.offset + by
        return [s.x + back * np.cos(s.theta), s.y + back * np.sin(s.theta)]

    knife = Link(lambda s: edge(s, -0.25 * a), lambda s: edge(s, 0.25 * a), color="tab:red")
    body = Body(("x", "y"), hull, angle="theta", name="sleigh")
    return Drawing([Trace(edge), Trace(("x", "y"), color="gray"), body, knife, Dot(("x", "y"))])


def bricard(chain: Callable) -> Drawing:
    """Five rods; `chain` gives them from the namespace."""

    def joint(k):
        return lambda s: list(chain(s)[k].start)

    ends = [(0.0, 0.0, 0.0), *(joint(k) for k in range(1, 5)), lambda s: list(chain(s)[4].end)]
    rods = [Link(a, b, width=0.1) for a, b in itertools.pairwise(ends)]
    dots = [Dot(place, 0.07) for place in ends[1:-1]]
    return Drawing([*rods, *dots, Pin(ends[0]), Pin((0.0, 0.0, 1.0)), Trace(ends[2])], up="y")
