"""The shell examples of the documentation are run, and print what the page says."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from running import run
from test_json import NAMES

from dalembert.cli import app
from dalembert.cli.exits import Exit

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    """Each line of a shell, and what it prints."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            found.append((line, printed))
    return found


def lay_out(folder: Path) -> None:
    """The files that the page shows, and our command."""
    for text in blocks("python"):
        name = re.match(r"# (\S+\.py)\n", text)
        (folder / name[1]).write_text(text, encoding="utf-8")
    script = folder / "bin" / "dalembert"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dalembert "$@"\n')
    script.chmod(0o755)


def printed_by(line: str) -> str:
    """What a line of a shell prints. Commands of ours run in this process: a new one would need seconds to begin."""
    loop = re.fullmatch(r"for (\w+) in ([^;]*); do (.*); done", line)
    if loop:
        return "".join(printed_by(loop[3].replace(f"${loop[1]}", value)) for value in loop[2].split())
    unquoted = re.sub(r"'[^']*'", lambda quoted: "q" * len(quoted[0]), line)
    plain = re.fullmatch(r"dalembert ([^|>$;]*?)( \|\|? .*| > \S+)?", unquoted)
    if plain is None:
        return in_shell(line, None)
    words, rest = line[len("dalembert ") : plain.end(1)], line[plain.end(1) :]
    result = run(*shlex.split(words))
    if rest.startswith(" || "):
        return result.stdout + result.stderr + in_shell(f"(exit {result.exit_code}){rest}", None)
    if rest:
        return in_shell(f"cat{rest}", result.stdout) + result.stderr
    return result.stdout + result.stderr


def in_shell(line: str, given: str | None) -> str:
    command = ["bash", "-c", f"{{ {line}; }} 2>&1"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, input=given, timeout=300).stdout


@pytest.mark.skipif(os.name != "posix", reason="examples are for a shell of POSIX")
def test_examples_of_the_page(tmp_path, monkeypatch):
    """In the order of the page, one folder for all."""
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = commands()
    assert len(found) > 15
    for line, expected in found:
        printed = printed_by(line)
        assert CHECKER.check_output(expected, printed, FLAGS), f"$ {line}\n{printed}\nexpected:\n{expected}"


def test_every_option_is_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    known = set(re.findall(r"--[a-z][a-z0-9-]*", page))
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"`{name}`" in page, name
        if name in ("flatten", "translate", "reproduce", "demo"):  # on pages of their own, and in their help
            continue
        for parameter in command.params:
            options = [text for text in (*parameter.opts, *parameter.secondary_opts) if text.startswith("--")]
            assert not options or known & set(options), (name, options)
    every = {text for own in group.commands.values() for one in own.params for text in (*one.opts, *one.secondary_opts)}
    assert known - {"--help", "--version"} <= every  # and nothing besides


def test_exit_codes_and_names_are_those_of_the_page():
    page = PAGE.read_text(encoding="utf-8")
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {int(code) for code in Exit}
    page = page.partition("names of `result`")[2]
    for command, names in NAMES.items():
        row = re.search(rf"^\| [^|]*`{command}`[^|]* \| (`.*) \|$", page, re.MULTILINE)
        listed = re.sub(r"\([^)]*\)", "", row[1])
        assert re.findall(r"`(\w+)`", listed) == names.split(), command
