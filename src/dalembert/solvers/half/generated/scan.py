"""Events in generated code: what `solvers.events` and `solvers.roots` do on the polynomial of a step.

Functions are sampled at some points of a step. Sign changes between them are roots; where a function dips towards zero
between three samples, or dives at the start of a step, its lowest point is looked for, and there may be two. Roots are
located on the polynomial itself. An event that ends the run leaves the time of that in `stopped`.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.compile.generated.code import Code, Module
from dalembert.compile.generated.values import Index, Real, Truth, Variable, Whole
from dalembert.solvers.half.generated.between import Between
from dalembert.solvers.half.generated.record import Record
from dalembert.solvers.half.generated.scheme import EventScheme
from dalembert.solvers.limits import DESCENTS, EARLY, GOLDEN, NARROW, POINT, ROOT_ITERATIONS, SLOW_ITERATIONS
from dalembert.solvers.status import Status


class Scan:
    """Writes the code that finds roots."""

    def __init__(self, module: Module, record: Record, between: Between):
        self.record, self.between, self.code, self.scheme = record, between, record.code, record.scheme
        code, count, model = self.code, len(self.scheme.events), record.model
        self.sampled = module.table("sampled", np.arange(-self.scheme.samples, 1) / self.scheme.samples)
        self.before = code.array(count)  # values at the start of the step
        self.found = code.array(count, Whole)
        self.values, self.x, self.a = code.array(count), code.array(model.n_d), code.array(model.n_v)
        self.stopped = code.variable(0.0)
        #: two roots of each event in an interval between samples, in s = (t − t_new)/h; NaN: none
        self.roots = [code.array(2) for _ in range(count)]
        self.came_from = code.array(count)  # values before the first of them

    def clear(self) -> None:
        """Nothing has been found."""
        for e in range(len(self.scheme.events)):
            self.before.put(e, 0.0)
            self.found.put(e, self.code.whole(0))

    # -- values ----------------------------------------------------------------------------------------------------

    def _at(self, s: Real) -> None:
        """All functions at a place of the step, in `values`."""
        record, model, code = self.record, self.record.model, self.code
        h, t = record.h.get(), record.t_new.get()
        code.each(model.n_d, lambda k: self.x.put(k, self.between.value(k, s)))
        code.each(model.n_v, lambda k: self.a.put(k, self.between.rate(k + model.n_p, s, h)))
        record.calls.look(t + s * h, self.x, record.lam, self.a, self.values)

    def _value(self, s: Real, e: int) -> Real:
        self._at(s)
        return self.values[e]

    def keep(self) -> None:
        """How many roots there were."""
        for e in range(len(self.scheme.events)):
            self.record.member.keep_found(e, self.found[e])

    # -- breakpoints -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Values at the current point; behind a breakpoint, functions that have changed sign had their roots there."""
        code, record = self.code, self.record
        record.calls.look(record.t.get(), record.x, record.lam, record.a, self.values)
        later = ~record.stretch.get().equals(0) & ~record.ending.get()
        before = code.select(later, record.stretch.get() - 1, code.whole(0))
        ended = self._across(later, record.member.stretch(before, 2))
        with code.when(ended):
            record.ending.set(True)
            self.stopped.set(record.t.get())
        self._must_be_finite()

    def end(self) -> Truth:
        """At the end of the interval, if it is a breakpoint; returns whether an event ends the run there."""
        code, record = self.code, self.record
        shown = record.member.stretch(record.stretch.get(), 2)
        ended = code.variable(False)
        with code.when(shown.differs(record.t.get())):
            record.calls.look(shown, record.x, record.lam, record.a, self.values)
            ended.set(self._across(code.truth(True), shown))
            self._must_be_finite()
        return ended.get()

    def _across(self, when: Truth, breakpoint: Real) -> Truth:
        """Functions that have another sign in `values` than before had a root; returns whether one ends the run."""
        code, ended, ended_by = self.code, self.code.variable(False), self.record.ended_by
        for e, event in enumerate(self.scheme.events):
            was, now = self.before[e], self.values[e]
            crossed = when & ((was * now < 0.0) | (was.differs(0.0) & now.equals(0.0)))
            rising = (was < 0.0) | (was.equals(0.0) & (now > 0.0))
            with code.when(crossed & self._counts(event, rising)):
                self._note(e, event, breakpoint)
                if event.terminal:
                    ends = self.found[e] >= event.terminal
                    with code.when(ends & ~ended.get()):
                        ended_by.set(code.whole(e))
                    ended.set(ended.get() | ends)
            self.before[e] = now
        return ended.get()

    def _must_be_finite(self) -> None:
        code = self.code
        nothing = code.real(0.0)
        for e in range(len(self.scheme.events)):
            nothing = nothing + 0.0 * self.values[e]
        with code.when(nothing.differs(0.0)):
            self.record.status.set(int(Status.EVENT_FAILED))

    def _counts(self, event: EventScheme, rising: Truth) -> Truth:
        if not event.direction:
            return self.code.truth(True)
        return rising if event.direction > 0 else ~rising

    # -- a step ----------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Look at the step that leads to `next`."""
        code, samples = self.code, self.scheme.samples
        count = len(self.scheme.events)
        last, one_before = code.array(count), code.array(count)
        for e in range(count):
            last.put(e, self.before[e])
            one_before.put(e, 0.0)
        with code.count(1, samples + 1) as k, code.when(~self.record.ending.get()):
            left, right = code.lookup(self.sampled, k + (-1)), code.lookup(self.sampled, k)
            self._at(right)
            self._must_be_finite()
            now = [self.values[e] for e in range(count)]
            for e in range(count):
                self._interval(e, k, left, right, one_before[e], last[e], now[e])
            self._count_roots()
            for e in range(count):
                one_before[e] = last[e]
                last[e] = now[e]
        for e in range(count):
            self.before[e] = last[e]

    def _interval(
        self, e: int, k: Index, left: Real, right: Real, one_before: Real, ga: Real, gb: Real
    ) -> None:
        """Roots of an event between two samples, of which `one_before` is the value at the sample before both."""
        code, roots = self.code, self.roots[e]
        for which in range(2):
            roots.put(which, math.nan)
        self.came_from.put(e, ga)
        crossing = ga * gb < 0.0
        landed = gb.equals(0.0) & ga.differs(0.0)
        with code.when(landed):
            roots[0] = right
        with code.when(crossing):
            roots[0] = self._root(e, left, ga, right, gb)
        # dips: between this interval and the one before, or right behind the start of the step
        first = Truth(code, code.spread(code.write(f"icmp eq i64 {k.text}, 1"), "i1"))
        early = code.variable(0.0)
        dips = code.variable(~first & _suspicious(code, one_before, ga, gb))
        with code.when(first & (ga * gb > 0.0)):
            early.set(self._value(left + (right - left) * EARLY, e))
            dips.set((ga + (early.get() - ga) * (1.0 / EARLY)) * ga <= 0.5 * ga * ga)
        with code.when(dips.get()):
            low = code.select(first, left, left - (right - left))
            start = code.select(first, ga, one_before)
            side = code.select(ga > 0.0, 1.0, -1.0)
            middle, lowest = self._lowest(e, side, low, right)
            with code.when(lowest * ga < 0.0):
                self.came_from[e] = start
                roots[0] = self._root(e, low, start, middle, lowest)
                roots[1] = self._root(e, middle, lowest, right, gb)

    def _root(self, e: int, a: Real, ga: Real, b: Real, gb: Real) -> Real:
        """As `solvers.roots.bracketed_root`."""
        code = self.code
        left, right, g_left, g_right = (code.variable(x) for x in (a, b, ga, gb))
        side, iteration, under_way = code.variable(0.0), code.variable(0.0), code.variable(True)
        wide, turn = code.variable(math.inf), code.variable(0.0)

        def goes_on() -> Truth:
            apart = code.abs(right.get() - left.get()) > POINT
            return under_way.get() & apart & (iteration.get() < float(ROOT_ITERATIONS))

        with code.repeat(goes_on):
            l, r = left.get(), right.get()
            s = r - g_right.get() * (r - l) / (g_right.get() - g_left.get())
            inside = (s > code.smaller(l, r)) & (s < code.larger(l, r))
            looks, width = turn.get().equals(0.0), code.abs(r - l)
            slow = looks & (width > 0.5 * wide.get())
            wide.set(code.select(looks, width, wide.get()))
            turn.set(code.select(turn.get() < SLOW_ITERATIONS - 1.0, turn.get() + 1.0, 0.0))
            s = code.select(inside & ~slow, s, 0.5 * (l + r))
            stuck = s.equals(l) | s.equals(r)
            g = self._value(s, e)
            exact = g.equals(0.0)
            same = (g * g_right.get() > 0.0) | (code.real(0.0).equals(g_right.get()) & (g <= 0.0))
            with code.when(same | exact):
                right.set(s)
                g_right.set(g)
                with code.when(side.get() < 0.0):
                    g_left.set(0.5 * g_left.get())
                side.set(-1.0)
            with code.when(~(same | exact)):
                left.set(s)
                g_left.set(g)
                with code.when(side.get() > 0.0):
                    g_right.set(0.5 * g_right.get())
                side.set(1.0)
            under_way.set(~(exact | stuck))
            iteration.set(iteration.get() + 1.0)
        return right.get()

    def _lowest(self, e: int, side: Real, a: Real, b: Real) -> tuple[Real, Real]:
        """Golden-section search for the smallest value of side·g, until it has the other sign: where, and g there."""
        code = self.code
        low, high = code.variable(a), code.variable(b)
        at = [code.variable(a + GOLDEN * (b - a)), code.variable(b - GOLDEN * (b - a))]
        g = [code.variable(side * self._value(place.get(), e)) for place in at]
        iteration = code.variable(0.0)

        def goes_on() -> Truth:
            above = (g[0].get() >= 0.0) & (g[1].get() >= 0.0)
            return above & (high.get() - low.get() >= NARROW) & (iteration.get() < float(DESCENTS))

        with code.repeat(goes_on):
            first = g[0].get() < g[1].get()
            with code.when(first):
                high.set(at[1].get())
                at[1].set(at[0].get())
                g[1].set(g[0].get())
                at[0].set(low.get() + GOLDEN * (high.get() - low.get()))
            with code.when(~first):
                low.set(at[0].get())
                at[0].set(at[1].get())
                g[0].set(g[1].get())
                at[1].set(high.get() - GOLDEN * (high.get() - low.get()))
            new = code.select(first, at[0].get(), at[1].get())
            value = side * self._value(new, e)
            g[0].set(code.select(first, value, g[0].get()))
            g[1].set(code.select(first, g[1].get(), value))
            iteration.set(iteration.get() + 1.0)
        first = g[0].get() < g[1].get()
        where = code.select(first, at[0].get(), at[1].get())
        return where, side * code.select(first, g[0].get(), g[1].get())

    # -- what is found ---------------------------------------------------------------------------------------------

    def _count_roots(self) -> None:
        """Note the roots of an interval up to the first that ends the run."""
        code, record = self.code, self.record
        h, t = record.h.get(), record.t_new.get()
        stop, ended_by = code.variable(math.inf), code.variable(record.ended_by.get())
        noted: list[tuple[int, EventScheme, Variable, Truth]] = []
        for e, event in enumerate(self.scheme.events):
            so_far = code.variable(self.found[e])
            for which in range(2):
                s = self.roots[e][which]
                # the value before the root tells the direction; a second root has the other one
                rising = self._before_root(e, which)
                real = s.equals(s) & self._counts(event, rising)
                noted.append((e, event, code.variable(code.select(real, s, math.nan)), real))
                if event.terminal:
                    so_far.put(code.select(real, so_far.get() + 1, so_far.get()))
                    ends = real & (so_far.get() >= event.terminal)
                    first = ends & (s < stop.get())
                    stop.put(code.select(first, s, stop.get()))
                    ended_by.put(code.select(first, code.whole(e), ended_by.get()))
        for e, event, place, real in noted:
            with code.when(real & (place.get() <= stop.get())):
                self._note(e, event, t + place.get() * h)
        with code.when(stop.get() < math.inf):
            record.ending.set(True)
            record.ended_by.set(ended_by.get())
            self.stopped.set(t + stop.get() * h)

    def _before_root(self, e: int, which: int) -> Truth:
        """Whether the function rises at a root: it comes from below."""
        below = self.came_from[e] < 0.0
        return ~below if which else below

    def _note(self, e: int, event: EventScheme, t: Real) -> None:
        """A root at a time."""
        code, count, room = self.code, self.found[e], self.scheme.room
        with code.when(count < room):
            self.record.member.keep_root(count, e * room, t)
        self.found[e] = count + 1


def _suspicious(code: Code, before: Real, middle: Real, after: Real) -> Truth:
    """Whether the parabola through three equidistant values of one sign reaches the other sign near the middle one."""
    one_sign = (before * middle > 0.0) & (middle * after > 0.0)
    lowest = (code.abs(middle) <= code.abs(before)) & (code.abs(middle) <= code.abs(after))
    curvature = before - 2.0 * middle + after
    slope = 0.5 * (after - before)
    deep = (middle - 2.0 * slope * slope / curvature) * middle <= 0.5 * middle * middle
    return one_sign & lowest & curvature.differs(0.0) & deep

