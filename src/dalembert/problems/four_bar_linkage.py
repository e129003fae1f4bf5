"""A four-bar linkage driven by a torque, in the angles of its bars."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_finite, check_positive, checked
from .drawings import planar
from .problem import Problem, known_values

_FIRST_ANGLES = (np.pi / 2, 0.0, np.pi / 6)

# by (l2, g), the rest as by default: t, p, v, λ
_TABLE = {
    (4.0, 0.0): (
        (0.5, [1.7965494828349977, 0.08936582964650504, 0.7285745557515628],
         [0.9885657505182197, 0.3630006161813484, 0.8208601335479664], [-2.3155617476026062, -0.5982373840780492]),
        (1.0, [2.773688089954218, 0.4071117482215634, 1.3325277810996863],
         [3.4455610437569693, 1.069211754673201, 1.5089760242875592], [0.9702929617065029, 4.455723132655404]),
        (2.0, [4.326097680622038, -0.14618520393794587, -0.8548714284056473],
         [-3.7302264191860557, -1.2784105200481677, -2.7835057670849777], [11.582150456756247, -9.466822944041011]),
    ),
    (4.0, 9.81): (
        (0.5, [1.219470873471261, -0.20155124382902687, 0.06913492979801425],
         [-1.1621144459237982, -0.9918891053522927, -2.1487205659014093], [1.5495957297293688, 0.3717559794940202]),
        (1.0, [2.1139898713697107, -0.7951948946196574, -1.5629158403818453],
         [9.037209099916572, 1.6594642882296158, -1.4985387141014654], [27.995598514533537, -44.5709426129279]),
        (2.0, [2.779397833269137, 0.40888345594092035, 1.3350226372548764],
         [-2.6715758557819416, -0.8289240374215021, -1.1646637593536548], [-4.8158502296301835, -5.040435671691961]),
    ),
    (2.0, 0.0): (
        (0.5, [1.7803566242997375, 0.17747528240425836, 0.7283059529958736],
         [0.8583304266660596, 0.7120909405722693, 0.8195419404833786], [-2.8721316313778638, -1.0917641330092926]),
        (1.0, [2.4688638097995863, 0.7250263731613489, 1.3454486636812222],
         [1.9531846113264897, 1.5144672024192547, 1.6547001507152117], [-1.1556265038694145, 0.08405020894518514]),
        (2.0, [5.602600842246299, 3.618201340401819, 4.0257674620566055],
         [3.386055402472245, 4.2711892144520895, 3.9111078890261433], [-3.563916021724923, -6.669737855189648]),
    ),
}  # fmt: skip


@checked
def four_bar_linkage(
    *, l1: float = 1.0, l2: float = 4.0, m: float = 1.0, g: float = 0.0, torque: float = 6.0, t_end: float = 1.0
) -> Problem:
    """Four-bar linkage from rest, driven by a constant torque on its first bar: one loop, one degree of freedom.

    The angles phi1, phi2, phi3 of crank, coupler and rocker are measured from the horizontal, and

        l1 cos phi1 + l2 cos phi2 - l3 cos phi3 - d1 = 0,    l1 sin phi1 + l2 sin phi2 - l3 sin phi3 = 0.

    The test of drift comes from a comparison of half-explicit Runge-Kutta methods in event-driven simulation. It gives
    the constraints, the torque of 6 N m and the start (π/2, 0, π/6), but no lengths and masses. The start fits only if
    l3 = 2 l1 and d1 = l2 - √3 l1; the rest is our choice: uniform bars of mass 1, l1 = 1 and l2 = 4.
    ``four_bar_linkage(l2=2.0)`` is a double crank, ``g=9.81`` adds gravity.

    Parameters
    ----------
    l1, l2 : lengths of crank and coupler.
    m : mass of each bar.
    g : gravity, against the second axis.
    torque : on the first bar.
    t_end : end time. There are references at 0.5, 1 and 2 for the default values, for g = 9.81 and for l2 = 2.
    """
    check_positive("four_bar_linkage", l1=l1, l2=l2, m=m, t_end=t_end)
    check_finite("four_bar_linkage", g=g, torque=torque)
    model = EquationsOfMotion(
        name="four_bar_linkage",
        drawing=planar.four_bar_linkage(),
        p=["phi1", "phi2", "phi3"],
        parameters={
            "m": m, "l1": l1, "l2": l2, "l3": 2 * l1, "d1": l2 - np.sqrt(3) * l1, "g": g, "torque": torque,
        },
        mass=_mass,
        force=_force,
        holonomic=lambda s: [
            s.l1 * np.cos(s.phi1) + s.l2 * np.cos(s.phi2) - s.l3 * np.cos(s.phi3) - s.d1,
            s.l1 * np.sin(s.phi1) + s.l2 * np.sin(s.phi2) - s.l3 * np.sin(s.phi3),
        ],
        lam=["loop_x", "loop_y"],
    )  # fmt: skip
    known = _TABLE.get((l2, g), ()) if (l1, m, torque) == (1.0, 1.0, 6.0) else ()
    source = "computed by us: DOP853 on the index-1 form, rtol 2.3e-14 and 1e-11 compared"
    references = known_values(known, source, 2e-11)
    return Problem(
        name="four_bar_linkage",
        title="Four-bar linkage driven by a torque",
        model=model,
        p0=_FIRST_ANGLES,
        v0=np.zeros(3),
        t_end=t_end,
        reference=next((reference for reference in references if reference.t == t_end), None),
        references=references,
    )


def _mass(s):
    # the coupler's lower end moves with the crank, the rocker turns about its fixed pin
    m12 = s.m * s.l1 * s.l2 / 2 * np.cos(s.phi1 - s.phi2)
    return [
        [s.m * s.l1**2 / 3 + s.m * s.l1**2, m12, 0],
        [m12, s.m * s.l2**2 / 3, 0],
        [0, 0, s.m * s.l3**2 / 3],
    ]


def _force(s):
    coupling = s.m * s.l1 * s.l2 / 2 * np.sin(s.phi1 - s.phi2)
    return [
        s.torque - coupling * s.phi2_dot**2 - 1.5 * s.m * s.g * s.l1 * np.cos(s.phi1),
        coupling * s.phi1_dot**2 - s.m * s.g * s.l2 / 2 * np.cos(s.phi2),
        -s.m * s.g * s.l3 / 2 * np.cos(s.phi3),
    ]
