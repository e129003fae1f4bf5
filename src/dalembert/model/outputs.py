"""Outputs of a model: named quantities that follow from its state, such as an energy or the position of a point.

They are no part of the equations: nothing is integrated or compiled for them. Those given as a plain mapping are traced
with the model, so that faults are found at once; `LazyOutputs` are traced one by one when somebody asks for them.
"""

from __future__ import annotations

import inspect
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import said, shown, users_arithmetic, words
from dalembert.errors import FunctionFailed, ModelError, StepRefused
from dalembert.kept import Kept, Slot
from dalembert.locks import renewed
from dalembert.model.expression import matrix, scalar, vector
from dalembert.model.functions import ModelFunction, call_with_numbers, describe, numbers_of, trace
from dalembert.model.namespace import Namespace, UnknownName, explain_unknown
from dalembert.model.travel import Shared, carried

if TYPE_CHECKING:
    from dalembert.model.graph import Graph

#: of outputs that were asked for
POINTS: Slot[Evaluator] = Slot("functions of outputs", most=64)
SYMBOLS: Slot[Namespace] = Slot("namespace of outputs", most=1)
READS: Slot[Reads] = Slot("what outputs depend on", most=1024)

_NO_RATES = "it is a derivative, and outputs follow from the unknowns x, t, parameters and inputs"


class LazyOutputs(Mapping[str, Any]):
    """Outputs that are made when they are first asked for: a model of many bodies has thousands of them.

    Parameters
    ----------
    descriptions : mapping of str to str
        A line about each output, by name.
    build : callable
        ``build(name)`` returns what a plain mapping would hold: a function of the namespace `s`, or constants. It is
        pickled with the model.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.model.outputs import LazyOutputs
    >>> powers = LazyOutputs({f"power {k}": f"x to the power of {k}" for k in range(1000)},
    ...                      lambda name: lambda s: s.x ** int(name.split()[1]))
    >>> model = da.EquationsOfMotion(p=["x"], mass=[1.0], force=[0.0], outputs=powers)
    >>> model.outputs.expression("power 2"), model.outputs.description("power 3")
    (SX(sq(p)), 'x to the power of 3')
    """

    #: whether names are known to be good ones, and those of nothing else
    checked = False

    def __init__(self, descriptions: Mapping[str, str], build: Callable[[str], Any]):
        self._descriptions = dict(descriptions)
        self._build = build

    def __getitem__(self, name: str) -> Any:
        if name not in self._descriptions:
            raise KeyError(name)
        return self._build(name)

    def __contains__(self, name: object) -> bool:
        return name in self._descriptions

    def __iter__(self) -> Iterator[str]:
        return iter(self._descriptions)

    def __len__(self) -> int:
        return len(self._descriptions)

    def description(self, name: str) -> str:
        """The line about an output."""
        return self._descriptions[name]

    def __reduce__(self) -> tuple:
        return LazyOutputs, (self._descriptions, carried(self._build, "build of LazyOutputs"))


@dataclass(frozen=True)
class Reads:
    """What an output depends on: rows of each vector that occur in it, and whether accelerations do."""

    rows: Mapping[str, np.ndarray]
    accelerations: bool


class Outputs(Shared, Mapping[str, ModelFunction]):
    """The outputs of one model, by name, as functions of its graph.

    Variants of the model share them. Asking for one traces it; what is wrong with it is a `ModelError`.

    Examples
    --------
    >>> import dalembert as da
    >>> ball = da.EquationsOfMotion(p=["x", "y"], mass=[1, 1], force=[0, -9.81],
    ...                             outputs={"height": lambda s: s.y, "path": lambda s: [s.x, s.y]})
    >>> ball.outputs.names, ball.outputs.shape("height"), ball.outputs.shape("path")
    (('height', 'path'), (), (2,))
    """

    def __init__(self, given: Mapping[str, Any], graph: Graph | None, model: str = "model"):
        self._given, self._graph, self._model = given, graph, model
        self._functions: dict[str, ModelFunction] = {}
        self._packed: tuple[dict[str, ModelFunction], bytes] | None = None  # expressions that came from elsewhere
        self._lock = renewed(threading.RLock())
        self._kept = Kept(self._lock)

    @classmethod
    def of_expressions(cls, given: Mapping[str, ca.SX], graph: Graph, model: str) -> Outputs:
        """Scalars that are expressions of the graph's symbols already."""
        known = cls(dict.fromkeys(given, _Arrived("")), graph, model)
        known._functions = {name: ModelFunction(role_of(name), (1, 1), 0, ca.densify(sx)) for name, sx in given.items()}
        return known

    # -- what there is ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._given)

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._given

    def __eq__(self, other: object) -> bool:  # not entry by entry, as mappings do: that would trace them
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        listed = ", ".join([*self.names[:5], *(["…"] if len(self) > 5 else [])])
        return f"Outputs({listed})"

    def description(self, name: str) -> str:
        """A line about an output: of a plain mapping the first one of the function's docstring; empty if unknown."""
        self._must_know(name)
        if isinstance(self._given, LazyOutputs):
            return self._given.description(name)
        given = self._given[name]
        if isinstance(given, _Arrived):
            return given.description
        text = getattr(given, "__doc__", None) if callable(given) else None
        return inspect.cleandoc(text).split("\n")[0] if text else ""

    def shape(self, name: str) -> tuple[int, ...]:
        """() of a scalar, (n,) of a vector, (n, m) of a matrix."""
        function = self[name]
        return ((), function.shape[:1], function.shape)[function.ndim]

    def expression(self, name: str) -> ca.SX:
        """An output as an expression of the graph's symbols; `ModelError` if it runs as Python code."""
        function = self[name]
        if not function.traced:
            raise ModelError(f"output '{name}' runs as Python code and has no expression: {function.reason}")
        return function.sx

    @property
    def untraceable(self) -> dict[str, str]:
        """Those that are known to run as Python code, with the reason."""
        return {name: f.reason for name, f in list(self._functions.items()) if not f.traced}

    def reads(self, name: str) -> Reads:
        """What an output depends on. One that runs as Python code may read everything."""
        self._must_know(name)
        return self._kept.get(READS, name, lambda: self._reads(name))

    def _reads(self, name: str) -> Reads:
        function, graph = self[name], self._graph
        if not function.traced or graph.externals_in(function.sx):
            return Reads({kind: np.arange(graph.size(kind)) for kind in graph.vectors}, bool(graph.size("v")))
        column = ca.densify(ca.vec(function.sx))
        rows = {kind: _rows_in(column, graph.symbol[kind]) for kind in graph.vectors}
        return Reads(rows, bool(_rows_in(column, graph.a).size))

    def evaluator(self, name: str) -> Evaluator:
        """What computes the entries of an output, column by column."""
        self._must_know(name)
        return self._kept.get(POINTS, name, lambda: Evaluator(self._graph, self.expression(name), self.reads(name)))

    # -- tracing ---------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> ModelFunction:
        self._must_know(name)
        known = self._functions.get(name)
        if known is not None:
            return known
        faults: list[str] = []
        with self._lock:
            self._unpack()
            if name not in self._functions:
                self._add(name, self._given[name], faults)
        if faults:
            raise ModelError(f"model '{self._model}': outputs", faults)
        return self._functions[name]

    def trace_all(self, faults: list[str]) -> None:
        """Trace those that need not wait."""
        if isinstance(self._given, LazyOutputs):
            return
        for name, given in self._given.items():
            self._add(name, given, faults)

    def _must_know(self, name: Any) -> None:
        if name not in self:
            raise ModelError(f"model '{self._model}' has no such output: {explain_unknown(name, self._given)}")

    def _add(self, name: str, given: Any, faults: list[str]) -> None:
        graph = self._graph
        kinds, hidden = graph.event_kinds, {}
        if "x" in graph.vectors:
            hidden = {"dx": _NO_RATES, **dict.fromkeys(graph.names("dx"), _NO_RATES)}
        symbols = self._kept.get(SYMBOLS, None, lambda: graph.symbols(kinds, hidden))
        function = trace(role_of(name), given, symbols, lambda: graph.sample_points(kinds, hidden), faults)
        if function is None:
            return
        if not function.traced:
            function = replace(function, ndim=_dimensions(function, graph.sample_points(kinds, hidden)))
        self._functions[name] = function

    # -- in namespaces of events -----------------------------------------------------------------------------------

    def symbol(self, name: str, graph: Graph) -> Any:
        """An output among the symbols of a branch of the model's graph, as the user returned it."""
        function = self[name]
        if function.traced:
            sx = function.sx
        else:
            graph.functions[role_of(name)] = function
            sx = graph.external(role_of(name), "value", function.shape)
        return (scalar, vector, matrix)[function.ndim](sx)

    def number(self, name: str, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> Any:
        """An output at one point, in the shape in which the user returned it."""
        graph = self._graph
        if not self[name].traced:
            value = self.call(name, t, values, theta)
        else:
            if self.reads(name).accelerations and "a" not in values:
                raise UnknownName(f"'{name}' cannot be used here: it contains accelerations, which are not known here")
            whole = {kind: np.full((graph.size(kind), 1), np.nan) for kind in (*graph.vectors, "a")}
            whole |= {kind: value[:, None] for kind, value in values.items() if len(value) == len(whole.get(kind, ()))}
            found = self.evaluator(name).many(np.array([t]), whole, theta[:, None])[0]
            value = np.reshape(found, self.shape(name), order="F")
        return value if value.ndim else float(value)

    def call(self, name: str, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> np.ndarray:
        """An output that runs as Python code, at one point; NaN where it refuses one with `StepRefused`."""
        function, graph = self[name], self._graph
        where = describe(function.role, function.python)
        kinds = [kind for kind in graph.event_kinds if kind in values]
        try:
            with users_arithmetic():
                value = call_with_numbers(function.python, graph.numbers(kinds, {}, t, values, theta))
        except StepRefused:
            return np.full(self.shape(name), np.nan)
        except UnknownName as unknown:
            raise FunctionFailed(f"{where} at t = {t:.9g}: {words(unknown)}") from None
        except Exception as error:
            raise FunctionFailed(f"{where} raised {said(error)} at t = {t:.9g}") from error
        expected = function.shape if function.ndim == 2 else function.shape[:1]
        if value.shape != expected:
            raise FunctionFailed(
                f"{where} returned an array of shape {value.shape} at t = {t:.9g}; it must always be {expected}"
            )
        return value.reshape(self.shape(name))

    # -- travelling ------------------------------------------------------------------------------------------------

    def bound(self, graph: Graph) -> Outputs:
        """These outputs for a graph that came from elsewhere together with them."""
        twin = Outputs(self._given, graph, self._model)
        twin._functions, twin._packed = dict(self._functions), self._packed
        return twin

    def substituted(self, graph: Graph, old: ca.SX, new: ca.SX) -> Outputs:
        """These outputs for a graph in which the symbols `old` are expressions."""
        if not self:
            return self
        twin = self.bound(graph)
        if isinstance(self._given, LazyOutputs):
            twin._functions = {}  # they are traced with the graph's own expressions
            return twin
        functions = {name: self[name] for name in self._given}
        traced = [name for name, f in functions.items() if f.traced]
        changed = ca.substitute([functions[name].sx for name in traced], [old], [new]) if traced else []
        functions |= {name: replace(functions[name], sx=sx) for name, sx in zip(traced, changed, strict=True)}
        twin._packed, twin._functions = None, functions
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Expressions as a function of the graph's symbols, whatever these are at the other end."""
        state = {"given": self._given, "model": self._model, "functions": {}, "packed": None}
        if isinstance(self._given, LazyOutputs):
            return state
        with self._lock:
            self._unpack()
            functions = {name: self[name] for name in self._given}
        traced = {name: f for name, f in functions.items() if f.traced}
        if traced:
            tape = ca.Function("outputs", _symbols(self._graph), [f.sx for f in traced.values()])
            bare = {name: replace(f, sx=None) for name, f in traced.items()}
            state["packed"] = bare, zlib.compress(tape.serialize().encode("latin-1"), 1)
        state["functions"] = {
            name: replace(f, python=carried(f.python, f.role)) for name, f in functions.items() if not f.traced
        }
        state["given"] = {name: _Arrived(self.description(name)) for name in functions}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["given"], None, state["model"])
        self._functions, self._packed = state["functions"], state["packed"]

    def _unpack(self) -> None:
        if self._packed is None:
            return
        bare, packed = self._packed
        tape = ca.Function.deserialize(zlib.decompress(packed).decode("latin-1"))
        values = tape.call(_symbols(self._graph))
        for (name, function), sx in zip(bare.items(), values, strict=True):
            self._functions[name] = replace(function, sx=sx)
        self._packed = None


class Evaluator:
    """Evaluates an expression at many points. Only what it contains is handed over: models may be large."""

    def __init__(self, graph: Graph, expression: ca.SX, reads: Reads):
        from dalembert.model.evaluate import PointFunction  # which needs models

        column = ca.densify(ca.vec(expression))
        self._whole = PointFunction(graph, [column]) if graph.externals_in(column) else None
        if self._whole is not None:
            return
        symbols = {**graph.symbol, "a": graph.a, "theta": graph.theta}
        rows = {**reads.rows, "a": _rows_in(column, graph.a), "theta": _rows_in(column, graph.theta)}
        self._rows = {kind: own for kind, own in rows.items() if len(own)}
        parts = [graph.t, *(symbols[kind][own.tolist()] for kind, own in self._rows.items())]
        self._function = ca.Function("output", [ca.vertcat(*parts)], [column])

    def many(self, t: np.ndarray, values: Mapping[str, np.ndarray], theta: np.ndarray) -> np.ndarray:
        """At N points, for each of which vectors and θ have a column; shape (N, entries)."""
        if self._whole is not None:
            return self._whole.many(t, values, theta)[0]
        given = {**values, "theta": theta}
        points = np.concatenate([t[None], *(given[kind][own] for kind, own in self._rows.items())])
        return np.array(self._function(points)).T


@dataclass(frozen=True)
class _Arrived:
    """Stands for what a user gave in another process."""

    description: str


def role_of(name: str) -> str:
    """How messages call an output."""
    return f"output '{name}'"


def checked_outputs(given: Any, taken: Mapping[str, str], wrong_name: Callable[[Any], str], faults: list[str]) -> Any:
    """The mapping, without entries whose names cannot be used; `taken` says what has a name already."""
    if not isinstance(given, Mapping):
        faults.append(f"outputs={shown(given)}: give a mapping of names to functions, {{'energy': lambda s: ...}}")
        return {}
    if isinstance(given, LazyOutputs) and given.checked:
        return given
    bad = set()
    for name in given:
        why = wrong_name(name) or (f"it {taken[name]} already; choose another name" if name in taken else "")
        if why:
            faults.append(f"output {shown(name)}: {why}")
            bad.add(name)
    return {name: value for name, value in given.items() if name not in bad} if bad else given


def _dimensions(function: ModelFunction, samples: list[Any]) -> int:
    """Of what a Python function returns; `trace` takes a number for a vector of one."""
    for namespace in samples:
        try:
            return numbers_of(function.python(namespace)).ndim
        except Exception:  # it need not be defined everywhere, and has been at one of them
            continue
    return function.ndim


def _rows_in(column: ca.SX, symbols: ca.SX) -> np.ndarray:
    """Which of the symbols occur in an expression."""
    if not symbols.numel() or not column.numel():
        return np.zeros(0, int)
    return np.flatnonzero(np.diff(ca.jacobian_sparsity(column, symbols).colind()))


def _symbols(graph: Graph) -> list[ca.SX]:
    """All that an output may contain."""
    others = graph.parameter_symbols, graph.discrete_symbols, graph.u, graph.du, graph.a
    return [graph.t, *others, *graph.symbol.values()]


#: of models that have none
NO_OUTPUTS = Outputs({}, None)
