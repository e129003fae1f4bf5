"""`Solution.report`: model, method, results and animation on one page."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import DalembertError, OptionError
from dalembert.model.presented import parameters_html, rows_html, sections, variables_html
from dalembert.viewer.animation import _title, _write, animate
from dalembert.viewer.encode import Channel, Packer
from dalembert.viewer.page import asset, embedded, page, player
from dalembert.viewer.pictures import Curves, diagnostics

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

#: rows of tables of events and impacts; more are folded
FEW, MOST = 12, 400
#: points of a diagram; more are thinned out, extreme values stay
POINTS = 1600


def report(sol: Solution, path: str | PathLike | None = None, *, title: Any = None, animation: Any = True) -> Report:
    """See `Solution.report`."""
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title={shown(title)} must be text")
    if not isinstance(animation, bool | np.bool_):
        raise OptionError(f"animation={shown(animation)} must be True or False")
    found = Report(sol, title or _title(sol.model.name if sol.model is not None else "result"), bool(animation))
    if path is not None:
        found.save(path)
    return found


class Report:
    """A page about a result; notebooks show it, `save` writes it."""

    def __init__(self, sol: Solution, title: str, animation: bool):
        self.title, self.path = title, None
        self._html = page(title, _body(sol, title, animation), style=asset("report.css"), kind="report")

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self._html) / 1000:.0f} kB)"

    def html(self) -> str:
        """The page as text: it needs nothing besides."""
        return self._html

    def _repr_html_(self) -> str:
        frame = "width:100%;height:720px;border:0;border-radius:10px"
        return f'<iframe title="report" style="{frame}" srcdoc="{escape(self._html, quote=True)}"></iframe>'

    def save(self, path: str | PathLike) -> Report:
        """Write the page to a file, whose name ends with ``.html``."""
        try:
            path = Path(path)
        except TypeError:
            raise OptionError(f"path={shown(path)} must be the name of a file") from None
        if path.suffix.lower() != ".html":
            raise OptionError(f"path={shown(str(path))}: the name of a report must end with .html")
        _write(path, self._html.encode())
        self.path = path
        return self


def _body(sol: Solution, title: str, animation: bool) -> str:
    parts, links = [], []
    for name, heading, content in _sections(sol, animation):
        parts.append(f'<section id="{name}"><h2>{heading}</h2>{content}</section>')
        links.append(f'<a href="#{name}">{heading}</a>')
    first, last = sol.trajectory.interval
    status = "good" if sol.success else "bad"
    facts = [("time", f"{first:.6g} … {last:.6g}"), ("steps", f"{sol.stats.accepted}"), ("method", _method_name(sol))]
    if sol.stats.seconds:
        facts.append(("wall time", f"{sol.stats.seconds:.3g} s"))
    cards = "".join(f"<div><dt>{label}</dt><dd>{escape(value)}</dd></div>" for label, value in facts)
    head = (
        f'<header class="da-top"><h1>{escape(title)}</h1><p class="da-status da-{status}">{escape(sol.status)}</p>'
        f'<button type="button" class="da-theme-switch" aria-label="Dark or light">◐</button>'
        f'<p class="da-said">{escape(sol.message)}</p><dl>{cards}</dl><nav>{"".join(links)}</nav></header>'
    )
    return f'<main class="da-report">{head}{"".join(parts)}</main>'


def _sections(sol: Solution, animation: bool) -> Iterator[tuple[str, str, str]]:
    model = sol.model
    if animation and model is not None:
        try:
            yield "animation", "Animation", player(animate(sol))
        except DalembertError as error:  # what a result lacks is no reason to have no report
            yield "animation", "Animation", f"<p>There is none: {escape(str(error))}</p>"
    yield "diagrams", "Diagrams", figures(diagnostics(sol))
    if model is not None:
        yield "model", "Model", _model(model)
        if sol.parameters:
            yield "parameters", "Parameters", f'<div class="da-wide">{parameters_html(sol.parameters)}</div>'
        hidden = _hidden(model)
        if hidden:
            yield "hidden", "Hidden constraints", hidden
    elif sol.parameters:
        yield "parameters", "Parameters", f'<div class="da-wide">{parameters_html(sol.parameters)}</div>'
    yield "method", "Method and options", _method(sol)
    yield "statistics", "Statistics", _statistics(sol)
    if model is not None:
        yield "residuals", "Residuals", _residuals(sol)
    if len(sol.events) or sol.events.names:
        rows = [(f"{o.t:.9g}", o.name, "rising" if o.direction > 0 else "falling") for o in sol.events[:MOST]]
        yield "events", "Events", _table(("t", "event", "direction"), rows, len(sol.events))
    if len(sol.impacts):
        rows = [
            (f"{i.t:.9g}", i.contact, f"{i.before[0]:.5g}", f"{i.after[0]:.5g}", f"{i.impulse[0]:.5g}")
            for i in sol.impacts[:MOST]
        ]
        head = ("t", "contact", "approach", "rebound", "impulse")
        rests = "".join(f"<p>{escape(r.contact)} comes to rest at t = {r.t:.9g}</p>" for r in sol.impacts.rests[:FEW])
        yield "impacts", "Impacts", _table(head, rows, len(sol.impacts)) + rests


def _model(model: Any) -> str:
    parts = [f"<p>{escape(repr(model))}</p>", f'<div class="da-wide">{variables_html(model)}</div>']
    parts += [f"<h3>{title}</h3>{body}" for title, body in sections(model)]
    return "".join(parts)


def _hidden(model: Any) -> str:
    """Constraints on velocities and accelerations that follow from those on positions."""
    if not model.mechanical or not (model.names("lam") or model.names("mu")):
        return ""
    from dalembert.regularize import hidden_constraints

    try:
        hidden = hidden_constraints(model)
        parts = []
        for title, rows, symbol in (
            ("On velocities: the derivatives of the constraints on positions", hidden.g_I, "g^I"),
            ("On accelerations", hidden.g_II, "g^II"),
            ("On accelerations, of those on velocities", hidden.h_I, "h^I"),
        ):
            if rows.numel():
                parts.append(f"<h3>{title} ({symbol})</h3>{rows_html(model, rows, ['<mn>0</mn>'] * rows.numel())}")
    except (DalembertError, RuntimeError) as error:  # native code has no formulas
        return f"<p>They cannot be written out: {escape(str(error).splitlines()[0])}</p>"
    return "".join(parts)


def _method_name(sol: Solution) -> str:
    return sol.method.partition("(")[0] or "unknown"


def _method(sol: Solution) -> str:
    rows = [("method", _method_name(sol)), ("formulation", sol.formulation or "—")]
    inside = sol.method.partition("(")[2].rstrip(")")
    choice = getattr(sol, "method_choice", None)
    if choice:
        rows.append(("chosen because", str(choice)))
    body = "".join(f"<tr><th>{a}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    options = (
        f"<details><summary>all options</summary><pre>{escape(_options(inside))}</pre></details>" if inside else ""
    )
    return f'<div class="da-wide"><table>{body}</table></div>{options}'


def _options(inside: str) -> str:
    """One option a line: commas outside of brackets separate them."""
    lines, depth, current = [], 0, ""
    for letter in inside:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            lines.append(current.strip())
            current = ""
        else:
            current += letter
    return "\n".join([*lines, current.strip()])


def _statistics(sol: Solution) -> str:
    rows = [
        (name.replace("_", " "), f"{value:.3g}" if name == "seconds" else f"{value}")
        for name, value in dataclasses.asdict(sol.stats).items()
        if value or name == "accepted"
    ]
    return _table(("", ""), rows, len(rows), few=40)


def _residuals(sol: Solution) -> str:
    rows = []
    for level in sol.model.residual_levels:
        try:
            residual = sol.residual(level)
        except DalembertError as error:
            rows.append((level, "", escape(str(error))))
            continue
        if residual.shape[1]:
            rows.append((level, f"{residual.shape[1]}", f"{np.abs(residual).max(initial=0.0):.3g}"))
    if not rows:
        return "<p>There are no constraints.</p>"
    return _table(("level", "equations", "largest residual"), rows, len(rows))


def _table(head: tuple[str, ...], rows: list[tuple], total: int, few: int = FEW) -> str:
    def lines(part: list[tuple]) -> str:
        return "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in part)

    top = "".join(f"<th>{escape(name)}</th>" for name in head) if any(head) else ""
    shown_rows = f'<div class="da-wide"><table class="da-numbers"><tr>{top}</tr>{lines(rows[:few])}</table></div>'
    if len(rows) <= few:
        return shown_rows
    more = f"{total - few} more" + (f", of which {len(rows) - few} are listed" if total > len(rows) else "")
    inner = f'<div class="da-wide"><table class="da-numbers"><tr>{top}</tr>{lines(rows[few:])}</table></div>'
    return f"{shown_rows}<details><summary>{more}</summary>{inner}</details>"


def figures(diagrams: list[Curves]) -> str:
    """Diagrams as elements that the page's script draws."""
    packer, plots = Packer(), []
    for one in diagrams:
        rows = thinned(one)
        channels = [Channel(np.nan_to_num(np.asarray(y, float))[rows]) for y in one.curves.values()]
        if one.log:  # a logarithm needs relative accuracy, which steps of equal size have not
            channels = [
                Channel(np.where(c.values > 0, np.log10(np.maximum(c.values, 1e-300)), -300.0)) for c in channels
            ]
        table = packer.table(one.t[rows], channels)
        curves = [{"name": name, "c": k} for k, name in enumerate(one.curves)]
        plots.append({"title": one.title, "curves": curves, "log": one.log, "table": table})
    if not plots:
        return "<p>There is nothing to be drawn.</p>"
    return f'<div class="da-figures">{embedded({"plots": plots, "data": packer.described()})}</div>'


def thinned(one: Curves) -> np.ndarray:
    """Numbers of points that a diagram needs: of each stretch the extreme ones of every curve."""
    count = len(one.t)
    if count <= POINTS:
        return np.arange(count)
    rows: set[int] = {0, count - 1}
    stretches = np.array_split(np.arange(count), max(2, POINTS // (2 * len(one.curves))))
    for values in one.curves.values():
        finite = np.nan_to_num(np.asarray(values, float))
        for part in stretches:
            rows |= {int(part[np.argmin(finite[part])]), int(part[np.argmax(finite[part])])}
    return np.array(sorted(rows))
