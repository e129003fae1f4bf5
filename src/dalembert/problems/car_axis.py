"""The car axis: a rod on two springs, one of them on a bumpy road."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import check_positive, checked
from .drawings import planar
from .problem import Problem, Reference

_PUBLISHED = Reference(
    t=3.0,
    p=[0.04934557842755629, 0.4969894602303324, 1.041742524885400, 0.3739110272652214],
    v=[-0.07705836840321485, 0.007446866596327776, 0.01755681574942899, 0.7703410437794031],
    lam=[0.004736886750784630, 0.001104680411345730],
    source="published: IVP test set (sign of lam changed)",
    accuracy=1e-11,
)
_OURS = Reference(
    t=3.0,
    p=[0.0493455784275240558, 0.496989460230008176, 1.04174252488542628, 0.373911027265365741],
    v=[-0.0770583684035924409, 0.00744686659206524884, 0.0175568157535416395, 0.770341043779598672],
    lam=[0.00473688659085332956, 0.00110468033125956723],
    source="computed by us: index-1 form, 80-bit Gragg-Bulirsch-Stoer of order 18, 600 and 1200 steps compared",
    accuracy=1e-14,
)
_LATE = Reference(
    t=500.0,
    p=[0.0494459953941077598, 0.498034002484281757, 1.04172591283203264, 0.374015594996127299],
    v=[-0.0175603177570200809, 0.610496487191695136, -0.0801753110552112375, 0.109509564052765906],
    lam=[0.00471850506622184963, 0.00104588558022134371],
    source="computed by us: index-1 form, 80-bit Gragg-Bulirsch-Stoer of order 18, 100000 and 200000 steps compared "
    "(benchmarks/car_axis_reference.py)",
    accuracy=1e-9,
)


@checked
def car_axis(*, t_end: float = 3.0) -> Problem:
    """Car axis on [0, 3] s: four coordinates, two constraints, one of which moves with time.

    The ends (xl, yl) and (xr, yr) of a rod of length 1 stand on springs; the left spring's foot is at rest, the
    right one's moves up and down over the road. The masses are ε²/2·10 = 5e-4 of the springs' scale, so the forces
    are large against them.

    The literature writes ``+Gᵀλ``; here it is ``-Gᵀλ`` as everywhere in this package, so our `lam` is minus theirs.
    The published multipliers are good to 7 digits only; `reference` is ours. There are some for `t_end` 3 and 500.

    References
    ----------
    .. [1] F. Mazzia, C. Magherini, "Test set for initial value problem solvers", release 2.4, 2008, problem "caraxis".
    """
    check_positive("car_axis", t_end=t_end)
    model = EquationsOfMotion(
        name="car_axis",
        drawing=planar.car_axis(),
        p=["xl", "yl", "xr", "yr"],
        parameters={
            "m": 10.0,
            "epsilon": 0.01,
            "length": 1.0,
            "spring_length": 0.5,
            "gravity": 1.0,
            "bump": 0.1,
            "frequency": 10.0,
        },
        mass=lambda s: [0.5 * s.m * s.epsilon**2] * 4,
        force=_force,
        holonomic=_constraints,
    )
    return Problem(
        name="car_axis",
        title="Car axis on a bumpy road",
        model=model,
        p0=[0.0, 0.5, 1.0, 0.5],
        v0=[-0.5, 0.0, -0.5, 0.0],
        t_end=t_end,
        reference=next((known for known in (_OURS, _LATE) if known.t == t_end), None),
        references=(_OURS, _PUBLISHED, _LATE),
    )


def _right_foot(s):
    yb = s.bump * np.sin(s.frequency * s.t)
    return np.sqrt(s.length**2 - yb**2), yb


def _force(s):
    xb, yb = _right_foot(s)
    left = np.sqrt(s.xl**2 + s.yl**2)
    right = np.sqrt((s.xr - xb) ** 2 + (s.yr - yb) ** 2)
    pull_left = (s.spring_length - left) / left
    pull_right = (s.spring_length - right) / right
    weight = 0.5 * s.m * s.epsilon**2 * s.gravity
    return [
        pull_left * s.xl,
        pull_left * s.yl - weight,
        pull_right * (s.xr - xb),
        pull_right * (s.yr - yb) - weight,
    ]


def _constraints(s):
    xb, yb = _right_foot(s)
    return [
        s.xl * xb + s.yl * yb,
        (s.xl - s.xr) ** 2 + (s.yl - s.yr) ** 2 - s.length**2,
    ]
