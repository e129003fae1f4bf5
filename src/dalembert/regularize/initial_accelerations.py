"""The last problem of start values: accelerations, auxiliary variables and multipliers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.errors import DalembertError, FunctionFailed, InconsistentInitialValues, StepRefused
from dalembert.model.vocabulary import equation_names
from dalembert.regularize.contradiction import ill_posed
from dalembert.regularize.newton import (
    ITERATIONS,
    ROUNDINGS,
    UNIT,
    Matrix,
    decompose,
    equilibrated,
    holds,
    left_null_space,
    null_space_names,
    products,
    silent_rows,
    without,
)
from dalembert.regularize.rounding import rounding_seen
from dalembert.regularize.start_problems import start_problems

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.model.functions import ModelFunction
    from dalembert.model.graph import Graph
    from dalembert.regularize.initial import StartOfMotion

#: iterations after which it is asked whether residuals are rounding errors
PATIENCE = 4
#: redundant equations contradict each other if more than this fraction of their terms cannot be met
CONTRADICTION = 1e-9
#: constraints that are named at most where they depend on each other
NAMED = 4
#: singular values of constraints below this fraction of the largest are those of redundant ones
DEPENDENT = 1e-11
#: a step that changes unknowns by less than this fraction of the largest
STAGNANT = 1e-11
#: unknowns of the problem
PARTS = ("a", "w", "lam", "mu")
#: where Newton's method begins if functions cannot be evaluated with zero for what was not given
GUESSES = (1.0, -1.0, 1e3, -1e3, 1e-3, -1e-3)


class NotFinite(InconsistentInitialValues):
    """An equation or its derivatives cannot be evaluated; a better guess may help."""


def solve_for_accelerations(start: StartOfMotion) -> bool:
    """Set a, w, λ and μ in `start.values`; returns whether they are unique.

    What is not given begins with zero. Forces that divide by a multiplier or an auxiliary variable cannot be evaluated
    there; then other guesses are tried.
    """
    problem = _Problem(start)
    first: DalembertError | None = None
    for z in problem.guesses():
        try:
            z, unique = problem.solve(z)
        except (NotFinite, FunctionFailed, StepRefused) as error:
            first = first or error
            continue
        except InconsistentInitialValues:
            if first is None:
                raise
            continue
        problem.keep(z)
        return unique
    raise problem.explained(first)


def dependent_constraints(model: Model, t: float, values: dict[str, np.ndarray]) -> str:
    """Says which constraints depend on each other at a point, those that do most; "" if none do, or if there are too
    many to look at."""
    _, J = start_problems(model).velocity(t, values, model.theta(t))
    if not (isinstance(J, np.ndarray) and J.size and np.isfinite(J).all()):
        return ""
    N = left_null_space(without(J, silent_rows(J)), DEPENDENT)
    if not N.shape[1]:
        return ""
    names = [*equation_names("lam", model.names("lam")), *equation_names("mu", model.names("mu"))]
    weight = np.abs(N).max(axis=1)
    guilty = sorted(i for i in np.argsort(-weight, kind="stable")[:NAMED] if weight[i] > 0.1 * weight.max())
    found = ", ".join(names[i] for i in guilty)
    return f"{found} depend on each other" if len(guilty) > 1 else f"{found} restrains no velocity"


def _contains(function: ModelFunction, kind: str, graph: Graph) -> bool:
    """Whether a function may contain a vector."""
    if function.native is not None:
        applied = function.applied
        return kind in function.native.reads or (applied is not None and ca.depends_on(applied, graph.symbol[kind]))
    return not function.traced or ca.depends_on(function.sx, graph.symbol[kind])


class _Problem:
    def __init__(self, start: StartOfMotion):
        self.start, self.names = start, start.equations["acceleration"]
        self.n_v = start.model.graph.size("v")
        self.cuts = np.cumsum([self.n_v, *(start.values[kind].size for kind in PARTS[1:])])[:-1]

    def guesses(self) -> Iterator[np.ndarray]:
        """Zero for what was not given; then other numbers for those of them that functions contain."""
        start = self.start
        z = np.concatenate([np.zeros(self.n_v), *(start.values[kind] for kind in PARTS[1:])])
        yield z
        free = self.unguessed()
        where = np.concatenate(
            [np.zeros(self.n_v, bool)]
            + [~start.known.get(kind, np.zeros(start.values[kind].size, bool)) & (kind in free) for kind in PARTS[1:]]
        )
        for guess in GUESSES if where.any() else ():
            yield np.where(where, guess, z)

    def unguessed(self) -> list[str]:
        """Kinds that have components without a guess, and that functions contain."""
        start, graph = self.start, self.start.model.graph
        functions = [graph.functions[role] for role in ("force", "auxiliary") if role in graph.functions]
        return [
            kind
            for kind in PARTS[1:]
            if graph.size(kind)
            and not start.known.get(kind, np.zeros(1, bool)).all()
            and any(_contains(function, kind, graph) for function in functions)
        ]

    def explained(self, error: DalembertError) -> DalembertError:
        """What could not be evaluated, with the zeros that may be the cause."""
        unguessed = self.unguessed()
        if not unguessed:
            return error
        zeros = " and ".join(f"{kind} = 0" for kind in unguessed)
        arguments = ", ".join(f"{kind}0=" for kind in unguessed)
        return type(error)(
            f"{error}. It was evaluated with {zeros}, since no guess was given, and other guesses did not help: give "
            f"{arguments}, near the values that are expected"
        )

    def keep(self, z: np.ndarray) -> None:
        start = self.start
        for kind, value in zip(PARTS, np.split(z, self.cuts), strict=True):
            trusted = start.known.get(kind) if start.mode == "trust" else None
            start.values[kind] = value.copy() if trusted is None else np.where(trusted, start.start[kind], value)

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, Matrix]:
        start = self.start
        point = {**start.values, **dict(zip(PARTS, np.split(z, self.cuts), strict=True))}
        residual, J = start.problems.acceleration(start.t, point, start.theta)
        residual = residual.ravel()
        self._must_be_finite(residual, J)
        return self._without_silent(residual, J, z)

    def _without_silent(self, residual: np.ndarray, J: Matrix, z: np.ndarray) -> tuple[np.ndarray, Matrix]:
        """Constraints that are nothing but rounding beside the others neither say nor do anything: zeros in their rows,
        and in the columns of their multipliers."""
        first = self.cuts[1]
        if first == len(z):
            return residual, J
        silent, mute = np.zeros((2, len(z)), bool)
        silent[first:], mute[first:] = silent_rows(J[first:]), silent_rows(J[:, first:].T)
        if not silent.any():
            return residual, J
        size = max(np.abs(residual[first:]).max(), products(J[first:], z).max())
        residual = np.where(silent & (np.abs(residual) <= CONTRADICTION * size), 0.0, residual)
        return residual, without(without(J, silent).T, silent & mute).T

    def solve(self, z: np.ndarray) -> tuple[np.ndarray, bool]:
        """Newton's method: the solution, and whether it is unique."""
        t = self.start.t
        residual, J = self(z)
        roundings = ROUNDINGS + np.sqrt(len(z))
        unique = True
        for iteration in range(ITERATIONS):
            square = decompose(J)
            step, unique = square.solve(-residual), square.rank == len(z)
            if not unique:
                self._must_not_contradict(residual + J @ step, J, np.abs(z) + np.abs(step), square.columns)
            # no equation determines its unknowns better than rounding of its terms allows: eps × condition
            lost = np.abs(step) <= roundings * UNIT * square.spread(products(J, z))
            z = z + step
            # where equations are redundant, what is left of them beside each other is rounding as well
            if lost.all() or (not unique and iteration >= PATIENCE and self._stagnates(step, z, square.columns)):
                break
            residual, J = self(z)
            if iteration >= PATIENCE and unique:
                met = holds(residual, J, z, roundings)
                if met.all() or (met | rounding_seen(self, z, residual, J)).all():
                    break
        else:
            guilty = self.names[int(np.argmax(np.abs(residual) / equilibrated(J)[1]))]
            raise InconsistentInitialValues(
                f"auxiliary variables and multipliers did not converge at t = {t:.9g}: {guilty} keeps a residual; "
                "give better start values w0=, lam0="
            )
        return z, unique

    def _stagnates(self, step: np.ndarray, z: np.ndarray, columns: np.ndarray) -> bool:
        """Whether a step changes nothing but the last digits, all unknowns counting alike."""
        return bool(np.abs(step / columns).max() <= STAGNANT * np.abs(z / columns).max())

    def _must_not_contradict(self, unmet: np.ndarray, J: Matrix, z: np.ndarray, columns: np.ndarray) -> None:
        """What is left of linearized equations whose matrix is singular must be small beside their terms.

        Terms are taken with unknowns as large as the others are, in scaled units: in equilibrium accelerations are
        nothing but rounding of forces.
        """
        terms = products(J, z + columns * (z / columns).max(initial=0))
        if (np.abs(unmet) > CONTRADICTION * terms).any():
            first = self.n_v + self.start.values["w"].size  # of the constraints
            contradiction = ill_posed(self.start.t, self.names[first:], J[first:, : self.n_v], unmet[first:])
            if contradiction is not None:
                raise contradiction
            A, _ = equilibrated(J)
            raise InconsistentInitialValues(
                f"accelerations and multipliers cannot be determined at t = {self.start.t:.9g}: "
                f"{null_space_names(A, self.names)} contradict each other or leave the motion "
                "undetermined (mass matrix, redundant constraints)."
            )

    def _must_be_finite(self, residual: np.ndarray, J: Matrix) -> None:
        if np.isfinite(residual.sum() + J.sum()):
            return
        for values, what in ((residual, "{}"), (abs(J).sum(axis=1), "a derivative of {}")):
            bad = ~np.isfinite(np.asarray(values).ravel())
            if bad.any():
                raise NotFinite(
                    f"{what.format(self.names[int(np.argmax(bad))])} is not finite at the start values, "
                    f"t = {self.start.t:.9g}; check the model there"
                )
