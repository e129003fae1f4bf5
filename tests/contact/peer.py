"""Siconos in a process of its own, with the system's Python, where it is installed."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path

import numpy as np

PYTHON = "/usr/bin/python3"
SCRIPTS = Path(__file__).parent / "siconos"


@functools.cache
def siconos_is_there() -> bool:
    """Whether the system's Python imports Siconos."""
    try:
        found = subprocess.run([PYTHON, "-c", "import siconos.kernel"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0


def siconos(script: str, *arguments: float, data: dict | None = None) -> np.ndarray:
    """What a script prints, rows of t, positions, velocities and impulses."""
    command = [PYTHON, str(SCRIPTS / f"{script}.py"), *map(str, arguments)]
    run = subprocess.run(command, input=json.dumps(data), capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return np.array(json.loads(run.stdout[run.stdout.index("[") :]))
