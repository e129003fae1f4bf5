"""A tree of rigid bodies as flat arrays: what recursive formalisms are told of a multibody system.

Every body hangs on one elementary joint and has the joint's number; parents come before children, and the ground is
−1. Joints of other kinds are chains of elementary ones with massless bodies between them, and what is fixed to a body
is part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.moves import FREE, PRISMATIC, REVOLUTE, SCREW, SPHERICAL

__all__ = ["FREE", "PRISMATIC", "REVOLUTE", "SCREW", "SPHERICAL", "Topology"]

#: numbers of coordinates and of velocities, by kind
COORDINATES = np.array([1, 1, 1, 4, 7])
VELOCITIES = np.array([1, 1, 1, 3, 6])
KIND_NAMES = ("revolute", "prismatic", "screw", "spherical", "free")

# Equations of a loop, as bits of its kind. With d from the origin of frame a to that of frame b, and x, y, z the axes
# of the two frames, they are x_a·d = 0, y_a·d = 0, z_a·d = 0, x_a·z_b = 0, y_a·z_b = 0, x_a·y_b = 0.
ALONG_X, ALONG_Y, ALONG_Z, TILT_X, TILT_Y, TWIST = (1 << bit for bit in range(6))
POINT = ALONG_X | ALONG_Y | ALONG_Z
AXIS = TILT_X | TILT_Y
FRAME = POINT | AXIS | TWIST

_WHOLES = {"parent", "kind", "q_at", "v_at", "loop_kind", "loop_bodies"}
#: faults that a message lists
_MOST_FAULTS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Topology:
    """A tree of bodies with its loops. Arrays are copied and cannot be written; what is None gets its default.

    Coordinates of spherical joints are Euler parameters e, scalar first, of any length: the rotation is that of
    e/|e|. Their velocity is ω of the child relative to the parent, in axes of the child. Those of free joints are the
    position x of the child's origin in the joint's frame and e; velocities are x' and ω.

    Parameters
    ----------
    parent, kind
        Number of the parent (−1: the ground) and kind of the joint, for each of n bodies.
    rotation, offset
        Pose of the joint's frame on the parent, (n, 3, 3) and (n, 3): axes as columns and origin, in the parent's
        frame. The frame of the body itself coincides with it where the joint's coordinates are zero.
    pitch
        Metres per radian of screws, (n,).
    mass, com, inertia
        (n,), (n, 3) and (n, 6): the last is (xx, xy, xz, yy, yz, zz) about the centre of mass, in axes of the body.
    q_at, v_at
        Where coordinates and velocities of each joint begin; by default one joint after the other.
    damping, stiffness, rest
        Of each velocity: τ = −damping·v − stiffness·(q − rest), where the joint has one degree of freedom.
    gravity
        Acceleration, in world axes.
    loop_kind, loop_bodies, loop_rotation, loop_offset
        Closures, (m,), (m, 2), (m, 2, 3, 3) and (m, 2, 3): equations (`POINT`, `AXIS`, `FRAME` or other sums of
        bits) between a frame on the first and one on the second body, which may be the ground.

    Examples
    --------
    >>> import numpy as np
    >>> two = Topology(parent=[-1, 0], kind=[REVOLUTE, REVOLUTE], rotation=[np.eye(3)] * 2,
    ...                offset=[[0, 0, 0], [0, -1, 0]], mass=[1, 1], com=[[0, -1, 0]] * 2, gravity=[0, -9.81, 0])
    >>> two.n, two.n_q, two.n_v, two.v_at.tolist()
    (2, 2, 2, [0, 1])
    """

    parent: np.ndarray
    kind: np.ndarray
    rotation: np.ndarray
    offset: np.ndarray
    mass: np.ndarray
    com: np.ndarray | None = None
    inertia: np.ndarray | None = None
    pitch: np.ndarray | None = None
    q_at: np.ndarray | None = None
    v_at: np.ndarray | None = None
    damping: np.ndarray | None = None
    stiffness: np.ndarray | None = None
    rest: np.ndarray | None = None
    gravity: np.ndarray | None = None
    loop_kind: np.ndarray | None = None
    loop_bodies: np.ndarray | None = None
    loop_rotation: np.ndarray | None = None
    loop_offset: np.ndarray | None = None

    def __post_init__(self) -> None:
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: _array(name, value) for name, value in given.items() if value is not None}
        kind = arrays["kind"]
        if kind.ndim != 1 or not ((kind >= 0) & (kind <= FREE)).all():
            raise ModelError("Topology: 'kind' must be one whole number from 0 to 4 for each body")
        n = len(kind)
        n_v, loops = int(VELOCITIES[kind].sum()), len(np.atleast_1d(arrays.get("loop_kind", ())))
        shapes = _shapes(n, n_v, loops)
        for name, shape in shapes.items():
            if name not in arrays:
                dtype = np.int64 if name in _WHOLES else float
                arrays[name] = np.zeros(shape, dtype)
        if given["loop_rotation"] is None:
            arrays["loop_rotation"] = np.tile(np.eye(3), (loops, 2, 1, 1))
        if given["q_at"] is None:
            arrays["q_at"] = np.concatenate([[0], np.cumsum(COORDINATES[kind])[:-1]]).astype(np.int64)[:n]
        if given["v_at"] is None:
            arrays["v_at"] = np.concatenate([[0], np.cumsum(VELOCITIES[kind])[:-1]]).astype(np.int64)[:n]
        faults = [
            f"'{name}' has shape {arrays[name].shape}, expected {shape}"
            for name, shape in shapes.items()
            if arrays[name].shape != shape
        ]
        if faults:
            raise ModelError("Topology: wrong shapes", faults)
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        self.check()

    @property
    def n(self) -> int:
        """Number of bodies, and of joints."""
        return len(self.parent)

    @property
    def n_q(self) -> int:
        """Number of coordinates."""
        return int(COORDINATES[self.kind].sum())

    @property
    def n_v(self) -> int:
        """Number of velocities."""
        return int(VELOCITIES[self.kind].sum())

    @property
    def n_loop_equations(self) -> int:
        return sum(int(kind).bit_count() for kind in self.loop_kind)

    def check(self) -> None:
        """Raise ModelError with every fault that was found: order of parents, places, frames, masses, loops.

        Whether an inertia is possible is not asked here: robots are described with impossible ones, and move as long
        as no joint is without inertia.
        """
        faults: list[str] = []

        def report(wrong: np.ndarray, text: str) -> None:
            which = np.flatnonzero(wrong)
            faults.extend(f"joint {k}: {text}" for k in which[: _MOST_FAULTS + 1])

        for field in fields(self):
            if not np.isfinite(getattr(self, field.name)).all():
                faults.append(f"'{field.name}' has values that are not finite")
        number = np.arange(self.n)
        report((self.parent >= number) | (self.parent < -1), "its parent must be −1 or a body with a smaller number")
        with np.errstate(over="ignore", invalid="ignore"):
            gram = np.einsum("nki,nkj->nij", self.rotation, self.rotation)
            volume = np.linalg.det(self.rotation)
        skew = (np.abs(gram - np.eye(3)).max(axis=(1, 2), initial=0.0) > 1e-9) | (volume < 0)
        report(skew, "'rotation' is no right-handed rotation")
        report(self.mass < 0, "its body has a negative mass")
        for name, at, sizes in (("q_at", self.q_at, COORDINATES), ("v_at", self.v_at, VELOCITIES)):
            order = np.argsort(at, kind="stable")
            ends = np.cumsum(sizes[self.kind][order])
            if (at[order] != ends - sizes[self.kind][order]).any():
                faults.append(f"'{name}' must give every joint places of its own, without gaps")
        if not faults:
            single = np.zeros(self.n_v, bool)
            single[self.v_at[VELOCITIES[self.kind] == 1]] = True
            for name in ("damping", "stiffness", "rest"):
                wrong = np.flatnonzero(~single & (getattr(self, name) != 0))
                faults += [f"'{name}'[{k}] belongs to a joint with several degrees of freedom" for k in wrong]
        if len(self.loop_kind):
            bodies = self.loop_bodies
            wrong = (bodies < -1).any(1) | (bodies >= self.n).any(1) | (bodies[:, 0] == bodies[:, 1])
            wrong |= (self.loop_kind <= 0) | (self.loop_kind > FRAME)
            gram = np.einsum("nski,nskj->nsij", self.loop_rotation, self.loop_rotation)
            wrong |= np.abs(gram - np.eye(3)).max(axis=(1, 2, 3)) > 1e-9
            faults += [f"loop {k}: bodies, kind or frames are impossible" for k in np.flatnonzero(wrong)]
        if faults:
            more = len(faults) - _MOST_FAULTS
            raise ModelError("Topology", faults[:_MOST_FAULTS] + ([f"and {more} more"] if more > 0 else []))


def _array(name: str, value: Any) -> np.ndarray:
    """A copy of an argument as array of whole or real numbers."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelError(f"Topology: '{name}' is no array of numbers: {error}") from None
    if name not in _WHOLES:
        return array
    if not (np.isfinite(array).all() and (array == np.rint(array)).all()):
        raise ModelError(f"Topology: '{name}' must hold whole numbers")
    return array.astype(np.int64)


def _shapes(n: int, n_v: int, loops: int) -> dict[str, tuple[int, ...]]:
    one, three = (n,), (n, 3)
    return {
        "parent": one, "kind": one, "rotation": (n, 3, 3), "offset": three, "mass": one, "com": three,
        "inertia": (n, 6), "pitch": one, "q_at": one, "v_at": one, "damping": (n_v,), "stiffness": (n_v,),
        "rest": (n_v,), "gravity": (3,), "loop_kind": (loops,), "loop_bodies": (loops, 2),
        "loop_rotation": (loops, 2, 3, 3), "loop_offset": (loops, 2, 3),
    }  # fmt: skip
