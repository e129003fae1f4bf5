"""The content of `dalembert demo`: mechanisms of the catalogue, a table of how they went, and a picture.

It is written to be read: `simulate_all` runs, `table` measures, `picture` draws. The same from Python:

>>> from dalembert import demo
>>> results = demo.simulate_all(["pendulum", "sleigh"])
>>> [result.problem.name for result in results]
['pendulum', 'sleigh']
>>> results[0].solution.max_residual("position") < 1e-6
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import problems
from dalembert.problems import Problem
from dalembert.solution import Solution
from dalembert.solvers import Radau5

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

TOLERANCE = 1e-8

#: problem: the formulation it is shown with
MECHANISMS = {
    "pendulum": "ggl",
    "andrews": "ggl",
    "car_axis": "index2",
    "truck": "ggl",
    "slider_crank": "index2",
    "heavy_top": "ggl",
    "sleigh": "index2",
    "ball_in_ellipse": "index3",
    "motor_pendulum": "baumgarte",
}


@dataclass(frozen=True)
class Result:
    """A problem of the catalogue and its solution."""

    problem: Problem
    solution: Solution

    @property
    def error(self) -> float | None:
        """Error against the reference values, if there are any at this end time."""
        return self.problem.error(self.solution) if self.problem.reference is not None else None


def simulate_all(
    names: Iterable[str] = MECHANISMS, announce: Callable[[str], object] = lambda title: None
) -> list[Result]:
    """Simulate problems of the catalogue; `announce` is told the title of each before it starts."""
    results = []
    for name in names:
        problem = problems.catalogue()[name]()
        announce(problem.title)
        method = Radau5(formulation=MECHANISMS.get(name, "ggl"))
        results.append(Result(problem, problem.simulate(method=method, rtol=TOLERANCE, atol=TOLERANCE)))
    return results


def facts(result: Result) -> dict[str, Any]:
    """Steps, constraint residuals, error and time of a result."""
    solution = result.solution
    return {
        "problem": result.problem.name, "formulation": solution.formulation, "steps": solution.stats.accepted,
        "position": solution.max_residual("position"), "velocity": solution.max_residual("velocity"),
        "error": result.error, "seconds": solution.stats.seconds,
    }  # fmt: skip


def table(results: Iterable[Result]) -> Table:
    """The facts about each result."""
    from rich.table import Table

    table = Table(title=f"Radau5, rtol = atol = {TOLERANCE:g}", title_justify="left")
    table.add_column("problem", style="bold")
    table.add_column("formulation")
    for heading in ("steps", "max |g|\n(position)", "max |g'|\n(velocity)", "error against\nreference", "time\n(ms)"):
        table.add_column(heading, justify="right")
    for one in map(facts, results):
        error = "" if one["error"] is None else f"{one['error']:.1e}"
        counts = (str(one["steps"]), f"{one['position']:.1e}", f"{one['velocity']:.1e}", error)
        table.add_row(one["problem"], one["formulation"], *counts, f"{1e3 * one['seconds']:.1f}")
    return table


# -- the picture ---------------------------------------------------------------------------------------------------

INK, BLUE, ORANGE, GREEN, RED, PURPLE = "#333333", "#1f5fa8", "#e08214", "#2a9d6f", "#c8352d", "#7b4fa3"


def picture(results: Iterable[Result]) -> Figure:
    """One panel for each mechanism that has one, and one that compares formulations. Needs no display."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    by_name = {result.problem.name: result.solution for result in results}
    panels = [(draw, by_name[name]) for name, draw in _PANELS.items() if name in by_name]
    with rc_context({"font.size": 9, "axes.titlesize": 10.5, "axes.titleweight": "bold", "axes.edgecolor": "#888888"}):
        columns = min(3, len(panels) + 1)
        rows = -(-(len(panels) + 1) // columns)
        figure = Figure(figsize=(4.4 * columns, 3.7 * rows), layout="constrained")
        engine: Any = figure.get_layout_engine()
        engine.set(w_pad=0.12, h_pad=0.12)
        for place, (draw, solution) in enumerate(panels, start=1):
            projection = "3d" if draw is _heavy_top else None
            ax = figure.add_subplot(rows, columns, place, projection=projection)
            draw(ax, solution)
            _tidy(ax)
        ax = figure.add_subplot(rows, columns, len(panels) + 1)
        _drift(ax)
        _tidy(ax)
    return figure


def _pendulum(ax: Axes, solution: Solution) -> None:
    """Half a swing at equal intervals of time, later positions darker."""
    times = np.linspace(0, 1, 25)
    swing = solution.at(times)
    for k, (x, y) in enumerate(swing.p):
        shade = 0.15 + 0.85 * k / len(times)
        ax.plot([0, x], [0, y], color=BLUE, alpha=0.5 * shade, linewidth=1)
        ax.plot(x, y, "o", color=BLUE, alpha=shade, markersize=6, markeredgewidth=0)
    ax.plot(0, 0, "o", color=INK, markersize=5)
    ax.set(title="Pendulum: every 1/24 of half a swing", xlabel="x", ylabel="y")
    ax.set_aspect("equal", adjustable="datalim")


def _andrews(ax: Axes, solution: Solution) -> None:
    """The angles that stay bounded; beta and theta turn over and over."""
    t = np.linspace(0, solution.t[-1], 800)
    curve = solution.at(t)
    for name, label, color in (
        ("gamma", "γ", BLUE),
        ("phi", "φ", ORANGE),
        ("delta", "δ", GREEN),
        ("omega", "Ω", RED),
        ("epsilon", "ε", PURPLE),
    ):
        ax.plot(1e3 * t, curve[name], color=color, linewidth=1.4, label=label)
    ax.set(title="Andrews' squeezing mechanism", xlabel="t [ms]", ylabel="angle [rad]", ylim=(-0.8, 1.75))
    ax.legend(ncols=5, loc="upper center", frameon=False, columnspacing=1.0, handlelength=1.2)


def _truck(ax: Axes, solution: Solution) -> None:
    """Lift of the bodies over the road under the front wheel."""
    model: Any = solution.model
    t = np.linspace(0, solution.t[-1], 800)
    curve, start = solution.at(t), solution.at(0.0)
    road = np.array([model.input_values(time)[0, 1] for time in t])
    ax.fill_between(t, 100 * road, color="#bbbbbb", alpha=0.6, linewidth=0, label="road, front wheel")
    for name, label, color in (("z2", "chassis", BLUE), ("z4", "cabin", ORANGE), ("z5", "load", GREEN)):
        ax.plot(t, 100 * (curve[name] - start[name]), color=color, linewidth=1.4, label=label)
    ax.set(title="Truck over a bump", xlabel="t [s]", ylabel="lift [cm]")
    ax.legend(frameon=False, loc="upper left")


def _heavy_top(ax: Any, solution: Solution) -> None:
    """The path of the centre of mass on the sphere around the fixed tip."""
    x, y, z = solution.at(np.linspace(0, solution.t[-1], 1500)).p[:, :3].T
    azimuth, height = np.meshgrid(np.linspace(0, 2 * np.pi, 40), np.linspace(-np.pi / 2, np.pi / 2, 20))
    sphere = np.cos(height) * np.cos(azimuth), np.cos(height) * np.sin(azimuth), np.sin(height)
    ax.plot_wireframe(*sphere, color="#999999", alpha=0.18, linewidth=0.5)
    ax.plot(x, y, z, color=BLUE, linewidth=1.6)
    ax.plot([0, x[-1]], [0, y[-1]], [0, z[-1]], color=RED, linewidth=2)
    ax.plot([0], [0], [0], "o", color=INK, markersize=4)
    ax.set_title("Heavy top: the centre of mass")
    ax.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1), zticks=(-1, 0, 1))
    ax.set_box_aspect((1, 1, 1), zoom=1.05)
    ax.view_init(elev=22, azim=-50)


def _sleigh(ax: Axes, solution: Solution) -> None:
    """Path of the centre of mass, and the knife edge at equal intervals of time."""
    path = solution.at(np.linspace(0, solution.t[-1], 600))
    ax.plot(path["x"], path["y"], color=BLUE, linewidth=1.2)
    for x, y, theta in solution.at(np.linspace(0, solution.t[-1], 31)).p:
        along = 0.5 * np.array([np.cos(theta), np.sin(theta)])
        ax.plot([x - along[0], x], [y - along[1], y], color=ORANGE, linewidth=1.6, solid_capstyle="round")
        ax.plot(x, y, "o", color=BLUE, markersize=3)
    ax.annotate("start", tuple(path.p[0, :2]), xytext=(-32, -3), textcoords="offset points", color=INK)
    ax.set(title="Chaplygin's sleigh turns round", xlabel="x", ylabel="y")
    ax.set_aspect("equal", adjustable="datalim")


def _drift(ax: Axes) -> None:
    """How far each formulation leaves the constraint of the pendulum."""
    problem = problems.pendulum(t_end=40.0)
    for formulation, color in (
        ("index1", RED),
        ("index2", ORANGE),
        ("baumgarte", PURPLE),
        ("index3", GREEN),
        ("ggl", BLUE),
    ):
        solution = problem.simulate(method=Radau5(formulation=formulation), rtol=1e-6, atol=1e-6)
        # the largest residual so far shows the trend
        size = np.maximum.accumulate(np.abs(solution.residual("position")).max(axis=1))
        ax.semilogy(solution.t[1:], np.maximum(size[1:], 1e-17), color=color, linewidth=1.4, label=formulation)
    ax.set(title="Pendulum: distance from the constraint", xlabel="t", ylabel="largest |g| so far")
    ax.legend(ncols=3, frameon=False, loc="upper left", columnspacing=1.0, handlelength=1.2)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 40)


def _tidy(ax: Axes) -> None:
    if ax.name != "3d":
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25, linewidth=0.6)
        ax.set_axisbelow(True)


_PANELS: dict[str, Callable[[Axes, Solution], None]] = {
    "pendulum": _pendulum,
    "andrews": _andrews,
    "truck": _truck,
    "heavy_top": _heavy_top,
    "sleigh": _sleigh,
}
