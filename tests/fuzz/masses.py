"""Point masses in the plane: rods in trees and loops, anchors that move, springs, contacts, relays, an actuator."""

from __future__ import annotations

import numpy as np

import dalembert as da

from .cases import Case, null_part, pairs, saddle

GRAVITY = 9.81


def random_masses(rng: np.random.Generator) -> Case:
    n = int(rng.integers(1, 5))
    mass = 10 ** rng.uniform(-0.5, 0.5, n)
    anchors = [np.array([2.0 * k, 0.0]) for k in range(n)]
    place = np.array([anchors[i] + rng.uniform(0.4, 1.2) * unit(rng.uniform(-2.6, -0.5)) for i in range(n)])
    features: set[str] = set()
    # rods: (i, j) between masses, or (i, −1 − k) to anchor k
    rods = []
    for i in range(n):
        if rng.random() < 0.75:
            rods.append((i, -1 - i) if i == 0 or rng.random() < 0.4 else (i, int(rng.integers(i))))
    for i, j in pairs(range(n)):
        if (i, j) not in rods and (j, i) not in rods and len(rods) < 2 * n - 1 and rng.random() < 0.12:
            rods.append((j, i))
    if rods and rng.random() < 0.12:
        rods.append(rods[int(rng.integers(len(rods)))])
        features.add("redundant")
    swing = (rng.uniform(0.05, 0.3), rng.uniform(1, 5)) if rods and rng.random() < 0.4 else (0.0, 1.0)
    by_input = rng.random() < 0.5
    lengths = [float(np.hypot(*(place[i] - (place[j] if j >= 0 else anchors[-1 - j])))) for i, j in rods]
    stiffest = 10 ** rng.uniform(4, 5.3) if rng.random() < 0.15 else 10 ** rng.uniform(0, 3)
    if stiffest > 3e3:
        features.add("stiff")
    springs = [(i, j, stiffest * rng.random(), rng.uniform(0.3, 1.5)) for i, j in pairs(range(n)) if rng.random() < 0.5]
    damping = rng.uniform(0, 0.5) * (rng.random() < 0.6)
    floor = (10 ** rng.uniform(1, 4), rng.uniform(-1.5, -0.5)) if rng.random() < 0.25 else None
    relay = (rng.uniform(-3, 3), place[0, 0] + rng.uniform(-0.5, 0.5)) if rng.random() < 0.2 else None
    actuator = (rng.uniform(0.05, 1.0), rng.uniform(-5, 5)) if rng.random() < 0.25 else None
    push = (rng.uniform(-5, 5), rng.uniform(0.1, 0.9)) if rng.random() < 0.3 else None
    features |= {name for name, on in dict(floor=floor, relay=relay, actuator=actuator, push=push).items() if on}
    t_end = float(rng.uniform(0.5, 1.5))
    weight = GRAVITY * (rng.random() < 0.8)

    def forces(p, v, r, above, pushed, least):
        """Rows of x and y, mass by mass; `above` is the sign of the relay, `least` a minimum that can be traced."""
        rows = []
        for i in range(n):
            rows += [-damping * v[2 * i], -damping * v[2 * i + 1] - mass[i] * weight]
            if floor is not None:
                rows[-1] = rows[-1] - floor[0] * least(p[2 * i + 1] - floor[1], 0.0)
        for i, j, k, rest in springs:
            dx, dy = p[2 * i] - p[2 * j], p[2 * i + 1] - p[2 * j + 1]
            length = np.sqrt(dx**2 + dy**2 + 0.01)
            pull = k * (length - rest) / length
            for at, sign in ((i, -1.0), (j, 1.0)):
                rows[2 * at] = rows[2 * at] + sign * pull * dx
                rows[2 * at + 1] = rows[2 * at + 1] + sign * pull * dy
        if relay is not None:
            rows[0] = rows[0] + relay[0] * above
        if actuator is not None:
            rows[0] = rows[0] + r[0]
        if push is not None:
            rows[1] = rows[1] + pushed
        return rows

    def anchor(k, t):
        """Place, velocity and acceleration."""
        size, omega = swing
        x, y = anchors[k]
        return (
            np.array([x + size * np.sin(omega * t), y]),
            np.array([size * omega * np.cos(omega * t), 0.0]),
            np.array([-size * omega**2 * np.sin(omega * t), 0.0]),
        )

    def holonomic(s):
        rows = []
        moved = s.base if by_input and swing[0] else (swing[0] * np.sin(swing[1] * s.t) if swing[0] else 0.0)
        for (i, j), length in zip(rods, lengths, strict=True):
            other = (s.p[2 * j], s.p[2 * j + 1]) if j >= 0 else (anchors[-1 - j][0] + moved, anchors[-1 - j][1])
            rows.append((s.p[2 * i] - other[0]) ** 2 + (s.p[2 * i + 1] - other[1]) ** 2 - length**2)
        return rows

    def derivatives(t, p, v):
        G, gamma = np.zeros((len(rods), 2 * n)), np.zeros(len(rods))
        for row, (i, j) in enumerate(rods):
            a, va, acceleration = (
                anchor(-1 - j, t) if j < 0 else (p[2 * j : 2 * j + 2], v[2 * j : 2 * j + 2], np.zeros(2))
            )
            d, dv = p[2 * i : 2 * i + 2] - a, v[2 * i : 2 * i + 2] - va
            G[row, 2 * i : 2 * i + 2] = 2 * d
            if j >= 0:
                G[row, 2 * j : 2 * j + 2] = -2 * d
            gamma[row] = 2 * dv @ dv - 2 * d @ acceleration
        return G, gamma

    M, n_p = np.diag(np.repeat(mass, 2)), 2 * n

    def rates(t, y, modes):
        p, v, r = y[:n_p], y[n_p : 2 * n_p], y[2 * n_p :]
        above = modes[0] if relay is not None else 0.0
        pushed = push[0] * (modes[-1] == 0) if push is not None else 0.0
        G, gamma = derivatives(t, p, v)
        a = saddle(M, G, np.array(forces(p, v, r, above, pushed, np.minimum), float), gamma, "redundant" in features)
        return np.concatenate([v, a, (actuator[1] * np.cos(3 * t) - r) / actuator[0] if actuator is not None else []])

    def tangent(t, y, d):
        G = derivatives(t, y[:n_p], y[n_p : 2 * n_p])[0]
        return np.concatenate([null_part(G, d[:n_p]), null_part(G, d[n_p : 2 * n_p]), d[2 * n_p :]])

    inputs = {}
    if by_input and swing[0]:
        inputs["base"] = lambda t: swing[0] * np.sin(swing[1] * t)
    if push is not None:
        inputs["push"] = da.Input(lambda t: np.where(t < push[1], push[0], 0.0), breakpoints=[push[1]])

    def force(s):
        above = np.where(s.p[0] < relay[1], -1.0, 1.0) if relay is not None else 0.0
        r = (s.motor,) if actuator is not None else ()
        return forces(s.p, s.v, r, above, s.push if push is not None else 0.0, np.minimum)

    extra = {}
    if actuator is not None:
        extra = dict(r=["motor"], dynamics=lambda s: [(actuator[1] * np.cos(3 * s.t) - s.motor) / s.delay])
    model = da.EquationsOfMotion(
        p=[f"{axis}{i}" for i in range(n) for axis in "xy"], mass=list(np.repeat(mass, 2)), force=force, inputs=inputs,
        parameters=dict(delay=actuator[0]) if actuator is not None else {},
        **(dict(holonomic=holonomic) if rods else {}), **extra,
    )  # fmt: skip
    p0 = place.ravel()
    G, velocity = derivatives(0.0, p0, np.zeros(n_p))[0], rng.normal(size=n_p) * (rng.random() < 0.7)
    if len(G):
        rhs = np.array([2 * (p0[2 * i : 2 * i + 2] - anchor(-1 - j, 0.0)[0]) @ anchor(-1 - j, 0.0)[1] if j < 0 else 0.0
                        for i, j in rods])  # fmt: skip
        velocity = velocity - np.linalg.pinv(G, rcond=1e-10) @ (G @ velocity - rhs)
    if rng.random() < 0.2:  # slightly inconsistent: corrected, and the reference begins with what they became
        features.add("inconsistent")
        p0, velocity = p0 + 1e-7 * rng.normal(size=n_p), velocity + 1e-7 * rng.normal(size=n_p)
    start = dict(p0=p0, v0=velocity)
    if actuator is not None:
        start["r0"] = [0.0]
    return Case(
        name="masses", model=model, start=start, t_end=t_end, rates=rates, features=features, tangent=tangent,
        kinds=("p", "v", "r") if actuator is not None else ("p", "v"),
        switches=(lambda t, y: (y[0] - relay[1],)) if relay is not None else (lambda t, y: ()),
        breaks=(push[1],) if push is not None else (),
    )  # fmt: skip


def unit(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])
