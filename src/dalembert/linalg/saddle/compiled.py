"""Elimination as machine code: the order of the pivots is found once from the pattern, then every operation of the
factorization and of the substitutions is written down and compiled, without zeros, loops or indices.

Velocities come with their positive masses, constraints after all their velocities, and velocities without mass after
the constraints that hold them: pivots are definite then, and need no search. Where one turns out small (constraints
that are nearly dependent, or rest on massless velocities alone), `Dense` takes over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern
from dalembert.options import require

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory

#: pivots below this fraction of what they were computed from have lost too many digits
SMALL = 1e-6
#: unknowns for which an order is looked for
LARGEST = 500


@dataclass(frozen=True, kw_only=True, repr=False)
class Compiled(LinearSolver):
    """Elimination in a fixed order, compiled for the pattern: the quickest for small and medium systems."""

    longest: int = 20_000  # multiplications beyond which it takes too long to compile

    def __post_init__(self) -> None:
        self.coerce_numbers()
        require(self.longest > 0, f"longest={self.longest} must be positive")

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import announce

        with announce():
            from dalembert.linalg.saddle.compiled_kernels import compiled_memory
        return compiled_memory(self, pattern)

    def obstacle(self, pattern: SaddlePattern) -> str:
        """Why this solver is not for the pattern; empty if it is."""
        if pattern.kind not in self.kinds:
            return super().obstacle(pattern)
        if pattern.n > LARGEST:
            return f"it has more than {LARGEST} unknowns"
        elimination = Elimination(pattern, self.longest)
        if elimination.stuck is not None:
            return f"no mass and no constraint holds {pattern.name(elimination.stuck)}"
        return f"it takes more than {self.longest} operations" if elimination.operations > self.longest else ""


class Elimination:
    """The order of the pivots, and how many multiplications they cost; stops counting beyond `most`.

    `stuck` is an unknown for which there is no pivot, or None.
    """

    def __init__(self, pattern: SaddlePattern, most: int):
        self.pattern = pattern
        n, n_v = pattern.n, pattern.n_v
        neighbours: list[set[int]] = [set() for _ in range(n)]
        diagonal = [False] * n
        for i, j in zip(*(a.tolist() for a in pattern.entries()), strict=True):
            if i != j:
                neighbours[i].add(j)
                neighbours[j].add(i)
            else:
                diagonal[i] = True
        heavy = [diagonal[i] for i in range(n_v)]
        # constraints wait for their velocities with mass
        of_velocity = [[k for k in neighbours[i] if k >= n_v] for i in range(n_v)]
        waiting = [sum(heavy[j] for j in neighbours[i] if j < n_v) if i >= n_v else 0 for i in range(n)]
        self.order: list[int] = []
        self.operations = 0
        self.stuck: int | None = None
        left = set(range(n))
        while left and self.operations <= most:
            ready = [i for i in left if diagonal[i] and waiting[i] == 0]
            first = [i for i in ready if i >= n_v or heavy[i]] or ready
            if not first:
                self.stuck = min(left)
                return
            pivot = min(first, key=lambda i: (len(neighbours[i]), i))
            others = neighbours[pivot]
            self.operations += len(others) * (len(others) + 1)
            for i in others:
                neighbours[i] |= others - {i}
                neighbours[i].discard(pivot)
                diagonal[i] = True
            if pivot < n_v and heavy[pivot]:
                for k in of_velocity[pivot]:
                    waiting[k] -= 1
            left.discard(pivot)
            self.order.append(pivot)

    def factorization(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
        """Symbols (M, G, U), the factors as a function of them; symbols b and factors, the solution as one of these.

        Behind the factors stands for every unknown by how much its pivot, which must have the right sign, exceeds the
        fraction `SMALL` of what it was computed from.
        """
        pattern, n, n_v = self.pattern, self.pattern.n, self.pattern.n_v
        count = len(pattern.mass[0]) + len(pattern.constraint[0]) + (0 if pattern.symmetric else len(pattern.force[0]))
        given = ca.SX.sym("given", count)
        rows: list[dict[int, ca.SX]] = [{} for _ in range(n)]
        values = list(range(count))
        if pattern.symmetric:  # the nonzeros of G serve twice
            values += values[len(pattern.mass[0]) :]
        for i, j, k in zip(*pattern.entries(), values, strict=True):
            rows[i][int(j)] = rows[i].get(int(j), 0) + given[k]
            rows[j].setdefault(int(i), ca.SX(0))  # the order was found for a symmetric pattern
        size = [ca.fabs(rows[i].get(i, ca.SX(0))) for i in range(n)]
        lower: list[tuple[int, int, ca.SX]] = []  # L[i, pivot], in the order of elimination
        upper: list[tuple[int, int, ca.SX]] = []  # U[pivot, j]
        inverse, margin = [ca.SX(0)] * n, [ca.SX(0)] * n
        done: set[int] = set()
        for pivot in self.order:
            row = rows[pivot]
            d = row[pivot]
            inverse[pivot] = 1 / d
            margin[pivot] = (d if pivot < n_v else -d) - SMALL * size[pivot]
            done.add(pivot)
            right = [j for j in row if j not in done]
            below = [i for i in range(n) if i not in done and pivot in rows[i]]
            upper += [(pivot, j, row[j]) for j in right]
            for i in below:
                factor = rows[i][pivot] * inverse[pivot]
                lower.append((i, pivot, factor))
                for j in right:
                    if pattern.symmetric and j < i and i in right and j in below:
                        continue  # the other triangle has it
                    change = factor * row[j]
                    rows[i][j] = rows[i].get(j, 0) - change
                    if i == j:
                        size[i] = size[i] + ca.fabs(change)
            if pattern.symmetric:
                for i in below:
                    for j in right:
                        if j < i and i in right and j in below:
                            rows[i][j] = rows[j][i]
        factors = ca.vertcat(*(v for *_, v in lower), *(v for *_, v in upper), *inverse, *margin)
        return given, factors, *self._substitution(lower, upper)

    def _substitution(self, lower: list, upper: list) -> tuple[ca.SX, ca.SX, ca.SX]:
        n = self.pattern.n
        known, b = ca.SX.sym("factors", len(lower) + len(upper) + 2 * n), ca.SX.sym("b", n)
        x = [b[i] for i in range(n)]
        for k, (i, pivot, _) in enumerate(lower):
            x[i] = x[i] - known[k] * x[pivot]
        of_row: dict[int, list[tuple[int, int]]] = {}
        for k, (pivot, j, _) in enumerate(upper):
            of_row.setdefault(pivot, []).append((len(lower) + k, j))
        for pivot in reversed(self.order):
            total = x[pivot]
            for k, j in of_row.get(pivot, ()):
                total = total - known[k] * x[j]
            x[pivot] = total * known[len(lower) + len(upper) + pivot]
        return known, b, ca.vertcat(*x)


def ports(pattern: SaddlePattern, most: int) -> tuple:
    """Ports factors(given) and solution(factors, b), and the number of factors."""
    from dalembert.compile.graph import compile_port

    given, factors, known, b, solution = Elimination(pattern, most).factorization()
    t, none = ca.SX.sym("t"), ca.SX(0, 1)
    return compile_port(t, given, none, factors), compile_port(t, known, b, solution), int(np.prod(factors.shape))
