"""The record of a `Topology` that kernels read, with the memory in which they work."""

from __future__ import annotations

import numpy as np

from dalembert.multibody.topology import VELOCITIES, Topology
from dalembert.recursions import rows
from dalembert.recursions.pattern import branch_pattern
from dalembert.recursions.words import SLOTS


class Tree:
    """A `Topology` in memory: `address` is what kernels of `entries` take as record.

    Parameters
    ----------
    topology
        The tree.
    torques, wrenches
        Whether x ends with forces along the velocities (explicit form), and with wrenches on the bodies.
    matrices
        Whether kernels for mass matrix and derivatives are to be called. Their pattern has as many entries as there are
        pairs of degrees of freedom on one branch.
    """

    def __init__(
        self, topology: Topology, *, torques: bool = False, wrenches: bool = False, matrices: bool = False
    ):  # fmt: skip
        self.topology = topology
        self._rows = _rows_of(topology)
        n_sums = int(self._rows.view(np.int64)[:, rows.SUM].max(initial=-1)) + 1
        n_more = int(self._rows.view(np.int64)[:, rows.MORE].max(initial=-1)) + 1
        words = (topology.n + n_sums + n_more) * rows.WORK
        self.pattern = branch_pattern(topology) if matrices else None
        if matrices:
            words = max(words, topology.n * rows.MATRIX_WORK + topology.n_v * rows.DOF)
            words += -words % 8
        # Never cleared: pages that no thread works in take no memory.
        self._work = np.empty(SLOTS * words + 8)
        self._slots = np.zeros(SLOTS, np.int64)
        self._record = np.zeros(1, rows.TREE)
        gx, gy, gz = topology.gravity
        self._set(
            rows=self._rows.ctypes.data, slots=self._slots.ctypes.data, work=_line(self._work.ctypes.data),
            n=topology.n, n_q=topology.n_q, n_v=topology.n_v, n_sums=n_sums, n_more=n_more, slot_words=words,
            torques=torques, wrenches=wrenches, failed=-1, gx=gx, gy=gy, gz=gz,
        )  # fmt: skip

        if self.pattern is not None:
            self._set(**{name: array.ctypes.data for name, array in self.pattern.arrays.items()})
            self._set(
                entries_q=len(self.pattern.rows_q), entries_v=len(self.pattern.rows_v), pairs=len(self.pattern.lower)
            )  # fmt: skip

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
