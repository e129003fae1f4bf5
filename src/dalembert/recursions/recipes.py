"""Native functions of trees: which kernel gives which quantity (`model.native` has their meaning)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dalembert.compile.kernel import address_of
from dalembert.model.native import Code
from dalembert.recursions.tree import Tree

if TYPE_CHECKING:
    from dalembert.multibody.large import Loaded


def explicit(data: Loaded, theta: Mapping[str, slice]) -> Code:
    """v' by articulated bodies."""
    from dalembert.recursions import derivatives, entries

    kernels = {"value": entries.explicit}
    if data.derivatives:
        kernels["by p"] = derivatives.explicit_by_p
        kernels["by v"] = derivatives.explicit_by_v
        kernels["by applied"] = derivatives.explicit_by_applied
    return _code(data, kernels, inverse=data.derivatives)


def residual(data: Loaded, theta: Mapping[str, slice]) -> Code:
    """The right-hand side of M v' = f, and M a − f as a whole."""
    from dalembert.recursions import derivatives, entries

    kernels = {
        "value": entries.force, "by p": derivatives.force_by_p, "by v": derivatives.force_by_v,
        "by applied": derivatives.force_by_applied, "with a": entries.residual,
        "with a by p": derivatives.residual_by_p, "with a by v": derivatives.residual_by_v,
        "with a by a": entries.mass, "with a by applied": derivatives.residual_by_applied,
    }  # fmt: skip
    return _code(data, kernels, matrices=True)


def mass(data: Loaded, theta: Mapping[str, slice]) -> Code:
    """The mass matrix by composite bodies."""
    from dalembert.recursions import entries

    return _code(data, {"value": entries.mass}, matrices=True)


def kinematics(data: Loaded, theta: Mapping[str, slice]) -> Code:
    """Z in p' = Z v."""
    from dalembert.recursions import entries

    kernels = {
        "value": entries.kinematics, "first": entries.kinematics_first, "rate": entries.kinematics_rate,
        "rate by p": entries.kinematics_rate_by_p,
    }  # fmt: skip
    return _code(data, kernels)


def _code(data: Loaded, kernels: dict, *, matrices: bool = False, inverse: bool = False) -> Code:
    tree = Tree(
        data.topology,
        applied_velocities=data.velocities,
        applied_bodies=data.bodies,
        matrices=matrices,
        inverse=inverse,
    )
    return Code({what: address_of(kernel) for what, kernel in kernels.items()}, tree.address, (tree, kernels))
