"""The unknowns of a hybrid DAE at an event, for given discrete values: those whose derivatives occur stay as they are.

Newton's method finds the others together with the derivatives. Where its matrix is singular, or it does not converge,
or unknowns that were reinitialized violate constraints, `completed_values` looks for the nearest values that suit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.kept import Slot
from dalembert.model import Model
from dalembert.model.evaluate import PointFunction
from dalembert.regularize import InitialValues
from dalembert.regularize.initial import completed_values
from dalembert.regularize.judgement import OCCASION
from dalembert.regularize.structure.forms import picked
from dalembert.regularize.structure.hidden import regularized
from dalembert.regularize.structure.system import is_regularized
from dalembert.simulation.iteration import Point

if TYPE_CHECKING:
    from dalembert.regularize.structure.aliases import Reduction
    from dalembert.solvers.method import Tolerances

EQUATIONS: Slot[Equations] = Slot("equations at events", most=1)

#: iterations of Newton's method; the last correction, in units of the tolerances
ITERATIONS, SMALL, SMALL_ENOUGH = 12, 1e-4, 1e-2
#: unknowns up to which matrices are dense
DENSE = 80
#: unknowns up to which more equations than unknowns are solved by least squares
LARGEST = 200


class Equations:
    """All equations of a model, and constraints that it hides, for unknowns w: those of x without derivatives, y, and
    the derivatives of the others."""

    def __init__(self, model: Model):
        graph = model.graph
        x, dx, y, y_names = graph.symbol["x"], graph.dx, ca.SX(0, 1), ()
        if is_regularized(model):
            form = regularized(model)
            y, y_names = form.y, form.y_names
            rows = ca.vertcat(form.k - ca.mtimes(form.E, dx), form.constraints, form.invariants.rows)
        elif "residual" in graph.functions:
            rows = graph.functions["residual"].sx
        else:
            f = graph.functions
            rows = f["rhs"].sx - ca.mtimes(f["leading"].sx, dx)
            rows = ca.vertcat(rows, f["constraints"].sx) if "constraints" in f else rows
        rows = ca.densify(rows)
        occurs = np.diff(ca.jacobian_sparsity(rows, dx).colind()) > 0
        self.moving, self.resting = np.flatnonzero(occurs), np.flatnonzero(~occurs)
        rates = picked(dx, self.moving)
        J = ca.sparsify(ca.jacobian(rows, ca.vertcat(picked(x, self.resting), y, rates)))
        along = ca.vertcat(graph.t, graph.u, graph.du, picked(x, self.moving))
        drift = ca.jtimes(rows, along, ca.vertcat(1, graph.du, graph.ddu, rates))
        branch = graph.branch()
        names = graph.vectors["x"]
        branch.vectors = {"x": names, "y": y_names, "dx": names}
        branch.symbol = {"x": x, "y": y, "dx": dx}
        self.shape, self.n_y = J.shape, y.numel()
        self._rows, self._columns = (np.array(part, int) for part in J.sparsity().get_triplet())
        nonzeros = ca.vec(J.nz[:]) if J.nnz() else ca.SX(0, 1)
        self._function = PointFunction(branch, [rows, nonzeros])
        self._drift = PointFunction(branch, [drift])
        self.square = J.shape[0] == J.shape[1]
        self.usable = J.shape[0] >= J.shape[1] and (self.square or J.shape[1] <= LARGEST)

    def solve(
        self, t: float, x: np.ndarray, y: np.ndarray, x_dot: np.ndarray, theta: np.ndarray, weight: np.ndarray
    ) -> dict[str, np.ndarray] | None:
        """x, y and their derivatives at t, or None if Newton's method does not find them."""
        values = {"x": x.copy(), "y": y.copy(), "dx": x_dot.copy()}
        values["dx"][self.resting] = 0.0
        n_a, n_y = len(self.resting), self.n_y
        before = np.inf
        for _ in range(ITERATIONS):
            solver, residual = self._matrix(t, values, theta)
            step = None if solver is None else solver(-residual)
            if step is None or not np.isfinite(step).all():
                return None
            values["x"][self.resting] += step[:n_a]
            values["y"] += step[n_a : n_a + n_y]
            values["dx"][self.moving] += step[n_a + n_y :]
            size = np.abs(step) / self._weights(values, weight)
            norm = float(size.max(initial=0.0))
            if norm <= SMALL:
                break
            if norm > 2 * before and before < 1.0:
                return None
            before = norm
        else:  # at a kink, or among rounding errors, it gets no nearer than that
            if before > SMALL_ENOUGH:
                return None
        if not self.square and not self._holds(t, values, theta):
            return None
        assert solver is not None, "the last step was taken with it"
        rates = solver(-self._drift(t, values, theta)[0].ravel())
        values["dx"][self.resting] = rates[:n_a]
        return {"x": values["x"], "x_dot": values["dx"], "y": values["y"], "y_dot": rates[n_a : n_a + n_y]}

    def _weights(self, values: dict[str, np.ndarray], weight: np.ndarray) -> np.ndarray:
        """What corrections are compared with."""
        small = float(weight.min())
        parts = [weight[self.resting], *(small * (1 + np.abs(v)) for v in (values["y"], values["dx"][self.moving]))]
        return np.concatenate(parts)

    def _matrix(
        self, t: float, values: dict[str, np.ndarray], theta: np.ndarray
    ) -> tuple[Callable[[np.ndarray], np.ndarray] | None, np.ndarray]:
        """What solves with the Jacobian, rows scaled; and the residual."""
        residual, nonzeros = (part.ravel() for part in self._function(t, values, theta))
        if not (np.isfinite(residual).all() and np.isfinite(nonzeros).all()):
            return None, residual
        m, n = self.shape
        scale = np.zeros(m)
        np.maximum.at(scale, self._rows, np.abs(nonzeros))
        scale = 1.0 / np.where(scale > 0, scale, 1.0)
        entries = nonzeros * scale[self._rows]
        if self.square and n > DENSE:
            return _sparse(entries, self._rows, self._columns, n, scale), residual
        matrix = np.zeros((m, n))
        matrix[self._rows, self._columns] = entries
        if not self.square:
            return lambda b: np.linalg.lstsq(matrix, scale * b, rcond=1e-13)[0], residual
        from scipy.linalg.lapack import dgetrf, dgetrs

        factors, pivots, info = dgetrf(matrix)
        diagonal = np.abs(np.diagonal(factors))
        if info or diagonal.min(initial=1.0) <= 1e-14 * diagonal.max(initial=0.0):
            return None, residual
        return lambda b: dgetrs(factors, pivots, scale * b)[0], residual

    def _holds(self, t: float, values: dict[str, np.ndarray], theta: np.ndarray) -> bool:
        """Whether equations that no unknown of these can change are satisfied."""
        residual, nonzeros = (part.ravel() for part in self._function(t, values, theta))
        size = np.bincount(self._rows, np.abs(nonzeros), self.shape[0])
        return bool((np.abs(residual) <= 1e-6 * np.maximum(size, 1.0)).all())


def _sparse(
    entries: np.ndarray, rows: np.ndarray, columns: np.ndarray, n: int, scale: np.ndarray
) -> Callable[[np.ndarray], np.ndarray] | None:
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    try:
        factors = splu(csc_matrix((entries, (rows, columns)), shape=(n, n)))
    except RuntimeError:  # singular
        return None
    return lambda b: factors.solve(scale * b)


class Continuous:
    """Solves for the unknowns of a model."""

    def __init__(self, model: Model, reduction: Reduction | None, tolerances: Tolerances):
        self.model, self._reduction, self._tolerances = model, reduction, tolerances
        own = model if reduction is None else reduction.of(model)
        self._own = own
        self._equations = own.kept.get(EQUATIONS, None, lambda: Equations(own))
        kept = np.arange(len(model.names("x"))) if reduction is None else reduction.expansion.kept
        self.moving = kept[self._equations.moving]  # unknowns of the whole model that stay
        self._y = np.zeros(self._equations.n_y)
        self._x_dot = np.zeros(len(own.names("x")))

    def memory(self) -> list[np.ndarray]:
        """From where the next search begins, for a checkpoint."""
        return [self._y.copy(), self._x_dot.copy()]

    def recall(self, memory: list[np.ndarray]) -> None:
        self._y, self._x_dot = memory

    def solve(self, t: float, point: Point, differs: Callable[[np.ndarray, np.ndarray], bool]) -> Point:
        """The point with unknowns that suit its discrete values; itself if nothing that they depend on has changed."""
        if not point.held and point.found_for is not None and not differs(point.discrete, point.found_for):
            return point
        found = self._found(t, point)
        return replace(point, x=found.values["x"], found=found, found_for=point.discrete, held=())

    def complete(self, t: float, point: Point) -> Point:
        """The point with all that a method starts from."""
        return point if point.found is not None else replace(point, found=self._found(t, point))

    def _found(self, t: float, point: Point) -> InitialValues:
        quick = self._quickly(t, point) if self._equations.usable else None
        return quick if quick is not None else self._nearest(t, point)

    def _quickly(self, t: float, point: Point) -> InitialValues | None:
        own, reduction = self._own, self._reduction
        theta, x = self.model.theta(t, point.discrete), point.x
        kept = x if reduction is None else x[reduction.expansion.kept]
        weight = self._tolerances.atol + self._tolerances.rtol * np.abs(x)
        weight = weight if reduction is None else weight[reduction.expansion.kept]
        if len(self._x_dot) != len(kept):
            self._x_dot = np.zeros(len(own.names("x")))
        values = self._equations.solve(t, kept, self._y, self._x_dot, theta, weight)
        if values is None:
            return None
        self._y, self._x_dot = values["y"].copy(), values["x_dot"].copy()
        if reduction is not None:
            expansion = reduction.expansion
            values["x"] = expansion.states(values["x"], theta)
            values["x_dot"] = expansion.rates(values["x_dot"])
        return InitialValues(t, values, 0.0)

    def _nearest(self, t: float, point: Point) -> InitialValues:
        model = self.model.with_discrete(point.discrete)
        token = OCCASION.set(None)
        try:
            fixed = tuple(self.model.names("x")[j] for j in point.held)
            try:
                return completed_values(model, t, {"x0": point.x}, fixed=fixed)
            except InconsistentInitialValues:
                if not fixed:
                    raise
                return completed_values(model, t, {"x0": point.x})
        finally:
            OCCASION.reset(token)
