"""Choices that parameters make at translation: where the branches differ in the unknowns that they contain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.modelica import tree
from dalembert.modelica.lower.atoms import Atom


def fold(
    node: Any,
    atoms: Callable[[Any], set[Atom]],
    is_constant: Callable[[Any], bool],
    truth: Callable[[Any], bool],
) -> Any:
    """A tree without choices between expressions of different unknowns that depend on parameters alone.

    `is_constant` says whether an expression is one of parameters, and `truth` is the value of a condition.
    """
    if not isinstance(node, tuple) or not _has_choice(node):
        return node
    if isinstance(node, tree.IfExpression):
        return _choice(node, atoms, is_constant, truth)
    parts = [fold(child, atoms, is_constant, truth) if isinstance(child, tuple) else child for child in node]
    if all(a is b for a, b in zip(parts, node, strict=True)):
        return node
    return type(node)(*parts) if hasattr(node, "_fields") else tuple(parts)


def _choice(node: tree.IfExpression, atoms: Any, is_constant: Any, truth: Any) -> Any:
    branches = [(condition, fold(then, atoms, is_constant, truth)) for condition, then in node.branches]
    otherwise = fold(node.otherwise, atoms, is_constant, truth)
    inside = [atoms(one) for _, one in branches] + [atoms(otherwise)]
    if all(one == inside[0] for one in inside):
        return tree.IfExpression(node.at, tuple(branches), otherwise)
    kept = []
    for condition, then in branches:
        if not is_constant(condition):
            kept.append((condition, then))
        elif truth(condition):
            otherwise = then
            break
    return tree.IfExpression(node.at, tuple(kept), otherwise) if kept else otherwise


def _has_choice(node: tuple) -> bool:
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tree.IfExpression):
            return True
        waiting += [child for child in one if isinstance(child, tuple)]
    return False
