"""A half-explicit Runge-Kutta method as code around one model: the loop over the steps of some members.

It does what `half_explicit_kernel` and `runge_kutta` do, step by step, with their numbers; a member's path through it
is the same up to rounding. One thing is different: the beginning of a stretch between breakpoints is an arrival without
a step, so that every function of the model is written only where steps need it anyway.
"""

from __future__ import annotations

import math
from typing import Any

from dalembert.compile.generated import elementary
from dalembert.compile.generated.code import Module
from dalembert.compile.generated.values import Real, Truth
from dalembert.solvers.half.generated.arrival import Arrival
from dalembert.solvers.half.generated.between import Between
from dalembert.solvers.half.generated.layout import Counter, Option
from dalembert.solvers.half.generated.record import Record
from dalembert.solvers.half.generated.scan import Scan
from dalembert.solvers.half.generated.stages import Stages, Tableau
from dalembert.solvers.limits import (
    MOST_CONVERGENCE_FAILURES,
    MOST_ERROR_FAILURES,
    MOST_EVALUATION_FAILURES,
    MOST_SINGULAR_FAILURES,
    NEARLY_THERE,
    SMALLEST,
    SMALLEST_PART,
    UNIT,
)
from dalembert.solvers.method import SHORTEST_FIRST
from dalembert.solvers.status import GO_ON, Outcome, Status

#: how often in a row a step may fail, and what the run ends with
LIMITS = {
    Outcome.INACCURATE: (MOST_ERROR_FAILURES, Status.ERROR_FAILURES),
    Outcome.SINGULAR: (MOST_SINGULAR_FAILURES, Status.SINGULAR),
    Outcome.CANNOT_EVALUATE: (MOST_EVALUATION_FAILURES, Status.EVALUATION_FAILURES),
    Outcome.NOT_PROJECTED: (MOST_CONVERGENCE_FAILURES, Status.CONVERGENCE_FAILURES),
}


class Integrator:
    """Writes the way of some members, from start values to the end."""

    def __init__(self, module: Module, record: Record):
        self.record, self.code, self.model = record, record.code, record.model
        self.tableau = Tableau(module, record.scheme)
        self.stages = Stages(record, self.tableau)
        self.arrival = Arrival(record)
        self.between = Between(record, self.tableau, self.arrival)
        self.scan = Scan(module, record, self.between) if record.scheme.events else None
        #: failures in a row, by reason
        self.in_a_row = {reason: self.code.variable(self.code.whole(0)) for reason in LIMITS}

    def write(self) -> None:
        """All that some members do."""
        self.begin()
        with self.code.repeat(self.goes_on):
            self.attempt()
        self.finish()

    def begin(self) -> None:
        """Everything as a member finds it."""
        self.record.begin()
        for variable in self.in_a_row.values():
            variable.put(self.code.whole(0))
        if self.scan is not None:
            self.scan.clear()

    def goes_on(self) -> Truth:
        """Whether there is another attempt."""
        return self.record.status.get().equals(GO_ON) & ~self.record.member.stopped()

    def finish(self) -> None:
        """Keep what has been found."""
        code, record, model, member = self.code, self.record, self.model, self.record.member
        code.each(model.n_d, lambda k: member.keep("x", k, record.x[k]))
        code.each(model.n_v, lambda k: member.keep("a", k, record.a[k]))
        code.each(model.n_m, lambda k: member.keep("lam", k, record.lam[k]))
        member.keep("t", 0, record.t.get())
        counters = {
            Counter.STATUS: record.status, Counter.ACCEPTED: record.accepted, Counter.INACCURATE: record.inaccurate,
            Counter.FAILED: record.failed, Counter.OUTPUTS: record.following, Counter.ENDED_BY: record.ended_by,
        }  # fmt: skip
        for counter, variable in counters.items():
            member.note(counter, variable.get())
        if self.scan is not None:
            self.scan.keep()

    # -- an attempt ------------------------------------------------------------------------------------------------

    def attempt(self) -> None:
        """One step of each member that is under way, or the beginning of a stretch."""
        code, record = self.code, self.record
        fresh, h = record.fresh.get(), record.h.get()
        self.arrive()
        with code.when(record.fine() & ~fresh):
            self._look_back()
        fine = record.fine()
        with code.when(fine & ~fresh & record.rejected.get()):
            record.new_h.set(record.signed(code.smaller(code.abs(record.new_h.get()), code.abs(h))))
        with code.when(fine):
            self._commit()
        with code.when(~fine):
            self._fail()
        self._stop_or_go_on()

    def arrive(self) -> None:
        """From the current point to the next one, if the error allows; otherwise `outcome` says why not."""
        code, record = self.code, self.record
        fresh = record.fresh.get()
        record.outcome.set(int(Outcome.FINE))
        record.error.set(0.0)
        with code.when(~fresh):
            self.stages.take()
            self.stages.estimate()
        with code.when(fresh):
            self._stay()
        h, error = record.h.get(), record.error.get()
        record.new_h.set(h * self._change(error))
        record.unless_fine(~fresh & ~code.finite(error), Outcome.CANNOT_EVALUATE)
        record.unless_fine(~fresh & record.flaw.get().differs(0.0), Outcome.SINGULAR)
        inaccurate = record.fine() & (error > 1.0)
        record.unless_fine(inaccurate, Outcome.INACCURATE)
        with code.when(inaccurate):
            record.new_h.set(record.signed(code.smaller(code.abs(record.new_h.get()), 0.9 * code.abs(h))))
        t_new = code.select(record.last.get(), record.t_end.get(), record.t.get() + h)
        record.t_new.set(code.select(fresh, record.t.get(), t_new))
        with code.when(record.fine()):
            self.arrival.write()

    def _stay(self) -> None:
        """The next point is the current one, at the beginning of a stretch, or where an event ends the run."""
        record = self.record

        def body(k: Any) -> None:
            record.next[k] = record.x[k]

        self.code.each(self.model.n_d, body)
        if self.scan is not None:
            with self.code.when(record.ending.get()):
                self.arrival.prepare()

    def _change(self, error: Real) -> Real:
        """The ratio of the next step size to this one, (10) of HEM5's paper within the limits."""
        code, option = self.code, self.record.member.option
        wanted = option(Option.SAFETY) * elementary.positive_power(code, error, -self.tableau.power)
        wanted = code.select(error > 0.0, wanted, math.inf)
        return code.larger(option(Option.MAX_SHRINK), code.smaller(option(Option.MAX_GROWTH), wanted))

    def _look_back(self) -> None:
        """At what happened between the ends of the step."""
        record, scheme = self.record, self.record.scheme
        self.between.look_for_jumps()
        if not scheme.looks_between:
            return
        with self.code.when(record.fine()):
            self.between.set_polynomial()
            if self.scan is not None:
                self.scan.step()
            if scheme.outputs:
                self.between.give_outputs(None if self.scan is None else self.scan.stopped.get())

    # -- the end of an attempt -------------------------------------------------------------------------------------

    def _commit(self) -> None:
        """`next` becomes the current point, and the next step size is chosen."""
        code, record, model = self.code, self.record, self.model
        h = record.h.get()
        for count, target, source in (
            (model.n_d, record.x, record.next),
            (record.n_slope, record.rates, record.next_rates),
            (model.n_v, record.a, record.b),
            (model.n_m, record.lam, record.b.behind(model.n_v)),
            (record.definitions.n_q, record.q, record.at),
        ):

            def body(k: Any, target=target, source=source) -> None:
                target[k] = source[k]

            code.each(count, body)
        for variable in self.in_a_row.values():
            variable.set(code.whole(0))
        record.rejected.set(False)
        with code.when(~record.fresh.get()):
            record.accepted.set(record.accepted.get() + 1)
            record.t.set(record.t_new.get())
        with code.when(record.fresh.get()):
            record.new_h.set(self._first_step())
            if self.scan is not None:
                self.scan.begin()
            if record.scheme.outputs:
                self.between.give_start()
        record.fresh.set(False)
        self._limit(record.new_h.get())
        if self.scan is not None:
            with code.when(record.ending.get()):
                self._end_or_go_there(h)

    def _end_or_go_there(self, h: Real) -> None:
        """An event ends the run: the point between two steps is projected and completed as any other."""
        code, record, t = self.code, self.record, self.scan.stopped.get()
        there = record.t.get().equals(t)
        with code.when(there):
            record.status.set(int(Status.EVENT))
        with code.when(~there):
            s = (t - record.t.get()) / h

            def body(k: Any) -> None:
                record.x[k] = self.between.value(k, s)

            code.each(self.model.n_d, body)
            record.t.set(t)
            record.fresh.set(True)

    def _first_step(self) -> Real:
        """A step over which the solution changes by a small fraction; as `first_step_guess`."""
        code, record, model, member = self.code, self.record, self.model, self.record.member

        def size_of(k: Any) -> Real:
            value = record.x[k] * record.per_weight(k)
            return value * value

        size, speed, begin = code.total(model.n_d, size_of), code.real(0.0), 0
        for kind, count in (("p", model.n_p), ("v", model.n_v), ("r", model.n_r)):

            def speed_of(k: Any, begin=begin, kind=kind) -> Real:
                rate = self.between.ends(k + begin, kind, record.per_weight(k + begin))[0]
                return rate * rate

            speed = speed + code.total(count, speed_of)
            begin += count
        size, speed = code.sqrt(size * (1.0 / model.n_d)), code.sqrt(speed * (1.0 / model.n_d))
        moves = (size > 1e-5) & (speed > 1e-5)
        guess = 100.0 * code.select(moves, 0.01 * size / speed, 1e-6)
        span = code.abs(record.t_end.get() - record.t.get())
        bound = code.select(speed > 0.0, elementary.positive_power(code, 0.01 / speed, 0.2), math.inf)
        first = code.smaller(code.smaller(guess, bound), 0.1 * span)
        first = code.larger(first, SHORTEST_FIRST * span)
        given = code.select(record.stretch.get().equals(0), member.option(Option.FIRST_STEP), 0.0)
        return record.signed(code.select(given > 0.0, given, first))

    def _limit(self, h: Real) -> None:
        """The next step size within its limits; sets `last`."""
        code, record = self.code, self.record
        h = record.signed(code.smaller(code.abs(h), record.member.option(Option.MAX_STEP)))
        way = record.t_end.get() - record.t.get()
        there = (NEARLY_THERE * h - way) * record.member.option(Option.DIRECTION) >= 0.0
        record.last.set(there)
        record.h.set(code.select(there, way, h))

    def _fail(self) -> None:
        """Repeat the step with another size, unless it has failed so too often."""
        code, record, outcome, h = self.code, self.record, self.record.outcome.get(), self.record.h.get()
        record.last.set(False)
        record.rejected.set(True)
        inaccurate = outcome.equals(int(Outcome.INACCURATE))
        with code.when(inaccurate):
            record.inaccurate.set(record.inaccurate.get() + 1)
            record.h.set(record.new_h.get())
        with code.when(~inaccurate):
            record.failed.set(record.failed.get() + 1)
            record.h.set(0.5 * h)
        for reason, (most, status) in LIMITS.items():
            variable = self.in_a_row[reason]
            with code.when(outcome.equals(int(reason))):
                variable.set(variable.get() + 1)
                with code.when(variable.get() >= most):
                    record.status.set(int(status))
        with code.when(record.fresh.get()):  # no step size makes the starting point better
            record.status.set(int(Status.NOT_FINITE))
            for reason in (Outcome.SINGULAR, Outcome.NOT_PROJECTED):
                with code.when(outcome.equals(int(reason))):
                    record.status.set(int(LIMITS[reason][1]))

    def _stop_or_go_on(self) -> None:
        """At the end of a stretch the next one begins, unless it was the last."""
        code, record, member = self.code, self.record, self.record.member
        running = record.status.get().equals(GO_ON)
        t, h = record.t.get(), record.h.get()
        at_end = running & t.equals(record.t_end.get()) & ~record.fresh.get()
        with code.when(at_end):
            following = record.stretch.get() + 1
            over = ~(following < member.stretches())
            with code.when(over):
                record.status.set(int(Status.DONE))
                if self.scan is not None:
                    with code.when(self.scan.end()):
                        record.status.set(int(Status.EVENT))
                record.t.set(member.stretch(record.stretch.get(), 2))
            with code.when(~over):
                record.stretch.set(following)
                record.t.set(member.stretch(following, 0))
                record.t_end.set(member.stretch(following, 1))
                record.fresh.set(True)
        with code.when(running & ~at_end):
            steps = record.accepted.get() + record.inaccurate.get() + record.failed.get()
            tiny = (SMALLEST_PART * code.abs(h) <= code.abs(t) * UNIT) | (code.abs(h) < SMALLEST)
            with code.when(tiny & ~record.fresh.get()):
                record.status.set(int(Status.STEP_TOO_SMALL))
                for reason in (Outcome.NOT_PROJECTED, Outcome.CANNOT_EVALUATE, Outcome.SINGULAR):  # why it became so
                    with code.when(~self.in_a_row[reason].get().equals(0)):
                        record.status.set(int(LIMITS[reason][1]))
            with code.when(steps >= member.most_steps()):
                record.status.set(int(Status.TOO_MANY_STEPS))
