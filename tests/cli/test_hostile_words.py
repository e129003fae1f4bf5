"""Random and hostile words on the command line: an exit code and a message of ours, never a traceback."""

import random
import shlex

import pytest
import typer
from running import run

from dalembert.cli import app
from dalembert.cli.exits import Exit

WORDS = [
    "", " ", "-", "--", "=", ":", "@", "@missing", "@.", "@mine.py", "nan", "inf", "-inf", "1e999", "-1", "0", "1e-300",
    "9" * 400, "x", "x=", "=1", "x=1", "x=nan", "x=1e400", "x=x", "x=[1,2]", "L=[1,2]", "L=true", "L=None", "'", "\"",
    "a b", "α", "\0", "\n", "\ud800", "*", "?", "[", "x[", "x*,[", "..", "/", "/dev/null", "~", "x<", "x<1", "x<nan",
    "<", "1:2", "1:2:3", "1:2:-3", "1:2:1e3", "1..2", "2..1", "1~0", "1~-1", "1~1", "x=1:2:3", "x=1..2", "x=1~1",
    "L=1..2", "L=1~0.1", "L=1,2", "radau5", "radau5:", "radau5:=", "radau5:x=1", "radau5:safety=nan", "Radau5",
    "auto:safety=0.8", "Sparse(", "linear_solver=Sparse(1)", "linear_solver=Sparse(x=1)", "linear_solver=Exact",
    "safety=(1,", "index2", "mine.py", "mine.py:", "mine.py:rod", "mine.py:swing", "mine.py:number", "mine.py:broken",
    "mine.py:longer(factor=-1)", "mine.py:longer(factor=[)", "Pendulum.mo", "Pendulum.mo:x", "arm.urdf", "arm.urdf:x",
    "cases.csv", "wind.csv", "values.json", "pendulum", "pendulum(", "pendulum()", "pendulum(t_end=0)",
    "pendulum(t_end=nan)", "A.B.C", ".A", "bash", "c", "hem5", "geoms", "out.csv", "out.h5", "out.png", "out.html",
    "missing/out.csv", "--json", "--help",
]  # fmt: skip
#: commands that take long whatever they are told
LONG = ("demo", "reproduce", "problems")


def line(seed: int) -> list[str]:
    """A command with some of its options and arguments, with words for values that may or may not make sense."""
    draw = random.Random(seed)
    commands = {name: own for name, own in typer.main.get_command(app).commands.items() if name not in LONG}
    name = draw.choice(list(commands))
    words = [name]
    for own in commands[name].params:
        option = own.opts[0].startswith("-")
        if not option:
            likely = draw.choice(["pendulum", "mine.py:swing", "mine.py:rod", "Pendulum.mo", "arm.urdf"])
            words.append(likely if draw.random() < 0.7 else draw.choice(WORDS))
        elif draw.random() < 0.12:
            words.append(draw.choice(own.opts))
            if not own.is_flag:
                words.append(draw.choice(WORDS))
    if name in ("simulate", "sweep", "compare") and "--t-end" not in words:
        words += ["--t-end", "0.05"]
    if name == "compare":
        words += ["--repeat", "1", "--tolerance", "1e-3", "--method", "hem5"]
    return words


def faults(seeds) -> list[str]:
    found = []
    for seed in seeds:
        words = line(seed)
        result = run(*words)
        known = result.exit_code in {int(code) for code in Exit} - {Exit.FAULT}
        if not known or "Traceback" in result.output or (result.exit_code and "error: " not in result.stderr):
            found.append(f"{seed}: {shlex.join(words)!r} -> {result.exit_code}: {result.stderr[-300:]}")
    return found


@pytest.fixture(autouse=True)
def _elsewhere(folder, monkeypatch):
    for name in ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(folder))  # where completions would be installed


def test_hostile_words():
    assert not faults(range(60))


@pytest.mark.slow
def test_many_hostile_words():
    assert not faults(range(1000, 3000))
