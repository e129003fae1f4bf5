"""Where matrices of a tree have entries: two degrees of freedom meet if one lies between the other and the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.topology import COORDINATES, FREE, SPHERICAL, VELOCITIES, Topology

#: entries of a matrix at most: beyond, a matrix in joint coordinates is the wrong thing to ask for
MOST_ENTRIES = 200_000_000


@dataclass(frozen=True, eq=False)
class BranchPattern:
    """Entries column by column, rows in order: n_v × n_v (mass, derivatives by v and a), and n_v × n_q (by p).

    `arrays` are those that kernels read. From degree of freedom i the way to the ground leads over all j that it meets;
    step k of it is number ``walk_at[i] + k`` in `lower`, the place of (i, j), and in `upper`, the place of (j, i).
    `shift_q` leads from a place in the square pattern to that in the other one; `met` holds the j, and `order` all
    degrees of freedom, parents first.
    """

    rows_v: np.ndarray
    starts_v: np.ndarray
    rows_q: np.ndarray
    starts_q: np.ndarray
    walk_at: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    shift_q: np.ndarray
    met: np.ndarray
    order: np.ndarray

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        names = ("rows_v", "starts_v", "rows_q", "starts_q", "walk_at", "lower", "upper", "shift_q", "met")
        return {name: getattr(self, name) for name in names}

    @property
    def columns_v(self) -> np.ndarray:
        """Column of each entry of the square pattern."""
        return np.repeat(np.arange(len(self.starts_v) - 1), np.diff(self.starts_v))

    @property
    def columns_q(self) -> np.ndarray:
        """Column of each entry of the pattern by p."""
        return np.repeat(np.arange(len(self.starts_q) - 1), np.diff(self.starts_q))


def dof_parents(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """For each velocity the one before it on the way to the ground (−1: none), and all of them, parents first."""
    sizes = VELOCITIES[topology.kind]
    local = np.arange(topology.n_v) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = np.repeat(topology.v_at, sizes) + local
    last = np.append(topology.v_at + sizes - 1, -1)  # of each body, and of the ground
    before = np.where(local > 0, order - 1, np.repeat(last[topology.parent], sizes))
    parents = np.empty(topology.n_v, np.int64)
    parents[order] = before
    return parents, order


def branch_pattern(topology: Topology) -> BranchPattern:
    """The pattern of a tree."""
    n_v = topology.n_v
    parents, order = dof_parents(topology)
    depth = np.zeros(n_v, np.int64)
    for j in order:
        depth[j] = depth[parents[j]] + 1 if parents[j] >= 0 else 1
    n_pairs = int(depth.sum())
    if 2 * n_pairs - n_v > MOST_ENTRIES:
        raise ModelError(
            f"the mass matrix of this tree would have {2 * n_pairs - n_v} entries, more than {MOST_ENTRIES}: "
            "take the explicit formalism, which needs none, or absolute coordinates"
        )
    walk_at = np.concatenate([[0], np.cumsum(depth)])
    inner = np.empty(n_pairs, np.int64)  # j of each pair (i, j)
    for i in order:
        at, up = walk_at[i], parents[i]
        inner[at] = i
        if up >= 0:
            inner[at + 1 : at + depth[i]] = inner[walk_at[up] : walk_at[up] + depth[up]]
    outer = np.repeat(np.arange(n_v), depth)
    lower, upper = inner * n_v + outer, outer * n_v + inner  # column · n_v + row: sorted, these are the entries
    entries = np.sort(np.concatenate([lower, upper[inner != outer]]))
    rows_v, columns = entries % max(n_v, 1), entries // max(n_v, 1)
    starts_v = np.searchsorted(columns, np.arange(n_v + 1))
    # columns of the derivative by p: a joint's degrees of freedom all meet the same others
    column_of = velocity_of_coordinate(topology)
    counts = np.diff(starts_v)[column_of]
    starts_q = np.concatenate([[0], np.cumsum(counts)])
    within = np.arange(starts_q[-1]) - np.repeat(starts_q[:-1], counts)
    rows_q = rows_v[np.repeat(starts_v[column_of], counts) + within]
    # tangent column of degree of freedom j: for Euler parameters the first three of the four
    parts = VELOCITIES[topology.kind]
    local = np.arange(n_v) - np.repeat(np.cumsum(parts) - parts, parts)
    of_v = np.repeat(topology.v_at, parts) + local
    shift_q = np.empty(n_v, np.int64)
    shift_q[of_v] = starts_q[np.repeat(topology.q_at, parts) + local] - starts_v[of_v]
    return BranchPattern(
        rows_v=rows_v, starts_v=starts_v, rows_q=rows_q, starts_q=starts_q, walk_at=walk_at,
        lower=np.searchsorted(entries, lower).astype(np.int32), upper=np.searchsorted(entries, upper).astype(np.int32),
        shift_q=shift_q, met=inner.astype(np.int32), order=order,
    )  # fmt: skip


def whole_trees(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Degrees of freedom, parents first, tree after tree that stands on the ground; and where each tree begins."""
    _, order = dof_parents(topology)
    root = np.arange(topology.n)
    for i, parent in enumerate(topology.parent.tolist()):
        if parent >= 0:
            root[i] = root[parent]
    of_body = np.repeat(root, VELOCITIES[topology.kind])
    by_tree = np.argsort(of_body, kind="stable")
    _, starts = np.unique(of_body[by_tree], return_index=True)
    return order[by_tree], np.append(starts, topology.n_v).astype(np.int64)


def load_pattern(
    topology: Topology, velocities: Sequence[int] = (), bodies: Sequence[int] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and where columns begin, of the derivative of generalized forces by loads.

    Loads are forces along some velocities, then wrenches on some bodies, six numbers each.
    """
    parents, _ = dof_parents(topology)
    entries = len(velocities)
    last = topology.v_at + VELOCITIES[topology.kind] - 1
    rows, counts = [np.array(velocities, np.int64).reshape(-1)], [np.ones(len(velocities), np.int64)]
    for body in bodies:
        way, j = [], int(last[body])
        while j >= 0:
            way.append(j)
            j = int(parents[j])
        entries += 6 * len(way)
        if entries > MOST_ENTRIES:
            raise ModelError(
                f"wrenches on {len(bodies)} bodies act on more than {MOST_ENTRIES} entries of the derivative: take the "
                "explicit formalism, which needs none, or absolute coordinates"
            )
        rows += [np.array(way)] * 6
        counts.append(np.full(6, len(way)))
    return np.concatenate(rows), np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)


def full_pattern(topology: Topology, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a matrix whose columns hold all rows of a tree, in the order in which kernels write them.

    `columns` are degrees of freedom that tell the tree of each column.
    """
    dofs, starts = whole_trees(topology)
    tree = np.empty(topology.n_v, np.int64)
    tree[dofs] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    which = tree[columns]
    counts = np.diff(starts)[which]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return dofs[np.repeat(starts[which], counts) + within], np.repeat(np.arange(len(columns)), counts)


def velocity_of_coordinate(topology: Topology) -> np.ndarray:
    """For each coordinate the first velocity of its joint."""
    sizes = COORDINATES[topology.kind]
    local = np.arange(topology.n_q) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found = np.empty(topology.n_q, np.int64)
    found[np.repeat(topology.q_at, sizes) + local] = np.repeat(topology.v_at, sizes)
    return found


def rate_pattern(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of Z(p), joint by joint: ones, and 4 × 3 entries row by row for Euler parameters."""
    turning = (topology.kind == SPHERICAL) | (topology.kind == FREE)
    sliding = np.where(topology.kind == FREE, 3, np.where(turning, 0, 1))
    counts = sliding + 12 * turning
    k = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    straight = np.repeat(sliding, counts)
    q_at, v_at = np.repeat(topology.q_at, counts), np.repeat(topology.v_at, counts)
    turned = k - straight
    rows = q_at + np.where(turned < 0, k, straight + turned // 3)
    return rows, v_at + np.where(turned < 0, k, straight + turned % 3)


def rate_by_p_pattern(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of ∂(Z v)/∂p: 4 × 4 entries row by row for the Euler parameters of each joint."""
    first = topology.q_at + np.where(topology.kind == FREE, 3, 0)
    first = first[(topology.kind == SPHERICAL) | (topology.kind == FREE)]
    row, column = np.divmod(np.arange(16), 4)
    return (first[:, None] + row).ravel(), (first[:, None] + column).ravel()


@dataclass(frozen=True, eq=False)
class LoopPattern:
    """Paths of loops, and where Jacobians of closures have entries, in the order in which kernels write them.

    The path of loop l leads from the last body that both sides share (`shared`, −1: the ground) to its first body,
    ``path[starts[2 l] : starts[2 l + 1]]``, and to its second, up to ``starts[2 l + 2]``.
    """

    path: np.ndarray
    starts: np.ndarray
    shared: np.ndarray
    first_equation: np.ndarray
    first_p: np.ndarray
    first_v: np.ndarray
    by_p: tuple[np.ndarray, np.ndarray]
    by_v: tuple[np.ndarray, np.ndarray]


def loop_pattern(topology: Topology) -> LoopPattern:
    """Paths and patterns of the loops of a tree."""
    path, starts, shared = [], [0], []
    for a, b in topology.loop_bodies.tolist():
        sides: list[list[int]] = [[], []]
        while a != b:  # parents have smaller numbers
            if a > b:
                sides[0].append(a)
                a = int(topology.parent[a])
            else:
                sides[1].append(b)
                b = int(topology.parent[b])
        for side in sides:
            path.extend(reversed(side))
            starts.append(len(path))
        shared.append(a)
    counts = np.array([int(kind).bit_count() for kind in topology.loop_kind], np.int64)
    equations = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = {}
    for name, at, sizes in (("p", topology.q_at, COORDINATES), ("v", topology.v_at, VELOCITIES)):
        rows, columns, firsts, total = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [], 0
        for l, count in enumerate(counts):
            bodies = np.array(path[starts[2 * l] : starts[2 * l + 2]], np.int64)
            size = sizes[topology.kind[bodies]]
            own = np.repeat(at[bodies], size) + np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
            firsts.append(total)
            total += len(own) * int(count)
            columns.append(np.tile(own, count))
            rows.append(np.repeat(equations[l] + np.arange(count), len(own)))
        found[name] = (np.concatenate(rows), np.concatenate(columns)), np.array(firsts, np.int64)
    return LoopPattern(
        path=np.array(path, np.int64), starts=np.array(starts, np.int64), shared=np.array(shared, np.int64),
        first_equation=equations[:-1], by_p=found["p"][0], first_p=found["p"][1], by_v=found["v"][0],
        first_v=found["v"][1],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class TurningJoints:
    """Joints with Euler parameters: their first e and ω, and patterns of derivatives of Z(p) and of (dZ/dt) v.

    `entries_by_p` has a row for each entry of Z (`rate_pattern`).
    """

    first_q: np.ndarray
    first_v: np.ndarray
    entries_by_p: tuple[np.ndarray, np.ndarray]
    diagonal: tuple[np.ndarray, np.ndarray]
    by_v: tuple[np.ndarray, np.ndarray]


#: the e that each entry of E(e)/2 holds, row by row
EULER_ENTRIES = np.array([1, 2, 3, 0, 3, 2, 3, 0, 1, 2, 1, 0])


def turning_joints(topology: Topology) -> TurningJoints:
    free, turning = topology.kind == FREE, (topology.kind == SPHERICAL) | (topology.kind == FREE)
    q, v = (topology.q_at + 3 * free)[turning], (topology.v_at + 3 * free)[turning]
    sliding = np.where(free, 3, np.where(turning, 0, 1))
    ends = np.cumsum(sliding + 12 * turning)[turning]
    entries = (ends[:, None] - 12 + np.arange(12)).ravel()
    four = (q[:, None] + np.arange(4)).ravel()
    row, column = np.divmod(np.arange(12), 3)
    return TurningJoints(
        q,
        v,
        (entries, (q[:, None] + EULER_ENTRIES).ravel()),
        (four, four),
        ((q[:, None] + row).ravel(), (v[:, None] + column).ravel()),
    )
