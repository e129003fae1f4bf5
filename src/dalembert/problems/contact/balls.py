"""Balls that fall on the floor: one, many side by side, many on top of each other."""

from __future__ import annotations

import numpy as np

from dalembert.model import EquationsOfMotion

from ..arguments import check_count, check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .checks import check_restitution
from .problem import ImpactProblem, KnownImpact

#: impacts of a ball that a problem lists at most
MOST_IMPACTS = 60


@checked
def bouncing_ball(
    *, e: float = 0.9, R: float = 0.1, z0: float = 1.0, m: float = 1.0, g: float = 9.81, t_end: float = 10.0
) -> ImpactProblem:
    """A ball of radius R is dropped from the height z0 of its centre and bounces on the floor until it rests.

    With h = z0 - R the impacts are at t_k = √(2h/g) (1 + 2e + … + 2e^(k-1)), with speeds e^(k-1) √(2gh). For e < 1 they
    accumulate at √(2h/g) (1 + e)/(1 - e); from then on the ball lies on the floor. The data are those of a
    public Siconos example.

    Parameters
    ----------
    e : restitution, from 0 to 1.
    R, z0, m, g : radius, height of the centre at the start, mass, gravity.
    t_end : end time. There is a reference at every one.
    """
    check_restitution("bouncing_ball", e=e)
    check_positive("bouncing_ball", R=R, m=m, g=g, t_end=t_end)
    check_positive("bouncing_ball", **{"z0 - R": z0 - R})
    h = z0 - R
    z, speed = bounce(t_end, h, e, g)
    model = EquationsOfMotion(
        name="bouncing_ball",
        drawing=contacts.balls_on_floor(["floor"], R, ["z"]),
        p=["z"],
        parameters={"m": m, "g": g, "R": R},
        mass=lambda s: [s.m],
        force=lambda s: [-s.m * s.g],
        unilateral=lambda s: [s.z - s.R],
        contacts=["floor"],
        restitution=e,
        outputs={"energy": lambda s: s.m * (s.z_dot**2 / 2 + s.g * s.z)},
    )
    rest = resting_time(h, e, g)
    return ImpactProblem(
        name="bouncing_ball",
        title="Ball bouncing on the floor",
        model=model,
        p0=[z0],
        v0=[0.0],
        t_end=t_end,
        reference=Reference(
            t=t_end, p=[R + z], v=[speed], lam=[m * g if t_end > rest else 0.0], source="exact", accuracy=1e-14
        ),
        impacts=bounces("floor", t_end, h, e, g),
        rest=rest if np.isfinite(rest) else None,
    )


@checked
def bouncing_balls(
    N: int = 10,
    *,
    e: float = 0.9,
    spread: float = 0.0,
    R: float = 0.1,
    z0: float = 1.0,
    m: float = 1.0,
    g: float = 9.81,
    t_end: float = 3.0,
) -> ImpactProblem:
    """N equal balls side by side are dropped at once. Each has a contact of its own, and all hit the floor together.

    Parameters
    ----------
    N : number of balls.
    spread : the next ball starts higher by so much; 0: all impacts of all balls are simultaneous.
    e, R, z0, m, g, t_end : as of `bouncing_ball`.
    """
    check_count("bouncing_balls", "N", N, 1)
    check_restitution("bouncing_balls", e=e)
    check_positive("bouncing_balls", R=R, m=m, g=g, t_end=t_end)
    drops = [z0 - R + spread * i for i in range(N)]
    check_positive("bouncing_balls", **{"z0 - R + (N - 1) spread": drops[-1], "z0 - R": drops[0]})
    names = [f"floor{i + 1}" for i in range(N)]
    model = EquationsOfMotion(
        name="bouncing_balls",
        drawing=contacts.balls_on_floor(names, R, [f"z{i + 1}" for i in range(N)]),
        p=[f"z{i + 1}" for i in range(N)],
        parameters={"m": m, "g": g, "R": R},
        mass=lambda s: [s.m] * N,
        force=lambda s: [-s.m * s.g] * N,
        unilateral=lambda s: [s.p[i] - s.R for i in range(N)],
        contacts=names,
        restitution=e,
        outputs={"energy": lambda s: s.m * sum(s.v[i] ** 2 / 2 + s.g * s.p[i] for i in range(N))},
    )
    ends = [bounce(t_end, h, e, g) for h in drops]
    rests = [resting_time(h, e, g) for h in drops]
    impacts = [hit for name, h in zip(names, drops, strict=True) for hit in bounces(name, t_end, h, e, g)]
    return ImpactProblem(
        name="bouncing_balls",
        title="Balls dropped at once",
        model=model,
        p0=[R + h for h in drops],
        v0=np.zeros(N),
        t_end=t_end,
        reference=Reference(
            t=t_end,
            p=[R + z for z, _ in ends],
            v=[speed for _, speed in ends],
            lam=[m * g if t_end > rest else 0.0 for rest in rests],
            source="exact",
            accuracy=1e-14,
        ),
        impacts=tuple(sorted(impacts, key=lambda hit: hit.t)),
        rest=max(rests) if np.isfinite(max(rests)) else None,
    )


@checked
def ball_stack(
    N: int = 5,
    *,
    e: float = 0.0,
    drop: float = 0.5,
    R: float = 0.1,
    m: float = 1.0,
    g: float = 9.81,
    t_end: float = 1.0,
) -> ImpactProblem:
    """N equal balls stand on top of each other, falling together or at rest on the floor.

    At the impact all contacts are closed. Newton's law, applied to them together, leaves the balls together and
    reverses their common velocity with the factor e, so that the stack moves as one bouncing ball. While it falls the
    forces between the balls are zero; at rest the i-th contact from below carries N - i + 1 balls.

    Parameters
    ----------
    N : number of balls.
    e : restitution of all contacts.
    drop : height of the lowest ball above the floor at the start; 0: the stack rests.
    R, m, g, t_end : radius, mass, gravity, end time. There is a reference at every one.
    """
    check_count("ball_stack", "N", N, 1)
    check_restitution("ball_stack", e=e)
    check_positive("ball_stack", R=R, m=m, g=g, t_end=t_end)
    if drop != 0:
        check_positive("ball_stack", drop=drop)
    names = ["floor", *(f"touch{i}" for i in range(1, N))]
    model = EquationsOfMotion(
        name="ball_stack",
        drawing=contacts.balls_on_floor(names, R, [f"z{i + 1}" for i in range(N)], stacked=True),
        p=[f"z{i + 1}" for i in range(N)],
        parameters={"m": m, "g": g, "R": R},
        mass=lambda s: [s.m] * N,
        force=lambda s: [-s.m * s.g] * N,
        unilateral=lambda s: [s.p[0] - s.R, *(s.p[i] - s.p[i - 1] - 2 * s.R for i in range(1, N))],
        contacts=names,
        restitution=e,
        outputs={"energy": lambda s: s.m * sum(s.v[i] ** 2 / 2 + s.g * s.p[i] for i in range(N))},
    )
    standing = R * (1 + 2 * np.arange(N))
    z, speed = bounce(t_end, drop, e, g) if drop else (0.0, 0.0)
    rest = resting_time(drop, e, g) if drop else 0.0
    return ImpactProblem(
        name="ball_stack",
        title="Stack of balls",
        model=model,
        p0=standing + drop,
        v0=np.zeros(N),
        t_end=t_end,
        reference=Reference(
            t=t_end,
            p=standing + z,
            v=np.full(N, speed),
            lam=m * g * np.arange(N, 0, -1) if t_end > rest else np.zeros(N),
            source="exact",
            accuracy=1e-14,
        ),
        impacts=bounces("floor", t_end, drop, e, g) if drop else (),
        rest=rest if np.isfinite(rest) else None,
    )


# -- a ball dropped from the height h, in closed form ------------------------------------------------------------------


def resting_time(h: float, e: float, g: float) -> float:
    """When impacts accumulate, infinite for e = 1."""
    return np.sqrt(2 * h / g) * (1 + e) / (1 - e) if e < 1 else np.inf


def impact_time(k: int, h: float, e: float, g: float) -> float:
    """When the k-th impact is, k = 1, 2, …"""
    powers = 2 * e * (1 - e ** (k - 1)) / (1 - e) if e < 1 else 2 * (k - 1)
    return np.sqrt(2 * h / g) * (1 + powers)


def bounce(t: float, h: float, e: float, g: float) -> tuple[float, float]:
    """Height of the gap and velocity at time t."""
    first, rest = np.sqrt(2 * h / g), resting_time(h, e, g)
    if t >= rest:
        return 0.0, 0.0
    if t < first:
        return h - g * t**2 / 2, -g * t
    if e < 1:  # the time that is left after k impacts is that of the first times 2 e^k/(1 - e)
        k = int(np.log((rest - t) * (1 - e) / (2 * first)) / np.log(e))
    else:
        k = int((t / first + 1) / 2)
    k = max(k - 1, 1)  # logarithms are not exact
    for _ in range(8):
        if impact_time(k + 1, h, e, g) > t:
            break
        k += 1
    since, speed = t - impact_time(k, h, e, g), e**k * g * first
    return speed * since - g * since**2 / 2, speed - g * since


def bounces(contact: str, t_end: float, h: float, e: float, g: float) -> tuple[KnownImpact, ...]:
    """The first impacts until t_end."""
    impacts, speed = [], np.sqrt(2 * g * h)
    for k in range(1, MOST_IMPACTS + 1):
        t = impact_time(k, h, e, g)
        if t > t_end or (e == 0 and k > 1):
            break
        impacts.append(KnownImpact(t, contact, -speed, e * speed))
        speed *= e
    return tuple(impacts)
