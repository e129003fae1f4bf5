"""A problem with contacts: besides values at the end it knows impacts, and when everything has come to rest."""

from __future__ import annotations

from dataclasses import dataclass

from ..problem import Problem

#: impacts that a problem lists at most
MOST_KNOWN = 10_000


@dataclass(frozen=True)
class KnownImpact:
    """An impact of which is known when and where it happens, and the rates of the gap before and after it."""

    t: float
    contact: str
    before: float
    after: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ImpactProblem(Problem):
    """A problem whose model has contacts. Its model has the output "energy", which no impact may increase.

    Examples
    --------
    >>> from dalembert.problems import bouncing_ball
    >>> ball = bouncing_ball(e=0.5)
    >>> print(ball.impacts[1].t / ball.impacts[0].t, ball.rest / ball.impacts[0].t)
    2.0 3.0
    """

    impacts: tuple[KnownImpact, ...] = ()  # the first ones, in order; those at one time in the order of contacts
    rest: float | None = None  # time from which on nothing moves: after the last impact, or where impacts accumulate
    powered: bool = False  # something drives it: its energy may grow between impacts
