"""The one form every implicit method integrates: F(t, x, x') = 0, as expressions of one graph.

For all models but `ImplicitDAE` it is F = k(x,t) − E(x,t) x'.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.kept import Kept, Slot, computed
from dalembert.model import Model
from dalembert.model.chain import total_jacobian
from dalembert.regularize.form import Form

if TYPE_CHECKING:
    from dalembert.regularize.initial import InitialValues

STACKED: Slot[System] = Slot("stacked system", most=1)
EXPLICIT: Slot[System] = Slot("explicit system", most=1)


def places(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Where vectors stand that follow each other.

    >>> places({"p": 2, "lam": 1})
    {'p': slice(0, 2, None), 'lam': slice(2, 3, None)}
    """
    ends = itertools.accumulate(sizes.values())
    return {kind: slice(end - size, end) for (kind, size), end in zip(sizes.items(), ends, strict=True)}


@dataclass(frozen=True, eq=False)
class System(Form):
    """A formulation of a model.

    `variables` and `equations` name columns and rows for messages. `index` is each variable's index, by which error
    norms are scaled (1, 2 or 3). `constraints` holds further equations of an overdetermined form.
    """

    model: Model
    formulation: str
    slices: dict[str, slice]
    variables: tuple[str, ...]
    equations: tuple[str, ...]
    index: np.ndarray
    x: ca.SX
    x_dot: ca.SX
    residual: ca.SX  # F
    jacobian: ca.SX  # ∂F/∂x, as used by Newton's method
    leading: ca.SX  # E = −∂F/∂x'
    constraints: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    constraint_names: tuple[str, ...] = ()
    derivative_of: np.ndarray | None = (
        None  # of which unknowns x the unknowns y are derivatives, if that is all they are
    )
    kept: Kept = field(init=False, repr=False)
    blocks = None  # of a `ProjectedSystem`: its block structure

    def start(self, initial: InitialValues) -> tuple[np.ndarray, np.ndarray]:
        """x and x' from consistent values of the model."""
        x, x_dot = super().start(initial)
        if self.derivative_of is not None and "y" not in initial.values:
            x[self.slices["y"]] = initial.values["x_dot"][self.derivative_of]
        return x, x_dot

    @computed
    def settles_multipliers(self) -> bool:
        model = self.model
        return model.mechanical and self.blocks is None and bool(model.names("lam") or model.names("mu"))

    @computed
    def leading_is_constant(self) -> bool:
        """Whether E depends neither on x, x' nor on t, inputs that move, or discrete variables."""
        graph = self.model.graph
        moving = ca.vertcat(self.x, self.x_dot, graph.changing)
        known = all(b.role == "mass" and "constant mass" in graph.promises for b in graph.externals_in(self.leading))
        return known and not ca.depends_on(self.leading, moving)

    @computed
    def differential(self) -> np.ndarray:
        """Mask of the variables whose derivative occurs."""
        return np.diff(self.leading.sparsity().colind()) > 0

    @computed
    def differential_equations(self) -> np.ndarray:
        """Mask of the equations in which a derivative occurs."""
        return np.diff(self.leading.sparsity().T.colind()) > 0

    def stacked(self) -> System:
        """The same with the constraints below the other equations, as one residual of more rows than unknowns."""
        return self.kept.get(STACKED, None, self._stacked)

    def _stacked(self) -> System:
        h = self.constraints
        return replace(
            self,
            equations=self.equations + self.constraint_names,
            residual=ca.vertcat(self.residual, h),
            jacobian=ca.vertcat(self.jacobian, total_jacobian(self.model.graph, h, self.x)),
            leading=ca.vertcat(self.leading, ca.SX(h.numel(), self.n)),
            constraints=ca.SX(0, 1),
            constraint_names=(),
        )

    def explicit(self) -> System:
        """The same with equations of motion v' = M⁻¹ (…) in place of M v' = …: a mass matrix of one, fuller rows."""
        return self.kept.get(EXPLICIT, None, self._explicit)

    def _explicit(self) -> System:
        part, graph = self.slices["v"], self.model.graph
        rows = self.residual[part]
        if graph.functions["mass"].native is not None:
            raise ModelError(
                f"model '{self.model.name}': its mass is a native function, whose inverse would be a graph that grows "
                "with the model; give native code for v' itself, with mass=1"
            )
        if ("force", "with a") in graph.externals:
            missing = ca.mtimes(graph.value("mass"), graph.a) - graph.value("force")
            rows = ca.substitute(rows, graph.native("force", "with a"), missing)
        M = -ca.jacobian(rows, self.x_dot[part])
        forces = ca.substitute(rows, self.x_dot[part], ca.SX.zeros(M.shape[0]))
        rows = ca.solve(M, forces) - self.x_dot[part]
        residual = ca.vertcat(self.residual[: part.start], rows, self.residual[part.stop :])
        by_x = total_jacobian(graph, rows, self.x)
        J = ca.vertcat(self.jacobian[: part.start, :], by_x, self.jacobian[part.stop :, :])
        return replace(
            self,
            residual=ca.densify(residual),
            jacobian=ca.sparsify(J),
            leading=-ca.sparsify(total_jacobian(graph, residual, self.x_dot)),
        )

    def eliminable(self, pattern: tuple[np.ndarray, np.ndarray] | None = None) -> list[tuple[int, int]]:
        """Pairs (row, variable) of equations x_j' = k_i in which k_i contains no eliminated variable.

        For those Δx_j = (R_i + Σ J_ik Δx_k)/σ, so that Newton's linear systems shrink by their number: for p' = v the
        positions drop out. `pattern` holds rows and columns of ∂F/∂x if they are more than the graph shows (functions
        that could not be traced).
        """
        E = self.leading
        rows, columns = (np.array(part, int) for part in E.sparsity().get_triplet())
        alone = (np.bincount(rows, minlength=self.residual.numel())[rows] == 1) & (
            np.bincount(columns, minlength=self.n)[columns] == 1
        )
        entries = E.nz[np.flatnonzero(alone).tolist()].elements()
        ones = [entry.is_constant() and float(entry) == 1.0 for entry in entries]
        candidates = dict(sorted(zip(rows[alone][ones].tolist(), columns[alone][ones].tolist(), strict=True)))
        reads: dict[int, set[int]] = {row: set() for row in candidates}
        pattern = self.jacobian.sparsity().get_triplet() if pattern is None else pattern
        read_rows, read_columns = (np.asarray(part, int) for part in pattern)
        relevant = np.isin(read_rows, list(candidates))
        for row, column in zip(read_rows[relevant].tolist(), read_columns[relevant].tolist(), strict=True):
            reads[row].add(column)
        chosen: list[tuple[int, int]] = []
        eliminated: set[int] = set()
        used: set[int] = set()  # variables read by chosen rows
        for row, column in candidates.items():
            if column in used or column in reads[row] or not reads[row].isdisjoint(eliminated):
                continue
            chosen.append((row, column))
            eliminated.add(column)
            used |= reads[row]
        return chosen
