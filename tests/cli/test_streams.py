"""Colours, progress and tables: on terminals, in pipes, and where somebody wants none."""

import io
import os
import re
import subprocess
import sys
import time

import pytest
from running import run

from dalembert.cli import progress as bars
from dalembert.cli.progress import left, over_members, over_time, progress
from dalembert.cli.shown import WIDE, new_console, new_table, row

ESCAPE = "\x1b["


def in_terminal(words: list[str], **environment: str) -> tuple[int, str]:
    """Exit code and output of a command whose streams are a terminal."""
    pty = pytest.importorskip("pty", reason="terminals of POSIX")
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [sys.executable, "-m", "dalembert", *words], stdin=theirs, stdout=theirs, stderr=theirs,
        env={**plain, "TERM": "xterm-256color", **environment},
    )  # fmt: skip
    os.close(theirs)
    found = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        found += data
    os.close(ours)
    return process.wait(timeout=60), found.decode()


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["colours", "NO_COLOR", "dumb"],
)
def test_errors_have_colours_on_terminals_that_want_them(environment, coloured):
    code, shown = in_terminal(["check", "missing.mo"], **environment)
    assert code == 1
    assert (ESCAPE in shown) == coloured
    assert "there is no file 'missing.mo'" in shown


def test_pipes_have_no_colours():
    for words in (["check", "missing.mo"], ["check", "--help"]):
        done = subprocess.run([sys.executable, "-m", "dalembert", *words], capture_output=True, text=True)
        assert ESCAPE not in done.stdout + done.stderr


def test_a_terminal_has_a_bar_that_goes_away(tmp_path):
    """And its time left; what is left on the screen is the table."""
    code, shown = in_terminal(["simulate", "andrews", "--t-end", "0.2", "--rtol", "1e-9", "--method", "hem5"])
    assert code == 0
    assert "t = " in shown.partition("Andrews")[0]
    assert re.search(r"\d+%", shown.partition("Andrews")[0])


# -- progress ----------------------------------------------------------------------------------------------------------


def test_lines_in_logs(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(bars, "BETWEEN", 0.0)
    with progress(True) as tell:
        over_time(tell, 1.0, 3.0)(1.5)
        time.sleep(0.01)
        over_members(tell, "members")(3, 4)
    assert re.fullmatch(r"t = 1.5, 25 %, 0:00:00 left\n3 of 4 members, 75 %, 0:00:00 left\n", stream.getvalue())
    with progress(None) as tell:  # nobody looks at a log
        assert tell is None
        assert over_time(tell, 0, 1) is False


def test_time_left():
    assert left(30.0, 0.5) == "0:00:30 left"
    assert left(30.0, 1e-9) != "unknown"
    assert left(5.0, 1.0) == "0:00:00 left"


def test_progress_goes_to_the_standard_error(folder, monkeypatch):
    monkeypatch.setattr(bars, "BETWEEN", 0.0)
    result = run("sweep", "pendulum", "--vary", "g=1:2:4", "--t-end", "0.1", "--progress", "--json")
    assert result.stdout.startswith("{")
    assert "4 of 4 members, 100 %" in result.stderr
    result = run("compare", "pendulum", "--method", "hem5", "--tolerance", "1e-4", "--repeat", "1", "--progress")
    assert "1 of 1 trials, 100 %" in result.stderr
    result = run("simulate", "pendulum", "--progress")
    assert "t = 2, 100 %" in result.stderr


# -- tables ------------------------------------------------------------------------------------------------------------


def test_tables_do_not_read_names_as_markup(capsys):
    table = new_table("name", ">value")
    row(table, "c[1]", "[red]5")
    row(table, "x" * 200, ":smile:")
    console = new_console()
    assert console.width == WIDE
    console.print(table)
    shown = capsys.readouterr().out
    assert "c[1]" in shown
    assert "[red]5" in shown
    assert ":smile:" in shown


def test_terminals_without_greek_letters():
    """What a terminal cannot show is replaced; it is no reason to fail."""
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "dalembert", "info"], capture_output=True, env=plain)
    assert done.returncode == 0
    assert "numpy" in done.stdout.decode("ascii")
