"""An ensemble that is ready to be integrated, and arrays for what will be found.

Members are worked on in blocks. A block has arrays of its own, one row for each number and one column for each member
(`layout.INTEGRATE`): what its members share stands there once. Results go to the arrays of the whole ensemble as soon
as a block is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dalembert.compile.copying import Copies
from dalembert.ensembles.members import Members
from dalembert.solvers.half.generated.layout import N_COUNTERS, Counter
from dalembert.solvers.half.generated.program import Program
from dalembert.solvers.limits import NOTEWORTHY
from dalembert.solvers.status import Status

#: what `simulate` may get over, with other pivots and more patience, or has better words for
DOUBTFUL = (int(Status.SINGULAR), int(Status.CONVERGENCE_FAILURES))


@dataclass(frozen=True)
class Common:
    """Arrays that all members share, by name."""

    shared: np.ndarray
    options: np.ndarray
    tolerances: np.ndarray
    stretches: np.ndarray
    times: np.ndarray
    tables: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        return dict(self.__dict__)


@dataclass
class Results:
    """Arrays of the whole ensemble; rows are numbers, columns members."""

    x: np.ndarray  # p, v, r at the end
    a: np.ndarray
    lam: np.ndarray  # and μ
    t: np.ndarray
    counts: np.ndarray  # rows of `Counter`
    irregular: np.ndarray  # members whose start values generated code could not find
    correction: np.ndarray  # of start values
    dense: np.ndarray  # times, unknowns, members
    roots: np.ndarray  # events × room, members
    found: np.ndarray  # events, members
    done: np.ndarray
    doubtful: bool = False  # whether some are irregular, or came near a singular matrix
    #: start values that changed by more than is worth a word: how many of a piece, the largest change, and of whom
    changes: list[tuple[int, float, int]] = field(default_factory=list)

    def forget(self, members: np.ndarray | int) -> None:
        """These, a mask or one, have no results but their status."""
        for array in (self.x, self.a, self.lam, self.t, self.dense, self.roots):
            array[..., members] = np.nan
        status = self.counts[Counter.STATUS, members]
        self.counts[:, members], self.found[:, members] = 0, 0
        self.counts[Counter.STATUS, members] = status


def new_results(n: int, program: Program, times: int, room: int) -> Results:
    """Memory for them: what is there means nothing before a member is `done`."""
    model, events = program.model, len(program.events)
    return Results(
        x=np.empty((model.n_d, n)), a=np.empty((model.n_v, n)), lam=np.empty((model.n_m, n)), t=np.empty(n),
        counts=np.empty((N_COUNTERS, n), np.int32), irregular=np.zeros(n, bool), correction=np.empty(n),
        dense=np.empty((times, program.n_outputs, n)), roots=np.empty((events * room, n)),
        found=np.empty((events, n), np.int32), done=np.zeros(n, bool),
    )  # fmt: skip


@dataclass(frozen=True)
class Job:
    """An ensemble, ready to be integrated."""

    program: Program
    members: Members
    common: Callable[[], Common]
    trust: bool  # start values are taken as they are
    times: int
    room: int

    def rows(self) -> dict[str, tuple[tuple[int, ...], type]]:
        """Shapes, but for the columns, and types of the arrays of a block."""
        model, events = self.program.model, len(self.program.events)
        reals = {
            "member": (len(self.members.varied),), "x0": (model.n_d,), "x": (model.n_d,), "a": (model.n_v,),
            "lam": (model.n_m,), "t": (1,), "dense": (self.times, self.program.n_outputs),
            "roots": (events * self.room,), "correction": (1,),
        }  # fmt: skip
        counts = {"counts": (N_COUNTERS,), "found": (events,)}
        return {**{k: (v, np.float64) for k, v in reals.items()}, **{k: (v, np.int32) for k, v in counts.items()}}

    def bytes_each(self, *names: str) -> int:
        """Of a member in these arrays of a block, or in all."""
        rows = self.rows()
        return sum(int(np.prod(rows[k][0])) * np.dtype(rows[k][1]).itemsize for k in names or rows)

    def incoming(self, arrays: Mapping[str, np.ndarray], first: int, count: int) -> Copies:
        """Numbers of the members from one on, into the first columns of a block."""
        given = [self.members.theta[place] for place in self.members.varied]
        start = [np.broadcast_to(x, self.members.n) if isinstance(x, float) else x for x in self.members.start]
        rows = zip((*given, *start), (*arrays["member"], *arrays["x0"]), strict=True)
        return Copies((source[first : first + count], row[:count]) for source, row in rows)

    def outgoing(self, results: Results, arrays: Mapping[str, np.ndarray], first: int, count: int) -> Copies:
        """The results in the first columns of a block, to where those of the members from one on belong."""
        targets = {name: getattr(results, name) for name in RESULTS}
        targets |= {"t": results.t[None], "correction": results.correction[None]}
        return Copies((arrays[name][..., :count], array[..., first : first + count]) for name, array in targets.items())

    def complete(self, results: Results, first: int, last: int) -> None:
        """The results of these members are there; what was not reached is whatever was there before."""
        where = slice(first, last)
        reached = results.counts[Counter.OUTPUTS, where]
        if self.times and (reached < self.times).any():
            results.dense[..., where][~_first(self.times, reached)[:, None].repeat(self.program.n_outputs, 1)] = np.nan
        for e, found in enumerate(results.found[:, where]):
            rows = results.roots[e * self.room : (e + 1) * self.room, where]
            rows[~_first(self.room, found)] = np.nan
        changed = int(np.count_nonzero(results.correction[where] > NOTEWORTHY))
        if changed:
            worst = first + int(np.argmax(results.correction[where]))
            results.changes.append((changed, float(results.correction[worst]), worst))
        if results.irregular[where].any() or np.isin(results.counts[Counter.STATUS, where], DOUBTFUL).any():
            results.doubtful = True
        results.done[where] = True


#: arrays of a block that results consist of
RESULTS = ("x", "a", "lam", "counts", "dense", "roots", "found")
#: and those that are looked at before members are done
WATCHED = ("correction", "dense", "roots", "found")


def _first(count: int, reached: np.ndarray) -> np.ndarray:
    """Mask (count, members) of what lies before the number that each member has reached."""
    return np.arange(count)[:, None] < reached
