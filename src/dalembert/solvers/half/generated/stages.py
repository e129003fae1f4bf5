"""The stages of a step and the estimate of its error, as `half_explicit_kernel` has them.

Where p' = v, stages know no rates of positions: sums of these follow from the accelerations and the square of the
tableau, so that half as many numbers are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.compile.generated.code import Module, Table
from dalembert.compile.generated.straight import reciprocal
from dalembert.compile.generated.values import Index, Real
from dalembert.solvers.half.generated.record import Record
from dalembert.solvers.half.generated.scheme import Scheme


class Tableau:
    """Coefficients, those of stages as tables of a module."""

    def __init__(self, module: Module, scheme: Scheme):
        tableau = scheme.tableau
        self.s = tableau.stages
        self.closing = module.table("closing", tableau.closing)
        self.closing_twice = module.table("closing_twice", tableau.closing @ tableau.A)
        self.row_sums = module.table("row_sums", tableau.closing.sum(axis=1))
        self.times = module.table("closing_times", tableau.closing_c)
        self.diagonal = module.table("diagonal", np.diag(tableau.closing))
        #: weights of the error estimates, and those of accelerations in the estimates of positions
        self.estimates = tableau.estimates[:, : self.s]
        self.estimates_twice = self.estimates @ tableau.A
        #: the estimate leaves out the first stage: a jump behind that is not seen
        self.blind = not tableau.estimates[:, 0].any()
        self.power = 1.0 / tableau.estimate_power


class Stages:
    """Writes the stages."""

    def __init__(self, record: Record, tableau: Tableau):
        self.record, self.tableau, self.code, self.model = record, tableau, record.code, record.model
        model, rows = self.model, tableau.s
        #: slopes of the stages: accelerations, rates of positions unless they are velocities, of dynamic variables
        self.slopes = {
            kind: self.code.rows(rows, count)
            for kind, count in (("v", model.n_v), ("p", 0 if model.plain else model.n_p), ("r", model.n_r))
        }

    def take(self) -> None:
        """All of them; `next` is the new point, and `at` its record."""
        code, record, slopes = self.code, self.record, self.slopes
        n_p, n_v, n_r, calls = self.model.n_p, self.model.n_v, self.model.n_r, record.calls
        rates, at, here = record.next_rates, record.at, record.here
        code.each(record.n_slope, lambda k: rates.put(k, record.rates[k]))
        code.each(record.definitions.n_q, lambda k: at.put(k, record.q[k]))
        flawed, now = code.variable(0.0), code.variable(record.t.get())
        h, t = record.h.get(), record.t.get()
        with code.count(0, self.tableau.s) as i:
            with code.unless_zero(i):
                calls.rates(now.get(), record.next, at, rates)
            if not self.model.plain:
                code.each(n_p, lambda k: slopes["p"].put(i, k, rates[k + record.rate_of("p")]))
            code.each(n_r, lambda k: slopes["r"].put(i, k, rates[k + (record.n_slope - n_r)]))
            self._advance(i)
            c = code.lookup(self.tableau.times, i)
            at_end = c.equals(1.0) & record.last.get()
            now.put(code.select(at_end, record.t_end.get(), t + c * h))
            code.each(record.definitions.n_q, lambda k: here.put(k, at[k]))
            calls.stage(now.get(), record.next, at)
            step = h * code.lookup(self.tableau.diagonal, i)
            velocities = record.next.behind(n_p)
            flaw = calls.once(here, at, rates, velocities, -1.0 / step, record.b)
            flawed.put(code.larger(flawed.get(), flaw))
            code.each(n_v, lambda k: self._keep(i, k, step))
        record.flaw.put(flawed.get())

    def _keep(self, i: Index, k: Any, step: Real) -> None:
        """An acceleration, and what it makes of the velocity."""
        record, slope = self.record, self.record.b[k]
        velocity = k + self.model.n_p
        self.slopes["v"].put(i, k, slope)
        record.next.put(velocity, record.next[velocity] + step * slope)

    def _advance(self, i: Index) -> None:
        """Positions and dynamic variables of the next point, and its velocities without the last acceleration."""
        code, model, record, tableau = self.code, self.model, self.record, self.tableau
        n_p, n_v, n_r = model.n_p, model.n_v, model.n_r
        x, new, h = record.x, record.next, record.h.get()
        if model.plain:
            total = code.lookup(tableau.row_sums, i)

            def both(k: Any, sums: list[Real]) -> None:
                twice, once = sums
                velocity = x[k + n_p]
                new.put(k, x[k] + h * (total * velocity + h * twice))
                new.put(k + n_p, velocity + h * once)

            tables, zeros = (tableau.closing_twice, tableau.closing), [code.real(0.0)] * 2
            code.accumulate(n_v, i, lambda k: zeros, self._earlier("v", i, *tables), both)
        else:
            self._advance_kind(i, "v", n_p, n_v)
            self._advance_kind(i, "p", 0, n_p)
        self._advance_kind(i, "r", n_p + n_v, n_r)

    def _advance_kind(self, i: Index, kind: str, begin: int, count: int) -> None:
        """Unknowns from number `begin` on, by slopes of earlier stages, and of this one where they are known."""
        code, x, new, h = self.code, self.record.x, self.record.next, self.record.h.get()
        own = code.lookup(self.tableau.diagonal, i)

        def first(k: Any) -> list[Real]:
            return [code.real(0.0) if kind == "v" else own * self.slopes[kind].get(i, k)]

        def last(k: Any, sums: list[Real]) -> None:
            new.put(k + begin, x[k + begin] + h * sums[0])

        code.accumulate(count, i, first, self._earlier(kind, i, self.tableau.closing), last)

    def _earlier(self, kind: str, i: Index, *tables: Table) -> Callable[[Index], Callable[[Any], list[Real]]]:
        """Terms of sums over earlier stages: their slopes, weighted by each of some tables."""

        def of_stage(j: Index) -> Callable[[Any], list[Real]]:
            weights = [self.code.lookup(table, i * self.tableau.s + j) for table in tables]

            def terms(k: Any) -> list[Real]:
                slope = self.slopes[kind].get(j, k)
                return [weight * slope for weight in weights]

            return terms

        return of_stage

    def estimate(self) -> None:
        """The size of the error in units of the tolerance."""
        code, record, model = self.code, self.record, self.model
        h, several = record.h.get(), len(self.tableau.estimates)
        weights, twice = self.tableau.estimates, self.tableau.estimates_twice

        def squares(k: Any, begin: int, kind: str, rows: np.ndarray, factor: Real) -> list[Real]:
            """Of the estimates for unknown k of a kind, the first of which is number `begin`."""
            size = code.larger(code.abs(record.x[k + begin]), code.abs(record.next[k + begin]))
            scale = factor * reciprocal(code, record.tolerance(k + begin, size))
            totals = [code.real(0.0)] * several
            for j in np.flatnonzero(rows.any(axis=0)).tolist():
                slope = self.slopes[kind].get(j, k)
                totals = [t + w * slope if w else t for t, w in zip(totals, rows[:, j].tolist(), strict=True)]
            errors = [total * scale for total in totals]
            if record.errors is not None:
                record.errors.put(k + begin, errors[0])
            return [e * e for e in errors]

        parts = [("v", 0, model.n_p, twice, h * h) if model.plain else ("p", 0, model.n_p, weights, h)]
        if not record.scheme.positions_only:
            parts += [("v", model.n_p, model.n_v, weights, h), ("r", model.n_p + model.n_v, model.n_r, weights, h)]
        sums = [code.real(0.0)] * several
        for kind, begin, size, rows, factor in parts:
            own = code.totals(size, lambda k, p=(begin, kind, rows, factor): squares(k, *p), several)
            sums = [a + b for a, b in zip(sums, own, strict=True)]
        count = model.n_p if record.scheme.positions_only else model.n_d
        sizes = [code.sqrt(total * (1.0 / count)) for total in sums]
        near = sizes[0]
        if len(sizes) == 2:
            total = near + 0.01 * sizes[1]
            near = code.select(total > 0.0, near * near / total, code.select(total.equals(0.0), 0.0, math.nan))
        record.error.set(near)
