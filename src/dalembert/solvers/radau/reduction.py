"""The linear systems of GEOMS for coordinates of which constraints determine many by constants: written down.

Bodies in absolute coordinates have constraints with entries that never change, such as ±1 for their places. A
constraint is solved for such a coordinate at once; what is left, G̃, has the size of the system in relative
coordinates, and its pivots are chosen at run time, as in `partitioned`, whose notation this follows: K is a basis of
the null space of G, x = (forward, then back) a solution of G x = b with independent coordinates of 0. With u the
increments of independent velocities,

    Δp = p̂ + K u/σ                       G p̂ = −R₃, and R_p/σ in the independent coordinates
    Δv = v̂ + K u + T u/σ                 G v̂ = −R₂ − H p̂, G T = −H K
    (σ A − B − C/σ) u = Kᵀ (R_v + J_v v̂ + J_p p̂) − σ Kᵀ M v̂
    A = Kᵀ M K,  B = Kᵀ (J_v K − M T),  C = Kᵀ (J_p K + J_v T),

and λ follows from F₁ with factors in a fixed order. Everything but the pivots of G̃ and the small matrices is code for
the pattern. Its numbers stand in one array: nonzeros | first | W̃, K̃ | second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.compile.graph import compile_port
from dalembert.compile.jit import Code
from dalembert.compile.ports import Port
from dalembert.compile.system import CompiledSystem, nonzeros
from dalembert.compile.tape import compile_code
from dalembert.kept import Slot
from dalembert.linalg.factors.written import PivotOrder, factor, find_order
from dalembert.solvers.radau.entries import block_entries, first_rows
from dalembert.solvers.written import samples

#: constants below this fraction of the largest one in their row are no pivots
PREFERRED = 0.1
#: rows of G̃ below this fraction of what they were computed from have lost too many digits to tell their rank
LOST = 1e-4
#: constraints that constants determine, of all, for which code is worth its while
SHARE = 0.5
WRITTEN: Slot[Written | str] = Slot("code of GEOMS", most=2)

Column = list[ca.SX | None]  # None: zero


class Numbers:
    """Expressions that a port computes and others read: each gets a symbol, unless it is a constant or has one."""

    def __init__(self) -> None:
        self.values: list[ca.SX] = []
        self.symbols: list[ca.SX] = []

    def __call__(self, value: ca.SX | None) -> ca.SX | None:
        if value is None or value.is_constant() or value.is_symbolic():
            return value
        self.values.append(value)
        self.symbols.append(ca.SX.sym(f"number{len(self.values)}"))
        return self.symbols[-1]


def times(entries: Sequence[tuple[int, int, ca.SX]], x: Column, rows: int) -> Column:
    """A sparse matrix, (row, column, value), by a vector."""
    out: Column = [None] * rows
    for i, j, value in entries:
        if x[j] is not None:
            out[i] = plus(out[i], value * x[j])
    return out


def plus(a: ca.SX | None, b: ca.SX | None) -> ca.SX | None:
    if a is None or b is None:
        return b if a is None else a
    return a + b


def minus(a: ca.SX | None) -> ca.SX | None:
    return None if a is None else -a


def dot(a: Column, b: Column) -> ca.SX | None:
    total = None
    for x, y in zip(a, b, strict=True):
        if x is not None and y is not None:
            total = plus(total, x * y)
    return total


def full(values: Sequence[ca.SX | None]) -> ca.SX:
    """A column without None."""
    return ca.vertcat(*(ca.SX(0) if value is None else value for value in values))


class Eliminated:
    """G, c × n, solved for coordinates with constant entries: pivots (row, column), and what is left of it."""

    def __init__(self, entries: Sequence[tuple[int, int, ca.SX]], c: int, n: int):
        self.c, self.n = c, n
        rows: list[dict[int, ca.SX]] = [{} for _ in range(c)]
        for i, j, value in entries:
            rows[i][j] = value
        self.pivots: list[tuple[int, int]] = []
        self.lower: list[tuple[int, int, ca.SX]] = []
        self.upper: dict[int, dict[int, ca.SX]] = {}
        self.inverse: dict[int, float] = {}
        self._terms: dict[tuple[int, int], ca.SX] = {}
        left = set(range(c))
        while (found := self._cheapest(rows, left)) is not None:
            at, pivot = found
            self._eliminate(rows, left, at, pivot)
        taken = {pivot for _, pivot in self.pivots}
        self.rows, self.columns = sorted(left), [j for j in range(n) if j not in taken]
        self.rest = [rows[i] for i in self.rows]

    def _cheapest(self, rows: list[dict[int, ca.SX]], left: set[int]) -> tuple[int, int] | None:
        count: dict[int, int] = {}
        for i in left:
            for j in rows[i]:
                count[j] = count.get(j, 0) + 1
        best, found = np.inf, None
        for i in sorted(left):
            constants = {j: abs(float(v)) for j, v in rows[i].items() if v.is_constant()}
            largest = max(constants.values(), default=0.0)
            for j, size in constants.items():
                cost = (len(rows[i]) - 1) * (count[j] - 1)
                if size > 0 and size >= PREFERRED * largest and cost < best:
                    best, found = cost, (i, j)
        return found

    def _eliminate(self, rows: list[dict[int, ca.SX]], left: set[int], at: int, pivot: int) -> None:
        left.discard(at)
        row = rows[at]
        over = 1.0 / float(row.pop(pivot))
        self.pivots.append((at, pivot))
        self.inverse[at], self.upper[at] = over, row
        for i in sorted(left):
            if pivot not in rows[i]:
                continue
            value = rows[i].pop(pivot) * over
            self.lower.append((i, at, value))
            for j, along in row.items():
                change = value * along
                before = rows[i].get(j)
                known = self._terms.get((i, j), ca.SX(0) if before is None else ca.fabs(before))
                self._terms[i, j] = known + ca.fabs(change)
                rows[i][j] = -change if before is None else before - change
                if rows[i][j].is_zero():
                    del rows[i][j]

    def margins(self) -> list[ca.SX]:
        """Positive where what is left of a row is not what rounding has left of it."""
        out = []
        for i, row in zip(self.rows, self.rest, strict=True):
            of = [self._terms[i, j] for j in range(self.n) if (i, j) in self._terms and j in row]
            if of:
                out.append(sum((ca.fabs(v) for v in row.values()), ca.SX(0)) - LOST * sum(of, ca.SX(0)))
        return out

    def keep(self, numbers: Numbers) -> None:
        """From now on use the numbers that a port has computed."""
        self.lower = [(i, at, numbers(value)) for i, at, value in self.lower]
        self.upper = {at: {j: numbers(value) for j, value in row.items()} for at, row in self.upper.items()}

    def forward(self, b: Column) -> Column:
        out = list(b)
        for i, at, value in self.lower:
            if out[at] is not None:
                out[i] = plus(out[i], -(value * out[at]))
        return out

    def left_of(self, b: Column) -> Column:
        return [b[i] for i in self.rows]

    def back(self, b: Column, of_left: Column) -> Column:
        """All coordinates from those that are left; b has been taken `forward`."""
        x: Column = [None] * self.n
        for j, value in zip(self.columns, of_left, strict=True):
            x[j] = value
        for at, pivot in reversed(self.pivots):
            total = b[at]
            for j, value in self.upper[at].items():
                if x[j] is not None:
                    total = plus(total, -(value * x[j]))
            x[pivot] = None if total is None else total * self.inverse[at]
        return x


@dataclass(frozen=True)
class Written:
    """Ports and code, and where numbers stand behind the nonzeros."""

    first: Port  # nonzeros -> numbers, G̃ row by row, margins
    second: Port  # all before -> numbers, A, B, C, margins
    ahead: tuple[Code, Code]  # (numbers, R, -, ρ) -> p̂, v̂, y₀, y₁: one column, three
    behind: tuple[Code, Code]  # (numbers, R, p̂ and v̂, u and q) -> increments
    n_first: int  # numbers before G̃
    n_first_margins: int
    n_second: int  # numbers before A
    n_second_margins: int
    left_rows: int
    left_columns: tuple[int, ...]
    operations: tuple[int, int]  # of both decompositions together, and of a solution


class Reduction:
    """Structure of a projected system that is `partitioned`, without dynamic force elements."""

    def __init__(self, compiled: CompiledSystem):
        system, blocks = compiled.system, compiled.system.blocks
        self.compiled, self.entries = compiled, block_entries(compiled)
        self.n, self.c, self.n_1 = len(blocks.V), len(blocks.F3), len(blocks.F1)
        count = len(compiled.jacobian_pattern[0]) + len(compiled.leading_pattern[0])
        self.nonzeros = ca.SX.sym("nonzeros", count)
        self._values = ca.vertsplit(self.nonzeros)
        self._known = ca.vertsplit(ca.vertcat(nonzeros(system.jacobian), nonzeros(system.leading)))
        self.G = Eliminated(self.block("a3", exact=True), self.c, self.n)

    @property
    def least(self) -> int:
        """Multiplications that A takes at least: of a basis, which the rest makes dense, by itself."""
        independent = len(self.G.columns) - len(self.G.rows)
        return independent**2 * len(self.G.columns)

    def block(self, name: str, exact: bool = False) -> list[tuple[int, int, ca.SX]]:
        """(row, column, value); with the constants of the graph if the entries are never differences."""
        out = []
        for at, row, column in self.entries[name].T.tolist():
            known = self._known[at]
            out.append((row, column, known if exact and known.is_constant() else self._values[at]))
        return out

    def order_of_multipliers(self, most: int) -> PivotOrder | None:
        """Of the pivots of ∂F₁/∂λ."""
        at, rows, columns = self.entries["a1"]
        found = [values[at] for values in samples(self.compiled)]
        return find_order(rows, columns, self.n_1, found, most) if found else None

    def write(self, order: PivotOrder, most: int) -> Written | None:
        """Everything, compiled; None if that is more than so many multiplications, or so."""
        G, n, c, blocks = self.G, self.n, self.c, self.compiled.system.blocks
        one, nothing = ca.SX.sym("one"), ca.SX(0, 1)
        m, d = len(G.columns), len(G.rows)
        N = m - d
        first, second = Numbers(), Numbers()
        margins = G.margins()
        rest = [row.get(j) for row in G.rest for j in G.columns]
        G.keep(first)
        first_out = ca.vertcat(*first.values, full(rest), *margins)
        small = ca.SX.sym("small", m * d + m * N)
        W = [[small[i * d + k] for k in range(d)] for i in range(m)]
        K = [[small[m * d + i * N + q] for q in range(N)] for i in range(m)]
        H, M = self.block("h", exact=True), self.block("mass", exact=True)
        Jv, Jp, f1 = self.block("jv"), self.block("jp"), self.block("f1")
        # what `first` leaves stands behind the nonzeros, with G̃ and margins, which nobody reads
        ghosts = ca.SX.sym("ghosts", d * m + len(margins))

        def solve(b: Column, free: Sequence[ca.SX] = ()) -> Column:
            """G x = b with these independent coordinates, none: zero."""
            b = G.forward(b)
            left = G.left_of(b)
            of_left = [plus(dot(W[i], left), dot(K[i], list(free)) if free else None) for i in range(m)]
            return G.back(b, of_left)

        basis = [G.back([None] * c, [K[i][q] for i in range(m)]) for q in range(N)]
        carried = [[minus(x) for x in solve(times(H, k, c))] for k in basis]
        by_mass = [times(M, k, n) for k in basis]
        by_v = [_sum(times(Jv, k, n), [minus(x) for x in times(M, t, n)]) for k, t in zip(basis, carried, strict=True)]
        by_p = [_sum(times(Jp, k, n), times(Jv, t, n)) for k, t in zip(basis, carried, strict=True)]
        matrices = [dot(basis[p], of[q]) for of in (by_mass, by_v, by_p) for p in range(N) for q in range(N)]
        basis, carried = ([[second(x) for x in column] for column in of] for of in (basis, carried))
        rows: list[dict[int, ca.SX]] = [{} for _ in range(self.n_1)]
        for i, j, value in self.block("a1", exact=True):
            rows[i][j] = value
        multipliers, second_margins = factor(order, rows, one)
        held = multipliers.read([second(_no_constant(value, one)) for value in multipliers.numbers()])
        n_second = len(second.values)
        second_out = ca.vertcat(*second.values, full(matrices), *second_margins)
        before = ca.vertcat(self.nonzeros, *first.symbols, ghosts, small)
        numbers = ca.vertcat(before, *second.symbols)

        n_rows, row = len(self.compiled.system.equations), first_rows(self.compiled)
        R, middle = ca.SX.sym("R", n_rows), ca.SX.sym("middle", 2 * n)
        free, found = ca.SX.sym("free", N), ca.SX.sym("found", 2 * N)
        r = ca.vertsplit(R)
        p = solve([-x for x in r[row["F3"] :]], ca.vertsplit(free) if N else ())
        v = solve([minus(plus(x, y)) for x, y in zip(r[row["F2"] : row["F3"]], times(H, p, c), strict=True)])
        forces = _sum(r[n : 2 * n], _sum(times(Jv, v, n), times(Jp, p, n)))
        momenta = times(M, v, n)
        ahead = [*p, *v, *(dot(k, forces) for k in basis), *(minus(dot(k, momenta)) for k in basis)]

        mid, of_u, of_q = ca.vertsplit(middle), ca.vertsplit(found)[:N], ca.vertsplit(found)[N:]
        dp, dv = mid[:n], mid[n:]
        for k, t, u, q in zip(basis, carried, of_u, of_q, strict=True):
            dp = _sum(dp, _scaled(k, q))
            dv = _sum(dv, _sum(_scaled(k, u), _scaled(t, q)))
        x: Column = [None] * self.compiled.system.n
        for place, value in zip((*blocks.P.tolist(), *blocks.V.tolist()), (*dp, *dv), strict=True):
            x[place] = value
        missing = times(f1, x, self.n_1)
        given = [minus(plus(a, b)) for a, b in zip(r[row["F1"] : row["F2"]], missing, strict=True)]
        for place, value in zip(blocks.Y.tolist(), held.solve(given), strict=True):
            x[place] = value

        none = ca.SX.sym("none", 0)
        operations = ca.n_nodes(second_out) // 2, (ca.n_nodes(full(ahead)) + ca.n_nodes(full(x))) // 2
        if max(operations) > most:
            return None
        return Written(
            first=compile_port(one, self.nonzeros, nothing, first_out),
            second=compile_port(one, before, nothing, second_out),
            ahead=_code([one, numbers, R, none, free], full(ahead)),
            behind=_code([one, numbers, R, middle, found], full(x)),
            n_first=len(first.values),
            n_first_margins=len(margins),
            n_second=n_second,
            n_second_margins=len(second_margins),
            left_rows=d,
            left_columns=tuple(G.columns),
            operations=operations,
        )


def written_for(compiled: CompiledSystem, most: int) -> Written | str:
    """The code for a projected system, or why there is none with at most so many multiplications."""
    return compiled.system.kept.get(WRITTEN, most, lambda: _written_for(compiled, most))


def _written_for(compiled: CompiledSystem, most: int) -> Written | str:
    blocks = compiled.system.blocks
    if not blocks.partitioned or len(blocks.free) or not 0 < len(blocks.F3) <= len(blocks.V):
        return "code is written for p' = v and holonomic constraints alone, without dynamic force elements"
    if compiled.jacobian.backend == "python":
        return "functions of the model run as Python code, and are not asked before the start"
    reduction = Reduction(compiled)
    if len(reduction.G.pivots) < SHARE * reduction.c:
        return "few of its constraints have constant entries"
    order = reduction.order_of_multipliers(most) if reduction.least <= most else None
    written = None if order is None else reduction.write(order, most)
    return f"it takes more than {most} operations, or has no pivots" if written is None else written


def _sum(a: Column, b: Column) -> Column:
    return [plus(x, y) for x, y in zip(a, b, strict=True)]


def _scaled(a: Column, factor: ca.SX) -> Column:
    return [None if x is None else x * factor for x in a]


def _no_constant(value: ca.SX, one: ca.SX) -> ca.SX:
    """Factors are read one by one: all of them are symbols."""
    return value * one if value.is_constant() or value.is_symbolic() else value


def _code(inputs: list[ca.SX], out: ca.SX) -> tuple[Code, Code]:
    function = ca.Function("code", inputs, [ca.densify(out)], {"cse": True})
    return compile_code(function, level=1), compile_code(function, level=1, wide=frozenset({2, 3, 4}))
