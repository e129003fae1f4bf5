"""Machine code of native functions along a tree: for each role the kernels, by quantity, and the record they work on.

`multibody.tree_functions` names these functions; the same data gives the same `Tree`.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from dalembert.compile.kernel import address_of, load
from dalembert.model.native import Code
from dalembert.multibody.tree_functions import TreeData
from dalembert.recursions.tree import Tree

_trees: weakref.WeakKeyDictionary[TreeData, Tree] = weakref.WeakKeyDictionary()


def tree_of(data: TreeData) -> Tree:
    """The record for a tree, made once; it lives as long as somebody uses it."""
    tree = _trees.get(data)
    if tree is None:
        tree = Tree(
            data.topology, applied_velocities=data.applied_velocities, applied_bodies=data.applied_bodies,
            pattern=data.pattern if data.full or not data.explicit else None, inverse=data.full,
        )  # fmt: skip
        _trees[data] = tree
    return tree


def _code(data: TreeData, kernels: Mapping[str, Any], together: Mapping[tuple[str, ...], Any] | None = None) -> Code:
    """`together`: kernels that give several quantities, one after the other."""
    tree, at_once = tree_of(data), dict(together or {})
    return Code(
        {what: address_of(kernel) for what, kernel in kernels.items()},
        tree.address,
        (tree, data, kernels, at_once),
        together={what: address_of(kernel) for what, kernel in at_once.items()},
    )


def explicit_force(data: TreeData, theta: Mapping[str, slice]) -> Code:
    """v' of the tree."""
    load("dalembert.recursions.entries")
    from dalembert.recursions import entries

    kernels = {"value": entries.explicit}
    if data.full:
        load("dalembert.recursions.derivatives")
        from dalembert.recursions import derivatives

        kernels |= {"by p": derivatives.explicit_by_p, "by v": derivatives.explicit_by_v}
        kernels["by applied"] = derivatives.explicit_by_applied
    return _code(data, kernels)


def residual_force(data: TreeData, theta: Mapping[str, slice]) -> Code:
    """f of M v' = f, and M a − f."""
    load("dalembert.recursions.derivatives")
    from dalembert.recursions import derivatives, entries

    kernels = {
        "value": entries.force, "by p": derivatives.force_by_p, "by v": derivatives.force_by_v,
        "by applied": derivatives.force_by_applied, "with a": entries.residual,
        "with a by p": derivatives.residual_by_p, "with a by v": derivatives.residual_by_v, "with a by a": entries.mass,
        "with a by applied": derivatives.residual_by_applied,
    }  # fmt: skip
    return _code(data, kernels, {("with a by p", "with a by v", "with a by a"): derivatives.residual_derivatives})


def mass_matrix(data: TreeData, theta: Mapping[str, slice]) -> Code:
    load("dalembert.recursions.entries")
    from dalembert.recursions import entries

    return _code(data, {"value": entries.mass})


def kinematics(data: TreeData, theta: Mapping[str, slice]) -> Code:
    """Z of p' = Z v."""
    load("dalembert.recursions.entries")
    from dalembert.recursions import entries

    kernels = {
        "value": entries.kinematics, "rate": entries.kinematics_rate, "first": entries.kinematics_first,
        "rate by v": entries.kinematics, "rate by p": entries.kinematics_rate_by_p, "by p": entries.kinematics_by_p,
        "first by p": entries.kinematics_first_by_p, "first by v": entries.kinematics_first_by_v,
    }  # fmt: skip
    return _code(data, kernels)


def closures(data: TreeData, theta: Mapping[str, slice]) -> Code:
    """g(p) of the loops."""
    load("dalembert.recursions.closures")
    from dalembert.recursions import closures

    kernels = {
        "value": closures.closure, "by p": closures.closure_by_p, "first": closures.closure_first,
        "first by v": closures.closure_first_by_v, "second": closures.closure_second,
    }  # fmt: skip
    return _code(data, kernels)
