"""Structural analysis of a DAE: its index, how often each equation is differentiated, what is solved together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.checks import shown
from dalembert.errors import OptionError, StructurallySingular
from dalembert.kept import Slot, computed
from dalembert.model import Model
from dalembert.regularize.structure.aliases import Alias, reduction_of
from dalembert.regularize.structure.decomposition import Block, too_few, too_many, triangular_blocks
from dalembert.regularize.structure.incidence import Equations, Incidence
from dalembert.regularize.structure.matching import (
    best_transversal,
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
    eliminated : tuple of Alias
        Unknowns that leave the equations before they are integrated: aliases of others, and constants. All that stands
        here is about the equations with them.
    spent : array of int or None
        For each equation how often others were differentiated to write it, if it is a combination of equations.
    """

    equations: tuple[str, ...]
    variables: tuple[str, ...]
    rows: np.ndarray
    incidence: Incidence
    c: np.ndarray
    d: np.ndarray
    matching: np.ndarray
    eliminated: tuple[Alias, ...] = ()
    spent: np.ndarray | None = None

    @computed
    def index(self) -> int:
        """The structural index, 0 for ordinary differential equations."""
        counts = self.c if self.spent is None else self.c + self.spent
        return int(counts.max(initial=0)) + int((self.d == 0).any())

    @property
    def hides(self) -> bool:
        """Whether derivatives of equations are constraints. Up to index 1 they only tell what derivatives are."""
        return self.index > 1 or (self.spent is not None and bool(self.spent.any()))

    @computed
    def degrees_of_freedom(self) -> int:
        """How many values may be chosen at the start."""
        return int(self.d.sum() - self.c.sum())

    @computed
    def differentiated(self) -> dict[int, tuple[str, ...]]:
        """Names of the equations that are to be differentiated, by how often; those that are not are left out."""
        counts = np.unique(self.c[self.c > 0]).tolist()
        return {k: tuple(self.equations[i] for i in np.flatnonzero(self.c == k)) for k in counts}

    @computed
    def leading(self) -> Incidence:
        """The entries with σ = d − c: the pattern of the system Jacobian, by which highest derivatives follow."""
        sigma = self.incidence
        return sigma.where(sigma.order == self.d[sigma.columns] - self.c[sigma.rows])

    @computed
    def blocks(self) -> list[Block]:
        """Rows and columns of the block triangular form of `leading`, in the order of solution."""
        return triangular_blocks(self.leading, self.matching)

    def __repr__(self) -> str:
        return (
            f"Structure({len(self.variables)} unknowns, index {self.index}, {self.degrees_of_freedom} degrees of "
            f"freedom, {int(self.c.sum())} differentiations, {len(self.blocks)} blocks)"
        )


def analyse(model: Model, rows: Sequence[int] | np.ndarray | None = None) -> Structure:
    """The structure of a `QuasiLinearDAE` or `ImplicitDAE` (kept with the model).

    Parameters
    ----------
    rows : sequence of int, optional
        Which equations to analyse, as many as there are unknowns. Default: all; of an overdetermined model as many as
        have a transversal, those of which the others seem to be consequences.

    Raises
    ------
    StructurallySingular
        If equations are too many for the unknowns in them, or too few; by name.
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
    >>> structure
    Structure(5 unknowns, index 3, 2 degrees of freedom, 4 differentiations, 1 blocks)
    >>> structure.differentiated
    {1: ('equation 1', 'equation 2'), 2: ('equation 5',)}
    """
    key = None if rows is None else tuple(int(i) for i in rows)
    return model.kept.get(STRUCTURES, key, lambda: _analyse(model, key))


def equations_of(model: Model) -> tuple[Equations, Incidence]:
    """All equations of a model and their incidence, kept with it.

    Combinations in which derivatives cancel stand in place of equations.
    """
    from dalembert.regularize.structure.combine import combined  # which makes structures itself

    return model.kept.get(EQUATIONS, None, lambda: combined(model, Equations.of(model)))


def _analyse(model: Model, chosen: tuple[int, ...] | None) -> Structure:
    equations, whole = equations_of(model)
    count, n = whole.shape
    if chosen is None:
        from dalembert.regularize.structure.base_rows import base_rows  # which makes structures itself

        rows = np.arange(count) if count <= n else base_rows(model, equations, whole)
    else:
        rows = np.array(chosen, np.int64)
        if not all(0 <= i < count for i in chosen) or len(set(chosen)) < len(chosen):
            raise OptionError(f"rows={shown(chosen)} must be different numbers of equations, 0 to {count - 1}")
    sigma = whole.take(rows)
    names, variables = tuple(equations.names[i] for i in rows), model.names("x")
    if len(rows) != n or (maximum_matching(sigma) < 0).any():
        _complain(model, sigma, names, variables)
    matching = best_transversal(sigma)
    c, d = smallest_offsets(sigma, matching)
    reduction = reduction_of(model)
    aliases = () if reduction is None else reduction.aliases
    spent = None if equations.spent is None else equations.spent[rows]
    return Structure(names, variables, rows, sigma, c, d, matching, aliases, spent)


def _complain(model: Model, sigma: Incidence, equations: Sequence[str], variables: Sequence[str]) -> None:
    """Raise StructurallySingular with the names of all parts that have too many or too few equations."""

    def named(parts: list[Block]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        return tuple(
            (tuple(equations[i] for i in rows), tuple(variables[j] for j in columns)) for rows, columns in parts
        )

    over, under = named(too_many(sigma)), named(too_few(sigma))
    faults = []
    for rows, columns in over:
        contain = "contain" if len(rows) > 1 else "contains"
        what = f"only {listed(columns, quoted=True)}" if columns else "no unknown"
        faults.append(
            f"too many equations: {listed(rows)} {contain} {what}; leave one out, or let one contain another unknown"
        )
    for rows, columns in under:
        occur, it = ("occur", "one of them") if len(columns) > 1 else ("occurs", "it")
        where = f"only in {listed(rows)}" if rows else "in no equation"
        faults.append(
            f"too few equations: {listed(columns, quoted=True)} {occur} {where}; add an equation that contains {it}"
        )
    raise StructurallySingular(
        f"model '{model.name}' is structurally singular: its equations cannot determine its unknowns, whatever the "
        "numbers in them",
        faults,
        over,
        under,
    )


def listed(names: Sequence[str], most: int = 8, quoted: bool = False) -> str:
    """Names for a message, the first ones if there are many.

    >>> listed(["a", "b"], quoted=True), listed(["a", "b", "c", "d"], most=2)
    ("'a', 'b'", 'a, b, … (4 in all)')
    """
    shown_ = ", ".join(f"'{name}'" if quoted else name for name in names[:most])
    return shown_ if len(names) <= most else f"{shown_}, … ({len(names)} in all)"
