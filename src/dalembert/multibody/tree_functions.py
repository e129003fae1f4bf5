"""Functions of a model that are recursions along a tree: what stands for them in `EquationsOfMotion`.

They are native functions (`model.native`): nothing is traced, and nothing is compiled for the model. Their code is in
the room `recursions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ModelError, OptionError
from dalembert.kept import computed
from dalembert.model.native import NativeFunction
from dalembert.multibody.pattern import (
    BranchPattern,
    LoopPattern,
    branch_pattern,
    full_pattern,
    load_pattern,
    loop_pattern,
    rate_by_p_pattern,
    rate_pattern,
    turning_joints,
    velocity_of_coordinate,
)
from dalembert.multibody.topology import Topology

#: entries of a full derivative of the explicit form at most; implicit methods on larger trees need the residual form
MOST_ENTRIES = 4_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeData:
    """What recipes of `recursions.recipes` work on: a tree, and where loads act that users write."""

    topology: Topology
    applied_velocities: tuple[int, ...] = ()
    applied_bodies: tuple[int, ...] = ()
    explicit: bool = False

    @computed
    def pattern(self) -> BranchPattern:
        """Of mass matrix and derivatives."""
        return branch_pattern(self.topology)

    @computed
    def loops(self) -> LoopPattern:
        return loop_pattern(self.topology)

    @property
    def full(self) -> bool:
        """Whether derivatives of the explicit form are given."""
        n_q, n_v = self.topology.n_q, self.topology.n_v
        return (
            self.explicit and n_v * (n_q + len(self.applied_velocities) + 6 * len(self.applied_bodies)) < MOST_ENTRIES
        )

    def __getstate__(self) -> dict[str, Any]:
        """Patterns are found anew at the other end."""
        fields = ("topology", "applied_velocities", "applied_bodies", "explicit")
        return {name: getattr(self, name) for name in fields}


def tree_functions(
    topology: Topology,
    formalism: str = "residual",
    *,
    applied: Callable[[Any], Any] | None = None,
    applied_velocities: Sequence[int] = (),
    applied_bodies: Sequence[int] = (),
) -> dict[str, Any]:
    """Arguments of `EquationsOfMotion` for a tree: mass, force, kinematics and holonomic.

    Parameters
    ----------
    topology : Topology
        The tree, with its loops.
    formalism : "residual" or "explicit"
        M v' = f with the composite mass matrix, or v' itself and mass one.
    applied : callable, optional
        Loads as a function of the namespace: forces along `applied_velocities`, then for each of `applied_bodies` a
        wrench (force, moment) in axes of the body at the origin of its frame.

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> from dalembert.multibody.topology import Topology
    >>> from dalembert.multibody.tree_functions import tree_functions
    >>> n = 3
    >>> chain = Topology(parent=np.arange(n) - 1, kind=[0] * n, rotation=[np.eye(3)] * n, mass=[1.0] * n,
    ...                  offset=[[0, 0, 0]] + [[0, -1, 0]] * (n - 1), com=[[0, -1, 0]] * n, gravity=[0, -9.81, 0])
    >>> model = da.EquationsOfMotion(p=["q1", "q2", "q3"], **tree_functions(chain))
    >>> sol = da.simulate(model, (0, 1), p0=[0.1, 0, 0], v0=[0, 0, 0])
    >>> sol.success
    True
    """
    if formalism not in ("residual", "explicit"):
        raise OptionError(f"formalism={formalism!r} must be 'residual' or 'explicit'")
    data = TreeData(
        topology=topology, applied_velocities=tuple(map(int, applied_velocities)),
        applied_bodies=tuple(map(int, applied_bodies)), explicit=formalism == "explicit",
    )  # fmt: skip
    loaded = bool(data.applied_velocities or data.applied_bodies)
    if data.explicit:
        _check_inertia(topology)
        gives: dict[str, Any] = {"value": None}
        if data.full:
            gives["by p"] = full_pattern(topology, velocity_of_coordinate(topology))
            gives["by v"] = full_pattern(topology, np.arange(topology.n_v))
            if loaded:
                gives["by applied"] = full_pattern(topology, _loaded(data))
        force = NativeFunction("dalembert.recursions.recipes:explicit_force", data, gives, applied=applied)
        mass: Any = np.ones(topology.n_v)
    else:
        square = (data.pattern.rows_v, data.pattern.columns_v)
        by_p = (data.pattern.rows_q, data.pattern.columns_q)
        gives = {"value": None, "by p": by_p, "by v": square, "with a": None}
        gives |= {"with a by p": by_p, "with a by v": square, "with a by a": square}
        if loaded:
            rows, starts = load_pattern(topology, data.applied_velocities, data.applied_bodies)
            loads = (rows, np.repeat(np.arange(len(starts) - 1), np.diff(starts)))
            gives |= {"by applied": loads, "with a by applied": loads}
        force = NativeFunction("dalembert.recursions.recipes:residual_force", data, gives, applied=applied)
        mass = NativeFunction("dalembert.recursions.recipes:mass_matrix", data, {"value": square}, reads=("p",))
    return {"mass": mass, "force": force, "kinematics": _kinematics(data), "holonomic": _closures(data)}


def _loaded(data: TreeData) -> np.ndarray:
    """For each load a velocity in its tree."""
    bodies = data.topology.v_at[np.array(data.applied_bodies, np.int64)]
    return np.concatenate([np.array(data.applied_velocities, np.int64), np.repeat(bodies, 6)])


def _check_inertia(topology: Topology) -> None:
    """Accelerations cannot be told where a joint carries nothing."""
    heavy = (topology.mass > 0) | (topology.inertia != 0).any(axis=1)
    if heavy.all():
        return
    for i in range(topology.n - 1, -1, -1):
        if heavy[i] and topology.parent[i] >= 0:
            heavy[topology.parent[i]] = True
    if not heavy.all():
        raise ModelError(
            "formalism='explicit' needs mass or inertia beyond every joint; give the bodies some, or take 'residual'",
            [f"joint {i} carries nothing" for i in np.flatnonzero(~heavy)[:20]],
        )


def _kinematics(data: TreeData) -> NativeFunction | None:
    """p' = Z v; None if that is p' = v."""
    topology = data.topology
    turning = turning_joints(topology)
    if not len(turning.first_q) and np.array_equal(topology.q_at, topology.v_at):
        return None
    Z = rate_pattern(topology)
    gives = {
        "value": Z, "rate": None, "first": None, "rate by v": Z, "rate by p": rate_by_p_pattern(topology),
        "by p": turning.entries_by_p, "first by p": turning.diagonal, "first by v": turning.by_v,
    }  # fmt: skip
    return NativeFunction("dalembert.recursions.recipes:kinematics", data, gives, reads=("p",))


def _closures(data: TreeData) -> NativeFunction | None:
    """g(p) = 0; None without loops."""
    if not len(data.topology.loop_kind):
        return None
    gives = {"value": None, "by p": data.loops.by_p, "first": None, "first by v": data.loops.by_v, "second": None}
    return NativeFunction(
        "dalembert.recursions.recipes:closures", data, gives, reads=("p",), rows=data.topology.n_loop_equations
    )
