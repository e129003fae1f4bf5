"""Unknowns of a DAE that are others, x = ±y, or constants, x = c(parameters): they leave the equations.

An equation without derivatives that says nothing else is taken away together with one unknown. Of unknowns that are one
and the same one is kept, that whose derivative occurs if there is such a one. What is shown to users has all of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.base import occurrences
from dalembert.model.dae import DAE
from dalembert.model.graph import Graph
from dalembert.model.linearity import linear_entries
from dalembert.model.reduced import Expansion, ReducedGraph, without
from dalembert.regularize.structure.incidence import Equations

REDUCTIONS: Slot[Reduction | None] = Slot("reduction by aliases and constants", most=1)
#: substitution may show further ones; so often it is looked for them
PASSES = 10
#: characters of an expression of parameters that is shown
LONGEST = 60


@dataclass(frozen=True)
class Alias:
    """An unknown that was eliminated: `factor` · `other`, or constant, a number or an expression of parameters.

    `other` is the unknown that is kept, or None; `constant` is how a constant is written.
    """

    variable: str
    other: str | None = None
    factor: int = 0
    constant: str | None = None

    def __str__(self) -> str:
        if self.other is not None:
            return f"{self.variable} = {'-' if self.factor < 0 else ''}{self.other}"
        return f"{self.variable} = {self.constant}"


@dataclass(frozen=True, eq=False)
class Reduction:
    """What was eliminated from a model, and the model that is left."""

    aliases: tuple[Alias, ...]
    expansion: Expansion
    base: DAE  # with the parameters that the model had when it was made

    def of(self, model: Model) -> DAE:
        """The reduced model with the parameters, inputs and discrete values that `model` has now."""
        variant = copy.copy(self.base)
        variant.graph = copy.copy(self.base.graph)
        variant.graph.parameters, variant.graph.discrete = model.graph.parameters, model.graph.discrete
        variant.graph.whole = model.graph  # ty: ignore[invalid-attribute-access]  # of this graph alone
        variant._inputs = model._inputs
        return variant


def reduction_of(model: Model) -> Reduction | None:
    """What can be eliminated (kept with the model); None if there is nothing, or nothing is to be derived.

    Examples
    --------
    >>> import dalembert as da
    >>> circuit = da.ImplicitDAE(
    ...     x=["v", "v_C", "i", "v_0"], parameters={"R": 2.0, "V": 5.0},
    ...     residual=lambda s: [s.v - s.v_C, s.v_C_dot - s.i, s.v_0 - s.v - s.R * s.i, s.v_0 - s.V])
    >>> [str(alias) for alias in reduction_of(circuit).aliases]
    ['v = v_C', 'v_0 = V']
    """
    if model.hidden != "auto" or isinstance(model.graph, ReducedGraph):
        return None
    return model.kept.get(REDUCTIONS, None, lambda: _find(model))


def reduced(model: Model) -> Model:
    """The model without what can be eliminated; the model itself if that is nothing."""
    reduction = reduction_of(model)
    return model if reduction is None else reduction.of(model)


def _find(model: Model) -> Reduction | None:
    if any(not function.traced for function in model.graph.functions.values()):
        return None
    classes = Classes(model)
    while classes.passes < PASSES and classes.look():
        pass
    if not classes.taken or not classes.leave_a_model():
        return None
    expansion = classes.expansion()
    return Reduction(tuple(classes.aliases(expansion)), expansion, without(model, expansion))


class Classes:
    """Unknowns that are one and the same, up to the sign, as a forest: each points to another one, or to itself."""

    def __init__(self, model: Model):
        self.model, self.graph = model, model.graph
        equations = Equations.of(model)
        self.names, self.residual = equations.names, equations.residual
        self.x, self.x_dot = equations.x, equations.x_dot
        self.n = self.x.numel()
        self._pattern = self._occurring()
        moves = np.diff(self._pattern.colind())[self.n : 2 * self.n] > 0
        self.preferred = np.where(moves, 0, self.n) + np.arange(self.n)  # the smallest one of a class is kept
        self.parent, self.sign = np.arange(self.n), np.ones(self.n, int)
        self.constants: dict[int, ca.SX] = {}  # by the root of the class
        self.taken: set[int] = set()  # equations that were used
        self.passes = 0

    def root(self, j: int) -> tuple[int, int]:
        """The unknown that stands for j, and the sign between them."""
        sign, path = 1, []
        while self.parent[j] != j:
            path.append(j)
            j = int(self.parent[j])
        for k in reversed(path):  # shorter for those who ask next
            sign *= int(self.sign[k])
            self.parent[k], self.sign[k] = j, sign
        return j, sign

    def look(self) -> bool:
        """Find aliases and constants in the equations as they are now; whether there were any."""
        self.passes += 1
        before = len(self.taken)
        for row, columns, factors, rest in self._candidates():
            self._take(row, columns, factors, rest)
        if len(self.taken) == before:
            return False
        expansion = self.expansion()
        kept = expansion.kept.tolist()
        old, new = (
            ca.vertcat(self.x, self.x_dot),
            ca.vertcat(expansion.expressions(self.x[kept]), expansion.expressions(self.x_dot[kept], constant=False)),
        )
        self.residual = ca.substitute(self.residual, old, new)
        self._pattern = self._occurring()
        return True

    def _occurring(self) -> ca.Sparsity:
        """What occurs in which equation: unknowns, derivatives, and whatever else may change."""
        return ca.jacobian_sparsity(self.residual, ca.vertcat(self.x, self.x_dot, self.graph.changing))

    def _candidates(self) -> Iterator[tuple[int, list[int], list[float], ca.SX]]:
        """Equations a x + b y = 0 with |a| = |b|, or a x + c = 0 with c of parameters: number, columns, a and b, c."""
        rows, columns = (np.array(part, int) for part in self._pattern.get_triplet())
        count = np.bincount(rows, minlength=len(self.names))
        other = np.bincount(rows[columns >= self.n], minlength=len(self.names))
        few = (count >= 1) & (count <= 2) & (other == 0)
        few[list(self.taken)] = False
        chosen = np.flatnonzero(few)
        if not len(chosen):
            return
        part = self.residual[chosen.tolist()]
        linear = linear_entries(ca.densify(part), self.x)
        J = ca.jacobian(part, self.x)
        rest = ca.substitute(part, self.x, ca.SX.zeros(self.n))
        by_row: dict[int, list[tuple[int, ca.SX]]] = {}
        for i, j, entry in zip(*J.sparsity().get_triplet(), J.nonzeros(), strict=True):
            by_row.setdefault(i, []).append((j, entry))
        for k, row in enumerate(chosen.tolist()):
            entries = by_row.get(k, [])
            if not linear[k] or len(entries) != count[row] or not all(e.is_constant() for _, e in entries):
                continue
            factors = [float(entry) for _, entry in entries]
            same = len(factors) == 1 or (abs(factors[0]) == abs(factors[1]) and rest[k].is_zero())
            if same and 0.0 not in factors and np.isfinite(factors).all():
                yield row, [j for j, _ in entries], factors, rest[k]

    def _take(self, row: int, columns: list[int], factors: list[float], rest: ca.SX) -> None:
        """Use an equation, unless what was used before has said the same, or something else, of these unknowns."""
        roots = [self.root(j) for j in columns]
        if len(columns) == 1:
            (root, sign), factor = roots[0], factors[0]
            if root not in self.constants:
                self.constants[root] = -rest / (factor * sign)
                self.taken.add(row)
            return
        (one, sign_one), (two, sign_two) = roots
        if one == two or (one in self.constants and two in self.constants):
            return  # the next pass sees what is left of it
        ratio = -int(np.sign(factors[0] * factors[1])) * sign_one * sign_two  # one = ratio · two
        keep, leave = (one, two) if self.preferred[one] < self.preferred[two] else (two, one)
        self.parent[leave], self.sign[leave] = keep, ratio
        if leave in self.constants:
            self.constants[keep] = ratio * self.constants.pop(leave)
        self.taken.add(row)

    def expansion(self) -> Expansion:
        """All unknowns by those that are kept."""
        roots, signs = (np.array(part, int) for part in zip(*(self.root(j) for j in range(self.n)), strict=True))
        constant = ca.SX.zeros(self.n)
        fixed = np.isin(roots, list(self.constants))
        for j in np.flatnonzero(fixed).tolist():
            constant[j] = int(signs[j]) * self.constants[int(roots[j])]
        kept = np.flatnonzero((roots == np.arange(self.n)) & ~fixed)
        number = np.full(self.n, -1)
        number[kept] = np.arange(len(kept))
        source = np.where(fixed, -1, number[roots])
        rows = np.setdiff1d(np.arange(len(self.names)), list(self.taken))
        if len(rows) > len(kept):  # of an overdetermined model: what has become 0 = 0 says nothing
            rows = np.array([i for i in rows if not self.spare(int(i))], int)
        return Expansion(kept, rows, source, np.where(fixed, 0, signs), constant, self.graph.theta)

    def leave_a_model(self) -> bool:
        """Whether something is left to integrate, and no equation was left without unknowns: it would say 0 = 1, or
        the same as others, and the model as it stands tells better what is wrong. So it does if there are more
        differential equations than unknowns."""
        rows = np.setdiff1d(np.arange(len(self.names)), list(self.taken))
        if not 1 <= (rows < self.model.n_differential).sum() <= self.n - len(self.taken):
            return False
        contain, _ = occurrences(self.residual[rows.tolist()], ca.vertcat(self.x, self.x_dot))
        return all(self.spare(int(i)) for i in rows[~contain])

    def spare(self, row: int) -> bool:
        """Whether an equation has become 0 = 0, and there are more of them than unknowns."""
        return len(self.names) > self.n and self.residual[row].is_zero()

    def aliases(self, expansion: Expansion) -> Iterator[Alias]:
        """What was eliminated, in the order of the unknowns."""
        variables, graph = self.model.names("x"), self.graph
        named = [ca.SX.sym(name) for name in _parameter_names(graph)]
        constants = ca.substitute(expansion.constant, graph.parameter_symbols, ca.vertcat(*named))
        for j in expansion.eliminated.tolist():
            source = int(expansion.source[j])
            if source < 0:
                yield Alias(variables[j], constant=_written(constants[j]))
            else:
                yield Alias(variables[j], variables[expansion.kept[source]], int(expansion.factor[j]))


def _parameter_names(graph: Graph) -> Iterator[str]:
    for name, value in graph.parameters.items():
        yield from [name] if value.ndim == 0 else (f"{name}[{i}]" for i in range(value.size))


def _written(constant: ca.SX) -> str:
    """A number, or an expression of parameters if it is short."""
    if constant.is_constant():
        return f"{float(constant):.10g}"
    text = str(constant).replace("2.*", "2*")  # as CasADi writes a double
    depth = np.cumsum([(c == "(") - (c == ")") for c in text])
    if text[0] == "(" and (depth[:-1] > 0).all():  # around the whole of it
        text = text[1:-1]
    return text if len(text) <= LONGEST else "an expression of parameters"
