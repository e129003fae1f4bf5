"""Bricard's mechanism: six links, six revolute joints, and one degree of freedom against all counting."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.checks import NoNumber, reals, shown
from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion

from .arguments import checked
from .drawings import spatial
from .problem import Problem, Reference

_X, _Y, _Z = np.eye(3)
_AXES = (_Y, _Z, _X, _Y, _Z)  # of the first five joints, and
_RODS = (_X, -_Y, _Z, -_X, _Y)  # the rods from one joint to the next, all angles being zero
_CLOSURE = (_Z, _X)  # place and axis of the sixth joint, in ground

# t: q1 = q3 = q5, q2 = q4, and their rates
_VALUES = {
    1.0: (1.035028459518062182, -0.4806211041771847316, 2.036415380969969647, -0.3389333992157786476),
    2.0: (2.893328205981293361, -0.1985547377958620115, 1.024431027733364578, 0.6527312562302909368),
    5.0: (6.725995973259376503e-05, -6.7255436134664139e-05, 0.01622991486418006262, -0.01622773183758420477),
    10.0: (2.690488833246465117e-04, -2.689765154926398119e-04, 0.03246201174099792384, -0.03244455105154236467),
}


@checked
def bricard(*, t_end: float = 10.0) -> Problem:
    """Bricard's mechanism (IFToMM benchmark A04 [1]_): five angles, five constraints of which one is redundant.

    Five rods of 1 m, 1 kg and square section 0.1 m × 0.1 m, and the ground, form a closed chain; its joints start at
    (0,0,0), (1,0,0), (1,-1,0), (1,-1,1), (0,-1,1), (0,0,1) and have the axes y, z, x, y, z, x. Gravity acts along -y.
    Counting says that six revolute joints leave no freedom; the special geometry leaves one. The mechanism starts at
    rest and swings with a period of 4.991711513688724 s, q1 between 0 and π.

    The coordinates are the angles of the open chain, cut at the sixth joint: q1…q5 turn each rod against the one before
    it (the first against ground) about the axes of the first five joints, all zero at the start. The constraints
    close the chain: the end of the fifth rod is at (0,0,1) (three), its joint axis along x (y and z components, two).
    Their Jacobian has rank 4 all along the motion, so positions and velocities are determined but the multipliers
    are not; the reference has none. The motion is symmetric, q1 = q3 = q5 and q2 = q4, and satisfies
    (1 + sin q1)(1 + sin q2) = 1. `bricard_point` gives the point P3 that the benchmark looks at.

    Parameters
    ----------
    t_end : 1, 2, 5 and 10 have reference values.

    References
    ----------
    .. [1] M. González, D. Dopico, U. Lugrís, J. Cuadrado, "A benchmarking system for MBS simulation software: problem
       standardization and performance measurement", Multibody System Dynamics 16, 2006.
    """
    if not t_end > 0:
        raise OptionError(f"bricard: t_end must be positive, not {t_end!r}")
    model = EquationsOfMotion(
        name="bricard",
        drawing=spatial.bricard(_chain),
        p=["q1", "q2", "q3", "q4", "q5"],
        parameters={"m": 1.0, "L": 1.0, "width": 0.1, "g": 9.81},
        mass=_mass,
        force=_force,
        holonomic=_closure,
        lam=["close_x", "close_y", "close_z", "align_y", "align_z"],
    )
    references = tuple(
        Reference(
            t=t,
            p=[q1, q2, q1, q2, q1],
            v=[rate1, rate2, rate1, rate2, rate1],
            source="computed by us: energy integral of the one degree of freedom, 40 digits",
            accuracy=1e-15,
        )
        for t, (q1, q2, rate1, rate2) in _VALUES.items()
    )
    return Problem(
        name="bricard",
        title="Bricard's mechanism",
        model=model,
        p0=np.zeros(5),
        v0=np.zeros(5),
        t_end=t_end,
        reference=next((known for known in references if known.t == t_end), None),
        references=references,
    )


def bricard_point(p) -> np.ndarray:
    """Point P3 of the benchmark, the third joint, which starts at (1, -1, 0): angles (…, 5) to coordinates (…, 3).

    >>> bricard_point([0, 0, 0, 0, 0]).tolist()
    [1.0, -1.0, 0.0]
    """
    try:
        angles = reals(p)
    except NoNumber as reason:
        raise OptionError(f"bricard_point: p = {shown(p)} {reason}") from None
    if angles.ndim == 0 or angles.shape[-1] != 5:
        raise OptionError(f"bricard_point: p has shape {angles.shape}; it must be five angles, or rows of them")
    q1, q2 = np.moveaxis(angles, -1, 0)[:2]
    radius = 1 + np.sin(q2)
    return np.stack([radius * np.cos(q1), -np.cos(q2), 0.0 - radius * np.sin(q1)], axis=-1)


class _Link(NamedTuple):
    """One rod of the open chain, in ground coordinates unless said otherwise."""

    rotation: np.ndarray  # body to ground
    axis: np.ndarray  # of the joint at its beginning
    start: np.ndarray
    centre: np.ndarray
    end: np.ndarray


def _chain(s) -> list[_Link]:
    links, rotation, start = [], np.eye(3), np.zeros(3)
    angles = [s[f"q{k}"] for k in range(1, 6)]
    for axis, rod, angle in zip(_AXES, _RODS, angles, strict=True):
        direction = rotation @ axis
        rotation = rotation @ _turn(axis, angle)
        along = s.L * (rotation @ rod)
        links.append(_Link(rotation, direction, start, start + along / 2, start + along))
        start = start + along
    return links


def _turn(axis, angle):
    """Rotation by an angle about a coordinate axis (Rodrigues)."""
    return np.outer(axis, axis) + np.cos(angle) * (np.eye(3) - np.outer(axis, axis)) + np.sin(angle) * _skew(axis)


def _skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def _inertia(s, rod):
    """Principal moments of inertia of a rod, in the body frame, whose axes are those of ground at the start."""
    along = np.abs(rod)
    return s.m / 12 * (2 * s.width**2 * along + (s.L**2 + s.width**2) * (1 - along))


def _jacobians(links, k: int):
    """Velocity of the centre of rod k, and its angular velocity in the body frame, per joint rate."""
    zero, turned = np.zeros(3), links[k].rotation.T
    moves = [_skew(link.axis) @ (links[k].centre - link.start) if i <= k else zero for i, link in enumerate(links)]
    turns = [turned @ link.axis if i <= k else zero for i, link in enumerate(links)]
    return np.stack(moves, axis=1), np.stack(turns, axis=1)


def _mass(s):
    links = _chain(s)
    total = np.zeros((5, 5))
    for k, rod in enumerate(_RODS):
        moves, turns = _jacobians(links, k)
        total = total + s.m * (moves.T @ moves) + turns.T @ (_inertia(s, rod)[:, None] * turns)
    return total


def _force(s):
    """Gravity less what accelerates the rods while the joints turn at constant rates, along the joint directions."""
    links = _chain(s)
    weight = -s.g * _Y
    omega, alpha, start = np.zeros(3), np.zeros(3), np.zeros(3)  # of the link before; acceleration of the joint
    total = np.zeros(5)
    for k, (rod, link) in enumerate(zip(_RODS, links, strict=True)):
        alpha = alpha + _skew(omega) @ link.axis * s.v[k]
        omega = omega + link.axis * s.v[k]
        gain = _skew(alpha) + _skew(omega) @ _skew(omega)
        centre = start + gain @ (link.centre - link.start)
        start = start + gain @ (link.end - link.start)
        moves, turns = _jacobians(links, k)
        omega_body, alpha_body, inertia = link.rotation.T @ omega, link.rotation.T @ alpha, _inertia(s, rod)
        torque = inertia * alpha_body + _skew(omega_body) @ (inertia * omega_body)
        total = total + s.m * (moves.T @ (weight - centre)) - turns.T @ torque
    return total


def _closure(s):
    place, axis = _CLOSURE
    last = _chain(s)[-1]
    return np.concatenate([last.end - s.L * place, (last.rotation @ axis)[1:]])
