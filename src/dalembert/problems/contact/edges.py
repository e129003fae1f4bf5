"""A ball that crosses a place where the surface below it changes its curvature at once."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from ..arguments import check_choice, check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .problem import ImpactProblem


@checked
def ball_over_edge(
    *, surface: str = "two", speed: float = 2.0, start: float = 1.0, m: float = 1.0, g: float = 9.81, t_end: float = 1.5
) -> ImpactProblem:
    """A ball, taken for a point, slides without friction on flat ground and then up the parabola z = x².

    At x = 0 ground and parabola have one tangent but not one curvature, so that the acceleration and the contact
    force jump. The first of two examples in which index-2 methods fail: both constraints are closed at the edge, their
    gradients are the same, their second derivatives are not.

    The ball goes up as far as x_m = speed/√(2g), comes back and leaves as it came. On the parabola, with
    x = x_m sin u, it takes the time E(u | -4 x_m²)/√(2g), an elliptic integral of the second kind.

    Parameters
    ----------
    surface : "two" contacts, z ≥ 0 and z ≥ max(x, 0)², which are both closed as far as the edge; or "one" whose gap is
        z for x < 0 and z - x² for x > 0.
    speed, start : of the ball at the start, and its distance from the edge.
    m, g, t_end : mass, gravity, end time. There is a reference while the ball is on flat ground.
    """
    check_choice("ball_over_edge", "surface", surface, ("one", "two"))
    check_positive("ball_over_edge", speed=speed, start=start, m=m, g=g, t_end=t_end)
    one = surface == "one"
    model = EquationsOfMotion(
        name="ball_over_edge",
        drawing=contacts.ball_over_edge(start),
        p=["x", "z"],
        parameters={"m": m, "g": g},
        mass=lambda s: [s.m, s.m],
        force=lambda s: [0, -s.m * s.g],
        unilateral=(lambda s: [s.z - np.where(s.x > 0, s.x**2, 0.0)])
        if one
        else (lambda s: [s.z, s.z - np.maximum(s.x, 0.0) ** 2]),
        contacts=["surface"] if one else ["ground", "parabola"],
        outputs={"energy": lambda s: s.m * ((s.x_dot**2 + s.z_dot**2) / 2 + s.g * s.z)},
    )
    away = start / speed + 2 * _way_up(speed, g)  # when it is back at the edge
    reference = None
    if t_end < start / speed or t_end > away:
        x, v = (speed * t_end - start, speed) if t_end < away else (-speed * (t_end - away), -speed)
        reference = Reference(
            t=t_end,
            p=[x, 0.0],
            v=[v, 0.0],
            lam=[m * g] if one else None,  # two of them share it in any way
            source="exact: elliptic integral",
            accuracy=1e-14,
        )
    return ImpactProblem(
        name="ball_over_edge",
        title="Ball from flat ground to a parabola",
        model=model,
        p0=[-start, 0.0],
        v0=[speed, 0.0],
        t_end=t_end,
        reference=reference,
    )


def _way_up(speed: float, g: float) -> float:
    from scipy.special import ellipe  # at first use

    return float(ellipe(-2 * speed**2 / g) / np.sqrt(2 * g))


@checked
def ball_over_corner(
    *, speed: float = 0.5, start: float = 0.5, R: float = 0.1, m: float = 1.0, g: float = 9.81, t_end: float = 1.3
) -> ImpactProblem:
    """A ball slides without friction over the edge of a table: a convex edge.

    The gap is the distance of the ball's centre from the table, which fills x < 0, z < 0, less R. Beyond the edge the
    centre moves on a circle of radius R, so that its acceleration jumps by speed²/R, and the ball takes off at once if
    that exceeds g. A slower one leaves the corner where its angle from the vertical is

        cos θ = (2 + speed²/(g R))/3.

    Parameters
    ----------
    speed, start : of the ball at the start, and its distance from the edge.
    R, m, g : radius, mass, gravity.
    t_end : end time. There are references before the edge and after the ball has left the corner.
    """
    check_positive("ball_over_corner", speed=speed, start=start, R=R, m=m, g=g, t_end=t_end)
    model = EquationsOfMotion(
        name="ball_over_corner",
        drawing=contacts.ball_over_corner(R, start),
        p=["x", "z"],
        parameters={"m": m, "g": g, "R": R},
        mass=lambda s: [s.m, s.m],
        force=lambda s: [0, -s.m * s.g],
        unilateral=lambda s: [np.sqrt(np.maximum(s.x, 0.0) ** 2 + np.maximum(s.z, 0.0) ** 2) - s.R],
        contacts=["table"],
        outputs={"energy": lambda s: s.m * ((s.x_dot**2 + s.z_dot**2) / 2 + s.g * s.z)},
    )
    edge = start / speed
    left, p, v = _takeoff(speed, R, g)
    reference = None
    if t_end < edge:
        reference = Reference(
            t=t_end, p=[speed * t_end - start, R], v=[speed, 0.0], lam=[m * g], source="exact", accuracy=1e-14
        )
    elif t_end > edge + left:
        t = t_end - edge - left
        reference = Reference(
            t=t_end,
            p=p + t * v - [0.0, g * t**2 / 2],
            v=v - [0.0, g * t],
            lam=[0.0],
            source="exact: integral over the angle on the corner, by Gauss's rule",
            accuracy=1e-13,
        )
    return ImpactProblem(
        name="ball_over_corner",
        title="Ball over the edge of a table",
        model=model,
        p0=[-start, R],
        v0=[speed, 0.0],
        t_end=t_end,
        reference=reference,
    )


def _takeoff(speed: float, R: float, g: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Time on the corner, and position and velocity when the ball leaves it."""
    cosine = (2 + speed**2 / (g * R)) / 3
    if cosine >= 1:
        return 0.0, np.array([0.0, R]), np.array([speed, 0.0])
    angle = np.arccos(cosine)
    # with sinh w = 2 sin(θ/2) √(gR)/speed the integrand is smooth, however slow the ball is
    ratio = speed / (2 * np.sqrt(g * R))
    end = np.arcsinh(np.sin(angle / 2) / ratio)
    x, weights = np.polynomial.legendre.leggauss(80)
    w = end * (x + 1) / 2
    time = float(np.sqrt(R / g) * np.sum(weights / np.sqrt(1 - (ratio * np.sinh(w)) ** 2)) * end / 2)
    final = np.sqrt(speed**2 + 2 * g * R * (1 - cosine))
    return time, R * np.array([np.sin(angle), cosine]), final * np.array([cosine, -np.sin(angle)])
