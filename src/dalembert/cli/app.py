"""The application that commands are added to, and the one place where they end: text or JSON, and an exit code."""

from __future__ import annotations

import difflib
import errno
import functools
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dalembert.cli.answer import Answer, document
from dalembert.cli.exits import Exit
from dalembert.cli.groups import expanded
from dalembert.cli.shown import new_console, told
from dalembert.errors import DalembertError, Interrupted, UntraceableWarning

#: what the system says where whoever reads a pipe has gone; the second one on Windows
PIPE_ERRORS = (errno.EPIPE, errno.EINVAL)


class Commands(TyperGroup):
    """Whatever happens to a command becomes an exit code, and with --json one document on the standard output."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        words = [str(word) for word in (sys.argv[1:] if args is None else args)]
        run = functools.partial(super().main, args=words, prog_name=prog_name, standalone_mode=False, **extra)
        code = _ended(functools.partial(self._known, run, words), words)
        if not standalone_mode:
            return code
        sys.exit(int(code))

    def _known(self, run: Callable[[], Any], words: Sequence[str]) -> Any:
        """Run a command, or say which one may have been meant."""
        name = words[0] if words else ""
        if name and not name.startswith("-") and name not in self.commands:
            near = difflib.get_close_matches(name, self.commands, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known commands: {', '.join(self.commands)}"
            raise typer.BadParameter(f"there is no command '{name}'; {hint}")
        return run()


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,  # `dalembert completion` does it, and knows names of problems and of methods
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Simulate constrained mechanical systems and other differential-algebraic equations.",
)


def command(*, examples: Sequence[str] = ()) -> Callable[[Callable[..., Answer | None]], Callable[..., Answer | None]]:
    """Add a function as a command. Its arguments may be groups of options; `examples` are shown in its help."""

    def add(function: Callable[..., Answer | None]) -> Callable[..., Answer | None]:
        @functools.wraps(function)
        def run(*args: Any, **given: Any) -> Answer | None:
            try:
                with redirect_stdout(sys.stderr):  # what models and methods print is no result
                    return function(*args, **given)
            except DalembertError as error:
                return Answer.failed(error)
            except MemoryError:
                return Answer.failed(DalembertError("the memory of this machine does not suffice"))

        # separate paragraphs, so that each example has its own line
        epilog = "\n\n".join(["Examples:", *(text.replace("[", "\\[") for text in examples)]) if examples else None
        app.command(epilog=epilog)(expanded(run))
        return function

    return add


def main() -> None:
    """Entry point."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal without Greek letters is no reason to fail
    if sys.argv[1:2] == ["__complete"]:
        from dalembert.cli.completion import respond

        sys.exit(respond(sys.argv[2:]))
    app(prog_name="dalembert")


def _ended(run: Callable[[], Any], words: Sequence[str]) -> Exit:
    """Run a command, print what it says, and return how it ended."""
    as_json = "--json" in _before_separator(words)
    try:
        with _heard() as heard:
            try:
                answer = run()
            except typer.Abort:
                answer = Exit.INTERRUPTED
            except Exception as error:
                answer = error
            code = _told(answer, as_json, _command(words), heard)
        sys.stdout.flush()
        sys.stderr.flush()
        return code
    except KeyboardInterrupt:  # while something is shown
        told("error", "interrupted", "bold red")
        return Exit.INTERRUPTED
    except OSError as error:  # of the streams: commands say themselves what is wrong with files
        _stop_printing()
        if error.errno in PIPE_ERRORS:
            return Exit.PIPE_CLOSED
        with suppress(OSError):
            told("error", f"cannot write to the standard output: {error.strerror or error}", "bold red")
        return Exit.ERROR


def _stop_printing() -> None:
    """Streams that nobody reads, or that are full: what the interpreter flushes at its end shall not fail again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):  # streams of tests have no number
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _told(answer: Any, as_json: bool, name: str, heard: Sequence[Warning]) -> Exit:
    """Print the answer of a command, or the exception that it ended with."""
    if answer is None or isinstance(answer, int):  # help, the version, or Ctrl-C
        code = Exit(answer or 0)
        if code is Exit.INTERRUPTED:
            return _told(Answer.failed(Interrupted("interrupted")), as_json, name, heard)
        return code
    if hasattr(answer, "format_message"):  # how typer says that words cannot be understood
        return _misused(answer, as_json, name)
    if isinstance(answer, Exception):
        return _broken(answer, as_json, name, heard)
    try:
        if as_json:
            result = answer.result() if callable(answer.result) else answer.result
            _print_json(document(name, answer.code, result=result, error=answer.error, warnings=heard))
        elif answer.show is not None:
            answer.show(new_console())
        sys.stdout.flush()
    except DalembertError as error:  # of results that are made while they are shown
        return _told(Answer.failed(error), as_json, name, heard)
    if answer.error is not None:
        told("error", _words(answer.error), "bold red")
    return answer.code


def _words(error: Exception) -> str:
    """A message without what only Python programs can do."""
    return re.sub(r"; the exception's \.solution [^;.]*", "", str(error))


def _misused(error: Any, as_json: bool, name: str) -> Exit:
    context, message = getattr(error, "ctx", None), error.format_message().removeprefix("Invalid value: ")
    if as_json:
        known = {"type": "UsageError", "message": message, "place": None, "time": None, "faults": []}
        _print_json(document(name, Exit.USAGE, error=known))
    if context is not None:
        typer.echo(context.get_usage(), err=True)
        typer.echo(f"Try '{context.command_path} --help'.", err=True)
    if message:
        told("error", message, "bold red")
    return Exit.USAGE


def _broken(error: Exception, as_json: bool, name: str, heard: Sequence[Warning]) -> Exit:
    """Of an exception that is not ours: a bug, which deserves a traceback."""
    if isinstance(error, BrokenPipeError):
        raise error
    if as_json:
        _print_json(document(name, Exit.FAULT, error=error, warnings=heard))
    traceback.print_exception(error, file=sys.stderr)
    told("error", "this is a fault of dalembert; please report it with the lines above", "bold red")
    return Exit.FAULT


def _print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


@contextmanager
def _heard() -> Iterator[list[Warning]]:
    """Warnings are shown in one line, and kept for --json."""
    heard: list[Warning] = []

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        heard.append(message if isinstance(message, Warning) else category(message))
        told("warning", str(message), "bold yellow")

    with warnings.catch_warnings():
        warnings.showwarning = show  # ty: ignore[invalid-assignment]  # takes less, but all that is passed
        warnings.simplefilter("default", UntraceableWarning)
        yield heard


def _before_separator(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _command(words: Sequence[str]) -> str:
    """The name of the command that words begin with."""
    return next((word for word in words if not word.startswith("-")), "")


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
