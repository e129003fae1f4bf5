"""The stages of a step and the estimate of its error, as `half_explicit_kernel` has them.

Where p' = v, stages know no rates of positions: sums of these follow from the accelerations and the square of the
tableau, so that half as many numbers are kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.compile.generated.code import Index, Module, Real
from dalembert.compile.generated.straight import reciprocal
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
        n_p, n_v, n_r, width, calls = self.model.n_p, self.model.n_v, self.model.n_r, record.n_slope, record.calls
        rates, at, here = record.next_rates, record.at, record.here
        code.each(width, lambda k: rates.put(k, record.rates[k]))
        code.each(record.definitions.n_q, lambda k: at.put(k, record.q[k]))
        flawed, now = code.variable(0.0), code.variable(record.t.get())
        h, t = record.h.get(), record.t.get()
        with code.count(0, self.tableau.s) as i:
            with code.unless_zero(i):
                calls.rates(now.get(), record.next, at, rates)
            if not self.model.plain:
                code.each(n_p, lambda k: slopes["p"].put(i, k, rates[k + n_v]))
            code.each(n_r, lambda k: slopes["r"].put(i, k, rates[k + (width - n_r)]))
            self._advance(i)
            c = code.lookup(self.tableau.times, i)
            at_end = c.equals(1.0) & record.last.get()
            now.put(code.select(at_end, record.t_end.get(), t + c * h))
            code.each(record.definitions.n_q, lambda k: here.put(k, at[k]))
            calls.stage(now.get(), record.next, at)
            step = h * code.lookup(self.tableau.diagonal, i)
            code.each(n_v, lambda k: record.b.put(k, rates[k]))
            self.demand(-1.0 / step)
            flawed.put(code.larger(flawed.get(), calls.once(here, at, record.b)))
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
        code, model, record, slopes = self.code, self.model, self.record, self.slopes
        n_p, n_v, n_r, s, behind = model.n_p, model.n_v, model.n_r, self.tableau.s, model.n_p + model.n_v
        x, new, h = record.x, record.next, record.h.get()
        own = code.lookup(self.tableau.diagonal, i)
        code.each(n_v, lambda k: new.put(k + n_p, 0.0))
        code.each(n_p, lambda k: new.put(k, 0.0 if model.plain else own * slopes["p"].get(i, k)))
        code.each(n_r, lambda k: new.put(k + behind, own * slopes["r"].get(i, k)))

        def accelerations(j: Index) -> Any:
            a = code.lookup(self.tableau.closing, i * s + j)
            twice = code.lookup(self.tableau.closing_twice, i * s + j)

            def terms(k: Any) -> list[Real]:
                slope = slopes["v"].get(j, k)
                return [twice * slope, a * slope] if model.plain else [a * slope]

            return terms

        def rates(kind: str) -> Any:
            def of_stage(j: Index) -> Any:
                a = code.lookup(self.tableau.closing, i * s + j)
                return lambda k: [a * slopes[kind].get(j, k)]

            return of_stage

        velocities = new.behind(n_p)
        code.accumulate([new, velocities] if model.plain else [velocities], n_v, i, accelerations)
        if not model.plain:
            code.accumulate([new], n_p, i, rates("p"))
        if n_r:
            code.accumulate([new.behind(behind)], n_r, i, rates("r"))
        if model.plain:
            total = code.lookup(self.tableau.row_sums, i)
            code.each(n_p, lambda k: new.put(k, x[k] + h * (total * x[k + n_p] + h * new[k])))
        else:
            code.each(n_p, lambda k: new.put(k, x[k] + h * new[k]))
        code.each(model.n_d - n_p, lambda k: new.put(k + n_p, x[k + n_p] + h * new[k + n_p]))

    def demand(self, factor: Real) -> None:
        """What velocities in `next` violate the constraints by, times a factor, behind the forces in b."""
        model, record = self.model, self.record
        if not model.n_m:
            return
        behind = record.b.behind(model.n_v)
        record.calls.excess(record.at, record.next.behind(model.n_p), behind)
        self.code.each(model.n_m, lambda k: behind.put(k, behind[k] * factor))

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
