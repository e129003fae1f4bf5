"""Arriving at a point: projection, then matrices, rates, accelerations and multipliers there; as `core.arrive`."""

from __future__ import annotations

import math
from typing import Any

from dalembert.compile.generated.values import Array, Real
from dalembert.solvers.half.generated.layout import Option
from dalembert.solvers.half.generated.record import Record
from dalembert.solvers.status import Outcome

#: of a projection; as in `core.project_positions`
ITERATIONS = 10
#: of positions at a breakpoint, in tolerances, that the next step may deal with; what it is about is for `simulate`
LARGEST_JUMP = 1.0


class Arrival:
    """Writes what happens at the end of a step, and at the beginning of a stretch."""

    def __init__(self, record: Record):
        self.record, self.code, self.model = record, record.code, record.model
        model = self.model
        self.move = record.b if model.plain else self.code.array(model.n_p)

    def write(self) -> None:
        """Project `next`, and complete it."""
        code, record, model, scheme = self.code, self.record, self.model, self.record.scheme
        t = record.t_new.get()
        code.each(model.n_p, lambda k: record.raw.put(k, record.next[k]))
        if scheme.positions and model.n_lam:
            with code.when(~record.fresh.get() | record.ending.get()):
                self._project_positions()
        record.calls.point(t, record.next, record.at)
        record.flaw.put(record.calls.factor(record.at, record.at, record.factors))
        behind = record.fresh.get() & ~record.stretch.get().equals(0) & ~record.ending.get()  # of a breakpoint
        if model.n_lam and model.inputs:
            with code.when(behind):
                record.unless_fine(self._jump() > LARGEST_JUMP, Outcome.NOT_PROJECTED)
        if model.n_m and (scheme.velocities or model.inputs):
            moves = ~record.fresh.get() | record.ending.get() if scheme.velocities else code.truth(False)
            with code.when(moves | behind):  # where they may jump
                self._project_velocities()
        nothing = self.complete(t, record.next, record.at, record.factors, record.next_rates, record.b)
        record.unless_fine(record.flaw.get().differs(0.0), Outcome.SINGULAR)
        record.unless_fine(nothing.differs(0.0), Outcome.CANNOT_EVALUATE)

    def complete(self, t: Real, x: Array, at: Array, factors: Array, rates: Array, b: Array) -> Real:
        """Rates at x, and accelerations and multipliers in b; returns 0, or NaN if one of them is not finite."""
        code, model, record = self.code, self.model, self.record
        n_f = record.definitions.n_f
        record.calls.rates(t, x, at, rates)
        record.calls.accelerate(t, x, at, rates, factors, b)
        nothing = code.total(model.n_v + model.n_m, lambda k: 0.0 * b[k])
        return nothing + code.total(record.n_slope - n_f, lambda k: 0.0 * rates[k + n_f])

    def prepare(self) -> None:
        """Matrices at a point where no stage has been, for the members that end there."""
        code, record, definitions = self.code, self.record, self.record.definitions
        at = code.array(definitions.n_at)
        record.calls.stage(record.t.get(), record.next, at)

        def take(target: Array, source: Array) -> Any:
            def body(k: Any) -> None:
                target[k] = source[k]

            return body

        code.each(definitions.n_at, take(record.at, at))
        code.each(definitions.n_q, take(record.here, at))

    def _project_positions(self) -> None:
        """Newton's method with the matrix of the last stage."""
        code, record, model, calls = self.code, self.record, self.model, self.record.calls
        n_p, t = model.n_p, record.t_new.get()
        calls.factor(record.here, record.at, record.factors)  # once more: not worth keeping in every stage
        iteration, before = code.variable(0.0), code.variable(math.inf)
        under_way, converged = code.variable(True), code.variable(False)

        def moved(k: Any) -> None:
            record.next[k] = record.next[k] + self.move[k]

        with code.repeat(under_way.get):
            calls.nearer(t, record.next, record.factors, record.b)
            if not model.plain:  # with Z at the point where the iteration began
                calls.kinematics(t, record.raw, record.b, self.move)
            code.each(n_p, moved)
            total = code.total(n_p, lambda k: _square(self.move[k] * record.per_weight(k)))
            size = code.sqrt(total * (1.0 / n_p))
            done = size <= record.member.option(Option.PROJECTION_LIMIT)
            lost = ~(size < 2.0 * before.get())
            before.set(size)
            iteration.set(iteration.get() + 1.0)
            under_way.set(~(done | lost | (iteration.get() >= float(ITERATIONS))))
            converged.set(done)
        record.iterations.set(iteration.get())
        record.unless_fine(~converged.get(), Outcome.NOT_PROJECTED)

    def _jump(self) -> Real:
        """How far constraints move positions from one side of a breakpoint to the other, in tolerances."""
        code, record, model, calls = self.code, self.record, self.model, self.record.calls
        here, there = code.array(model.n_v + model.n_m), code.array(model.n_p)
        t, earlier = record.t_new.get(), record.member.stretch(record.stretch.get() - 1, 1)
        calls.nearer(earlier, record.next, record.factors, here)
        calls.nearer(t, record.next, record.factors, record.b)

        def change(k: Any) -> None:
            here[k] = record.b[k] - here[k]

        code.each(model.n_v, change)
        if model.plain:
            there = here
        else:
            calls.kinematics(t, record.next, here, there)
        total = code.total(model.n_p, lambda k: _square(there[k] * record.per_weight(k)))
        return code.sqrt(total * (1.0 / model.n_p))

    def _project_velocities(self) -> None:
        """The nearest ones on the constraints, in the norm of M."""
        record, n_p = self.record, self.model.n_p

        def moved(k: Any) -> None:
            record.next[k + n_p] = record.next[k + n_p] + record.b[k]

        record.calls.along(record.at, record.next.behind(n_p), record.factors, record.b)
        self.code.each(self.model.n_v, moved)


def _square(x: Real) -> Real:
    return x * x
