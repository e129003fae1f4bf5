"""Numbers of the hidden constraints of a DAE: what `model.hidden_constraints()` gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError
from dalembert.kept import computed
from dalembert.model import Model
from dalembert.regularize.structure.forms import Constraints, Regularized
from dalembert.regularize.structure.hidden import regularized

#: steps of the iteration for derivatives that are unknowns, and when it ends
STEPS, CONVERGED = 30, 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class HiddenLevels:
    """The constraints of a DAE by level: `levels[k]` were differentiated k times."""

    model: Model  # with its own values of parameters
    form: Regularized

    @property
    def levels(self) -> tuple[Constraints, ...]:
        return self.form.levels

    def __len__(self) -> int:
        """How many constraints the equations hide."""
        return int(self.form.added.sum())

    def __repr__(self) -> str:
        """How many there are on which level; the expressions themselves would be pages."""
        lines = [f"HiddenConstraints(of model {self.model.name!r}: {len(self)} hidden, by level"]
        for k, level in enumerate(self.levels):
            lines.append(f"  {k}: {len(level)}, {int(level.added.sum())} of them hidden")
        lines += [f"  invariants: {len(self.form.invariants)}"] if len(self.form.invariants) else []
        return "\n".join(lines) + ")" if len(lines) > 1 else f"HiddenConstraints(of model {self.model.name!r}: none)"

    def values(self, x: Any, t: float = 0.0) -> list[np.ndarray]:
        """Residuals of the constraints by level. Derivatives that are unknowns are those which fit best."""
        form, model = self.form, self.model
        try:
            x, t = reals(x).ravel(), real(t)
        except NoNumber as reason:
            raise ModelError(f"x={shown(x)}, t={shown(t)}: {reason}") from None
        if x.size != form.x.numel():
            raise ModelError(f"x has {x.size} values; the model has {form.x.numel()}")
        theta, y = model.theta(t), np.zeros(form.y.numel())
        if len(y):
            y = self._fitted(t, x, y, theta)
        rows = np.array(self._function(t, x, y, theta), float).ravel()
        ends = np.cumsum([len(level) for level in self.levels])
        return np.split(rows, ends[:-1]) if len(ends) else []

    @computed
    def _function(self) -> ca.Function:
        form, graph = self.form, self.form.model.graph
        return ca.Function("h", [graph.t, form.x, form.y, graph.theta], [ca.densify(form.constraints)])

    @computed
    def _with_y(self) -> ca.Function:
        """Those constraints that contain y, and their derivatives by y."""
        form, graph = self.form, self.form.model.graph
        h = form.constraints
        there = np.flatnonzero(np.diff(ca.jacobian_sparsity(h, form.y).T.colind())).tolist()
        return ca.Function("h", [graph.t, form.x, form.y, graph.theta], [h[there], ca.jacobian(h[there], form.y)])

    def _fitted(self, t: float, x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
        for _ in range(STEPS):
            rows, J = (np.array(part, float) for part in self._with_y(t, x, y, theta))
            if not (np.isfinite(rows).all() and np.isfinite(J).all()):
                break
            step = np.linalg.lstsq(J, rows.ravel(), rcond=None)[0]
            y = y - step
            if np.abs(step).max() <= CONVERGED * (1 + np.abs(y).max()):
                break
        return y


def hidden_levels(model: Model) -> HiddenLevels:
    """The constraints of a DAE by level, those that it hides too."""
    return HiddenLevels(model, regularized(model))
