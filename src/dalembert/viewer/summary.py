"""Results in notebooks: a table and a small diagram, without scripts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from dalembert.viewer.palette import PALETTE

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution

WIDTH, HEIGHT = 460, 130
#: curves, and points of each
CURVES, POINTS = 6, 240


def solution_html(sol: Solution) -> str:
    """What happened, and the first variables over time."""
    first, last = sol.trajectory.interval
    rows = [("status", sol.status), ("t", f"{first:.6g} … {last:.6g}"), ("method", sol.method_name)]
    rows += [("formulation", sol.formulation), ("steps", str(sol.stats.accepted))]
    rows += [("rejected", str(sol.stats.rejected))] if sol.stats.rejected else []
    rows += [("events", repr(sol.events))] if len(sol.events) else []
    rows += [("impacts", repr(sol.impacts))] if len(sol.impacts) else []
    rows += [("message", sol.message)] if sol.message and not sol.success else []
    style = "text-align:left;padding:.1em .8em .1em 0"
    lines = "".join(
        f'<tr><th style="{style}">{label}</th><td style="{style}">{escape(text)}</td></tr>'
        for label, text in rows
        if text
    )
    model = f"<p><b>{escape(sol.model.name)}</b></p>" if sol.model is not None else ""
    return f'<div style="font:14px/1.5 system-ui,sans-serif">{model}<table>{lines}</table>{_diagram(sol)}</div>'


def _diagram(sol: Solution) -> str:
    """Lines as SVG; empty if there is nothing to draw."""
    view = sol._curve()
    names = (view._names.get("p") or view._names.get("x") or view.names)[:CURVES]
    t = np.asarray(view.t, float)
    if len(t) < 2 or not names:
        return ""
    rows = np.unique(np.linspace(0, len(t) - 1, POINTS).astype(int))
    values = np.array([np.asarray(view[name], float)[rows] for name in names])
    finite = values[np.isfinite(values)]
    if not finite.size or t[0] == t[-1]:
        return ""
    low, high = float(finite.min()), float(finite.max())
    x = (t[rows] - t[0]) / (t[-1] - t[0]) * WIDTH
    y = HEIGHT - 4 - (values - low) / ((high - low) or 1.0) * (HEIGHT - 8)
    lines, legend = [], []
    for name, curve, color in zip(names, y, PALETTE, strict=False):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, curve, strict=True) if np.isfinite(b))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        legend.append(f'<span style="color:{color};margin-right:1em">{escape(name)}</span>')
    frame = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="rgb(128 128 128 / .3)"/>'
    label = escape(", ".join(names), quote=True)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" style="max-width:100%"'
    svg = f'<svg {size} role="img" aria-label="{label} over time">{frame}{"".join(lines)}</svg>'
    note = f'<div style="font-size:12px">{"".join(legend)}<span style="opacity:.6">{low:.4g} … {high:.4g}</span></div>'
    return svg + note
