"""The option `linear_algebra=` of implicit methods: dense or sparse iteration matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.compile.system import CompiledSystem

LINEAR_ALGEBRAS = ("auto", "dense", "sparse")
#: nonzeros in a row up to which sparse factors are quicker, if the matrix is large
FEW = 12


def takes_sparse(option: str, compiled: CompiledSystem, large: int) -> bool:
    """Whether to take sparse factors: as the option says, or if the matrix has at least `large` rows and few nonzeros.

    `large` counts the rows that are left for dense factors, after the elimination of p' = v.
    """
    if option != "auto":
        return option == "sparse"
    n = compiled.system.n
    nonzeros = len(compiled.jacobian_pattern[0]) + len(compiled.leading_pattern[0])
    return n - len(compiled.eliminable) >= large and nonzeros <= FEW * n
