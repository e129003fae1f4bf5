"""A simulation that saves what it has computed, now and then and at its end, and goes on from there when it is asked
for again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, real, shown
from dalembert.errors import CheckpointFailed, DalembertError, FileMissing, OptionError, warn_user
from dalembert.simulation import continuation
from dalembert.solution import Solution
from dalembert.solution.files import as_path, try_out

if TYPE_CHECKING:
    from dalembert.simulation.task import Task

#: seconds between two checkpoints, and at least so many times as long as writing one takes
EVERY, SHARE = 30.0, 20.0


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often ``simulate(..., checkpoint=...)`` saves; a path alone means every half minute.

    Parameters
    ----------
    path : path
        The file. If it is there, the simulation that it is of goes on.
    every : float
        Seconds between two checkpoints; more if writing one takes longer than a twentieth of that.
    spool : bool
        Whether steps go to the disk as they come, to a folder beside the file (``run.h5.steps``), and not into the
        memory. The result reads of them what is looked at.

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> problem = da.problems.pendulum()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sol = problem.simulate(checkpoint=da.Checkpoint(f"{folder}/run.h5", every=10))
    ...     again = problem.simulate(checkpoint=f"{folder}/run.h5")     # finished: nothing is left to do
    >>> bool((sol.x == again.x).all())
    True
    """

    path: Any
    every: float = EVERY
    spool: bool = False

    def __post_init__(self) -> None:
        try:
            every = real(self.every)
        except NoNumber:
            every = -1.0
        if not 0 <= every < float("inf"):
            raise OptionError(f"every={shown(self.every)} of a checkpoint must be a number of seconds, not negative")
        object.__setattr__(self, "every", every)
        if not isinstance(self.spool, bool | np.bool_):
            raise OptionError(f"spool={shown(self.spool)} of a checkpoint must be True or False")


class Saving:
    """A file to which results are saved. One that cannot be written is no reason to lose what could not be saved: a
    warning says so, and the simulation goes on."""

    def __init__(self, wanted: Any):
        wanted = wanted if isinstance(wanted, Checkpoint) else Checkpoint(wanted, EVERY)
        # links and the current folder may change while the simulation runs; what cannot be written is said before it
        self.path: Path = try_out(as_path(wanted.path, "checkpoint"))
        self._every, self._failed, self.spool = wanted.every, False, bool(wanted.spool)
        self._parts: Mapping[str, continuation.Part] = {}
        self._place: continuation.Place | None = None  # the last one from which the simulation can go on
        self.wait()

    def open(self, task: Task) -> continuation.Place | Solution | None:
        """What is there already: the result, the place where an earlier run was, or None.

        Raises FileError if the file is something else, or of another simulation.
        """
        if self.spool and not (task.dense_output or task.sampling.everywhere):
            raise OptionError("Checkpoint(spool=True) keeps all steps, and dense_output=False none: leave one out")
        self._parts = continuation.parts(task)
        try:
            found = continuation.read(self.path, self._parts, task)
        except FileMissing:
            return None
        if isinstance(found, continuation.Place):
            self._place = found
        return found

    def wait(self, taken: float = 0.0) -> None:
        """Until the next one, if the last has taken so many seconds."""
        self._due = time.perf_counter() + max(self._every, SHARE * taken)

    @property
    def due(self) -> bool:
        return time.perf_counter() > self._due

    def save(
        self, result: Callable[[], Solution], place: continuation.Place | None = None, *, last: bool = False
    ) -> bool:
        """Write the file, or warn: whether it is written. The first of several failures in a row is told, and that of
        the end."""
        begun, solution = time.perf_counter(), None
        try:
            solution = result()
            if place is not None:
                self._place = place
            continuation.write(self.path, solution, self._parts, None if solution.success else self._place)
            self._failed = False
        except (DalembertError, MemoryError) as error:
            if last or not self._failed:
                self._failed = True
                rest = "the simulation goes on, and tries again later"
                if last:
                    rest = "nothing is lost: the result has everything, save it elsewhere with .save(path)"
                reason = str(error) or "there is not enough memory"
                warn_user(CheckpointFailed(f"no checkpoint: {reason}; {rest}", solution), CheckpointFailed)
            return False
        finally:
            self.wait(time.perf_counter() - begun)
        return True
