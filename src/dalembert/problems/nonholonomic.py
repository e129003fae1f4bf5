"""Two problems with velocity constraints that cannot be integrated, both with exact solutions."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .arguments import checked
from .drawings import spatial
from .problem import Problem, Reference


@checked
def rolling_disc(
    *, m: float = 2.0, R: float = 0.5, spin: float = 3.0, steer: float = 0.7, t_end: float = 10.0
) -> Problem:
    """Disc that stands upright and rolls without slip on a plane: two nonholonomic constraints.

    The contact point (x, y) moves along the heading φ with speed R θ'. Both rates stay constant and the path is a
    circle of radius R·spin/steer. The simplest check that the constraints act at velocity level only and do no work.

    Parameters
    ----------
    m, R : mass and radius of a homogeneous disc.
    spin, steer : rates θ' and φ' at the start; `steer` must not be zero.

    References
    ----------
    .. [1] A. M. Bloch, "Nonholonomic mechanics and control", Springer, 2003.
    """
    model = EquationsOfMotion(
        name="rolling_disc",
        drawing=spatial.rolling_disc(R),
        p=["x", "y", "phi", "theta"],
        parameters={"m": m, "R": R},
        mass=lambda s: [s.m, s.m, 0.25 * s.m * s.R**2, 0.5 * s.m * s.R**2],
        force=lambda s: [0, 0, 0, 0],
        nonholonomic=lambda s: [
            s.x_dot - s.R * np.cos(s.phi) * s.theta_dot,
            s.y_dot - s.R * np.sin(s.phi) * s.theta_dot,
        ],
    )

    def exact(t):
        phi, speed = steer * t, R * spin
        p = [speed / steer * np.sin(phi), speed / steer * (1 - np.cos(phi)), phi, spin * t]
        v = [speed * np.cos(phi), speed * np.sin(phi), steer, spin]
        return p, v, m * speed * steer * np.array([np.sin(phi), -np.cos(phi)])

    (p0, v0, _), (p1, v1, mu1) = exact(0.0), exact(t_end)
    return Problem(
        name="rolling_disc",
        title="Upright disc rolling on a plane",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=Reference(t=t_end, p=p1, v=v1, mu=mu1, source="exact", accuracy=1e-15),
    )


@checked
def sleigh(*, m: float = 1.0, offset: float = 0.5, speed: float = 1.5, t_end: float = 6.0) -> Problem:
    """Chaplygin's sleigh: a body on the plane whose knife edge cannot slip sideways.

    The edge touches at `offset` behind the centre of mass (x, y). The sleigh starts edge first, which is unstable,
    turns round and leaves straight on, centre of mass first. Energy is conserved, and yet one direction is
    asymptotically stable, which no holonomic system can do: a method that treats the constraint wrongly misses it.

    Notes
    -----
    With u the speed of the edge along θ, ω = θ' and b² = (J + m·offset²)/m, the motion is u' = offset·ω²,
    b² ω' = -offset·u·ω; hence u = c tanh τ, b ω = c / cosh τ, τ = τ0 + offset·c·t/b², θ = (b/offset) gd τ with
    the Gudermannian gd. J = 3 m·offset² makes b = 2·offset, and the path of the edge is elementary, too.

    References
    ----------
    .. [1] A. M. Bloch, "Nonholonomic mechanics and control", Springer, 2003.
    """
    model = EquationsOfMotion(
        name="sleigh",
        drawing=spatial.sleigh(offset),
        p=["x", "y", "theta"],
        parameters={"m": m, "J": 3 * m * offset**2, "offset": offset},
        mass=lambda s: [s.m, s.m, s.J],
        force=lambda s: [0, 0, 0],
        nonholonomic=lambda s: [-np.sin(s.theta) * s.x_dot + np.cos(s.theta) * s.y_dot - s.offset * s.theta_dot],
    )
    rate, tau0 = speed / (4 * offset), -2.0  # offset·c/b² with b = 2·offset

    def exact(t):
        tau = tau0 + rate * t
        tanh, sech = np.tanh(tau), 1 / np.cosh(tau)
        half = 2 * np.arctan(np.tanh(tau / 2))  # gd τ
        theta, omega, u = 2 * half, speed * sech / (2 * offset), speed * tanh
        along, across = np.array([np.cos(theta), np.sin(theta)]), np.array([-np.sin(theta), np.cos(theta)])
        edge = speed / rate * np.array([tanh**2 - np.log(np.cosh(tau)), half - sech * tanh])
        omega_dot = -u * omega / (4 * offset)
        p = [*(edge + offset * along), theta]
        v = [*(u * along + offset * omega * across), omega]
        return p, v, [-m * (u * omega + offset * omega_dot)]

    (p0, v0, _), (p1, v1, mu1) = exact(0.0), exact(t_end)
    return Problem(
        name="sleigh",
        title="Chaplygin's sleigh",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=Reference(t=t_end, p=p1, v=v1, mu=mu1, source="exact", accuracy=1e-14),
    )
