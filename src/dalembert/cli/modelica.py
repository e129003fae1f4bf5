"""`dalembert flatten`, `translate`: Modelica text, and models as programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalembert.cli.answer import Answer
from dalembert.cli.app import command
from dalembert.cli.options import RESULTS, ClassName, Interval, Json, Output, SearchPath, Tolerances, Which, option
from dalembert.cli.shown import check_output, told, writing
from dalembert.cli.subjects import modelica_source, simulated
from dalembert.errors import OptionError

if TYPE_CHECKING:
    from rich.console import Console


@command(
    examples=(
        "dalembert flatten Pendulum.mo",
        "dalembert flatten Circuits.mo --class Circuits.LowPass --output LowPass.flat.mo",
    )
)
def flatten(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", show_default=False, help="A Modelica file, package or class name (A.B.C).")
    ],
    class_name: ClassName = None,
    path: SearchPath = None,
    output: Output = None,
    json: Json = False,
) -> Answer:
    """Print a Modelica class as flat text: scalar variables and equations, nothing left to look up."""
    check_output(output)
    from dalembert import modelica

    flat = modelica.flatten(modelica_source(model), class_name, path=path or ())
    for note in flat.notes:
        told("note", note, "bold cyan")
    facts = {"class": flat.name, "unknowns": len(flat.unknowns()), "equations": flat.equation_count()}
    return _put(flat.to_modelica(), output, {**facts, "notes": list(flat.notes)})


@command(
    examples=(
        "dalembert translate Pendulum.mo --to c --t-end 10 -o pendulum.c && cc -O2 pendulum.c -lm && ./a.out > out.csv",
        "dalembert translate pendulum --to python -o pendulum_program.py --rtol 1e-8",
    )
)
def translate(
    which: Which,
    interval: Interval,
    tolerances: Tolerances,
    to: Annotated[
        str | None,
        option("--to", metavar="LANGUAGE", panel=RESULTS, help="python, c or fortran; default: as --output ends."),
    ] = None,
    output: Output = None,
    json: Json = False,
) -> Answer:
    """Write a model as a program that needs nothing but a compiler: equations, constraints, method, start values."""
    from dalembert.export import LANGUAGES
    from dalembert.export import translate as translated

    check_output(output)
    if to is None:
        known = {ending: language for language, ending in LANGUAGES.items()}
        to = known.get(output.suffix.lower() if output is not None else "")
        if to is None:
            raise OptionError(f"--to is needed: {', '.join(LANGUAGES)}")
    subject = simulated(which)
    own, start = subject.model, dict(subject.start)
    if own.mechanical and subject.problem is not None:
        from dalembert.problems import naive

        twin = naive(subject.problem)  # as a DAE with positions, velocities and multipliers
        own, start = twin.model, twin.start()
    text = translated(own, to, subject.interval(interval), rtol=tolerances.rtol, atol=tolerances.atol, **start)
    return _put(text, output, {"model": own.name, "language": to})


def _put(text: str, output: Path | None, facts: dict[str, Any]) -> Answer:
    text = text if text.endswith("\n") else text + "\n"
    if output is not None:
        with writing(output):
            output.write_text(text, encoding="utf-8")
        told("note", f"the text is in {output}", "bold cyan")

    def show(console: Console) -> None:
        if output is None:
            console.file.write(text)  # as it is: no line is wrapped, no tab replaced

    files = {} if output is None else {"text": str(output)}
    return Answer({**facts, "text": text, "files": files}, show)
