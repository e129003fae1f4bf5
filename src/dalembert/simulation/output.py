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
from dalembert.errors import OptionError
from dalembert.kept import Slot
from dalembert.model.namespace import explain_unknown
from dalembert.model.vocabulary import VOCABULARY
from dalembert.options import Options, between, require
from dalembert.regularize.form import Form
from dalembert.simulation.arguments import output_times

#: output times of one run at most
MOST_POINTS = 100_000_000
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
        if output.points is not None:
            self.times = np.linspace(t0, t1, output.points + 2) if t0 != t1 else np.array([t0])
        if self.max_spacing is not None and abs(t1 - t0) > MOST_POINTS * self.max_spacing:
            raise OptionError(
                f"max_spacing={digits(self.max_spacing)} would give more than {MOST_POINTS} points between "
                f"{digits(t0)} and {digits(t1)}"
            )
        self.columns = None if output.components is None else _columns(output.components, form)
        self._next = 0

    @property
    def everywhere(self) -> bool:
        """Whether the accepted steps themselves are the output."""
        return self.times is None and self.per_step is None and self.max_spacing is None

    def first(self) -> np.ndarray:
        """The start, if it is an output time."""
        if self.times is None:
            return np.array([self.t0])
        self._next = int(self.times[:1].tolist() == [self.t0])
        return self.times[: self._next]

    def within(self, t: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Output times in new steps, which end at t and have size h; also the numbers of the steps, and s there."""
        if self.times is not None:
            last = int(np.searchsorted(self.times * self.direction, t[-1] * self.direction, side="right"))
            times = self.times[self._next : last]
            self._next = last
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

    def layout(self, form: Form) -> tuple[dict[str, slice], dict[str, tuple[str, ...]]]:
        """Where each vector stands in what is kept, and its names."""
        if self.columns is None:
            return form.kept.get(LAYOUT, None, lambda: self._layout(form))
        return self._layout(form)

    def _layout(self, form: Form) -> tuple[dict[str, slice], dict[str, tuple[str, ...]]]:
        slices, names = {}, {}
        for kind, part in form.slices.items():
            columns = range(*part.indices(form.n))
            if self.columns is not None:
                columns = [i for i in columns if i in set(self.columns.tolist())]
                if not columns:
                    continue
                first = int(np.searchsorted(self.columns, columns[0]))
                part = slice(first, first + len(columns))
            slices[kind] = part
            names[kind] = tuple(form.variables[i] for i in columns)
        return slices, names


def _columns(components: tuple[str, ...], form: Form) -> np.ndarray:
    """Columns of x, in order."""
    slices = {kind: part for kind, part in form.slices.items() if VOCABULARY[kind].visible}
    places = {form.variables[i]: [i] for part in slices.values() for i in range(*part.indices(form.n))}
    places |= {kind: list(range(*part.indices(form.n))) for kind, part in slices.items() if kind not in places}
    columns: set[int] = set()
    for name in components:
        if name not in places:
            raise OptionError(f"components: {explain_unknown(name, places)}")
        columns.update(places[name])
    return np.array(sorted(columns), np.int64)
