"""Pictures of concepts, drawn from computations; `examples/make_docs_images.py` writes them to docs/images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da

BLUE, RED, GREEN, GREY, ORANGE = "#2b6cb0", "#c53030", "#2f855a", "#718096", "#dd6b20"
G = 9.81


def paper(width: float, height: float) -> Figure:
    """An empty figure, with room for titles."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12)
    return figure


def levels() -> Figure:
    """What a constraint on positions says about positions, velocities and accelerations."""
    figure = paper(10, 3.5)
    angle = -0.6
    point = np.array([np.cos(angle), np.sin(angle)])
    along, out = np.array([-point[1], point[0]]), point
    position, velocity, acceleration = figure.subplots(1, 3)
    for ax in (position, velocity, acceleration):
        turn = np.linspace(0, 2 * np.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color=BLUE, linewidth=1.5)
        ax.plot([0, point[0]], [0, point[1]], color=GREY, linewidth=2)
        ax.plot(0, 0, "o", color=GREY, markersize=5)
        ax.plot(*point, "o", color="black", markersize=9, zorder=5)
        ax.set(aspect="equal", xlim=(-1.3, 1.75), ylim=(-1.75, 1.3))
        ax.axis("off")
    position.plot(*(0.75 * point), "x", color=RED, markersize=10, markeredgewidth=2)
    position.plot(*(1.3 * point), "x", color=RED, markersize=10, markeredgewidth=2)
    position.set_title("g = 0: it is on the circle")
    _arrow(velocity, point, 0.75 * along, GREEN, "v")
    _arrow(velocity, point, 0.55 * along + 0.45 * out, RED, "", dashed=True)
    velocity.set_title("gᴵ = 0: it moves along the circle")
    speed = 1.0
    force = -(speed**2 - G * point[1] / 10) * out
    _arrow(acceleration, point, np.array([0.0, -G / 10]), GREY, "gravity")
    _arrow(acceleration, point, force, ORANGE, "−Gᵀλ")
    _arrow(acceleration, point, force + np.array([0.0, -G / 10]), GREEN, "v'")
    acceleration.set_title("gᴵᴵ = 0: λ keeps it there")
    return figure


def _arrow(ax, start, vector, colour, text, dashed=False) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "linestyle": "--" if dashed else "-"}
    end = start + vector
    ax.annotate("", xy=end, xytext=start, arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
    ax.text(*(end + 0.1 * vector / np.linalg.norm(vector)), text, color=colour, ha="center", va="center")


def euler(correct: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], push=(0.0, 0.0)) -> np.ndarray:
    """Euler steps of a pendulum with λ from the constraint on acceleration level (plus `push` by the others).

    Far too large steps of a method of order 1: errors of every method look like this under a magnifying glass.
    """
    h, alpha, beta = 0.05, *push
    p, v = np.array([1.0, 0.0]), np.array([0.0, 0.0])
    points = [p]
    for _ in range(21):
        position, velocity = p @ p - 1, 2 * p @ v
        lam = (2 * v @ v + 2 * p @ [0, -G] + 2 * alpha * velocity + beta**2 * position) / (4 * p @ p)
        v = v + h * (np.array([0, -G]) - 2 * p * lam)  # v first: the energy stays where it is, nearly
        p, v = correct(p + h * v, v)
        points.append(p)
    return np.array(points)


def projected(p: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Back to the circle, and along it."""
    p = p / np.linalg.norm(p)
    return p, v - p * (p @ v)


def drift() -> Figure:
    """Euler steps under a magnifying glass: nothing pulls back, Baumgarte pulls, projection puts back."""
    figure = paper(10, 2.6)
    ways = {
        "gᴵᴵ = 0 alone: it drifts": euler(lambda p, v: (p, v)),
        "Baumgarte: it is pulled back": euler(lambda p, v: (p, v), push=(5.0, 8.0)),
        "every step is projected": euler(projected),
    }
    for ax, (title, points) in zip(figure.subplots(1, 3), ways.items(), strict=True):
        turn = np.linspace(np.pi, 2 * np.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color=BLUE, linewidth=1.5)
        ax.plot(*points.T, "o-", color=RED, markersize=4, linewidth=1)
        ax.plot(0, 0, "o", color=GREY, markersize=5)
        ax.set(aspect="equal", title=title, xlim=(-1.5, 1.5), ylim=(-1.35, 0.2))
        ax.axis("off")
    return figure


def residuals() -> Figure:
    """How far a pendulum is from its circle, over a hundred seconds, with each formulation."""
    figure = paper(10, 3.6)
    problem = da.problems.pendulum(t_end=100.0)
    axes = figure.subplots(1, 2, sharey=True)
    methods = {name: da.Radau5(formulation=name) for name in ("index1", "index2", "index3", "ggl", "baumgarte")}
    for colour, (name, method) in zip((RED, ORANGE, GREEN, BLUE, GREY), methods.items(), strict=True):
        sol = problem.simulate(method=method, rtol=1e-6, atol=1e-6)
        for ax, level in zip(axes, ("position", "velocity"), strict=True):
            _envelope(ax, sol, level, colour, name)
    sol = problem.simulate(method=da.Geoms(), rtol=1e-6, atol=1e-6)
    for ax, level in zip(axes, ("position", "velocity"), strict=True):
        _envelope(ax, sol, level, "black", "Geoms")
        ax.set(title=f"largest residual so far, {level} level", xlabel="t", yscale="log")
        ax.grid(alpha=0.25)
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _envelope(ax, sol, level, colour, name) -> None:
    values = np.maximum.accumulate(np.abs(sol.residual(level)).max(axis=1))
    ax.plot(sol.t[1:], np.maximum(values[1:], 1e-17), color=colour, label=name, linewidth=1.4)


def free_directions() -> Figure:
    """What is integrated and what is solved for: a pendulum in two positions."""
    figure = paper(8, 3.4)
    for ax, angle in zip(figure.subplots(1, 2), (-1.35, -0.25), strict=True):
        point = np.array([np.cos(angle), np.sin(angle)])
        turn = np.linspace(np.pi, 2 * np.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color=BLUE, linewidth=1.5)
        ax.plot([0, point[0]], [0, point[1]], color=GREY, linewidth=2)
        ax.plot(0, 0, "o", color=GREY, markersize=5)
        ax.plot(*point, "o", color="black", markersize=8, zorder=5)
        _arrow(ax, point, 0.6 * np.array([-point[1], point[0]]), GREEN, "K")
        _arrow(ax, point, 0.6 * point, ORANGE, "Gᵀ")
        ax.set(aspect="equal", xlim=(-1.2, 1.9), ylim=(-1.8, 0.5))
        ax.axis("off")
    return figure


def bouncing() -> Figure:
    """One ball, from event to event and by time stepping."""
    figure = paper(10, 3.2)
    ball = da.EquationsOfMotion(p=["y"], mass=[1.0], force=[-G], unilateral=lambda s: [s.y], restitution=0.7)
    ways = {"from event to event": da.Hem5(), "MoreauJean(h=0.05)": da.MoreauJean(h=0.05)}
    for ax, (title, method) in zip(figure.subplots(1, 2, sharey=True), ways.items(), strict=True):
        sol = da.simulate(ball, (0, 3), p0=[1.0], method=method)
        fine = np.linspace(0, 3, 1200)
        if isinstance(method, da.MoreauJean):
            ax.plot(sol.t, sol["y"], "o-", color=BLUE, markersize=3, linewidth=1)
        else:
            ax.plot(fine, sol.at(fine)["y"], color=BLUE, linewidth=1.3)
            ax.plot(sol.impacts.t, np.zeros(len(sol.impacts)), "o", color=RED, markersize=4)
        ax.axhline(0, color=GREY, linewidth=2)
        ax.set(title=title, xlabel="t")
        ax.grid(alpha=0.25)
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "levels.png": levels,
    "drift.png": drift,
    "residuals.png": residuals,
    "free_directions.png": free_directions,
    "bouncing.png": bouncing,
}


def draw(directory: Path) -> list[Path]:
    """Write all of them."""
    paths = []
    for name, make in FIGURES.items():
        paths.append(directory / name)
        make().savefig(paths[-1], dpi=100)
    return paths
