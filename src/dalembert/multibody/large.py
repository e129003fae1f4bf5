"""Equations of motion of large trees: recursions over flat arrays, whose code does not grow with the system."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.multibody import algebra as al
from dalembert.multibody.flat import topology
from dalembert.multibody.motion import entries
from dalembert.multibody.observe import transplant
from dalembert.multibody.tree_functions import tree_functions

if TYPE_CHECKING:
    from dalembert.multibody.equations import Expressions
    from dalembert.multibody.system import Multibody

#: links from which on systems go through kernels: fewer are quicker as straight machine code
LARGE = 16


def suits_kernels(system: Multibody) -> bool:
    """Whether kernels are to take over. Parameters in masses and lengths stand in graphs alone."""
    links = sum(len(joint.kind.moves) for joint in system.joints) if system.joints else len(system.bodies)
    return not system.parameters and links >= LARGE


def functions(parts: Expressions, *, explicit: bool) -> dict[str, Any]:
    """mass, force and kinematics for `EquationsOfMotion`; constraints are expressions of the few links they connect."""
    tree, turned = topology(parts.bones)
    loads = _Loads(parts, turned)
    found = tree_functions(
        tree,
        "explicit" if explicit else "residual",
        applied=loads.function,
        applied_velocities=loads.velocities,
        applied_bodies=loads.bodies,
    )
    del found["holonomic"]
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
