"""Strategies for Jacobians where they matter: models of `corrector_models`, beside the percentages of the paper.

Each line is a run with the same tolerances; CPU times are the best of several rounds in which all strategies take
turns. Errors are those of all positions and velocities at a hundred times, against a run with tight tolerances.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import simulate
from dalembert.model import EquationsOfMotion
from dalembert.solution import Solution
from dalembert.solvers import Dassl
from dalembert.solvers.jacobians import Differences, GroupedDifferences, Jacobian

from .corrector_models import Case, swinging_chain, weaving_car
from .reproduce import Section
from .work_precision import _aligned

#: strategies by the name in the tables; columns one by one, or grouped by their estimated pattern (sparse)
STRATEGIES: dict[str, Jacobian] = {
    "standard": Differences(),
    "sparse": GroupedDifferences(pattern="estimated"),
    "partitioned": Differences(partitioned=True),
    "extended": Differences(partitioned=True, extended=True),
    "sparse, partitioned": GroupedDifferences(pattern="estimated", partitioned=True),
    "sparse, extended": GroupedDifferences(pattern="estimated", partitioned=True, extended=True),
}
FORMS = ("explicit", "residual")
TIGHT = 1e-9  # tolerance of references

#: percentages of CPU time in table 2, by N, and in table 3, where they follow from the times. Explicit form
PAPER_CHAINS = {
    12: {"standard": 100.0, "sparse": 92.1, "extended": 82.2, "sparse, extended": 89.5},
    14: {"standard": 100.0, "sparse": 74.9, "extended": 75.1, "sparse, extended": 68.2},
}
PAPER_CAR = {
    "standard": 100.0, "sparse": 104.2, "partitioned": 47.6, "extended": 49.1, "sparse, partitioned": 26.8,
    "sparse, extended": 20.0,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Row:
    """One strategy on one model in one form."""

    strategy: str
    seconds: float  # CPU time
    evaluations: int  # of the residual, all
    differences: int  # of these, for Jacobians
    jacobians: int
    updates: int
    error: float
    share: float  # of the time: evaluations for Jacobians


def reference(case: Case) -> Solution:
    """A solution with tight tolerances, by exact Jacobians."""
    model = case.model("residual")
    return simulate(model, (0.0, case.t_end), **case.values(model), method=Dassl(), rtol=TIGHT, atol=TIGHT)


def compare(
    case: Case, form: str, exact: Solution, *, strategies: Iterable[str] = tuple(STRATEGIES), rounds: int = 5
) -> list[Row]:
    """Run a case with several strategies, in turn; what is compiled for the first run is not counted."""
    model, names = case.model(form), list(strategies)
    solutions = {name: _run(case, model, name) for name in names}
    seconds, shares = dict.fromkeys(names, np.inf), {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            start = time.process_time()
            _run(case, model, name)
            seconds[name] = min(seconds[name], time.process_time() - start)
            profile: Any = _run(case, model, name, profile=True).profile
            shares[name].append(profile.share("residual"))
    return [_row(case, name, solutions[name], exact, seconds[name], np.median(shares[name])) for name in names]


def _run(case: Case, model: EquationsOfMotion, strategy: str, **options) -> Solution:
    return simulate(
        model, (0.0, case.t_end), **case.values(model), method=Dassl(jacobian=STRATEGIES[strategy]), rtol=case.rtol,
        atol=case.atol, **options,
    )  # fmt: skip


def _row(case: Case, name: str, solution: Solution, exact: Solution, seconds: float, share: float) -> Row:
    """`share` is that of all evaluations in the time."""
    stats = solution.stats
    evaluations = stats.rhs_evaluations + stats.difference_evaluations
    return Row(
        strategy=name,
        seconds=seconds,
        evaluations=evaluations,
        differences=stats.difference_evaluations,
        jacobians=stats.jacobian_evaluations,
        updates=stats.jacobian_updates,
        error=_error(solution, exact, case.t_end),
        share=float(share) * stats.difference_evaluations / evaluations,
    )


def _error(solution: Solution, exact: Solution, t_end: float) -> float:
    """The largest |y − ref|/(1 + |ref|) of positions and velocities at a hundred times."""
    times = np.linspace(0.0, t_end, 101)[1:]
    here, there = solution.at(times), exact.at(times)
    return max(
        float(np.max(np.abs(getattr(here, kind) - ref) / (1.0 + np.abs(ref))))
        for kind, ref in (("p", there.p), ("v", there.v))
    )


# -- sections ----------------------------------------------------------------------------------------------------------

_HEAD = (
    "", "strategy", "cpu ms", "#fc", "#fcw", "#Je", "#updates", "error", "in Jacobians", "percent", "published",
)  # fmt: skip


def sections(quick: bool = False) -> Iterator[Section]:
    """The chain and the car; `quick`: short intervals, few models, one round."""
    yield _chain(quick)
    yield _car(quick)


def _table(cases: Iterable[tuple[str, Case, dict[str, float]]], rounds: int) -> str:
    """Lines of all strategies in both forms; published percentages are those of the explicit form."""
    lines = []
    for label, case, published in cases:
        exact = reference(case)
        for form in FORMS:
            rows = compare(case, form, exact, rounds=rounds)
            for row in rows:
                known = published.get(row.strategy) if form == "explicit" else None
                cells = [
                    f"{label}, {form}",
                    row.strategy,
                    f"{1e3 * row.seconds:.1f}",
                    *map(str, (row.evaluations, row.evaluations - row.differences, row.jacobians, row.updates)),
                    f"{row.error:.1e}",
                    f"{100 * row.share:.0f}%",
                    f"{100 * row.seconds / rows[0].seconds:.0f}%",
                    "-" if known is None else f"{known:.0f}%",
                ]
                lines.append((cells, ""))
    return _aligned(_HEAD, lines, left=2)


def _chain(quick: bool) -> Section:
    sizes, t_end = ((12, 24), 2.0) if quick else ((12, 14, 16, 48), 10.0)
    cases = ((f"N = {N}", swinging_chain(N, t_end=t_end), PAPER_CHAINS.get(N, {})) for N in sizes)
    return Section(
        title=f"Where it bites: chain let go from a slope, with dry friction, on [0, {t_end:g}], rtol 1e-4, atol 1e-6",
        table=_table(cases, rounds=1 if quick else 5),
        remark="Step sizes change whenever joints come to rest and slip again: the standard method takes a Jacobian\n"
        "for each change, the kept ones an update. 'in Jacobians' is the share of the time that goes into\n"
        "evaluations for differences: no strategy can save much more than the standard method's share. The\n"
        "recursions are compiled: of a short chain an evaluation takes less time than the rest of a step. The\n"
        "share, and with it the saving, grows with N. All joints of a chain depend on each other: columns\n"
        "hardly group. The input is a small part of ∂F/∂x (0.3 N beside a weight of 9.8 N): to follow it\n"
        "brings nothing.",
    )


def _car(quick: bool) -> Section:
    kinds = (("joints", 1),) if quick else (("joints", 1), ("joints", 32), ("rough", 32))
    t_end = 0.5 if quick else 5.0
    cases = (
        (f"{road}, {strips} strip{'s' * (strips > 1)}", weaving_car(road, strips=strips, t_end=t_end), PAPER_CAR)
        for road, strips in kinds
    )
    return Section(
        title=f"Where it bites: car on a bad road on [0, {t_end:g}], rtol 1e-4, atol 1e-5",
        table=_table(cases, rounds=1 if quick else 5),
        remark="Published percentages are of the CPU times of table 3. On a road with joints little but the step\n"
        "size changes: kept Jacobians save the more, the more the tyres cost (contact in 1 or 32 strips). On\n"
        "the rough road struts run into their stops, wheels lift off, friction changes its direction all the\n"
        "time: ∂F/∂x itself is another one, Newton's method gets slow with a kept one, it is replaced, and\n"
        "hardly anything is saved. The body is connected with everything, so that columns hardly group: the\n"
        "paper's further savings by sparse differences need parts that do not depend on each other, as in\n"
        "table 1.",
    )
