"""What ``method="auto"`` does while it runs: looks at the steps, and takes another method where that is quicker.

A mechanism without peculiarities can be integrated by an explicit and by an implicit method. Which one needs less time
is a question of stiffness: of how quickly the quickest part of the motion could change (`solvers.half.quickest`),
beside how quickly the solution does. With ρ the largest rate, explicit steps h are

- limited by accuracy, if h ρ is as small as it is where the quickest part itself is followed: `excited`;
- limited by stability, if h ρ is a number of the size of `STABLE`, or between the two, if that part is at rest.

In the second case the implicit method is tried, and keeps the run if its steps are more than `COST` times longer. What
is looked at are sizes of steps, never times: the same call takes the same steps again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.kept import computed
from dalembert.regularize.form import Form
from dalembert.solvers.method import MethodOptions, Tolerances
from dalembert.solvers.status import NO_STEP, Count, Status

if TYPE_CHECKING:
    from dalembert.model import Model
    from dalembert.regularize import InitialValues
    from dalembert.simulation.segments import Segments

#: of h ρ: explicit methods of order 5 are stable up to here
STABLE = 3.3
#: how much longer implicit steps must be than explicit ones
COST = 2.5
#: explicit steps that stability demands from the start on, from which a run begins implicitly
MANY = 90
#: steps that must be ahead for a change to be worth while
AHEAD = 150
#: steps until the first look, where stability demands so many of them, and where it demands fewer; and until the next
#: ones at most, of which those of an implicit method are fewer and longer
FIRST, FEW, CALM, MOST = 24, 50, 72, 512
#: steps of one look at least, and from one to the next after methods were tried in vain again and again
LEAST, LONGEST = 8, 20_000
#: of these pauses, until a method that was not better is tried again
AGAIN = 3
#: h ρ of excited motion is the fifth root of the tolerance, times this; where it is so much larger, it is at rest
EXCITED, AT_REST = 5.0, 2.5
#: the tolerance down to which explicit steps are asked for more than the user does; see `tightened`
SAME = 1e-8


def tightened(tolerances: Tolerances) -> Tolerances:
    """What explicit methods are asked for, so that results are about as accurate as those of implicit methods.

    Their errors after many steps are larger by a factor that grows with the tolerance: 30 at 1e-4, none at 1e-8.
    """
    factor = np.maximum(tolerances.rtol / SAME, 1.0) ** -0.25
    return Tolerances(tolerances.rtol * factor, tolerances.atol * factor)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method that may integrate the model. What it is made of is made when somebody asks for it."""

    model: Model
    choose: Callable[[Model], MethodOptions]
    tolerances_for: Callable[[Form], Tolerances]
    #: how much an explicit step costs, in steps of order 5; those that cost more do more, and h ρ tells nothing of them
    worth: float = 1.0

    @computed
    def options(self) -> MethodOptions:
        return self.choose(self.model)

    @computed
    def form(self) -> Form:
        return self.options.formulate(self.model)

    @computed
    def tolerances(self) -> Tolerances:
        return self.tolerances_for(self.form)


@dataclass(frozen=True)
class Change:
    """Another method from here on."""

    t: float
    method: str
    why: str

    def __str__(self) -> str:
        return f"from t = {self.t:.6g} on {self.method}: {self.why}"


class Pilot:
    """Of one run with two candidates."""

    def __init__(self, explicit: Candidate, implicit: Candidate):
        self.explicit, self.implicit = explicit, implicit
        self.flying = self.first = explicit
        self.changes: list[Change] = []
        self.why_first = ""
        self.patience = FIRST  # steps from one look to the next
        self._looked = 0  # steps when the last look was taken
        self._trial = False  # whether the method that flies has to prove that it is better
        self._products: dict[bool, float] = {}  # h ρ of explicit (True) and implicit (False) steps, where last seen
        self._refused = 0.0  # h ρ of explicit steps at which the implicit method was not better
        self._again = 0  # steps from which on it is tried again all the same
        self._failed: tuple[float, bool] | None = None  # where and by which method no step was possible
        self._stays = False
        self._short = False  # whether implicit steps were short when they were last looked at
        self._pause = FIRST  # what `patience` is after a trial that was in vain

    # -- decisions -------------------------------------------------------------------------------------------------

    def begin(self, segments: Segments, t0: float, t1: float, initial: InitialValues, *, stays: bool) -> None:
        """Choose the method for the start, or, if it `stays`, for the whole run. That of the current segment is the
        explicit one."""
        self._stays = stays
        rate = segments.current.stepper.largest_rate(t0, segments.current.start(initial)[0])
        steps = rate * abs(t1 - t0) / STABLE
        self.patience = FIRST if steps > FEW else CALM
        if rate < 0.0:
            self._take(segments, self.implicit)
            self.why_first = "rates of the motion cannot be evaluated at the start: an implicit method"
        elif steps > MANY:
            self._take(segments, self.implicit)
            self.why_first = f"stiff from the start: an explicit method would need more than {steps:.0f} steps"
        else:
            self.why_first = f"not stiff at the start (quickest rate {rate:.2g}/s): an explicit method is quickest"

    def most(self, taken: int) -> int:
        """Steps until the next look, where so many were taken: events and breakpoints do not put it off for ever."""
        return max(self.patience - (taken - self._looked), LEAST)

    def judged(self, segments: Segments, h: np.ndarray, t: float, t1: float) -> Candidate | None:
        """After some steps of sizes h, at t, on the way to t1: the method to go on with, if that is another one."""
        explicit = self.flying is self.explicit
        self._looked = int(segments.current.stepper.counts[Count.STEPS])
        self.patience = min(2 * self.patience, max(MOST if explicit else MOST // 4, self._pause))
        if self._stays or not len(h):
            return None
        size, ahead = float(np.abs(h[-4:]).mean()), abs(t1 - t)
        if ahead < AHEAD * size * (1.0 if explicit else 1.0 / COST):
            return None
        if explicit:
            rate = segments.current.stepper.largest_rate()
        else:
            rate = self._rate(segments, t)
        if rate < 0.0:
            return None
        product = self._products[explicit] = size * rate
        trial, self._trial = self._trial, False
        if explicit:
            return self._judge_explicit(product, trial, t)
        return self._judge_implicit(product, trial, t)

    def _judge_explicit(self, product: float, trial: bool, t: float) -> Candidate | None:
        other = self._products.get(False)
        if trial and other is not None:  # was tried because implicit steps had become short
            if other <= self._cost * product:
                return self._refuse(product)
            return self._back(self.implicit, t, "implicit steps are longer by more than they cost")
        if self.explicit.worth > 1.0 or product <= min(AT_REST * self.excited, STABLE / 2):
            return None
        if product <= 1.5 * self._refused and self._looked < self._again:
            return None
        self._trial = True
        why = "limited by stability" if product > STABLE / 2 else "short although nothing moves quickly"
        return self._change(self.implicit, t, f"explicit steps are {why} (h ρ = {product:.2g})")

    def _judge_implicit(self, product: float, trial: bool, t: float) -> Candidate | None:
        other = self._products.get(True)
        if trial and other is not None:  # was tried because explicit steps were limited by stability
            if product >= self._cost * other:
                self._pause, self._refused = FIRST, 0.0
                return None
            self._refuse(other)
            return self._back(self.explicit, t, "implicit steps are not longer by what they cost more")
        short = product < COST * self.excited or (other is None and product < COST)
        again, self._short = self._short, short
        if not (short and again):  # steps after a start are short, whatever follows
            return None
        self._trial, self._short = True, False
        return self._change(self.explicit, t, f"implicit steps follow the quickest motion (h ρ = {product:.2g})")

    @property
    def _cost(self) -> float:
        """Of an implicit step, in steps of the explicit method."""
        return COST / self.explicit.worth

    def _refuse(self, product: float) -> None:
        """Implicit steps do not pay where explicit ones have this h ρ; after some time that is tried once more."""
        self._pause = min(4 * self._pause, LONGEST)
        self._refused, self._again = product, self._looked + AGAIN * self._pause

    def _back(self, to: Candidate, t: float, why: str) -> Candidate:
        """The method that was tried is not the better one."""
        self._pause = min(4 * self._pause, LONGEST)
        change = self._change(to, t, why)
        self.patience = self._pause
        return change

    def rescued(self, status: int, t: float) -> Candidate | None:
        """The other method, if this one cannot go on from t and the other has not failed there."""
        explicit = self.flying is self.explicit
        hopeless = status not in NO_STEP and not (status == Status.SINGULAR and not explicit)
        if self._stays or hopeless:
            return None
        if self._failed is not None and self._failed[0] == t:
            return None
        self._failed, self._trial = (t, explicit), False
        other = self.implicit if explicit else self.explicit
        return self._change(other, t, f"{type(self.flying.options).__name__} found no step size to go on with")

    def _change(self, to: Candidate, t: float, why: str) -> Candidate:
        self.changes.append(Change(t, repr(to.options), why))
        self.patience = FIRST
        return to

    def _take(self, segments: Segments, candidate: Candidate) -> None:
        self.flying = self.first = candidate
        segments.take(candidate)

    def stay(self) -> None:
        """The last change was not possible."""
        self.changes.pop()
        self.patience, self._trial, self._refused, self._again = MOST, False, STABLE, self._looked + LONGEST

    # -- what is measured ------------------------------------------------------------------------------------------

    @computed
    def excited(self) -> float:
        """h ρ of explicit steps that follow the quickest motion."""
        return EXCITED * float(np.min(self.explicit.tolerances.rtol)) ** 0.2

    def _rate(self, segments: Segments, t: float) -> float:
        """The largest rate where the implicit method is."""
        current, whole = segments.current, segments.task.form
        segment = segments.of(current.active, self.explicit)
        x, back = current.in_whole(current.stepper.x, whole.n), segment.form.places_in(whole)
        return segment.stepper.largest_rate(t, x if back is None else x[back])

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        return {
            "explicit": [candidate is self.explicit for candidate in (self.first, self.flying)],
            "why_first": self.why_first,
            "changes": [[change.t, change.method, change.why] for change in self.changes],
            "patience": [self.patience, self._looked],
            "trial": [self._trial, self._short],
            "products": [self._products.get(which, -1.0) for which in (True, False)],
            "refused": [self._refused, self._again],
            "pause": self._pause,
            "failed": None if self._failed is None else list(self._failed),
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        self.first, self.flying = (self.explicit if which else self.implicit for which in memory["explicit"])
        self.why_first = memory["why_first"]
        self.patience, self._looked = memory["patience"]
        self._trial, self._short = memory["trial"]
        self.changes = [Change(*change) for change in memory["changes"]]
        products = zip((True, False), memory["products"], strict=True)
        self._products = {which: value for which, value in products if value >= 0.0}
        self._pause = memory["pause"]
        self._refused, self._again = memory["refused"]
        self._failed = None if memory["failed"] is None else tuple(memory["failed"])
