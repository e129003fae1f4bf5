"""Consistent initial values: positions, velocities, and everything that follows from them.

Three problems in a row, each small: positions and contact points from (c, g) = 0, velocities from (g^I, h) = 0, then
accelerations, auxiliary variables and multipliers from the equations of motion together with (d, g^II, h^I) = 0.
Corrections are the smallest ones (minimum norm), so redundant constraints do no harm here. Matrices of large models
are sparse (see `sparse_steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.checks import NoNumber, quiet_arithmetic, real, shown, words
from dalembert.errors import (
    FunctionFailed,
    InconsistentInitialValues,
    ModelError,
    OptionError,
    StepRefused,
)
from dalembert.model import Model
from dalembert.model.restricted import restricted
from dalembert.model.start import with_start
from dalembert.regularize.initial_accelerations import solve_for_accelerations
from dalembert.regularize.initial_invariants import correct_invariants
from dalembert.regularize.judgement import OCCASION, relative_change, warn_of_change
from dalembert.regularize.newton import nearest_solution
from dalembert.regularize.start_problems import start_problems
from dalembert.regularize.start_values import given_values, names_to_fix

if TYPE_CHECKING:
    from dalembert.regularize.structure.hidden import Regularized

MODES = ("correct", "check", "trust")
#: start values of multipliers, which contacts have some of
OF_CONTACTS = ("lam0", "mu0")


@dataclass(frozen=True)
class InitialValues:
    """Consistent values at `t`: attributes p, v, r, w, s, lam, mu and a (or x and x_dot).

    `correction` is the largest relative change of a given value; `unique` is False if multipliers are not determined
    (redundant constraints), in which case the smallest ones are given. `index` is that of a DAE that is taken as it
    stands, where it was seen on the way.
    """

    t: float
    values: dict[str, np.ndarray]
    correction: float
    unique: bool = True
    index: int | None = None

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
    fixed: Sequence[str] = (),
    rtol: float = 1e-6,
    atol: float = 1e-8,
    **given: Any,
) -> InitialValues:
    """Complete, and if need be correct, start values.

    Parameters
    ----------
    model : EquationsOfMotion, QuasiLinearDAE or ImplicitDAE
        Contacts of equations of motion are taken as open: which are closed, and what forces they have, a simulation
        decides.
    t0 : float
    mode : {"correct", "check", "trust"}
        Correct positions and velocities to satisfy all constraints; or raise if they do not to within the tolerances;
        or take them as they are (multipliers and auxiliary variables that are not given are computed all the same).
    initial_conditions : callable, optional
        ``lambda s: [...]`` returns residuals that shall vanish beside all constraints, e.g. ``[s.x - 0.5]``. They
        dominate the given values. Too few to determine everything: the given values are checked only. Of a DAE they
        may contain derivatives, ``s.x_dot``; if they are too few, given values change as little as possible.
    fixed : sequence of str
        Unknowns of a DAE whose start values stay as given, bit for bit, while others are found: the given ones near
        their values, others anywhere.
    p0, v0, r0, w0, s0, lam0, mu0, x0, dx0 : array or mapping of names to values
        Positions, and the unknowns x whose derivatives occur, are needed. What is not given of the others starts from
        zero, be it a vector or a name in a mapping; it is a first guess for what is computed. Unknowns that hidden
        constraints, conditions or fixed values determine may be left out. A model may have start values of its own
        (`Model.start`): they are taken for vectors that are not given, and for names that a mapping leaves out.

    Examples
    --------
    >>> import dalembert as da
    >>> model = da.problems.pendulum(g=9.81).model
    >>> start = da.consistent_initial_values(model, p0=[0.6, -0.8], v0=[0.4, 0.3])
    >>> start.lam                                    # m (v² − g y) / (2 L²)
    array([4.049])

    A heater of which the temperature is known, and not the power:

    >>> heater = da.QuasiLinearDAE(
    ...     x=["T", "loss", "power"], leading=[1, 0, 0],
    ...     rhs=lambda s: [s.power - s.loss, s.loss - 2 * (s.T - 20), s.power - 10 * (30 - s.T)])
    >>> da.consistent_initial_values(heater, x0={"power": 50.0}, fixed=["power"]).x
    array([25., 10., 50.])
    """
    if not isinstance(model, Model):
        raise OptionError(f"start values need a model, not {shown(model)}")
    if model.beginning is not None:
        return own_start(model, t0, given, initial_conditions, fixed, mode=mode, rtol=rtol, atol=atol)
    given = with_start(model, given)
    more = dict(initial_conditions=initial_conditions, fixed=fixed, rtol=rtol, atol=atol)
    if not model.has_contacts:
        return completed_values(model, t0, given, mode=mode, **more)
    own = restricted(model, model.bilateral)
    found = completed_values(own, t0, {k: v for k, v in given.items() if k not in OF_CONTACTS}, mode=mode, **more)
    return replace(found, values=own.graph.whole_values(found.values))


def own_start(
    model: Model,
    t0: float,
    given: Mapping[str, Any],
    initial_conditions: Callable[[Any], Any] | None,
    fixed: Sequence[str],
    *,
    mode: str = "correct",
    rtol: float = 1e-6,
    atol: float = 1e-8,
) -> InitialValues:
    """Start values of a model that has conditions, and unknowns that keep their values, of its own.

    What it says of the others are guesses: that they change is no surprise.
    """
    from dalembert.regularize.structure.start_equations import all_conditions

    users = {key: value for key, value in given.items() if value is not None}
    token = OCCASION.set(OCCASION.get() if users else None)
    try:
        return completed_values(
            model, t0, with_start(model, users), mode=mode if users or mode != "check" else "correct",
            initial_conditions=all_conditions(model, initial_conditions),
            fixed=tuple(dict.fromkeys((*model.fixed_at_start, *names_to_fix(model, fixed)))), rtol=rtol, atol=atol,
        )  # fmt: skip
    finally:
        OCCASION.reset(token)


def completed_values(
    model: Model,
    t0: float,
    given: Mapping[str, Any],
    *,
    mode: str = "correct",
    initial_conditions: Callable[[Any], Any] | None = None,
    fixed: Sequence[str] = (),
    rtol: float = 1e-6,
    atol: float = 1e-8,
) -> InitialValues:
    """`consistent_initial_values` of the given values alone: restarts have nothing to do with a model's own start."""
    if not isinstance(mode, str) or mode not in MODES:
        raise OptionError(f"initial_values must be one of {', '.join(MODES)}, not {shown(mode)}")
    fixed = names_to_fix(model, fixed)
    if model.hidden == "auto":
        from dalembert.regularize.structure.aliases import reduction_of
        from dalembert.regularize.structure.reduced_start import start_by_kept

        reduction = reduction_of(model)
        if reduction is not None:
            more = dict(initial_conditions=initial_conditions, mode=mode, rtol=rtol, atol=atol)
            return start_by_kept(model, reduction, _finite("t0", t0), given, fixed, **more)
    form = form_of_start(model, fixed, initial_conditions)
    start, known = given_values(model, given, incomplete=form is not None, fixed=fixed)
    t0, rtol, atol = _finite("t0", t0), _finite("rtol", rtol), _finite("atol", atol)
    if rtol < 0 or atol < 0 or rtol + atol == 0:
        raise OptionError(f"rtol={rtol} and atol={atol} must be positive")
    try:
        with quiet_arithmetic():  # what is not finite is looked for, and named
            if form is not None:
                from dalembert.regularize.structure.start import regularized_start

                return regularized_start(
                    model, form, t0, start, known, fixed=fixed, initial_conditions=initial_conditions, mode=mode,
                    rtol=rtol, atol=atol,
                )  # fmt: skip
            return _complete(model, t0, start, known, mode, initial_conditions, rtol, atol)
    except np.linalg.LinAlgError as error:
        raise InconsistentInitialValues(
            f"start values cannot be found at t = {t0:.9g}: numbers of the model, or of the start values, are too "
            f"large or too small to be computed with ({error}); give it other units"
        ) from error
    except StepRefused as refusal:
        message = f"a model function cannot be evaluated at the start values, t = {t0:.9g}: {words(refusal)}"
        raise FunctionFailed(message) from refusal


def form_of_start(model: Model, fixed: Sequence[str], initial_conditions: Any) -> Regularized | None:
    """The form of a DAE by which its start values are found, where that is needed."""
    if model.mechanical:
        return None
    from dalembert.regularize.structure.start import form_for_start

    wanted = {"fixed=": bool(fixed), "initial_conditions=": initial_conditions is not None}
    return form_for_start(model, " and ".join(name for name, there in wanted.items() if there))


def _finite(name: str, value: Any) -> float:
    try:
        number = real(value)
    except NoNumber as reason:
        raise OptionError(f"{name}={shown(value)} {reason}") from None
    if not np.isfinite(number):
        raise ModelError(f"the start time is {number}" if name == "t0" else f"{name}={number} is not finite")
    return number


def _complete(
    model: Model,
    t0: float,
    start: dict,
    known: dict,
    mode: str,
    initial_conditions: Callable[[Any], Any] | None,
    rtol: float,
    atol: float,
) -> InitialValues:
    if initial_conditions is not None:
        from dalembert.regularize.conditions import solve_conditions

        found = solve_conditions(model, t0, start, initial_conditions, rtol, atol)
        corrected = max(_relative_change(start[kind], found[kind]) for kind in ("p", "v"))
        mode = "trust" if mode == "trust" else "correct"
        initial = _start(model, t0, found, {kind: np.ones(v.size, bool) for kind, v in found.items()}, mode, rtol, atol)
        return InitialValues(t0, initial.values, corrected, initial.unique)
    return _start(model, t0, start, known, mode, rtol, atol)


def _start(model: Model, t0: float, start: dict, known: dict, mode: str, rtol: float, atol: float) -> InitialValues:
    if model.own_formulation == "quasi-linear":
        from dalembert.regularize.initial_quasi_linear import quasi_linear_start

        x, x_dot, index = quasi_linear_start(model, t0, start["x"], mode, rtol, atol)
        return InitialValues(t0, {"x": x, "x_dot": x_dot}, _relative_change(start["x"], x), index=index)
    if model.own_formulation == "implicit":
        from dalembert.regularize.initial_implicit import implicit_start

        x, x_dot = implicit_start(model, t0, start["x"], start["dx"], known.get("dx"), mode, rtol, atol)
        return InitialValues(t0, {"x": x, "x_dot": x_dot}, _relative_change(start["x"], x))
    return StartOfMotion(model, t0, start, known, mode, rtol, atol).solve()


def _relative_change(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.max(relative_change(before, after), initial=0.0))


class StartOfMotion:
    """Start values of equations of motion under way: `values` is the current point."""

    def __init__(
        self, model: Model, t: float, start: dict, known: dict, mode: str, rtol: float, atol: float
    ):
        self.model, self.t, self.start, self.known, self.mode = model, t, start, known, mode
        self.rtol, self.atol = rtol, atol
        self.weight = {kind: atol + rtol * np.abs(start[kind]) for kind in ("p", "v")}
        self.theta = model.theta(t)
        self.problems = start_problems(model)
        self.values = {kind: start[kind].copy() for kind in model.state_kinds}
        self.equations = self.problems.equations

    def solve(self) -> InitialValues:
        self._contact_points()
        correction = 0.0
        if self.mode != "trust":
            correction = max(self._positions(), self._velocities())
            correction = max(correction, correct_invariants(self))
        unique = solve_for_accelerations(self)
        p_dot, r_dot = (rate.ravel() for rate in self.problems.rates(self.t, self.values, self.theta))
        return InitialValues(self.t, {**self.values, "p_dot": p_dot, "r_dot": r_dot}, correction, unique)

    def _contact_points(self) -> None:
        """They follow from the positions, wherever those are."""
        n_s = self.start["s"].size
        if not n_s or (self.mode == "trust" and self.known.get("s", np.zeros(1)).all()):
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

        def trial(v: np.ndarray, move: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
            near = {kind: move(self.values[kind]) for kind in ("s", "p")}
            return self.problems.velocity(self.t, {**self.values, **near, "v": move(v)}, self.theta)[0].ravel()

        start = self.values["v"]
        v = nearest_solution(function, start, self.equations["velocity"], "the velocities v", self.t, trial)
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
        return warn_of_change(names, before, after, f"the constraints on {level} level", self.t, OCCASION.get())
