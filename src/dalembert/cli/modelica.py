"""`dalembert flatten`, `translate`: Modelica text, and models as programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalembert.cli.app import app
from dalembert.cli.options import ClassName, SearchPath, Settings, StartTime, StopTime, SubjectText, settings_of
from dalembert.cli.shown import check_output, writing
from dalembert.cli.subjects import modelica_source, subject_of
from dalembert.errors import OptionError

Output = Annotated[Path | None, typer.Option("--output", "-o", help="Where the text goes; default: the screen.")]


@app.command()
def flatten(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A Modelica file, package or class name (A.B.C).")],
    class_name: ClassName = None,
    path: SearchPath = None,
    output: Output = None,
) -> None:
    """Print a Modelica class as flat text: scalar variables and equations, nothing left to look up.

    dalembert flatten Circuit.mo --class Circuits.LowPass

    dalembert flatten Modelica.Mechanics.Rotational.Examples.First --path ~/libraries -o First.flat.mo
    """
    check_output(output)
    from dalembert import modelica

    flat = modelica.flatten(modelica_source(model), class_name, path=path or ())
    for note in flat.notes:
        typer.secho("note: ", fg="cyan", bold=True, err=True, nl=False)
        typer.echo(note, err=True)
    _put(flat.to_modelica(), output)


@app.command()
def translate(
    model: SubjectText,
    to: Annotated[str | None, typer.Option("--to", help="python, c or fortran; default: as --output ends.")] = None,
    output: Output = None,
    class_name: ClassName = None,
    path: SearchPath = None,
    settings: Settings = None,
    start_time: StartTime = None,
    stop_time: StopTime = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance of the program.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance of the program.")] = None,
) -> None:
    """Write a model as a program that needs nothing but a compiler: equations, all constraints, method, start values.

    dalembert translate Pendulum.mo --to c --stop-time 10 -o pendulum.c && cc -O2 pendulum.c -lm && ./a.out > out.csv
    """
    from dalembert.export import LANGUAGES
    from dalembert.export import translate as translated

    check_output(output)
    if to is None:
        known = {ending: language for language, ending in LANGUAGES.items()}
        to = known.get(output.suffix.lower() if output is not None else "")
        if to is None:
            raise OptionError(f"--to is needed: {', '.join(LANGUAGES)}")
    subject = subject_of(model, class_name, path, settings_of(settings))
    own, start = subject.model, dict(subject.start)
    if own.mechanical and subject.problem is not None:
        from dalembert.problems import naive

        twin = naive(subject.problem)  # as a DAE with positions, velocities and multipliers
        own, start = twin.model, twin.start()
    text = translated(own, to, subject.interval(start_time, stop_time), rtol=rtol, atol=atol, **start)
    _put(text, output)


def _put(text: str, output: Path | None) -> None:
    if output is None:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    with writing(output):
        output.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    typer.echo(f"The text is in {output}", err=True)
