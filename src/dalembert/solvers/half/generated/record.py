"""What an integrator knows of the members it is working on: the current point, the next one, and where it stands."""

from __future__ import annotations

from typing import Any

from dalembert.compile.generated.code import Code
from dalembert.compile.generated.straight import reciprocal
from dalembert.compile.generated.values import Array, Real, Truth, Variable
from dalembert.solvers.half.generated.calls import Calls
from dalembert.solvers.half.generated.layout import Option
from dalembert.solvers.half.generated.member import Member
from dalembert.solvers.half.generated.scheme import Scheme
from dalembert.solvers.status import GO_ON, Outcome


class Record:
    """Arrays and variables of generated code; see `solvers.half.core` for what they mean."""

    def __init__(self, code: Code, calls: Calls, member: Member, scheme: Scheme):
        self.code, self.calls, self.member, self.scheme = code, calls, member, scheme
        definitions = calls.definitions
        self.definitions, self.model = definitions, definitions.model
        model, array, variable = self.model, code.array, self._variable
        self._initial: list[tuple[Variable, Any]] = []
        n_d, n_v, n_m, n_slope = model.n_d, model.n_v, model.n_m, definitions.n_rates
        #: forces that move, rates of positions unless they are velocities, of dynamic variables
        self.n_slope = n_slope
        # the current point, and the one that a step leads to
        self.x, self.next = array(n_d), array(n_d)
        self.rates, self.next_rates = array(n_slope), array(n_slope)
        self.a, self.lam = array(n_v), array(n_m)
        self.q, self.at = array(definitions.n_q), array(definitions.n_at)
        # where the last stage began, and factors of the last matrix
        self.here, self.factors = array(definitions.n_q), array(definitions.n_factors)
        #: what systems have been solved for: accelerations and multipliers at the next point, once that is complete
        self.b, self.raw = array(n_v + n_m), array(model.n_p)
        self.flaw = variable(0.0)
        self.iterations = variable(0.0)  # of the projection
        #: errors of all unknowns, in units of the tolerance, for those who ask
        self.errors: Array | None = None
        zero = code.whole(0)
        self.status, self.outcome = variable(code.whole(GO_ON)), variable(code.whole(int(Outcome.FINE)))
        self.stretch = variable(zero)
        self.t, self.t_end = variable(member.stretch(zero, 0)), variable(member.stretch(zero, 1))
        self.h, self.error, self.new_h = variable(0.0), variable(0.0), variable(0.0)
        self.t_new = variable(self.t.get())
        #: at the beginning of a stretch; on the last step of one; after a rejection; at an event that ends the run
        self.fresh, self.last, self.rejected, self.ending = (variable(value) for value in (True, False, False, False))
        self.accepted, self.inaccurate, self.failed, self.following = (variable(zero) for _ in range(4))
        self.ended_by = variable(zero)  # number of the event, at the end of a run that has been ended by one

    def _variable(self, value: Any) -> Variable:
        """One that every member begins with this value."""
        variable = self.code.variable(value)
        self._initial.append((variable, value))
        return variable

    def begin(self) -> None:
        """Where members stand at first."""
        code, model, member = self.code, self.model, self.member
        for variable, value in self._initial:
            variable.put(value)
        code.each(model.n_d, lambda k: self.x.put(k, member.x0(k)))
        code.each(model.n_v, lambda k: self.a.put(k, 0.0))
        code.each(model.n_m, lambda k: self.lam.put(k, 0.0))

    def tolerance(self, k: Any, size: Real) -> Real:
        """What an error of an unknown of this size may be."""
        uniform = 0 if self.scheme.uniform else k
        return self.member.atol(uniform) + self.member.rtol(uniform) * size

    def per_weight(self, k: Any) -> Real:
        """1 by what an error of an unknown may be, at the current point."""
        return reciprocal(self.code, self.tolerance(k, self.code.abs(self.x[k])))

    def rate_of(self, kind: str) -> int:
        """What leads from the number of an unknown, a position or a dynamic variable, to that of its rate."""
        if kind == "p":
            return self.definitions.n_f
        return self.n_slope - self.model.n_d

    def fine(self) -> Truth:
        """Whether nothing has gone wrong in this attempt."""
        return self.outcome.get().equals(int(Outcome.FINE))

    def unless_fine(self, condition: Truth, outcome: Outcome) -> None:
        """What an attempt has come to, where everything was fine so far."""
        with self.code.when(condition & self.fine()):
            self.outcome.set(int(outcome))

    def signed(self, size: Real) -> Real:
        """A step size in the direction of time."""
        return size * self.member.option(Option.DIRECTION)
