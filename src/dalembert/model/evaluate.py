"""Numbers from a model's graph, point by point, without compilation: for checks, initial values and residuals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.model.base import Model
from dalembert.model.graph import Graph
from dalembert.model.opaque import OpaqueEvaluator

#: entries of a matrix from which sparse ones are used, if at most this share of them are nonzeros
LARGE, SPARSE_SHARE = 150**2, 0.1


def is_large(matrix: ca.SX) -> bool:
    """Whether a sparse matrix pays."""
    return matrix.numel() > LARGE and matrix.nnz() <= SPARSE_SHARE * matrix.numel()


class PointFunction:
    """Evaluate expressions of a model's graph: `f(t, values, theta)` returns one array for each output.

    `values` maps p, v, …, a (or x) to arrays. With `values` of shape (n, N), t of shape (N,) and theta (n_theta, N),
    `many` evaluates N points at once. With `sparse`, matrices come as SciPy's sparse ones: for large models.
    """

    def __init__(self, model: Model | Graph, outputs: Sequence[ca.SX], *, sparse: bool = False):
        graph = model if isinstance(model, Graph) else model.graph
        patterns = [None] * len(outputs)
        if sparse:
            patterns = [_pattern(o) if o.shape[1] > 1 else None for o in outputs]
            outputs = [o if pattern is None else o.nz[:] for o, pattern in zip(outputs, patterns, strict=True)]
        self._kinds = tuple(graph.vectors)
        # vectors stay apart: putting those of many bodies together takes longer than making the function
        blocks = graph.externals_in(ca.veccat(*outputs)) if graph.externals else []
        vectors = [graph.symbol[k] for k in self._kinds]
        arguments = [graph.t, *vectors, graph.a, graph.theta, *(b.symbol for b in blocks)]
        self._function = ca.Function("f", arguments, [o if o.is_dense() else ca.densify(o) for o in outputs])
        self._shapes = [o.shape for o in outputs]
        self._cuts = np.cumsum([o.numel() for o in outputs])[:-1]
        ends = np.cumsum([o.numel() for o in outputs])
        self._parts = [
            (slice(end - o.numel(), end), o.shape, pattern)
            for o, end, pattern in zip(outputs, ends, patterns, strict=True)
        ]
        self._opaque = OpaqueEvaluator(graph, blocks, {}) if blocks else None
        self._no_a = np.zeros(graph.a.numel())
        self._buffers = threading.local()

    def __call__(self, t: float, values: Mapping[str, np.ndarray], theta: np.ndarray) -> list[np.ndarray]:
        parts = [np.array([t]), *(values[k] for k in self._kinds), values.get("a", self._no_a), theta]
        if self._opaque:
            parts.append(self._opaque(t, {"a": self._no_a, **values}, theta))
        out = self._evaluate(np.concatenate(parts))
        return [
            out[part].reshape(shape, order="F") if pattern is None else pattern(out[part])
            for part, shape, pattern in self._parts
        ]

    def _evaluate(self, point: np.ndarray) -> np.ndarray:
        """Call CasADi through its buffers, which cost a microsecond where an ordinary call costs a hundred."""
        mine = self._buffers.__dict__
        if not mine:
            buffer, call = self._function.buffer()
            function = self._function
            mine["in"], mine["out"] = np.zeros(function.numel_in()), np.zeros(function.numel_out())
            for array, count, size, put in (
                (mine["in"], function.n_in(), function.numel_in, buffer.set_arg),
                (mine["out"], function.n_out(), function.numel_out, buffer.set_res),
            ):
                ends = np.cumsum([0, *(size(i) for i in range(count))])
                for i in range(count):
                    if size(i):
                        put(i, memoryview(array[ends[i] : ends[i + 1]]))
            mine["buffer"], mine["call"] = buffer, call
        mine["in"][:] = point
        mine["call"]()
        return mine["out"].copy()

    def many(self, t: np.ndarray, values: Mapping[str, np.ndarray], theta: np.ndarray) -> list[np.ndarray]:
        """N points at once; each output, which must be a column, comes back with shape (N, rows)."""
        if self._opaque is None:
            a = values.get("a", np.zeros((len(self._no_a), len(t))))
            points = np.concatenate([t[None, :], *(values[k] for k in self._kinds), a, theta])
            results = np.array([self._evaluate(point) for point in points.T]).reshape(len(t), -1)
            return np.split(results, self._cuts, axis=1)
        points = [
            self(t[i], {k: np.ascontiguousarray(v[:, i]) for k, v in values.items()}, np.ascontiguousarray(theta[:, i]))
            for i in range(len(t))
        ]
        return [np.array([point[k].ravel() for point in points]).reshape(len(t), -1) for k in range(len(self._shapes))]


def _pattern(matrix: ca.SX) -> Callable[[np.ndarray], Any]:
    """Makes a SciPy-sparse matrix of the nonzeros of `matrix`."""
    from scipy.sparse import csc_matrix

    sparsity = matrix.sparsity()
    rows, starts = np.array(sparsity.row(), np.int32), np.array(sparsity.colind(), np.int32)
    return lambda nonzeros: csc_matrix((nonzeros, rows, starts), shape=matrix.shape)
