"""Benchmarks of the IFToMM library from bodies: pendulum (A01), four-bar linkages (A02) and Bricard's mechanism (A04).

Andrews' mechanism (A03) has a file of its own.

References
----------
.. [1] M. González, D. Dopico, U. Lugrís, J. Cuadrado, "A benchmarking system for MBS simulation software: problem
   standardization and performance measurement", Multibody System Dynamics 16, 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.multibody.shapes import Box, Line, Sphere
from dalembert.multibody.system import Multibody

from ..arguments import check_count, check_positive, checked
from ..bricard import _AXES, _CLOSURE, _RODS, _VALUES
from ..four_bar_chain import _omega2
from ..pendulum import exact_angle
from .problem import BodiesProblem, problem_of


@checked
def pendulum_from_bodies(coordinates: str = "joint", *, energy: bool = False, t_end: float = 10.0) -> BodiesProblem:
    """Pendulum of the IFToMM benchmarks (A01) as one body: a point of 1 kg, 1 m from its hinge, from rest at (-1, 0).

    The coordinate of its joint is the angle against the downward vertical. The reference is exact.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed".
    energy : whether the total energy is an invariant of the model.
    t_end : end time; the period is 2.3678419475762374 s.
    """
    check_positive("pendulum_from_bodies", t_end=t_end)
    mb = Multibody(planar=True, name="pendulum_from_bodies")
    bob = mb.body("bob", 1.0, 0.0, com=(0, -1), shape=[Line([(0, 0), (0, -1)]), Sphere(0.05, position=(0, -1))])
    mb.revolute("hinge", mb.ground, bob, q0=-np.pi / 2)
    angle, rate = exact_angle(-np.pi / 2, 0.0, 9.81, t_end)
    return problem_of(
        mb,
        coordinates,
        title="Planar pendulum of the IFToMM benchmarks from bodies",
        t_end=t_end,
        known=[(t_end, {"hinge": angle}, {"hinge": rate})],
        source="exact: Jacobi elliptic functions",
        accuracy=1e-14 * (1 + t_end * np.sqrt(9.81)),
        energy=energy,
    )


@checked
def four_bars_from_bodies(
    n: int = 2, coordinates: str = "joint", *, energy: bool = False, t_end: float = 0.7
) -> BodiesProblem:
    """N four-bar linkages side by side (IFToMM A02) from 2N + 1 uniform rods of 1 m and 1 kg: see `four_bar_chain`.

    Cranks stand on the ground pins (i, 0); coordinates of joints are the angles of the cranks against the upward
    vertical and of each coupler against the crank on its left. The chain starts upright with the speed 1 of its tops.
    Where all rods lie in one line (`four_bar_singular_times`; t = 0.714 first, for N = 2) constraints lose rank; the
    default end lies before that. The reference is exact.

    Parameters
    ----------
    n : number of loops.
    coordinates : "joint", "absolute" or "mixed".
    energy : whether the total energy is an invariant of the model.
    t_end : end time; the benchmark takes 10 s.
    """
    check_count("four_bars_from_bodies", "n", n, 1)
    check_positive("four_bars_from_bodies", t_end=t_end)
    mb = Multibody(planar=True, name="four_bars_from_bodies")
    upright, across = [(0, 0), (0, 1)], [(0, 0), (1, 0)]
    cranks = [mb.body(f"crank{i}", 1.0, 1 / 12, (0, 0.5), shape=Line(upright)) for i in range(n + 1)]
    couplers = [mb.body(f"coupler{i}", 1.0, 1 / 12, (0.5, 0), shape=Line(across)) for i in range(1, n + 1)]
    for i, crank in enumerate(cranks):  # angles count counterclockwise, θ of the chain clockwise
        mb.revolute(f"pin{i}", mb.ground, crank, at=(i, 0), q0=0.0, v0=-1.0)
    for i, coupler in enumerate(couplers, 1):
        mb.revolute(f"left{i}", cranks[i - 1], coupler, at=(0, 1), q0=0.0, v0=1.0)
        mb.revolute(f"right{i}", coupler, cranks[i], at=(1, 0), to=(0, 1), q0=0.0, v0=-1.0, cut=True)
    hanging, rate = exact_angle(np.pi, 1.0, _omega2(n), t_end)
    theta = hanging - np.pi
    angles = {f"pin{i}": -theta for i in range(n + 1)} | {f"left{i}": theta for i in range(1, n + 1)}
    rates = {f"pin{i}": -rate for i in range(n + 1)} | {f"left{i}": rate for i in range(1, n + 1)}
    for i in range(1, n + 1):
        angles[f"right{i}"], rates[f"right{i}"] = -theta, -rate
    return problem_of(
        mb,
        coordinates,
        title=f"Chain of four-bar linkages from bodies ({n} loop{'s' if n > 1 else ''})",
        t_end=t_end,
        known=[(t_end, angles, rates)],
        source="exact: Jacobi elliptic functions on the parallelogram branch",
        accuracy=1e-14 * (1 + 10 * t_end),
        energy=energy,
    )


@checked
def bricard_from_bodies(coordinates: str = "joint", *, t_end: float = 10.0) -> BodiesProblem:
    """Bricard's mechanism (IFToMM A04) from five rods and six hinges: see `bricard`.

    The six hinges leave one freedom that counting does not see: one constraint is redundant. The equations leave it
    out, so that every method runs; joint forces are not unique.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed".
    t_end : 1, 2, 5 and 10 have reference values.
    """
    check_positive("bricard_from_bodies", t_end=t_end)
    mb = Multibody(gravity=(0, -9.81, 0), name="bricard_from_bodies")
    before, place, at = mb.ground, np.zeros(3), np.zeros(3)
    for k, (axis, rod) in enumerate(zip(_AXES, _RODS, strict=True), 1):
        along = np.abs(rod)
        moments = (2 * 0.01 * along + (1 + 0.01) * (1 - along)) / 12
        box = Box(tuple(along + 0.1 * (1 - along)), position=rod / 2)
        body = mb.body(f"rod{k}", 1.0, moments, com=rod / 2, shape=box)
        mb.revolute(f"joint{k}", before, body, axis=axis, at=at, q0=0.0)
        before, at, place = body, rod, place + rod
    mb.revolute("joint6", before, mb.ground, axis=_CLOSURE[1], at=at, to=_CLOSURE[0], q0=0.0, cut=True)
    known: list[Any] = []
    for t, (q1, q2, rate1, rate2) in _VALUES.items():
        angles, rates = (q1, q2, q1, q2, q1), (rate1, rate2, rate1, rate2, rate1)
        known.append((t, *({f"joint{k}": x for k, x in enumerate(values, 1)} for values in (angles, rates))))
    return problem_of(
        mb,
        coordinates,
        title="Bricard's mechanism from bodies",
        t_end=t_end,
        known=known,
        source="computed by us: energy integral of the one degree of freedom, 40 digits",
        accuracy=1e-14,
    )
