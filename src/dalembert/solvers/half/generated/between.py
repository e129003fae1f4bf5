"""Between the ends of a step: its polynomial, as `interpolation` has it, and what that tells.

Integrals of a step's cubics see jumps that no stage has seen. Values at output times are those of the polynomial.
"""

from __future__ import annotations

from typing import Any

from dalembert.compile.generated.straight import reciprocal
from dalembert.compile.generated.values import Real, Truth
from dalembert.solvers.half.generated.arrival import Arrival
from dalembert.solvers.half.generated.layout import Option
from dalembert.solvers.half.generated.record import Record
from dalembert.solvers.half.generated.stages import Tableau
from dalembert.solvers.limits import FARTHEST, INNER, N_COEFFICIENTS, NOISE, ROUNDING, SLOPE
from dalembert.solvers.status import Outcome


class Between:
    """Writes what is looked at within a step that is nearly accepted."""

    def __init__(self, record: Record, tableau: Tableau, arrival: Arrival):
        self.record, self.tableau, self.arrival = record, tableau, arrival
        self.code, self.model = record.code, record.model
        model, definitions, array = self.model, record.definitions, self.code.array
        #: whether rates at an inner point make quartics: where positions do not tell
        self.inner = not model.plain or bool(model.n_r)
        self.settles = record.scheme.outputs and record.scheme.multipliers and bool(model.n_m)
        if self.inner:
            self.kappa = array(model.n_d)
        if self.inner or self.settles:
            self.x = array(model.n_d)
            self.at, self.factors = array(definitions.n_at), array(definitions.n_factors)
            self.rates, self.b = array(record.n_slope), array(model.n_v + model.n_m)
        looks = record.scheme.looks_between
        self.coefficients = array(N_COEFFICIENTS * model.n_d if looks else 0)

    # -- jumps -----------------------------------------------------------------------------------------------------

    def look_for_jumps(self) -> None:
        """Reject the step if integrals of its cubics are off by too many tolerances."""
        code, record = self.code, self.record
        if not (self.tableau.blind or (self.inner and record.scheme.looks_between)):
            return
        missed = self._missed()
        if not self.tableau.blind:
            return
        jump = code.sqrt(missed)
        jumped = jump > FARTHEST
        record.unless_fine(jumped, Outcome.INACCURATE)
        with code.when(jumped):
            shrink = code.larger(record.member.option(Option.MAX_SHRINK), 0.9 * FARTHEST / jump)
            record.new_h.set(record.signed(code.abs(record.h.get()) * shrink))

    def _missed(self) -> Real:
        code, model, h = self.code, self.model, self.record.h.get()
        if not model.plain:
            return self._missed_inside(h, 0)
        missed = self._missed_way(h)
        return code.larger(missed, self._missed_inside(h, 2 * model.n_p)) if model.n_r else missed

    def _missed_way(self, h: Real) -> Real:
        """p' = v: by how many tolerances of v the mean velocity of the cubics is off, squared."""
        code, record, n_p = self.code, self.record, self.model.n_p
        rounding = ROUNDING / code.abs(h)

        def square(k: Any) -> Real:
            certain = code.abs(self._lost(k, h)) - rounding * code.abs(record.x[k])
            certain = code.larger(certain, 0.0) * record.per_weight(k + n_p)
            return certain * certain

        return code.total(n_p, square) * (1.0 / n_p)

    def _lost(self, k: Any, h: Real) -> Real:
        """What the mean velocity of a cubic differs from that of the way travelled."""
        record, n_p = self.record, self.model.n_p
        mean = 0.5 * (record.x[k + n_p] + record.next[k + n_p]) + h * (record.a[k] - record.b[k]) * (1.0 / 12.0)
        return (record.raw[k] - record.x[k]) * reciprocal(self.code, h) - mean

    def _missed_inside(self, h: Real, first: int) -> Real:
        """By how many tolerances the integrals of rates at the inner point are off, squared; these rates make quartics.

        Where they cannot be evaluated, the cubics stay.
        """
        code, model, record, calls = self.code, self.model, self.record, self.record.calls
        n_p, t = model.n_p, record.t.get() + (1.0 + INNER) * h

        def inside(c: list[Real]) -> Real:
            return c[0] + INNER * (c[1] + INNER * (c[2] + INNER * c[3]))

        self._unknowns(lambda k, kind: self.x.put(k, inside(self._cubic(k, kind, h))))
        calls.point(t, self.x, self.at)
        flaw = calls.factor(self.at, self.at, self.factors)
        nothing = self.arrival.complete(t, self.x, self.at, self.factors, self.rates, self.b)
        usable = nothing.equals(0.0) & flaw.equals(0.0)

        def set_kappa(k: Any, kind: str) -> None:
            if kind == "v":
                rate = self.b[k + (-n_p)]
            else:
                rate = self.rates[k + record.rate_of(kind)]
            c = self._cubic(k, kind, h)
            slope = c[1] + INNER * (2.0 * c[2] + INNER * 3.0 * c[3])
            self.kappa.put(k, code.select(usable, (h * rate - slope) * (1.0 / SLOPE), 0.0))

        self._unknowns(set_kappa, first)
        count = model.n_d - first

        def square(k: Any) -> Real:
            certain = code.abs(self.kappa[k + first]) * (1.0 / 30.0) - ROUNDING * code.abs(record.x[k + first])
            certain = code.larger(certain, 0.0) * record.per_weight(k + first)
            return certain * certain

        return code.total(count, square) * (1.0 / count)

    # -- polynomials -----------------------------------------------------------------------------------------------

    def _unknowns(self, body: Any, first: int = 0) -> None:
        """body(k, kind) for all unknowns from one on."""
        model = self.model
        begin = 0
        for kind, count in (("p", model.n_p), ("v", model.n_v), ("r", model.n_r)):
            if begin >= first:
                self.code.each(count, lambda k, kind=kind, begin=begin: body(k + begin, kind))
            begin += count

    def ends(self, k: Any, kind: str, h: Real) -> tuple[Real, Real]:
        """h times the rates of an unknown at both ends of the step."""
        record, model = self.record, self.model
        n_p = model.n_p
        if kind == "v":
            return h * record.a[k + (-n_p)], h * record.b[k + (-n_p)]
        if kind == "p" and model.plain:
            return h * record.x[k + n_p], h * record.next[k + n_p]
        place = k + record.rate_of(kind)
        return h * record.rates[place], h * record.next_rates[place]

    def _cubic(self, k: Any, kind: str, h: Real) -> list[Real]:
        """Coefficients of powers of s = (t − t_new)/h."""
        record = self.record
        d0, d1 = self.ends(k, kind, h)
        fall = record.x[k] - record.next[k] + d1
        return [record.next[k], d1, d0 - d1 + 3.0 * fall, d0 - d1 + 2.0 * fall]

    def _polynomial(self, k: Any, kind: str, h: Real) -> list[Real]:
        code, model, record, n_p = self.code, self.model, self.record, self.model.n_p
        c = [*self._cubic(k, kind, h), code.real(0.0), code.real(0.0)]

        def raised(kappa: Real) -> None:
            c[2], c[3], c[4] = c[2] + kappa, c[3] + 2.0 * kappa, c[4] + kappa

        if not model.plain or kind == "r":
            raised(self.kappa[k])
        elif kind == "v":
            kappa = 30.0 * self._lost(k + (-n_p), h)
            loud = code.abs(kappa * h) > NOISE * code.abs(record.raw[k + (-n_p)])
            raised(code.select(loud, kappa, 0.0))
        else:
            a0, a1 = h * record.a[k], h * record.b[k]
            late = 0.5 * (h * a1 - 2.0 * c[2])
            early = 0.5 * (h * a0 - 2.0 * c[2] + 6.0 * c[3])
            rho = late - early
            raised(late)
            c[3], c[4], c[5] = c[3] + rho, c[4] + 2.0 * rho, c[5] + rho
        return c

    def set_polynomial(self) -> None:
        """Keep the coefficients of the step."""
        n_d, h = self.model.n_d, self.record.h.get()

        def keep(k: Any, kind: str) -> None:
            for power, coefficient in enumerate(self._polynomial(k, kind, h)):
                self.coefficients.put(k + power * n_d, coefficient)

        self._unknowns(keep)

    def value(self, k: Any, s: Real) -> Real:
        """An unknown within the step."""
        c, n_d = self.coefficients, self.model.n_d
        total = c[k + (N_COEFFICIENTS - 1) * n_d]
        for power in range(N_COEFFICIENTS - 2, -1, -1):
            total = total * s + c[k + power * n_d]
        return total

    def rate(self, k: Any, s: Real, h: Real) -> Real:
        """Its derivative there."""
        c, n_d = self.coefficients, self.model.n_d
        total = (N_COEFFICIENTS - 1.0) * c[k + (N_COEFFICIENTS - 1) * n_d]
        for power in range(N_COEFFICIENTS - 2, 0, -1):
            total = total * s + float(power) * c[k + power * n_d]
        return total / h

    # -- output times ----------------------------------------------------------------------------------------------

    def give_start(self) -> None:
        """If the start of a stretch is an output time: a breakpoint is, for what comes behind it."""
        code, record, member = self.code, self.record, self.record.member
        t, stretch = record.t.get(), record.stretch.get()
        # what ends the run at a breakpoint ends it there, and not behind
        behind = record.ending.get() & ~stretch.equals(0)
        breakpoint = member.stretch(code.select(behind, stretch - 1, code.whole(0)), 2)
        reached = code.select(behind, breakpoint, self._shown(t))
        with code.repeat(lambda: self._due(reached)):
            following = record.following.get()
            code.each(self.model.n_d, lambda k: member.keep_output(following, k, record.x[k]))
            if self.settles:
                n_d = self.model.n_d
                code.each(self.model.n_m, lambda k: member.keep_output(following, k + n_d, record.lam[k]))
            record.following.set(following + 1)

    def _shown(self, t: Real) -> Real:
        """A time of the current stretch; its end as users know it, if it is the last one."""
        code, record = self.code, self.record
        over = t.equals(record.t_end.get()) & ~(record.stretch.get() + 1 < record.member.stretches())
        return code.select(over, record.member.stretch(record.stretch.get(), 2), t)

    def _due(self, reached: Real) -> Truth:
        """Whether the next output time has been reached."""
        code, record, member = self.code, self.record, self.record.member
        following, forward = record.following.get(), member.option(Option.DIRECTION)
        inside = following < member.outputs()
        time = member.time(code.select(inside, following, code.whole(0)))
        return inside & (time * forward <= reached * forward)

    def give_outputs(self, stopped: Real | None) -> None:
        """Values at the output times of the step that has just been taken; none behind an event that ends the run."""
        code, record, member = self.code, self.record, self.record.member
        h, t, forward = record.h.get(), record.t_new.get(), member.option(Option.DIRECTION)
        reached = self._shown(t)
        if stopped is not None:
            reached = code.select(record.ending.get(), stopped, reached)
        with code.repeat(lambda: self._due(reached)):
            following = record.following.get()
            time = member.time(following)
            s = (time - t) / h
            code.each(self.model.n_d, lambda k: member.keep_output(following, k, self.value(k, s)))
            if self.settles:
                late = time * forward > record.t_end.get() * forward  # the end is a breakpoint
                self._settle(code.select(late, record.t_end.get(), time), s)
                n_v, n_d = self.model.n_v, self.model.n_d
                code.each(self.model.n_m, lambda k: member.keep_output(following, k + n_d, self.b[k + n_v]))
            record.following.set(following + 1)

    def _settle(self, t: Real, s: Real) -> None:
        """Multipliers within the step, in b: they follow from the equations of motion."""
        self.code.each(self.model.n_d, lambda k: self.x.put(k, self.value(k, s)))
        self.record.calls.point(t, self.x, self.at)
        self.record.calls.factor(self.at, self.at, self.factors)
        self.arrival.complete(t, self.x, self.at, self.factors, self.rates, self.b)
