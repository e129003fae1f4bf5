"""The page of the command line, from the help of its commands."""

from __future__ import annotations

import inspect
import itertools
import re
from typing import Any

import typer

from dalembert.cli import app

INTRODUCTION = """# Command line

`dalembert COMMAND --help` prints the same. Exit codes, JSON, recipes: [the guide](../command_line.md).
"""


def write() -> str:
    """The page, in Markdown."""
    group: Any = typer.main.get_command(app)
    context = group.make_context("dalembert", [], resilient_parsing=True)
    names = group.list_commands(context)
    table = ["| command | does |", "|---|---|"]
    table += [f"| [`{name}`](#{name}) | {_first(group.get_command(context, name))} |" for name in names]
    sections = (_section(name, group.get_command(context, name)) for name in names)
    return "\n".join([INTRODUCTION, *table, "", *sections, ""])


def _first(command: Any) -> str:
    return " ".join(_paragraphs(command.help)[0].split())


def _paragraphs(text: str | None) -> list[str]:
    plain = inspect.cleandoc(text or "").replace("\b", "")
    return [part.strip() for part in plain.split("\n\n") if part.strip()] or [""]


def _section(name: str, command: Any) -> str:
    params = [one for one in command.params if one.name != "help" and not getattr(one, "hidden", False)]
    usage = " ".join(["dalembert", name, *(_argument(one) for one in params if not _is_option(one)), "[options]"])
    told = [part.replace("\\[", "[") for part in (*_paragraphs(command.help), *_paragraphs(command.epilog))]
    prose = [" ".join(part.split()) for part in told if not part.startswith("dalembert ") and part != "Examples:"]
    examples = [line.strip() for part in told if part.startswith("dalembert ") for line in part.splitlines()]
    lines = [f"## {name}", "", *itertools.chain.from_iterable((part, "") for part in prose if part)]
    if examples:
        lines += ["```sh", *examples, "```", ""]
    lines += [f"`{usage}`", ""]
    for panel, members in itertools.groupby(params, key=lambda one: getattr(one, "rich_help_panel", None) or ""):
        lines += [f"| {panel} | |", "|---|---|", *map(_row, members), ""]
    return "\n".join(lines)


def _is_option(one: Any) -> bool:
    return one.opts[0].startswith("-")


def _argument(one: Any) -> str:
    return one.metavar or one.name.upper()


def _row(one: Any) -> str:
    if _is_option(one):
        value = f" {one.metavar}" if one.metavar and not one.is_flag else ""
        name = ", ".join(f"`{option}{value}`" for option in (*one.opts, *one.secondary_opts))
    else:
        name = f"`{_argument(one)}`"
    told = re.sub(r"([|*$])", r"\\\1", one.help or "")
    if one.default not in (None, False, ()) and not callable(one.default) and "default" not in told:
        told += f" Default: `{one.default}`."
    return f"| {name} | {told} |"
