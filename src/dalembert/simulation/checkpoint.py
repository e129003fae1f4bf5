"""A simulation that saves what it has computed, now and then and at its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.errors import CheckpointFailed, DalembertError, warn_user
from dalembert.solution import Solution
from dalembert.solution.files import as_path, try_out

#: seconds between two checkpoints, and at least so many times as long as writing one takes
EVERY, SHARE = 30.0, 20.0


class Checkpoint:
    """A file to which results are saved. One that cannot be written is no reason to lose what could not be saved: a
    warning says so, and the simulation goes on."""

    def __init__(self, path: Any):
        # links and the current folder may change while the simulation runs; what cannot be written is said before it
        self.path: Path = try_out(as_path(path, "checkpoint"))
        self._failed = False
        self.wait()

    def wait(self, taken: float = 0.0) -> None:
        """Until the next one, if the last has taken so many seconds."""
        self._due = time.perf_counter() + max(EVERY, SHARE * taken)

    @property
    def due(self) -> bool:
        return time.perf_counter() > self._due

    def save(self, result: Callable[[], Solution], *, last: bool = False) -> None:
        """Write the file, or warn. The first of several failures in a row is told, and that of the end."""
        begun, solution = time.perf_counter(), None
        try:
            solution = result()
            solution.save(self.path)
            self._failed = False
        except (DalembertError, MemoryError) as error:
            if last or not self._failed:
                self._failed = True
                rest = "the simulation goes on, and tries again later"
                if last:
                    rest = "nothing is lost: the result has everything, save it elsewhere with .save(path)"
                reason = str(error) or "there is not enough memory"
                warn_user(CheckpointFailed(f"no checkpoint: {reason}; {rest}", solution), CheckpointFailed)
        self.wait(time.perf_counter() - begun)
