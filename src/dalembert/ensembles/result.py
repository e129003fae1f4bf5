"""What an ensemble has found: arrays over its members, by vector and by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, shown, whole
from dalembert.errors import DalembertError, OptionError
from dalembert.kept import computed
from dalembert.model.namespace import explain_unknown
from dalembert.solvers.half.generated.layout import Counter
from dalembert.solvers.status import Status

if TYPE_CHECKING:
    import pandas as pd

    from dalembert.ensembles.job import Results
    from dalembert.ensembles.members import Members
    from dalembert.solution import Solution

#: a member without result whose failure `simulate` has told, one that nobody has integrated, and one that `simulate`
#: would have to be asked about
FAILED, MISSING, IRREGULAR = 100, 101, 102
#: words for `status`
WORDS = {
    Status.DONE: "finished",
    Status.EVENT: "ended by event",
    Status.STEP_TOO_SMALL: "step too small",
    Status.TOO_MANY_STEPS: "too many steps",
    Status.SINGULAR: "singular",
    Status.NOT_FINITE: "not finite",
    Status.EVENT_FAILED: "event failed",
    Status.ERROR_FAILURES: "step too small",
    Status.CONVERGENCE_FAILURES: "not projected",
    Status.EVALUATION_FAILURES: "not finite",
    FAILED: "failed",
    MISSING: "missing",
    IRREGULAR: "irregular start",
}
#: what was not reached
REASONS = {
    Status.STEP_TOO_SMALL: "steps became too small: the solution may be discontinuous, singular or stiff there",
    Status.TOO_MANY_STEPS: "max_steps were not enough",
    Status.SINGULAR: "the saddle-point matrix is singular: constraints depend on each other there",
    Status.NOT_FINITE: "a function cannot be evaluated at the start of a stretch",
    Status.EVENT_FAILED: "the function of an event cannot be evaluated",
    Status.ERROR_FAILURES: "no step size meets the tolerances: the solution may be discontinuous there",
    Status.CONVERGENCE_FAILURES: "the projection onto the position constraints does not converge",
    Status.EVALUATION_FAILURES: "a function cannot be evaluated beyond this time: a root, a logarithm, a division",
    MISSING: "it has not been integrated",
    IRREGULAR: (
        "generated code found no consistent start values, and there are too many such members to simulate them one by "
        "one: solution(member) simulates this one, and says what is wrong"
    ),
}


#: the same as an array
TEXTS = np.array([WORDS.get(number, "") for number in range(max(WORDS) + 1)])


@dataclass(frozen=True)
class Roots:
    """The roots of one event: `t` (members × room, NaN where there is none) and how many each member has had."""

    name: str
    t: np.ndarray
    count: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """The first root of each member, or NaN."""
        return self.t[:, 0]


@dataclass(frozen=True)
class End:
    """Values at the end of each member: vectors have a row for each."""

    t: np.ndarray
    p: np.ndarray
    v: np.ndarray
    r: np.ndarray
    a: np.ndarray
    lam: np.ndarray
    mu: np.ndarray


class Ensemble:
    """The results of an ensemble of n members.

    Attributes
    ----------
    p, v, r : array
        At the end, members × components; with output times members × times × components.
    t : array
        The output times, or where each member has ended.
    lam, mu : array
        Multipliers at the end, members × components; at the output times, as p, with ``multipliers=True``.
    a : array
        Accelerations at the end.
    end : End
        Everything at the end, also if there are output times.
    status : array
        What became of each member: ``res.status == "finished"``; `success` is a mask of those that have a result.
    accepted, rejected, failed : array
        Steps of each member, those rejected because of their errors, and those that could not be computed.
    events : dict of str to Roots
    correction : array
        The largest relative change of a start value that constraints have demanded.
    device : str
        Who has integrated: "cpu", or "gpu" with the name of the device.
    kernel_seconds : float or None
        Of a GPU: the time that its kernels took, without transfers.
    """

    def __init__(
        self,
        members: Members,
        results: Results,
        times: np.ndarray | None,
        events: Sequence[str],
        room: int,
        device: str,
        alone: Callable[[int], Solution],
    ):
        self._members, self._results, self._times, self._alone = members, results, times, alone
        self._model = members.model
        self.device = device
        self.kernel_seconds: float | None = None
        self.told: dict[int, str] = {}  # by `simulate`, for members that it was asked about
        self.events = {
            name: Roots(name, results.roots[e * room : (e + 1) * room].T, results.found[e])
            for e, name in enumerate(events)
        }
        sizes = [self._model.graph.size(kind) for kind in ("p", "v", "r")]
        ends = np.cumsum([0, *sizes])
        self._rows = {kind: slice(a, b) for kind, a, b in zip("pvr", ends, ends[1:], strict=False)}
        n_lam = self._model.graph.size("lam")
        if results.dense.shape[1] > ends[-1] or not len(results.lam):
            self._rows |= {"lam": slice(ends[-1], ends[-1] + n_lam), "mu": slice(ends[-1] + n_lam, None)}
        x = results.x
        self.end = End(
            results.t, *(x[self._rows[kind]].T for kind in "pvr"), results.a.T, results.lam[:n_lam].T,
            results.lam[n_lam:].T,
        )  # fmt: skip

    def __len__(self) -> int:
        return self._members.n

    def __repr__(self) -> str:
        good = int(self.success.sum())
        times = "" if self._times is None else f", {len(self._times)} times"
        return f"Ensemble({good} of {len(self)} members{times}, {self.device})"

    # -- values ----------------------------------------------------------------------------------------------------

    def _vector(self, kind: str) -> np.ndarray:
        if self._times is None or kind not in self._rows:
            return getattr(self.end, kind)
        return self._results.dense[:, self._rows[kind]].transpose(2, 0, 1)

    @property
    def p(self) -> np.ndarray:
        return self._vector("p")

    @property
    def v(self) -> np.ndarray:
        return self._vector("v")

    @property
    def r(self) -> np.ndarray:
        return self._vector("r")

    @property
    def t(self) -> np.ndarray:
        return self.end.t if self._times is None else self._times

    @property
    def lam(self) -> np.ndarray:
        return self._vector("lam")

    @property
    def mu(self) -> np.ndarray:
        return self._vector("mu")

    @property
    def a(self) -> np.ndarray:
        return self.end.a

    @property
    def names(self) -> tuple[str, ...]:
        """Of variables that are items."""
        return tuple(name for kind in ("p", "v", "r", "lam", "mu") for name in self._model.names(kind))

    def __getitem__(self, name: str) -> np.ndarray:
        """A variable by name: members, or members × times.

        Names of parameters that were varied are items, too.
        """
        for kind in ("p", "v", "r", "lam", "mu"):
            names = self._model.names(kind)
            if name in names:
                return getattr(self, kind)[..., names.index(name)]
        samples = self.samples
        if isinstance(name, str) and name in samples:
            return samples[name]
        raise OptionError(f"this ensemble: {explain_unknown(name, (*self.names, *samples))}")

    @property
    def samples(self) -> dict[str, np.ndarray]:
        """What members have of their own: parameters, discrete variables and start values, by name."""
        members, found, at = self._members, {}, 0
        for name, value in self._model.graph.parameters.items():
            own = [members.theta[k] for k in range(at, at + value.size) if k in members.theta]
            if own:
                found[name] = own[0] if value.ndim == 0 else np.array(own).T.reshape(len(self), *value.shape)
            at += value.size
        for name in self._model.discrete_names:
            if at in members.theta:
                found[name] = members.theta[at]
            at += 1
        names = [name for kind in ("p", "v", "r") for name in self._model.names(kind)]
        starts = zip(names, members.start, strict=True)
        return found | {f"{name} at start": x for name, x in starts if not isinstance(x, float)}

    # -- what became of them ---------------------------------------------------------------------------------------

    @computed
    def status(self) -> np.ndarray:
        """What became of each member, in words."""
        words = TEXTS[self._results.counts[Counter.STATUS]]
        words.flags.writeable = False
        return words

    @computed
    def success(self) -> np.ndarray:
        """Mask of the members that have come to their end, be it that of the interval or an event."""
        mask = np.isin(self._results.counts[Counter.STATUS], (int(Status.DONE), int(Status.EVENT)))
        mask.flags.writeable = False
        return mask

    @property
    def errors(self) -> Mapping[int, str]:
        """What happened to members without a result, by number."""
        return Errors(self)

    def ended_by(self, member: int) -> str | None:
        """The event that has ended a member, or None."""
        counts = self._results.counts[:, self._number(member)]
        return list(self.events)[counts[Counter.ENDED_BY]] if counts[Counter.STATUS] == int(Status.EVENT) else None

    def _number(self, member: Any) -> int:
        """Of a member; negative ones count from the end."""
        try:
            number = whole(member)
        except NoNumber:
            number = len(self)
        if not -len(self) <= number < len(self):
            raise OptionError(f"member={shown(member)} must be a number below {len(self)}")
        return number % len(self)

    @property
    def accepted(self) -> np.ndarray:
        return self._results.counts[Counter.ACCEPTED]

    @property
    def rejected(self) -> np.ndarray:
        return self._results.counts[Counter.INACCURATE]

    @property
    def failed(self) -> np.ndarray:
        return self._results.counts[Counter.FAILED]

    @property
    def correction(self) -> np.ndarray:
        return self._results.correction

    def solution(self, member: int) -> Solution:
        """One member simulated once more, by `simulate` with the same method: everything about it, at every time."""
        return self._alone(self._number(member))

    def to_pandas(self) -> pd.DataFrame:
        """A table with a row for each member: what was varied, values at the end, times of first roots, status."""
        try:
            import pandas as pd
        except ImportError:
            raise DalembertError("to_pandas() needs pandas; install it with: pip install pandas") from None
        columns: dict[str, Any] = {name: value for name, value in self.samples.items() if value.ndim == 1}
        for kind in ("p", "v", "r", "lam", "mu"):
            for name, column in zip(self._model.names(kind), getattr(self.end, kind).T, strict=True):
                columns[name] = column
        columns |= {f"time of {name}": roots.first for name, roots in self.events.items()}
        return pd.DataFrame({**columns, "t_end": self.end.t, "accepted": self.accepted, "status": self.status})


class Errors(Mapping[int, str]):
    """What happened to members without a result, by number."""

    def __init__(self, ensemble: Ensemble):
        self._ensemble = ensemble

    def __getitem__(self, member: int) -> str:
        ensemble = self._ensemble
        if not isinstance(member, int | np.integer) or not 0 <= member < len(ensemble) or ensemble.success[member]:
            raise KeyError(member)
        if member in ensemble.told:
            return ensemble.told[member]
        number, t = int(ensemble._results.counts[Counter.STATUS, member]), ensemble.end.t[member]
        return f"{WORDS[number]} at t = {t:.9g}: {REASONS[number]}"

    def __iter__(self) -> Iterator[int]:
        return iter(np.flatnonzero(~self._ensemble.success).tolist())

    def __len__(self) -> int:
        return int((~self._ensemble.success).sum())

    def __repr__(self) -> str:
        shown_ones = [f"{member}: {self[member]!r}" for _, member in zip(range(3), self, strict=False)]
        return "{" + ", ".join(shown_ones) + (", …" if len(self) > 3 else "") + "}"
