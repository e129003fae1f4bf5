"""Consoles, tables, warnings, and files that are written."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import FileError, OptionError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
#: columns in a file or a pipe, where nothing needs to fit into a window
WIDE = 120


def new_console(*, stderr: bool = False) -> Console:
    """Colours and bold letters on terminals that have them, unless $NO_COLOR is set; plain text elsewhere."""
    from rich.console import Console

    class Stream(Console):
        def on_broken_pipe(self) -> None:
            raise  # again: it is called where this was caught, and would end the process

    stream = sys.stderr if stderr else sys.stdout
    plain: dict[str, Any] = {"color_system": None} if os.environ.get("NO_COLOR") else {}
    return Stream(stderr=stderr, width=None if stream.isatty() else WIDE, emoji=False, **plain)


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


def line(console: Console, text: str, **style: Any) -> None:
    """A line as it stands, of whatever length."""
    console.print(text, markup=False, highlight=False, soft_wrap=True, **style)


def told(kind: str, message: str, style: str) -> None:
    """A line on the standard error that begins with "error:", "warning:" or "note:"."""
    from rich.text import Text

    new_console(stderr=True).print(Text.assemble((f"{kind}: ", style), message), highlight=False, soft_wrap=True)


def check_output(path: Path | None, suffixes: Collection[str] = ()) -> None:
    """Complain about a place that cannot be written to before, not after, the work."""
    if path is None:
        return
    if suffixes and path.suffix.lower() not in suffixes:
        raise OptionError(f"cannot write '{path}': the file name must end with one of {', '.join(suffixes)}")
    try:
        folder, there = path.absolute().parent, path.exists()
        known = path.is_dir(), folder.is_dir(), os.access(path if there else folder, os.W_OK)
    except (OSError, ValueError) as error:  # names that the system does not take
        raise OptionError(f"cannot write '{path}': {getattr(error, 'strerror', None) or error}") from None
    is_folder, has_folder, writable = known
    if is_folder:
        raise OptionError(f"'{path}' is a directory; give the name of a file")
    if not has_folder:
        raise OptionError(f"cannot write '{path}': the directory '{path.parent}' does not exist")
    if not writable:
        raise OptionError(f"cannot write '{path}': permission denied")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except FileError:  # says it itself
        raise
    except OSError as error:
        raise OptionError(f"cannot write '{path}': {error.strerror or error}") from error
