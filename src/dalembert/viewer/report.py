"""`Solution.report`: model, method, results and animation on one page."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import shown
from dalembert.errors import DalembertError, OptionError
from dalembert.viewer.animation import animate, title_of, write_page
from dalembert.viewer.chapters import chapters
from dalembert.viewer.curves import Plot, plots_of
from dalembert.viewer.encode import Packer
from dalembert.viewer.page import asset, embedded, page, player, plotted
from dalembert.viewer.pictures import diagnostics

if TYPE_CHECKING:
    from dalembert.solution.solution import Solution


def report(sol: Solution, path: str | PathLike | None = None, *, title: Any = None, animation: Any = True) -> Report:
    """See `Solution.report`."""
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title={shown(title)} must be text")
    if not isinstance(animation, bool | np.bool_):
        raise OptionError(f"animation={shown(animation)} must be True or False")
    found = Report(sol, title or (title_of(sol.model) if sol.model is not None else "Result"), bool(animation))
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
        write_page(path, self._html)
        self.path = path
        return self


def _body(sol: Solution, title: str, animation: bool) -> str:
    parts, links = [], []
    for name, heading, content in (*_pictures(sol, animation), *chapters(sol)):
        parts.append(f'<section id="{name}"><h2>{heading}</h2>{content}</section>')
        links.append(f'<a href="#{name}">{heading}</a>')
    nav = f'<nav aria-label="Chapters">{"".join(links)}</nav>'
    return f'<main class="da-report">{_head(sol, title, nav)}{"".join(parts)}</main>'


def _head(sol: Solution, title: str, nav: str) -> str:
    from dalembert import __version__

    first, last = sol.trajectory.interval
    facts = [("time", f"{first:.6g} … {last:.6g}"), ("steps", f"{sol.stats.accepted:,}".replace(",", "\u202f"))]
    facts.append(("method", sol.method_name))
    if sol.stats.seconds:
        facts.append(("wall time", f"{sol.stats.seconds:.3g} s"))
    facts.append(("dalembert", __version__))
    cards = "".join(f"<div><dt>{label}</dt><dd>{escape(value)}</dd></div>" for label, value in facts)
    status = "good" if sol.success else "bad"
    said = "".join(f"<p class='da-said'>{escape(line)}</p>" for line in sol.message.splitlines())
    return (
        f'<header class="da-top"><h1>{escape(title)}</h1><p class="da-status da-{status}">{escape(sol.status)}</p>'
        f'<button type="button" class="da-theme-switch" aria-label="Dark or light" title="Dark or light">◐</button>'
        f"{said}<dl>{cards}</dl>{nav}</header>"
    )


def _pictures(sol: Solution, animation: bool) -> list[tuple[str, str, str]]:
    """The animation, and below it the diagrams that go along with it."""
    found = []
    if animation and sol.model is not None:
        try:
            content = player(animate(sol, plots=[]))
        except DalembertError as error:  # what a result lacks is no reason to have no report
            content = f"<p>There is none: {escape(str(error))}</p>"
        found.append(("animation", "Animation", content))
    return [*found, ("diagrams", "Diagrams", figures([*plots_of(sol), *diagnostics(sol)]))]


def figures(plots: list[Plot]) -> str:
    """Diagrams as elements that the page's script draws."""
    if not plots:
        return "<p>There is nothing to be drawn.</p>"
    packer = Packer()
    described = plotted(packer, plots)
    return f'<div class="da-figures">{embedded({"plots": described, "data": packer.described()})}</div>'
