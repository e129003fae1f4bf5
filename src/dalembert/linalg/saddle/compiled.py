"""Elimination as machine code: the order of the pivots is found once from the pattern, then every operation of the
factorization and of the substitutions is written down and compiled, without zeros, loops or indices.

Velocities come with their positive masses, constraints after all their velocities, and velocities without mass after
the constraints that hold them: pivots are definite then, and need no search. Where one turns out small (constraints
that are nearly dependent, or rest on massless velocities alone), `Dense` takes over.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as ca
import numpy as np

from dalembert.linalg.protocol import ITERATION, PROJECTED, SADDLE, IterationPattern, Pattern
from dalembert.linalg.saddle.pivots import DEAREST, Search, alike, knows_constants
from dalembert.linalg.saddle.solver import LinearSolver, SaddlePattern
from dalembert.options import require

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory

#: pivots below this fraction of what they were computed from have lost too many digits
SMALL = 1e-6
#: unknowns for which an order is looked for
LARGEST = 500
#: multiplications up to which a step has code of its own, that keeps no factors
ONCE = 2000


@dataclass(frozen=True, kw_only=True, repr=False)
class Compiled(LinearSolver):
    """Elimination in a fixed order, compiled for the pattern: the quickest for small and medium systems."""

    kinds: ClassVar[tuple[str, ...]] = (SADDLE, ITERATION, PROJECTED)

    longest: int = 20_000  # multiplications beyond which it takes too long to compile

    def __post_init__(self) -> None:
        self.coerce_numbers()
        require(self.longest > 0, f"longest={self.longest} must be positive")

    def saddle_memory(self, pattern: SaddlePattern) -> Memory:
        from dalembert.compile.kernel import load

        load("dalembert.linalg.saddle.compiled_kernels")
        from dalembert.linalg.saddle.compiled_kernels import compiled_memory

        return compiled_memory(self, pattern)

    def obstacle(self, pattern: Pattern) -> str:
        """Why this solver is not for the pattern; empty if it is."""
        if pattern.n > LARGEST:
            return f"it has more than {LARGEST} unknowns"
        if isinstance(pattern, IterationPattern):
            return pattern.unwritten(self.longest)
        saddle: Any = pattern  # the only kind that is left
        elimination = Elimination(saddle, self.longest)
        if elimination.stuck is not None:
            return f"no mass and no constraint holds {saddle.name(elimination.stuck)}"
        return f"it takes more than {self.longest} operations" if elimination.operations > self.longest else ""


class Elimination:
    """The order of the pivots, rows and columns, and how many multiplications they cost; stops counting beyond `most`.

    Where entries of G are constant, a constraint may be solved for a velocity at once, which eliminates both: so are
    bodies in absolute coordinates reduced to their joints. It is done if it costs less.

    `stuck` is an unknown for which there is no pivot, or None.
    """

    def __init__(self, pattern: SaddlePattern, most: int):
        self.pattern = pattern
        found = Search(pattern, most)
        found.take_diagonals()
        for dearest in DEAREST if knows_constants(pattern) else ():
            other = Search(pattern, most)
            other.take_pairs(dearest)
            other.take_diagonals()
            if other.stuck is None and (found.stuck is not None or other.operations < found.operations):
                found = other
        self.order, self.operations, self.stuck = found.order, found.operations, found.stuck

    def factorization(self, one: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
        """Symbols here (M, U) and there (M, G), the factors as a function of them; symbols b and factors, the solution
        as a function of these.

        Behind the factors stands for every unknown by how much its pivot, which must have the right sign, exceeds the
        fraction `SMALL` of what it was computed from.
        """
        n = self.pattern.n
        here, there, given = self._given()
        lower, upper, inverse, margin = self._eliminate(given, one)
        factors = ca.vertcat(*(v for *_, v in lower), *(v for *_, v in upper), *inverse, *margin)
        known, b = ca.SX.sym("factors", factors.numel()), ca.SX.sym("b", n)
        values = ca.vertsplit(known)
        solution = self._substitute(
            [(i, j, value) for (i, j, _), value in zip(lower, values, strict=False)],
            [(i, j, value) for (i, j, _), value in zip(upper, values[len(lower) :], strict=False)],
            values[len(lower) + len(upper) :],
            [b[i] for i in range(n)],
        )
        return here, there, factors, known, b, ca.vertcat(*solution)

    def _given(self, behind: int = 0) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Symbols here (M, U) and there (M, G, and some more), and (M, G, U) of them; no U if it is G."""
        pattern, n_M, n_C = self.pattern, len(self.pattern.mass[0]), len(self.pattern.constraint[0])
        n_U = 0 if pattern.symmetric else len(pattern.force[0])
        here, there = ca.SX.sym("here", n_M + n_U), ca.SX.sym("there", n_M + n_C + behind)
        M, C, U = (
            [x[first + k] for k in range(count)]
            for x, first, count in ((here, 0, n_M), (there, n_M, n_C), (here, n_M, n_U))
        )
        of_U = pattern.constraint_values if alike(pattern) else None
        for entries, values in ((M, pattern.mass_values), (C, pattern.constraint_values), (U, of_U)):
            for k in range(len(entries) if values is not None else 0):
                if np.isfinite(values[k]):
                    entries[k] = ca.SX(float(values[k]))
        return here, there, ca.vertcat(*M, *C, *U)

    def once(self) -> ca.Function:
        """w and λ of one half-explicit step, without factors that are kept; behind them the least margin of a pivot.

        (−s, here, there, f, v) with (M, C) here and (M, C, c) there: M w + C_hereᵀ λ = f, C_there (v + s w) + c = 0.
        The last input is for the number 1, see `_eliminate`.
        """
        pattern, n_v, n_m = self.pattern, self.pattern.n_v, self.pattern.n_lam
        n_M, n_C = len(pattern.mass[0]), len(pattern.constraint[0])
        step, one, f, v = ca.SX.sym("step"), ca.SX.sym("one"), ca.SX.sym("f", n_v), ca.SX.sym("v", n_v)
        here, there, given = self._given(behind=n_m)
        residual = [there[n_M + n_C + i] for i in range(n_m)]
        for k, (i, j) in enumerate(zip(*pattern.constraint, strict=True)):
            residual[i] = residual[i] + there[n_M + k] * v[int(j)]
        b = [*(f[i] for i in range(n_v)), *(value * (one / step) for value in residual)]
        lower, upper, inverse, margin = self._eliminate(given, one)
        least = functools.reduce(ca.fmin, (value for value in margin if not value.is_constant()), ca.SX(1))
        out = ca.vertcat(*self._substitute(lower, upper, inverse, b), least)
        return ca.Function("once", [step, here, there, f, v, one], [ca.densify(out)], {"cse": True})

    def _rows(self, given: ca.SX) -> tuple[list[dict[int, ca.SX]], list[ca.SX]]:
        """Rows of the matrix from the nonzeros of M, G and U, and the sizes of its diagonal."""
        pattern, n = self.pattern, self.pattern.n
        rows: list[dict[int, ca.SX]] = [{} for _ in range(n)]
        values = list(range(given.numel()))
        if pattern.symmetric:  # the nonzeros of G serve twice
            values += values[len(pattern.mass[0]) :]
        for i, j, k in zip(*pattern.entries(), values, strict=True):
            rows[i][int(j)] = rows[i].get(int(j), 0) + given[k]
            rows[j].setdefault(int(i), ca.SX(0))  # the order was found for a symmetric pattern
        return rows, [ca.fabs(rows[i].get(i, ca.SX(0))) for i in range(n)]

    def _eliminate(self, given: ca.SX, one: ca.SX) -> tuple[list, list, list, list]:
        """L and U in the order of elimination, as (row, column, value), reciprocals and margins of the pivots by row.

        `one` is a symbol for the number: CasADi would turn x · (1/d) into x/d, and divisions are what takes longest.
        """
        rows, size = self._rows(given)
        pattern, n, n_v = self.pattern, self.pattern.n, self.pattern.n_v
        lower: list[tuple[int, int, ca.SX]] = []  # L[i, row of the pivot], in the order of elimination
        upper: list[tuple[int, int, ca.SX]] = []  # U[row of the pivot, j]
        inverse, margin = [ca.SX(0)] * n, [ca.SX(0)] * n
        # entries between constraints and velocities that pairs have changed: what they were computed from
        terms: dict[tuple[int, int], ca.SX] = {}
        rows_done: set[int] = set()
        columns_done: set[int] = set()

        def extent(i: int, j: int) -> ca.SX:
            return terms.get((i, j), ca.fabs(rows[i][j]))

        for at, pivot in self.order:
            row, diagonal = rows[at], at == pivot
            d = row[pivot]
            inverse[at] = ca.SX(1 / float(d)) if d.is_constant() and float(d) != 0.0 else one / d
            margin[at] = (d if at < n_v else -d) - SMALL * size[at] if diagonal else ca.SX(1)
            rows_done.add(at)
            columns_done.add(pivot)
            right = [j for j in row if j not in columns_done]
            below = [i for i in range(n) if i not in rows_done and pivot in rows[i]]
            upper += [(at, j, row[j]) for j in right]
            for i in below:
                factor = rows[i][pivot] * inverse[at]
                lower.append((i, at, factor))
                for j in right:
                    if diagonal and pattern.symmetric and j < i and i in right and j in below:
                        continue  # the other triangle has it
                    change = factor * row[j]
                    if i == j:
                        lost = (i, pivot) in terms or (at, j) in terms
                        size[i] = size[i] + (
                            extent(i, pivot) * extent(at, j) * ca.fabs(inverse[at]) if lost else ca.fabs(change)
                        )
                    elif not diagonal and (i >= n_v) != (j >= n_v) and j in rows[i] and not rows[i][j].is_zero():
                        terms[i, j] = extent(i, j) + ca.fabs(change)
                    rows[i][j] = rows[i].get(j, 0) - change
            if diagonal and pattern.symmetric:
                for i in below:
                    for j in right:
                        if j < i and i in right and j in below:
                            rows[i][j] = rows[j][i]
        return lower, upper, inverse, margin

    def _substitute(self, lower: list, upper: list, inverse: list[ca.SX], b: list[ca.SX]) -> list[ca.SX]:
        """The solution for a right-hand side."""
        left = list(b)
        for i, at, value in lower:
            left[i] = left[i] - value * left[at]
        of_row: dict[int, list[tuple[ca.SX, int]]] = {}
        for at, j, value in upper:
            of_row.setdefault(at, []).append((value, j))
        x = [ca.SX(0)] * len(b)
        for at, pivot in reversed(self.order):
            total = left[at]
            for value, j in of_row.get(at, ()):
                total = total - value * x[j]
            x[pivot] = total * inverse[at]
        return x


def ports(pattern: SaddlePattern, most: int) -> tuple:
    """Ports factors(here, there) and solution(factors, b), the number of factors, and the code of a step (or None).

    The time at which the factors are asked for must be 1, see `_eliminate`.
    The code of a step is for kernels whose U, if it is not G itself, is the G of another point.
    """
    from dalembert.compile.graph import compile_port
    from dalembert.compile.tape import compile_code

    elimination = Elimination(pattern, most)
    t = ca.SX.sym("t")
    here, there, factors, known, b, solution = elimination.factorization(t)
    once = (
        compile_code(elimination.once(), ones=5)
        if alike(pattern) and pattern.n and elimination.operations <= ONCE
        else None
    )
    return compile_port(t, here, there, factors), compile_port(t, known, b, solution), factors.numel(), once
