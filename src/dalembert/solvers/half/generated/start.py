"""Start values of members: the smallest corrections of positions and velocities, as `start_kernel` makes them.

Residuals that are nothing but rounding leave given values as they are; others are corrected by Gauss-Newton steps of
minimum norm. Whatever is irregular is marked, for `simulate` to look at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.compile.generated.code import Code
from dalembert.compile.generated.values import Array, Real, Truth, Variable
from dalembert.solvers.half.generated.calls import Calls
from dalembert.solvers.half.generated.elimination import Eliminated
from dalembert.solvers.half.generated.layout import Counter
from dalembert.solvers.half.generated.member import Member
from dalembert.solvers.half.generated.model import ModelGraph
from dalembert.solvers.limits import CORRECTIONS

#: what a member's status is after `start`
FOUND, IRREGULAR = 0, 1

Evaluate = Callable[[Array, Array], None]  # into residuals and entries of their Jacobian


def write_start(code: Code, calls: Calls, member: Member, model: ModelGraph) -> None:
    """Correct positions, then velocities, then tell the largest relative change."""
    t, n_p, n_v = member.stretch(code.whole(0), 0), model.n_p, model.n_v
    x, start = code.array(model.n_d), code.array(model.n_d)
    code.each(model.n_d, lambda k: start.put(k, member.x0(k)))
    code.each(model.n_d, lambda k: x.put(k, start[k]))
    found = code.variable(True)
    if model.smallest_position is not None:

        def position(residual: Array, entries: Array) -> None:
            calls.gap(t, x, residual)
            calls.slope(t, x, entries)

        count = len(model.position_pattern[0])
        Correction(code, calls, "_position", model.smallest_position, count, n_p, model.n_lam).write(x, position, found)
    if model.smallest_velocity is not None:
        at = code.array(calls.definitions.n_at)
        v = x.behind(n_p)

        def velocity(residual: Array, entries: Array) -> None:
            calls.stage(t, x, at)
            calls.matrix(t, x, entries)
            calls.excess(at, v, residual)

        count = len(model.constraint_pattern[0])
        Correction(code, calls, "_velocity", model.smallest_velocity, count, n_v, model.n_m).write(v, velocity, found)

    if model.invariants:
        excess = code.array(len(model.invariants))
        calls.astray(t, x, excess)
        worst = code.highest(len(model.invariants), lambda k: code.select(excess[k] <= 0.0, 0.0, 1.0))
        found.set(found.get() & worst.equals(0.0))

    def change(k: Any) -> Real:
        return code.abs(x[k] - start[k]) / (1.0 + code.abs(start[k]))

    largest = code.highest(n_p + n_v, change)
    finite = code.total(model.n_d, lambda k: 0.0 * x[k]).equals(0.0)
    code.each(model.n_d, lambda k: member.keep("x", k, x[k]))
    member.keep("correction", 0, largest)
    member.note(Counter.STATUS, code.select(found.get() & finite, code.whole(FOUND), code.whole(IRREGULAR)))


class Correction:
    """Of m equations in n unknowns, with `count` entries in their Jacobian."""

    def __init__(self, code: Code, calls: Calls, suffix: str, system: Eliminated, count: int, n: int, m: int):
        self.code, self.calls, self.suffix, self.n, self.m = code, calls, suffix, n, m
        self.kept = len(system.kept)
        self.residual, self.entries, self.largest = code.array(m), code.array(count), code.array(1)
        self.factors, self.b = code.array(self.kept), code.array(n + m)
        self.scale, self.excess = code.array(m), code.array(2 * m)

    def write(self, z: Array, evaluate: Evaluate, found: Variable) -> None:
        """Move z until the equations hold; `found` becomes false where that does not succeed."""
        code, calls, n, m, b = self.code, self.calls, self.n, self.m, self.b
        iteration = code.variable(0.0)
        evaluate(self.residual, self.entries)
        under_way = code.variable(~self._holds(z)[0])

        def moved(k: Any) -> None:
            z[k] = z[k] + b[k]

        with code.repeat(under_way.get):
            code.each(n, lambda k: b.put(k, 0.0))
            code.each(m, lambda k: b.put(k + n, -self.residual[k]))
            flaw = calls.smallest(self.suffix, self.kept, self.entries, self.factors, b)
            calls.scale(self.suffix, self.entries, self.scale)
            size = self._norm()
            code.each(n, moved)
            evaluate(self.residual, self.entries)
            iteration.set(iteration.get() + 1.0)
            smaller = (self._norm() <= 0.9 * size) & flaw.equals(0.0)
            goes_on = smaller & (iteration.get() < float(CORRECTIONS))
            exactly, nearly = self._holds(z)
            # residuals that no longer become smaller may be as small as rounding lets them be
            holds = exactly | (nearly & ~smaller)
            found.set(found.get() & (holds | goes_on))
            under_way.set(goes_on & ~holds)

    def _holds(self, z: Array) -> tuple[Truth, Truth]:
        """Whether all residuals are rounding errors of their terms; and whether they nearly are."""
        code = self.code
        self.largest.put(0, code.highest(self.n, lambda k: code.abs(z[k])))
        self.calls.held(self.suffix, self.residual, self.entries, z, self.largest, self.excess)

        def within(first: int) -> Truth:
            return code.highest(self.m, lambda k: code.select(self.excess[k + first] <= 0.0, 0.0, 1.0)).equals(0.0)

        return within(0), within(self.m)

    def _norm(self) -> Real:
        """Of the residuals in units of the largest entries of their rows."""
        code = self.code

        def square(k: Any) -> Real:
            e = self.residual[k] / self.scale[k]
            return e * e

        return code.sqrt(code.total(self.m, square))
