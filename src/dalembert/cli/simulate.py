"""`dalembert simulate`, and `dalembert export` of what it has saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.answer import Answer, code_of
from dalembert.cli.app import command
from dalembert.cli.exits import Exit
from dalembert.cli.methods import events_of, limits, method_of, output_times
from dalembert.cli.options import (
    RESULTS,
    Events,
    Interval,
    Json,
    Method,
    Points,
    Screen,
    Steps,
    Tolerances,
    Which,
    option,
)
from dalembert.cli.progress import over_time, progress
from dalembert.cli.results import WRITTEN, Files, chosen_names, series, variable_names, write_csv
from dalembert.cli.shown import line, new_table, row
from dalembert.cli.subjects import Subject, simulated, subject_of
from dalembert.errors import OptionError, SimulationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dalembert.problems import Problem
    from dalembert.solution import Solution

#: values at the end that are shown of one vector
MOST_VALUES = 30


@command(
    examples=(
        "dalembert simulate andrews --rtol 1e-8 --plot andrews.png",
        "dalembert simulate Pendulum.mo --t-end 10 --set L=2 --csv pendulum.csv --report pendulum.html",
        "dalembert simulate arm.urdf --t-end 2 --initial shoulder.angle=0.5 --animate arm.html",
        "dalembert simulate mine.py:swing --method geoms --option selector=adaptive --every 0.1 --save swing.h5",
        "dalembert simulate bouncing_ball --stop-when 'z<0.5' --variables 'z*,energy' --csv -",
        "dalembert simulate slider_crank --checkpoint long.h5 --progress --json",
    )
)
def simulate(
    which: Which,
    interval: Interval,
    points: Points,
    events: Events,
    method: Method,
    tolerances: Tolerances,
    steps: Steps,
    files: Files,
    screen: Screen,
    checkpoint: Annotated[
        Path | None,
        option(
            "--checkpoint", metavar="FILE", panel=RESULTS,
            help="Save now and then; the same command goes on from there after whatever has ended it.",
        ),
    ] = None,
) -> Answer:  # fmt: skip
    """Simulate a problem of the catalogue, a model of your own Python file, a Modelica model or a robot (URDF)."""
    if files.to_screen and screen.json:
        raise OptionError("--csv - and --json both write to the screen; take one of them")
    files.check()
    subject = simulated(which)
    names = _names(subject, files)
    options, t_span = method_of(method, subject.model), subject.interval(interval)
    how = limits(steps, tolerances) | {"t_eval": output_times(points, subject, interval), "checkpoint": checkpoint}
    watched = events_of(events, subject)
    from dalembert.simulation import simulate as run

    failure = None
    try:
        with progress(screen.progress) as tell:
            solution = run(
                subject.model, t_span, **subject.start, **how, method=options, events=watched or None,
                progress=over_time(tell, *t_span),
            )  # fmt: skip
    except SimulationError as error:
        if error.solution is None:
            raise
        failure, solution = error, error.solution  # what was computed is shown and saved all the same
    return _answer(solution, subject.title, subject.problem, files, names, failure)


def _names(subject: Subject, files: Files) -> list[str]:
    more = [*subject.model.parameters, *subject.model.inputs]
    return chosen_names(variable_names(subject.model), files.variables, more)


def _answer(
    solution: Solution, title: str, problem: Problem | None, files: Files, names: Sequence[str], failure: Any
) -> Answer:
    written, errors = files.write(solution, names)
    error = failure or next(iter(errors), None)
    facts = summary(solution, title, problem)

    def result() -> dict[str, Any]:
        own = {"series": {"time": solution.t, **series(solution, names)} if files.variables else None}
        return {**facts, "end": at_the_end(solution), **own, "files": written}

    def show(console: Console) -> None:
        if files.to_screen:
            write_csv(solution, None, names)
            return
        console.print(_table(facts, solution))
        for what, place in written.items():
            line(console, f"{WRITTEN[what]} is in {place}")

    return Answer(result, show, error, Exit.OK if error is None else code_of(error, partial=True))


@command(
    examples=(
        "dalembert export run.h5 --csv run.csv --variables 'x,y'",
        "dalembert export swing.h5 --model mine.py:swing --animate swing.html --report swing_report.html",
    )
)
def export(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="What --save or --checkpoint wrote.")
    ],
    files: Files,
    model: Annotated[
        str | None,
        option("--model", metavar="MODEL", panel="Model", help="Of which it is: outputs, animations need it."),
    ] = None,
    json: Json = False,
) -> Answer:
    """Tables, pictures and pages from a saved result."""
    if files.to_screen and json:
        raise OptionError("--csv - and --json both write to the screen; take one of them")
    files.check()
    from dalembert.solution import Solution

    if any(place.absolute() == path.absolute() for place in files.places().values()):
        raise OptionError(f"'{path}' is the file that is read; write to another one")
    if model is None and files.animate is not None:
        raise OptionError("--animate needs --model: a result does not know what its model looks like")
    subject = None if model is None else subject_of(Which(model=model))
    solution = Solution.load(path, model=None if subject is None else subject.model)
    known = list(solution.names) if subject is None else variable_names(subject.model)
    more = [*solution.parameters, *(() if subject is None else subject.model.inputs)]
    names = chosen_names([name for name in known if name in solution], files.variables, more)
    return _answer(solution, str(path) if subject is None else subject.title, None, files, names, None)


# -- what is said ------------------------------------------------------------------------------------------------------


def summary(solution: Solution, title: str, problem: Problem | None) -> dict[str, Any]:
    """A result in a few words and numbers."""
    stats, model = solution.stats, solution.model
    reference = None if problem is None else problem.reference
    near = reference is not None and abs(solution.t[-1] - reference.t) <= 1e-12 * abs(reference.t)
    levels = ("position", "velocity") if model is not None and model.names("p") and not solution.partial else ()
    return {
        "title": title, "model": None if model is None else model.name,
        "method": solution.method_name, "options": solution.method, "formulation": solution.formulation,
        "choice": None if solution.method_choice is None else str(solution.method_choice),
        "status": solution.status, "message": solution.message, "success": solution.success,
        "interval": list(solution.trajectory.interval), "points": len(solution.t),
        "statistics": {
            "accepted": stats.accepted, "rejected": stats.rejected, "rhs_evaluations": stats.rhs_evaluations,
            "jacobian_evaluations": stats.jacobian_evaluations, "seconds": stats.seconds,
        },
        "residuals": {level: solution.max_residual(level) for level in levels},
        "reference_error": problem.error(solution) if problem is not None and near and solution.success else None,
        "events": [{"t": event.t, "name": event.name, "direction": event.direction} for event in solution.events],
        "impacts": [{"t": one.t, "contact": one.contact, "impulse": one.impulse} for one in solution.impacts],
    }  # fmt: skip


def at_the_end(solution: Solution) -> dict[str, Any]:
    """All variables at the last time that was reached."""
    last = solution.at(solution.trajectory.interval[1]) if solution.trajectory.dense else solution
    return {name: last[name] if last is not solution else solution[name][-1] for name in solution.names}


def _table(facts: Mapping[str, Any], solution: Solution) -> Table:
    table, stats = new_table("", ""), facts["statistics"]
    table.show_header = False
    table.title, table.title_justify = facts["title"], "left"
    row(table, "method", facts["method"])
    row(table, "formulation", facts["formulation"])
    row(table, "status", f"{facts['status']}: {facts['message']}" if facts["success"] else facts["status"])
    row(table, "interval", "{:g} … {:g}".format(*facts["interval"]))
    row(table, "steps", f"{stats['accepted']} accepted, {stats['rejected']} rejected")
    counts = f"{stats['rhs_evaluations']} of the equations, {stats['jacobian_evaluations']} of the Jacobian"
    row(table, "evaluations", counts)
    if facts["events"]:
        row(table, "events", _counted(facts["events"], "name"))
    if facts["impacts"]:
        row(table, "impacts", _counted(facts["impacts"], "contact"))
    for level, value in facts["residuals"].items():
        row(table, f"max {level} residual", f"{value:.2e}")
    if facts["reference_error"] is not None:
        row(table, "error against reference", f"{facts['reference_error']:.2e}")
    row(table, "time", f"{1e3 * stats['seconds']:.1f} ms")
    end = at_the_end(solution)
    for kind in ("p", "v", "x"):
        names = [name for name in solution._names.get(kind, ()) if name in end]
        for name in names[:MOST_VALUES]:
            row(table, name, f"{end[name]: .10g}")
        if len(names) > MOST_VALUES:
            row(table, "", f"… and {len(names) - MOST_VALUES} more")
    return table


def _counted(occurrences: Sequence[Mapping[str, Any]], key: str) -> str:
    """How many, of what, and when the first and the last."""
    names = list(dict.fromkeys(str(one[key]) for one in occurrences))
    few = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    first, last = occurrences[0]["t"], occurrences[-1]["t"]
    when = f"at t = {first:.6g}" if len(occurrences) == 1 else f"t = {first:.6g} … {last:.6g}"
    return f"{len(occurrences)} ({few}), {when}"
