"""Chains of N equal bodies, planar or spatial."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.multibody.shapes import Cylinder, Line
from dalembert.multibody.system import Multibody

from ..arguments import check_count, check_finite, check_positive, checked
from ..pendulum_chain import _ANGLES, _DEFAULT, _RATES
from .problem import BodiesProblem, problem_of


@checked
def chain_of_bodies(
    N: int = 4,
    coordinates: str = "joint",
    *,
    planar: bool = True,
    m: float = 1.0,
    L: float = 1.0,
    g: float = 9.81,
    angle: float = np.pi / 2,
    energy: bool = False,
    t_end: float = 1.0,
) -> BodiesProblem:
    """Chain of N uniform rods that hangs from a fixed point and falls from rest: `pendulum_chain` from bodies.

    The planar chain turns about z, gravity acts along -y. In the spatial one gravity acts along -z, and the axes of
    the hinges alternate between x and y, so that the chain leaves every plane. Coordinates of joints are angles
    between rods, all zero but the first one at the start.

    `chain_system` gives the description alone, also for very many bodies.

    Parameters
    ----------
    N : number of rods.
    coordinates : "joint", "absolute" or "mixed".
    planar : whether the chain moves in a plane.
    m, L, g : mass and length of each rod, gravity.
    angle : of all rods against the vertical at the start.
    energy : whether the total energy is an invariant of the model.
    t_end : end time. There is a reference for the default values in the plane.
    """
    check_positive("chain_of_bodies", t_end=t_end)
    given = {"N": N, "m": m, "L": L, "g": g, "angle": angle, "t_end": t_end}
    known: list[Any] = []
    if planar and given == _DEFAULT:
        names = [f"hinge{k}" for k in range(1, N + 1)]
        relative = [np.diff(values, prepend=0.0) for values in (_ANGLES, _RATES)]
        known = [(t_end, *(dict(zip(names, values, strict=True)) for values in relative))]
    return problem_of(
        chain_system(N, planar=planar, m=m, L=L, g=g, angle=angle),
        coordinates,
        title=f"Chain of {N} bodies",
        t_end=t_end,
        known=known,
        source="computed by us: DOP853 in angles, rtol 2.3e-14 and 1e-12 compared",
        accuracy=2e-11,
        energy=energy,
    )


@checked
def chain_system(
    N: int = 4, *, planar: bool = True, m: float = 1.0, L: float = 1.0, g: float = 9.81, angle: float = np.pi / 2
) -> Multibody:
    """The description of a chain of N rods, also of very many.

    >>> chain_system(1000)
    Multibody('chain_of_bodies': 1000 bodies, 1000 joints, planar)
    """
    check_count("chain_of_bodies", "N", N, 1)
    check_positive("chain_of_bodies", m=m, L=L)
    check_finite("chain_of_bodies", g=g, angle=angle)
    m, L = float(m), float(L)
    moment = m * L**2 / 12
    if planar:
        mb = Multibody(planar=True, gravity=(0.0, -g), name="chain_of_bodies")
        inertia, com, end = moment, (0.0, -L / 2), (0.0, -L)
        shape, axes = Line([(0.0, 0.0), (0.0, -L)]), ({}, {})
    else:
        radius = L / 20
        mb = Multibody(gravity=(0.0, 0.0, -g), name="chain_of_bodies")
        inertia = (moment + m * radius**2 / 4, moment + m * radius**2 / 4, m * radius**2 / 2)
        com, end = (0.0, 0.0, -L / 2), (0.0, 0.0, -L)
        shape = Cylinder(radius, L, position=com)
        axes = ({"axis": (1.0, 0.0, 0.0)}, {"axis": (0.0, 1.0, 0.0)})
    before, at = mb.ground, None
    for k in range(1, N + 1):
        rod = mb.body(f"rod{k}", m, inertia, com, shape)
        mb.revolute(f"hinge{k}", before, rod, at=at, q0=float(angle) if k == 1 else 0.0, **axes[(k - 1) % 2])
        before, at = rod, end
    return mb
