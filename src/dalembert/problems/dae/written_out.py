"""The examples of the QUALIDAES paper with all hidden constraints written out: more equations than unknowns."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import QuasiLinearDAE

from ..arguments import check_positive, checked
from ..car_axis import car_axis
from ..drawings import planar
from ..pendulum import GRAVITY_OF_PERIOD_2, pendulum
from ..problem import Problem, Reference


@checked
def pendulum_written_out(*, g: float = GRAVITY_OF_PERIOD_2, t_end: float = 2.0, hidden: int = 2) -> Problem:
    """Planar pendulum with its constraints of three levels, seven equations for five unknowns [1]_.

    Parameters
    ----------
    g : gravity. The paper has 13.7503716373295, with which the period is 2 up to 1e-10.
    t_end : end time; the exact reference follows it.
    hidden : how many hidden constraints are written out: 2, all of them, or 1 or 0.

    References
    ----------
    .. [1] R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with
       Modelica", Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013, example 5.1.
    """
    check_positive("pendulum_written_out", g=g, t_end=t_end)
    _check_hidden("pendulum_written_out", hidden)
    origin = pendulum(g=g, t_end=t_end)
    model = QuasiLinearDAE(
        name="pendulum_written_out",
        drawing=planar.pendulum("p", "q", "lam"),
        x=["p", "q", "v", "w", "lam"],
        parameters={"m": 1.0, "g": g, "L": 1.0},
        leading=lambda s: [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, s.m, 0, 0], [0, 0, 0, s.m, 0]],
        rhs=lambda s: [s.v, s.w, -2 * s.p * s.lam, -s.m * s.g - 2 * s.q * s.lam],
        constraints=lambda s: _circle(s)[: hidden + 1],
    )
    known = origin.reference
    return Problem(
        name="pendulum_written_out",
        title="Planar pendulum, all constraints written out",
        model=model,
        x0=[1.0, 0.0, 0.0, 0.0, 0.0],
        t_end=t_end,
        reference=Reference(
            t=t_end, x=[*known.p, *known.v, *known.lam], source=known.source, accuracy=10 * known.accuracy
        ),
    )


def _check_hidden(problem: str, hidden: int) -> None:
    if hidden not in (0, 1, 2):
        raise OptionError(f"{problem}: hidden must be 0, 1 or 2, not {hidden}")


def _circle(s):
    return [
        s.p**2 + s.q**2 - s.L**2,
        2 * s.p * s.v + 2 * s.q * s.w,
        2 * s.v**2 + 2 * s.w**2 + 2 * s.p * (-2 * s.p * s.lam) / s.m + 2 * s.q * (-s.m * s.g - 2 * s.q * s.lam) / s.m,
    ]


#: of the car axis: those of the mechanism, then abbreviations
_UNKNOWNS = (
    "xl", "yl", "xr", "yr", "V1", "V2", "V3", "V4", "lam1", "lam2",
    "V1P", "V2P", "V3P", "V4P", "yb", "ybP", "ybPP", "xb", "xbP", "xbPP", "Ll", "Lr",
)  # fmt: skip


@checked
def car_axis_written_out(*, hidden: int = 2, t_end: float = 3.0) -> Problem:
    """Car axis with abbreviations as unknowns and the constraints of three levels: 26 equations for 22 unknowns [1]_.

    V1P … V4P are masses by accelerations, yb and xb the right foot with two derivatives, Ll and Lr the lengths of the
    springs. The multipliers have the paper's sign, the other one than `car_axis`; errors are measured in positions,
    velocities and multipliers as there. The paper's second constraint on acceleration level has a misprint, V1 for V1P,
    which its own Fortran code has not.

    References
    ----------
    .. [1] R. Altmeyer, A. Steinbrecher, "Regularization and Numerical Simulation of Dynamical Systems Modeled with
       Modelica", Preprint 2013/29, Institut für Mathematik, TU Berlin, 2013, example 5.2.
    """
    _check_hidden("car_axis_written_out", hidden)
    origin = car_axis(t_end=t_end)
    mass = 10.0 * 0.01**2 / 2
    model = QuasiLinearDAE(
        name="car_axis_written_out",
        drawing=planar.car_axis("L"),
        x=_UNKNOWNS,
        parameters={"eps": 0.01, "M": 10.0, "L": 1.0, "L0": 0.5, "r": 0.1, "w": 10.0},
        leading=lambda s: np.hstack(
            [np.diag([1.0] * 4 + [s.eps * s.eps * s.M / 2] * 4).astype(object), np.zeros((8, 14))]
        ),
        rhs=lambda s: [s.V1, s.V2, s.V3, s.V4, s.V1P, s.V2P, s.V3P, s.V4P],
        constraints=lambda s: [*_abbreviations(s), *_levels(s)[: 2 * (hidden + 1)]],
    )
    known, x, reference = origin.reference, np.full(len(_UNKNOWNS), np.nan), None
    if known is not None:
        x[:10] = [*known.p, *known.v, *-known.lam]
        reference = Reference(t=known.t, x=x, source=known.source, accuracy=known.accuracy)
    return Problem(
        name="car_axis_written_out",
        title="Car axis, all constraints and abbreviations written out",
        model=model,
        x0=[*origin.p0, *origin.v0, 0, 0, 0, -mass, 0, -mass, 0, 1, 0, 1, 0, -1, 0.5, 0.5],
        t_end=origin.t_end,
        reference=reference,
    )


def _abbreviations(s):
    weight = s.M * s.eps * s.eps / 2
    square = s.L * s.L - s.yb * s.yb
    left, right = (s.L0 - s.Ll) / s.Ll, (s.L0 - s.Lr) / s.Lr
    return [
        -s.yb + s.r * np.sin(s.w * s.t),
        -s.ybP + s.r * s.w * np.cos(s.w * s.t),
        -s.ybPP - s.r * s.w * s.w * np.sin(s.w * s.t),
        -s.xb + np.sqrt(square),
        -s.xbP - s.yb * s.ybP / np.sqrt(square),
        -s.xbPP - (s.yb * s.ybP) ** 2 / square**1.5 - (s.ybP**2 + s.yb * s.ybPP) / np.sqrt(square),
        -s.Ll + np.sqrt(s.xl**2 + s.yl**2),
        -s.Lr + np.sqrt((s.xr - s.xb) ** 2 + (s.yr - s.yb) ** 2),
        -s.V1P + left * s.xl + s.lam1 * s.xb + 2 * s.lam2 * (s.xl - s.xr),
        -s.V2P + left * s.yl + s.lam1 * s.yb + 2 * s.lam2 * (s.yl - s.yr) - weight,
        -s.V3P + right * (s.xr - s.xb) - 2 * s.lam2 * (s.xl - s.xr),
        -s.V4P + right * (s.yr - s.yb) - 2 * s.lam2 * (s.yl - s.yr) - weight,
    ]


def _levels(s):
    mass = s.eps * s.eps * s.M / 2
    x, y, vx, vy = s.xl - s.xr, s.yl - s.yr, s.V1 - s.V3, s.V2 - s.V4
    return [
        s.xb * s.xl + s.yb * s.yl,
        x**2 + y**2 - s.L * s.L,
        s.xbP * s.xl + s.xb * s.V1 + s.ybP * s.yl + s.yb * s.V2,
        2 * x * vx + 2 * y * vy,
        s.xbPP * s.xl + 2 * s.xbP * s.V1 + s.xb * s.V1P / mass + s.ybPP * s.yl + 2 * s.ybP * s.V2 + s.yb * s.V2P / mass,
        2 * vx**2 + 2 * x * (s.V1P - s.V3P) / mass + 2 * vy**2 + 2 * y * (s.V2P - s.V4P) / mass,
    ]
