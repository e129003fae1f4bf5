"""Every step that a method tried, accepted or not: where to look for the reason of small steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dalembert.errors import DalembertError, OptionError
from dalembert.solvers.status import ATTEMPT, BY_ERROR, FRESH_FACTORS, FRESH_JACOBIAN, Outcome

if TYPE_CHECKING:
    import pandas as pd

#: what became of an attempt, in the words of `Trace.outcome`
WORDS = {
    Outcome.FINE: "accepted",
    Outcome.CANNOT_EVALUATE: "not evaluable",
    Outcome.STOPPED: "stopped",
    Outcome.CANNOT_START: "not evaluable here",
    Outcome.DIVERGED: "convergence",
    Outcome.SLOW: "slow convergence",
    Outcome.SINGULAR: "singular",
    Outcome.RANK_LOST: "rank",
    Outcome.NOT_PROJECTED: "projection",
    Outcome.INACCURATE: "error",
    Outcome.DRIFTED: "drift",
    Outcome.FAR_FROM_CONSTRAINTS: "far from constraints",
}
#: those that end a run at once; they are not counted as rejections
ENDING = (Outcome.STOPPED, Outcome.CANNOT_START, Outcome.RANK_LOST)
#: a printed table shows so many rows at its beginning and at its end
FIRST, LAST = 20, 40


class Attempt(NamedTuple):
    """One attempted step; see `Trace` for the fields."""

    t: float
    h: float
    order: int
    outcome: str
    error: float
    worst: str
    iterations: int
    contraction: float
    new_jacobian: bool
    new_factors: bool


class Trace(Sequence[Attempt]):
    """A table of the steps that were tried, in order. ``simulate(..., trace=True)`` asks for it.

    As a sequence it gives `Attempt`s, and parts of itself for slices; its columns are arrays.

    Attributes
    ----------
    t, h : array
        Start and size of the step.
    order : array
        The order of the method, of MEXX the rows of its tableau; 0 if the method has only one.
    outcome : array of str
        "accepted", "error" (the estimate is too large), "convergence" and "slow convergence" (of Newton's method),
        "not evaluable" (a function of the model), "singular" (a matrix), "projection" (did not converge), "drift"
        (constraints are violated too much), "far from constraints" (the projection moved the point by too much),
        "rank" (of the constraints), "stopped" (a function raised an exception), "not evaluable here".
    error : array
        Norm of the error in units of the tolerance; NaN if the attempt failed before.
    worst : array of str
        The variable with the largest part in it; "" if there is none.
    iterations : array
        Of Newton's method.
    contraction : array
        By which its increments shrank, NaN if there were not two.
    new_jacobian, new_factors : array of bool
        Whether the attempt needed them.

    Examples
    --------
    >>> import dalembert as da
    >>> sol = da.problems.pendulum().simulate(method=da.Radau5(), trace=True)
    >>> len(sol.trace) == sol.stats.accepted + sol.stats.rejected
    True
    >>> sol.trace[0].outcome, bool(sol.trace.new_jacobian[0])
    ('accepted', True)
    """

    def __init__(self, rows: Any, variables: Sequence[str]):
        self.rows = np.asarray(rows, float).reshape(-1, len(ATTEMPT))
        self.variables = tuple(variables)

    def check(self) -> None:
        """Raise OptionError unless every row can be read: rows may come from a file."""
        whole = self.rows[:, [ATTEMPT.index(name) for name in ("order", "outcome", "worst", "iterations", "fresh")]]
        fits = np.abs(whole) < 2**31
        if not fits.all() or not np.isin(self._codes, list(WORDS)).all():
            raise OptionError("rows of a trace must have known outcomes, and whole numbers in their columns")
        worst = self._column("worst")
        if ((worst < -1) | (worst >= len(self.variables))).any():
            raise OptionError(f"rows of a trace speak of more than its {len(self.variables)} variables")

    # -- columns ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> np.ndarray:
        return self._column("t")

    @property
    def h(self) -> np.ndarray:
        return self._column("h")

    @property
    def order(self) -> np.ndarray:
        return self._column("order").astype(int)

    @property
    def outcome(self) -> np.ndarray:
        return np.array([WORDS[Outcome(k)] for k in self._codes], dtype=object)

    @property
    def error(self) -> np.ndarray:
        return self._column("error")

    @property
    def worst(self) -> np.ndarray:
        names = (*self.variables, "")
        return np.array([names[k] for k in self._column("worst").astype(int)], dtype=object)

    @property
    def iterations(self) -> np.ndarray:
        return self._column("iterations").astype(int)

    @property
    def contraction(self) -> np.ndarray:
        return self._column("contraction")

    @property
    def new_jacobian(self) -> np.ndarray:
        return self._column("fresh").astype(int) & FRESH_JACOBIAN > 0

    @property
    def new_factors(self) -> np.ndarray:
        return self._column("fresh").astype(int) & FRESH_FACTORS > 0

    # -- how many --------------------------------------------------------------------------------------------------

    @property
    def counts(self) -> dict[str, int]:
        """Attempts by outcome."""
        return {WORDS[o]: n for o in Outcome if (n := int(np.sum(self._codes == o)))}

    @property
    def error_rejections(self) -> int:
        """As `Statistics` counts them: the step was computed, but is not good enough."""
        return int(np.isin(self._codes, BY_ERROR).sum())

    @property
    def convergence_rejections(self) -> int:
        """As `Statistics` counts them: the step could not be computed."""
        return int((~np.isin(self._codes, (Outcome.FINE, *BY_ERROR, *ENDING))).sum())

    # -- a sequence ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Attempt: ...

    @overload
    def __getitem__(self, at: Any) -> Trace: ...

    def __getitem__(self, at):
        """One attempt; or a trace of those that a slice, a mask or an array of places picks."""
        if isinstance(at, int | np.integer):
            part = Trace(self.rows[at], self.variables)
            return Attempt(*(getattr(part, name)[0] for name in Attempt._fields))
        return Trace(self.rows[at], self.variables)

    def __iter__(self) -> Iterator[Attempt]:
        columns = [getattr(self, name).tolist() for name in Attempt._fields]
        return (Attempt(*row) for row in zip(*columns, strict=True))

    def to_pandas(self) -> pd.DataFrame:
        """The same as a table, one row for each attempt."""
        try:
            import pandas as pd
        except ImportError:
            raise DalembertError("to_pandas() needs pandas; install it with: pip install pandas") from None
        return pd.DataFrame({name: getattr(self, name) for name in Attempt._fields})

    # -- text ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        parts = ", ".join(f"{number} {word}" for word, number in self.counts.items())
        return f"Trace({len(self)} attempt{'' if len(self) == 1 else 's'}{': ' if parts else ''}{parts})"

    def __str__(self) -> str:
        left_out = len(self) - FIRST - LAST
        if left_out <= 0:
            places, gap = range(len(self)), None
        else:
            places, gap = [*range(FIRST), *range(len(self) - LAST, len(self))], FIRST
        table = _aligned([self._heads(), *(self._cells(k) for k in places)])
        if gap is not None:
            omitted = Trace(self.rows[FIRST : FIRST + left_out], self.variables)
            table.insert(gap + 1, f"… {repr(omitted)[6:-1]} …")
        return "\n".join([repr(self), *table])

    def _heads(self) -> list[str]:
        heads = ["", "t", "h", *(["order"] if self._varies else []), "outcome", "error", "mostly in"]
        return [*heads, *(["iterations", "contraction", "new"] if self._iterates else [])]

    def _cells(self, k: int) -> list[str]:
        a = self[k]
        cells = [str(k), f"{a.t:.9g}", f"{a.h:.3e}", *([str(a.order)] if self._varies else [])]
        cells += [a.outcome, _number(a.error), a.worst]
        if self._iterates:
            new = " ".join(word for word, is_new in (("J", a.new_jacobian), ("LU", a.new_factors)) if is_new)
            cells += [str(a.iterations), _number(a.contraction), new]
        return cells

    @property
    def _varies(self) -> bool:
        return bool(self._column("order").any())

    @property
    def _iterates(self) -> bool:
        return bool(self._column("iterations").any() or self.new_jacobian.any())

    @property
    def _codes(self) -> np.ndarray:
        return self._column("outcome").astype(int)

    def _column(self, name: str) -> np.ndarray:
        return self.rows[:, ATTEMPT.index(name)]


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2g}"


def _aligned(table: list[list[str]]) -> list[str]:
    """Lines; words to the left, numbers to the right."""
    heads = table[0]
    width = [max(len(row[k]) for row in table) for k in range(len(heads))]
    words = {k for k, head in enumerate(heads) if head in ("outcome", "mostly in", "new")}
    return [
        "  ".join(cell.ljust(width[k]) if k in words else cell.rjust(width[k]) for k, cell in enumerate(row)).rstrip()
        for row in table
    ]
