"""A model with some of its constraints only: those that are released have no rows and no multipliers.

Symbols are those of the whole model, so that expressions of its variables (events, say) hold for both.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.kept import Kept, Slot
from dalembert.model.functions import ModelFunction, numbers_of
from dalembert.model.graph import Graph
from dalembert.model.namespace import Namespace

if TYPE_CHECKING:
    from dalembert.model.base import Model

RESTRICTED: Slot[Model] = Slot("models with some of the constraints", most=32)


def restricted(model: Model, active: frozenset[str]) -> Model:
    """The model in which only the constraints `active` (names of multipliers) are in force.

    Contacts that are neither named there nor by their `implied` are open: nothing is left of them in the forces.
    """
    known = model.kept.get(RESTRICTED, active, lambda: _build(model, active))
    variant = copy.copy(known)  # with the parameters and inputs that the model has now
    variant.graph = copy.copy(known.graph)
    variant.graph.parameters, variant.graph.discrete = model.graph.parameters, model.graph.discrete
    variant._inputs, variant._outputs, variant._start = model._inputs, model._outputs, model._start
    return variant


class RestrictedGraph(Graph):
    """The graph of such a model. Functions that could not be traced see all multipliers: released ones are zero."""

    whole: Graph
    rows: dict[str, list[int]]  # of the active constraints, by the kind of their multipliers

    def numbers(
        self,
        kinds: Iterable[str],
        hidden: Mapping[str, str],
        t: float,
        values: Mapping[str, np.ndarray],
        theta: np.ndarray,
        input_rates: bool = True,
    ) -> Namespace:
        return self.whole.numbers(kinds, hidden, t, self.whole_values(values), theta, input_rates)

    def argument(self, kind: str) -> ca.SX:
        if kind not in self.rows:
            return super().argument(kind)
        complete = ca.SX.zeros(self.whole.size(kind))
        complete[self.rows[kind]] = self.symbol[kind]
        return complete

    def whole_values(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        complete = dict(values)
        for kind, rows in self.rows.items():
            if kind in values:
                complete[kind] = np.zeros(self.whole.size(kind))
                complete[kind][rows] = values[kind]
        return complete


def with_released(graph: Graph, own: Graph) -> Graph:
    """A graph of the whole model for a model whose graph is `own`: Python functions see zeros for what is released."""
    if not isinstance(own, RestrictedGraph):
        return graph
    twin = RestrictedGraph.__new__(RestrictedGraph)
    twin.__dict__.update(graph.__dict__)
    twin.whole, twin.rows = graph, own.rows
    return twin


def _build(model: Model, active: frozenset[str]) -> Model:
    whole = model.graph
    graph = RestrictedGraph.__new__(RestrictedGraph)
    graph.__dict__.update(whole.__dict__)
    graph.whole = whole
    graph.rows = {kind: [i for i, name in enumerate(whole.vectors[kind]) if name in active] for kind in ("lam", "mu")}
    graph.vectors, graph.symbol, graph.externals = dict(whole.vectors), dict(whole.symbol), {}
    released = []
    for kind, rows in graph.rows.items():
        symbols = whole.symbol[kind]
        graph.vectors[kind] = tuple(whole.vectors[kind][i] for i in rows)
        graph.symbol[kind] = ca.vertcat(*(symbols[i] for i in rows)) if rows else ca.SX(0, 1)
        released += [symbols[i] for i in range(symbols.numel()) if i not in rows]
    discrete = dict(zip(whole.discrete, ca.vertsplit(whole.discrete_symbols), strict=True)) if whole.discrete else {}
    for contact in model.contacts:
        if contact.name not in active and contact.implied not in active:
            released += [discrete[name] for name in contact.discrete]
    of_role = {
        "holonomic": graph.rows["lam"],
        "velocity_constraints": graph.rows["lam"],
        "nonholonomic": graph.rows["mu"],
        "acceleration_constraints": [*graph.rows["lam"], *(whole.size("lam") + i for i in graph.rows["mu"])],
    }
    graph.functions = {}
    for role, function in whole.functions.items():
        rows = of_role.get(role)
        if rows != []:
            graph.functions[role] = _chosen(function, rows, ca.vertcat(*released))
    variant = copy.copy(model)
    variant.graph, variant.kept = graph, Kept(model.kept.lock)
    return variant


def _chosen(function: ModelFunction, rows: list[int] | None, released: ca.SX) -> ModelFunction:
    """A function with the given rows alone (None: all), and without the multipliers that are released."""
    if function.native is not None:
        applied = function.applied
        if applied is not None and released.numel():
            applied = ca.substitute(applied, released, ca.SX.zeros(released.numel()))
        shape = function.shape if rows is None else (len(rows), 1)
        return replace(function, shape=shape, applied=applied, chosen=None if rows is None else tuple(rows))
    if not function.traced and rows is None:
        return function
    shape = function.shape if rows is None else (len(rows), 1)
    if function.traced:
        sx = function.sx if rows is None else function.sx[rows]
        if released.numel():
            sx = ca.substitute(sx, released, ca.SX.zeros(released.numel()))
        return ModelFunction(function.role, shape, function.ndim, sx)

    @functools.wraps(function.python)  # messages name the user's function
    def python(s: Any) -> np.ndarray:
        return numbers_of(function.python(s)).ravel()[rows]

    return ModelFunction(function.role, shape, 1, None, python, function.reason)
