"""What a test problem is: a model, consistent start values, an end time, and values to compare with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import OptionError
from dalembert.model import EquationsOfMotion, QuasiLinearDAE
from dalembert.model.vocabulary import VISIBLE, VOCABULARY, Role

_START = tuple(f"{kind}0" for kind in VISIBLE if VOCABULARY[kind].role is not Role.MULTIPLIER)


class _Frozen:
    """Arrays of a problem cannot be written, in copies and in other processes neither."""

    def __post_init__(self) -> None:
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


@dataclass(frozen=True, kw_only=True, eq=False)
class Reference(_Frozen):
    """Known values of a problem at one time; what is not known is None.

    The multipliers follow the sign of this package, ``M v' = f - Zᵀ Gᵀ lam - Zᵀ Hᵀ mu``, whatever the source had.
    """

    t: float
    source: str  # "published: ...", "computed by us: method, tolerance" or "exact"
    accuracy: float  # these values are good to accuracy * (1 + |value|) in p and v, or x
    p: Any = None  # this and the others: what can be an array, and is one afterwards
    v: Any = None
    lam: Any = None
    r: Any = None
    w: Any = None
    s: Any = None
    mu: Any = None
    x: Any = None  # of a QuasiLinearDAE, all there is; NaN: not known

    def __post_init__(self) -> None:
        for name in VISIBLE:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _read_only(value))


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem(_Frozen):
    """A test problem: `model`, start values at t = 0, `t_end`, and the best known values at `t_end`.

    Start values are p0, v0, … for `EquationsOfMotion`, x0 for a `QuasiLinearDAE`.

    Examples
    --------
    >>> from dalembert.problems import pendulum
    >>> problem = pendulum()
    >>> problem.t_end, problem.reference.p.tolist()
    (2.0, [1.0, 0.0])
    """

    name: str
    title: str
    model: EquationsOfMotion | QuasiLinearDAE
    t_end: float
    p0: Any = None  # this and the others: what can be an array, and is one afterwards
    v0: Any = None
    r0: Any = None
    w0: Any = None
    s0: Any = None
    x0: Any = None
    reference: Reference | None = None  # the best one, at t_end
    references: tuple[Reference, ...] = ()  # all of them: published and ours, at t_end and at other times

    def __post_init__(self) -> None:
        for name in _START:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _read_only(value))
        if self.reference is not None and all(known is not self.reference for known in self.references):
            object.__setattr__(self, "references", (self.reference, *self.references))

    def start(self) -> dict[str, Any]:
        """Start values as the keyword arguments ``p0, v0, …`` or ``x0`` of `dalembert.simulate`."""
        values = {name: getattr(self, name) for name in _START}
        return {name: value.copy() for name, value in values.items() if value is not None}

    def simulate(self, **options: Any) -> Any:
        """Simulate from 0 to `t_end`; `options` go to `dalembert.simulate` and may override the start values."""
        from dalembert import simulate  # at first use: problems/ describes models and needs no solver to do so

        return simulate(self.model, (0.0, self.t_end), **{**self.start(), **options})

    def error(self, solution: Any) -> float:
        """Mixed error of the last point of `solution`: max |y - ref| / (1 + |ref|) over p and v, or x."""
        if self.reference is None:
            raise OptionError(f"problem {self.name!r} has no reference values with these parameters")
        reference, t = self.reference, float(solution.t[-1])
        if not np.isclose(t, reference.t, rtol=1e-12, atol=0.0):
            raise OptionError(
                f"the solution of problem {self.name!r} ends at t = {t:.17g}, the reference values are for"
                f" t = {reference.t:.17g}: simulate to problem.t_end"
            )
        known = {kind: ref for kind in ("p", "v", "x") if (ref := getattr(reference, kind)) is not None}
        return max(float(np.nanmax(_distance(getattr(solution, kind)[-1], ref))) for kind, ref in known.items())


def _distance(value: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """|y - ref| / (1 + |ref|); NaN where the reference is, infinite where only the value is NaN."""
    distance = np.abs(value - reference) / (1.0 + np.abs(reference))
    return np.where(np.isnan(distance) & ~np.isnan(reference), np.inf, distance)


def known_values(rows: Iterable[tuple], source: str, accuracy: float) -> tuple[Reference, ...]:
    """References from rows of t, p, v and λ."""
    return tuple(Reference(t=t, p=p, v=v, lam=lam, source=source, accuracy=accuracy) for t, p, v, lam in rows)


def _read_only(value: Any) -> np.ndarray:
    array = np.atleast_1d(np.array(value, dtype=float))
    array.setflags(write=False)
    return array
