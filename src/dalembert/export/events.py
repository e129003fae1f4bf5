"""What happens at events of a hybrid DAE, for programs: the expressions of `model.hybrid` in the program's unknowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.model import Model
from dalembert.model.hybrid import Assignment, Hybrid


@dataclass(frozen=True, kw_only=True, eq=False)
class Events:
    """Columns of expressions in t, z, p and the discrete variables d, and the places in d that they are about.

    `crossing` are relations whose roots are events, `timed` those whose times are known. Of assertions and
    terminations, `claim_kinds` says 0: has to hold, 1: warns if it does not, 2: ends the run where it holds.
    """

    discrete: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    names: tuple[str, ...] = ()
    start: np.ndarray = field(default_factory=lambda: np.zeros(0))
    crossing: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    crossing_names: tuple[str, ...] = ()
    bits: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    closed: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    timed: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    timed_names: tuple[str, ...] = ()
    timed_bits: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    timed_closed: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    rising: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    assigned: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    assigned_names: tuple[str, ...] = ()
    assigned_places: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    clocks: ca.SX = field(default_factory=lambda: ca.SX(0, 1))  # start and interval of each
    clock_names: tuple[str, ...] = ()
    clock_places: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    conditions: ca.SX = field(default_factory=lambda: ca.SX(0, 1))  # of reinit
    values: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    reinit_names: tuple[str, ...] = ()
    reinit_places: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    claims: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    claim_kinds: tuple[int, ...] = ()
    messages: tuple[str, ...] = ()
    now: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    before: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    initial: int = -1
    terminal: int = -1

    def __bool__(self) -> bool:
        return bool(self.names)

    @classmethod
    def of(cls, model: Model, x: ca.SX, reduction: Any, replace: Callable[..., Sequence[ca.SX]]) -> Events:
        """Those of a model; `x` are all its unknowns by those that are kept; `replace` takes inputs out."""
        hybrid = model.hybrid
        if hybrid is None or not model.discrete_names:
            return cls()
        here = _In(model, x, replace)
        crossing = [relation for relation in hybrid.relations if relation.by_time is None]
        timed = [relation for relation in hybrid.relations if relation.by_time is not None]
        reinits = _reinits(hybrid, reduction)
        return cls(
            discrete=model.graph.discrete_symbols,
            names=model.discrete_names,
            start=model.graph.discrete_values,
            crossing=here(relation.value for relation in crossing),
            crossing_names=tuple(relation.name for relation in crossing),
            bits=_places(relation.place for relation in crossing),
            closed=np.array([relation.closed for relation in crossing], bool),
            timed=here(relation.by_time for relation in timed),
            timed_names=tuple(relation.name for relation in timed),
            timed_bits=_places(relation.place for relation in timed),
            timed_closed=np.array([relation.closed for relation in timed], bool),
            rising=np.array([relation.rising for relation in timed], bool),
            assigned=here([sequential(hybrid.assignments, model.graph.discrete_symbols)]),
            assigned_names=tuple(assignment.name for assignment in hybrid.assignments),
            assigned_places=_places(assignment.place for assignment in hybrid.assignments),
            clocks=here(part for sample in hybrid.samples for part in (sample.start, sample.interval)),
            clock_names=tuple(sample.name for sample in hybrid.samples for _ in range(2)),
            clock_places=_places(sample.place for sample in hybrid.samples),
            conditions=here(reinit.condition for reinit in hybrid.reinits),
            values=here(factor * reinit.value for reinit, (_, factor) in zip(hybrid.reinits, reinits, strict=True)),
            reinit_names=tuple(reinit.name for reinit in hybrid.reinits),
            reinit_places=_places(place for place, _ in reinits),
            claims=here(claim.condition for claim in hybrid.claims),
            claim_kinds=tuple(2 if claim.ends else int(claim.warns) for claim in hybrid.claims),
            messages=tuple(_message(claim.message) or claim.name for claim in hybrid.claims),
            now=_places(hybrid.previous.keys()),
            before=_places(hybrid.previous.values()),
            initial=-1 if hybrid.initial is None else hybrid.initial,
            terminal=-1 if hybrid.terminal is None else hybrid.terminal,
        )


@dataclass(frozen=True, eq=False)
class _In:
    """Puts columns together, in the unknowns that are kept."""

    model: Model
    x: ca.SX
    replace: Callable[..., Sequence[ca.SX]]

    def __call__(self, parts: Iterable[ca.SX]) -> ca.SX:
        column = ca.densify(ca.vertcat(*(ca.SX(part) for part in parts), ca.SX(0, 1)))
        return self.replace(ca.substitute(column, self.model.graph.symbol["x"], self.x))[0]


def sequential(assignments: Sequence[Assignment], discrete: ca.SX) -> ca.SX:
    """The values of all assignments, where each sees what those before it have given."""
    known: list[tuple[int, ca.SX]] = []
    for assignment in assignments:
        value = ca.SX(assignment.value)
        if known:
            places = [place for place, _ in known]
            value = ca.substitute(value, discrete[places], ca.vertcat(*(given for _, given in known)))
        known.append((assignment.place, value))
    return ca.densify(ca.vertcat(*(value for _, value in known), ca.SX(0, 1)))


def _reinits(hybrid: Hybrid, reduction: Any) -> list[tuple[int, float]]:
    """For each reinit the number of the unknown that is kept, and the sign with which it stands for the one meant."""
    if reduction is None:
        return [(reinit.unknown, 1.0) for reinit in hybrid.reinits]
    expansion = reduction.expansion
    return [(int(expansion.source[r.unknown]), float(expansion.factor[r.unknown])) for r in hybrid.reinits]


def _message(parts: Sequence[str | ca.SX]) -> str:
    """The text of a message; numbers in it are left open."""
    return "".join(part if isinstance(part, str) else "…" for part in parts)


def _places(numbers: Iterable[int]) -> np.ndarray:
    return np.array(list(numbers), int)
