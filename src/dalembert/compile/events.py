"""One port for all event functions of a run."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dalembert.compile.ports import Port
from dalembert.compile.system import expression_port
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.event import Event, TracedEvents, trace_events
from dalembert.model.outputs import Outputs
from dalembert.model.restricted import with_released
from dalembert.regularize.form import Form

#: by what the functions compute, not by the functions: a thousand equal lambdas have one port
EVENTS: Slot[Port] = Slot("ports of events", most=8)


def traced_events(model: Model, events: Sequence[Event], outputs: Outputs | None = None) -> TracedEvents | None:
    """The functions of all events as expressions of the model's symbols; None if there are none."""
    return trace_events(model, events, outputs) if events else None


def reads(traced: TracedEvents | None, form: Form, kinds: Sequence[str]) -> bool:
    """Whether an event function reads one of these vectors; one that could not be traced may read everything."""
    if traced is None:
        return False
    symbols = ca.vertcat(*(traced.graph.symbol[kind] for kind in kinds if kind in traced.graph.symbol))
    values = _without_released(traced, form)
    return bool(traced.graph.externals_in(values)) or ca.depends_on(values, symbols)


def event_port(form: Form, traced: TracedEvents | None) -> Port | None:
    """A port of x, or of (x, v') if an event reads accelerations that x does not hold.

    Where constraints of the model are not in force in this form, their multipliers are zero.
    """
    if traced is None:
        return None
    graph, x, behind = with_released(traced.graph, form.model.graph), form.x, None
    values = _without_released(traced, form)
    blocks = graph.externals_in(values)
    if graph.size("v") and "a" not in form.slices and (blocks or ca.depends_on(values, graph.a)):
        x, behind = ca.vertcat(x, graph.a), {"a": slice(form.n, form.n + graph.size("v"))}
    symbols = [graph.t, x, graph.theta, *(block.symbol for block in blocks)]
    text = ca.Function("events", symbols, [values]).serialize()
    functions = tuple(graph.functions[block.role].python or block.native for block in blocks)

    def make() -> Port:
        return expression_port(form, values, x, behind=behind, graph=graph)

    outputs = graph.outputs if functions else None  # Python functions may read those by number
    return form.kept.get(EVENTS, (text, functions, outputs), make)


def _without_released(traced: TracedEvents, form: Form) -> ca.SX:
    graph, own = traced.graph, form.model.graph
    released = [
        graph.symbol[kind][i]
        for kind in ("lam", "mu")
        for i, name in enumerate(graph.vectors.get(kind, ()))
        if name not in own.vectors[kind]
    ]
    if not released:
        return traced.values
    return ca.substitute(traced.values, ca.vertcat(*released), ca.SX.zeros(len(released)))
