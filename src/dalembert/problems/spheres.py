"""Spheres falling into a box: as many contacts as one likes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.multibody import Multibody, Sphere
from dalembert.problems.arguments import check_count, check_finite, check_positive, checked
from dalembert.problems.problem import Problem


@checked
def spheres_in_box(
    N: int = 1000,
    *,
    radius: float = 1.0,
    m: float = 1.0,
    g: float = 9.81,
    friction: float = 0.3,
    restitution: float = 0.0,
    spacing: float = 2.2,
    seed: int = 0,
    t_end: float = 2.0,
) -> Problem:
    """N equal spheres fall into a box that is open at the top, from rest, in layers that are a little disturbed.

    The floor is about half as wide as the spheres are high. Time stepping solves it: `MoreauJean(h=5e-3)`.

    Parameters
    ----------
    N : number of spheres.
    radius, m, g : of each sphere, and gravity.
    friction, restitution : of all contacts.
    spacing : distance of neighbours at the start, in radii; more than 2.
    seed : of the disturbance.
    t_end : end time.

    Examples
    --------
    >>> import dalembert as da
    >>> problem = da.problems.spheres_in_box(20)
    >>> sol = problem.simulate(method=da.MoreauJean(h=5e-3), t_eval=[2.0], dense_output=False)
    >>> heights = sol.p[-1].reshape(20, 7)[:, 2]
    >>> bool(heights.min() > 0.99)
    True
    """
    check_count("spheres_in_box", "N", N, 1)
    check_count("spheres_in_box", "seed", seed, 0)
    check_positive("spheres_in_box", radius=radius, m=m, spacing=spacing - 2.0, t_end=t_end)
    check_finite("spheres_in_box", g=g)
    wide = max(1, math.ceil((N / 2) ** (1 / 3)))
    pitch = spacing * radius
    rng = np.random.default_rng(seed)
    number = np.arange(N)
    cells = np.column_stack([number % wide, number // wide % wide, number // wide**2])
    places = (cells + 0.5) * pitch + rng.uniform(-0.4, 0.4, (N, 3)) * (spacing - 2.0) * radius
    moment, shape = 0.4 * m * radius**2, Sphere(radius)
    system = Multibody(gravity=(0.0, 0.0, -g), name="spheres_in_box")
    for i, place in enumerate(places.tolist()):
        system.body(f"sphere{i}", mass=m, inertia=(moment, moment, moment), shape=shape, position=tuple(place))
    system.collide(
        friction=friction, restitution=restitution, inside=((0.0, 0.0, 0.0), (wide * pitch, wide * pitch, 1.0))
    )
    model = system.equations("absolute")
    start: dict[str, Any] = dict(p0=np.zeros(7 * N), v0=np.zeros(6 * N))
    start["p0"].reshape(N, 7)[:, :4] = np.column_stack([places, np.ones(N)])
    return Problem(
        name="spheres_in_box",
        title=f"{N} spheres falling into a box",
        model=model,
        t_end=t_end,
        reference=None,
        **start,
    )
