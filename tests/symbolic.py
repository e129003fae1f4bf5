"""Hybrid DAEs in symbols, written by hand: what a translator hands over, in few lines."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.model.hybrid import (
    Assignment,
    Beginning,
    Claim,
    Hybrid,
    Reinit,
    Relation,
    Sample,
    SymbolicDAE,
    Symbols,
)
from dalembert.model.symbolic import build


def all_of(*conditions):
    """Truth values that hold together."""
    found = ca.SX(1)
    for condition in conditions:
        found = ca.logic_and(found, condition)
    return found


def any_of(*conditions):
    found = ca.SX(0)
    for condition in conditions:
        found = ca.logic_or(found, condition)
    return found


class Sketch:
    """A DAE under way: `x`, `der`, `p`, `z` map names to symbols."""

    def __init__(self, name="sketch", *, x, parameters=None, discrete=None, inputs=None):
        self.name, parameters, discrete = name, parameters or {}, discrete or {}
        self.symbols = Symbols(
            t=ca.SX.sym("t"), x=ca.SX.sym("x", len(x)), dx=ca.SX.sym("dx", len(x)),
            parameters=ca.SX.sym("p", len(parameters)), discrete=ca.SX.sym("z", len(discrete)),
            u=ca.SX.sym("u", len(inputs or {})), x_names=tuple(x), parameter_values=parameters,
            discrete_values=discrete, inputs=inputs or {},
        )  # fmt: skip
        s = self.symbols
        self.t, self.start = s.t, dict(x)
        self.x, self.der = _by_name(x, s.x), _by_name(x, s.dx)
        self.p, self.z = _by_name(parameters, s.parameters), _by_name(discrete, s.discrete)
        self.u = _by_name(inputs, s.u)
        self._place = {name: i for i, name in enumerate(discrete)}
        self.equations, self.relations, self.assignments = [], [], []
        self.samples, self.reinits, self.claims, self.previous = [], [], [], {}
        self.outputs, self.conditions, self.flags = {}, [], {}

    def relation(self, bit, value, *, closed=False, name=None, at=None, rising=True):
        by_time = None if at is None else ca.SX(at)
        more = dict(place=self._place[bit], by_time=by_time, rising=rising)
        self.relations.append(Relation(name=name or bit, value=ca.SX(value), closed=closed, **more))
        return self.z[bit]

    def assign(self, variable, value):
        self.assignments.append(Assignment(place=self._place[variable], value=ca.SX(value), name=f"{variable} = …"))

    def pre(self, *variables):
        for variable in variables:
            self.previous[self._place[variable]] = self._place[f"pre({variable})"]

    def edge(self, variable):
        return ca.logic_and(self.z[variable], ca.logic_not(self.z[f"pre({variable})"]))

    def reinit(self, condition, unknown, value):
        number = list(self.x).index(unknown)
        self.reinits.append(Reinit(condition=condition, unknown=number, value=ca.SX(value), name=f"reinit({unknown})"))

    def sample(self, clock, start, interval):
        self.samples.append(
            Sample(start=ca.SX(start), interval=ca.SX(interval), place=self._place[clock], name=f"sample of {clock}")
        )

    def claim(self, condition, *message, name="claim", ends=False, warns=False):
        self.claims.append(Claim(condition=ca.SX(condition), message=message, name=name, ends=ends, warns=warns))

    def dae(self, *, fixed=(), given=None, t_span=None, tolerance=None):
        names = list(self.x)
        hybrid = Hybrid(
            relations=tuple(self.relations), assignments=tuple(self.assignments), previous=self.previous,
            samples=tuple(self.samples), reinits=tuple(self.reinits), claims=tuple(self.claims),
            **{flag: self._place[name] for flag, name in self.flags.items()},
        )  # fmt: skip
        is_hybrid = bool(self.relations or self.assignments or self.samples or self.claims)
        return SymbolicDAE(
            name=self.name, symbols=self.symbols, residual=ca.vertcat(*self.equations),
            equation_names=tuple(f"equation {i + 1}" for i in range(len(self.equations))), outputs=self.outputs,
            beginning=Beginning(
                guesses=ca.vertcat(*(ca.SX(value) for value in self.start.values())),
                given=frozenset(names.index(n) for n in (names if given is None else given)),
                fixed=frozenset(names.index(n) for n in fixed), conditions=ca.vertcat(ca.SX(0, 1), *self.conditions),
                condition_names=tuple(f"initial equation {i + 1}" for i in range(len(self.conditions))),
            ),
            hybrid=hybrid if is_hybrid else None, t_span=t_span, tolerance=tolerance,
        )  # fmt: skip

    def build(self, **more):
        return build(self.dae(**more))


def _by_name(names, column):
    return {name: column[i] for i, name in enumerate(names or ())}


def jumps(sol):
    """Times at which there was an event, each once."""
    return np.unique(sol.t[1:][np.diff(sol.t) == 0])
