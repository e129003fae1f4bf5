"""Which constraints of a system depend on others, wherever it moves.

With the rows g of the constraint matrix G, y ᵀG = 0 says that some of them are sums of others. The vectors y change as
the system moves. A set of rows can be left out if what the vectors y have there stays regular in all positions; this is
judged at the assembled position and at others that the system can move to.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.multibody.assembly import ACCEPTED, Assembly, assembled, in_coordinates
from dalembert.multibody.closing import Closing, constrained, drives
from dalembert.multibody.poses import Poses
from dalembert.multibody.search import search
from dalembert.multibody.skeleton import Skeleton

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

#: singular values below this part of the largest are zero
RANK = 1e-9
#: a row with less than this share in dependent directions is independent
_SHARE = 1e-6
#: dependent directions that change by less than this are the same everywhere; joints that are tried for that
_STEADY, _MOST_JOINTS = 1e-6, 20
#: positions looked at; of large systems fewer
_POSITIONS, _FEW = 24, 3
#: sets of rows that are compared at most
_MOST_SETS = 5000


@dataclass(frozen=True)
class Group:
    """Constraints that depend on each other, by number: those left out, and all.

    `margin` is the least singular value of what the dependent directions have in the rows left out, at most 1: zero
    means that there are positions in which these rows are needed.
    """

    rows: tuple[int, ...]
    dropped: tuple[int, ...]
    margin: float


@dataclass(frozen=True)
class Dependence:
    """What is known of the rank of the constraints; numbers refer to `closing.rows`."""

    closing: Closing
    assembly: Assembly
    positions: tuple[np.ndarray, ...]
    rank: int
    groups: tuple[Group, ...]
    change: float = 0.0  # of the dependent directions from position to position
    axes: dict[int, str] = field(default_factory=dict)  # in which joints are closed, if not in those of the world

    @property
    def dropped(self) -> tuple[int, ...]:
        return tuple(sorted(k for group in self.groups for k in group.dropped))

    @property
    def names(self) -> set[tuple[str, str]]:
        """Owner and label of the rows left out."""
        return {(self.closing.rows[k].owner, self.closing.rows[k].label) for k in self.dropped}

    @property
    def driven_twice(self) -> tuple[str, ...]:
        """Joints whose drives prescribe what others prescribe already."""
        rows = self.closing.rows
        return tuple(rows[k].owner for group in self.groups for k in group.rows if rows[k].label == "drive")


def dependence(
    system: Multibody, bones: Skeleton, known: Mapping[str, Any] | None = None, t: float = 0.0
) -> Dependence | None:
    """Of the loops of a system, in coordinates of the joints; None if there are no constraints."""
    if not constrained(system, bones) and not any(joint.drive is not None for joint in system.joints):
        return None
    assembly = assembled(system, bones, known, "joint", bones, t)
    closing = Closing(system, bones, drives(system, t))
    return _found(closing, assembly, assembly.p)


def in_other_coordinates(there: Dependence, target: Skeleton) -> Dependence:
    """The same question asked of the constraints in other coordinates, at the same positions."""
    system, bones = there.closing.system, there.closing.bones
    closing = Closing(system, target, drives(system, there.assembly.t), axes=there.axes)
    points = tuple(in_coordinates(Poses(bones, p), target)[0] for p in there.positions)
    return replace(_judge(closing, there.assembly, points), axes=there.axes)


def _found(closing: Closing, assembly: Assembly, p: np.ndarray) -> Dependence:
    """Look at the first position; at others only if something is dependent here."""
    first = _judge(closing, assembly, (p,))
    if not first.groups:
        return first
    found = _judge(closing, assembly, _positions(closing, p))
    return found if found.change < _STEADY or closing.sparse else _in_better_axes(found)


def _in_better_axes(found: Dependence) -> Dependence:
    """Close joints along and across bodies that turn, if rows then depend on each other in a more steady way.

    Where this does not change with the position at all, no position can be missed in which a row is needed.
    """
    system, bones, t = found.closing.system, found.closing.bones, found.assembly.t
    changing = {k for group in found.groups for k in group.rows}
    labels = {(row.joint, row.label) for k, row in enumerate(found.closing.rows) if k in changing}
    joints = [joint for joint in bones.cut if labels & {(joint, "x"), (joint, "y")}][:_MOST_JOINTS]
    choices = [dict.fromkeys((joint.number for joint in joints), which) for which in ("first", "second")]
    choices += [{joint.number: which} for joint in joints for which in ("first", "second")]
    for choice in choices:
        axes = found.axes | choice
        closing = Closing(system, bones, drives(system, t), axes=axes)
        other = replace(_judge(closing, found.assembly, found.positions), axes=axes)
        if other.rank == found.rank and other.change < 0.9 * found.change:
            found = other
        if found.change < _STEADY:
            break
    return found


def _matrix(closing: Closing, p: np.ndarray) -> np.ndarray:
    G = closing.evaluate(p, np.arange(closing.bones.n_v))[1]
    G = G if isinstance(G, np.ndarray) else G.toarray()
    return G


def _positions(closing: Closing, p: np.ndarray) -> tuple[np.ndarray, ...]:
    """Where the system can move to from p, its drives let go: by steps along the constraints, and back onto them."""
    rng = np.random.default_rng(2006)
    moving = np.array([k for k, row in enumerate(closing.rows) if row.label != "drive"], int)
    every = np.arange(closing.bones.n_v)
    found, here = [p], p
    most = _FEW if closing.sparse else _POSITIONS
    for _ in range(3 * most):
        G = _matrix(closing, here)[moving]
        step = rng.standard_normal(len(every))
        step -= np.linalg.lstsq(G, G @ step, rcond=RANK)[0]
        if not np.abs(step).max(initial=0.0) > 1e-6:  # nothing can move
            break
        step *= rng.uniform(0.2, 0.8) / np.abs(step).max()
        close = search(
            lambda q: closing.evaluate(q, every, moving),
            lambda q, s: closing.move(q, every, s),
            closing.move(here, every, step),
        )
        if close.residual <= ACCEPTED:
            here = close.point
            found.append(here)
        if len(found) >= most:
            break
    return tuple(found)


def _judge(closing: Closing, assembly: Assembly, points: tuple[np.ndarray, ...]) -> Dependence:
    """The rank, and groups of rows that depend on each other at all points."""
    spaces = []  # rank and dependent directions
    for p in points:
        G = _matrix(closing, p)
        U, s, _ = np.linalg.svd(G, full_matrices=G.shape[0] > G.shape[1])
        rank = int((s > RANK * s.max(initial=0.0)).sum()) if G.size else 0
        spaces.append((rank, U[:, rank:]))
        if rank == len(closing.rows):
            return Dependence(closing, assembly, points, rank, ())
    rank = max(r for r, _ in spaces)
    projectors = [N @ N.T for r, N in spaces if r == rank]  # elsewhere the position is singular
    groups = []
    for rows in _groups(np.max([np.abs(P) for P in projectors], axis=0)):
        parts = []
        for P in projectors:
            values, vectors = np.linalg.eigh(P[np.ix_(rows, rows)])
            parts.append(vectors[:, values > 0.5])
        allowed = [k for k, row in enumerate(rows) if closing.rows[row].label != "drive"]
        chosen, margin = _choose(parts, allowed)
        groups.append(Group(tuple(rows.tolist()), tuple(int(rows[k]) for k in chosen), margin))
    change = max(float(np.abs(P - projectors[0]).max(initial=0.0)) for P in projectors)
    return Dependence(closing, assembly, points, rank, tuple(groups), change)


def _groups(shares: np.ndarray) -> list[np.ndarray]:
    """Rows that take part in dependent directions, together with those they take part with."""
    left = set(np.flatnonzero(np.diag(shares) > _SHARE).tolist())
    found = []
    while left:
        group, new = set(), {min(left)}
        while new:
            group |= new
            near = np.flatnonzero((shares[sorted(new)] > _SHARE).any(axis=0))
            new = {int(k) for k in near if k in left} - group
        left -= group
        found.append(np.array(sorted(group)))
    return found


def _choose(parts: list[np.ndarray], allowed: list[int]) -> tuple[tuple[int, ...], float]:
    """As many rows as there are dependent directions, such that these stay regular in them at all positions."""
    count = min(N.shape[1] for N in parts)

    def margin(rows: tuple[int, ...]) -> float:
        # rounded, so that of equally good sets the first one is taken on all machines
        return round(min(float(np.linalg.svd(N[list(rows)], compute_uv=False)[-1]) for N in parts), 6)

    if count == 0 or len(allowed) < count:
        return (), 0.0
    if comb(len(allowed), count) <= _MOST_SETS // max(1, len(parts) // 4):
        best = max(itertools.combinations(reversed(allowed), count), key=margin)
        return tuple(sorted(best)), margin(best)
    chosen: tuple[int, ...] = ()
    for _ in range(count):
        rest = [k for k in reversed(allowed) if k not in chosen]
        chosen = max(((*chosen, k) for k in rest), key=margin)
    return tuple(sorted(chosen)), margin(chosen)
