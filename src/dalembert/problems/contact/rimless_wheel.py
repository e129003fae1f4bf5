"""A rimless wheel: spokes that walk down a slope, the simplest passive walker."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion

from ..arguments import check_count, check_finite, check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .checks import check_friction
from .problem import ImpactProblem, KnownImpact


@checked
def rimless_wheel(
    N: int = 8,
    *,
    slope: float = 0.1,
    friction: float = 2.0,
    steps: int = 3,
    m: float = 1.0,
    length: float = 1.0,
    inertia: float = 0.25,
    g: float = 9.81,
) -> ImpactProblem:
    """A wheel of N spokes without a rim walks down a slope: a foot sticks until the next one hits the ground.

    p = (x, z, th): the hub, along the slope and away from it, and the angle of rolling. Every foot is a contact with
    friction and without restitution. Between impacts the wheel is an inverted pendulum about its foot. At an impact
    the angular momentum about the new foot is kept, and the old one leaves the ground: with α = π/N and I the inertia,

        ω⁺ = η ω⁻,    η = (I + m l² cos 2α)/(I + m l²).

    A step lowers the hub, (ω⁻)² = (ω⁺)² + 4 m g l sin α sin γ/(I + m l²), so that there is one speed with which the
    wheel goes on for ever. The start is on this limit cycle, in the middle of a step, and the end after some steps.

    Parameters
    ----------
    N : number of spokes.
    slope : angle γ of the ground.
    friction : Coulomb's coefficient; feet do not slide if it is large.
    steps : how many, which determines the end time.
    m, length, inertia, g : mass and length of spokes l, moment of inertia about the hub, gravity.

    References
    ----------
    .. [1] T. McGeer, "Passive dynamic walking", Int. J. Robotics Research 9, 1990.
    """
    check_count("rimless_wheel", "N", N, 5)
    check_count("rimless_wheel", "steps", steps, 1)
    check_friction("rimless_wheel", friction=friction)
    check_positive("rimless_wheel", slope=slope, m=m, length=length, inertia=inertia, g=g)
    check_finite("rimless_wheel", slope=slope)
    a, J = np.pi / N, inertia + m * length**2
    eta = (inertia + m * length**2 * np.cos(2 * a)) / J
    before = np.sqrt(4 * m * g * length * np.sin(a) * np.sin(slope) / J / (1 - eta**2))  # ω⁻ on the limit cycle
    pull = 2 * m * g * length / J

    def rate(phi):  # ω at the angle φ of the spoke that stands, from α to -α
        return np.sqrt((eta * before) ** 2 + pull * (np.cos(a - slope) - np.cos(phi - slope)))

    with np.errstate(invalid="ignore"):
        if not rate(slope) > 0 or slope >= a:
            raise OptionError(
                f"rimless_wheel: slope={slope:g} is too small for {N} spokes to get over the top, or so steep that the "
                "wheel does not stand: take another slope or more spokes"
            )
    until, period = _time(rate, 0.0, -a), _time(rate, a, -a)
    feet = 2 * a * np.arange(N)

    def angle(s, k):
        return feet[k] - s.th

    model = EquationsOfMotion(
        name="rimless_wheel",
        drawing=contacts.rimless_wheel(N, feet, slope),
        p=["x", "z", "th"],
        parameters={"m": m, "l": length, "I": inertia, "down": g * np.sin(slope), "normal": g * np.cos(slope)},
        mass=lambda s: [s.m, s.m, s.I],
        force=lambda s: [s.m * s.down, -s.m * s.normal, 0],
        unilateral=lambda s: [s.z - s.l * np.cos(angle(s, k)) for k in range(N)],
        contacts=[f"foot{k + 1}" for k in range(N)],
        friction=friction,
        sliding=lambda s: [[s.x_dot - s.l * np.cos(angle(s, k)) * s.th_dot] for k in range(N)],
        outputs={
            "energy": lambda s: (
                s.m * (s.x_dot**2 + s.z_dot**2) / 2 + s.I * s.th_dot**2 / 2 + s.m * (s.normal * s.z - s.down * s.x)
            )
        },
    )
    spin = float(rate(0.0))
    p0, v0 = np.array([0.0, length, 0.0]), np.array([length * spin, 0.0, spin])
    hits = until + period * np.arange(steps)
    falls = 2 * length * np.sin(a) * before  # the speed of the new foot, towards the ground
    t_end = float(steps * period)
    return ImpactProblem(
        name="rimless_wheel",
        title="Rimless wheel walking down a slope",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=Reference(
            t=t_end,
            p=p0 + steps * np.array([2 * length * np.sin(a), 0.0, 2 * a]),
            v=v0,
            source="exact: the limit cycle, its period by Gauss's rule",
            accuracy=1e-13,
        ),
        impacts=tuple(KnownImpact(float(t), f"foot{(k + 1) % N + 1}", -falls, 0.0) for k, t in enumerate(hits)),
    )


def _time(rate, begin: float, end: float) -> float:
    x, weights = np.polynomial.legendre.leggauss(200)
    phi = begin + (end - begin) * (x + 1) / 2
    return float(np.sum(weights / rate(phi)) * (begin - end) / 2)
