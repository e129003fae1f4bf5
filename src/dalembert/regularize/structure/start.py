"""Consistent initial values of regularized DAEs E x' = k(x, y, t), 0 = h(x, y, t) with the constraints of all levels.

Given values are guesses, which move as little as they can; *fixed* ones stay, bit for bit; unknowns whose derivatives
occur nowhere, those that were not given, and y are free. Equations are solved stage by stage (see `start_equations`),
so that velocities do not move positions: first by free unknowns alone, then by those that were given, too. Only where a
stage cannot be solved by its own unknowns, since some are fixed or conditions speak of later ones, all up to it are
moved together. Each is a damped Gauss-Newton iteration.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import InconsistentInitialValues, OptionError
from dalembert.model import Model
from dalembert.model.vocabulary import FUNCTIONS
from dalembert.regularize.directions import DISTANCES
from dalembert.regularize.initial import InitialValues
from dalembert.regularize.initial_quasi_linear import LARGEST
from dalembert.regularize.judgement import check_unchanged, relative_change, tell_of_unknowns
from dalembert.regularize.newton import Matrix, column_scales, holds, nearest_solution, row_sizes
from dalembert.regularize.structure.forms import Regularized
from dalembert.regularize.structure.hidden import regularized
from dalembert.regularize.structure.start_equations import Conditions, StartEquations, start_equations
from dalembert.regularize.structure.start_rates import derivatives
from dalembert.regularize.structure.start_steps import NearestStep, independent, undetermined
from dalembert.regularize.structure.start_words import contradiction, nothing_determines
from dalembert.regularize.structure.system import is_regularized

#: so far from a point, relative to it, it is seen how large equations are
NEARBY = 0.1


def form_for_start(model: Model, wanted: str = "") -> Regularized | None:
    """The regularized form of a DAE that hides constraints, is overdetermined, or large; None: start values are found
    without it.

    `wanted` names arguments that need it in any case.
    """
    if model.mechanical or model.own_formulation is None:
        return None
    python = {role: f.reason for role, f in model.graph.functions.items() if role in FUNCTIONS and not f.traced}
    if python:
        if wanted:
            role, reason = next(iter(python.items()))
            raise OptionError(f"{wanted} is for models whose functions can be traced; {role}= cannot: {reason}")
        return None
    large = model.hidden == "auto" and len(model.names("x")) > LARGEST
    return regularized(model) if wanted or large or is_regularized(model) else None


def regularized_start(
    model: Model,
    form: Regularized,
    t: float,
    start: Mapping[str, np.ndarray],
    known: Mapping[str, np.ndarray],
    *,
    fixed: Sequence[str] = (),
    initial_conditions: Callable[[Any], Any] | None = None,
    mode: str = "correct",
    rtol: float = 1e-6,
    atol: float = 1e-8,
) -> InitialValues:
    """x, x', y and y' at t.

    Parameters
    ----------
    model : Model
        That of the form, or with other parameters and inputs.
    start, known : mappings
        Start values "x" and, of an `ImplicitDAE`, guesses "dx" for the derivatives, with zeros where none is given; and
        which components were.
    fixed : sequence of str
        Unknowns that stay.
    initial_conditions, mode, rtol, atol
        As in `consistent_initial_values`.

    Raises
    ------
    InconsistentInitialValues
        No such values were found: fixed values or conditions contradict the equations, or nothing determines an unknown
        that was not given.
    """
    x0, theta = start["x"], model.theta(t)
    names, given = model.names("x"), known.get("x", np.zeros(len(x0), bool))
    found, stay = model.found_at_start("x"), frozenset(fixed)
    differential = np.array([name not in found for name in names])
    conditions = None if initial_conditions is None else Conditions(model, form, initial_conditions)
    held = np.array([name in stay for name in names])
    if mode == "trust" and conditions is None:
        search = Start(form, t, theta, x0, given, np.ones(len(x0), bool), _guess(form, start))
        search.settle()
    else:
        search = Start(form, t, theta, x0, given & differential, held, _guess(form, start))
        search.solve(conditions)
        missing = differential & ~given
        if missing.any() and model.beginning is None:  # which has guesses for all
            search.must_be_determined(missing, given)
    x, y = search.x, search.y
    x_dot, y_dot = derivatives(form, t, x, y, theta)
    if conditions is None:  # those dominate given values, which only say where to start
        tolerances = dict(t=t, mode=mode, rtol=rtol, atol=atol)
        before = np.where(given, x0, x)
        check_unchanged(names, "x0", before, x, **tolerances)
        if "dx" in known:
            check_unchanged(model.names("dx"), "dx0", np.where(known["dx"], start["dx"], x_dot), x_dot, **tolerances)
        tell_of_unknowns(names, before, x, differential, t)
    correction = float(np.max(relative_change(x0, x)[given], initial=0.0))
    values = {"x": x, "x_dot": x_dot, "y": y, "y_dot": y_dot}
    return InitialValues(t, values, correction)


def _guess(form: Regularized, start: Mapping[str, np.ndarray]) -> np.ndarray:
    """For y: first derivatives where they are given, else zero."""
    y, (columns, orders) = np.zeros(len(form.y_of)), form.y_of.T
    return np.where(orders == 1, start["dx"][columns], y) if "dx" in start else y


class Start:
    """Start values under way: `z` is the current point."""

    def __init__(
        self,
        form: Regularized,
        t: float,
        theta: np.ndarray,
        x0: np.ndarray,
        given: np.ndarray,
        fixed: np.ndarray,
        y0: np.ndarray,
    ):
        """`given`: differential unknowns that shall move as little as possible."""
        self.form, self.t, self.theta = form, t, theta
        self.equations = start_equations(form)
        self._x0, self._fixed, self._scale = x0, fixed, None
        self.z = np.concatenate([x0, y0])
        more = np.zeros(len(y0), bool)
        self.given, self.fixed = np.concatenate([given, more]), np.concatenate([fixed, more])

    @property
    def x(self) -> np.ndarray:
        x = self.z[: self.equations.n_x].copy()
        x[self._fixed] = self._x0[self._fixed]  # also the signs of zeros
        return x

    @property
    def y(self) -> np.ndarray:
        return self.z[self.equations.n_x :].copy()

    def solve(self, conditions: Conditions | None = None) -> None:
        """Satisfy all equations, or raise."""
        if conditions is not None and conditions.count:
            self.equations = StartEquations(self.form, conditions)
        open_rows, at = None, None
        for stage in np.unique(self.equations.row_stage):
            if at is not self.z:  # most start values need no more than one look
                residual, J = self.equations(self.t, self.z, self.theta)
                open_rows, at = ~(holds(residual, J, self.z) & np.isfinite(row_sizes(J))), self.z
            if (open_rows & (self.equations.row_stage == stage)).any():
                self._solve_stage(stage)

    def scaled(self, residual: np.ndarray, J: Matrix) -> tuple[np.ndarray, Matrix]:
        """With rows of the same size: units of equations do not matter.

        The size is that near the point: rows that vanish at the point itself, but for rounding, stay small.
        """
        if self._scale is None or len(self._scale) != len(residual):
            size, rng = np.zeros(len(residual)), np.random.default_rng(len(residual))
            for distance in (0.0, NEARBY, NEARBY):
                z = self.z + distance * rng.uniform(-1, 1, len(self.z)) * np.where(self.z == 0, 1.0, np.abs(self.z))
                rows = row_sizes(self.equations(self.t, z, self.theta)[1])
                size = np.fmax(size, np.where(np.isfinite(rows), rows, 0.0))
            self._scale = column_scales(size)
        if isinstance(J, np.ndarray):
            return self._scale * residual, self._scale[:, None] * J
        from scipy.sparse import csc_matrix, diags

        return self._scale * residual, csc_matrix(diags(self._scale) @ J)

    def settle(self) -> None:
        """y that suits x as it is, as well as possible."""
        eq = self.equations
        if eq.n_y:
            problem = _Part(self, eq.row_stage >= eq.stage[eq.n_x :].min())
            try:
                self.z = problem.solve(np.flatnonzero(~self.fixed), self.z)
            except InconsistentInitialValues:
                self.z = problem.best

    def _solve_stage(self, stage: int) -> None:
        eq = self.equations
        rows, unknowns = eq.row_stage == stage, eq.stage == stage
        try:
            self.z = self._solved(rows, unknowns)
        except InconsistentInitialValues:
            # from where free unknowns suit the equations of the model, if they can: zero is a bad guess for a force
            free = np.flatnonzero(unknowns & ~self.fixed & ~self.given)
            with contextlib.suppress(InconsistentInitialValues):
                self.z = _Part(self, rows & ~eq.conditions).solve(free, self.z)
            self.z = self._solved(eq.row_stage <= stage, eq.stage <= stage, last=True)

    def _solved(self, rows: np.ndarray, unknowns: np.ndarray, last: bool = False) -> np.ndarray:
        """z that satisfies these equations, by changes of these unknowns if they are not fixed."""
        problem, moving = _Part(self, rows), unknowns & ~self.fixed
        free, given = np.flatnonzero(moving & ~self.given), np.flatnonzero(moving & self.given)
        for guess in problem.guesses(free, self.z) if len(free) else ():
            try:
                return problem.solve(free, guess)
            except InconsistentInitialValues:
                continue
        try:
            return problem.solve(free, self.z, given)
        except InconsistentInitialValues:
            if not last:
                raise
        raise contradiction(self, rows, moving, problem.best)

    def must_be_determined(self, missing: np.ndarray, known: np.ndarray) -> None:
        """Raise if unknowns of which no value was given could as well have others, while given ones stay."""
        eq = self.equations
        _, J = eq(self.t, self.z, self.theta)
        stays = np.zeros(len(self.z), bool)
        stays[: eq.n_x] = known | self._fixed
        columns = np.flatnonzero(~stays)
        weight, count = undetermined(J, columns)
        guilty = columns[np.isin(columns, np.flatnonzero(missing)) & (weight > 0)]
        if len(guilty):
            raise nothing_determines(self, guilty, min(count, len(guilty)))


class _Part:
    """Some of the equations, as a function of the unknowns that occur in them."""

    def __init__(self, start: Start, rows: np.ndarray):
        self._start, self._rows = start, np.flatnonzero(rows)
        self._columns = start.equations.unknowns(rows)
        self._names = [start.equations.names[i] for i in self._rows]
        self.best, self._least = start.z, np.inf

    def numbers(self, z: np.ndarray) -> tuple[np.ndarray, Matrix]:
        """Residuals and their derivatives by these unknowns at a point of all."""
        start = self._start
        residual, J = start.scaled(*start.equations(start.t, z, start.theta))
        residual, J = residual[self._rows], J[self._rows][:, self._columns]
        size = row_sizes(J) if len(self._columns) else np.zeros(len(residual))
        norm = np.linalg.norm(residual / np.where(size > 0, size, 1.0))
        stays = start.fixed
        if norm < self._least and np.array_equal(z[stays], start.z[stays]):
            self.best, self._least = z, norm
        return residual, J

    def solve(self, free: np.ndarray, z: np.ndarray, given: Sequence[int] = ()) -> np.ndarray:
        """z with other values of these unknowns; itself if the equations hold already."""

        def function(part: np.ndarray) -> tuple[np.ndarray, Matrix]:
            return self.numbers(self._inserted(z, part))

        step, part = NearestStep(self._places(free), self._places(given)), z[self._columns]
        found = nearest_solution(function, part, self._names, "x", self._start.t, smallest=step)
        return z if found is part else self._inserted(z, found)

    def _inserted(self, z: np.ndarray, part: np.ndarray) -> np.ndarray:
        z = z.copy()
        z[self._columns] = part
        return z

    def _places(self, unknowns: Sequence[int]) -> np.ndarray:
        """Where these stand among those that occur."""
        wanted = np.zeros(len(self._start.z), bool)
        wanted[np.asarray(unknowns, int)] = True
        return np.flatnonzero(wanted[self._columns])

    def guesses(self, free: np.ndarray, z: np.ndarray) -> Iterator[np.ndarray]:
        """z; and if free unknowns are enough to satisfy the equations in which they occur, other values of these."""
        yield z
        rng = np.random.default_rng(len(free))
        for distance in DISTANCES:
            guess = z.copy()
            guess[free] += distance * rng.uniform(-1, 1, len(free)) * (1 + np.abs(z[free]))
            residual, J = self.numbers(guess)
            if not np.isfinite(residual).all():
                continue
            places = self._places(free)
            here = row_sizes(J[:, places]) > 0 if len(places) else np.zeros(len(residual), bool)
            others = ~here & ~holds(residual, J, guess[self._columns])
            if others.any() or not independent(J[np.flatnonzero(here)], places):
                return
            yield guess
