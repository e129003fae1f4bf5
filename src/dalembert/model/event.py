"""Events: functions of the state whose roots are found during a simulation."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, shown, whole
from dalembert.errors import ModelError, OptionError
from dalembert.model.base import Model, contains_nan, wrong_name
from dalembert.model.functions import trace
from dalembert.model.graph import Graph
from dalembert.model.outputs import Outputs
from dalembert.model.travel import Shared, carried

#: of one simulation at most: more are a slip, such as a generator without end
MOST_EVENTS = 10_000


@dataclass(frozen=True, eq=False)
class Event(Shared):
    """A root of `function(s)`.

    Parameters
    ----------
    function : callable
        Takes the namespace `s` of the model, returns one number. Besides all variables it has the accelerations: `s.a`,
        and by name, ``s.x_ddot``, and the model's outputs.
    direction : {0, 1, -1}
        Which roots count: all, rising, falling.
    terminal : bool or int
        Stop at the first (or the given number of the) root.
    action : callable, optional
        ``action(s)`` returns new values by name, ``{"y_dot": -0.9 * s.y_dot}`` or ``{"v": [...]}``; the integration
        restarts from there, made consistent with the constraints.
    name : str, optional
        For `sol.events`; default: the function's name, or event 1, 2, ….
    threshold : float
        Values up to this modulus count as zero: a root is reported when the function has come from beyond it on one
        side to beyond it on the other. A function that stays near zero for a while has no roots there.
    check_points : int
        Points of each step at which the function is looked at, the end being one of them. More of them find roots that
        come in pairs within a step more surely.

    Examples
    --------
    >>> import dalembert as da
    >>> ball = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-9.81])
    >>> floor = da.Event(lambda s: s.y, direction=-1, action=lambda s: {"y_dot": -0.5 * s.y_dot}, name="floor")
    >>> sol = da.simulate(ball, (0, 1), p0=[1.0], events=floor)
    >>> sol.events.t
    array([0.45152364, 0.90304728])
    """

    function: Callable[[Any], Any]
    direction: int = 0
    terminal: bool | int = False
    action: Callable[[Any], Any] | None = None
    name: str | None = None
    threshold: float = 0.0
    check_points: int = 6

    def __getstate__(self) -> dict[str, Any]:
        which = "event" if self.name is None else f"event '{self.name}'"
        functions = {"function": carried(self.function, which), "action": carried(self.action, f"action of {which}")}
        return self.__dict__ | functions

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise OptionError(f"an event needs a function of the namespace s, not {shown(self.function)}")
        if not isinstance(self.direction, numbers.Real) or self.direction not in (-1, 0, 1):
            raise OptionError(f"direction={shown(self.direction)} of an event must be 0, 1 (rising) or -1 (falling)")
        if not isinstance(self.terminal, numbers.Integral | np.bool_) or self.terminal < 0:
            raise OptionError(
                f"terminal={shown(self.terminal)} of an event must be True, False or the number of roots to stop at"
            )
        if self.name is not None and wrong_name(self.name):
            raise OptionError(
                f"name={shown(self.name)} of an event must be a non-empty string: {wrong_name(self.name)}"
            )
        if self.action is not None and not callable(self.action):
            raise OptionError(f"action={shown(self.action)} of an event must be a function of the namespace s")
        small = self.threshold
        try:
            number = real(small)
        except NoNumber:
            number = math.nan
        if not 0 <= number < math.inf:
            raise OptionError(f"threshold={shown(small)} of an event must be a finite number, not negative")
        points = self.check_points
        try:
            count = whole(points)
        except NoNumber:
            count = 0
        if not 1 <= count <= 10_000:
            raise OptionError(f"check_points={shown(points)} of an event must be a whole number from 1 to 10000")
        object.__setattr__(self, "check_points", count)


@dataclass(frozen=True, eq=False)
class Crossing(Event):
    """Of a relation of a hybrid DAE: its function is an expression of the model's symbols already."""

    expression: ca.SX = field(kw_only=True)

    @classmethod
    def of(cls, expression: ca.SX, name: str) -> Crossing:
        return cls(_no_function, name=name, expression=ca.SX(expression))


def _no_function(s: Any) -> Any:
    raise NotImplementedError


def as_events(given: Any) -> list[Event]:
    """Events from an `Event`, a function (with SciPy's attributes `terminal`, `direction`), or a sequence of those."""
    if given is None:
        return []
    if isinstance(given, Event) or callable(given):
        given = [given]
    try:
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
            raise TypeError
        given = list(itertools.islice(given, MOST_EVENTS + 1))
    except Exception:  # a 0-d array, say, or a generator that fails
        raise OptionError(
            f"events={shown(given)} must be an Event, a function of the namespace s, or a sequence of those"
        ) from None
    if len(given) > MOST_EVENTS:
        raise OptionError(f"events= has more than {MOST_EVENTS} entries")
    events: list[Event] = []
    for item in given:
        if not isinstance(item, Event):
            item = Event(item, getattr(item, "direction", 0), getattr(item, "terminal", False))
        if item.name is None:
            own = getattr(item.function, "__name__", "<lambda>")
            name = own if own != "<lambda>" else f"event {len(events) + 1}"
            item = replace(item, name=name)
        events.append(item)
    names = [event.name for event in events]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"two events have the name '{name}'; give each its own with Event(..., name=...)")
    return events


@dataclass(frozen=True)
class TracedEvents:
    """All event functions as one column `values`. Those that cannot be traced are external symbols of `graph`, a branch
    of the model's own, which stays as it is."""

    values: ca.SX
    graph: Graph


def trace_events(model: Model, events: Sequence[Event], outputs: Outputs | None = None) -> TracedEvents:
    """Trace the functions as they are now: what they read of their surroundings may change from run to run.

    They may read outputs: the model's, or the given ones of a variant of it.
    """
    faults: list[str] = []
    columns = []
    with model.kept.lock:
        graph = model.graph.branch(model.outputs if outputs is None else outputs)
    kinds = graph.event_kinds
    symbols = graph.symbols(kinds, {})
    own = iter(_crossings(graph, events))
    for event in events:
        if isinstance(event, Crossing):
            columns.append(next(own))
            continue
        role = f"event '{event.name}'"
        function = trace(role, event.function, symbols, lambda: graph.sample_points(kinds, {}), faults)
        if function is None:
            continue
        if function.shape != (1, 1):
            faults.append(f"{role} returned {math.prod(function.shape)} values; it must return one number")
            continue
        if function.traced and contains_nan(function.sx):
            faults.append(f"{role} contains a constant that is NaN or infinite")
            continue
        if function.traced:
            columns.append(function.sx)
            continue
        graph.functions[role] = function
        columns.append(graph.external(role, "value", (1, 1)))
    if faults:
        raise ModelError("events", faults)
    return TracedEvents(ca.vertcat(*columns), graph)


def _crossings(graph: Graph, events: Sequence[Event]) -> list[ca.SX]:
    """Expressions of relations, of a graph from which unknowns were eliminated perhaps."""
    own = [event.expression for event in events if isinstance(event, Crossing)]
    whole = getattr(graph, "whole", None)
    if not own or whole is None:
        return own
    return ca.substitute(own, [whole.symbol["x"]], [graph.expressions["x"]])
