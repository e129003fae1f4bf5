"""`dalembert simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.app import app
from dalembert.cli.options import ClassName, SearchPath, Settings, StartTime, StopTime, SubjectText, settings_of
from dalembert.cli.results import chosen_names, draw, write_csv
from dalembert.cli.shown import PICTURES, check_output, new_console, new_table, row, writing
from dalembert.cli.subjects import Subject, subject_of
from dalembert.errors import SimulationError

if TYPE_CHECKING:
    from rich.table import Table

    from dalembert.solution import Solution
    from dalembert.solvers import MethodOptions

#: values at the end that are shown of one vector
MOST_VALUES = 30


@app.command()
def simulate(
    model: SubjectText,
    class_name: ClassName = None,
    path: SearchPath = None,
    settings: Settings = None,
    start_time: StartTime = None,
    stop_time: StopTime = None,
    method: Annotated[str, typer.Option(help="Name of the method.")] = "auto",
    formulation: Annotated[
        str | None, typer.Option(help="index1, index2, index3, ggl or baumgarte; default: the method's.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the method. Repeatable.")
    ] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance; default: the model's, or 1e-6.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance; default: the model's, or 1e-8.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a table of all variables to this file.")] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Which ones --csv and --plot take, as in 'inertia*.w,J1.phi'. Repeatable."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw variables to this file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the solution to this HDF5 file.")] = None,
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar.")] = False,
) -> None:
    """Simulate a problem of the catalogue, a model or problem of your own Python file, or a Modelica model.

    dalembert simulate andrews --rtol 1e-8 --plot andrews.png

    dalembert simulate Pendulum.mo --stop-time 10 --set L=2 --csv pendulum.csv

    dalembert simulate Modelica.Mechanics.Rotational.Examples.First --variables 'inertia*.w' --csv -
    """
    to_screen = csv is not None and str(csv) == "-"
    check_output(plot, PICTURES)
    check_output(save)
    check_output(None if to_screen else csv)
    subject = subject_of(model, class_name, path, settings_of(settings))
    names = chosen_names(subject.model, variables)
    options = method_of(method, formulation, settings_of(option, "--option"))
    t_span = subject.interval(start_time, stop_time)
    from dalembert.simulation import simulate as run

    failure = None
    try:
        solution = run(subject.model, t_span, **subject.start, method=options, rtol=rtol, atol=atol, progress=progress)
    except SimulationError as error:
        if error.solution is None:
            raise
        failure, solution = error, error.solution  # what was computed is shown and saved all the same
    console = new_console()
    if to_screen:
        write_csv(solution, None, names)
    else:
        console.print(_summary(subject, solution))
    drawn = names if variables else None
    outputs = {
        "solution": (save, lambda place: solution.save(place)),
        "table": (None if to_screen else csv, lambda place: write_csv(solution, place, names)),
        "picture": (plot, lambda place: draw(solution, place, drawn)),
    }
    for what, (place, write) in outputs.items():
        if place is not None:
            with writing(place):
                write(place)
            if not to_screen:
                console.print(f"The {what} is in {place}", markup=False, highlight=False, soft_wrap=True)
    if failure is not None:
        raise failure


def method_of(name: str, formulation: str | None, options: dict[str, Any]) -> MethodOptions | str:
    """A method with options by name; "auto" without any stays what it is."""
    from dalembert.solvers import resolve_method

    found = resolve_method(name)
    if formulation is not None:
        options = {"formulation": formulation, **options}
    if not options:
        return name
    import dataclasses

    from dalembert.errors import OptionError
    from dalembert.model.namespace import explain_unknown

    known = [field.name for field in dataclasses.fields(found) if field.init]
    for key in options:
        if key not in known:
            raise OptionError(f"{type(found).__name__}: {explain_unknown(key, known)}")
    return dataclasses.replace(found, **options)


def _summary(subject: Subject, solution: Solution) -> Table:
    stats, model, problem = solution.stats, subject.model, subject.problem
    table = new_table("", "")
    table.show_header = False
    table.title, table.title_justify = subject.title, "left"
    row(table, "method", solution.method.partition("(")[0])
    row(table, "formulation", solution.formulation)
    row(table, "status", f"{solution.status}: {solution.message}" if solution.success else solution.status)
    row(table, "interval", "{:g} … {:g}".format(*solution.trajectory.interval))
    row(table, "steps", f"{stats.accepted} accepted, {stats.rejected} rejected")
    row(table, "evaluations", f"{stats.rhs_evaluations} of the equations, {stats.jacobian_evaluations} of the Jacobian")
    if solution.events:
        row(table, "events", str(len(solution.events)))
    if model.names("p"):
        for level in ("position", "velocity"):
            row(table, f"max {level} residual", f"{solution.max_residual(level):.2e}")
    reference = None if problem is None else problem.reference
    if reference is not None and solution.success and abs(solution.t[-1] - reference.t) <= 1e-12 * abs(reference.t):
        row(table, "error against reference", f"{problem.error(solution):.2e}")
    row(table, "time", f"{1e3 * stats.seconds:.1f} ms")
    last = solution.at(solution.trajectory.interval[1])
    for kind in ("p", "v", "x"):
        names = model.names(kind)
        for name, value in list(zip(names, getattr(last, kind) if names else (), strict=True))[:MOST_VALUES]:
            row(table, f"{name}", f"{value: .10g}")
        if len(names) > MOST_VALUES:
            row(table, "", f"… and {len(names) - MOST_VALUES} more")
    return table
