"""A drawing that belongs to a model: its places traced in the model's graph, its parts pointing at them.

Functions are traced when somebody wants to see the drawing, or when the model travels; a model that is only integrated
pays nothing for it.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.draw.checks import point
from dalembert.draw.parts import Body, Columns, Drawing, Fixed, On, Part, counted
from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.model.functions import ModelFunction
from dalembert.model.namespace import explain_unknown
from dalembert.model.outputs import Outputs, role_of
from dalembert.model.travel import Shared

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.model.graph import Graph

#: the output that holds all entries that could be traced
TOGETHER = "drawing"


@dataclass(frozen=True)
class OnBody:
    """A place fixed to a body of the layout, by its number."""

    body: int
    at: tuple[float, float, float]


@dataclass(frozen=True)
class Layout:
    """Parts in whose fields numbers of entries, or points on bodies, stand in place of what users wrote."""

    parts: tuple[Part, ...]
    bodies: tuple[Body, ...]  # those of the parts
    up: str = "z"
    name: str | None = None
    planar: bool | None = None  # None: as the entries say
    follow: bool | None = None  # None: if it goes far
    quiet: tuple[str, ...] = ()  # kinds of arrows that are not shown before somebody asks for them


@dataclass(frozen=True)
class Span:
    """Where the values of an entry stand: in which output, from where on, in which shape."""

    output: str
    start: int
    shape: tuple[int, ...]


class Sketch(Shared):
    """The drawing of a model of equations.

    `layout` says what there is; `entries` gives the numbers.
    """

    def __init__(self, drawing: Drawing, model: Model):
        self.given: Drawing | None = drawing
        self._graph: Any
        self._graph, self._outputs, self._model = model.graph, model.outputs, model.name
        collected = _Collected(drawing)
        self.layout = collected.layout
        self._functions: dict[str, Any] = collected.functions

    def __repr__(self) -> str:
        return f"Drawing({counted(self.layout.parts)})"

    @computed
    def traced(self) -> tuple[Outputs, tuple[Span, ...]]:
        """The entries as outputs; all that could be traced are one of them."""
        graph = self._graph.branch(self._outputs)
        single = Outputs(self._functions, graph, self._model)
        faults: list[str] = []
        single.trace_all(faults)
        if faults:
            raise ModelError(f"the drawing of model '{self._model}' has faults", faults)
        spans, columns, python, start = [], [], {}, 0
        for name in self._functions:
            function, shape = single[name], single.shape(name)
            if function.traced:
                spans.append(Span(TOGETHER, start, shape))
                columns.append(ca.densify(ca.vec(function.sx)))
                start += columns[-1].numel()
            else:
                spans.append(Span(name, 0, shape))
                python[name] = function
        joined = Outputs(dict.fromkeys([TOGETHER, *python]), graph, self._model)
        column = ca.vertcat(ca.SX(0, 1), *columns)
        joined._functions = {TOGETHER: ModelFunction(role_of(TOGETHER), column.shape, 1, column), **python}
        return joined, tuple(spans)

    def entries(
        self, view: Any, evaluate: Callable[[Outputs | None, str], np.ndarray], parameters: Mapping[str, Any]
    ) -> list[np.ndarray]:
        """The values of all entries at the N points of a view, each of shape (N, …).

        `evaluate(outputs, name)` gives an output there, one of the model without `outputs`.
        """
        outputs, spans = self.traced
        values = {name: evaluate(outputs, name) for name in outputs.names}
        found = []
        for span in spans:
            whole = values[span.output]
            part = whole[:, span.start : span.start + int(np.prod(span.shape))] if span.output == TOGETHER else whole
            # matrices stand column by column in what is joined
            if span.output == TOGETHER and len(span.shape) == 2:
                part = part.reshape(len(whole), *span.shape[::-1]).transpose(0, 2, 1)
            found.append(part.reshape(len(whole), *span.shape))
        return found

    # -- travelling ------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {"layout": self.layout, "model": self._model, "traced": self.traced}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.given, self._graph, self._outputs, self._functions = None, None, None, {}
        self.layout, self._model = state["layout"], state["model"]
        self.__dict__["traced"] = state["traced"]

    def bound(self, graph: Graph) -> Sketch:
        """The same for a graph that came from elsewhere together with it."""
        twin = self.__copy__()
        outputs, spans = self.traced
        twin._graph, twin.__dict__["traced"] = graph, (outputs.bound(graph), spans)
        return twin


def sketch(given: Any, model: Model) -> Any:
    """The drawing of a model from what a user gave: a `Drawing`, parts, or something that is a sketch already."""
    if hasattr(given, "layout") and hasattr(given, "entries"):
        return given
    return Sketch(given if isinstance(given, Drawing) else Drawing(given), model)


class _Collected:
    """Goes through the parts of a drawing, and makes a function of each entry that it meets."""

    def __init__(self, drawing: Drawing):
        self.functions: dict[str, Any] = {}
        self.faults: list[str] = []
        self._points = drawing.points
        self._known: dict[Any, int] = {}
        bodies = [part for part in drawing.parts if isinstance(part, Body)]
        self._bodies = {body.name: i for i, body in enumerate(bodies) if body.name is not None}
        parts = [self._part(part, number) for number, part in enumerate(drawing.parts, 1)]
        if self.faults:
            raise ModelError("this drawing has faults", self.faults)
        bodies = tuple(part for part in parts if isinstance(part, Body))
        self.layout = Layout(tuple(parts), bodies, drawing.up, drawing.name, follow=drawing.follow)

    def _part(self, part: Part, number: int) -> Part:
        label = f"{TOGETHER}: {part.noun} {number}"
        found: dict[str, Any] = {}
        for field in part.places:
            given = getattr(part, field)
            if field == "through":
                found[field] = tuple(self._place(one, f"{label}, point {k}") for k, one in enumerate(given, 1))
            else:
                found[field] = self._place(given, f"{label}, {field}")
        for field in (*part.vectors, *part.rotations):
            given = getattr(part, field)
            absent = given is None and field in part.rotations
            found[field] = None if absent else self._entry(given, f"{label}, {field}", (2, 3, 4, 9))
        for field in part.numbers:
            given = getattr(part, field)
            if isinstance(part, Columns):
                found[field] = tuple(self._number(one, f"{label}, column {k}") for k, one in enumerate(given, 1))
                named = [one if isinstance(one, str) else f"{k}" for k, one in enumerate(given, 1)]
                found["labels"] = tuple(part.labels or named)
                if len(found["labels"]) != len(given):
                    self.faults.append(f"{label}: {len(found['labels'])} labels for {len(given)} columns")
            else:
                found[field] = None if given is None else self._number(given, f"{label}, {field}")
        if isinstance(part, Body | Fixed):
            found["shape"] = self._shapes(part.shape, label)
        return dataclasses.replace(part, **found)

    def _place(self, given: Any, label: str) -> int | OnBody:
        if isinstance(given, On):
            number = self._bodies.get(given.body) if type(given.body) is str else None
            if number is None:
                self.faults.append(f"{label}: no body is called so: {explain_unknown(given.body, self._bodies)}")
                return 0
            at = point(given.at)
            if at is None:
                self.faults.append(f"{label}: at={shown(given.at)} must be two or three numbers")
                return 0
            return OnBody(number, at)
        if isinstance(given, str) and given in self._points:
            return self._place(self._points[given], f"{TOGETHER}: point '{given}'")
        return self._entry(given, label, (2, 3))

    def _number(self, given: Any, label: str) -> int:
        return self._add(_reader(given), label, ("number", given if isinstance(given, str) else id(given)))

    def _entry(self, given: Any, label: str, lengths: tuple[int, ...]) -> int:
        if callable(given) or isinstance(given, str):
            return self._add(_reader(given), label, given if isinstance(given, str) else id(given))
        known = isinstance(given, list | tuple) or (type(given) is np.ndarray and given.ndim in (1, 2))
        entries = tuple(given) if known and len(given) <= max(lengths) else ()
        flat = [x for row in entries for x in (row if isinstance(row, list | tuple) or _is_row(row) else (row,))]
        if len(flat) not in lengths:
            self.faults.append(f"{label}: {shown(given)} is no place: give two or three entries, a name or a function")
            return 0
        wrong = [x for x in flat if not (isinstance(x, str | numbers.Real) or callable(x))]
        if wrong:
            self.faults.append(f"{label}: {shown(wrong[0])} is neither a number nor a name nor a function")
            return 0
        key = tuple(flat) if all(isinstance(x, str | float | int) for x in flat) else id(given)
        return self._add(_Sequence(tuple(flat), len(entries)), label, key)

    def _add(self, function: Any, label: str, key: Any) -> int:
        """The same place, given again, is the same entry."""
        if key not in self._known:
            self._known[key] = len(self.functions)
            self.functions[label if label not in self.functions else f"{label} ({len(self.functions)})"] = function
        return self._known[key]

    def _shapes(self, given: Any, label: str) -> tuple:
        from dalembert.multibody.shapes import Shape

        shapes = (given,) if isinstance(given, Shape) else given
        if not isinstance(shapes, Sequence) or not all(isinstance(one, Shape) for one in shapes):
            self.faults.append(f"{label}: shape={shown(given)} must be a shape, such as da.Box(...), or several")
            return ()
        return tuple(shapes)


def _is_row(given: Any) -> bool:
    return type(given) is np.ndarray and given.ndim == 1


def _reader(given: Any) -> Callable:
    if callable(given):
        return given
    if isinstance(given, str):
        return lambda s: s[given]
    return lambda s: given


class _Sequence:
    """A function of the namespace that returns entries given one by one; several rows are a matrix."""

    def __init__(self, entries: tuple, rows: int):
        self._entries, self._rows = entries, rows

    def __call__(self, s: Any) -> Any:
        values = [s[x] if isinstance(x, str) else x(s) if callable(x) else x for x in self._entries]
        width = len(values) // self._rows
        return values if width == 1 else [values[k : k + width] for k in range(0, len(values), width)]
