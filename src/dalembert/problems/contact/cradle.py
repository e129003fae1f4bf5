"""Equal balls in a row that pass a push on: on a straight line, and as Newton's cradle."""

from __future__ import annotations

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion
from dalembert.model.contacts import IMPACTS

from ..arguments import check_choice, check_count, check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .checks import check_restitution
from .problem import MOST_KNOWN, ImpactProblem, KnownImpact


@checked
def ball_chain(
    N: int = 3,
    *,
    impact: str = "sequential",
    e: float = 1.0,
    speed: float = 1.0,
    distance: float = 0.5,
    R: float = 0.1,
    m: float = 1.0,
    t_end: float = 1.0,
) -> ImpactProblem:
    """A ball on a line without gravity hits N - 1 balls that rest and touch each other.

    Newton's law, applied to all contacts together, is not what one sees: for e = 1 the balls that were at rest go on
    together with 2/N of the velocity, and the first one goes back with 1 - 2/N of it. Poisson's law does the same here.
    One contact after the other, the push arrives at the last ball, and all others are at rest, as in the experiment.

    Parameters
    ----------
    N : number of balls.
    impact : law of impacts: "sequential", "newton" or "poisson".
    e : restitution. With "sequential" and 0 < e < 1 there is no reference.
    speed, distance : of the first ball, and its gap to the second at the start.
    R, m, t_end : radius, mass, end time.
    """
    check_count("ball_chain", "N", N, 2)
    check_choice("ball_chain", "impact", impact, IMPACTS)
    check_restitution("ball_chain", e=e)
    check_positive("ball_chain", speed=speed, distance=distance, R=R, m=m, t_end=t_end)
    model = EquationsOfMotion(
        name="ball_chain",
        drawing=contacts.ball_chain(N, R),
        p=[f"x{i + 1}" for i in range(N)],
        parameters={"m": m, "R": R},
        mass=lambda s: [s.m] * N,
        force=lambda s: [0.0] * N,
        unilateral=lambda s: [s.p[i + 1] - s.p[i] - 2 * s.R for i in range(N - 1)],
        contacts=[f"touch{i + 1}" for i in range(N - 1)],
        restitution=e,
        impact=impact,
        outputs={"energy": lambda s: s.m * sum(s.v[i] ** 2 for i in range(N)) / 2},
    )
    p0 = 2 * R * np.arange(N)
    p0[0] -= distance
    v0, hit = np.zeros(N), distance / speed
    v0[0] = speed
    after = _after(N, impact, e) * speed
    reference, impacts = None, ()
    if not np.isnan(after).any():
        p = p0 + v0 * min(t_end, hit) + after * max(t_end - hit, 0.0)
        v = after if t_end > hit else v0
        reference = Reference(t=t_end, p=p, v=v, lam=np.zeros(N - 1), source="exact", accuracy=1e-14)
        if t_end > hit:
            impacts = tuple(
                KnownImpact(hit, f"touch{i + 1}", v0[i + 1] - v0[i], after[i + 1] - after[i]) for i in range(N - 1)
            )
    return ImpactProblem(
        name="ball_chain",
        title="Chain of balls hit by another one",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=reference,
        impacts=impacts,
    )


def _after(N: int, impact: str, e: float) -> np.ndarray:
    """Velocities after the impact of a ball of velocity 1 on N - 1 at rest; NaN where there is no formula."""
    after = np.full(N, np.nan)
    if impact != "sequential" or N == 2:  # the gap of the first contact opens with e, the others stay closed
        after[:] = (1 + e) / N
        after[0] -= e
    elif e == 1:  # equal elastic balls exchange their velocities
        after[:] = 0.0
        after[-1] = 1.0
    return after


@checked
def newtons_cradle(
    N: int = 5,
    *,
    lifted: int = 1,
    impact: str = "sequential",
    e: float = 1.0,
    angle: float = 0.5,
    length: float = 0.2,
    R: float = 0.02,
    m: float = 0.1,
    g: float = 9.81,
    t_end: float = 1.0,
) -> ImpactProblem:
    """N equal balls hang side by side on threads and touch each other; some are lifted on the left and let go.

    p are the angles of the threads, which do not become slack. One contact after the other, elastic balls exchange
    their velocities: as many balls swing out on the right as were lifted on the left, the others are at rest. So each
    of the lifted ones is a pendulum for the left half of its swing, and its partner on the right for the other half.

    Parameters
    ----------
    N, lifted : number of balls, and of those that are lifted.
    impact, e : law of impacts and restitution. There is a reference for "sequential" and e = 1.
    angle : of the lifted balls at the start.
    length, R, m, g : from the suspension to the centre of a ball, its radius and mass, gravity.
    t_end : end time. There is a reference at every one.
    """
    check_count("newtons_cradle", "N", N, 2)
    check_count("newtons_cradle", "lifted", lifted, 1)
    check_choice("newtons_cradle", "impact", impact, IMPACTS)
    check_restitution("newtons_cradle", e=e)
    check_positive("newtons_cradle", angle=angle, length=length, R=R, m=m, g=g, t_end=t_end)
    if lifted >= N:
        raise OptionError(f"newtons_cradle: lifted={lifted} must be less than N={N}")
    if angle > 3:
        raise OptionError(f"newtons_cradle: angle={angle:g} must not exceed 3: threads pull and do not push")

    def gap(s, i):
        across = 2 * s.R + s.L * (np.sin(s.p[i + 1]) - np.sin(s.p[i]))
        up = s.L * (np.cos(s.p[i]) - np.cos(s.p[i + 1]))
        return np.sqrt(across**2 + up**2) - 2 * s.R

    model = EquationsOfMotion(
        name="newtons_cradle",
        drawing=contacts.newtons_cradle(N, R),
        p=[f"th{i + 1}" for i in range(N)],
        parameters={"m": m, "R": R, "L": length, "g": g},
        mass=lambda s: [s.m * s.L**2] * N,
        force=lambda s: [-s.m * s.g * s.L * np.sin(s.p[i]) for i in range(N)],
        unilateral=lambda s: [gap(s, i) for i in range(N - 1)],
        contacts=[f"touch{i + 1}" for i in range(N - 1)],
        restitution=e,
        impact=impact,
        outputs={
            "energy": lambda s: s.m * sum(s.L**2 * s.v[i] ** 2 / 2 - s.g * s.L * np.cos(s.p[i]) for i in range(N))
        },
    )
    p0 = np.zeros(N)
    p0[:lifted] = -angle
    exact = impact == "sequential" and e == 1
    return ImpactProblem(
        name="newtons_cradle",
        title="Newton's cradle",
        model=model,
        p0=p0,
        v0=np.zeros(N),
        t_end=t_end,
        reference=_swinging(t_end, N, lifted, angle, np.sqrt(g / length)) if exact else None,
        impacts=_pushes(t_end, N, lifted, angle, length, g) if exact else (),
    )


def _swinging(t: float, N: int, lifted: int, angle: float, w: float) -> Reference:
    from scipy.special import ellipj  # at first use

    k = np.sin(angle / 2)
    sn, cn, dn, _ = ellipj(w * t, k**2)
    th, rate = -2 * np.arcsin(k * cn / dn), 2 * k * w * np.sqrt(1 - k**2) * sn / dn
    p, v = np.zeros(N), np.zeros(N)
    which = slice(0, lifted) if th < 0 else slice(N - lifted, N)
    p[which], v[which] = th, rate
    return Reference(t=t, p=p, v=v, source="exact: elliptic functions of the pendulum", accuracy=1e-13)


def _pushes(t_end: float, N: int, lifted: int, angle: float, L: float, g: float) -> tuple[KnownImpact, ...]:
    """Impacts at the lowest point, a quarter of a period after the start and every half from then on."""
    from scipy.special import ellipk

    quarter = ellipk(np.sin(angle / 2) ** 2) / np.sqrt(g / L)
    speed, impacts, t = 2 * np.sin(angle / 2) * np.sqrt(g * L), [], quarter
    rightward = True
    while t <= t_end and len(impacts) < MOST_KNOWN:
        before, after = np.zeros(N), np.zeros(N)
        before[:lifted], after[N - lifted :] = speed, speed
        if not rightward:
            before, after = -after, -before
        rates = zip(np.diff(before), np.diff(after), strict=True)
        impacts += [KnownImpact(t, f"touch{i + 1}", *map(float, pair)) for i, pair in enumerate(rates)]
        t, rightward = t + 2 * quarter, not rightward
    return tuple(impacts)
