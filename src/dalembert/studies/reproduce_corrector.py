"""The numerical experiments on Jacobian strategies of Arnold, Fuchs and Führer, computed with this package.

M. Arnold, A. Fuchs, C. Führer, "Efficient corrector iteration for DAE time integration in multibody dynamics", Comput.
Methods Appl. Mech. Engrg. 195, 2006, section 4: a railway carriage (table 1), a chain of pendulums (table 2, figure 7),
a passenger car (table 3). The two vehicles were never published; ours are models of the same kind and size, so that
ratios within a table compare, counters of one line do not. All runs use DASSL's own `matrix_range` where Jacobians are
not kept, as the paper's do.

Sections "where it bites" follow, on models of ours that need as many Jacobians as the paper's: see `corrector_bites`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert import problems
from dalembert.model import EquationsOfMotion
from dalembert.problems import Problem
from dalembert.problems.pendulum_chain import full_mass, turning
from dalembert.solvers import Dassl
from dalembert.solvers.jacobians import Differences, GroupedDifferences, Jacobian
from dalembert.solvers.method import RunSpec, Tolerances

from . import corrector_bites
from .reproduce import Section
from .work_precision import _aligned

#: CPU seconds, function calls, those outside of Jacobians, Jacobians: by form, grouped columns, kept parts
TABLE_1 = {
    ("explicit", False, False): (18.86, 9739, 2179, 84),
    ("explicit", True, False): (14.78, 7178, 2166, 103),
    ("explicit", False, True): (11.03, 4759, 2509, 25),
    ("explicit", True, True): (10.59, 4605, 2288, 43),
    ("residual", False, False): (18.59, 10473, 2193, 92),
    ("residual", True, False): (13.55, 6992, 2152, 100),
    ("residual", False, True): (10.33, 4739, 2386, 24),
    ("residual", True, True): (9.63, 4415, 2226, 40),
}
#: CPU seconds, Jacobians, updates (26): by N, grouped columns, extended updates
TABLE_2 = {
    (12, False, False): (5.69, 59, 0),
    (12, True, False): (5.24, 72, 0),
    (12, False, True): (4.68, 9, 27),
    (12, True, True): (5.09, 10, 59),
    (14, False, False): (9.03, 96, 0),
    (14, True, False): (6.76, 70, 0),
    (14, False, True): (6.78, 12, 62),
    (14, True, True): (6.16, 8, 16),
}
#: CPU seconds, Jacobians: by grouped columns, kept parts ("", "partitioned", "extended")
TABLE_3 = {
    (False, ""): (296.86, 2229),
    (True, ""): (309.44, 2303),
    (False, "partitioned"): (141.28, 660),
    (False, "extended"): (145.75, 668),
    (True, "partitioned"): (79.66, 410),
    (True, "extended"): (59.45, 317),
}
#: Figure 7, N = 16: Jacobians of the standard and of the extended method
FIGURE_7 = (43, 6)


def strategy(grouped: bool, kept: bool | str) -> Jacobian:
    """A strategy of the paper's tables."""
    options = {"partitioned": bool(kept), "extended": kept == "extended"}
    return GroupedDifferences(pattern="estimated", **options) if grouped else Differences(**options)


def chain(N: int, omega: float = 0.05, t_end: float = 200.0) -> Problem:
    """The chain of `problems.moving_chain` with the suspension's acceleration as an input."""
    known = problems.moving_chain(N, omega=omega, t_end=t_end)
    coupling = N + 1.0 - np.arange(1, N + 1)
    parameters = {name: known.model.parameters[name] for name in ("m", "L", "g", "x_amplitude", "y_amplitude")}

    def force(s):
        across = (s.g + s.y_amplitude * s.swing) * np.sin(s.p) + s.x_amplitude * s.swing * np.cos(s.p)
        return -s.m * s.L * (s.L * turning(s.p, s.v, coupling) + coupling * across)

    model = EquationsOfMotion(
        name=f"chain_{N}",
        p=[f"a{i}" for i in range(1, N + 1)],
        parameters=parameters,
        inputs={"swing": lambda t: -(omega**2) * np.sin(omega * t)},
        mass=lambda s: full_mass(s.p, s.m * s.L**2, coupling, coupling),
        force=force,
    )
    return Problem(
        name=f"chain_{N}", title=known.title, model=model, p0=known.p0, v0=known.v0, t_end=t_end,
        reference=known.reference,
    )  # fmt: skip


def run(problem: Problem, method: Dassl, rtol: float, atol: float) -> dict[str, Any]:
    """Best CPU time of three runs, and the counters of the paper."""
    seconds = np.inf
    for _ in range(3):
        start = time.process_time()
        solution = problem.simulate(method=method, rtol=rtol, atol=atol)
        seconds = min(seconds, time.process_time() - start)
    stats = solution.stats
    return {
        "cpu": seconds,
        "#fc": stats.rhs_evaluations + stats.difference_evaluations,
        "#fcw": stats.rhs_evaluations,
        "#Je": stats.jacobian_evaluations,
        "#updates": stats.jacobian_updates,
        "solution": solution,
    }


def sections(quick: bool = False) -> Iterator[Section]:
    """All sections; `quick` takes a tenth of the intervals."""
    yield _table_1(quick)
    yield _table_2(quick)
    yield _figure_7(quick)
    yield _table_3(quick)
    yield from corrector_bites.sections(quick)


def _marks(*flags: bool) -> list[str]:
    return ["*" if flag else "" for flag in flags]


def _head(counters: Sequence[str]) -> tuple[str, ...]:
    return ("published cpu", *counters, "", "our cpu", *counters, "")


def _figures(
    published: Sequence[float], ours: dict[str, Any], counters: Sequence[str], standard: tuple[float, float]
) -> list[str]:
    """CPU time, counters and percentage of the standard method's time: as published, then ours."""
    cells = []
    for (cpu, *counts), start in zip((published, [ours[k] for k in ("cpu", *counters)]), standard, strict=True):
        cells += [f"{cpu:.3g}", *map(str, counts), f"{100 * cpu / start:.0f}%"]
    return cells


def _shortened(problem: Problem, quick: bool) -> Problem:
    if not quick:
        return problem
    return Problem(
        name=problem.name, title=problem.title, model=problem.model, p0=problem.p0, v0=problem.v0,
        t_end=0.1 * problem.t_end, reference=None,
    )  # fmt: skip


def _table_1(quick: bool) -> Section:
    problem, lines, first = _shortened(problems.railway_carriage(), quick), [], {}
    counters = ("#fc", "#fcw", "#Je")
    for (form, grouped, kept), published in TABLE_1.items():
        ours = run(problem, Dassl(form=form, jacobian=strategy(grouped, kept)), 1e-4, 1e-4)
        standard = first.setdefault(form, (published[0], ours["cpu"]))
        cells = [form, *_marks(not grouped, grouped, kept)]
        lines.append((cells + _figures(published, ours, counters, standard), ""))
    head = ("form", "dense", "sparse", "part.", *_head(counters))
    return Section(
        title="Table 1: railway carriage" + (" (a tenth of the interval)" if quick else ""),
        table=_aligned(head, lines, left=4),
        remark="The paper: both adaptions together save half of the time; explicit and residual form hardly differ.",
    )


def _table_2(quick: bool) -> Section:
    lines, first, counters = [], {}, ("#Je", "#updates")
    t_end = 20.0 if quick else 200.0
    for (N, grouped, extended), published in TABLE_2.items():
        ours = run(chain(N, t_end=t_end), Dassl(jacobian=strategy(grouped, "extended" if extended else "")), 1e-4, 1e-6)
        standard = first.setdefault(N, (published[0], ours["cpu"]))
        cells = [str(N), *_marks(not grouped, grouped, extended)]
        lines.append((cells + _figures(published, ours, counters, standard), ""))
    head = ("N", "dense", "sparse", "extended", *_head(counters))
    return Section(
        title=f"Table 2: chain of pendulums on [0, {t_end:g}], rtol 1e-4, atol 1e-6",
        table=_aligned(head, lines, left=4),
        remark="Start values are not published; ours is the chain at rest below its suspension, which stays nearly\n"
        "linear: one Jacobian is enough where ∂F/∂x is kept.",
    )


def jacobian_times(problem: Problem, method: Dassl, rtol: float, atol: float) -> tuple[np.ndarray, np.ndarray]:
    """Times of new Jacobians and of updates, by taking the steps one by one."""
    from dalembert.regularize import consistent_initial_values

    system = method.formulate(problem.model)
    tolerances = Tolerances(np.full(system.n, rtol), np.full(system.n, atol))
    stepper = method.stepper(system, RunSpec(model=problem.model, tolerances=tolerances))
    initial = consistent_initial_values(problem.model, 0.0, **problem.start())
    stepper.start(0.0, *system.start(initial), problem.t_end, None)
    times: tuple[list[float], list[float]] = ([], [])
    before, steps = (0, 0), 0
    while stepper.t < problem.t_end:
        steps += 1
        stepper.state.set(max_steps=steps)
        stepper.advance()
        stepper.collect()
        counts = stepper.counters
        now = (counts["jacobian_evaluations"], counts["jacobian_updates"])
        for kind in range(2):
            times[kind].extend([stepper.t] * (now[kind] - before[kind]))
        before = now
    return np.array(times[0]), np.array(times[1])


def _figure_7(quick: bool) -> Section:
    problem = chain(16, t_end=20.0 if quick else 200.0)
    times = [jacobian_times(problem, Dassl(jacobian=strategy(False, kept)), 1e-4, 1e-6) for kept in ("", "extended")]
    lines = [
        ([name, str(published), str(len(jacobians)), str(len(updates))], "")
        for name, published, (jacobians, updates) in zip(("standard", "extended"), FIGURE_7, times, strict=True)
    ]
    return Section(
        title=f"Figure 7: chain of 16 pendulums on [0, {problem.t_end:g}], when Jacobians are evaluated",
        table=_aligned(("", "published #Je", "our #Je", "our updates"), lines, left=1),
        picture="figure_7.png",
        draw=lambda path: _draw(times, problem.t_end).savefig(path, dpi=130),
    )


def _draw(times: Sequence[tuple[np.ndarray, np.ndarray]], t_end: float):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    t = np.linspace(0, t_end, 400)
    for ax, title, (jacobians, updates) in zip(
        figure.subplots(2, sharex=True), ("standard", "extended partitioned"), times, strict=True
    ):
        ax.plot(t, np.sin(0.05 * t), color="black")
        for values, style, label in ((jacobians, ":", "differences (16)"), (updates, "--", "updates (26)")):
            ax.vlines(
                values, -1, 1, linestyles=style, linewidth=0.8, label=label, colors="C0" if style == ":" else "C1"
            )
        ax.set(title=title, ylabel="excitation")
        ax.legend(loc="upper right", fontsize="small")
    ax.set_xlabel("time")
    return figure


def _table_3(quick: bool) -> Section:
    problem, lines, first, counters = _shortened(problems.passenger_car(), quick), [], None, ("#Je",)
    for (grouped, kept), published in TABLE_3.items():
        ours = run(problem, Dassl(form="explicit", jacobian=strategy(grouped, kept)), 1e-4, 1e-5)
        first = first or (published[0], ours["cpu"])
        cells = _marks(not grouped, grouped, kept == "partitioned", kept == "extended")
        lines.append((cells + _figures(published, ours, counters, first), ""))
    head = ("dense", "sparse", "partitioned", "extended", *_head(counters))
    return Section(
        title="Table 3: passenger car" + (" (a tenth of the interval)" if quick else ""),
        table=_aligned(head, lines, left=4),
        remark="Percentages are of CPU time; those printed in the paper's table are of #Je. Our car has no\n"
        "expensive force elements and weaves smoothly: the standard method needs few Jacobians, too, and there\n"
        "is little to save.",
    )
