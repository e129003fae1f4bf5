"""The iteration matrices of implicit methods, as what the option `linear_solver=` is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dalembert.linalg.protocol import IterationPattern, LinearSolver

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory
    from dalembert.compile.system import CompiledSystem


def iteration_pattern(compiled: CompiledSystem, large: int, make: Callable[[LinearSolver], Memory]) -> IterationPattern:
    """σ E − J of a compiled system; sparse factors are quicker from `large` rows on, `make` builds the record."""
    n = compiled.system.n
    nonzeros = len(compiled.jacobian_pattern[0]) + len(compiled.leading_pattern[0])
    return IterationPattern(n=n, nonzeros=nonzeros, condensed=n - len(compiled.eliminable), large=large, make=make)
