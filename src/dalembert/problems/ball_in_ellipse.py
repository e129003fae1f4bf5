"""A ball that slides along the inside of an ellipse: a contact point that moves on a curve."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from .drawings import planar
from .problem import Problem, Reference

_REFERENCE = Reference(
    t=3.0,
    p=[0.70533776939659042723, -0.6809917394702438918],
    v=[6.7634177075443845826, 1.3792167493477492084],
    s=[11.38282618646261843],
    lam=[24.855458829711077852],
    source="computed by us: reduced equation, 80-bit Gragg-Bulirsch-Stoer of order 18, 600 and 1200 steps compared",
    accuracy=1e-14,
)


def ball_in_ellipse() -> Problem:
    """Frictionless ball of radius 0.25 in an upright elliptic ring: one contact-point variable, one constraint.

    The ring is γ(σ) = (2 cos σ, sin σ). The contact point is the foot of the perpendicular from the ball's centre,
    c = (p - γ)·γ' = 0, and the constraint says that it is one radius away. The ball starts at the bottom fast
    enough to go round, so σ grows without bound. c_σ = -|γ'|² (1 - radius·curvature) never vanishes, because the radius
    is half of the smallest radius of curvature, 0.5. The multiplier is the contact force on the ball.

    The reference comes from the one equation of motion in σ that remains after eliminating everything else:
    with P(σ) = γ + radius·n, |P'|² σ'' = -(P'·P'') σ'² - g P'_y.
    """
    radius, speed = 0.25, 7.0
    model = EquationsOfMotion(
        name="ball_in_ellipse",
        drawing=planar.ball_in_ellipse(),
        p=["x", "y"],
        s=["sigma"],
        parameters={"m": 1.0, "g": 9.81, "A": 2.0, "B": 1.0, "radius": radius},
        mass=lambda s: [s.m, s.m],
        force=lambda s: [0, -s.m * s.g],
        contact_points=lambda s: [
            -(s.x - s.A * np.cos(s.sigma)) * s.A * np.sin(s.sigma)
            + (s.y - s.B * np.sin(s.sigma)) * s.B * np.cos(s.sigma)
        ],
        holonomic=lambda s: [
            (s.radius**2 - (s.x - s.A * np.cos(s.sigma)) ** 2 - (s.y - s.B * np.sin(s.sigma)) ** 2) / (2 * s.radius)
        ],
    )
    return Problem(
        name="ball_in_ellipse",
        title="Ball sliding inside an ellipse",
        model=model,
        p0=[0.0, -1.0 + radius],
        v0=[speed, 0.0],
        s0=[-np.pi / 2],
        t_end=3.0,
        reference=_REFERENCE,
    )
