"""Initial values from conditions: all constraints, hidden ones included, together with equations the user adds.

What GEOMS calls GEINIVAL [1]_: conditions dominate the given values, which only say where to start. Too few of them:
the given values are checked, not changed. More than necessary: fine if they fit together.

References
----------
.. [1] A. Steinbrecher, "GEOMS", WIAS Preprint 1259, 2007, section 3.
"""

from __future__ import annotations

import copy
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import said, shown
from dalembert.errors import InconsistentInitialValues, ModelError
from dalembert.model import Model
from dalembert.model.chain import total_jacobian
from dalembert.model.evaluate import PointFunction
from dalembert.model.event import Event, trace_events
from dalembert.model.numeric import jacobian as numeric_jacobian
from dalembert.model.vocabulary import equation_names, numbered
from dalembert.regularize.hidden import derive
from dalembert.regularize.newton import nearest_solution
from dalembert.regularize.system import places

#: singular values below this fraction of the largest count as zero
RANK = 1e-9
#: residuals of initial conditions at most: each is traced by itself
MOST_CONDITIONS = 10_000


def solve_conditions(
    model: Model, t: float, start: dict[str, np.ndarray], conditions: Any, rtol: float, atol: float
) -> dict[str, np.ndarray]:
    """Values of all vectors that satisfy every constraint and the conditions.

    Raises InconsistentInitialValues if they do not determine the values and the given ones violate them, or if they
    contradict each other.
    """
    problem = _Problem(model, t, conditions)
    z = np.concatenate([start[kind] for kind in model.state_kinds] + [np.zeros(model.graph.size("v"))])
    problem.must_be_finite(z)
    # accelerations first: they are never given, and everything else is judged with them
    z = problem.with_accelerations(z)
    residual, J = problem(z)
    undetermined = problem.undetermined(J, z)
    if undetermined:
        weight = atol + rtol * (1 + np.abs(z).max(initial=0))
        step = np.linalg.lstsq(J, -residual, rcond=1e-12)[0]
        if np.abs(step).max(initial=0) > weight:
            worst = int(np.argmax(np.abs(residual)))
            raise InconsistentInitialValues(
                f"the given values violate {problem.names[worst]} (residual {residual[worst]:.3e}) at t = {t:.9g}, and "
                f"the initial conditions do not determine others: {undetermined} remain free. Give "
                f"{problem.missing(J, z)} more conditions, independent of the constraints, or leave initial_conditions "
                "out to have the values corrected."
            )
        return problem.values(z)
    try:
        z = nearest_solution(problem, z, problem.names, "all variables", t)
    except InconsistentInitialValues as error:
        raise InconsistentInitialValues(
            f"{error} More conditions were given than the constraints leave free, or they contradict the constraints."
            if problem.overdetermined(J, z)
            else str(error)
        ) from None
    return problem.values(z)


class _Problem:
    """All constraints and the conditions as a function of z = (p, v, r, w, s, λ, μ, a)."""

    def __init__(self, model: Model, t: float, conditions: Any):
        graph, levels = model.graph, derive(model)
        self.model, self.t, self.theta = model, t, model.theta(t)
        motion = graph.value("force") - levels.constraint_force - ca.mtimes(graph.value("mass"), graph.a)
        d = graph.value("auxiliary") if graph.size("w") else ca.SX(0, 1)
        rows = ca.vertcat(levels.c, levels.g, levels.g_I, levels.h, motion, d, levels.g_II, levels.h_I)
        # last: conditions that cannot be traced are known to a branch of the graph as it is now
        added, with_conditions = _traced(model, conditions)
        rows = ca.vertcat(rows, added)
        order = (("s", None), ("lam", None), ("lam", "velocity"), ("mu", None), ("v", None), ("w", None),
                 ("lam", "acceleration"), ("mu", "acceleration"))  # fmt: skip
        equations = (equation_names(kind, model.names(kind), level) for kind, level in order)
        self.names = (*(name for names in equations for name in names), *numbered("initial condition", added.numel()))
        kinds = (*model.state_kinds, "a")
        self._slices = places({kind: graph.size(kind) for kind in kinds})
        self._variables = [name for kind in kinds for name in model.names(kind)]
        unknowns = ca.vertcat(*(graph.symbol[kind] for kind in model.state_kinds), graph.a)
        self._exact = all(block.native is not None for block in with_conditions.graph.externals_in(rows))
        outputs = [rows, total_jacobian(with_conditions.graph, rows, unknowns)] if self._exact else [rows]
        self._function = PointFunction(with_conditions, outputs)
        # r only occurs in forces: without a condition on it the given value stays
        self._fixed = np.zeros(unknowns.numel(), bool)
        self._fixed[self._slices["r"]] = not ca.depends_on(added, graph.symbol["r"])

    def values(self, z: np.ndarray) -> dict[str, np.ndarray]:
        return {kind: z[part] for kind, part in self._slices.items()}

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._exact:
            residual, J = self._function(self.t, self.values(z), self.theta)
        else:
            residual, J = self._residual(z), numeric_jacobian(self._residual, z)
        J = J.copy()
        J[:, self._fixed] = 0.0
        return residual.ravel(), J

    def _residual(self, z: np.ndarray) -> np.ndarray:
        return self._function(self.t, self.values(z), self.theta)[0].ravel()

    def must_be_finite(self, z: np.ndarray) -> None:
        """Raise if an equation or a condition cannot be evaluated at the given values."""
        residual, J = self(z)
        bad = ~(np.isfinite(residual) & np.isfinite(J).all(axis=1))
        if bad.any():
            raise InconsistentInitialValues(
                f"{self.names[int(np.argmax(bad))]}, or a derivative of it, is not finite at the given values, "
                f"t = {self.t:.9g}: give others from where to start"
            )

    def with_accelerations(self, z: np.ndarray) -> np.ndarray:
        """Set a, λ, μ and w by the rows that contain them linearly or nearly so."""
        residual, J = self(z)
        columns = np.concatenate([np.arange(len(z))[self._slices[kind]] for kind in ("w", "lam", "mu", "a")])
        step = np.linalg.lstsq(J[:, columns], -residual, rcond=1e-12)[0]
        z = z.copy()
        z[columns] += step
        return z

    def _singular(self, J: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        moving = ~self._fixed
        scaled = J[:, moving] * (1 + np.abs(z[moving]))
        rows = np.abs(scaled).max(axis=1, initial=0)
        scaled = scaled / np.where(rows > 0, rows, 1)[:, None]
        _, S, V = np.linalg.svd(scaled)
        return S, V, np.flatnonzero(moving)

    def missing(self, J: np.ndarray, z: np.ndarray) -> int:
        """How many independent conditions are missing."""
        S, _, moving = self._singular(J, z)
        return len(moving) - int((RANK * S.max(initial=0) < S).sum())

    def overdetermined(self, J: np.ndarray, z: np.ndarray) -> bool:
        S, _, _ = self._singular(J, z)
        return len(self.names) > int((RANK * S.max(initial=0) < S).sum())

    def undetermined(self, J: np.ndarray, z: np.ndarray) -> str:
        """Names of positions, velocities, … that constraints and conditions leave free; empty if there are none."""
        S, V, moving = self._singular(J, z)
        rank = int((RANK * S.max(initial=0) < S).sum())
        if rank == len(moving):
            return ""
        weight = np.abs(V[rank:]).max(axis=0)
        shown = [moving[k] for k in np.argsort(-weight)[:4] if weight[k] > 0.3 * weight.max()]
        return ", ".join(f"'{self._variables[k]}'" for k in sorted(shown))


def _traced(model: Model, conditions: Any) -> tuple[ca.SX, Model]:
    """The conditions as a column, and the model with a graph that knows them."""
    if not callable(conditions):
        raise ModelError(f"initial_conditions must be a function of the namespace s, not {shown(conditions)}")
    count = _count(model, conditions)
    if count > MOST_CONDITIONS:
        raise ModelError("initial_conditions", [f"returns {count} residuals, more than {MOST_CONDITIONS}"])
    events = [Event(lambda s, i=i: conditions(s)[i], name=f"initial condition {i + 1}") for i in range(count)]
    if not events:
        return ca.SX(0, 1), model
    traced, variant = trace_events(model, events), copy.copy(model)
    variant.graph = traced.graph
    return traced.values, variant


def _count(model: Model, conditions: Any) -> int:
    graph = model.graph.branch(model.outputs)
    kinds = graph.event_kinds
    for namespace in (graph.symbols(kinds, {}), *graph.sample_points(kinds, {})):
        try:
            return len(conditions(namespace))
        except Exception as error:  # symbols may be too much for it; then numbers are tried
            reason = error
    raise ModelError("initial_conditions", [f"raises {said(reason)}; it must return a list of residuals"])
