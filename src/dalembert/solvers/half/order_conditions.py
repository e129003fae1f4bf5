"""Order conditions of half-explicit Runge-Kutta methods on the equations of motion, by enumeration of rooted trees.

Derivatives of the solution of

    p' = Z(p) v,   M(p) v' = f(p, v, r) − (C(p)ᵀ − F(p, v, r)) λ,   r' = b(p, v, r),   C(p) v + g_t(p) = 0

(time is one of p; F is the friction of what slides)

are sums over trees [1]_. A tree of order n with a root of p, v or r has children of order n − 1 together; one whose
root is λ, which stands for the derivative of a constraint, has children of order n + 1 together:

    root p: any number of p, at most one v          root r: any number of p, v, r
    root v: any number of p, v, r, at most one λ    root λ: any number of p, at most one v

The numerical solution has the same expansion with weights: A φ and Ā φ in place of integrals, Ā⁻¹ in place of the
derivative. So the order is n if both agree for all trees up to order n, that is b·φ(t) = 1/γ(t).

References
----------
.. [1] E. Hairer, Ch. Lubich, M. Roche, "The numerical solution of differential-algebraic systems by Runge-Kutta
   methods", Lecture Notes in Mathematics 1409, Springer 1989, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dalembert.solvers.half.tableau import HalfExplicitTableau


class Tree(NamedTuple):
    """What counts of a tree: its weights, one for each stage, and what they should be integrated to."""

    order: int
    weights: np.ndarray
    exact: float
    trivial: bool  # v' = … − M⁻¹ (Cᵀ − F) λ alone: the derivative of a constraint gives this λ back


def defects(tableau: HalfExplicitTableau, order: int) -> dict[int, float]:
    """By how much the conditions of each order up to `order` are missed at most.

    >>> from dalembert.solvers.hem5 import TABLEAU
    >>> [bool(value < 1e-12) for value in defects(TABLEAU, 6).values()]
    [True, True, True, True, True, False]
    """
    forest = _Forest(tableau)
    return {n: forest.grow(n) for n in range(1, order + 1)}


class _Forest:
    def __init__(self, tableau: HalfExplicitTableau):
        self.A, self.closing, self.b = tableau.A, tableau.closing, tableau.weights
        self.first = int(tableau.first_known)
        self.inverse = np.linalg.inv(self.closing[self.first :, self.first :])
        self.trees: dict[str, dict[tuple, Tree]] = {kind: {} for kind in "pvrλ"}

    def grow(self, n: int) -> float:
        """Add the trees of order n, those of lower order being there; returns the largest defect."""
        self._differential(n)
        if n > 1:
            self._algebraic(n - 1)
            self._differential(n)  # those with the new λ
        return max(
            abs(self.b @ tree.weights - tree.exact) for kind in "pvr" for tree in self._of(kind) if tree.order == n
        )

    def _of(self, kinds: str) -> list[Tree]:
        return [tree for kind in kinds for tree in self.trees[kind].values()]

    def _add(self, kinds: str, order: int, weights: np.ndarray, exact: float, trivial: bool = False) -> None:
        # trees of equal weights are one condition, and one child
        key = (order, trivial, *np.round([*weights, exact], 11))
        for kind in kinds:
            self.trees[kind].setdefault(key, Tree(order, weights, exact, trivial))

    def _differential(self, n: int) -> None:
        p, v, multipliers = self._of("p"), self._of("v"), self._of("λ")
        for children in _bags(p, n - 1):
            self._add("pvr", n, *self._at_stages(children, n))
        for one in v:
            for rest in _bags(p, n - 1 - one.order):
                self._add("p", n, *self._at_stages((*rest, one), n))
        for children in _bags(self._of("pvr"), n - 1):
            self._add("vr", n, *self._at_stages(children, n))
        for one in multipliers:
            for rest in _bags(self._of("pvr"), n - 1 - one.order):
                weights, exact = self._at_stages(rest, n)
                self._add("v", n, weights * one.weights, exact * one.exact, trivial=not rest)

    def _algebraic(self, n: int) -> None:
        p, v = self._of("p"), self._of("v")
        bags = [*_bags(p, n + 1), *((*rest, one) for one in v for rest in _bags(p, n + 1 - one.order))]
        for children in bags:
            if len(children) == 1 and children[0].trivial:
                continue
            product, exact = np.ones(len(self.b)), float(n + 1)
            for child in children:
                product, exact = product * (self.closing @ child.weights), exact * child.exact
            weights = np.zeros(len(self.b))
            weights[self.first :] = self.inverse @ product[self.first :]
            self._add("λ", n, weights, exact)

    def _at_stages(self, children: Iterable[Tree], n: int) -> tuple[np.ndarray, float]:
        weights, exact = np.ones(len(self.b)), 1.0 / n
        for child in children:
            weights, exact = weights * (self.A @ child.weights), exact * child.exact
        return weights, exact


def _bags(trees: list[Tree], total: int, start: int = 0) -> Iterator[tuple[Tree, ...]]:
    """Collections, with repetition, whose orders sum to `total`."""
    if total == 0:
        yield ()
    for k in range(start, len(trees)):
        if trees[k].order <= total:
            for rest in _bags(trees, total - trees[k].order, k):
                yield (trees[k], *rest)
