"""Outputs of a model at the points of a result, for all times at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import Model
from dalembert.model.outputs import Outputs, role_of
from dalembert.model.vocabulary import FUNCTIONS, SETTLED

if TYPE_CHECKING:
    from dalembert.solution.state_view import StateView

#: numbers held at once while outputs are evaluated
PIECE = 2_000_000


@dataclass(frozen=True)
class Source:
    """What outputs are computed with: the model, and the times at which its inputs are taken.

    `doubled`: of equal times the first is before a jump, the others after it. `outputs`: others than the model's.
    """

    model: Model
    interval: tuple[float, float]
    doubled: bool = False
    outputs: Outputs | None = None

    def values(self, view: StateView, name: str) -> Any:
        """An output at the points of a view, shape (times, output)."""
        outputs = self.model.outputs if self.outputs is None else self.outputs
        points = Points(self, view)
        reads, traced, shape, where = outputs.reads(name), outputs[name].traced, outputs.shape(name), role_of(name)
        a = view._accelerations(lambda: points.accelerations(where)) if reads.accelerations else None
        found = np.empty((len(points.t), *shape))
        for part in points.parts(reads.rows) if found.size else ():
            t, theta = points.t[part], points.theta(part)
            values = points.vectors(reads.rows, part, where, settled=a is not None)
            if a is not None:
                values["a"] = a[:, part]
            if traced:
                columns = outputs.evaluator(name).many(t, values, theta)
                # entries stand column by column
                found[part] = columns.reshape(-1, *shape[::-1]).transpose(0, *range(len(shape), 0, -1))
                continue
            for i, time in enumerate(t.tolist()):
                here = {kind: np.array(value[:, i]) for kind, value in values.items()}
                found[part.start + i] = outputs.call(name, time, here, theta[:, i].copy())
        found = found.reshape((*np.shape(view.t), *shape))
        return found if found.ndim else float(found)


class Points:
    """The N points of a view as a model's functions take them, part by part."""

    def __init__(self, source: Source, view: StateView):
        self.model, self.view = source.model, view
        self.t = off_breakpoints(np.ravel(view.t), source.interval, source.model.breakpoints, doubled=source.doubled)
        known = [np.ravel(view._discrete[name]) for name in self.model.discrete_names if name in view._discrete]
        complete = len(known) == len(self.model.discrete_names) > 0
        self._discrete = np.array(known) if complete else None

    def parts(self, needed: Mapping[str, np.ndarray]) -> Iterator[slice]:
        """Slices of so many points that numbers for these rows of vectors fit into the memory."""
        numbers = 1 + sum(len(rows) for rows in needed.values()) + self.model.graph.theta.numel()
        rows = max(1, PIECE // numbers)
        return (slice(first, min(first + rows, len(self.t))) for first in range(0, len(self.t), rows))

    def theta(self, part: slice) -> np.ndarray:
        """θ, a column for each point."""
        return self.model.thetas(self.t[part], None if self._discrete is None else self._discrete[:, part])

    def vectors(
        self, rows: Mapping[str, np.ndarray], part: slice, why: str, *, settled: bool = False
    ) -> dict[str, np.ndarray]:
        """Each vector of the model with a column for each point; components besides `rows` may be NaN."""
        view, values, count = self.view, {}, part.stop - part.start
        for kind in self.model.graph.vectors:
            names, columns, needed = self.model.names(kind), view._columns, rows.get(kind, ())
            missing = [names[i] for i in needed if names[i] not in columns]
            if missing:
                listed = f"{', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}"
                why_not = "Output(components=...) did not keep them" if view.partial else "the method does without"
                raise OptionError(f"this result has no values of {kind} ({listed}), which {why} needs: {why_not}")
            values[kind] = np.broadcast_to(np.nan, (len(names), count))
            if not len(needed):
                continue
            x = view._values(settled or kind in SETTLED)
            x = x.reshape(-1, x.shape[-1])[part]
            if view._names.get(kind) == names:
                values[kind] = x[:, view._slices[kind]].T
                continue
            values[kind] = values[kind].copy()
            for i in needed:
                values[kind][i] = x[:, columns[names[i]]]
        return values

    def accelerations(self, why: str) -> np.ndarray:
        """v', a column for each point."""
        from dalembert.solution.residuals import accelerations

        graph = self.model.graph
        everything = {kind: np.arange(graph.size(kind)) for kind in FUNCTIONS["force"].reads}
        a = np.empty((graph.size("v"), len(self.t)))
        for part in self.parts(everything):
            values = self.vectors(everything, part, why, settled=True)
            a[:, part] = accelerations(self.model, self.t[part], values, self.theta(part)).T
        return a


def off_breakpoints(
    t: np.ndarray, interval: tuple[float, float], breakpoints: tuple[float, ...], *, doubled: bool
) -> np.ndarray:
    """The times, and a rounding error beside breakpoints: where states before and after them were computed.

    Of equal times (`doubled`) the first is before the breakpoint; a single one is after it, unless it is the end.
    """
    first, last = interval
    at = np.isin(t, breakpoints) if breakpoints else np.zeros(len(t), bool)
    if not at.any():
        return t
    ends = t == last
    if doubled:
        new = np.diff(t, prepend=np.nan) != 0  # the first of those with the same time
        ends = new & (np.append(t[1:] == t[:-1], False) | ends)
    before = at & ends & (t != first)
    return np.where(before, np.nextafter(t, first), np.where(at, np.nextafter(t, last), t))


def entries(name: str, values: np.ndarray, points: int) -> dict[str, np.ndarray]:
    """The entries of an output, each with one value for each point: "tip[0]", "orientation[0,2]"; a scalar as it is."""
    shape = values.shape[1:]
    if not shape:
        return {name: values}
    flat = values.reshape(points, -1)
    return {f"{name}[{','.join(map(str, at))}]": flat[:, k] for k, at in enumerate(np.ndindex(*shape))}
