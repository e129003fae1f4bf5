"""The record of a `Topology` that kernels read, with the memory in which they work."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.multibody.pattern import (
    BranchPattern,
    LoopPattern,
    branch_pattern,
    load_pattern,
    loop_pattern,
    velocity_of_coordinate,
    whole_trees,
)
from dalembert.multibody.topology import VELOCITIES, Topology
from dalembert.recursions import rows
from dalembert.recursions.words import SLOT_WORDS, SLOTS

_alive: weakref.WeakSet[Tree] = weakref.WeakSet()


def _free_slots() -> None:
    """In a forked process, whose only thread is in no kernel: slots of other threads would never be given back."""
    for tree in _alive:
        tree._slots[:] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_slots)


class Tree:
    """A `Topology` in memory: `address` is what kernels of `entries` take as record.

    Parameters
    ----------
    topology
        The tree.
    applied_velocities, applied_bodies
        Where loads act that stand at the end of x: forces along these velocities, then wrenches on these bodies,
        (force, moment) in axes of the body at its origin.
    matrices
        Whether kernels for mass matrix and derivatives of the residual form are to be called. Their pattern has as many
        entries as there are pairs of degrees of freedom on one branch.
    inverse
        Whether kernels for derivatives of the explicit form are to be called: full matrices.
    pattern
        That of the matrices, if it is known already.

    Examples
    --------
    >>> import numpy as np
    >>> from dalembert.recursions.entries import explicit
    >>> rod = Topology(parent=[-1], kind=[0], rotation=[np.eye(3)], offset=[[0, 0, 0]], mass=[2.0],
    ...                com=[[0.5, 0, 0]], gravity=[0, -10, 0])
    >>> tree, x, out = Tree(rod), np.zeros(2), np.zeros(1)
    >>> explicit(0.0, x.ctypes.data, 0, out.ctypes.data, tree.address), out
    (0, array([-20.]))
    """

    def __init__(
        self,
        topology: Topology,
        *,
        applied_velocities: Sequence[int] = (),
        applied_bodies: Sequence[int] = (),
        matrices: bool = False,
        inverse: bool = False,
        pattern: BranchPattern | None = None,
    ):
        self.topology = topology
        self._rows = _rows_of(topology)
        self.applied_velocities = _places("applied_velocities", applied_velocities, topology.n_v)
        self.applied_bodies = _places("applied_bodies", applied_bodies, topology.n)
        self.pattern = branch_pattern(topology) if pattern is None and (matrices or inverse) else pattern
        n, n_v = topology.n, topology.n_v
        n_sums = int(self._rows.view(np.int64)[:, rows.SUM].max(initial=-1)) + 1
        n_more = int(self._rows.view(np.int64)[:, rows.MORE].max(initial=-1)) + 1
        words = _whole_lines((n + n_sums + n_more) * rows.WORK)
        if self.pattern is not None:
            words = max(words, _whole_lines(n * rows.MATRIX_WORK + n_v * rows.DOF))
        loads_at = words
        loaded = len(self.applied_bodies) or len(topology.loop_kind)  # multipliers of loops act as wrenches do
        words += _whole_lines((n_v if len(self.applied_velocities) else 0) + (6 * n if loaded else 0))
        factors_at = words
        self.load_rows, self.load_starts = np.zeros(0, np.int64), np.zeros(1, np.int64)
        if self.pattern is not None:  # derivatives by loads may be asked for
            self.load_rows, self.load_starts = load_pattern(topology, self.applied_velocities, self.applied_bodies)
        if inverse:
            p = self.pattern
            columns = max(len(p.rows_v), len(p.rows_q), len(self.load_rows))
            words += _whole_lines(2 * n_v + len(p.lower) + len(p.rows_v) + columns)
        # Never cleared: pages that no thread works in take no memory.
        self._work = np.empty(SLOTS * words + 8)
        self._slots = np.zeros(SLOTS * SLOT_WORDS, np.int64)
        self._record = np.zeros(1, rows.TREE)
        self._kept: list[Mapping[str, np.ndarray]] = []
        gx, gy, gz = topology.gravity
        self._set(
            rows=self._rows.ctypes.data, slots=self._slots.ctypes.data, work=_line(self._work.ctypes.data),
            n=n, n_q=topology.n_q, n_v=n_v, n_sums=n_sums, n_more=n_more, slot_words=words, loads_at=loads_at,
            factors_at=factors_at, n_applied_velocities=len(self.applied_velocities),
            n_applied_bodies=len(self.applied_bodies), applied_velocities=self.applied_velocities.ctypes.data,
            applied_bodies=self.applied_bodies.ctypes.data, failed=-1, gx=gx, gy=gy, gz=gz,
        )  # fmt: skip
        if len(topology.loop_kind):
            self.loops = loop_pattern(topology)
            self._refer({"loops": _loop_rows(topology, self.loops), "loop_path": self.loops.path})
            self._set(n_loops=len(topology.loop_kind))
        if self.pattern is not None:
            self._refer(self.pattern.arrays)
            self._set(
                entries_q=len(self.pattern.rows_q), entries_v=len(self.pattern.rows_v), pairs=len(self.pattern.lower)
            )
        if inverse:
            self._refer(self._whole_trees())
        _alive.add(self)

    def _whole_trees(self) -> dict[str, np.ndarray]:
        """Degrees of freedom by whole trees, and the tree of each column of a derivative."""
        topology = self.topology
        dofs, starts = whole_trees(topology)
        tree_of_v = np.empty(topology.n_v, np.int64)
        tree_of_v[dofs] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        tree_of_q = tree_of_v[velocity_of_coordinate(topology)]
        return {
            "tree_dofs": dofs, "tree_starts": starts, "tree_of_q": tree_of_q, "tree_of_v": tree_of_v,
            "tree_of_load": tree_of_v[self.load_rows[self.load_starts[:-1]]], "rows_load": self.load_rows,
            "starts_load": self.load_starts,
        }  # fmt: skip

    def _refer(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Put addresses of arrays into the record, and keep them alive."""
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        self._kept.append(arrays)
        self._set(**{name: array.ctypes.data for name, array in arrays.items()})

    def _set(self, **fields: float) -> None:
        for name, value in fields.items():
            self._record[name] = value

    @property
    def address(self) -> int:
        """Of the record; valid as long as this object lives."""
        return self._record.ctypes.data

    @property
    def failed(self) -> int:
        """The joint along which the last evaluation that failed found no inertia."""
        return int(self._record["failed"][0])


def _places(name: str, given: Sequence[int], n: int) -> np.ndarray:
    places = np.array(given, dtype=np.int64).reshape(-1)
    if len(places) and (places.min() < 0 or places.max() >= n or len(np.unique(places)) < len(places)):
        raise ModelError(f"'{name}' must be different numbers from 0 to {n - 1}")
    return places


def _whole_lines(words: int) -> int:
    return words + -words % 8


def _line(address: int) -> int:
    """The next beginning of a cache line."""
    return -(-address // 64) * 64


def _rows_of(topology: Topology) -> np.ndarray:
    """All bodies, one row each."""
    n = topology.n
    memory = np.zeros(n * rows.ROW + 8)
    start = (_line(memory.ctypes.data) - memory.ctypes.data) // 8
    table = memory[start : start + n * rows.ROW].reshape(n, rows.ROW)
    table[:, rows.ROTATION : rows.ROTATION + 9] = topology.rotation.reshape(n, 9)
    table[:, rows.OFFSET : rows.OFFSET + 3] = topology.offset
    table[:, rows.MASS] = topology.mass
    table[:, rows.LEVER : rows.LEVER + 3] = topology.mass[:, None] * topology.com
    table[:, rows.INERTIA : rows.INERTIA + 6] = inertia_about_origin(topology)
    table[:, rows.PITCH] = topology.pitch
    single = VELOCITIES[topology.kind] == 1
    for name, place in (("damping", rows.DAMPING), ("stiffness", rows.STIFFNESS), ("rest", rows.REST)):
        table[single, place] = getattr(topology, name)[topology.v_at[single]]
    wholes = table.view(np.int64)
    wholes[:, rows.PARENT] = topology.parent
    wholes[:, rows.KIND] = topology.kind
    wholes[:, rows.Q_AT] = topology.q_at
    wholes[:, rows.V_AT] = topology.v_at
    wholes[:, rows.MORE] = np.where(single, -1, np.cumsum(~single) - 1)
    # children that are not their parent's neighbours
    far = topology.parent[(topology.parent >= 0) & (topology.parent != np.arange(n) - 1)]
    wholes[:, rows.SUM] = -1
    far = np.unique(far)
    wholes[far, rows.SUM] = np.arange(len(far))
    return table


def inertia_about_origin(topology: Topology) -> np.ndarray:
    """(xx, xy, xz, yy, yz, zz) of each body about the origin of its frame."""
    x, y, z = topology.com.T
    steiner = np.stack([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y], axis=1)
    return topology.inertia + topology.mass[:, None] * steiner


def _loop_rows(topology: Topology, pattern: LoopPattern) -> np.ndarray:
    """All loops, one row each."""
    m = len(topology.loop_kind)
    table = np.zeros((m, rows.LOOP))
    for side, at in enumerate((rows.FRAME_A, rows.FRAME_B)):
        table[:, at : at + 9] = topology.loop_rotation[:, side].reshape(m, 9)
        table[:, at + 9 : at + 12] = topology.loop_offset[:, side]
    wholes = table.view(np.int64)
    wholes[:, rows.LOOP_KIND] = topology.loop_kind
    wholes[:, rows.PATH_A] = pattern.starts[:-1:2]
    wholes[:, rows.PATH_B] = pattern.starts[1::2]
    wholes[:, rows.PATH_END] = pattern.starts[2::2]
    wholes[:, rows.EQUATION] = pattern.first_equation
    wholes[:, rows.ENTRY_P] = pattern.first_p
    wholes[:, rows.ENTRY_V] = pattern.first_v
    wholes[:, rows.SHARED] = pattern.shared
    return table
