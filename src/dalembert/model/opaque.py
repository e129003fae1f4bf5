"""Numbers for the external symbols of a graph: evaluates the functions that could not be traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from dalembert.checks import said, users_arithmetic, words
from dalembert.errors import FunctionFailed, StepRefused
from dalembert.model.functions import call_with_numbers, describe
from dalembert.model.namespace import UnknownName
from dalembert.model.native import APPLIED
from dalembert.model.native_values import Caller, Groups, difference
from dalembert.model.numeric import directional_derivative, jacobian
from dalembert.model.vocabulary import FUNCTIONS, FunctionRole

if TYPE_CHECKING:
    from dalembert.model.graph import External, Graph


class OpaqueEvaluator:
    """Fill the given external blocks at a point: `evaluator(t, values, theta)` returns them as one vector.

    `values` maps p, v, … to arrays, `theta` is laid out as in `model.theta`.
    """

    def __init__(self, graph: Graph, blocks: Sequence[External], hidden: Mapping[str, str]):
        self.graph = graph
        self.blocks = tuple(blocks)
        self.hidden = hidden
        self._flow = _Flow(graph, hidden) if any(block.needs_flow for block in blocks) else None
        self._slots = np.cumsum([0, *(block.symbol.numel() for block in self.blocks)])
        self._natives: dict[tuple[str, str], _NativeEvaluator] = {}
        self._mass: tuple[bytes, np.ndarray] | None = None  # a constant one, and the fixed part of θ it belongs to

    def __call__(self, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> np.ndarray:
        out = np.empty(self._slots[-1])
        flow = self._flow(t, values, theta) if self._flow else None
        for block, start, stop in zip(self.blocks, self._slots, self._slots[1:], strict=False):
            out[start:stop] = np.ravel(self._evaluate(block, t, values, theta, flow), order="F")
        return out

    def _evaluate(
        self, block: External, t: float, values: Mapping, theta: np.ndarray, flow: Mapping | None
    ) -> np.ndarray:
        role, what = block.role, block.what
        if block.native is not None:
            evaluator = self._natives.get((role, what))
            if evaluator is None:
                evaluator = self._natives[role, what] = _NativeEvaluator(self.graph, block)
            return evaluator(t, values, theta)
        promises = self.graph.promises
        if role == "mass" and "constant mass" in promises:
            key = theta[self.graph.layout.fixed].tobytes()
            if self._mass is None or self._mass[0] != key:
                self._mass = (key, self._call(role, t, values, theta))
            return self._mass[1]
        if what == "value":
            return self._call(role, t, values, theta)
        if what == "time" and "autonomous" in promises:
            return np.zeros(block.shape)
        if what.startswith("by "):
            kind = what[3:]
            return jacobian(lambda z: self._call(role, t, {**values, kind: z}, theta).ravel(), values[kind])
        direction = {} if what == "time" else flow
        return self._along(role, what, t, values, theta, direction)

    def _along(
        self, role: str, what: str, t: float, values: Mapping, theta: np.ndarray, direction: Mapping
    ) -> np.ndarray:
        """Derivative along t' = 1, u' = u', and the given velocities of p and s."""
        layout = self.graph.layout
        u, du, ddu = layout.input_rows(theta)

        def path(eps: np.ndarray) -> np.ndarray:
            e = float(eps[0])
            moved = {**values, **{kind: values[kind] + e * rate for kind, rate in direction.items()}}
            later = theta.copy()
            later[layout.inputs] = np.concatenate([u + e * du + 0.5 * e * e * ddu, du + e * ddu, ddu])
            result = self._call(role, t + e, moved, later)
            # Z enters the second derivative of p as (dZ/dt) v, so that is what "first" means for it
            return result @ values["v"] if role == "kinematics" else result.ravel()

        fastest = max(
            [1.0, *(np.max(np.abs(rate) / (1 + np.abs(values[k])), initial=0) for k, rate in direction.items())]
        )
        order = 2 if what == "second" else 1
        return directional_derivative(path, np.zeros(1), np.ones(1), order=order, scale=1 / fastest)

    def _call(self, role: str, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> np.ndarray:
        function = self.graph.functions[role]
        may = FUNCTIONS.get(role) or FunctionRole(self.graph.event_kinds)
        namespace = self.graph.numbers(may.reads, self.hidden, t, values, theta, may.input_rates)
        where = describe(function.role, function.python)
        try:
            with users_arithmetic():
                result = call_with_numbers(function.python, namespace)
        except StepRefused as refusal:
            raise StepRefused(f"{where}: {words(refusal)}") from refusal
        except UnknownName as unknown:
            raise FunctionFailed(f"{where} at t = {t:.9g}: {unknown}") from None
        except Exception as error:
            raise FunctionFailed(f"{where} raised {said(error)} at t = {t:.9g}") from error
        rows, columns = function.shape
        expected = (rows, columns) if function.ndim == 2 else (rows,)
        if result.shape != expected:
            raise FunctionFailed(
                f"{where} returned an array of shape {result.shape} at t = {t:.9g}; it must always be {expected}"
            )
        if not np.isfinite(result).all():
            raise StepRefused(f"{where} returned {result[~np.isfinite(result)][0]} at t = {t:.9g}")
        return result


class _NativeEvaluator:
    """A quantity of a native function at a point."""

    def __init__(self, graph: Graph, block: External):
        self._graph, self._block = graph, block.native
        native = block.native
        code = native.function.code(graph)
        size = native.size if native.parent is None else graph.native_size(block.role, native.parent)
        self._call = Caller(code, native.given, size, native.where)
        self._groups = None if native.parent is None else Groups(native.pattern, native.shape[1])
        self._applied = None
        if APPLIED in native.kinds:
            kinds = tuple(kind for kind in (*graph.vectors, "a") if graph.size(kind))
            symbols = [graph.a if kind == "a" else graph.symbol[kind] for kind in kinds]
            function = ca.Function("applied", [graph.t, graph.theta, *symbols], [ca.densify(native.arguments[-1])])
            self._applied = (function, kinds)

    def __call__(self, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> np.ndarray:
        native, whole = self._block, self._graph.whole_values(values)
        parts = [whole[k] if k != APPLIED else self._applied_values(t, values, theta) for k in native.kinds]
        x = np.concatenate([np.zeros(0), *parts])
        if self._groups is None:
            return self._call(t, x, theta)
        return difference(lambda z: self._call(t, z, theta), x, native.place, self._groups, native.size)

    def _applied_values(self, t: float, values: Mapping, theta: np.ndarray) -> np.ndarray:
        function, kinds = self._applied
        given = [values.get(k, np.zeros(function.numel_in(2 + i))) for i, k in enumerate(kinds)]
        return np.array(function(t, theta, *given), float).ravel()


class _Flow:
    """Velocities of p and s at a point, as numbers; what they need of untraceable functions is evaluated first."""

    def __init__(self, graph: Graph, hidden: Mapping[str, str]):
        from dalembert.model.kinematics import flow

        rates = flow(graph)
        expression = ca.vertcat(*rates.values())
        blocks = graph.externals_in(expression)
        kinds = ("p", "v", "s")
        arguments = [graph.t, *(graph.symbol[k] for k in kinds), graph.theta, *(block.symbol for block in blocks)]
        self._function = ca.Function("flow", arguments, list(rates.values()))
        self._kinds = tuple(rates)
        self._before = OpaqueEvaluator(graph, blocks, hidden)
        self._sizes = [block.symbol.numel() for block in blocks]

    def __call__(self, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> dict[str, np.ndarray]:
        given = self._before(t, values, theta)
        parts = np.split(given, np.cumsum(self._sizes)[:-1]) if self._sizes else []
        results = self._function(t, values["p"], values["v"], values["s"], theta, *parts)
        if len(self._kinds) == 1:
            results = (results,)
        return {kind: np.asarray(rate, float).ravel() for kind, rate in zip(self._kinds, results, strict=True)}
