"""`dalembert simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dalembert.cli.app import app
from dalembert.cli.shown import PICTURES, check_output, new_console, new_table, row, writing
from dalembert.cli.subjects import problem_of
from dalembert.errors import SimulationError

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.problems import Problem
    from dalembert.solution import Solution
    from dalembert.solvers import MethodOptions


@app.command()
def simulate(
    problem: Annotated[str, typer.Argument(help="A name of the catalogue, or path/to/file.py:function_or_variable.")],
    method: Annotated[str, typer.Option(help="Name of the method.")] = "auto",
    formulation: Annotated[
        str | None, typer.Option(help="index1, index2, index3, ggl or baumgarte; default: the method's.")
    ] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-6,
    atol: Annotated[float, typer.Option(help="Absolute tolerance.")] = 1e-8,
    t_end: Annotated[float | None, typer.Option(help="End time; default: the problem's. A model needs it.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw all variables to this file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the solution to this HDF5 file.")] = None,
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar.")] = False,
) -> None:
    """Simulate a problem of the catalogue or of your own file, or a model that has start values."""
    check_output(plot, PICTURES)
    check_output(save)
    subject = problem_of(problem, t_end)
    options = method_of(method, formulation)
    from dalembert.simulation import simulate as run

    end = subject.t_end if t_end is None else t_end
    failure = None
    try:
        solution = run(
            subject.model, (0.0, end), **subject.start(), method=options, rtol=rtol, atol=atol, progress=progress
        )
    except SimulationError as error:
        if error.solution is None:
            raise
        failure, solution = error, error.solution  # what was computed is shown and saved all the same
    console = new_console()
    console.print(_summary(subject, solution))
    for path, write, what in ((save, _save, "solution"), (plot, _plot, "picture")):
        if path is not None:
            with writing(path):
                write(solution, path)
            console.print(f"The {what} is in {path}", markup=False, highlight=False, soft_wrap=True)
    if failure is not None:
        raise failure


def method_of(name: str, formulation: str | None) -> MethodOptions:
    from dalembert.solvers import resolve_method

    options = resolve_method(name)
    if formulation is None:
        return options
    return type(options)(formulation=formulation)


def _summary(problem: Problem, solution: Solution) -> Table:
    stats = solution.stats
    table = new_table("", "")
    table.show_header = False
    table.title, table.title_justify = problem.title, "left"
    row(table, "method", solution.method.partition("(")[0])
    row(table, "formulation", solution.formulation)
    row(table, "status", f"{solution.status}: {solution.message}" if solution.success else solution.status)
    row(table, "interval", "{:g} … {:g}".format(*solution.trajectory.interval))
    row(table, "steps", f"{stats.accepted} accepted, {stats.rejected} rejected")
    row(
        table, "evaluations", f"{stats.rhs_evaluations} of the equations, {stats.jacobian_evaluations} of the Jacobian"
    )
    if problem.model.names("p"):
        for level in ("position", "velocity"):
            row(table, f"max {level} residual", f"{solution.max_residual(level):.2e}")
    reference = problem.reference
    if reference is not None and solution.success and abs(solution.t[-1] - reference.t) <= 1e-12 * abs(reference.t):
        row(table, "error against reference", f"{problem.error(solution):.2e}")
    row(table, "time", f"{1e3 * stats.seconds:.1f} ms")
    last = solution.at(solution.trajectory.interval[1])
    for kind in ("p", "v", "x"):
        if names := problem.model.names(kind):
            for name, value in zip(names, getattr(last, kind), strict=True):
                row(table, f"{name}", f"{value: .10g}")
    return table


def _save(solution: Solution, path: Path) -> None:
    solution.save(path)


def _plot(solution: Solution, path: Path) -> None:
    """Positions, velocities, multipliers and what else there is, one panel for each kind."""
    from matplotlib.figure import Figure

    from dalembert.model.vocabulary import VOCABULARY

    names = {kind: solution.model.names(kind) for kind in solution.model.state_kinds}
    kinds = [kind for kind, own in names.items() if own]
    figure = Figure(figsize=(8, 1 + 2.3 * len(kinds)), layout="constrained")
    for ax, kind in zip(figure.subplots(len(kinds), sharex=True, squeeze=False).flat, kinds, strict=True):
        solution.plot(*names[kind], ax=ax)
        ax.set(xlabel="", ylabel=VOCABULARY[kind].title.split(",")[0] if len(names[kind]) > 1 else names[kind][0])
        if len(names[kind]) > 1:
            ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    ax.set_xlabel("t")
    figure.suptitle(f"{solution.model.name}: {solution.method.partition('(')[0]}, {solution.formulation}")
    figure.savefig(path, dpi=130)
