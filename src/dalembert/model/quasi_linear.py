"""Quasi-linear differential-algebraic equations E(x,t) x' = k(x,t), 0 = h(x,t)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.locks import forks_wait
from dalembert.model.base import occurrences
from dalembert.model.dae import DAE
from dalembert.model.functions import ModelFunction, describe
from dalembert.model.travel import carried


class Diagonal:
    """A function for a diagonal as one for the matrix; messages name the user's."""

    def __init__(self, function: Callable[[Any], Any]):
        self.__wrapped__ = function

    def __call__(self, s: Any) -> np.ndarray:
        return np.diag(np.ravel(self.__wrapped__(s)))

    def __reduce__(self) -> tuple:
        return Diagonal, (carried(self.__wrapped__, "leading"),)


class QuasiLinearDAE(DAE):
    """E(x,t) x' = k(x,t) with optional constraints 0 = h(x,t), square or overdetermined.

    Parameters
    ----------
    x : sequence of str
        Names of the unknowns.
    leading : callable or array
        E, a matrix with one column for each unknown; a vector means a diagonal. Default: identity.
    rhs : callable
        k, one value for each row of E.
    constraints : callable, optional
        h. With as many equations in all as unknowns the DAE is square; more make it overdetermined.
    parameters, inputs, discrete, outputs, start, drawing
        As in `EquationsOfMotion`.
    hidden : {"auto", "given"}
        What becomes of constraints that the equations hide: derivatives of equations that must hold, too. "auto": they
        are derived, if all functions can be traced. "given": the equations are taken as they stand.

    Examples
    --------
    >>> import dalembert as da
    >>> robertson = da.QuasiLinearDAE(
    ...     x=["A", "B", "C"], leading=[1, 1, 0],
    ...     rhs=lambda s: [-0.04 * s.A + 1e4 * s.B * s.C,
    ...                    0.04 * s.A - 1e4 * s.B * s.C - 3e7 * s.B**2,
    ...                    s.A + s.B + s.C - 1])
    >>> robertson
    QuasiLinearDAE('model': 3 unknowns, 3 equations)
    """

    readable_kinds = start_kinds = ("x",)
    own_formulation = "quasi-linear"

    @forks_wait
    def __init__(
        self,
        x: Sequence[str],
        rhs: Any,
        *,
        leading: Any = None,
        constraints: Any = None,
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
        if rhs is None:
            faults.append("rhs= is missing: give a function of the namespace s, or an array")
        for role, given in (("rhs", rhs), ("constraints", constraints)):
            if given is None:
                continue
            function = self._trace(role, given, faults)
            if function is None:
                continue
            if min(function.shape) > 1:
                faults.append(
                    f"{describe(role, given)}: returned a {function.shape[0]}×{function.shape[1]} matrix; "
                    "return a vector"
                )
                continue
            rows = function.shape[0] * function.shape[1]
            sx = ca.densify(ca.vec(function.sx)) if function.traced else None
            graph.functions[role] = ModelFunction(role, (rows, 1), 1, sx, function.python, function.reason)
        self._set_leading(leading, faults)
        rows = self.n_differential + self.n_constraints
        if not faults and rows < n:
            faults.append(f"{rows} equations for {n} unknowns: {n - rows} more are needed")
        self._check_rows(faults)
        self._finish(outputs, start, faults, drawing)

    def _check_rows(self, faults: list[str]) -> None:
        """Equations without derivatives must contain an unknown."""
        graph = self.graph
        constraints, rhs, leading = (graph.functions.get(role) for role in ("constraints", "rhs", "leading"))
        if constraints is not None and constraints.traced:
            contain, _ = occurrences(constraints.sx, graph.symbol["x"])
            for i in np.flatnonzero(~contain):
                faults.append(f"constraint {i + 1} depends on no unknown; it can never be enforced")
        if rhs is not None and rhs.traced and leading is not None and leading.traced:
            contain, _ = occurrences(rhs.sx, graph.symbol["x"])
            has_derivative = np.diff(leading.sx.sparsity().T.colind()) > 0
            for i in np.flatnonzero(~contain & ~has_derivative):
                faults.append(f"equation {i + 1} contains neither a derivative nor an unknown")

    def _set_leading(self, given: Any, faults: list[str]) -> None:
        graph = self.graph
        n = graph.size("x")
        if "rhs" not in graph.functions:
            return
        rows = graph.functions["rhs"].shape[0]
        if given is None:
            if rows != n:
                faults.append(
                    f"leading= is missing, and {rows} right-hand sides for {n} unknowns rule out the identity"
                )
                return
            function = ModelFunction("leading", (n, n), 2, ca.SX.eye(n))
        else:
            function = self._trace("leading", given, faults)
            if function is None:
                return
            if function.ndim <= 1 and function.shape[0] * function.shape[1] == n == rows:
                if function.traced:
                    # zeros become structural: an algebraic equation is one whose row is empty
                    function = ModelFunction("leading", (n, n), 2, ca.sparsify(ca.diag(ca.vec(function.sx))))
                else:
                    function = ModelFunction("leading", (n, n), 2, None, Diagonal(function.python), function.reason)
            elif function.traced:
                function = ModelFunction("leading", function.shape, 2, ca.sparsify(function.sx))
        if function.shape != (rows, n):
            faults.append(
                f"{describe('leading', given)}: is {function.shape[0]}×{function.shape[1]}; "
                f"{rows} right-hand sides and {n} unknowns need {rows}×{n}"
            )
            return
        graph.functions["leading"] = function

    def found_at_start(self, kind: str) -> frozenset[str]:
        """Unknowns whose derivatives occur nowhere; of a leading matrix in Python nothing is known."""
        leading = self.graph.functions["leading"]
        if kind != "x" or not leading.traced:
            return frozenset()
        occurs = np.diff(leading.sx.sparsity().colind()) > 0
        return frozenset(name for name, there in zip(self.names("x"), occurs, strict=True) if not there)

    @property
    def n_differential(self) -> int:
        """Number of rows of E."""
        return self.graph.functions["rhs"].shape[0] if "rhs" in self.graph.functions else 0

    @property
    def n_constraints(self) -> int:
        return self.graph.functions["constraints"].shape[0] if "constraints" in self.graph.functions else 0

    def __repr__(self) -> str:
        rows = self.n_differential + self.n_constraints
        return f"QuasiLinearDAE({self.name!r}: {self.graph.size('x')} unknowns, {rows} equations)"
