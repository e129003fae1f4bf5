"""Iteration matrices σ E − J whose elimination is written down for their pattern and compiled.

The ports take the place of loops over factors in the linear algebras `radau.written` and `bdf.written`:

    factors(1, nonzeros, σ, out)         L and U for each σ, and behind them margins, which must be positive
    solution(1, factors, R, out)         the increments
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.kept import Slot
from dalembert.linalg.factors.written import Complex, Factors, PivotOrder, factor, find_order

if TYPE_CHECKING:
    from dalembert.compile.ports import Port
    from dalembert.compile.system import CompiledSystem

ORDERS: Slot[PivotOrder | None] = Slot("orders of pivots of iteration matrices", most=2)
#: multiplications for each nonzero, at least, in all that was seen
LEAST = 1.0
#: the values of σ for which samples are taken
SIGMAS = (1.0, 1e2, 1e4, 1e6)


def samples(compiled: CompiledSystem) -> list[np.ndarray]:
    """Nonzeros of J and E at generic points, as far as they can be evaluated there; nobody's Python code is asked."""
    port, n = compiled.jacobian, compiled.system.n
    if port.backend == "python":
        return []
    random = np.random.default_rng(1)
    found = []
    for size in (1.0, 0.1, -0.7, 3.0):
        both, out = size * random.uniform(0.2, 1.0, 2 * n), np.zeros(port.n_out)
        theta = compiled.system.model.theta(0.0)
        if port.call_status(0.0, both, theta, out) == 0 and np.isfinite(out).all():
            found.append(out)
    return found


def pivot_order(compiled: CompiledSystem, most: int) -> PivotOrder | None:
    """An order of pivots for σ E − J, or None if there is none that takes at most so many multiplications."""

    def make() -> PivotOrder | None:
        (j_row, j_column), (e_row, e_column) = compiled.jacobian_pattern, compiled.leading_pattern
        if LEAST * (len(j_row) + len(e_row)) > most:  # seen at once: the search takes a while in large systems
            return None
        matrices = [
            np.concatenate([-values[: len(j_row)], sigma * values[len(j_row) :]])
            for values, sigma in zip(samples(compiled), SIGMAS, strict=False)
        ]
        if not matrices:
            return None
        rows, columns = np.concatenate([j_row, e_row]), np.concatenate([j_column, e_column])
        return find_order(rows, columns, compiled.system.n, matrices, most)

    return compiled.system.kept.get(ORDERS, most, make)


def constants(compiled: CompiledSystem) -> list[float | None]:
    """Of the nonzeros of J and E those that are numbers in the graph.

    Where both have an entry, a Jacobian by differences divides it between them as it likes.
    """
    from dalembert.compile.system import nonzeros

    system, patterns = compiled.system, (compiled.jacobian_pattern, compiled.leading_pattern)
    of_J, of_E = nonzeros(system.jacobian).elements(), nonzeros(system.leading).elements()
    pairs = [list(zip(rows.tolist(), columns.tolist(), strict=True)) for rows, columns in patterns]
    shared = set(pairs[0]) & set(pairs[1])
    return [
        float(value) if value.is_constant() and place not in shared else None
        for values, places in ((of_J, pairs[0]), (of_E, pairs[1]))
        for value, place in zip(values, places, strict=True)
    ]


def matrix_rows(compiled: CompiledSystem, nonzeros: list[Any], sigma: Any) -> list[dict[int, Any]]:
    """Rows of σ E − J from the nonzeros of J and E."""
    (j_row, j_column), (e_row, e_column) = compiled.jacobian_pattern, compiled.leading_pattern
    rows: list[dict[int, Any]] = [{} for _ in range(compiled.system.n)]
    nonzeros = [value if known is None else known for value, known in zip(nonzeros, constants(compiled), strict=True)]
    for i, j, value in zip(j_row.tolist(), j_column.tolist(), nonzeros, strict=False):
        rows[i][j] = Complex(-value, 0.0) if isinstance(sigma, Complex) else -value
    for i, j, value in zip(e_row.tolist(), e_column.tolist(), nonzeros[len(j_row) :], strict=True):
        rows[i][j] = rows[i][j] + sigma * value if j in rows[i] else sigma * value
    return rows


def real_ports(compiled: CompiledSystem, order: PivotOrder) -> tuple[Port, Port, int]:
    """`factors` and `solution` for one real σ, and how many of the factors are margins."""
    from dalembert.compile.writer import Writer

    writer = Writer(_count(compiled), 1)
    nonzeros, (sigma,) = writer.arguments()
    factors, margins = factor(order, matrix_rows(compiled, nonzeros, sigma))
    return writer.port([*factors.numbers(), *margins]), _substitution(factors, compiled.system.n), len(margins)


def pair_ports(compiled: CompiledSystem, order: PivotOrder) -> tuple[Port, Port, Port, int]:
    """`factors` for σ = γ and σ = α + iβ, `solution` of three columns (real, and real and imaginary part) and of a real
    one alone, and how many of the factors are margins."""
    from dalembert.compile.writer import Writer

    n, writer = compiled.system.n, Writer(_count(compiled), 3)
    nonzeros, (gamma, alpha, beta) = writer.arguments()
    real, margins = factor(order, matrix_rows(compiled, nonzeros, gamma))
    both, others = factor(order, matrix_rows(compiled, nonzeros, Complex(alpha, beta)))
    numbers = [*real.numbers(), *both.numbers()]
    factors = writer.port([*numbers, *margins, *others])
    writer = Writer(len(numbers), 3 * n)
    given, r = writer.arguments()
    known = iter(given)
    x = real.read(known).solve(r[0::3])
    z = both.read(known).solve([Complex(a, b) for a, b in zip(r[1::3], r[2::3], strict=True)])
    stages = writer.port([value for a, b in zip(x, z, strict=True) for value in (a, b.re, b.im)])
    return factors, stages, _substitution(real, n), len(margins) + len(others)


def _count(compiled: CompiledSystem) -> int:
    return len(compiled.jacobian_pattern[0]) + len(compiled.leading_pattern[0])


def _substitution(factors: Factors, n: int) -> Port:
    """The solution for real factors and a right-hand side."""
    from dalembert.compile.writer import Writer

    writer = Writer(len(factors.numbers()), n)
    known, r = writer.arguments()
    return writer.port(factors.read(known).solve(r))
