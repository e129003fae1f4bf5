"""The numerical experiments of the GEOMS paper, computed with this package.

A. Steinbrecher, "GEOMS: A software package for the numerical integration of general model equations of multibody
systems", WIAS Preprint 1259, 2007, section 4. Numbers are published in its tables 3 and 4 only; the figures are
curves without numbers, so for them ours stand alone, beside what the text says about the figure.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.problems import Problem, pendulum, truck11
from dalembert.solvers import Geoms

from .reproduce import Section
from .work_precision import METHODS, _aligned, work_precision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The paper's counters and ours.
COUNTERS = {
    "NACCPT": "accepted",
    "NEOM": "rhs_evaluations",
    "NPDEC": "constraint_decompositions",
    "NERJCT": "error_rejections",
    "NJAC": "jacobian_evaluations",
    "NEDEC": "decompositions",
    "NCRJCT": "convergence_rejections",
    "NMAS": "mass_evaluations",
    "NBSUB": "back_substitutions",
    "NSEL": "selectors",
}

#: Tables 3 (speed 2.8 at the start) and 4 (2.9), by speed and tolerance, in the order of `COUNTERS`.
PUBLISHED = {
    (2.8, 1e-7): (187, 2167, 187, 16, 187, 204, 1, 1, 660, 2),
    (2.8, 1e-8): (270, 2961, 270, 13, 270, 284, 1, 1, 897, 2),
    (2.8, 1e-9): (391, 4141, 391, 9, 391, 401, 1, 1, 1250, 2),
    (2.9, 1e-7): (207, 2730, 207, 7, 207, 227, 13, 1, 841, 26),
    (2.9, 1e-8): (303, 3729, 303, 12, 303, 321, 6, 1, 1142, 19),
    (2.9, 1e-9): (441, 5208, 441, 12, 441, 459, 6, 1, 1589, 19),
}

#: Our choice of selectors, and the paper's.
SELECTORS = ("every", "adaptive")

LEVELS = ("position", "velocity", "acceleration", "invariant")

_NO_ENERGY = {
    "geoms no energy": Geoms(invariants="ignore"),
    "geoms index1 no energy": Geoms(formulation="index1", invariants="ignore"),
}

_NAMES = {
    "geoms": "GEOMS(psfEoM+I)",
    "geoms no energy": "GEOMS(psfEoM)",
    "geoms index1 no energy": "GEOMS(pEoM1)",
    "radau5 index1": "RADAU5(EoM1)",
    "radau5 index2": "RADAU5(EoM2)",
    "radau5 index3": "RADAU5(EoM)",
    "radau5 ggl": "RADAU5(GGL)",
}  # of the pendulum in the paper


def sections(quick: bool = False) -> Iterator[Section]:
    """All sections; `quick` takes 20 instead of 1000 time units of the pendulum and fewer tolerances."""
    t_end = 20.0 if quick else 1000.0
    yield _tables_3_and_4()
    swing = pendulum(energy=True, t_end=t_end)
    tolerances = (1e-5, 1e-7) if quick else (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
    runs = [_Run.of(swing, label, method, tol) for label, method in _methods().items() for tol in tolerances]
    at_7 = [run for run in runs if run.tolerance == 1e-7]
    yield _figure_1(at_7, t_end)
    yield _figure_4(at_7, t_end)
    yield _figure_5(runs, t_end)
    tolerances = (1e-4, 1e-6, 1e-8) if quick else tuple(10.0**-k for k in range(4, 11))
    yield _efficiency(
        "Figures 2 and 3: pendulum", swing, _methods(), tolerances, "figures_2_3.png",
        "The paper: GEOMS(psfEoM+I), here geoms, performs best for this example. Time only compares within the table.",
    )  # fmt: skip
    yield _multipliers(swing, tolerances)
    yield _efficiency(
        "Figure 8: truck", truck11(), {label: make() for label, make in METHODS.items()}, tolerances, "figure_8.png",
        "The paper: accuracy is similar, time differs. Its truck was never published completely: ours is a\n"
        "reconstruction (see problems.truck11), so compare the methods with each other, not with the published curves.",
    )  # fmt: skip


# -- tables 3 and 4 ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counted:
    """A published run and ours."""

    v0: float
    tolerance: float
    selector: str
    published: Mapping[str, int]
    ours: Mapping[str, int]

    @property
    def ratio(self) -> float:
        """Our accepted steps by the published ones."""
        return self.ours["NACCPT"] / self.published["NACCPT"]


def counters() -> Iterator[Counted]:
    """Run what tables 3 and 4 show, with both choices of selectors."""
    for (v0, tolerance), numbers in PUBLISHED.items():
        problem = pendulum(start="hanging", v0=v0, g=13.75, t_end=5.0)
        published = dict(zip(COUNTERS, numbers, strict=True))
        for selector in SELECTORS:
            solution = problem.simulate(
                method=Geoms(selector=selector), rtol=tolerance, atol=tolerance, first_step=0.01
            )
            stats = solution.stats.to_dict()
            ours = {theirs: stats[own] for theirs, own in COUNTERS.items()}
            yield Counted(v0, tolerance, selector, published, ours)


def _tables_3_and_4() -> Section:
    lines: list[tuple[tuple[str, ...], str]] = []
    for row in counters():
        table = f"table {3 if row.v0 == 2.8 else 4}"
        start = (table, f"{row.v0:g}", f"{row.tolerance:.0e}")
        if row.selector == SELECTORS[0]:
            lines.append(((*start, "published", *map(str, row.published.values()), ""), ""))
        lines.append(((*start, f"ours, {row.selector}", *map(str, row.ours.values()), f"{row.ratio:.2f}"), ""))
    return Section(
        title="Tables 3 and 4: pendulum, counters of GEOMS(psfEoM)",
        table=_aligned(("", "v0", "tolerance", "", *COUNTERS, "ratio"), lines, left=4),
        remark="ratio: our accepted steps by the published ones. Selectors with every Jacobian are our default,\n"
        "adaptive ones the paper's strategy. Our names:\n"
        + "\n".join(textwrap.wrap(", ".join(f"{a} {b}" for a, b in COUNTERS.items()), 110)),
    )


# -- figures 1, 4 and 5 --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """Largest residuals of a run, in all and over time."""

    label: str
    tolerance: float
    t: np.ndarray
    residuals: Mapping[str, np.ndarray]  # by level, of the same length as t
    failure: str = ""

    @classmethod
    def of(cls, problem: Problem, label: str, method: Any, tolerance: float) -> _Run:
        try:
            solution = problem.simulate(method=method, rtol=tolerance, atol=tolerance)
        except DalembertError as error:  # a line of the table
            return cls(label, tolerance, np.empty(0), {}, f"  {_reason(error)}")
        # a point for each of at most 500 stretches, with the largest residual of the stretch: enough for a picture
        size = -(-len(solution.t) // 500)
        starts = np.arange(0, len(solution.t), size)
        largest = {level: np.abs(solution.residual(level)).max(axis=1) for level in LEVELS}
        return cls(
            label, tolerance, solution.t[starts], {k: np.maximum.reduceat(r, starts) for k, r in largest.items()}
        )

    def texts(self, *levels: str) -> list[str]:
        return [f"{self.residuals[level].max():.1e}" if self.residuals else "-" for level in levels]


def _methods() -> dict[str, Any]:
    """All methods of the registry, and those of GEOMS that leave the energy alone, by label."""
    return {label: make() for label, make in METHODS.items()} | _NO_ENERGY


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:100]


def _figure_1(runs: Sequence[_Run], t_end: float) -> Section:
    lines = [((run.label, _NAMES.get(run.label, ""), *run.texts("invariant")), run.failure) for run in runs]
    return Section(
        title=f"Figure 1: pendulum, deviation of the total energy on [0, {t_end:g}] at tolerance 1e-7",
        table=_aligned(("method", "in the paper", "maximum"), lines, left=2),
        remark="The paper: constant with GEOMS(psfEoM+I) only, very accurate with the other formulations of GEOMS.\n"
        "Ours: geoms projects accepted points onto the energy; the paper's has it among the equations.",
        picture="figure_1.png",
        draw=lambda path: _over_time(runs, ("invariant",), "deviation of the energy").savefig(path, dpi=130),
    )


def _figure_4(runs: Sequence[_Run], t_end: float) -> Section:
    lines = [((run.label, _NAMES.get(run.label, ""), *run.texts(*LEVELS[:3])), run.failure) for run in runs]
    return Section(
        title=f"Figure 4: pendulum, largest residuals of the constraints on [0, {t_end:g}] at tolerance 1e-7",
        table=_aligned(("method", "in the paper", *LEVELS[:3]), lines, left=2),
        remark="The paper: GEOMS satisfies all constraints well. GEOMS(pEoM1) is without those of acceleration.",
        picture="figure_4.png",
        draw=lambda path: _over_time(runs, LEVELS[:3], "residual").savefig(path, dpi=130),
    )


def _figure_5(runs: Sequence[_Run], t_end: float) -> Section:
    lines = [((run.label, f"{run.tolerance:.0e}", *run.texts(*LEVELS[:3])), run.failure) for run in runs]
    return Section(
        title=f"Figure 5: pendulum, largest residuals of the constraints on [0, {t_end:g}] by tolerance",
        table=_aligned(("method", "tolerance", *LEVELS[:3]), lines, left=2),
        picture="figure_5.png",
        draw=lambda path: _over_tolerance(runs).savefig(path, dpi=130),
    )


def _panels(levels: Sequence[str]) -> tuple[Figure, np.ndarray]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.2 + 2.8 * len(levels)), layout="constrained")
    return figure, figure.subplots(len(levels), sharex=True, squeeze=False)[:, 0]


def _finish(figure: Figure, axes: np.ndarray, levels: Sequence[str], ylabel: str, xlabel: str) -> Figure:
    for ax, level in zip(axes, levels, strict=True):
        ax.set(ylabel=ylabel, title=f"{level} level" if len(levels) > 1 else "")
        ax.grid(alpha=0.25)
    axes[-1].set_xlabel(xlabel)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    return figure


_LEAST = 1e-17  # a residual of exactly 0 has a place in the picture


def _over_time(runs: Sequence[_Run], levels: Sequence[str], ylabel: str) -> Figure:
    figure, axes = _panels(levels)
    for ax, level in zip(axes, levels, strict=True):
        for k, run in enumerate(runs):
            if run.residuals:
                residual = np.maximum(run.residuals[level], _LEAST)
                ax.semilogy(run.t, residual, color=f"C{k % 10}", linewidth=1, label=run.label)
    return _finish(figure, axes, levels, ylabel, "t")


def _over_tolerance(runs: Sequence[_Run]) -> Figure:
    levels = LEVELS[:3]
    figure, axes = _panels(levels)
    for ax, level in zip(axes, levels, strict=True):
        for k, label in enumerate(dict.fromkeys(run.label for run in runs)):
            own = [run for run in runs if run.label == label and run.residuals]
            largest = [max(run.residuals[level].max(), _LEAST) for run in own]
            marker = "osD^v<>phX*"[k % 11]
            ax.loglog([r.tolerance for r in own], largest, color=f"C{k % 10}", marker=marker, markersize=4, label=label)
    axes[-1].invert_xaxis()
    return _finish(figure, axes, levels, "largest residual", "tolerance")


# -- figures 2, 3 and 8 --------------------------------------------------------------------------------------------


def _efficiency(
    title: str, problem: Problem, methods: Mapping[str, Any], tolerances: Sequence[float], picture: str, remark: str
) -> Section:
    study = work_precision([problem], methods, tolerances, repeat=2)
    return Section(
        title=f"{title}, error at t = {problem.t_end:g} and time by tolerance",
        table=study.table(),
        remark=remark,
        picture=picture,
        draw=study.plot,
    )


def _multipliers(problem: Problem, tolerances: Sequence[float]) -> Section:
    """The text on figures 2 and 3 speaks of the multipliers too, which a work-precision study does not look at."""
    known: Any = problem.reference
    reference = known.lam
    lines = []
    for label, method in _methods().items():
        cells, remark = [], ""
        for tolerance in tolerances:
            try:
                lam = problem.simulate(method=method, rtol=tolerance, atol=tolerance).lam[-1]
                cells.append(f"{np.max(np.abs(lam - reference) / (1 + np.abs(reference))):.1e}")
            except DalembertError as error:
                cells.append("-")
                remark = f"  {_reason(error)}"
        lines.append(((label, _NAMES.get(label, ""), *cells), remark))
    return Section(
        title=f"Figures 2 and 3: pendulum, error of the Lagrange multiplier at t = {problem.t_end:g} by tolerance",
        table=_aligned(("method", "in the paper", *(f"{tol:.0e}" for tol in tolerances)), lines, left=2),
        remark="The paper: the multipliers of GEOMS(psfEoM+I) are much better than those of the others.\n"
        "At the end the pendulum turns, and an error of the angle counts by its square: all look good there.",
    )
