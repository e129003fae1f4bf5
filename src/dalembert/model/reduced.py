"""A DAE without unknowns that are others, perhaps with the other sign, or constants: these are put in their place.

The other unknowns, and the equations that are left, keep their symbols and names. Functions that users write still
find all unknowns in their namespaces.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.kept import Kept
from dalembert.model.base import Model
from dalembert.model.dae import DAE
from dalembert.model.functions import ModelFunction
from dalembert.model.graph import Graph
from dalembert.model.namespace import Namespace
from dalembert.model.outputs import Outputs


@dataclass(frozen=True, eq=False)
class Expansion:
    """All unknowns of a DAE by those that are kept: x = factor · kept[source] + constant(θ).

    `source` is −1, and `factor` 0, for constants. `rows` are the numbers of the equations that are kept.
    """

    kept: np.ndarray
    rows: np.ndarray
    source: np.ndarray
    factor: np.ndarray
    constant: ca.SX  # of the parameters; zero for all that are no constants
    theta: ca.SX
    _constants: Any = field(init=False, repr=False)
    _fixed: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_constants", ca.Function("constants", [self.theta], [ca.densify(self.constant)]))
        object.__setattr__(self, "_fixed", np.flatnonzero(self.source < 0))

    @property
    def eliminated(self) -> np.ndarray:
        """Numbers of the unknowns that are not kept."""
        return np.setdiff1d(np.arange(len(self.source)), self.kept)

    def rates(self, values: np.ndarray) -> np.ndarray:
        """Differences or derivatives of all unknowns (last axis) from those of the kept ones."""
        found = self.factor * values[..., self.source]
        found[..., self._fixed] = 0.0
        return found

    def states(self, values: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """All unknowns (last axis) from the kept ones; the same parameters for all states."""
        return self.rates(values) + self.constants(theta)

    def constants(self, theta: np.ndarray) -> np.ndarray:
        """The values of those that are constant, and zeros."""
        if not len(self._fixed):
            return np.zeros(len(self.source))
        return np.asarray(self._constants(theta), float).ravel()

    def expressions(self, kept: ca.SX, constant: bool = True) -> ca.SX:
        """All unknowns as expressions, or their derivatives, of which those of constants are zero."""
        return ca.densify((self.constant if constant else 0) + ca.mtimes(self.merge, kept))

    @property
    def merge(self) -> ca.DM:
        """The matrix of x = merge · kept + constant."""
        moving = np.flatnonzero(self.source >= 0)
        places = moving.tolist(), self.source[moving].tolist()
        return ca.DM.triplet(*places, ca.DM(self.factor[moving]), len(self.source), len(self.kept))


class ReducedGraph(Graph):
    """The graph of such a model. Namespaces have all unknowns, be they symbols or what stands in their place."""

    whole: Graph
    whole_outputs: Outputs
    expansion: Expansion
    expressions: dict[str, ca.SX]  # of all unknowns, and of their derivatives

    def _places(self, kinds: tuple[str, ...], input_rates: bool) -> dict[str, tuple[str, Any]]:
        return self.whole._places(kinds, input_rates)

    def _symbol_at(self, kind: str, where: Any) -> Any:
        if kind not in self.expressions:
            return super()._symbol_at(kind, where)
        twin = copy.copy(self.whole)
        twin.symbol, twin.dx = {**self.whole.symbol, "x": self.expressions["x"]}, self.expressions["dx"]
        return twin._symbol_at(kind, where)

    def numbers(
        self,
        kinds: Iterable[str],
        hidden: Mapping[str, str],
        t: float,
        values: Mapping[str, np.ndarray],
        theta: np.ndarray,
        input_rates: bool = True,
    ) -> Namespace:
        complete = dict(values)
        if "x" in values:
            complete["x"] = self.expansion.states(np.asarray(values["x"]), theta)
        if "dx" in values:
            complete["dx"] = self.expansion.rates(np.asarray(values["dx"]))
        branch = self.whole.branch(None if self.outputs is None else self.whole_outputs)
        return branch.numbers(kinds, hidden, t, complete, theta, input_rates)


def without(model: Model, expansion: Expansion) -> DAE:
    """The model of the kept unknowns and equations."""
    whole = model.graph
    graph = ReducedGraph.__new__(ReducedGraph)
    graph.__dict__.update(whole.__dict__)
    graph.whole, graph.whole_outputs, graph.expansion = whole, model.outputs, expansion
    kept = expansion.kept.tolist()
    graph.vectors = {"x": tuple(whole.vectors["x"][j] for j in kept)}
    graph.symbol, graph.dx = {"x": whole.symbol["x"][kept]}, whole.dx[kept]
    graph.expressions = {
        "x": expansion.expressions(graph.symbol["x"]),
        "dx": expansion.expressions(graph.dx, constant=False),
    }
    graph.externals, graph.functions, graph.digest = {}, {}, None
    old = ca.vertcat(whole.symbol["x"], whole.dx)
    new = ca.vertcat(graph.expressions["x"], graph.expressions["dx"])
    first = 0
    for role in ("residual", "rhs", "constraints"):
        if role not in whole.functions:
            continue
        function, count = whole.functions[role], whole.functions[role].shape[0]
        rows = expansion.rows[(expansion.rows >= first) & (expansion.rows < first + count)] - first
        first += count
        if len(rows) or role != "constraints":
            sx = ca.substitute(function.sx[rows.tolist()], old, new)
            graph.functions[role] = ModelFunction(role, (len(rows), 1), 1, ca.densify(sx))
            if role == "rhs":
                graph.functions["leading"] = _leading(whole.functions["leading"], rows, expansion, old, new)
    variant = copy.copy(model)
    variant.graph, variant.kept = graph, Kept(model.kept.lock)
    variant._outputs, variant._start = model.outputs.substituted(graph, old, new), {}
    names = model.equation_names
    variant._equation_names = tuple(names[i] for i in expansion.rows)
    return variant


def _leading(function: ModelFunction, rows: np.ndarray, expansion: Expansion, old: ca.SX, new: ca.SX) -> ModelFunction:
    """E with the columns of unknowns that are one and the same added up."""
    sx = ca.sparsify(ca.substitute(ca.mtimes(function.sx[rows.tolist(), :], expansion.merge), old, new))
    return ModelFunction("leading", sx.shape, 2, sx)
