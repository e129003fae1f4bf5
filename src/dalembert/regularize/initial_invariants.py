"""Invariants at the start: 0 = e(p,v,s,t) has to hold there, since the motion only keeps what it begins with.

An invariant of positions alone, the norm of a quaternion say, is corrected as constraints are. One that contains
velocities, an energy, is corrected if that needs no noticeable change; otherwise its start value was not subtracted,
and methods that impose it would compute another motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.chain import rows_with, total_jacobian
from dalembert.model.evaluate import PointFunction, is_large
from dalembert.model.numeric import jacobian as numeric_jacobian
from dalembert.model.vocabulary import equation_names, numbered
from dalembert.regularize.hidden import hidden_constraints
from dalembert.regularize.judgement import NOTEWORTHY, OCCASION, START, relative_change, warn_of_change
from dalembert.regularize.newton import UNIT, nearest_solution

if TYPE_CHECKING:
    from dalembert.regularize.initial import StartOfMotion

#: what invariants depend on
KINDS = ("s", "p", "v")
#: an invariant is zero up to rounding if it is below so many units of rounding of what it is elsewhere
ROUNDINGS = 1e3
INVARIANTS: Slot[Invariants] = Slot("invariants at the start", most=1)


class Invariants:
    """Values and derivatives by z = (s, p, v), of the invariants alone and with all constraints before them."""

    def __init__(self, model: Model):
        graph = model.graph
        self._model = model
        e, z = graph.value("invariant"), ca.vertcat(*(graph.symbol[kind] for kind in KINDS))
        self.names = numbered("invariant", e.numel())
        self.with_velocities = rows_with(graph, e, "v")
        self._cuts = np.cumsum([graph.size(kind) for kind in KINDS])[:-1]
        self.alone = self._function(e, z)
        self._all = None
        self._z = z

    def _function(self, rows: ca.SX, z: ca.SX):
        """z -> residual and Jacobian at (t, values, θ); by differences if Python functions are among the rows."""
        graph = self._model.graph
        exact = all(block.native is not None for block in graph.externals_in(rows))
        J = total_jacobian(graph, rows, z) if exact else ca.SX(0, 0)
        function = PointFunction(self._model, [rows, J] if exact else [rows], sparse=is_large(J))

        def at(t: float, values: Mapping[str, np.ndarray], theta: np.ndarray):
            def residual(z: np.ndarray) -> np.ndarray:
                return function(t, {**values, **self.parts(z)}, theta)[0].ravel()

            def both(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                if not exact:
                    return residual(z), numeric_jacobian(residual, z)
                value, J = function(t, {**values, **self.parts(z)}, theta)
                return value.ravel(), J

            return both

        return at

    def parts(self, z: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(KINDS, np.split(z, self._cuts), strict=True))

    @property
    def with_constraints(self):
        """All constraints on positions and velocities, then the invariants, and names of these rows."""
        if self._all is None:
            graph, hidden, model = self._model.graph, hidden_constraints(self._model), self._model
            rows = ca.vertcat(hidden.c, hidden.g, hidden.g_I, hidden.h, graph.value("invariant"))
            order = (("s", None), ("lam", None), ("lam", "velocity"), ("mu", None))
            names = [n for kind, level in order for n in equation_names(kind, model.names(kind), level)]
            self._all = self._function(ca.densify(rows), self._z), [*names, *self.names]
        return self._all


def _of(model: Model) -> Invariants | None:
    if "invariant" not in model.graph.functions:
        return None
    return model.kept.get(INVARIANTS, None, lambda: Invariants(model))


def invariants_hold(
    model: Model, t: float, values: Mapping[str, np.ndarray], rtol: float, atol: float
) -> bool:
    """Whether all are zero as far as the tolerances of positions and velocities let them be."""
    invariants = _of(model)
    return invariants is None or not _violated(invariants, t, values, model.theta(t), rtol, atol).any()


def _violated(
    invariants: Invariants, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray, rtol: float, atol: float
) -> np.ndarray:
    z = np.concatenate([values[kind] for kind in KINDS])
    function = invariants.alone(t, values, theta)
    e, J = function(z)
    violated = ~(np.abs(e) <= abs(J) @ (atol + rtol * np.abs(z)))
    if violated.any():  # where derivatives vanish, in equilibria, only rounding tells
        rng = np.random.default_rng(len(z))
        elsewhere = [function(z + (1 + np.abs(z)) * rng.uniform(-1, 1, len(z)))[0] for _ in range(3)]
        size = np.abs([value - e for value in elsewhere]).max(axis=0, initial=0)
        violated &= ~(np.abs(e) <= ROUNDINGS * UNIT * size)
    return violated


def correct_invariants(start: StartOfMotion) -> float:
    """Have positions and velocities satisfy the invariants beside all constraints; returns the relative change.

    Raises InconsistentInitialValues if that changes them too much, or in mode "check" at all.
    """
    model, t, values = start.model, start.t, start.values
    invariants = _of(model)
    if invariants is None:
        return 0.0
    violated = _violated(invariants, t, values, start.theta, start.rtol, start.atol)
    if not violated.any():
        return 0.0
    z = np.concatenate([values[kind] for kind in KINDS])
    e = invariants.alone(t, values, start.theta)(z)[0]
    guilty = int(np.argmax(np.where(violated, np.where(np.isfinite(e), np.abs(e), np.inf), -1)))
    function, names = invariants.with_constraints
    try:
        if start.mode == "check":
            raise InconsistentInitialValues("not zero")
        found = nearest_solution(function(t, values, start.theta), z, names, "positions and velocities", t)
    except InconsistentInitialValues:
        raise _explained(invariants.names[guilty], float(e[guilty]), t, start.mode) from None
    after = invariants.parts(found)
    change = max(float(relative_change(values[kind], after[kind]).max(initial=0)) for kind in ("p", "v"))
    if change > NOTEWORTHY and invariants.with_velocities[violated].any():
        raise _explained(invariants.names[guilty], float(e[guilty]), t, start.mode)
    for kind in ("p", "v"):
        warn_of_change(model.names(kind), values[kind], after[kind], invariants.names[guilty], t, OCCASION.get())
    for kind in KINDS:
        values[kind] = after[kind].copy()
    return change


def _explained(name: str, value: float, t: float, mode: str) -> InconsistentInitialValues:
    if OCCASION.get() is not START:
        return InconsistentInitialValues(
            f"{name} is {value:.6g} after an event at t = {t:.9g}, and was zero before: what it conserves changes "
            "there. Let it contain a discrete variable that the event's action sets (discrete={'E0': ...}, "
            "invariant=lambda s: [... - s.E0]), or leave invariant= out"
        )
    correct = ', or let initial_values="correct" change positions and velocities' if mode == "check" else ""
    return InconsistentInitialValues(
        f"{name} is {value:.6g} at the start values, t = {t:.9g}, but invariant= stands for 0 = e(p,v,s,t). Subtract "
        f"its start value (of an energy: invariant=lambda s: [... - ({value:.9g})]), "
        f"correct the start values{correct}, or leave it out"
    )
