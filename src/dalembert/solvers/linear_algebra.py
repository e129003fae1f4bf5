"""The iteration matrices of implicit methods, as what the option `linear_solver=` is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dalembert.linalg.protocol import IterationPattern, LinearSolver
from dalembert.linalg.saddle.dense import Dense
from dalembert.linalg.saddle.sparse import Sparse
from dalembert.solvers.written import pivot_order

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.compile.system import CompiledSystem


def iteration_pattern(compiled: CompiledSystem, large: int, make: Callable[[LinearSolver], Memory]) -> IterationPattern:
    """σ E − J of a compiled system; sparse factors are quicker from `large` rows on, `make` builds the record."""
    n = compiled.system.n
    nonzeros = len(compiled.jacobian_pattern[0]) + len(compiled.leading_pattern[0])
    return IterationPattern(
        n=n,
        nonzeros=nonzeros,
        condensed=n - len(compiled.eliminable),
        large=large,
        make=make,
        unwritten=partial(_unwritten, compiled),
    )


def with_pivots(compiled: CompiledSystem, large: int) -> LinearSolver:
    """The solver that takes over where a fixed order of pivots is not good."""
    return Sparse() if iteration_pattern(compiled, large, _nothing).prefers_sparse else Dense()


def _unwritten(compiled: CompiledSystem, most: int) -> str:
    if len(compiled.system.equations) != compiled.system.n:
        return "it has constraints below its equations"
    if compiled.jacobian.backend == "python":
        return "functions of the model run as Python code, and are not asked before the start"
    if pivot_order(compiled, most) is None:
        return f"it takes more than {most} operations, or has no pivots"
    return ""


def _nothing(solver: LinearSolver) -> Memory:
    raise NotImplementedError
