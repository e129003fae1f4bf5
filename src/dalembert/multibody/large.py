"""Equations of motion of large trees: recursions over flat arrays, whose code does not grow with the system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.model.native import NativeFunction
from dalembert.multibody import algebra as al
from dalembert.multibody.flat import topology
from dalembert.multibody.motion import entries
from dalembert.multibody.observe import transplant
from dalembert.multibody.pattern import (
    branch_pattern,
    full_pattern,
    load_pattern,
    rate_by_p_pattern,
    rate_pattern,
    velocity_of_coordinate,
)  # fmt: skip
from dalembert.multibody.topology import FREE, SPHERICAL, Topology

if TYPE_CHECKING:
    from dalembert.multibody.equations import Expressions
    from dalembert.multibody.system import Multibody

#: links from which on systems go through kernels: fewer are quicker as straight machine code
LARGE = 16
#: entries of derivatives of the explicit form: beyond, implicit methods are to take the residual one
MOST_ENTRIES = 4_000_000

_RECIPES = "dalembert.recursions.recipes"


@dataclass(frozen=True, eq=False)
class Loaded:
    """A tree, where loads act that the graph computes, and whether derivatives of v' are to be had."""

    topology: Topology
    velocities: tuple[int, ...] = ()
    bodies: tuple[int, ...] = ()
    derivatives: bool = True


def suits_kernels(system: Multibody) -> bool:
    """Whether kernels are to take over. Parameters in masses and lengths stand in graphs alone."""
    return not system.parameters and sum(len(joint.kind.moves) for joint in system.joints) >= LARGE


def functions(parts: Expressions, *, explicit: bool) -> dict[str, Any]:
    """mass, force and kinematics for `EquationsOfMotion`."""
    tree, turned = topology(parts.bones)
    loads = _Loads(parts, turned)
    n_loads = len(loads.velocities) + 6 * len(loads.bodies)
    derivatives = not explicit or tree.n_v * (tree.n_q + tree.n_v + n_loads) <= MOST_ENTRIES
    data = Loaded(tree, tuple(loads.velocities), tuple(loads.bodies), derivatives)
    found: dict[str, Any] = {}
    if explicit:
        found["mass"] = np.ones(tree.n_v)
        gives: dict[str, Any] = {"value": None}
        if derivatives:
            gives["by p"] = full_pattern(tree, velocity_of_coordinate(tree))
            gives["by v"] = full_pattern(tree, np.arange(tree.n_v))
            if n_loads:
                rows, starts = load_pattern(tree, loads.velocities, loads.bodies)
                gives["by applied"] = full_pattern(tree, rows[starts[:-1]])
        found["force"] = NativeFunction(f"{_RECIPES}:explicit", data, gives, applied=loads.function)
    else:
        pattern = branch_pattern(tree)
        square, by_p = (pattern.rows_v, pattern.columns_v), (pattern.rows_q, pattern.columns_q)
        gives = {"value": None, "by p": by_p, "by v": square, "with a": None, "with a by p": by_p}
        gives |= {"with a by v": square, "with a by a": square}
        if n_loads:
            rows, starts = load_pattern(tree, loads.velocities, loads.bodies)
            columns = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            gives["by applied"] = gives["with a by applied"] = (rows, columns)
        found["force"] = NativeFunction(f"{_RECIPES}:residual", data, gives, applied=loads.function)
        found["mass"] = NativeFunction(f"{_RECIPES}:mass", data, {"value": square}, reads=("p",))
    if np.isin(tree.kind, (SPHERICAL, FREE)).any():
        gives = {"value": rate_pattern(tree), "first": None, "rate": None, "rate by p": rate_by_p_pattern(tree)}
        found["kinematics"] = NativeFunction(f"{_RECIPES}:kinematics", data, gives, reads=("p",))
    return found


class _Loads:
    """Forces that elements put into a scene, as the kernels take them: along velocities, then on bodies."""

    def __init__(self, parts: Expressions, turned: np.ndarray):
        scene = parts.scene
        self.velocities = [k for k, f in enumerate(scene.joint_forces) if type(f) is ca.SX or f != 0.0]
        self.bodies = sorted(scene.forces)
        values = [scene.joint_forces[k] for k in self.velocities]
        for body in self.bodies:
            link = scene.tree.links[body]
            axes = al.product(link.R, tuple(entries(row) for row in turned[body]))
            torque = al.add(*(n for n, _ in scene.forces[body]))
            force = al.add(*(f for _, f in scene.forces[body]))
            values += [*al.turn_back(axes, force), *al.turn_back(axes, torque)]
        self.function: Callable | None = None
        if values:
            self.function = transplant(parts.symbols, ca.densify(ca.vertcat(*values)))
