"""Where the links of a skeleton are, in numbers: from arrays alone, without any expression.

What is handed down from parent to child is handed down by doubling: after k rounds every link knows what its next 2ᵏ
ancestors contribute. A chain of N links takes log₂ N rounds over whole arrays in place of N turns of a loop.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert.multibody.kinds import Move
from dalembert.multibody.parts import Body, Frame
from dalembert.multibody.readings import Motion
from dalembert.multibody.skeleton import Skeleton


class Poses:
    """A skeleton of numbers at coordinates p, moving at v (at rest if that is not given).

    Attributes
    ----------
    R, x : arrays (n, 3, 3) and (n, 3)
        Axes (as columns) and origins of the links in the world.
    angle : array (n,)
        Of planar systems, with full turns.
    w, u : arrays (n, 3)
        Angular velocities and velocities of the origins, in axes of the world.
    """

    def __init__(self, bones: Skeleton, p: np.ndarray, v: np.ndarray | None = None):
        self.bones = bones
        self.p, self.v = np.asarray(p, float), np.zeros(bones.n_v) if v is None else np.asarray(v, float)
        turned, shift, angle = self._moves()
        fixed = np.asarray(bones.rotation, float)
        R = fixed @ turned
        x = np.asarray(bones.offset, float) + np.einsum("nij,nj->ni", fixed, shift)
        self.angle = np.arctan2(fixed[:, 1, 0], fixed[:, 0, 0]) + angle
        for links, above in _rounds(bones.parent):
            self.angle[links] += self.angle[above]
            x[links] = x[above] + np.einsum("nij,nj->ni", R[above], x[links])
            R[links] = R[above] @ R[links]
        self.R, self.x = R, x
        self.w, self.u = self._twists(turned, shift)

    def _moves(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rotation, shift and planar angle of each motion, in the frame that it starts from."""
        bones, p = self.bones, self.p
        n, axis = bones.n, bones.axis
        turned, shift, angle = np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3)), np.zeros(n)
        turns = np.isin(bones.move, (Move.REVOLUTE, Move.SCREW))
        q = p[bones.q_at[turns]]
        turned[turns], angle[turns] = _rodrigues(axis[turns], q), axis[turns, 2] * q
        for move, factor in ((Move.PRISMATIC, np.ones(n)), (Move.SCREW, np.asarray(bones.pitch, float))):
            slides = bones.move == move
            shift[slides] = (factor[slides] * p[bones.q_at[slides]])[:, None] * axis[slides]
        for move, before in ((Move.SPHERICAL, 0), (Move.FREE, 3)):
            which = bones.move == move
            first = bones.q_at[which]
            turned[which] = _rotations_of(p[first[:, None] + before + np.arange(4)])
            shift[which, :before] = p[first[:, None] + np.arange(before)]
        back = bones.backwards  # coordinates are those of the parent relative to the link
        turned[back] = np.swapaxes(turned[back], 1, 2)
        shift[back] = -np.einsum("nij,nj->ni", turned[back], shift[back])
        return turned, shift, angle

    def _twists(self, turned: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bones, v = self.bones, self.v
        n = bones.n
        w, u = np.zeros((n, 3)), np.zeros((n, 3))  # relative to the parent, in axes of the world
        if not v.any():
            return w, u
        joint_axes = self.R @ np.swapaxes(turned, 1, 2)
        along = np.einsum("nij,nj->ni", joint_axes, bones.axis)  # an axis stays where it is when it is turned about
        turns = np.isin(bones.move, (Move.REVOLUTE, Move.SCREW))
        w[turns] = along[turns] * v[bones.v_at[turns], None]
        for move, factor in ((Move.PRISMATIC, np.ones(n)), (Move.SCREW, np.asarray(bones.pitch, float))):
            slides = bones.move == move
            u[slides] = along[slides] * (factor[slides] * v[bones.v_at[slides]])[:, None]
        for move, before in ((Move.SPHERICAL, 0), (Move.FREE, 3)):
            which = (bones.move == move) & ~bones.backwards
            first = bones.v_at[which]
            w[which] = np.einsum("nij,nj->ni", self.R[which], v[first[:, None] + before + np.arange(3)])
            if before:
                u[which] = np.einsum("nij,nj->ni", joint_axes[which], v[first[:, None] + np.arange(3)])
            which = (bones.move == move) & bones.backwards
            first = bones.v_at[which]
            turning = v[first[:, None] + before + np.arange(3)]  # of the parent relative to the link, in its axes
            w[which] = -np.einsum("nij,nj->ni", joint_axes[which], turning)
            u[which] = -np.einsum("nij,nj->ni", joint_axes[which], np.cross(turning, shift[which]))
            if before:
                u[which] -= np.einsum("nij,nj->ni", self.R[which], v[first[:, None] + np.arange(3)])
        for links, above in _rounds(bones.parent):
            w[links] += w[above]
        inner = bones.parent >= 0
        above = bones.parent[inner]
        u[inner] += np.cross(w[above], self.x[inner] - self.x[above])
        for links, above in _rounds(bones.parent):
            u[links] += u[above]
        return w, u

    def motion(self, frame: Frame | Body) -> Motion:
        """A frame in the world, as tuples of numbers."""
        frame = Frame(frame) if isinstance(frame, Body) else frame
        link, R, at = self.bones.placement(frame)
        at = np.asarray(at, float)
        own = float(np.arctan2(R[1, 0], R[0, 0])) if self.bones.system.planar else 0.0
        if link < 0:
            return Motion(_tuple(at), _tuple(R), own, (0.0,) * 3, (0.0,) * 3, -1)
        arm = self.R[link] @ at
        angle = own + float(self.angle[link]) if self.bones.system.planar else 0.0
        u = self.u[link] + np.cross(self.w[link], arm)
        return Motion(
            _tuple(self.x[link] + arm), _tuple(self.R[link] @ R), angle, _tuple(u), _tuple(self.w[link]), link
        )


def _rounds(parent: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rounds of doubling: links, and the ancestors whose contributions they take over, all at once."""
    ancestor = np.array(parent)
    while True:
        links = np.flatnonzero(ancestor >= 0)
        if not len(links):
            return
        above = ancestor[links]
        yield links, above
        ancestor[links] = ancestor[above]


def _rodrigues(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotations about unit vectors, for many."""
    c, s = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    x, y, z = axis.T
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)
    return c * np.eye(3) + s * cross + (1 - c) * axis[:, :, None] * axis[:, None, :]


def _rotations_of(e: np.ndarray) -> np.ndarray:
    """Of Euler parameters of any length, for many."""
    e = e / np.linalg.norm(e, axis=1, keepdims=True)
    e0, v = e[:, 0], e[:, 1:]
    x, y, z = v.T
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)
    square = (e0**2 - (v**2).sum(axis=1))[:, None, None]
    return square * np.eye(3) + 2 * e0[:, None, None] * cross + 2 * v[:, :, None] * v[:, None, :]


def _tuple(values: np.ndarray) -> tuple:
    return tuple(map(_tuple, values)) if values.ndim > 1 else tuple(values.tolist())


def moved(bones: Skeleton, p: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Coordinates after a small motion, given as velocities times time; rotations are composed exactly."""
    p = np.array(p, float)
    single = np.isin(bones.move, (Move.REVOLUTE, Move.PRISMATIC, Move.SCREW))
    p[bones.q_at[single]] += step[bones.v_at[single]]
    for move, before in ((Move.SPHERICAL, 0), (Move.FREE, 3)):
        which = bones.move == move
        if not which.any():
            continue
        q, v = bones.q_at[which][:, None], bones.v_at[which][:, None]
        p[q + np.arange(before)] += step[v + np.arange(before)]
        p[q + before + np.arange(4)] = _turned(p[q + before + np.arange(4)], step[v + before + np.arange(3)])
    return p


def _turned(e: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Unit Euler parameters after a rotation by the vector w in axes of the body, for many."""
    e = e / np.linalg.norm(e, axis=1, keepdims=True)
    angle = np.linalg.norm(w, axis=1, keepdims=True)
    c, s = np.cos(angle / 2), w * (0.5 * np.sinc(angle / (2 * np.pi)))
    e0, v = e[:, :1], e[:, 1:]
    turned = np.concatenate([e0 * c - (v * s).sum(axis=1, keepdims=True), e0 * s + c * v + np.cross(v, s)], axis=1)
    return turned / np.linalg.norm(turned, axis=1, keepdims=True)


def columns(bones: Skeleton) -> list[tuple[int, ...]]:
    """For each coordinate the velocities that change it."""
    found: list[tuple[int, ...]] = [()] * bones.n_q
    for i in range(bones.n):
        q, v, move = int(bones.q_at[i]), int(bones.v_at[i]), Move(int(bones.move[i]))
        before = {Move.SPHERICAL: 0, Move.FREE: 3}.get(move, 1)
        for k in range(before):
            found[q + k] = (v + k,)
        if move in (Move.SPHERICAL, Move.FREE):
            for k in range(4):
                found[q + before + k] = (v + before, v + before + 1, v + before + 2)
    return found


def are_lengths(bones: Skeleton) -> np.ndarray:
    """Of each velocity whether it moves along something, rather than about it."""
    found = np.zeros(bones.n_v, bool)
    for move, count in ((Move.PRISMATIC, 1), (Move.FREE, 3)):
        first = bones.v_at[bones.move == move]
        found[first[:, None] + np.arange(count)] = True
    return found
