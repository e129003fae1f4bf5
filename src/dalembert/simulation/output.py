"""At which times a result is given, and which of its components are kept [1]_.

References
----------
.. [1] Ch. Lubich, U. Nowak, U. Pöhle, Ch. Engstler, "MEXX - Numerical software for the integration of constrained
   mechanical multibody systems", Konrad-Zuse-Zentrum Berlin, 1992, section 4.2.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import digits, shown
from dalembert.errors import OptionError, SimulationError
from dalembert.kept import Slot
from dalembert.model.namespace import explain_unknown
from dalembert.model.vocabulary import VOCABULARY
from dalembert.options import Options, between, require
from dalembert.regularize.form import Form
from dalembert.simulation.arguments import output_times
from dalembert.solution.memory import in_words, memory

#: output times of one run at most
MOST_POINTS = 100_000_000
#: of each point while a result is put together
COPIES = 3
#: names of them: more than any model has
MOST_COMPONENTS = 1_000_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Output(Options):
    """Output times for ``simulate(..., t_eval=Output(...))``. One of the first four may be given; default: all steps.

    Parameters
    ----------
    points : int
        So many points between start and end, equidistant, and both ends.
    per_step : int
        So many points within each accepted step, equidistant, and all accepted points.
    max_spacing : float
        All accepted points, and as many within each step that neighbours are not farther apart than this.
    times : array
        These times, strictly increasing (decreasing if time runs backwards), within the interval.
    components : sequence of str
        Variables ("beta_dot") and vectors ("p", "lam") to be kept; default: all. The others are not stored.

    Examples
    --------
    >>> import dalembert as da
    >>> problem = da.problems.pendulum()
    >>> problem.simulate(t_eval=da.Output(points=3)).t
    array([0. , 0.5, 1. , 1.5, 2. ])
    >>> sol = problem.simulate(t_eval=da.Output(per_step=4, components=["y", "lam"]))
    >>> len(sol.t) == 5 * sol.stats.accepted + 1, sol.names
    (True, ('y', 'lam1'))
    """

    points: int | None = None
    per_step: int | None = None
    max_spacing: float | None = None
    times: Any = None
    components: Any = None

    def __post_init__(self) -> None:
        self.coerce_numbers()
        given = [
            f"{name}=" for name in ("points", "per_step", "max_spacing", "times") if getattr(self, name) is not None
        ]
        if len(given) > 1:
            raise OptionError(
                f"Output takes one of points=, per_step=, max_spacing= and times=, not {' and '.join(given)}"
            )
        for name in ("points", "per_step"):
            count = getattr(self, name)
            if count is not None:
                between(name, count, 0, MOST_POINTS)
        spacing = self.max_spacing
        require(spacing is None or spacing > 0, f"max_spacing={spacing} must be positive")
        if self.components is None:
            return
        wanted = [self.components] if isinstance(self.components, str) else self.components
        try:
            wanted = list(itertools.islice(wanted, MOST_COMPONENTS)) if isinstance(wanted, Iterable) else [None]
        except Exception:  # a 0-d array, a generator that fails
            wanted = [None]
        if not all(isinstance(name, str) for name in wanted):
            raise OptionError(f"components={shown(self.components)} must be names of variables or vectors")
        require(bool(wanted), "components= is empty: name what shall be kept")
        object.__setattr__(self, "components", tuple(wanted))

    def __repr__(self) -> str:
        given = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return f"Output({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


EVERY_STEP = Output()
#: of results that keep everything
LAYOUT: Slot[tuple[dict[str, slice], dict[str, tuple[str, ...]]]] = Slot("layout of results", most=1)


class Sampling:
    """The output times of one run: known from the start, or found step by step; and the columns that are kept."""

    def __init__(self, wanted: Any, t0: float, t1: float, form: Form):
        output = wanted if isinstance(wanted, Output) else EVERY_STEP if wanted is None else Output(times=wanted)
        self.t0, self.t1 = t0, t1
        self.direction = 1.0 if t1 >= t0 else -1.0
        self.per_step, self.max_spacing = output.per_step, output.max_spacing
        self.times = None if output.times is None else output_times(output.times, t0, t1)
        self.columns = None if output.components is None else _columns(output.components, form)
        self._row = 8.0 * (1 + (form.n if self.columns is None else len(self.columns)))  # bytes of a point
        if output.points is not None:
            self.times = _equidistant(t0, t1, output.points, self._row)
        if self.max_spacing is not None and abs(t1 - t0) > MOST_POINTS * self.max_spacing:
            raise OptionError(
                f"max_spacing={digits(self.max_spacing)} would give more than {MOST_POINTS} points between "
                f"{digits(t0)} and {digits(t1)}"
            )
        if self.max_spacing is not None:
            _must_fit(abs(t1 - t0) / self.max_spacing, self._row, f"max_spacing={self.max_spacing:g}")
        if self.per_step is not None:
            _must_fit(self.per_step, self._row, f"per_step={self.per_step}")
        self.next = 0
        self._count = 0

    @property
    def everywhere(self) -> bool:
        """Whether the accepted steps themselves are the output."""
        return self.times is None and self.per_step is None and self.max_spacing is None

    def first(self) -> np.ndarray:
        """The start, if it is an output time."""
        if self.times is None:
            return np.array([self.t0])
        self.next = int(self.times[:1].tolist() == [self.t0])
        return self.times[: self.next]

    def count(self, steps: int) -> None:
        """So many steps more: raise if their output would be too much."""
        if self.per_step is None:
            return
        self._count += steps * (self.per_step + 1)
        size = COPIES * self._count * self._row
        if self._count > MOST_POINTS or size > memory():
            raise SimulationError(
                f"Output(per_step={self.per_step}) asks for {self._count} points so far, which would take "
                f"{in_words(size)}: the most is {MOST_POINTS}, and what fits into the memory. Ask for fewer points, or "
                "keep fewer components"
            )

    def within(self, t: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Output times in new steps, which end at t and have size h; also the numbers of the steps, and s there."""
        if self.times is not None:
            ahead = self.times[self.next :]
            along = ahead if self.direction > 0 else -ahead
            last = self.next + int(np.searchsorted(along, t[-1] * self.direction, side="right"))
            times = self.times[self.next : last]
            self.next = last
            step = np.searchsorted(t * self.direction, times * self.direction, side="left")
            return times, step, (times - t[step]) / h[step]
        if self.per_step is not None:
            pieces = np.full(len(t), self.per_step + 1)
        else:
            pieces = np.ceil(np.abs(h) / self.max_spacing * (1 - 1e-12)).astype(np.int64)
        step = np.repeat(np.arange(len(t)), pieces)
        number = np.arange(len(step)) - np.repeat(np.cumsum(pieces) - pieces, pieces) + 1
        s = number / pieces[step] - 1.0
        return t[step] + s * h[step], step, s

    def all_times(self, t: np.ndarray, h: np.ndarray) -> np.ndarray | None:
        """The output times of a run with these steps; None: its steps."""
        if self.everywhere:
            return None
        if self.times is not None:
            reached = t[-1] if len(t) else self.t0
            return self.times[(self.times - reached) * self.direction <= 0]
        return np.concatenate([[self.t0], self.within(t, h)[0] if len(t) else []])

    def kept(self, x: np.ndarray) -> np.ndarray:
        """The kept columns of an array of states."""
        return x if self.columns is None else x[..., self.columns]

    def not_kept(self, form: Form) -> dict[str, tuple[str, ...]] | None:
        """Names of the components that are left out, by kind; None if nothing is."""
        if self.columns is None:
            return None
        kept = set(self.columns.tolist())
        parts = {kind: part for kind, part in form.slices.items() if VOCABULARY[kind].visible}
        left_out = {k: [i for i in range(*part.indices(form.n)) if i not in kept] for k, part in parts.items()}
        return {kind: tuple(form.variables[i] for i in places) for kind, places in left_out.items() if places}

    def layout(self, form: Form) -> tuple[dict[str, slice], dict[str, tuple[str, ...]]]:
        """Where each vector stands in what is kept, and its names."""
        if self.columns is None:
            return form.kept.get(LAYOUT, None, lambda: self._layout(form))
        return self._layout(form)

    def _layout(self, form: Form) -> tuple[dict[str, slice], dict[str, tuple[str, ...]]]:
        slices, names = {}, {}
        kept = None if self.columns is None else set(self.columns.tolist())
        for kind, part in form.slices.items():
            columns = range(*part.indices(form.n))
            if kept is not None:
                columns = [i for i in columns if i in kept]
                if not columns:
                    continue
                first = int(np.searchsorted(np.array(self.columns), columns[0]))
                part = slice(first, first + len(columns))
            slices[kind] = part
            names[kind] = tuple(form.variables[i] for i in columns)
        return slices, names


def _must_fit(points: float, row: float, asked: str) -> None:
    """Raise OptionError if so many points cannot be held."""
    if COPIES * points * row > memory():
        raise _too_much(points, row, asked)


def _too_much(points: float, row: float, asked: str) -> OptionError:
    return OptionError(
        f"Output({asked}) would take {in_words(COPIES * points * row)}, and there are {in_words(memory())} of memory: "
        "ask for fewer points, or keep fewer components"
    )


def _equidistant(t0: float, t1: float, points: int, row: float) -> np.ndarray:
    """Times between two ends, and both."""
    asked = f"points={points}"
    _must_fit(points, row, asked)
    try:
        return np.linspace(t0, t1, points + 2) if t0 != t1 else np.array([t0])
    except MemoryError:
        raise _too_much(points, row, asked) from None


def _columns(components: tuple[str, ...], form: Form) -> np.ndarray:
    """Columns of x, in order."""
    slices = {kind: part for kind, part in form.slices.items() if VOCABULARY[kind].visible}
    places = {form.variables[i]: [i] for part in slices.values() for i in range(*part.indices(form.n))}
    places |= {kind: list(range(*part.indices(form.n))) for kind, part in slices.items() if kind not in places}
    columns: set[int] = set()
    for name in components:
        if name in form.model.outputs:
            raise OptionError(f"components: '{name}' is an output of the model: keep the variables that it reads")
        if name not in places:
            raise OptionError(f"components: {explain_unknown(name, places)}")
        columns.update(places[name])
    return np.array(sorted(columns), np.int64)
