"""`dalembert compare` and `dalembert sweep`."""

from __future__ import annotations

import json as json_texts
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.app import app
from dalembert.cli.options import ClassName, SearchPath, Settings, StartTime, StopTime, SubjectText, settings_of
from dalembert.cli.shown import PICTURES, check_output, new_console, writing
from dalembert.cli.subjects import subject_of
from dalembert.errors import OptionError

if TYPE_CHECKING:
    from dalembert.studies.compare import Comparison
    from dalembert.sweeps import Sweep

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
#: variables of a sweep that a summary shows
MOST_NAMES = 12


@app.command()
def compare(
    model: SubjectText,
    class_name: ClassName = None,
    path: SearchPath = None,
    settings: Settings = None,
    start_time: StartTime = None,
    stop_time: StopTime = None,
    method: Annotated[
        list[str] | None, typer.Option(help="A method to be tried. Repeatable; default: all that can treat the model.")
    ] = None,
    tolerance: Annotated[
        list[float] | None,
        typer.Option(help="A tolerance, relative and absolute. Repeatable; default: 1e-4 1e-6 1e-8."),
    ] = None,
    repeat: Annotated[int, typer.Option(help="Timed runs of each; the quickest counts.")] = 3,
    patience: Annotated[
        float, typer.Option(help="Seconds after which a method's tighter tolerances are left out.")
    ] = 10,
    plot: Annotated[Path | None, typer.Option(help="Draw the work-precision diagram to this file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """Try methods at several tolerances, measure time and error, and recommend one.

    dalembert compare andrews

    dalembert compare andrews --method hem5 --method radau5 --tolerance 1e-5 --plot andrews.png
    """
    check_output(plot, PICTURES)
    check_output(csv)
    subject = subject_of(model, class_name, path, settings_of(settings))
    from dalembert.studies.compare import TOLERANCES
    from dalembert.studies.compare import compare as run

    whole = subject.problem is not None and start_time is None and stop_time is None
    how: dict[str, Any] = {} if whole else {"t_span": subject.interval(start_time, stop_time), **subject.start}
    found = run(
        subject.problem if whole else subject.model, method or None, tolerance or TOLERANCES,
        repeat=repeat, patience=patience, report=None if json else lambda line: typer.secho(line, err=True, dim=True),
        **how,
    )  # fmt: skip
    typer.echo(_as_json(found) if json else str(found))
    _write(csv, lambda place: _write_table(place, found), "table", json)
    _write(plot, lambda place: found.plot(place), "picture", json)
    if all(trial.failure for trial in found.trials):
        raise typer.Exit(1)


def _as_json(found: Comparison) -> str:
    trials = [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in vars(one).items()}
        for one in found.trials
    ]
    try:
        best: dict[str, Any] | None = {
            name: value for name, value in vars(found.recommend()).items() if name != "options"
        }
    except OptionError:
        best = None
    return json_texts.dumps(
        {"problem": found.problem, "reference": found.reference, "trials": trials, "recommendation": best}, indent=2
    )


def _write_table(place: Path, found: Comparison) -> None:
    import csv

    with open(place, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(vars(found.trials[0]))
        writer.writerows(vars(one).values() for one in found.trials)


@app.command()
def sweep(
    model: SubjectText,
    class_name: ClassName = None,
    path: SearchPath = None,
    settings: Settings = None,
    start_time: StartTime = None,
    stop_time: StopTime = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUES", help="m=1,2,5 or m=1:2:11 (from:to:count); all combinations. Repeatable."),
    ] = None,
    sample: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RANGE", help="m=0.9..1.1 (uniform) or m=1~0.1 (normal: mean, deviation). Repeatable."
        ),
    ] = None,
    count: Annotated[int, typer.Option(help="How many members --sample draws.")] = 100,
    design: Annotated[str, typer.Option(help="Of --sample: random, latin, sobol or halton.")] = "random",
    seed: Annotated[int, typer.Option(help="Of --sample; the same seed draws the same.")] = 0,
    keep: Annotated[
        list[str] | None, typer.Option(help="A variable or output to be kept. Repeatable; default: all variables.")
    ] = None,
    method: Annotated[str, typer.Option(help="Name of the method.")] = "auto",
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    store: Annotated[
        Path | None, typer.Option(help="Keep results in this file; the same command goes on where it was stopped.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a table with a line for each member to this file.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads or processes; default: one for each processor.")] = None,
    engine: Annotated[str, typer.Option(help="auto, threads or processes.")] = "auto",
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a summary.")] = False,
) -> None:
    """Simulate a model many times with other parameters or start values.

    dalembert sweep andrews --vary m1=0.04:0.05:11 --keep beta --csv andrews.csv

    dalembert sweep andrews --sample m1=0.0433~0.001 --count 1000 --store andrews.h5 --progress
    """
    check_output(csv)
    check_output(store)
    subject = subject_of(model, class_name, path, settings_of(settings))
    samples = samples_of(vary, sample, count, design)
    from dalembert.sweeps import sweep as run

    tolerances = {name: value for name, value in (("rtol", rtol), ("atol", atol)) if value is not None}
    study = run(
        subject.model, samples, subject.interval(start_time, stop_time), **subject.start, **tolerances, method=method,
        keep=keep or None, store=store, workers=workers, engine=engine, seed=seed, progress=progress,
    )  # fmt: skip
    typer.echo(_study_json(study) if json else _study_text(study))
    _write(csv, lambda place: _write_study(place, study), "table", json)
    if not study.success.any():
        raise typer.Exit(1)


def samples_of(vary: Sequence[str] | None, sample: Sequence[str] | None, count: int, design: str) -> Any:
    """A grid, or draws.

    >>> samples_of(["m=1:2:3", "L=0.5,1"], None, 1, "random").draw(0)["m"].tolist()
    [1.0, 1.0, 1.5, 1.5, 2.0, 2.0]
    """
    from dalembert.sweeps import Grid, MonteCarlo

    if bool(vary) == bool(sample):
        raise OptionError("give --vary NAME=VALUES, or --sample NAME=RANGE: one of them says what is varied")
    if vary:
        return Grid(dict(_values(text) for text in vary))
    return MonteCarlo(dict(_distribution(text) for text in sample), count, design)


def _values(text: str) -> tuple[str, Any]:
    import numpy as np

    name, _, values = (part.strip() for part in text.partition("="))
    ends = re.fullmatch(rf"({NUMBER}):({NUMBER}):(\d{{1,8}})", values)
    if name and ends:
        return name, np.linspace(float(ends[1]), float(ends[2]), int(ends[3]))
    if name and re.fullmatch(rf"{NUMBER}(\s*,\s*{NUMBER})*", values):
        return name, [float(value) for value in values.split(",")]
    raise OptionError(f"--vary {text}: write NAME=1,2,5 or NAME=1:2:11 (from:to:count)")


def _distribution(text: str) -> tuple[str, Any]:
    name, _, values = (part.strip() for part in text.partition("="))
    if name and (ends := re.fullmatch(rf"({NUMBER})\.\.({NUMBER})", values)):
        return name, (float(ends[1]), float(ends[2]))
    if name and (shape := re.fullmatch(rf"({NUMBER})~({NUMBER})", values)) and float(shape[2]) > 0:
        from scipy.stats import norm

        return name, norm(float(shape[1]), float(shape[2]))
    raise OptionError(f"--sample {text}: write NAME=0.9..1.1 (uniform) or NAME=1~0.1 (normal: mean, deviation)")


def _study_text(study: Sweep) -> str:
    import numpy as np

    lines = [repr(study), f"{'':16s}{'least':>14s}{'mean':>14s}{'largest':>14s}"]
    for name in study.names[:MOST_NAMES]:
        values = study[name][study.success]
        if values.size and values.ndim == 1:
            few = (np.nanmin(values), np.nanmean(values), np.nanmax(values))
            lines.append(f"{name:16s}" + "".join(f"{value:14.6g}" for value in few))
    for number, text in list(study.errors.items())[:5]:
        lines.append(f"member {number} failed: {text}")
    return "\n".join(lines)


def _study_json(study: Sweep) -> str:
    def plain(values: Any) -> list[Any]:
        return [None if value != value else value for value in values.tolist()]

    return json_texts.dumps(
        {
            "members": len(study),
            "finished": int(study.success.sum()),
            "samples": {name: values.tolist() for name, values in study.samples.items()},
            "values": {name: plain(study[name]) for name in study.names if study[name].ndim == 1},
            "errors": study.errors,
        },
        indent=2,
    )


def _write_study(place: Path, study: Sweep) -> None:
    import csv

    samples, values = study.samples, {name: study[name] for name in study.names if study[name].ndim == 1}
    with open(place, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["member", *(f"{name} (sample)" if name in values else name for name in samples), *values, "status"]
        )
        for number in range(len(study)):
            row = [table[name][number] for table in (samples, values) for name in table]
            writer.writerow([number, *row, study.status[number]])


def _write(place: Path | None, write: Any, what: str, quiet: bool) -> None:
    if place is None:
        return
    with writing(place):
        write(place)
    if not quiet:
        new_console().print(f"The {what} is in {place}", markup=False, highlight=False, soft_wrap=True)
