"""Structural analysis of a DAE: its index, how often each equation is differentiated, what is solved together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Slot, computed
from dalembert.model import Model
from dalembert.regularize.structure.decomposition import Block, triangular_blocks
from dalembert.regularize.structure.incidence import Equations, Incidence
from dalembert.regularize.structure.matching import (
    best_transversal,
    first_rows,
    maximum_matching,
    smallest_offsets,
)

EQUATIONS: Slot[tuple[Equations, Incidence]] = Slot("equations and their incidence", most=1)
STRUCTURES: Slot[Structure] = Slot("structural analysis", most=4)


@dataclass(frozen=True, eq=False)
class Structure:
    """What structural analysis tells of a DAE.

    Attributes
    ----------
    equations, variables : tuple of str
        Names of the equations that were analysed, and of the unknowns.
    rows : array of int
        Numbers of these equations among all that the model has: those of `rhs=` (or `residual=`), then `constraints=`.
    incidence : Incidence
        Which unknowns occur in them, and whether derivatives do.
    c, d : arrays of int
        Offsets: equation i is to be differentiated c[i] times; then derivatives of order d[j] of unknown j follow.
    matching : array of int
        For each equation the number of the unknown that it determines.
    """

    equations: tuple[str, ...]
    variables: tuple[str, ...]
    rows: np.ndarray
    incidence: Incidence
    c: np.ndarray
    d: np.ndarray
    matching: np.ndarray

    @computed
    def index(self) -> int:
        """The structural index, 0 for ordinary differential equations."""
        return int(self.c.max(initial=0)) + int((self.d == 0).any())

    @computed
    def degrees_of_freedom(self) -> int:
        """How many values may be chosen at the start."""
        return int(self.d.sum() - self.c.sum())

    @computed
    def leading(self) -> Incidence:
        """The entries with σ = d − c: the pattern of the system Jacobian, by which highest derivatives follow."""
        sigma = self.incidence
        return sigma.where(sigma.order == self.d[sigma.columns] - self.c[sigma.rows])

    @computed
    def blocks(self) -> list[Block]:
        """Rows and columns of the block triangular form of `leading`, in the order of solution."""
        return triangular_blocks(self.leading, self.matching)


def analyse(model: Model, rows: Sequence[int] | np.ndarray | None = None) -> Structure:
    """The structure of a `QuasiLinearDAE` or `ImplicitDAE` (kept with the model).

    Parameters
    ----------
    rows : sequence of int, optional
        Which equations to analyse, as many as there are unknowns. Default: all; of an overdetermined model as many as
        have a transversal, the first ones if there is a choice.

    Raises
    ------
    ModelError
        If functions run as Python code.

    Examples
    --------
    >>> import dalembert as da
    >>> pendulum = da.ImplicitDAE(
    ...     x=["x", "y", "vx", "vy", "lam"],
    ...     residual=lambda s: [s.x_dot - s.vx, s.y_dot - s.vy, s.vx_dot + s.lam * s.x, s.vy_dot + s.lam * s.y + 9.81,
    ...                         s.x**2 + s.y**2 - 1])
    >>> structure = analyse(pendulum)
    >>> structure.c.tolist(), structure.index, structure.degrees_of_freedom
    ([1, 1, 0, 0, 2], 3, 2)
    """
    key = None if rows is None else tuple(int(i) for i in rows)
    return model.kept.get(STRUCTURES, key, lambda: _analyse(model, key))


def equations_of(model: Model) -> tuple[Equations, Incidence]:
    """All equations of a model and their incidence, kept with it."""

    def make() -> tuple[Equations, Incidence]:
        equations = Equations.of(model)
        return equations, equations.incidence()

    return model.kept.get(EQUATIONS, None, make)


def _analyse(model: Model, rows: tuple[int, ...] | None) -> Structure:
    equations, whole = equations_of(model)
    if rows is None:
        rows = first_rows(whole) if whole.shape[0] > whole.shape[1] else np.arange(whole.shape[0])
    rows = np.array(rows, np.int64)
    sigma = whole.take(rows)
    names, variables = tuple(equations.names[i] for i in rows), model.names("x")
    if len(rows) != whole.shape[1] or (maximum_matching(sigma) < 0).any():
        raise ModelError(f"model '{model.name}' is structurally singular")
    matching = best_transversal(sigma)
    c, d = smallest_offsets(sigma, matching)
    return Structure(names, variables, rows, sigma, c, d, matching)
