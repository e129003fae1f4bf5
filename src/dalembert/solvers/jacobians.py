"""How implicit methods get the Jacobian of their equations: exact, or by differences of the residual.

Automatic differentiation is exact and usually quicker. Differences serve models whose residual is all there is, and
comparisons with codes that work in this way [1]_. Options objects for `jacobian=` of `Dassl`, `Odassl`, `Radau5` and
`Geoms` (which decides on the rank of constraints: their Jacobians stay exact).

References
----------
.. [1] M. Arnold, A. Fuchs, C. Führer, "Efficient corrector iteration for DAE time integration in multibody dynamics",
   Comput. Methods Appl. Mech. Engrg. 195, 2006. Numbers of equations are those of this paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.options import Options, one_of, require


class Jacobian(Options):
    """Base of the strategies.

    `partitioned`: when only the leading coefficient c has changed, ∂F/∂x is kept and ∂F/∂x' evaluated anew (23)–(25).
    `extended`: the kept ∂F/∂x follows the inputs u(t) by its derivatives, which are taken once, at the start (26).
    """

    partitioned: bool
    extended: bool = False

    def check(self) -> None:
        self.coerce_numbers()
        name = type(self).__name__
        require(
            self.partitioned or not self.extended, f"{name}(extended=True) needs partitioned=True: it updates ∂F/∂x"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Exact(Jacobian):
    """Derivatives of the model's graph."""

    partitioned: bool = False  # keep ∂F/∂x while only c changes

    def __post_init__(self) -> None:
        self.check()


EXACT = Exact()


@dataclass(frozen=True, kw_only=True, repr=False)
class Differences(Jacobian):
    """Differences column by column (16): one evaluation of the residual for each unknown."""

    partitioned: bool = False  # keep ∂F/∂x while only c changes
    extended: bool = False  # let it follow the inputs

    def __post_init__(self) -> None:
        self.check()


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupedDifferences(Jacobian):
    """Differences of groups of columns that have no row in common (20): one evaluation for each group."""

    pattern: str = "graph"  # which entries are nonzero, or "estimated" from the first differences (16)
    partitioned: bool = False  # keep ∂F/∂x while only c changes
    extended: bool = False  # let it follow the inputs

    def __post_init__(self) -> None:
        self.check()
        one_of("pattern", self.pattern, ("graph", "estimated"))
