"""What a report says, one chapter after the other, as HTML."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.model.presented import parameters_html, rows_html, sections, variables_html
from dalembert.viewer.curves import told_discrete

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.solution.solution import Solution

#: rows of tables that are shown at once, and at all
FEW, MOST = 12, 400
#: parameters beyond which they are folded
MANY_PARAMETERS = 80


def chapters(sol: Solution) -> Iterator[tuple[str, str, str]]:
    """Names, headings and contents."""
    model = sol.model
    if model is not None:
        yield "model", "Model", about_model(model)
    if sol.parameters:
        yield "parameters", "Parameters", parameters(sol.parameters)
    hidden = hidden_constraints(model) if model is not None else ""
    if hidden:
        yield "hidden", "Hidden constraints", hidden
    if len(sol.t):
        yield "values", "Start and end", values(sol)
    yield "method", "Method and options", method(sol)
    yield "statistics", "Statistics", statistics(sol)
    if model is not None:
        yield "residuals", "Residuals", residuals(sol)
    if len(sol.events) or sol.events.names:
        yield "events", "Events", events(sol)
    if len(sol.impacts):
        yield "impacts", "Impacts", impacts(sol)


def about_model(model: Model) -> str:
    """Its unknowns, inputs and equations."""
    parts = [f"<p>{escape(repr(model))}</p>", f'<div class="da-wide">{variables_html(model)}</div>']
    internal = model.hybrid.internal if model.hybrid is not None else ()
    discrete = [name for k, name in enumerate(model.discrete_names) if k not in internal]
    if model.mechanical and model.has_contacts:
        discrete = []  # modes of contacts
    rows = [("inputs", ", ".join(model.graph.inputs)), ("discrete variables", _shortened(discrete))]
    breakpoints = [f"{t:.6g}" for t in model.breakpoints]
    rows.append(("breakpoints", _shortened(breakpoints)))
    rows = [(label, text) for label, text in rows if text]
    if rows:
        parts.append(_facts(rows))
    parts += [f"<h3>{title}</h3>{body}" for title, body in sections(model)]
    return "".join(parts)


def parameters(known: dict[str, Any]) -> str:
    """Values by name, in columns."""
    table = f'<div class="da-columns">{parameters_html(known)}</div>'
    if len(known) <= MANY_PARAMETERS:
        return table
    return f"<details><summary>{len(known)} parameters</summary>{table}</details>"


def hidden_constraints(model: Model) -> str:
    """Constraints that follow from the equations by differentiation; empty if there are none."""
    try:
        return "".join(_of_mechanics(model) if model.mechanical else _of_dae(model))
    except (DalembertError, RuntimeError) as error:  # native code has no formulas
        return f"<p>They cannot be written out: {escape(str(error).splitlines()[0])}</p>"


def _of_mechanics(model: Model) -> Iterator[str]:
    if not (model.names("lam") or model.names("mu")):
        return
    from dalembert.regularize import hidden_constraints as of_motion

    hidden = of_motion(model)
    for title, rows, symbol in (
        ("On velocities: the derivatives of the constraints on positions", hidden.g_I, "g<sup>I</sup>"),
        ("On accelerations", hidden.g_II, "g<sup>II</sup>"),
        ("On accelerations, of those on velocities", hidden.h_I, "h<sup>I</sup>"),
    ):
        if rows.numel():
            yield f"<h3>{title}, {symbol}</h3>{rows_html(model, rows, ['<mn>0</mn>'] * rows.numel())}"


def _of_dae(model: Model) -> Iterator[str]:
    hidden = model.hidden_constraints()
    if not len(hidden):
        return
    yield f"<p>The differentiation index is {model.index}; {len(hidden)} constraints are hidden in the equations.</p>"
    for number, level in enumerate(hidden.levels):
        added = [k for k in range(len(level)) if level.added[k]]
        if not added:
            continue
        times = {1: "once", 2: "twice"}.get(number, f"{number} times")
        title = f"Equations differentiated {times}"
        if not number:
            title = "Combinations of equations in which no derivative is left"
        rows = rows_html(hidden.form.model, level.rows[added], ["<mn>0</mn>"] * len(added))
        yield f"<h3>{title}</h3>{rows}"


def values(sol: Solution) -> str:
    """Every variable at the start and at the end."""
    names = [name for name in sol.names if name not in sol._discrete] + told_discrete(sol)
    rows = [(name, *(f"{float(np.ravel(sol[name])[k]):.9g}" for k in (0, -1))) for name in names[:MOST]]
    head = ("", f"t = {sol.t[0]:.6g}", f"t = {sol.t[-1]:.6g}")
    return table(head, rows, len(names))


def method(sol: Solution) -> str:
    """What integrated it, why, and with which options."""
    rows = [("method", sol.method_name), ("formulation", sol.formulation or "—")]
    rows += [(name, str(value)) for name, value in sol.settings.items()]
    rows += _choice(sol.method_choice)
    for text in sol.method.split(" and "):
        inside = text.partition("(")[2].removesuffix(")")
        if inside:
            rows.append(("options", "; ".join(_split(inside))))
    return _facts(rows)


def _choice(choice: Any) -> list[tuple[str, str]]:
    """What `sol.method_choice` tells: why, what was tried before, and whatever else it has."""
    if choice is None:
        return []
    why = getattr(choice, "why", None)
    rows = [("chosen because", why if isinstance(why, str) else str(choice))]
    fields = dataclasses.fields(choice) if dataclasses.is_dataclass(choice) else ()
    for field in fields:
        value = getattr(choice, field.name)
        if field.name in ("method", "why") or value is None or (isinstance(value, Sequence) and not value):
            continue
        entries = value if isinstance(value, list | tuple) else [value]
        for entry in entries[:MOST]:
            pair = isinstance(entry, tuple) and len(entry) == 2
            rows.append((field.name.replace("_", " "), f"{entry[0]}: {entry[1]}" if pair else str(entry)))
    return rows


def _split(inside: str) -> list[str]:
    """Options one by one: commas outside of brackets separate them."""
    found, depth, current = [], 0, ""
    for letter in inside:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            found.append(current.strip())
            current = ""
        else:
            current += letter
    return [*found, current.strip()]


def statistics(sol: Solution) -> str:
    """How much work it was."""
    rows = [
        (name.replace("_", " "), f"{value:.3g}" if name == "seconds" else f"{value:,}".replace(",", "\u202f"))
        for name, value in dataclasses.asdict(sol.stats).items()
        if value or name == "accepted"
    ]
    return f'<div class="da-columns">{table(("", ""), rows, len(rows), few=40)}</div>'


def residuals(sol: Solution) -> str:
    """How well the constraints hold."""
    rows = []
    for level in () if sol.model is None else sol.model.residual_levels:
        try:
            residual = sol.residual(level)
        except DalembertError as error:
            rows.append((level, "", str(error)))
            continue
        if residual.shape[1]:
            finite = residual[np.isfinite(residual).all(axis=1)]
            largest = f"{np.abs(finite).max(initial=0.0):.3g}"
            lost = len(residual) - len(finite)
            rows.append((level, f"{residual.shape[1]}", largest + (f", without {lost} points" if lost else "")))
    if not rows:
        return "<p>There are no constraints.</p>"
    return table(("level", "equations", "largest residual"), rows, len(rows))


def events(sol: Solution) -> str:
    """When what happened."""
    rows = [(f"{o.t:.9g}", o.name, "rising" if o.direction > 0 else "falling") for o in sol.events[:MOST]]
    if not rows:
        return f"<p>None of them occurred: {escape(_shortened(sol.events.names))}.</p>"
    return table(("t", "event", "direction"), rows, len(sol.events))


def impacts(sol: Solution) -> str:
    """Which contacts closed, and how."""
    rows = [
        (f"{i.t:.9g}", i.contact, f"{i.before[0]:.5g}", f"{i.after[0]:.5g}", f"{i.impulse[0]:.5g}")
        for i in sol.impacts[:MOST]
    ]
    rests = [f"{r.contact} comes to rest at t = {r.t:.9g}" for r in sol.impacts.rests]
    told = "".join(f"<p>{escape(text)}</p>" for text in rests[:FEW])
    more = f"<p>… and {len(rests) - FEW} more come to rest</p>" if len(rests) > FEW else ""
    return table(("t", "contact", "approach", "rebound", "impulse"), rows, len(sol.impacts)) + told + more


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    body = "".join(f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in rows)
    return f'<div class="da-wide"><table class="da-facts">{body}</table></div>'


def _shortened(names: Sequence[str]) -> str:
    listed = ", ".join(map(str, names[:FEW]))
    return f"{listed}, … ({len(names)})" if len(names) > FEW else listed


def table(head: Sequence[str], rows: Sequence[tuple], total: int, few: int = FEW) -> str:
    """Rows below a head; those beyond a few are folded, and how many of `total` they are is said."""

    def lines(part: Sequence[tuple]) -> str:
        return "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in part)

    top = f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr>" if any(head) else ""
    first = f'<div class="da-wide"><table class="da-numbers">{top}{lines(rows[:few])}</table></div>'
    if len(rows) <= few:
        return first
    more = f"{total - few} more" + (f", of which {len(rows) - few} are listed" if total > len(rows) else "")
    inner = f'<div class="da-wide"><table class="da-numbers">{top}{lines(rows[few:])}</table></div>'
    return f"{first}<details><summary>{more}</summary>{inner}</details>"
