"""The equations that start values of a regularized DAE satisfy, in numbers: constraints of all levels, invariants, and
conditions.

Unknowns are z = (x, y). They and the equations have *stages*, the order in which Pryce's method solves for them [1]_:
an unknown x_j of which derivatives up to order d_j follow has stage −d_j, its derivatives the next ones, and an
equation that of its latest unknown. Of a mechanism these are positions, velocities, at last accelerations and
multipliers.

References
----------
.. [1] J. D. Pryce, "A simple structural analysis method for DAEs", BIT 41 (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import ModelError
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.evaluate import PointFunction, is_large
from dalembert.model.functions import ModelFunction, call_with_numbers, trace
from dalembert.model.graph import Graph
from dalembert.model.hybrid import Beginning
from dalembert.model.numeric import jacobian as numeric_jacobian
from dalembert.model.vocabulary import numbered
from dalembert.regularize.newton import Matrix
from dalembert.regularize.structure.forms import Regularized

EQUATIONS: Slot[StartEquations] = Slot("equations of start values", most=1)
#: residuals of initial conditions at most
MOST_CONDITIONS = 100_000


class StartEquations:
    """Residuals of constraints, invariants and conditions, and their derivatives by z.

    Attributes
    ----------
    variables, names : tuples of str
        Of the unknowns z and of the equations.
    stage, row_stage : arrays of int
        Of the unknowns and of the equations.
    conditions : array of bool
        Which equations are the user's conditions.
    n_x, n_y : int
        z begins with as many x and y.
    """

    def __init__(self, form: Regularized, conditions: Conditions | None = None):
        graph, rows = extended(form), ca.vertcat(form.constraints, form.invariants.rows)
        self.n_x, self.n_y = form.x.numel(), form.y.numel()
        self.variables = (*form.model.names("x"), *form.y_names)
        self.stage = stages(form)
        names, n_own = [*form.constraint_names, *form.invariants.names], rows.numel()
        self._python = conditions if conditions is not None and not conditions.function.traced else None
        if conditions is not None:
            names += conditions.names
            rows = ca.vertcat(rows, conditions.rows) if self._python is None else rows
        self.names = tuple(names)
        self.conditions = np.arange(len(names)) >= n_own
        J = ca.jacobian(rows, ca.vertcat(form.x, form.y))
        self.sparse = is_large(J)
        self._function = PointFunction(graph, [rows, J], sparse=self.sparse)
        # of a function in Python nobody knows what it reads
        last = np.full(len(names) - rows.numel(), self.stage.max(initial=0))
        self.row_stage = np.concatenate([latest(J, self.stage), last])
        self._entries = [np.array(part, int) for part in J.sparsity().get_triplet()]

    def unknowns(self, rows: np.ndarray) -> np.ndarray:
        """Numbers of the unknowns that occur in some of the equations (a mask)."""
        if self._python is not None and rows[-1]:
            return np.arange(len(self.stage))
        i, j = self._entries
        return np.unique(j[rows[i]])

    def __call__(self, t: float, z: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, Matrix]:
        """Residuals and their derivatives."""
        residual, J = self._function(t, {"x": z[: self.n_x], "y": z[self.n_x :]}, theta)
        residual = residual.ravel()
        if self._python is None:
            return residual, J

        def condition(z: np.ndarray) -> np.ndarray:
            return self._python.numbers(t, z[: self.n_x], z[self.n_x :], theta)

        more, by_z = condition(z), numeric_jacobian(condition, z)
        if not self.sparse:
            return np.concatenate([residual, more]), np.vstack([J, by_z])
        from scipy.sparse import csc_matrix, vstack

        return np.concatenate([residual, more]), csc_matrix(vstack([J, csc_matrix(by_z)]))


def start_equations(form: Regularized) -> StartEquations:
    """Those of a model without conditions, made once."""
    return form.model.kept.get(EQUATIONS, form, lambda: StartEquations(form))


# -- parts of the form -------------------------------------------------------------------------------------------------


def stages(form: Regularized) -> np.ndarray:
    """Of x and y."""
    d, (columns, orders) = form.structure.d, form.y_of.T
    return np.concatenate([-d, orders - d[columns]]).astype(int)


def latest(J: ca.SX, stage: np.ndarray) -> np.ndarray:
    """For every row the latest stage of the unknowns in it; −1 beyond the first where there is none."""
    rows, columns = (np.array(part, int) for part in J.sparsity().get_triplet())
    out = np.full(J.shape[0], int(stage.min(initial=0)) - 1)
    np.maximum.at(out, rows, stage[columns])
    return out


def extended(form: Regularized) -> Graph:
    """A branch of the model's graph that knows y as a vector."""
    graph = form.model.graph.branch()
    graph.vectors = {"x": form.model.names("x"), "y": form.y_names}
    graph.symbol = {"x": form.x, "y": form.y}
    return graph


# -- conditions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WithOwn:
    """Initial conditions that belong to a model, and perhaps more of the user."""

    beginning: Beginning
    users: Callable[[Any], Any] | None = None


def all_conditions(model: Model, users: Callable[[Any], Any] | None) -> Any:
    """What a model demands of its start values and what its user does."""
    own = model.beginning
    return users if own is None or not own.conditions.numel() else WithOwn(own, users)


_NONE = ModelFunction("initial_conditions", (0, 1), 1, ca.SX(0, 1))


class Conditions:
    """Initial conditions of the user: residuals that may contain x, x', t, parameters, inputs and outputs."""

    #: names of unknowns hide those of derivatives
    KINDS = ("dx", "x")

    def __init__(self, model: Model, form: Regularized, given: Any):
        own = None
        if isinstance(given, WithOwn):
            own, given = given.beginning, given.users
        if not callable(given) and (own is None or given is not None):
            raise ModelError(f"initial_conditions must be a function of the namespace s, not {shown(given)}")
        faults: list[str] = []
        self._graph = graph = model.graph.branch(model.outputs)
        self.function = _NONE if given is None else self._traced(graph, given, faults)
        if faults:
            raise ModelError("initial_conditions", faults)
        self.names = numbered("initial condition", self.function.shape[0] * self.function.shape[1])
        if own is not None:
            self._add(graph, own)
        self.count = len(self.names)
        self.rows = self._rates = None
        if self.function.traced:
            self.rows = self._without_rates(form, ca.densify(ca.vec(self.function.sx)))
        else:
            self._rates = PointFunction(extended(form), [form.rates])

    def _add(self, graph: Graph, own: Beginning) -> None:
        """The model's own conditions before those of the user."""
        if not self.function.traced:
            reason = self.function.reason
            raise ModelError(f"initial_conditions= of a model with conditions of its own must be traced: {reason}")
        rows, whole = own.conditions, getattr(graph, "whole", None)
        if whole is not None:
            old, new = (ca.vertcat(*pair) for pair in zip(
                (whole.symbol["x"], graph.expressions["x"]), (whole.dx, graph.expressions["dx"]), strict=True))
            rows = ca.substitute(rows, old, new)
        sx = ca.vertcat(rows, ca.vec(self.function.sx))
        self.function = ModelFunction("initial_conditions", sx.shape, 1, sx)
        self.names = (*own.condition_names, *self.names)

    def _traced(self, graph: Graph, given: Callable[[Any], Any], faults: list[str]) -> ModelFunction | None:
        samples = lambda: graph.sample_points(self.KINDS, {})  # noqa: E731
        function = trace("initial_conditions", given, graph.symbols(self.KINDS, {}), samples, faults)
        if function is None:
            return None
        count = function.shape[0] * function.shape[1]
        if function.ndim != 1:
            faults.append("returned no list; it must return a list of residuals")
        elif count > MOST_CONDITIONS:
            faults.append(f"returns {count} residuals, more than {MOST_CONDITIONS}")
        return function

    def _without_rates(self, form: Regularized, rows: ca.SX) -> ca.SX:
        """x' by what it is equal to."""
        if not rows.numel() or not ca.depends_on(rows, form.x_dot):
            return rows
        occurs = np.diff(ca.jacobian_sparsity(rows, form.x_dot).colind()) > 0
        unknown = [name for name, bad in zip(form.model.names("x"), occurs & ~form.determined, strict=True) if bad]
        if unknown:
            raise ModelError(
                "initial_conditions",
                [
                    f"contain the derivative of '{name}', which occurs in no equation: it cannot be given"
                    for name in unknown
                ],
            )
        return ca.substitute(rows, form.x_dot, form.rates)

    def numbers(self, t: float, x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Residuals of conditions that run as Python code."""
        rates = self._rates(t, {"x": x, "y": y}, theta)[0].ravel()
        space = self._graph.numbers(self.KINDS, {}, t, {"x": x, "dx": rates}, theta)
        return call_with_numbers(self.function.python, space).ravel()
