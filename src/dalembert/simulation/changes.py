"""What changes at events, in numbers: truth values of relations, discrete variables, reinitialized unknowns, claims.

All functions take the time, the model's unknowns x and θ, and are evaluated point by point, without compilation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import FunctionFailed, ModelError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.evaluate import PointFunction
from dalembert.model.graph import Graph
from dalembert.model.hybrid import Assignment, Claim, Hybrid
from dalembert.solvers.method import Tolerances

CHANGES: Slot[Changes] = Slot("what changes at events", most=4)

#: of the tolerances: what unknowns that differ by no more make of a relation is not told from zero
OF_TOLERANCE = 1e-2
#: of the largest value of a relation that was seen: rounding errors
OF_VALUE = 1e-13
#: units in the last place of the time within which a root is known
OF_TIME = 64
#: units in the last place of the time within which relations change together
AT_ONCE = 1024
#: no band is narrower
SMALLEST = 1e-290


def changes_of(model: Model) -> Changes:
    """Those of a model and its variants, made once."""
    hybrid: Any = model.hybrid  # there is one, or nothing would change
    return model.kept.get(CHANGES, hybrid, lambda: Changes(model.graph, hybrid))


class Changes:
    """The functions of a `Hybrid`.

    Attributes
    ----------
    crossing, timed : tuples of Relation
        Those whose roots are events, and those whose times are known.
    bits, timed_bits : arrays of int
        Their places among the discrete variables.
    closed, rising : arrays of bool
    matters : array of bool
        Which discrete variables occur in the equations.
    now, before : arrays of int
        Places of discrete variables and of their values before the event.
    """

    def __init__(self, graph: Graph, hybrid: Hybrid):
        self.hybrid = hybrid
        self.crossing = tuple(r for r in hybrid.relations if r.by_time is None)
        self.timed = tuple(r for r in hybrid.relations if r.by_time is not None)
        self.bits, self.timed_bits = (_integers(r.place for r in kind) for kind in (self.crossing, self.timed))
        self.closed, self.timed_closed = (np.array([r.closed for r in k], bool) for k in (self.crossing, self.timed))
        self.rising = np.array([r.rising for r in self.timed], bool)
        self.now, self.before = _integers(hybrid.previous.keys()), _integers(hybrid.previous.values())
        self.clocks = _integers(sample.place for sample in hybrid.samples)
        self.assigned = _integers(assignment.place for assignment in hybrid.assignments)
        self.flags = _integers(place for place in (hybrid.initial, hybrid.terminal) if place is not None)
        self._must_be_whole(graph)
        self._declare(graph)

    def _must_be_whole(self, graph: Graph) -> None:
        n, faults = len(graph.discrete), []
        written = [*self.bits, *self.timed_bits, *self.assigned, *self.before, *self.clocks, *self.flags]
        names = tuple(graph.discrete)
        for place in written:
            if not 0 <= place < n:
                faults.append(f"there is no discrete variable number {place}")
            elif written.count(place) > 1:
                faults.append(f"the discrete variable '{names[place]}' is determined twice")
        if faults:
            raise ModelError("what changes at events", list(dict.fromkeys(faults)))

    def _declare(self, graph: Graph) -> None:
        hybrid, x = self.hybrid, graph.symbol["x"]
        values = _column(r.value for r in self.crossing)
        J = ca.sparsify(ca.jacobian(values, x))
        self._rows, self._columns = (np.array(part, int) for part in J.sparsity().get_triplet())
        by_t = ca.jtimes(values, ca.vertcat(graph.t, graph.u, graph.du), ca.vertcat(1, graph.du, graph.ddu))
        self._values = PointFunction(graph, [values])
        self._slopes = PointFunction(graph, [ca.vec(J.nz[:]) if J.nnz() else ca.SX(0, 1), by_t])
        self._times = PointFunction(graph, [_column(r.by_time for r in self.timed)])
        self._clocks = PointFunction(graph, [_column(part for s in hybrid.samples for part in (s.start, s.interval))])
        self._assignments = PointFunction(graph, [sequential(hybrid.assignments, graph.discrete_symbols)])
        reinits = [_column(r.condition for r in hybrid.reinits), _column(r.value for r in hybrid.reinits)]
        self._reinits = PointFunction(graph, reinits)
        self._claims = PointFunction(graph, [_column(c.condition for c in hybrid.claims)])
        self._messages: dict[int, PointFunction] = {}
        self._graph = graph
        functions = [f.sx for f in graph.functions.values()]
        self.matters = np.zeros(len(graph.discrete), bool)
        for sx in functions:
            pattern = ca.jacobian_sparsity(ca.densify(ca.vec(sx)), graph.discrete_symbols)
            self.matters |= np.diff(pattern.colind()) > 0

    # -- relations -------------------------------------------------------------------------------------------------

    def values(self, t: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Of the relations whose roots are events."""
        if not self.crossing:
            return np.zeros(0)
        values = self._values(t, {"x": x}, theta)[0].ravel()
        if not np.isfinite(values).all():
            name = self.crossing[int(np.argmax(~np.isfinite(values)))].name
            raise FunctionFailed(f"the relation '{name}' cannot be evaluated at t = {t:.9g} (NaN or infinite)")
        return values

    def bands(
        self, t: float, x: np.ndarray, x_dot: np.ndarray, theta: np.ndarray, tolerances: Tolerances
    ) -> np.ndarray:
        """Moduli up to which values are as good as zero: what errors of x, of the time and of rounding make of them."""
        slopes, by_t = (part.ravel() for part in self._slopes(t, {"x": x}, theta))
        n, error = len(self.crossing), tolerances.atol + tolerances.rtol * np.abs(x)
        of_x = np.bincount(self._rows, np.abs(slopes) * error[self._columns], n)
        rate = np.bincount(self._rows, slopes * x_dot[self._columns], n) + by_t
        bands = OF_TOLERANCE * of_x + OF_TIME * np.spacing(abs(t)) * np.abs(rate)
        return np.where(np.isfinite(bands), bands, 0.0)

    def crossing_now(
        self, t: float, x: np.ndarray, x_dot: np.ndarray, theta: np.ndarray, truth: np.ndarray
    ) -> np.ndarray:
        """Numbers of the relations that change within rounding of the time, if things go on like this."""
        slopes, by_t = (part.ravel() for part in self._slopes(t, {"x": x}, theta))
        rate = np.bincount(self._rows, slopes * x_dot[self._columns], len(self.crossing)) + by_t
        values = self.values(t, x, theta)
        towards = np.where(truth != 0, -rate, rate)
        return np.flatnonzero((towards > 0) & (np.abs(values) <= AT_ONCE * np.spacing(abs(t)) * towards))

    def times(self, t: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """When the relations of time change."""
        return self._times(t, {"x": x}, theta)[0].ravel() if self.timed else np.zeros(0)

    def clock_times(self, t: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Start and interval of each clock."""
        return self._clocks(t, {"x": x}, theta)[0].reshape(-1, 2)

    # -- what follows ----------------------------------------------------------------------------------------------

    def assign(self, t: float, x: np.ndarray, theta: np.ndarray, discrete: np.ndarray) -> None:
        """Write what the assignments give, for these truth values and values before the event."""
        if not len(self.assigned):
            return
        values = self._assignments(t, {"x": x}, theta)[0].ravel()
        if not np.isfinite(values).all():
            name = self.hybrid.assignments[int(np.argmax(~np.isfinite(values)))].name
            raise FunctionFailed(f"'{name}' cannot be evaluated at t = {t:.9g} (NaN or infinite)")
        discrete[self.assigned] = values

    def reinits(self, t: float, x: np.ndarray, theta: np.ndarray) -> dict[int, float]:
        """Unknowns that start again, and from where."""
        hybrid = self.hybrid
        if not hybrid.reinits:
            return {}
        conditions, values = (part.ravel() for part in self._reinits(t, {"x": x}, theta))
        found = {}
        for k in np.flatnonzero(conditions):
            if not np.isfinite(values[k]):
                raise FunctionFailed(f"'{hybrid.reinits[k].name}' cannot be evaluated at t = {t:.9g} (NaN or infinite)")
            found[hybrid.reinits[k].unknown] = float(values[k])
        return found

    def claims(self, t: float, x: np.ndarray, theta: np.ndarray) -> list[tuple[Claim, str]]:
        """Assertions that fail and terminations that apply, with their messages."""
        if not self.hybrid.claims:
            return []
        conditions = self._claims(t, {"x": x}, theta)[0].ravel()
        ends = np.array([claim.ends for claim in self.hybrid.claims])
        found = np.flatnonzero(((conditions != 0) == ends) | np.isnan(conditions)).tolist()
        return [(self.hybrid.claims[k], self._message(k, t, x, theta)) for k in found]

    def _message(self, k: int, t: float, x: np.ndarray, theta: np.ndarray) -> str:
        parts = self.hybrid.claims[k].message
        if k not in self._messages:
            self._messages[k] = PointFunction(self._graph, [_column(p for p in parts if isinstance(p, ca.SX))])
        numbers = iter(self._messages[k](t, {"x": x}, theta)[0].ravel())
        return "".join(part if isinstance(part, str) else f"{next(numbers):.6g}" for part in parts)


def sequential(assignments: Sequence[Assignment], discrete: ca.SX) -> ca.SX:
    """The values of all, where each sees what those before it have given.

    >>> z = ca.SX.sym("z", 2)
    >>> given = [Assignment(place=0, value=z[1] + 1, name="a"), Assignment(place=1, value=2 * z[0], name="b")]
    >>> ca.evalf(ca.substitute(sequential(given, z), z, ca.DM([0, 5])))
    DM([6, 12])
    """
    if not assignments:
        return ca.SX(0, 1)
    pattern = ca.jacobian_sparsity(_column(a.value for a in assignments), discrete)
    reads: list[list[int]] = [[] for _ in assignments]
    for row, column in zip(*pattern.get_triplet(), strict=True):
        reads[row].append(column)
    known: dict[int, ca.SX] = {}
    values = []
    for assignment, places in zip(assignments, reads, strict=True):
        seen = [place for place in places if place in known]
        value = ca.SX(assignment.value)
        if seen:
            value = ca.substitute(value, discrete[seen], ca.vertcat(*(known[place] for place in seen)))
        known[assignment.place] = value
        values.append(value)
    return ca.densify(ca.vertcat(*values))


def _column(parts: Iterable[Any]) -> ca.SX:
    columns = [ca.SX(part) for part in parts]
    return ca.densify(ca.vertcat(*columns)) if columns else ca.SX(0, 1)


def _integers(numbers: Iterable[Any]) -> np.ndarray:
    return np.array(list(numbers), int)
