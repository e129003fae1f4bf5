"""Small models whose animations have everything that an animation can have, in the plane and in space."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.draw import Arrow, Body, Dot, Drawing, Fixed, Label, Link, On, Path, Pin, Spring, Trace


def complete(*, spatial: bool) -> da.Solution:
    """A body that flies over the ground, turns and is pulled, with an event on its way."""
    names = ["x", "y", "z"] if spatial else ["x", "y"]
    up = names[-1]

    def at(*flat):
        """A place in the plane, or in space above the line x."""
        return (flat[0], 0.0, flat[1]) if spatial else flat

    turned = {"angle": lambda s: 3 * s.t}
    if spatial:
        turned = {"rotation": lambda s: [np.cos(s.t), 0.0, np.sin(s.t), 0.0]}
    velocity = tuple(f"{name}_dot" for name in names)
    drawing = Drawing(
        [
            Fixed(da.Plane()),
            Fixed(da.Box((0.2, 0.2, 0.6), position=at(-0.5, 0.3))),
            Trace("body"),
            Spring(at(0.0, 2.5), "body"),
            Body("body", [da.Box((0.5, 0.3, 0.3)), da.Sphere(0.2, position=(0.4, 0.0, 0.0))], name="box", **turned),
            Link(at(0.0, 0.0), "body"),
            Path([at(-1.0, 0.1), at(-0.8, 0.4), at(-0.6, 0.1)], closed=True, filled=True),
            Pin(at(0.0, 0.0)),
            Dot(On("box", (0.2, 0.1)), 0.08),
            Label("body", "a body <b>"),
            Arrow("body", lambda s: [0.0] * (len(names) - 1) + [5.0 + s.t], "force"),
            Arrow(at(0.0, 0.0), lambda s: [1.0 + s.t] + [0.0] * (len(names) - 1), "contact"),
            Arrow("body", velocity, "velocity"),
        ],
        points={"body": tuple(names)},
    )
    n = len(names)
    model = da.EquationsOfMotion(
        p=names, mass=[1.0] * n, force=[0.0] * (n - 1) + [-2.0], drawing=drawing, name="complete",
        outputs={"energy": lambda s: s[f"{up}_dot"] ** 2 / 2 + 2 * s[up]},
    )  # fmt: skip
    top = da.Event(lambda s: s[f"{up}_dot"], name="top")
    return da.simulate(model, (0, 4), p0=[-1.0] + [0.5] * (n - 1), v0=[0.6] + [2.0] * (n - 1), events=[top])
