"""The cable drum with dry friction: a small problem whose forces depend on the multipliers."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion

from .arguments import check_finite, check_positive, checked
from .drawings import planar
from .problem import Problem, Reference


@checked
def cable_drum(
    friction: float = 0.25,
    *,
    m1: float = 10.0,
    m2: float = 1.0,
    I2: float = 1.0,
    r1: float = 1.0,
    r2: float = 1.0,
    g: float = 1.0,
    damping: float = 1.0,
    y1: float = 0.0,
    y1_dot: float = 0.0,
    t_end: float = 4.0,
) -> Problem:
    """A load on a cable that unwinds from a drum with dry friction in its bearing (MEXX [1]_, section 5.1).

    p = (y1, x2, y2, alpha2): height of the load, position and angle of the drum. The drum is held in place, and the
    cable joins it to the load:

        x2 = 0,   y2 = r2,   y1 - y2 - r1 alpha2 = 0.

    Friction is proportional to the bearing force λ2, so that f = (-m1 g - c y1', -μ λ2, -m2 g, -μ r2 λ2) depends on
    the multipliers. Methods that treat f as known while they solve for λ converge for small μ only.

    One equation remains, D y1'' = -A - B y1' with D = I2 + m1 r1² - m1 r1 r2 μ, and the reference is its exact
    solution. D vanishes at μ = (I2 + m1 r1²)/(m1 r1 r2), 1.1 with the numbers of the source; this one coefficient is
    refused. Beyond it the equations have a solution, but not one that friction could cause.

    Of the start values as printed in [1]_, the acceleration of the load has the wrong sign of λ3: it is
    (-m1 g - c y1' - λ3)/m1; and the symbol M2 there is m2.

    Parameters
    ----------
    friction : coefficient μ.
    m1, m2, I2 : masses of load and drum, inertia of the drum.
    r1, r2 : radii of the drum and of its bearing.
    g, damping : gravity, and the coefficient c of the load's damping.
    y1, y1_dot : height and velocity of the load at the start.
    t_end : end time; the exact reference follows it.

    References
    ----------
    .. [1] C. Lubich, U. Nowak, U. Pöhle, C. Engstler, "MEXX - Numerical software for the integration of constrained
       mechanical multibody systems", Konrad-Zuse-Zentrum Berlin, 1992.
    """
    check_positive("cable_drum", m1=m1, m2=m2, I2=I2, r1=r1, r2=r2, t_end=t_end)
    check_finite("cable_drum", friction=friction, g=g, damping=damping, y1=y1, y1_dot=y1_dot)
    effective = I2 + m1 * r1**2 - m1 * r1 * r2 * friction
    if abs(effective) <= 1e-12 * (I2 + m1 * r1**2):
        raise OptionError(
            f"cable_drum: with friction={friction!r} accelerations and multipliers are not determined; choose a"
            f" coefficient other than (I2 + m1 r1²)/(m1 r1 r2) = {(I2 + m1 * r1**2) / (m1 * r1 * r2):.6g}"
        )

    def multipliers(velocity):
        lam3 = -(m1 * I2 * g + damping * velocity * I2 + m1 * m2 * r1 * r2 * g * friction) / effective
        lam2 = lam3 - m2 * g
        return np.array([-friction * lam2, lam2, lam3])

    # y1'' = constant - rate y1', from the load's equation with λ3 inserted
    constant = -g - multipliers(0.0)[2] / m1
    rate = (damping - damping * I2 / effective) / m1
    passed = t_end if rate == 0 else -np.expm1(-rate * t_end) / rate
    velocity = y1_dot + (constant - rate * y1_dot) * passed
    height = y1 + y1_dot * t_end + (constant - rate * y1_dot) * _second_integral(rate, t_end)

    def positions(height):
        return np.array([height, 0.0, r2, (height - r2) / r1])

    def velocities(velocity):
        return np.array([velocity, 0.0, 0.0, velocity / r1])

    model = EquationsOfMotion(
        name="cable_drum",
        drawing=planar.cable_drum(r1, r2),
        p=["y1", "x2", "y2", "alpha2"],
        parameters={
            "m1": m1, "m2": m2, "I2": I2, "r1": r1, "r2": r2, "g": g, "damping": damping, "friction": friction,
        },
        mass=lambda s: [s.m1, s.m2, s.m2, s.I2],
        force=_force,
        holonomic=lambda s: [s.x2, s.y2 - s.r2, s.y1 - s.y2 - s.r1 * s.alpha2],
    )  # fmt: skip
    return Problem(
        name="cable_drum",
        title=f"Cable drum with dry friction ({friction:g})",
        model=model,
        p0=positions(y1),
        v0=velocities(y1_dot),
        t_end=t_end,
        reference=Reference(
            t=t_end,
            p=positions(height),
            v=velocities(velocity),
            lam=multipliers(velocity),
            source="exact: linear equation for the load",
            accuracy=1e-13,
        ),
    )


def _force(s):
    _, bearing, _ = s.lam
    return [
        -s.m1 * s.g - s.damping * s.y1_dot,
        -s.friction * bearing,
        -s.m2 * s.g,
        -s.friction * s.r2 * bearing,
    ]


def _second_integral(rate: float, t: float) -> float:
    """(t - (1 - exp(-rate t))/rate)/rate, without cancellation where rate t is small."""
    x = rate * t
    if abs(x) > 0.1:
        return (t + np.expm1(-x) / rate) / rate
    term = total = 0.5 * t**2
    for k in range(3, 20):
        term *= -x / k
        total += term
    return total
