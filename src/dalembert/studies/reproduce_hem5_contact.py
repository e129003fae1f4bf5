"""The rest of the comparison of HEM5 with Runge-Kutta-Fehlberg: impacts of the rocking block, and section 4, edges.

The paper shows no numbers here: the block stays on its corner, and of both remedies for edges it says that what they
give is as expected. What stands here beside our results are exact solutions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import IllPosedConstraints
from dalembert.model import EquationsOfMotion
from dalembert.problems import ball_over_corner, ball_over_edge, falling_block
from dalembert.problems.contact import ImpactProblem
from dalembert.solution import Solution
from dalembert.solvers import Hem5, Rkf45

from .reproduce import Section
from .work_precision import _aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
#: how an edge is crossed: the name in the paper, and the method
REMEDIES = {
    "LCP (13)": Hem5(stages="complementarity"),
    "NSCD": Hem5(),
}


def sections(quick: bool = False) -> Iterator[Section]:
    """All of them; `quick` takes every other tolerance."""
    tolerances = TOLERANCES[1::2] if quick else TOLERANCES
    yield _block(tolerances)
    yield _ill_posed()
    edges = {
        "Figure 7a: ball from flat ground to the parabola z = x²": ball_over_edge(),
        "Figure 7b: ball over the convex edge of a table": ball_over_corner(),
    }
    for title, problem in edges.items():
        yield _edge(title, problem, tolerances)


# -- rocking block -------------------------------------------------------------------------------------------------


def _block(tolerances: tuple[float, ...]) -> Section:
    problem, lines, last = falling_block(), [], {}
    for name, method in (("Hem5", Hem5()), ("Rkf45", Rkf45())):
        for tolerance in tolerances:
            sol = last[name] = problem.simulate(method=method, rtol=tolerance, atol=tolerance)
            first = sol.impacts.named("B")
            times = [abs(hit.t - known.t) for hit, known in zip(first, problem.impacts, strict=False)]
            rest = abs(sol.impacts.rests[-1].t - problem.rest) if sol.impacts.rests else np.nan
            gap = min(float(sol[f"{corner}.gap"].min()) for corner in "AB")
            numbers = (max(times), rest, problem.error(sol), -min(gap, 0.0))
            lines.append(
                ((name, f"{tolerance:.0e}", str(sol.stats.accepted), *(f"{number:.1e}" for number in numbers)), "")
            )
    return Section(
        title="Section 3.1.1, beyond the paper's 0.5 s: rocking block, event-driven, until it lies flat",
        table=_aligned(
            ("method", "tolerance", "steps", "impact times", "time of rest", "error", "penetration"), lines, left=1
        ),
        remark=f"Restitution 0.5: corner B hits the ground at t = {problem.impacts[0].t:.6g} and then ever faster; "
        f"impacts accumulate\nat t = {problem.rest:.9g}. Errors of the first {len(problem.impacts)} impact times, of "
        "the time of rest, and of the state at the end.",
        picture="rocking_block.png",
        draw=lambda path: _angles(last).savefig(path, dpi=130),
    )


def _angles(runs: dict[str, Solution]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    ax = figure.subplots()
    for label, sol in runs.items():
        t = np.linspace(sol.t[0], sol.t[-1], 1000)
        ax.plot(t, sol.at(t)["th"], linewidth=1, label=label)
    ax.set(xlabel="t", ylabel="angle")
    ax.grid(alpha=0.25)
    ax.legend()
    return figure


# -- edges ---------------------------------------------------------------------------------------------------------


def held_on_both() -> EquationsOfMotion:
    """Ground and parabola as equations that hold together, as the paper's system at the edge has them."""
    return EquationsOfMotion(
        name="edge",
        p=["x", "z"],
        mass=[1.0, 1.0],
        force=[0.0, -9.81],
        holonomic=lambda s: [s.z, s.z - s.x**2],
        lam=["ground", "parabola"],
    )


def plain_index_2() -> str:
    """What the method says about the system with both constraints; empty if it finds nothing."""
    from dalembert.simulation import simulate

    try:
        simulate(held_on_both(), (0, 0.1), p0=[-3.3e-5, 0.0], v0=[1.0, 0.0], method=Hem5(initial_values="trust"))
    except IllPosedConstraints as reason:
        return str(reason)
    return ""


def _ill_posed() -> Section:
    said = plain_index_2() or "nothing: it goes on with accelerations that have no meaning"
    words, lines = said.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 110:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return Section(
        title="Section 4: both constraints in force at the edge, the plain index-2 method",
        table="\n".join(lines),
        remark="The paper prints such a system: two rows that are all but equal demand -3.6e-2 and 44.2.",
    )


def edge_run(problem: ImpactProblem, remedy: str, tolerance: float) -> Solution:
    """A ball over an edge, with one of the paper's remedies."""
    return problem.simulate(method=REMEDIES[remedy], rtol=tolerance, atol=tolerance)


def _edge(title: str, problem: ImpactProblem, tolerances: tuple[float, ...]) -> Section:
    lines, last = [], {}
    for remedy in REMEDIES:
        for tolerance in tolerances:
            sol = last[remedy] = edge_run(problem, remedy, tolerance)
            gap = min(float(sol[f"{contact.name}.gap"].min()) for contact in problem.model.contacts)
            numbers = (problem.error(sol), -min(gap, 0.0))
            steps = (str(sol.stats.accepted), str(sol.stats.rejected))
            lines.append(((remedy, f"{tolerance:.0e}", *steps, *(f"{number:.1e}" for number in numbers)), ""))
    return Section(
        title=title,
        table=_aligned(("remedy", "tolerance", "steps", "rejected", "error", "penetration"), lines, left=1),
        remark="Both methods of section 4 with HEM5: stages as complementarity problems (13), and a step of Moreau "
        "and\nJean's method that selects the constraints behind the edge (NSCD). Errors are against exact solutions.",
        picture=f"{problem.name}.png",
        draw=lambda path: _paths(problem, last).savefig(path, dpi=130),
    )


def _paths(problem: ImpactProblem, runs: dict[str, Solution]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for label, sol in runs.items():
        t = np.linspace(sol.t[0], sol.t[-1], 1000)
        curve = sol.at(t)
        left.plot(curve["x"], curve["z"], linewidth=1, label=label)
        right.plot(t, sum(curve[contact.name] for contact in problem.model.contacts), linewidth=1, label=label)
    left.set(xlabel="x", ylabel="z")
    right.set(xlabel="t", ylabel="contact force")
    for ax in (left, right):
        ax.grid(alpha=0.25)
    left.legend()
    return figure
