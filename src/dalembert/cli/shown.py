"""Tables, warnings, and files that are written."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalembert.errors import FileError, OptionError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")


def new_console() -> Console:
    from rich.console import Console

    # in a file or a pipe nothing needs to fit into 80 columns
    return Console(width=None if sys.stdout.isatty() else 120)


def new_table(*headings: str) -> Table:
    """A table; headings that begin with > are those of columns of numbers."""
    from rich.table import Table

    table = Table()
    for heading in headings:
        table.add_column(heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left")
    return table


def row(table: Table, *cells: str) -> None:
    """Add a row as it stands: a bracket in a name is no markup."""
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells))


def show_warning(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
    typer.secho("warning: ", fg="yellow", bold=True, err=True, nl=False)
    typer.echo(str(message), err=True)


def check_output(path: Path | None, suffixes: Iterable[str] = ()) -> None:
    """Complain about a place that cannot be written to before, not after, the work."""
    if path is None:
        return
    if suffixes and path.suffix.lower() not in suffixes:
        raise OptionError(f"cannot draw to '{path}': the file name must end with one of {', '.join(suffixes)}")
    if path.is_dir():
        raise OptionError(f"'{path}' is a directory; give the name of a file")
    if not path.absolute().parent.is_dir():
        raise OptionError(f"cannot write '{path}': the directory '{path.parent}' does not exist")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except FileError:  # says it itself
        raise
    except OSError as error:
        raise OptionError(f"cannot write '{path}': {error.strerror or error}") from error
