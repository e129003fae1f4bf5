"""What a regularized DAE is made of: the constraints of its levels, and the equations between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from dalembert.model import Model
from dalembert.regularize.structure.analysis import Structure


def picked(column: ca.SX, places: Sequence[int] | np.ndarray) -> ca.SX:
    """Entries of a column, as a column also if there is none."""
    return column[np.asarray(places, int).tolist()] if len(places) else ca.SX(0, 1)


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints of one level: 0 = `rows`, as functions of x, y, t and θ, and what they are called."""

    rows: ca.SX
    names: tuple[str, ...]
    equations: (
        np.ndarray
    )  # numbers of the model's equations (first those with derivatives) of which they are derivatives
    added: np.ndarray  # mask of those that the user did not write

    def __len__(self) -> int:
        return len(self.names)


NOTHING = Constraints(ca.SX(0, 1), (), np.zeros(0, int), np.zeros(0, bool))


@dataclass(frozen=True, eq=False)
class Regularized:
    """A DAE with the constraints of all levels.

    Attributes
    ----------
    x, x_dot, y : SX
        Unknowns, the derivatives of x, and derivatives that are unknowns of their own. The graph's symbols, but for y.
    E, k : SX
        Differential equations E(x,t) x' = k(x,y,t).
    levels : tuple of Constraints
        Constraints by level.
    rates : SX
        x' as functions of x, y and t, for those unknowns whose derivatives are determined (`determined`); else zero.
    y_of : array (n_y, 2)
        Number of the unknown and order of the derivative that each y is.
    invariants : Constraints
        Rows that the user has written which are no constraints: they stay as they are along solutions.
    """

    model: Model
    structure: Structure
    x: ca.SX
    x_dot: ca.SX
    y: ca.SX
    E: ca.SX
    k: ca.SX
    levels: tuple[Constraints, ...]
    differential_names: tuple[str, ...]
    y_names: tuple[str, ...]
    y_of: np.ndarray
    rates: ca.SX
    determined: np.ndarray  # mask of the unknowns
    invariants: Constraints = field(default_factory=lambda: NOTHING)

    @property
    def constraints(self) -> ca.SX:
        """Those of all levels, one below the other."""
        return ca.vertcat(*(level.rows for level in self.levels))

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return tuple(name for level in self.levels for name in level.names)

    @property
    def added(self) -> np.ndarray:
        """Mask of the constraints (of all levels) that the user did not write."""
        return np.concatenate([np.zeros(0, bool), *(level.added for level in self.levels)])

    @property
    def degrees_of_freedom(self) -> int:
        return self.structure.degrees_of_freedom

    @property
    def hides(self) -> bool:
        """Whether there is anything in it that the model itself does not say."""
        return self.structure.hides

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(level)} of level {k}" for k, level in enumerate(self.levels))
        return (
            f"Regularized(model {self.model.name!r}: {self.x.numel()} + {self.y.numel()} unknowns, "
            f"{self.k.numel()} differential equations, constraints: {counts or 'none'})"
        )
