"""Elastic discs in a box: many impacts at the same time."""

from __future__ import annotations

import itertools

import numpy as np

from dalembert.model import EquationsOfMotion

from ..arguments import check_count, check_positive, checked
from ..drawings import contacts
from ..problem import Reference
from .problem import MOST_KNOWN, ImpactProblem, KnownImpact


@checked
def billiard(
    rows: int = 2,
    columns: int = 3,
    *,
    speed: float = 1.0,
    R: float = 0.1,
    width: float = 2.0,
    m: float = 1.0,
    t_end: float = 3.0,
) -> ImpactProblem:
    """Equal elastic discs in a box without gravity, in rows that move in the same way: impacts come in groups.

    In every row the discs move along it, with velocities `speed` (1, -1/2, 1/3, -1/4, …). Discs of equal mass
    exchange their velocities, so that points which go through each other and are reflected at the walls, in a
    box shorter by the discs' diameters, are where the discs are, in this order.

    p = (x1, y1, x2, y2, …). Contacts are all pairs of discs and every disc with the four walls. Other start values
    make a billiard that nobody can foresee, with the same energy.

    Parameters
    ----------
    rows, columns : numbers of rows, and of discs in each of them.
    speed, R, m : largest velocity, radius, mass.
    width : of the box along the rows; it is 4 R high for each row.
    t_end : end time. There is a reference at every one.
    """
    check_count("billiard", "rows", rows, 1)
    check_count("billiard", "columns", columns, 1)
    check_positive("billiard", speed=speed, R=R, width=width, m=m, t_end=t_end)
    check_positive("billiard", **{"width - 2 R columns": width - 2 * R * columns})
    n = rows * columns
    pairs = list(itertools.combinations(range(n), 2))
    names = [f"{wall}{i + 1}" for i in range(n) for wall in ("left", "right", "bottom", "top")]
    names += [f"pair{i + 1}_{j + 1}" for i, j in pairs]

    def gaps(s):
        x, y = [s.p[2 * i] for i in range(n)], [s.p[2 * i + 1] for i in range(n)]
        walls = [gap for i in range(n) for gap in (x[i] - s.R, s.width - x[i] - s.R, y[i] - s.R, s.height - y[i] - s.R)]
        return walls + [np.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2) - 2 * s.R for i, j in pairs]

    model = EquationsOfMotion(
        name="billiard",
        drawing=contacts.billiard(n, R, width, 4 * R * rows),
        p=[f"{axis}{i + 1}" for i in range(n) for axis in "xy"],
        parameters={"m": m, "R": R, "width": width, "height": 4 * R * rows},
        mass=lambda s: [s.m] * (2 * n),
        force=lambda s: [0.0] * (2 * n),
        unilateral=gaps,
        contacts=names,
        restitution=1.0,
        outputs={
            "energy": lambda s: s.m * sum(s.v[i] ** 2 for i in range(2 * n)) / 2,
            "momentum": lambda s: [s.m * sum(s.v[i] for i in range(k, 2 * n, 2)) for k in (0, 1)],
        },
    )
    free = width - 2 * R * columns  # for points in place of discs
    points = free * (np.arange(columns) + 0.5) / columns
    rates = speed * np.array([(-1) ** k / (k + 1) for k in range(columns)])
    p0, v0 = _spread(points, rates, rows, R)
    p, v = _spread(*_moved(points, rates, t_end, free), rows, R)
    hits = [
        KnownImpact(t, name.format(*(row * columns + i + 1 for i in discs)), -rate, rate)
        for t, name, discs, rate in _hits(points, rates, t_end, free)
        for row in range(rows)
    ]
    return ImpactProblem(
        name="billiard",
        title="Elastic discs in a box",
        model=model,
        p0=p0,
        v0=v0,
        t_end=t_end,
        reference=Reference(t=t_end, p=p, v=v, lam=np.zeros(len(names)), source="exact", accuracy=1e-13),
        impacts=tuple(hits),
    )


def _spread(points: np.ndarray, rates: np.ndarray, rows: int, R: float) -> tuple[np.ndarray, np.ndarray]:
    """p and v of all discs from the points of one row, in their order."""
    p, v = np.zeros((rows, len(points), 2)), np.zeros((rows, len(points), 2))
    p[:, :, 0] = points + R * (1 + 2 * np.arange(len(points)))
    p[:, :, 1] = 2 * R * (1 + 2 * np.arange(rows))[:, None]
    v[:, :, 0] = rates
    return p.ravel(), v.ravel()


def _moved(points: np.ndarray, rates: np.ndarray, t: float, free: float) -> tuple[np.ndarray, np.ndarray]:
    """Points after time t that go through each other and are reflected at 0 and `free`, sorted."""
    way = np.mod(points + rates * t, 2 * free)
    back = way > free
    place, rate = np.where(back, 2 * free - way, way), np.where(back, -rates, rates)
    order = np.argsort(place, kind="stable")
    return place[order], rate[order]


def _hits(points: np.ndarray, rates: np.ndarray, t_end: float, free: float) -> list:
    """Impacts of one row in time: time, name of the contact with places for discs, these discs, speed of approach."""
    hits, points, rates, t = [], points.copy(), rates.copy(), 0.0
    n = len(points)
    while True:
        # to the left wall, to the right one, and of neighbours towards each other
        gaps = np.array([points[0], free - points[-1], *np.diff(points)])
        closing = np.array([-rates[0], rates[-1], *-np.diff(rates)])
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(closing > 0, np.maximum(gaps, 0.0) / closing, np.inf)
        k = int(np.argmin(times))
        t += times[k]
        if t > t_end or len(hits) >= MOST_KNOWN:
            return hits
        points = points + rates * times[k]
        if k == 0:
            hits.append((t, "left{}", (0,), -rates[0]))
            rates[0] = -rates[0]
        elif k == 1:
            hits.append((t, "right{}", (n - 1,), rates[-1]))
            rates[-1] = -rates[-1]
        else:
            i = k - 2
            hits.append((t, "pair{}_{}", (i, i + 1), rates[i] - rates[i + 1]))
            rates[i], rates[i + 1] = rates[i + 1], rates[i]
