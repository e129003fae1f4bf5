"""Consistent initial values: positions, velocities, and everything that follows from them.

Three problems in a row, each small: positions and contact points from (c, g) = 0, velocities from (g^I, h) = 0, then
accelerations, auxiliary variables and multipliers from the equations of motion together with (d, g^II, h^I) = 0.
Corrections are the smallest ones (minimum norm), so redundant constraints do no harm here. Matrices of large models
are sparse (see `sparse_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import (
    FunctionFailed,
    InconsistentInitialValues,
    InitialValuesCorrected,
    ModelError,
    OptionError,
    StepRefused,
    warn_user,
)
from dalembert.model import EquationsOfMotion, Model
from dalembert.model.vocabulary import equation_names
from dalembert.regularize.newton import (
    ITERATIONS,
    ROUNDINGS,
    UNIT,
    Matrix,
    decompose,
    equilibrated,
    holds,
    nearest_solution,
    null_space_names,
    products,
    rounding_seen,
)
from dalembert.regularize.start_problems import start_problems
from dalembert.regularize.start_values import given_values

MODES = ("correct", "check", "trust")
#: a relative change of a given start value beyond this is worth a warning
NOTEWORTHY = 1e-3
#: what a warning calls such a value, and what it advises; None: changes are meant, and there is no warning
OCCASION: ContextVar[tuple[str, str] | None] = ContextVar(
    "occasion", default=("start value of", 'initial_values="check" makes this an error')
)
#: iterations for accelerations after which it is asked whether residuals are rounding errors
PATIENCE = 4
#: redundant equations contradict each other if more than this fraction of their terms cannot be met
CONTRADICTION = 1e-9


@dataclass(frozen=True)
class InitialValues:
    """Consistent values at `t`: attributes p, v, r, w, s, lam, mu and a (or x and x_dot).

    `correction` is the largest relative change of a given value; `unique` is False if multipliers are not determined
    (redundant constraints), in which case the smallest ones are given.
    """

    t: float
    values: dict[str, np.ndarray]
    correction: float
    unique: bool = True

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None


def consistent_initial_values(
    model: Model,
    t0: float = 0.0,
    *,
    mode: str = "correct",
    initial_conditions: Callable[[Any], Any] | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-8,
    **given: Any,
) -> InitialValues:
    """Complete, and if need be correct, start values.

    Parameters
    ----------
    model : EquationsOfMotion, QuasiLinearDAE or ImplicitDAE
    t0 : float
    mode : {"correct", "check", "trust"}
        Correct positions and velocities to satisfy all constraints; or raise if they do not to within the tolerances;
        or take them as they are (multipliers and auxiliary variables that are not given are computed all the same).
    initial_conditions : callable, optional
        ``lambda s: [...]`` returns residuals that shall vanish beside all constraints, e.g. ``[s.x - 0.5]``. They
        dominate the given values. Too few to determine everything: the given values are checked only.
    p0, v0, r0, w0, s0, lam0, mu0, x0, dx0 : array or mapping of names to values
        What is not given starts from zero.

    Examples
    --------
    >>> import dalembert as da
    >>> model = da.problems.pendulum(g=9.81).model
    >>> start = da.consistent_initial_values(model, p0=[0.6, -0.8], v0=[0.4, 0.3])
    >>> start.lam                                    # m (v² − g y) / (2 L²)
    array([4.049])
    """
    if mode not in MODES:
        raise OptionError(f"initial_values must be one of {', '.join(MODES)}, not {mode!r}")
    start, known = given_values(model, given)
    t0 = float(t0)
    if not np.isfinite(t0):
        raise ModelError(f"the start time is {t0}")
    try:
        if initial_conditions is not None:
            if not model.mechanical:
                raise OptionError("initial_conditions are for EquationsOfMotion; give x0 for other models")
            from dalembert.regularize.conditions import solve_conditions

            found = solve_conditions(model, t0, start, initial_conditions, rtol, atol)
            corrected = max(_relative_change(start[kind], found[kind]) for kind in ("p", "v"))
            mode = "trust" if mode == "trust" else "correct"
            initial = _start(model, t0, found, set(model.state_kinds), mode, rtol, atol)
            return InitialValues(t0, initial.values, corrected, initial.unique)
        return _start(model, t0, start, known, mode, rtol, atol)
    except StepRefused as refusal:
        message = f"a model function cannot be evaluated at the start values, t = {t0:.9g}: {refusal}"
        raise FunctionFailed(message) from refusal


def _start(model: Model, t0: float, start: dict, known: set, mode: str, rtol: float, atol: float) -> InitialValues:
    if model.own_formulation == "quasi-linear":
        from dalembert.regularize.initial_quasi_linear import quasi_linear_start

        x, x_dot = quasi_linear_start(model, t0, start["x"], mode, rtol, atol)
        return InitialValues(t0, {"x": x, "x_dot": x_dot}, _relative_change(start["x"], x))
    if model.own_formulation == "implicit":
        from dalembert.regularize.initial_implicit import implicit_start

        x, x_dot = implicit_start(model, t0, start["x"], start["dx"], "dx" in known, mode, rtol, atol)
        return InitialValues(t0, {"x": x, "x_dot": x_dot}, _relative_change(start["x"], x))
    return _Start(model, t0, start, known, mode, rtol, atol).solve()


def _relative_change(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.max(np.abs(after - before) / (1 + np.abs(before)), initial=0.0))


def warn_of_change(
    names: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    level: str,
    t: float,
    occasion: tuple[str, str] | None,
) -> float:
    """The largest relative change; a warning if it is noteworthy, unless there is no `occasion` to speak of."""
    relative = np.abs(after - before) / (1 + np.abs(before))
    moved = int(np.argmax(relative))
    if relative[moved] > NOTEWORTHY and occasion is not None:
        what, remedy = occasion
        warn_user(
            f"{what} '{names[moved]}' changed from {before[moved]:.6g} to {after[moved]:.6g} to satisfy the "
            f"constraints on {level} level at t = {t:.9g}; {remedy}",
            InitialValuesCorrected,
        )
    return float(relative[moved])


class _Start:
    """Start values of equations of motion under way: `values` is the current point."""

    def __init__(
        self, model: EquationsOfMotion, t: float, start: dict, known: set, mode: str, rtol: float, atol: float
    ):
        self.model, self.t, self.start, self.known, self.mode = model, t, start, known, mode
        self.weight = {kind: atol + rtol * np.abs(start[kind]) for kind in ("p", "v")}
        self.theta = model.theta(t)
        self.problems = start_problems(model)
        self.values = {kind: start[kind].copy() for kind in model.state_kinds}
        orders = {
            "position": (("s", None), ("lam", None)),
            "velocity": (("lam", "velocity"), ("mu", None)),
            "acceleration": (("v", None), ("w", None), ("lam", "acceleration"), ("mu", "acceleration")),
        }
        self.equations = {
            problem: [name for kind, level in order for name in equation_names(kind, model.names(kind), level)]
            for problem, order in orders.items()
        }

    def solve(self) -> InitialValues:
        self._contact_points()
        correction = 0.0
        if self.mode != "trust":
            correction = max(self._positions(), self._velocities())
        unique = self._accelerations()
        p_dot, r_dot = (rate.ravel() for rate in self.problems.rates(self.t, self.values, self.theta))
        return InitialValues(self.t, {**self.values, "p_dot": p_dot, "r_dot": r_dot}, correction, unique)

    def _contact_points(self) -> None:
        """They follow from the positions, wherever those are."""
        n_s = self.start["s"].size
        if not n_s or ("s" in self.known and self.mode == "trust"):
            return

        def function(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            residual, J = self.problems.position(self.t, {**self.values, "s": s}, self.theta)
            return residual.ravel()[:n_s], J[:n_s, :n_s]

        names = self.equations["position"][:n_s]
        self.values["s"] = nearest_solution(function, self.values["s"], names, "the contact points s", self.t)

    def _positions(self) -> float:
        if not self.equations["position"]:
            return 0.0
        n_s = self.start["s"].size

        def function(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            residual, J = self.problems.position(self.t, {**self.values, "s": z[:n_s], "p": z[n_s:]}, self.theta)
            return residual.ravel(), J

        start = np.concatenate([self.values["s"], self.values["p"]])
        z = nearest_solution(function, start, self.equations["position"], "the positions p", self.t)
        if z is start:
            return 0.0
        self.values["s"], self.values["p"] = z[:n_s].copy(), z[n_s:].copy()
        return self._judge("p", "position", function(start)[0])

    def _velocities(self) -> float:
        if not self.equations["velocity"]:
            return 0.0

        def function(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            residual, J = self.problems.velocity(self.t, {**self.values, "v": v}, self.theta)
            return residual.ravel(), J

        start = self.values["v"]
        v = nearest_solution(function, start, self.equations["velocity"], "the velocities v", self.t)
        if v is start:
            return 0.0
        self.values["v"] = v.copy()
        return self._judge("v", "velocity", function(start)[0])

    def _judge(self, kind: str, level: str, residual: np.ndarray) -> float:
        """Relative size of a correction; raises in mode "check", warns if it is large."""
        before, after, names = self.start[kind], self.values[kind], self.model.names(kind)
        change = np.abs(after - before)
        worst = int(np.argmax(change / self.weight[kind]))
        if self.mode == "check" and change[worst] > self.weight[kind][worst]:
            guilty = int(np.argmax(np.abs(residual)))
            raise InconsistentInitialValues(
                f"the start values violate {self.equations[level][guilty]} at t = {self.t:.9g}: its residual is "
                f"{residual[guilty]:.3e}, and '{names[worst]}' would have to change by {change[worst]:.3e}. Correct "
                'them, or let initial_values="correct" do it.'
            )
        return warn_of_change(names, before, after, level, self.t, OCCASION.get())

    def _accelerations(self) -> bool:
        """Newton's method for a, w, λ, μ; returns whether they are unique."""
        t, names = self.t, self.equations["acceleration"]
        parts = ("a", "w", "lam", "mu")
        z = np.concatenate([np.zeros(self.model.graph.size("v")), *(self.values[kind] for kind in parts[1:])])
        cuts = np.cumsum([self.model.graph.size("v"), *(self.values[kind].size for kind in parts[1:])])[:-1]

        def function(z: np.ndarray) -> tuple[np.ndarray, Matrix]:
            point = {**self.values, **dict(zip(parts, np.split(z, cuts), strict=True))}
            residual, J = self.problems.acceleration(t, point, self.theta)
            residual = residual.ravel()
            self._must_be_finite(residual, J)
            return residual, J

        residual, J = function(z)
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
            if lost.all():
                break
            residual, J = function(z)
            if iteration >= PATIENCE and unique:
                met = holds(residual, J, z, roundings)
                if met.all() or (met | rounding_seen(function, z, residual, J)).all():
                    break
        else:
            guilty = names[int(np.argmax(np.abs(residual) / equilibrated(J)[1]))]
            raise InconsistentInitialValues(
                f"auxiliary variables and multipliers did not converge at t = {t:.9g}: {guilty} keeps a residual; "
                "give better start values w0=, lam0="
            )
        for kind, value in zip(parts, np.split(z, cuts), strict=True):
            if not (self.mode == "trust" and kind in self.known):
                self.values[kind] = value.copy()
        return unique

    def _must_not_contradict(self, unmet: np.ndarray, J: Matrix, z: np.ndarray, columns: np.ndarray) -> None:
        """What is left of linearized equations whose matrix is singular must be small beside their terms.

        Terms are taken with unknowns as large as the others are, in scaled units: in equilibrium accelerations are
        nothing but rounding of forces.
        """
        terms = products(J, z + columns * (z / columns).max(initial=0))
        if (np.abs(unmet) > CONTRADICTION * terms).any():
            A, _ = equilibrated(J)
            raise InconsistentInitialValues(
                f"accelerations and multipliers cannot be determined at t = {self.t:.9g}: "
                f"{null_space_names(A, self.equations['acceleration'])} contradict each other or leave the motion "
                "undetermined (mass matrix, redundant constraints)."
            )

    def _must_be_finite(self, residual: np.ndarray, J: np.ndarray) -> None:
        if np.isfinite(residual.sum() + J.sum()):
            return
        names = self.equations["acceleration"]
        for values, what in ((residual, "{}"), (abs(J).sum(axis=1), "a derivative of {}")):
            bad = ~np.isfinite(np.asarray(values).ravel())
            if bad.any():
                raise InconsistentInitialValues(
                    f"{what.format(names[int(np.argmax(bad))])} is not finite at the start values, t = {self.t:.9g}; "
                    "check the model there"
                )
