"""Fully implicit differential-algebraic equations F(t, x, x') = 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import ModelError
from dalembert.locks import forks_wait
from dalembert.model.base import occurrences
from dalembert.model.dae import DAE
from dalembert.model.functions import ModelFunction, describe


class ImplicitDAE(DAE):
    """F(t, x, x') = 0, of index 1 or 0, with as many equations as unknowns. Derivatives may occur in any way.

    Parameters
    ----------
    x : sequence of str
        Names of the unknowns.
    residual : callable
        F. In the namespace `s`, derivatives are `s.<name>_dot`, and all of them the vector `s.dx`. A function that
        cannot be traced runs as Python code, and its derivatives are differences.
    parameters, inputs, discrete, outputs, start, drawing
        As in `EquationsOfMotion`; outputs do not read derivatives.
    hidden : {"auto", "given"}
        As in `QuasiLinearDAE`.

    Examples
    --------
    >>> import dalembert as da
    >>> tank = da.ImplicitDAE(x=["height"], residual=lambda s: [s.height_dot * abs(s.height_dot) + 0.04 * s.height])
    >>> sol = da.simulate(tank, (0, 5), x0=[1.0], dx0=[-0.2], method=da.Dassl())      # √height falls by 0.1 a second
    >>> round(float(sol.x[-1, 0]), 4)
    0.25
    """

    readable_kinds = start_kinds = ("x", "dx")
    own_formulation = "implicit"
    linear_in_rates = False
    n_constraints = 0

    @forks_wait
    def __init__(
        self,
        x: Sequence[str],
        residual: Any,
        *,
        parameters: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        discrete: Mapping[str, float] | None = None,
        outputs: Mapping[str, Any] | None = None,
        start: Mapping[str, Any] | None = None,
        drawing: Any = None,
        hidden: str = "auto",
        name: str = "model",
    ):
        faults = self._begin_dae(name, x, parameters, inputs, discrete, hidden)
        graph, n = self.graph, self.graph.size("x")
        taken = {*graph.vectors["x"], *graph.other_names()}
        for variable in graph.vectors["x"]:
            if f"{variable}_dot" in taken:
                faults.append(f"the name '{variable}_dot' is given, but stands for the derivative of '{variable}'")
        if residual is None:
            faults.append("residual= is missing: give a function of the namespace s")
        function = self._trace("residual", residual, faults) if not faults else None
        if function is not None:
            self._check(function, residual, faults)
        if faults:
            raise ModelError(f"model '{name}' has faults", faults)
        column = ca.densify(ca.vec(function.sx)) if function.traced else None
        graph.functions["residual"] = ModelFunction("residual", (n, 1), 1, column, function.python, function.reason)
        self._finish(outputs, start, faults, drawing)

    def _check(self, function: ModelFunction, given: Any, faults: list[str]) -> None:
        graph, where = self.graph, describe("residual", given)
        n, rows = graph.size("x"), function.shape[0] * function.shape[1]
        if min(function.shape) > 1:
            faults.append(f"{where}: returned a {function.shape[0]}×{function.shape[1]} matrix; return a vector")
        elif rows != n:
            faults.append(f"{where}: returned {rows} values; {n} unknowns need {n}: {', '.join(graph.vectors['x'])}")
        elif function.traced:
            rows, columns = occurrences(function.sx, ca.vertcat(graph.symbol["x"], graph.dx))
            for i in np.flatnonzero(~rows):
                faults.append(f"equation {i + 1} contains neither a derivative nor an unknown")
            for variable, occurs in zip(graph.vectors["x"], columns[:n] | columns[n:], strict=True):
                if not occurs:
                    faults.append(f"'{variable}' occurs in no equation")

    def found_at_start(self, kind: str) -> frozenset[str]:
        """Unknowns whose derivatives occur nowhere; of a function in Python nothing is known. Derivatives are found."""
        residual = self.graph.functions["residual"]
        if kind != "x" or not residual.traced:
            return frozenset()
        occurs = np.diff(ca.jacobian_sparsity(residual.sx, self.graph.dx).colind()) > 0
        return frozenset(name for name, there in zip(self.names("x"), occurs, strict=True) if not there)

    @property
    def n_differential(self) -> int:
        """Number of equations; which of them contain derivatives depends on where they are evaluated."""
        return self.graph.size("x")

    def __repr__(self) -> str:
        return f"ImplicitDAE({self.name!r}: {self.graph.size('x')} unknowns)"
