"""What a DAE in symbols brings along beside its equations: start values, what changes at events, the experiment.

Expressions are in the symbols of the model's graph. They travel as a function of these, and come out in the symbols of
the graph at the other end.
"""

from __future__ import annotations

import dataclasses
import hashlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.model.graph import Graph
from dalembert.model.hybrid import Beginning, Hybrid
from dalembert.model.travel import Shared


@dataclass(frozen=True, eq=False)
class Belongings(Shared):
    """All that a `SymbolicDAE` is besides equations, outputs and parameters."""

    graph: Graph | None  # whose symbols occur; None while it travels
    beginning: Beginning
    hybrid: Hybrid | None = None
    nominal: Mapping[str, float] = dataclasses.field(default_factory=dict)
    t_span: tuple[float, float] | None = None
    tolerance: float | None = None
    least_steps: int = 0

    @computed
    def _guesses(self) -> ca.Function:
        return ca.Function("guesses", [self.graph.parameter_symbols], [ca.densify(self.beginning.guesses)])

    def guesses(self, parameters: np.ndarray) -> np.ndarray:
        """Start values of all unknowns for these parameters; guesses, where they are not `fixed`."""
        return np.array(self._guesses(parameters), float).ravel()

    def start(self, graph: Graph, model: str) -> dict[str, dict[str, float]]:
        """Those that somebody has written, as the argument x0 of a simulation; faults are named."""
        names, given = graph.vectors["x"], self.beginning.given | self.beginning.fixed
        values = self.guesses(graph.parameter_values)
        faults = [
            f"the start value of '{names[i]}' is {values[i]}; check the parameters in it"
            for i in np.flatnonzero(~np.isfinite(values))
        ]
        if faults:
            raise ModelError(f"start values of model '{model}'", faults)
        own = {names[i]: float(values[i]) for i in sorted(given)}
        return {"x0": own} if own else {}

    # -- travelling ------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        expressions: list[ca.SX] = []

        def packed(sx: ca.SX) -> _Place:
            expressions.append(sx)
            return _Place(len(expressions) - 1)

        state = {name: _mapped(getattr(self, name), ca.SX, packed) for name in _FIELDS}
        tape = ca.Function("belongings", _symbols(self.graph), expressions)
        return {**state, "tape": zlib.compress(tape.serialize().encode("latin-1"), 1)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, graph=None)
        others = repr([state[name] for name in _FIELDS]).encode()
        self.__dict__["digest"] = hashlib.sha256(others + state["tape"]).digest()

    def bound(self, graph: Graph, known: Belongings | None) -> Belongings:
        """These for a graph that came from elsewhere together with them; `known` came earlier, with the same graph."""
        if known is not None and known.__dict__.get("digest") == self.__dict__["digest"]:
            return known
        tape = ca.Function.deserialize(zlib.decompress(self.__dict__["tape"]).decode("latin-1"))
        values = tape.call(_symbols(graph))
        parts = {name: _mapped(getattr(self, name), _Place, lambda place: values[place.number]) for name in _FIELDS}
        arrived = Belongings(graph, **parts)
        arrived.__dict__["digest"] = self.__dict__["digest"]
        return arrived


_FIELDS = tuple(field.name for field in dataclasses.fields(Belongings) if field.name != "graph")


@dataclass(frozen=True)
class _Place:
    """Stands for an expression in what is pickled."""

    number: int


def _symbols(graph: Graph) -> list[ca.SX]:
    parts = graph.parameter_symbols, graph.discrete_symbols, graph.u, graph.du, graph.ddu, graph.symbol["x"], graph.dx
    return [graph.t, *parts]


def _mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The same with other leaves in place of those of a kind."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, tuple | list):
        return tuple(_mapped(each, kind, change) for each in value)
    if isinstance(value, Mapping):
        return {key: _mapped(each, kind, change) for key, each in value.items()}
    if dataclasses.is_dataclass(value):
        parts = {field.name: _mapped(getattr(value, field.name), kind, change) for field in dataclasses.fields(value)}
        return type(value)(**parts)
    return value
