"""Numbers from a model's graph, point by point, without compilation: for checks, initial values and residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from dalembert.model.base import Model
from dalembert.model.opaque import OpaqueEvaluator


class PointFunction:
    """Evaluate expressions of a model's graph: `f(t, values, theta)` returns one array for each output.

    `values` maps p, v, …, a (or x) to arrays. With `values` of shape (n, N), t of shape (N,) and theta (n_theta, N),
    `many` evaluates N points at once.
    """

    def __init__(self, model: Model, outputs: Sequence[ca.SX]):
        graph = model.graph
        self._kinds = tuple(graph.vectors)
        blocks = graph.externals_in(ca.veccat(*outputs))
        arguments = [graph.t, *(graph.symbol[k] for k in self._kinds), graph.a, graph.theta]
        self._function = ca.Function("f", [*arguments, *(b.symbol for b in blocks)], [ca.densify(o) for o in outputs])
        self._sizes = [b.symbol.numel() for b in blocks]
        self._shapes = [o.shape for o in outputs]
        self._opaque = OpaqueEvaluator(graph, blocks, {}) if blocks else None
        self._n_a = graph.a.numel()

    def __call__(self, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> list[np.ndarray]:
        arguments = [t, *(values[k] for k in self._kinds), values.get("a", np.zeros(self._n_a)), theta]
        if self._opaque:
            external = self._opaque(t, {"a": np.zeros(self._n_a), **values}, theta)
            arguments += np.split(external, np.cumsum(self._sizes)[:-1])
        results = self._function.call(arguments)
        return [np.array(r, float).reshape(shape) for r, shape in zip(results, self._shapes, strict=True)]

    def many(self, t: np.ndarray, values: Mapping[str, np.ndarray], theta: np.ndarray) -> list[np.ndarray]:
        """N points at once; each output, which must be a column, comes back with shape (N, rows)."""
        if self._opaque is None and len(t) > 1:
            arguments = [t[None, :], *(values[k] for k in self._kinds), values.get("a", np.zeros((self._n_a, len(t)))), theta]
            return [np.array(r, float).T for r in self._function.map(len(t)).call(arguments)]
        points = [
            self(t[i], {k: np.ascontiguousarray(v[:, i]) for k, v in values.items()}, np.ascontiguousarray(theta[:, i]))
            for i in range(len(t))
        ]
        return [np.array([point[k].ravel() for point in points]).reshape(len(t), -1) for k in range(len(self._shapes))]
