"""Saddle-point systems eliminated on the graph: every operation of the factorization and of the substitutions a node.

The order of the pivots is that of `Compiled`, and so is the judgement of pivots: one that is a small difference of what
it was computed from has lost too many digits. Terms of diagonal entries have known signs where pivots lie on the
diagonal, since M is positive and −G M⁻¹ Gᵀ negative: sums of either sign tell how much cancels, for an operation more.

Substitutions go column by column: what is known is used at once everywhere, so that few operations wait for each other.
Where all of it is written down one operation after the other, the order is such that few numbers wait at once: rows are
changed when it is their turn, and right-hand sides with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dalembert.compile.generated.graph import Binding, Graph
from dalembert.linalg.saddle.compiled import SMALL, Elimination
from dalembert.linalg.saddle.solver import SaddlePattern

#: multiplications of an elimination that is still written down
LONGEST = 60_000


class NotEliminated(Exception):
    """A saddle-point system for which there is no straight code."""


@dataclass
class Eliminated:
    """A system as nodes: L and U in the order of elimination, reciprocals of pivots by row."""

    graph: Graph
    order: Sequence[tuple[int, int]]  # rows, and columns of the pivots in them
    lower: list[tuple[int, int, int]]
    upper: list[tuple[int, int, int]]
    inverse: dict[int, int]
    margins: list[int]  # each must be positive
    steps: list[list[int]]  # what is computed for each pivot, in the order of elimination
    kept: list[int] = field(init=False)  # factors that change with time and position

    def __post_init__(self) -> None:
        values = [*(v for *_, v in self.lower), *(v for *_, v in self.upper), *self.inverse.values()]
        self.kept = list(dict.fromkeys(v for v in values if self.graph.binding[v] == Binding.POSITION))

    def solved(self, right: Sequence[int]) -> list[int]:
        """The solution for a right-hand side, where factors that change are leaves "factor"."""
        places = {node: self.graph.leaf("factor", k, Binding.POSITION) for k, node in enumerate(self.kept)}
        lower = [(i, at, places.get(v, v)) for i, at, v in self.lower]
        upper = [(at, j, places.get(v, v)) for at, j, v in self.upper]
        inverse = {at: places.get(v, v) for at, v in self.inverse.items()}
        left, _ = _forward(self.graph, lower, right)
        return _back(self.graph, self.order, upper, inverse, left)[0]

    def solved_at_once(self, right: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
        """The solution for a right-hand side that changes with the matrix, so that factors of columns are not kept, and
        in which order things are best computed: while the matrix is eliminated, and afterwards."""
        left, changes = _forward(self.graph, self.lower, right)
        solution, up = _back(self.graph, self.order, self.upper, self.inverse, left)
        steps = zip(self.order, self.steps, strict=True)
        return solution, [node for (at, _), step in steps for node in (*step, *changes.get(at, ()))], up


@dataclass
class _Diagonal:
    """A diagonal entry: sums of terms of its own sign, of the other one, and of terms of any sign with their sizes."""

    own: int
    other: int
    rest: int
    size: int


@dataclass
class _Work:
    graph: Graph
    rows: list[dict[int, int]]
    diagonal: dict[int, _Diagonal]
    n_v: int
    #: entries between constraints and velocities that off-diagonal pivots have changed: what they were computed from
    terms: dict[tuple[int, int], int] = field(default_factory=dict)

    def extent(self, i: int, j: int) -> int:
        known = self.terms.get((i, j))
        return self.graph.operation("FABS", self.rows[i][j]) if known is None else known


def eliminated(
    graph: Graph, pattern: SaddlePattern, mass: Sequence[int], force: Sequence[int] | None, constraint: Sequence[int],
    small: float = SMALL,
) -> Eliminated:  # fmt: skip
    """The system of nonzeros M, U (None: U = G) and G; pivots below a `small` part of what they were computed from are
    not good."""
    elimination = Elimination(pattern, LONGEST)
    if elimination.stuck is not None:
        raise NotEliminated(f"no mass and no constraint holds {pattern.name(elimination.stuck)}")
    if elimination.operations > LONGEST:
        raise NotEliminated(f"elimination takes more than {LONGEST} multiplications")
    work = _matrix(graph, pattern, mass, force, constraint)
    lower, upper, inverse, margins, steps = _factors(work, pattern, elimination.order, small)
    for unknown, margin in margins.items():
        value = graph.value(margin)
        if value is not None and value <= 0:
            raise NotEliminated(f"no mass and no constraint holds {pattern.name(unknown)}")
    changing = [m for m in margins.values() if graph.value(m) is None]
    return Eliminated(graph, elimination.order, lower, upper, inverse, changing, steps)


def _matrix(
    graph: Graph, pattern: SaddlePattern, mass: Sequence[int], force: Sequence[int] | None, constraint: Sequence[int]
) -> _Work:
    rows: list[dict[int, int]] = [{} for _ in range(pattern.n)]
    values = [*mass, *constraint, *(constraint if force is None else force)]
    for i, j, node in zip(*(a.tolist() for a in pattern.entries()), values, strict=True):
        rows[i][j] = graph.operation("ADD", rows[i].get(j, graph.zero), node)
        rows[j].setdefault(i, graph.zero)  # the order was found for a symmetric pattern
    diagonal = {}
    for i in range(pattern.n):
        entry = rows[i].get(i, graph.zero)
        diagonal[i] = _Diagonal(entry if i < pattern.n_v else graph.zero, graph.zero, graph.zero, graph.zero)
    return _Work(graph, rows, diagonal, pattern.n_v)


def _factors(
    work: _Work, pattern: SaddlePattern, order: Sequence[tuple[int, int]], small: float
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]], dict[int, int], dict[int, int], list[list[int]]]:
    """L and U in the order of elimination, reciprocals of pivots by row, margins of those on the diagonal, and what is
    computed for each pivot."""
    graph, rows, n, n_v = work.graph, work.rows, pattern.n, pattern.n_v
    symmetric = pattern.symmetric
    lower: list[tuple[int, int, int]] = []
    upper: list[tuple[int, int, int]] = []
    inverse: dict[int, int] = {}
    margins: dict[int, int] = {}
    steps: list[list[int]] = []
    columns_done: set[int] = set()
    rows_left = set(range(n))
    for at, pivot in order:
        on_diagonal = at == pivot
        if on_diagonal:
            rows[at][at], margins[at] = _pivot(graph, work.diagonal[at], 1 if at < n_v else -1, small, symmetric)
        else:  # entries on the diagonal are like others here
            for i in (at, pivot):
                if i in rows[i]:
                    value = _value(graph, work.diagonal[i])
                    rows[i][i] = value if i < n_v else graph.operation("NEG", value)
        row = rows[at]
        inverse[at] = graph.operation("INV", row[pivot])
        steps.append([margins[at], inverse[at]] if on_diagonal else [inverse[at]])
        rows_left.discard(at)
        columns_done.add(pivot)
        right = [j for j in row if j not in columns_done]
        below = [i for i in rows_left if pivot in rows[i]]
        upper += [(at, j, row[j]) for j in right]
        mirrored = symmetric and on_diagonal
        for i in below:
            factor = graph.operation("MUL", rows[i][pivot], inverse[at])
            lower.append((i, at, factor))
            steps[-1].append(factor)
            for j in right:
                if mirrored and j < i and i in right and j in below:
                    continue  # the other triangle has it
                change = graph.operation("MUL", factor, row[j])
                if i == j:
                    _change_diagonal(work, i, j, at, pivot, change, inverse[at], positive=at < n_v)
                    rows[i].setdefault(i, graph.zero)
                    continue
                if not on_diagonal and (i >= n_v) != (j >= n_v) and j in rows[i] and rows[i][j] != graph.zero:
                    size = graph.operation("FABS", change)
                    work.terms[i, j] = graph.operation("ADD", work.extent(i, j), size)
                rows[i][j] = graph.operation("SUB", rows[i].get(j, graph.zero), change)
        if mirrored:
            for i in below:
                for j in right:
                    if j < i and i in right and j in below:
                        rows[i][j] = rows[j][i]
    return lower, upper, inverse, margins, steps


def _pivot(graph: Graph, entry: _Diagonal, sign: int, small: float, symmetric: bool) -> tuple[int, int]:
    """A diagonal entry, whose sign is the given one, and by how much it exceeds what may be lost. Where the matrix is
    not symmetric, over steps that are much too long, signs may be other ones."""
    size = graph.operation("ADD", graph.operation("ADD", entry.own, entry.other), entry.size)
    value = _value(graph, entry)
    lost, left = graph.operation("MUL", graph.constant(small), size), value
    if not symmetric:
        lost, left = graph.operation("FABS", lost), graph.operation("FABS", value)
    margin = graph.operation("SUB", left, lost)
    return value if sign > 0 else graph.operation("NEG", value), margin


def _value(graph: Graph, entry: _Diagonal) -> int:
    """A diagonal entry, with its own sign in front."""
    return graph.operation("ADD", graph.operation("SUB", entry.own, entry.other), entry.rest)


def _change_diagonal(
    work: _Work, i: int, j: int, at: int, pivot: int, change: int, inverse: int, *, positive: bool
) -> None:
    """Subtract a change from a diagonal entry.

    Pivots of velocities are positive, and those of constraints negative: the change has the sign of its pivot, and
    belongs to the entry's own terms if it makes it larger. Entries are kept with their own sign in front.
    """
    graph, entry = work.graph, work.diagonal[i]
    velocity = i < work.n_v
    if at == pivot and (i, pivot) not in work.terms and (at, j) not in work.terms:
        if velocity == positive:  # it takes something away
            entry.other = graph.operation("ADD", entry.other, change if positive else graph.operation("NEG", change))
        else:
            entry.own = graph.operation("ADD", entry.own, change if positive else graph.operation("NEG", change))
        return
    lost = (i, pivot) in work.terms or (at, j) in work.terms
    size = graph.operation("FABS", change)
    if lost:
        product = graph.operation("MUL", work.extent(i, pivot), work.extent(at, j))
        size = graph.operation("MUL", product, graph.operation("FABS", inverse))
    entry.size = graph.operation("ADD", entry.size, size)
    entry.rest = graph.operation("SUB" if velocity else "ADD", entry.rest, change)


def _forward(
    graph: Graph, lower: list[tuple[int, int, int]], b: Sequence[int]
) -> tuple[list[int], dict[int, list[int]]]:
    """A right-hand side divided by L, and what each row changes of it."""
    left, changes = list(b), {}
    for i, at, value in lower:
        left[i] = graph.operation("SUB", left[i], graph.operation("MUL", value, left[at]))
        changes.setdefault(at, []).append(left[i])
    return left, changes


def _back(
    graph: Graph, order: Sequence[tuple[int, int]], upper: list[tuple[int, int, int]], inverse: dict[int, int],
    b: Sequence[int],
) -> tuple[list[int], list[int]]:  # fmt: skip
    """A right-hand side divided by U, and the order in which this is computed."""
    left, course = list(b), []
    above: dict[int, list[tuple[int, int]]] = {}
    for at, j, value in upper:
        above.setdefault(j, []).append((at, value))
    x = [graph.zero] * len(b)
    for at, pivot in reversed(order):
        x[pivot] = graph.operation("MUL", left[at], inverse[at])
        course.append(x[pivot])
        for i, value in above.get(pivot, ()):
            left[i] = graph.operation("SUB", left[i], graph.operation("MUL", value, x[pivot]))
            course.append(left[i])
    return x, course
