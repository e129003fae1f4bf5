"""DAEs whose equations change at events, in symbols: what a translator (`modelica/`) hands over to the driver.

Between events a hybrid DAE is an ordinary one: truth values of relations, discrete variables and their values before
the event are numbers in θ. At an event they are found anew, together with the unknowns, until nothing changes any more.
All expressions are in the symbols of one `Symbols`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca


@dataclass(frozen=True, kw_only=True, eq=False)
class Symbols:
    """Columns of symbols, and the names of their entries in the same order."""

    t: ca.SX
    x: ca.SX
    dx: ca.SX
    parameters: ca.SX
    discrete: ca.SX
    u: ca.SX
    x_names: tuple[str, ...]
    parameter_values: Mapping[str, float]
    discrete_values: Mapping[str, float]  # before the start: Modelica's `start` of discrete variables
    inputs: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Relation:
    """Something that is true or false, and an event where that changes.

    It is true where `value` > 0, or ≥ 0 if `closed`; near zero it stays what it was. Its truth value is the discrete
    variable `place`, which the equations contain in its stead. `by_time` is set if it depends on time alone: `value`
    changes its sign at that time, an expression of parameters and discrete variables, and `rising` says how.
    """

    name: str  # for messages and events, as in "clutch1.fn <= 0"
    value: ca.SX
    closed: bool
    place: int
    by_time: ca.SX | None = None
    rising: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment:
    """At events, the discrete variable `place` gets this value. Those that come first are seen by later ones."""

    place: int
    value: ca.SX
    name: str  # the equation, for messages


@dataclass(frozen=True, kw_only=True, eq=False)
class Reinit:
    """Where `condition` is not zero at an event, unknown number `unknown` starts again from `value`."""

    condition: ca.SX
    unknown: int
    value: ca.SX
    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """A clock: the discrete variable `place` is 1 during events at start + k · interval, 0 otherwise."""

    start: ca.SX
    interval: ca.SX
    place: int
    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """An assertion (`ends` False) or termination (True): `condition` is looked at at the start and after every event.

    An assertion has to hold (≠ 0), and its relations are events, so that it is looked at where it fails. A termination
    ends the run where its condition holds. `message` alternates text and expressions of numbers.
    """

    condition: ca.SX
    message: tuple[str | ca.SX, ...]
    name: str
    ends: bool = False
    warns: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Hybrid:
    """What changes at events.

    `previous` maps the place of a discrete variable to that of its value before the event (Modelica's pre); the two are
    equal between events. `initial` and `terminal` are places of flags that are 1 during the first and the last event.
    """

    relations: tuple[Relation, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    previous: Mapping[int, int] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    reinits: tuple[Reinit, ...] = ()
    claims: tuple[Claim, ...] = ()
    initial: int | None = None
    terminal: int | None = None

    @property
    def internal(self) -> frozenset[int]:
        """Places of what nobody has given a name: truth values, values before events, clocks, flags."""
        places = {relation.place for relation in self.relations} | set(self.previous.values())
        places |= {sample.place for sample in self.samples} | {self.initial, self.terminal}
        return frozenset(place for place in places if place is not None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Beginning:
    """Start values: guesses for all unknowns, as expressions of parameters.

    `given` are the numbers of unknowns for which somebody has written one (others are 0, or what their type says);
    `fixed` those that keep it. `conditions` are residuals in t, x, dx, θ that vanish at the start, too.
    """

    guesses: ca.SX
    given: frozenset[int] = frozenset()
    fixed: frozenset[int] = frozenset()
    conditions: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    condition_names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class SymbolicDAE:
    """0 = residual(t, x, dx, θ), and everything else about it.

    As many equations as unknowns, or more: those without derivatives are then constraints. `outputs` are quantities by
    name that follow from t, x and θ; unknowns that were eliminated are among them. `where` says of every equation where
    it is written, for messages.
    """

    name: str
    symbols: Symbols
    residual: ca.SX
    equation_names: tuple[str, ...]
    outputs: Mapping[str, ca.SX] = field(default_factory=dict)
    beginning: Beginning
    hybrid: Hybrid | None = None
    nominal: Mapping[str, float] = field(default_factory=dict)
    t_span: tuple[float, float] | None = None
    tolerance: float | None = None
    #: at least so many steps are made, unless users say how long one may be: unknowns that follow time alone are not
    #: seen by the control of errors, and are interpolated between steps
    least_steps: int = 0
