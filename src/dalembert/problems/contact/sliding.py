"""A box that slides to rest, in the plane and in space."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from ..arguments import check_finite, check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .checks import check_friction
from .problem import ImpactProblem


@checked
def sliding_box(
    *,
    friction: float = 0.3,
    incline: float = 0.0,
    speed: float = 2.0,
    direction: float = 0.0,
    space: bool = False,
    m: float = 1.0,
    g: float = 9.81,
    t_end: float = 2.0,
) -> ImpactProblem:
    """A box, taken for a point, slides on a rough plane until it stops, and stays there if the plane is not too steep.

    x points down the slope, z away from the plane, and y across it where `space` is true. In the plane, and
    where the box starts along x, the deceleration is constant. Otherwise the path bends down the slope. With the
    angle ψ of the velocity to x, k = μ/tan α and s = tan ψ/2 the speed is proportional to s^k/sin ψ, and for k > 1

        t_rest = v₀ (k + cos ψ₀)/((k² - 1) g sin α);

    the place where the box stops has a closed form, too.

    Parameters
    ----------
    friction : Coulomb's coefficient μ.
    incline : angle α of the plane.
    speed, direction : of the box at the start; the direction in space is the angle ψ₀ from the way down, in the
        plane 0 (down) or π (up).
    space : motion in three dimensions, with two directions of friction.
    m, g, t_end : mass, gravity, end time. There is a reference if the box rests then, and in the plane always.
    """
    check_friction("sliding_box", friction=friction)
    check_positive("sliding_box", m=m, g=g, t_end=t_end)
    check_finite("sliding_box", incline=incline, speed=speed, direction=direction)
    down, normal = g * np.sin(incline), g * np.cos(incline)
    check_positive("sliding_box", **{"cos(incline)": normal})
    names = ["x", "y", "z"] if space else ["x", "z"]
    n = len(names)
    velocity = speed * np.array([np.cos(direction), np.sin(direction)])
    if not space or abs(velocity[1]) < 1e-15 * abs(speed):
        velocity[1] = 0.0
    model = EquationsOfMotion(
        name="sliding_box",
        drawing=contacts.sliding_box(names),
        p=names,
        parameters={"m": m, "down": down, "normal": normal, "friction": friction},
        mass=lambda s: [s.m] * n,
        force=lambda s: [s.m * s.down, *[0.0] * (n - 2), -s.m * s.normal],
        unilateral=lambda s: [s.z],
        contacts=["floor"],
        friction="friction",
        sliding=lambda s: [[s.v[i] for i in range(n - 1)]],
        outputs={"energy": lambda s: s.m * (sum(s.v[i] ** 2 for i in range(n)) / 2 - s.down * s.x + s.normal * s.z)},
    )
    rest, place = _rest(velocity, friction * normal, down)
    if velocity[1] == 0:
        x, x_dot = _along(t_end, velocity[0], friction * normal, down)
        found = (x, 0.0), (x_dot, 0.0)
    else:
        found = (place, (0.0, 0.0)) if t_end > rest else None
    reference = None
    if found is not None:
        sticks = found[1][0] == 0 and friction * normal >= abs(down)
        reference = Reference(
            t=t_end,
            p=[*found[0][: n - 1], 0.0],
            v=[*found[1][: n - 1], 0.0],
            lam=[m * normal],
            mu=[-m * down if sticks else 0.0, 0.0][: n - 1],
            source="exact",
            accuracy=1e-14,
        )
    return ImpactProblem(
        name="sliding_box",
        title="Box sliding to rest",
        model=model,
        p0=np.zeros(n),
        v0=[*velocity[: n - 1], 0.0],
        t_end=t_end,
        reference=reference,
        rest=rest if np.isfinite(rest) else None,
    )


def _along(t: float, v: float, friction: float, down: float) -> tuple[float, float]:
    """Place and velocity on the line of steepest descent; `friction` and `down` are accelerations."""
    x = 0.0
    if v == 0 or friction == 0:
        first = 0.0 if v == 0 else np.inf
    else:
        first = v / (np.sign(v) * friction - down)
        first = first if first > 0 else np.inf
    a = down - np.sign(v) * friction
    if t <= first:
        return v * t + a * t**2 / 2, v + a * t
    x = v * first / 2 if first else 0.0
    if friction >= abs(down):
        return x, 0.0
    a = down - np.sign(down) * friction  # it slides back
    return x + a * (t - first) ** 2 / 2, a * (t - first)


def _rest(velocity: np.ndarray, friction: float, down: float) -> tuple[float, tuple[float, float]]:
    """When and where the box stops for good, infinite and NaN if it does not."""
    speed = float(np.hypot(*velocity))
    nowhere = np.inf, (np.nan, np.nan)
    if speed == 0 and friction >= abs(down):
        return 0.0, (0.0, 0.0)
    if friction <= abs(down):
        return nowhere
    if velocity[1] == 0 or down == 0:
        slowing = friction - down * np.sign(velocity[0]) if velocity[1] == 0 else friction
        rest = speed / slowing
        return rest, (velocity[0] * rest / 2, velocity[1] * rest / 2)
    if down < 0:  # seen from the other side
        rest, (x, y) = _rest(velocity * [-1, 1], friction, -down)
        return rest, (-x, y)
    psi, k = np.arctan2(abs(velocity[1]), velocity[0]), friction / down
    s = np.tan(psi / 2)
    C = speed * np.sin(psi) / s**k
    rest = speed * (k + np.cos(psi)) / ((k**2 - 1) * down)
    x = C**2 / (4 * down) * (s ** (2 * k - 2) / (2 * k - 2) - s ** (2 * k + 2) / (2 * k + 2))
    y = C**2 / (2 * down) * (s ** (2 * k - 1) / (2 * k - 1) + s ** (2 * k + 1) / (2 * k + 1))
    return rest, (x, float(np.sign(velocity[1])) * y)
