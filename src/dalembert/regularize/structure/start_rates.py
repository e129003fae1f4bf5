"""x' and y' at a consistent point: by expressions, and by the derivatives of the constraints."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.errors import InconsistentInitialValues
from dalembert.kept import Slot
from dalembert.model.evaluate import PointFunction, is_large
from dalembert.regularize.newton import Matrix, equilibrated, row_sizes
from dalembert.regularize.structure.forms import Regularized, picked
from dalembert.regularize.structure.start_equations import extended
from dalembert.regularize.structure.start_steps import NearestStep

RATES: Slot[Rates] = Slot("derivatives at the start", most=1)


class Rates:
    """x' where expressions give it, ∂h/∂x, ∂h/∂y and the partial derivatives of h by time, as functions of a point.

    Constraints with second derivatives of inputs cannot be differentiated again, and are left out.
    """

    def __init__(self, form: Regularized):
        graph, h = form.model.graph, form.constraints
        if graph.ddu.numel() and ca.depends_on(h, graph.ddu):
            touched = np.diff(ca.jacobian_sparsity(h, graph.ddu).T.colind()) > 0
            h = picked(h, np.flatnonzero(~touched))
        along, direction = ca.vertcat(graph.t, graph.u, graph.du), ca.vertcat(1, graph.du, graph.ddu)
        J = ca.jacobian(h, ca.vertcat(form.x, form.y))
        outputs = [form.rates, J, ca.jtimes(h, along, direction)]
        self._function = PointFunction(extended(form), outputs, sparse=is_large(J))

    def __call__(self, t: float, x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> list[Matrix]:
        rates, J, h_t = self._function(t, {"x": x, "y": y}, theta)
        return [rates.ravel(), J, h_t.ravel()]


def derivatives(
    form: Regularized, t: float, x: np.ndarray, y: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x' and y' at a consistent point; the smallest where equations do not determine them."""
    rates, J, h_t = form.model.kept.get(RATES, form, lambda: Rates(form))(t, x, y, theta)
    if not np.isfinite(rates).all():
        bad = form.model.names("x")[int(np.argmax(~np.isfinite(rates)))]
        raise InconsistentInitialValues(
            f"the derivative of '{bad}' is not finite at the start values, t = {t:.9g}; check the model there"
        )
    z_dot = np.concatenate([rates, np.zeros(len(y))])
    columns = np.flatnonzero(np.concatenate([~form.determined, np.ones(len(y), bool)]))
    b = -h_t - J @ z_dot
    # what is not finite restricts nothing: √x at zero
    usable = np.isfinite(b) & np.isfinite(row_sizes(J))
    if len(columns) and usable.any():
        A, rows = equilibrated(J[np.flatnonzero(usable)])
        z_dot += NearestStep(columns, np.zeros(0, int))(A, b[usable] / rows)[0]
    return z_dot[: len(x)], z_dot[len(x) :]
