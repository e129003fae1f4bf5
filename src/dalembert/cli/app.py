"""The application that commands are added to, and how our exceptions leave it."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dalembert.cli.shown import show_warning
from dalembert.errors import DalembertError, Interrupted, UntraceableWarning


class Commands(TyperGroup):
    """Our own exceptions become one message and an exit code; everything else stays a traceback, as it is a bug."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning
            warnings.simplefilter("default", UntraceableWarning)
            try:
                return super().invoke(ctx)
            except DalembertError as error:
                typer.secho("error: ", fg="red", bold=True, err=True, nl=False)
                typer.echo(str(error), err=True)
                # 130 is what shells use for Ctrl-C
                raise typer.Exit(130 if isinstance(error, Interrupted) else 1) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Simulate constrained mechanical systems and other differential-algebraic equations.",
)


def main() -> None:
    """Entry point."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters is no reason to fail
    app(prog_name="dalembert")


def _version(wanted: bool) -> None:
    if wanted:
        from dalembert import __version__

        typer.echo(f"dalembert {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
