"""Work-precision study: how much time each method takes for how small an error, measured in one process.

A method is an options object of this package (`Radau5(...)`) or anything with ``run(problem, tolerance)`` that returns
the positions and velocities at the end and a dictionary of counters; so solvers of other packages (`studies.peers`)
are measured in the same way. The runs of all methods and tolerances alternate, and the best of several counts: what
else the machine does meanwhile falls on all of them alike. Times of different studies should not be compared.
"""

from __future__ import annotations

import difflib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from dalembert.errors import OptionError, SimulationError
from dalembert.problems import Problem, catalogue, catalogue_large, catalogue_multibody
from dalembert.solvers import Dassl, Geoms, Hem5, Mexx, Radau5, Rkf45

#: Methods by label; a method joins all studies by being named here.
METHODS: dict[str, Callable[[], Any]] = {
    "dassl ggl": lambda: Dassl(formulation="ggl"),
    "dassl index1": lambda: Dassl(formulation="index1"),
    "geoms": lambda: Geoms(),
    "geoms index1": lambda: Geoms(formulation="index1"),
    "hem5": lambda: Hem5(),
    "mexx": lambda: Mexx(),
    "radau5 ggl": lambda: Radau5(formulation="ggl"),
    "radau5 index1": lambda: Radau5(formulation="index1"),
    "radau5 index2": lambda: Radau5(formulation="index2"),
    "radau5 index3": lambda: Radau5(formulation="index3"),
    "rkf45": lambda: Rkf45(),
}

_COUNTERS = ("accepted", "rhs_evaluations")


class Runner(Protocol):
    """What the study asks of a method."""

    def run(self, problem: Problem, tolerance: float) -> tuple[np.ndarray, np.ndarray, Mapping[str, int]]:
        """Integrate to `problem.t_end`; return p and v there, and counters `accepted` and `rhs_evaluations`."""


class Skipped(SimulationError):
    """A run was not tried, because a looser tolerance took too long already."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One method on one problem at one tolerance. `failure` is the exception's class and text, None if it went well."""

    problem: str
    method: str
    tolerance: float
    seconds: float = math.nan  # CPU time of this process, the best of several runs
    error: float = math.nan  # Problem.error: max |y - ref| / (1 + |ref|) over positions and velocities at the end
    accepted: int | None = None  # steps; None if the method does not tell
    rhs_evaluations: int | None = None
    failure: str | None = None


@dataclass(frozen=True)
class Study:
    """The rows of a work-precision study, in the order problem, method, tolerance.

    Examples
    --------
    >>> from dalembert.studies import METHODS, work_precision
    >>> study = work_precision(["pendulum"], {"ggl": METHODS["radau5 ggl"]()}, [1e-4, 1e-7], repeat=1)
    >>> study.best("pendulum", 1e-5).tolerance
    1e-07
    """

    rows: tuple[Row, ...]
    peers: frozenset[str] = frozenset()  # methods of other packages: dashed curves

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.problem for row in self.rows))

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def failures(self) -> tuple[Row, ...]:
        """Rows of runs that failed."""
        return tuple(row for row in self.rows if row.failure is not None)

    def select(self, problem: str | None = None, method: str | None = None) -> tuple[Row, ...]:
        """Rows of one problem, of one method, or of both."""
        for what, name, known in (("problem", problem, self.problems), ("method", method, self.methods)):
            if name is not None:
                _known(what, name, known)
        return tuple(row for row in self.rows if problem in (None, row.problem) and method in (None, row.method))

    def best(self, problem: str, error: float, method: str | None = None) -> Row | None:
        """The cheapest row (of `method`, if given) that reaches the error; None if none does."""
        reached = (row for row in self.select(problem, method) if row.failure is None and row.error <= error)
        return min(reached, key=lambda row: row.seconds, default=None)

    def table(self) -> str:
        """All rows as aligned text. "ratio" is the time by that of the problem's fastest row of no larger error."""
        head = ("problem", "method", "tolerance", "error", "ms", "ratio", "steps", "rhs")
        lines: list[tuple[tuple[str, ...], str]] = []
        for row in self.rows:
            label = (row.problem, row.method, f"{row.tolerance:.0e}")
            if row.failure is not None:
                lines.append(((*label, "-", "-", "-", "-", "-"), "  " + " ".join(row.failure.split())[:100]))
                continue
            best = self.best(row.problem, row.error) or row
            fastest = best.seconds
            counts = ("-" if n is None else str(n) for n in (row.accepted, row.rhs_evaluations))
            ratio = f"{row.seconds / fastest:.2f}" if fastest > 0 else "-"
            lines.append(((*label, f"{row.error:.1e}", f"{1e3 * row.seconds:.2f}", ratio, *counts), ""))
        return _aligned(head, lines, left=2)

    def ratios(self, errors: Iterable[float] = (1e-2, 1e-4, 1e-6, 1e-8), relative_to: str | None = None) -> str:
        """For each problem, the cheapest time of each method that reaches the errors, as text.

        Times are divided by those of the method `relative_to`; default: by the smallest of the column. Where that
        method does not reach the error, milliseconds are given instead, marked "ms"; "-" means not reached.
        """
        errors = tuple(errors)
        if relative_to is not None:
            _known("method", relative_to, self.methods)
        head = ("problem", "method", *(f"<= {error:.0e}" for error in errors))
        lines = []
        for problem in self.problems:
            units = [self.best(problem, error, relative_to) for error in errors]
            for method in self.methods:
                entries = []
                for error, unit in zip(errors, units, strict=True):
                    row = self.best(problem, error, method)
                    if row is None:
                        entries.append("-")
                    elif unit is None or not unit.seconds:
                        entries.append(f"{1e3 * row.seconds:.2f} ms")
                    else:
                        entries.append(f"{row.seconds / unit.seconds:.2f}")
                lines.append(((problem, method, *entries), ""))
        return _aligned(head, lines, left=2)

    def plot(self, path: str | Path) -> Path:
        """Draw time against error, one panel for each problem and one curve for each method, into a file."""
        from matplotlib.figure import Figure

        panels = len(self.problems)
        columns = min(2, panels)
        lines = math.ceil(panels / columns)
        figure = Figure(figsize=(5.5 * columns, 4.2 * lines + 0.4), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for ax, problem in zip(axes, self.problems, strict=False):
            for k, method in enumerate(self.methods):
                rows = [row for row in self.select(problem, method) if row.failure is None and row.error > 0]
                style = "--" if method in self.peers else "-"
                errors, times = [row.error for row in rows], [1e3 * row.seconds for row in rows]
                marker = "osD^v<>phX*"[k % 11]  # not 10 as the colours: no two curves look alike
                ax.loglog(errors, times, style, color=f"C{k % 10}", marker=marker, markersize=4, label=method)
            ax.invert_xaxis()
            ax.set(title=problem, xlabel="mixed error at the end", ylabel="CPU time in ms")
            ax.grid(True, which="major", alpha=0.3)
        for ax in axes[panels:]:
            ax.set_axis_off()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
        return path


def work_precision(
    problems: Iterable[str | Problem],
    methods: Mapping[str, Any] | Iterable[str],
    tolerances: Sequence[float],
    repeat: int = 5,
    *,
    patience: float = 5.0,
    report: Callable[[str], None] | None = None,
) -> Study:
    """Run every method on every problem at every tolerance (rtol = atol), and measure time and error.

    Parameters
    ----------
    problems : names from `problems.catalogue()` or `Problem` objects with reference values
    methods : mapping of label to options object or `Runner`, or labels from `METHODS`
    tolerances : sequence of float
    repeat : int
        Timed runs of each, after one that is not timed (it compiles, and finds the error); the fastest counts.
    patience : float
        Seconds. Repeating ends when a fifth of it is spent on a method and tolerance; after a run that takes more than
        all of it, compilation apart, the method's tighter tolerances on that problem become rows marked as skipped.
    report : callable, optional
        Gets a line of text about the progress, now and then.

    Returns
    -------
    Study
        With a row for every combination: what failed is a row too.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.studies import work_precision
    >>> study = work_precision(["pendulum"], {"radau5": da.Radau5()}, [1e-5, 1e-8], repeat=1)
    >>> [row.error < 1e-3 for row in study.rows]
    [True, True]
    """
    if repeat < 1:
        raise OptionError(f"repeat={repeat}: at least one timed run is needed")
    chosen = [_problem(given) for given in problems]
    names = [problem.name for problem in chosen]
    if len(set(names)) < len(names):
        raise OptionError(f"the problems of a study need different names, these are {', '.join(names)}")
    if not isinstance(methods, Mapping):
        methods = {label: METHODS[_known("method", label, METHODS)]() for label in methods}
    peers = frozenset(label for label, method in methods.items() if hasattr(method, "run"))
    runners = {label: method if hasattr(method, "run") else _Simulation(method) for label, method in methods.items()}
    tell = report or (lambda _: None)
    rows: list[Row] = []
    for problem in chosen:
        tell(f"{problem.name}: {len(runners)} methods at {len(tolerances)} tolerances")
        rows += _measure(problem, runners, sorted(map(float, tolerances), reverse=True), repeat, patience)
    return Study(tuple(rows), peers)


@dataclass(frozen=True)
class _Simulation:
    """An options object of this package as a `Runner`."""

    options: Any

    def run(self, problem: Problem, tolerance: float) -> tuple[np.ndarray, np.ndarray, Mapping[str, int]]:
        solution = problem.simulate(method=self.options, rtol=tolerance, atol=tolerance)
        return solution.p[-1], solution.v[-1], solution.stats.to_dict()


@dataclass
class _Cell:
    """A method at a tolerance while it is being measured."""

    method: str
    runner: Runner
    tolerance: float
    first: float = 0.0  # seconds of the run that is not timed
    seconds: float = math.inf
    error: float = math.nan
    info: Mapping[str, int] | None = None
    failure: str | None = None

    def try_out(self, problem: Problem) -> None:
        """The first run: compiles what needs compiling, and finds the error."""
        self.failure = None
        start = time.process_time()
        try:
            p, v, self.info = self.runner.run(problem, self.tolerance)
            self.error = problem.error(SimpleNamespace(t=[problem.t_end], p=[np.asarray(p)], v=[np.asarray(v)]))
            if not math.isfinite(self.error):
                raise SimulationError("the result is not finite")
        except Exception as fault:  # a peer may raise anything; it becomes a row
            self.fail(fault)
        self.first = time.process_time() - start

    def measure(self, problem: Problem) -> None:
        """A timed run."""
        start = time.process_time()
        try:
            self.runner.run(problem, self.tolerance)
        except Exception as fault:
            self.fail(fault)
        self.seconds = min(self.seconds, time.process_time() - start)

    def fail(self, fault: Exception) -> None:
        self.failure = f"{type(fault).__name__}: {fault}"

    def row(self, problem: str) -> Row:
        common: dict[str, Any] = {"problem": problem, "method": self.method, "tolerance": self.tolerance}
        if self.failure is not None:
            return Row(**common, failure=self.failure)
        counts = {name: None if self.info is None else self.info.get(name) for name in _COUNTERS}
        return Row(**common, seconds=self.seconds, error=self.error, **counts)


def _measure(
    problem: Problem, runners: Mapping[str, Runner], tolerances: Sequence[float], repeat: int, patience: float
) -> list[Row]:
    cells: list[_Cell] = []
    for method, runner in runners.items():
        slow: _Cell | None = None
        for tolerance in tolerances:
            cell = _Cell(method, runner, tolerance)
            cells.append(cell)
            if slow is None:
                cell.try_out(problem)
                if cell.first > patience:  # perhaps it was compiling
                    cell.try_out(problem)
                slow = cell if cell.first > patience else None
            else:
                cell.fail(Skipped(f"tolerance {slow.tolerance:.0e} took {slow.first:.1f} s, not tried"))
    for k in range(repeat):
        for cell in cells:
            if cell.failure is None and (k == 0 or k * cell.seconds <= patience / 5):
                cell.measure(problem)
    return [cell.row(problem.name) for cell in cells]


def _problem(given: str | Problem) -> Problem:
    if isinstance(given, str):
        known = catalogue() | catalogue_multibody() | catalogue_large()
        given = known[_known("problem", given, known)]()
    if not isinstance(given, Problem):
        raise OptionError(f"a study needs problems or their names, not {type(given).__name__}")
    if not given.model.names("p"):
        raise OptionError(f"problem '{given.name}' is a QuasiLinearDAE: a study compares positions and velocities")
    if given.reference is None:
        raise OptionError(f"problem '{given.name}' has no reference values with these parameters: no error to measure")
    return given


def _known(what: str, name: str, known: Iterable[str]) -> str:
    known = tuple(known)
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise OptionError(f"unknown {what} '{name}'{hint} (known: {', '.join(known)})")
    return name


def _aligned(head: Sequence[str], lines: Sequence[tuple[Sequence[str], str]], left: int) -> str:
    """Columns of equal width, the first `left` ones left-aligned; a remark follows its line."""
    widths = [max(len(cells[k]) for cells in (head, *(c for c, _ in lines))) for k in range(len(head))]

    def line(cells: Sequence[str], remark: str = "") -> str:
        parts = (f"{c:<{w}}" if k < left else f"{c:>{w}}" for k, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return ("  ".join(parts) + remark).rstrip()

    return "\n".join([line(head), *(line(cells, remark) for cells, remark in lines)])
