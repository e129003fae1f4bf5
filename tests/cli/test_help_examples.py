"""Every example that a help text shows is run, and does what it says."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from running import first_section, run

from dalembert.cli import app

COMMANDS = [command.callback.__name__ for command in app.registered_commands]
#: what has to be there before: results that other commands write
BEFORE = {
    "dalembert export run.h5": "dalembert simulate pendulum --t-end 0.2 --save run.h5",
    "dalembert export swing.h5": "dalembert simulate mine.py:swing --save swing.h5",
}


def examples(command: str) -> list[str]:
    """As the help has them, in a wide window."""
    shown = run(command, "--help", env={"TERMINAL_WIDTH": "400", "COLUMNS": "400"}).stdout
    return re.findall(r"^ *(dalembert .*?) *$", shown.partition("Examples:")[2], re.MULTILINE)


def carry_out(text: str) -> str:
    """Run a line of a shell: what follows && in a shell of its own, what follows > goes to a file."""
    first, *rest = text.split(" && ")
    words = shlex.split(first)
    target = words[words.index(">") + 1] if ">" in words else None
    words = words[: words.index(">")] if target else words
    result = run(*words[1:])
    assert result.exit_code == 0, result.output
    if target:
        Path(target).write_text(result.stdout, encoding="utf-8")
    if rest and shutil.which("cc"):
        subprocess.run(" && ".join(rest), shell=True, check=True, timeout=120)
    return result.stdout


def test_every_command_has_examples():
    assert len(COMMANDS) == 12
    for command in COMMANDS:
        assert all(text.split()[1] == command for text in examples(command))
        assert examples(command), command


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "reproduce"])
def test_examples_run(command, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))  # where completions are installed
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    for text in examples(command):
        for beginning, other in BEFORE.items():
            if text.startswith(beginning):
                carry_out(other)
        shown = carry_out(text)
        for option in re.findall(r"(?:--(?:csv|save|mat|plot|animate|report|store|checkpoint|output)|-o) (\S+)", text):
            if option != "-":
                assert Path(option).stat().st_size > 0, (text, shown)


def test_examples_of_reproduce_begin(folder, monkeypatch):
    first_section(monkeypatch)
    for text in examples("reproduce"):
        assert carry_out(text)


@pytest.mark.slow
def test_examples_of_reproduce(folder):
    for text in examples("reproduce"):
        carry_out(text)
    assert list(Path("figures").iterdir())
