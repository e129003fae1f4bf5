"""Whether every freedom of a system has inertia, its own or that of what moves with it, or else is held by constraints.

Bodies without mass, and point masses, are welcome where the rest of the system tells how they move. Where it does not,
accelerations would be undetermined; the message names the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.model.expression import Expr
from dalembert.multibody import algebra as al
from dalembert.multibody.scene import Scene

#: freedoms up to which suspicious systems are looked at in numbers
MOST_FREEDOMS = 200
#: inertia, relative to that of the coordinates that take part, that counts as none
NONE = 1e-13


def check_held(scene: Scene, rows: Sequence[Any], kinematics: Callable[[], ca.SX | None]) -> None:
    """Raise ModelError for a freedom without inertia that no constraint holds.

    `rows` are the holonomic constraints; `kinematics` gives Z of p' = Z v. Only what looks
    suspicious is looked at closely.
    """
    bones = scene.bones
    massless, partly = _suspects(scene)
    if massless and not rows:
        _complain(scene, massless[-1], "neither it nor what it carries has mass: give mass= (and inertia=)")
    if (massless or partly) and bones.n_v <= MOST_FREEDOMS:
        place = _loose(scene, rows, kinematics())
        if place is not None:
            link = int(np.searchsorted(bones.v_at, place, side="right")) - 1
            what = (
                "neither it nor what it carries has mass, and no loop holds it: give mass= (and inertia=)"
                if link in massless
                else f"'{bones.rates[place]}' meets no inertia: give mass= and inertia="
            )
            _complain(scene, link, what)


def _suspects(scene: Scene) -> tuple[list[int], list[int]]:
    """Links that carry no mass and no inertia, and those that carry only one of both."""
    bones = scene.bones
    mass, inertia = bones.mass, bones.inertia.reshape(bones.n, 9)
    if mass.dtype == object:
        heavy = [isinstance(m, Expr) or m > 0 for m in mass]
        extended = [any(isinstance(x, Expr) or x != 0 for x in row) for row in inertia]
    else:
        heavy, extended = (mass > 0).tolist(), inertia.any(axis=1).tolist()
    if all(heavy) and all(extended):
        return [], []
    parent = bones.parent.tolist()
    free = set(bones.own.values())
    massless, partly = [], []
    for i in range(bones.n - 1, -1, -1):
        if not (heavy[i] or (extended[i] and i not in free)):
            massless.append(i)
        elif not (heavy[i] and extended[i]):
            partly.append(i)
        if parent[i] >= 0:
            heavy[parent[i]] |= heavy[i]
            extended[parent[i]] |= extended[i]
    return massless, partly


def _loose(scene: Scene, rows: Sequence[Any], Z: ca.SX | None) -> int | None:
    """The place in v of a freedom that meets no inertia at random positions, all of them; None if there is none."""
    symbols, bones = scene.symbols, scene.bones
    M = al.sx_matrix(scene.tree.mass_matrix())
    G = ca.jacobian(ca.vertcat(*(ca.SX(row) for row in rows)), symbols.p) if rows else ca.SX(0, bones.n_q)
    others = [symbols.t, *symbols.inputs.values()]
    given = [symbols.p, ca.vertcat(*others), ca.vertcat(*symbols.parameters.values())]
    function = ca.Function("held", given, [ca.densify(M), ca.densify(G if Z is None else G @ Z)])
    values = [parameter.value for parameter in scene.system.parameters.values()]
    rng = np.random.default_rng(0)
    found = None
    for _ in range(3):
        M_now, G_now = (
            np.array(x) for x in function(rng.uniform(0.2, 1.2, bones.n_q), rng.uniform(0.1, 1, len(others)), values)
        )
        if not (np.isfinite(M_now).all() and np.isfinite(G_now).all()):
            return None
        found = _without_inertia(M_now, G_now)
        if found is None:
            return None
    return found


def _without_inertia(M: np.ndarray, G: np.ndarray) -> int | None:
    """A coordinate that takes part in a motion G x = 0 with xᵀ M x = 0."""
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    size[size == 0.0] = 1.0
    M, G = M / np.outer(size, size), G / size
    lengths = np.linalg.norm(G, axis=1)
    G = G[lengths > 0] / lengths[lengths > 0, None]
    _, s, V = np.linalg.svd(G, full_matrices=True) if len(G) else (None, np.zeros(0), np.eye(len(M)))
    N = V[int((s > 1e-10).sum()) :].T
    if not N.size:
        return None
    values, vectors = np.linalg.eigh(N.T @ M @ N)
    return int(np.argmax(np.abs(N @ vectors[:, 0]))) if values[0] < NONE else None


def _complain(scene: Scene, link: int, what: str) -> NoReturn:
    """Name the body that the link carries, or that hangs on it next."""
    bones, bodies = scene.bones, scene.system.bodies
    body = next((b for k in range(link, bones.n) for b in bodies if bones.link_of[b.number] == k), bodies[-1])
    why = "is free, since no joint connects it with the ground," if body.number in bones.own else "is moved by a joint,"
    raise ModelError(f"body '{body.name}' {why} but {what}, or hold it with mb.fixed(...)")
