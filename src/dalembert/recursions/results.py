"""Poses, motions, joint forces, energies and momentum of all bodies at many points of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.recursions import rows
from dalembert.recursions.report import report
from dalembert.recursions.tree import Tree


@dataclass(frozen=True)
class Results:
    """Of N points of time and n bodies, all in world axes.

    Attributes
    ----------
    position, velocity, acceleration : ndarray, (N, n, 3)
        Of the origin of the body's frame.
    rotation : ndarray, (N, n, 3, 3)
        Axes of the body as columns.
    angular_velocity, angular_acceleration : ndarray, (N, n, 3)
    force, moment : ndarray, (N, n, 3)
        What the joint transmits to the body, about the origin of the body's frame: reactions, and what drives it.
    kinetic, potential : ndarray, (N,)
        Energies; the second with that of springs in joints.
    momentum, angular_momentum : ndarray, (N, 3)
        The second about the origin of the world.
    missing : ndarray, (N, n_v)
        M a − f + Gᵀ λ: zero in a motion of the system.
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    acceleration: np.ndarray
    angular_acceleration: np.ndarray
    force: np.ndarray
    moment: np.ndarray
    kinetic: np.ndarray
    potential: np.ndarray
    momentum: np.ndarray
    angular_momentum: np.ndarray
    missing: np.ndarray


def results(tree: Tree, p: Any, v: Any, a: Any, applied: Any = None, lam: Any = None) -> Results:
    """Evaluate a tree at points of time; each argument has one row for each of them.

    `applied` are the loads that the tree was told of, `lam` the multipliers of its loops. Without them they are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from dalembert.multibody.topology import Topology
    >>> rod = Topology(parent=[-1], kind=[0], rotation=[np.eye(3)], offset=[[0, 0, 0]], mass=[2.0],
    ...                com=[[0.5, 0, 0]], gravity=[0, -10, 0])
    >>> found = results(Tree(rod), p=[[0.0], [np.pi / 2]], v=[[0.0], [4.0]], a=[[0.0], [0.0]])
    >>> found.force.round(9)[:, 0] + 0.0            # holds its weight; and upright, its weight less the pull
    array([[ 0., 20.,  0.],
           [ 0.,  4.,  0.]])
    >>> found.kinetic + found.potential
    array([ 0., 14.])
    """
    t = tree.topology
    n_loads = len(tree.applied_velocities) + 6 * len(tree.applied_bodies)
    given = [("p", p, t.n_q), ("v", v, t.n_v), ("a", a, t.n_v), ("applied", applied, n_loads)]
    given.append(("lam", lam, t.n_loop_equations))
    count = len(np.atleast_2d(np.asarray(p, float)))
    parts = []
    for name, values, width in given:
        values = np.zeros((count, width)) if values is None else np.atleast_2d(np.asarray(values, float))
        if values.shape != (count, width):
            raise ModelError(f"'{name}' has shape {values.shape}, expected {(count, width)}")
        parts.append(values)
    x = np.ascontiguousarray(np.concatenate(parts, axis=1))
    out = np.empty((count, t.n * rows.BODY_REPORT + rows.TOTALS + t.n_v))
    for k in range(count):
        report(0.0, x[k].ctypes.data, 0, out[k].ctypes.data, tree.address)
    bodies = out[:, : t.n * rows.BODY_REPORT].reshape(count, t.n, rows.BODY_REPORT)
    totals = out[:, t.n * rows.BODY_REPORT :]

    def three(at: int) -> np.ndarray:
        return bodies[:, :, at : at + 3]

    rotation = bodies[:, :, rows.BODY_ROTATION : rows.BODY_ROTATION + 9].reshape(count, t.n, 3, 3)
    return Results(
        three(rows.BODY_POSITION), rotation, three(rows.BODY_VELOCITY), three(rows.BODY_SPIN),
        three(rows.BODY_ACCELERATION), three(rows.BODY_SPIN_RATE), three(rows.BODY_FORCE), three(rows.BODY_MOMENT),
        totals[:, rows.KINETIC], totals[:, rows.POTENTIAL], totals[:, rows.LINEAR : rows.LINEAR + 3],
        totals[:, rows.ANGULAR : rows.ANGULAR + 3], totals[:, rows.TOTALS :],
    )  # fmt: skip
