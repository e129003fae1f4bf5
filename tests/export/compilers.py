"""Translated models as programs that run."""

import csv
import io
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

COMPILERS = {
    "c": ["gcc", "-O0", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unused-function"],
    "fortran": ["gfortran", "-O0", "-std=f2008", "-Wall", "-fcheck=all,no-array-temps", "-Wno-unused-dummy-argument"],
}
#: parameters that no equation contains are written all the same
COMPILERS["c"].append("-Wno-unused-const-variable")
LANGUAGES = ("python", "c", "fortran")
ENDINGS = {"python": ".py", "c": ".c", "fortran": ".f90"}


@dataclass
class Table:
    """What a program has written."""

    names: list[str]
    values: np.ndarray

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[:, self.names.index(name)]


def program(text: str, language: str, folder: Path) -> list[str]:
    """The command that runs a source; skips the test where there is no compiler."""
    file = folder / f"model{ENDINGS[language]}"
    file.write_text(text, encoding="utf-8")
    if language == "python":
        return [sys.executable, str(file)]
    command = COMPILERS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]}, which compiles {language}")
    libraries = ["-lm"] if language == "c" else []
    binary = folder / "model"
    done = subprocess.run(
        [*command, str(file), "-o", str(binary), *libraries], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr[:3000]
    return [str(binary)]


def ran(command: list[str], *arguments: object) -> Table:
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(io.StringIO(done.stdout)))
    return Table(rows[0], np.array(rows[1:], float))


def failing(command: list[str], *arguments: object) -> str:
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr
