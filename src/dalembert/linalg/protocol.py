"""What a linear solver is asked, and for what: the one protocol behind the option `linear_solver=` of all methods.

A solver is a frozen object of options. It is asked for a *pattern*, of which there are three kinds:

    SaddlePattern      [M Uᵀ; G 0] of half-explicit methods and projections (`saddle.solver`)
    IterationPattern   σ E − J of implicit methods, as many equations as unknowns (Odassl: and constraints below them)
    ProjectedPattern   σ E − J of Geoms and Qualidaes: constraints on all levels, differential equations projected

    obstacle(pattern)        why the solver is not for the pattern; empty if it is
    choose(pattern)          the solver that does the work: itself, except for `Auto`
    build(pattern)           the record for kernels
    explain(memory, code)    why a factorization failed, in words

Which kinds a solver takes stands in `kinds`. The records of iteration matrices belong to the kernels of the methods:
their patterns bring along how to build them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dalembert.errors import OptionError
from dalembert.options import Options

if TYPE_CHECKING:
    from dalembert.compile.memory import Memory

SADDLE, ITERATION, PROJECTED = "saddle-point systems", "iteration matrices", "projected iteration matrices"
#: who asks for what
METHODS = {
    SADDLE: "the half-explicit methods (Hem5, Rkf45, Mexx)",
    ITERATION: "Radau5, Dassl and Odassl",
    PROJECTED: "Geoms and Qualidaes",
}
#: what they can be told
OFFERED = {
    SADDLE: "Auto(), Dense(), Sparse(), Recursive() or Compiled(), say",
    ITERATION: "Auto(), Dense() or Sparse()",
    PROJECTED: "Auto(), Dense(), NullSpace() or Sparse()",
}
#: nonzeros in a row up to which sparse factors of a large matrix are quicker
FEW = 12
#: unknowns of Geoms from which machine code for the pattern is worth the time that compiling it takes
MANY = 40


class Pattern:
    """Base of what solvers are asked for."""

    kind: ClassVar[str]
    n: int


@dataclass(frozen=True, eq=False, kw_only=True)
class IterationPattern(Pattern):
    """σ E − J of an implicit method."""

    kind: ClassVar[str] = ITERATION

    n: int
    nonzeros: int
    condensed: int  # rows that are left for dense factors, after the elimination of p' = v
    large: int  # such rows from which sparse factors are quicker, as measured
    make: Callable[[LinearSolver], Memory]  # the record of the method's kernels, for the solver that was chosen
    # why elimination cannot be written down with at most so many multiplications; empty if it can
    unwritten: Callable[[int], str] = lambda most: "its method has no such code"

    @property
    def prefers_sparse(self) -> bool:
        """Whether sparse factors are quicker: the matrix is large and has few nonzeros in a row."""
        return self.condensed >= self.large and self.nonzeros <= FEW * self.n

    @property
    def prefers_compiled(self) -> bool:
        """Whether machine code for the pattern, if it is short, is worth the time that compiling it takes."""
        return self.prefers_sparse


@dataclass(frozen=True, eq=False, kw_only=True)
class ProjectedPattern(IterationPattern):
    """σ E − J of Geoms and Qualidaes, `n` unknowns."""

    kind: ClassVar[str] = PROJECTED

    dense_only: str = ""  # what asks for dense blocks, in words

    @property
    def prefers_compiled(self) -> bool:
        return self.n >= MANY


class LinearSolver(Options):
    """Base of the solvers' options: frozen dataclasses."""

    kinds: ClassVar[tuple[str, ...]] = (SADDLE,)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Modules with the kernels for saddle-point systems: those of dense.py are in dense_kernels.py."""
        return (f"{type(self).__module__}_kernels",)

    def obstacle(self, pattern: Pattern) -> str:
        """Why this solver is not for the pattern; empty if it is."""
        return "" if pattern.kind in self.kinds else f"it is made for {self.made_for()}"

    def choose(self, pattern: Pattern) -> LinearSolver:
        """The solver that does the work."""
        return self

    def build(self, pattern: Pattern) -> Memory:
        """The record for kernels. Raises OptionError if this solver cannot treat the pattern."""
        chosen = self.choose(pattern)
        reason = chosen.obstacle(pattern)
        if reason:
            remedy = OFFERED[pattern.kind].removesuffix(", say") if pattern.kind != SADDLE else "Dense() or Sparse()"
            raise OptionError(f"{chosen!r} cannot treat this system: {reason}; use {remedy}")
        return pattern.make(chosen) if isinstance(pattern, IterationPattern) else chosen.saddle_memory(pattern)

    def saddle_memory(self, pattern: Pattern) -> Memory:
        """`build` for a saddle-point system; see `saddle.saddle`."""
        raise NotImplementedError

    def explain(self, memory: Memory, code: int) -> str:
        """Why a factorization of a saddle-point system failed, in words, from the values still in `memory`."""
        from dalembert.linalg.saddle.diagnosis import diagnose

        return diagnose(memory, code)

    def weakness(self, memory: Memory, code: int) -> str:
        """Words for a failure although the matrix is regular."""
        return f"{type(self).__name__} could not factor it; use Dense() or Sparse()"

    @classmethod
    def made_for(cls) -> str:
        return ", ".join(f"{kind} of {METHODS[kind]}" for kind in cls.kinds)


def check_solver(method: str, solver: LinearSolver, kind: str) -> None:
    """Raise OptionError unless `solver` can be asked for patterns of this kind."""
    if not isinstance(solver, LinearSolver):
        near = {"auto": "Auto()", "dense": "Dense()", "sparse": "Sparse()"}.get(str(solver).lower(), "")
        hint = f"; did you mean {near}?" if near else f" such as {OFFERED[kind].removesuffix(', say')}"
        raise OptionError(f"{method}: linear_solver={solver!r} must be a solver object{hint}")
    if kind not in solver.kinds:
        raise OptionError(
            f"{method}: linear_solver={solver!r} is made for {solver.made_for()}. {method} solves with {kind}: take "
            f"{OFFERED[kind]}"
        )
