"""Multipliers as accurate as positions and velocities.

In forms of index 2 and 3 the multipliers that a method computes have a lower order than p and v, and those of index 1
come from difference quotients of v. They serve the next step; what users get follows from p, v, r and s at each point:
the equations of motion together with d = 0, g^II = 0 and h^I = 0 determine v', w, λ and μ. Where that system is
singular, or functions cannot be evaluated, the method's own values stay.

The system is the last one of start values (`regularize.start_problems`), with the port that these have compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.compile.callback import python_port
from dalembert.compile.kernel import load
from dalembert.compile.ports import Port
from dalembert.compile.system import nonzeros
from dalembert.kept import Pool, Slot
from dalembert.model import Model
from dalembert.regularize.form import Form
from dalembert.regularize.newton import decompose, entries
from dalembert.regularize.start_problems import start_problems
from dalembert.solvers.start import SPARE, Prepared, prepared_start

SETTLED: Slot[Multipliers | None] = Slot("multipliers from accelerations", most=2)
SETTLED_EVENTS: Slot[Port] = Slot("ports of events with multipliers from accelerations", most=8)

#: degree of the multipliers' polynomials in results: they change about twice as fast as the motion
DEGREE = 5
#: nodes in s = (t − t_new)/h, those of Chebyshev with both ends, the end of the step first
NODES = -(np.sin(np.pi * np.arange(DEGREE + 1) / (2 * DEGREE)) ** 2)
#: from values at the nodes to coefficients
TO_COEFFICIENTS = np.linalg.inv(np.vander(NODES, increasing=True))
TO_COEFFICIENTS[0] = np.arange(DEGREE + 1) == 0
#: the start of a step is looked at so many units of rounding within it: inputs may jump there
WITHIN = 8
#: as in `multiplier_kernel`
STEPS, SMALL = 8, 1e-6


def multipliers_of(form: Form) -> Any:
    """For forms whose methods compute multipliers less accurately than the motion; None for others."""
    return form.kept.get(SETTLED, None, lambda: Multipliers(form) if form.settles_multipliers else None)


def settler(form: Form) -> Multipliers:
    """The same for any form that has multipliers, whose steps may be those of a method of another form."""
    return multipliers_of(form) or form.kept.get(SETTLED, "steps of another form", lambda: Multipliers(form))


class Multipliers:
    """Settles multipliers, and auxiliary variables that depend on them, in states of a form."""

    def __init__(self, form: Form):
        self.form, model = form, form.model
        graph = model.graph
        kinds = [kind for kind in ("lam", "mu") if graph.size(kind)]
        given = ca.vertcat(*(graph.symbol[kind] for kind in kinds))
        auxiliary = graph.value("auxiliary") if graph.size("w") else ca.SX(0, 1)
        if graph.size("w") and (graph.externals_in(auxiliary) or ca.depends_on(auxiliary, given)):
            kinds.append("w")
        #: the unknowns that are settled
        self.columns = np.concatenate([np.arange(form.n)[form.slices[kind]] for kind in kinds])
        start = prepared_start(model)
        self._many: Callable[[np.ndarray, np.ndarray, np.ndarray], None] = (
            _InPython(form, self.columns) if start is None else _InKernel(form, self.columns, start)
        )

    def settle(self, t: np.ndarray, x: np.ndarray, theta: np.ndarray) -> None:
        """In place, at times t (N,), in rows of x (N, n); parameters and inputs are in rows of θ, or in one for all."""
        self._many(t, x, theta)

    def settle_for(self, model: Model, t: np.ndarray, x: np.ndarray) -> None:
        """The same for a model with its own parameters, inputs and discrete values."""
        moves = bool(model.theta_layout.n_moving)
        self._many(t, x, np.ascontiguousarray(model.thetas(t if moves else t[:1]).T))

    def settle_ends(self, model: Model, t: np.ndarray, h: np.ndarray, c: np.ndarray) -> None:
        """In place, at the ends of steps that are described by coefficients (K, rows, n)."""
        x = c[:, 0].copy()
        at_breakpoint = np.isin(t, model.breakpoints) if model.breakpoints else False
        self.settle_for(model, np.where(at_breakpoint, np.nextafter(t, t - h), t), x)
        c[:, 0, self.columns] = x[:, self.columns]

    def settle_between(
        self, model: Model, t: np.ndarray, h: np.ndarray, c: np.ndarray, first: Sequence[int] | np.ndarray = (0,)
    ) -> None:
        """In place, between the settled ends of steps; c has more than `DEGREE` rows.

        The polynomials go through the multipliers at the `NODES` of their steps. Steps follow each other but for those
        with the numbers `first`, before which something else has been.
        """
        steps, inner = len(t), DEGREE - 1
        first = np.asarray(first, int)
        number = np.concatenate([np.repeat(np.arange(steps), inner), first])
        s = np.concatenate([np.tile(NODES[1:-1], steps), np.full(len(first), NODES[-1])])
        x = evaluate(c, number, s)
        self.settle_for(model, times_within(t[number], h[number], s), x)
        values = np.empty((steps, DEGREE + 1, len(self.columns)))
        values[:, 0] = c[:, 0, self.columns]
        values[:, 1:-1] = x[: steps * inner, self.columns].reshape(steps, inner, -1)
        values[1:, -1] = values[:-1, 0]  # the start of a step is the end of the one before
        values[first, -1] = x[steps * inner :, self.columns]
        c[:, :, self.columns] = 0.0
        c[:, : DEGREE + 1, self.columns] = np.einsum("ij,kjm->kim", TO_COEFFICIENTS, values)

    def settled_steps(
        self, model: Model, t: np.ndarray, h: np.ndarray, c: np.ndarray, first: Sequence[int] | np.ndarray = (0,)
    ) -> np.ndarray:
        """The coefficients with settled multipliers, at the ends of the steps and between them; see above."""
        c = with_rows(c, DEGREE + 1)
        self.settle_ends(model, t, h, c)
        self.settle_between(model, t, h, c, first)
        return c

    def events(self, port: Port) -> Port:
        """The port of event functions, which reads settled multipliers in place of a method's own."""
        return self.form.kept.get(SETTLED_EVENTS, port, lambda: self._events(port))

    def _events(self, port: Port) -> Port:
        n = self.form.n

        def evaluate(t: float, state: np.ndarray, theta: np.ndarray, out: np.ndarray) -> None:
            state = state.copy()
            self._many(np.array([t]), state[None, :n], theta[None].copy())
            if port.call_status(t, state, theta, out):
                reason = port.take_error() or port.take_refusal()
                if reason is not None:  # otherwise `out` is not finite
                    raise reason

        return python_port(evaluate, n_x=port.n_x, n_theta=port.n_theta, n_out=port.n_out)


def evaluate(c: np.ndarray, number: np.ndarray, s: np.ndarray) -> np.ndarray:
    """States at s of the steps `number`, by Horner's scheme."""
    x = c[number, -1]
    for k in range(c.shape[1] - 2, -1, -1):
        x = x * s[:, None] + c[number, k]
    return x


def with_rows(c: np.ndarray, rows: int) -> np.ndarray:
    """A copy of coefficients (K, any, n) with at least so many rows."""
    out = np.zeros((len(c), max(rows, c.shape[1]), c.shape[2]))
    out[:, : c.shape[1]] = c
    return out


def times_within(t: np.ndarray, h: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Times at s of steps that end at t, not quite at their start."""
    time, start = t + s * h, t - h
    start = start + np.sign(h) * WITHIN * np.spacing(np.maximum(np.abs(t), np.abs(start)))
    return np.where((time - start) * h < 0, start, time)


class _InKernel:
    """For models of moderate size whose functions could be traced."""

    def __init__(self, form: Form, columns: np.ndarray, start: Prepared):
        load("dalembert.solvers.multiplier_kernel")
        from dalembert.solvers import multiplier_kernel

        self._kernel, self._port, self._record = multiplier_kernel.settle, start.port, start.record
        self._places = np.full(form.n, -1)
        for kind, part in form.slices.items():
            if kind in start.slices:
                self._places[part] = np.arange(start.port.n_x)[start.slices[kind]]
        self._columns = columns.astype(np.int64)
        self._spare: Pool = Pool(SPARE)

    def __call__(self, t: np.ndarray, x: np.ndarray, theta: np.ndarray) -> None:
        memory = self._spare.take(None) or self._record.fresh()
        try:
            self._kernel(memory.record, self._port.address, t, x, theta, self._places, self._columns)
        finally:
            self._spare.give_back(None, memory)


class _InPython:
    """For large models, and for functions that could not be traced."""

    def __init__(self, form: Form, columns: np.ndarray):
        self._form, self._columns, model = form, columns, form.model
        self._problem, graph = start_problems(model).acceleration, model.graph
        self._sizes = {kind: graph.size(kind) for kind in (*graph.vectors, "a")}
        matrix = start_problems(model).acceleration_expressions[1]
        determined = ca.vertcat(graph.a, *(graph.symbol[kind] for kind in ("w", "lam", "mu")))
        self._affine = not graph.externals_in(matrix) and not ca.depends_on(nonzeros(matrix), determined)

    def __call__(self, t: np.ndarray, x: np.ndarray, theta: np.ndarray) -> None:
        for time, state, row in zip(t.tolist(), x, np.broadcast_to(theta, (len(t), theta.shape[1])), strict=True):
            state[self._columns] = self._point(time, state, np.ascontiguousarray(row))

    def _point(self, t: float, x: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """The values of the columns."""
        values = {kind: np.zeros(size) for kind, size in self._sizes.items()} | self._form.vectors(x)
        kinds = ("a", "w", "lam", "mu")
        ends = np.cumsum([self._sizes[kind] for kind in kinds])[:-1]
        before = np.inf
        for _ in range(STEPS):
            try:
                residual, J = self._problem(t, values, theta)
            except Exception:  # whatever a function that runs as Python code may raise beside the points of the run
                break
            if not (np.isfinite(residual).all() and np.isfinite(entries(J)).all()):
                break
            square = decompose(J)
            if square.rank < square.n:
                break
            step = square.solve(-residual.ravel())
            values |= {kind: values[kind] + part for kind, part in zip(kinds, np.split(step, ends), strict=True)}
            others = np.concatenate([values[kind] for kind in kinds[1:]]) / square.columns[ends[0] :]
            change, size = np.linalg.norm(step[ends[0] :] / square.columns[ends[0] :]), np.linalg.norm(others)
            if self._affine or change <= SMALL * size:
                settled = x.copy()
                for kind in kinds[1:]:
                    settled[self._form.slices.get(kind, slice(0, 0))] = values[kind]
                return settled[self._columns]
            if not change < before:
                break
            before = change
        return x[self._columns]
